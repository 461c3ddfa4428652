/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan.c - from models and mapped files to a list of sites: which files there are, which models take part, and what is
 * looked for where.
 *
 * Files are keyed by (device, inode): many processes map the same library. A site is a place in a file, each once
 * (sites.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/plan_private.h"
#include "util/files.h"
#include "util/log.h"

struct plan_work {
	char *wish;         /* of -m; NULL: default */
	uint8_t *explored;  /* [image * models + model]: enum explored */
	bool filters_tried; /* plan->guarded is known */
	bool *mapped;       /* [image]: a process maps it, it is not only a file */
	bool *asked_in;     /* [image]: what -F asks for has been looked for there */
	bool *turned_away;  /* [image]: it has functions, which were not admitted */
};

/* Which functions of a model have been looked for in an image. */
enum explored { EXPLORED_NOT, EXPLORED_CONTROLS, EXPLORED_ALL };

/* --- which models ------------------------------------------------------ */

/* Are all names of the wish those of models? 0, -EINVAL, said, or -ENOMEM. */
static int check_wish(const struct model_set *models, const char *wish)
{
	char *copy = strdup(wish), *rest = copy, *word;
	int err = 0;

	if (!copy)
		return -ENOMEM;
	while (!err && (word = strsep(&rest, ","))) {
		if (*word == '+')
			word++;
		if (!models_find(models, word)) {
			log_error("-m %s: no such model: 'gaspbpf list --known' names them", log_safe(word));
			err = -EINVAL;
		}
	}
	free(copy);
	return err;
}

/* Is the model named in the wish? *only: names without '+' are given, so no others take part. */
static bool wished(const struct plan *plan, const struct model *model, bool *only)
{
	char *copy, *rest, *word;
	bool found = false;

	*only = false;
	if (!plan->work->wish)
		return false;
	copy = rest = strdup(plan->work->wish);
	while (copy && (word = strsep(&rest, ","))) {
		if (*word == '+')
			word++;
		else
			*only = true;
		found |= !strcmp(word, model->name);
	}
	free(copy);
	return found;
}

static bool model_found(const struct plan *plan, const struct model *model, bool mapped)
{
	for (size_t i = 0; i < plan->nimages; i++)
		if ((!mapped || plan->work->mapped[i]) && plan_model_applies(model, plan->images[i]))
			return true;
	return false;
}

/* Does a file that no plug-in of another runtime is import one of the model's functions? Some plug-ins look for
 * devices, and load a runtime into jobs that have no use for it. */
static bool model_imported(const struct plan *plan, const struct model *model)
{
	for (size_t i = 0; i < plan->nimages; i++) {
		const struct image *image = plan->images[i];

		if (plan_model_applies(model, image) ||
		    models_beside(plan->models, image->soname, path_base(image->path)))
			continue;
		for (size_t f = 0; f < model->nfunctions; f++)
			if (image_imports(image, model->functions[f].symbol))
				return true;
	}
	return false;
}

/* Is the model there, and one that takes part without being named? */
static bool model_joins(const struct plan *plan, const struct model *model, bool mapped)
{
	return model_found(plan, model, mapped) && (!model->imported || model_imported(plan, model));
}

bool plan_may_withdraw(const struct plan *plan, const struct function *function)
{
	const struct model *model = function->model;
	bool only;

	return model->alone && !model->always && !(function->marks & MARK_CONTROLS) &&
	       models_find(plan->models, model->name) == model && !wished(plan, model, &only);
}

bool plan_has_withdrawn(const struct plan *plan, const struct function *function)
{
	for (size_t i = 0; i < plan->nchosen; i++)
		if (plan->chosen[i] == function->model)
			return false;
	return plan_may_withdraw(plan, function);
}

const struct image *plan_runtime_of(const struct plan *plan, const struct process *process)
{
	for (size_t i = 0; i < process->nmappings; i++) {
		const struct mapping *mapping = &process->mappings[i];
		const struct image *image = mapping->executable && mapping->inode
						    ? plan_image(plan, mapping->device, mapping->inode)
						    : NULL;

		for (size_t m = 0; image && m < plan->nchosen; m++)
			if (!plan->chosen[m]->alone && !plan->chosen[m]->always &&
			    plan_model_applies(plan->chosen[m], image))
				return image;
	}
	return NULL;
}

static int choose_models(struct plan *plan)
{
	size_t count = models_count(plan->models);
	bool parallel = false;

	free(plan->chosen);
	plan->chosen = calloc(count + 1, sizeof(*plan->chosen));
	plan->nchosen = 0;
	if (!plan->chosen)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct model *m = models_at(plan->models, i);

		parallel |= !m->alone && !m->always && model_joins(plan, m, true);
	}
	for (size_t i = 0; i < count; i++) {
		const struct model *m = models_at(plan->models, i);
		bool only, named = wished(plan, m, &only);

		if (m->alone && !named && (parallel || plan->no_alone || m->asked))
			continue;
		if (named || (!only && model_joins(plan, m, false)))
			plan->chosen[plan->nchosen++] = m;
	}
	return 0;
}

