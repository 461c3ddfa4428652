/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loss.c - how many calls are not on the timeline, and why; and what was not seen at all.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"

#include "util/json.h"

#define LOSERS_SHOWN 5

/* When the thread's gaps were, from the first to the last; nothing where that is not known. */
static void print_when(const struct printer *p, uint32_t thread)
{
	const struct profiled_thread *t = thread < p->r->profile->nthreads ? &p->r->profile->threads[thread] : NULL;
	uint64_t from, to;
	char text[FORMAT_SIZE];

	if (!t || !t->lost)
		return;
	from = t->lost_from > p->r->start ? t->lost_from - p->r->start : 0;
	to = t->lost_to > p->r->end ? p->r->end - p->r->start : t->lost_to > p->r->start ? t->lost_to - p->r->start : 0;
	fprintf(p->out, " in %s %s,", format_count(text, t->nesting.epoch), t->nesting.epoch == 1 ? "gap" : "gaps");
	fprintf(p->out, " between %s", format_time(text, from));
	fprintf(p->out, " and %s", format_time(text, to));
}

static void print_losers(const struct printer *p)
{
	char label[LABEL_ROOM], text[FORMAT_SIZE];
	unsigned losers = 0;

	for (size_t i = 0; i < p->r->nthreads; i++) {
		const struct report_thread *row = &p->r->threads[i];

		if (!row->lost || losers++ >= LOSERS_SHOWN)
			continue;
		fprintf(p->out, "  %s %s", thread_label(p->r->d, row->thread, label, sizeof(label)),
			format_count(text, row->lost));
		print_when(p, row->thread);
		fputc('\n', p->out);
	}
	if (losers > LOSERS_SHOWN)
		fprintf(p->out, "  and %u more threads\n", losers - LOSERS_SHOWN);
}

/* summed: of the lost calls, those that the kernel's sums have. */
static void print_lost(const struct printer *p, uint64_t summed)
{
	char lost[FORMAT_SIZE], calls[FORMAT_SIZE], some[FORMAT_SIZE];
	const struct report *r = p->r;
	double share = r->calls ? 100.0 * r->lost / r->calls : 0;
	const char *what = r->calls == 1 ? "call" : "calls";

	format_count(lost, r->lost);
	format_count(calls, r->calls);
	fputc('\n', p->out);
	if (!r->lost) {
		printer_line(p, "lost %s of %s %s", lost, calls, what);
		return;
	}
	printer_line(p, "%slost %s of %s %s%s from the timeline (%.*f %%); %s%s", p->bold, lost, calls, what, p->plain,
		     share < 0.1 ? 4 : 1, share,
		     summed >= r->lost ? "all"
		     : summed          ? format_count(some, summed)
				       : "what they were is not known",
		     summed >= r->lost ? " are in Calls and Total, timed in the kernel"
		     : summed          ? " of them are in Calls and Total, timed in the kernel"
				       : "");
	print_losers(p);
}

/* What was left out by intention. */
static void print_kept_low(const struct printer *p)
{
	char text[FORMAT_SIZE];

	if (p->r->summed && !p->r->d->run.only_sums)
		printer_line(p, "%s %s summed up in the kernel, to keep the cost low", format_count(text, p->r->summed),
			     p->r->summed == 1 ? "call was" : "calls were");
	if (p->r->skipped)
		printer_line(p,
			     "%s %s only counted, to keep the cost low; how long they took is estimated by the mean of "
			     "the others",
			     format_count(text, p->r->skipped), p->r->skipped == 1 ? "call was" : "calls were");
}

/* One sentence for a number that is not 0: "    12 calls <what>". */
static void print_unseen(const struct printer *p, uint64_t count, const char *one, const char *many, const char *what)
{
	char text[FORMAT_SIZE];

	if (count)
		printer_line(p, "%s %s %s", format_count(text, count), count == 1 ? one : many, what);
}

static void print_own_cpu(const struct printer *p)
{
	char text[200], time[FORMAT_SIZE];

	snprintf(text, sizeof(text),
		 "gaspbpf itself took %s of CPU time, beside the job; what its probes took of the job's own time is "
		 "told of the threads.",
		 format_time(time, p->r->d->run.own_cpu));
	printer_paragraph(p, "", text);
}

static void print_loss(void *state, const struct printer *p)
{
	const struct def_loss *loss = &p->r->d->loss;
	struct tally all = { 0 };

	for (size_t i = 0; i < p->r->nevents; i++) {
		all.lost += p->r->events[i].tally.lost;
		all.open += p->r->events[i].tally.open;
		all.ended += p->r->events[i].tally.ended;
		all.off += p->r->events[i].tally.off;
		all.unwound += p->r->events[i].tally.unwound;
		all.deep += p->r->events[i].tally.deep;
		all.alone += p->r->events[i].tally.alone;
		all.tails += p->r->events[i].tally.tails;
	}
	print_lost(p, all.lost);
	print_kept_low(p);
	if (p->r->d->run.finished && loss->calls > p->r->calls)
		print_unseen(p, loss->calls - p->r->calls, "call", "calls",
			     "more were counted in the kernel than were delivered or lost");
	print_unseen(p, all.open, "call was", "calls were",
		     "in progress when the observation ended; counted up to then");
	print_unseen(p, all.off, "call was", "calls were",
		     "in progress when measurement was switched off; counted up to then");
	print_unseen(p, all.unwound, "call was", "calls were", "left by an exception or longjmp; counted up to then");
	print_unseen(p, all.ended, "call", "calls",
		     "did not return: the thread or program ended inside; counted up to then");
	print_unseen(p, all.deep, "call was", "calls were", "nested too deep: counted, but their duration is unknown");
	print_unseen(
		p, all.alone, "call was", "calls were",
		"only counted: to watch their return might have harmed the program "
		"(another stack than the thread's own, a debugger that traced it, or a program or library that had "
		"just come)");
	print_unseen(p, all.tails, "call", "calls",
		     "ended by handing over to another function (a tail call); the time of that one is not included");
	print_unseen(p, loss->no_memory, "call was", "calls were", "not seen: no memory for the state of the thread");
	print_unseen(p, loss->no_entry, "return", "returns", "had no call that was seen");
	print_unseen(p, loss->near, "access", "accesses",
		     "to the caller's own part of the global address space left out (--profile)");
	print_unseen(p, loss->unwritten, "call was", "calls were", "delivered but could not be written");
	if (p->r->d->run.own_cpu)
		print_own_cpu(p);
}

static void put_loss(void *state, const struct report *r, struct json *j)
{
	const struct def_loss *loss = &r->d->loss;

	json_object(j);
	json_key_uint(j, "lost", r->lost);
	json_key_uint(j, "delivered", r->delivered);
	json_key_uint(j, "summed", r->summed);
	json_key_uint(j, "skipped", r->skipped);
	json_key_uint(j, "calls", loss->calls > r->calls ? loss->calls : r->calls);
	json_key_uint(j, "no_memory", loss->no_memory);
	json_key_uint(j, "no_entry", loss->no_entry);
	json_key_uint(j, "near", loss->near);
	json_key_uint(j, "unwritten", loss->unwritten);
	json_end_object(j);
}

const struct analysis analysis_loss = {
	.name = "loss",
	.print = print_loss,
	.json = put_loss,
};
