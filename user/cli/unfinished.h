/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unfinished.h - a file that is being written: where it does not become whole, it is removed. Private to user/cli.
 */
#ifndef GASPBPF_CLI_UNFINISHED_H
#define GASPBPF_CLI_UNFINISHED_H

#include <pthread.h>
#include <signal.h>

#include "util/files.h"

struct unfinished {
	const char *path;
	const struct caller *caller;
	int fd;
	sigset_t signals, before;
	pthread_t thread;
	bool waits; /* the thread, for one of the signals */
};

/*
 * From now on ^C or SIGTERM removes the file, says so and ends the program. *file must stay where it is until
 * unfinished_end(), and threads that are made meanwhile are not told of these signals.
 */
void unfinished_begin(struct unfinished *file, const char *path, const struct caller *caller, int fd);
/* Signals are again what they were. error: 0 if the file is whole; else it is removed. Before the fd is closed. */
void unfinished_end(struct unfinished *file, int error);

#endif
