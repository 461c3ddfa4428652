/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader.h - what head.c, functions.c and reader.c share: a model that is being read.
 */
#ifndef GASPBPF_MODEL_READER_H
#define GASPBPF_MODEL_READER_H

#include "model/parts.h"

#include <uthash.h>

#define ARGUMENTS_MOST 20 /* of an event */

/* What is kept while reading, by name. */
struct named {
	const char *name;
	uint32_t number; /* of an event; of a symbol its first function's index */
	const char *at;  /* in the source: where a number is fixed */
	UT_hash_handle hh;
};

struct reader {
	struct source source;
	struct model *model;
	struct parsed_model *parsed;
	size_t layout; /* the open one; 0: none */
	struct named *events, *fixed, *symbols, *told;
	struct named *stated; /* events with a statement: index in model->events */
	size_t events_room;   /* of model->events */
	uint32_t next_number;
	const struct numbers *numbers; /* that events have for good; NULL: none */
	bool regroup;                  /* functions of one symbol may stand apart */
	size_t room;                   /* of model->functions */
	bool failed;                   /* out of memory */
};

/* A statement: the text behind its first word. */
struct statement {
	const char *start; /* the first word */
	const char *at, *end;
	int line;
};

const char *skip_blanks(const char *at, const char *end);
/* The next word up to a blank; false at the end. */
bool next_word(struct statement *s, const char **word, size_t *length);
/* A copy in the model's arena; NULL: no memory. */
char *keep_word(struct reader *r, const char *text, size_t length);
/* A word that becomes part of other names and of options. */
bool is_plain_word(const char *word, bool capitals);
struct named *named_find(struct named *names, const char *name);
struct named *named_add(struct reader *r, struct named **names, const char *name, uint32_t number);

/* A statement whose first word is `word`, and which is neither a fact nor a function. */
void read_head(struct reader *r, struct statement *s, const char *word, size_t length);
/* EVENT role [mark...] PROTOTYPE */
void read_function(struct reader *r, struct statement *s, const char *word, size_t length);
/* event NAME start(...) end(...) "..." */
void read_event(struct reader *r, struct statement *s);
/* What a tool gets of a value of this type; argument->type is there already. */
void argument_set_kind(struct event_argument *argument, const struct ctype *type);
/* Copies them into the arena. */
bool arguments_keep(struct arena *arena, const struct event_argument *arguments, size_t count, struct event_list *list);
/* Afterwards: events whose statement has no list have the arguments of their functions' prototypes. */
void arguments_of_prototypes(struct reader *r);
/* Afterwards: every event of the model has its number and stands in model->events. */
void complete_events(struct reader *r);
/* build NAME if TEST... */
void read_build(struct reader *r, struct statement *s);
/* unseen EVENT... "why" */
void read_unseen(struct reader *r, struct statement *s);
/* Afterwards: each has its full name. */
void complete_unseen(struct reader *r);
/* The number of an event; all functions of an event share it. */
uint32_t event_number(struct reader *r, const char *event);
/* "GASP_LANGUAGE_EVENT", in the model's arena. */
char *event_name(struct reader *r, const char *word, size_t length);
/* Afterwards: functions of one symbol stand together. */
void group_functions(struct reader *r);

#endif
