/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof.c - a profile for `go tool pprof`, and for what reads its format: Grafana, Polar Signals, speedscope.
 *
 * The format is one message of Protocol Buffers, packed by gzip: profile.proto of github.com/google/pprof. It is
 * written by hand, for it takes two kinds of fields only, numbers and bytes. Fields may come in any order; so texts,
 * functions and locations are written when they are first met, before the sample that needs them.
 *
 * A sample is a stack (call_tree.h) with its calls, and the ns that it had without calls inside. Locations are places
 * in the source and, below each, the event that was called there. Node, rank, process and thread are the sample's
 * labels.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "export/call.h"
#include "export/call_tree.h"
#include "export/formats.h"
#include "recording/labels.h"
#include "util/buffer.h"

/* Numbers of profile.proto's fields. */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2 };
enum { MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_FUNCTIONS = 7, MAPPING_FILES = 8, MAPPING_LINES = 9 };
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

#define THE_MAPPING 1 /* its number */

struct word {
	UT_hash_handle hh;
	uint32_t index;
	char text[];
};

struct place_key {
	uint32_t name, file, line; /* words, and the line */
};

struct place {
	UT_hash_handle hh;
	struct place_key key;
	uint32_t id;
};

struct pprof {
	const struct definitions *d;
	struct call_tree *tree;
	struct output *out;
	struct word *words;
	struct place *places;
	struct buffer ready; /* of the outermost message: not handed on */
	struct buffer sample, locations, part, clean;
	bool failed; /* out of memory */
};

/* --- Protocol Buffers ----------------------------------------------------------------- */

static void put_number(struct buffer *to, unsigned field, uint64_t number)
{
	if (!number) /* that is what stands for it */
		return;
	buffer_put_varint(to, field << 3);
	buffer_put_varint(to, number);
}

static void put_bytes(struct buffer *to, unsigned field, const void *bytes, size_t size)
{
	buffer_put_varint(to, field << 3 | 2);
	buffer_put_varint(to, size);
	buffer_put(to, bytes, size);
}

static void put_message(struct pprof *p, struct buffer *to, unsigned field, const struct buffer *message)
{
	p->failed |= message->failed;
	put_bytes(to, field, message->data, message->size);
}

/* --- what is met ------------------------------------------------------------------------ */

/* The text's index in the table of strings. */
static uint32_t word_of(struct pprof *p, const char *text)
{
	struct word *word;
	size_t size;

	buffer_clear(&p->clean);
	buffer_reserve(&p->clean, 1); /* so that there are bytes, if of none */
	buffer_put_utf8(&p->clean, text ?: "");
	if (p->clean.failed) {
		p->failed = true;
		return 0;
	}
	size = p->clean.size;
	HASH_FIND(hh, p->words, p->clean.data, size, word);
	if (word)
		return word->index;
	word = malloc(sizeof(*word) + size + 1);
	if (!word) {
		p->failed = true;
		return 0;
	}
	if (size)
		memcpy(word->text, p->clean.data, size);
	word->index = HASH_COUNT(p->words);
	HASH_ADD(hh, p->words, text[0], size, word);
	if (!word->hh.tbl) {
		free(word);
		p->failed = true;
		return 0;
	}
	put_bytes(&p->ready, PROFILE_STRING, word->text, size);
	return word->index;
}

static void put_function(struct pprof *p, const struct place *place)
{
	buffer_clear(&p->part);
	put_number(&p->part, FUNCTION_ID, place->id);
	put_number(&p->part, FUNCTION_NAME, place->key.name);
	put_number(&p->part, FUNCTION_SYSTEM_NAME, place->key.name);
	put_number(&p->part, FUNCTION_FILE, place->key.file);
	put_message(p, &p->ready, PROFILE_FUNCTION, &p->part);
}

static void put_location(struct pprof *p, const struct place *place)
{
	struct buffer line = { 0 };

	put_number(&line, LINE_FUNCTION, place->id);
	put_number(&line, LINE_LINE, place->key.line);
	buffer_clear(&p->part);
	put_number(&p->part, LOCATION_ID, place->id);
	put_number(&p->part, LOCATION_MAPPING, THE_MAPPING);
	put_message(p, &p->part, LOCATION_LINE, &line);
	put_message(p, &p->ready, PROFILE_LOCATION, &p->part);
	buffer_free(&line);
}

