/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools.c - the options --tool and its like, which record and replay share, and what comes of them.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cli/tools.h"
#include "util/clock.h"
#include "util/format.h"
#include "util/log.h"

#define OPEN_EVERY 200000000ULL /* ns */

enum {
	OPTION_TOOL = 500,
	OPTION_STARPU,
	OPTION_HEADERS,
	OPTION_IDS,
	OPTION_THREADS,
	OPTION_CLOCK,
	OPTION_BUFFER,
	OPTION_PATIENCE
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Tools written to GASP 1.4, PUPC 1.1 or StarPU's profiling interface:", 20 },
	{ "tool", OPTION_TOOL, "LIBRARY", 0,
	  "Load this tool library, in a process of its own without privileges, and tell it all events; may repeat",
	  20 },
	{ "starpu-tool", OPTION_STARPU, "LIBRARY", 0,
	  "The same for a library written to StarPU's profiling interface: its callbacks are called as the interface "
	  "says",
	  20 },
	{ "starpu-headers", OPTION_HEADERS, "1.4|1.5", 0,
	  "StarPU's headers that it was compiled with, where the library does not tell and they are not those of the "
	  "job's StarPU: what callbacks get differs",
	  20 },
	{ "gasp-ids", OPTION_IDS, "gupc|bupc|pupc|own", 0,
	  "The numbers of events that it was compiled with: GNU and Clang UPC's, Berkeley UPC's, PUPC 1.1's, or "
	  "those of the headers "
	  "that come with gaspbpf (default)",
	  20 },
	{ "tool-threads", OPTION_THREADS, "one|each|process", 0,
	  "Call it from one thread (default), from one for each thread of the job, or besides in a process of its own "
	  "for each process of the job",
	  20 },
	{ "tool-clock", OPTION_CLOCK, "job|true", 0,
	  "When it asks for the time, tell that of the event (default), or the true time", 20 },
	{ "tool-buffer", OPTION_BUFFER, "SIZE", 0,
	  "Live: let so much wait for a slow tool before it is told no more (default 64 MiB)", 20 },
	{ "tool-patience", OPTION_PATIENCE, "TIME", 0, "Kill it when it has made no step for so long (default 30 s)",
	  20 },
	{ 0 }
};

static bool is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(word, *words))
			return true;
	return false;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	static const char *const ids[] = { "gupc", "bupc", "pupc", "own", NULL };
	static const char *const threads[] = { "one", "each", "process", NULL };
	struct tools *t = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		t->options = (struct tool_options){ .buffer = TOOL_BUFFER, .patience = TOOL_PATIENCE };
		t->wake = -1;
		return 0;
	case OPTION_TOOL:
	case OPTION_STARPU:
		if (t->libraries.count == TOOLS_MOST)
			argp_error(state, "--tool, --starpu-tool: at most %d at a time", TOOLS_MOST);
		return -cli_append(&t->libraries, argument);
	case OPTION_IDS:
		if (!is_one_of(argument, ids))
			argp_error(state, "--gasp-ids=%s: use gupc, bupc, pupc or own", log_safe(argument));
		t->options.ids = argument;
		return 0;
	case OPTION_HEADERS:
		if (strcmp(argument, "1.4") && strcmp(argument, "1.5"))
			argp_error(state, "--starpu-headers=%s: use 1.4 (and before), or 1.5 (and after)",
				   log_safe(argument));
		t->options.starpu = argument;
		return 0;
	case OPTION_THREADS:
		if (!is_one_of(argument, threads))
			argp_error(state, "--tool-threads=%s: use one, each or process", log_safe(argument));
		t->options.threads = argument;
		return 0;
	case OPTION_CLOCK:
		if (strcmp(argument, "job") && strcmp(argument, "true"))
			argp_error(state, "--tool-clock=%s: use job or true", log_safe(argument));
		t->options.true_clock = !strcmp(argument, "true");
		return 0;
	case OPTION_BUFFER:
		if (parse_bytes(argument, &t->options.buffer) || t->options.buffer < 4096 ||
		    t->options.buffer > 4ULL << 30)
			argp_error(state, "--tool-buffer %s: not a size between 4k and 4g: use 16m",
				   log_safe(argument));
		return 0;
	case OPTION_PATIENCE:
		if (parse_time(argument, &t->options.patience) || !t->options.patience)
			argp_error(state, "--tool-patience %s: not a time: use 30, 500ms, 2m", log_safe(argument));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp tools_parser = { options, parse, NULL, NULL, NULL, NULL, NULL };

static int start_one(struct tools *t, const char *library, const struct caller *caller)
{
	struct epoll_event event = { .events = EPOLLIN };
	int err;

	t->options.library = library;
	err = tool_start(&t->started[t->count], &t->options, caller);
	t->count++;
	if (!err && epoll_ctl(t->wake, EPOLL_CTL_ADD, tool_fd(t->started[t->count - 1]), &event))
		err = -errno;
	return err;
}

int tools_start(struct tools *t, const struct caller *caller, int output)
{
	int err = 0;

	if (!t->libraries.count)
		return 0;
	t->started = calloc(t->libraries.count, sizeof(*t->started));
	t->wake = epoll_create1(EPOLL_CLOEXEC);
	if (!t->started || t->wake < 0)
		return -ENOMEM;
	t->options.output = output;
	for (size_t i = 0; i < t->libraries.count && !err; i++)
		err = start_one(t, t->libraries.items[i], caller);
	return err;
}

static void locate(void *context, uint32_t site)
{
	capture_locate_site(context, site);
}

int tools_follow(struct tools *t, const struct definitions *d, struct capture_session *capture)
{
	int err = 0;

	t->capture = capture;
	for (size_t i = 0; i < t->count && !err; i++) {
		err = tool_follow(t->started[i], d, locate, capture);
		if (!err) {
			struct span_sink sink = tool_sink(t->started[i]);

			capture_add_sink(capture, &sink);
		}
	}
	return err;
}

/* To all of them, wanted or not: it costs each a comparison. */
static void show_open(void *context, const struct span *span, bool silent)
{
	struct tools *t = context;

	for (size_t i = 0; i < t->count; i++)
		tool_open(t->started[i], span, silent);
}

/* Where events have waited for a call that lasts, its START is due. */
static void look_at_open(struct tools *t)
{
	uint64_t now = clock_monotonic();
	bool wanted = false;

	if (now - t->looked < OPEN_EVERY)
		return;
	for (size_t i = 0; i < t->count; i++)
		wanted |= tool_wants_open(t->started[i], now - OPEN_EVERY);
	if (wanted)
		capture_visit_open(t->capture, show_open, t);
	t->looked = now;
}

size_t tools_kept(const struct tools *t, struct kept_process *kept)
{
	size_t count = 0;

	for (size_t i = 0; i < t->count; i++)
		count += tool_kept(t->started[i], &kept[count]);
	return count;
}

void tools_serve(struct tools *t)
{
	if (t->count)
		look_at_open(t);
	for (size_t i = 0; i < t->count; i++)
		tool_serve(t->started[i]);
}

int tools_finish(struct tools *t, int stop, bool quiet)
{
	int err = 0;

	for (size_t i = 0; i < t->count; i++)
		err = tool_finish(t->started[i], stop, quiet) ?: err;
	return err;
}

void tools_free(struct tools *t)
{
	for (size_t i = 0; i < t->count; i++)
		tool_free(t->started[i]);
	free(t->started);
	free(t->libraries.items);
	if (t->wake >= 0)
		close(t->wake);
}
