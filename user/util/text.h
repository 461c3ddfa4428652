/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.h - texts that may be missing: NULL.
 */
#ifndef GASPBPF_TEXT_H
#define GASPBPF_TEXT_H

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Two that are missing are the same. */
static inline bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* malloc'ed; NULL where it is missing, and without memory. */
static inline char *copy_text(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* The same into *to. 0, or -ENOMEM: a text is missing only where it was. */
static inline int text_copy(char **to, const char *text)
{
	*to = copy_text(text);
	return text && !*to ? -ENOMEM : 0;
}

/* Names of hosts are made of these. */
static inline bool is_of_host_name(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '_' || c == '-';
}

/* Texts that somebody else owns. */
struct text_list {
	char **items;
	size_t count;
};

#endif
