/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * starpu_tool.c - a tool for StarPU's profiling interface: which worker ran which function how often, and what was
 * transferred.
 *
 *     cc -shared -fPIC -Iinclude -o libstarpu_tool.so examples/tools/starpu_tool.c
 *     gaspbpf -p PID --starpu-tool ./libstarpu_tool.so           on a running job
 *     gaspbpf replay run.gasp --starpu-tool ./libstarpu_tool.so  later
 *     STARPU_PROF_TOOL=./libstarpu_tool.so ./job                 the same library, where StarPU itself has the
 *                                                                interface
 *
 * It prints one line for each worker and function, one for each memory node, and one for each of StarPU's events with
 * its count.
 */
#include <pthread.h>
#include <stdio.h>
#include <starpu_profiling_tool.h>

#define WORKERS 256
#define FUNCTIONS 64
#define NODES 64
#define EVENTS (starpu_prof_tool_event_user_end + 1)

static const char *const names[EVENTS] = {
	"none",         "init",           "terminate",         "init_begin",      "init_end",
	"driver_init",  "driver_deinit",  "driver_init_start", "driver_init_end", "start_cpu_exec",
	"end_cpu_exec", "start_gpu_exec", "end_gpu_exec",      "start_transfer",  "end_transfer",
	"user_start",   "user_end",
};

struct function {
	void *pointer;
	char name[128];
	unsigned long runs[WORKERS];
};

static struct function functions[FUNCTIONS];
static unsigned long counts[EVENTS];
static unsigned long long moved[NODES];
static int unpaired;                       /* ends without their start */
static int running[WORKERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* StarPU calls from its workers' threads */

static struct function *find_function(void *pointer)
{
	int i = 0;

	while (i < FUNCTIONS - 1 && functions[i].pointer && functions[i].pointer != pointer)
		i++;
	if (!functions[i].pointer) {
		const char *name = gaspbpf_function_name ? gaspbpf_function_name(pointer) : NULL;

		functions[i].pointer = pointer;
		if (name)
			snprintf(functions[i].name, sizeof(functions[i].name), "%s", name);
		else
			snprintf(functions[i].name, sizeof(functions[i].name), "%p", pointer);
	}
	return &functions[i];
}

static void on_event(struct starpu_prof_tool_info *info, union starpu_prof_tool_event_info *event,
		     struct starpu_prof_tool_api_info *api)
{
	unsigned worker = (unsigned)info->worker_id % WORKERS;

	(void)api;
	pthread_mutex_lock(&lock);
	counts[event->event_type]++;
	switch (event->event_type) {
	case starpu_prof_tool_event_start_cpu_exec:
	case starpu_prof_tool_event_start_gpu_exec:
		running[worker]++;
		find_function(info->fun_ptr)->runs[worker]++;
		break;
	case starpu_prof_tool_event_end_cpu_exec:
	case starpu_prof_tool_event_end_gpu_exec:
		unpaired += --running[worker] < 0;
		break;
	case starpu_prof_tool_event_end_transfer:
		moved[info->memnode % NODES] += info->bytes_transferred;
		break;
	default:
		break;
	}
	pthread_mutex_unlock(&lock);
}

__attribute__((destructor)) static void print(void)
{
	for (int i = 0; i < FUNCTIONS && functions[i].pointer; i++)
		for (int w = 0; w < WORKERS; w++)
			if (functions[i].runs[w])
				printf("worker %d ran %s %lu times\n", w, functions[i].name, functions[i].runs[w]);
	for (int n = 0; n < NODES; n++)
		if (moved[n])
			printf("node %d received %llu bytes\n", n, moved[n]);
	for (int e = 1; e < (int)EVENTS; e++)
		if (counts[e])
			printf("event %s %lu\n", names[e], counts[e]);
	if (unpaired)
		printf("%d ends without a start\n", unpaired);
}

void starpu_prof_tool_library_register(starpu_prof_tool_entry_register_func reg,
				       starpu_prof_tool_entry_register_func unreg)
{
	(void)unreg;
	for (int e = starpu_prof_tool_event_init; e < (int)EVENTS; e++)
		reg((enum starpu_prof_tool_event)e, on_event, starpu_prof_tool_command_reg);
}
