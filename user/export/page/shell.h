/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shell.h - the page without its data: what is made of page/ and built into the program. Private to user/export.
 *
 * Two marks stand in it, each alone on its line: data that the script needs at once come in place of the first, all
 * other data in place of the second.
 */
#ifndef GASPBPF_EXPORT_PAGE_SHELL_H
#define GASPBPF_EXPORT_PAGE_SHELL_H

#include <stddef.h>

/* What stands before the first mark, between the two, and behind the second. */
struct page_shell {
	const char *parts[3];
	size_t sizes[3];
};

/* 0; -EINVAL, said: it does not have both marks. */
int page_shell_find(struct page_shell *shell);

#endif
