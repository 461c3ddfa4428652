/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader.c - the lines of a model file.
 *
 * Two passes: the first takes everything but functions, so that lists, layouts and
 * types may follow their use; the second takes the functions. Both go on after a mistake. A
 * line is a function where its first word begins with a capital, a fact where it is `type` or has
 * a dot, and otherwise a statement of head.c.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/reader.h"
#include "util/log.h"

#define FIRST_NUMBER 0xc0000000u /* PUPC 1.1: the range of the user's events */

/* One pass over the lines. */
static void read_lines(struct reader *r, bool functions)
{
	const char *at = r->source.clean, *end = at + r->source.length, *counted = at;
	int line = 1;

	while (at < end && !source_hopeless(&r->source) && !r->parsed->arena.failed && !r->failed) {
		const char *stop = memchr(at, '\n', end - at), *word;
		struct statement s = { .at = at, .end = stop ? stop : end };
		size_t length;

		at = s.end + 1;
		if (!next_word(&s, &word, &length))
			continue;
		/* `clean` has no newline where a line goes on; the original has them all. */
		for (; counted < word; counted++)
			line += r->source.original[counted - r->source.clean] == '\n';
		s.line = line;
		s.start = word;
		bool fact = (length == 4 && !memcmp(word, "type", 4)) || memchr(word, '.', length);
		bool function = !fact && isupper((unsigned char)*word);

		if (function && functions)
			read_function(r, &s, word, length);
		else if (fact && !functions)
			fact_read(&r->source, r->parsed, &r->parsed->layouts[r->layout], word, s.end);
		else if (!function && !fact && !functions)
			read_head(r, &s, word, length);
		else if (function)
			r->layout = 0;
	}
}

/* What a model must have, and what it has by default. */
static void complete(struct reader *r)
{
	struct model *model = r->model;
	struct arena *arena = &r->parsed->arena;
	char **none = arena_get(arena, sizeof(*none));

	if (!model->name)
		source_error(&r->source, r->source.clean, "no model here: the first statement must be 'model NAME'");
	else if ((!model->library || !*model->library) && !model->in_program)
		source_error(&r->source, r->source.clean,
			     "where are the functions? add 'library GLOB...' or 'library program'");
	if (model->name && !model->language) {
		model->language = arena_copy(arena, model->name, strlen(model->name));
		for (char *c = model->language; c && *c; c++)
			*c = *c == '-' ? '_' : toupper((unsigned char)*c);
	}
	model->library = model->library ? model->library : none;
	model->needs = model->needs ? model->needs : none;
	model->wrapper = model->wrapper ? model->wrapper : none;
	model->parts = model->parts ? model->parts : none;
	model->hooks = model->hooks ? model->hooks : none;
	model->switches = model->switches ? model->switches : none;
	model->rank_env = model->rank_env ? model->rank_env : none;
}

static struct model *model_new(struct reader *r)
{
	struct model *model = calloc(1, sizeof(*model));
	struct parsed_model *parsed = calloc(1, sizeof(*parsed));

	if (!model || !parsed) {
		free(model);
		free(parsed);
		return NULL;
	}
	model->parsed = parsed;
	parsed->layouts = arena_get(&parsed->arena, sizeof(*parsed->layouts));
	parsed->nlayouts = 1;
	r->model = model;
	r->parsed = parsed;
	r->next_number = FIRST_NUMBER;
	return model;
}

void model_free(struct model *model)
{
	struct parsed_model *parsed = model ? model->parsed : NULL;

	if (!model)
		return;
	arena_free(&parsed->arena);
	free(parsed);
	free(model->functions);
	free(model->events);
	free(model);
}

struct model *model_read(const char *name, const char *text, size_t length, const struct numbers *numbers)
{
	struct reader r = { .numbers = numbers };
	int error = source_open(&r.source, name, text, length);
	bool bad = true, starved = error == -ENOMEM;

	if (!error && model_new(&r)) {
		r.source.name = arena_copy(&r.parsed->arena, name, strlen(name));
		if (r.source.name && r.parsed->layouts) {
			read_lines(&r, false);
			complete(&r);
			if (r.model->language)
				read_lines(&r, true);
			group_functions(&r);
			complete_events(&r);
			complete_unseen(&r);
		}
		HASH_CLEAR(hh, r.events);
		HASH_CLEAR(hh, r.fixed);
		HASH_CLEAR(hh, r.told);
		HASH_CLEAR(hh, r.symbols);
		HASH_CLEAR(hh, r.stated);
		starved = r.parsed->arena.failed || r.failed;
		bad = r.source.errors || starved;
	} else if (!error) {
		starved = true;
	}
	if (starved)
		log_error("%s: no memory for this model, or it needs more than %u MiB: free some memory, or shorten "
			  "its lists",
			  log_safe(name), MODEL_TEXT_MOST >> 20);
	source_close(&r.source);
	if (bad)
		model_free(r.model);
	return bad ? NULL : r.model;
}
