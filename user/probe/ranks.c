/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ranks.c - which rank of its job a process is, and how many there are, as the models tell.
 */
#include <errno.h>
#include <stdlib.h>

#include "probe/probe.h"

const char **plan_rank_variables(const struct model_set *models)
{
	size_t n = 0;
	const char **names = calloc(1, sizeof(*names));

	for (size_t m = 0; names && m < models_count(models); m++) {
		for (char **v = models_at(models, m)->rank_env; v && *v; v++) {
			const char **grown = realloc(names, (n + 2) * sizeof(*names));

			if (!grown) {
				free(names);
				return NULL;
			}
			names = grown;
			names[n++] = *v;
			names[n] = NULL;
		}
	}
	return names;
}

/* The first of these variables that the process has as a number; -1: none. */
static long number_from_environment(char **names, const struct process *process)
{
	for (char **name = names; name && *name; name++) {
		const char *text = process_getenv(process, *name);
		char *end;
		long number;

		if (!text || !*text)
			continue;
		number = strtol(text, &end, 10);
		if (!*end && number >= 0 && number < INT32_MAX)
			return number;
	}
	return -1;
}

/* The int variable of the program; -1: none. */
static long number_from_variable(const struct plan *plan, const char *name, const struct process *process)
{
	int number;

	for (size_t i = 0; name && i < process->nmappings; i++) {
		const struct mapping *mapping = &process->mappings[i];
		struct image *image = mapping->executable ? plan_image(plan, mapping->device, mapping->inode) : NULL;

		if (image && image->is_program && !image_read_int(image, process, name, &number) && number >= 0)
			return number;
	}
	return -1;
}

/* Is that variable of the program each thread's own? */
static bool variable_is_by_thread(const struct plan *plan, const char *name, const struct process *process)
{
	int number;

	for (size_t i = 0; name && i < process->nmappings; i++) {
		const struct mapping *mapping = &process->mappings[i];
		struct image *image = mapping->executable ? plan_image(plan, mapping->device, mapping->inode) : NULL;

		if (image && image->is_program && image_read_int(image, process, name, &number) == -ENOTSUP)
			return true;
	}
	return false;
}

/* Does the process map a file of this model? Others may only have been probed beforehand. */
static bool maps_model(const struct plan *plan, const struct model *m, const struct process *process)
{
	for (size_t i = 0; i < process->nmappings; i++) {
		const struct mapping *mapping = &process->mappings[i];
		const struct image *image = mapping->executable && mapping->inode
						    ? plan_image(plan, mapping->device, mapping->inode)
						    : NULL;

		for (size_t k = 0; image && k < plan->nsites; k++)
			if (plan->sites[k].image == image && plan->sites[k].function->model == m)
				return true;
	}
	return false;
}

static uint32_t first_number(const struct model *m)
{
	return m->nfunctions ? m->functions[0].number : 0;
}

static bool names_ranks_better(const struct model *m, const struct model *than)
{
	if (!m->unit != !than->unit)
		return m->unit;
	return first_number(m) >= first_number(than);
}

const struct model *plan_rank(const struct plan *plan, const struct process *process, long *rank)
{
	const struct model *found = NULL;

	for (size_t i = 0; i < plan->nchosen; i++) {
		const struct model *m = plan->chosen[i];
		long own;

		if ((found && !names_ranks_better(m, found)) || !maps_model(plan, m, process))
			continue;
		own = number_from_environment(m->rank_env, process);
		if (own < 0)
			own = number_from_variable(plan, m->rank_symbol, process);
		if (own < 0)
			continue;
		*rank = own + m->rank_plus;
		found = m;
	}
	return found;
}

const struct model *plan_rank_by_thread(const struct plan *plan, const struct process *process)
{
	for (size_t i = 0; i < plan->nchosen; i++) {
		const struct model *m = plan->chosen[i];

		if (maps_model(plan, m, process) && variable_is_by_thread(plan, m->rank_symbol, process))
			return m;
	}
	return NULL;
}

int plan_thread_rank(const struct plan *plan, const struct model *model, const struct process *process, pid_t tid,
		     long *rank)
{
	int number, err = -ENOENT;

	for (size_t i = 0; i < process->nmappings && err; i++) {
		const struct mapping *mapping = &process->mappings[i];
		struct image *image = mapping->executable ? plan_image(plan, mapping->device, mapping->inode) : NULL;

		if (image && image->is_program)
			err = image_read_thread_int(image, process, tid, model->rank_symbol, &number);
	}
	if (!err && number < 0)
		err = -ENOENT;
	if (!err)
		*rank = number + model->rank_plus;
	return err;
}

long plan_ranks(const struct plan *plan, const struct model *model, const struct process *process, bool *all_here)
{
	long ranks = number_from_environment(model->ranks_env, process),
	     local = number_from_environment(model->ranks_local, process);

	/* Where nothing tells of a machine, ranks are processes that one program has forked. */
	*all_here = model->ranks_local ? local > 0 && local == ranks : model->ranks_symbol != NULL;
	return ranks > 0 ? ranks : number_from_variable(plan, model->ranks_symbol, process);
}
