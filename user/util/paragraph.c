/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * paragraph.c - text that goes on in the next line where the line is full.
 */
#include "util/paragraph.h"

#include <stdarg.h>
#include <string.h>

#include "util/utf8.h"

#define WORDS_MOST (32u << 10) /* bytes: more than a path has whose bytes are all escaped */

void paragraph_piece(struct paragraph *p, const char *piece, const char *behind)
{
	size_t columns = utf8_columns(piece) + utf8_columns(behind);
	size_t blanks = p->at ? 1 : p->indent;

	if (p->at && p->at + 1 + columns > p->width) {
		fputc('\n', p->out);
		p->at = 0;
		blanks = p->further;
	}
	fprintf(p->out, "%*s%s%s", (int)blanks, "", piece, behind);
	p->at += blanks + columns;
}

void paragraph_words(struct paragraph *p, const char *format, ...)
{
	char text[WORDS_MOST], *rest;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		paragraph_piece(p, word, "");
}

void paragraph_end(struct paragraph *p)
{
	if (p->at)
		fputc('\n', p->out);
	p->at = 0;
}
