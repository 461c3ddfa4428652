/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unseen_fields.c - in the file: what could not be seen of the run.
 */
#include "recording/definitions.h"

#define UNSEEN(n, t, member)                                      \
	{                                                         \
		n, FIELD_##t, offsetof(struct def_unseen, member) \
	}

const struct field unseen_fields[] = { UNSEEN(1, STRING, event), UNSEEN(2, STRING, model), UNSEEN(3, STRING, why),
				       UNSEEN(4, BOOL, partly),  UNSEEN(5, BOOL, library), UNSEEN(6, BOOL, inside),
				       { 0, FIELD_END, 0 } };

const char *unseen_check(const struct def_unseen *unseen)
{
	return unseen->event && unseen->model && unseen->why ? NULL : "what could not be seen has no name";
}
