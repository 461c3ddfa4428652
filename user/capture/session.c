/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.c - rings to ordered spans.
 *
 * Problem: a thread moves between CPUs, so its records lie in several rings, and a ring that is full
 * drops records. What comes out must be each thread's calls in the order they ended, with every loss
 * at its place and none invented.
 *
 * Every record carries its thread's sequence number, counted in the kernel whether the record finds room or
 * not. A record with the number that is due is delivered at once: that is nearly all. One that is ahead
 * is kept back. A hole that is still there after a later complete pass over all rings cannot be a
 * matter of order any more: the records between were lost, and become a gap.
 *
 * Control records are of two kinds. Ends of threads and processes are applied after the spans of a pass, and only those
 * that were read before it was fixed how far the pass goes: a thread's spans are in the rings before its end is told.
 * What changes the meaning of spans (fork, exec, libraries) is applied before them, and everything is read up to a
 * moment after the last span of the pass: so a span never meets a process of which a change is still to be told.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "capture/session.h"
#include "meaning/value.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/log.h"

#define PIECE_BYTES (64u << 10) /* of a ring, read between two looks at the clock */

/* --- delivering -------------------------------------------------------- */

void session_deliver(struct capture_session *s, const struct span *span)
{
	s->totals.spans++;
	s->delivered[s->d->threads[span->thread].process].spans++;
	for (size_t i = 0; i < s->nsinks; i++)
		s->sinks[i].span(s->sinks[i].context, s->d, span);
}

/*
 * Is it an access to the caller's own part that is to be left out? The kernel leaves these out as soon as it is told of
 * the process's rank; those that were made before that are left out here.
 */
static bool is_near(const struct capture_session *s, const struct captured_thread *t, const struct gb_span *raw,
		    const struct span *span)
{
	const struct def_probe *def = &s->d->probes[span->probe];
	long rank = s->d->processes[s->d->threads[t->index].process].rank;

	if (rank < 0 || !s->plan->sites[raw->probe].captures[span->probe - s->first_probe[raw->probe]].near[0].bits)
		return false;
	for (uint32_t i = 0; i < def->nvalues; i++) {
		struct value_reading r;

		if (def->values[i].meaning != MEANING_PEER)
			continue;
		r = value_read(&def->values[i], raw->value, span->nwords, span->unread, span->reason == GB_END_RETURN);
		if (!r.known || r.number != rank)
			return false;
	}
	return true;
}

static void deliver(struct capture_session *s, struct captured_thread *t, const struct gb_span *raw)
{
	uint64_t last_end = t->last_end;
	struct span span = {
		.start = raw->start,
		.end = raw->end,
		.thread = t->index,
		.sequence = raw->sequence,
		.unread = raw->unread,
		.depth = raw->depth,
		.reason = raw->reason,
		.nwords = session_own_words(s, raw),
	};

	span.unread &= (1u << span.nwords) - 1;
	t->next++;
	t->last_end = raw->end;
	if (raw->probe < s->nfirst) {
		session_price(s, t, raw->probe, 1, false, raw->start > last_end ? raw->start - last_end : 0);
		if (raw->probe < t->ncalls || session_fit_calls(t, raw->probe))
			t->calls[raw->probe].spans++;
		session_note_runtime(s, t, s->plan->sites[raw->probe].function->model);
	}
	if (t->left_out)
		return;
	if (raw->probe < s->nfirst && session_announced(s, t, raw))
		return;
	span.probe = session_probe(s, raw);
	if (span.probe == NO_INDEX)
		return; /* a call that is no event (@only) */
	if ((t->nopen || t->told_exit) && !session_inside_announced(s, t, &span))
		return;
	if (s->plan->leave_near && is_near(s, t, raw, &span)) {
		s->near++;
		t->merged++;
		return;
	}
	span.site = session_call_site(s, t, raw, raw->end);
	if (session_is_inner(s, raw, span.site))
		span.probe = session_inner_probe(s, raw->probe, span.probe);
	memcpy(span.words, raw->value, span.nwords * sizeof(span.words[0]));
	session_check_shared(s, t, &span);
	if (s->comm_places[raw->probe])
		session_meet_comms(s, t, raw->probe, &span);
	session_note_texts(s, t, &span);
	session_deliver(s, &span);
}

