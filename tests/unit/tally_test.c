/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tally_test.c - the monitor's figures by process and event, compared with what threads did. The kernel is the test's
 * own: threads come and go by the hundred, under numbers that are used again, and their ends are told late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "monitor/tally.h"
#include "shared/recorded_job.h"

#define PROCESSES 6
#define EVENTS 3
#define SITES_HERE 5 /* two of them of one event, and one of none */
#define LIVING 12    /* threads at a time */
#define STEPS 4000
#define TIDS 30
#define FOLLOWED 100 /* ns of a call */
#define ONLY_COUNTED 10
#define PID(process) (7000000u + (process)) /* no kernel has such numbers */

struct thread {
	uint32_t process, tid;
	uint64_t born, ended; /* ns; 0: it lives */
	bool told;            /* of its end */
};

/* What it did that the kernel has not been asked to forget. */
struct entry {
	struct gb_sum_place place;
	struct gb_sum sum;
	uint32_t thread;
};

static struct {
	struct tally_book book;
	struct plan plan;
	struct site sites[SITES_HERE];
	struct function functions[SITES_HERE];
	struct model model;
	struct capture capture;
	struct entry *entries;
	size_t nentries, room;
	struct thread threads[LIVING];
	uint64_t now, reading;
	size_t forgotten;
	bool forgetting; /* a reading is over, and those that it named go */
	struct tallied_process processes[PROCESSES];
	enum owner owners[PROCESSES];
	uint64_t cost, pending_cost[PROCESSES]; /* ns */
	struct monitor_amounts did[PROCESSES][EVENTS], pending[PROCESSES][EVENTS],
		total[EVENTS]; /* pending: of processes that nobody has looked at */
} fake;

/* --- the kernel ------------------------------------------------------------ */

int __wrap_kernel_read_sums(const struct kernel *kernel, kernel_sum take, void *context, struct breath *breath);
void __wrap_kernel_forget_sum(struct kernel *kernel, const struct gb_sum_place *place, uint32_t user);
void __wrap_kernel_sums_forgotten(struct kernel *kernel);
uint64_t __wrap_kernel_changes(const struct kernel *kernel);
struct site_price __wrap_site_price(const struct kernel *kernel, const struct site *site);

int __wrap_kernel_read_sums(const struct kernel *kernel, kernel_sum take, void *context, struct breath *breath)
{
	for (size_t i = 0; i < fake.nentries; i++)
		take(context, &fake.entries[i].place, &fake.entries[i].sum);
	return 0;
}

void __wrap_kernel_forget_sum(struct kernel *kernel, const struct gb_sum_place *place, uint32_t user)
{
	for (size_t i = 0; i < fake.nentries; i++) {
		struct entry *entry = &fake.entries[i];

		if (memcmp(&entry->place, place, sizeof(*place)))
			continue;
		assert_int_equal(entry->sum.user, user);
		*entry = fake.entries[--fake.nentries];
		fake.forgotten++;
		return;
	}
	fail_msg("there is no such entry");
}

void __wrap_kernel_sums_forgotten(struct kernel *kernel)
{
}

uint64_t __wrap_kernel_changes(const struct kernel *kernel)
{
	return 1;
}

struct site_price __wrap_site_price(const struct kernel *kernel, const struct site *site)
{
	return (struct site_price){
		.call = FOLLOWED, .skipped = ONLY_COUNTED, .cold = FOLLOWED, .cold_skipped = ONLY_COUNTED
	};
}

/* --- what happens ----------------------------------------------------------- */

static enum owner owner_of(void *context, uint32_t pid, uint64_t born, struct tallied_process **process)
{
	uint32_t index = pid - PID(0);

	if (index >= PROCESSES)
		return OWNER_CROWD;
	if (fake.owners[index] == OWNER_PROCESS)
		*process = &fake.processes[index];
	return fake.owners[index];
}

static struct entry *entry_of(uint32_t thread, uint32_t probe)
{
	const struct thread *t = &fake.threads[thread];

