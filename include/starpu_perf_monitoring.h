/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * starpu_perf_monitoring.h - StarPU's performance counters (hal-03868526, section 5), out of what gaspbpf observes.
 *
 * For StarPU builds that have no such counters (1.3), for running jobs and for recordings; link with
 * -lgaspbpf-starpu-perf. Where the counters come from is told by the environment variable GASPBPF_SOURCE
 * (docs/starpu.md):
 *
 *     GASPBPF_SOURCE=run.gasp     a recording
 *     GASPBPF_SOURCE=pid:1234     a running job
 *     (not set)                   the program itself, which uses StarPU
 *
 * With -I.../include/starpu-perf a program's own #include <starpu.h> brings this header too, as StarPU 1.4's does.
 */
#ifndef __STARPU_PERF_MONITORING_H__
#define __STARPU_PERF_MONITORING_H__

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Section 5.2.3. */
enum starpu_perf_counter_scope {
	starpu_perf_counter_scope_undefined = 0,
	starpu_perf_counter_scope_global = 2,
	starpu_perf_counter_scope_per_worker = 4,
	starpu_perf_counter_scope_per_codelet = 6
};

/* Section 5.2.2. */
enum starpu_perf_counter_type {
	starpu_perf_counter_type_undefined = 0,
	starpu_perf_counter_type_int32 = 1,
	starpu_perf_counter_type_int64 = 2,
	starpu_perf_counter_type_float = 3,
	starpu_perf_counter_type_double = 4
};

struct starpu_codelet;
struct starpu_perf_counter_listener;
struct starpu_perf_counter_sample;
struct starpu_perf_counter_set;

/* Scopes ("global", "per_worker", "per_codelet") and types ("int64", ...). An unknown name gives 0, an unknown id NULL.
 */
int starpu_perf_counter_scope_name_to_id(const char *name);
const char *starpu_perf_counter_scope_id_to_name(enum starpu_perf_counter_scope scope);
int starpu_perf_counter_type_name_to_id(const char *name);
const char *starpu_perf_counter_type_id_to_name(enum starpu_perf_counter_type type);

/* Counters. -1 where there is none. */
int starpu_perf_counter_nb(enum starpu_perf_counter_scope scope);
int starpu_perf_counter_name_to_id(enum starpu_perf_counter_scope scope, const char *name);
int starpu_perf_counter_nth_to_id(enum starpu_perf_counter_scope scope, int nth);
const char *starpu_perf_counter_id_to_name(int id);
int starpu_perf_counter_get_type_id(int id);
const char *starpu_perf_counter_get_help_string(int id);
void starpu_perf_counter_list_avail(enum starpu_perf_counter_scope scope);
void starpu_perf_counter_list_all_avail(void);

struct starpu_perf_counter_set *starpu_perf_counter_set_alloc(enum starpu_perf_counter_scope scope);
void starpu_perf_counter_set_free(struct starpu_perf_counter_set *set);
void starpu_perf_counter_set_enable_id(struct starpu_perf_counter_set *set, int id);
void starpu_perf_counter_set_disable_id(struct starpu_perf_counter_set *set, int id);

/* A listener is called, on a thread of the library's own, each time a counter of its scope has changed. */
struct starpu_perf_counter_listener *starpu_perf_counter_listener_init(
	struct starpu_perf_counter_set *set,
	void (*callback)(struct starpu_perf_counter_listener *listener, struct starpu_perf_counter_sample *sample,
			 void *context),
	void *user_arg);
void starpu_perf_counter_listener_exit(struct starpu_perf_counter_listener *listener);

void starpu_perf_counter_set_global_listener(struct starpu_perf_counter_listener *listener);
void starpu_perf_counter_set_per_worker_listener(unsigned workerid, struct starpu_perf_counter_listener *listener);
void starpu_perf_counter_set_all_per_worker_listeners(struct starpu_perf_counter_listener *listener);
void starpu_perf_counter_set_per_codelet_listener(struct starpu_codelet *cl,
						  struct starpu_perf_counter_listener *listener);
void starpu_perf_counter_unset_global_listener(void);
void starpu_perf_counter_unset_per_worker_listener(unsigned workerid);
void starpu_perf_counter_unset_all_per_worker_listeners(void);
void starpu_perf_counter_unset_per_codelet_listener(struct starpu_codelet *cl);

/* In a callback. A counter of another type, of another scope, or that is not enabled is a mistake of the program, which
 * ends with a message. */
int32_t starpu_perf_counter_sample_get_int32_value(struct starpu_perf_counter_sample *sample, const int counter_id);
int64_t starpu_perf_counter_sample_get_int64_value(struct starpu_perf_counter_sample *sample, const int counter_id);
float starpu_perf_counter_sample_get_float_value(struct starpu_perf_counter_sample *sample, const int counter_id);
double starpu_perf_counter_sample_get_double_value(struct starpu_perf_counter_sample *sample, const int counter_id);

/*
 * gaspbpf's own. What a sample is of: a worker's id, -1 where it is not one's, and below that where the id is not known
 * (-1 - its thread's number); a codelet's name, NULL where it has none or it is not one's. And a codelet of another
 * process, by its name, for starpu_perf_counter_set_per_codelet_listener().
 */
int gaspbpf_starpu_sample_worker(const struct starpu_perf_counter_sample *sample);
const char *gaspbpf_starpu_sample_codelet(const struct starpu_perf_counter_sample *sample);
struct starpu_codelet *gaspbpf_starpu_codelet(const char *name);

#ifdef __cplusplus
}
#endif

#endif
