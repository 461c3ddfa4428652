/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dismiss.c - takes out probes of processes and files that have gone, in the background.
 *
 * A process with links of its own leaves them behind when it ends, and each makes every hit at its sites dearer for all
 * others, and holds a descriptor. So they are removed as processes end. But removing a link waits for the kernel's
 * grace periods, tens of milliseconds on every rung, and a job may end a hundred processes in that time. So threads do
 * it that wait for nothing else; those waits overlap. Where processes end faster than even that, the queue has an end:
 * who puts more into it waits for a place, or descriptors would become more and more.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/kernel_private.h"
#include "util/array.h"
#include "util/log.h"

#define CLOSERS 32
#define QUEUE_MOST 2048 /* links */

struct dismissal {
	struct kernel *kernel;
	pthread_mutex_t lock;
	pthread_cond_t more, fewer;
	struct held_link *links;
	size_t count, room;
	size_t closing; /* being closed just now */
	bool end;
	pthread_t threads[CLOSERS];
	unsigned nthreads;
};

static void *close_dismissed(void *context)
{
	struct dismissal *d = context;

	pthread_mutex_lock(&d->lock);
	for (;;) {
		struct held_link link;

		while (!d->count && !d->end)
			pthread_cond_wait(&d->more, &d->lock);
		if (!d->count)
			break;
		link = d->links[--d->count];
		d->closing++;
		pthread_cond_signal(&d->fewer);
		pthread_mutex_unlock(&d->lock);
		apart_close(link.fd);
		held_gone(d->kernel, link.set, true);
		pthread_mutex_lock(&d->lock);
		d->closing--;
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

static struct dismissal *dismissal_of(struct kernel *kernel)
{
	struct dismissal *d = kernel->dismissal;

	if (d)
		return d;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->kernel = kernel;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->more, NULL);
	pthread_cond_init(&d->fewer, NULL);
	while (d->nthreads < CLOSERS && !pthread_create(&d->threads[d->nthreads], NULL, close_dismissed, d))
		d->nthreads++;
	kernel->dismissal = d;
	return d;
}

static void close_now(struct kernel *kernel, struct held_link link)
{
	apart_close(link.fd);
	held_gone(kernel, link.set, true);
}

static void dismiss(struct kernel *kernel, struct held_link link)
{
	struct dismissal *d = dismissal_of(kernel);

	held_leaves(kernel, link.set);
	if (!d || !d->nthreads) {
		close_now(kernel, link);
		return;
	}
	pthread_mutex_lock(&d->lock);
	while (d->count >= QUEUE_MOST)
		pthread_cond_wait(&d->fewer, &d->lock);
	if (array_one_more(&d->links, &d->room, d->count, sizeof(*d->links))) {
		pthread_mutex_unlock(&d->lock);
		close_now(kernel, link);
		return;
	}
	d->links[d->count++] = link;
	pthread_cond_signal(&d->more);
	pthread_mutex_unlock(&d->lock);
}

void dismiss_wait(struct kernel *kernel)
{
	struct dismissal *d = kernel->dismissal;

	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	d->end = true;
	pthread_cond_broadcast(&d->more);
	pthread_mutex_unlock(&d->lock);
	for (unsigned i = 0; i < d->nthreads; i++)
		pthread_join(d->threads[i], NULL);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->more);
	free(d->links);
	free(d);
	kernel->dismissal = NULL;
}

bool dismiss_done(struct kernel *kernel)
{
	struct dismissal *d = kernel->dismissal;
	bool done = true;

	if (!d)
		return true;
	pthread_mutex_lock(&d->lock);
	done = !d->count && !d->closing;
	pthread_mutex_unlock(&d->lock);
	return done;
}

