/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nodes.c - in the file: the recordings of which a merged one was made, and how sure their clocks are.
 */
#include "recording/definitions.h"

#define NODE(n, t, member)                                      \
	{                                                       \
		n, FIELD_##t, offsetof(struct def_node, member) \
	}

const struct field node_fields[] = { NODE(1, STRING, host),    NODE(2, STRING, kernel), NODE(3, STRING, boot),
				     NODE(4, STRING, command), NODE(5, U64, start),     NODE(6, U64, end),
				     NODE(7, BOOL, cut),       NODE(8, U32, clock_of),  NODE(9, U32, known_by),
				     NODE(10, U64, unsure),    NODE(11, U64, offset),   NODE(12, S32, drift),
				     NODE(13, U32, pieces),    NODE(14, U64, bounds),   NODE(15, U64, violated),
				     NODE(16, U32, cpus),      { 0, FIELD_END, 0 } };

const char *node_check(const struct def_node *node, const struct definitions *d)
{
	if (node->clock_of > d->nnodes)
		return "a node has the clock of none";
	return node->start > node->end ? "a node's recording ends before it begins" : NULL;
}
