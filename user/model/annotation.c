/* SPDX-License-Identifier: BSD-2-Clause */
/* annotation.c - what stands behind a parameter: @bytes:recv(+16 u64), and the paths of layouts. */
#include <string.h>

#include "model/parts.h"
#include "util/log.h"

static const char *const annotation_names[] = { "bytes", "count",   "size",   "type",   "peer",     "root",  "tag",
						"comm",  "request", "status", "lock",   "barrier",  "ptr",   "name",
						"op",    "named",   "task",   "worker", "node",     "self",  "done",
						"error", "index",   "kind",   "device", "internal", "id",    "format",
						"on",    "file",    "line",   "column", "color",    "plain", "only",
						"out",   "skip",    NULL };

/* A..B, after the word bits. */
static bool range_read(struct lexer *lexer, uint8_t *low, uint8_t *count)
{
	int64_t from, to;

	lexer_next(lexer);
	if (!lexer_take_number(lexer, "the first bit", 0, 63, &from))
		return false;
	to = from;
	if (lexer->token.kind == TOKEN_RANGE) {
		lexer_next(lexer);
		if (!lexer_take_number(lexer, "the last bit", from, 63, &to))
			return false;
	}
	*low = from;
	*count = to - from + 1;
	return true;
}

static bool bits_read(struct lexer *lexer, struct path *path)
{
	int64_t equals;

	if (!range_read(lexer, &path->bits_low, &path->bits_count))
		return false;
	if (!lexer_take_word(lexer, "if"))
		return true;
	if (!lexer_is_word(lexer, "bits")) {
		source_error(lexer->source, lexer->token.at, "expected 'bits A..B == N' instead of %s",
			     lexer_show(lexer));
		return false;
	}
	if (!range_read(lexer, &path->valid_low, &path->valid_count))
		return false;
	if (lexer->token.kind != TOKEN_SAME) {
		source_error(lexer->source, lexer->token.at, "expected '==' instead of %s", lexer_show(lexer));
		return false;
	}
	lexer_next(lexer);
	if (!lexer_take_number(lexer, "the value of the bits", INT64_MIN, INT64_MAX, &equals))
		return false;
	path->valid_equals = equals;
	return true;
}

/* +OFFSET WIDTH, or +OFFSET str, which ends the path. */
static bool step_read(struct lexer *lexer, struct path *path)
{
	struct step *step;
	enum form form;
	uint8_t size;
	int64_t offset;

	if (!lexer_take_number(lexer, "an offset", INT32_MIN, INT32_MAX, &offset))
		return false;
	if (lexer_take_word(lexer, "str")) {
		path->string = true;
		path->string_offset = offset;
		return true;
	}
	if (path->nsteps == STEPS_MOST) {
		source_error(lexer->source, lexer->token.at, "a path has at most %d steps", STEPS_MOST);
		return false;
	}
	step = &path->steps[path->nsteps];
	if (lexer->token.kind != TOKEN_WORD ||
	    !width_from_word(lexer->token.at, lexer->token.length, &step->width, &form, &size)) {
		source_error(lexer->source, lexer->token.at,
			     "expected u8 s8 u16 s16 u32 s32 u64 s64 ptr or str instead of %s", lexer_show(lexer));
		return false;
	}
	lexer_next(lexer);
	step->offset = offset;
	step->form = form;
	path->nsteps++;
	return true;
}

static bool at_sign(const struct lexer *lexer)
{
	return lexer_is_mark(lexer, '+') || lexer_is_mark(lexer, '-');
}

/* [high] [*...] {+OFFSET WIDTH} [str | bits ... | DECODER]; sets *some where anything was there. */
static bool path_read(struct lexer *lexer, struct arena *arena, struct path *path, bool *some)
{
	const char *start = lexer->token.at;
	struct decoder_name decoder;

	path->high = lexer_take_word(lexer, "high");
	while (lexer_is_mark(lexer, '*')) {
		if (path->stars++ == STEPS_MOST) {
			source_error(lexer->source, lexer->token.at, "a path has at most %d steps", STEPS_MOST);
			return false;
		}
		lexer_next(lexer);
	}
	while (at_sign(lexer) && !path->string)
		if (!step_read(lexer, path))
			return false;
	if (path->string) {
		/* nothing may follow */
	} else if (lexer_is_word(lexer, "bits")) {
		if (!bits_read(lexer, path))
			return false;
	} else if (lexer_take_word(lexer, "str")) {
		path->string = true;
	} else {
		if (!decoder_read(lexer, arena, &decoder))
			return false;
		path->decoder = decoder.text;
		path->kernel_decoder = decoder.kernel;
	}
	*some = lexer->token.at != start;
	return true;
}

