/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * main.c - gaspbpf-toolhost: loads a tool library and tells it what gaspbpf sends.
 *
 *     gaspbpf-toolhost LIBRARY IDS THREADS CLOCK STARPU
 *
 * started by gaspbpf alone (user/tool/process.c), with the pipe and the page of user/tool/wire.h.
 *
 * With --tool-threads=each, each thread of the job is a thread here. They take turns: who has the turn reads frames and
 * tells the tool, until an event belongs to another one, which then has it. So all that this process knows is used by
 * one thread at a time, events come in the order in which they were sent, and the tool finds itself on the right
 * thread, with that thread's own variables.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recording/transfer.h"
#include "toolhost/host.h"

#define READ_SIZE 65536
#define READ_MOST (1u << 20) /* the pipe has no more; so memory grows with what has come, not with what a head says */
#define GENERATIONS 16       /* of forks */
#define STACK_SIZE (1 << 20) /* bytes, of a thread of the job */

struct frames {
	struct buffer bytes; /* read, from `at` on not yet taken */
	size_t at;
	struct host_thread **by_index; /* by thread of the job: its lanes */
	size_t nindex;
	struct host_thread *all; /* in the order in which they appeared */
	struct host_thread **last;
	struct host_process *processes; /* by index */
	size_t nprocesses;
	struct host_thread *turn; /* who may go on; NULL: the main thread */
	bool over;                /* nothing more comes */
	pthread_mutex_t lock;     /* of turn and over */
	pthread_cond_t done;      /* the main thread has the turn */
};

static const struct tool_kind *const kinds[] = { &tool_kind_gasp, &tool_kind_pupc, &tool_kind_starpu,
						 &tool_kind_counters };

/* --- what gaspbpf is told ------------------------------------------------------------ */

void host_enter(struct host *h, enum host_call call)
{
	h->status->call = call;
	h->status->calls++;
}

void host_return(struct host *h)
{
	h->status->call = HOST_NO_CALL;
}

void host_fail(struct host *h, const char *format, ...)
{
	va_list arguments;
	char text[sizeof(h->status->error)];

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	memcpy((char *)h->status->error, text, sizeof(text));
	h->status->state = HOST_FAILED;
	_exit(1);
}

