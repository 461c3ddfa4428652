/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * expand.c - {a,b,c}: one function of each alternative.
 *
 * A name pattern is text and groups. The groups count like the digits of an
 * odometer, the last one fastest; each position of the odometer is a function. The text between
 * is bounded, the number of functions is bounded, and the arena is bounded.
 */
#include <string.h>

#include "model/parts.h"

/* A part of a name pattern: literal text, or a group. */
struct part {
	const char *text;
	size_t length;
	bool group;
	const char *name; /* {NAME=...}; NULL: none */
	bool types;       /* all values are C types */
	struct alternatives alternatives;
};

struct pattern {
	struct part parts[2 * MODEL_GROUPS_MOST + 1];
	unsigned count;
	unsigned groups, named;
};

static const struct alternatives *find_list(const struct lists *lists, const char *word)
{
	for (size_t i = 0; i < lists->count; i++)
		if (!strcmp(lists->lists[i].name, word))
			return &lists->lists[i];
	return NULL;
}

static bool add(struct source *source, struct arena *arena, const char *at, const char *word, const char *value,
		struct alternatives *out, size_t *room)
{
	if (out->count == MODEL_LIST_MOST) {
		source_error(source, at, "more than %d alternatives", MODEL_LIST_MOST);
		return false;
	}
	if (out->count == *room) {
		struct alternative *more = arena_get(arena, 2 * (*room + 4) * sizeof(*more));

		if (!more)
			return false;
		if (out->count)
			memcpy(more, out->items, out->count * sizeof(*more));
		out->items = more;
		*room = 2 * (*room + 4);
	}
	out->items[out->count++] = (struct alternative){ .word = word, .value = value };
	return true;
}

static char *trimmed(struct arena *arena, const char *at, const char *end)
{
	while (at < end && *at == ' ')
		at++;
	while (end > at && end[-1] == ' ')
		end--;
	return arena_copy(arena, at, end - at);
}

/* word, word:value, nothing, or the name of a list. */
static bool add_item(struct source *source, struct arena *arena, const struct lists *lists, const char *at,
		     const char *end, struct alternatives *out, size_t *room)
{
	const char *colon = memchr(at, ':', end - at);
	char *word = trimmed(arena, at, colon ? colon : end);
	char *value = colon ? trimmed(arena, colon + 1, end) : word;

	if (!word || !value)
		return false;
	for (const char *c = word; *c; c++) {
		if (is_word_character(*c) || *c == '.')
			continue;
		source_error(source, at, "an alternative is a word, or word:value, separated by commas");
		return false;
	}
	const struct alternatives *list = colon ? NULL : find_list(lists, word);

	if (!list)
		return add(source, arena, at, word, value, out, room);
	for (size_t i = 0; i < list->count; i++)
		if (!add(source, arena, at, list->items[i].word, list->items[i].value, out, room))
			return false;
	return true;
}

bool alternatives_read(struct source *source, struct arena *arena, const struct lists *lists, const char *at,
		       const char *end, struct alternatives *out)
{
	size_t room = 0;

	for (;;) {
		const char *comma = memchr(at, ',', end - at);

		if (!add_item(source, arena, lists, at, comma ? comma : end, out, &room))
			return false;
		if (!comma)
			return true;
		at = comma + 1;
	}
}

static bool all_types(const struct alternatives *alternatives)
{
	struct ctype type;

	for (size_t i = 0; i < alternatives->count; i++) {
		const char *value = alternatives->items[i].value;

		if (!ctype_from_text(value, strlen(value), &type))
			return false;
	}
	return true;
}

/* word:value:type of a named group: *every: each has a type, which is a C type. */
static bool split_types(struct arena *arena, struct alternatives *alternatives, bool *every)
{
	*every = alternatives->count;
	for (size_t i = 0; i < alternatives->count; i++) {
		struct alternative *item = &alternatives->items[i];
		const char *colon = strchr(item->value, ':'), *value = item->value;
		struct ctype type;

		if (colon) {
			item->type = trimmed(arena, colon + 1, value + strlen(value));
			item->value = trimmed(arena, value, colon);
			if (!item->type || !item->value)
				return false;
		}
		*every &= item->type && ctype_from_text(item->type, strlen(item->type), &type);
	}
	return true;
}

/* What stands between the braces; NAME= before it names the group. */
static bool group_read(struct source *source, struct arena *arena, const struct lists *lists, const char *at,
		       const char *end, struct part *part)
{
	const char *equal = memchr(at, '=', end - at);

	part->group = true;
	if (equal) {
		char *name = trimmed(arena, at, equal);

		if (!name)
			return false;
		for (const char *c = name; !*name || *c; c++) {
			if (is_word_character(*c))
				continue;
			source_error(source, at, "the name of a group is one word: a group is {a,b} or {NAME=a,b}");
			return false;
		}
		part->name = name;
		at = equal + 1;
	}
	if (!alternatives_read(source, arena, lists, at, end, &part->alternatives))
		return false;
	if (part->name)
		return split_types(arena, &part->alternatives, &part->types);
	part->types = all_types(&part->alternatives);
	return true;
}