bool path_read_fact(struct lexer *lexer, struct arena *arena, struct path *path)
{
	const char *start = lexer->token.at;
	bool some;

	if (!path_read(lexer, arena, path, &some))
		return false;
	if (!some) {
		source_error(lexer->source, start, "expected a path such as '+16 u64' or 'bits 8..15' instead of %s",
			     lexer_show(lexer));
		return false;
	}
	if (path->high || path->stars) {
		source_error(lexer->source, start, "'*' and 'high' cannot stand in a layout: say offsets and widths");
		return false;
	}
	return true;
}

static bool keyed_number(struct lexer *lexer, const char *what, int64_t least, int64_t most, int64_t *number)
{
	lexer_next(lexer);
	if (!lexer_take_mark(lexer, '=')) {
		source_error(lexer->source, lexer->token.at, "expected '=' and a number after '%s' instead of %s", what,
			     lexer_show(lexer));
		return false;
	}
	return lexer_take_number(lexer, what, least, most, number);
}

static bool fixed_read(struct lexer *lexer, struct annotation *a)
{
	const char *at = lexer->token.at;

	if (lexer_take_word(lexer, "sizeof"))
		a->fixed = lexer_take_mark(lexer, '*')   ? FIXED_POINTEE
			   : lexer_take_word(lexer, "T") ? FIXED_T
							 : FIXED_SIZEOF;
	else if (lexer_take_word(lexer, "unknown"))
		a->fixed = FIXED_UNKNOWN;
	else if (lexer_take_number(lexer, "a constant", 0, INT64_MAX, &a->number))
		a->fixed = FIXED_NUMBER;
	else
		return false;
	if (a->meaning == MEANING_BYTES || a->meaning == MEANING_SIZE || a->meaning == MEANING_COLOR)
		return true;
	source_error(lexer->source, at, "a constant stands only in @bytes, @size or @color; an offset begins with '+'");
	return false;
}

/* The parameter on whose value it depends whether there is anything. */
static bool condition_name_read(struct lexer *lexer, struct arena *arena, struct annotation *a, const char *what)
{
	if (lexer->token.kind != TOKEN_WORD || a->condition) {
		source_error(lexer->source, lexer->token.at,
			     "expected one 'if NAME' or 'each N of NAME', with %s, instead of %s", what,
			     lexer_show(lexer));
		return false;
	}
	a->condition = arena_copy(arena, lexer->token.at, lexer->token.length);
	lexer_next(lexer);
	return a->condition;
}

/* each N of NAME, after 'each'. */
static bool each_read(struct lexer *lexer, struct arena *arena, struct annotation *a)
{
	int64_t number;

	if (!lexer_take_number(lexer, "how many elements", 1, GB_SLOTS, &number))
		return false;
	if (!lexer_take_word(lexer, "of")) {
		source_error(lexer->source, lexer->token.at,
			     "expected 'of' and the parameter that has the number of elements instead of %s",
			     lexer_show(lexer));
		return false;
	}
	a->each = number;
	return condition_name_read(lexer, arena, a, "the parameter that has the number of elements");
}

