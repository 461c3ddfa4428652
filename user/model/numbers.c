/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * numbers.c - the numbers that events have for good: the file `numbers` beside a folder's models.
 *
 * Tools are compiled with the number of an event, and recordings keep it. So it must not depend on where an event
 * stands in its model: a line more in the middle would renumber all that follow. Each line of the file has the name and
 * the number of an event. An event without a line gets the next number that nobody has, or had: the line of an event
 * that is no more stays. `make numbers` adds the lines that are missing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "model/parts.h"
#include "util/log.h"

struct given {
	const char *name;
	uint32_t number;
	UT_hash_handle by_name, by_number;
};

struct numbers {
	struct arena arena;
	struct given *names, *numbers;
};

static const struct given *of_number(const struct numbers *numbers, uint32_t number)
{
	struct given *found;

	HASH_FIND(by_number, numbers->numbers, &number, sizeof(number), found);
	return found;
}

static const struct given *of_name(const struct numbers *numbers, const char *name)
{
	struct given *found;

	HASH_FIND(by_name, numbers->names, name, strlen(name), found);
	return found;
}

static void give(struct numbers *numbers, const char *name, uint32_t number)
{
	struct given *given = arena_get(&numbers->arena, sizeof(*given));

	if (!given)
		return;
	given->name = name;
	given->number = number;
	HASH_ADD_KEYPTR(by_name, numbers->names, given->name, strlen(given->name), given);
	HASH_ADD(by_number, numbers->numbers, number, sizeof(given->number), given);
	if (!given->by_name.tbl || !given->by_number.tbl)
		numbers->arena.failed = true;
}

/* NAME NUMBER */
static void line_read(void *context, struct source *source, const char *at, const char *end)
{
	struct numbers *numbers = context;
	const struct given *other;
	struct lexer lexer;
	const char *name;
	int64_t number;

	lexer_start(&lexer, source, at, end);
	if (lexer.token.kind == TOKEN_END)
		return;
	at = lexer.token.at;
	if (!lexer_take_name(&lexer, &numbers->arena, "the name of an event, as in 'GASP_MPI_SEND 0x1007'", &name) ||
	    !lexer_take_number(&lexer, "the event's number", 0, UINT32_MAX, &number))
		return;
	other = of_number(numbers, number);
	if (lexer.token.kind != TOKEN_END)
		source_error(source, lexer.token.at, "unexpected %s after the number", lexer_show(&lexer));
	else if (of_name(numbers, name))
		source_error(source, at, "a second number for this event");
	else if (other)
		source_error(source, at, "%.64s has this number: an event has one of its own", other->name);
	else
		give(numbers, name, number);
}

int numbers_read(struct numbers **result, const char *name, const char *text, size_t length)
{
	struct numbers *numbers = calloc(1, sizeof(*numbers));
	struct source source;
	int error = numbers ? source_open(&source, name, text, length) : -ENOMEM;

	if (error) {
		free(numbers);
		return error;
	}
	source_lines(&source, length, line_read, numbers);
	error = numbers->arena.failed ? -ENOMEM : source.errors ? -EINVAL : 0;
	if (error == -ENOMEM)
		log_error("%s: no memory for the numbers of events: free some memory", log_safe(name));
	source_close(&source);
	if (error)
		numbers_free(numbers);
	else
		*result = numbers;
	return error;
}

void numbers_free(struct numbers *numbers)
{
	if (!numbers)
		return;
	HASH_CLEAR(by_name, numbers->names);
	HASH_CLEAR(by_number, numbers->numbers);
	arena_free(&numbers->arena);
	free(numbers);
}

bool numbers_find(const struct numbers *numbers, const char *event, uint32_t *number)
{
	const struct given *given = numbers ? of_name(numbers, event) : NULL;

	if (given)
		*number = given->number;
	return given;
}

const char *numbers_owner(const struct numbers *numbers, uint32_t number)
{
	const struct given *given = numbers ? of_number(numbers, number) : NULL;

	return given ? given->name : NULL;
}
