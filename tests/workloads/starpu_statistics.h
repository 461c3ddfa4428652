/* SPDX-License-Identifier: BSD-2-Clause */
/* StarPU's own statistics as JSON, for the job and for the counting library alike. Reading them sets them to zero. */
#ifndef WORKLOADS_STARPU_STATISTICS_H
#define WORKLOADS_STARPU_STATISTICS_H

#include <starpu.h>
#include <starpu_profiling.h>
#include <stdio.h>

static int starpu_workers_json(char *text, size_t size)
{
	int at = snprintf(text, size, ",\n \"workers\":[");

	for (unsigned i = 0; i < starpu_worker_get_count(); i++) {
		struct starpu_profiling_worker_info info;
		char name[64];

		starpu_worker_get_name(i, name, sizeof(name));
		if (starpu_profiling_worker_get_info(i, &info))
			info.executed_tasks = -1;
		at += snprintf(text + at, size - at,
			       "%s\n  {\"id\":%u,\"name\":\"%s\",\"type\":\"%s\",\"executed\":%d}", i ? "," : "", i,
			       name, starpu_worker_get_type_as_string(starpu_worker_get_type(i)), info.executed_tasks);
	}
	return at + snprintf(text + at, size - at, "]");
}

static int starpu_transfers_json(char *text, size_t size)
{
	int at = snprintf(text, size, ",\n \"transfers\":[");

	for (int bus = 0; bus < starpu_bus_get_count(); bus++) {
		struct starpu_profiling_bus_info info;

		starpu_bus_get_profiling_info(bus, &info);
		at += snprintf(text + at, size - at, "%s\n  {\"from\":%d,\"to\":%d,\"count\":%d,\"bytes\":%lld}",
			       bus ? "," : "", starpu_bus_get_src(bus), starpu_bus_get_dst(bus), info.transfer_count,
			       info.transferred_bytes);
	}
	return at + snprintf(text + at, size - at, "]");
}

#endif
