/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * monitor.c - a whole machine, for months: what is done when, and what is known.
 *
 * Each step: news is read, processes it is about are looked at, the governor has its look. Sums are read when somebody
 * asks, and often enough that those of ended threads do not pile up. Nothing here grows with time: processes go with
 * their last sums, files with plans_renew().
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "monitor/private.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/log.h"

#define READ_NS 1000000000ULL   /* threads have ended: their sums are read after so long at most */
#define ENDED_MOST 2048         /* or when there are so many */
#define SUMS_AT_ONCE 16384      /* of more, the reading is not waited for */
#define PAUSE_SHARE 2           /* and is done in a third of the time at most */
#define STALE_NS 15000000000ULL /* but what is given out is not older, ... */
#define STALE_READINGS 6        /* ... or not than so many readings take */
#define SWEEP_NS 30000000000ULL /* for what was not told */
#define IDLE_MS 1000
#define WATCHFUL_MS 200 /* a storm begins unseen for so long */
#define BUSY_MS 20

/* --- options ----------------------------------------------------------- */

static int add_to_wish(char **wish, const char *name)
{
	char *longer;

	if (asprintf(&longer, "%s%s%s", *wish ?: "", *wish ? "," : "", name) < 0)
		return -ENOMEM;
	free(*wish);
	*wish = longer;
	return 0;
}