void host_warn(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("gaspbpf: tool: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
}

const struct def_probe *host_probe(const struct host *h)
{
	return &h->d.probes[h->span.probe];
}

const struct def_site *host_site(const struct host *h)
{
	const struct def_site *site = h->span.site < h->d.nsites ? &h->d.sites[h->span.site] : NULL;

	return site && site->file ? site : NULL;
}

bool host_is_user_event(const struct def_probe *probe)
{
	/* Functions that somebody named are GASP_C_FUNC, or, with their own prototype, events of their own. */
	return probe->number >= 0xC0000000u || !probe->event || strncmp(probe->event, "GASP_", 5) ||
	       !strncmp(probe->event, "GASP_USER_", 10);
}

const char *host_user_format(const struct def_probe *probe)
{
	/* Of a function that somebody named it is a prototype. */
	return probe->marks & (MARKS_ANNOUNCE | MARK_CREATES) && probe->prototype && *probe->prototype
		       ? probe->prototype
		       : NULL;
}

/* --- the job's threads --------------------------------------------------------------- */

/* The command as a program has it: words, ended by a NULL. Only blanks are known to have been between them. */
static void make_arguments(struct host *h, struct host_process *p, const char *command)
{
	char *words = strdup(command && *command ? command : "?");
	size_t room = 2;

	for (const char *at = words; at && *at; at++)
		room += *at == ' ';
	p->argv = calloc(room, sizeof(*p->argv));
	if (!words || !p->argv)
		host_fail(h, "out of memory");
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		p->argv[p->argc++] = word;
}

/* Of a child that nobody has looked at, that of the process it was forked from. NULL: not known. */
static const char *command_of(const struct host *h, uint32_t index)
{
	const struct def_process *p = index < h->d.nprocesses ? &h->d.processes[index] : NULL;

	for (int generations = 0; p && !p->command && generations < GENERATIONS; generations++) {
		uint32_t parent = p->parent;

		p = NULL;
		for (size_t i = 0; parent && i < h->d.nprocesses && !p; i++)
			if (h->d.processes[i].pid == parent)
				p = &h->d.processes[i];
	}
	return p ? p->command : NULL;
}

static struct host_process *process_of(struct host *h, uint32_t index)
{
	struct frames *f = h->frames;

	/* Tools keep the address of argc and argv: the array is as large as it will ever get. */
	if (!f->processes) {
		f->nprocesses = 1 << 16;
		f->processes = calloc(f->nprocesses, sizeof(*f->processes));
	}
	if (!f->processes)
		host_fail(h, "out of memory");
	if (index >= f->nprocesses)
		index = f->nprocesses - 1; /* they share one */
	if (!f->processes[index].argv)
		make_arguments(h, &f->processes[index], command_of(h, index));
	return &f->processes[index];
}

static struct host_thread *thread_of(struct host *h, uint32_t index, unsigned lane)
{
	struct frames *f = h->frames;
	struct host_thread *t;

	if (index >= f->nindex) {
		size_t more = 2 * (size_t)index + 64;
		struct host_thread **grown = realloc(f->by_index, more * sizeof(*grown));

		if (!grown)
			host_fail(h, "out of memory");
		memset(grown + f->nindex, 0, (more - f->nindex) * sizeof(*grown));
		f->by_index = grown;
		f->nindex = more;
	}
	for (t = f->by_index[index]; t; t = t->next_lane)
		if (t->lane == lane)
			return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		host_fail(h, "out of memory");
	t->index = index;
	t->lane = lane;
	t->process = process_of(h, h->d.threads[index].process);
	t->off = f->by_index[index] && f->by_index[index]->off;
	t->next_lane = f->by_index[index];
	f->by_index[index] = t;
	*f->last = t;
	f->last = &t->next;
	pthread_cond_init(&t->turned, NULL);
	h->status->threads++;
	return t;
}

/* --- frames ---------------------------------------------------------------------------- */

/* At least `size` bytes from f->at on. False: the pipe has ended. */
static bool fill(struct host *h, size_t size)
{
	struct frames *f = h->frames;

	if (f->at) {
		memmove(f->bytes.data, f->bytes.data + f->at, f->bytes.size - f->at);
		f->bytes.size -= f->at;
		f->at = 0;
	}
	while (f->bytes.size < size) {
		size_t missing = size - f->bytes.size, more = missing < READ_SIZE   ? READ_SIZE
							      : missing < READ_MOST ? missing
										    : READ_MOST;
		uint8_t *room = buffer_reserve(&f->bytes, more);
		ssize_t got;

		if (!room)
			host_fail(h, "out of memory");
		h->status->reading = 1;
		got = read(HOST_FRAMES, room, more);
		h->status->reading = 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			host_fail(h,
				  "the descriptor that its events come through cannot be read: %s: the tool has closed "
				  "what it did not open",
				  strerror(errno));
		if (!got)
			return false;
		f->bytes.size += got;
	}
	return true;
}

bool host_take_frame(struct host *h, struct wire_head *head, const uint8_t **bytes)
{
	struct frames *f = h->frames;

	if (f->bytes.size - f->at < sizeof(*head) && !fill(h, sizeof(*head)))
		return false;
	memcpy(head, f->bytes.data + f->at, sizeof(*head));
	if (head->size > WIRE_FRAME_MOST)
		host_fail(h, "what comes through the pipe makes no sense: the tool reads from it");
	if (f->bytes.size - f->at < sizeof(*head) + head->size && !fill(h, sizeof(*head) + head->size))
		return false;
	*bytes = f->bytes.data + f->at + sizeof(*head);
	f->at += sizeof(*head) + head->size;
	h->status->frames++;
	return true;
}

static void take_definitions(struct host *h, const uint8_t *bytes, size_t size)
{
	struct cursor in = { bytes, bytes + size, false };
	const char *wrong = definitions_take(&in, &h->d);

	if (wrong)
		host_fail(h, "definitions that came through the pipe make no sense: %s", wrong);
}

static void take_run(struct host *h, const uint8_t *bytes, size_t size)
{
	struct cursor in = { bytes, bytes + size, false };

	if (run_take(&in, &h->d.run))
		host_fail(h, "what came through the pipe makes no sense");
}

static void take_event(struct host *h, const uint8_t *bytes, size_t size)
{
	struct wire_event e;

	if (size < sizeof(e))
		host_fail(h, "an event that came through the pipe makes no sense");
	memcpy(&e, bytes, sizeof(e));
	if (e.nwords > GB_SLOTS || size != sizeof(e) + e.nwords * sizeof(h->span.words[0]) ||
	    e.thread >= h->d.nthreads || e.probe >= h->d.nprobes || e.type >= EVENT_TYPES)
		host_fail(h, "an event that came through the pipe makes no sense");
	h->span = (struct span){ .start = e.start,
				 .end = e.end,
				 .thread = e.thread,
				 .probe = e.probe,
				 .site = e.site,
				 .sequence = e.sequence,
				 .unread = e.unread,
				 .depth = e.depth,
				 .reason = e.reason,
				 .nwords = e.nwords };
	memcpy(h->span.words, bytes + sizeof(e), e.nwords * sizeof(h->span.words[0]));
	h->event = (struct event){ .type = e.type, .time = e.time, .span = &h->span, .lane = e.lane, .level = e.level };
}

static void take_control(struct host *h, const uint8_t *bytes, size_t size)
{
	struct wire_control c;

	if (size != sizeof(c))
		host_fail(h, "what came through the pipe makes no sense");
	memcpy(&c, bytes, size);
	if (c.thread >= h->d.nthreads)
		return;
	thread_of(h, c.thread, 0);
	h->about = c.thread;
	clock_set(c.time);
	for (struct host_thread *t = h->frames->by_index[c.thread]; t; t = t->next_lane) {
		t->off = !c.on;
		if (h->kind->control)
			h->kind->control(h, t, c.on);
	}
}

void host_take_definitions(struct host *h, const struct wire_head *head, const uint8_t *bytes)
{
	if (head->kind == WIRE_RUN)
		take_run(h, bytes, head->size);
	else if (head->kind == WIRE_DEFINITIONS)
		take_definitions(h, bytes, head->size);
}

void host_forget_frames(struct host *h)
{
	h->frames->bytes.size = h->frames->at = 0;
}

/* The next event is h->event. Its thread, or NULL: the end. */
static struct host_thread *next_event(struct host *h)
{
	struct wire_head head;
	const uint8_t *bytes;

	while (host_take_frame(h, &head, &bytes)) {
		switch (head.kind) {
		case WIRE_RUN:
		case WIRE_DEFINITIONS:
			host_take_definitions(h, &head, bytes);
			break;
		case WIRE_CONTROL:
			take_control(h, bytes, head.size);
			break;
		case WIRE_EVENT:
			take_event(h, bytes, head.size);
			return thread_of(h, h->span.thread, h->event.lane);
		case WIRE_END:
			return NULL;
		}
	}
	return NULL;
}

/* --- telling ----------------------------------------------------------------------------- */

static void tell(struct host *h, struct host_thread *t)
{
	clock_set(h->event.time);
	h->about = t->index;
	h->status->probe = h->span.probe;
	h->status->type = h->event.type;
	h->kind->event(h, t);
	h->status->events++;
}

static void leave(struct host *h, struct host_thread *t)
{
	clock_set(h->d.run.end);
	h->about = t->index;
	if (h->kind->leave)
		h->kind->leave(h, t);
}

struct own_thread {
	struct host *host;
	struct host_thread *thread;
};

static void give_turn(struct frames *f, struct host_thread *to)
{
	f->turn = to;
	if (to)
		pthread_cond_signal(&to->turned);
	else
		pthread_cond_signal(&f->done);
}

/* A thread of the job. */
static void *serve(void *context)
{
	struct own_thread own = *(struct own_thread *)context;
	struct host *h = own.host;
	struct frames *f = h->frames;
	struct host_thread *owner;

	free(context);
	pthread_mutex_lock(&f->lock);
	for (;;) {
		while (f->turn != own.thread)
			pthread_cond_wait(&own.thread->turned, &f->lock);
		if (f->over)
			break;
		pthread_mutex_unlock(&f->lock);
		do {
			tell(h, own.thread);
			owner = next_event(h);
		} while (owner == own.thread);
		pthread_mutex_lock(&f->lock);
		f->over = !owner;
		if (owner && owner->started)
			give_turn(f, owner);
		else
			give_turn(f, NULL); /* the end, or a thread to be started */
	}
	pthread_mutex_unlock(&f->lock);
	leave(h, own.thread);
	pthread_mutex_lock(&f->lock);
	give_turn(f, NULL);
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

static void start_thread(struct host *h, struct host_thread *t)
{
	struct own_thread *own = malloc(sizeof(*own));
	pthread_attr_t attributes;
	int error;

	if (!own)
		host_fail(h, "out of memory");
	*own = (struct own_thread){ h, t };
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	error = pthread_create(&t->thread, &attributes, serve, own);
	pthread_attr_destroy(&attributes);
	if (error)
		host_fail(h, "no thread for the job's thread %u: %s: leave out --tool-threads=each",
			  h->d.threads[t->index].tid, strerror(error));
	t->started = true;
}

static void wait_turn(struct frames *f)
{
	while (f->turn)
		pthread_cond_wait(&f->done, &f->lock);
}

static void tell_each(struct host *h)
{
	struct frames *f = h->frames;
	struct host_thread *t = next_event(h);

	pthread_mutex_lock(&f->lock);
	while (t && !f->over) {
		if (!t->started)
			start_thread(h, t);
		give_turn(f, t);
		wait_turn(f);
		/* It read an event of a thread that is to be started. */
		t = f->over ? NULL : thread_of(h, h->span.thread, h->event.lane);
	}
	f->over = true;
	for (t = f->all; t; t = t->next) {
		if (!t->started)
			continue;
		give_turn(f, t);
		wait_turn(f);
		pthread_mutex_unlock(&f->lock);
		pthread_join(t->thread, NULL);
		pthread_mutex_lock(&f->lock);
	}
	pthread_mutex_unlock(&f->lock);
}

static void tell_all(struct host *h)
{
	struct host_thread *t;

	while ((t = next_event(h)))
		tell(h, t);
	for (t = h->frames->all; t; t = t->next)
		leave(h, t);
}

/* --- the whole --------------------------------------------------------------------------- */

static void load(struct host *h, const char *path)
{
	void *library;

	host_enter(h, HOST_LOAD);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	host_return(h);
	if (!library)
		host_fail(h, "cannot be loaded: %s", dlerror());
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !h->kind; i++) {
		h->state = kinds[i]->open(h, library);
		if (h->state)
			h->kind = kinds[i];
	}
	if (!h->kind)
		host_fail(h, "is no tool that is known: it has neither gasp_init with gasp_event_notify or "
			     "gasp_event_notifyVA (GASP 1.4), "
			     "nor pupc_event_notify (PUPC 1.1), nor starpu_prof_tool_library_register (StarPU)");
	strncpy((char *)h->status->kind, h->kind->name, sizeof(h->status->kind) - 1);
}

/* The first frame is the run's: its clock. False: there will be nothing. */
static bool take_begin(struct host *h, bool job_clock)
{
	struct wire_head head;
	const uint8_t *bytes;

	if (!host_take_frame(h, &head, &bytes) || head.kind != WIRE_RUN)
		return false;
	take_run(h, bytes, head.size);
	clock_begin(h->d.run.start_realtime - h->d.run.start, job_clock);
	return true;
}

static void take_ids(struct host *h, const char *name)
{
	static const char *const names[] = { "own", "gupc", "bupc", "pupc" };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]))
			continue;
		h->ids = i;
		h->ids_given = true;
	}
}

