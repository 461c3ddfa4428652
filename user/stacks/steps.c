/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steps.c - the instructions of functions on stacks, read once for all processes that map the file.
 *
 * Ranks of a job stand in the same few functions, look after look, and taking a function apart costs a hundred times as
 * much as copying what came of it. What is kept is bounded; when there is more, all is forgotten.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stacks/look_private.h"

#define FUNCTIONS_MOST 1024u
#define STEPS_MOST (128u << 10) /* of all functions together: 6 MiB */

struct kept_function {
	const struct image *image; /* of the same files: as long as these */
	uint64_t offset;
	struct code_step *steps; /* as if the file lay at address 0 */
	size_t count;
};

struct kept_steps {
	struct kept_function function[FUNCTIONS_MOST];
	size_t count, steps;
};

static void forget(struct kept_steps *kept)
{
	for (size_t i = 0; i < kept->count; i++)
		free(kept->function[i].steps);
	kept->count = kept->steps = 0;
}

void kept_steps_free(struct kept_steps *kept)
{
	if (kept)
		forget(kept);
	free(kept);
}

static const struct kept_function *find(const struct kept_steps *kept, const struct image *image, uint64_t offset)
{
	for (size_t i = 0; i < kept->count; i++)
		if (kept->function[i].image == image && kept->function[i].offset == offset)
			return &kept->function[i];
	return NULL;
}

/* NULL: cannot be had. */
static const struct kept_function *read_function(struct kept_steps *kept, const struct image *image,
						 const struct symbol *symbol)
{
	struct kept_function fresh = { .image = image, .offset = symbol->offset };
	uint8_t *bytes = malloc(symbol->size);
	struct code_step *less;
	bool read = bytes && pread(image->fd, bytes, symbol->size, symbol->offset) == (ssize_t)symbol->size &&
		    !code_steps_read(bytes, symbol->size, symbol->offset, &fresh.steps, &fresh.count);

	free(bytes);
	if (!read || fresh.count > STEPS_MOST) {
		free(fresh.steps);
		return NULL;
	}
	less = realloc(fresh.steps, (fresh.count + 1) * sizeof(*less));
	fresh.steps = less ?: fresh.steps;
	if (kept->count == FUNCTIONS_MOST || kept->steps + fresh.count > STEPS_MOST)
		forget(kept);
	kept->steps += fresh.count;
	kept->function[kept->count] = fresh;
	return &kept->function[kept->count++];
}

void function_steps(struct stack_space *space, const struct image *image, const struct symbol *symbol, uint64_t start,
		    struct code_step **steps, size_t *count)
{
	struct kept_steps **kept = space_kept_steps(space);
	const struct kept_function *function;

	*steps = NULL;
	*count = 0;
	*kept = *kept ?: calloc(1, sizeof(**kept));
	if (!*kept)
		return;
	function = find(*kept, image, symbol->offset) ?: read_function(*kept, image, symbol);
	*steps = function ? malloc((function->count + 1) * sizeof(**steps)) : NULL;
	if (!*steps)
		return;
	*count = function->count;
	memcpy(*steps, function->steps, function->count * sizeof(**steps));
	code_steps_move(*steps, *count, start - symbol->offset);
}
