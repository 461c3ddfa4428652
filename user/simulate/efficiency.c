/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * efficiency.c - before and after, and POP's efficiencies.
 *
 * Useful time is what a thread spends outside of the runtime. Of the threads that have to do with others:
 *
 *   load balance = mean useful / largest useful       serialisation = largest useful / time on the ideal network
 *   communication = largest useful / time             transfer = time on the ideal network / time
 *   parallel = load balance x communication           communication = serialisation x transfer
 *
 * (co-design.pop-coe.eu/metrics). So each needs a simulation of the ideal network, of what was recorded and of what the
 * plug-in made of it; schedule.c computes them beside.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "simulate/parts.h"
#include "util/format.h"
#include "util/json.h"
#include "util/log.h"

struct state {
	uint64_t time, ideal;         /* ns; of the whole run, for the threads that take part */
	uint64_t useful, most_useful; /* ns; sum, and largest of a thread */
	unsigned threads;
};

struct both {
	struct state before, after;
};

static void longer(uint64_t *time, uint64_t than)
{
	if (than > *time)
		*time = than;
}

/* From where on it counts: without what sets up the runtime, where that is told apart. */
static struct milestone beginning(const struct sim_thread *thread)
{
	struct milestone begins = { .old = thread->begin };

	if (thread->set_up.known)
		return thread->set_up;
	for (unsigned s = 0; s < SCENARIOS; s++)
		begins.now.at[s] = thread->begin;
	return begins;
}

/* Up to where: likewise. */
static struct milestone ending(const struct sim_thread *thread)
{
	if (thread->ends.known && (!thread->set_up.known || thread->ends.old >= thread->set_up.old))
		return thread->ends;
	return (struct milestone){ true, thread->old, thread->useful, thread->now };
}

static void earlier(struct milestone *first, const struct milestone *than)
{
	if (than->old < first->old)
		first->old = than->old;
	for (unsigned s = 0; s < SCENARIOS; s++)
		if (than->now.at[s] < first->now.at[s])
			first->now.at[s] = than->now.at[s];
}

static bool counts(const struct sim_thread *thread)
{
	return thread->takes_part && thread->begun;
}

static struct both measure(const struct sim *sim)
{
	struct milestone first = { .old = UINT64_MAX }, begins, ends;
	struct both both = { 0 };

	for (unsigned s = 0; s < SCENARIOS; s++)
		first.now.at[s] = UINT64_MAX;
	for (size_t i = 0; i < sim->d->nthreads; i++) {
		if (!counts(&sim->threads[i]))
			continue;
		begins = beginning(&sim->threads[i]);
		earlier(&first, &begins);
	}
	for (size_t i = 0; i < sim->d->nthreads; i++) {
		const struct sim_thread *thread = &sim->threads[i];
		uint64_t useful;

		if (!counts(thread))
			continue;
		begins = beginning(thread);
		ends = ending(thread);
		useful = ends.useful > begins.useful ? ends.useful - begins.useful : 0;
		both.before.threads = ++both.after.threads;
		longer(&both.before.time, ends.old - first.old);
		longer(&both.before.ideal, ends.now.at[IDEAL_BEFORE] - first.now.at[IDEAL_BEFORE]);
		longer(&both.after.time, ends.now.at[AS_TOLD] - first.now.at[AS_TOLD]);
		longer(&both.after.ideal, ends.now.at[IDEAL_AFTER] - first.now.at[IDEAL_AFTER]);
		both.before.useful += useful;
		both.after.useful += thread->useful_after;
		longer(&both.before.most_useful, useful);
		longer(&both.after.most_useful, thread->useful_after);
	}
	return both;
}

enum efficiency { PARALLEL, LOAD_BALANCE, COMMUNICATION, SERIALISATION, TRANSFER, EFFICIENCIES };

static const char *const names[EFFICIENCIES] = {
	"Parallel efficiency",          "  Load balance",          "  Communication efficiency",
	"    Serialisation efficiency", "    Transfer efficiency",
};

