/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * controls.c - in the file: when measurement of a process was switched off and on.
 */
#include "recording/definitions.h"

#define CONTROL(n, t, member)                                      \
	{                                                          \
		n, FIELD_##t, offsetof(struct def_control, member) \
	}

const struct field control_fields[] = { CONTROL(1, U64, time),  CONTROL(2, INDEX, process), CONTROL(3, INDEX, thread),
					CONTROL(4, S32, value), CONTROL(5, STRING, who),    { 0, FIELD_END, 0 } };

const char *control_check(const struct def_control *control, const struct definitions *d)
{
	if (control->process >= d->nprocesses)
		return "measurement was switched of no process";
	if (control->thread != NO_INDEX && control->thread >= d->nthreads)
		return "measurement was switched by no thread";
	return NULL;
}
