/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <sys/resource.h>

#include "observe/cost.h"
#include "util/format.h"
#include "util/log.h"

#define MUCH 0.5 /* of what a thread runs: its own work takes twice as long */
#define MOST 0.99
#define SOME 0.05              /* of its time: less does not matter, however little it runs */
#define YOUNG_NS 100000000ULL  /* of a thread heard of for less than this, a share says nothing */
#define GROWN_NS 2000000000ULL /* what lasts that long is no passing thing */

uint64_t cost_own_cpu(void)
{
	struct rusage self;

	getrusage(RUSAGE_SELF, &self);
	return (self.ru_utime.tv_sec + self.ru_stime.tv_sec) * 1000000000ULL +
	       (self.ru_utime.tv_usec + self.ru_stime.tv_usec) * 1000ULL;
}

void cost_begin(struct cost_meter *meter, uint64_t now)
{
	*meter = (struct cost_meter){ .started = now, .shown = now, .cpu = cost_own_cpu() };
}

void cost_end(struct cost_meter *meter, uint64_t now)
{
	meter->ended = now;
}

/* The worst thread among those that live. */
struct worst {
	uint64_t now;
	double share;
	struct cost_suspect found;
};

static void judge(void *context, const struct capture_thread *thread)
{
	struct worst *worst = context;
	uint64_t lived = worst->now > thread->since ? worst->now - thread->since : 0;
	double share = lived > YOUNG_NS ? (double)thread->cost / lived : 0;

	if (share <= worst->share)
		return;
	worst->share = share;
	worst->found = (struct cost_suspect){ .tid = thread->tid, .cost = thread->cost };
}

static struct worst find_worst(const struct capture_session *capture, uint64_t now)
{
	struct worst worst = { .now = now };

	capture_visit_threads(capture, judge, &worst);
	return worst;
}

/* ns that a thread has run; 0: it is gone. */
static uint64_t ran(uint32_t tid)
{
	unsigned long long ns = 0;
	char path[40];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/schedstat", tid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%llu", &ns) != 1)
		ns = 0;
	fclose(file);
	return ns;
}

static void find_suspect(void *context, const struct capture_thread *thread)
{
	struct cost_suspect *now = context;

	if (thread->tid == now->tid)
		now->cost = thread->cost;
}

static void warn_of(const struct cost_suspect *then, const struct cost_suspect *now)
{
	double share = (double)(now->cost - then->cost) / (now->ran - then->ran);

	if (share < MOST)
		log_warn("probes take %.0f%% of what thread %u runs, so its own work takes about %.0f times as long: "
			 "--max-overhead 5%% would limit that; "
			 "^C lets it go",
			 100 * share, now->tid, 1 / (1 - share));
	else
		log_warn("probes take nearly all of what thread %u runs: --max-overhead 5%% would limit that; ^C lets "
			 "it go",
			 now->tid);
}

void cost_warn(struct cost_meter *meter, const struct capture_session *capture, uint64_t now)
{
	struct cost_suspect *then = &meter->suspect, seen = { .tid = then->tid, .at = now };

	if (meter->warned || (then->tid && now - then->at < GROWN_NS))
		return;
	if (then->tid) {
		capture_visit_threads(capture, find_suspect, &seen);
		seen.ran = ran(seen.tid);
		meter->warned = seen.ran > then->ran && seen.cost - then->cost > MUCH * (seen.ran - then->ran) &&
				seen.cost - then->cost > SOME * (now - then->at);
		if (meter->warned)
			warn_of(then, &seen);
	}
	*then = find_worst(capture, now).found;
	then->ran = then->tid ? ran(then->tid) : 0;
	then->at = now;
}

double cost_of_all(const struct capture_totals *totals, uint64_t elapsed)
{
	return totals->threads && elapsed ? 100.0 * totals->cost / elapsed / totals->threads : 0;
}

const char *cost_now(char text[COST_SIZE], struct cost_meter *meter, const struct capture_session *capture,
		     uint64_t now)
{
	struct capture_totals totals = capture_totals(capture);
	uint64_t cpu = cost_own_cpu();
	double own = now > meter->shown ? 100.0 * (cpu - meter->cpu) / (now - meter->shown) : 0;
	struct worst worst_thread = find_worst(capture, now);
	char worst[40] = "";

	meter->worst = worst_thread.share;
	meter->tid = worst_thread.found.tid;
	if (totals.threads > 1 && meter->tid)
		snprintf(worst, sizeof(worst), ", %.2f%% of the worst", 100 * meter->worst);
	snprintf(text, COST_SIZE, "cost %.2f%% of %zu %s time%s; own CPU %.0f%%",
		 cost_of_all(&totals, now - meter->started), totals.threads,
		 totals.threads == 1 ? "thread's" : "threads'", worst, own);
	meter->shown = now;
	meter->cpu = cpu;
	return text;
}

void cost_say(const struct capture_session *capture, const struct definitions *d)
{
	struct capture_totals totals = capture_totals(capture);
	char took[FORMAT_SIZE];

	fprintf(stderr,
		"gaspbpf: cost: probes took about %s of the job's time (%.2f%% of %zu %s); gaspbpf's own CPU: %.2f s\n",
		format_time(took, totals.cost), cost_of_all(&totals, d->run.end - d->run.start), totals.threads,
		totals.threads == 1 ? "thread's" : "threads'", cost_own_cpu() / 1e9);
}

void cost_say_own(unsigned *said, const struct kernel *kernel, const struct plan *plan)
{
	struct probe_costs costs;
	const struct site *site = NULL;
	struct site_price most = { 0 };
	char with[FORMAT_SIZE], alone[FORMAT_SIZE];
	unsigned without;

	for (size_t i = 0; i < plan->nsites; i++) {
		struct site_price price = site_price(kernel, &plan->sites[i]);

		if (price.links <= most.links)
			continue;
		most = price;
		site = &plan->sites[i];
	}
	kernel_costs(kernel, &costs);
	without = most.call - most.links * costs.link;
	if (!site || most.call <= without + without / 5 || most.links < 2 * *said)
		return;
	*said = most.links;
	log_warn("%u processes have probes of their own in %s: a probed call costs each of them %s, where it would be "
		 "%s for one alone. One probe for all "
		 "(--scope=file) costs %s, but slows down every process on this machine that uses this file",
		 most.links + 1, log_safe(site->image->path), format_time(with, most.call), format_time(alone, without),
		 alone);
}
