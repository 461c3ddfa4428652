/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * paragraph.h - text that goes on in the next line where the line is full.
 */
#ifndef GASPBPF_PARAGRAPH_H
#define GASPBPF_PARAGRAPH_H

#include <stddef.h>
#include <stdio.h>

/* All numbers are columns. */
struct paragraph {
	FILE *out;
	size_t width;
	size_t indent, further; /* blanks before the first line, and before each of the others */
	size_t at;              /* 0: nothing is in it yet */
};

/* A piece that stays in one line, with no blank before `behind`. */
void paragraph_piece(struct paragraph *p, const char *piece, const char *behind);
/* Words, each a piece; 32 KiB of them at most. */
void paragraph_words(struct paragraph *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void paragraph_end(struct paragraph *p);

#endif
