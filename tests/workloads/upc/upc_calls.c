/* SPDX-License-Identifier: BSD-2-Clause */
/* The job's own account of its calls. */
#include "upc_calls.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static UPC_OWN struct counts counted;
static UPC_OWN FILE *lines;
static UPC_OWN char *text;
static UPC_OWN size_t length;

void calls_begin(void)
{
	count_clear(&counted);
	if (getenv("UPC_CALLS"))
		lines = open_memstream(&text, &length);
	if (lines)
		fprintf(lines, "tid %d\n", (int)gettid());
}

struct counts calls_counted(void)
{
	return counted;
}

void call_made(const char *function, uint64_t bytes, uint64_t sent, uint64_t received, int depth, const char *format,
	       ...)
{
	va_list arguments;

	count_moved(&counted, function, bytes, sent, received);
	if (!lines)
		return;
	fprintf(lines, "%d %s ", depth, function);
	va_start(arguments, format);
	vfprintf(lines, format, arguments);
	va_end(arguments);
	fputc('\n', lines);
}

void calls_write(int thread)
{
	char name[4096];
	FILE *out;

	if (!lines)
		return;
	fclose(lines);
	lines = NULL;
	snprintf(name, sizeof(name), "%s.%d", getenv("UPC_CALLS"), thread);
	out = fopen(name, "w");
	if (!out || fwrite(text, 1, length, out) != length || fclose(out))
		upc_complain("cannot write the account of calls");
	free(text);
}

/* __getsqi2, __putsblk3: an 's' behind get, put or copy. What would be a mode of its own, si or sf, is no strict one.
 */
int calls_is_strict(const char *function)
{
	const char *mode = function + (strncmp(function, "__copy", 6) ? 5 : 6);
	size_t rest = strcspn(mode, "0123456789");

	return mode[0] == 's' && rest != 2;
}

int calls_reduction(const char *function)
{
	static const char *const types[] = { "C", "UC", "S", "US", "I", "UI", "L", "UL", "F", "D", "LD" };
	const char *letters = strstr(function, "reduce") + strlen("reduce");

	for (int i = 0; i < 11; i++)
		if (!strcmp(types[i], letters))
			return i;
	abort();
}
