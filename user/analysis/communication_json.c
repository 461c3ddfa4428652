/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * communication_json.c - the key `communication` of the JSON: docs/analyses/communication.md has its keys.
 */
#include "analysis/communication.h"
#include "analysis/put.h"

static void put_numbers(struct json *j, const struct flow *flow)
{
	json_key_uint(j, "operations", flow->operations);
	json_key_uint(j, "bytes", flow->bytes);
	json_key_uint(j, "operations_without_bytes", flow->unknown);
}

static void put_flow(struct json *j, const char *key, const struct flow *flow)
{
	json_key(j, key);
	json_object(j);
	put_numbers(j, flow);
	json_end_object(j);
}

/* Of a process that has no rank it is null. */
static void put_rank(const struct communication *c, struct json *j, const char *key, uint32_t process)
{
	json_key_int_known(j, key, c->d->processes[process].rank, c->d->processes[process].rank >= 0);
}

static void put_ranks(const struct communication *c, struct json *j)
{
	json_key(j, "ranks");
	json_array(j);
	for (uint32_t i = 0; i < c->d->nprocesses; i++) {
		const struct comm_process *p = &c->processes[i];

		if (c->d->processes[i].left_out ||
		    !(p->out.operations + p->in.operations + p->received.operations + p->unknown.operations +
		      p->nobody.operations + p->collective.operations))
			continue;
		json_object(j);
		put_rank(c, j, "rank", i);
		json_key_uint(j, "pid", c->d->processes[i].pid);
		put_flow(j, "out", &p->out);
		put_flow(j, "in", &p->in);
		json_key_uint(j, "in_ns", p->in_time);
		put_flow(j, "own_part", &p->own);
		put_flow(j, "others_parts", &p->others);
		put_flow(j, "to_unknown", &p->unknown);
		json_key_uint(j, "to_nobody", p->nobody.operations);
		put_flow(j, "received", &p->received);
		json_key_uint(j, "received_from_unknown", p->unknown_senders);
		put_flow(j, "collectives", &p->collective);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_pair(const struct communication *c, const struct comm_pair *pair, struct json *j)
{
	uint64_t known = pair->all.operations - pair->all.unknown;

	json_object(j);
	put_rank(c, j, "from", pair->process);
	json_key_uint(j, "from_pid", c->d->processes[pair->process].pid);
	json_key_uint(j, "to", pair->rank);
	json_key_uint_known(j, "to_pid", pair->target == NO_INDEX ? 0 : c->d->processes[pair->target].pid,
			    pair->target != NO_INDEX);
	put_numbers(j, &pair->all);
	json_key_uint_known(j, "mean_bytes", known ? pair->all.bytes / known : 0, known);
	json_key_uint(j, "time_ns", pair->time);
	for (int i = 0; i < TRAFFICS; i++)
		if (pair->flow[i].operations)
			put_flow(j, traffic_names[i], &pair->flow[i]);
	json_end_object(j);
}

/* [[from, operations, bytes], ...] */
static void put_sizes(const struct communication *c, struct json *j)
{
	json_key(j, "sizes");
	json_array(j);
	for (unsigned i = 0; i < SIZES; i++) {
		if (!c->sizes[i])
			continue;
		json_array(j);
		json_uint(j, i ? 1ull << (i - 1) : 0);
		json_uint(j, c->sizes[i]);
		json_uint(j, c->size_bytes[i]);
		json_end_array(j);
	}
	json_end_array(j);
}

static void put_habit(const struct communication *c, const struct report *r, const struct comm_habit *habit,
		      struct json *j)
{
	json_key_string(j, "event", report_event_name(r, habit->event));
	json_key_string(j, "place", habit->place);
	json_key_uint(j, "processes", habit->processes);
	if (habit->processes == 1)
		put_rank(c, j, "rank", habit->process);
}

/* The calls that belong to the messages. */
static void put_with(const struct communication *c, const struct report *r, const struct comm_habit *habit,
		     struct json *j)
{
	char where[LABEL_ROOM];

	json_key(j, "belonging");
	json_array(j);
	for (size_t i = 0; i < habit->nwith; i++) {
		const struct comm_place *place = &c->places[habit->with[i].place];

		json_object(j);
		json_key_string(j, "event", report_event_name(r, place->event));
		json_key_string(j, "place", site_label(c->d, place->site, where, sizeof(where)));
		json_key_uint(j, "calls", habit->with[i].calls);
		json_key_uint(j, "time_ns", habit->with[i].time);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_small(const struct communication *c, const struct report *r, struct json *j)
{
	json_key(j, "small_messages");
	json_array(j);
	for (size_t i = 0; i < c->nsmall; i++) {
		const struct comm_habit *habit = &c->small[i];

		json_object(j);
		put_habit(c, r, habit, j);
		json_key_int_known(j, "to", habit->pair == NO_INDEX ? 0 : c->pairs[habit->pair].rank,
				   habit->processes == 1 && habit->pair != NO_INDEX);
		json_key_uint(j, "runs", habit->runs);
		json_key_uint(j, "messages", habit->messages);
		json_key_uint(j, "bytes", habit->bytes);
		json_key_uint(j, "messages_that_would_do", habit->together);
		json_key_uint(j, "time_ns", habit->time);
		json_key_uint(j, "without_waiting_ns", habit->quick);
		json_key_uint(j, "shortest_ns", habit->shortest);
		json_key_uint(j, "saves_ns", habit->gain);
		json_key_bool(j, "brings_back", habit->atomic);
		json_key_uint(j, "belonging_ns", habit->with_time);
		put_with(c, r, habit, j);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_idle(const struct communication *c, const struct report *r, struct json *j)
{
	json_key(j, "no_overlap");
	json_array(j);
	for (size_t i = 0; i < c->nidle; i++) {
		const struct comm_habit *habit = &c->idle[i];

		json_object(j);
		put_habit(c, r, habit, j);
		json_key_string(j, "begun_by",
				habit->begun_event == NO_INDEX ? NULL : report_event_name(r, habit->begun_event));
		json_key_uint(j, "waits", habit->waits);
		json_key_uint(j, "wait_ns", habit->wait_time);
		json_key_uint(j, "without_overlap", habit->idle);
		json_key_uint(j, "hidden_at_most_ns", habit->idle_time);
		json_end_object(j);
	}
	json_end_array(j);
}

void communication_put(void *state, const struct report *r, struct json *j)
{
	const struct communication *c = state;

	json_object(j);
	json_key_uint(j, "job_ranks", c->ranks);
	put_flow(j, "all", &c->all);
	put_flow(j, "collectives", &c->collective);
	put_ranks(c, j);
	json_key(j, "pairs");
	json_array(j);
	for (size_t i = 0; i < c->nby_bytes; i++)
		put_pair(c, &c->pairs[c->by_bytes[i]], j);
	json_end_array(j);
	put_flow(j, "pairs_not_kept_apart", &c->beyond);
	put_sizes(c, j);
	json_key(j, "hot_target");
	if (c->hot == NO_INDEX) {
		json_null(j);
	} else {
		json_object(j);
		put_rank(c, j, "rank", c->hot);
		json_key_uint(j, "operations", c->hot_operations);
		json_end_object(j);
	}
	put_small(c, r, j);
	put_idle(c, r, j);
	json_key_uint(j, "waits_for_unknown", c->waits_unknown);
	json_key_uint(j, "calls_of_described", c->described);
	json_key_uint(j, "calls_not_on_timeline", c->missing);
	json_key_uint(j, "calls_with_too_many_inside", c->nested_too_many);
	json_key_uint(j, "accesses_of_own_part_left_out", r->d->loss.near);
	json_end_object(j);
}
