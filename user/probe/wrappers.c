/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wrappers.c - calls that come by way of a library that only passes them on.
 *
 * MPI's Fortran library calls its C library, so it would be the call site of every call of a Fortran program. What the
 * user wrote is one call further up: its return address is on the stack, as far up as the wrapper's frame is long
 * (target/calls.c). The wrapper may have a wrapper itself (that of `use mpi_f08` calls that of mpif.h), and the same
 * function may be called directly, too. So the program of such a site reads the stack in each place where there may be
 * a wrapper's caller; which of them was meant is known afterwards, by the return addresses themselves
 * (capture/wrappers.c).
 *
 * A library that is mapped after the runtime's own has been looked at is not taken into account: its calls come from
 * itself then.
 */
#include <stdlib.h>
#include <string.h>

#include "probe/plan_private.h"
#include "util/files.h"

#define LEVELS 3 /* wrappers on top of each other */

#define LOOKS_MOST (1u << 28) /* at calls, for all sites: what a library that was made to keep us busy gets */

/* A function that is called: by its name, or within an image by its address. */
struct callee {
	const char *name;
	const struct image *image;
	uint64_t address;
};

struct climber {
	const struct plan *plan;
	struct site *site;
	uint32_t *looks;
};

static bool is_wrapper(const struct model *model, const struct image *image)
{
	return model_wraps_in_file(model, image->soname, path_base(image->path));
}

static void add_depth(struct site *site, uint32_t depth)
{
	for (unsigned i = 0; i < site->nwrapped; i++)
		if (site->wrapped[i] == depth)
			return;
	if (site->nwrapped < SITE_WRAPPED)
		site->wrapped[site->nwrapped++] = depth;
}

static void climb(const struct climber *c, const struct callee *callee, uint32_t depth, unsigned level);

/* The wrapper's own callers: by each of its names, and within its library. */
static void climb_from(const struct climber *c, const struct image *image, uint64_t function, uint32_t depth,
		       unsigned level)
{
	struct callee callee = { .image = image, .address = function };

	climb(c, &callee, depth, level);
	callee.image = NULL;
	for (size_t i = 0; i < image->nsymbols && *c->looks < LOOKS_MOST; i++, ++*c->looks) {
		if (image->symbols[i].address != function || !image->symbols[i].dynamic)
			continue;
		callee.name = image->symbols[i].name;
		climb(c, &callee, depth, level);
	}
}

static void climb_in(const struct climber *c, const struct image *image, const struct callee *callee, uint32_t depth,
		     unsigned level)
{
	const char *name = callee->image ? NULL : image_called_name(image, callee->name);
	const struct image_call *calls;
	size_t count;

	if (callee->image ? callee->image != image : !name)
		return;
	calls = image_calls(image, &count);
	for (size_t i = 0; i < count && *c->looks < LOOKS_MOST; i++, ++*c->looks) {
		if (name ? calls[i].name != name : calls[i].name || calls[i].callee != callee->address)
			continue;
		if (calls[i].frame)
			add_depth(c->site, depth + calls[i].frame);
		if (level + 1 < LEVELS)
			climb_from(c, image, calls[i].function, depth + calls[i].frame, level + 1);
	}
}

static void climb(const struct climber *c, const struct callee *callee, uint32_t depth, unsigned level)
{
	for (size_t i = 0; i < c->plan->nimages; i++)
		if (is_wrapper(c->site->function->model, c->plan->images[i]))
			climb_in(c, c->plan->images[i], callee, depth, level);
}

static void climb_by_names(const struct climber *c)
{
	struct site_names names = { .rest = NULL };
	struct callee callee = { .name = NULL };

	while ((callee.name = site_next_name(c->site, &names)))
		climb(c, &callee, 0, 0);
}

/* The first slot that the program uses for nothing: some only hold what is followed at the return. */
static unsigned free_slot(const struct gb_probe *program, unsigned steps)
{
	unsigned slot = program->slots;

	for (unsigned i = 0; i < steps; i++) {
		const struct gb_op *op = &program->ops[i];
		uint32_t filled = gb_op_slots(op);
		unsigned to = filled ? 32 - __builtin_clz(filled) : 0,
			 from = gb_op_has_source(op) ? op->source + 1u : 0;

		slot = to > slot ? to : slot;
		slot = from > slot ? from : slot;
	}
	return slot;
}

/* The words behind those that the call carries by itself, as far as there is room. */
static void read_stack(struct site *site)
{
	struct gb_probe *program = &site->captures[0].program;
	unsigned steps = program->entry_ops + program->return_ops;

	site->own_slots = program->slots;
	site->wrapped_slot = free_slot(program, steps);
	if (site->nwrapped > GB_SLOTS - site->wrapped_slot)
		site->nwrapped = GB_SLOTS - site->wrapped_slot;
	if (site->nwrapped > GB_OPS - steps)
		site->nwrapped = GB_OPS - steps;
	memmove(&program->ops[program->entry_ops + site->nwrapped], &program->ops[program->entry_ops],
		program->return_ops * sizeof(program->ops[0]));
	for (unsigned i = 0; i < site->nwrapped; i++)
		program->ops[program->entry_ops++] = (struct gb_op){
			.kind = GB_OP_STACK,
			.slot = site->wrapped_slot + i,
			.width = GB_U64,
			.offset = (int32_t)site->wrapped[i],
		};
	if (site->nwrapped)
		program->slots = site->wrapped_slot + site->nwrapped;
}

void plan_find_wrappers(struct plan *plan, uint32_t first)
{
	uint32_t looks = 0;

	for (uint32_t i = first; i < plan->nsites; i++) {
		struct site *site = &plan->sites[i];
		struct climber climber = { .plan = plan, .site = site, .looks = &looks };

		/* What a function tells is in words of its own, and their number may not be known beforehand. */
		if (site->nfunctions > 1 || site->no_span || site->function->marks & (MARKS_TELL | MARK_OPENS) ||
		    !site->function->model->wrapper)
			continue;
		if (breath_ends(plan->placing.breath))
			return;
		climb_by_names(&climber);
		if (site->nwrapped)
			read_stack(site);
	}
}
