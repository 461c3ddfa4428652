/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unseen_statement.c - `unseen EVENT... "why"`: what no probe can see of a runtime, or not all of it.
 *
 * That an event has no calls in a report may mean that the program made none, or that nobody could have seen them.
 * Which it is, a model says, so that the latter is never taken for the former.
 */
#include <string.h>

#include "model/reader.h"

#define UNSEEN_MOST 1000

static bool unseen_add(struct reader *r, const char *event, const char *why)
{
	struct model *model = r->model;
	struct unseen *more = model->unseen;

	if (model->nunseen == UNSEEN_MOST) {
		source_error(&r->source, r->source.clean, "a model has at most %d events that cannot be seen",
			     UNSEEN_MOST);
		return false;
	}
	/* Powers of two: grows when full. */
	if (!(model->nunseen & (model->nunseen - 1))) {
		more = arena_get(&r->parsed->arena, (model->nunseen ? 2 * model->nunseen : 1) * sizeof(*more));
		if (!more)
			return false;
		if (model->nunseen)
			memcpy(more, model->unseen, model->nunseen * sizeof(*more));
		model->unseen = more;
	}
	more[model->nunseen++] = (struct unseen){ .own_name = event, .why = why };
	return true;
}

void read_unseen(struct reader *r, struct statement *s)
{
	const char *quote = memchr(s->at, '"', s->end - s->at);
	struct statement events = { .at = s->at, .end = quote ? quote : s->end };
	const char *word, *why = NULL;
	size_t length, count = 0;
	struct lexer lexer;

	lexer_start(&lexer, &r->source, events.end, s->end);
	if (!quote || !lexer_take_text(&lexer, &r->parsed->arena, &why) || !*why || lexer.token.kind != TOKEN_END) {
		source_error(&r->source, s->start, "expected 'unseen EVENT... \"why it cannot be seen\"'");
		return;
	}
	for (; next_word(&events, &word, &length); count++) {
		char *event = keep_word(r, word, length);

		if (!event)
			return;
		if (length > 255 || !is_plain_word(event, true)) {
			source_error(&r->source, word, "an event has capitals, digits and '_'");
			return;
		}
		if (!unseen_add(r, event, why))
			return;
	}
	if (!count)
		source_error(&r->source, s->start, "which event cannot be seen? 'unseen EVENT... \"why\"'");
}

void complete_unseen(struct reader *r)
{
	for (size_t i = 0; i < r->model->nunseen && r->model->language; i++) {
		struct unseen *u = &r->model->unseen[i];

		u->event = event_name(r, u->own_name, strlen(u->own_name));
		if (!u->event)
			return;
		for (size_t k = 0; k < r->model->nfunctions && !u->partly; k++)
			u->partly = !strcmp(r->model->functions[k].event, u->event);
	}
}
