/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.c - from the first look at the rings to the last: opening, passes over all rings, the end.
 *
 * Control records are of two kinds. Ends of threads and processes are applied after the spans of a pass, and only those
 * that were read before it was fixed how far the pass goes: a thread's spans are in the rings before its end is told.
 * What changes the meaning of spans (fork, exec, libraries) is applied before them, and everything is read up to a
 * moment after the last span of the pass: so a span never meets a process of which a change is still to be told.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"
#include "util/clock.h"
#include "util/log.h"

#define PIECE_BYTES (64u << 10) /* of a ring, read between two looks at the clock */

/* --- opening ----------------------------------------------------------- */

int capture_new(struct capture_session **result, struct kernel *kernel, const struct plan *plan, struct definitions *d,
		const struct capture_events *events)
{
	struct capture_session *s = calloc(1, sizeof(*s));
	int err;

	*result = NULL;
	if (!s)
		return -ENOMEM;
	s->kernel = kernel;
	s->plan = plan;
	s->d = d;
	if (events)
		s->events = *events;
	s->processes.described = session_read_told;
	err = session_open_rings(s);
	if (!err)
		err = session_open_threads(s);
	if (!err)
		err = capture_define_probes(s);
	if (err) {
		log_error("cannot read from the kernel: %s: free some memory, or choose a smaller --ring-size",
			  strerror(-err));
		capture_close(s);
		return err;
	}
	*result = s;
	return 0;
}

/* --- passes ------------------------------------------------------------ */

/* How far a pass goes is fixed at its beginning. */
static void begin_pass(struct capture_session *s)
{
	struct capture_pass *pass = &s->pass;

	*pass = (struct capture_pass){ .number = pass->number + 1, .open = true, .complete = true };
	session_renew_prices(s);
	for (struct captured_process *p = pass->number == 1 ? s->processes.table : NULL; p; p = p->hh.next)
		session_read_told(s, p); /* again, now that its probes are in */
	session_drain_control(s);
	pass->nlife = s->life.count;
	for (unsigned i = 0; i < s->rings.count; i++)
		pass->limits[i] = ring_filled(&s->rings.list[i]);
	session_drain_control(s);
	session_mend_layouts(s);
	for (; s->life.applied < s->life.count; s->life.applied++) {
		struct gb_life life = s->life.list[s->life.applied]; /* the list may grow meanwhile */

		session_apply_early(s, &life);
	}
}

static void end_pass(struct capture_session *s)
{
	struct capture_pass *pass = &s->pass;

	pass->open = false;
	if (!pass->complete)
		return; /* what threads did before they ended may stand behind a record that is still being written:
			   they end with the next pass */
	if (s->threads.waiting)
		session_close_holes(s, false);
	for (size_t i = 0; i < pass->nlife; i++)
		session_apply_late(s, &s->life.list[i]);
	session_forget_life(s, pass->nlife);
	session_make_room(s);
}

/* Reads a piece of the ring. True: it has been read as far as this pass goes. */
static bool drain_piece(struct capture_session *s, struct ring *ring, unsigned long limit)
{
	unsigned long piece = ring_taken(ring) + PIECE_BYTES;
	bool last = piece >= limit, whole = ring_drain(ring, last ? limit : piece, session_take_record, s);

	s->pass.complete &= whole;
	return last || !whole; /* behind one that is still being written there is nothing to be had */
}

bool capture_drain_for(struct capture_session *s, uint64_t ns)
{
	struct capture_pass *pass = &s->pass;
	uint64_t end = clock_monotonic() + ns;

	if (!pass->open)
		begin_pass(s);
	while (pass->ring < s->rings.count) {
		pass->ring += drain_piece(s, &s->rings.list[pass->ring], pass->limits[pass->ring]);
		if (pass->ring < s->rings.count && clock_monotonic() >= end)
			return false;
	}
	end_pass(s);
	return true;
}

int capture_drain(struct capture_session *s)
{
	if (s->pass.open)
		capture_drain_for(s, UINT64_MAX / 2); /* what is there now is not all in it */
	capture_drain_for(s, UINT64_MAX / 2);
	return s->err;
}

struct capture_totals capture_totals(const struct capture_session *s)
{
	return s->totals;
}

/* --- the end ----------------------------------------------------------- */

