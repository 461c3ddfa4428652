/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf.c - StarPU's performance monitoring (hal-03868526, section 5.3): scopes, types, counters, sets, listeners,
 * samples.
 *
 * All of a listener's life and all samples are under one lock. A sample is the listener's own while its callback runs;
 * a callback may set and unset listeners, its own too, but what it frees lives on until it returns.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "starpu_perf_monitoring.h"

#define WORKERS 1024
#define CODELETS 1024

struct starpu_conf;
EXPORTED int starpu_init(struct starpu_conf *conf);
EXPORTED int starpu_task_wait_for_all(void);
EXPORTED void starpu_shutdown(void);

/* --- counters ---------------------------------------------------------------------------- */

enum what { SUBMITTED, PEAK_SUBMITTED, PEAK_READY, EXECUTED, EXECUTION_TIME, WHATS };

struct counter {
	int id;
	enum starpu_perf_counter_scope scope;
	enum starpu_perf_counter_type type;
	enum what what;
	const char *name, *help;
};

#define GLOBAL starpu_perf_counter_scope_global
#define WORKER starpu_perf_counter_scope_per_worker
#define CODELET starpu_perf_counter_scope_per_codelet
#define INT64 starpu_perf_counter_type_int64
#define DOUBLE starpu_perf_counter_type_double

/* Section 5.5. */
static const struct counter counters[] = {
	{ 0x20, GLOBAL, INT64, SUBMITTED, "starpu.task.g_total_submitted", "number of tasks submitted" },
	{ 0x21, GLOBAL, INT64, PEAK_SUBMITTED, "starpu.task.g_peak_submitted",
	  "most tasks at a time submitted and waiting for their dependencies" },
	{ 0x22, GLOBAL, INT64, PEAK_READY, "starpu.task.g_peak_ready",
	  "most tasks at a time ready and waiting for a worker" },
	{ 0x40, WORKER, INT64, EXECUTED, "starpu.task.w_total_executed", "number of tasks executed by the worker" },
	{ 0x41, WORKER, DOUBLE, EXECUTION_TIME, "starpu.task.w_cumul_execution_time",
	  "execution time of the worker's tasks, in us" },
	{ 0x60, CODELET, INT64, SUBMITTED, "starpu.task.c_total_submitted", "number of the codelet's tasks submitted" },
	{ 0x61, CODELET, INT64, PEAK_SUBMITTED, "starpu.task.c_peak_submitted",
	  "most of the codelet's tasks at a time waiting for their dependencies" },
	{ 0x62, CODELET, INT64, PEAK_READY, "starpu.task.c_peak_ready",
	  "most of the codelet's tasks at a time waiting for a worker" },
	{ 0x63, CODELET, INT64, EXECUTED, "starpu.task.c_total_executed", "number of the codelet's tasks executed" },
	{ 0x64, CODELET, DOUBLE, EXECUTION_TIME, "starpu.task.c_cumul_execution_time",
	  "execution time of the codelet's tasks, in us" },
};
#define COUNTERS ((int)(sizeof(counters) / sizeof(counters[0])))

static const struct {
	int id;
	const char *name;
} scopes[] = { { GLOBAL, "global" }, { WORKER, "per_worker" }, { CODELET, "per_codelet" } },
  types[] = { { starpu_perf_counter_type_int32, "int32" },
	      { INT64, "int64" },
	      { starpu_perf_counter_type_float, "float" },
	      { DOUBLE, "double" } };

/* A mistake of the program (section 5.4.4): as StarPU does, it ends there. */
static void __attribute__((format(printf, 1, 2), noreturn)) mistake(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("libgaspbpf-starpu-perf: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	abort();
}

static const struct counter *counter_by_id(int id)
{
	for (int i = 0; i < COUNTERS; i++)
		if (counters[i].id == id)
			return &counters[i];
	return NULL;
}

EXPORTED int starpu_perf_counter_scope_name_to_id(const char *name)
{
	for (size_t i = 0; name && i < sizeof(scopes) / sizeof(scopes[0]); i++)
		if (!strcmp(scopes[i].name, name))
			return scopes[i].id;
	return starpu_perf_counter_scope_undefined;
}

EXPORTED const char *starpu_perf_counter_scope_id_to_name(enum starpu_perf_counter_scope scope)
{
	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++)
		if (scopes[i].id == (int)scope)
			return scopes[i].name;
	return NULL;
}

