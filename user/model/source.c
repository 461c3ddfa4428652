/* SPDX-License-Identifier: BSD-2-Clause */
/* source.c - the text of a model file: statements, tokens, and errors that say where. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/parts.h"
#include "util/log.h"

struct arena_block {
	struct arena_block *next;
	size_t used, room;
	char data[];
};

void *arena_get(struct arena *arena, size_t size)
{
	size_t need = (size + 15) & ~(size_t)15;
	struct arena_block *block = arena->block;

	if (arena->failed || need < size || need > MODEL_TEXT_MOST - arena->used) {
		arena->failed = true;
		return NULL;
	}
	if (!block || need > block->room - block->used) {
		size_t room = need > 16384 ? need : 16384;

		block = calloc(1, sizeof(*block) + room);
		if (!block) {
			arena->failed = true;
			return NULL;
		}
		block->room = room;
		block->next = arena->block;
		arena->block = block;
	}
	void *result = block->data + block->used;

	block->used += need;
	arena->used += need;
	return result;
}

char *arena_copy(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_get(arena, length + 1);

	if (copy)
		memcpy(copy, text, length);
	return copy;
}

void arena_free(struct arena *arena)
{
	while (arena->block) {
		struct arena_block *next = arena->block->next;

		free(arena->block);
		arena->block = next;
	}
}

/* Does a backslash at `at` end its line? *end is behind the newline, or at the end of the text. */
static bool ends_line(const char *text, size_t length, size_t at, size_t *end)
{
	for (at++; at < length && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r'); at++)
		;
	*end = at + (at < length);
	return at == length || text[at] == '\n';
}

/*
 * Is what follows a newline the rest of the statement before it? An indented line is where a parenthesis or brace is
 * still open, so that one that was forgotten costs no more than its own statement; and where it begins with a mark,
 * such as '"', '@' or '->', which no statement does.
 */
static bool goes_on(const char *text, size_t length, size_t next, bool open)
{
	size_t at = next;

	while (at < length && (text[at] == ' ' || text[at] == '\t'))
		at++;
	if (at == next || at == length)
		return false;
	return open || (ispunct((unsigned char)text[at]) && text[at] != '#' && !is_word_character(text[at]));
}

/*
 * Blanks in place of comments, and of newlines where a statement goes on, with the backslash that says so. Every place
 * stays where it was.
 */
static void blank_out(char *text, size_t length)
{
	unsigned open = 0;
	bool quoted = false, comment = false;
	size_t end;

	for (size_t i = 0; i < length; i++) {
		char c = text[i];

		comment = (comment || c == '#') && c != '\n';
		if (c == '\n') {
			if (!quoted && goes_on(text, length, i + 1, open))
				text[i] = ' ';
			else
				open = quoted = false;
		} else if (comment || c == '\t' || c == '\r') {
			text[i] = ' ';
		} else if (c == '\\' && ends_line(text, length, i, &end)) {
			memset(text + i, ' ', end - i);
			i = end - 1;
		} else if (c == '"') {
			quoted = !quoted;
		} else if (!quoted && (c == '(' || c == '{')) {
			open++;
		} else if (!quoted && open && (c == ')' || c == '}')) {
			open--;
		}
	}
}

int source_open(struct source *source, const char *name, const char *text, size_t length)
{
	memset(source, 0, sizeof(*source));
	source->name = name;
	source->original = text;
	source->length = length;
	if (length > MODEL_FILE_MOST) {
		log_error("%s: a model file has at most 1 MiB: split it", log_safe(name));
		return -EFBIG;
	}
	source->clean = malloc(length + 1);
	if (!source->clean)
		return -ENOMEM;
	memcpy(source->clean, text, length);
	source->clean[length] = 0;
	if (memchr(text, 0, length)) {
		source_error(source, source->clean + strlen(source->clean), "a NUL byte: is this a text file?");
		source_close(source);
		return -EINVAL;
	}
	blank_out(source->clean, length);
	return 0;
}

void source_lines(struct source *source, size_t length, source_line_fn read, void *context)
{
	for (const char *at = source->clean, *end = at + length; at < end && !source_hopeless(source);) {
		const char *stop = memchr(at, '\n', end - at);

		stop = stop ? stop : end;
		read(context, source, at, stop);
		at = stop + 1;
	}
}

void source_close(struct source *source)
{
	free(source->clean);
	source->clean = NULL;
}

static int line_at(const struct source *source, const char *at)
{
	const char *p = source->original, *end = p + (at - source->clean);
	int line = 1;

	while ((p = memchr(p, '\n', end - p))) {
		line++;
		p++;
	}
	return line;
}

void source_error(struct source *source, const char *at, const char *format, ...)
{
	size_t offset = at - source->clean, start = offset;
	char message[1024];
	va_list arguments;

	if (source->errors++ >= MODEL_ERRORS_MOST)
		return;
	while (start && source->original[start - 1] != '\n')
		start--;
	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	log_error("%s:%d:%zu: %s", log_safe(source->name), line_at(source, at), offset - start + 1, message);
	if (source->errors == MODEL_ERRORS_MOST)
		log_error("%s: more mistakes may follow: correct these first", log_safe(source->name));
}

bool source_hopeless(const struct source *source)
{
	return source->errors >= MODEL_ERRORS_MOST;
}

bool is_word_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool starts_with(const struct lexer *lexer, const char *text)
{
	size_t length = strlen(text);

	return (size_t)(lexer->end - lexer->next) >= length && !memcmp(lexer->next, text, length);
}

static void take(struct lexer *lexer, enum token_kind kind, size_t length)
{
	lexer->token.kind = kind;
	lexer->token.length = length;
	lexer->next += length;
}

static void take_word_or_number(struct lexer *lexer)
{
	size_t length = 0, room = lexer->end - lexer->next;
	char digits[24], *rest;

	while (length < room && is_word_character(lexer->next[length]))
		length++;
	if (!isdigit((unsigned char)*lexer->next) || length >= sizeof(digits)) {
		take(lexer, TOKEN_WORD, length);
		return;
	}
	memcpy(digits, lexer->next, length);
	digits[length] = 0;
	errno = 0;
	lexer->token.number = strtoull(digits, &rest, 0);
	take(lexer, *rest || errno ? TOKEN_WORD : TOKEN_NUMBER, length);
}

void lexer_next(struct lexer *lexer)
{
	while (lexer->next < lexer->end && *lexer->next == ' ')
		lexer->next++;
	lexer->token.at = lexer->next;
	lexer->token.mark = 0;
	if (lexer->next >= lexer->end)
		take(lexer, TOKEN_END, 0);
	else if (is_word_character(*lexer->next))
		take_word_or_number(lexer);
	else if (starts_with(lexer, "->"))
		take(lexer, TOKEN_ARROW, 2);
	else if (starts_with(lexer, "..."))
		take(lexer, TOKEN_ELLIPSIS, 3);
	else if (starts_with(lexer, ".."))
		take(lexer, TOKEN_RANGE, 2);
	else if (starts_with(lexer, "=="))
		take(lexer, TOKEN_SAME, 2);
	else {
		lexer->token.mark = *lexer->next;
		take(lexer, TOKEN_MARK, 1);
	}
}

void lexer_start(struct lexer *lexer, struct source *source, const char *at, const char *end)
{
	memset(lexer, 0, sizeof(*lexer));
	lexer->source = source;
	lexer->next = at;
	lexer->end = end;
	lexer_next(lexer);
}

bool lexer_is_word(const struct lexer *lexer, const char *word)
{
	return lexer->token.kind == TOKEN_WORD && lexer->token.length == strlen(word) &&
	       !memcmp(lexer->token.at, word, lexer->token.length);
}

bool lexer_is_mark(const struct lexer *lexer, char mark)
{
	return lexer->token.kind == TOKEN_MARK && lexer->token.mark == mark;
}

bool lexer_take_word(struct lexer *lexer, const char *word)
{
	bool is = lexer_is_word(lexer, word);

	if (is)
		lexer_next(lexer);
	return is;
}

bool lexer_take_mark(struct lexer *lexer, char mark)
{
	bool is = lexer_is_mark(lexer, mark);

	if (is)
		lexer_next(lexer);
	return is;
}

bool lexer_take_number(struct lexer *lexer, const char *what, int64_t least, int64_t most, int64_t *number)
{
	const char *at = lexer->token.at;
	bool minus = lexer_take_mark(lexer, '-');

	if (!minus)
		lexer_take_mark(lexer, '+');
	if (lexer->token.kind != TOKEN_NUMBER) {
		source_error(lexer->source, lexer->token.at, "expected a number (%s) instead of %s", what,
			     lexer_show(lexer));
		return false;
	}
	uint64_t size = lexer->token.number;

	/* A full 64-bit pattern such as 0xffffffffffffffff is taken as its signed twin. */
	*number = minus ? (int64_t)(0 - size) : (int64_t)size;
	if ((minus && size > (uint64_t)INT64_MAX) || *number < least || *number > most) {
		source_error(lexer->source, at, "%s must be a number from %lld to %lld", what, (long long)least,
			     (long long)most);
		return false;
	}
	lexer_next(lexer);
	return true;
}

bool lexer_take_name(struct lexer *lexer, struct arena *arena, const char *what, const char **name)
{
	if (lexer->token.kind != TOKEN_WORD) {
		source_error(lexer->source, lexer->token.at, "expected %s instead of %s", what, lexer_show(lexer));
		return false;
	}
	*name = arena_copy(arena, lexer->token.at, lexer->token.length);
	lexer_next(lexer);
	return *name;
}

bool lexer_take_text(struct lexer *lexer, struct arena *arena, const char **text)
{
	char *joined = arena_get(arena, lexer->end - lexer->token.at + 1), *out = joined;

	while (lexer_is_mark(lexer, '"')) {
		const char *start = lexer->next, *end = memchr(start, '"', lexer->end - start);

		if (!joined || !end)
			return false;
		out = mempcpy(out, start, end - start);
		lexer->next = end + 1;
		lexer_next(lexer);
	}
	*text = joined;
	return joined;
}

const char *lexer_show(const struct lexer *lexer)
{
	const char *at = lexer->token.at, *end = lexer->source->clean + lexer->source->length;
	size_t length = lexer->token.length < 40 ? lexer->token.length : 40;
	char quoted[64] = "'";

	if (lexer->token.kind == TOKEN_END)
		return "the end of the line";
	/* A whole UTF-8 character, not its first byte. */
	while (length < 44 && at + length < end && ((unsigned char)at[length] & 0xc0) == 0x80)
		length++;
	memcpy(quoted + 1, at, length);
	quoted[1 + length] = '\'';
	return log_safe(quoted);
}
