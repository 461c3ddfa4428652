/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * launchers.h - which processes of a job are no part of it: those that only start others, and those beside it.
 */
#ifndef GASPBPF_OBSERVE_LAUNCHERS_H
#define GASPBPF_OBSERVE_LAUNCHERS_H

#include <stdbool.h>
#include <sys/types.h>

struct job;
struct launchers;
struct process;

/* 0 or -ENOMEM. */
int launchers_new(struct launchers **launchers, struct job *job);
void launchers_free(struct launchers *launchers);

/* A command was started, or a launcher was named: from now on some are left out. Else everything that follows does
 * nothing. */
void launchers_begin(struct launchers *launchers);
/* Is it one, by what it is? False with --all-processes. */
bool launchers_is_one(struct launchers *launchers, const struct process *process);

/* Before the plan takes in what a process maps. */
enum admission {
	ADMITTED,
	ADMITTED_LATER, /* ask again when its libraries are mapped */
	NOT_ADMITTED,   /* it is left out */
};
enum moment { AT_BIRTH, LOADING, SETTLED };
enum admission launchers_admit(struct launchers *launchers, pid_t pid, enum moment moment);
/* The plan knows what the process maps. With that it may be left out, or others because of it. True: it is observed. */
bool launchers_looked(struct launchers *launchers, pid_t pid, enum moment moment);
/* Are some left out? */
bool launchers_active(const struct launchers *launchers);
void launchers_ended(struct launchers *launchers, pid_t pid);
/* The observation is over: those that turned out to be no part of the job are left out. */
void launchers_finish(struct launchers *launchers);
/* Is its program made to trace others? */
bool launchers_traces(struct launchers *launchers, pid_t pid);

#endif