/* The location's id. */
static uint32_t place_of(struct pprof *p, const char *name, const char *file, uint32_t line)
{
	struct place_key key = { .name = word_of(p, name), .file = word_of(p, file), .line = line };
	struct place *place;

	HASH_FIND(hh, p->places, &key, sizeof(key), place);
	if (place)
		return place->id;
	place = calloc(1, sizeof(*place));
	if (!place) {
		p->failed = true;
		return 0;
	}
	place->key = key;
	place->id = HASH_COUNT(p->places) + 1;
	HASH_ADD(hh, p->places, key, sizeof(place->key), place);
	if (!place->hh.tbl) {
		free(place);
		p->failed = true;
		return 0;
	}
	put_function(p, place);
	put_location(p, place);
	return place->id;
}

/* --- samples ------------------------------------------------------------------------------ */

static void put_callers(struct pprof *p, const char *places)
{
	static const char between[] = " < ";
	char *all = strdup(places), *at = all, *next;

	if (!all)
		p->failed = true;
	for (; at; at = next) {
		next = strstr(at, between);
		if (next) {
			*next = '\0';
			next += strlen(between);
		}
		buffer_put_varint(&p->locations, place_of(p, at, NULL, 0));
	}
	free(all);
}

static void put_call(struct pprof *p, const struct tree_call *call)
{
	const struct def_probe *probe = call_tree_probe(p->tree, call->event);
	const struct def_site *site = call->site != NO_INDEX ? &p->d->sites[call->site] : NULL;
	const char *image = probe->image < p->d->nimages ? p->d->images[probe->image].path : NULL;
	const char *callers = call_tree_callers(p->tree, call);
	char label[LABEL_ROOM];

	event_label(probe, probe->marks & MARK_INNER, label, sizeof(label));
	buffer_put_varint(&p->locations, place_of(p, label, image, 0));
	if (site) {
		site_label(p->d, call->site, label, sizeof(label));
		buffer_put_varint(&p->locations, place_of(p, site->function ?: label, site->file, site->line));
	}
	if (callers)
		put_callers(p, callers);
}

static void put_label(struct pprof *p, const char *key, const char *text)
{
	uint32_t key_word = word_of(p, key), text_word = word_of(p, text);

	buffer_clear(&p->part);
	put_number(&p->part, LABEL_KEY, key_word);
	put_number(&p->part, LABEL_TEXT, text_word);
	put_message(p, &p->sample, SAMPLE_LABEL, &p->part);
}

/* As a text: as a number 0 could not be told from none. */
static void put_rank(struct pprof *p, long rank)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", rank);
	put_label(p, "rank", text);
}

static void put_labels(struct pprof *p, uint32_t thread)
{
	const struct def_process *process = thread_process(p->d, thread);
	struct who who = who_is_thread(p->d, thread);
	const char *host = node_text(p->d, process);
	char label[LABEL_ROOM];

	label_of_thread(&who, label, sizeof(label));
	put_label(p, "thread", label);
	if (host)
		put_label(p, "node", host);
	if (process && process->rank >= 0)
		put_rank(p, process->rank);
}

static void put_sample(struct pprof *p, const struct tree_call *calls, uint32_t index)
{
	buffer_clear(&p->sample);
	buffer_clear(&p->locations);
	for (uint32_t at = index; at != NO_INDEX; at = calls[at].parent)
		put_call(p, &calls[at]);
	put_message(p, &p->sample, SAMPLE_LOCATIONS, &p->locations);
	buffer_clear(&p->part);
	buffer_put_varint(&p->part, calls[index].calls);
	buffer_put_varint(&p->part, calls[index].self);
	put_message(p, &p->sample, SAMPLE_VALUES, &p->part);
	put_labels(p, calls[index].thread);
	put_message(p, &p->ready, PROFILE_SAMPLE, &p->sample);
}

static int hand_on(struct pprof *p)
{
	int error = p->failed || p->ready.failed ? -ENOMEM
						 : output_write(p->out, (const char *)p->ready.data, p->ready.size);

	buffer_clear(&p->ready);
	return error;
}

static int put_samples(struct pprof *p)
{
	uint32_t count, *order = call_tree_order(p->tree);
	const struct tree_call *calls = call_tree_calls(p->tree, &count);
	int error = order ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < count && !error; i++) {
		put_sample(p, calls, order[i]);
		error = hand_on(p);
		output_progress(p->out, (size_t)count + i + 1, 2 * (size_t)count);
	}
	free(order);
	return error;
}

