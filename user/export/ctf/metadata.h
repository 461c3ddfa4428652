/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metadata.h - what a CTF trace says of itself. Private to user/export/ctf.
 */
#ifndef GASPBPF_EXPORT_CTF_METADATA_H
#define GASPBPF_EXPORT_CTF_METADATA_H

#include "export/ctf/classes.h"
#include "export/ctf/packets.h"

#define METADATA_NAME "metadata"
#define METADATA_MARK "/* CTF 1.8 */\n/* Written by gaspbpf export. */\n"

/* What is said of the whole trace. */
struct trace_facts {
	uint8_t uuid[UUID_SIZE];
	bool has_nodes, has_jobs; /* threads' events say where they ran, and of which job their rank is */
	uint64_t lost;            /* calls */
};

void facts_find(struct trace_facts *facts, const struct definitions *d, const char *name);
/* All of it. 0 or -ENOMEM. */
int metadata_put(struct buffer *metadata, const struct definitions *d, const struct trace_facts *facts,
		 const struct classes *classes);

#endif
