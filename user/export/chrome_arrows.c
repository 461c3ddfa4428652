/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_arrows.c - who sent what to whom, and who waited for whom, as arrows of a Chrome trace.
 *
 * An arrow is a pair of events, its begin ("ph":"s") and its end ("ph":"f"), with one id. A viewer ties each to the
 * call of that track that is in progress at its time ("bp":"e"). So it begins with the call that it comes from, and
 * ends in the call that it goes to, where that could go on.
 */
#include "export/chrome_arrows.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "export/call.h"
#include "export/spool.h"
#include "simulate/relations.h"

/* As it waits in the file. */
struct arrow {
	uint64_t begin, end; /* ns */
	uint32_t from, to;   /* threads */
	uint32_t name;       /* index of names[] */
};

struct chrome_arrows {
	struct recording *recording, *whole; /* what was chosen of it, and all of it */
	struct relations *relations;
	struct spool *spool;
	struct heap found;
	pthread_t thread;
	bool apart; /* it runs */
	int error;

	struct json *json;
	arrow_place_fn place;
	void *context;
	uint64_t put; /* so many */
};

/* --- finding them ----------------------------------------------------------- */

#define MESSAGE WAIT_STATES

static const char *const names[] = {
	[WAIT_AT_BARRIER] = "the last one comes",
	[WAIT_AT_NXN] = "the last one comes",
	[WAIT_LATE_BROADCAST] = "the root comes",
	[WAIT_EARLY_REDUCE] = "the last one comes",
	[WAIT_FOR_LOCK] = "lock is handed over",
	[WAIT_AT_FENCE] = "the last one comes",
	[WAIT_LATE_POST] = "memory is opened",
	[WAIT_EARLY_WAIT] = "the last access ends",
	[WAIT_FOR_PROGRESS] = "makes progress",
	[WAIT_LATE_NOTIFY] = "notifies",
	[MESSAGE] = "message",
};

/* The moment, or the last one that is in the call. */
static uint64_t within(const struct related_call *call, uint64_t time)
{
	uint64_t last = call->end > call->start ? call->end - 1 : call->start;

	return time < call->start ? call->start : time > last ? last : time;
}

static bool is_chosen(const struct chrome_arrows *a, const struct related_call *call)
{
	return recording_has_chosen(a->recording, call->thread, call->start, call->end);
}

static int keep(struct chrome_arrows *a, uint32_t name, const struct related_call *from, const struct related_call *to,
		uint64_t time)
{
	struct arrow arrow = { from->start, within(to, time), from->thread, to->thread, name };
	struct buffer *piece;
	int error;

	if (from->thread == to->thread || !is_chosen(a, from) || !is_chosen(a, to))
		return 0;
	error = spool_room(a->spool, &a->found, &piece);
	if (error)
		return error;
	buffer_put(piece, &arrow, sizeof(arrow));
	return piece->failed ? -ENOMEM : 0;
}

static int keep_message(void *context, const struct related_call *sends, const struct related_call *receives)
{
	return keep(context, MESSAGE, sends, receives, sends->end);
}

/* Who waits for a sender has the arrow of the message; who waits for a receiver sends it one. */
static int keep_wait(void *context, const struct related_call *call, const struct waited *waited)
{
	if (!waited || !names[waited->state])
		return 0;
	return keep(context, waited->state, &waited->of, call, waited->until);
}

static void *find(void *context)
{
	struct chrome_arrows *a = context;
	struct relations_ops ops = { .call = keep_wait, .message = keep_message, .context = a };

	a->error = relations_read(a->relations, &ops, NULL, NULL);
	return NULL;
}

struct chrome_arrows *chrome_arrows_find(struct recording *recording, int spare)
{
	struct chrome_arrows *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->recording = recording;
	if (spare < 0 || !relations_possible(recording_definitions(recording)))
		return a;
	a->spool = spool_new(spare);
	a->whole = recording_whole(recording);
	a->relations = a->whole ? relations_new(a->whole) : NULL;
	if (!a->spool || !a->relations) {
		chrome_arrows_free(a);
		return NULL;
	}
	a->apart = !pthread_create(&a->thread, NULL, find, a);
	if (!a->apart)
		find(a);
	return a;
}

/* --- putting them ------------------------------------------------------------- */

static void put_end(struct chrome_arrows *a, const struct arrow *arrow, bool begin, uint64_t pid, uint64_t tid)
{
	struct json *j = a->json;

	json_newline(j);
	json_object(j);
	json_key_string(j, "ph", begin ? "s" : "f");
	if (!begin)
		json_key_string(j, "bp", "e");
	json_key_uint(j, "id", a->put);
	json_key_string(j, "name", names[arrow->name]);
	json_key_string(j, "cat", "arrow");
	json_key_uint(j, "pid", pid);
	json_key_uint(j, "tid", tid);
	json_key(j, "ts");
	json_micros(j, since_start(recording_definitions(a->recording), begin ? arrow->begin : arrow->end));
	json_end_object(j);
}

static int put_arrows(void *context, struct cursor *pieces)
{
	struct chrome_arrows *a = context;
	uint64_t from_pid, from_tid, pid, tid;
	const uint8_t *piece;
	struct arrow arrow;

	while (pieces->at < pieces->end && (piece = cursor_bytes(pieces, sizeof(arrow)))) {
		memcpy(&arrow, piece, sizeof(arrow));
		if (!a->place(a->context, arrow.from, &from_pid, &from_tid) ||
		    !a->place(a->context, arrow.to, &pid, &tid))
			continue;
		a->put++;
		put_end(a, &arrow, true, from_pid, from_tid);
		put_end(a, &arrow, false, pid, tid);
	}
	return a->json->error;
}

static void wait_for_thread(struct chrome_arrows *a)
{
	if (a->apart)
		pthread_join(a->thread, NULL);
	a->apart = false;
}

int chrome_arrows_put(struct chrome_arrows *a, struct json *json, arrow_place_fn place, void *context)
{
	wait_for_thread(a);
	if (a->error || !a->spool)
		return a->error;
	a->json = json;
	a->place = place;
	a->context = context;
	return spool_read(a->spool, &a->found, put_arrows, a);
}

void chrome_arrows_free(struct chrome_arrows *a)
{
	if (!a)
		return;
	wait_for_thread(a);
	relations_free(a->relations);
	recording_close(a->whole);
	heap_free(&a->found);
	spool_free(a->spool);
	free(a);
}
