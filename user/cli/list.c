/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.c - what could be observed, and what could not and why. Attaches nothing.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "cli/list.h"
#include "observe/choose.h"
#include "observe/rights.h"
#include "util/files.h"
#include "util/function_name.h"
#include "util/log.h"
#include "util/privileges.h"

#define SYMBOL_COLUMNS 34 /* that its symbol has in the list */

struct options {
	struct choice choice;
	struct text_list files;
	bool json, all, only_models, every, alone;
	pid_t crash_handler;            /* a process that has one; 0: none */
	bool sessions;                  /* call and return are seen on one link, or whether they are is not known */
	unsigned cost_ns[SITE_CLASSES]; /* of a call at such a probe; 0: not measured */
};

enum { OPTION_JSON = 300, OPTION_MODELS, OPTION_EVERY, OPTION_ALONE };

static const struct argp_option option_table[] = {
	{ "all", 'a', NULL, 0, "Name each function of libraries that are not mapped, too", 1 },
	{ "known", OPTION_MODELS, NULL, 0, "Only name the models and their libraries", 1 },
	{ "every-function", OPTION_EVERY, NULL, 0,
	  "Where a probe would go in each function of the FILEs, known to a model or not", 1 },
	{ "no-libraries", OPTION_ALONE, NULL, 0, "Of a program FILE, not the libraries that it needs", 1 },
	{ "json", OPTION_JSON, NULL, 0, "Print JSON", 1 },
	{ 0 }
};

static const char description[] =
	"What could be observed in a process or a file: every known function with its event, its file and offset, "
	"how far from there its "
	"probe is and on which instruction, what a call costs there, and each function that is not there with the "
	"reason. Of a program's file, with the libraries that it would be started with. Nothing is attached."
	"\v"
	"Examples:\n"
	"  sudo gaspbpf list -p 4242\n"
	"  sudo gaspbpf list --slurm-job 4711\n"
	"  gaspbpf list ./job /usr/lib/" ARCH_TRIPLET "/libc.so.6 -m +c\n"
	"  gaspbpf list --known";

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->choice;
		state->child_inputs[1] = &o->choice.who;
		break;
	case 'a':
		o->all = true;
		break;
	case OPTION_MODELS:
		o->only_models = true;
		break;
	case OPTION_EVERY:
		o->every = true;
		break;
	case OPTION_ALONE:
		o->alone = true;
		break;
	case OPTION_JSON:
		o->json = true;
		break;
	case ARGP_KEY_ARG:
		return -cli_append(&o->files, argument);
	case ARGP_KEY_END:
		if (!o->only_models && !choice_has_processes(&o->choice) && !o->files.count)
			argp_error(
				state,
				"nothing to look at: give -p PID, --slurm-job ID, --user, --comm, --cgroup, or files");
		if (o->every && !o->files.count)
			argp_error(state, "--every-function: give files");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = { { &choice_parser, 0, NULL, 0 }, { &chooser_parser, 0, NULL, 0 }, { 0 } };
static const struct argp parser = { option_table, parse,    "-p PID\n--slurm-job ID\nFILE...\n--known",
				    description,  children, NULL,
				    NULL };

/* --- text -------------------------------------------------------------- */

void list_print_place(const struct image *image, uint64_t start, const struct probe_place *place, unsigned cost_ns)
{
	char text[200], distance[32], cost[32] = "";

	snprintf(distance, sizeof(distance), "+%llu", (unsigned long long)(place->offset - start));
	if (!place_text(image, place, text, sizeof(text)))
		strcpy(text, "?");
	if (cost_ns)
		snprintf(cost, sizeof(cost), "%u ns", cost_ns);
	printf("0x%-8llx %-4s %-9s%-8s %-24s%s%s", (unsigned long long)start, distance,
	       place->refused ? "refused" : site_class_name(place->class), cost, text,
	       place->why ? "  stays there: " : "", place->why ?: "");
}

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

static struct probe_place place_of(const struct site *site)
{
	return (struct probe_place){ .offset = site->probe_offset, .class = site->class, .why = site->why_here };
}

void list_json_symbol(struct json *j, const char *symbol)
{
	char name[FUNCTION_NAME_ROOM];

	json_key_string(j, "symbol", symbol);
	if (function_name(symbol, NAME_WITH_ARGUMENTS, name))
		json_key_string(j, "name", name);
}

/* How its end is seen, and why so. */
static void print_returns(const struct site *site)
{
	if (site->left_out)
		printf("  not observed: %s", site->left_out);
	printf("  returns: %s", returns_name(site->returns));
	if (site->returns == RETURNS_SITES)
		printf(" (%zu)", site->nexits);
	printf(": %s", site->returns_why ?: "?");
	if (site->no_exits && site->returns == RETURNS_NONE)
		printf("; its ends cannot be probed: %s", site->no_exits);
}