	for (size_t i = 0; i < fake.nentries; i++)
		if (fake.entries[i].place.tid == t->tid && fake.entries[i].place.born == t->born &&
		    fake.entries[i].place.probe == probe)
			return &fake.entries[i];
	if (fake.nentries == fake.room) {
		fake.room = fake.room ? 2 * fake.room : 64;
		fake.entries = realloc(fake.entries, fake.room * sizeof(*fake.entries));
		assert_non_null(fake.entries);
	}
	fake.entries[fake.nentries] = (struct entry){ .place = { t->born, t->tid, probe },
						      .sum = { .pid = PID(t->process), .user = 5 },
						      .thread = thread };
	return &fake.entries[fake.nentries++];
}

/* One call, as the kernel sums it up. */
static void call_once(struct gb_sum *sum, bool skipped, uint64_t ns, uint64_t bytes)
{
	if (skipped) {
		sum->skipped++;
		return;
	}
	sum->lost += ns & 1;
	sum->summed += !(ns & 1);
	if (!sum->timed || ns < sum->min)
		sum->min = ns;
	if (ns > sum->max)
		sum->max = ns;
	sum->timed++;
	sum->total += ns;
	sum->bucket[ns % GB_BUCKETS]++;
	sum->sized++;
	sum->bytes += bytes;
	sum->size[bytes % GB_SIZES]++;
}

/* The same call, as it is to come out. */
static void count_once(struct monitor_amounts *a, bool inner, bool skipped, uint64_t ns, uint64_t bytes)
{
	if (inner) {
		a->inner++;
		a->inner_ns += skipped ? 0 : ns;
		return;
	}
	a->calls++;
	a->skipped += skipped;
	if (skipped)
		return;
	if (!a->timed || ns < a->min)
		a->min = ns;
	if (ns > a->max)
		a->max = ns;
	a->timed++;
	a->ns += ns;
	a->duration[ns % GB_BUCKETS]++;
	a->sized++;
	a->bytes += bytes;
	a->size[bytes % GB_SIZES]++;
}

static uint32_t event_of_site(uint32_t site)
{
	return site < 2 ? 0 : site - 1; /* the first two are of one event; the last one of none */
}

static void make_call(void)
{
	uint32_t thread = (uint32_t)below(LIVING), site = (uint32_t)below(SITES_HERE), event = event_of_site(site);
	bool inner = !below(4), skipped = !below(3);
	uint64_t ns = 1 + below(500), bytes = below(200);
	const struct thread *t = &fake.threads[thread];

	if (t->ended)
		return;
	call_once(&entry_of(thread, site | (inner ? GB_SUM_INNER : 0))->sum, skipped, ns, bytes);
	if (event >= EVENTS || fake.owners[t->process] == OWNER_NOBODY)
		return;
	*(fake.owners[t->process] == OWNER_UNKNOWN ? &fake.pending_cost[t->process]
						   : &fake.cost) += skipped ? ONLY_COUNTED : FOLLOWED;
	if (fake.owners[t->process] == OWNER_UNKNOWN) {
		count_once(&fake.pending[t->process][event], inner, skipped, ns, bytes);
		return;
	}
	count_once(&fake.total[event], inner, skipped, ns, bytes);
	if (fake.owners[t->process] == OWNER_PROCESS)
		count_once(&fake.did[t->process][event], inner, skipped, ns, bytes);
}

static bool in_use(uint32_t tid)
{
	for (int i = 0; i < LIVING; i++)
		if (fake.threads[i].tid == tid && !fake.threads[i].ended)
			return true;
	return false;
}

/* A thread ends. Its end is told now, or when another one takes its place; by then its number may be somebody else's.
 */
static void end_thread(void)
{
	struct thread *t = &fake.threads[below(LIVING)];

	if (t->ended || fake.owners[t->process] == OWNER_UNKNOWN)
		return;
	t->ended = ++fake.now;
	t->told = below(2);
	if (t->told)
		assert_int_equal(tally_end_thread(&fake.book, t->tid, t->ended), 0);
}