static const char *const keys[EFFICIENCIES] = { "parallel", "load_balance", "communication", "serialisation",
						"transfer" };

#define ROUNDING \
	1.001 /* what the ideal network may be slower by, since times are whole ns and calls are put in order */

/* -1: makes no sense. No part is larger than its whole: where it came out so, calls were put together that do not
 * belong together. */
static double ratio(double a, double b)
{
	if (b <= 0 || a > b * ROUNDING)
		return -1;
	return a < b ? a / b : 1;
}

static bool is_nonsense(const struct state *s)
{
	return s->ideal > s->time * ROUNDING;
}

static double efficiency(const struct state *s, enum efficiency which)
{
	if (!s->threads)
		return -1;
	switch (which) {
	case LOAD_BALANCE:
		return ratio((double)s->useful / s->threads, (double)s->most_useful);
	case COMMUNICATION:
		return ratio((double)s->most_useful, (double)s->time);
	case SERIALISATION:
		return ratio((double)s->most_useful, (double)s->ideal);
	case TRANSFER:
		return ratio((double)s->ideal, (double)s->time);
	default:
		return ratio((double)s->useful / s->threads, (double)s->time);
	}
}

void efficiency_before(const struct sim *sim, struct efficiencies *e)
{
	struct state before = measure(sim).before;

	*e = (struct efficiencies){ .time = before.time, .ideal = before.ideal, .threads = before.threads };
	e->parallel = efficiency(&before, PARALLEL);
	e->load_balance = efficiency(&before, LOAD_BALANCE);
	e->communication = efficiency(&before, COMMUNICATION);
	e->serialisation = is_nonsense(&before) ? -1 : efficiency(&before, SERIALISATION);
	e->transfer = is_nonsense(&before) ? -1 : efficiency(&before, TRANSFER);
}

/* --- for people ------------------------------------------------------------------ */

static const char *percent(char *text, size_t size, double value)
{
	if (value < 0)
		snprintf(text, size, "-");
	else
		snprintf(text, size, "%.1f%%", 100 * value);
	return text;
}

static void print_counts(const struct counts *c, FILE *out)
{
	char a[FORMAT_SIZE], b[FORMAT_SIZE], d[FORMAT_SIZE];

	fprintf(out, "%s calls; %s messages and %s collective operations matched", format_count(a, c->calls),
		format_count(b, c->messages), format_count(d, c->collectives));
	if (c->locks)
		fprintf(out, ", locks taken %s times", format_count(a, c->locks));
	fputs("\n", out);
	if (c->unmatched_sends || c->unmatched_recvs)
		fprintf(out, "not matched: %s sends, %s receives: the other side is not in the recording\n",
			format_count(a, c->unmatched_sends), format_count(b, c->unmatched_recvs));
	if (c->backwards)
		fprintf(out, "backwards: %s messages were received before they were sent: the clocks differ\n",
			format_count(a, c->backwards));
	if (c->incomplete)
		fprintf(out,
			"not complete: %s calls of collective operations of which not all members are known, or in "
			"the recording: left as recorded\n",
			format_count(a, c->incomplete));
	if (c->apart)
		fprintf(out,
			"not one: %s calls of collective operations that some left before others had come: left as "
			"recorded\n",
			format_count(a, c->apart));
	if (c->lossy)
		fprintf(out,
			"lost: calls of %s processes are missing: their messages and collective operations are left "
			"as recorded\n",
			format_count(a, c->lossy));
	if (c->unknown_waits)
		fprintf(out, "left as recorded: %s waits for something that the recording does not name\n",
			format_count(a, c->unknown_waits));
	if (c->broken)
		fprintf(out, "given up: %s calls waited for each other: left as recorded\n",
			format_count(a, c->broken));
}

