/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unmodelled.c - libraries of parallel runtimes that no model describes: the file `unmodelled` beside a folder's models.
 *
 * What a program does in such a library nobody sees, and a report that does not say so reads as if there were nothing.
 * Each line of the file has a library and, quoted, what it is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/parts.h"
#include "util/log.h"

#define UNMODELLED_MOST 1000

struct unmodelled {
	struct arena arena;
	struct library {
		const char *glob, *what;
	} libraries[UNMODELLED_MOST];
	size_t count;
};

/* GLOB "WHAT" */
static void line_read(struct unmodelled *unmodelled, struct source *source, const char *at, const char *end)
{
	struct library library = { 0 };
	const char *space;
	struct lexer lexer;

	lexer_start(&lexer, source, at, end);
	if (lexer.token.kind == TOKEN_END)
		return;
	at = lexer.token.at;
	for (space = at; space < end && *space != ' ' && *space != '\t';)
		space++;
	lexer_start(&lexer, source, space, end);
	if (!lexer_take_text(&lexer, &unmodelled->arena, &library.what) || !*library.what ||
	    lexer.token.kind != TOKEN_END) {
		source_error(source, at, "expected a library and what it is, as in 'libtbb.so* \"oneTBB\"'");
		return;
	}
	if (unmodelled->count == UNMODELLED_MOST) {
		source_error(source, at, "at most %d libraries without a model", UNMODELLED_MOST);
		return;
	}
	library.glob = arena_copy(&unmodelled->arena, at, space - at);
	if (library.glob)
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
	for (const char *at = source.clean, *end = at + length; at < end && !source_hopeless(&source);) {
		const char *stop = memchr(at, '\n', end - at);

		stop = stop ? stop : end;
		line_read(unmodelled, &source, at, stop);
		at = stop + 1;
	}
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
