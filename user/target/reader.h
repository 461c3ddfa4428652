/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader.h - private to user/target: what may block is read by another process (reader.c asks, reader_serve.c answers).
 *
 * Each of these returns -ETIMEDOUT where the target keeps its reader waiting, or has done so before. That has been said
 * then. In a program that cannot be a reader (reader_asked() was not called) they do it in this process.
 */
#ifndef GASPBPF_TARGET_READER_H
#define GASPBPF_TARGET_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

struct process;

/* Reads pieces of memory of `pid`, in their order, to `bytes`, which has room for all of them: so many bytes, up to the
 * first that cannot be read; or -errno. */
ssize_t reader_memory(pid_t pid, const struct iovec *pieces, size_t count, void *bytes);
/*
 * The first `most` bytes of a file of /proc whose reading takes the lock of the target's memory, NUL-terminated; NULL
 * with errno. The caller frees. `folder` is a descriptor that `path` begins at.
 */
char *reader_file(int folder, const char *path, pid_t pid, size_t most, size_t *size);

/* What a link of /proc/PID, which is `folder`, says, NUL-terminated: its length, less than `room`, or -errno. */
ssize_t reader_link(int folder, const char *name, pid_t pid, char *text, size_t room);

/* Starts what starts readers, where there is none: as a child of the thread that calls. 0 or -errno. */
int reader_start(void);

/* What stat(2) says of what a path of /proc leads to, in the end: 0 or -errno. */
int reader_stat(const char *path, pid_t pid, struct stat *found);

enum reader_way {
	READER_PROC,   /* a name in /proc/PID, which is `folder` */
	READER_BELOW,  /* a path as it is for those whose root is `folder` */
	READER_FOLDER, /* a link in /proc/PID, which is `folder`, to a folder: an O_PATH descriptor */
};

/* Opens a regular file of a target for reading, or a folder, as file_open_proc() and its like do: a descriptor or
 * -errno. */
int reader_open(enum reader_way way, int folder, const char *path, const struct process *owner);

/* --- between the two ---------------------------------------------------- */

#define READER_NAME "gaspbpf-reader"
#define READER_ROOM (65u << 20) /* of an answer: at least MAPS_BYTES */
#define READER_PIECES 1024      /* the kernel's own limit */

enum reader_what { READ_MEMORY, READ_FILE, READ_LINK, READ_STAT, OPEN_FILE };

/* Comes with the folder's descriptor, but for READ_MEMORY and READ_STAT. What is not needed of the end is left out. */
struct reader_request {
	uint32_t what;
	int32_t pid;
	uint32_t way, uid, gid, count;
	uint64_t most;
	union {
		struct iovec pieces[READER_PIECES];
		char path[4096];
	};
};

/* Comes with the file's descriptor for OPEN_FILE; the first one, 0, says only that the reader has started. What was
 * read stands in the memory that both have mapped. */
struct reader_answer {
	int64_t result; /* bytes, or -errno */
};

/*
 * What starts readers, and looks at them, is a process of its own, too (reader_start.c): it keeps the rights that they
 * need when who asks has given up his. Each who asks has a channel of his own to it. Answers are of the same kind as a
 * reader's.
 */
enum starter_what {
	START_READER, /* comes with its end of a socket, by which it gets its memory first; answered by its number and
			 its pidfd */
	IS_WAITING,   /* does reader `pid` wait for something else than a page of its own program? 1 or 0 */
	WHOSE_NAMESPACE, /* who made the namespace of users that process `pid` of user `uid` is in, outermost one below
			    ours: a user */
	HOLD_TASK,       /* process `pid` is to stand still (translator_hold_here()) */
	LET_TASK_GO,     /* ... and to run on (translator_let_go_here()) */
	ROBUST_LIST,     /* where thread `pid` has its list of robust locks (get_robust_list(2)) */
	OPEN_SAMPLER,    /* comes back with a sampler of thread `pid` (sampler_open_here()) */
	END_READER,      /* reader `pid` is to end: 0, or -ESRCH: it has */
	OPEN_CHANNEL,    /* comes with its end of another channel; is not answered */
};

struct starter_request {
	uint32_t what, uid;
	int32_t pid;
	uint32_t stack;
	uint64_t registers;
};

#define STARTER_SAMPLES "sample" /* behind READER_NAME on its command line: it keeps what OPEN_SAMPLER takes */

/* Makes a process of one thread stand still: 0 or -errno. Lets it go: 1, or 0: it does not stand still yet. By that
 * other process where there is one. */
int reader_hold(pid_t pid);
int reader_let_go(pid_t pid);
int translator_hold_here(pid_t pid);
int translator_let_go_here(pid_t pid);

/* An address, 0: it has none, or -errno. */
int64_t robust_list_here(pid_t tid);
int64_t reader_robust_list(pid_t tid);
/* Opens it in this process, or asks who may. A descriptor or -errno. */
int sampler_open_here(pid_t tid, uint64_t registers, uint32_t stack);
int reader_sampler(pid_t tid, uint64_t registers, uint32_t stack);

/*
 * What reading takes, for calls_allow_only(): a reader's filter, and a part of that of who starts them, which they
 * inherit. What openat2 is to do stands where a filter cannot see it: ways are gone without (open_file.c).
 */
#define READER_RULES                                                                                          \
	RULE_ALLOWED(recvmsg), RULE_ALLOWED(sendmsg), RULE_ALLOWED(process_vm_readv), RULE_ALLOWED(read),     \
		RULE_ALLOWED(close), RULE_OPENAT_TO_READ, { SYS_openat2, RULE_UNKNOWN, 0, { 0 } },            \
		RULE_ALLOWED(fstat), RULE_ALLOWED(newfstatat), RULE_ALLOWED(readlinkat), RULE_ALLOWED(fcntl), \
		RULE_ALLOWED(setfsuid), RULE_ALLOWED(setfsgid), RULE_ALLOWED(brk), RULE_ALLOWED(mmap),        \
		RULE_ALLOWED(munmap), RULE_ALLOWED(mremap), RULE_ALLOWED(madvise), RULE_ALLOWED(getrandom),   \
		RULE_ALLOWED(rt_sigreturn), RULE_ALLOWED(restart_syscall), RULE_ALLOWED(exit),                \
		RULE_ALLOWED(exit_group)

/* Serves the channels, of which the first is `channel`, until all are closed. Exit status. */
int starter_serve(int channel, bool samples);
/* Serves the socket, until it is closed. Exit status. */
int reader_answers(int socket);

/* Opens it in this process. */
int file_open_here(enum reader_way way, int folder, const char *path, const struct process *owner);

#endif
