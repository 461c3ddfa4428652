/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * paragraph.c - text that goes on in the next line where the line is full.
 */
#include "util/paragraph.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util/utf8.h"

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
	char *text, *rest;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		paragraph_piece(p, word, "");
	free(text);
}

void paragraph_end(struct paragraph *p)
{
	if (p->at)
		fputc('\n', p->out);
	p->at = 0;
}
