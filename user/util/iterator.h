/*
 * iterator.h - what a BPF iterator writes: records, read as from a file.
 */
#ifndef GASPBPF_ITERATOR_H
#define GASPBPF_ITERATOR_H

#include <stddef.h>

struct bpf_program;

/* A descriptor from which one run of the iterator is read, or -errno. */
int iterator_open(const struct bpf_program *program);
/* Reads records of `size` bytes to the end, which closes fd. 0 or -errno; what came before an error has been taken. */
int iterator_read(int fd, size_t size, void (*take)(void *context, const void *record), void *context);

#endif
