/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * draw.c - calls of one threshold: those that are drawn, in columns, and the shorter ones in bins.
 *
 * The timeline tells of threads in turns, and in the page lanes stand one after the other. So what is drawn waits in a
 * heap for each lane, all values of a call together, and is read once for each column: the next column of all lanes
 * follows, and gzip finds more in values of one kind.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/call.h"
#include "export/call_line.h"
#include "export/output.h"
#include "export/page/bins.h"
#include "recording/labels.h"

/* In their order in the page, and of a call in the heap. */
enum column {
	COLUMN_START,
	COLUMN_DURATION,
	COLUMN_LEVEL,
	COLUMN_EVENT,
	COLUMN_SITE,
	COLUMN_WORDS,
	COLUMN_END,
	COLUMNS
};

/* How a call ended, in the page. */
enum page_end { END_RETURNED, END_OPEN, END_UNWOUND, END_EXIT, END_UNSEEN };

struct lane_calls {
	struct heap heap;
	uint64_t count;
	uint64_t last; /* ns: when the latest one began */
	struct lane_bins bins;
};

static struct bin_times bin_times(const struct drawing *g)
{
	const struct survey *s = g->survey;

	return (struct bin_times){ s->start, s->end - s->start, g->nbins, g->spool };
}

/* --- what calls refer to ------------------------------------------------------- */

/* NO_INDEX: out of memory. */
static uint32_t event_of(struct drawing *g, uint32_t index)
{
	const struct def_probe *probe = &g->survey->d->probes[index];
	struct page_probe *p = &g->probes[index];
	struct event_key key;

	if (p->event != NO_INDEX)
		return p->event;
	key = event_key_of(probe, probe->marks & MARK_INNER);
	p->event = event_names_number(g->names, &key);
	p->group = report_group_of_role(probe->role);
	if (p->event == g->nevents)
		g->events[g->nevents++].probe = index;
	return p->event;
}

/* Its number + 1; 0: not known. */
static uint64_t site_of(struct drawing *g, uint32_t site, int *error)
{
	char label[LABEL_ROOM];

	if (site >= g->survey->d->nsites)
		return 0;
	if (!g->site_numbers[site]) {
		site_label(g->survey->d, site, label, sizeof(label));
		g->site_numbers[site] = listed_number(&g->sites, label, strlen(label), NO_INDEX - 1, error) + 1;
	}
	return g->site_numbers[site];
}

/* The number of what is known at its end. */
static uint64_t words_of(struct drawing *g, const struct event *event, int *error)
{
	struct page_event *of = &g->events[g->probes[event->span->probe].event];
	size_t before = g->words.count, most = of->words < PAGE_WORDS_OF_EVENT ? PAGE_WORDS : 0;
	struct event end = *event;
	uint32_t number;

	if (event->type == EVENT_START)
		end.type = EVENT_END;
	buffer_clear(&g->text);
	call_line_put(g->line, &g->text, &end);
	if (g->text.failed) {
		*error = -ENOMEM;
		return 0;
	}
	if (!g->text.size)
		return 0;
	number = listed_number(&g->words, (const char *)g->text.data + 1, g->text.size - 1, most, error);
	of->words += g->words.count - before;
	if (number != NO_INDEX)
		return number;
	g->wordless++;
	return 0;
}

static enum page_end end_of(const struct span *span)
{
	switch (span->reason) {
	case GB_END_RETURN:
	case GB_END_TAIL:
	case GB_END_ATOMIC:
		return END_RETURNED;
	case GB_END_DETACH:
		return END_OPEN;
	case GB_END_UNWOUND:
		return END_UNWOUND;
	case GB_END_EXIT:
	case GB_END_EXEC:
		return END_EXIT;
	default:
		return END_UNSEEN;
	}
}

/* --- reading --------------------------------------------------------------------- */

static int put_call(struct drawing *g, struct lane_calls *lane, const struct event *event, uint64_t duration)
{
	const struct span *span = event->span;
	uint64_t since = event->time > g->survey->start ? event->time - g->survey->start : 0;
	uint64_t values[COLUMNS] = {
		[COLUMN_START] = since - lane->last,
		[COLUMN_DURATION] = duration,
		[COLUMN_LEVEL] = event->level < UINT8_MAX ? event->level : UINT8_MAX,
		[COLUMN_EVENT] = g->probes[span->probe].event,
		[COLUMN_END] = end_of(span),
	};
	struct buffer *piece;
	int error = spool_room(g->spool, &lane->heap, &piece);

	values[COLUMN_SITE] = site_of(g, span->site, &error);
	values[COLUMN_WORDS] = words_of(g, event, &error);
	if (error)
		return error;
	for (int i = 0; i < COLUMNS; i++) {
		size_t before = piece->size;

		if (i == COLUMN_LEVEL || i == COLUMN_END)
			buffer_put(piece, &(uint8_t){ values[i] }, 1);
		else
			buffer_put_varint(piece, values[i]);
		g->columns[i] += piece->size - before;
	}
	lane->last = since;
	lane->count++;
	g->drawn++;
	return piece->failed ? -ENOMEM : 0;
}

