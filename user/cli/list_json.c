/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list_json.c - gaspbpf list --json.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "cli/list.h"
#include "util/function_name.h"

void list_json_place(struct json *j, const struct image *image, const struct probe_place *place, unsigned cost_ns)
{
	char text[200];

	json_key_uint(j, "probe_offset", place->offset);
	json_key_string(j, "class", place->refused ? "refused" : site_class_name(place->class));
	if (cost_ns)
		json_key_uint(j, "expected_ns", cost_ns);
	json_key_string(j, "instruction", place_text(image, place, text, sizeof(text)) ? text : NULL);
	json_key_string(j, "why_here", place->why);
}

void list_json_symbol(struct json *j, const char *symbol)
{
	char name[FUNCTION_NAME_ROOM];

	json_key_string(j, "symbol", symbol);
	if (function_name(symbol, NAME_WITH_ARGUMENTS, name))
		json_key_string(j, "name", name);
}

static void json_unmodelled(struct json *j, const struct plan *plan)
{
	json_key(j, "unmodelled");
	json_array(j);
	for (size_t i = 0; i < plan->nimages; i++) {
		const char *what = list_unmodelled(plan, plan->images[i]);

		if (!what)
			continue;
		json_object(j);
		json_key_string(j, "file", plan->images[i]->path);
		json_key_string(j, "runtime", what);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_inside(struct json *j, const struct plan *plan)
{
	struct inside_image inside;

	json_key(j, "inside");
	json_array(j);
	for (size_t i = 0; i < plan->nimages; i++) {
		for (size_t next = 0; image_inside(plan->models, plan->images[i], &next, &inside);) {
			json_object(j);
			json_key_string(j, "file", plan->images[i]->path);
			json_key_string(j, "runtime", inside.what);
			json_key_string(j, "why", inside.why);
			json_end_object(j);
		}
	}
	json_end_array(j);
}

static void json_site(struct json *j, const struct site *site, size_t meaning, const unsigned *cost_ns)
{
	struct probe_place place = list_place(site);

	json_object(j);
	json_key_string(j, "event", site->function[meaning].event);
	json_key_string(j, "model", site->function->model->name);
	json_key_string(j, "role", role_name(site->function[meaning].role));
	list_json_symbol(j, site->function->symbol);
	json_key_string(j, "aliases", site->aliases);
	json_key_string(j, "prototype", site->signature ?: site->function->prototype);
	json_key_string(j, "file", site->image->path);
	json_key_string(j, "build_id", site->image->build_id);
	json_key_uint(j, "offset", site->offset);
	json_key_bool(j, "imported", !site->uncalled);
	list_json_place(j, site->image, &place, site_cost(site, cost_ns));
	json_key(j, "registers");
	json_array(j);
	for (unsigned i = 0; i < GB_REGISTERS; i++)
		if (site->registers >> i & 1)
			json_string(j, arch_argument_names[i]);
	json_end_array(j);
	json_key_string(j, "not_observed", site->left_out);
	json_key_string(j, "returns", returns_name(site->returns));
	json_key_string(j, "returns_why", site->returns_why);
	json_key_string(j, "no_exits", site->returns == RETURNS_NONE ? site->no_exits : NULL);
	json_key_uint(j, "exits", site->returns == RETURNS_SITES ? site->nexits : 0);
	json_end_object(j);
}

static bool has_sites(const struct plan *plan, const struct model *model)
{
	for (size_t i = 0; i < plan->nsites; i++)
		if (list_is_of(plan->sites[i].function, model))
			return true;
	return false;
}

static void json_builds(struct json *j, const struct plan *plan, const struct model *model)
{
	for (size_t i = 0; i < plan->nimages && model->nbuilds; i++) {
		const struct build *build;
		struct build room;

		if (!plan_has_sites(plan, model, plan->images[i]))
			continue;
		build = plan_build(plan, model, plan->images[i], &room);
		json_object(j);
		json_key_string(j, "model", model->name);
		json_key_string(j, "file", plan->images[i]->path);
		json_key_string(j, "build", build ? build->name : NULL);
		json_key_bool(j, "told", plan_build_is_told(plan, model));
		json_key_bool(j, "recognised", build && build->ntests);
		json_end_object(j);
	}
}

static void json_unseen(struct json *j, const struct model *model)
{
	for (size_t i = 0; i < model->nunseen; i++) {
		json_object(j);
		json_key_string(j, "event", model->unseen[i].event);
		json_key_string(j, "model", model->name);
		json_key_bool(j, "partly", model->unseen[i].partly);
		json_key_string(j, "why", model->unseen[i].why);
		json_end_object(j);
	}
}

/* What the models with functions here say of the program's build, and of what cannot be seen. */
static void json_models(struct json *j, const struct plan *plan)
{
	json_key(j, "builds");
	json_array(j);
	for (size_t i = 0; i < models_count(plan->models); i++)
		json_builds(j, plan, models_at(plan->models, i));
	json_end_array(j);
	json_key(j, "not_observable");
	json_array(j);
	for (size_t i = 0; i < models_count(plan->models); i++)
		if (has_sites(plan, models_at(plan->models, i)))
			json_unseen(j, models_at(plan->models, i));
	json_end_array(j);
}

static void json_processes(struct json *j, const struct listing *l)
{
	json_key(j, "processes");
	json_array(j);
	for (size_t i = 0; i < l->nprocesses; i++) {
		const struct listed_process *listed = &l->processes[i];

		json_object(j);
		json_key_int(j, "pid", listed->process->pid);
		json_key_string(j, "name", listed->process->name);
		json_key_string(j, "command", listed->process->command);
		json_key_int_known(j, "rank", listed->rank, listed->has_rank);
		json_key_bool(j, "known", listed->known);
		json_end_object(j);
	}
	json_end_array(j);
}

int list_print_json(const struct listing *l)
{
	const struct plan *plan = l->plan;
	struct json *j = malloc(sizeof(*j));
	int err;

	if (!j)
		return -ENOMEM;
	json_init_file(j, stdout, true);
	json_object(j);
	json_processes(j, l);
	json_key(j, "found");
	json_array(j);
	for (size_t i = 0; i < plan->nsites; i++)
		for (size_t k = 0; k < plan->sites[i].nfunctions; k++)
			json_site(j, &plan->sites[i], k, l->cost_ns);
	json_end_array(j);
	json_unmodelled(j, plan);
	json_inside(j, plan);
	json_key(j, "absent");
	json_array(j);
	for (size_t i = 0; i < plan->nabsents; i++) {
		json_object(j);
		json_key_string(j, "event", plan->absents[i].function->event);
		json_key_string(j, "model", plan->absents[i].function->model->name);
		json_key_string(j, "symbol", plan->absents[i].function->symbol);
		json_key_string(j, "file", plan->absents[i].image ? plan->absents[i].image->path : NULL);
		json_key_string(j, "why", absence_text(plan->absents[i].why));
		json_end_object(j);
	}
	json_end_array(j);
	json_models(j, plan);
	json_key_bool(j, "crash_handler", l->crash_handler);
	json_end_object(j);
	err = json_finish(j);
	free(j);
	return err;
}
