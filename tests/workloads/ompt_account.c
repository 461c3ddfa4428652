/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An OpenMP tool (OMP_TOOL_LIBRARIES=libompt_account.so): what the runtime itself tells of regions, shares, loops and
 * waiting, by the interface that OpenMP has for that. At the end of the program it goes to the file OMPT_FILE:
 *     {"counts": {"regions","shares",...}, "threads": [{"tid","wait_ns","last_wait_ns","loop_ns"},...]}
 * wait_ns: in barriers, and behind shares until the next region; last_wait_ns: the last piece of it; loop_ns: in loops
 * with a static schedule, as each thread runs its share of them.
 */
#include <omp-tools.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MOST 64

enum count { REGIONS, SHARES, BARRIERS, LOOPS, CHOSEN, NOT_CHOSEN, CRITICALS, LOCKS, TASKS, COUNTS };
static const char *const names[COUNTS] = { "regions", "shares",	    "barriers", "loops", "chosen",
					   "not_chosen", "criticals", "locks",	  "tasks" };
static _Atomic uint64_t counts[COUNTS];

struct account {
	long tid;
	uint64_t wait_from, wait, last_wait, loop_from, loop; /* ns */
};
static struct account accounts[THREADS_MOST];
static atomic_int naccounts;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ul + t.tv_nsec;
}

static struct account *own(void)
{
	static __thread struct account *mine;
	int i;

	if (mine)
		return mine;
	i = naccounts++;
	if (i >= THREADS_MOST)
		abort();
	mine = &accounts[i];
	mine->tid = syscall(SYS_gettid);
	return mine;
}

static void on_region(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *data, unsigned wanted, int flags,
		      const void *caller)
{
	counts[REGIONS]++;
}

static void on_share(ompt_scope_endpoint_t end, ompt_data_t *data, ompt_data_t *task, unsigned size, unsigned number,
		     int flags)
{
	if (end == ompt_scope_begin && !(flags & ompt_task_initial))
		counts[SHARES]++;
}

/* Of each barrier that the program can see; those at the ends of regions are of all their threads. */
static void on_barrier(ompt_sync_region_t kind, ompt_scope_endpoint_t end, ompt_data_t *data, ompt_data_t *task,
		       const void *caller)
{
	if (end == ompt_scope_begin)
		counts[BARRIERS]++;
}

static void on_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t end, ompt_data_t *data, ompt_data_t *task,
		    const void *caller)
{
	struct account *a = own();

	if (end == ompt_scope_begin) {
		a->wait_from = now();
		return;
	}
	a->last_wait = now() - a->wait_from;
	a->wait += a->last_wait;
}

static void on_work(ompt_work_t kind, ompt_scope_endpoint_t end, ompt_data_t *data, ompt_data_t *task, uint64_t count,
		    const void *caller)
{
	struct account *a = own();

	if (end == ompt_scope_begin)
		counts[LOOPS] += kind != ompt_work_single_executor && kind != ompt_work_single_other;
	if (end == ompt_scope_begin && kind == ompt_work_single_executor)
		counts[CHOSEN]++;
	if (end == ompt_scope_begin && kind == ompt_work_single_other)
		counts[NOT_CHOSEN]++;
	if (kind != ompt_work_loop)
		return;
	if (end == ompt_scope_begin)
		a->loop_from = now();
	else
		a->loop += now() - a->loop_from;
}

static void on_mutex(ompt_mutex_t kind, unsigned hint, unsigned how, ompt_wait_id_t id, const void *caller)
{
	counts[CRITICALS] += kind == ompt_mutex_critical;
	counts[LOCKS] += kind == ompt_mutex_lock || kind == ompt_mutex_nest_lock;
}

static void on_task(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *made, int flags, int depends,
		    const void *caller)
{
	counts[TASKS] += !!(flags & ompt_task_explicit);
}

static int begin(ompt_function_lookup_t look_up, int device, ompt_data_t *data)
{
	ompt_set_callback_t set = (ompt_set_callback_t)look_up("ompt_set_callback");

	return set(ompt_callback_parallel_begin, (ompt_callback_t)on_region) == ompt_set_always &&
	       set(ompt_callback_implicit_task, (ompt_callback_t)on_share) == ompt_set_always &&
	       set(ompt_callback_sync_region, (ompt_callback_t)on_barrier) == ompt_set_always &&
	       set(ompt_callback_sync_region_wait, (ompt_callback_t)on_wait) == ompt_set_always &&
	       set(ompt_callback_work, (ompt_callback_t)on_work) == ompt_set_always &&
	       set(ompt_callback_mutex_acquire, (ompt_callback_t)on_mutex) == ompt_set_always &&
	       set(ompt_callback_task_create, (ompt_callback_t)on_task) == ompt_set_always;
}

static void end(ompt_data_t *data)
{
	FILE *file = fopen(getenv("OMPT_FILE") ?: "ompt.json", "w");

	if (!file)
		abort();
	fprintf(file, "{\"counts\": {");
	for (int i = 0; i < COUNTS; i++)
		fprintf(file, "%s\"%s\": %lu", i ? ", " : "", names[i], counts[i]);
	fprintf(file, "}, \"threads\": [");
	for (int i = 0; i < naccounts; i++)
		fprintf(file, "%s{\"tid\": %ld, \"wait_ns\": %lu, \"last_wait_ns\": %lu, \"loop_ns\": %lu}",
			i ? ", " : "", accounts[i].tid, accounts[i].wait, accounts[i].last_wait, accounts[i].loop);
	fprintf(file, "]}\n");
	fclose(file);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime);

__attribute__((visibility("default"))) ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
	static ompt_start_tool_result_t tool = { begin, end, { 0 } };

	return &tool;
}
