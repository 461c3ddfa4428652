/* SPDX-License-Identifier: BSD-2-Clause */
/* functions.c - the lines of a model file that describe functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/reader.h"
#include "util/array.h"
#include "util/log.h"

/* In the prototype's text, T and the symbol for their marks. */
static char *prototype_text(struct reader *r, const char *text, const struct expansion *e)
{
	size_t length = 0, symbol = strlen(e->symbol), t = e->t ? strlen(e->t) : 0;
	char *result, *out;

	for (const char *c = text; *c; c++)
		length += *c == '\1' ? t : *c == '\2' ? symbol : 1;
	result = out = arena_get(&r->parsed->arena, length + 1);
	if (!result)
		return NULL;
	for (; *text; text++) {
		const char *piece = *text == '\1' ? e->t : *text == '\2' ? e->symbol : NULL;

		if (!piece && *text != '\1')
			*out++ = *text;
		while (piece && *piece)
			*out++ = *piece++;
	}
	return result;
}

static bool number_is_fixed(struct reader *r, uint32_t number)
{
	for (struct named *n = r->fixed; n; n = n->hh.next)
		if (n->number == number)
			return true;
	return false;
}

/* What a model fixes must be what the event has for good, and nobody else. */
static void check_fixed(struct reader *r, const struct named *fixed, const char *name)
{
	const char *owner = numbers_owner(r->numbers, fixed->number);
	uint32_t number;

	if (numbers_find(r->numbers, name, &number) && number != fixed->number)
		source_error(&r->source, fixed->at, "%s has the number 0x%x, by the file 'numbers'", name, number);
	else if (owner && strcmp(owner, name))
		source_error(&r->source, fixed->at, "%.64s has this number, by the file 'numbers': take another",
			     owner);
}

uint32_t event_number(struct reader *r, const char *event)
{
	struct named *found = named_find(r->events, event), *fixed;
	char *name;
	uint32_t number;

	if (found)
		return found->number;
	fixed = named_find(r->fixed, event);
	name = r->numbers ? event_name(r, event, strlen(event)) : NULL;
	if (fixed) {
		number = fixed->number;
		if (name)
			check_fixed(r, fixed, name);
	} else if (!name || !numbers_find(r->numbers, name, &number)) {
		while (number_is_fixed(r, r->next_number) || numbers_owner(r->numbers, r->next_number))
			r->next_number++;
		number = r->next_number++;
	}
	named_add(r, &r->events, event, number);
	return number;
}

static struct function *function_add(struct reader *r)
{
	struct model *model = r->model;

	if (array_one_more(&model->functions, &r->room, model->nfunctions, sizeof(*model->functions))) {
		r->failed = true;
		return NULL;
	}
	memset(&model->functions[model->nfunctions], 0, sizeof(*model->functions));
	return &model->functions[model->nfunctions++];
}

/* What all functions of a line have in common. */
struct shared {
	char *event;
	uint32_t number;
	enum role role;
	unsigned marks;
	struct prototype *prototype;
	const char *file;
	int line;
};

/* Several lines for one symbol must be alike but for the condition of @only. */
static bool may_repeat(struct reader *r, const struct shared *shared, const char *symbol,
		       const struct function *earlier)
{
	const struct prototype *before = ((struct bound *)earlier->parsed)->prototype, *now = shared->prototype;

	if (!earlier->has_only || !now->only) {
		source_error(&r->source, now->name_at,
			     "%s is in line %d already: a function has one event, unless @only tells them apart",
			     log_safe(symbol), earlier->line);
		return false;
	}
	if (!before->signature || !now->signature || strcmp(before->signature, now->signature) ||
	    earlier->role != shared->role || earlier->marks != shared->marks) {
		source_error(&r->source, now->name_at,
			     "%s is in line %d with another role, mark, prototype or annotation: "
			     "only the condition of @only may differ",
			     log_safe(symbol), earlier->line);
		return false;
	}
	r->regroup = true;
	return true;
}

static bool function_fill(struct reader *r, const struct shared *shared, const struct expansion *e)
{
	struct named *earlier = named_find(r->symbols, e->symbol);
	const struct prototype *p = shared->prototype;
	struct function *f;
	struct bound *bound;

	if (earlier && !may_repeat(r, shared, e->symbol, &r->model->functions[earlier->number]))
		return false;
	if (!earlier)
		named_add(r, &r->symbols, e->symbol, r->model->nfunctions);
	f = function_add(r);
	bound = arena_get(&r->parsed->arena, sizeof(*bound));
	if (!f || !bound)
		return false;
	bound->prototype = p;
	if (e->t)
		ctype_from_text(e->t, strlen(e->t), &bound->t);
	f->model = r->model;
	f->symbol = (char *)e->symbol;
	f->event = shared->event;
	f->number = shared->number;
	f->role = shared->role;
	f->marks = shared->marks;
	f->prototype = prototype_text(r, p->text, e);
	f->op = (char *)e->op;
	f->constants = e->constants;
	f->nconstants = e->nconstants;
	f->file = shared->file;
	f->line = shared->line;
	f->has_only = p->only;
	if (p->only) {
		f->only_negated = p->only->only_negated;
		f->only_number = p->only->only_number;
	}
	f->parsed = bound;
	return f->prototype;
}

