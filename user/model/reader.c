/*
 * reader.c - the statements of a model file.
 *
 * Two passes: the first takes everything but functions, so that lists, layouts and
 * types may follow their use; the second takes the functions. Both go on after a mistake. A
 * line is a function where its first word is in capitals, a fact where it is `type` or has
 * a dot, and otherwise a statement of the table below.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/parts.h"
#include "util/log.h"

#define UTHASH_NONFATAL
#include <uthash.h>

#define FIRST_NUMBER 0xc0000000u /* PUPC 1.1: the range of the user's events */

/* What is kept while reading, keyed by name. */
struct named {
	const char *name;
	uint32_t number; /* of an event; line of a symbol */
	UT_hash_handle hh;
};

struct reader {
	struct source source;
	struct model *model;
	struct parsed_model *parsed;
	struct layout *layout;     /* the open one */
	struct named *events, *fixed, *symbols;
	bool numbers[2];           /* `numbers` was given */
	uint32_t next_number;
	size_t room;               /* of model->functions */
	bool failed;               /* out of memory */
};

/* A statement: the text behind its first word. */
struct statement {
	const char *start; /* the first word */
	const char *at, *end;
	int line;
};

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && *at == ' ')
		at++;
	return at;
}

/* The next word up to a blank; false at the end. */
static bool next_word(struct statement *s, const char **word, size_t *length)
{
	s->at = skip_blanks(s->at, s->end);
	*word = s->at;
	while (s->at < s->end && *s->at != ' ')
		s->at++;
	*length = s->at - *word;
	return *length;
}

static char *keep(struct reader *r, const char *text, size_t length)
{
	if (length > MODEL_NAME_MOST) {
		source_error(&r->source, text, "the name is longer than %d bytes", MODEL_NAME_MOST);
		length = MODEL_NAME_MOST;
	}
	return arena_copy(&r->parsed->arena, text, length);
}

/* All words that are left, behind those already in `list` (may be NULL), as a NULL-terminated array. */
static char **words_read(struct reader *r, struct statement *s, char **list, const char *what)
{
	struct statement copy = *s;
	size_t count = 0, old = 0, length;
	const char *word;

	while (list && list[old])
		old++;
	while (next_word(&copy, &word, &length))
		count++;
	if (!count)
		source_error(&r->source, s->at, "expected %s", what);
	char **more = arena_get(&r->parsed->arena, (old + count + 1) * sizeof(*more));

	if (!more)
		return list;
	if (old)
		memcpy(more, list, old * sizeof(*more));
	while (next_word(s, &word, &length))
		more[old++] = keep(r, word, length);
	return more;
}

static char *word_read(struct reader *r, struct statement *s, const char *what)
{
	const char *word;
	size_t length;

	if (!next_word(s, &word, &length)) {
		source_error(&r->source, s->at, "expected %s", what);
		return NULL;
	}
	return keep(r, word, length);
}

static void end_read(struct reader *r, struct statement *s)
{
	const char *word;
	size_t length;

	if (next_word(s, &word, &length))
		source_error(&r->source, word, "unexpected text at the end of the statement: remove it");
}

/* For names that become part of other names and of options. */
static bool is_plain(const char *word, bool capitals)
{
	if (!*word)
		return false;
	for (; *word; word++)
		if (!isalnum((unsigned char)*word) && *word != '_' && (capitals || *word != '-'))
			return false;
		else if (capitals && islower((unsigned char)*word))
			return false;
	return true;
}

static bool number_read(struct reader *r, struct statement *s, int64_t least, int64_t most, int64_t *number)
{
	struct lexer lexer;

	lexer_start(&lexer, &r->source, s->at, s->end);
	if (!lexer_take_number(&lexer, "the number", least, most, number))
		return false;
	if (lexer.token.kind != TOKEN_END)
		source_error(&r->source, lexer.token.at, "unexpected %s after the number", lexer_show(&lexer));
	return true;
}

static struct named *named_find(struct named *names, const char *name)
{
	struct named *found;

	HASH_FIND_STR(names, name, found);
	return found;
}

static void named_add(struct reader *r, struct named **names, const char *name, uint32_t number)
{
	struct named *added = arena_get(&r->parsed->arena, sizeof(*added));

	if (!added)
		return;
	added->name = name;
	added->number = number;
	HASH_ADD_KEYPTR(hh, *names, added->name, strlen(added->name), added);
	if (!added->hh.tbl)
		r->failed = true;
}

