/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_pipe.c - frames in the pipe to a tool's process: definitions, events, switches, as gaspbpf sends them from a
 * recording or live; and what the host makes of them for each kind of tool.
 *
 * The first byte chooses the kind of tool. The host is a process that ends when something makes no sense, without
 * freeing anything: here it goes back to the target instead (the linker puts __wrap__exit() in the place of _exit()),
 * which frees what is left.
 */
#include <sanitizer/allocator_interface.h>
#include <setjmp.h>

#include "tool/wire.h"

static int frames_fd;
#undef HOST_FRAMES
#define HOST_FRAMES frames_fd
#define main host_main
#include "toolhost/main.c"
#undef main

#include "shared/fuzz.h"

void __wrap__exit(int status);
void __real__exit(int status) __attribute__((noreturn));

static jmp_buf end_of_host;
static bool running;

void __wrap__exit(int status)
{
	if (running)
		longjmp(end_of_host, 1);
	__real__exit(status);
}

/* --- a tool of each kind, found in this program by its name --------------------- */

void *gasp_init(int language, int *argc, char ***argv);
void gasp_event_notify(void *context, unsigned tag, int type, const char *file, int line, int column, ...);
int gasp_control(void *context, int on);
unsigned gasp_create_event(void *context, const char *name, const char *description);
void pupc_event_notify(unsigned tag, void *location, ...);
unsigned pupc_create_event(const char *name, const char *description);
void pupc_control(int on);
void gaspbpf_tool_counters(const void *counters);
void gaspbpf_tool_counters_pause(void);
void starpu_prof_tool_library_register(void (*reg)(int, void (*)(void *, void *, void *), int), void (*unreg)(void));
extern int gaspbpf_starpu_info_of_1_4;

static volatile size_t seen;

static void read_text(const char *text)
{
	seen += text ? strlen(text) : 0;
}

void *gasp_init(int language, int *argc, char ***argv)
{
	for (int i = 0; i < *argc; i++)
		read_text((*argv)[i]);
	return (void *)&seen;
}

void gasp_event_notify(void *context, unsigned tag, int type, const char *file, int line, int column, ...)
{
	must(context == &seen);
	read_text(file);
}

int gasp_control(void *context, int on)
{
	return on;
}

unsigned gasp_create_event(void *context, const char *name, const char *description)
{
	read_text(name);
	read_text(description);
	return 0xC0000000u;
}

void pupc_event_notify(unsigned tag, void *location, ...)
{
}

unsigned pupc_create_event(const char *name, const char *description)
{
	read_text(name);
	read_text(description);
	return 0xC0000000u;
}

void pupc_control(int on)
{
}

void gaspbpf_tool_counters(const void *counters)
{
}

void gaspbpf_tool_counters_pause(void)
{
}

int gaspbpf_starpu_info_of_1_4;

static void starpu_event_seen(void *info, void *event, void *api)
{
	must(info);
}

void starpu_prof_tool_library_register(void (*reg)(int, void (*)(void *, void *, void *), int), void (*unreg)(void))
{
	for (int i = 1; i < 16; i++)
		reg(i, starpu_event_seen, 0);
}

/* --- memory that the host leaves behind -------------------------------------------- */

#define LIVE_MOST 65536

static const void *live[LIVE_MOST];
static size_t nlive;

static void note_malloc(const volatile void *address, size_t size)
{
	if (running && address && nlive < LIVE_MOST)
		live[nlive++] = (const void *)address;
}

static void note_free(const volatile void *address)
{
	for (size_t i = nlive; running && address && i--;) {
		if (live[i] == address) {
			live[i] = live[--nlive];
			return;
		}
	}
}

static void free_rest(void)
{
	running = false;
	while (nlive)
		free((void *)live[--nlive]);
}

/* --- the host ------------------------------------------------------------------------ */

static void run_host(unsigned kind, void *program, volatile struct host_status *page)
{
	struct frames frames = { .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };
	static struct host h;

	h = (struct host){ .frames = &frames, .about = NO_INDEX, .status = page, .ids = kind / 4 % 4 };
	h.starpu = kind & 64 ? "1.5" : NULL;
	frames.last = &frames.all;
	asked_begin(&h);
	h.kind = kinds[kind % 4];
	h.state = h.kind->open(&h, program);
	must(h.state);
	if (!take_begin(&h, false))
		return;
	for (struct host_thread *t; (t = next_event(&h));)
		tell(&h, t);
	for (struct host_thread *t = frames.all; t; t = t->next)
		leave(&h, t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct host_status page;
	static void *program;
	struct input in = { data, data + size };
	unsigned kind = input_number(&in, 1);

	if (!program) {
		program = dlopen(NULL, RTLD_NOW);
		must(program && __sanitizer_install_malloc_and_free_hooks(note_malloc, note_free));
	}
	frames_fd = fuzz_file_fd(in.at, input_left(&in));
	must(!lseek(frames_fd, 0, SEEK_SET));
	memset(&page, 0, sizeof(page));
	running = true;
	if (!setjmp(end_of_host))
		run_host(kind, program, &page);
	free_rest();
	return 0;
}
