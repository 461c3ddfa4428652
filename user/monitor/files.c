/*
 * files.c - files that are written over while they have probes.
 *
 * A probe belongs to a place in a file, and the kernel arms it in whoever maps the file later: with other contents that is a breakpoint in the midst of
 * some instruction, and harm. Packages put a new file in the place of the old one, but cp writes into it, and in months somebody does. So
 * each file with probes is watched (inotify), and at the first write its probes come out. Whoever maps it from then on has a new file.
 *
 * And a file that has been deleted would still take its room on the disk, and keep its file system busy, for as long as it has probes: where
 * no process that is observed maps it any more, it is let go.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "monitor/private.h"
#include "util/array.h"
#include "util/log.h"

struct watched_file {
	int wd;
	struct image *image;
};

int files_open(struct monitor *m)
{
	struct epoll_event event = { .events = EPOLLIN };

	m->epoll = epoll_create1(EPOLL_CLOEXEC);
	m->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (m->epoll < 0 || m->inotify < 0 || epoll_ctl(m->epoll, EPOLL_CTL_ADD, news_fd(m->news), &event) ||
	    epoll_ctl(m->epoll, EPOLL_CTL_ADD, m->inotify, &event)) {
		log_error("files that change cannot be watched: %s: see the limits of inotify (sysctl fs.inotify)", strerror(errno));
		return -errno;
	}
	return 0;
}

void files_close(struct monitor *m)
{
	if (m->epoll >= 0)
		close(m->epoll);
	if (m->inotify >= 0)
		close(m->inotify);
	free(m->files);
}

int files_watch(struct monitor *m)
{
	for (; m->images_watched < m->plan->nimages; m->images_watched++) {
		struct image *image = m->plan->images[m->images_watched];
		char path[40];
		int wd;

		if (!plans_has_sites(m->plan, image))
			continue;
		if (array_one_more(&m->files, &m->files_room, m->nfiles, sizeof(*m->files)))
			return -ENOMEM;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", image->fd);
		wd = inotify_add_watch(m->inotify, path, IN_MODIFY | IN_ATTRIB);
		if (wd < 0)
			log_warn("%s: is not watched: %s: do not write over it while it has probes", log_safe(image->path), strerror(errno));
		else
			m->files[m->nfiles++] = (struct watched_file){ wd, image };
	}
	return 0;
}

void files_forget(struct monitor *m)
{
	while (m->nfiles)
		inotify_rm_watch(m->inotify, m->files[--m->nfiles].wd);
	m->images_watched = 0;
}

/* Its probes come out; it is a file that nobody knows. */
static void let_go(struct monitor *m, size_t i)
{
	struct image *image = m->files[i].image;

	inotify_rm_watch(m->inotify, m->files[i].wd);
	m->files[i] = m->files[--m->nfiles];
	attach_forget_image(m->kernel, image);
	if (m->options.watcher.changed)
		m->options.watcher.changed(m->options.watcher.context, m, image);
}

static void let_go_changed(struct monitor *m, int wd)
{
	for (size_t i = 0; i < m->nfiles; i++) {
		if (m->files[i].wd != wd)
			continue;
		log_warn("%s: was written over while it was observed: its probes are out, they were meant for what was there before; programs that are "
			 "started from now on are observed again", log_safe(m->files[i].image->path));
		let_go(m, i);
		return;
	}
}

void files_read(struct monitor *m)
{
	char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t got;

	while ((got = read(m->inotify, buffer, sizeof(buffer))) > 0) {
		for (char *at = buffer; at < buffer + got;) {
			const struct inotify_event *event = (const void *)at;

			if (event->mask & IN_MODIFY)
				let_go_changed(m, event->wd);
			m->some_deleted |= (event->mask & IN_ATTRIB) != 0; /* maybe */
			at += sizeof(*event) + event->len;
		}
	}
}

static bool is_deleted(const struct image *image)
{
	struct stat file;

	return !fstat(image->fd, &file) && !file.st_nlink;
}

static bool maps(const struct process *process, const struct image *image)
{
	for (size_t i = 0; i < process->nmappings; i++)
		if (process->mappings[i].inode == image->inode && process->mappings[i].device == image->device)
			return true;
	return false;
}

/* In doubt: yes. */
static bool is_in_use(struct monitor *m, const struct image *image)
{
	struct watched_process *w, *next;

	HASH_ITER(hh, m->processes, w, next) {
		int err = w->process ? process_refresh(w->process) : 0;
		bool used = !w->process || (err ? err != -ESRCH : maps(w->process, image));

		if (w->process && !m->options.spans)
			process_slim(w->process);
		if (used)
			return true;
	}
	return false;
}

void files_sweep(struct monitor *m)
{
	m->some_deleted = false;
	m->deleted = 0;
	for (size_t i = 0; i < m->nfiles;) {
		struct image *image = m->files[i].image;
		bool deleted = is_deleted(image);

		if (!deleted || is_in_use(m, image)) {
			m->deleted += deleted;
			i++;
			continue;
		}
		log_info("%s: has been deleted, and nobody maps it any more: its probes are out", log_safe(image->path));
		let_go(m, i);
		if (!m->options.spans) /* else call sites in it may still be looked up, until all is made anew */
			image_let_go(image);
	}
}
