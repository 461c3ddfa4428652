/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * private.h - what the files of user/nodes share.
 */
#ifndef GASPBPF_NODES_PRIVATE_H
#define GASPBPF_NODES_PRIVATE_H

#include "nodes/nodes.h"

/* A command line that is put together: its words are its own. */
struct words {
	char **items; /* NULL-terminated */
	size_t count, room;
	bool failed; /* out of memory */
};

void words_add(struct words *words, const char *word);
void words_free(struct words *words);

/* A means of starting a command on nodes; means.c has the table of them. */
struct means {
	const char *program;
	const char *gone[2]; /* how it begins to say that nodes' commands have ended badly, and what stands behind their
				names: "srun: error: n[2-3]: task 1-2: Killed"; NULL: it says nothing */
	bool manager;        /* it is for a job of the resource manager, and knows the job's nodes */
	bool each;           /* one process a node; else one for all of them */
	bool shell;          /* a shell on the node reads what it is told */
	const char *no_input;    /* the last of its words, where the command is to get no input; NULL: none is needed */
	bool no_orders;          /* it brings no input there */
	const char *const *line; /* its words: %j the job, %n the number of nodes, %h their names, joined by commas */
};

/* hosts.c: may this be a list of hosts? */
bool hosts_are_fit(const char *list);

/* By its name, or where that is NULL the first one that is installed and fits; NULL: none, said. */
const struct means *means_find(const char *name, bool manager);
/* The whole command line for these nodes; `orders`: what we write to it is to reach the command. */
void means_words(const struct means *means, struct words *words, const char *job, char *const *hosts, size_t count,
		 char *const *command, bool orders);
/* The nodes of a job, as its manager tells. 0 or -errno, said. */
int means_ask_hosts(struct hosts *hosts, char **job);

/* At which a launcher listens. */
struct ports {
	unsigned *numbers;
	size_t count, room;
};

/* launched.c: may a command line (words with a NUL behind each, and one more at `size`; it is changed) be a remote
 * shell that starts a daemon, which is to answer at one of these ports? Then *host is in the text, or at its end, and
 * *answer HOST:PORT, malloc'ed. */
bool launched_read(char *text, size_t size, const struct ports *ports, const char **host, char **answer);

/* start.c: runs a command as a child, with its output and errors for us to read, and its input for us to write (in
 * NULL: it has none). 0 or -errno, said. */
int start_command(char *const *argv, pid_t *pid, int *in, int *out, int *errors);
/* Runs one to its end, and gives what it has written; malloc'ed. NULL: it has failed, said. */
char *output_of(char *const *argv);

#endif
