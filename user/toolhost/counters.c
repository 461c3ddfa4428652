/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counters.c - tools that are told task counters (include/gaspbpf/counter_tool.h).
 */
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>

#include "analysis/counters.h"
#include "gaspbpf/counter_tool.h"
#include "toolhost/host.h"

struct counter_tool {
	struct counters *counters;
	void (*tell)(const struct gaspbpf_counters *counters);
	void (*pause)(void);
};

static void *counters_open(struct host *h, void *library)
{
	void *tell = dlsym(library, "gaspbpf_tool_counters");
	struct counter_tool *tool;

	if (!tell)
		return NULL;
	tool = calloc(1, sizeof(*tool));
	if (tool)
		tool->counters = counters_new(&h->d);
	if (!tool || !tool->counters)
		host_fail(h, "out of memory");
	tool->tell = (void (*)(const struct gaspbpf_counters *))tell;
	tool->pause = (void (*)(void))dlsym(library, "gaspbpf_tool_counters_pause");
	return tool;
}

static void tell_row(struct host *h, const struct counter_row *row)
{
	const struct counter_tool *tool = h->state;
	bool internal = counters_know_internal(row), peaks = counters_know_peaks(tool->counters, row);
	struct gaspbpf_counters c = {
		.scope = row->scope,
		.pid = row->process < h->d.nprocesses ? h->d.processes[row->process].pid : 0,
		.worker = row->worker,
		.kind = row->kind,
		.name = row->name,
		.model = row->model,
		.executed = row->executed,
		.busy_ns = row->busy,
		.submitted = internal ? row->submitted : UINT64_MAX,
		.internal = internal ? row->internal : UINT64_MAX,
		.peak_submitted = peaks ? row->peak_submitted : UINT64_MAX,
		.peak_ready = peaks ? row->peak_ready : UINT64_MAX,
	};

	host_enter(h, HOST_NOTIFY);
	tool->tell(&c);
	host_return(h);
}

static void counters_event_tell(struct host *h, struct host_thread *t)
{
	const struct counter_tool *tool = h->state;
	const struct counter_row *rows[COUNTER_SCOPES];
	struct pollfd more = { .fd = HOST_FRAMES, .events = POLLIN };
	size_t count;

	if (counters_event(tool->counters, &h->d, &h->event))
		host_fail(h, "out of memory");
	count = counters_changed(tool->counters, rows);
	for (size_t i = 0; i < count; i++)
		tell_row(h, rows[i]);
	if (count && tool->pause && poll(&more, 1, 0) == 0) {
		host_enter(h, HOST_NOTIFY);
		tool->pause();
		host_return(h);
	}
}

const struct tool_kind tool_kind_counters = { "counters", counters_open, counters_event_tell, NULL, NULL };