/* --- the whole ------------------------------------------------------------------------------ */

static void put_type(struct pprof *p, const char *type, const char *unit)
{
	uint32_t type_word = word_of(p, type), unit_word = word_of(p, unit);

	buffer_clear(&p->part);
	put_number(&p->part, TYPE_TYPE, type_word);
	put_number(&p->part, TYPE_UNIT, unit_word);
	put_message(p, &p->ready, PROFILE_SAMPLE_TYPE, &p->part);
}

/* What all processes are called; NULL: there are several programs, or none. */
static const char *program_of(const struct definitions *d)
{
	const char *name = NULL;

	for (size_t i = 0; i < d->nprocesses; i++) {
		const struct def_process *process = &d->processes[i];

		if (process->left_out || !process->name)
			continue;
		if (name && strcmp(name, process->name))
			return NULL;
		name = process->name;
	}
	return name;
}

/* One for all: readers take the profile's title from it, and look for no symbols where it says that they are known. */
static void put_mapping(struct pprof *p)
{
	uint32_t name = word_of(p, program_of(p->d) ?: "programs");

	buffer_clear(&p->part);
	put_number(&p->part, MAPPING_ID, THE_MAPPING);
	put_number(&p->part, MAPPING_FILE, name);
	put_number(&p->part, MAPPING_FUNCTIONS, true);
	put_number(&p->part, MAPPING_FILES, true);
	put_number(&p->part, MAPPING_LINES, true);
	put_message(p, &p->ready, PROFILE_MAPPING, &p->part);
}

/* What is no sample's. */
static void put_comments(struct pprof *p)
{
	const uint64_t *missing = call_tree_missing(p->tree);
	uint64_t all = 0;
	char text[80];

	put_number(&p->ready, PROFILE_COMMENT, word_of(p, "gaspbpf " GASPBPF_VERSION));
	for (size_t i = 0; i < p->d->nthreads; i++)
		all += thread_is_left_out(p->d, i) ? 0 : missing[i];
	snprintf(text, sizeof(text), "without %" PRIu64 " calls that are not on the timeline", all);
	if (all)
		put_number(&p->ready, PROFILE_COMMENT, word_of(p, text));
}

static int put_profile(struct pprof *p, struct recording *recording)
{
	const struct def_run *run = &p->d->run;
	int error = call_tree_read(p->tree, recording, p->out);

	if (error)
		return error;
	word_of(p, ""); /* it is to be the first */
	put_type(p, "calls", "count");
	put_type(p, "time", "nanoseconds");
	put_number(&p->ready, PROFILE_DEFAULT_TYPE, word_of(p, "time"));
	put_number(&p->ready, PROFILE_TIME, run->start_realtime);
	put_number(&p->ready, PROFILE_DURATION, run->end > run->start ? run->end - run->start : 0);
	put_mapping(p);
	put_comments(p);
	error = hand_on(p);
	return error ? error : put_samples(p);
}

static void pprof_close(struct pprof *p)
{
	struct word *word, *next_word;
	struct place *place, *next_place;

	HASH_ITER (hh, p->words, word, next_word) {
		HASH_DEL(p->words, word);
		free(word);
	}
	HASH_ITER (hh, p->places, place, next_place) {
		HASH_DEL(p->places, place);
		free(place);
	}
	call_tree_free(p->tree);
	buffer_free(&p->ready);
	buffer_free(&p->sample);
	buffer_free(&p->locations);
	buffer_free(&p->part);
	buffer_free(&p->clean);
}

static int pprof_write(struct recording *recording, int fd, int spare, const char *name)
{
	struct pprof p = { .d = recording_definitions(recording) };
	int error = -ENOMEM, ended = 0;

	p.tree = call_tree_new(p.d);
	if (p.tree)
		p.out = output_open(fd, name);
	if (p.out) {
		error = put_profile(&p, recording);
		ended = output_close(p.out);
	}
	pprof_close(&p);
	return error ? error : ended;
}

const struct exporter exporter_pprof = {
	.name = "pprof",
	.suffixes = ".pb.gz",
	.help = "a profile for go tool pprof",
	.write = pprof_write,
};
