/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_arrows.c - who sent what to whom, and who waited for whom, as arrows of a Chrome trace.
 *
 * An arrow is a pair of events, its begin ("ph":"s") and its end ("ph":"f"), with one id. A viewer ties each to the
 * call of that track that is in progress at its time ("bp":"e").
 *
 * The same reading tells the counters of messages (chrome_counters.h).
 */
#include "export/chrome_arrows.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "export/arrows.h"
#include "export/call.h"
#include "export/spool.h"

struct chrome_arrows {
	struct recording *recording, *whole; /* what was chosen of it, and all of it */
	struct chrome_counters *counters;    /* that are told of messages; NULL: none */
	bool *related, any_related;          /* by probe: its calls may have to do with others; of one of them */
	struct relations *relations;
	struct spool *spool;
	struct heap found;
	pthread_t thread;
	bool begun, apart; /* it runs, in a thread of its own */
	int error;

	struct json *json;
	arrow_place_fn place;
	void *context;
	uint64_t put; /* so many */
};

/* --- finding them ----------------------------------------------------------- */

static int keep(void *context, const struct arrow *arrow)
{
	struct chrome_arrows *a = context;
	struct buffer *piece;
	int error = spool_room(a->spool, &a->found, &piece);

	if (error)
		return error;
	buffer_put(piece, arrow, sizeof(*arrow));
	return piece->failed ? -ENOMEM : 0;
}

/* Of messages, for the counters. */
static int count_message(void *context, const struct related_call *sends, const struct related_call *receives,
			 uint64_t bytes)
{
	struct chrome_arrows *a = context;

	return chrome_counters_message(a->counters, sends->thread, sends->start, receives->end, bytes);
}

static void *find(void *context)
{
	struct chrome_arrows *a = context;
	const struct arrows_ops ops = { .arrow = a->spool ? keep : NULL,
					.message = a->counters ? count_message : NULL,
					.context = a };

	a->error = arrows_read(a->relations, a->recording, &ops);
	return NULL;
}

struct chrome_arrows *chrome_arrows_new(struct recording *recording, int spare, struct chrome_counters *counters)
{
	const struct definitions *d = recording_definitions(recording);
	struct chrome_arrows *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->recording = recording;
	a->counters = counters;
	a->related = calloc(d->nprobes + 1, sizeof(*a->related));
	a->spool = spare < 0 ? NULL : spool_new(spare);
	a->whole = recording_whole(recording);
	a->relations = a->whole ? relations_new(a->whole) : NULL;
	if (!a->related || !a->relations || (spare >= 0 && !a->spool)) {
		chrome_arrows_free(a);
		return NULL;
	}
	for (size_t i = 0; i < d->nprobes; i++) {
		a->related[i] = relations_possible_of(&d->probes[i]);
		a->any_related |= a->related[i];
	}
	return a;
}

/* It takes long, and is done only where there is a call that others may have to do with. */
static void begin(struct chrome_arrows *a)
{
	a->begun = true;
	a->apart = !pthread_create(&a->thread, NULL, find, a);
	if (!a->apart)
		find(a);
}

void chrome_arrows_meet(struct chrome_arrows *a, const struct span *span)
{
	if (!a->begun && a->related[span->probe])
		begin(a);
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
	json_key_string(j, "name", arrow_name(arrow->kind));
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
	/* Messages may be under way while none of their calls is in the file. */
	if (!a->begun && a->any_related && a->counters && recording_left_out(a->recording))
		begin(a);
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
	free(a->related);
	free(a);
}
