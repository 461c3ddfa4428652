/* SPDX-License-Identifier: BSD-2-Clause */
#include "export/series.h"

static int put_value(const struct series_slots *slots, struct series *s, void *of, const struct series_value *value)
{
	if (s->any_put && (value->time <= s->put.time || value->value == s->put.value))
		return 0;
	s->put = *value;
	s->any_put = true;
	return slots->put(of, value);
}

/* The slot is over. */
static int put_slot(const struct series_slots *slots, struct series *s, void *of)
{
	bool least_first = s->least.time < s->most.time;
	int error;

	if (!s->any)
		return 0;
	error = put_value(slots, s, of, least_first ? &s->least : &s->most);
	if (!error)
		error = put_value(slots, s, of, least_first ? &s->most : &s->least);
	s->any = false;
	return error ? error : put_value(slots, s, of, &s->now);
}

/* What it is now, it is for a while. */
static void keep_value(const struct series_slots *slots, struct series *s)
{
	s->slot = (s->now.time - slots->from) / slots->width; /* the same as before, where there is any */
	if (!s->any || s->now.value < s->least.value)
		s->least = s->now;
	if (!s->any || s->now.value > s->most.value)
		s->most = s->now;
	s->any = true;
}

int series_set(const struct series_slots *slots, struct series *s, void *of, uint64_t time, uint64_t value)
{
	int error = 0;

	if (time > slots->to)
		return 0;
	if (time < slots->from)
		time = slots->from;
	if (s->some && time > s->now.time) {
		keep_value(slots, s);
		if ((time - slots->from) / slots->width != s->slot)
			error = put_slot(slots, s, of);
	}
	s->now = (struct series_value){ s->some && time < s->now.time ? s->now.time : time, value };
	s->some = true;
	return error;
}

int series_end(const struct series_slots *slots, struct series *s, void *of)
{
	if (!s->some)
		return 0;
	keep_value(slots, s);
	s->some = false;
	return put_slot(slots, s, of);
}
