/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * windows.c - times in which calls of a process were not seen, since its probes were not in yet or came out before its
 * end, become a part of the recording.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"
#include "util/files.h"
#include "util/log.h"

#define WINDOWS_MOST 4096 /* of one run; the account at its end has all of them */
#define SOON 1000000      /* ns; the threads of a process that ends do not all end at once */

/* Which functions are meant: those of a file, or those that were withdrawn from a process (NULL: from whichever). */
struct meant {
	const struct image *image;
	bool withdrawn;
	const struct process *process;
};

static bool is_meant(const struct meant *meant, const struct site *site)
{
	if (!meant->withdrawn)
		return site->image == meant->image;
	return site->withdrawn && site->attached && (!meant->process || process_maps(meant->process, site->image));
}

/* "mpi, openmp": the models of these functions. NULL: there are none. */
static char *models_of(const struct plan *plan, struct meant meant)
{
	char *text = NULL, *longer;

	for (size_t i = 0; i < plan->nsites; i++) {
		const char *name = plan->sites[i].function->model->name;
		bool there = !is_meant(&meant, &plan->sites[i]);

		for (size_t k = 0; k < i && !there; k++)
			there = !strcmp(plan->sites[k].function->model->name, name) &&
				is_meant(&meant, &plan->sites[k]);
		if (there)
			continue;
		if (asprintf(&longer, "%s%s%s", text ?: "", text ? ", " : "", name) < 0)
			break;
		free(text);
		text = longer;
	}
	return text;
}

int capture_add_window(struct capture_session *s, pid_t pid, const struct image *image, uint64_t from, uint64_t to,
		       const char *after)
{
	const struct captured_process *p = session_process(s, pid);
	struct def_window *window;
	uint32_t index = p && s->d->nwindows < WINDOWS_MOST ? definitions_add_window(s->d) : NO_INDEX;

	if (index == NO_INDEX)
		return -ENOMEM;
	window = &s->d->windows[index];
	*window = (struct def_window){
		.process = p->index, .from = from, .to = to, .after = strdup(after), .loader = NO_INDEX
	};
	if (image) {
		window->models = models_of(s->plan, (struct meant){ .image = image });
		window->file = strdup(image->path);
	}
	return 0;
}

void capture_add_window_of_all(struct capture_session *s, uint64_t from, uint64_t to, const char *after)
{
	for (const struct captured_process *p = s->processes.table; p; p = p->hh.next)
		if (!p->ended && p->born < to)
			capture_add_window(s, p->pid, NULL,
					   p->born > from           ? p->born
					   : from > s->d->run.start ? from
								    : s->d->run.start,
					   to, after);
}

/*
 * The kernel asks whose memory the first thread of a link's process has. Where that has ended (pthread_exit() in
 * main()), it has none: so when another observer of a function takes its probe out of it, ours goes as well, and nobody
 * is told. (Linux 6.18: uprobe_multi_link_filter().) It cannot be put in again.
 */
void session_tell_first_thread(struct capture_session *s, const struct captured_process *p, uint64_t time)
{
	if (p->first_left && p->latest > p->first_left + SOON)
		capture_add_window(s, p->pid, NULL, p->first_left, time, WINDOW_FIRST_THREAD);
}

/* To its end. */
static void withdraw_from(struct capture_session *s, const struct captured_process *p, uint64_t since, uint32_t loader,
			  const char *runtime)
{
	char *models = models_of(s->plan, (struct meant){ .withdrawn = true, .process = p->process });
	uint32_t index = models && s->d->nwindows < WINDOWS_MOST ? definitions_add_window(s->d) : NO_INDEX;

	if (index == NO_INDEX) {
		free(models);
		return;
	}
	s->d->windows[index] = (struct def_window){
		.process = p->index,
		.from = since,
		.to = since,
		.models = models,
		.runtime = strdup(runtime),
		.loader = loader,
	};
}

void capture_withdraw(struct capture_session *s, uint64_t since, pid_t pid, const struct image *runtime)
{
	const struct captured_process *loader = session_process(s, pid);
	const char *name = runtime ? path_base(runtime->path) : "its library";
	char *models;

	if (!s->d->run.start) /* nothing of them was seen */
		return;
	for (const struct captured_process *p = s->processes.table; p; p = p->hh.next)
		if (!p->ended)
			withdraw_from(s, p, since, loader ? loader->index : NO_INDEX, name);
	models = models_of(s->plan, (struct meant){ .withdrawn = true });
	if (models)
		log_warn("%s: no more observed from here on: process %d has loaded a parallel runtime (%s), and they "
			 "take part only where there is none, or with -m +MODEL",
			 models, (int)pid, log_safe(name));
	free(models);
}
