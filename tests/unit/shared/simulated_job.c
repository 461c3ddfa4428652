/* SPDX-License-Identifier: BSD-2-Clause */
#include "simulated_job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording/communicators.h"
#include "util/array.h"

/* --- playing ------------------------------------------------------------- */

void play_begin(struct played_job *job)
{
	*job = (struct played_job){ .clock = 1000000 };
	job->d.run.start = job->clock;
}

uint32_t play_process(struct played_job *job, long rank)
{
	uint32_t index = definitions_add_process(&job->d);

	job->d.processes[index] = (struct def_process){
		.pid = 1000 + index, .parent = 1, .rank = rank, .unit = text("rank"), .start = job->clock
	};
	return index;
}

uint32_t play_thread(struct played_job *job, uint32_t process)
{
	uint32_t index = definitions_add_thread(&job->d);

	job->d.threads[index] = (struct def_thread){ .process = process, .tid = 5000 + index };
	return index;
}

void play_comm(struct played_job *job, uint32_t process, uint64_t handle, uint32_t id, const int64_t *ranks,
	       size_t count)
{
	uint32_t index = definitions_add_comm(&job->d); /* may move the array */
	struct def_comm *comm = &job->d.comms[index];

	*comm = (struct def_comm){ .process = process, .handle = handle, .has_id = id, .id = id };
	assert_int_equal(comm_set_members(comm, ranks, count), 0);
}

uint32_t play_probe(struct played_job *job, const char *model, enum role role, const struct played_value *values,
		    size_t count)
{
	uint32_t index = definitions_add_probe(&job->d);
	struct def_probe *probe = &job->d.probes[index];

	if (!job->d.nimages) {
		definitions_add_image(&job->d);
		job->d.images[0] = (struct def_image){ .path = text("/usr/lib/libx.so") };
	}
	*probe = (struct def_probe){
		.event = text("EVENT_%u", index),
		.number = 0x1000 + index,
		.model = text("%s", model),
		.role = role,
		.symbol = text("function_%u", index),
		.prototype = text("void function_%u(void)", index),
		.offset = 16 * index,
		.values = calloc(count + 1, sizeof(*probe->values)),
		.nvalues = count,
	};
	for (size_t i = 0; i < count; i++)
		probe->values[i] = (struct value){
			.name = text("value_%zu", i),
			.meaning = values[i].meaning,
			.side = values[i].side,
			.at_return = values[i].at_return,
			.form = FORM_INT,
			.slot = i,
			.width = GB_U64,
		};
	return index;
}

uint64_t play_tick(struct played_job *job)
{
	return job->clock += 1 + below(20);
}

struct span play_call(struct played_job *job, uint32_t thread, uint32_t probe)
{
	uint32_t nwords = job->d.probes[probe].nvalues;

	return (struct span){
		.start = play_tick(job),
		.thread = thread,
		.probe = probe,
		.site = NO_INDEX,
		.unread = (1u << nwords) - 1,
		.nwords = nwords,
	};
}

void play_word(struct span *span, unsigned slot, int64_t word)
{
	span->words[slot] = word;
	span->unread &= ~(1u << slot);
}

void play_end(struct played_job *job, struct span *span, uint8_t reason)
{
	span->end = reason == GB_END_ALONE ? span->start : play_tick(job);
	span->reason = reason;
	assert_int_equal(array_one_more(&job->spans, &job->room, job->nspans, sizeof(*job->spans)), 0);
	job->spans[job->nspans++] = *span;
}

void play_free(struct played_job *job)
{
	definitions_free(&job->d);
	free(job->spans);
}

/* --- what is found ---------------------------------------------------------- */

