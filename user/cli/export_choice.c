/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_choice.c - which part of a recording is exported: some ranks, some time, long calls.
 */
#include "cli/export_choice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/format.h"
#include "util/log.h"

enum { KEY_FROM = 0x800, KEY_TO, KEY_OVER, KEY_RANKS };

static const struct argp_option option_list[] = {
	{ NULL, 0, NULL, 0, "A part of it (TIME: 10 (seconds), 500ms, 20us):", 0 },
	{ "from", KEY_FROM, "TIME", 0, "Only calls that end after this time of the recording", 0 },
	{ "to", KEY_TO, "TIME", 0, "Only calls that begin before this time of the recording", 0 },
	{ "spans-over", KEY_OVER, "TIME", 0, "Only calls that took so long or longer", 0 },
	{ "ranks", KEY_RANKS, "LIST", 0, "Only these ranks: 0-3,8", 0 },
	{ 0 }
};

/* --- the command line --------------------------------------------------- */

static void check_time(const char *option, const char *text, struct argp_state *state)
{
	uint64_t ns;

	if (parse_time(text, &ns))
		argp_error(state, "%s %s: no time: say 10s, 500ms or 20us, for example", option, log_safe(text));
}

/* The next part of "0-3,8". Where the list goes on; NULL: that is none. */
static const char *next_ranks(const char *list, unsigned long *first, unsigned long *last)
{
	char *end;

	if (*list < '0' || *list > '9')
		return NULL;
	errno = 0;
	*first = *last = strtoul(list, &end, 10);
	if (*end == '-' && end[1] >= '0' && end[1] <= '9')
		*last = strtoul(end + 1, &end, 10);
	if (errno || *last < *first || (*end && *end != ',') || (*end == ',' && !end[1]))
		return NULL;
	return *end ? end + 1 : end;
}

static void check_ranks(const char *list, struct argp_state *state)
{
	unsigned long first, last;
	const char *at = list;

	while (at && (*at || at == list))
		at = next_ranks(at, &first, &last);
	if (!at)
		argp_error(state, "--ranks %s: no list of ranks: say 0-3,8, for example", log_safe(list));
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct export_choice *choice = state->input;

	switch (key) {
	case KEY_FROM:
		check_time("--from", choice->from = argument, state);
		return 0;
	case KEY_TO:
		check_time("--to", choice->to = argument, state);
		return 0;
	case KEY_OVER:
		check_time("--spans-over", choice->over = argument, state);
		return 0;
	case KEY_RANKS:
		check_ranks(choice->ranks = argument, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp export_choice_parser = { option_list, parse, NULL, NULL, NULL, NULL, NULL };

/* --- the recording -------------------------------------------------------- */

static uint64_t time_of(const char *text, uint64_t otherwise)
{
	uint64_t ns;

	return text && !parse_time(text, &ns) ? ns : otherwise;
}

static bool is_wanted(const char *list, long rank)
{
	unsigned long first, last;

	if (rank < 0)
		return false;
	while (list && *list) {
		list = next_ranks(list, &first, &last);
		if (list && (unsigned long)rank >= first && (unsigned long)rank <= last)
			return true;
	}
	return false;
}

/* 0; -ENOENT, said, where none of them is there. */
static int choose_ranks(const char *list, struct recording *recording, const char *name)
{
	const struct definitions *d = recording_definitions(recording);
	bool some = false;
	int error = 0;

	for (uint32_t i = 0; i < d->nprocesses && !error; i++) {
		if (is_wanted(list, d->processes[i].rank))
			some = true;
		else
			error = recording_leave_out(recording, i);
	}
	if (error)
		log_error("%s: cannot be read: out of memory: free some memory", log_safe(name));
	if (!some && !error)
		log_error("%s: has none of the ranks %s: gaspbpf report --section processes shows what it has",
			  log_safe(name), log_safe(list));
	return error ? error : some ? 0 : -ENOENT;
}

/* 0; -errno, said: -EINVAL where the recording has nothing of that time. */
static int choose_calls(const struct export_choice *choice, struct recording *recording, const char *name)
{
	const struct def_run *run = &recording_definitions(recording)->run;
	uint64_t length = run->end - run->start;
	uint64_t from = time_of(choice->from, 0), to = time_of(choice->to, length);
	struct recording_choice calls = { .to = UINT64_MAX, .over = time_of(choice->over, 0) };
	char text[FORMAT_SIZE];

	if (from > length) {
		log_error("--from %s: %s is only %s long", choice->from, log_safe(name), format_time(text, length));
		return -EINVAL;
	}
	if (from > to) {
		log_error("--from %s is later than --to %s", choice->from, choice->to);
		return -EINVAL;
	}
	if (choice->from)
		calls.from = run->start + from;
	if (choice->to && to < UINT64_MAX - run->start)
		calls.to = run->start + to;
	if (!recording_choose(recording, &calls))
		return 0;
	log_error("%s: cannot be read: out of memory: free some memory", log_safe(name));
	return -ENOMEM;
}

int export_choose(const struct export_choice *choice, struct recording *recording, const char *name)
{
	int error = choice->ranks ? choose_ranks(choice->ranks, recording, name) : 0;

	if (error || (!choice->from && !choice->to && !choice->over))
		return error;
	return choose_calls(choice, recording, name);
}

void export_say_choice(const struct export_choice *choice, struct recording *recording)
{
	struct recording_chunk chunk;
	uint64_t in = 0, out;
	char text[FORMAT_SIZE], all[FORMAT_SIZE];

	if (!choice->from && !choice->to && !choice->over && !choice->ranks)
		return;
	for (size_t i = 0; i < recording_chunks(recording) && !recording_read_chunk(recording, i, &chunk); i++)
		in += chunk.nspans;
	out = recording_left_out(recording);
	fprintf(stderr, "gaspbpf: %s of %s calls are in it%s\n", format_count(text, in), format_count(all, in + out),
		in ? ""
		   : ": no call is in that time, of those ranks, and took so long (a TIME without a unit is seconds)");
}
