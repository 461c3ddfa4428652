/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * function_name.c - C++ symbols taken apart, by libiberty.
 *
 * A symbol comes from a target's file, or from a recording, and may be made to do harm. Three things can happen, and
 * each has its bound:
 * - A name of 100 bytes can stand for one of gigabytes, as parts that were named before can be named again. So the text
 *   is taken piece by piece, and left (longjmp) as soon as it has no room. libiberty allocates nothing on this way.
 * - It can nest. libiberty counts that (it stops at 2048), and takes some 100 bytes of stack for each byte of a symbol:
 *   SYMBOL_MOST is for that.
 * - It can be read in many ways. The type in the name of a conversion ("cv") may be followed by arguments of a
 * template, or they may belong to what is around it; libiberty tries both, each time, and a symbol of 190 bytes keeps
 * it for 20 s. No compiler makes more than a few of these: such a symbol is not taken apart (is_ambiguous()).
 */
#include "util/function_name.h"

#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "util/log.h"

#define CHOICES_MOST 6 /* of two ways each */
#define CUT ".."

struct writing {
	jmp_buf full;
	char *text;
	size_t used;
};

static void write_piece(const char *piece, size_t length, void *context)
{
	struct writing *w = context;

	if (length >= FUNCTION_NAME_ROOM - w->used)
		longjmp(w->full, 1);
	memcpy(w->text + w->used, piece, length);
	w->used += length;
}

/* Does it have a conversion, and too many parameters of templates ("T_", "T0_") with arguments ("I") behind them? */
static bool is_ambiguous(const char *symbol)
{
	unsigned choices = 0;

	if (!strstr(symbol, "cv"))
		return false;
	for (const char *at = strstr(symbol, "_I"); at; at = strstr(at + 1, "_I"))
		choices++;
	return choices > CHOICES_MOST;
}

static bool take_apart(const char *symbol, int options, struct writing *w)
{
	if (setjmp(w->full))
		return false;
	return cplus_demangle_v3_callback(symbol, options, write_piece, w);
}

bool function_name(const char *symbol, enum name_form form, char text[static FUNCTION_NAME_ROOM])
{
	/* What a function returns is part of the symbol for templates alone, and nobody's name for it. */
	int options = DMGL_ANSI | DMGL_RET_DROP | (form == NAME_WITH_ARGUMENTS ? DMGL_PARAMS : 0);
	struct writing w = { .text = text };
	bool done;

	done = symbol && !strncmp(symbol, "_Z", 2) && strnlen(symbol, SYMBOL_MOST + 1) <= SYMBOL_MOST &&
	       !is_ambiguous(symbol) && take_apart(symbol, options, &w);
	text[done ? w.used : 0] = '\0';
	return done;
}

const char *function_name_or(const char *symbol, char text[static FUNCTION_NAME_ROOM])
{
	return function_name(symbol, NAME_WITH_ARGUMENTS, text) ? text : symbol;
}

static bool begins_character(char byte)
{
	return ((uint8_t)byte & 0xc0) != 0x80;
}

static size_t columns_of(const char *text)
{
	size_t columns = 0;

	for (; *text; text++)
		columns += begins_character(*text);
	return columns;
}

/* Where the character begins that has so many before it. */
static const char *skip(const char *text, size_t characters)
{
	for (; *text; text++)
		if (begins_character(*text) && !characters--)
			break;
	return text;
}

/* The end says more than the beginning: which function of the class it is. */
static const char *cut_in_the_middle(const char *text, unsigned columns)
{
	size_t all = columns_of(text), kept = columns > strlen(CUT) ? columns - strlen(CUT) : 0, head = kept / 3;
	const char *after = skip(text, head), *tail = skip(text, all - (kept - head));
	char cut[FUNCTION_NAME_ROOM];
	size_t used = (size_t)(after - text), left = strlen(tail);

	if (used + strlen(CUT) + left >= sizeof(cut))
		return text;
	memcpy(cut, text, used);
	memcpy(cut + used, CUT, strlen(CUT));
	memcpy(cut + used + strlen(CUT), tail, left + 1);
	return log_safe(cut);
}

const char *function_label(const char *symbol, unsigned columns)
{
	char name[FUNCTION_NAME_ROOM];
	const char *shown;

	if (!function_name(symbol, NAME_WITH_ARGUMENTS, name))
		return log_safe(symbol);
	if (columns_of(name) > columns)
		function_name(symbol, NAME_ALONE, name);
	/* Cut before it is made safe, which keeps 255 bytes from the beginning; what that makes longer is no name. */
	if (columns_of(name) <= columns)
		return log_safe(name);
	shown = cut_in_the_middle(name, columns);
	return shown == name ? log_safe(name) : shown;
}
