/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * private.h - what the files of user/tool share.
 */
#ifndef GASPBPF_TOOL_PRIVATE_H
#define GASPBPF_TOOL_PRIVATE_H

#include "recording/transfer.h"
#include "timeline/timeline.h"
#include "tool/process.h"

enum trouble { NO_TROUBLE, TROUBLE_ENDED, TROUBLE_HUNG, TROUBLE_BEHIND, TROUBLE_STOPPED, TROUBLE_MEMORY };

struct tool {
	struct tool_options options;
	struct tool_process process;
	int wake; /* epoll */
	const struct definitions *d;
	struct timeline_live *live;
	void (*locate)(void *context, uint32_t site);
	void *locate_context;
	size_t sent[TRANSFER_KINDS];
	size_t nthreads, nprobes, nsites; /* of those, what an event may refer to */
	size_t ncontrols;                 /* told */
	struct buffer waiting;            /* frames; up to `written` they are in the pipe */
	size_t written;
	size_t frame_left;  /* bytes of the frame at `written` that are not written; 0: a frame begins there */
	uint64_t events;    /* sent */
	uint64_t untold;    /* not sent */
	uint32_t *withheld; /* by thread and lane: calls in progress of which it was not told; see withhold() */
	size_t withheld_room;
	enum trouble trouble;
	uint64_t steps;        /* of the process, when it was looked at last */
	uint64_t looked, idle; /* ns: when; and how long without a step */
	int stop;              /* of a replay: a descriptor */
	bool stopped, said;    /* said: what went wrong */
};

/* frames.c: frames are appended to what waits. */
void tool_put_frame(struct tool *t, enum wire_kind kind, const struct buffer *bytes);
void tool_put_run(struct tool *t);
/* What has been defined since the last time. */
void tool_put_definitions(struct tool *t);
/* Measurement that was switched up to this time (ns). */
void tool_put_controls(struct tool *t, uint64_t time);
/* With what it refers to, and what comes before it. */
void tool_put_event(struct tool *t, const struct event *event);
/* Writes what the pipe takes. */
void tool_pump(struct tool *t);

#endif
