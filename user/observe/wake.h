/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wake.h - one descriptor for all that may come.
 */
#ifndef GASPBPF_OBSERVE_WAKE_H
#define GASPBPF_OBSERVE_WAKE_H

#include <stddef.h>

/* Readable when one of them is; those below 0 are left out. Theirs to close. A descriptor or -errno. */
int wake_new(const int *descriptors, size_t count);
/* One more. 0 or -errno. */
int wake_add(int wake, int descriptor);

#endif