static void begin_thread(void)
{
	struct thread *t = &fake.threads[below(LIVING)];
	uint32_t tid = 100 + (uint32_t)below(TIDS);

	if (!t->ended || in_use(tid))
		return;
	if (!t->told)
		assert_int_equal(tally_end_thread(&fake.book, t->tid, t->ended), 0);
	*t = (struct thread){ .process = (uint32_t)below(PROCESSES), .tid = tid, .born = ++fake.now };
}

static void merge(struct monitor_amounts *to, const struct monitor_amounts *from)
{
	if (from->timed && (!to->timed || from->min < to->min))
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	to->calls += from->calls;
	to->timed += from->timed;
	to->ns += from->ns;
	to->sized += from->sized;
	to->bytes += from->bytes;
	to->inner += from->inner;
	to->inner_ns += from->inner_ns;
	to->skipped += from->skipped;
	for (int i = 0; i < MONITOR_BUCKETS; i++) {
		to->duration[i] += from->duration[i];
		to->size[i] += from->size[i];
	}
}

/* A process is looked at: it is kept apart, or counts in the totals. */
static void look_at_process(void)
{
	uint32_t process = (uint32_t)below(PROCESSES);

	if (fake.owners[process] != OWNER_UNKNOWN)
		return;
	fake.owners[process] = below(2) ? OWNER_PROCESS : OWNER_CROWD;
	fake.cost += fake.pending_cost[process];
	for (int i = 0; i < EVENTS; i++) {
		merge(&fake.total[i], &fake.pending[process][i]);
		if (fake.owners[process] == OWNER_PROCESS)
			merge(&fake.did[process][i], &fake.pending[process][i]);
	}
}

/* --- what comes out --------------------------------------------------------- */

static void compare_process(uint32_t process)
{
	struct monitor_process_event events[EVENTS];
	size_t count = tallied_events(&fake.processes[process], fake.book.reading, events), expected = 0;

	for (int i = 0; i < EVENTS; i++)
		expected += fake.did[process][i].calls || fake.did[process][i].inner;
	assert_int_equal(count, expected);
	for (size_t i = 0; i < count; i++)
		assert_memory_equal(&events[i].amounts, &fake.did[process][events[i].event], sizeof(events[i].amounts));
}

static void compare_totals(void)
{
	assert_int_equal(fake.book.nevents, EVENTS);
	for (size_t i = 0; i < EVENTS; i++) {
		const struct figure *total = &fake.book.events[i].total;

		assert_memory_equal(total->reading == fake.book.reading ? &total->all : &total->ended, &fake.total[i],
				    sizeof(fake.total[i]));
	}
}

static void read_and_compare(void)
{
	assert_int_equal(tally_read(&fake.book, false, NULL), 0);
	for (uint32_t i = 0; i < PROCESSES; i++)
		if (fake.owners[i] == OWNER_PROCESS)
			compare_process(i);
	compare_totals();
	assert_int_equal(fake.book.cost, fake.cost);
	assert_int_equal(fake.book.entries, fake.nentries);
	for (size_t i = 0; i < fake.nentries; i++) /* what has been told to have ended is gone */
		for (int j = 0; j < LIVING; j++)
			assert_false(fake.threads[j].told && fake.entries[i].place.tid == fake.threads[j].tid &&
				     fake.entries[i].place.born == fake.threads[j].born);
}

static void define_fake(void)
{
	static const char *const names[] = { "GASP_A", "GASP_A", "GASP_B", "GASP_C", "GASP_D" };

	free(fake.entries);
	memset(&fake, 0, sizeof(fake));
	fake.model.name = (char *)"test";
	for (int i = 0; i < SITES_HERE; i++) {
		fake.functions[i] = (struct function){ .event = (char *)names[i], .model = &fake.model };
		fake.sites[i] = (struct site){ .id = i,
					       .function = &fake.functions[i],
					       .nfunctions = 1,
					       .captures = &fake.capture,
					       .no_span = i == SITES_HERE - 1 };
	}
	fake.plan.sites = fake.sites;
	fake.plan.nsites = SITES_HERE;
	fake.book.plan = &fake.plan;
	fake.book.owner = owner_of;
	for (int i = 0; i < PROCESSES; i++)
		fake.owners[i] = i % 3 == 0 ? OWNER_UNKNOWN : i % 3 == 1 ? OWNER_PROCESS : OWNER_NOBODY;
	for (int i = 0; i < LIVING; i++)
		fake.threads[i] = (struct thread){ .process = i % PROCESSES, .tid = 50 + i, .born = ++fake.now };
	assert_int_equal(tally_define(&fake.book), 0);
}

