/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flight.c - the flight recorder: the last spans in bounded memory, and when they are written.
 *
 * Spans come from the capture and go into a block; a full one, or one that is some time old, is sealed and put into the
 * ring (ring.c), where the oldest go for want of room or because they ended too long ago. So what is kept ends a
 * block's time before the window does at the earliest, and reaches back at least as far as the window where the memory
 * suffices.
 *
 * A dump is asked for by a trigger (watch.c) or by somebody. Those of triggers keep a distance: what happens meanwhile
 * waits, and is in the next one. Nothing waits for the disk: dump.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "flight/private.h"
#include "util/clock.h"
#include "util/format.h"
#include "util/log.h"

#define CUT_LEAST (16u << 10)
#define CUT_MOST (1u << 20)
#define PARTS 64              /* a block has at most so small a part of the memory */
#define AGE_LEAST 20000000ULL /* ns */
#define AGE_MOST 1000000000ULL
#define AGE_PARTS 16 /* and of the window */
#define LOOK_LEAST 50000000ULL
#define LOOK_MOST 500000000ULL
#define BLOCKS_LEAST 256
#define SHARES 4 /* a user's part of the dumps, where it is one user's wish */

static uint64_t between(uint64_t value, uint64_t least, uint64_t most)
{
	return value < least ? least : value > most ? most : value;
}

/* How often to look at the calls in progress: a quarter of the shortest limit. */
static uint64_t look_every(const struct flight_options *o)
{
	uint64_t least = NO_LIMIT;

	for (size_t i = 0; i < o->ntriggers; i++)
		if (o->triggers[i].limit < least)
			least = o->triggers[i].limit;
	return least == NO_LIMIT ? 0 : between(least / 4, LOOK_LEAST, LOOK_MOST);
}

static int make_ring(struct flight *f)
{
	uint64_t bytes = f->options->bytes, blocks;

	f->cut = between(bytes / PARTS, CUT_LEAST, CUT_MOST);
	f->age = between(f->options->window / AGE_PARTS, AGE_LEAST, AGE_MOST);
	/* Blocks by age, and full ones, packed to a tenth at best. */
	blocks = f->options->window / f->age + bytes / f->cut * 10;
	blocks = between(blocks, BLOCKS_LEAST, bytes / 16 / sizeof(struct block));
	/* What is being filled and packed is a part of the memory, too. */
	return ring_new(&f->ring, bytes - 4 * f->cut, blocks);
}

int flight_new(struct flight **result, const struct flight_options *options, const struct caller *caller,
	       struct definitions *d, struct capture_session *capture)
{
	struct flight *f = calloc(1, sizeof(*f));
	int err = -ENOMEM;

	*result = NULL;
	if (f) {
		f->options = options;
		f->caller = caller;
		f->d = d;
		f->capture = capture;
		f->look = look_every(options);
		f->started = f->filling.begin = f->looked = f->summed = clock_monotonic();
		f->maker = block_maker_new(d);
		err = f->maker ? make_ring(f) : -ENOMEM;
	}
	if (err) {
		log_error("flight recorder: no memory for it: %s: give less with --flight TIME,SIZE", strerror(-err));
		flight_free(f);
		return err;
	}
	*result = f;
	return 0;
}

void flight_free(struct flight *f)
{
	if (!f)
		return;
	dump_end(f, true);
	open_free(&f->open);
	ring_destroy(&f->ring);
	block_maker_free(f->maker);
	buffer_free(&f->growth);
	free(f->before);
	free(f->limits);
	free(f->threads);
	free(f);
}

/* --- keeping --------------------------------------------------------------- */

void flight_seal(struct flight *f)
{
	const uint8_t *bytes;
	ssize_t size;

	f->filling.end = clock_monotonic();
	size = block_seal(f->maker, &bytes);
	if (size > 0 && !ring_push(&f->ring, &f->filling, bytes, size))
		size = 0;
	if (size)
		f->ring.gone = f->filling.end; /* no memory for it */
	f->filling = (struct block){ .begin = f->filling.end };
}

static int take_span(void *context, const struct definitions *d, const struct span *span)
{
	struct flight *f = context;

	if (f->open.count)
		open_forget(&f->open, span, f->d->probes[span->probe].marks & MARK_STACKED);
	if (f->look)
		flight_watch_span(f, span);
	if (block_add_span(f->maker, span)) {
		f->filling.lost++; /* no memory: there is nothing else to be done with it */
		return 0;
	}
	f->filling.spans++;
	if (block_filled(f->maker) >= f->cut)
		flight_seal(f);
	return 0;
}

static int take_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	struct flight *f = context;

	f->filling.lost += gap->count;
	if (!block_add_gap(f->maker, gap) && block_filled(f->maker) >= f->cut)
		flight_seal(f);
	return 0;
}

