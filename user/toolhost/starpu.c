/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * starpu.c - tools written to StarPU's profiling interface (hal-03868526): callbacks, registered for each of its
 * events.
 *
 * A START or END of the model's events is one or two of StarPU's. A transfer is two of ours: a call that may copy, and
 * in it the moment in which it is known that it does, and how much. So the tool hears of a transfer from that moment
 * until the call returns.
 *
 * What a callback gets has grown with StarPU 1.5, in its middle. A tool knows the struct of the headers that it was
 * compiled with, and nothing in a call says which that was. So it is told, by the user; else the library says which
 * StarPU it was linked with, or that gaspbpf's own header was its; else it is taken to be made for the StarPU of the
 * job, as inside a job it must be.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "starpu_profiling_tool.h"
#include "meaning/value.h"
#include "timeline/arguments.h"
#include "toolhost/host.h"

#define EVENTS (starpu_prof_tool_event_user_end + 1)
#define PREFIX "GASP_STARPU_"

/* The interface gives its functions no context. */
static starpu_prof_tool_cb_func callbacks[EVENTS];
static struct texts *texts;
static uint32_t current_process;
static uint64_t current_time;

/* As StarPU 1.5's headers have it. */
struct info_1_5 {
	struct starpu_conf *conf;
	enum starpu_prof_tool_event event_type;
	unsigned starpu_version[3];
	int thread_id, worker_id;
	const char *task_name, *model_name;
	int device_number;
	enum starpu_prof_tool_driver_type driver_type;
	unsigned memnode, bytes_to_transfer, bytes_transferred;
	void *fun_ptr;
};

/* Of the headers that the tool was compiled with. */
static enum { MADE_FOR_JOB, MADE_FOR_1_4, MADE_FOR_1_5 } made_for;

struct starpu_thread {
	int worker, device; /* as the thread's latest call that told it: -1: none did */
	enum starpu_prof_tool_driver_type driver;
	unsigned memnode, bytes; /* of the transfer in progress */
	bool transfers;
};

struct row {
	const char *event; /* without its GASP_STARPU_ */
	enum starpu_prof_tool_event start[2], end;
};

static const struct row rows[] = {
	{ "INIT", { starpu_prof_tool_event_init, starpu_prof_tool_event_init_begin }, starpu_prof_tool_event_init_end },
	{ "TERMINATE", { starpu_prof_tool_event_terminate }, 0 },
	{ "DRIVER_INIT",
	  { starpu_prof_tool_event_driver_init, starpu_prof_tool_event_driver_init_start },
	  starpu_prof_tool_event_driver_init_end },
	{ "DRIVER_DEINIT", { starpu_prof_tool_event_driver_deinit }, 0 },
	{ "CPU_EXEC", { starpu_prof_tool_event_start_cpu_exec }, starpu_prof_tool_event_end_cpu_exec },
	{ "GPU_EXEC", { starpu_prof_tool_event_start_gpu_exec }, starpu_prof_tool_event_end_gpu_exec },
};

static const struct row user_row = { NULL, { starpu_prof_tool_event_user_start }, starpu_prof_tool_event_user_end };

/* --- registering ---------------------------------------------------------------------- */

static void reg(enum starpu_prof_tool_event type, starpu_prof_tool_cb_func callback,
		enum starpu_prof_tool_command command)
{
	if ((unsigned)type < EVENTS && type != starpu_prof_tool_event_none)
		callbacks[type] = callback;
	else if (type != starpu_prof_tool_event_none)
		host_warn("the tool registers a callback for event %d, which the interface does not have", (int)type);
}

static void unreg(enum starpu_prof_tool_event type, starpu_prof_tool_cb_func callback,
		  enum starpu_prof_tool_command command)
{
	if ((unsigned)type < EVENTS && (!callback || callbacks[type] == callback))
		callbacks[type] = NULL;
}

/* "libstarpu-1.4.so.6": 1 and 4. */
static bool version_of(const char *soname, unsigned version[3])
{
	const char *at = soname ? strstr(soname, "starpu-") : NULL;

	return at && sscanf(at, "starpu-%9u.%9u", &version[0], &version[1]) == 2;
}

static bool is_1_5(const unsigned version[3])
{
	return version[0] > 1 || (version[0] == 1 && version[1] >= 5);
}

