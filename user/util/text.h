/*
 * text.h - texts that may be missing: NULL.
 */
#ifndef GASPBPF_TEXT_H
#define GASPBPF_TEXT_H

#include <stdbool.h>
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

#endif
