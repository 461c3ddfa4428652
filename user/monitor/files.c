/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * files.c - files that change while they have probes: what the monitor has to do then (observe/files.c tells of them).
 */
#include <errno.h>
#include <string.h>

#include "monitor/private.h"
#include "observe/wake.h"
#include "util/log.h"

/* Its probes come out; it is a file that nobody knows. */
static void let_go(void *context, struct image *image)
{
	struct monitor *m = context;

	attach_forget_image(m->kernel, image);
	if (m->options.watcher.changed)
		m->options.watcher.changed(m->options.watcher.context, m, image);
}

static void let_go_deleted(void *context, struct image *image)
{
	struct monitor *m = context;

	let_go(m, image);
	if (!m->options.spans) /* else call sites in it may still be looked up, until all is made anew */
		image_let_go(image);
}

static bool maps(const struct process *process, const struct image *image)
{
	for (size_t i = 0; i < process->nmappings; i++)
		if (process->mappings[i].inode == image->inode && process->mappings[i].device == image->device)
			return true;
	return false;
}

/* In doubt: yes. */
static bool is_in_use(void *context, const struct image *image)
{
	struct monitor *m = context;
	struct watched_process *w, *next;

	HASH_ITER (hh, m->processes, w, next) {
		int err = w->process ? process_refresh(w->process) : 0;
		bool used = !w->process || (err ? err != -ESRCH : maps(w->process, image));

		if (w->process && !m->options.spans)
			process_slim(w->process);
		if (used)
			return true;
	}
	return false;
}

int files_open(struct monitor *m)
{
	const struct file_events events = {
		.changed = let_go, .in_use = is_in_use, .deleted = let_go_deleted, .context = m
	};
	int err = file_watch_new(&m->files, &events);

	if (!err)
		m->wake = wake_new((int[]){ news_fd(m->news), file_watch_fd(m->files) }, 2);
	if (!err && m->wake < 0)
		err = m->wake;
	if (err)
		log_error("files that change cannot be watched: %s: see the limits of inotify (sysctl fs.inotify)",
			  strerror(-err));
	return err;
}