/* A type that is passed by value must be known. */
static bool check_type(struct reader *r, const struct parameter *p)
{
	if (p->type.kind != TYPE_NAMED || p->type.pointers || fact_known(r->parsed, p->type.name, NULL))
		return true;
	source_error(&r->source, p->at, "unknown type '%.64s': declare how it is passed, as in 'type %.64s = ptr'",
		     p->type.name, p->type.name);
	return false;
}

/* What lies behind these stars must have a size that one word can hold. */
static void check_stars(struct reader *r, const struct parameter *p, unsigned stars)
{
	if (!stars || p->type.pointers > stars || p->type.kind == TYPE_INTEGER || p->type.kind == TYPE_T ||
	    (p->type.kind == TYPE_NAMED && fact_known(r->parsed, p->type.name, NULL)))
		return;
	source_error(&r->source, p->at,
		     "what '%s' points to is no integer or pointer: say where the value is, as in @ptr(+8 u64)",
		     p->name);
}

/* A field that no layout has would be unknown for ever: that is a slip of the pen. */
static void check_field(struct reader *r, const struct parameter *p, const char *field)
{
	if (!field)
		return;
	if (!strcmp(field, DECODED_FIELD) && p->type.kind == TYPE_NAMED && !p->type.pointers &&
	    fact_decodes(r->parsed, p->type.name))
		return;
	if (p->type.kind != TYPE_NAMED)
		source_error(&r->source, p->at, "'%.64s' is no path: fields are of types that a layout describes",
			     field);
	else if (!fact_known(r->parsed, p->type.name, field))
		source_error(&r->source, p->at, "no layout gives %.64s.%.64s: add a line '%.64s.%.64s = ...'",
			     p->type.name, field, p->type.name, field);
}

static void check_parameter(struct reader *r, const struct parameter *p, unsigned marks)
{
	bool values = false;

	if (!check_type(r, p))
		return;
	if (p->out && !p->type.pointers && p->type.kind != TYPE_T) {
		source_error(&r->source, p->at, "@out needs a pointer");
		return;
	}
	if (p->out && marks & (MARK_ATOMIC | MARK_OPENS))
		source_error(&r->source, p->at,
			     "the return of an 'atomic' or 'opens' function is not observed: remove @out");
	for (unsigned i = 0; i < p->nannotations; i++) {
		const struct annotation *a = &p->annotations[i];

		if (a->fixed != FIXED_NOT)
			continue;
		values = true;
		check_field(r, p, a->path.field);
		/* @type alone is a field where a layout has it */
		if (a->located || (p->out && a->meaning != MEANING_TYPE))
			check_stars(r, p, a->located ? a->path.stars : 1);
	}
	if (!values && p->out && !p->skip)
		check_stars(r, p, 1);
	check_field(r, p, p->has_only ? p->only.path.field : NULL);
	if (p->has_only)
		check_stars(r, p, p->only.path.stars);
}

static bool has_size(const struct prototype *p)
{
	for (unsigned i = 0; i < p->nparameters; i++)
		for (unsigned j = 0; j < p->parameters[i].nannotations; j++)
			if (p->parameters[i].annotations[j].meaning == MEANING_TYPE ||
			    p->parameters[i].annotations[j].meaning == MEANING_SIZE)
				return true;
	return false;
}

static void check_prototype(struct reader *r, const struct shared *shared)
{
	const struct prototype *p = shared->prototype;

	if (p->result.out)
		source_error(&r->source, p->result.at, "a result is always read at the return: remove @out");
	else if (!p->bare)
		check_parameter(r, &p->result, 0);
	for (unsigned i = 0; i < p->nparameters; i++)
		check_parameter(r, &p->parameters[i], shared->marks);
	if (p->records_result && shared->marks & (MARK_ATOMIC | MARK_OPENS))
		source_error(&r->source, p->result.at,
			     "the return of an 'atomic' or 'opens' function is not observed: remove '->'");
	if (shared->marks & MARK_ONE && !p->uses_t && !has_size(p))
		source_error(&r->source, p->name_at,
			     "'one' means one element, but no T, @type or @size says of what: write @bytes(N)");
	if (shared->marks & MARKS_TELL)
		telling_check(&r->source, p, shared->marks);
	if (shared->marks & MARK_OPENS && shared->marks & (MARK_CLOSES | MARK_ATOMIC))
		source_error(&r->source, p->name_at, "'opens' cannot stand with 'closes' or 'atomic'");
}

