/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gasp.c - tools written to GASP 1.4: gasp_init, gasp_event_notify or gasp_event_notifyVA, gasp_control,
 * gasp_create_event.
 *
 * A context belongs to a thread and a language (section 3.2). It is made when the first event of that language is told
 * on the thread: a job that was joined has begun long before. Events of C and of users have no language of their own in
 * the specification (section 4: they are part of UPC): they go with the parallel language of the job, and where it has
 * none, with GASP_LANG_C.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "gasp.h"
#include "toolhost/call.h"
#include "toolhost/host.h"

#define NO_LANGUAGE -1
#define UNDECIDED -2

typedef void *(*init_function)(int language, int *argc, char ***argv);
typedef void (*notify_va_function)(void *context, unsigned tag, int type, const char *file, int line, int column,
				   va_list);
typedef int (*control_function)(void *context, int on);
typedef unsigned (*create_function)(void *context, const char *name, const char *desc);

struct gasp {
	init_function init;
	void (*notify)(void); /* gasp_event_notify, or the way to notifyVA */
	control_function control;
	create_function create;
	uint32_t next_user;              /* of a tool without gasp_create_event */
	bool out_of_range, contradicted; /* said */
	int on;                          /* the last value that any context was told */
	int *languages;                  /* by probe, decided when it is first told: START and END go to one context */
	size_t nlanguages;
};

/* A language of a thread. */
struct context {
	int language;
	void *own;      /* what gasp_init() has returned */
	int on;         /* the last value it was told; section 3.3 */
	uint32_t *tags; /* by probe: of user events, where has[] */
	bool *has;
	size_t ntags;
	struct context *next;
};

/* --- notifyVA needs a va_list, and only a variadic function has one ------------- */

static notify_va_function notify_va;

static void pass_on(void *context, unsigned tag, int type, const char *file, int line, int column, ...)
{
	va_list arguments;

	va_start(arguments, column);
	notify_va(context, tag, type, file, line, column, arguments);
	va_end(arguments);
}

static void *gasp_open(struct host *h, void *library)
{
	void *init = dlsym(library, "gasp_init"), *notify = dlsym(library, "gasp_event_notify"),
	     *va = dlsym(library, "gasp_event_notifyVA");
	struct gasp *g;

	if (!init || (!notify && !va))
		return NULL;
	g = calloc(1, sizeof(*g));
	if (!g)
		host_fail(h, "out of memory");
	g->init = (init_function)init;
	notify_va = (notify_va_function)va;
	g->notify = notify ? (void (*)(void))notify : (void (*)(void))pass_on;
	g->control = (control_function)dlsym(library, "gasp_control");
	g->create = (create_function)dlsym(library, "gasp_create_event");
	g->on = 1;
	g->next_user = ids_first_user(h->ids);
	return g;
}

/* --- contexts -------------------------------------------------------------------- */

static int language_of(const struct def_probe *probe)
{
	static const struct {
		const char *prefix;
		int language;
	} languages[] = {
		{ "GASP_UPC_", GASP_LANG_UPC },         { "GASP_CAF_", GASP_LANG_CAF },
		{ "GASP_MPI_", GASP_LANG_MPI },         { "GASP_SHMEM_", GASP_LANG_SHMEM },
		{ "GASP_STARPU_", GASP_LANG_STARPU },   { "GASP_OMP_", GASP_LANG_OPENMP },
		{ "GASP_PTHREAD_", GASP_LANG_PTHREAD },
	};

	for (size_t i = 0; probe->event && i < sizeof(languages) / sizeof(languages[0]); i++)
		if (!strncmp(probe->event, languages[i].prefix, strlen(languages[i].prefix)))
			return languages[i].language;
	return NO_LANGUAGE;
}

/* Of an event without one. */
static int language_of_job(const struct host *h)
{
	for (size_t i = 0; i < h->d.nprobes; i++) {
		int language = language_of(&h->d.probes[i]);

		if (language != NO_LANGUAGE && language != GASP_LANG_PTHREAD)
			return language;
	}
	return GASP_LANG_C;
}

static void tell_control(struct host *h, struct context *c, int on)
{
	struct gasp *g = h->state;
	int before;

	if (!g->control)
		return;
	host_enter(h, HOST_CONTROL);
	before = g->control(c->own, on);
	host_return(h);
	if (!before != !c->on && !before != !g->on && !g->contradicted) {
		host_warn("gasp_control() returned %d, though measurement was %s: the tool does not keep what it is "
			  "told (GASP 1.4 section 3.3)",
			  before, c->on ? "on" : "off");
		g->contradicted = true;
	}
	c->on = g->on = on;
}

