/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * files.h - files that are written on behalf of the person who called.
 */
#ifndef GASPBPF_FILES_H
#define GASPBPF_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Who called: the user behind sudo (SUDO_UID, SUDO_GID, checked against passwd), else ourselves. */
struct caller {
	uid_t uid;
	gid_t gid;
	char *name;                         /* login name; may be NULL */
	char *home;                         /* may be NULL */
	struct rlimit files, locked, stack; /* our limits when we asked: those of a command started for the caller */
};
int caller_find(struct caller *caller);
/* Room on stacks for ourselves, whatever `ulimit -s` says; struct caller has the limit as it was. Before any thread is
 * made. False: not allowed; said. */
bool caller_stack_is_not_ours(void);
void caller_free(struct caller *caller);

/*
 * Opens `path` for reading and writing, new or truncated, as the caller would (file-system uid and gid of the caller),
 * without following a link in the last component; a FIFO or device is refused. Says what is
 * wrong. A file descriptor or -errno.
 */
int file_create(const char *path, const struct caller *caller);
/* The same, but what is in the file stays for now: for a file that is named early and written later. *created: it is
 * new. */
int file_reserve(const char *path, const struct caller *caller, bool *created);
/* The same, but never a file that is there already, or a link of whatever kind: then -EEXIST, not said. */
int file_create_new(const char *path, const struct caller *caller);
/* Removes a file that was created and never written, if the path still leads to it. */
void file_give_back(const char *path, const struct caller *caller, int fd);
/* The same, if it is this file: 0 or -errno, not said. */
int file_remove_same(const char *path, const struct caller *caller, const struct stat *file);
/*
 * For a file that is written anew, whole, again and again: the new one is made beside it (file_create_new()), with this
 * behind its name, and then takes its place.
 */
#define FILE_NEW ".new.gasp"
/* path: of the file, without FILE_NEW. 0 or -errno, not said. */
int file_take_place(const char *path, const struct caller *caller);
/* Removes a new one, with FILE_NEW: it is not to take the place, or nobody has ended it. 0 or -errno, not said. */
int file_drop_new(const char *path, const struct caller *caller);
/* Makes a folder as the caller would; removes an empty one. 0 or -errno, not said. */
int folder_create(const char *path, const struct caller *caller);
int folder_remove(const char *path, const struct caller *caller);
/* Removes one of ours. */
void file_remove(const char *path);
/* An unnamed file in $TMPDIR or /tmp, gone when closed. A file descriptor or -errno, said. */
int file_temporary(void);
/* All of it, again after EINTR and short writes. 0 or -errno. */
int write_all(int fd, const void *data, size_t size);
/* Opens a file that our own user has named. A descriptor or -errno, not said. */
int file_open_to_read(const char *path);
/* What we may not open (EACCES) is opened by this from now on, for a process that has given up the right to. */
typedef int file_opener(const char *path);
void files_opened_by(file_opener *opener);
/* A whole small file (proc files too), NUL-terminated, malloc'ed; NULL with errno, EFBIG where it has more than `most`
 * bytes. size may be NULL. */
char *read_file_at(int dirfd, const char *path, size_t most, size_t *size);
/* The same, of one that is open. */
char *read_open_file(int fd, size_t most, size_t *size);

/* Is it one, or named as one (with a slash at its end)? */
bool path_is_folder(const char *path);
/* The folder of a file, or itself if it is one; malloc'ed, NULL: no memory. */
char *path_folder(const char *path);
/* What comes after the last slash of a path; the path itself where nothing does. NULL for NULL. */
const char *path_base(const char *path);

/*
 * The device and the inode that /proc/PID/maps has for the file's mappings. stat() tells another device on btrfs, and
 * before Linux 6.8 on overlays. 0 or -errno, not said.
 */
int file_identity(int fd, uint64_t *device, uint64_t *inode);

#endif
