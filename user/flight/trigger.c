/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trigger.c - which calls are too long: by what they are for, as the models say (role), or by the name of their event.
 */
#include "flight/trigger.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "util/format.h"
#include "util/log.h"

#define BIT(role) (1ULL << (role))

/* Words for several roles. A single role goes by its own name, as docs/models.md has it. */
static uint64_t roles_of(const char *name)
{
	int role;

	if (!strcmp(name, "wait"))
		return roles_that_wait();
	if (!strcmp(name, "lock"))
		return group_roles(GROUP_LOCK) & ~BIT(ROLE_RELEASE);
	if (!strcmp(name, "data"))
		return group_roles(GROUP_DATA);
	if (!strcmp(name, "alloc"))
		return group_roles(GROUP_ALLOC);
	if (!strcmp(name, "any"))
		return ~0ULL;
	role = role_from_name(name);
	return role < 0 ? 0 : BIT(role);
}

const char *trigger_parse(struct trigger *trigger, const char *text)
{
	size_t length = strcspn(text, ">=");
	char *name;

	*trigger = (struct trigger){ .text = text };
	if (!length || !text[length])
		return "not a kind of call and a limit: use 'barrier>5s' (in quotes, for the shell) or barrier=5s";
	if (parse_time(text + length + 1, &trigger->limit) || !trigger->limit)
		return "not a time behind the sign: use 'barrier>5s' or 'barrier>500ms'";
	name = strndup(text, length);
	if (!name)
		return "out of memory";
	trigger->roles = roles_of(name);
	if (!trigger->roles && !strncmp(name, "GASP_", 5)) {
		trigger->events = name;
		return NULL;
	}
	free(name);
	return trigger->roles ? NULL
			      : "no such kind of call: use wait, barrier, lock, collective, data, any, another role "
				"(docs/models.md), "
				"or an event's name: 'GASP_MPI_WAIT*>5s'";
}

void trigger_free(struct trigger *trigger)
{
	free(trigger->events);
	trigger->events = NULL;
}

uint64_t trigger_limit(const struct flight_options *options, const struct def_probe *probe,
		       const struct trigger **which)
{
	uint64_t least = NO_LIMIT;

	*which = NULL;
	for (size_t i = 0; i < options->ntriggers; i++) {
		const struct trigger *t = &options->triggers[i];
		bool holds = t->events ? probe->event && !fnmatch(t->events, probe->event, 0)
				       : t->roles >> probe->role & 1;

		if (holds && t->limit < least) {
			least = t->limit;
			*which = t;
		}
	}
	return least;
}

/* --- options ------------------------------------------------------------ */

enum { OPTION_FLIGHT = 600, OPTION_TRIGGER, OPTION_PAUSE, OPTION_DUMPS };

static const struct argp_option option_table[] = {
	{ "flight", OPTION_FLIGHT, "TIME[,SIZE]", 0,
	  "Flight recorder: keep only what happened in the last TIME, in at most SIZE of memory (default 64m), and "
	  "write it to a recording when "
	  "a trigger, SIGUSR1 or 'gaspbpf control dump' asks for it; -o is then a folder, or a name with %n "
	  "(number), %t (time), %w (why)",
	  4 },
	{ "trigger", OPTION_TRIGGER, "KIND>TIME", 0,
	  "Dump when a call lasts longer than TIME, also while it still does; may repeat. KIND: wait (barriers, "
	  "locks, collective operations and the like), "
	  "barrier, lock, collective, data, any, another role, or an event: 'GASP_MPI_WAIT*>5s'. 'no-death': do not "
	  "dump when a process is killed or ends with another status than 0",
	  4 },
	{ "dump-pause", OPTION_PAUSE, "TIME", 0,
	  "From one dump to the next that a trigger asks for (default 10s); what happens meanwhile is in that one", 4 },
	{ "dumps", OPTION_DUMPS, "N", 0, "Write at most so many (default 20)", 4 },
	{ 0 }
};

#define LEAST_BYTES (256ULL << 10)
#define MOST_BYTES (64ULL << 30)

static void parse_flight(struct flight_options *o, const char *text, struct argp_state *state)
{
	const char *comma = strchr(text, ',');
	char *time = comma ? strndup(text, comma - text) : strdup(text);

	o->on = true;
	o->bytes = 64 << 20;
	if (!time || parse_time(time, &o->window) || !o->window)
		argp_error(state, "--flight %s: not a time, or a time and a size: use 30s or 30s,256m", log_safe(text));
	free(time);
	if (comma && (parse_bytes(comma + 1, &o->bytes) || o->bytes < LEAST_BYTES || o->bytes > MOST_BYTES))
		argp_error(state, "--flight %s: not a size between 256k and 64g behind the comma: use 30s,256m",
			   log_safe(text));
}

static error_t add_trigger(struct flight_options *o, const char *text, struct argp_state *state)
{
	struct trigger *grown;
	const char *wrong;

	if (!strcmp(text, "no-death")) {
		o->deaths = false;
		return 0;
	}
	grown = realloc(o->triggers, (o->ntriggers + 1) * sizeof(*grown));
	if (!grown)
		return ENOMEM;
	o->triggers = grown;
	wrong = trigger_parse(&grown[o->ntriggers++], text);
	if (wrong)
		argp_error(state, "--trigger %s: %s", log_safe(text), wrong);
	return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct flight_options *o = state->input;
	char *end;

	switch (key) {
	case ARGP_KEY_INIT:
		o->deaths = true;
		o->pause = 10000000000ULL;
		o->most = 20;
		return 0;
	case OPTION_FLIGHT:
		parse_flight(o, argument, state);
		return 0;
	case OPTION_TRIGGER:
		return add_trigger(o, argument, state);
	case OPTION_PAUSE:
		if (parse_time(argument, &o->pause))
			argp_error(state, "--dump-pause %s: not a time: use 10s", log_safe(argument));
		return 0;
	case OPTION_DUMPS:
		errno = 0;
		o->most = strtoul(argument, &end, 10);
		if (end == argument || *end || errno || !o->most || o->most > 1000000 || *argument == '-')
			argp_error(state, "--dumps %s: not a number from 1 on", log_safe(argument));
		return 0;
	case ARGP_KEY_END:
		if (!o->on && (o->ntriggers || !o->deaths))
			argp_error(state, "--trigger goes with --flight: for example --flight 30s");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp flight_parser = { option_table, parse, NULL, NULL, NULL, NULL, NULL };

void flight_options_free(struct flight_options *o)
{
	for (size_t i = 0; i < o->ntriggers; i++)
		trigger_free(&o->triggers[i]);
	free(o->triggers);
	o->triggers = NULL;
	o->ntriggers = 0;
}
