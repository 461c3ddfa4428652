/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * archive.c - an export of several files, written by a process of its own.
 */
#include "cli/archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/log.h"
#include "util/privileges.h"

#define ARCHIVE_NAME "gaspbpf-archive"

struct archive {
	pid_t pid;
	int channel; /* an errno, or 0, when it is ready and when it is done; a byte to it: write */
};

/* The process's own. */
struct writer {
	const struct exporter *exporter;
	const char *path;
	const struct archive_source *source;
	int channel;
	int beside; /* the folder in which the output is to be */
	int own;    /* the one that it writes into */
	int spare;
	char *name; /* of `own`, in `beside` */
};

/* --- taking its place -------------------------------------------------------------- */

/* Removes the files of a folder of an earlier archive, and the folder. What has folders in it is none. 0 or -errno. */
static int remove_folder(int beside, const char *name)
{
	int fd = openat(beside, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), error = 0;
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!folder) {
		error = errno ? -errno : -ENOMEM;
		if (fd >= 0)
			close(fd);
		return error;
	}
	while (!error && (entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") && unlinkat(fd, entry->d_name, 0))
			error = -errno;
	closedir(folder);
	return error ?: unlinkat(beside, name, AT_REMOVEDIR) ? -errno : 0;
}

/* A folder with the name of the output itself: is it an earlier archive? -errno: not known. */
static int is_earlier(const struct writer *w, const char *name)
{
	int fd, is;

	if (!w->exporter->is_earlier)
		return 0;
	fd = openat(w->beside, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	is = w->exporter->is_earlier(fd);
	close(fd);
	return is;
}

/* A folder of this name goes only where an archive of this output has made it: 1, if it has or there is none. -errno:
 * not known. */
static int may_go(const struct writer *w, const char *name)
{
	struct stat folder, output;

	if (fstatat(w->beside, name, &folder, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(folder.st_mode))
		return 1;
	if (!strcmp(name, path_base(w->path)))
		return is_earlier(w, name);
	return !fstatat(w->beside, path_base(w->path), &output, AT_SYMLINK_NOFOLLOW) && S_ISREG(output.st_mode) &&
	       output.st_size;
}

static int may_take_place(const struct writer *w, const char *name)
{
	int may = may_go(w, name);

	if (may > 0)
		return 0;
	if (may < 0)
		log_error(
			"%s: there is a folder %s, and whether it is an earlier one of these cannot be told: %s: choose "
			"another name",
			log_safe(w->path), log_safe(name), strerror(-may));
	else
		log_error("%s: there is a folder %s, of no archive of that name: choose another name",
			  log_safe(w->path), log_safe(name));
	return -EEXIST;
}

static int take_place(const struct writer *w, const char *name)
{
	struct stat there;
	int error = 0;

	if (!fstatat(w->beside, name, &there, AT_SYMLINK_NOFOLLOW) && S_ISDIR(there.st_mode))
		error = remove_folder(w->beside, name);
	if (!error && renameat(w->own, name, w->beside, name))
		error = -errno;
	if (error)
		log_error("%s: %s cannot take its place: %s: choose another name", log_safe(w->path), log_safe(name),
			  strerror(-error));
	return error;
}

/* What was written, as one folder: opened once, so that no lack of memory comes between its entries. NULL: no memory.
 */
static DIR *open_own(const struct writer *w)
{
	int fd = dup(w->own);
	DIR *own = fd < 0 ? NULL : fdopendir(fd);

	if (!own && fd >= 0)
		close(fd);
	return own;
}

static int each_of(const struct writer *w, DIR *own, int (*act)(const struct writer *w, const char *name), bool folders)
{
	struct dirent *entry;
	struct stat found;
	int error = 0;

	rewinddir(own);
	while (!error && (entry = readdir(own))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    fstatat(w->own, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(found.st_mode) == folders)
			continue;
		error = act(w, entry->d_name);
	}
	return error;
}

/* Folders first: what they are depends on whether the output is there. */
static int each_entry(const struct writer *w, int (*act)(const struct writer *w, const char *name))
{
	DIR *own = open_own(w);
	int error = own ? each_of(w, own, act, true) : -ENOMEM;

	error = error ?: each_of(w, own, act, false);
	if (own)
		closedir(own);
	return error;
}

static int drop(const struct writer *w, const char *name)
{
	if (unlinkat(w->own, name, 0))
		remove_folder(w->own, name);
	return 0;
}

static void clean_up(struct writer *w)
{
	if (w->own < 0)
		return;
	each_entry(w, drop);
	unlinkat(w->beside, w->name, AT_REMOVEDIR);
}

/* --- the process ------------------------------------------------------------------- */

static int say_not_made(const struct writer *w, int error)
{
	log_error("%s: no folder can be made beside it: %s: choose another place", log_safe(w->path), strerror(error));
	return -error;
}

/* Where the output is to be, which may be a folder itself; malloc'ed, NULL: no memory. */
static char *folder_around(const char *path)
{
	size_t length = path_base(path) - path;

	return length ? strndup(path, length) : strdup(".");
}

/* A folder of its own, in which the process then is. */
static int make_own(struct writer *w)
{
	char *folder = folder_around(w->path);

	if (folder)
		w->beside = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	if (w->beside < 0)
		return say_not_made(w, folder ? errno : ENOMEM);
	if (asprintf(&w->name, ".%s.%d.new", path_base(w->path), getpid()) < 0)
		return -ENOMEM;
	if (mkdirat(w->beside, w->name, 0700))
		return say_not_made(w, errno);
	w->own = openat(w->beside, w->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->own < 0 || fchdir(w->own))
		return say_not_made(w, errno);
	return 0;
}

static int prepare(struct writer *w, const struct caller *caller)
{
	int error;

	if (!geteuid() && caller->uid && !give_up_privileges(caller)) {
		log_error("%s: cannot be written as who called: %s: try again as that user", log_safe(w->path),
			  strerror(errno));
		return -EPERM;
	}
	error = w->exporter->ready ? w->exporter->ready() : 0;
	if (error)
		return error;
	if (w->exporter->needs_spare)
		w->spare = file_temporary();
	if (w->exporter->needs_spare && w->spare < 0)
		return w->spare;
	return make_own(w);
}

static int write_own(struct writer *w)
{
	struct recording *recording = w->source->recording;
	int error = recording ? 0 : recording_open_fd(&recording, w->source->fd, w->source->name);

	if (!error)
		error = w->exporter->write(recording, w->own, w->spare, w->path);
	if (!error)
		error = each_entry(w, may_take_place);
	if (!error)
		error = each_entry(w, take_place);
	return error;
}

static int tell(const struct writer *w, int error)
{
	return write_all(w->channel, &error, sizeof(error));
}

/* By a process of its own once more: whatever ends that, this one tidies up. Its status is what write_own() returned.
 */
static int write_apart(struct writer *w)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		_exit(-write_own(w));
	}
	if (pid < 0) {
		status = errno;
		log_error("%s: no process to write it: %s: try again", log_safe(w->path), strerror(status));
		return -status;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status))
		return -WEXITSTATUS(status);
	log_error("%s: was not written: the process that did it was ended by signal %d: try again", log_safe(w->path),
		  WTERMSIG(status));
	return -EINTR;
}