/* What the library itself says, by what it was linked with or compiled with. */
static void find_headers(struct host *h, void *library)
{
	struct link_map *map = NULL;
	const char *strings = NULL;
	unsigned version[3] = { 0 };

	if (h->starpu)
		made_for = !strcmp(h->starpu, "1.5") ? MADE_FOR_1_5 : MADE_FOR_1_4;
	else if (dlsym(library, "gaspbpf_starpu_info_of_1_4"))
		made_for = MADE_FOR_1_4;
	if (made_for != MADE_FOR_JOB || dlinfo(library, RTLD_DI_LINKMAP, &map) || !map)
		return;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
	for (const ElfW(Dyn) *d = map->l_ld; strings && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && version_of(strings + d->d_un.d_val, version))
			made_for = is_1_5(version) ? MADE_FOR_1_5 : MADE_FOR_1_4;
}

static void *starpu_open(struct host *h, void *library)
{
	starpu_prof_tool_entry_func entry = (starpu_prof_tool_entry_func)dlsym(library,
									       "starpu_prof_tool_library_register");

	if (!entry)
		return NULL;
	texts = texts_new(&h->d);
	if (!texts)
		host_fail(h, "out of memory");
	find_headers(h, library);
	host_enter(h, HOST_LOAD);
	entry(reg, unreg);
	host_return(h);
	return callbacks;
}

const char *gaspbpf_function_name(const void *fun_ptr)
{
	return texts ? texts_find(texts, current_process, (uint64_t)(uintptr_t)fun_ptr, current_time) : NULL;
}

/* --- telling ---------------------------------------------------------------------------- */

static struct starpu_thread *own_of(struct host *h, struct host_thread *t)
{
	struct starpu_thread *own = t->own;

	if (own)
		return own;
	own = calloc(1, sizeof(*own));
	if (!own)
		host_fail(h, "out of memory");
	own->worker = own->device = -1;
	return t->own = own;
}

/* "libstarpu-1.3.so.9" */
static void find_version(const struct host *h, unsigned version[3])
{
	const struct def_probe *probe = host_probe(h);
	const struct def_image *image = probe->image < h->d.nimages ? &h->d.images[probe->image] : NULL;

	version_of(image ? image->soname : NULL, version);
}

/* A name of the task: the first that is known, or the one of this field. "": none. Tools print it as it is. */
static const char *task_name(const struct host *h, const char *field)
{
	const struct def_probe *probe = host_probe(h);

	for (uint32_t i = 0; i < probe->nvalues; i++) {
		const struct value *v = &probe->values[i];
		const char *dot = strrchr(v->name, '.'), *text;
		struct value_reading r;

		if (v->meaning != MEANING_NAME || (field && (!dot || strcmp(dot + 1, field))))
			continue;
		r = value_read(v, h->span.words, h->span.nwords, h->span.unread, false);
		text = r.known && r.number ? texts_find(texts, current_process, (uint64_t)r.number, current_time)
					   : NULL;
		if (text)
			return text;
	}
	return "";
}

static struct info_1_5 as_1_5(const struct host *h, const struct starpu_prof_tool_info *info)
{
	struct info_1_5 later = {
		.conf = info->conf,
		.event_type = info->event_type,
		.thread_id = info->thread_id,
		.worker_id = info->worker_id,
		.task_name = task_name(h, NULL),
		.model_name = task_name(h, "model"),
		.device_number = info->device_number,
		.driver_type = info->driver_type,
		.memnode = info->memnode,
		.bytes_to_transfer = info->bytes_to_transfer,
		.bytes_transferred = info->bytes_transferred,
		.fun_ptr = info->fun_ptr,
	};

	memcpy(later.starpu_version, info->starpu_version, sizeof(later.starpu_version));
	return later;
}

static void call(struct host *h, struct starpu_prof_tool_info *info, enum starpu_prof_tool_event type)
{
	union starpu_prof_tool_event_info event = { .event_type = type };
	struct starpu_prof_tool_api_info api = {};
	struct info_1_5 later;

	if (type == starpu_prof_tool_event_none || !callbacks[type])
		return;
	info->event_type = type;
	if (made_for == MADE_FOR_1_5)
		later = as_1_5(h, info);
	host_enter(h, HOST_NOTIFY);
	callbacks[type](made_for == MADE_FOR_1_5 ? (struct starpu_prof_tool_info *)&later : info, &event, &api);
	host_return(h);
}