static int draw_event(void *context, const struct definitions *d, const struct event *event)
{
	struct drawing *g = context;
	const struct span *span = event->span;
	struct lane_calls *lane = &g->lanes[g->survey->first[span->thread] + event->lane];
	uint64_t duration = event->type == EVENT_START ? span->end - span->start : 0;
	struct bin_times times = bin_times(g);
	struct short_call call;

	if (event->type == EVENT_END)
		return 0;
	call = (struct short_call){ event->time, event->time + duration, event_of(g, span->probe),
				    g->probes[span->probe].group };
	if (call.event == NO_INDEX)
		return -ENOMEM;
	return duration < g->threshold ? bins_add(&lane->bins, &times, &call) : put_call(g, lane, event, duration);
}

static void draw_progress(void *context, size_t done, size_t all)
{
	output_progress(((struct drawing *)context)->out, done, all);
}

/* --- packing ------------------------------------------------------------------------ */

struct packing {
	struct block *block;
	enum column column;
	struct buffer bytes;
};

static int pack_column(void *context, struct cursor *pieces)
{
	struct packing *p = context;

	buffer_clear(&p->bytes);
	while (pieces->at < pieces->end) {
		for (int i = 0; i < COLUMNS; i++) {
			const uint8_t *from = pieces->at;

			if (i == COLUMN_LEVEL || i == COLUMN_END)
				cursor_bytes(pieces, 1);
			else
				cursor_varint(pieces);
			if (pieces->failed)
				return -EIO;
			if (i == (int)p->column)
				buffer_put(&p->bytes, from, pieces->at - from);
		}
	}
	return p->bytes.failed ? -ENOMEM : block_put(p->block, (const char *)p->bytes.data, p->bytes.size);
}

static int pack_bytes(void *context, struct cursor *pieces)
{
	return block_put(context, (const char *)pieces->at, pieces->end - pieces->at);
}

static int put_u32(struct block *block, uint64_t value)
{
	uint8_t bytes[4] = { value, value >> 8, value >> 16, value >> 24 };

	return value > UINT32_MAX ? -EFBIG : block_put(block, (const char *)bytes, sizeof(bytes));
}

static int pack_calls(struct drawing *g)
{
	struct packing p = { .block = &g->calls };
	int error = 0, ended;

	block_begin(&g->calls, g->spool);
	for (int i = 0; i < COLUMNS && !error; i++) {
		p.column = i;
		error = put_u32(&g->calls, g->columns[i]);
		for (size_t lane = 0; lane < g->survey->nlanes && !error; lane++)
			error = spool_read(g->spool, &g->lanes[lane].heap, pack_column, &p);
	}
	buffer_free(&p.bytes);
	ended = block_end(&g->calls);
	return error ? error : ended;
}

static int pack_bins(struct drawing *g)
{
	struct bin_times times = bin_times(g);
	int error, ended;

	block_begin(&g->bins, g->spool);
	error = put_u32(&g->bins, g->nbins);
	for (size_t i = 0; i < g->survey->nlanes && !error; i++) {
		error = bins_end(&g->lanes[i].bins, &times);
		if (!error)
			error = spool_read(g->spool, &g->lanes[i].bins.heap, pack_bytes, &g->bins);
	}
	ended = block_end(&g->bins);
	return error ? error : ended;
}

static int drawing_open(struct drawing *g)
{
	const struct definitions *d = g->survey->d;
	int error = 0;

	g->names = calloc(1, sizeof(*g->names));
	g->events = calloc(d->nprobes + 1, sizeof(*g->events));
	g->probes = calloc(d->nprobes + 1, sizeof(*g->probes));
	g->site_numbers = calloc(d->nsites + 1, sizeof(*g->site_numbers));
	g->lanes = calloc(g->survey->nlanes + 1, sizeof(*g->lanes));
	g->columns = calloc(COLUMNS, sizeof(*g->columns));
	g->line = calloc(1, sizeof(*g->line));
	if (!g->names || !g->events || !g->probes || !g->site_numbers || !g->lanes || !g->columns || !g->line ||
	    !call_line_open(g->line, d))
		return -ENOMEM;
	g->line->brief = true;
	for (size_t i = 0; i < d->nprobes; i++)
		g->probes[i].event = NO_INDEX;
	listed_number(&g->words, "", 0, PAGE_WORDS, &error);
	return error;
}

int drawing_make(struct drawing *g, struct survey *survey, struct spool *spool, struct recording *recording,
		 struct output *out)
{
	struct timeline_ops ops = { .event = draw_event, .progress = draw_progress, .context = g };
	uint64_t first = 0;
	int error;

	g->survey = survey;
	g->spool = spool;
	g->out = out;
	error = drawing_open(g);
	if (!error)
		error = timeline_read(recording, &ops);
	if (!error)
		error = pack_calls(g);
	if (!error)
		error = pack_bins(g);
	for (size_t i = 0; i < survey->nlanes && !error; i++) {
		survey->lanes[i].first = first;
		survey->lanes[i].drawn = g->lanes[i].count;
		first += g->lanes[i].count;
	}
	return error;
}

void drawing_free(struct drawing *g)
{
	for (size_t i = 0; g->lanes && i < g->survey->nlanes; i++) {
		heap_free(&g->lanes[i].heap);
		bins_free(&g->lanes[i].bins);
	}
	if (g->names)
		event_names_free(g->names);
	if (g->line)
		call_line_close(g->line);
	free(g->names);
	free(g->events);
	free(g->probes);
	free(g->site_numbers);
	free(g->lanes);
	free(g->columns);
	free(g->line);
	listed_free(&g->sites);
	listed_free(&g->words);
	buffer_free(&g->text);
	block_free(&g->calls);
	block_free(&g->bins);
	memset(g, 0, sizeof(*g));
}
