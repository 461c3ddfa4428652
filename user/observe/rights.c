/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rights.c - what needs no right is done without.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/control.h"
#include "observe/rights.h"
#include "target/target.h"
#include "util/files.h"
#include "util/keeper.h"
#include "util/log.h"
#include "util/privileges.h"

static void folders_free(char **folders)
{
	for (size_t i = 0; folders && folders[i]; i++)
		free(folders[i]);
	free(folders);
}

/* Where files are written, and the control socket; NULL-terminated. NULL: no memory. */
static char **folders_of(const struct text_list *written, const char *socket)
{
	char **folders = calloc(written->count + 2, sizeof(*folders));
	size_t count = 0;
	bool whole = folders;

	if (whole && socket)
		whole = (folders[count++] = path_folder(socket));
	for (size_t i = 0; whole && i < written->count; i++)
		whole = (folders[count++] = path_folder(written->items[i]));
	if (whole)
		return folders;
	folders_free(folders);
	return NULL;
}

/* The files among them, and the control socket. */
static const char **files_of(const struct text_list *written, const char *socket)
{
	const char **files = calloc(written->count + 2, sizeof(*files));
	size_t count = 0;

	for (size_t i = 0; files && i < written->count; i++)
		if (!path_is_folder(written->items[i]))
			files[count++] = written->items[i];
	if (files && socket)
		files[count] = socket;
	return files;
}

/* For options that are read again. */
static int open_by_reader(const char *path)
{
	char *absolute = file_absolute(path);
	int fd = absolute ? file_open_named(absolute) : -errno;

	free(absolute);
	return fd;
}

/* User 0 becomes another one, for whom files are made and removed, and processes are ended, by a process of their own.
 */
static bool leave_user_0(char *const *folders, const struct rights_later *later, const char *socket)
{
	static const char *const nowhere[] = { NULL };
	const char **files = files_of(later->written, socket);
	struct caller caller;
	int error = files ? caller_find(&caller) : -ENOMEM;

	if (!error) {
		error = keeper_start(&(struct keeping){ .folders = (const char *const *)folders,
							.suffix = ".gasp",
							.files = files,
							.left = socket,
							.processes = later->processes,
							.nprocesses = later->nprocesses,
							.caller = &caller });
		caller_free(&caller);
	}
	free(files);
	if (error)
		errno = -error;
	files_opened_by(open_by_reader);
	return !error && keep_no_privileges(nowhere);
}

static bool give_up(const struct rights_later *later)
{
	const char *socket = control_path(later->control);
	char **folders = folders_of(later->written, socket);
	bool done = folders && (geteuid() ? keep_no_privileges((const char *const *)folders)
					  : leave_user_0(folders, later, socket));

	done = done && (!later->hold || hold_give_up_rights(later->hold));

	if (done)
		log_info("all rights are given up: others read for it");
	else
		log_warn("privileges that are not needed could not be given up: %s: start gaspbpf with fewer",
			 strerror(errno));
	folders_free(folders);
	return done;
}

bool rights_give_up(struct kernel *kernel, const struct rights_later *later)
{
	return kernel_works_without_rights(kernel) && !reader_prepare(later->sampling) && give_up(later);
}

static bool sees_others(void *unused)
{
	return others_show();
}

void rights_give_up_to_look(bool sampling)
{
	if (may_observe() && works_without_privileges(sees_others, NULL) && !reader_prepare(sampling))
		give_up(&(struct rights_later){ .written = &(struct text_list){ 0 } });
}