static void read_model(struct reader *r, struct statement *s)
{
	if (r->model->name) {
		source_error(&r->source, s->start, "a second 'model': one file holds one model");
		return;
	}
	r->model->name = word_read(r, s, "the model's name");
	if (r->model->name && !is_plain(r->model->name, false))
		source_error(&r->source, s->start, "a model's name has letters, digits, '_' and '-'");
	end_read(r, s);
}

static void read_language(struct reader *r, struct statement *s)
{
	r->model->language = word_read(r, s, "the language, as in 'language SHMEM'");
	if (r->model->language && !is_plain(r->model->language, true))
		source_error(&r->source, s->start, "a language has capitals, digits and '_': events are named GASP_LANGUAGE_EVENT");
	end_read(r, s);
}

static void read_numbers(struct reader *r, struct statement *s)
{
	int64_t number;

	if (number_read(r, s, 0, UINT32_MAX - 2 * MODEL_FUNCTIONS_MOST, &number))
		r->next_number = number;
}

static void read_number(struct reader *r, struct statement *s)
{
	char *event = word_read(r, s, "an event, as in 'number BARRIER 9'");
	int64_t number;

	if (!event || !number_read(r, s, 0, UINT32_MAX, &number))
		return;
	if (named_find(r->fixed, event))
		source_error(&r->source, s->start, "the event has a number already");
	else
		named_add(r, &r->fixed, event, number);
}

static void read_library(struct reader *r, struct statement *s)
{
	struct statement copy = *s;
	const char *word;
	size_t length;

	if (next_word(&copy, &word, &length) && length == 7 && !memcmp(word, "program", 7)) {
		r->model->in_program = true;
		end_read(r, &copy);
		return;
	}
	r->model->library = words_read(r, s, r->model->library, "a library, as in 'library libmpi.so*', or 'library program'");
}

static void read_join(struct reader *r, struct statement *s)
{
	char *how = word_read(r, s, "'parallel' or 'alone'");

	if (how && !strcmp(how, "alone"))
		r->model->alone = true;
	else if (how && strcmp(how, "parallel"))
		source_error(&r->source, s->start, "expected 'join parallel' or 'join alone'");
	end_read(r, s);
}

static void read_needs(struct reader *r, struct statement *s)
{
	r->model->needs = words_read(r, s, r->model->needs, "a symbol of the program");
}

static void read_rank(struct reader *r, struct statement *s)
{
	char *how = word_read(r, s, "'env', 'symbol' or 'plus'");
	int64_t number;

	if (!how)
		return;
	if (!strcmp(how, "env")) {
		r->model->rank_env = words_read(r, s, r->model->rank_env, "an environment variable");
	} else if (!strcmp(how, "symbol")) {
		r->model->rank_symbol = word_read(r, s, "an int variable of the program");
		end_read(r, s);
	} else if (!strcmp(how, "plus")) {
		if (number_read(r, s, -1000000, 1000000, &number))
			r->model->rank_plus = number;
	} else {
		source_error(&r->source, s->start, "expected 'rank env NAME...', 'rank symbol NAME' or 'rank plus N'");
	}
}

static void read_unit(struct reader *r, struct statement *s)
{
	r->model->unit = word_read(r, s, "a word, as in 'unit rank'");
	end_read(r, s);
}

/* list NAME = ALTERNATIVES */
static void read_list(struct reader *r, struct statement *s)
{
	struct lists *lists = &r->parsed->lists;
	struct alternatives list = { .count = 0 }, *more;
	const char *equal = memchr(s->at, '=', s->end - s->at);
	struct statement head = { .at = s->at, .end = equal ? equal : s->end };
	char *name = word_read(r, &head, "'list NAME = a,b,c'");

	if (!name)
		return;
	if (!equal || !is_plain(name, false)) {
		source_error(&r->source, s->start, "expected 'list NAME = a,b,c'");
		return;
	}
	end_read(r, &head);
	list.name = name;
	for (size_t i = 0; i < lists->count; i++)
		if (!strcmp(lists->lists[i].name, name)) {
			source_error(&r->source, s->start, "a second list of this name");
			return;
		}
	if (lists->count == MODEL_FACTS_MOST) {
		source_error(&r->source, s->start, "a model has at most %d lists", MODEL_FACTS_MOST);
		return;
	}
	if (!alternatives_read(&r->source, &r->parsed->arena, lists, equal + 1, s->end, &list))
		return;
	more = arena_get(&r->parsed->arena, (lists->count + 1) * sizeof(*more));
	if (!more)
		return;
	if (lists->count)
		memcpy(more, lists->lists, lists->count * sizeof(*more));
	more[lists->count++] = list;
	lists->lists = more;
}