/* Those of the image's functions that were found since there were `before` are observed wholly or not at all. */
static bool is_admitted(struct plan *plan, size_t image, uint32_t before)
{
	const struct plan_admission *a = &plan->admission;

	if (!a->functions || (!plan->crowded && a->functions(a->context, plan->images[image], plan->nsites - before)))
		return true;
	if (plan->crowded)
		a->functions(a->context, plan->images[image], GB_PROBES);
	plan->crowded = false;
	sites_forget(plan, before);
	plan->work->turned_away[image] = true;
	return false;
}

static int explore(struct plan *plan)
{
	size_t models = models_count(plan->models);
	uint32_t first = plan->nsites;
	int err = choose_models(plan);

	for (size_t image = 0; !err && image < plan->nimages; image++) {
		uint32_t before = plan->nsites;

		for (size_t m = 0; !err && m < models; m++) {
			const struct model *model = models_at(plan->models, m);
			uint8_t *done = &plan->work->explored[image * models + m], want = EXPLORED_CONTROLS;

			for (size_t c = 0; c < plan->nchosen; c++)
				if (plan->chosen[c] == model)
					want = EXPLORED_ALL;
			if (*done >= want || !plan_model_applies(model, plan->images[image]))
				continue;
			*done = want;
			err = plan_add_model(plan, model, image, want == EXPLORED_ALL);
		}
		if (!err && !plan->work->asked_in[image])
			err = plan_add_asked(plan, image);
		plan->work->asked_in[image] = true;
		if (err || plan->nsites == before || !is_admitted(plan, image, before))
			continue;
		plan_add_file_aliases(plan, image);
		err = plan_place_sites(plan, plan->images[image], before);
	}
	plan_join_pairs(plan, first);
	if (!err)
		err = plan_choose_returns(plan);
	if (err)
		return err;
	plan_find_uncalled(plan, first);
	plan_find_wrappers(plan, first);
	return breath_ends(plan->placing.breath) ? -ECANCELED : 0;
}

int plan_finish_sites(struct plan *plan, const struct process *process, uint32_t first)
{
	bool at_entry = plan->placing.at_entry;
	int err;

	/* To find a better place all code of the file would have to be searched for branches, while the job runs on. */
	plan->placing.at_entry = true;
	err = plan_place_sites(plan, plan->sites[first].image, first);
	if (!err)
		err = plan_choose_returns(plan);
	plan->placing.at_entry = at_entry;
	if (!err && !plan->of_many)
		plan_find_patched(plan, process);
	return err;
}

/* --- images ------------------------------------------------------------ */

struct image *plan_image(const struct plan *plan, uint64_t device, uint64_t inode)
{
	for (size_t i = 0; i < plan->nimages; i++)
		if (plan->images[i]->inode == inode && plan->images[i]->device == device)
			return plan->images[i];
	return NULL;
}

bool plan_maps(const struct plan *plan, size_t image)
{
	return plan->work->mapped[image];
}

static int add_image(struct plan *plan, struct image *image, bool mapped)
{
	size_t n = plan->nimages + 1, models = models_count(plan->models);
	struct image **images = realloc(plan->images, n * sizeof(*images));
	bool *flags, *asked, *away;
	uint8_t *explored;

	if (!images)
		return -ENOMEM;
	plan->images = images;
	explored = realloc(plan->work->explored, n * models + 1);
	if (!explored)
		return -ENOMEM;
	plan->work->explored = explored;
	flags = realloc(plan->work->mapped, n);
	if (!flags)
		return -ENOMEM;
	plan->work->mapped = flags;
	asked = realloc(plan->work->asked_in, n);
	if (!asked)
		return -ENOMEM;
	plan->work->asked_in = asked;
	away = realloc(plan->work->turned_away, n);
	if (!away)
		return -ENOMEM;
	plan->work->turned_away = away;
	away[plan->nimages] = false;
	asked[plan->nimages] = false;
	memset(explored + plan->nimages * models, 0, models);
	flags[plan->nimages] = mapped;
	images[plan->nimages++] = image;
	return 0;
}

