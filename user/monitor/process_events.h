/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process_events.h - what the kernel tells of all processes of the machine. Private to user/monitor; process_events.c
 * has the method.
 */
#ifndef GASPBPF_MONITOR_PROCESS_EVENTS_H
#define GASPBPF_MONITOR_PROCESS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct news;

/* A file that a process has mapped as code. */
struct news_file {
	uint64_t device, inode,
		generation; /* generation: tells files apart that had the same inode one after the other; may be 0 */
	const char *path;   /* as the process sees it, good until the handler returns */
};

/* Times are ns, CLOCK_MONOTONIC. Each handler is called from news_read(). */
struct news_handlers {
	void (*mapped)(void *context, pid_t pid, const struct news_file *file, uint64_t time);
	void (*named)(void *context, pid_t pid,
		      bool execed); /* the process has another name; execed: for it is another program */
	void (*ended)(void *context, pid_t pid, pid_t tid, uint64_t time); /* a thread */
	void (*lost)(void *context); /* some news did not fit: everything may have happened */
	void *context;
};

/* From here on news are kept. 0 or -errno, said. */
int news_open(struct news **news, const struct news_handlers *handlers);
void news_close(struct news *news);
/* Readable when there is news. */
int news_fd(const struct news *news);
/* Tells everything that is there. */
void news_read(struct news *news);

#endif
