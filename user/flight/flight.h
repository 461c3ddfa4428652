/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flight.h - the door of user/flight: keeps the last spans in bounded memory, and writes them to a recording when
 * something happens.
 *
 * It is a sink of a running capture. A trigger is a call that takes too long, a process that dies, or somebody's wish.
 * The dump is written by a child process, a copy of this one as it was at that moment, so that the observation goes on
 * meanwhile.
 */
#ifndef GASPBPF_FLIGHT_H
#define GASPBPF_FLIGHT_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"
#include "util/files.h"

struct trigger;

/* The options --flight, --trigger, --dumps and --dump-pause. */
struct flight_options {
	bool on;
	uint64_t window;          /* ns: spans that ended longer ago go */
	uint64_t bytes;           /* of memory for spans */
	struct trigger *triggers; /* calls that take too long */
	size_t ntriggers;
	bool deaths;      /* the death of a process is a trigger */
	uint64_t pause;   /* ns from one dump to the next that a trigger asks for */
	unsigned most;    /* dumps in all */
	const char *path; /* flight_set_path() */
	bool into_folder; /* which that is */
};
/* For argp's `children`; its input is a struct flight_options. */
extern const struct argp flight_parser;
void flight_options_free(struct flight_options *options);

/*
 * Where dumps go: a folder; a name with %n (number), %t (time, UTC), %w (which kind of trigger); or NAME.gasp, from
 * which NAME-1.gasp and so on are made. Without one it is the current folder. The path stays the caller's. NULL, or
 * what is wrong with it, in words.
 */
const char *flight_set_path(struct flight_options *options, const char *path);

struct flight;

/* All of them stay the caller's and must outlive it. 0 or -errno, said. */
int flight_new(struct flight **flight, const struct flight_options *options, const struct caller *caller,
	       struct definitions *d, struct capture_session *capture);
/* Waits for a dump that is being written. */
void flight_free(struct flight *flight);
/* Takes the capture's spans. */
struct span_sink flight_sink(struct flight *flight);
/* A process has ended, as capture_events tells it. NULL does nothing, here and below. */
void flight_process_ended(struct flight *flight, pid_t pid, int exit_code);

/*
 * May this user wish for one? Root and gaspbpf's own user always; others once in --dump-pause, and a quarter of --dumps
 * each, so that one user's wishes leave some to the others. NULL: yes, and it is taken as one of his; else why not, in
 * words, good until the next call.
 */
const char *flight_share(struct flight *flight, uid_t user);
/* Somebody's wish; served with the next flight_step(). Returns a ticket, by which flight_answer() tells of it; never 0.
 */
uint64_t flight_ask(struct flight *flight, const char *who);
/*
 * What became of the wishes up to a ticket: a file, or why there is none. False: nothing new since the last call.
 * `text` is good until the next flight_step().
 */
bool flight_answer(struct flight *flight, uint64_t *ticket, bool *written, const char **text);

/* To be called after each capture_drain(): looks at the calls in progress, begins and ends dumps. */
void flight_step(struct flight *flight);
/* After capture_finish(): what is still asked for is written, and waited for. 0 or -errno where a dump failed. */
int flight_finish(struct flight *flight);

#endif
