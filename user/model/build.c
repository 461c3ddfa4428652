/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * build.c - how a program's runtime was built: `build NAME if TEST and TEST ...`.
 *
 * A runtime that is linked into the program has no soname that tells its version apart. What tells is left in the
 * program itself: a text, a symbol, a type in its DWARF. A model names the builds it knows and by what they are
 * recognised; the first whose tests all hold is it, and then the layouts `program:NAME` hold besides `program`.
 */
#include <string.h>

#include "model/reader.h"

#define TESTS_MOST 8
#define BUILDS_MOST 64
#define BYTES_MOST 65536

/* "...": the first quote is the current token. */
static bool quoted_read(struct lexer *lexer, struct arena *arena, const char **text)
{
	const char *start = lexer->token.at + 1, *end = start;

	while (lexer_is_mark(lexer, '"') && end < lexer->end && *end != '"')
		end++;
	if (!lexer_is_mark(lexer, '"') || end == lexer->end || end == start) {
		source_error(lexer->source, lexer->token.at, "expected a text in quotes instead of %s",
			     lexer_show(lexer));
		return false;
	}
	*text = arena_copy(arena, start, end - start);
	lexer->next = end + 1;
	lexer_next(lexer);
	return *text;
}

/* bits STRUCT MEMBER MEMBER MEMBER */
static bool bits_read(struct lexer *lexer, struct arena *arena, struct build_test *test)
{
	test->kind = BUILD_BITS;
	if (!lexer_take_name(lexer, arena, "the struct's name", &test->name))
		return false;
	for (int i = 0; i < SHARED_PARTS; i++)
		if (!lexer_take_name(lexer, arena, "the name of a bit-field", &test->parts[i]))
			return false;
	return true;
}

/* shifts BITS BITS */
static bool shifts_read(struct lexer *lexer, struct build_test *test)
{
	int64_t bits[2];

	test->kind = BUILD_SHIFTS;
	for (int i = 0; i < 2; i++) {
		if (!lexer_take_number(lexer, "by how many bits", 1, 63, &bits[i]))
			return false;
		test->shifts[i] = bits[i];
	}
	return true;
}

/* text "..." | symbol NAME | bits ... | shifts ... | struct NAME BYTES [MEMBER] */
static bool test_read(struct lexer *lexer, struct arena *arena, struct build_test *test)
{
	int64_t bytes;

	if (lexer_take_word(lexer, "text")) {
		test->kind = BUILD_TEXT;
		return quoted_read(lexer, arena, &test->name);
	}
	if (lexer_take_word(lexer, "symbol")) {
		test->kind = BUILD_SYMBOL;
		return lexer_take_name(lexer, arena, "the symbol's name", &test->name);
	}
	if (lexer_take_word(lexer, "bits"))
		return bits_read(lexer, arena, test);
	if (lexer_take_word(lexer, "shifts"))
		return shifts_read(lexer, test);
	if (!lexer_take_word(lexer, "struct")) {
		source_error(
			lexer->source, lexer->token.at,
			"expected text \"...\", symbol NAME, struct NAME BYTES [MEMBER], bits STRUCT MEMBER MEMBER "
			"MEMBER, or shifts BITS BITS "
			"instead of %s",
			lexer_show(lexer));
		return false;
	}
	test->kind = BUILD_STRUCT;
	if (!lexer_take_name(lexer, arena, "the struct's name", &test->name) ||
	    !lexer_take_number(lexer, "its size in bytes", 1, BYTES_MOST, &bytes))
		return false;
	test->bytes = bytes;
	if (lexer->token.kind == TOKEN_WORD && !lexer_is_word(lexer, "and"))
		return lexer_take_name(lexer, arena, "its first member", &test->member);
	return true;
}

static bool tests_read(struct lexer *lexer, struct arena *arena, struct build *build)
{
	struct build_test tests[TESTS_MOST] = { { .name = NULL } };

	if (lexer_take_word(lexer, "if")) {
		do {
			if (build->ntests == TESTS_MOST) {
				source_error(lexer->source, lexer->token.at, "a build has at most %d tests",
					     TESTS_MOST);
				return false;
			}
			if (!test_read(lexer, arena, &tests[build->ntests++]))
				return false;
		} while (lexer_take_word(lexer, "and"));
	}
	if (lexer->token.kind != TOKEN_END) {
		source_error(lexer->source, lexer->token.at, "unexpected %s: expected 'build NAME if TEST and TEST'",
			     lexer_show(lexer));
		return false;
	}
	build->tests = arena_get(arena, (build->ntests + 1) * sizeof(*tests));
	if (!build->tests)
		return false;
	memcpy(build->tests, tests, build->ntests * sizeof(*tests));
	return true;
}

void read_build(struct reader *r, struct statement *s)
{
	struct model *model = r->model;
	struct build build = { .ntests = 0 }, *more;
	struct lexer lexer;
	const char *word;
	size_t length;

	if (!next_word(s, &word, &length)) {
		source_error(&r->source, s->at, "expected 'build NAME if TEST'");
		return;
	}
	build.name = keep_word(r, word, length);
	if (!build.name || !is_plain_word(build.name, false)) {
		source_error(&r->source, word, "a build's name has letters, digits, '_' and '-'");
		return;
	}
	if (model_build_find(model, build.name) || model->nbuilds == BUILDS_MOST) {
		source_error(&r->source, word, "a second build of this name, or more than %d", BUILDS_MOST);
		return;
	}
	lexer_start(&lexer, &r->source, s->at, s->end);
	if (!tests_read(&lexer, &r->parsed->arena, &build))
		return;
	more = arena_get(&r->parsed->arena, (model->nbuilds + 1) * sizeof(*more));
	if (!more)
		return;
	if (model->nbuilds)
		memcpy(more, model->builds, model->nbuilds * sizeof(*more));
	more[model->nbuilds++] = build;
	model->builds = more;
}

const struct build *model_build_find(const struct model *model, const char *name)
{
	for (size_t i = 0; i < model->nbuilds; i++)
		if (!strcmp(model->builds[i].name, name))
			return &model->builds[i];
	return NULL;
}

const struct build *model_build_recognise(const struct model *model,
					  bool (*holds)(void *context, const struct build_test *test), void *context)
{
	for (size_t i = 0; i < model->nbuilds; i++) {
		const struct build *build = &model->builds[i];
		size_t good = 0;

		while (good < build->ntests && holds(context, &build->tests[good]))
			good++;
		if (good == build->ntests)
			return build;
	}
	return NULL;
}
