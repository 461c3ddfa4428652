/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keeper.c - files that are made and removed, and processes that are ended, by another process.
 */
#include "util/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/log.h"
#include "util/messages.h"
#include "util/privileges.h"

#define KEEPER_NAME "gaspbpf-keeper"
#define PIDFDS 3 /* the first of the processes' pidfds */
#define HIGH 64  /* descriptors are parked from here on while those are arranged */

enum keeper_what { CREATE, REMOVE, END, TAKE_PLACE, DROP_NEW };

struct keeper_request {
	uint32_t what;
	int32_t pid;
	char path[PATH_MAX];
};

static struct {
	pid_t owner, pid; /* who asks; who is asked, 0: nobody */
	int channel;
} keeper;

/* --- the keeper ----------------------------------------------------------- */

/* What it was told at its start, by which file that is: a name may lead elsewhere later. */
struct kept {
	const struct keeping *keeping;
	size_t nfolders, nfiles;
	struct stat *folders, *files;
};

static size_t count(const char *const *paths)
{
	size_t n = 0;

	while (paths[n])
		n++;
	return n;
}

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_ino && a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

static bool note(struct kept *kept, const struct keeping *keeping)
{
	*kept = (struct kept){ .keeping = keeping,
			       .nfolders = count(keeping->folders),
			       .nfiles = count(keeping->files) };
	kept->folders = calloc(kept->nfolders + 1, sizeof(*kept->folders));
	kept->files = calloc(kept->nfiles + 1, sizeof(*kept->files));
	if (!kept->folders || !kept->files)
		return false;
	for (size_t i = 0; i < kept->nfolders; i++)
		if (stat(keeping->folders[i], &kept->folders[i]))
			kept->folders[i] = (struct stat){ 0 };
	for (size_t i = 0; i < kept->nfiles; i++)
		if (lstat(keeping->files[i], &kept->files[i]))
			kept->files[i] = (struct stat){ 0 };
	return true;
}

static bool is_named_so(const char *path, const char *suffix)
{
	const char *name = path_base(path);
	size_t length = strlen(name), end = strlen(suffix);

	return *name != '.' && length > end && !strcmp(name + length - end, suffix);
}

static bool may_create(const struct kept *kept, const char *path)
{
	char *folder = is_named_so(path, kept->keeping->suffix) ? path_folder(path) : NULL;
	struct stat there;
	bool found = false, is = folder && !stat(folder, &there);

	for (size_t i = 0; is && !found && i < kept->nfolders; i++)
		found = same(&there, &kept->folders[i]);
	free(folder);
	return found;
}

/* What is left is ours, the others are the caller's. */
static int remove_kept(const struct kept *kept, const char *path)
{
	const struct keeping *k = kept->keeping;

	for (size_t i = 0; i < kept->nfiles; i++)
		if (!strcmp(path, k->files[i]))
			return file_remove_same(path, k->files[i] == k->left ? NULL : k->caller, &kept->files[i]);
	return -EPERM;
}

static int create(const struct kept *kept, const char *path)
{
	if (may_create(kept, path))
		return file_create_new(path, kept->keeping->caller);
	log_error("%s: cannot be made: this run's files have other places or names", log_safe(path));
	return -EPERM;
}

/* Is it a file that was named at the start, in a folder that was, too? */
static bool may_replace(const struct kept *kept, const char *path)
{
	bool found = false;

	for (size_t i = 0; i < kept->nfiles && !found; i++)
		found = kept->keeping->files[i] != kept->keeping->left && !strcmp(path, kept->keeping->files[i]);
	return found && may_create(kept, path);
}

static int take_place(const struct kept *kept, const char *path)
{
	return may_replace(kept, path) ? file_take_place(path, kept->keeping->caller) : -EPERM;
}

static int drop_new(const struct kept *kept, const char *path)
{
	size_t length = strlen(path), end = strlen(FILE_NEW);
	char old[PATH_MAX];

	if (length <= end || strcmp(path + length - end, FILE_NEW))
		return -EPERM;
	snprintf(old, sizeof(old), "%.*s", (int)(length - end), path);
	return may_replace(kept, old) ? file_drop_new(path, kept->keeping->caller) : -EPERM;
}