static struct context *begin(struct host *h, struct host_thread *t, int language)
{
	struct gasp *g = h->state;
	struct context *c = calloc(1, sizeof(*c));

	if (!c)
		host_fail(h, "out of memory");
	c->language = language;
	c->on = 1;
	c->next = t->own;
	t->own = c;
	host_enter(h, HOST_INIT);
	c->own = g->init(language, &t->process->argc, &t->process->argv);
	host_return(h);
	if (t->off)
		tell_control(h, c, 0);
	return c;
}

static int language_of_event(struct host *h)
{
	struct gasp *g = h->state;
	uint32_t index = h->span.probe;

	if (index >= g->nlanguages) {
		g->languages = realloc(g->languages, h->d.nprobes * sizeof(*g->languages));
		if (!g->languages)
			host_fail(h, "out of memory");
		while (g->nlanguages < h->d.nprobes)
			g->languages[g->nlanguages++] = UNDECIDED;
	}
	if (g->languages[index] == UNDECIDED)
		g->languages[index] = language_of(&h->d.probes[index]);
	if (g->languages[index] == NO_LANGUAGE)
		g->languages[index] = language_of_job(h);
	return g->languages[index];
}

static struct context *context_of(struct host *h, struct host_thread *t)
{
	int language = language_of_event(h);

	for (struct context *c = t->own; c; c = c->next)
		if (c->language == language)
			return c;
	return begin(h, t, language);
}

/* --- events ------------------------------------------------------------------------ */

/* The tool's own number of a user event, asked for once for each thread, as the program's threads would. */
static uint32_t user_tag(struct host *h, struct context *c)
{
	struct gasp *g = h->state;
	const struct def_probe *probe = host_probe(h);
	uint32_t index = h->span.probe, tag;

	if (index >= c->ntags) {
		c->tags = realloc(c->tags, h->d.nprobes * sizeof(*c->tags));
		c->has = realloc(c->has, h->d.nprobes * sizeof(*c->has));
		if (!c->tags || !c->has)
			host_fail(h, "out of memory");
		memset(c->has + c->ntags, 0, (h->d.nprobes - c->ntags) * sizeof(*c->has));
		c->ntags = h->d.nprobes;
	}
	if (c->has[index])
		return c->tags[index];
	if (g->create) {
		host_enter(h, HOST_CREATE);
		tag = g->create(c->own, probe->event, host_user_format(probe));
		host_return(h);
	} else {
		tag = g->next_user++;
	}
	if (!ids_is_user(h->ids, tag) && !g->out_of_range) {
		host_warn("gasp_create_event() returned 0x%x, which is no number of a user event (from 0x%x on): "
			  "--gasp-ids says which are",
			  tag, ids_first_user(h->ids));
		g->out_of_range = true;
	}
	c->has[index] = true;
	return c->tags[index] = tag;
}

static void event(struct host *h, struct host_thread *t)
{
	struct gasp *g = h->state;
	struct context *c = context_of(h, t);
	const struct def_probe *probe = host_probe(h);
	const struct def_site *site = host_site(h);
	uint32_t tag = host_is_user_event(probe) ? user_tag(h, c) : ids_tag(h->ids, probe, h->event.type);
	struct argument arguments[ARGUMENTS_AT_MOST];
	size_t count = event_arguments(&h->d, &h->event, arguments, ARGUMENTS_AT_MOST);
	struct call call = { .count = 0 };

	count = count < ARGUMENTS_AT_MOST ? count : ARGUMENTS_AT_MOST;
	asked_complete(h, arguments, count);
	call_pointer(&call, c->own);
	call_unsigned(&call, tag);
	call_int(&call, h->event.type);
	call_pointer(&call, site ? site->file : NULL);
	call_int(&call, site ? site->line : 0);
	call_int(&call, site ? site->column : 0);
	call_dots(&call);
	for (size_t i = 0; i < count; i++)
		call_argument(&call, &arguments[i]);
	host_enter(h, HOST_NOTIFY);
	if (!call_make(&call, g->notify))
		host_fail(h, "libffi cannot call the tool with the arguments of %s", probe->event);
	host_return(h);
}

static void control(struct host *h, struct host_thread *t, int on)
{
	for (struct context *c = t->own; c; c = c->next)
		tell_control(h, c, on);
}

static void leave(struct host *h, struct host_thread *t)
{
	struct context *c = t->own, *next;

	for (; c; c = next) {
		next = c->next;
		free(c->tags);
		free(c->has);
		free(c);
	}
	t->own = NULL;
}

const struct tool_kind tool_kind_gasp = {
	.name = "GASP 1.4",
	.open = gasp_open,
	.event = event,
	.control = control,
	.leave = leave,
};