/* ^C is for the process that observes, and later for the one that writes. */
static void wait_and_write(struct writer *w)
{
	char go;

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	if (!tell(w, 0) && read(w->channel, &go, 1) == 1)
		tell(w, write_apart(w));
}

static void run(struct writer *w, const struct caller *caller)
{
	int error;

	prctl(PR_SET_NAME, ARCHIVE_NAME);
	error = prepare(w, caller);
	if (error)
		tell(w, error);
	else
		wait_and_write(w);
	clean_up(w);
	_exit(0);
}

/* --- who asks for it ---------------------------------------------------------------- */

/* What it tells; it has said why. */
static int hear(struct archive *a)
{
	int error;
	ssize_t got;

	do
		got = read(a->channel, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	if (got == sizeof(error))
		return error && error != -ENOMEM ? -ECANCELED : error;
	log_error("the process that writes the archive has ended: try again");
	return -ECHILD;
}

int archive_begin(struct archive **archive, const struct exporter *exporter, const char *path,
		  const struct archive_source *source, const struct caller *caller)
{
	struct archive *a = calloc(1, sizeof(*a));
	int channels[2], error;

	*archive = NULL;
	if (!a || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channels)) {
		log_error("%s: cannot be written: %s: free some memory and try again", log_safe(path),
			  strerror(a ? errno : ENOMEM));
		free(a);
		return -ENOMEM;
	}
	a->pid = fork();
	if (!a->pid) {
		close(channels[0]);
		run(&(struct writer){ .exporter = exporter,
				      .path = path,
				      .source = source,
				      .channel = channels[1],
				      .beside = -1,
				      .own = -1,
				      .spare = -1 },
		    caller);
	}
	close(channels[1]);
	a->channel = channels[0];
	if (a->pid < 0) {
		error = -errno;
		log_error("%s: no process to write it: %s: try again", log_safe(path), strerror(errno));
	} else {
		error = hear(a);
	}
	if (error)
		archive_end(a);
	else
		*archive = a;
	return error;
}

int archive_write(struct archive *a)
{
	int error = write_all(a->channel, "w", 1);

	return error ?: hear(a);
}

void archive_end(struct archive *a)
{
	if (!a)
		return;
	close(a->channel);
	while (a->pid > 0 && waitpid(a->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(a);
}
