/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chains.c - in the file: where calls came from that a library made for the program.
 */
#include "recording/definitions.h"

#define CHAIN(n, t, member)                                      \
	{                                                        \
		n, FIELD_##t, offsetof(struct def_chain, member) \
	}

const struct field chain_fields[] = { CHAIN(1, STRING, event),  CHAIN(2, STRING, file), CHAIN(3, U64, offset),
				      CHAIN(4, STRING, places), CHAIN(5, U64, looks),   { 0, FIELD_END, 0 } };

const char *chain_check(const struct def_chain *chain)
{
	return chain->event && chain->file ? NULL : "a chain of callers is of no event, or of no file";
}
