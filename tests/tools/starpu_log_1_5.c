/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tool for StarPU's profiling interface, compiled with headers like those of StarPU 1.5: what a callback gets has two
 * members more, and they are texts, which it prints as they come.
 */
#include <stdio.h>
#include <string.h>

struct starpu_prof_tool_info {
	void *conf;
	int event_type;
	unsigned starpu_version[3];
	int thread_id, worker_id;
	const char *task_name, *model_name;
	int device_number, driver_type;
	unsigned memnode, bytes_to_transfer, bytes_transfered;
	void *fun_ptr;
};

typedef void (*callback)(struct starpu_prof_tool_info *, void *, void *);
typedef void (*registering)(int event, callback function, int command);

static void on_event(struct starpu_prof_tool_info *info, void *event, void *api)
{
	printf("%d worker=%d device=%d driver=%d starpu=%u.%u task=%s model=%s(%zu) function=%d\n", info->event_type,
	       info->worker_id, info->device_number, info->driver_type, info->starpu_version[0],
	       info->starpu_version[1], info->task_name, info->model_name, strlen(info->task_name),
	       info->fun_ptr != NULL);
}

void starpu_prof_tool_library_register(registering reg, registering unreg);
void starpu_prof_tool_library_register(registering reg, registering unreg)
{
	for (int e = 1; e <= 16; e++)
		reg(e, on_event, 0);
}
