/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * decoder.c - the name of a data layout in a model (meaning/decoder.c has what they are).
 */
#include <stdio.h>

#include "meaning/decoder.h"
#include "model/parts.h"

/* The bits of phase and thread, if they stand there. */
static bool sizes_read(struct lexer *lexer, int64_t *phase, int64_t *thread)
{
	if (lexer->token.kind != TOKEN_NUMBER)
		return true;
	if (!lexer_take_number(lexer, "the bits of the phase", 1, 32, phase) ||
	    !lexer_take_number(lexer, "the bits of the thread", 1, 31, thread))
		return false;
	return true;
}

bool decoder_read(struct lexer *lexer, struct arena *arena, struct decoder_name *name)
{
	int64_t phase = 0, thread = 0;
	const struct layout_decoder *decoders;
	char text[64];
	size_t count;

	*name = (struct decoder_name){ .words = 0 };
	decoders = layout_decoders(&count);
	for (size_t i = 0; i < count; i++) {
		const struct layout_decoder *d = &decoders[i];
		int length;

		if (!lexer_take_word(lexer, d->name))
			continue;
		name->words = d->words;
		name->kernel = d->kernel;
		if (d->sized && !sizes_read(lexer, &phase, &thread))
			return false;
		if (d->kernel)
			return true;
		length = phase ? snprintf(text, sizeof(text), "%s %d %d", d->name, (int)phase, (int)thread)
			       : snprintf(text, sizeof(text), "%s", d->name);
		name->text = arena_copy(arena, text, length);
		return name->text;
	}
	return true;
}
