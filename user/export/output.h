/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * output.h - bytes on their way to a file, compressed or not. Private to user/export.
 */
#ifndef GASPBPF_EXPORT_OUTPUT_H
#define GASPBPF_EXPORT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

struct output;

/* Writes to fd, which stays the caller's; as gzip where the name ends in ".gz". NULL: no memory, said. */
struct output *output_open(int fd, const char *name);
/* 0 or -errno, said once; afterwards nothing more is written. `output` is a struct output *. */
int output_write(void *output, const char *data, size_t size);
/* Writes out the rest and frees. 0 or the first -errno. */
int output_close(struct output *output);
/* Shows on a terminal how much of the work is done. A timeline_ops progress without its context. */
void output_progress(struct output *output, size_t done, size_t all);
/* The same for who writes otherwise; *told: percent, 0 at first. */
void tell_progress(unsigned *told, const char *name, size_t done, size_t all);

#endif
