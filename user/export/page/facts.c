/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * facts.c - what the page's blocks are of: names and numbers, as JSON.
 */
#include "export/arrows.h"
#include "export/call.h"
#include "export/page/page.h"
#include "recording/labels.h"

#define PAGE_FORMAT 1
#define NAME_SIZE 1024 /* bytes of a name of a process or thread */

static void put_counts(struct json *j, const struct drawing *g, const struct page_arrows *arrows, uint64_t limit)
{
	json_key(j, "calls");
	json_object(j);
	json_key_uint(j, "all", g->survey->calls);
	json_key_uint(j, "drawn", g->drawn);
	json_key_uint(j, "left_out", g->survey->calls - g->drawn);
	json_key_uint(j, "shorter_than_ns", g->threshold);
	json_key_uint(j, "without_words", g->wordless);
	json_end_object(j);
	json_key(j, "arrows");
	if (arrows->looked) {
		json_object(j);
		json_key_uint(j, "all", arrows->all);
		json_key_uint(j, "drawn", arrows->drawn);
		json_key_uint(j, "shorter_than_ns", arrows->shorter_than);
		json_end_object(j);
	} else {
		json_null(j);
	}
	json_key_uint(j, "size_limit", limit);
}

static void put_kinds(struct json *j)
{
	const char *group;

	json_key(j, "arrow_kinds");
	json_array(j);
	for (int i = 0; i < ARROW_KINDS; i++)
		json_string(j, arrow_name(i));
	json_end_array(j);
	json_key(j, "groups");
	json_array(j);
	for (unsigned i = 0; (group = report_group(i)); i++)
		json_string(j, group);
	json_end_array(j);
}

static void put_events(struct json *j, const struct drawing *g)
{
	json_key(j, "events");
	json_array(j);
	for (size_t i = 0; i < g->nevents; i++) {
		const struct def_probe *probe = &g->survey->d->probes[g->events[i].probe];
		char label[LABEL_ROOM];

		json_object(j);
		json_key_string(j, "name", event_label(probe, probe->marks & MARK_INNER, label, sizeof(label)));
		json_key_uint(j, "group", g->probes[g->events[i].probe].group);
		json_key_string(j, "role", role_name(probe->role));
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_lane(struct json *j, const struct survey *s, const struct page_lane *lane)
{
	const struct def_process *process = thread_process(s->d, lane->thread);
	uint32_t place = s->places[lane->thread];
	struct who who = who_is_thread(s->d, lane->thread);
	char name[NAME_SIZE];

	json_newline(j);
	json_object(j);
	json_key_uint_known(j, "thread", place, place != NO_INDEX);
	json_key_uint(j, "lane", lane->lane);
	lane_text(&who, lane->lane, name, sizeof(name));
	json_key_string(j, "name", name);
	process_text(s->d, s->d->threads[lane->thread].process, name, sizeof(name));
	json_key_string(j, "process", name);
	json_key_int_known(j, "rank", process ? process->rank : 0, process && process->rank >= 0);
	json_key_uint(j, "calls", lane->drawn);
	json_key_uint(j, "first", lane->first);
	json_key_uint(j, "all", lane->calls);
	json_key_uint(j, "lost", lane->lane ? 0 : s->missing[lane->thread]);
	json_end_object(j);
}

struct facts {
	const struct drawing *drawing;
	const struct page_arrows *arrows;
	const char *recording;
	uint64_t limit;
};

static void put_facts(struct json *j, const void *context)
{
	const struct facts *facts = context;
	const struct drawing *g = facts->drawing;
	const struct survey *s = g->survey;

	json_object(j);
	json_key_uint(j, "format", PAGE_FORMAT);
	json_key_string(j, "gaspbpf", GASPBPF_VERSION);
	json_key_string(j, "recording", facts->recording);
	json_key_uint(j, "start_ns", s->start);
	json_key_uint(j, "end_ns", s->end);
	put_counts(j, g, facts->arrows, facts->limit);
	put_kinds(j);
	put_events(j, g);
	json_newline(j);
	json_key(j, "sites");
	listed_json(&g->sites, j);
	json_newline(j);
	json_key(j, "words");
	listed_json(&g->words, j);
	json_newline(j);
	json_key(j, "lanes");
	json_array(j);
	for (size_t i = 0; i < s->nlanes; i++)
		put_lane(j, s, &s->lanes[i]);
	json_end_array(j);
	json_end_object(j);
}

int facts_make(struct block *block, struct spool *spool, const struct drawing *g, const struct page_arrows *arrows,
	       const char *recording, uint64_t limit)
{
	const struct facts facts = { g, arrows, recording, limit };

	return block_json(block, spool, put_facts, &facts);
}
