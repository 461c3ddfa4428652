/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event.c - the events of a model: `event NAME start(...) end(...) "..."`.
 *
 * GASP's specification gives each event a row for each of its types, with the arguments that a tool gets. A model says
 * the same in the same words; where the function's own values have other names, `=` says which they are. An event
 * without a statement is one too: its arguments are then the values of whatever function it comes from.
 */
#include <stdlib.h>
#include <string.h>

#include "model/reader.h"
#include "util/array.h"

#define FROM_MOST 8

static const char too_many[] = "an event has at most %d arguments";

/* The two opaque types of GASP 1.4 section 5.4, whose values tools get by one indirection more. */
static bool is_shared(const struct ctype *type)
{
	return type->kind == TYPE_NAMED && type->pointers == 1 &&
	       (!strcmp(type->name, "gasp_upc_PTS_t") || !strcmp(type->name, "gasp_upc_lock_t"));
}

void argument_set_kind(struct event_argument *argument, const struct ctype *type)
{
	argument->size = 8;
	if (is_shared(type))
		argument->kind = ARGUMENT_SHARED;
	else if (type->pointers == 1 && strstr(argument->type, "char *"))
		argument->kind = ARGUMENT_TEXT;
	else if (type->pointers)
		argument->kind = ARGUMENT_POINTER;
	else if (type->kind == TYPE_FLOAT || type->kind == TYPE_LONG_DOUBLE)
		argument->kind = ARGUMENT_DOUBLE;
	else if (type->kind != TYPE_INTEGER)
		argument->kind = ARGUMENT_UINT; /* an opaque handle */
	else
		argument->kind = type->negative ? ARGUMENT_INT : ARGUMENT_UINT;
	if (type->kind == TYPE_INTEGER && !type->pointers && type->size < 8)
		argument->size = type->size;
}

/* NAME, NAME.FIELD or NAME.INDEX, kept; NULL, said. */
static const char *dotted_name(struct lexer *lexer, struct arena *arena)
{
	const char *start = lexer->token.at, *end = start;

	do {
		bool element = lexer->token.kind == TOKEN_NUMBER && end > start; /* requests.0 */

		if (lexer->token.kind != TOKEN_WORD && !element) {
			source_error(lexer->source, lexer->token.at,
				     "expected a value's name or a number instead of %s", lexer_show(lexer));
			return NULL;
		}
		end = lexer->token.at + lexer->token.length;
		lexer_next(lexer);
	} while (lexer_take_mark(lexer, '.'));
	if (memchr(start, ' ', end - start)) {
		source_error(lexer->source, start, "a value's name has no blanks");
		return NULL;
	}
	return arena_copy(arena, start, end - start);
}

static bool from_read(struct lexer *lexer, struct arena *arena, struct argument_from *from)
{
	char *dot, *name;

	if (lexer->token.kind == TOKEN_NUMBER || lexer_is_mark(lexer, '-'))
		return lexer_take_number(lexer, "the argument", INT64_MIN, INT64_MAX, &from->number);
	from->name = name = (char *)dotted_name(lexer, arena);
	dot = name ? strrchr(name, '.') : NULL;
	if (dot && !strcmp(dot, ".given")) {
		*dot = 0;
		from->given = true;
	}
	return name;
}

/* = a|b|0; without it, the value of the argument's own name. */
static bool sources_read(struct lexer *lexer, struct arena *arena, struct event_argument *argument)
{
	struct argument_from from[FROM_MOST] = { { .name = argument->name } };

	argument->nfrom = 1;
	if (lexer_take_mark(lexer, '=')) {
		argument->nfrom = 0;
		do {
			if (argument->nfrom == FROM_MOST) {
				source_error(lexer->source, lexer->token.at,
					     "an argument has at most %d places that it may come from", FROM_MOST);
				return false;
			}
			from[argument->nfrom] = (struct argument_from){ .name = NULL };
			if (!from_read(lexer, arena, &from[argument->nfrom++]))
				return false;
		} while (lexer_take_mark(lexer, '|'));
	}
	argument->from = arena_get(arena, argument->nfrom * sizeof(*from));
	if (argument->from)
		memcpy(argument->from, from, argument->nfrom * sizeof(*from));
	return argument->from;
}

/* TYPE NAME [= ...] */
static bool argument_read(struct lexer *lexer, struct arena *arena, struct event_argument *argument)
{
	const char *at = lexer->token.at;
	struct ctype type = { .kind = TYPE_VOID };

	if (!ctype_read(lexer, arena, &type))
		return false;
	if (lexer->token.kind != TOKEN_WORD) {
		source_error(lexer->source, lexer->token.at, "expected the argument's name instead of %s",
			     lexer_show(lexer));
		return false;
	}
	if (type.kind == TYPE_T || (type.kind == TYPE_VOID && !type.pointers)) {
		source_error(lexer->source, at, "an argument has a C type, as in 'size_t nbytes'");
		return false;
	}
	argument->type = type_text(arena, at, lexer->token.at);
	argument->name = arena_copy(arena, lexer->token.at, lexer->token.length);
	lexer_next(lexer);
	if (!argument->type || !argument->name)
		return false;
	argument_set_kind(argument, &type);
	return sources_read(lexer, arena, argument);
}

