/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * files.h - files that change while they have probes.
 */
#ifndef GASPBPF_OBSERVE_FILES_H
#define GASPBPF_OBSERVE_FILES_H

#include "probe/probe.h"

struct file_watch;

/* What somebody has to do where the probes of a file are out. The image is the plan's. */
struct file_events {
	/* It has been written over: its probes are to come out, they were meant for what was there before. That it
	 * happened has been said. */
	void (*changed)(void *context, struct image *image);
	/* Asked by file_watch_sweep(), of a file that was deleted: does anybody who is observed map it? In doubt yes.
	 */
	bool (*in_use)(void *context, const struct image *image);
	/* Nobody does: its probes are to come out. */
	void (*deleted)(void *context, struct image *image);
	void *context;
};

/* 0 or -errno, not said. */
int file_watch_new(struct file_watch **watch, const struct file_events *events);
void file_watch_free(struct file_watch *watch);
int file_watch_fd(const struct file_watch *watch); /* readable when there is something to read */
/* Watches those files with probes that the plan has got since the last time. 0 or -ENOMEM. */
int file_watch_take(struct file_watch *watch, const struct plan *plan);
/* The plan is about to be freed. */
void file_watch_forget(struct file_watch *watch);
/* Tells of files that have changed. */
void file_watch_read(struct file_watch *watch);
/* Is there reason for a sweep? One was deleted; or some were found deleted and in use, and then somebody left. */
bool file_watch_is_due(const struct file_watch *watch);
void file_watch_left(struct file_watch *watch); /* Somebody who may have mapped some has ended. */
/* Tells of those that were deleted and that nobody maps. */
void file_watch_sweep(struct file_watch *watch);

#endif
