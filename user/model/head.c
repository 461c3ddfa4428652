/* SPDX-License-Identifier: BSD-2-Clause */
/* head.c - the statements of a model file, but for functions and facts. */
#include <ctype.h>
#include <string.h>

#include "model/reader.h"

const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && *at == ' ')
		at++;
	return at;
}

bool next_word(struct statement *s, const char **word, size_t *length)
{
	s->at = skip_blanks(s->at, s->end);
	*word = s->at;
	while (s->at < s->end && *s->at != ' ')
		s->at++;
	*length = s->at - *word;
	return *length;
}

char *keep_word(struct reader *r, const char *text, size_t length)
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
		more[old++] = keep_word(r, word, length);
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
	return keep_word(r, word, length);
}

static void end_read(struct reader *r, struct statement *s)
{
	const char *word;
	size_t length;

	if (next_word(s, &word, &length))
		source_error(&r->source, word, "unexpected text at the end of the statement: remove it");
}

bool is_plain_word(const char *word, bool capitals)
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

struct named *named_find(struct named *names, const char *name)
{
	struct named *found;

	HASH_FIND_STR(names, name, found);
	return found;
}

struct named *named_add(struct reader *r, struct named **names, const char *name, uint32_t number)
{
	struct named *added = arena_get(&r->parsed->arena, sizeof(*added));

	if (!added)
		return NULL;
	added->name = name;
	added->number = number;
	HASH_ADD_KEYPTR(hh, *names, added->name, strlen(added->name), added);
	if (!added->hh.tbl)
		r->failed = true;
	return added;
}

static void read_model(struct reader *r, struct statement *s)
{
	if (r->model->name) {
		source_error(&r->source, s->start, "a second 'model': one file holds one model");
		return;
	}
	r->model->name = word_read(r, s, "the model's name");
	if (r->model->name && !is_plain_word(r->model->name, false))
		source_error(&r->source, s->start, "a model's name has letters, digits, '_' and '-'");
	end_read(r, s);
}

static void read_language(struct reader *r, struct statement *s)
{
	r->model->language = word_read(r, s, "the language, as in 'language SHMEM'");
	if (r->model->language && !is_plain_word(r->model->language, true))
		source_error(&r->source, s->start,
			     "a language has capitals, digits and '_': events are named GASP_LANGUAGE_EVENT");
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
	struct named *fixed;
	int64_t number;

	if (!event || !number_read(r, s, 0, UINT32_MAX, &number))
		return;
	if (HASH_COUNT(r->fixed) == MODEL_FACTS_MOST)
		source_error(&r->source, s->start, "a model has at most %d fixed numbers", MODEL_FACTS_MOST);
	else if (named_find(r->fixed, event))
		source_error(&r->source, s->start, "the event has a number already");
	else if ((fixed = named_add(r, &r->fixed, event, number)))
		fixed->at = s->start;
}

/* told EVENT N: the number by which programs of this runtime announce it, where that is another one. */
static void read_told(struct reader *r, struct statement *s)
{
	char *event = word_read(r, s, "an event, as in 'told NOTIFY 1100'");
	int64_t number;

	if (!event || !number_read(r, s, 0, UINT32_MAX, &number))
		return;
	if (HASH_COUNT(r->told) == MODEL_FACTS_MOST)
		source_error(&r->source, s->start, "a model has at most %d announced numbers", MODEL_FACTS_MOST);
	else if (named_find(r->told, event))
		source_error(&r->source, s->start, "the event has such a number already");
	else
		named_add(r, &r->told, event, number);
}

static void read_library(struct reader *r, struct statement *s)
{
	char **list = words_read(r, s, r->model->library,
				 "a library, as in 'library libmpi.so*', or 'library program'");
	char **to = list;

	/* `program` is no glob. */
	for (char **from = list; from && *from; from++) {
		if (strcmp(*from, "program"))
			*to++ = *from;
		else
			r->model->in_program = true;
	}
	if (to)
		*to = NULL;
	r->model->library = list;
}

static void read_join(struct reader *r, struct statement *s)
{
	char *how = word_read(r, s, "'parallel', 'imported', 'alone', 'asked' or 'always'");

	if (how && !strcmp(how, "alone"))
		r->model->alone = true;
	else if (how && !strcmp(how, "asked"))
		r->model->alone = r->model->asked = true;
	else if (how && !strcmp(how, "always"))
		r->model->always = true;
	else if (how && !strcmp(how, "imported"))
		r->model->imported = true;
	else if (how && strcmp(how, "parallel"))
		source_error(&r->source, s->start,
			     "expected 'join parallel', 'join imported', 'join alone', 'join asked' or 'join always'");
	end_read(r, s);
}

