/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel.h - a capture session without a kernel: its rings are filled with what the target says.
 *
 * The kernel side's programs are opened and not loaded, which needs no privileges: each map's descriptor is -1, and
 * what would be asked of the kernel fails as it does for a map that is gone. The rings are memory files with the layout
 * of BPF ring buffers.
 */
#ifndef TESTS_FUZZ_KERNEL_H
#define TESTS_FUZZ_KERNEL_H

#include "capture/capture.h"
#include "shared/fuzz.h"

#define FUZZ_RINGS 2
#define FUZZ_CONTROL FUZZ_RINGS /* number of the ring with process life */
#define FUZZ_CALLER 0x10000     /* call sites from here on are in the other process's first mapped file */

struct kernel *fuzz_kernel(void);
/* Sites of libpupc and of a small MPI library (seeds.py); the same for all inputs. */
struct plan *fuzz_plan(void);
/* A process that sleeps, as gaspbpf may observe one; it ends with us. */
pid_t fuzz_sleeper(void);

/* Empty rings, for the next session. */
void fuzz_rings_empty(void);
/* A record, as the kernel would write it; false: no room. */
bool fuzz_ring_put(unsigned ring, const void *record, size_t size);
/* The record that was put in last is still being written, or is ready. */
void fuzz_ring_hold(unsigned ring, bool busy);

/* Definitions and a session of their own. */
struct fuzz_session {
	struct definitions d;
	struct capture_session *session;
};
void fuzz_session_open(struct fuzz_session *s, const struct capture_events *events);
void fuzz_session_close(struct fuzz_session *s);

/* A span, or a record of process life, made of the input: its process and thread are among a few, its probe mostly one
 * of the plan's. Bytes used. */
size_t fuzz_span(struct input *in, struct gb_span *span);
size_t fuzz_life(struct input *in, struct gb_life *life);

#endif