/* gaspbpf is gone. The pipe ends, and so should the tool; if it hangs, SIGALRM ends it. */
static void on_orphaned(int signal)
{
	alarm(ORPHAN_SECONDS);
}

int main(int argc, char **argv)
{
	static struct frames frames = { .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };
	static struct host h = { .frames = &frames, .about = NO_INDEX };
	void *page = mmap(NULL, sizeof(struct host_status), PROT_READ | PROT_WRITE, MAP_SHARED, HOST_STATUS, 0);

	if (argc != 6 || page == MAP_FAILED) {
		fputs("gaspbpf-toolhost: gaspbpf --tool starts this program; it is of no use by itself\n", stderr);
		return 2;
	}
	signal(HOST_ORPHANED, on_orphaned);
	close(HOST_STATUS);
	frames.last = &frames.all;
	h.status = page;
	asked_begin(&h);
	take_ids(&h, argv[2]);
	h.starpu = *argv[5] ? argv[5] : NULL;
	h.each = strcmp(argv[3], "one") != 0;
	load(&h, argv[1]);
	h.status->state = HOST_READY;
	if (!take_begin(&h, !strcmp(argv[4], "job")))
		_exit(0);
	if (!strcmp(argv[3], "process"))
		spread_over_processes(&h);
	if (h.each)
		tell_each(&h);
	else
		tell_all(&h);
	clock_set(h.d.run.end);
	h.status->state = HOST_ENDING;
	host_enter(&h, HOST_LEAVE);
	exit(0); /* the tool's own functions for the end run now */
}