bool arguments_keep(struct arena *arena, const struct event_argument *arguments, size_t count, struct event_list *list)
{
	list->stated = true;
	list->count = count;
	list->arguments = arena_get(arena, count * sizeof(*arguments));
	if (list->arguments)
		memcpy(list->arguments, arguments, count * sizeof(*arguments));
	return list->arguments;
}

/* What stands between the parentheses; the first is the current token. */
static bool list_read(struct lexer *lexer, struct arena *arena, struct event_list *list)
{
	struct event_argument arguments[ARGUMENTS_MOST] = { { .name = NULL } };
	size_t count = 0;

	lexer_next(lexer);
	while (!lexer_is_mark(lexer, ')')) {
		if (count == ARGUMENTS_MOST) {
			source_error(lexer->source, lexer->token.at, too_many, ARGUMENTS_MOST);
			return false;
		}
		if (!argument_read(lexer, arena, &arguments[count++]))
			return false;
		if (!lexer_take_mark(lexer, ','))
			break;
		if (lexer_is_mark(lexer, ')')) {
			source_error(lexer->source, lexer->token.at, "expected an argument instead of ')'");
			return false;
		}
	}
	if (!lexer_take_mark(lexer, ')')) {
		source_error(lexer->source, lexer->token.at, "expected ',' or ')' instead of %s", lexer_show(lexer));
		return false;
	}
	return arguments_keep(arena, arguments, count, list);
}

/* The list's argument of this name, from `from` on; list->count: none. */
static size_t argument_position(const struct event_list *list, const char *name, size_t from)
{
	while (from < list->count && strcmp(list->arguments[from].name, name))
		from++;
	return from;
}

/*
 * END by `end +(...)`: the arguments of START, and those of `more`. One that START has, too, takes its place; a new one
 * stands before START's argument whose name comes next in `more`, and where none comes, at the end.
 */
static bool lists_join(struct source *source, struct arena *arena, const char *at, const struct event_list *start,
		       const struct event_list *more, struct event_list *end)
{
	struct event_argument joined[2 * ARGUMENTS_MOST];
	size_t count = 0, taken = 0;

	for (size_t i = 0; i < more->count; i++) {
		const char *name = more->arguments[i].name;
		bool known = argument_position(start, name, 0) < start->count;
		size_t next = start->count;

		for (size_t k = i; k < more->count && next == start->count; k++)
			next = argument_position(start, more->arguments[k].name, taken);
		if (argument_position(more, name, 0) < i || (known && argument_position(start, name, 0) < taken)) {
			source_error(source, at, "'%.64s' stands twice, or in another order than in start(...)", name);
			return false;
		}
		while (taken < next)
			joined[count++] = start->arguments[taken++];
		joined[count++] = more->arguments[i];
		taken += known;
	}
	while (taken < start->count)
		joined[count++] = start->arguments[taken++];
	if (count > ARGUMENTS_MOST) {
		source_error(source, at, too_many, ARGUMENTS_MOST);
		return false;
	}
	return arguments_keep(arena, joined, count, end);
}

/* end +(...), which is at `at`. */
static bool end_add(struct source *source, struct arena *arena, const char *at, struct model_event *event)
{
	struct event_list more = event->lists[EVENT_END];

	if (event->lists[EVENT_START].stated)
		return lists_join(source, arena, at, &event->lists[EVENT_START], &more, &event->lists[EVENT_END]);
	source_error(source, at, "end +(...) adds to the arguments of start(...), which is missing");
	return false;
}

/* "...", up to the end of the statement; the first quote is the current token. */
static bool description_read(struct lexer *lexer, struct arena *arena, struct model_event *event)
{
	if (!lexer_take_text(lexer, arena, &event->description)) {
		if (!arena->failed)
			source_error(lexer->source, lexer->token.at,
				     "the '\"' at the end of the description is missing");
		return false;
	}
	if (lexer->token.kind == TOKEN_END)
		return true;
	source_error(lexer->source, lexer->token.at, "unexpected %s after the description", lexer_show(lexer));
	return false;
}

