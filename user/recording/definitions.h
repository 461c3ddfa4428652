/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * definitions.h - private to user/recording: the kinds of definitions, and the run's facts, as tables.
 */
#ifndef GASPBPF_RECORDING_DEFINITIONS_H
#define GASPBPF_RECORDING_DEFINITIONS_H

#include <string.h>

#include "recording/recording.h"
#include "util/buffer.h"

#define KINDS 15

/* Private to definitions.c, fields.c and the tables of fields; each says what a member is, and what stands where the
 * file has none. */
enum field_type {
	FIELD_END,
	FIELD_STRING,
	FIELD_U64,
	FIELD_U32,
	FIELD_UNSIGNED,
	FIELD_INDEX, /* uint32_t, default NO_INDEX */
	FIELD_S32,
	FIELD_RANK, /* long, default -1 */
	FIELD_BOOL,
	FIELD_ROLE,      /* stored by name */
	FIELD_VALUES,    /* def_probe.values and nvalues: one field a value */
	FIELD_ARGUMENTS, /* def_probe.arguments and narguments: one field an argument */
	FIELD_RUNS,      /* def_comm.runs and nruns */
	FIELD_BUCKETS,   /* def_sum.bucket: number of the first that is not 0, then the counts */
};

/* Which member of an entry is which field. A table of them ends with type 0. */
struct field {
	uint8_t number;
	uint8_t type; /* enum field_type */
	size_t offset;
};

/* One kind of definition: where its array is in struct definitions, and which fields an entry has. */
struct kind {
	uint32_t type;       /* of its chunks */
	size_t array, count; /* offsets in struct definitions */
	size_t size;         /* of an entry */
	size_t most;         /* entries; a file with more is refused */
	const struct field *fields;
};

extern const struct kind kinds[KINDS]; /* in the order in which they refer to each other */

/* The member of struct definitions, or of an entry, at an offset; as bytes, for the array pointers have many types. */
#define LOAD(from, offset, value) memcpy(&(value), (const char *)(from) + (offset), sizeof(value))
#define STORE(to, offset, value) memcpy((char *)(to) + (offset), &(value), sizeof(value))

size_t kind_count(const struct kind *kind, const struct definitions *d);
void *kind_entry(const struct kind *kind, const struct definitions *d, size_t index);

/* Adds a zeroed entry and returns its index, or NO_INDEX when out of memory or of numbers. */
uint32_t definitions_add(struct definitions *d, const struct kind *kind);

/* Appends the entry's fields as (number, length, bytes). */
void entry_encode(struct buffer *out, const struct field *fields, const void *entry);
/* The inverse; fields of unknown number are skipped. NULL, or what is wrong; then *entry holds nothing to free. */
const char *entry_decode(struct cursor *in, const struct field *fields, size_t size, void *entry);
/* Whether all indices of an entry refer to something that is there, and the like. NULL, or what is wrong. */
const char *entry_check(const struct kind *kind, const struct definitions *d, const void *entry);
void entry_free(const struct field *fields, void *entry);

/* One field: its number, its length, its bytes. */
void field_put(struct buffer *out, uint8_t number, const void *bytes, size_t size);

/* controls.c */
extern const struct field control_fields[];
const char *control_check(const struct def_control *control, const struct definitions *d);

/* windows.c */
extern const struct field queue_fields[];
const char *queue_check(const struct def_queue *queue, const struct definitions *d);
extern const struct field window_fields[];
const char *window_check(const struct def_window *window, const struct definitions *d);

/* nodes.c */
extern const struct field node_fields[];
const char *node_check(const struct def_node *node, const struct definitions *d);

/* chains.c */
extern const struct field chain_fields[];
const char *chain_check(const struct def_chain *chain);

/* unseen_fields.c */
extern const struct field unseen_fields[], comm_fields[];
/* NULL, or what is missing. */
const char *unseen_check(const struct def_unseen *unseen);

/* The two members of a probe that are lists (probe_fields.c). The takers read one item; NULL, or what is wrong. */
void values_put(struct buffer *out, uint8_t number, const struct def_probe *probe);
const char *values_take(struct cursor *bytes, struct def_probe *probe);
void values_free(struct def_probe *probe);
void arguments_put(struct buffer *out, uint8_t number, const struct def_probe *probe);
const char *arguments_take(struct cursor *bytes, struct def_probe *probe);
const char *arguments_check(const struct def_probe *probe);
void arguments_free(struct def_probe *probe);

/* The members of a communicator (communicators.c), in the same way. */
void runs_put(struct buffer *out, uint8_t number, const struct def_comm *comm);
const char *runs_take(struct cursor *bytes, struct def_comm *comm);
void runs_free(struct def_comm *comm);
const char *comm_check(const struct def_comm *comm, const struct definitions *d);

extern const struct field run_fields[], loss_fields[];

#endif
