/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool.h - the door of user/tool: a tool library is told the events of a job, live or out of a recording.
 *
 * The library runs in a process of its own without privileges (user/toolhost). Whatever it does there, it cannot hold
 * up the capture: what it has not taken in waits in a buffer, and where that is full the tool is told no more, which is
 * said.
 */
#ifndef GASPBPF_TOOL_H
#define GASPBPF_TOOL_H

#include <stdbool.h>

#include "recording/recording.h"
#include "util/files.h"
#include "util/keeper.h"

#define TOOL_BUFFER (64ULL << 20)    /* bytes that may wait for it */
#define TOOL_PATIENCE 30000000000ULL /* ns without a sign of life */

struct tool_options {
	const char *library; /* path, or a name that the dynamic linker finds */
	const char *ids;     /* "own", "gupc", "bupc", "pupc"; NULL: as is right for the kind of tool */
	const char *threads; /* "one"; "each": the job's threads are threads of the tool's process; "process": and its
				processes are processes. NULL: "one" */
	const char *starpu;  /* "1.4", "1.5": the StarPU whose headers it was compiled with; NULL: not said */
	bool true_clock;     /* the tool sees the true time, not that of its events */
	uint64_t buffer;     /* bytes */
	uint64_t patience;   /* ns */
	int output;          /* descriptor for what it prints on its standard output */
};

struct tool;

/* Starts the process, as `caller` and without privileges, and waits until the library is loaded. 0 or -errno, said. */
int tool_start(struct tool **tool, const struct tool_options *options, const struct caller *caller);

/*
 * Live. d must outlive the tool. locate (may be NULL) finds the source line of call site `site` before it is told. The
 * sink never fails: a tool that cannot go on is left alone.
 */
int tool_follow(struct tool *tool, const struct definitions *d, void (*locate)(void *context, uint32_t site),
		void *context);
struct span_sink tool_sink(struct tool *tool);
/* Sends what is complete and passes on what the tool prints. Does not wait. To be called after each drain, and when
 * tool_fd() is readable. */
void tool_serve(struct tool *tool);
/* Does something wait for a call that was in progress at this time (ns)? Then tool_open() should be told the calls in
 * progress. */
bool tool_wants_open(const struct tool *tool, uint64_t time);
/* As capture_visit_open() shows them. */
void tool_open(struct tool *tool, const struct span *span, bool silent);
/* Readable when there is something to serve (an epoll descriptor). */
int tool_fd(const struct tool *tool);

/* Tells it a whole recording. A signal on stop (a signalfd that does not block; -1: none) ends the telling, as if the
 * recording ended there. 0 or -errno, said. */
int tool_replay(struct tool *tool, struct recording *recording, int stop);

/*
 * No more events: waits for the tool to end, and says how it went. A signal on stop (as above) kills it. 0, or -EIO
 * where it crashed, hung, gave up or left something untold.
 */
int tool_finish(struct tool *tool, int stop, bool quiet);
/* For the keeper (util/keeper.h), who ends it for who may not any more. False: it has ended. */
bool tool_kept(const struct tool *tool, struct kept_process *kept);
/* Kills it where it still runs. */
void tool_free(struct tool *tool);

#endif