/* By its pidfd it is known to be the same one; its number is nobody else's as long as it is not collected. 0 or an
 * errno. */
static int send_signal(const struct kept_process *process, int pidfd, int signal)
{
	if (syscall(SYS_pidfd_send_signal, pidfd, process->group ? 0 : signal, NULL, 0))
		return errno;
	if (process->group) {
		kill(-process->pid, signal);
		kill(process->pid, signal); /* it may not have become the group's leader yet */
	}
	return 0;
}

/* It is the caller's; or root's, where sudo was not used, or was used once more. 0 or -errno. */
static int signal_kept(const struct kept *kept, size_t which, int signal)
{
	const struct caller *caller = kept->keeping->caller;
	const struct kept_process *process = &kept->keeping->processes[which];
	int status = 0, error = send_signal(process, PIDFDS + (int)which, signal);
	pid_t child;

	if (error != EPERM || !caller->uid)
		return -error;
	child = fork();
	if (!child)
		_exit(setresgid(caller->gid, caller->gid, caller->gid) ||
				      setresuid(caller->uid, caller->uid, caller->uid)
			      ? EPERM
			      : send_signal(process, PIDFDS + (int)which, signal));
	if (child < 0)
		return -errno;
	while (waitpid(child, &status, __WALL) < 0 && errno == EINTR)
		;
	return -WEXITSTATUS(status);
}

static int end_kept(const struct kept *kept, pid_t pid)
{
	for (size_t i = 0; i < kept->keeping->nprocesses; i++)
		if (kept->keeping->processes[i].pid == pid)
			return signal_kept(kept, i, kept->keeping->processes[i].signal);
	return -EPERM;
}

static void tell_orphans(const struct kept *kept)
{
	for (size_t i = 0; i < kept->keeping->nprocesses; i++)
		if (kept->keeping->processes[i].orphaned)
			signal_kept(kept, i, kept->keeping->processes[i].orphaned);
}

static void serve(const struct kept *kept, int channel)
{
	struct keeper_request request;
	int came;

	while (pass_receive(channel, &request, sizeof(request), &came) == sizeof(request)) {
		int32_t result = -EPERM;
		int made = -1;

		request.path[PATH_MAX - 1] = '\0';
		if (came >= 0)
			close(came);
		if (request.what == REMOVE)
			result = remove_kept(kept, request.path);
		else if (request.what == CREATE)
			result = made = create(kept, request.path);
		else if (request.what == END)
			result = end_kept(kept, request.pid);
		else if (request.what == TAKE_PLACE)
			result = take_place(kept, request.path);
		else if (request.what == DROP_NEW)
			result = drop_new(kept, request.path);
		if (pass_send(channel, &result, sizeof(result), made) <= 0)
			return;
		if (made >= 0)
			close(made);
	}
}

/* In the child: of what its parent has open it keeps the channel, where errors are said, and the processes. */
static bool arrange_descriptors(int channel, int *pidfds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((pidfds[i] = fcntl(pidfds[i], F_DUPFD, HIGH)) < 0)
			return false;
	if (dup2(channel, 0) != 0 || dup2(STDERR_FILENO, 1) != 1)
		return false;
	for (size_t i = 0; i < count; i++)
		if (dup2(pidfds[i], PIDFDS + (int)i) < 0)
			return false;
	return !syscall(SYS_close_range, PIDFDS + (unsigned)count, ~0u, 0u);
}

static int become_keeper(const struct keeping *keeping, int channel, int *pidfds)
{
	struct kept kept;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL); /* ^C is for who started it */
	prctl(PR_SET_NAME, KEEPER_NAME);
	keeper.pid = 0;
	if (!arrange_descriptors(channel, pidfds, keeping->nprocesses))
		return 1;
	if (!note(&kept, keeping) || !keep_privileges_for_files(keeping->folders, keeping->caller))
		return 1;
	if (pass_send(0, &(int32_t){ 0 }, sizeof(int32_t), -1) <= 0)
		return 1;
	serve(&kept, 0);
	tell_orphans(&kept);
	if (keeping->left)
		remove_kept(&kept, keeping->left);
	return 0;
}

