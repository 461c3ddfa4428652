/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dwarf.c - the DWARF of such a file: source lines, prototypes, inlined functions, structs.
 */
#include "shared/fuzz.h"

#define SOME 40 /* functions that are looked at */

static void look_at_lines(struct image *image)
{
	for (size_t i = 0; i < image->nsymbols && i < SOME; i++) {
		const struct symbol *s = &image->symbols[i];

		for (uint64_t at = s->offset; at <= s->offset + 60; at += 20) {
			struct source_location location;

			if (!image_locate(image, at, &location))
				source_location_free(&location);
			if (!image_locate_cut_out(image, at, &location))
				source_location_free(&location);
		}
		image_inlined(image, s->name);
	}
}

static void look_at_signatures(struct image *image)
{
	const struct symbol *functions[SOME];
	char *texts[SOME] = { NULL };
	size_t count = 0;

	for (; count < image->nsymbols && count < SOME; count++)
		functions[count] = &image->symbols[count];
	image_signatures(image, functions, count, texts);
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const members[] = { "thread", "phase", "addr" };
	struct image *image = fuzz_image(data, size);
	uint8_t bits[3];

	if (!image)
		return 0;
	image_has_struct(image, "pointer", 16, "address");
	image_has_struct(image, "point", 24, NULL);
	image_has_bits(image, "shared_pointer", members, 3, bits);
	look_at_signatures(image);
	look_at_lines(image);
	image_close(image);
	return 0;
}