/* start(...) end(...) end +(...) both(...) atomic(...), in any order, and perhaps a description. */
static bool lists_read(struct lexer *lexer, struct arena *arena, struct model_event *event)
{
	static const struct {
		const char *word;
		enum event_type first, last;
	} words[] = { { "start", EVENT_START, EVENT_START },
		      { "end", EVENT_END, EVENT_END },
		      { "both", EVENT_START, EVENT_END },
		      { "atomic", EVENT_ATOMIC, EVENT_ATOMIC } };
	size_t known = sizeof(words) / sizeof(*words), i;
	const char *plus = NULL;

	while (lexer->token.kind == TOKEN_WORD) {
		const char *at = lexer->token.at;
		struct event_list list = { .stated = false };

		for (i = 0; i < known && !lexer_take_word(lexer, words[i].word); i++)
			;
		if (i < known && words[i].last == EVENT_END && words[i].first == EVENT_END &&
		    lexer_take_mark(lexer, '+'))
			plus = at;
		if (i == known || !lexer_is_mark(lexer, '(')) {
			source_error(lexer->source, at,
				     "expected start(...), end(...), end +(...), both(...) or atomic(...)");
			return false;
		}
		if (!list_read(lexer, arena, &list))
			return false;
		for (unsigned type = words[i].first; type <= words[i].last; type++) {
			if (event->lists[type].stated) {
				source_error(lexer->source, at, "a second list for one type of event");
				return false;
			}
			event->lists[type] = list;
		}
	}
	if (plus && !end_add(lexer->source, arena, plus, event))
		return false;
	if (lexer_is_mark(lexer, '"'))
		return description_read(lexer, arena, event);
	if (lexer->token.kind == TOKEN_END)
		return true;
	source_error(lexer->source, lexer->token.at,
		     "unexpected %s: expected start(...), end(...), both(...), atomic(...) or \"...\"",
		     lexer_show(lexer));
	return false;
}

static struct model_event *event_add(struct reader *r)
{
	struct model *model = r->model;

	if (array_one_more(&model->events, &r->events_room, model->nevents, sizeof(*model->events))) {
		r->failed = true;
		return NULL;
	}
	memset(&model->events[model->nevents], 0, sizeof(*model->events));
	return &model->events[model->nevents++];
}

void read_event(struct reader *r, struct statement *s)
{
	struct arena *arena = &r->parsed->arena;
	struct model_event event = { .listed = true }, *added;
	struct lexer lexer;
	const char *word;
	size_t length;
	char *name;

	if (!next_word(s, &word, &length)) {
		source_error(&r->source, s->at, "expected an event, as in 'event BARRIER both(int id)'");
		return;
	}
	name = keep_word(r, word, length);
	if (!name || length > 255 || !is_plain_word(name, true)) {
		source_error(&r->source, word, "an event has capitals, digits and '_', at most 255 of them");
		return;
	}
	if (named_find(r->stated, name)) {
		source_error(&r->source, word, "a second statement for this event");
		return;
	}
	lexer_start(&lexer, &r->source, s->at, s->end);
	if (!lists_read(&lexer, arena, &event))
		return;
	event.by_prototype = !event.lists[EVENT_START].stated && !event.lists[EVENT_END].stated &&
			     !event.lists[EVENT_ATOMIC].stated;
	event.own_name = name;
	named_add(r, &r->stated, name, r->model->nevents);
	added = event_add(r);
	if (added)
		*added = event;
}

/* Every function's event is one of the model's. */
static void add_functions_events(struct reader *r)
{
	const size_t prefix = strlen("GASP_") + strlen(r->model->language) + 1;

	for (size_t i = 0; i < r->model->nfunctions; i++) {
		struct function *f = &r->model->functions[i];
		struct named *known = named_find(r->stated, f->event + prefix);
		struct model_event *event;

		if (known) {
			event = &r->model->events[known->number];
		} else {
			named_add(r, &r->stated, f->event + prefix, r->model->nevents);
			event = event_add(r);
			if (!event)
				return;
			event->own_name = f->event + prefix;
		}
		if (!event->nfunctions++) {
			event->role = f->role;
			event->marks = f->marks;
		}
	}
}

void complete_events(struct reader *r)
{
	struct model *model = r->model;
	const size_t prefix = model->language ? strlen("GASP_") + strlen(model->language) + 1 : 0;

	if (!model->language || r->failed || r->parsed->arena.failed)
		return;
	add_functions_events(r);
	for (size_t i = 0; i < model->nevents; i++) {
		struct model_event *event = &model->events[i];
		struct named *told = named_find(r->told, event->own_name);

		event->number = event_number(r, event->own_name);
		event->name = event_name(r, event->own_name, strlen(event->own_name));
		event->has_told = told;
		event->told = told ? told->number : 0;
		model->tells |= event->has_told;
	}
	for (size_t i = 0; i < model->nfunctions; i++) {
		struct named *known = named_find(r->stated, model->functions[i].event + prefix);

		model->functions[i].of = known && known->number < model->nevents ? &model->events[known->number] : NULL;
	}
	arguments_of_prototypes(r);
}

const struct model_event *model_event_find(const struct model *model, const char *name)
{
	for (size_t i = 0; i < model->nevents; i++)
		if (!strcmp(model->events[i].name, name))
			return &model->events[i];
	return NULL;
}