EXPORTED int starpu_perf_counter_type_name_to_id(const char *name)
{
	for (size_t i = 0; name && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, name))
			return types[i].id;
	return starpu_perf_counter_type_undefined;
}

EXPORTED const char *starpu_perf_counter_type_id_to_name(enum starpu_perf_counter_type type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].id == (int)type)
			return types[i].name;
	return NULL;
}

EXPORTED int starpu_perf_counter_nb(enum starpu_perf_counter_scope scope)
{
	int count = 0;

	for (int i = 0; i < COUNTERS; i++)
		count += counters[i].scope == scope;
	return count;
}

EXPORTED int starpu_perf_counter_name_to_id(enum starpu_perf_counter_scope scope, const char *name)
{
	for (int i = 0; name && i < COUNTERS; i++)
		if (counters[i].scope == scope && !strcmp(counters[i].name, name))
			return counters[i].id;
	return -1;
}

EXPORTED int starpu_perf_counter_nth_to_id(enum starpu_perf_counter_scope scope, int nth)
{
	for (int i = 0; nth >= 0 && i < COUNTERS; i++)
		if (counters[i].scope == scope && !nth--)
			return counters[i].id;
	return -1;
}

EXPORTED const char *starpu_perf_counter_id_to_name(int id)
{
	const struct counter *counter = counter_by_id(id);

	return counter ? counter->name : NULL;
}

EXPORTED int starpu_perf_counter_get_type_id(int id)
{
	const struct counter *counter = counter_by_id(id);

	return counter ? (int)counter->type : (int)starpu_perf_counter_type_undefined;
}

EXPORTED const char *starpu_perf_counter_get_help_string(int id)
{
	const struct counter *counter = counter_by_id(id);

	return counter ? counter->help : NULL;
}

EXPORTED void starpu_perf_counter_list_avail(enum starpu_perf_counter_scope scope)
{
	for (int i = 0; i < COUNTERS; i++)
		if (counters[i].scope == scope)
			printf("0x%02x: %s [%s] - %s\n", counters[i].id, counters[i].name,
			       starpu_perf_counter_type_id_to_name(counters[i].type), counters[i].help);
}

EXPORTED void starpu_perf_counter_list_all_avail(void)
{
	for (size_t i = 0; i < sizeof(scopes) / sizeof(scopes[0]); i++) {
		printf("scope %s:\n", scopes[i].name);
		starpu_perf_counter_list_avail(scopes[i].id);
	}
}

/* --- sets ---------------------------------------------------------------------------------- */

struct starpu_perf_counter_set {
	enum starpu_perf_counter_scope scope;
	bool enabled[WHATS];
};

EXPORTED struct starpu_perf_counter_set *starpu_perf_counter_set_alloc(enum starpu_perf_counter_scope scope)
{
	struct starpu_perf_counter_set *set;

	if (!starpu_perf_counter_scope_id_to_name(scope))
		mistake("starpu_perf_counter_set_alloc(%d): there is no such scope", (int)scope);
	set = calloc(1, sizeof(*set));
	if (!set)
		mistake("out of memory");
	set->scope = scope;
	return set;
}

EXPORTED void starpu_perf_counter_set_free(struct starpu_perf_counter_set *set)
{
	free(set);
}

static void enable(struct starpu_perf_counter_set *set, int id, bool on, const char *function)
{
	const struct counter *counter = counter_by_id(id);

	if (!counter)
		mistake("%s: there is no counter with the id %d", function, id);
	if (counter->scope != set->scope)
		mistake("%s: %s is not a counter of the set's scope, %s", function, counter->name,
			starpu_perf_counter_scope_id_to_name(set->scope));
	set->enabled[counter->what] = on;
}

EXPORTED void starpu_perf_counter_set_enable_id(struct starpu_perf_counter_set *set, int id)
{
	enable(set, id, true, __func__);
}

