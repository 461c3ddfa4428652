/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iterator.h - what a BPF iterator writes: records, read as from a file; and what all need who load BPF programs.
 */
#ifndef GASPBPF_ITERATOR_H
#define GASPBPF_ITERATOR_H

#include <stddef.h>

struct bpf_object;
struct bpf_program;

/*
 * Is an object of ours whole after it was opened? libbpf 1.1 goes on where it had no memory for the object's types, and
 * ends the program by SIGSEGV when it loads it. 0 or -ENOMEM.
 */
int object_is_whole(const struct bpf_object *object);

/*
 * Are its variables there after it was loaded? Where the kernel had no memory for a trial of libbpf's, whether they can
 * be mapped, libbpf takes it for a kernel that cannot, and goes on without. 0 or -ENOMEM.
 */
int variables_are_mapped(const void *constants, const void *variables);

/* A descriptor from which one run of the iterator is read, or -errno. */
int iterator_open(const struct bpf_program *program);
/* The same over the entries of a map. */
int iterator_open_map(const struct bpf_program *program, int map);
/* Reads records of `size` bytes to the end, which closes fd. 0 or -errno; what came before an error has been taken. */
int iterator_read(int fd, size_t size, void (*take)(void *context, const void *record), void *context);

#endif