static void read_affinity(struct reader *r, struct statement *s)
{
	char *what = word_read(r, s, "'rank'");

	r->model->affinity = true;
	if (what && strcmp(what, "rank"))
		source_error(&r->source, s->start, "expected 'affinity rank'");
	end_read(r, s);
}

static void read_needs(struct reader *r, struct statement *s)
{
	r->model->needs = words_read(r, s, r->model->needs, "a symbol of the program");
}

static void read_hooks(struct reader *r, struct statement *s)
{
	r->model->hooks = words_read(r, s, r->model->hooks, "a function that takes user code");
}

static void read_wrapper(struct reader *r, struct statement *s)
{
	r->model->wrapper = words_read(r, s, r->model->wrapper, "a library that passes calls on");
}

static void read_parts(struct reader *r, struct statement *s)
{
	r->model->parts = words_read(r, s, r->model->parts, "a further file of the runtime");
}

static void read_switches(struct reader *r, struct statement *s)
{
	r->model->switches = words_read(r, s, r->model->switches, "a function that switches stacks");
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

/* ranks env NAME..., ranks symbol NAME: how many there are in the job; ranks local NAME...: of those, on its machine.
 */
static void read_ranks(struct reader *r, struct statement *s)
{
	char *how = word_read(r, s, "'env', 'symbol' or 'local'");

	if (!how)
		return;
	if (!strcmp(how, "env")) {
		r->model->ranks_env = words_read(r, s, r->model->ranks_env, "an environment variable");
	} else if (!strcmp(how, "symbol")) {
		r->model->ranks_symbol = word_read(r, s, "an int variable of the program");
		end_read(r, s);
	} else if (!strcmp(how, "local")) {
		r->model->ranks_local = words_read(r, s, r->model->ranks_local, "an environment variable");
	} else {
		source_error(&r->source, s->start,
			     "expected 'ranks env NAME...', 'ranks symbol NAME' or 'ranks local NAME...'");
	}
}

/* locks GLOB DECODER */
static void read_locks(struct reader *r, struct statement *s)
{
	r->model->locks_library = word_read(r, s, "a library, as in 'locks liboshmem.so.40 queue_of_ranks'");
	r->model->locks_layout = word_read(r, s,
					   "the layout of its locks, as in 'locks liboshmem.so.40 queue_of_ranks'");
	end_read(r, s);
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
	if (!equal || !is_plain_word(name, false)) {
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
	r->layout = parsed->nlayouts++;
	for (const char **glob = more[r->layout].globs; glob && *glob; glob++)
		parsed->nfacts++;
	if (parsed->nfacts > MODEL_FACTS_MOST)
		source_error(&r->source, s->start, "a model has at most %d facts and libraries in layouts",
			     MODEL_FACTS_MOST);
}

static const struct {
	const char *word;
	void (*read)(struct reader *r, struct statement *s);
} statements[] = {
	{ "model", read_model },       { "language", read_language }, { "numbers", read_numbers },
	{ "number", read_number },     { "told", read_told },         { "library", read_library },
	{ "join", read_join },         { "needs", read_needs },       { "rank", read_rank },
	{ "ranks", read_ranks },       { "locks", read_locks },       { "unit", read_unit },
	{ "list", read_list },         { "layout", read_layout },     { "hooks", read_hooks },
	{ "switches", read_switches }, { "wrapper", read_wrapper },   { "parts", read_parts },
	{ "build", read_build },       { "unseen", read_unseen },     { "event", read_event },
	{ "affinity", read_affinity },
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
		source_error(
			&r->source, word,
			"unknown statement: expected EVENT ROLE PROTOTYPE (the event in capitals), or one of those "
			"in docs/models.md");
}

void read_head(struct reader *r, struct statement *s, const char *word, size_t length)
{
	for (size_t i = 0; i < STATEMENTS; i++) {
		if (strlen(statements[i].word) != length || memcmp(statements[i].word, word, length))
			continue;
		r->layout = 0;
		if (!r->model->name && i)
			source_error(&r->source, word, "the first statement must be 'model NAME'");
		statements[i].read(r, s);
		return;
	}
	unknown_statement(r, word, length);
}