EXPORTED void starpu_perf_counter_set_disable_id(struct starpu_perf_counter_set *set, int id)
{
	enable(set, id, false, __func__);
}

/* --- listeners ----------------------------------------------------------------------------- */

typedef void (*callback_fn)(struct starpu_perf_counter_listener *, struct starpu_perf_counter_sample *, void *);

struct starpu_perf_counter_listener {
	struct starpu_perf_counter_set set; /* as it was when the listener was made */
	callback_fn callback;
	void *argument;
	unsigned users; /* places where it is set, the program's own hold, and a callback that runs */
};

struct codelet {
	const struct starpu_codelet *address; /* of the job, if this is it; or one that gaspbpf_starpu_codelet() made */
	char *name;                           /* of the latter */
	struct starpu_perf_counter_listener *listener;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct starpu_perf_counter_listener *global, *workers[WORKERS];
static struct starpu_perf_counter_listener *everybody; /* of all workers, those too whose numbers are not known */
static struct codelet codelets[CODELETS];
static size_t ncodelets;

/* What came, for what is said at the end. With the lock. */
static struct {
	uint64_t tasks;      /* samples of any scope */
	uint64_t codelets;   /* of a codelet */
	uint64_t nobody;     /* of a worker without a known number, for whom nobody listened */
	bool unknown[WHATS]; /* said */
} came;

/* All with the lock. */
static void let_go(struct starpu_perf_counter_listener *listener)
{
	if (listener && !--listener->users)
		free(listener);
}

static void put(struct starpu_perf_counter_listener **place, struct starpu_perf_counter_listener *listener)
{
	struct starpu_perf_counter_listener *before = *place;

	if (listener)
		listener->users++;
	*place = listener;
	let_go(before);
}

static void check_scope(const struct starpu_perf_counter_listener *listener, enum starpu_perf_counter_scope scope,
			const char *function)
{
	if (!listener)
		mistake("%s: no listener", function);
	if (listener->set.scope != scope)
		mistake("%s: the listener's set has the scope %s", function,
			starpu_perf_counter_scope_id_to_name(listener->set.scope));
}

EXPORTED struct starpu_perf_counter_listener *starpu_perf_counter_listener_init(struct starpu_perf_counter_set *set,
										callback_fn callback, void *user_arg)
{
	struct starpu_perf_counter_listener *listener = calloc(1, sizeof(*listener));

	if (!listener)
		mistake("out of memory");
	if (!set || !callback)
		mistake("starpu_perf_counter_listener_init: a set and a callback are needed");
	*listener = (struct starpu_perf_counter_listener){ *set, callback, user_arg, 1 };
	return listener;
}

EXPORTED void starpu_perf_counter_listener_exit(struct starpu_perf_counter_listener *listener)
{
	pthread_mutex_lock(&lock);
	let_go(listener);
	pthread_mutex_unlock(&lock);
}

EXPORTED void starpu_perf_counter_set_global_listener(struct starpu_perf_counter_listener *listener)
{
	check_scope(listener, GLOBAL, __func__);
	pthread_mutex_lock(&lock);
	put(&global, listener);
	pthread_mutex_unlock(&lock);
	feed_start();
}

EXPORTED void starpu_perf_counter_set_per_worker_listener(unsigned workerid,
							  struct starpu_perf_counter_listener *listener)
{
	check_scope(listener, WORKER, __func__);
	if (workerid >= WORKERS)
		mistake("%s: worker %u: there are at most %d", __func__, workerid, WORKERS);
	pthread_mutex_lock(&lock);
	put(&workers[workerid], listener);
	pthread_mutex_unlock(&lock);
	feed_start();
}

EXPORTED void starpu_perf_counter_set_all_per_worker_listeners(struct starpu_perf_counter_listener *listener)
{
	check_scope(listener, WORKER, __func__);
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < WORKERS; i++)
		put(&workers[i], listener);
	put(&everybody, listener);
	pthread_mutex_unlock(&lock);
	feed_start();
}

/* With the lock. */
static struct codelet *codelet_at(const struct starpu_codelet *address)
{
	for (size_t i = 0; i < ncodelets; i++)
		if (codelets[i].address == address)
			return &codelets[i];
	if (ncodelets == CODELETS)
		mistake("more than %d codelets", CODELETS);
	codelets[ncodelets].address = address;
	return &codelets[ncodelets++];
}