static void deliver_gap(struct capture_session *s, struct captured_thread *t, uint64_t count, uint64_t before)
{
	struct gap gap = { .thread = t->index, .count = count, .after = t->last_end, .before = before };

	t->lost += count;
	s->totals.gaps += count;
	s->delivered[s->d->threads[t->index].process].gaps += count;
	if (t->left_out)
		return;
	for (size_t i = 0; i < s->nsinks; i++)
		if (s->sinks[i].gap)
			s->sinks[i].gap(s->sinks[i].context, s->d, &gap);
}

/* --- order ------------------------------------------------------------- */

static void keep_back(struct capture_session *s, struct captured_thread *t, uint64_t sequence,
		      const struct gb_span *raw, size_t size)
{
	if (early_put(&t->early, sequence, raw, size)) {
		s->err = -ENOMEM; /* the hole stays, and will be counted as a loss */
		return;
	}
	if (!t->listed) {
		t->listed = true;
		t->waiting_since = s->pass;
		t->next_waiting = s->waiting;
		s->waiting = t;
	}
}

/* Delivers what has become due. */
static void deliver_due(struct capture_session *s, struct captured_thread *t)
{
	while (t->early.count && t->early.heap[0].sequence <= t->next) {
		struct early first = early_take(&t->early);

		if (first.sequence == t->next)
			deliver(s, t, first.span);
		free(first.span);
		t->waiting_since = s->pass;
	}
}

static void take_span(void *context, const void *record, size_t size)
{
	struct capture_session *s = context;
	const struct gb_span *raw = record;
	struct captured_thread *t;
	int32_t ahead;

	if (size < GB_SPAN_HEADER || size < GB_SPAN_HEADER + raw->values * sizeof(raw->value[0]))
		return;
	t = session_thread(s, raw->pid_tid >> 32, (uint32_t)raw->pid_tid, raw->end);
	if (!t) {
		s->err = -ENOMEM;
		return;
	}
	ahead = (int32_t)(raw->sequence - (uint32_t)t->next);
	if (!ahead) {
		deliver(s, t, raw);
		if (t->early.count)
			deliver_due(s, t);
	} else if (ahead > 0) {
		keep_back(s, t, t->next + ahead, raw, size);
	}
}

static void close_hole(struct capture_session *s, struct captured_thread *t)
{
	const struct early *first = &t->early.heap[0];

	deliver_gap(s, t, first->sequence - t->next, first->span->end);
	t->next = first->sequence;
	deliver_due(s, t);
}

/* After a complete pass: holes that an earlier pass saw already are losses. */
static void close_old_holes(struct capture_session *s, bool all)
{
	struct captured_thread **link = &s->waiting, *t;

	while ((t = *link)) {
		while (t->early.count && (all || t->waiting_since < s->pass))
			close_hole(s, t);
		if (t->early.count) {
			link = &t->next_waiting;
		} else {
			t->listed = false;
			*link = t->next_waiting;
		}
	}
}

/* --- life -------------------------------------------------------------- */

static void take_life(void *context, const void *record, size_t size)
{
	struct capture_session *s = context;

	if (size < sizeof(struct gb_life))
		return;
	if (array_one_more(&s->life, &s->life_room, s->nlife, sizeof(*s->life))) {
		s->err = -ENOMEM;
		return;
	}
	memcpy(&s->life[s->nlife++], record, sizeof(struct gb_life));
}

static void set_name(char **name, const char comm[GB_COMM])
{
	char *copy = strndup(comm, GB_COMM);

	if (!copy)
		return;
	free(*name);
	*name = copy;
}

