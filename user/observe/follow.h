/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * follow.h - what comes after the start: children, other programs, libraries loaded later, files that change.
 */
#ifndef GASPBPF_OBSERVE_FOLLOW_H
#define GASPBPF_OBSERVE_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"
#include "probe/probe.h"

struct job;
struct follow;

/* What came later than the start, and what was missed of it. */
struct follow_account {
	size_t processes;        /* that were forked meanwhile */
	size_t late;             /* times that probes came late: after a fork, an exec, a library loaded */
	uint64_t longest, total; /* ns; from then until they were in */
	size_t unseen;           /* times that a process had ended before it could be looked at */
};

/* 0 or -ENOMEM. */
int follow_new(struct follow **follow, struct job *job);
void follow_free(struct follow *follow);
/* What the capture tells while it drains. */
struct capture_events follow_events(struct follow *follow);

/* The process maps something that may be new: plans it and puts the probes in, for all whom they concern. *added: there
 * were some. 0 or -errno. */
int follow_look(struct follow *follow, pid_t pid, bool *added);
/* The process has links of its own from now on, if the plan has any such sites. 0 or -errno (-ESRCH: ended). */
int follow_give_own(struct follow *follow, pid_t pid);
/* It has them no more. */
void follow_take_own(struct follow *follow, pid_t pid);
/* The same of one whose linker is watched on. False: it had none. */
bool follow_take_calls(struct follow *follow, pid_t pid);
/* Tells when the process loads libraries, if its linker says so. at_start: it is observed from the start. True: from
 * now on. */
bool follow_linker(struct follow *follow, pid_t pid, bool at_start);
/* It was forked before forks were told, or by a launcher: as if its fork had been told just now. */
void follow_missed(struct follow *follow, pid_t pid);
/* Readable when a file that is observed has been changed. */
int follow_fd(const struct follow *follow);
/* Takes the probes out of files that have been changed: they were meant for what was there before. */
void follow_changed_files(struct follow *follow);
/* After capture_drain(): does what the events called for. */
void follow_catch_up(struct follow *follow);
struct follow_account follow_account(const struct follow *follow);

#endif
