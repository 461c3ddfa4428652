/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unfinished.c - a file that is being written: where it does not become whole, it is removed.
 *
 * To remove it on behalf of the caller is too much for a signal handler, so a thread waits for the signals.
 */
#include "cli/unfinished.h"

#include "util/log.h"

static const int interrupts[] = { SIGINT, SIGTERM };

static void *wait_for_interrupt(void *context)
{
	struct unfinished *file = context;
	int number;

	while (sigwait(&file->signals, &number))
		;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	file_give_back(file->path, file->caller, file->fd);
	log_error("%s: interrupted: nothing was written", log_safe(file->path));
	pthread_sigmask(SIG_UNBLOCK, &file->signals, NULL);
	raise(number); /* it ends the program, and who has started it learns of what */
	return NULL;
}

void unfinished_begin(struct unfinished *file, const char *path, const struct caller *caller, int fd)
{
	*file = (struct unfinished){ .path = path, .caller = caller, .fd = fd };
	sigemptyset(&file->signals);
	for (size_t i = 0; i < sizeof(interrupts) / sizeof(*interrupts); i++) {
		struct sigaction is;

		if (!sigaction(interrupts[i], NULL, &is) && is.sa_handler == SIG_DFL)
			sigaddset(&file->signals, interrupts[i]);
	}
	pthread_sigmask(SIG_BLOCK, &file->signals, &file->before);
	file->waits = !pthread_create(&file->thread, NULL, wait_for_interrupt, file);
	if (!file->waits)
		pthread_sigmask(SIG_SETMASK, &file->before, NULL);
}

void unfinished_end(struct unfinished *file, int error)
{
	if (file->waits) {
		pthread_cancel(file->thread);
		pthread_join(file->thread, NULL);
		pthread_sigmask(SIG_SETMASK, &file->before, NULL);
	}
	if (error)
		file_give_back(file->path, file->caller, file->fd);
}