static bool role_read(struct reader *r, struct statement *s, enum role *role)
{
	const char *names[ROLES + 1] = { NULL }, *word, *near;
	size_t length;

	next_word(s, &word, &length);
	for (int i = 0; i < ROLES; i++) {
		names[i] = role_name(i);
		if (strlen(names[i]) == length && !memcmp(names[i], word, length)) {
			*role = i;
			return true;
		}
	}
	near = name_nearest(word, length, names);
	if (near)
		source_error(&r->source, word, "unknown role: did you mean '%s'?", near);
	else
		source_error(&r->source, word,
			     "expected a role such as 'barrier', 'put' or 'function': see docs/models.md for the list");
	return false;
}

/* leaf callback cancel atomic and so on, as long as there are such words and something follows. */
static unsigned marks_read(struct statement *s)
{
	static const struct {
		const char *word;
		unsigned mark;
	} words[] = { { "leaf", MARK_LEAF },
		      { "callback", MARK_CALLBACK },
		      { "cancel", MARK_CANCEL },
		      { "atomic", MARK_ATOMIC },
		      { "one", MARK_ONE },
		      { "opens", MARK_OPENS },
		      { "closes", MARK_CLOSES },
		      { "sync", MARK_SYNC },
		      { "stays", MARK_STAYS },
		      { "creates", MARK_CREATES },
		      { "starts", MARK_STARTS | MARK_ATOMIC },
		      { "ends", MARK_ENDS | MARK_ATOMIC },
		      { "happens", MARK_HAPPENS | MARK_ATOMIC },
		      { "notifies", MARK_NOTIFIES | MARK_ATOMIC },
		      { "controls", MARK_CONTROLS | MARK_ATOMIC },
		      { "each", MARK_EACH },
		      { "team", MARK_TEAM },
		      { "share", MARK_SHARE },
		      { "pointed", MARK_POINTED },
		      { "outer", MARK_OUTER },
		      { "exposure", MARK_EXPOSURE },
		      { "access", MARK_ACCESS },
		      { "chunk", MARK_CHUNK },
		      { "chosen", MARK_CHOSEN },
		      { "split", MARK_SPLIT },
		      { "reals", MARK_REALS } };
	unsigned marks = 0;

	for (;;) {
		struct statement ahead = *s;
		const char *word;
		unsigned mark = 0;
		size_t length;

		next_word(&ahead, &word, &length);
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			if (strlen(words[i].word) == length && !memcmp(words[i].word, word, length))
				mark = words[i].mark;
		if (!mark || skip_blanks(ahead.at, ahead.end) == ahead.end)
			return marks;
		marks |= mark;
		*s = ahead;
	}
}

char *event_name(struct reader *r, const char *word, size_t length)
{
	char name[MODEL_NAME_MOST];
	int size = snprintf(name, sizeof(name), "GASP_%.255s_%.*s", r->model->language, (int)length, word);

	return arena_copy(&r->parsed->arena, name, size);
}

void read_function(struct reader *r, struct statement *s, const char *word, size_t length)
{
	struct shared shared = { .line = s->line, .file = r->source.name };
	struct expansion *expansions;
	size_t count;
	char *event;

	if (length > 255) {
		source_error(&r->source, word, "the event's name is longer than 255 bytes");
		return;
	}
	event = keep_word(r, word, length);
	if (!event || !is_plain_word(event, true)) {
		source_error(&r->source, word, "an event has capitals, digits and '_'");
		return;
	}
	if (!role_read(r, s, &shared.role))
		return;
	shared.marks = marks_read(s);
	shared.event = event_name(r, word, length);
	shared.prototype = prototype_read(&r->source, &r->parsed->arena, s->at, s->end);
	if (!shared.prototype || !shared.event)
		return;
	check_prototype(r, &shared);
	shared.number = event_number(r, event);
	if (!expand(&r->source, &r->parsed->arena, &r->parsed->lists, shared.prototype,
		    MODEL_FUNCTIONS_MOST - r->model->nfunctions, &expansions, &count))
		return;
	for (size_t i = 0; i < count; i++)
		if (!function_fill(r, &shared, &expansions[i]))
			return;
}

/* For qsort: by the first function of the symbol, then in the order of the file. */
struct rank {
	uint32_t first, index;
};

static int compare_ranks(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

void group_functions(struct reader *r)
{
	size_t count = r->model->nfunctions;
	struct rank *ranks;
	struct function *grouped;

	if (!r->regroup)
		return;
	ranks = calloc(count, sizeof(*ranks));
	grouped = calloc(count, sizeof(*grouped));
	for (size_t i = 0; ranks && grouped && i < count; i++) {
		struct named *symbol = named_find(r->symbols, r->model->functions[i].symbol);

		ranks[i] = (struct rank){ symbol ? symbol->number : i, i };
	}
	if (ranks && grouped) {
		qsort(ranks, count, sizeof(*ranks), compare_ranks);
		for (size_t i = 0; i < count; i++)
			grouped[i] = r->model->functions[ranks[i].index];
		free(r->model->functions);
		r->model->functions = grouped;
		grouped = NULL;
	} else {
		r->failed = true;
	}
	free(ranks);
	free(grouped);
}
