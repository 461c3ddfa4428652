/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tools.h - the options --tool and its like, which record and replay share, and what comes of them.
 */
#ifndef GASPBPF_TOOLS_H
#define GASPBPF_TOOLS_H

#include "capture/capture.h"
#include "cli/cli.h"
#include "tool/tool.h"

#define TOOLS_MOST 8

struct tools {
	struct text_list libraries;
	struct tool_options options; /* of all of them */
	struct tool **started;
	size_t count;
	struct capture_session *capture;
	uint64_t looked; /* ns; when the calls in progress were asked for */
	int wake;        /* epoll: one of them has something to serve; -1: there are none */
};

/* For argp's `children`; its input (state->child_inputs[0] or so) is a struct tools. */
extern const struct argp tools_parser;

/* Starts them. output: where their standard output goes. 0 or -errno, said. */
int tools_start(struct tools *tools, const struct caller *caller, int output);
/* Live: they are told what is captured. */
int tools_follow(struct tools *tools, const struct definitions *d, struct capture_session *capture);
/* As tool_kept(), of all: how many. There is room for TOOLS_MOST. */
size_t tools_kept(const struct tools *tools, struct kept_process *kept);
void tools_serve(struct tools *tools);
/* Waits for their ends. 0 or -errno, said. */
int tools_finish(struct tools *tools, int stop, bool quiet);
void tools_free(struct tools *tools);

#endif
