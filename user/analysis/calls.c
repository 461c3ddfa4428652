/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calls.c - what a call says of itself, for analyses: it is read when one asks.
 */
#include "analysis/analysis.h"

#include <stdlib.h>

/* The values of a probe's calls, prepared for reading. */
struct call_values {
	int16_t first[MEANINGS]; /* which of them means this; -1: none */
	struct prepared_value prepared[];
};

struct call_values *call_values_new(const struct def_probe *def)
{
	uint32_t count = def->nvalues < INT16_MAX ? def->nvalues : INT16_MAX;
	struct call_values *values = malloc(sizeof(*values) + count * sizeof(*values->prepared));

	if (!values)
		return NULL;
	for (int meaning = 0; meaning < MEANINGS; meaning++) {
		int32_t first = probe_value(def, meaning);

		values->first[meaning] = first < INT16_MAX ? first : -1;
	}
	for (uint32_t i = 0; i < count; i++)
		value_prepare(&values->prepared[i], &def->values[i]);
	return values;
}

bool call_number(const struct accounted_call *call, enum meaning meaning, int64_t *number)
{
	const struct call_values *values = call->probe->values;
	const struct sent_words sent = span_words(call->span);
	int16_t first = values->first[meaning];

	return first >= 0 && prepared_number(&values->prepared[first], &sent, number);
}