static int record_job(const struct played_job *job, unsigned pieces, uint64_t from)
{
	uint32_t *sequences = calloc(job->d.nthreads, sizeof(*sequences));
	struct recording_writer *writer;
	int fd = new_file();

	assert_int_equal(recording_create(&writer, dup(fd), "job.gasp", &job->d), 0);
	for (size_t i = 0, piece = 1; i < job->nspans; i++) {
		struct span span = job->spans[i];

		span.sequence = ++sequences[span.thread];
		if (span.start >= from)
			assert_int_equal(recording_span(writer, &span), 0);
		if (i + 1 >= job->nspans * piece / pieces) {
			assert_int_equal(recording_flush(writer), 0);
			piece++;
		}
	}
	assert_int_equal(recording_finish(writer), 0);
	free(sequences);
	return fd;
}

/* As simulate.c has it. */
static void open_sim(struct sim *sim)
{
	sim->threads = calloc(sim->d->nthreads + 1, sizeof(*sim->threads));
	sim->processes = calloc(sim->d->nprocesses + 1, sizeof(*sim->processes));
	sim->ready = calloc(sim->d->nthreads + 1, sizeof(*sim->ready));
	assert_true(sim->threads && sim->processes && sim->ready);
	for (size_t i = 0; i < sim->d->nprocesses; i++)
		sim->processes[i] = (struct sim_process){ .rank = sim->d->processes[i].rank, .first_thread = NO_INDEX };
	assert_int_equal(facts_open(sim), 0);
	assert_int_equal(groups_open(sim), 0);
	assert_int_equal(match_open(sim), 0);
	assert_int_equal(locks_open(sim), 0);
}

static void settle(void *context, size_t done, size_t all)
{
	struct sim *sim = context;

	match_settle(sim);
	locks_settle(sim);
	sim->settled = sim->latest;
}

/* Rows are in the order of time. */
static void list_ops(struct found_job *found)
{
	for (size_t i = 0; i < found->sim.d->nthreads; i++) {
		const struct row *row = &found->sim.threads[i].row;

		for (size_t at = row->head; at < row->tail;) {
			const struct item *item = (const struct item *)(row->data + at);

			at += sizeof(*item) + item->extra;
			if (item->type != ITEM_BEGIN)
				continue;
			assert_int_equal(array_one_more(&found->ops, &found->room, found->nops, sizeof(item->op)), 0);
			found->ops[found->nops++] = item->op;
		}
	}
}

void find_out(struct found_job *found, struct played_job *job, unsigned pieces, uint64_t from)
{
	struct sim *sim = &found->sim;
	struct timeline_ops ops = {
		.event = feed_event, .gap = feed_gap, .control = feed_control, .progress = settle, .context = sim
	};

	*found = (struct found_job){ .options = { .path = "job.gasp" } };
	found->options.input = record_job(job, pieces, from);
	sim->options = &found->options;
	assert_int_equal(recording_open_fd(&sim->recording, found->options.input, "job.gasp"), 0);
	sim->d = recording_definitions(sim->recording);
	open_sim(sim);
	assert_int_equal(timeline_read(sim->recording, &ops), 0);
	sim->all_fed = true;
	settle(sim, 0, 0);
	assert_int_equal(sim->error, 0);
	list_ops(found);
}

static int by_thread_and_start(const void *a, const void *b)
{
	const struct op *x = *(struct op *const *)a, *y = *(struct op *const *)b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

struct op *found_op(struct found_job *found, uint32_t thread, uint64_t start)
{
	struct op key = { .thread = thread, .start = start }, *wanted = &key, **op;

	op = found->nops ? bsearch(&wanted, found->ops, found->nops, sizeof(wanted), by_thread_and_start) : NULL;
	return op ? *op : NULL;
}

void found_free(struct found_job *found)
{
	struct sim *sim = &found->sim;

	free(found->ops);
	schedule_close(sim); /* with the operations that have not had their turn: all of them */
	match_close(sim);
	locks_close(sim);
	groups_close(sim);
	facts_close(sim);
	free(sim->threads);
	free(sim->processes);
	recording_close(sim->recording);
	close(found->options.input);
}
