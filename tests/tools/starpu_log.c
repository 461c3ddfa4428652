/* SPDX-License-Identifier: BSD-2-Clause */
/* A tool for StarPU's profiling interface that writes down what each callback says of itself. */
#include <stdio.h>
#include <starpu_profiling_tool.h>

static void on_event(struct starpu_prof_tool_info *info, union starpu_prof_tool_event_info *event,
		     struct starpu_prof_tool_api_info *api)
{
	printf("%d %d worker=%d device=%d driver=%d starpu=%u.%u\n", event->event_type, info->event_type,
	       info->worker_id, info->device_number, info->driver_type, info->starpu_version[0],
	       info->starpu_version[1]);
}

void starpu_prof_tool_library_register(starpu_prof_tool_entry_register_func reg,
				       starpu_prof_tool_entry_register_func unreg)
{
	for (int e = starpu_prof_tool_event_init; e <= starpu_prof_tool_event_user_end; e++)
		reg((enum starpu_prof_tool_event)e, on_event, starpu_prof_tool_command_reg);
}