/* Names every model that is meant: all parallel runtimes, if the wish names none without '+'; and those it names. */
static int complete_wish(struct monitor *m)
{
	char *copy = strdup(m->options.wish ?: ""), *rest = copy, *word;
	bool only = false;
	int err = copy ? 0 : -ENOMEM;

	for (const char *at = m->options.wish; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		only |= *at != '+';
	for (size_t i = 0; !err && !only && i < models_count(m->options.models); i++) {
		const struct model *model = models_at(m->options.models, i);

		if (!model->alone && !model->always)
			err = add_to_wish(&m->wish, model->name);
	}
	while (!err && (word = strsep(&rest, ","))) {
		const struct model *model = models_find(m->options.models, word + (*word == '+'));

		if (!*word)
			continue;
		if (model && model->alone)
			log_warn("%s: its functions are called by everything and often: each call of every chosen "
				 "process is trapped",
				 model->name);
		err = add_to_wish(&m->wish, word + (*word == '+'));
	}
	free(copy);
	return err;
}

/* --- reading ----------------------------------------------------------- */

int monitor_read(struct monitor *m, bool govern)
{
	uint64_t start = clock_monotonic();
	int err;

	if (m->reading) /* somebody's breath */
		return 0;
	m->reading = true;
	err = tally_read(&m->book, govern, m->within ? NULL : &m->breath);
	m->reading = m->wanted = false;
	m->read_from = start;
	m->read_at = clock_monotonic();
	m->read_took = m->read_at - start;
	if (err)
		log_error("the kernel's sums cannot be read: %s: free some memory; it is tried again", strerror(-err));
	return err;
}

static void sweep(struct monitor *m)
{
	m->swept = clock_monotonic();
	notice_check(m);
	file_watch_sweep(m->files);
	m->reading = true;
	tally_sweep(&m->book, &m->breath);
	m->reading = false;
}

static bool reading_is_due(const struct monitor *m, uint64_t now)
{
	if (m->wanted && now - m->read_at >= PAUSE_SHARE * m->read_took)
		return true;
	return HASH_COUNT(m->book.ended) >= ENDED_MOST || (m->book.ended && now - m->read_at >= READ_NS);
}

/* The processes that were there have their probes, and so have the libraries that are probed beforehand. */
static void look_if_ready(struct monitor *m)
{
	if (m->ready || m->pending || m->rescan || m->registered < m->nlibraries)
		return;
	m->ready = clock_monotonic();
	log_info("ready after %.1f s", (m->ready - m->began) / 1e9);
}

bool monitor_ready(const struct monitor *m)
{
	return m->ready;
}

int monitor_step(struct monitor *m)
{
	uint64_t now = clock_monotonic();
	int err;

	file_watch_read(m->files);
	news_read(m->news);
	if (m->rescan) {
		sweep(m);
		err = notice_all(m);
		if (err)
			return err;
	}
	notice_leaving(m);
	if (m->translators.count && (err = translators_watch(m)))
		return err;
	if (file_watch_is_due(m->files))
		file_watch_sweep(m->files);
	err = notice_pending(m);
	if (!err)
		err = plans_register(m);
	if (!err)
		err = plans_renew(m);
	if (!err)
		look_if_ready(m);
	if (!err)
		err = limits_govern(m);
	if (!err && now - m->swept >= SWEEP_NS)
		sweep(m);
	if (!err && reading_is_due(m, now)) {
		err = monitor_read(m, m->governor);
		if (m->governor)
			governor_look(m->governor, clock_monotonic());
		if (!err)
			notice_let_go(m);
	}
	return err;
}

int monitor_fd(const struct monitor *m)
{
	return m->wake;
}

int monitor_timeout(const struct monitor *m)
{
	if (m->pending || m->rescan || m->registered < m->nlibraries)
		return 0;
	if (m->busy || m->some_leave || m->wanted)
		return BUSY_MS;
	return m->processes && m->governor ? WATCHFUL_MS : IDLE_MS;
}

/* --- what is known ----------------------------------------------------- */

static void show_event(struct monitor *m, size_t i)
{
	struct tally_event *event = &m->book.events[i];
	struct monitor_event *shown = &m->events_shown[i];

	*shown = event->shown;
	shown->total = event->total.reading == m->book.reading ? event->total.all : event->total.ended;
	shown->every = 1;
	if (event->out_since)
		shown->unseen_ns += m->snapshot.time_ns - event->out_since;
}

/* How its functions are followed, and how long some were not. */
static void show_levels(struct monitor *m)
{
	for (size_t i = 0; i < m->book.nsites; i++) {
		uint32_t event = m->book.event_of[i];
		const struct site_level *level = &m->plan->sites[i].level;
		unsigned every = level->level == LEVEL_ALL ? 1 : level->every; /* 0: out */

		if (event == NO_EVENT || (!m->events_shown[event].every) ||
		    (every && every <= m->events_shown[event].every))
			continue;
		m->events_shown[event].every = every;
	}
	for (size_t i = 0; i < m->book.nevents; i++) {
		struct tally_event *event = &m->book.events[i];

		if (!event->out_since || !m->events_shown[i].every)
			continue;
		event->shown.unseen_ns += m->snapshot.time_ns - event->out_since;
		event->out_since = 0;
	}
}

struct monitor_process monitor_describe(const struct watched_process *w)
{
	struct monitor_process shown = {
		.pid = w->pid,
		.start_time = w->process->start_time,
		.since_ns = w->since,
		.uid = w->process->uid,
		.comm = w->process->name,
		.exe = w->about.exe,
		.cgroup = w->about.cgroup,
		.user = w->about.user,
		.job = w->about.job,
		.rank = w->about.rank,
		.size = w->about.size,
		.lost = w->lost,
		.from_start = w->from_start,
		.blind_ns = w->blind,
		.blind_from_ns = w->blind_from,
		.blind_to_ns = w->blind_to,
		.nlineage = w->nlineage,
	};

	memcpy(shown.lineage, w->lineage, sizeof(shown.lineage));
	return shown;
}

static int show_process(struct monitor *m, struct watched_process *w, size_t *used)
{
	struct monitor_process *p = &m->shown[m->snapshot.nprocesses++];

	w->lost = shares_lost(m, w->share ? w->share->user : GB_USER_OTHERS) - w->lost_before;
	*p = monitor_describe(w);
	if (array_reach(&m->shown_events, &m->shown_events_room, *used + w->tallied.ntallies + 1,
			sizeof(*m->shown_events)))
		return -ENOMEM;
	p->nevents = tallied_events(&w->tallied, m->book.reading, m->shown_events + *used);
	*used += p->nevents;
	return 0;
}

static int show_processes(struct monitor *m)
{
	size_t used = 0, first = 0;
	struct watched_process *w, *next;

	if (array_reach(&m->shown, &m->nshown, HASH_COUNT(m->processes) + m->nremains + 1, sizeof(*m->shown)))
		return -ENOMEM;
	m->snapshot.nprocesses = 0;
	HASH_ITER (hh, m->processes, w, next)
		if (w->process &&
		    show_process(m, w, &used)) /* an ended one that is still here has not been let go yet */
			return -ENOMEM;
	/* Only now does the array not move any more. */
	for (size_t i = 0; i < m->snapshot.nprocesses; i++) {
		m->shown[i].events = m->shown_events + first;
		first += m->shown[i].nevents;
	}
	m->snapshot.nalive = m->snapshot.nprocesses;
	m->snapshot.nprocesses += remains_show(m, m->shown + m->snapshot.nalive);
	m->snapshot.processes = m->shown;
	return 0;
}

static uint64_t own_cpu(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * 1000000000ULL + used.tv_nsec;
}

static uint64_t own_bytes(void)
{
	unsigned long all, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%lu %lu", &all, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return (uint64_t)resident * sysconf(_SC_PAGESIZE);
}

/* Big blocks are mapped one by one, all others lie in arenas. */
static uint64_t own_heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void show_counts(struct monitor *m)
{
	struct monitor_snapshot *s = &m->snapshot;

	kernel_read_counts(m->kernel, &m->counts);
	shares_show(m);
	s->since_ns = m->began;
	s->since_realtime_ns = m->began_realtime;
	s->noticed = m->noticed;
	s->ended = m->ended;
	s->crowded = m->crowded;
	s->unseen = m->unseen;
	s->late = m->late;
	s->late_ns = m->late_ns;
	s->late_longest_ns = m->late_longest;
	s->ready = m->ready;
	s->privileged = m->privileged;
	s->libraries = m->nlibraries;
	s->registered = m->registered < m->nlibraries ? m->registered : m->nlibraries;
	s->renewals = m->renewals;
	s->lost = m->counts.no_memory + m->counts.no_sum;
	s->lost_spans = m->counts.lost;
	s->news_lost = m->news_lost;
	s->cost_ns = m->book.cost;
	s->own_cpu_ns = own_cpu();
	s->own_bytes = own_bytes();
	s->own_heap_bytes = own_heap_bytes();
	s->images = m->plan->nimages;
	s->sites = m->plan->nsites;
	s->sums = m->book.entries;
	s->rung = rung_name(kernel_rung(m->kernel));
}

/* What has ended by now is read as ended. In the midst of other work there is only reading. */
static int look_around(struct monitor *m)
{
	int err;

	if (m->within || m->breath.ended)
		return monitor_read(m, false);
	news_read(m->news);
	notice_leaving(m);
	err = notice_pending(m);
	if (err == -ECANCELED)
		return monitor_read(m, false);
	if (!err)
		err = monitor_read(m, m->governor);
	if (err)
		return err;
	if (m->governor)
		governor_look(m->governor, clock_monotonic());
	notice_let_go(m);
	return 0;
}

/* What was read last becomes what is shown. start: ns; what was done until then is in it. */
static const struct monitor_snapshot *show(struct monitor *m, uint64_t start)
{
	struct monitor_event *events;

	remains_expire(m);
	m->snapshot.time_ns = clock_monotonic();
	events = realloc(m->events_shown, (m->book.nevents + 1) * sizeof(*events));
	if (!events)
		return NULL;
	m->events_shown = events;
	for (size_t i = 0; i < m->book.nevents; i++)
		show_event(m, i);
	show_levels(m);
	m->snapshot.events = events;
	m->snapshot.nevents = m->book.nevents;
	show_counts(m);
	m->snapshot.time_ns = start; /* what was done until then is in it, wholly */
	return show_processes(m) ? NULL : &m->snapshot;
}

const struct monitor_snapshot *monitor_look(struct monitor *m)
{
	uint64_t start = clock_monotonic(),
		 outer = m->looking; /* files that are looked through meanwhile may let somebody else have a look */
	int err;

	if (m->reading)
		return NULL;
	m->looking = start;
	err = look_around(m);
	m->looking = outer;
	return err ? NULL : show(m, start);
}

const struct monitor_snapshot *monitor_glance(struct monitor *m)
{
	uint64_t most = STALE_READINGS * m->read_took > STALE_NS ? STALE_READINGS * m->read_took : STALE_NS;

	if (m->reading)
		return NULL;
	if (!m->read_from || kernel_sums_in_use(m->kernel) <= SUMS_AT_ONCE || clock_monotonic() - m->read_from > most)
		return monitor_look(m);
	m->wanted = true;
	return show(m, m->read_from);
}

/* --- life -------------------------------------------------------------- */

struct kernel *monitor_kernel(struct monitor *m)
{
	return m->kernel;
}

struct plan *monitor_plan(struct monitor *m)
{
	return m->plan;
}

int monitor_choose(struct monitor *m, const struct process_choice *choice)
{
	int err;

	m->choice = *choice;
	kernel_forget_targets(m->kernel); /* those below a launcher that is not named any more are no tree's, either */
	err = notice_trees(m);
	return err ?: notice_all(m);
}

static int load(struct monitor *m)
{
	struct kernel_options options = {
		.filter = true,
		.follow = true,
		.sums = true,
		.spans = m->options.spans,
		.ring_bytes = m->options.spans ? m->options.ring_bytes : 1,
		.callers = m->options.spans,
	};
	struct news_handlers handlers = notice_handlers(m);
	int err = news_open(&m->news, &handlers); /* first: who comes from here on is told */

	if (!err)
		err = kernel_load(&m->kernel, &options);
	if (err)
		return err;
	m->book.kernel = m->kernel;
	plans_take_care(m);
	kernel_costs(m->kernel, &m->book.costs);
	kernel_set_active(m->kernel, true); /* each file counts from the moment its probes are in */
	err = limits_new(m);
	if (!err)
		err = files_open(m);
	if (!err && m->options.loaded)
		err = m->options.loaded(m->options.loaded_context, m->kernel, &m->privileged);
	return err;
}

static bool breathe(void *context)
{
	struct monitor *m = context;
	bool end;

	m->within = true;
	if (m->files)
		file_watch_read(m->files);
	if (m->news)
		news_read(m->news); /* or it would be too much for its buffers */
	end = m->options.breathe && m->options.breathe(m->options.breathe_context);
	m->within = false;
	return end;
}

int monitor_open(struct monitor **result, const struct monitor_options *options)
{
	struct monitor *m = calloc(1, sizeof(*m));
	int err;

	*result = NULL;
	if (!m)
		return -ENOMEM;
	m->options = *options;
	m->choice = options->choice;
	if (!m->options.most_processes)
		m->options.most_processes = MONITOR_PROCESSES;
	m->wake = -1;
	m->taking = GB_USER_ALL;
	m->scope.file = true;
	m->scope.apart = options->budget > 0;
	m->breath = (struct breath){ .take = breathe, .context = m };
	m->book.owner = notice_owner;
	m->book.context = m;
	m->began = m->swept = m->read_at = m->counted_at = clock_monotonic();
	m->began_realtime = clock_realtime();
	err = complete_wish(m);
	if (!err)
		err = plans_new(m);
	if (!err)
		err = load(m);
	if (err)
		goto fail;
	plans_list_libraries(m);
	translators_look(m);
	err = notice_trees(m);
	if (!err)
		err = notice_all(m);
	if (err)
		goto fail;
	m->images_then = m->plan->nimages;
	m->sites_then = m->plan->nsites;
	*result = m;
	return 0;
fail:
	monitor_close(m);
	return err;
}

void monitor_close(struct monitor *m)
{
	if (!m)
		return;
	notice_free(m);
	governor_free(m->governor);
	if (m->kernel) {
		kernel_set_active(m->kernel, false);
		attach_remove_all(m->kernel, NULL);
	}
	file_watch_free(m->files);
	if (m->wake >= 0)
		close(m->wake);
	news_close(m->news);
	tally_free(&m->book);
	kernel_free(m->kernel);
	plan_free(m->plan);
	free(m->wish);
	free(m->own);
	translators_free(&m->translators);
	libraries_free(m->libraries, m->nlibraries);
	remains_free(m);
	shares_free(m);
	free(m->shown);
	free(m->shown_events);
	free(m->events_shown);
	plans_forget_programs(m);
	free(m);
}
