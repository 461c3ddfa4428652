/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heap.h - Private to user/probe: memory while BPF objects are loaded.
 *
 * libbpf reads all types of the kernel, 5 MB and more, for each object, copies them, and gives the memory back. On a
 * machine where page faults are slow (most virtual ones) these, thousands each time, took a fifth of a start. So the
 * heap keeps what is freed until all objects are in, in large pages where there are any.
 */
#ifndef GASPBPF_HEAP_H
#define GASPBPF_HEAP_H

void heap_keep(void);
/* From here on it is as always, and what is free goes back to the kernel. */
void heap_release(void);

#endif
