/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shell.c - the page without its data, as the Makefile found it.
 */
#include "export/page/page.h"

#include <errno.h>
#include <string.h>

#include "util/log.h"

#ifdef GASPBPF_PAGE

__asm__(".section .rodata, \"a\"\n"
	"page_asset:\n"
	".incbin \"" GASPBPF_PAGE "\"\n"
	"page_asset_end:\n"
	".byte 0\n"
	".previous\n");

extern const char page_asset[], page_asset_end[];

static const char *const marks[] = { "<!--gaspbpf:first-->\n", "<!--gaspbpf:rest-->\n" };

int page_shell_find(struct page_shell *shell)
{
	const char *at = page_asset;

	for (int i = 0; i < 2; i++) {
		const char *mark = memmem(at, page_asset_end - at, marks[i], strlen(marks[i]));

		if (!mark) {
			log_error("the page that was built in (%s) has no line %.*s: build it again: make page, then "
				  "make",
				  GASPBPF_PAGE, (int)strlen(marks[i]) - 1, marks[i]);
			return -EINVAL;
		}
		shell->parts[i] = at;
		shell->sizes[i] = mark - at;
		at = mark + strlen(marks[i]);
	}
	shell->parts[2] = at;
	shell->sizes[2] = page_asset_end - at;
	return 0;
}

#else

int page_shell_find(struct page_shell *shell)
{
	return -EINVAL; /* nobody asks: exporter.missing */
}

#endif