/* Where that is not what people call it. */
static void print_symbol(const char *symbol)
{
	char name[FUNCTION_NAME_ROOM];

	if (function_name(symbol, NAME_ALONE, name))
		printf("  symbol: %s", log_safe(symbol));
}

static void print_site(const struct site *site, const unsigned *cost_ns)
{
	struct probe_place place = place_of(site);

	for (size_t k = 0; k < site->nfunctions; k++) {
		printf("  %-34s %-*s %-22s ", site->function[k].event, SYMBOL_COLUMNS,
		       function_label(site->function->symbol, SYMBOL_COLUMNS), log_safe(path_base(site->image->path)));
		list_print_place(site->image, site->offset, &place, site_cost(site, cost_ns));
		print_returns(site);
		print_symbol(site->function->symbol);
		printf("%s%s%s\n", site->aliases ? "  = " : "", site->aliases ? log_safe(site->aliases) : "",
		       site->uncalled ? "  imported by nothing" : "");
	}
}

static bool same_model(const struct function *function, const struct model *model)
{
	return function->model == model;
}

/* Where a model would look. */
static void print_places(const struct model *model)
{
	if (model->in_program)
		printf("the program's own symbols%s", model->library && *model->library ? " " : "");
	for (char **glob = model->library; glob && *glob; glob++)
		printf("%s%s", glob == model->library ? "" : " ", *glob);
}

static void print_absents(const struct plan *plan, const struct model *model, bool all)
{
	size_t unmapped = 0, named = 0;

	for (size_t i = 0; i < plan->nabsents; i++) {
		const struct absent *absent = &plan->absents[i];

		if (!same_model(absent->function, model))
			continue;
		if (absent->why == ABSENT_NOT_MAPPED && !all) {
			unmapped++;
			continue;
		}
		if (!named++)
			printf("  not there:\n");
		printf("  %-34s %-34s %s%s%s\n", absent->function->event, absent->function->symbol,
		       absence_text(absent->why), absent->image ? ": " : "",
		       absent->image ? log_safe(absent->image->path) : "");
	}
	if (unmapped) {
		printf("  not there: %zu functions: %s (", unmapped, absence_text(ABSENT_NOT_MAPPED));
		print_places(model);
		printf("); --all names them\n");
	}
}

/* Of a model with builds: which one each program with its functions is. */
static void print_builds(const struct plan *plan, const struct model *model)
{
	for (size_t i = 0; i < plan->nimages && model->nbuilds; i++) {
		struct image *image = plan->images[i];
		const struct build *build;
		struct build room;

		if (!plan_has_sites(plan, model, image))
			continue;
		build = plan_build(plan, model, image, &room);
		printf("  build: %s", build ? build->name : "unknown");
		if (build && build->bits[0])
			printf(" (%u, %u and %u bits)", build->bits[0], build->bits[1], build->bits[2]);
		printf(": %s\n", plan_build_is_told(plan, model) ? "as told by --build"
				 : build && build->ntests
					 ? "recognised in the program"
					 : "taken by default: the program does not tell; --build does");
	}
}

static void print_unseen(const struct model *model)
{
	if (model->nunseen)
		printf("  not observable here, or not all of it:\n");
	for (size_t i = 0; i < model->nunseen; i++)
		printf("  %-34s %s%s\n", model->unseen[i].event, model->unseen[i].partly ? "in part: " : "",
		       model->unseen[i].why);
}

static bool is_chosen(const struct plan *plan, const struct model *model)
{
	for (size_t i = 0; i < plan->nchosen; i++)
		if (plan->chosen[i] == model)
			return true;
	return false;
}

static void print_model(const struct options *o, const struct plan *plan, const struct model *model)
{
	size_t sites = 0;

	for (size_t i = 0; i < plan->nsites; i++)
		sites += same_model(plan->sites[i].function, model);
	printf("%s: %zu functions found%s\n", model->name, sites,
	       is_chosen(plan, model) ? ""
	       : model->alone         ? ", not observed unless asked for with -m"
				      : "");
	for (size_t i = 0; i < plan->nsites; i++)
		if (same_model(plan->sites[i].function, model))
			print_site(&plan->sites[i], o->cost_ns);
	print_builds(plan, model);
	if (sites)
		print_unseen(model);
	print_absents(plan, model, o->all);
}

