/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pupc.c - tools written to PUPC 1.1: pupc_event_notify, pupc_create_event, pupc_control.
 *
 * One function is told everything, with a number that says START or END, and a location whose address stands for the
 * place in the source (section 3.1). So each place has a struct of its own, which lives on. UPC's tables have their
 * arguments in the order of PUPC; events that PUPC does not know come as events of the implementation, with the
 * arguments of GASP. Pointers to shared have GASP's further indirection: C cannot hold them.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "toolhost/call.h"
#include "toolhost/host.h"

#define PUPC_INIT 0x00000000
#define PUPC_GLOBAL_EXIT 0x00000100
#define RELAXED 2 /* added to the numbers of table 5 */

/* PUPC 1.1 section 3.1. */
struct pupc_location {
	const char *source_file;
	unsigned int start_line, start_col;
	void *util;
};

struct pupc {
	void (*notify)(void);
	unsigned (*create)(const char *name, const char *desc);
	void (*control)(int on);
	struct pupc_location *
		*places; /* by call site, two each: of what begins there and, for user events, of what ends there */
	size_t nplaces;
	uint32_t *tags; /* by probe: of user events, where has[] */
	bool *has;
	size_t ntags;
	uint32_t next_user;
	bool out_of_range;
};

struct pupc_thread {
	bool left; /* it was told of its end */
};

static void *pupc_open(struct host *h, void *library)
{
	void *notify = dlsym(library, "pupc_event_notify");
	struct pupc *p;

	if (!notify)
		return NULL;
	if (h->ids_given && h->ids != IDS_PUPC)
		host_fail(h, "it is a tool for PUPC 1.1, which has its own numbers: leave out --gasp-ids");
	h->ids = IDS_PUPC;
	p = calloc(1, sizeof(*p));
	if (!p)
		host_fail(h, "out of memory");
	p->notify = (void (*)(void))notify;
	p->create = (unsigned (*)(const char *, const char *))dlsym(library, "pupc_create_event");
	p->control = (void (*)(int))dlsym(library, "pupc_control");
	p->next_user = ids_first_user(IDS_PUPC);
	return p;
}

/* --- places ------------------------------------------------------------------------- */

static void *grown(struct host *h, void *array, size_t *count, size_t needed, size_t size)
{
	char *larger = realloc(array, needed * size);

	if (!larger)
		host_fail(h, "out of memory");
	memset(larger + *count * size, 0, (needed - *count) * size);
	*count = needed;
	return larger;
}

static struct pupc_location *place_of(struct host *h)
{
	struct pupc *p = h->state;
	const struct def_site *site = host_site(h);
	bool end = h->event.type == EVENT_END && host_is_user_event(host_probe(h));
	size_t at = 2 * (site ? (size_t)h->span.site + 1 : 0) + end; /* the first two: unknown */

	if (at >= p->nplaces)
		p->places = grown(h, p->places, &p->nplaces, 2 * h->d.nsites + 2, sizeof(*p->places));
	if (!p->places[at]) {
		p->places[at] = calloc(1, sizeof(*p->places[at]));
		if (!p->places[at])
			host_fail(h, "out of memory");
		*p->places[at] = (struct pupc_location){ site ? site->file : "", site ? site->line : 0,
							 site ? site->column : 0, NULL };
	}
	return p->places[at];
}

/* --- events ------------------------------------------------------------------------- */

static void make(struct host *h, struct call *call)
{
	struct pupc *p = h->state;

	host_enter(h, HOST_NOTIFY);
	if (!call_make(call, p->notify))
		host_fail(h, "libffi cannot call the tool");
	host_return(h);
}

static void begin(struct host *h, struct host_thread *t)
{
	struct call call = { .count = 0 };

	t->own = calloc(1, sizeof(struct pupc_thread));
	if (!t->own)
		host_fail(h, "out of memory");
	call_unsigned(&call, PUPC_INIT);
	call_pointer(&call, NULL);
	call_dots(&call);
	call_pointer(&call, &t->process->argc);
	call_pointer(&call, &t->process->argv);
	make(h, &call);
}

static void end(struct host *h, struct host_thread *t, struct pupc_location *place, int status)
{
	struct call call = { .count = 0 };
	struct pupc_thread *own = t->own;

	if (own->left)
		return;
	own->left = true;
	call_unsigned(&call, PUPC_GLOBAL_EXIT);
	call_pointer(&call, place);
	call_dots(&call);
	call_int(&call, status);
	make(h, &call);
}