/* layout GLOB... */
static void read_layout(struct reader *r, struct statement *s)
{
	struct parsed_model *parsed = r->parsed;
	struct layout *more;

	if (parsed->nlayouts == MODEL_FACTS_MOST) {
		source_error(&r->source, s->start, "a model has at most %d layouts", MODEL_FACTS_MOST);
		return;
	}
	more = arena_get(&parsed->arena, (parsed->nlayouts + 1) * sizeof(*more));
	if (!more)
		return;
	memcpy(more, parsed->layouts, parsed->nlayouts * sizeof(*more));
	parsed->layouts = more;
	more[parsed->nlayouts].globs = (const char **)words_read(r, s, NULL, "a library, as in 'layout libmpi.so.40'");
	r->layout = &more[parsed->nlayouts++];
}

static const struct {
	const char *word;
	void (*read)(struct reader *r, struct statement *s);
} statements[] = {
	{ "model", read_model },   { "language", read_language }, { "numbers", read_numbers }, { "number", read_number },
	{ "library", read_library }, { "join", read_join },	  { "needs", read_needs },     { "rank", read_rank },
	{ "unit", read_unit },	   { "list", read_list },	  { "layout", read_layout },
};
#define STATEMENTS (sizeof(statements) / sizeof(*statements))

static void unknown_statement(struct reader *r, const char *word, size_t length)
{
	const char *names[STATEMENTS + 2] = { "type" };
	const char *near;

	for (size_t i = 0; i < STATEMENTS; i++)
		names[i + 1] = statements[i].word;
	near = name_nearest(word, length, names);
	if (near)
		source_error(&r->source, word, "unknown statement: did you mean '%s'?", near);
	else
		source_error(&r->source, word, "unknown statement: expected EVENT ROLE PROTOTYPE (the event in capitals), or one of those in docs/models.md");
}

/* Everything but functions. */
static void read_head(struct reader *r, struct statement *s, const char *word, size_t length)
{
	for (size_t i = 0; i < STATEMENTS; i++) {
		if (strlen(statements[i].word) != length || memcmp(statements[i].word, word, length))
			continue;
		r->layout = &r->parsed->layouts[0];
		if (!r->model->name && i)
			source_error(&r->source, word, "the first statement must be 'model NAME'");
		statements[i].read(r, s);
		return;
	}
	unknown_statement(r, word, length);
}

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

static uint32_t event_number(struct reader *r, const char *event)
{
	struct named *found = named_find(r->events, event), *fixed;

	if (found)
		return found->number;
	fixed = named_find(r->fixed, event);
	uint32_t number = fixed ? fixed->number : r->next_number;

	for (struct named *n = r->fixed; !fixed && n; n = n->hh.next)
		if (n->number == number) {
			number++;
			n = r->fixed;
			if (n->number == number)
				number++;
		}
	if (!fixed)
		r->next_number = number + 1;
	named_add(r, &r->events, event, number);
	return number;
}

static struct function *function_add(struct reader *r)
{
	struct model *model = r->model;