static int refuse_go(const struct process *process, const struct image *image)
{
	log_error("%d (%s): a Go program: return probes would crash it, since Go moves its stacks: not supported",
		  process->pid, log_safe(process->name));
	return -EOPNOTSUPP;
}

/* Another process, maybe another user's, maps a file that was not admitted. */
static void ask_again(struct plan *plan, size_t image)
{
	size_t models = models_count(plan->models);

	plan->work->turned_away[image] = plan->work->asked_in[image] = false;
	memset(plan->work->explored + image * models, 0, models);
}

/* True where the plan has this file already. */
static bool note_mapped(struct plan *plan, const struct mapping *mapping)
{
	for (size_t i = 0; i < plan->nimages; i++) {
		if (plan->images[i]->inode == mapping->inode && plan->images[i]->device == mapping->device) {
			plan->work->mapped[i] = true;
			if (plan->work->turned_away[i])
				ask_again(plan, i);
			return true;
		}
	}
	return false;
}

static int add_mapped(struct plan *plan, const struct process *process)
{
	for (size_t m = 0; m < process->nmappings; m++) {
		const struct mapping *mapping = &process->mappings[m];
		struct image *image;
		int err;

		if (!mapping->executable || !mapping->inode || note_mapped(plan, mapping))
			continue;
		if (plan->admission.file && !plan->admission.file(plan->admission.context))
			continue;
		err = image_open_mapped(&image, process, mapping);
		if (err == -ESRCH || err == -ENOMEM)
			return err;
		if (breath_ends(plan->placing.breath)) {
			if (!err)
				image_close(image);
			return -ECANCELED;
		}
		if (err)
			continue; /* not an ELF object of ours: said where it matters */
		if (image->is_program && image->language == IMAGE_GO) {
			err = refuse_go(process, image);
			image_close(image);
			return err;
		}
		err = add_image(plan, image, true);
		if (err) {
			image_close(image);
			return err;
		}
	}
	return 0;
}

static int add_processes(struct plan *plan, struct process *const *processes, size_t count)
{
	int err;

	for (size_t i = 0; i < count; i++) {
		err = add_mapped(plan, processes[i]);

		if (processes[i]->filtered && !plan->work->filters_tried) {
			plan->work->filters_tried = true;
			plan->guarded = trial_filter_kills();
		}

		if (err && err != -ESRCH)
			return err;
	}
	err = explore(plan);
	for (size_t i = 0; !err && !plan->of_many && i < count; i++)
		plan_find_patched(plan, processes[i]);
	return err;
}

int plan_add_processes(struct plan *plan, struct process *const *processes, size_t count)
{
	int err;

	reading_breathes(plan->placing.breath);
	err = add_processes(plan, processes, count);
	reading_breathes(NULL);
	return err;
}

static int add_file(struct plan *plan, const char *path)
{
	struct image *image;
	int err = image_open_file(&image, path);

	if (err)
		return err;
	if (plan_image(plan, image->device, image->inode)) {
		image_close(image);
		return 0;
	}
	err = add_image(plan, image, false);
	if (err) {
		image_close(image);
		return err;
	}
	return explore(plan);
}

int plan_add_file(struct plan *plan, const char *path, bool *known)
{
	uint32_t before = plan->nsites;
	int err;

	reading_breathes(plan->placing.breath);
	err = add_file(plan, path);
	reading_breathes(NULL);
	*known = plan->nsites > before;
	return err;
}

/* --- life of a plan ---------------------------------------------------- */

int plan_new(struct plan **result, const struct model_set *models, const char *wish)
{
	struct plan *plan = calloc(1, sizeof(*plan));
	int err;

	*result = NULL;
	if (!plan)
		return -ENOMEM;
	plan->models = models;
	plan->work = calloc(1, sizeof(*plan->work));
	err = plan->work ? 0 : -ENOMEM;
	if (!err && wish) {
		err = check_wish(models, wish);
		if (!err && !(plan->work->wish = strdup(wish)))
			err = -ENOMEM;
	}
	if (err) {
		plan_free(plan);
		return err;
	}
	*result = plan;
	return 0;
}

void plan_free(struct plan *plan)
{
	if (!plan)
		return;
	sites_free(plan);
	for (size_t i = 0; i < plan->nimages; i++)
		image_close(plan->images[i]);
	if (plan->work) {
		free(plan->work->wish);
		free(plan->work->explored);
		free(plan->work->mapped);
		free(plan->work->asked_in);
		free(plan->work->turned_away);
		free(plan->work);
	}
	asked_free(plan->asked);
	pointed_free(plan);
	free(plan->chosen);
	free(plan->images);
	free(plan->absents);
	returns_free(plan);
	free(plan);
}
