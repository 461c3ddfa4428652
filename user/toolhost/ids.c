/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ids.c - the numbers of events, as the headers have them that a tool may have been compiled with.
 *
 * GASP 1.4 leaves the numbers to the implementation. Tools in the field were built with the gasp_upc.h of GNU UPC,
 * which Clang UPC shares and whose numbers the models have, or of Berkeley UPC. PUPC 1.1 fixes its own, one for START
 * and one for END. What a header does not have keeps the model's number, moved where it would mean something else
 * there.
 */
#include <string.h>

#include "toolhost/host.h"

#define MOVED 0x10000          /* added to numbers below 0x1000 that a header uses for something else */
#define PUPC_OWN 0x60000000u   /* PUPC 1.1 section 3.1: events of an implementation */
#define USER_FIRST 0xC0000000u /* and of users */

static const struct {
	const char *event;
	uint32_t bupc; /* Berkeley UPC's profile/gasp_upc.h */
} berkeley[] = {
	{ "GASP_C_FUNC", 1023 },
	{ "GASP_C_MALLOC", 1020 },
	{ "GASP_C_REALLOC", 1021 },
	{ "GASP_C_FREE", 1022 },
	{ "GASP_UPC_COLLECTIVE_EXIT", 1210 },
	{ "GASP_UPC_NONCOLLECTIVE_EXIT", 1211 },
	{ "GASP_UPC_NOTIFY", 1100 },
	{ "GASP_UPC_WAIT", 1101 },
	{ "GASP_UPC_GLOBAL_ALLOC", 1001 },
	{ "GASP_UPC_ALL_ALLOC", 1002 },
	{ "GASP_UPC_ALLOC", 1000 },
	{ "GASP_UPC_FREE", 1003 },
	{ "GASP_UPC_GLOBAL_LOCK_ALLOC", 1010 },
	{ "GASP_UPC_ALL_LOCK_ALLOC", 1011 },
	{ "GASP_UPC_LOCK_FREE", 1012 },
	{ "GASP_UPC_LOCK", 1014 },
	{ "GASP_UPC_LOCK_ATTEMPT", 1013 },
	{ "GASP_UPC_UNLOCK", 1015 },
	{ "GASP_UPC_MEMCPY", 1032 },
	{ "GASP_UPC_MEMGET", 1030 },
	{ "GASP_UPC_MEMPUT", 1031 },
	{ "GASP_UPC_MEMSET", 1033 },
	{ "GASP_UPC_GET", 1111 },
	{ "GASP_UPC_PUT", 1110 },
	{ "GASP_UPC_NB_GET_INIT", 1120 },
	{ "GASP_UPC_NB_PUT_INIT", 1121 },
	{ "GASP_UPC_NB_SYNC", 1122 },
	{ "GASP_UPC_NB_TRYSYNC", 1130 },
	{ "GASP_UPC_ALL_BROADCAST", 1300 },
	{ "GASP_UPC_ALL_SCATTER", 1310 },
	{ "GASP_UPC_ALL_GATHER", 1320 },
	{ "GASP_UPC_ALL_GATHER_ALL", 1330 },
	{ "GASP_UPC_ALL_EXCHANGE", 1340 },
	{ "GASP_UPC_ALL_PERMUTE", 1350 },
	{ "GASP_UPC_ALL_REDUCE", 1400 },
	{ "GASP_UPC_ALL_PREFIX_REDUCE", 1410 },
};

/* PUPC 1.1 tables 2 to 6. *: a pointer to shared. $text: a name or type of the program's, which is not known. */
static const struct pupc_row pupc[] = {
	{ "GASP_UPC_NOTIFY", 0x01000000, "named expr", "named expr" },
	{ "GASP_UPC_WAIT", 0x01000100, "named expr", "named expr" },
	{ "GASP_UPC_BARRIER", 0x01000200, "named expr", "named expr" },
	{ "GASP_UPC_FENCE", 0x01000300, "", "" },
	{ "GASP_UPC_FORALL", 0x02000000, "", "" },
	{ "GASP_UPC_LOCK", 0x03000000, "*lck", "*lck" },
	{ "GASP_UPC_UNLOCK", 0x03000100, "*lck", "*lck" },
	{ "GASP_UPC_LOCK_ATTEMPT", 0x03000200, "*lck", "*lck" },
	{ "GASP_UPC_ALL_LOCK_ALLOC", 0x03000400, "", "" },
	{ "GASP_UPC_GLOBAL_LOCK_ALLOC", 0x03000500, "", "" },
	{ "GASP_UPC_LOCK_FREE", 0x03000600, "*lck", "*lck" },
	{ "GASP_UPC_MEMCPY", 0x03000700, "*dst *src n", "*dst *src n" },
	{ "GASP_UPC_MEMGET", 0x03000800, "dst *src n", "dst *src n" },
	{ "GASP_UPC_MEMPUT", 0x03000900, "*dst src n", "*dst src n" },
	{ "GASP_UPC_MEMSET", 0x03000A00, "*dst c n", "*dst c n" },
	/* Strict; ids_tag() adds 2 where the access is relaxed. Table 5 has the flag at the end of a get only. */
	{ "GASP_UPC_GET", 0x04000000, "dst *src n $text $text", "dst *src n is_relaxed $text $text" },
	{ "GASP_UPC_PUT", 0x04000100, "*dst src n $text $text", "*dst src n $text $text" },
	{ "GASP_C_FUNC", 0x05000000, "funcsig", "funcsig" },
};

const struct pupc_row *ids_pupc_row(const char *event)
{
	for (size_t i = 0; event && i < sizeof(pupc) / sizeof(pupc[0]); i++)
		if (!strcmp(pupc[i].event, event))
			return &pupc[i];
	return NULL;
}

static uint32_t berkeley_tag(const struct def_probe *probe)
{
	for (size_t i = 0; i < sizeof(berkeley) / sizeof(berkeley[0]); i++)
		if (!strcmp(berkeley[i].event, probe->event))
			return berkeley[i].bupc;
	return probe->number < 0x1000 ? probe->number + MOVED : probe->number;
}

static uint32_t pupc_tag(const struct def_probe *probe, enum event_type type)
{
	const struct pupc_row *row = ids_pupc_row(probe->event);

	if (row)
		return row->id + (type == EVENT_END);
	if (!strcmp(probe->event, "GASP_UPC_COLLECTIVE_EXIT") || !strcmp(probe->event, "GASP_UPC_NONCOLLECTIVE_EXIT"))
		return 0x00000100;
	return PUPC_OWN + (probe->number << 8 & 0x1fffff00) + type;
}

uint32_t ids_tag(enum gasp_ids ids, const struct def_probe *probe, enum event_type type)
{
	if (!probe->event)
		return probe->number;
	switch (ids) {
	case IDS_BUPC:
		return berkeley_tag(probe);
	case IDS_PUPC:
		return pupc_tag(probe, type);
	default:
		return probe->number;
	}
}

static const struct {
	uint32_t first, last;
} users[] = {
	[IDS_OWN] = { USER_FIRST, UINT32_MAX },
	[IDS_GUPC] = { 1000, 1999 },
	[IDS_BUPC] = { 100, 999 },
	[IDS_PUPC] = { USER_FIRST, UINT32_MAX },
};

bool ids_is_user(enum gasp_ids ids, uint32_t tag)
{
	return tag >= users[ids].first && tag <= users[ids].last;
}

uint32_t ids_first_user(enum gasp_ids ids)
{
	return users[ids].first;
}
