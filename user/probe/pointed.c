/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pointed.c - functions that a runtime is given by a pointer.
 *
 * A runtime that lets several threads work on a region gets the address of what each of them is to do: a function that
 * the compiler has cut out of the program, mostly static, in a stripped program without a name. The call that begins
 * the region names the address (MARK_TEAM), and the model says what a call of that function means (MARK_POINTED). Such
 * a function becomes a site like any other, a moment after its region was first seen.
 *
 * A probe goes only where a function certainly begins: where a symbol of the file says so, or the file's own
 * unwind table.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/plan_private.h"
#include "util/files.h"
#include "util/log.h"

/* The model's function, under the name that this one has. */
struct pointed {
	struct pointed *next;
	struct function function;
	char name[];
};

static const struct function *function_of(const struct model *model)
{
	for (size_t i = 0; i < model->nfunctions; i++)
		if (model->functions[i].marks & MARK_POINTED)
			return &model->functions[i];
	return NULL;
}

/* Does a function that the process's runtime has itself tell of each share? Then none is looked for. */
static bool tells_itself(const struct plan *plan, const struct model *model, const struct process *process)
{
	for (size_t i = 0; i < plan->nsites; i++) {
		const struct site *site = &plan->sites[i];

		if (site->function->model == model && site->attached && site->function->marks & MARK_SHARE &&
		    !(site->function->marks & MARK_POINTED) && process_maps(process, site->image))
			return true;
	}
	return false;
}

/* The function that begins there. False: none certainly does. */
static bool function_at(const struct image *image, uint64_t offset, struct symbol *function)
{
	const struct symbol *symbol = image_symbol_at(image, offset);
	const struct unwind_range *range;
	uint64_t address;

	if (symbol && symbol->offset == offset && symbol->size && !symbol->ifunc) {
		*function = *symbol;
		return true;
	}
	range = image_address_at(image, offset, &address) ? image_unwind_range_at(image, address) : NULL;
	if (!range || range->address != address || range->continued)
		return false;
	*function = (struct symbol){ .offset = offset, .address = address, .size = range->size, .local = true };
	return true;
}

/* "main._omp_fn.0"; "solver+0x1230" where the file has no name for it. */
static struct pointed *pointed_new(const struct image *image, const struct symbol *symbol, const struct function *means)
{
	char place[256];
	const char *name = symbol->name ?: place;
	struct pointed *p;

	snprintf(place, sizeof(place), "%.200s+0x%llx", path_base(image->path), (unsigned long long)symbol->offset);
	p = malloc(sizeof(*p) + strlen(name) + 1);
	if (!p)
		return NULL;
	strcpy(p->name, name);
	p->function = *means;
	p->function.symbol = p->name;
	return p;
}

void pointed_free(struct plan *plan)
{
	while (plan->pointed) {
		struct pointed *next = plan->pointed->next;

		free(plan->pointed);
		plan->pointed = next;
	}
}

static int add_function(struct plan *plan, size_t image, const struct symbol *symbol, const struct function *means)
{
	struct pointed *p = pointed_new(plan->images[image], symbol, means);
	struct symbol named = *symbol;

	if (!p)
		return -ENOMEM;
	p->next = plan->pointed;
	plan->pointed = p;
	named.name = p->name;
	return plan_add_place(plan, image, &named, &p->function);
}

int plan_add_pointed(struct plan *plan, const struct process *process, const struct model *model, uint64_t address)
{
	const struct mapping *mapping = process_mapping_at(process, address);
	const struct function *means = function_of(model);
	uint32_t before = plan->nsites;
	struct symbol symbol;
	uint64_t offset;
	int err = 0;

	if (!means || !mapping || !mapping->executable || !mapping->inode || tells_itself(plan, model, process))
		return 0;
	offset = address - mapping->start + mapping->offset;
	for (size_t i = 0; i < plan->nimages; i++) {
		const struct image *image = plan->images[i];

		if (image->inode != mapping->inode || image->device != mapping->device)
			continue;
		if (!function_at(image, offset, &symbol)) {
			log_info("%s+0x%llx: no function certainly begins here: what it does in a region of %s is not "
				 "observed",
				 log_safe(image->path), (unsigned long long)offset, model->name);
			return 0;
		}
		err = add_function(plan, i, &symbol, means);
		break;
	}
	return err || plan->nsites == before ? err : plan_finish_sites(plan, process, before);
}
