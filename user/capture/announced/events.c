/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * events.c - the events that processes announce, by number, and their names.
 *
 * What a program may have of them is bounded (NUMBERS_MOST, NAMES_MOST): nothing is lost beyond that, but it is told as
 * one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/announced/announced_private.h"
#include "util/array.h"
#include "util/log.h"
#include "util/text.h"

#define NUMBERS_MOST 4096 /* events of one process; those of further numbers are one event */
#define NAMES_MOST 8      /* of one number */
#define FURTHER "(further user events)"

struct announced_event *announced_find(struct capture_session *s, uint32_t process, uint32_t id, uint32_t runtime)
{
	struct announced_event *e;
	__typeof__(e->key) key = { .process = process, .id = id, .runtime = runtime };

	HASH_FIND(hh, s->announced.events, &key, sizeof(key), e);
	return e;
}

struct announced_event *announced_add(struct capture_session *s, uint32_t process, uint32_t id, uint32_t runtime)
{
	struct announced_event *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->names = 1;
	e->key.process = process;
	e->key.id = id;
	e->key.runtime = runtime;
	e->probe = NO_INDEX;
	HASH_ADD(hh, s->announced.events, key, sizeof(e->key), e);
	if (!e->hh.tbl) {
		free(e);
		return NULL;
	}
	return e;
}

bool announced_is_full(const struct capture_session *s, uint32_t process)
{
	return process < s->announced.numbers_room && s->announced.numbers[process] >= NUMBERS_MOST;
}

struct announced_event *announced_add_number(struct capture_session *s, uint32_t process, uint32_t id)
{
	struct announced_event *further;

	if (!announced_is_full(s, process)) {
		if (array_reach(&s->announced.numbers, &s->announced.numbers_room, (size_t)process + 1,
				sizeof(*s->announced.numbers)))
			return NULL;
		s->announced.numbers[process]++;
		return announced_add(s, process, id, OF_PROGRAM);
	}
	further = announced_find(s, process, 0, OF_FURTHER);
	if (further)
		return further;
	log_info("process %u announces more than %d events: those of further numbers are told as one, \"%s\"",
		 s->d->processes[process].pid, NUMBERS_MOST, FURTHER);
	further = announced_add(s, process, 0, OF_FURTHER);
	if (further)
		further->name = copy_text(FURTHER);
	return further;
}

static bool is_longer(const char *format, const char *known)
{
	return format && known && strlen(format) > strlen(known) && !strncmp(format, known, strlen(known));
}

/* Two names for one number (a dummy gives 0 to all): nobody can tell them apart any more. */
static void rename_event(struct announced_event *e, const char *name, const char *format)
{
	char *both;
	const char *at = e->name ? strstr(e->name, name) : NULL;
	size_t length = strlen(name);

	if (at && !strcmp(e->name, name) && is_longer(format, e->format)) {
		free(e->name);
		e->name = NULL; /* its format was cut when it came over the rings */
	} else if (at && (at == e->name || at[-1] == '|') && (!at[length] || at[length] == '|')) {
		return;
	}
	if (e->name && e->names > NAMES_MOST)
		return;
	if (e->name && asprintf(&both, "%s|%s", e->name, e->names < NAMES_MOST ? name : "...") >= 0) {
		free(e->name);
		e->name = both;
		e->names++;
	} else {
		e->name = copy_text(name);
	}
	if (!same_text(e->format, format)) {
		free(e->format);
		e->format = e->probe == NO_INDEX && e->name && !strchr(e->name, '|') ? copy_text(format) : NULL;
	}
	items_of_format(&e->items[0], e->format);
	e->items[1] = e->items[0];
	e->probe = NO_INDEX; /* what comes from now on is another definition */
	e->told = false;
}

void announced_name(struct capture_session *s, uint32_t process, uint32_t pid, uint32_t id, const char *name,
		    const char *format)
{
	struct announced_event *e = announced_find(s, process, id, OF_PROGRAM) ?: announced_add_number(s, process, id);

	if (!e || e->key.runtime == OF_FURTHER)
		return;
	rename_event(e, *name ? name : "(no name)", format);
	for (size_t i = 0; i < s->plan->nsites && !e->told; i++)
		if (s->plan->sites[i].function->marks & MARK_STARTS)
			announced_tell_kernel(s, e, pid, &s->plan->sites[i].captures[0].telling);
}

void announced_free_events(struct capture_session *s)
{
	struct announced_event *e, *next;

	HASH_ITER (hh, s->announced.events, e, next) {
		HASH_DEL(s->announced.events, e);
		free(e->name);
		free(e->format);
		free(e);
	}
	free(s->announced.numbers);
}