/* One of the things that stand in parentheses, separated by commas. */
static bool item_read(struct lexer *lexer, struct arena *arena, struct annotation *a)
{
	const char *at = lexer->token.at;
	int64_t number;
	bool some;

	if (lexer_is_word(lexer, "none")) {
		a->has_none = true;
		return keyed_number(lexer, "none", INT64_MIN, INT64_MAX, &a->none);
	}
	if (lexer_take_word(lexer, "if"))
		return condition_name_read(lexer, arena, a, "the parameter that says whether");
	if (lexer_take_word(lexer, "each"))
		return each_read(lexer, arena, a);
	if (lexer_is_word(lexer, "element")) {
		if (!keyed_number(lexer, "element", 1, INT32_MAX, &number))
			return false;
		a->element = number;
		if (a->meaning == MEANING_COUNT)
			return true;
		source_error(lexer->source, at, "'element' stands only in @count");
		return false;
	}
	if (lexer->token.kind == TOKEN_NUMBER || lexer_is_word(lexer, "sizeof") || lexer_is_word(lexer, "unknown"))
		return fixed_read(lexer, a);
	if (a->located) {
		source_error(lexer->source, at, "a second path: an annotation has one; write the annotation twice");
		return false;
	}
	a->located = true;
	if (!path_read(lexer, arena, &a->path, &some))
		return false;
	if (some)
		return true;
	if (lexer->token.kind != TOKEN_WORD) {
		source_error(lexer->source, at, "expected a path, a field or a decoder instead of %s",
			     lexer_show(lexer));
		return false;
	}
	a->path.field = arena_copy(arena, lexer->token.at, lexer->token.length);
	lexer_next(lexer);
	return a->path.field;
}

static bool parentheses_read(struct lexer *lexer, struct arena *arena, struct annotation *a)
{
	if (!lexer_take_mark(lexer, '('))
		return true;
	do {
		if (!item_read(lexer, arena, a))
			return false;
	} while (lexer_take_mark(lexer, ','));
	if (lexer_take_mark(lexer, ')'))
		return true;
	source_error(lexer->source, lexer->token.at, "expected ')' instead of %s", lexer_show(lexer));
	return false;
}

static bool side_read(struct lexer *lexer, struct annotation *a)
{
	if (!lexer_take_mark(lexer, ':'))
		return true;
	if (lexer_take_word(lexer, "send"))
		a->side = SIDE_SEND;
	else if (lexer_take_word(lexer, "recv"))
		a->side = SIDE_RECV;
	else
		source_error(lexer->source, lexer->token.at, "expected 'send' or 'recv' instead of %s",
			     lexer_show(lexer));
	return a->side != SIDE_NONE;
}

/* The path must make sense for what it is said of. */
static bool annotation_check(struct lexer *lexer, const char *at, const struct parameter *parameter,
			     const struct annotation *a)
{
	if (a->path.string && a->meaning != MEANING_NAME) {
		source_error(lexer->source, at, "'str' stands only in @name");
		return false;
	}
	if (a->meaning == MEANING_PATH && (a->located || parameter->type.pointers != 1 || parameter->out)) {
		source_error(lexer->source, at, "'@path' needs a 'const char *', and nothing in parentheses");
		return false;
	}
	if (a->path.stars > parameter->type.pointers && parameter->type.kind != TYPE_T) {
		source_error(lexer->source, at, "'*' needs a pointer: this type has %u", parameter->type.pointers);
		return false;
	}
	if (a->fixed == FIXED_POINTEE && !parameter->type.pointers) {
		source_error(lexer->source, at, "'sizeof *' needs a pointer: write 'sizeof'");
		return false;
	}
	unsigned elements = a->each;

	for (unsigned i = 0; i < parameter->nannotations; i++)
		elements += parameter->annotations[i].each;
	if (elements > GB_SLOTS) {
		source_error(lexer->source, at, "a call carries at most %d words: take fewer elements", GB_SLOTS);
		return false;
	}
	if (a->each && (!parameter->type.pointers || a->located)) {
		source_error(lexer->source, at, "'each' needs an array, and no path");
		return false;
	}
	if (a->fixed != FIXED_NOT && a->located) {
		source_error(lexer->source, at, "a constant and a path: an annotation has one of them; write it twice");
		return false;
	}
	return true;
}

static void unknown_annotation(struct lexer *lexer, const char *at)
{
	const char *near = NULL;

	if (lexer->token.kind == TOKEN_WORD)
		near = name_nearest(lexer->token.at, lexer->token.length, annotation_names);
	if (near)
		source_error(lexer->source, at, "unknown annotation '@%.*s': did you mean @%s?",
			     (int)(lexer->token.length < 64 ? lexer->token.length : 64), lexer->token.at, near);
	else
		source_error(lexer->source, at, "unknown annotation %s: see docs/models.md for the list",
			     lexer_show(lexer));
}