/* --- who asks it ---------------------------------------------------------- */

static void end_with_us(void)
{
	if (!keeper.pid || keeper.owner != getpid())
		return;
	close(keeper.channel);
	while (waitpid(keeper.pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	keeper.pid = 0;
}

static int32_t receive(int *made)
{
	int32_t result;
	ssize_t got = pass_receive(keeper.channel, &result, sizeof(result), made);

	return got == sizeof(result) ? result : got < 0 ? (int32_t)got : -EPIPE;
}

static void close_all(const int *descriptors, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(descriptors[i]);
}

/* They are our children, whose numbers are theirs until we have collected them. */
static int open_pidfds(const struct keeping *keeping, int *pidfds)
{
	if (keeping->nprocesses > KEPT_MOST)
		return -E2BIG;
	for (size_t i = 0; i < keeping->nprocesses; i++) {
		pidfds[i] = (int)syscall(SYS_pidfd_open, keeping->processes[i].pid, 0);
		if (pidfds[i] >= 0)
			continue;
		close_all(pidfds, i);
		return -errno;
	}
	return 0;
}

static int start_keeper(const struct keeping *keeping, int *pidfds)
{
	int ends[2], nothing, error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	keeper.owner = getpid();
	keeper.pid = fork();
	if (!keeper.pid)
		_exit(become_keeper(keeping, fcntl(ends[1], F_DUPFD, HIGH), pidfds));
	error = keeper.pid < 0 ? -errno : 0;
	close(ends[1]);
	keeper.channel = ends[0];
	if (!error) {
		atexit(end_with_us);
		error = receive(&nothing); /* it has noted all */
	}
	if (!error)
		return 0;
	end_with_us();
	keeper.pid = 0;
	return error;
}

int keeper_start(const struct keeping *keeping)
{
	int pidfds[KEPT_MOST], error = open_pidfds(keeping, pidfds);

	if (error)
		return error;
	error = start_keeper(keeping, pidfds);
	close_all(pidfds, keeping->nprocesses);
	return error;
}

bool keeper_is_there(void)
{
	return keeper.pid > 0;
}

static int32_t ask(uint32_t what, const char *path, pid_t pid, int *made)
{
	struct keeper_request request = { .what = what, .pid = pid };
	ssize_t sent;

	*made = -1;
	if (strlen(path) >= sizeof(request.path))
		return -ENAMETOOLONG;
	strcpy(request.path, path);
	sent = pass_send(keeper.channel, &request, sizeof(request), -1);
	return sent < 0 ? (int32_t)sent : receive(made);
}

int keeper_create_new(const char *path)
{
	int made, result = ask(CREATE, path, 0, &made);

	if (result == -EPIPE || result == -ECONNRESET)
		log_error("%s: cannot be made: what makes files for this run (" KEEPER_NAME
			  ") has ended: start it again",
			  log_safe(path));
	if (result < 0 && made >= 0)
		close(made);
	return result < 0 ? result : made < 0 ? -EMFILE : made;
}

/* What comes with no descriptor. */
static int ask_simply(uint32_t what, const char *path)
{
	int made, result = ask(what, path, 0, &made);

	if (made >= 0)
		close(made);
	return result;
}

void keeper_remove(const char *path)
{
	ask_simply(REMOVE, path);
}

int keeper_take_place(const char *path)
{
	return ask_simply(TAKE_PLACE, path);
}

int keeper_drop_new(const char *path)
{
	return ask_simply(DROP_NEW, path);
}

int keeper_end(pid_t pid)
{
	int made, result = ask(END, "", pid, &made);

	if (made >= 0)
		close(made);
	return result;
}
