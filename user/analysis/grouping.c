/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grouping.c - the names of what calls can be summed up by.
 */
#include "analysis/grouping.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

const char *grouped_by_name(enum grouped_by by)
{
	static const char *const names[GROUPED_BYS] = {
		[BY_THREAD] = "thread", [BY_RANK] = "rank", [BY_NODE] = "node", [BY_EVENT] = "event",
		[BY_LINE] = "line",     [BY_LOCK] = "lock", [BY_PEER] = "peer", [BY_PHASE] = "phase",
	};

	return names[by];
}

static enum grouped_by find(const char *name, size_t length)
{
	enum grouped_by by = 0;

	while (by < GROUPED_BYS &&
	       (strlen(grouped_by_name(by)) != length || strncmp(grouped_by_name(by), name, length)))
		by++;
	return by;
}

static bool has(const struct grouping *grouping, enum grouped_by by)
{
	for (unsigned i = 0; i < grouping->count; i++)
		if (grouping->by[i] == by)
			return true;
	return false;
}

int grouping_parse(struct grouping *grouping, const char *text)
{
	grouping->count = 0;
	for (;;) {
		size_t length = strcspn(text, ",");
		enum grouped_by by = find(text, length);

		if (by == GROUPED_BYS || grouping->count == GROUPING_MOST || has(grouping, by))
			return -EINVAL;
		grouping->by[grouping->count++] = by;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}
