/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * windows.c - in the file: times in which calls of a process were not seen, since its probes were not in yet or
 * were taken out before its end.
 */
#include "recording/definitions.h"

#define WINDOW(n, t, member)                                      \
	{                                                         \
		n, FIELD_##t, offsetof(struct def_window, member) \
	}

const struct field window_fields[] = { WINDOW(1, INDEX, process),  WINDOW(2, U64, from),     WINDOW(3, U64, to),
				       WINDOW(4, STRING, models),  WINDOW(5, STRING, file),  WINDOW(6, STRING, after),
				       WINDOW(7, STRING, runtime), WINDOW(8, INDEX, loader), { 0, FIELD_END, 0 } };

const char *window_check(const struct def_window *window, const struct definitions *d)
{
	if (window->process >= d->nprocesses)
		return "a blind window is of no process";
	if (window->loader != NO_INDEX && window->loader >= d->nprocesses)
		return "a blind window comes of no process";
	return window->from > window->to ? "a blind window ends before it begins" : NULL;
}
