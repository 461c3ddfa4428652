/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nodes.h - a command on each node of a job, started by the site's own means, and what comes of it: the door of
 * user/nodes.
 *
 * In this order: nodes_find(), nodes_start(), nodes_serve() again and again, with orders in between; nodes_free(),
 * which ends what still runs.
 */
#ifndef GASPBPF_NODES_H
#define GASPBPF_NODES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "nodes/part.h"
#include "util/buffer.h"

struct means;

struct hosts {
	char **names;
	size_t count, room;
};

/* "n[1-16,20],login"; a name that is there is not added again. 0 or -errno, said. */
int hosts_add(struct hosts *hosts, const char *list);
/* A file with one on each line, as launchers of ranks have them. */
int hosts_read(struct hosts *hosts, const char *path);
void hosts_free(struct hosts *hosts);

/* Where a launcher's ranks are, that has reached its nodes by a remote shell. */
struct launched {
	struct hosts hosts; /* none: it has reached none so */
	char *answer;       /* HOST:PORT, at which it listens: that is on the command lines of its daemons there */
	pid_t *here;        /* ranks that it has on this machine, too */
	size_t nhere;
};

/* 0 or -errno, said; to be freed in any case. */
int launched_find(struct launched *launched, pid_t launcher, const char *const *rank_variables);
/* On a node: adds those that daemons of the one who listens at `answer` have reached from here, each with a line of its
 * own to `names`; only our caller's processes are believed. 0 or -errno, said. */
int launched_further(struct buffer *names, const char *answer);
void launched_free(struct launched *launched);

struct node {
	const char *name; /* of hosts */
	enum part_state state;
	bool lost;             /* it has ended, or was given up, before it was done */
	uint64_t heard;        /* ns, CLOCK_MONOTONIC: when it told something last; 0: never */
	uint64_t began, ended; /* ns, CLOCK_REALTIME; 0: not yet */
	int64_t ahead;         /* ns, of its clock before ours, or somewhat less: what it told took a while to come */
	struct part_news last;
	char *why;            /* the last error that it told; NULL: none */
	uint64_t said;        /* ns, CLOCK_MONOTONIC: when that was */
	struct buffer handed; /* what it has handed over (part_hand_over()), where nobody takes it (nodes->take) */
	uint64_t came, size;  /* bytes that it has handed over; how many it says there are, 0: not said yet */
	uint64_t sending;     /* ns, CLOCK_MONOTONIC: when the last of them came; 0: none did */
	uint32_t sum;         /* of these bytes */
	bool whole;           /* all that it has said there is has come, unchanged */
};

/* Something that a node says, or several the same. */
struct node_word {
	char *text;
	size_t times;
};

/* A pipe of a starter's, and what has come of a line that is not whole. */
struct stream {
	int fd; /* -1: closed */
	char *text;
	size_t size, room;
};

struct starter {
	pid_t pid; /* 0: it has ended, and was collected */
	struct stream out, errors;
	int in;            /* -1: it has none, or it is closed */
	struct node *node; /* the one that it is for; NULL: all of them */
};

struct nodes {
	struct hosts hosts;
	char *job; /* of the resource manager; NULL: none */
	struct launched launched;
	bool here;         /* the last one of the hosts is this machine: no means is needed */
	uint64_t patience; /* ns; so long a node that does not answer is waited for */
	const struct means *means;
	bool orders; /* they get what nodes_tell() tells, where the means brings it there */
	/* What nodes hand over, as it comes; NULL: node->handed keeps it. 0 or -errno, said. */
	int (*take)(void *context, struct node *node, const void *data, size_t size);
	void *context;     /* of take() */
	struct node *list; /* as many as hosts */
	struct starter *starters;
	size_t nstarters;
	struct node_word *words;
	size_t nwords, words_room;
	struct buffer some; /* of the line that is being read */
	int failed;         /* what take() has said since nodes_serve() began */
};

/* The number of the resource manager's job that a launcher is a part of; the caller frees. 0 or -errno, said. NULL: of
 * none. */
int nodes_job_around(pid_t launcher, char **job);
/* The same, of the job that was started from the launcher's session. */
int nodes_job_of(pid_t launcher, char **job);
/* Of this job of the resource manager (NULL: of the hosts that are in nodes->hosts), by this means (NULL: the first
 * that fits). 0 or -errno, said. */
int nodes_find(struct nodes *nodes, const char *job, const char *by);
/* Starts this command on all of them, and the other one on this machine (nodes->here). Where each has a starter of its
 * own, "--node NAME" is added. 0 or -errno, said. */
int nodes_start(struct nodes *nodes, char *const *command, char *const *here);
/* Can it tell them anything so? */
bool nodes_take_orders(const struct nodes *nodes);
/* A line for the standard input of the command on each node. */
void nodes_tell(struct nodes *nodes, const char *line, size_t length);
/* Waits for news, as long as told (ms) or until `wake` can be read (-1: none), and takes them. 0 or -errno, said. */
int nodes_serve(struct nodes *nodes, int wake, int patience);
/* How many are in this state, or beyond; those that were lost later count. */
size_t nodes_in(const struct nodes *nodes, enum part_state state);
/* Is each of them done, or lost? */
bool nodes_over(const struct nodes *nodes);
/* Does any starter run still? */
bool nodes_running(const struct nodes *nodes);
/* Those that are not done are given up, and their starters ended. */
void nodes_give_up(struct nodes *nodes);
/* What several of them have said, on standard error. */
void nodes_say_words(const struct nodes *nodes);
void nodes_free(struct nodes *nodes);

#endif
