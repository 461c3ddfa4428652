/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_event.c - the events of a Chrome trace that are no calls.
 */
#include "export/chrome_event.h"

/* scope, category: NULL: it has none. */
static void begin(struct json *j, const char *phase, const char *scope, const char *name, const char *category,
		  uint64_t pid, uint64_t tid)
{
	json_newline(j);
	json_object(j);
	json_key_string(j, "ph", phase);
	if (scope)
		json_key_string(j, "s", scope);
	json_key_string(j, "name", name);
	if (category)
		json_key_string(j, "cat", category);
	json_key_uint(j, "pid", pid);
	json_key_uint(j, "tid", tid);
}

static void put_time(struct json *j, const char *key, uint64_t ns)
{
	json_key(j, key);
	json_micros(j, ns);
}

static void begin_arguments(struct json *j)
{
	json_key(j, "args");
	json_object(j);
}

void chrome_end(struct json *j)
{
	json_end_object(j);
	json_end_object(j);
}

void chrome_put_name(struct json *j, const char *what, uint64_t pid, uint64_t tid, const char *name)
{
	begin(j, "M", NULL, what, NULL, pid, tid);
	begin_arguments(j);
	json_key_string(j, "name", name);
	chrome_end(j);
}

void chrome_put_order(struct json *j, const char *what, uint64_t pid, uint64_t tid, int64_t index)
{
	begin(j, "M", NULL, what, NULL, pid, tid);
	begin_arguments(j);
	json_key_int(j, "sort_index", index);
	chrome_end(j);
}

void chrome_begin_instant(struct json *j, const char *scope, const char *name, const char *category, uint64_t pid,
			  uint64_t tid, uint64_t ns)
{
	begin(j, "i", scope, name, category, pid, tid);
	put_time(j, "ts", ns);
	begin_arguments(j);
}

void chrome_begin_slice(struct json *j, const char *name, const char *category, uint64_t pid, uint64_t tid, uint64_t ns,
			uint64_t length)
{
	begin(j, "X", NULL, name, category, pid, tid);
	put_time(j, "ts", ns);
	put_time(j, "dur", length);
	begin_arguments(j);
}

static void begin_counter(struct json *j, uint64_t pid, const char *name, uint64_t ns)
{
	begin(j, "C", NULL, name, "counter", pid, pid);
	put_time(j, "ts", ns);
	begin_arguments(j);
}

void chrome_put_count(struct json *j, uint64_t pid, const char *name, const char *unit, uint64_t ns, uint64_t value)
{
	begin_counter(j, pid, name, ns);
	json_key_uint(j, unit, value);
	chrome_end(j);
}

void chrome_put_share(struct json *j, uint64_t pid, const char *name, const char *unit, uint64_t ns, double value)
{
	begin_counter(j, pid, name, ns);
	json_key(j, unit);
	json_double(j, value);
	chrome_end(j);
}
