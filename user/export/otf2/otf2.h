/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * otf2.h - the door of user/export/otf2: a recording as an archive of OTF2. Private to user/export.
 */
#ifndef GASPBPF_EXPORT_OTF2_H
#define GASPBPF_EXPORT_OTF2_H

#include "recording/recording.h"

/* Is the library there that writes it? 0 or -errno, said. */
int otf2_ready(void);
/* As struct exporter's write, into the folder that this process is in. */
int otf2_write(struct recording *recording, int fd, int spare, const char *name);

#endif
