/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proc.h - private to user/target: reading /proc.
 */
#ifndef GASPBPF_TARGET_PROC_H
#define GASPBPF_TARGET_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/target.h"

#define MAPS_MOST 200000       /* mappings of one process; the kernel's own default limit is 65530 */
#define MAPS_BYTES (64u << 20) /* of text */
#define ENVIRONMENT_MOST (2u << 20)

/* The first `most` bytes of a file of /proc that cannot block (reader.c has the others), NUL-terminated; NULL with
 * errno. The caller frees. */
char *proc_read(int folder, const char *path, size_t most, size_t *size);

/*
 * The environment of process `pid`; `below` is what stands before "environ" in its path ("", or "PID/" for the folder
 * of /proc itself). Only its owner can open that file, CAP_SYS_PTRACE is not enough; then it is read from the process's
 * memory. NULL with errno. The caller frees.
 */
char *proc_read_environment(int folder, const char *below, pid_t pid, size_t *size);

/* What matters of /proc/PID/stat. */
struct proc_stat {
	char state; /* 'R', 'S', 'Z' ... */
	pid_t parent;
	bool kernel_thread;
	unsigned threads;    /* 0: it is a thread that has ended */
	uint64_t start_time; /* clock ticks after boot */
};

/* Reads `path` ("stat" below /proc/PID, or "PID/stat" below /proc). 0 or -errno. */
int proc_stat_read(int folder, const char *path, struct proc_stat *stat);

/* The value of a variable in an environment block; NULL: not there. The block ends with a NUL. */
const char *environment_value(const char *environment, size_t size, const char *name);

/*
 * Reads the text of /proc/PID/maps, which is changed on the way. Lines that are none are left out. Mappings
 * come out in the kernel's order, ascending. *mappings is malloc'ed. 0, -ENOMEM, or -E2BIG beyond MAPS_MOST.
 */
int maps_parse(char *text, size_t size, struct mapping **mappings, size_t *count);
void maps_free(struct mapping *mappings, size_t count);

#endif