static uint32_t user_tag(struct host *h)
{
	struct pupc *p = h->state;
	const struct def_probe *probe = host_probe(h);
	uint32_t index = h->span.probe, tag;
	size_t count = p->ntags;

	if (index >= p->ntags) {
		p->has = grown(h, p->has, &count, h->d.nprobes, sizeof(*p->has));
		p->tags = grown(h, p->tags, &p->ntags, h->d.nprobes, sizeof(*p->tags));
	}
	if (p->has[index])
		return p->tags[index];
	if (p->create) {
		host_enter(h, HOST_CREATE);
		tag = p->create(probe->event, host_user_format(probe));
		host_return(h);
	} else {
		tag = p->next_user++;
	}
	if (!ids_is_user(IDS_PUPC, tag) && !p->out_of_range) {
		host_warn("pupc_create_event() returned 0x%x, which is no number of a user event: these are from 0x%x "
			  "on (PUPC 1.1 section 3.1)",
			  tag, ids_first_user(IDS_PUPC));
		p->out_of_range = true;
	}
	p->has[index] = true;
	return p->tags[index] = tag;
}

static struct argument *argument_named(struct argument *arguments, size_t count, const char *name, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(arguments[i].name) == length && !strncmp(arguments[i].name, name, length))
			return &arguments[i];
	return NULL;
}

/* What a row of the tables lists. A C type or a name of the program is not known: an empty text. */
static void add_listed(struct call *call, const char *names, struct argument *arguments, size_t count)
{
	static const struct argument unknown = { .kind = ARGUMENT_POINTER },
				     unknown_shared = { .kind = ARGUMENT_SHARED };

	for (size_t length; *names; names += length, names += strspn(names, " ")) {
		struct argument *found;
		bool shared = *names == '*';

		names += shared;
		length = strcspn(names, " ");
		found = argument_named(arguments, count, names, length);
		if (found && shared) /* whatever a model calls it */
			found->kind = ARGUMENT_SHARED;
		if (*names == '$')
			call_pointer(call, "");
		else
			call_argument(call, found ?: shared ? &unknown_shared : &unknown);
	}
}

static void tell(struct host *h, struct argument *arguments, size_t count)
{
	const struct def_probe *probe = host_probe(h);
	const struct pupc_row *row = ids_pupc_row(probe->event);
	const struct argument *relaxed = argument_named(arguments, count, "is_relaxed", 10);
	uint32_t tag = host_is_user_event(probe) ? user_tag(h) : ids_tag(IDS_PUPC, probe, h->event.type);
	struct call call = { .count = 0 };

	if (row && relaxed && relaxed->known && relaxed->word)
		tag += RELAXED;
	call_unsigned(&call, tag);
	call_pointer(&call, place_of(h));
	call_dots(&call);
	if (row)
		add_listed(&call, h->event.type == EVENT_END ? row->end : row->start, arguments, count);
	for (size_t i = 0; !row && i < count; i++)
		call_argument(&call, &arguments[i]);
	make(h, &call);
}

/*
 * The end of the program: upc_global_exit(), a place in it (GASP's NONCOLLECTIVE_EXIT, atomic); or that of all threads
 * together, which no call of the program's is, once the last barrier in it is over.
 */
static void exit_event(struct host *h, struct host_thread *t, const struct argument *status)
{
	bool called = h->event.type == EVENT_ATOMIC;

	if (h->event.type != EVENT_START)
		end(h, t, called ? place_of(h) : NULL, status && status->known ? (int)status->word : 0);
}

static void event(struct host *h, struct host_thread *t)
{
	struct argument arguments[ARGUMENTS_AT_MOST];
	size_t count = event_arguments(&h->d, &h->event, arguments, ARGUMENTS_AT_MOST);
	struct pupc_thread *own;

	if (count > ARGUMENTS_AT_MOST)
		count = ARGUMENTS_AT_MOST;
	if (!t->own)
		begin(h, t);
	asked_complete(h, arguments, count);
	own = t->own;
	if (own->left) /* what the runtime does for itself; the tool has cleaned up */
		return;
	if (!host_is_user_event(host_probe(h)) && ids_tag(IDS_PUPC, host_probe(h), EVENT_START) == PUPC_GLOBAL_EXIT)
		exit_event(h, t, argument_named(arguments, count, "status", 6));
	else
		tell(h, arguments, count);
}

static void control(struct host *h, struct host_thread *t, int on)
{
	struct pupc *p = h->state;

	if (!p->control || !t->own)
		return;
	host_enter(h, HOST_CONTROL);
	p->control(on);
	host_return(h);
}

/* Whether or not the program has called upc_global_exit (section 3.2.1). */
static void leave(struct host *h, struct host_thread *t)
{
	const struct def_thread *thread = &h->d.threads[t->index];
	const struct def_process *process = thread->process < h->d.nprocesses ? &h->d.processes[thread->process] : NULL;

	if (!t->own)
		return;
	end(h, t, NULL,
	    process && process->has_exit && WIFEXITED(process->exit_code) ? WEXITSTATUS(process->exit_code) : 0);
	free(t->own);
	t->own = NULL;
}

const struct tool_kind tool_kind_pupc = {
	.name = "PUPC 1.1",
	.open = pupc_open,
	.event = event,
	.control = control,
	.leave = leave,
};