struct span_sink flight_sink(struct flight *f)
{
	return (struct span_sink){ .span = take_span, .gap = take_gap, .context = f };
}

uint64_t flight_since(const struct flight *f)
{
	uint64_t now = clock_monotonic(), since = now > f->options->window ? now - f->options->window : 0;

	if (f->ring.count && ring_block(&f->ring, 0)->begin < since)
		since = ring_block(&f->ring, 0)->begin; /* blocks go as a whole */
	if (since < f->started)
		since = f->started;
	return since < f->ring.gone ? f->ring.gone : since;
}

/* --- dumps ------------------------------------------------------------------ */

static struct asker *asker_of(struct flight *f, uid_t user)
{
	for (unsigned i = 0; i < f->naskers; i++)
		if (f->askers[i].user == user)
			return &f->askers[i];
	if (f->naskers == ASKERS)
		return NULL;
	f->askers[f->naskers] = (struct asker){ .user = user };
	return &f->askers[f->naskers++];
}

const char *flight_share(struct flight *f, uid_t user)
{
	struct asker *asker = !user || user == geteuid() ? NULL : asker_of(f, user);
	unsigned most = f->options->most < SHARES ? 1 : f->options->most / SHARES;
	uint64_t now = clock_monotonic();
	char time[FORMAT_SIZE];

	if (!user || user == geteuid())
		return NULL;
	if (!asker)
		return "too many users have asked for dumps";
	if (asker->dumps >= most) {
		snprintf(f->refused, sizeof(f->refused),
			 "you have had %u dumps, your share of those that --dumps allows", asker->dumps);
		return f->refused;
	}
	if (asker->last && now - asker->last < f->options->pause) {
		snprintf(f->refused, sizeof(f->refused), "you have just had one: the next in %s (--dump-pause)",
			 format_time(time, asker->last + f->options->pause - now));
		return f->refused;
	}
	asker->dumps++;
	asker->last = now;
	return NULL;
}

uint64_t flight_ask(struct flight *f, const char *who)
{
	struct request *r = &f->asked;

	if (r->is)
		r->more++;
	else
		*r = (struct request){ .is = true, .word = "asked" };
	if (!r->more)
		snprintf(r->why, sizeof(r->why), "asked for by %s", who);
	r->ticket = ++f->ticket;
	return r->ticket;
}

bool flight_answer(struct flight *f, uint64_t *ticket, bool *written, const char **text)
{
	if (!f || !f->answer_is)
		return false;
	f->answer_is = false;
	*ticket = f->answered;
	*written = f->answer_written;
	*text = f->answer;
	return true;
}

static void refuse(struct flight *f, const struct request *r, const char *why)
{
	if (!r->ticket)
		return;
	f->answered = r->ticket;
	f->answer_is = true;
	f->answer_written = false;
	snprintf(f->answer, sizeof(f->answer), "%s", why);
}

/* Takes the request, and what else waits for a dump. */
static void begin(struct flight *f, struct request *r)
{
	struct request taken = *r;
	int err;

	*r = (struct request){ 0 };
	if (f->dumps >= f->options->most) {
		if (!f->said_most)
			log_warn("%u dumps have been written, and no more are: start gaspbpf again, or with more "
				 "--dumps",
				 f->dumps);
		f->said_most = true;
		refuse(f, &taken, "as many dumps have been written as --dumps allows");
		return;
	}
	if (!taken.ticket)
		f->last = clock_monotonic();
	err = dump_begin(f, &taken);
	if (!err) {
		f->dumps++;
		return;
	}
	f->error = f->error ?: err;
	refuse(f, &taken, strerror(-err));
}

static void begin_next(struct flight *f, bool all)
{
	uint64_t now = clock_monotonic(), earliest = f->last ? f->last + f->options->pause : 0;

	if (f->asked.is)
		begin(f, &f->asked);
	else if (f->triggered.is && (all || (now >= f->triggered.due && now >= earliest)))
		begin(f, &f->triggered);
}

void flight_step(struct flight *f)
{
	uint64_t now = clock_monotonic();

	if (!f)
		return;
	if (now - f->filling.begin >= f->age) {
		flight_seal(f);
		sums_keep(f, now);
		ring_expire(&f->ring, now > f->options->window ? now - f->options->window : 0);
	}
	flight_watch_open(f, now);
	dump_end(f, false);
	if (!f->dump.child)
		begin_next(f, false);
}

int flight_finish(struct flight *f)
{
	if (!f)
		return 0;
	for (int i = 0; i < 3; i++) { /* one under way, one asked for, one that a trigger wants */
		dump_end(f, true);
		begin_next(f, true);
	}
	dump_end(f, true);
	return f->error;
}