/* == N or != N */
static bool condition_read(struct lexer *lexer, struct parameter *parameter)
{
	parameter->only_at = lexer->token.at;
	if (lexer->token.kind == TOKEN_SAME) {
		lexer_next(lexer);
	} else if (lexer_take_mark(lexer, '!') && lexer_take_mark(lexer, '=')) {
		parameter->only_negated = true;
	} else {
		source_error(lexer->source, parameter->only_at, "expected '== N' or '!= N' in @only");
		return false;
	}
	if (!lexer_take_number(lexer, "the value", INT64_MIN, INT64_MAX, &parameter->only_number))
		return false;
	parameter->only_end = lexer->token.at;
	return true;
}

/* @only(PATH == N), after 'only'. */
static bool only_read(struct lexer *lexer, struct arena *arena, const char *at, struct parameter *parameter)
{
	struct annotation *a = &parameter->only;
	bool some = false;

	if (parameter->has_only || !lexer_take_mark(lexer, '(')) {
		source_error(lexer->source, at, "expected one @only(PATH == N)");
		return false;
	}
	parameter->has_only = true;
	if (!path_read(lexer, arena, &a->path, &some))
		return false;
	if (!some && lexer->token.kind == TOKEN_WORD) {
		a->path.field = arena_copy(arena, lexer->token.at, lexer->token.length);
		some = true;
		lexer_next(lexer);
	}
	a->located = some;
	if (!condition_read(lexer, parameter) || !annotation_check(lexer, at, parameter, a))
		return false;
	if (lexer_take_mark(lexer, ')'))
		return true;
	source_error(lexer->source, lexer->token.at, "expected ')' instead of %s", lexer_show(lexer));
	return false;
}

/* After '@'. */
static bool annotation_read(struct lexer *lexer, struct arena *arena, const char *at, struct parameter *parameter)
{
	struct annotation *a = &parameter->annotations[parameter->nannotations];

	if (lexer_take_word(lexer, "out"))
		return parameter->out = true;
	if (lexer_take_word(lexer, "skip"))
		return parameter->skip = true;
	if (lexer_take_word(lexer, "only"))
		return only_read(lexer, arena, at, parameter);
	if (parameter->nannotations == ANNOTATIONS_MOST) {
		source_error(lexer->source, at, "a parameter has at most %d annotations", ANNOTATIONS_MOST);
		return false;
	}
	memset(a, 0, sizeof(*a));
	while (a->meaning < MEANINGS && !lexer_is_word(lexer, meaning_name(a->meaning)))
		a->meaning++;
	if (a->meaning == MEANINGS) {
		unknown_annotation(lexer, at);
		return false;
	}
	lexer_next(lexer);
	if (!side_read(lexer, a) || !parentheses_read(lexer, arena, a) || !annotation_check(lexer, at, parameter, a))
		return false;
	parameter->nannotations++;
	return true;
}

/* After a mistake: over the annotation, with what stands in its parentheses. */
static void recover(struct lexer *lexer, const char *at)
{
	int depth = 0;

	lexer->next = at + 1;
	for (lexer_next(lexer); lexer->token.kind != TOKEN_END; lexer_next(lexer)) {
		if (!depth && (lexer_is_mark(lexer, '@') || lexer_is_mark(lexer, ',') || lexer_is_mark(lexer, ')')))
			return;
		depth += lexer_is_mark(lexer, '(') - lexer_is_mark(lexer, ')');
	}
}

/* From where they were read to where they stay. */
static void keep_annotations(struct arena *arena, struct parameter *parameter)
{
	const struct annotation *read = parameter->annotations;
	size_t size = parameter->nannotations * sizeof(*read);

	parameter->annotations = size ? arena_get(arena, size) : NULL;
	if (parameter->annotations)
		memcpy(parameter->annotations, read, size);
	else
		parameter->nannotations = 0; /* no memory: the arena knows */
}

void annotations_read(struct lexer *lexer, struct arena *arena, struct parameter *parameter)
{
	struct annotation read[ANNOTATIONS_MOST];

	parameter->annotations = read;
	while (lexer_is_mark(lexer, '@')) {
		const char *at = lexer->token.at;

		lexer_next(lexer);
		if (!annotation_read(lexer, arena, at, parameter))
			recover(lexer, at);
	}
	keep_annotations(arena, parameter);
}