static void print_text(const struct sim *sim, const struct both *both, FILE *out)
{
	char a[FORMAT_SIZE], b[FORMAT_SIZE];

	print_counts(&sim->counts, out);
	fprintf(out, "\n%-28s %12s %12s\n", "", "before", "after");
	if (!both->before.threads) {
		fputs("No thread has to do with another: no efficiencies.\n", out);
		return;
	}
	if (is_nonsense(&both->before) || is_nonsense(&both->after))
		fputs("The ideal network came out slower than the real one: calls were put together that do not "
		      "belong together. What follows from it is not told (-).\n",
		      out);
	fprintf(out, "%-28s %12s %12s\n", "Time", format_time(a, both->before.time), format_time(b, both->after.time));
	fprintf(out, "%-28s %12s %12s\n", "  on the ideal network", format_time(a, both->before.ideal),
		format_time(b, both->after.ideal));
	fprintf(out, "%-28s %12s %12s\n", "Useful, mean of threads",
		format_time(a, both->before.useful / both->before.threads),
		format_time(b, both->after.useful / both->after.threads));
	fprintf(out, "%-28s %12s %12s\n", "Useful, largest", format_time(a, both->before.most_useful),
		format_time(b, both->after.most_useful));
	for (enum efficiency e = 0; e < EFFICIENCIES; e++)
		fprintf(out, "%-28s %12s %12s\n", names[e], percent(a, sizeof(a), efficiency(&both->before, e)),
			percent(b, sizeof(b), efficiency(&both->after, e)));
	if (both->after.time)
		fprintf(out, "%-28s %12s %11.2fx\n", "Speed-up", "",
			(double)both->before.time / (double)both->after.time);
	fprintf(out, "of %u threads that have to do with others\n", both->before.threads);
}

/* --- for programs ------------------------------------------------------------------ */

static void put_side(struct json *j, const char *key, const struct state *side)
{
	json_key(j, key);
	json_object(j);
	json_key_uint(j, "time_ns", side->time);
	json_key_uint(j, "ideal_ns", side->ideal);
	json_key_uint(j, "useful_ns", side->useful);
	json_key_uint(j, "largest_useful_ns", side->most_useful);
	for (enum efficiency e = 0; e < EFFICIENCIES; e++) {
		double value = efficiency(side, e);

		json_key(j, keys[e]);
		if (value < 0)
			json_null(j);
		else
			json_double(j, value);
	}
	json_end_object(j);
}

static int print_json(const struct sim *sim, const struct both *both, FILE *out)
{
	const struct counts *c = &sim->counts;
	static struct json j;

	json_init_file(&j, out, true);
	json_object(&j);
	json_key_string(&j, "plugin", sim->options->plugin);
	json_key_uint(&j, "threads", both->before.threads);
	put_side(&j, "before", &both->before);
	put_side(&j, "after", &both->after);
	json_key_uint(&j, "calls", c->calls);
	json_key_uint(&j, "operations", c->ops);
	json_key_uint(&j, "messages", c->messages);
	json_key_uint(&j, "collectives", c->collectives);
	json_key_uint(&j, "locks", c->locks);
	json_key_uint(&j, "unmatched_sends", c->unmatched_sends);
	json_key_uint(&j, "unmatched_receives", c->unmatched_recvs);
	json_key_uint(&j, "backwards", c->backwards);
	json_key_uint(&j, "incomplete_collectives", c->incomplete);
	json_key_uint(&j, "collectives_apart", c->apart);
	json_key_uint(&j, "lossy_processes", c->lossy);
	json_key_uint(&j, "unknown_waits", c->unknown_waits);
	json_key_uint(&j, "given_up", c->broken);
	json_end_object(&j);
	return json_finish(&j);
}

int efficiency_print(struct sim *sim, FILE *out)
{
	struct both both = measure(sim);
	int error = 0;

	if (sim->options->json)
		error = print_json(sim, &both, out);
	else
		print_text(sim, &both, out);
	errno = 0;
	if (!error && (fflush(out) || ferror(out)))
		error = errno ? -errno : -EIO;
	if (error && error != -EPIPE)
		log_error("standard output: %s: what was printed is not whole: make room there, or print to another "
			  "place",
			  strerror(-error));
	return error;
}