/* The kernel's final word on a thread: what is missing at its end was lost. */
static void count_thread(struct capture_session *s, const struct gb_life *life)
{
	struct captured_thread *t;
	struct def_thread *def;

	if (!life->sequence && !life->sums)
		return;
	t = session_thread(s, life->pid, life->tid, life->time);
	if (!t)
		return;
	while (t->early.count)
		close_hole(s, t);
	if (life->sequence >= t->next) {
		deliver_gap(s, t, life->sequence - t->next + 1, 0);
		t->next = life->sequence + 1;
	}
	session_end_announced(s, t, life->time, life->kind == GB_LIFE_OPEN ? GB_END_DETACH : GB_END_EXIT);
	def = &s->d->threads[t->index];
	set_name(&def->name, life->comm);
	def->calls = life->sequence - (t->merged < life->sequence ? t->merged : life->sequence);
	def->lost = life->lost;
	def->cost = t->cost;
	def->system = life->system;
	def->counted = true;
	session_sum_thread(s, t, life);
	if (def->lost != t->lost)
		log_debug("thread %u: the kernel lost %llu spans, the numbers say %llu", t->tid,
			  (unsigned long long)life->lost, (unsigned long long)t->lost);
}

static void end_process(struct capture_session *s, const struct gb_life *life)
{
	struct captured_process *p = session_process(s, life->pid);
	bool others = p && life->time < p->number_since; /* it is told late, of the one that had the number before */
	struct def_process *def;

	if (!p || life->time < p->born)
		return;
	def = &s->d->processes[others ? p->number_of : p->index];
	def->end = life->time;
	def->exit_code = life->exit_code;
	def->has_exit = true;
	if (!def->name) /* it lived too short to be looked at */
		set_name(&def->name, life->comm);
	if (!others && !p->ended)
		session_end_process(s, p);
	if (s->events.exited)
		s->events.exited(s->events.context, life->pid, life->exit_code);
}

void capture_check_processes(struct capture_session *s)
{
	for (struct captured_process *p = s->processes; p; p = p->hh.next) {
		bool there = p->ended || session_is_there(s, p), again = p->missing;

		p->missing = !there;
		/* Mostly its end is only about to be told: what it did last is still to come, and wants it as it was.
		 */
		if (there || !again)
			continue;
		session_end_process(s, p);
		if (!s->d->processes[p->index].end)
			s->d->processes[p->index].end = s->d->processes[p->index].start;
	}
}

/* Spans that end later are of another thread of this number. */
static void note_end(struct capture_session *s, const struct gb_life *life)
{
	struct captured_thread *t = life->sequence || life->sums ? session_thread(s, life->pid, life->tid, life->time)
								 : NULL;

	if (t && !t->ends)
		t->ends = life->time;
}

static void apply_early_life(struct capture_session *s, const struct gb_life *life)
{
	switch (life->kind) {
	case GB_LIFE_FORK:
		if (s->events.forked)
			s->events.forked(s->events.context, life->pid, life->parent, life->time, life->exit_code);
		break;
	case GB_LIFE_EXEC:
		if (s->events.execed)
			s->events.execed(s->events.context, life->pid, life->tid != life->pid, life->time);
		session_change_layout(s, life->pid, life->time, CHANGE_ANY);
		session_change_program(s, life->pid, life->time);
		break;
	case GB_LIFE_STRANGER:
		if (s->events.stranger)
			s->events.stranger(s->events.context, life->pid);
		break;
	case GB_LIFE_THREAD:
		note_end(s, life);
		break;
	case GB_LIFE_CONTROL:
		session_take_control(s, life);
		break;
	case GB_LIFE_LINKER:
		if (session_expected(s, life))
			break;
		session_change_layout(s, life->pid, life->time, session_kind_of_change(s, life->pid));
		if (s->events.mapped && session_may_have_mapped(s, life->pid))
			s->events.mapped(s->events.context, life->pid, life->time, life->exit_code);
		break;
	}
}

