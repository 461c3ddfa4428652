/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_arrows.c - who sent what to whom, and who waited for whom, as arrows of a Chrome trace.
 *
 * An arrow is a pair of events, its begin ("ph":"s") and its end ("ph":"f"), with one id. A viewer ties each to the
 * call of that track that is in progress at its time ("bp":"e").
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

static void *find(void *context)
{
	struct chrome_arrows *a = context;
	const struct arrows_ops ops = { .arrow = keep, .context = a };

	a->error = arrows_read(a->relations, a->recording, &ops);
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
