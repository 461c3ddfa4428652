/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_ahead.c - chunks that are decoded by a thread of their own while the one before is looked at.
 *
 * Two readers of the same file take turns, since what a chunk points to is its reader's: the thread reads into the one
 * that nobody looks at. What they find out of the file (damage, floors) becomes known of the recording when the chunk
 * is asked for, as if it had been read then.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "recording/reader.h"

#define READERS 2

struct read_ahead {
	struct recording *recording;
	struct turn {
		struct recording *reader;
		struct recording_chunk chunk;
		int error;
	} turns[READERS]; /* the n-th chunk is at n % READERS */
	size_t count;     /* chunks */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	size_t read, returned; /* chunks; before `returned` nobody looks at any */
	bool over;
};

static struct turn *turn_of(struct read_ahead *a, size_t index)
{
	return &a->turns[index % READERS];
}

/* False: it is to end. */
static bool wait_for_turn(struct read_ahead *a)
{
	bool over;

	pthread_mutex_lock(&a->lock);
	while (a->read - a->returned == READERS && !a->over)
		pthread_cond_wait(&a->changed, &a->lock);
	over = a->over;
	pthread_mutex_unlock(&a->lock);
	return !over;
}

/* over: nothing comes behind it. */
static void end_turn(struct read_ahead *a, bool over)
{
	pthread_mutex_lock(&a->lock);
	a->read++;
	a->over |= over;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

static void *read_chunks(void *context)
{
	struct read_ahead *a = context;

	for (size_t index = 0; index < a->count && wait_for_turn(a); index++) {
		struct turn *turn = turn_of(a, index);

		turn->error = recording_read_chunk(turn->reader, index, &turn->chunk);
		end_turn(a, turn->error || turn->reader->nplaces != a->count);
	}
	return NULL;
}

static void close_readers(struct read_ahead *a)
{
	for (size_t i = 0; i < READERS; i++)
		recording_close(a->turns[i].reader);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

struct read_ahead *read_ahead_begin(struct recording *recording)
{
	struct read_ahead *a = recording->nplaces > 1 && !recording->of ? calloc(1, sizeof(*a)) : NULL;
	bool made = a;

	if (!a)
		return NULL;
	a->recording = recording;
	a->count = recording->nplaces;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	for (size_t i = 0; i < READERS; i++) {
		a->turns[i].reader = recording_again(recording);
		made &= a->turns[i].reader != NULL;
	}
	if (made && !pthread_create(&a->thread, NULL, read_chunks, a))
		return a;
	close_readers(a);
	return NULL;
}

/* What the reader has found out becomes known. */
static void take_over(struct recording *recording, size_t index, struct recording *reader)
{
	recording->places[index].floor = reader->places[index].floor;
	recording->places[index].floor_known = reader->places[index].floor_known;
	recording->nplaces = reader->nplaces;
	if (reader->damage)
		reader_say_damage(recording, reader->damaged_at, reader->damage);
}

int read_ahead_chunk(struct read_ahead *a, size_t index, struct recording_chunk *chunk)
{
	struct turn *turn = turn_of(a, index);
	bool there;

	if (!reader_goes_on(a->recording, index))
		return -ECANCELED;
	pthread_mutex_lock(&a->lock);
	a->returned = index;
	pthread_cond_signal(&a->changed);
	while (a->read <= index && !a->over)
		pthread_cond_wait(&a->changed, &a->lock);
	there = a->read > index;
	pthread_mutex_unlock(&a->lock);
	if (!there)
		return -ENODATA;
	take_over(a->recording, index, turn->reader);
	*chunk = turn->chunk;
	return turn->error;
}

void read_ahead_end(struct read_ahead *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->over = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	close_readers(a);
}