static void apply_late_life(struct capture_session *s, const struct gb_life *life)
{
	struct captured_thread *t;

	switch (life->kind) {
	case GB_LIFE_THREAD:
		count_thread(s, life);
		t = life->tid < s->threads_room ? s->threads[life->tid] : NULL;
		if (t && t->ends && t->ends <= life->time)
			session_end_thread(s, t);
		break;
	case GB_LIFE_OPEN:
		count_thread(s, life);
		break;
	case GB_LIFE_EXIT:
		end_process(s, life);
		break;
	}
}

void session_drain_control(struct capture_session *s)
{
	ring_drain(&s->control, ring_filled(&s->control), take_life, s);
}

/* How far a pass goes is fixed at its beginning. */
static void begin_pass(struct capture_session *s)
{
	struct capture_pass *pass = &s->under_way;

	s->pass++;
	session_renew_prices(s);
	for (struct captured_process *p = s->pass == 1 ? s->processes : NULL; p; p = p->hh.next)
		session_read_told(s, p); /* again, now that its probes are in */
	session_drain_control(s);
	*pass = (struct capture_pass){ .open = true, .complete = true, .nlife = s->nlife };
	for (unsigned i = 0; i < s->nrings; i++)
		pass->limits[i] = ring_filled(&s->rings[i]);
	session_drain_control(s);
	session_mend_layouts(s);
	for (; s->nearly_life < s->nlife; s->nearly_life++) {
		struct gb_life life = s->life[s->nearly_life]; /* the list may grow meanwhile */

		apply_early_life(s, &life);
	}
}

static void end_pass(struct capture_session *s)
{
	struct capture_pass *pass = &s->under_way;

	pass->open = false;
	if (!pass->complete)
		return; /* what threads did before they ended may stand behind a record that is still being written:
			   they end with the next pass */
	if (s->waiting)
		close_old_holes(s, false);
	for (size_t i = 0; i < pass->nlife; i++)
		apply_late_life(s, &s->life[i]);
	s->nlife -= pass->nlife;
	s->nearly_life -= pass->nlife;
	if (pass->nlife && s->nlife)
		memmove(s->life, s->life + pass->nlife, s->nlife * sizeof(*s->life));
	session_make_room(s);
}

/* Reads a piece of the ring. True: it has been read as far as this pass goes. */
static bool drain_piece(struct capture_session *s, unsigned ring)
{
	unsigned long limit = s->under_way.limits[ring], piece = ring_taken(&s->rings[ring]) + PIECE_BYTES;
	bool last = piece >= limit, whole = ring_drain(&s->rings[ring], last ? limit : piece, take_span, s);

	s->under_way.complete &= whole;
	return last || !whole; /* behind one that is still being written there is nothing to be had */
}

bool capture_drain_for(struct capture_session *s, uint64_t ns)
{
	struct capture_pass *pass = &s->under_way;
	uint64_t end = clock_monotonic() + ns;

	if (!pass->open)
		begin_pass(s);
	while (pass->ring < s->nrings) {
		pass->ring += drain_piece(s, pass->ring);
		if (pass->ring < s->nrings && clock_monotonic() >= end)
			return false;
	}
	end_pass(s);
	return true;
}

int capture_drain(struct capture_session *s)
{
	if (s->under_way.open)
		capture_drain_for(s, UINT64_MAX / 2); /* what is there now is not all in it */
	capture_drain_for(s, UINT64_MAX / 2);
	return s->err;
}