EXPORTED struct starpu_codelet *gaspbpf_starpu_codelet(const char *name)
{
	char *copy = strdup(name); /* its address stands for the codelet */
	struct codelet *codelet;

	if (!copy)
		mistake("out of memory");
	pthread_mutex_lock(&lock);
	codelet = codelet_at((const struct starpu_codelet *)copy);
	codelet->name = copy;
	pthread_mutex_unlock(&lock);
	return (struct starpu_codelet *)copy;
}

EXPORTED void starpu_perf_counter_set_per_codelet_listener(struct starpu_codelet *cl,
							   struct starpu_perf_counter_listener *listener)
{
	check_scope(listener, CODELET, __func__);
	pthread_mutex_lock(&lock);
	put(&codelet_at(cl)->listener, listener);
	pthread_mutex_unlock(&lock);
	feed_start();
}

/* A recording has no "before": it is told when somebody is about to listen no more. */
static void unset(struct starpu_perf_counter_listener **first, size_t count)
{
	const char *source = getenv("GASPBPF_SOURCE");

	if (source && *source && strncmp(source, "pid:", 4))
		feed_finish();
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < count; i++)
		put(&first[i], NULL);
	pthread_mutex_unlock(&lock);
}

EXPORTED void starpu_perf_counter_unset_global_listener(void)
{
	unset(&global, 1);
}

EXPORTED void starpu_perf_counter_unset_per_worker_listener(unsigned workerid)
{
	if (workerid < WORKERS)
		unset(&workers[workerid], 1);
}

EXPORTED void starpu_perf_counter_unset_all_per_worker_listeners(void)
{
	unset(workers, WORKERS);
	unset(&everybody, 1);
}

EXPORTED void starpu_perf_counter_unset_per_codelet_listener(struct starpu_codelet *cl)
{
	struct codelet *codelet;

	pthread_mutex_lock(&lock);
	codelet = codelet_at(cl);
	pthread_mutex_unlock(&lock);
	unset(&codelet->listener, 1);
}

/* --- samples ------------------------------------------------------------------------------- */

struct starpu_perf_counter_sample {
	const struct starpu_perf_counter_listener *listener;
	const struct row *row;
};

static const struct counter *check(const struct starpu_perf_counter_sample *sample, int id,
				   enum starpu_perf_counter_type type, const char *function)
{
	const struct counter *counter = counter_by_id(id);

	if (!counter)
		mistake("%s: there is no counter with the id %d", function, id);
	if (counter->scope != sample->listener->set.scope || !sample->listener->set.enabled[counter->what])
		mistake("%s: %s is not enabled in the listener's set", function, counter->name);
	if (counter->type != type)
		mistake("%s: %s is of type %s: use starpu_perf_counter_sample_get_%s_value()", function, counter->name,
			starpu_perf_counter_type_id_to_name(counter->type),
			starpu_perf_counter_type_id_to_name(counter->type));
	return counter;
}

EXPORTED int32_t starpu_perf_counter_sample_get_int32_value(struct starpu_perf_counter_sample *sample,
							    const int counter_id)
{
	check(sample, counter_id, starpu_perf_counter_type_int32, __func__);
	return 0; /* there is no such counter */
}

static int64_t value_of(const struct row *row, enum what what)
{
	switch (what) {
	case SUBMITTED:
		return row->submitted;
	case PEAK_SUBMITTED:
		return row->peak_submitted;
	case PEAK_READY:
		return row->peak_ready;
	default:
		return row->executed;
	}
}

EXPORTED int64_t starpu_perf_counter_sample_get_int64_value(struct starpu_perf_counter_sample *sample,
							    const int counter_id)
{
	const struct counter *counter = check(sample, counter_id, INT64, __func__);
	int64_t value = value_of(sample->row, counter->what);

	if (value < 0 && !came.unknown[counter->what]) {
		fprintf(stderr,
			"libgaspbpf-starpu-perf: %s is not known with the job's build of StarPU: it is given as -1\n",
			counter->name);
		came.unknown[counter->what] = true;
	}
	return value;
}

