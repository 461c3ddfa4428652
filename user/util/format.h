/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format.h - numbers for people, and numbers from people.
 */
#ifndef GASPBPF_FORMAT_H
#define GASPBPF_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FORMAT_SIZE 32

/* Into buffer[FORMAT_SIZE], which is returned: "1.234 ms", "12.5 MiB". */
char *format_time(char *buffer, uint64_t ns);
char *format_bytes(char *buffer, uint64_t bytes);
char *format_count(char *buffer, uint64_t count);   /* thousands separated: "1,234,567" */
char *format_rate(char *buffer, double per_second); /* "12.3 k/s" */

/* What stands behind a regular noun: "s" unless it is one. */
static inline const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

/* What makes this word one for several: ranks, processes. */
static inline const char *plural_ending(const char *word)
{
	size_t length = strlen(word);

	return length && word[length - 1] == 's' ? "es" : "s";
}

/* "10", "10s", "500ms", "2m", "1h" -> ns; a bare number is seconds. 0 or -EINVAL. */
int parse_time(const char *text, uint64_t *ns);
/* "64", "64k", "16mb", "1GiB" -> bytes. 0 or -EINVAL. */
int parse_bytes(const char *text, uint64_t *bytes);
/* "2%" or "0.5" (percent). 0 or -EINVAL. */
int parse_percent(const char *text, double *percent);

#endif
