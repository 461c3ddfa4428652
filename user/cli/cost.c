#include <stdio.h>
#include <sys/resource.h>

#include "cli/cost.h"
#include "util/format.h"

#define YOUNG_NS 100000000ULL /* of a thread heard of for less than this, a share says nothing */

uint64_t cost_own_cpu(void)
{
	struct rusage self;

	getrusage(RUSAGE_SELF, &self);
	return (self.ru_utime.tv_sec + self.ru_stime.tv_sec) * 1000000000ULL + (self.ru_utime.tv_usec + self.ru_stime.tv_usec) * 1000ULL;
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
	uint32_t tid;
};

static void judge(void *context, const struct capture_thread *thread)
{
	struct worst *worst = context;
	uint64_t lived = worst->now > thread->since ? worst->now - thread->since : 0;
	double share = lived > YOUNG_NS ? (double)thread->cost / lived : 0;

	if (share <= worst->share)
		return;
	worst->share = share;
	worst->tid = thread->tid;
}

static void find_worst(struct cost_meter *meter, const struct capture_session *capture, uint64_t now)
{
	struct worst worst = { .now = now };

	capture_visit_threads(capture, judge, &worst);
	meter->worst = worst.share;
	meter->tid = worst.tid;
}

/* % of the time of all threads seen. */
static double of_all(const struct capture_totals *totals, uint64_t elapsed)
{
	return totals->threads && elapsed ? 100.0 * totals->cost / elapsed / totals->threads : 0;
}

const char *cost_now(char text[COST_SIZE], struct cost_meter *meter, const struct capture_session *capture, uint64_t now)
{
	struct capture_totals totals = capture_totals(capture);
	uint64_t cpu = cost_own_cpu();
	double own = now > meter->shown ? 100.0 * (cpu - meter->cpu) / (now - meter->shown) : 0;
	char worst[40] = "";

	find_worst(meter, capture, now);
	if (totals.threads > 1 && meter->tid)
		snprintf(worst, sizeof(worst), ", %.2f%% of the worst", 100 * meter->worst);
	snprintf(text, COST_SIZE, "cost %.2f%% of %zu threads' time%s; own CPU %.0f%%", of_all(&totals, now - meter->started),
		 totals.threads, worst, own);
	meter->shown = now;
	meter->cpu = cpu;
	return text;
}

void cost_say(struct cost_meter *meter, const struct capture_session *capture, const struct definitions *d)
{
	struct capture_totals totals = capture_totals(capture);
	uint64_t wall = d->run.end - d->run.start;
	char took[FORMAT_SIZE], worst[80] = "";

	if (totals.threads > 1 && meter->tid)
		snprintf(worst, sizeof(worst), ", %.2f%% of thread %u's", 100 * meter->worst, meter->tid);
	fprintf(stderr, "gaspbpf: cost: about %s of the job's time in probes (%.2f%% of %zu threads'%s), %.2f s of CPU for gaspbpf itself\n",
		format_time(took, totals.cost), of_all(&totals, wall), totals.threads, worst, cost_own_cpu() / 1e9);
}
