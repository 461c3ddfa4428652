/* SPDX-License-Identifier: BSD-2-Clause */
/* rank.c - a process's rank, and how many ranks its job has, as the models of what it maps tell. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "monitor/private.h"

static bool number_in(const char *text, long *number)
{
	char *end;

	if (!text || !*text)
		return false;
	errno = 0;
	*number = strtol(text, &end, 10);
	return !*end && !errno && *number >= 0 && *number < INT_MAX;
}

/* Has the process a file with functions of this model? */
static struct image *image_of(const struct plan *plan, const struct process *process, const struct model *model)
{
	for (size_t i = 0; i < plan->nimages; i++)
		if (process_maps(process, plan->images[i]) && plan_has_sites(plan, model, plan->images[i]))
			return plan->images[i];
	return NULL;
}

static bool by_variables(const struct process *process, char **names, long *number)
{
	for (; names && *names; names++)
		if (number_in(process_getenv(process, *names), number))
			return true;
	return false;
}

static bool by_symbol(const struct process *process, const struct image *image, const char *symbol, long *number)
{
	int found;

	if (!symbol || !image->is_program || image_read_int(image, process, symbol, &found) || found < 0)
		return false;
	*number = found;
	return true;
}

static bool rank_by_model(struct about *about, const struct model *model, const struct image *image,
			  const struct process *process)
{
	if (!by_variables(process, model->rank_env, &about->rank) &&
	    !by_symbol(process, image, model->rank_symbol, &about->rank))
		return false;
	if (!by_variables(process, model->ranks_env, &about->size) &&
	    !by_symbol(process, image, model->ranks_symbol, &about->size))
		about->size = -1;
	return true;
}

void about_rank(struct about *about, const struct plan *plan, const struct process *process)
{
	uint32_t highest = 0;

	/* Of several runtimes the one with the highest numbers is the outermost: its word counts. */
	for (size_t i = 0; i < plan->nchosen; i++) {
		const struct model *model = plan->chosen[i];
		uint32_t number = model->nfunctions ? model->functions[0].number : 0;
		struct about found = { .size = -1 };
		struct image *image = about->rank >= 0 && number < highest ? NULL : image_of(plan, process, model);

		if (!image || !rank_by_model(&found, model, image, process))
			continue;
		highest = number;
		about->rank = found.rank + model->rank_plus;
		about->size = found.size;
	}
}