/* Dismisses those of the links that are so. How many that were. */
static size_t dismiss_those(struct kernel *kernel, bool (*is)(const struct held_link *link, uint32_t number),
			    uint32_t number)
{
	size_t kept = 0, all = kernel->nlinks;

	for (size_t i = 0; i < all; i++) {
		if (is(&kernel->links[i], number))
			dismiss(kernel, kernel->links[i]);
		else
			kernel->links[kept++] = kernel->links[i];
	}
	kernel->nlinks = kept;
	return all - kept;
}

static bool is_of_site(const struct held_link *link, uint32_t site)
{
	return link->site == site;
}

static bool is_of_process(const struct held_link *link, uint32_t pid)
{
	return link->pid == (pid_t)pid;
}

static bool is_of_calls(const struct held_link *link, uint32_t pid)
{
	return link->pid == (pid_t)pid && link->probes;
}

static bool is_withdrawn(const struct held_link *link, uint32_t number)
{
	return link->withdraws;
}

size_t dismiss_site(struct kernel *kernel, uint32_t site)
{
	return dismiss_those(kernel, is_of_site, site);
}

void dismiss_withdrawn(struct kernel *kernel)
{
	dismiss_those(kernel, is_withdrawn, 0);
}

void attach_remove_process(struct kernel *kernel, pid_t pid)
{
	dismiss_those(kernel, is_of_process, (uint32_t)pid);
}

bool attach_remove_calls(struct kernel *kernel, pid_t pid)
{
	return dismiss_those(kernel, is_of_calls, (uint32_t)pid) > 0;
}

/* Not in the background: the breakpoints must be gone before anybody runs over them. */
static void remove_image(struct kernel *kernel, const struct image *image)
{
	size_t kept = 0;

	for (size_t i = 0; i < kernel->nlinks; i++) {
		struct held_link link = kernel->links[i];

		if (link.file_fd != image->fd) { /* those that stay come first */
			kernel->links[i] = kernel->links[kept];
			kernel->links[kept++] = link;
		}
	}
	link_remove_from(kernel, kept, NULL);
}

void attach_forget_image(struct kernel *kernel, struct image *image)
{
	remove_image(kernel, image);
	image->device = image->inode = 0;
}

bool attach_needs_own(const struct plan *plan, const struct attach_scope *scope)
{
	for (size_t i = 0; i < plan->nsites; i++) {
		const struct site *site = &plan->sites[i];
		bool takes_part = false;

		for (size_t m = 0; m < plan->nchosen && !takes_part; m++)
			takes_part = plan->chosen[m] == site->function->model;
		if (takes_part && site->image->inode && !attach_for_everybody(plan, site->image, scope))
			return true;
	}
	return false;
}

static bool has_linker(const struct kernel *kernel, const struct image *image, pid_t pid)
{
	for (size_t i = 0; i < kernel->nlinks; i++)
		if (!kernel->links[i].probes && kernel->links[i].pid == pid && kernel->links[i].file_fd == image->fd)
			return true;
	return false;
}

int attach_linker(struct kernel *kernel, const struct plan *plan, const struct process *process)
{
	struct linker_signs *signs = &kernel->signs;
	int err;

	for (size_t m = 0; m < process->nmappings; m++) {
		const struct mapping *mapping = &process->mappings[m];
		const struct image *image = mapping->executable && mapping->inode
						    ? plan_image(plan, mapping->device, mapping->inode)
						    : NULL;
		const struct symbol *symbol = image && !image->is_program ? image_symbol(image, "_dl_debug_state")
									  : NULL;
		struct link_request request = {
			.pid = process->pid, .offsets = signs->offsets, .cookies = signs->cookies, .kind = LINK_CALLS
		};

		if (!symbol || !symbol->offset || symbol->ifunc)
			continue;
		if (has_linker(kernel, image, process->pid))
			return 0;
		if (signs->device != image->device || signs->inode != image->inode)
			linker_signs_find(signs, image, symbol);
		if (!signs->count)
			return -ENOENT;
		request.file_fd = image->fd;
		request.count = signs->count;
		err = link_attach_linker(kernel, &request);
		return err ? err : 1;
	}
	return -ENOENT;
}
