/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place.c - the code of such a file: where probes go, by which instructions functions end, jump tables, calls, the
 * linker's sign.
 */
#include "probe/kernel_private.h"
#include "shared/fuzz.h"

#define SOME 24 /* functions that are probed */

static bool is_even(void *context, uint64_t offset)
{
	return !(offset & 1);
}

static size_t choose(const struct image *image, struct place_wish *wishes)
{
	size_t count = 0;

	for (; count < image->nsymbols && count < SOME; count++)
		wishes[count] = (struct place_wish){
			.function = &image->symbols[count],
			.registers = count % 3 ? PLACE_ALL_REGISTERS : 0,
			.aside = count % 5 == 4,
			.avoid = image->symbols[count].offset + 4,
			.taken = is_even,
		};
	return count;
}

static void look_at_ends(const struct image *image, const struct place_wish *wishes, const struct probe_place *places,
			 size_t count)
{
	const struct observed observed = { .is = is_even };
	struct site_exit *exits;
	char text[100];
	size_t n;

	for (size_t i = 0; i < count; i++) {
		place_text(image, &places[i], text, sizeof(text));
		if (!exits_find(image, wishes[i].function, places[i].offset, &observed, &exits, &n))
			free(exits);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image *image = fuzz_image(data, size);
	const struct place_options options = { .optimized = size & 1 };
	struct probe_place places[SOME] = { 0 };
	struct place_wish wishes[SOME];
	struct linker_signs signs;
	size_t count;

	if (!image)
		return 0;
	count = choose(image, wishes);
	if (count && !place_probes(image, wishes, count, &options, places))
		look_at_ends(image, wishes, places, count);
	for (size_t i = 0; i < count; i++)
		if (strstr(image->symbols[i].name, "state"))
			linker_signs_find(&signs, image, &image->symbols[i]);
	image_close(image);
	return 0;
}