/* What -F has found, with each function's signature. */
static void print_asked(const struct options *o, const struct plan *plan)
{
	printf(ASKED_MODEL ": asked for with -F\n");
	for (size_t i = 0; i < plan->nsites; i++) {
		if (strcmp(plan->sites[i].function->model->name, ASKED_MODEL))
			continue;
		print_site(&plan->sites[i], o->cost_ns);
		if (plan->sites[i].signature)
			printf("    %s\n", log_safe(plan->sites[i].signature));
	}
}

static void print_images(const struct plan *plan)
{
	printf("files:\n");
	for (size_t i = 0; i < plan->nimages; i++) {
		size_t sites = 0;

		for (size_t s = 0; s < plan->nsites; s++)
			sites += plan->sites[s].image == plan->images[i];
		if (sites)
			printf("  %-22s build-id %-40s %s\n", log_safe(path_base(plan->images[i]->path)),
			       plan->images[i]->build_id ?: "none", log_safe(plan->images[i]->path));
	}
}

static const char *unmodelled(const struct plan *plan, const struct image *image)
{
	return images_unmodelled(plan->models, plan->images, plan->nimages, image);
}

static void print_unmodelled(const struct plan *plan)
{
	bool any = false;

	for (size_t i = 0; i < plan->nimages; i++) {
		const char *what = unmodelled(plan, plan->images[i]);

		if (!what)
			continue;
		if (!any)
			printf("no model, so nothing of it is seen:\n");
		printf("  %-34s %s\n", log_safe(path_base(plan->images[i]->path)), what);
		any = true;
	}
}

static void print_inside(const struct plan *plan)
{
	struct inside_image inside;
	bool any = false;

	for (size_t i = 0; i < plan->nimages; i++) {
		for (size_t next = 0; image_inside(plan->models, plan->images[i], &next, &inside); any = true) {
			if (!any)
				printf("inside a program, and nothing of it is seen:\n");
			printf("  %-34s %s: %s\n", log_safe(path_base(plan->images[i]->path)), inside.what, inside.why);
		}
	}
}

static void json_unmodelled(struct json *j, const struct plan *plan)
{
	json_key(j, "unmodelled");
	json_array(j);
	for (size_t i = 0; i < plan->nimages; i++) {
		const char *what = unmodelled(plan, plan->images[i]);

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

/* A return probe stands in for the return address of a call in progress, and who prints a backtrace then gets no
 * further. */
static void print_crashes(const struct options *o, const struct plan *plan)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->nsites; i++)
		count += plan->sites[i].returns == RETURNS_TRAMPOLINE;
	if (o->crash_handler && count)
		printf("process %d has a crash handler: if it crashes within a call that has a return probe "
		       "(trampoline: %zu functions here), backtraces, also from core\n"
		       "  files, stop at 0x7fffffffe000. --returns=sites keeps them whole; calls cost more then\n",
		       o->crash_handler, count);
}

/* --- JSON -------------------------------------------------------------- */

