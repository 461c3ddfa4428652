/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.h - the process that a tool library runs in, seen from gaspbpf. Private to user/tool.
 */
#ifndef GASPBPF_TOOL_PROCESS_H
#define GASPBPF_TOOL_PROCESS_H

#include <sys/types.h>

#include "tool/tool.h"
#include "tool/wire.h"

/* Something that it prints, on its way to where it should go. */
struct relay {
	int from, to;
	uint64_t rubbish; /* bytes that are no text */
};

struct tool_process {
	pid_t pid;              /* 0: it has ended, or was never there */
	int status;             /* as wait(2) gives it, once it has ended */
	int frames;             /* pipe; does not block */
	struct relay relays[2]; /* standard output and error */
	volatile struct host_status *page;
};

/* Starts it. 0 or -errno, said. */
int process_start(struct tool_process *p, const struct tool_options *options, const struct caller *caller);
/* Passes on what it has printed. True: there was something. */
bool process_relay(struct tool_process *p);
/* Has it ended? */
bool process_ended(struct tool_process *p);
void process_kill(struct tool_process *p);
/* Closes what is open; it has ended. */
void process_close_tool(struct tool_process *p);

#endif