/* What the event says of itself; a worker's thread stays that worker's. */
static void fill(struct host *h, struct starpu_thread *own, struct starpu_prof_tool_info *info)
{
	struct argument arguments[ARGUMENTS_AT_MOST];
	size_t count = event_arguments(&h->d, &h->event, arguments, ARGUMENTS_AT_MOST);

	for (size_t i = 0; i < count && i < ARGUMENTS_AT_MOST; i++) {
		const struct argument *a = &arguments[i];

		if (!a->known)
			continue;
		if (!strcmp(a->name, "worker_id"))
			own->worker = (int)a->word;
		else if (!strcmp(a->name, "device_number"))
			own->device = (int)a->word;
		else if (!strcmp(a->name, "memnode"))
			info->memnode = (unsigned)a->word;
		else if (!strcmp(a->name, "bytes_to_transfer"))
			info->bytes_to_transfer = a->word > UINT32_MAX ? UINT32_MAX : (unsigned)a->word;
		else if (!strcmp(a->name, "fun_ptr"))
			info->fun_ptr = (void *)(uintptr_t)a->word;
	}
	info->worker_id = own->worker;
	info->device_number = own->device;
	info->driver_type = own->driver;
}

/* Some bytes are on their way: the call around them ends that, or, where it is not observed, nothing does. */
static void begin_transfer(struct host *h, struct starpu_thread *own, struct starpu_prof_tool_info *info)
{
	own->memnode = info->memnode;
	own->bytes = info->bytes_to_transfer;
	own->transfers = h->event.level > 0;
	call(h, info, starpu_prof_tool_event_start_transfer);
	if (own->transfers)
		return;
	info->bytes_transferred = info->bytes_to_transfer;
	call(h, info, starpu_prof_tool_event_end_transfer);
}

static void end_transfer(struct host *h, struct starpu_thread *own, struct starpu_prof_tool_info *info)
{
	if (!own->transfers)
		return;
	own->transfers = false;
	info->memnode = own->memnode;
	info->bytes_to_transfer = info->bytes_transferred = own->bytes;
	call(h, info, starpu_prof_tool_event_end_transfer);
}

static const struct row *row_of(const char *event)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].event, event))
			return &rows[i];
	return NULL;
}

static void tell_row(struct host *h, const struct row *row, struct starpu_prof_tool_info *info)
{
	if (h->event.type != EVENT_END) {
		call(h, info, row->start[0]);
		call(h, info, row->start[1]);
	}
	if (h->event.type != EVENT_START)
		call(h, info, row->end);
}

/* A device's driver has functions of its own, and device tasks are an event of their own. */
static void learn_driver(struct host *h, struct starpu_thread *own, const char *event)
{
	const char *symbol = host_probe(h)->symbol;

	if (!strncmp(event, "DRIVER_", 7) && symbol)
		own->driver = strstr(symbol, "_cpu_") ? starpu_prof_tool_driver_cpu : starpu_prof_tool_driver_gpu;
	else if (!strcmp(event, "CPU_EXEC"))
		own->driver = starpu_prof_tool_driver_cpu;
	else if (!strcmp(event, "GPU_EXEC"))
		own->driver = starpu_prof_tool_driver_gpu;
}

/* Is the function observed that tells whole transfers? Newer libraries hide it. */
static bool sees_transfers(const struct host *h)
{
	for (size_t i = 0; i < h->d.nprobes; i++)
		if (!strcmp(h->d.probes[i].event, PREFIX "TRANSFER"))
			return true;
	return false;
}

static void starpu_event(struct host *h, struct host_thread *t)
{
	const struct def_probe *probe = host_probe(h);
	struct starpu_prof_tool_info info = { .thread_id = (int)h->d.threads[t->index].tid };
	struct starpu_thread *own = own_of(h, t);
	bool user = host_is_user_event(probe);
	const char *event = probe->event;
	const struct row *row;

	if (t->off || (!user && strncmp(event, PREFIX, strlen(PREFIX))))
		return;
	current_process = h->d.threads[t->index].process;
	current_time = h->event.time;
	if (!user) {
		event += strlen(PREFIX);
		learn_driver(h, own, event);
		find_version(h, info.starpu_version);
		if (made_for == MADE_FOR_JOB && info.starpu_version[0])
			made_for = is_1_5(info.starpu_version) ? MADE_FOR_1_5 : MADE_FOR_1_4;
	}
	fill(h, own, &info);
	row = user ? &user_row : row_of(event);
	if (row)
		tell_row(h, row, &info);
	else if (!strcmp(event, "TRANSFER") || (!strcmp(event, "INTERFACE_COPY") && !sees_transfers(h)))
		begin_transfer(h, own, &info);
	else if (!strcmp(event, "DATA_COPY") && h->event.type == EVENT_END)
		end_transfer(h, own, &info);
}

static void starpu_leave(struct host *h, struct host_thread *t)
{
	free(t->own);
	t->own = NULL;
}

const struct tool_kind tool_kind_starpu = { "StarPU", starpu_open, starpu_event, NULL, starpu_leave };