void capture_wait(struct capture_session *s, int extra, int timeout_ms)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = extra };
	struct epoll_event got[8];

	if (extra >= 0)
		epoll_ctl(s->epoll, EPOLL_CTL_ADD, extra, &event);
	epoll_wait(s->epoll, got, 8, timeout_ms);
	if (extra >= 0)
		epoll_ctl(s->epoll, EPOLL_CTL_DEL, extra, NULL);
}

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
	close_old_holes(s, true);
	err = capture_read_sums(s);
	if (err)
		log_warn("calls that are not on the timeline are missing in the profile: %s", strerror(-err));
	capture_name_threads(s);
	session_say_announced(s);
	sum_up(s);
	if (!kernel_read_counts(s->kernel, &counts)) {
		s->d->loss.no_memory = counts.no_memory;
		s->d->loss.no_entry = counts.no_entry;
		s->d->loss.near = counts.near + s->near;
		if (counts.trampolines)
			log_warn("another tracer's return probes (gaspbpf, bpftrace, perf) acted on %llu calls of "
				 "functions whose returns "
				 "gaspbpf leaves alone for the job's sake: stop it, or observe these jobs one after "
				 "the other",
				 (unsigned long long)counts.trampolines);
		if (counts.rounds)
			log_warn("functions that jump back to where they begin were called, or went round, %llu times "
				 "where gaspbpf leaves the return alone "
				 "for the job's sake: which of these were calls cannot be told, and none is counted",
				 (unsigned long long)counts.rounds);
		if (counts.no_sum)
			log_warn("%llu calls are in no span and, for want of memory, in no sum: they are missing in "
				 "the profile",
				 (unsigned long long)counts.no_sum);
		if (s->totals.lost + counts.no_sum < s->totals.gaps)
			log_warn("%llu spans were lost, of which the kernel's sums have %llu: please report this",
				 (unsigned long long)s->totals.gaps, (unsigned long long)s->totals.lost);
		if (counts.lost != s->totals.gaps)
			log_warn("the kernel lost %llu spans, their numbers say %llu: please report this",
				 (unsigned long long)counts.lost, (unsigned long long)s->totals.gaps);
	}
	return session_locate(s);
}

struct capture_totals capture_totals(const struct capture_session *s)
{
	return s->totals;
}

/* --- life of a session ------------------------------------------------- */

static uint32_t read_pid_max(void)
{
	FILE *f = fopen("/proc/sys/kernel/pid_max", "re");
	unsigned long most = 4194304;

	if (f && (fscanf(f, "%lu", &most) != 1 || most < 1024 || most > 4194304))
		most = 4194304;
	if (f)
		fclose(f);
	return most + 1;
}

static int watch(struct capture_session *s, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_rings(struct capture_session *s)
{
	size_t bytes;
	int fd, err;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		return -errno;
	fd = kernel_control_fd(s->kernel, &bytes);
	err = ring_open(&s->control, fd, bytes);
	if (!err)
		err = watch(s, fd);
	s->rings = calloc(kernel_rings(s->kernel), sizeof(*s->rings));
	if (!s->rings)
		return -ENOMEM;
	for (; !err && s->nrings < kernel_rings(s->kernel); s->nrings++) {
		fd = kernel_ring_fd(s->kernel, s->nrings, &bytes);
		err = ring_open(&s->rings[s->nrings], fd, bytes);
		if (!err)
			err = watch(s, fd);
	}
	return err;
}

int capture_new(struct capture_session **result, struct kernel *kernel, const struct plan *plan, struct definitions *d,
		const struct capture_events *events)
{
	struct capture_session *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	*result = NULL;
	if (!s)
		return err;
	s->kernel = kernel;
	s->plan = plan;
	s->d = d;
	if (events)
		s->events = *events;
	s->epoll = -1;
	s->threads_room = read_pid_max();
	s->threads = calloc(s->threads_room, sizeof(*s->threads));
	if (s->threads)
		err = open_rings(s);
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

void capture_add_sink(struct capture_session *s, const struct span_sink *sink)
{
	if (s->nsinks < SINKS)
		s->sinks[s->nsinks++] = *sink;
}

void capture_close(struct capture_session *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->nrings; i++)
		ring_close(&s->rings[i]);
	ring_close(&s->control);
	if (s->epoll >= 0)
		close(s->epoll);
	session_free_limit(s);
	session_free_announced(s);
	session_free_comms(s);
	session_free_definitions(s);
	free(s->rings);
	free(s->life);
	free(s);
}
