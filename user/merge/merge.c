/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge.c - opens the recordings, and writes what they are together.
 */
#include "merge/merge.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/parts.h"
#include "util/log.h"

bool merge_is_stopped(const struct merge *m)
{
	struct pollfd stop = { .fd = m->options.stop, .events = POLLIN };

	return m->options.stop >= 0 && poll(&stop, 1, 0) > 0;
}

/* --- definitions -------------------------------------------------------------- */

static uint64_t move_time(void *context, uint64_t time)
{
	return correction_apply(context, time);
}

/* The first node of a clock, from 1; 0: this one is it. Recordings that were merged themselves have several nodes. */
static uint32_t clock_of(const struct merge *m, size_t input)
{
	uint32_t node = 1;

	if (m->clocks[m->inputs[input].clock].first == input)
		return 0;
	for (size_t i = 0; i < m->clocks[m->inputs[input].clock].first; i++)
		node += m->inputs[i].d->nnodes ?: 1;
	return node;
}

static double mean_drift(const struct correction *c, uint64_t start, uint64_t end)
{
	double grown = (double)(int64_t)((correction_apply(c, end) - end) - (correction_apply(c, start) - start));

	return end > start ? grown / (double)(end - start) * 1e9 : 0;
}

static struct def_node describe(const struct merge *m, size_t index)
{
	const struct merged *input = &m->inputs[index];
	const struct node_clock *clock = &m->clocks[input->clock];
	const struct def_run *run = &input->d->run;

	return (struct def_node){
		.host = run->host,
		.kernel = run->kernel,
		.boot = run->boot,
		.command = run->command,
		.start = run->start,
		.end = run->end > run->start ? run->end : run->start,
		.cut = !run->finished,
		.clock_of = clock_of(m, index),
		.known_by = clock->known_by,
		.unsure = clock->unsure,
		.offset = correction_apply(&clock->correction, run->start) - run->start,
		.drift = (int32_t)mean_drift(&clock->correction, run->start, run->end),
		.pieces = clock->correction.nknots > 1 ? clock->correction.nknots - 1 : 0,
		.bounds = clock->bounds,
		.violated = clock->violated,
		.cpus = run->cpus,
	};
}

static int join_one(struct merge *m, struct join *join, size_t index)
{
	struct merged *input = &m->inputs[index];
	struct correction *correction = &m->clocks[input->clock].correction;
	const struct join_source source = {
		.d = input->d,
		.name = input->path,
		.time = correction->nknots || correction->whole ? move_time : NULL,
		.context = correction,
		.several = m->ninputs > 1,
		.node = describe(m, index),
	};

	free(input->part.probes);
	input->part.probes = NULL;
	return join_add(join, &source, &input->part);
}

int merge_join(struct merge *m)
{
	struct join *join;
	int error = 0;

	definitions_free(&m->d);
	join = join_new(&m->d);
	if (!join)
		return -ENOMEM;
	for (size_t i = 0; i < m->ninputs && !error; i++)
		error = merge_is_stopped(m) ? -EINTR : join_one(m, join, i);
	if (!error)
		error = join_finish(join);
	join_free(join);
	return error;
}

const struct definitions *merge_definitions(const struct merge *m)
{
	return &m->d;
}

/* --- opening ---------------------------------------------------------------------- */

static int open_inputs(struct merge *m)
{
	for (size_t i = 0; i < m->ninputs; i++) {
		struct merged *input = &m->inputs[i];
		int error;

		if (merge_is_stopped(m))
			return -EINTR;
		input->path = m->options.paths[i];
		error = recording_open(&input->recording, input->path);
		if (error)
			return error;
		input->d = recording_definitions(input->recording);
		recording_rest(input->recording);
	}
	return 0;
}

/* Calls of some and sums of others are no profile that is one. */
static int check_kinds(const struct merge *m)
{
	for (size_t i = 1; i < m->ninputs; i++) {
		bool only = m->inputs[i].d->run.only_sums;

		if (only == m->inputs[0].d->run.only_sums)
			continue;
		log_error("%s: has only sums (gaspbpf monitor -o), and %s has single calls: merge those of one kind",
			  log_safe(m->inputs[only ? i : 0].path), log_safe(m->inputs[only ? 0 : i].path));
		return -EINVAL;
	}
	return 0;
}

int merge_open(struct merge **result, const struct merge_options *options)
{
	struct merge *m = *result = calloc(1, sizeof(*m));
	int error;

	if (!m)
		return -ENOMEM;
	m->options = *options;
	m->ninputs = options->npaths;
	m->inputs = calloc(m->ninputs + 1, sizeof(*m->inputs));
	m->heap = calloc(m->ninputs + 1, sizeof(*m->heap));
	error = m->inputs && m->heap ? open_inputs(m) : -ENOMEM;
	if (!error)
		error = check_kinds(m);
	if (!error)
		error = clocks_find(m);
	return error;
}

void merge_close(struct merge *m)
{
	if (!m)
		return;
	for (size_t i = 0; m->inputs && i < m->ninputs; i++) {
		recording_close(m->inputs[i].recording);
		free(m->inputs[i].part.probes);
	}
	for (size_t i = 0; i < m->nclocks; i++)
		correction_free(&m->clocks[i].correction);
	definitions_free(&m->d);
	free(m->clocks);
	free(m->inputs);
	free(m->heap);
	free(m);
}

/* --- writing ---------------------------------------------------------------------- */

int merge_write(struct merge *m, int fd)
{
	struct recording_writer *writer;
	int error = clocks_set(m), result;

	if (!error)
		error = merge_join(m);
	if (error) {
		close(fd);
		return error;
	}
	error = recording_create(&writer, fd, m->options.name, &m->d);
	if (error)
		return error;
	error = merge_spans(m, writer);
	result = recording_finish(writer);
	return error ?: result;
}
