/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keeper.h - files that are made and removed by another process, for one that has given up the right to.
 *
 * Root's outputs lie where only root, or who called it, may write. Who looks into what hostile users made has become a
 * user that nobody is (keep_no_privileges()). So before that it starts the keeper, which looks at nothing but its
 * requests: it makes new files in folders that were named at its start, removes files that were, and lets a new file
 * take the place of one (FILE_NEW in files.h). At its end it
 * removes the last of these, also where its parent was killed. And it can send processes that were started before (a
 * command, tools) the signal that ends them.
 */
#ifndef GASPBPF_KEEPER_H
#define GASPBPF_KEEPER_H

#include "util/files.h"

#define KEPT_MOST 16

/* A child of ours, which runs as the caller or as root. */
struct kept_process {
	pid_t pid;
	bool group;   /* with all of its process group, which it leads */
	int signal;   /* that ends it */
	int orphaned; /* a signal that it gets when the keeper ends; 0: none */
};

struct keeping {
	const char *const *folders; /* NULL-terminated: where files can be made */
	const char *suffix;         /* with which their names end: nothing that others look for there, and obey */
	const char *const *files;   /* NULL-terminated: that can be removed; they are there */
	const char *left;           /* such a one, that is not to be left behind; NULL: none */
	const struct kept_process *processes; /* that it can end */
	size_t nprocesses;                    /* KEPT_MOST at most */
	const struct caller *caller;          /* whose files they are */
};

/* From here on, file_create_new(), file_give_back() and file_remove() of this process ask it. 0 or -errno. */
int keeper_start(const struct keeping *keeping);

/* Sends one of the processes its signal. 0 or -errno. */
int keeper_end(pid_t pid);

/* For files.c. */
bool keeper_is_there(void);
int keeper_create_new(const char *path); /* a descriptor or -errno, which it has said, but for -EEXIST */
void keeper_remove(const char *path);
int keeper_take_place(const char *path);
int keeper_drop_new(const char *path);

#endif