static void free_fake(void)
{
	for (int i = 0; i < PROCESSES; i++)
		tally_free_process(&fake.processes[i]);
	tally_free(&fake.book);
	free(fake.entries);
	fake.entries = NULL;
}

/* --- cases ------------------------------------------------------------------- */

static void what_threads_did_is_counted_once(void **state)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		random_state = 0x9e3779b97f4a7c15u * seed;
		define_fake();
		for (int step = 0; step < STEPS; step++) {
			switch (below(20)) {
			case 0:
				end_thread();
				break;
			case 1:
				begin_thread();
				break;
			case 2:
				read_and_compare();
				break;
			case 3:
				if (!below(10))
					look_at_process();
				break;
			default:
				make_call();
			}
		}
		read_and_compare();
		assert_true(fake.forgotten > 50);
		free_fake();
	}
}

/* A process that is chosen no more, and all when sites get other meanings: what it did stays in the totals, and counts
 * no second time. */
static void what_is_folded_stays_in_the_totals(void **state)
{
	random_state = 0x9e3779b97f4a7c15u;
	define_fake();
	for (int step = 0; step < STEPS; step++) {
		make_call();
		if (step % 500 == 250) {
			fake.book.fold_pid = PID(1);
			read_and_compare();
			fake.book.fold_pid = 0;
			for (size_t i = 0; i < fake.nentries; i++)
				assert_int_not_equal(fake.entries[i].sum.pid, PID(1));
		} else if (step % 500 == 499) {
			fake.book.fold_all = true;
			read_and_compare();
			fake.book.fold_all = false;
			assert_int_equal(fake.nentries, 0);
		}
	}
	read_and_compare();
	free_fake();
}

/* Whose end nobody told is looked for; who lives stays. */
static void who_is_gone_is_swept(void **state)
{
	const uint32_t tids[] = { 100, (uint32_t)syscall(SYS_gettid) };
	struct entry entries[2];

	define_fake();
	for (int i = 0; i < 2; i++)
		entries[i] = (struct entry){ .place = { 5, tids[i], 0 },
					     .sum = { .pid = i ? (uint32_t)getpid() : PID(1), .lost = 3 } };
	fake.entries = malloc(sizeof(entries));
	memcpy(fake.entries, entries, sizeof(entries));
	fake.nentries = fake.room = 2;
	tally_sweep(&fake.book, NULL);
	assert_int_equal(tally_read(&fake.book, false, NULL), 0);
	assert_int_equal(fake.nentries, 1);
	assert_int_equal(fake.entries[0].place.tid, tids[1]);
	assert_int_equal(fake.book.events[0].total.all.calls, 6);
	assert_int_equal(fake.book.events[0].total.ended.calls, 3);
	/* Somebody new has the number meanwhile. */
	fake.entries[0].place = (struct gb_sum_place){ 5, 100, 0 };
	fake.entries[0].sum.pid = PID(1);
	tally_sweep(&fake.book, NULL);
	fake.entries[0].place.born = UINT64_MAX / 2;
	assert_int_equal(tally_read(&fake.book, false, NULL), 0);
	assert_int_equal(fake.nentries, 1);
	free_fake();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_threads_did_is_counted_once),
		cmocka_unit_test(what_is_folded_stays_in_the_totals),
		cmocka_unit_test(who_is_gone_is_swept),
	};

	return cmocka_run_group_tests_name("tally", tests, NULL, NULL);
}
