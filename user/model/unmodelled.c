/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unmodelled.c - parallel runtimes that nobody sees: the file `unmodelled` beside a folder's models.
 *
 * A report that does not say so reads as if there were nothing. Each line of the file has
 *
 *	a library that no model describes and, quoted, what it is;
 *	or, after the word `beside`, plug-ins of other runtimes that need such libraries for their own ends: what only
 *	they need is not the program's;
 *	or, after the word `inside`, a text that is in each program that a runtime is linked into, what that is, and
 *	maybe the model that observes it where the program still has the names of its functions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/reader.h"
#include "util/log.h"

#define UNMODELLED_MOST 1000
#define INSIDE_MOST 100
#define TEXT_LEAST 8 /* characters: what is shorter is in programs by chance */

struct unmodelled {
	struct arena arena;
	struct library {
		const char *glob, *what;
	} libraries[UNMODELLED_MOST];
	size_t count;
	const char *beside[UNMODELLED_MOST];
	size_t nbeside;
	const char *texts[INSIDE_MOST];
	struct inside insides[INSIDE_MOST]; /* by text */
	size_t ninsides;
};

/* The next word up to a blank, copied; NULL: there is none, or no memory. */
static const char *take_word(struct unmodelled *unmodelled, const char **at, const char *end)
{
	const char *word = skip_blanks(*at, end), *stop = word;

	while (stop < end && *stop != ' ' && *stop != '\t')
		stop++;
	*at = stop;
	return stop > word ? arena_copy(&unmodelled->arena, word, stop - word) : NULL;
}

/* beside GLOB... */
static void beside_read(struct unmodelled *unmodelled, struct source *source, const char *at, const char *end)
{
	const char *word;

	while ((word = take_word(unmodelled, &at, end))) {
		if (unmodelled->nbeside == UNMODELLED_MOST) {
			source_error(source, at, "at most %d plug-ins", UNMODELLED_MOST);
			return;
		}
		unmodelled->beside[unmodelled->nbeside++] = word;
	}
}

/* What stands in the next pair of quotes, copied; NULL: there is none, or no memory. (lexer_take_text() would join two
 * of them to one text.) */
static const char *take_quoted(struct unmodelled *unmodelled, const char **at, const char *end)
{
	const char *start = skip_blanks(*at, end), *stop;

	if (start == end || *start != '"')
		return NULL;
	stop = memchr(start + 1, '"', end - start - 1);
	if (!stop)
		return NULL;
	*at = stop + 1;
	return arena_copy(&unmodelled->arena, start + 1, stop - start - 1);
}

/* inside "TEXT" "WHAT" [MODEL] */
static void inside_read(struct unmodelled *unmodelled, struct source *source, const char *at, const char *end)
{
	const char *start = at, *text = take_quoted(unmodelled, &at, end);
	const char *what = text ? take_quoted(unmodelled, &at, end) : NULL;
	const char *model = what ? take_word(unmodelled, &at, end) : NULL;

	at = skip_blanks(at, end);
	if (!what || !*what || at != end)
		source_error(source, start,
			     "expected a text, what is in a program that has it, and maybe a model, as in 'inside "
			     "\"OpenCoarrays internal error\" \"OpenCoarrays\" caf'");
	else if (strlen(text) < TEXT_LEAST)
		source_error(source, start, "a text has at least %d characters", TEXT_LEAST);
	else if (unmodelled->ninsides == INSIDE_MOST)
		source_error(source, start, "at most %d texts", INSIDE_MOST);
	else {
		unmodelled->texts[unmodelled->ninsides] = text;
		unmodelled->insides[unmodelled->ninsides++] = (struct inside){ what, model };
	}
}

/* GLOB "WHAT" */
static void line_read(void *context, struct source *source, const char *at, const char *end)
{
	struct unmodelled *unmodelled = context;
	struct library library = { 0 };
	struct lexer lexer;

	at = skip_blanks(at, end);
	if (at == end)
		return;
	if (end - at > 7 && !memcmp(at, "beside ", 7)) {
		beside_read(unmodelled, source, at + 7, end);
		return;
	}
	if (end - at > 7 && !memcmp(at, "inside ", 7)) {
		inside_read(unmodelled, source, at + 7, end);
		return;
	}
	library.glob = take_word(unmodelled, &at, end);
	lexer_start(&lexer, source, at, end);
	if (!lexer_take_text(&lexer, &unmodelled->arena, &library.what) || !*library.what ||
	    lexer.token.kind != TOKEN_END)
		source_error(source, at, "expected a library and what it is, as in 'libtbb.so* \"oneTBB\"'");
	else if (unmodelled->count == UNMODELLED_MOST)
		source_error(source, at, "at most %d libraries without a model", UNMODELLED_MOST);
	else if (library.glob)
		unmodelled->libraries[unmodelled->count++] = library;
}

int unmodelled_read(struct unmodelled **result, const char *name, const char *text, size_t length)
{
	struct unmodelled *unmodelled = calloc(1, sizeof(*unmodelled));
	struct source source;
	int error = unmodelled ? source_open(&source, name, text, length) : -ENOMEM;

	if (error) {
		free(unmodelled);
		return error;
	}
	source_lines(&source, length, line_read, unmodelled);
	error = unmodelled->arena.failed ? -ENOMEM : source.errors ? -EINVAL : 0;
	if (error == -ENOMEM)
		log_error("%s: no memory for the names of libraries: free some memory", log_safe(name));
	source_close(&source);
	if (error)
		unmodelled_free(unmodelled);
	else
		*result = unmodelled;
	return error;
}

void unmodelled_free(struct unmodelled *unmodelled)
{
	if (!unmodelled)
		return;
	arena_free(&unmodelled->arena);
	free(unmodelled);
}

const char *unmodelled_find(const struct unmodelled *unmodelled, const char *soname, const char *basename)
{
	for (size_t i = 0; unmodelled && i < unmodelled->count; i++)
		if (names_any_match((char *[]){ (char *)unmodelled->libraries[i].glob, NULL }, soname, basename))
			return unmodelled->libraries[i].what;
	return NULL;
}

bool unmodelled_is_beside(const struct unmodelled *unmodelled, const char *soname, const char *basename)
{
	for (size_t i = 0; unmodelled && i < unmodelled->nbeside; i++)
		if (names_any_match((char *[]){ (char *)unmodelled->beside[i], NULL }, soname, basename))
			return true;
	return false;
}

size_t unmodelled_inside(const struct unmodelled *unmodelled, const char *const **texts, const struct inside **insides)
{
	*texts = unmodelled ? unmodelled->texts : NULL;
	*insides = unmodelled ? unmodelled->insides : NULL;
	return unmodelled ? unmodelled->ninsides : 0;
}
