/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counter_listener.c - the example of StarPU's performance monitoring interface (hal-03868526, section 6.2): listens
 * to two counters of each worker.
 *
 *     cc -Iinclude/starpu-perf -o counter_listener examples/tools/counter_listener.c -Lbuild/libgaspbpf-starpu-perf \
 *         -lgaspbpf-starpu-perf
 *     GASPBPF_SOURCE=run.gasp ./counter_listener     a recording
 *     GASPBPF_SOURCE=pid:1234 ./counter_listener     a running job, as root
 *
 * The steps are those of the document; what it leaves to the reader is the end.
 */
#include <inttypes.h>
#include <starpu.h>
#include <stdio.h>

static int id_w_total_executed, id_w_cumul_execution_time;

/* Step 4 */
static void w_listener_cb(struct starpu_perf_counter_listener *listener, struct starpu_perf_counter_sample *sample,
			  void *context)
{
	int64_t total_executed = starpu_perf_counter_sample_get_int64_value(sample, id_w_total_executed);
	double cumul_execution_time = starpu_perf_counter_sample_get_double_value(sample, id_w_cumul_execution_time);

	(void)listener;
	(void)context;
	printf("worker %d: %" PRId64 " tasks in %.3f us\n", gaspbpf_starpu_sample_worker(sample), total_executed,
	       cumul_execution_time);
}

int main(void)
{
	/* Step 0 */
	int ret = starpu_init(NULL);

	if (ret != 0)
		return 77;

	/* Step 1 */
	enum starpu_perf_counter_scope w_scope = starpu_perf_counter_scope_per_worker;
	struct starpu_perf_counter_set *w_set = starpu_perf_counter_set_alloc(w_scope);

	/* Step 2 */
	id_w_total_executed = starpu_perf_counter_name_to_id(w_scope, "starpu.task.w_total_executed");
	id_w_cumul_execution_time = starpu_perf_counter_name_to_id(w_scope, "starpu.task.w_cumul_execution_time");

	/* Step 3 */
	starpu_perf_counter_set_enable_id(w_set, id_w_total_executed);
	starpu_perf_counter_set_enable_id(w_set, id_w_cumul_execution_time);

	/* Step 5 */
	struct starpu_perf_counter_listener *w_listener = starpu_perf_counter_listener_init(w_set, w_listener_cb, NULL);

	/* Step 6 */
	starpu_perf_counter_set_all_per_worker_listeners(w_listener);

	/* With a source elsewhere there are no tasks of this program: it waits until all that happens there has been
	 * told. */
	starpu_task_wait_for_all();

	starpu_perf_counter_unset_all_per_worker_listeners();
	starpu_perf_counter_listener_exit(w_listener);
	starpu_perf_counter_set_free(w_set);
	starpu_shutdown();
	return 0;
}
