/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctf.h - the door of user/export/ctf: a recording as a trace of CTF 1.8, a folder. Private to user/export.
 */
#ifndef GASPBPF_EXPORT_CTF_H
#define GASPBPF_EXPORT_CTF_H

#include "recording/recording.h"

/* As struct exporter's. */
int ctf_is_earlier(int folder);
int ctf_write(struct recording *recording, int fd, int spare, const char *name);

#endif