static bool pattern_read(struct source *source, struct arena *arena, const struct lists *lists, const char *at,
			 const char *end, struct pattern *pattern)
{
	while (at < end) {
		struct part *part = &pattern->parts[pattern->count];
		const char *stop = at;

		if (*at == '{') {
			stop = memchr(at, '}', end - at);
			if (!stop || pattern->groups == MODEL_GROUPS_MOST) {
				source_error(source, at, stop ? "too many groups in one name" : "a '}' is missing");
				return false;
			}
			pattern->groups++;
			if (!group_read(source, arena, lists, at + 1, stop, part))
				return false;
			pattern->named += part->name != NULL;
			at = stop + 1;
		} else {
			while (stop < end && (is_word_character(*stop) || *stop == '.'))
				stop++;
			if (stop == at) {
				source_error(source, at,
					     "not a function's name: expected a letter, a digit, '_' or '{'");
				return false;
			}
			part->text = at;
			part->length = stop - at;
			at = stop;
		}
		pattern->count++;
	}
	return true;
}

/* Which group says T; NULL where there is none. */
static const struct part *find_types(const struct pattern *pattern)
{
	for (unsigned i = 0; i < pattern->count; i++)
		if (pattern->parts[i].types)
			return &pattern->parts[i];
	return NULL;
}

static bool expand_one(struct source *source, struct arena *arena, const struct pattern *pattern, const size_t *digits,
		       const struct prototype *p, struct expansion *out)
{
	const struct part *t = p->uses_t ? find_types(pattern) : NULL;
	char symbol[MODEL_NAME_MOST + 1];
	struct constant *constants = NULL;
	size_t length = 0;

	if (pattern->named || t) {
		constants = arena_get(arena, (pattern->named + 1) * sizeof(*constants));
		if (!constants)
			return false;
		out->constants = constants;
	}

	for (unsigned i = 0; i < pattern->count; i++) {
		const struct part *part = &pattern->parts[i];
		const struct alternative *chosen = part->group ? &part->alternatives.items[digits[i]] : NULL;
		const char *text = chosen ? chosen->word : part->text;
		size_t size = chosen ? strlen(chosen->word) : part->length;

		if (size > MODEL_NAME_MOST - length) {
			source_error(source, p->name_at, "the name is longer than %d bytes", MODEL_NAME_MOST);
			return false;
		}
		memcpy(symbol + length, text, size);
		length += size;
		if (part == t) {
			out->t = chosen->type ?: chosen->value;
			constants[out->nconstants++] = (struct constant){ "T", out->t };
		}
		if (part->name)
			constants[out->nconstants++] = (struct constant){ part->name, chosen->value };
		if (part->name && !strcmp(part->name, "op"))
			out->op = chosen->value;
	}
	if (!length || (symbol[0] >= '0' && symbol[0] <= '9')) {
		source_error(source, p->name_at, "a function's name cannot be empty or begin with a digit");
		return false;
	}
	out->symbol = arena_copy(arena, symbol, length);
	return out->symbol;
}

/* Two groups of one name: which would it be? */
static bool names_twice(const struct pattern *pattern)
{
	for (unsigned i = 0; i < pattern->count; i++)
		for (unsigned j = i + 1; pattern->parts[i].name && j < pattern->count; j++)
			if (pattern->parts[j].name && !strcmp(pattern->parts[i].name, pattern->parts[j].name))
				return true;
	return false;
}

static bool pattern_check(struct source *source, const struct pattern *pattern, const struct prototype *p)
{
	if (names_twice(pattern)) {
		source_error(source, p->name_at,
			     "two groups of one name: a function's name has at most one {op=...}, and so on");
		return false;
	}
	if (p->uses_t && !find_types(pattern)) {
		source_error(source, p->name_at,
			     "T stands for a type, but no group of the name has only C types: "
			     "write word:type, as in {longlong:long long}");
		return false;
	}
	return true;
}

bool expand(struct source *source, struct arena *arena, const struct lists *lists, const struct prototype *p,
	    size_t most, struct expansion **expansions, size_t *count)
{
	size_t digits[2 * MODEL_GROUPS_MOST + 1] = { 0 };
	struct pattern pattern = { .count = 0 };
	size_t total = 1;

	if (!pattern_read(source, arena, lists, p->name_at, p->name_end, &pattern) ||
	    !pattern_check(source, &pattern, p))
		return false;
	for (unsigned i = 0; i < pattern.count; i++)
		if (pattern.parts[i].group && (total *= pattern.parts[i].alternatives.count) > most)
			break;
	if (total > most) {
		source_error(source, p->name_at, "a model has at most %d functions", MODEL_FUNCTIONS_MOST);
		return false;
	}
	*expansions = arena_get(arena, total * sizeof(**expansions));
	if (!*expansions)
		return false;
	for (*count = 0; *count < total; ++*count) {
		if (!expand_one(source, arena, &pattern, digits, p, &(*expansions)[*count]))
			return false;
		for (unsigned i = pattern.count; i-- > 0;) {
			if (!pattern.parts[i].group)
				continue;
			if (++digits[i] < pattern.parts[i].alternatives.count)
				break;
			digits[i] = 0;
		}
	}
	return true;
}
