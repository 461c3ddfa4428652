/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * events.h - gaspbpf events: the vocabulary of the models, printed. Shared by events*.c.
 */
#ifndef GASPBPF_CLI_EVENTS_H
#define GASPBPF_CLI_EVENTS_H

#include <stdio.h>

#include "model/model.h"

/* The events that the user asked for. */
struct chosen_events {
	const struct model_set *models;
	char **names; /* of models and events, or patterns of these; NULL-terminated; empty: all */
};

bool event_is_chosen(const struct chosen_events *chosen, const struct model *model, const struct model_event *event);
bool model_is_chosen(const struct chosen_events *chosen, const struct model *model);

/* A row of an event's table: types that have the same arguments share one. */
struct event_row {
	char types[32];                /* "Start, End" */
	const struct event_list *list; /* NULL: no statement; the arguments are the values of the call */
};

/* At most EVENT_TYPES rows; returns how many. */
size_t event_rows(const struct model_event *event, struct event_row *rows);
/* "size_t nbytes, void *returnptr", "(none)"; of a row without a list "(values of the call)". To be freed; NULL: no
 * memory. */
char *arguments_text(const struct event_list *list);

/* Each returns 0 or -errno. */
int events_print_table(const struct chosen_events *chosen, FILE *out, unsigned width);
int events_print_markdown(const struct chosen_events *chosen, FILE *out);
int events_print_json(const struct chosen_events *chosen, FILE *out);
/* A C header of one model; `include` names headers that it includes, joined by commas, or NULL. */
int events_print_header(const struct model *model, const char *include, FILE *out);

#endif
