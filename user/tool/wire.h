/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire.h - what gaspbpf and the process of a tool library (user/toolhost) say to each other.
 *
 * gaspbpf writes frames into a pipe: a head, then `size` bytes. Definitions come before what refers to them; events
 * come in the order in which the tool is to get them. The host answers by a page of memory that both map. To gaspbpf
 * nothing in it is more than a hint: a tool may scribble on it. Both sides are one build, so the structs are as the
 * compiler lays them out.
 */
#ifndef GASPBPF_TOOL_WIRE_H
#define GASPBPF_TOOL_WIRE_H

#include <signal.h>
#include <stdint.h>

#include "timeline/timeline.h"

/* Descriptors of the host. */
#define HOST_FRAMES 3
#define HOST_STATUS 4

/* gaspbpf has ended without a word: what the tool has been told is all, and it has ORPHAN_SECONDS to end. */
#define HOST_ORPHANED SIGRTMAX
#define ORPHAN_SECONDS 10

enum wire_kind {
	WIRE_RUN = 1,     /* def_run: its fields */
	WIRE_DEFINITIONS, /* as definitions_put_new() writes them */
	WIRE_EVENT,       /* struct wire_event, then its words */
	WIRE_CONTROL,     /* struct wire_control */
	WIRE_END,         /* the observation is over */
};

#define WIRE_FRAME_MOST (256u << 20)

struct wire_head {
	uint32_t kind; /* enum wire_kind */
	uint32_t size;
};

struct wire_event {
	uint64_t time; /* ns, CLOCK_MONOTONIC */
	uint64_t start, end;
	uint32_t thread, probe, site, sequence, unread;
	uint16_t depth;
	uint8_t reason, nwords;
	uint8_t type; /* enum event_type */
	uint8_t lane;
	uint16_t zero;
	uint32_t level;
};

/* Measurement was switched by the program or from outside. */
struct wire_control {
	uint64_t time;   /* ns */
	uint32_t thread; /* index */
	int32_t on;
};

enum host_state { HOST_STARTING, HOST_READY, HOST_ENDING, HOST_FAILED };

/* Which of the tool's functions is running. */
enum host_call { HOST_NO_CALL, HOST_LOAD, HOST_INIT, HOST_NOTIFY, HOST_CONTROL, HOST_CREATE, HOST_LEAVE };

struct host_status {
	uint32_t state;   /* enum host_state */
	uint32_t call;    /* enum host_call */
	uint32_t probe;   /* of HOST_NOTIFY: index */
	uint32_t type;    /* of HOST_NOTIFY: enum event_type */
	uint64_t calls;   /* of the tool's functions so far */
	uint64_t events;  /* handed to it so far */
	uint64_t frames;  /* read so far */
	uint64_t threads; /* of the job it has heard of */
	uint32_t reading; /* the host waits for a frame */
	char kind[36];    /* "GASP 1.4" */
	char error[480];  /* HOST_FAILED: why */
};

#endif