static void json_site(struct json *j, const struct site *site, size_t meaning, const unsigned *cost_ns)
{
	struct probe_place place = place_of(site);

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
		if (same_model(plan->sites[i].function, model))
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

static int print_json(const struct options *o, const struct plan *plan)
{
	struct json *j = malloc(sizeof(*j));
	int err;

	if (!j)
		return -ENOMEM;
	json_init_file(j, stdout, true);
	json_object(j);
	json_key(j, "found");
	json_array(j);
	for (size_t i = 0; i < plan->nsites; i++)
		for (size_t k = 0; k < plan->sites[i].nfunctions; k++)
			json_site(j, &plan->sites[i], k, o->cost_ns);
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
	json_key_bool(j, "crash_handler", o->crash_handler);
	json_end_object(j);
	err = json_finish(j);
	free(j);
	return err;
}

/* --- the command ------------------------------------------------------- */

static int list_models(const struct model_set *models)
{
	for (size_t i = 0; i < models_count(models); i++) {
		const struct model *model = models_at(models, i);

		printf("%-10s GASP_%-10s %5zu functions in ", model->name, model->language, model->nfunctions);
		print_places(model);
		for (size_t b = 0; b < model->nbuilds; b++)
			printf("%s%s", b ? " " : "; builds: ", model->builds[b].name);
		printf("%s\n", model->alone ? "; joins where there is no parallel runtime, or with -m" : "");
	}
	return 0;
}

/* A library that is not there, or no ELF file of ours, would keep the program from starting: that is not ours to say.
 */
static int add_needed(struct plan *plan, const struct image *image)
{
	const char *name = image->needed;
	int err = 0;

	for (; !err && name && *name; name += strlen(name) + 1) {
		char *path = library_find_needed(image, name);
		bool known;

		if (!path)
			log_warn("%s: needs %s, which is not found here: its functions are not listed",
				 log_safe(image->path), log_safe(name));
		else if (plan_add_file(plan, path, &known) == -ENOMEM)
			err = -ENOMEM;
		free(path);
	}
	return err;
}

/* A file; and of a program all that its dynamic linker would map. */
static int add_file(const struct options *o, struct plan *plan, const char *path)
{
	size_t first = plan->nimages;
	bool known;
	int err = plan_add_file(plan, path, &known);

	if (err == -ENOEXEC)
		log_error("%s: not an " ARCH_TITLE " ELF program or library: name one", log_safe(path));
	if (err || o->alone || first == plan->nimages || !plan->images[first]->is_program)
		return err;
	for (size_t i = first; !err && i < plan->nimages; i++) /* they become more */
		err = add_needed(plan, plan->images[i]);
	return err;
}

static int look_at(struct options *o, struct plan *plan, struct process *process)
{
	if (process->crash_handler)
		o->crash_handler = process->pid;
	return plan_add_processes(plan, &process, 1);
}

static int look_at_processes(struct options *o, struct plan *plan)
{
	struct process_choice wanted;
	struct pid_list chosen = { 0 };
	int err = chooser_wanted(&wanted, &o->choice.who, &o->choice.pids);

	if (!err)
		err = choose_processes(&chosen, &wanted, plan->models);
	plan->no_alone = choice_is_by_description(&wanted);
	for (size_t i = 0; !err && i < chosen.count; i++) {
		bool named = i < wanted.npids;
		struct process *process;

		err = named ? process_open(&process, chosen.pids[i]) : process_open_quietly(&process, chosen.pids[i]);
		if (!err) {
			err = look_at(o, plan, process);
			process_close(process);
		} else if (!named && err != -ENOMEM) {
			err = 0; /* it has ended */
		}
	}
	free(chosen.pids);
	return err;
}

static int look(struct options *o, struct plan *plan)
{
	int err = look_at_processes(o, plan);

	for (size_t i = 0; !err && i < o->files.count; i++)
		err = add_file(o, plan, o->files.items[i]);
	return err ?: plan_find_absent(plan);
}

static int show(const struct options *o, const struct plan *plan)
{
	if (o->json)
		return print_json(o, plan);
	for (size_t i = 0; i < models_count(plan->models); i++)
		if (is_chosen(plan, models_at(plan->models, i)))
			print_model(o, plan, models_at(plan->models, i));
	for (size_t i = 0; i < models_count(plan->models); i++)
		if (!is_chosen(plan, models_at(plan->models, i)))
			print_model(o, plan, models_at(plan->models, i));
	if (o->choice.asked.count)
		print_asked(o, plan);
	print_images(plan);
	print_unmodelled(plan);
	print_inside(plan);
	print_crashes(o, plan);
	return 0;
}

/* What a call costs at each class of place, on this machine. Only who may observe can measure it, with probes in
 * gaspbpf itself. */
static void measure_costs(unsigned cost_ns[SITE_CLASSES], bool *sessions)
{
	struct kernel_options options = { .ring_bytes = 1 << 20, .quiet = true };
	struct probe_costs costs;
	struct kernel *kernel;

	if (kernel_load(&kernel, &options))
		return;
	kernel_costs(kernel, &costs);
	memcpy(cost_ns, costs.call, sizeof(costs.call));
	*sessions = kernel_rung(kernel) == RUNG_SESSION;
	kernel_free(kernel);
}

int command_list(int argc, char **argv)
{
	struct options o = { .sessions = true };
	struct model_set *models = NULL;
	struct plan *plan = NULL;
	int err = 0;

	cli_parse(&parser, argc, argv, &o);
	if (!o.every)
		err = cli_load_models(&models, &o.choice);
	if (!err && !o.only_models && may_observe()) {
		measure_costs(o.cost_ns, &o.sessions);
		rights_give_up_to_look(false);
	}
	if (o.every) {
		err = list_every_function(&o.files, o.choice.at_entry, o.json, o.cost_ns);
		goto out;
	}
	if (!err && o.only_models)
		err = list_models(models);
	else if (!err)
		err = cli_new_plan(&plan, models, &o.choice);
	if (plan) {
		plan->says_builds = false; /* it is listed */
		plan->sessions = o.sessions;
		err = look(&o, plan);
		if (!err)
			err = show(&o, plan);
	}
	plan_free(plan);
	models_free(models);
out:
	free(o.files.items);
	choice_free(&o.choice);
	return cli_status("list", err);
}
