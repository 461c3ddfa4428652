/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * markers.c - what is not on the timeline, as OTF2's markers: calls that were lost, those that were summed up by
 * intention, times in which nobody looked.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/otf2/parts.h"

enum marker_kind { MARKER_BEGIN, MARKER_LOST, MARKER_SUMMED, MARKER_BLIND, MARKER_STEP, MARKER_KINDS };

#define GROUP "gaspbpf"

static const struct {
	const char *category;
	OTF2_MarkerSeverity severity;
} kinds[MARKER_KINDS] = {
	[MARKER_BEGIN] = { "observation begins", OTF2_SEVERITY_NONE },
	[MARKER_LOST] = { "calls lost", OTF2_SEVERITY_HIGH },
	[MARKER_SUMMED] = { "calls without a place on the timeline", OTF2_SEVERITY_MEDIUM },
	[MARKER_BLIND] = { "calls not observed", OTF2_SEVERITY_MEDIUM },
	[MARKER_STEP] = { "another part of the calls is followed", OTF2_SEVERITY_LOW },
};

int otf2_marker_gap(struct otf2 *o, const struct gap *gap)
{
	struct buffer *piece;
	int error = spool_room(o->spool, &o->gaps, &piece);

	if (error)
		return error;
	buffer_put_varint(piece, gap->thread);
	buffer_put_varint(piece, gap->count);
	buffer_put_varint(piece, gap->after);
	buffer_put_varint(piece, gap->before);
	return piece->failed ? -ENOMEM : 0;
}

struct marking {
	struct otf2 *o;
	OTF2_MarkerWriter *writer;
};

static int put(struct marking *m, enum marker_kind kind, uint64_t from, uint64_t to, OTF2_MarkerScope scope,
	       uint64_t of, const char *text)
{
	const struct otf2_library *lib = m->o->library;
	uint64_t start = m->o->d->run.start;

	from = from > start ? from : start;
	if (lib->MarkerWriter_WriteMarker(m->writer, from, to > from ? to - from : 0, kind, scope, of, text) !=
	    OTF2_SUCCESS)
		return otf2_fail(m->o, -EIO);
	return 0;
}

static int put_gaps(void *context, struct cursor *pieces)
{
	struct marking *m = context;
	int error = 0;

	while (pieces->at < pieces->end && !error) {
		uint64_t thread = cursor_varint(pieces), count = cursor_varint(pieces), after = cursor_varint(pieces),
			 before = cursor_varint(pieces);
		char text[80];

		if (pieces->failed)
			return -EIO;
		snprintf(text, sizeof(text), "%" PRIu64 " %s lost here", count, count == 1 ? "call" : "calls");
		error = put(m, MARKER_LOST, after, before ?: m->o->d->run.end, OTF2_MARKER_SCOPE_LOCATION, thread,
			    text);
	}
	return error;
}

/* One for each thread. */
static int put_sums(struct marking *m)
{
	const struct definitions *d = m->o->d;
	struct missing {
		uint64_t summed, skipped;
	} *missing = calloc(d->nthreads + 1, sizeof(*missing));
	int error = missing ? 0 : -ENOMEM;
	char text[160];

	for (size_t i = 0; i < d->nsums && !error; i++) {
		missing[d->sums[i].thread].summed += d->sums[i].summed;
		missing[d->sums[i].thread].skipped += d->sums[i].skipped;
	}
	for (uint32_t i = 0; i < d->nthreads && !error; i++) {
		if ((!missing[i].summed && !missing[i].skipped) || thread_is_left_out(d, i))
			continue;
		snprintf(text, sizeof(text),
			 "not on the timeline: %" PRIu64 " calls summed up, %" PRIu64 " only counted",
			 missing[i].summed, missing[i].skipped);
		error = put(m, MARKER_SUMMED, d->run.start, d->run.end, OTF2_MARKER_SCOPE_LOCATION, i, text);
	}
	free(missing);
	return error;
}

static int put_windows(struct marking *m)
{
	const struct definitions *d = m->o->d;
	int error = 0;

	for (size_t i = 0; i < d->nwindows && !error; i++) {
		const struct def_window *w = &d->windows[i];
		const struct def_process *p = &d->processes[w->process];
		uint64_t to = w->runtime ? (p->end ?: d->run.end) : w->to;
		char *text = NULL;

		if (p->left_out)
			continue;
		if (asprintf(&text, "calls of %s not seen, after %s", w->models ?: "any runtime",
			     w->after ?: w->runtime ?: "?") < 0)
			return -ENOMEM;
		error = otf2_clean(&text);
		if (!error)
			error = put(m, MARKER_BLIND, w->from, to, OTF2_MARKER_SCOPE_LOCATION_GROUP, w->process, text);
		free(text);
	}
	return error;
}

static int put_steps(struct marking *m)
{
	const struct definitions *d = m->o->d;
	int error = 0;

	for (size_t i = 0; i < d->nsteps && !error; i++) {
		const struct def_step *step = &d->steps[i];
		const struct def_probe *probe = &d->probes[step->probe];
		char part[40], *text = NULL;

		if (asprintf(&text, "%s: %s", probe->symbol ?: "?", step_text(step, part, sizeof(part))) < 0)
			return -ENOMEM;
		error = otf2_clean(&text);
		if (!error)
			error = put(m, MARKER_STEP, step->time, step->time, OTF2_MARKER_SCOPE_GLOBAL, 0, text);
		free(text);
	}
	return error;
}

static int put_all(struct marking *m)
{
	const struct otf2_library *lib = m->o->library;
	int error = 0;

	for (unsigned i = 0; i < MARKER_KINDS && !error; i++)
		if (lib->MarkerWriter_WriteDefMarker(m->writer, i, GROUP, kinds[i].category, kinds[i].severity) !=
		    OTF2_SUCCESS)
			error = otf2_fail(m->o, -EIO);
	if (!error)
		error = put(m, MARKER_BEGIN, m->o->d->run.start, 0, OTF2_MARKER_SCOPE_GLOBAL, 0,
			    "what was before was not observed");
	if (!error)
		error = spool_read(m->o->spool, &m->o->gaps, put_gaps, m);
	return error ?: put_sums(m) ?: put_windows(m) ?: put_steps(m);
}

int otf2_markers_write(struct otf2 *o, OTF2_Archive *archive)
{
	struct marking m = { .o = o, .writer = o->library->Archive_GetMarkerWriter(archive) };
	int error;

	if (!m.writer)
		return otf2_fail(o, -EIO);
	error = put_all(&m);
	if (o->library->Archive_CloseMarkerWriter(archive, m.writer) != OTF2_SUCCESS)
		error = error ?: otf2_fail(o, -EIO);
	return error;
}
