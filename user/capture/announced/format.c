/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * format.c - which values a printf format asks for, and how they are passed (C11 7.21.6.1).
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "capture/announced/announced_private.h"

enum length { LENGTH_INT, LENGTH_CHAR, LENGTH_SHORT, LENGTH_LONG, LENGTH_LONG_DOUBLE };

static enum length length_read(const char **at)
{
	switch (*(*at)++) {
	case 'h':
		if (**at != 'h')
			return LENGTH_SHORT;
		++*at;
		return LENGTH_CHAR;
	case 'l':
		if (**at == 'l')
			++*at;
		return LENGTH_LONG;
	case 'q':
	case 'j':
	case 'z':
	case 't':
		return LENGTH_LONG;
	case 'L':
		return LENGTH_LONG_DOUBLE;
	}
	--*at;
	return LENGTH_INT;
}

static void integer(struct item *item, enum length length, bool negative)
{
	static const struct {
		uint8_t width[2];
		const char *type[2];
	} integers[] = {
		[LENGTH_INT] = { { GB_U32, GB_S32 }, { "unsigned", "int" } },
		[LENGTH_CHAR] = { { GB_U8, GB_S8 }, { "unsigned char", "signed char" } },
		[LENGTH_SHORT] = { { GB_U16, GB_S16 }, { "unsigned short", "short" } },
		[LENGTH_LONG] = { { GB_U64, GB_U64 }, { "unsigned long", "long" } },
		[LENGTH_LONG_DOUBLE] = { { GB_U64, GB_U64 }, { "unsigned long", "long" } }, /* %Ld is %lld to glibc */
	};

	item->kind = ITEM_WORD;
	item->form = negative ? FORM_INT : FORM_UINT;
	item->argument = negative ? ARGUMENT_INT : ARGUMENT_UINT;
	item->width = integers[length].width[negative];
	item->type = integers[length].type[negative];
}

static void address(struct item *item, const char *type)
{
	item->kind = ITEM_WORD;
	item->form = FORM_POINTER;
	item->argument = ARGUMENT_POINTER;
	item->width = GB_U64;
	item->type = type;
}

/* False: no conversion that is known, so nothing is known of what follows either. */
static bool conversion(struct item *item, char letter, enum length length)
{
	switch (letter) {
	case 'd':
	case 'i':
		integer(item, length, true);
		return true;
	case 'o':
	case 'u':
	case 'x':
	case 'X':
	case 'b':
	case 'B':
		integer(item, length, false);
		return true;
	case 'c':
		integer(item, length == LENGTH_LONG ? LENGTH_INT : LENGTH_CHAR, true);
		return true;
	case 'p':
	case 'n':
		address(item, "void *");
		return true;
	case 's':
		address(item, "const char *");
		if (length == LENGTH_LONG)
			return true; /* wide characters: its address */
		item->kind = ITEM_TEXT;
		item->form = FORM_TEXT;
		item->argument = ARGUMENT_TEXT;
		return true;
	case 'e':
	case 'E':
	case 'f':
	case 'F':
	case 'g':
	case 'G':
	case 'a':
	case 'A':
		item->kind = length == LENGTH_LONG_DOUBLE ? ITEM_LONG_REAL : ITEM_REAL;
		item->form = FORM_REAL;
		item->argument = ARGUMENT_DOUBLE;
		item->type = length == LENGTH_LONG_DOUBLE ? "long double" : "double";
		item->width = GB_U64;
		return true;
	}
	return false;
}

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* "step=%d", "step %d", "at (%p": the word before it, after the last conversion; else arg1, arg2, ... */
static void name_item(struct items *items, struct item *item, const char *from, const char *percent)
{
	const char *end = percent, *start;
	size_t length;

	while (end > from && strchr(" =:([", end[-1]))
		end--;
	for (start = end; start > from && in_name(start[-1]); start--)
		;
	length = end - start;
	if (length && length < sizeof(item->name) && !isdigit((unsigned char)*start))
		snprintf(item->name, sizeof(item->name), "%.*s", (int)length, start);
	else
		snprintf(item->name, sizeof(item->name), "arg%zu", items->count + 1);
	for (size_t i = 0; i < items->count; i++)
		if (!strcmp(items->item[i].name, item->name))
			snprintf(item->name, sizeof(item->name), "arg%zu", items->count + 1);
}

/* A '*' takes an int of its own. False: there is no more room. */
static bool star(struct items *items)
{
	struct item *item;

	if (items->count == ITEMS_MOST)
		return false;
	item = &items->item[items->count++];
	integer(item, LENGTH_INT, true);
	item->skipped = true;
	return true;
}

/* Flags, width and precision. */
static bool decoration(struct items *items, const char **at)
{
	for (; **at && strchr("-+ #0'I.123456789*", **at); ++*at)
		if (**at == '*' && !star(items))
			return false;
	return true;
}

void items_of_format(struct items *items, const char *format)
{
	const char *at = format, *from = format;

	*items = (struct items){ .count = 0 };
	while (at && (at = strchr(at, '%'))) {
		const char *percent = at++;
		struct item item = { .skipped = false };

		if (*at == '%') {
			from = ++at;
			continue;
		}
		items->cut = !decoration(items, &at) || items->count == ITEMS_MOST;
		if (items->cut)
			return;
		enum length length = length_read(&at);

		if (!*at || !conversion(&item, *at++, length)) {
			items->cut = true;
			return;
		}
		name_item(items, &item, from, percent);
		from = at;
		items->item[items->count++] = item;
	}
}
