/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * files.c - files that change while they have probes.
 *
 * A probe belongs to a place in a file, and the kernel arms it in whoever maps the file later: with other contents that
 * is a breakpoint in the midst of some instruction, and harm. Packages put a new file in the place of the old one, but
 * cp writes into it, and in months somebody does. So each file with probes is watched (inotify), and at the first write
 * its probes come out. Whoever maps it from then on has a new file.
 *
 * And a file that has been deleted would still take its room on the disk, and keep its file system busy, for as long as
 * it has probes: where no process that is observed maps it any more, it is let go.
 */
#include "observe/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/array.h"
#include "util/log.h"

struct watched_file {
	int wd;
	struct image *image;
};

struct file_watch {
	struct file_events events;
	int inotify;
	struct watched_file *files;
	size_t nfiles, room;
	size_t images_seen; /* of the plan: watched, or without probes */
	bool some_deleted;  /* there is reason for a sweep */
	size_t deleted;     /* files that were, and are in use: by the last sweep */
};

int file_watch_new(struct file_watch **result, const struct file_events *events)
{
	struct file_watch *w = calloc(1, sizeof(*w));

	*result = w;
	if (!w)
		return -ENOMEM;
	w->events = *events;
	w->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return w->inotify < 0 ? -errno : 0;
}

void file_watch_free(struct file_watch *w)
{
	if (!w)
		return;
	if (w->inotify >= 0)
		close(w->inotify);
	free(w->files);
	free(w);
}

int file_watch_fd(const struct file_watch *w)
{
	return w->inotify;
}

int file_watch_take(struct file_watch *w, const struct plan *plan)
{
	for (; w->inotify >= 0 && w->images_seen < plan->nimages; w->images_seen++) {
		struct image *image = plan->images[w->images_seen];
		char path[40];
		int wd;

		if (!plan_has_sites(plan, NULL, image))
			continue;
		if (array_one_more(&w->files, &w->room, w->nfiles, sizeof(*w->files)))
			return -ENOMEM;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", image->fd);
		wd = inotify_add_watch(w->inotify, path, IN_MODIFY | IN_ATTRIB);
		if (wd < 0)
			log_warn("%s: is not watched: %s: do not write over it while it has probes",
				 log_safe(image->path), strerror(errno));
		else
			w->files[w->nfiles++] = (struct watched_file){ wd, image };
	}
	return 0;
}

void file_watch_forget(struct file_watch *w)
{
	while (w->nfiles)
		inotify_rm_watch(w->inotify, w->files[--w->nfiles].wd);
	w->images_seen = 0;
}

/* It is a file that nobody knows from now on. */
static struct image *let_go(struct file_watch *w, size_t i)
{
	struct image *image = w->files[i].image;

	inotify_rm_watch(w->inotify, w->files[i].wd);
	w->files[i] = w->files[--w->nfiles];
	return image;
}

static void let_go_changed(struct file_watch *w, int wd)
{
	for (size_t i = 0; i < w->nfiles; i++) {
		if (w->files[i].wd != wd)
			continue;
		log_warn("%s: was written over while it was observed: its probes are out, they were meant for what "
			 "was there before; programs that are "
			 "started from now on are observed again",
			 log_safe(w->files[i].image->path));
		w->events.changed(w->events.context, let_go(w, i));
		return;
	}
}

void file_watch_read(struct file_watch *w)
{
	char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t got;

	while (w->inotify >= 0 && (got = read(w->inotify, buffer, sizeof(buffer))) > 0) {
		for (char *at = buffer; at < buffer + got;) {
			const struct inotify_event *event = (const void *)at;

			if (event->mask & IN_MODIFY)
				let_go_changed(w, event->wd);
			w->some_deleted |= (event->mask & IN_ATTRIB) != 0; /* maybe */
			at += sizeof(*event) + event->len;
		}
	}
}

bool file_watch_is_due(const struct file_watch *w)
{
	return w->some_deleted;
}

void file_watch_left(struct file_watch *w)
{
	w->some_deleted |= w->deleted > 0;
}

static bool is_deleted(const struct image *image)
{
	struct stat file;

	return !fstat(image->fd, &file) && !file.st_nlink;
}

void file_watch_sweep(struct file_watch *w)
{
	w->some_deleted = false;
	w->deleted = 0;
	for (size_t i = 0; i < w->nfiles;) {
		struct image *image = w->files[i].image;
		bool deleted = is_deleted(image);

		if (!deleted || w->events.in_use(w->events.context, image)) {
			w->deleted += deleted;
			i++;
			continue;
		}
		log_info("%s: has been deleted, and nobody maps it any more: its probes are out",
			 log_safe(image->path));
		w->events.deleted(w->events.context, let_go(w, i));
	}
}