/* What is told of processes that are no part of the job counts nowhere. */
static void sum_up(struct capture_session *s)
{
	struct def_loss *loss = &s->d->loss;
	uint64_t gaps, spans = session_left_out_spans(s, &gaps);

	loss->delivered = s->totals.spans - spans;
	loss->lost = s->totals.gaps - gaps;
	loss->summed = s->totals.summed;
	loss->skipped = s->totals.skipped;
	for (size_t i = 0; i < s->d->nsums; i++) {
		if (!thread_is_left_out(s->d, s->d->sums[i].thread))
			continue;
		loss->summed -= s->d->sums[i].summed;
		loss->skipped -= s->d->sums[i].skipped;
	}
	loss->calls = loss->delivered + loss->lost + loss->summed + loss->skipped;
}

/* What went wrong on the way, as the kernel counted it. */
static void say_trouble(const struct capture_session *s, const struct kernel_counts *counts)
{
	if (counts->trampolines)
		log_warn("another tracer's return probes (gaspbpf, bpftrace, perf) acted on %llu calls of "
			 "functions whose returns "
			 "gaspbpf leaves alone for the job's sake: stop it, or observe these jobs one after "
			 "the other",
			 (unsigned long long)counts->trampolines);
	if (counts->rounds)
		log_warn("functions that jump back to where they begin were called, or went round, %llu times "
			 "where gaspbpf leaves the return alone "
			 "for the job's sake: which of these were calls cannot be told, and none is counted",
			 (unsigned long long)counts->rounds);
	if (counts->no_sum)
		log_warn("%llu calls are in no span and, for want of memory, in no sum: they are missing in "
			 "the profile",
			 (unsigned long long)counts->no_sum);
	if (s->totals.lost + counts->no_sum < s->totals.gaps)
		log_warn("%llu spans were lost, of which the kernel's sums have %llu: please report this",
			 (unsigned long long)s->totals.gaps, (unsigned long long)s->totals.lost);
	if (counts->lost != s->totals.gaps)
		log_warn("the kernel lost %llu spans, their numbers say %llu: please report this",
			 (unsigned long long)counts->lost, (unsigned long long)s->totals.gaps);
}

/* What the kernel keeps by number is of the last process that had it. */
static void count_quiet_threads(struct capture_session *s)
{
	for (const struct captured_process *p = s->processes.table; p; p = p->hh.next) {
		struct def_process *def = &s->d->processes[p->index];
		struct gb_quiet quiet;

		if (!kernel_read_quiet(s->kernel, def->pid, &quiet))
			continue;
		def->quiet = quiet.threads;
		def->quiet_run = quiet.run;
	}
}

int capture_finish(struct capture_session *s)
{
	struct kernel_counts counts;
	int err;

	capture_drain(s);
	err = kernel_send_open(s->kernel);
	if (err)
		log_warn("the calls still in progress cannot be told: %s", strerror(-err));
	/* Twice: the first reads all there is, the second closes the holes it left. */
	capture_drain(s);
	capture_drain(s);
	session_close_holes(s, true);
	for (const struct captured_process *p = s->processes.table; p; p = p->hh.next)
		if (!p->ended)
			session_tell_first_thread(s, p, s->d->run.end);
	err = capture_read_sums(s);
	if (err)
		log_warn("calls that are not on the timeline are missing in the profile: %s", strerror(-err));
	count_quiet_threads(s);
	capture_name_threads(s);
	session_say_announced(s);
	sum_up(s);
	if (!kernel_read_counts(s->kernel, &counts)) {
		s->d->loss.no_memory = counts.no_memory;
		s->d->loss.no_entry = counts.no_entry;
		s->d->loss.near = counts.near + s->calls.near;
		say_trouble(s, &counts);
	}
	return session_locate(s);
}

/* What was opened last goes first. */
void capture_close(struct capture_session *s)
{
	if (!s)
		return;
	session_free_limit(s);
	session_free_announced(s);
	session_free_comms(s);
	session_free_texts(s);
	session_free_files(s);
	session_free_pointed(s);
	session_free_sums(s);
	session_free_inner(s);
	session_free_wrappers(s);
	session_free_sites(s);
	session_free_probes(s);
	session_free_prices(s);
	session_free_images(s);
	session_free_processes(s);
	session_free_threads(s);
	session_free_delivery(s);
	session_free_life(s);
	session_close_rings(s);
	free(s);
}