EXPORTED float starpu_perf_counter_sample_get_float_value(struct starpu_perf_counter_sample *sample,
							  const int counter_id)
{
	check(sample, counter_id, starpu_perf_counter_type_float, __func__);
	return 0; /* there is no such counter */
}

EXPORTED double starpu_perf_counter_sample_get_double_value(struct starpu_perf_counter_sample *sample,
							    const int counter_id)
{
	check(sample, counter_id, DOUBLE, __func__);
	return sample->row->busy;
}

EXPORTED int gaspbpf_starpu_sample_worker(const struct starpu_perf_counter_sample *sample)
{
	return sample->row->scope == WORKER ? (int)sample->row->worker : -1;
}

EXPORTED const char *gaspbpf_starpu_sample_codelet(const struct starpu_perf_counter_sample *sample)
{
	return sample->row->scope == CODELET ? sample->row->name : NULL;
}

/* With the lock. */
static struct starpu_perf_counter_listener *listener_of(const struct row *row)
{
	switch (row->scope) {
	case GLOBAL:
		return global;
	case WORKER:
		return row->worker < 0 ? everybody : row->worker < WORKERS ? workers[row->worker] : NULL;
	case CODELET:
		for (size_t i = 0; i < ncodelets; i++)
			if (codelets[i].name ? row->name && !strcmp(codelets[i].name, row->name)
					     : (uintptr_t)codelets[i].address == row->kind)
				return codelets[i].listener;
		return NULL;
	default:
		return NULL;
	}
}

/* With the lock. */
static bool one_worker_has_listener(void)
{
	for (unsigned i = 0; i < WORKERS; i++)
		if (workers[i])
			return true;
	return false;
}

void perf_row(const struct row *row)
{
	struct starpu_perf_counter_listener *listener;
	struct starpu_perf_counter_sample sample;

	pthread_mutex_lock(&lock);
	listener = listener_of(row);
	came.tasks++;
	came.codelets += row->scope == CODELET;
	came.nobody += row->scope == WORKER && row->worker < 0 && !listener && one_worker_has_listener();
	if (listener)
		listener->users++;
	pthread_mutex_unlock(&lock);
	if (!listener)
		return;
	sample = (struct starpu_perf_counter_sample){ listener, row };
	listener->callback(listener, &sample, listener->argument);
	pthread_mutex_lock(&lock);
	let_go(listener);
	pthread_mutex_unlock(&lock);
}

void perf_end(void)
{
	bool listens = false;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < ncodelets; i++)
		listens |= codelets[i].listener != NULL;
	if (came.nobody)
		fprintf(stderr,
			"libgaspbpf-starpu-perf: %llu samples of workers were given to nobody: the workers' numbers "
			"are not known with the job's build "
			"of StarPU; starpu_perf_counter_set_all_per_worker_listeners() gets them\n",
			(unsigned long long)came.nobody);
	if (listens && came.tasks && !came.codelets)
		fprintf(stderr,
			"libgaspbpf-starpu-perf: no listener of a codelet was told anything: which codelet a task "
			"has is not known with the job's "
			"build of StarPU\n");
	pthread_mutex_unlock(&lock);
}

/* --- StarPU's own functions ---------------------------------------------------------------- */

EXPORTED int starpu_init(struct starpu_conf *conf)
{
	int (*next)(struct starpu_conf *) = (int (*)(struct starpu_conf *))dlsym(RTLD_NEXT, "starpu_init");

	return next ? next(conf) : 0;
}

EXPORTED int starpu_task_wait_for_all(void)
{
	int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "starpu_task_wait_for_all");

	if (next)
		return next();
	feed_finish();
	return 0;
}

EXPORTED void starpu_shutdown(void)
{
	void (*next)(void) = (void (*)(void))dlsym(RTLD_NEXT, "starpu_shutdown");

	feed_finish();
	if (next)
		next();
}

/* A program that listens and never says that it is done. In gaspbpf's tool process nothing was ever set. */
__attribute__((destructor)) static void leave(void)
{
	if (global || ncodelets || one_worker_has_listener())
		feed_finish();
}
