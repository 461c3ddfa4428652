/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arrows.h - who sent what to whom, and who waited for whom, as arrows from call to call. Private to user/export.
 */
#ifndef GASPBPF_EXPORT_ARROWS_H
#define GASPBPF_EXPORT_ARROWS_H

#include "simulate/relations.h"

/* What an arrow is. */
enum arrow_kind {
	ARROW_MESSAGE,
	ARROW_LAST, /* from the last that comes, to each who waits for it */
	ARROW_ROOT,
	ARROW_LOCK,
	ARROW_MEMORY,
	ARROW_ACCESS,
	ARROW_PROGRESS,
	ARROW_NOTIFY,
	ARROW_RECEIVER, /* from the call that receives, to the one that sends and waits for that */
	ARROW_KINDS
};

/* "message", "lock is handed over" */
const char *arrow_name(enum arrow_kind kind);

/* From the begin of the call that it comes from, into the call that it goes to, where that could go on. */
struct arrow {
	uint64_t begin, end; /* ns */
	uint64_t waited;     /* ns: by the call that it goes to, for the one that it comes from */
	uint32_t from, to;   /* threads, two of them */
	uint32_t kind;       /* enum arrow_kind */
};

struct arrows_ops {
	int (*arrow)(void *context, const struct arrow *arrow); /* NULL: none are wanted */
	/* As those of relations_ops, a call or message before its arrow; may be NULL. */
	int (*message)(void *context, const struct related_call *sends, const struct related_call *receives,
		       uint64_t bytes);
	int (*call)(void *context, const struct related_call *call, const struct waited *waited);
	int (*work)(void *context, const struct related_work *work);
	void *context;
};

/*
 * Reads an arrow for each message, from its sending to its receiving call, and for each call that waited, but for the
 * sender of a message, from the one that it waited for: as relations_read(). Told are those whose calls are both chosen
 * (recording_choose() of `chosen`). 0 or -errno, also of the ops.
 */
int arrows_read(struct relations *relations, const struct recording *chosen, const struct arrows_ops *ops);

#endif