	if (model->nfunctions == r->room) {
		size_t room = r->room ? 2 * r->room : 64;
		struct function *more = reallocarray(model->functions, room, sizeof(*more));

		if (!more) {
			r->failed = true;
			return NULL;
		}
		model->functions = more;
		r->room = room;
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

static bool function_fill(struct reader *r, const struct shared *shared, const struct expansion *e)
{
	struct named *earlier = named_find(r->symbols, e->symbol);
	struct function *f;
	struct bound *bound;

	if (earlier) {
		source_error(&r->source, shared->prototype->name_at, "%s is in line %u already: a function has one event",
			     log_safe(e->symbol), earlier->number);
		return false;
	}
	named_add(r, &r->symbols, e->symbol, shared->line);
	f = function_add(r);
	bound = arena_get(&r->parsed->arena, sizeof(*bound));
	if (!f || !bound)
		return false;
	bound->prototype = shared->prototype;
	if (e->t)
		ctype_from_text(e->t, strlen(e->t), &bound->t);
	f->model = r->model;
	f->symbol = (char *)e->symbol;
	f->event = shared->event;
	f->number = shared->number;
	f->role = shared->role;
	f->marks = shared->marks;
	f->prototype = prototype_text(r, shared->prototype->text, e);
	f->op = (char *)e->op;
	f->file = shared->file;
	f->line = shared->line;
	f->parsed = bound;
	return f->prototype;
}

/* A type that is passed by value must be known. */
static void check_type(struct reader *r, const struct parameter *p)
{
	if (p->type.kind == TYPE_NAMED && !p->type.pointers && !fact_type_known(r->parsed, p->type.name))
		source_error(&r->source, p->at, "unknown type '%.64s': declare how it is passed, as in 'type %.64s = ptr'",
			     p->type.name, p->type.name);
}

static void check_prototype(struct reader *r, const struct shared *shared)
{
	const struct prototype *p = shared->prototype;

	check_type(r, &p->result);
	for (unsigned i = 0; i < p->nparameters; i++)
		check_type(r, &p->parameters[i]);
	if (!(shared->marks & MARK_ATOMIC))
		return;
	if (p->result.nannotations)
		source_error(&r->source, p->result.at, "an atomic event has no return: remove the '->' or 'atomic'");
	for (unsigned i = 0; i < p->nparameters; i++)
		if (p->parameters[i].out)
			source_error(&r->source, p->parameters[i].at, "an atomic event has no return: remove '@out' or 'atomic'");
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
		source_error(&r->source, word, "expected a role such as 'barrier', 'put' or 'function': see docs/models.md for the list");
	return false;
}

/* leaf callback cancel atomic, as long as there are such words and something follows. */
static unsigned marks_read(struct statement *s)
{
	static const struct {
		const char *word;
		unsigned mark;
	} words[] = { { "leaf", MARK_LEAF }, { "callback", MARK_CALLBACK }, { "cancel", MARK_CANCEL }, { "atomic", MARK_ATOMIC } };
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

static char *event_name(struct reader *r, const char *word, size_t length)
{
	char name[MODEL_NAME_MOST];
	int size = snprintf(name, sizeof(name), "GASP_%.255s_%.*s", r->model->language, (int)length, word);

	return arena_copy(&r->parsed->arena, name, size);
}

/* EVENT role [mark...] PROTOTYPE */
static void read_function(struct reader *r, struct statement *s, const char *word, size_t length)
{
	struct shared shared = { .line = s->line, .file = r->source.name };
	struct expansion *expansions;
	size_t count;
	char *event;

	if (length > 255) {
		source_error(&r->source, word, "the event's name is longer than 255 bytes");
		return;
	}
	event = keep(r, word, length);
	if (!event || !is_plain(event, true)) {
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
			fact_read(&r->source, r->parsed, r->layout, word, s.end);
		else if (!function && !fact && !functions)
			read_head(r, &s, word, length);
		else if (function)
			r->layout = &r->parsed->layouts[0];
	}
}

/* What a model must have, and what it has by default. */
static void complete(struct reader *r)
{
	static char rank[] = "rank";
	struct model *model = r->model;
	struct arena *arena = &r->parsed->arena;
	char **none = arena_get(arena, sizeof(*none));

	if (!model->name)
		source_error(&r->source, r->source.clean, "no model here: the first statement must be 'model NAME'");
	else if (!model->library && !model->in_program)
		source_error(&r->source, r->source.clean, "where are the functions? add 'library GLOB...' or 'library program'");
	if (model->name && !model->language) {
		model->language = arena_copy(arena, model->name, strlen(model->name));
		for (char *c = model->language; c && *c; c++)
			*c = *c == '-' ? '_' : toupper((unsigned char)*c);
	}
	model->library = model->library ? model->library : none;
	model->needs = model->needs ? model->needs : none;
	model->rank_env = model->rank_env ? model->rank_env : none;
	model->unit = model->unit ? model->unit : rank;
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
	r->layout = parsed->layouts;
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
	free(model);
}

struct model *model_read(const char *name, const char *text, size_t length)
{
	struct reader r = { .failed = false };
	bool bad = true;

	if (source_open(&r.source, name, text, length))
		return NULL;
	if (model_new(&r)) {
		r.source.name = arena_copy(&r.parsed->arena, name, strlen(name));
		if (r.source.name && r.layout) {
			read_lines(&r, false);
			complete(&r);
			if (r.model->language)
				read_lines(&r, true);
		}
		HASH_CLEAR(hh, r.events);
		HASH_CLEAR(hh, r.fixed);
		HASH_CLEAR(hh, r.symbols);
		bad = r.source.errors || r.parsed->arena.failed || r.failed;
		if (r.parsed->arena.failed || r.failed)
			log_error("%s: the model needs more than %u MiB of memory: shorten its lists", log_safe(name),
				  MODEL_TEXT_MOST >> 20);
	}
	source_close(&r.source);
	if (bad)
		model_free(r.model);
	return bad ? NULL : r.model;
}
