/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/part_sent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/log.h"

#define TRIES 100

/* One that is new has no files of anybody in it. */
static int make_folder(struct part_sent *sent)
{
	const char *where = getenv("TMPDIR");
	int err = -EEXIST;

	where = where && *where == '/' ? where : "/tmp";
	for (int i = 0; err == -EEXIST && i < TRIES; i++) {
		uint64_t number;

		free(sent->folder);
		sent->folder = NULL;
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -EIO;
		if (asprintf(&sent->folder, "%s/gaspbpf-%016llx", where, (unsigned long long)number) < 0) {
			sent->folder = NULL;
			return -ENOMEM;
		}
		err = folder_create(sent->folder, &sent->caller);
	}
	if (!err)
		return 0;
	log_error("%s: cannot be made: %s: set TMPDIR to a folder with space", log_safe(sent->folder), strerror(-err));
	free(sent->folder);
	sent->folder = NULL;
	return err;
}

/* --- who cleans up ---------------------------------------------------------------- */

static void clean(const struct part_sent *sent)
{
	struct stat there;

	if (!lstat(sent->recording, &there))
		file_remove_same(sent->recording, &sent->caller, &there);
	folder_remove(sent->folder, &sent->caller);
}

/* In the child: of what its parent has open it keeps the pipe. */
static void wait_and_clean(const struct part_sent *sent, int pipe)
{
	sigset_t all;
	char told;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL); /* ^C is for who has started it */
	prctl(PR_SET_NAME, "gaspbpf-cleaner");
	if (dup2(pipe, 0) == 0 && !syscall(SYS_close_range, 1, ~0u, 0u))
		while (read(0, &told, 1) < 0 && errno == EINTR)
			;
	clean(sent);
	_exit(0);
}

/* At the end we may not have the right to, or have been killed. */
static int start_cleaner(struct part_sent *sent)
{
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	sent->cleaner = fork();
	if (!sent->cleaner)
		wait_and_clean(sent, ends[0]);
	err = sent->cleaner < 0 ? -errno : 0;
	close(ends[0]);
	sent->clean = ends[1];
	if (err)
		sent->cleaner = 0;
	return err;
}

int part_sent_open(struct part_sent *sent, const char *node)
{
	int err = caller_find(&sent->caller) ?: make_folder(sent);

	sent->clean = -1;
	if (!err && asprintf(&sent->recording, "%s/%s.gasp", sent->folder, node) < 0) {
		sent->recording = NULL;
		folder_remove(sent->folder, &sent->caller);
		err = -ENOMEM;
	}
	if (err)
		return err;
	err = start_cleaner(sent);
	if (err)
		clean(sent);
	return err;
}

bool part_sent_ask(struct part_sent *sent, struct part_orders *orders)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };

	while (!sent->ended && poll(&fd, 1, 0) > 0) {
		ssize_t n = read(STDIN_FILENO, sent->text + sent->size, sizeof(sent->text) - 1 - sent->size);
		size_t taken;

		sent->ended = !n || (n < 0 && errno != EINTR && errno != EAGAIN);
		if (n <= 0)
			break;
		sent->size += n;
		sent->text[sent->size] = 0;
		taken = part_take_orders(sent->text, orders);
		sent->size -= taken;
		memmove(sent->text, sent->text + taken, sent->size);
		if (sent->size == sizeof(sent->text) - 1)
			sent->size = 0; /* no order is so long */
	}
	return !sent->ended;
}

bool part_sent_send(const struct part_sent *sent, const char *node)
{
	int fd = file_open_to_read(sent->recording);
	bool whole = fd >= 0 && part_hand_over_file(node, fd);

	if (!whole)
		log_error("the recording cannot be sent: %s", strerror(fd < 0 ? -fd : errno));
	if (fd >= 0)
		close(fd);
	return whole;
}

void part_sent_free(struct part_sent *sent)
{
	char now = 0;

	if (sent->cleaner && write(sent->clean, &now, 1) == 1) /* others of ours may hold the pipe, too */
		while (waitpid(sent->cleaner, NULL, 0) < 0 && errno == EINTR)
			;
	if (sent->clean >= 0)
		close(sent->clean);
	free(sent->recording);
	free(sent->folder);
	caller_free(&sent->caller);
}
