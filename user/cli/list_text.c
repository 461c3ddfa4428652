/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list_text.c - gaspbpf list for people.
 *
 * Who looks here wants to know three things: are these the processes that I mean, is the function that I miss among
 * those that are seen, and what does it cost. So there is one line a process and one a function; what is not seen is
 * told with the reason, all functions of one reason together. Where each probe is, and why there, is told with -v.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/list.h"
#include "util/files.h"
#include "util/function_name.h"
#include "util/log.h"
#include "util/paragraph.h"
#include "util/table.h"
#include "util/utf8.h"

#define PROCESSES_SHOWN 10 /* without -v */
#define MISSING_SHOWN 6    /* names of functions that a library has not; without -a */
#define FURTHER 4          /* columns that a paragraph's lines after the first one are further right */
#define LEAST_LIBRARY 20   /* columns that a column of a table keeps (table.c) */

static struct paragraph begin(const struct listing *l, size_t indent)
{
	return (struct paragraph){ .out = stdout, .width = l->width, .indent = indent, .further = indent + FURTHER };
}

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

/* --- the processes ------------------------------------------------------- */

/* "2 processes started by 4242:" */
static void print_count(const struct listing *l)
{
	struct paragraph p = begin(l, 0);

	paragraph_words(&p, "%zu process%s%s", l->nprocesses, l->nprocesses == 1 ? "" : "es",
			l->nlaunchers ? " started by" : ":");
	for (size_t i = 0; i < l->nlaunchers; i++)
		paragraph_words(&p, "%d%s", l->launchers[i], i + 1 < l->nlaunchers ? "," : ":");
	paragraph_end(&p);
}

/* Of a command that has no room, without the folder of its program: what follows tells the jobs apart. */
static const char *command_of(const struct listed_process *listed, size_t room)
{
	const char *command = listed->process->command;
	size_t folder;

	if (!command || !*command)
		return log_safe(listed->process->name);
	if (utf8_columns(log_safe(command)) <= room)
		return log_safe(command);
	for (folder = strcspn(command, " "); folder && command[folder - 1] != '/';)
		folder--;
	return log_safe(command + folder);
}

static int print_processes(const struct listing *l)
{
	struct table table = { 0 };
	bool ranks = false;
	size_t before = strlen("     PID ") + strlen("RANK ");
	size_t shown = l->verbose || l->nprocesses <= PROCESSES_SHOWN ? l->nprocesses : PROCESSES_SHOWN;
	int err;

	if (!l->nprocesses)
		return 0;
	print_count(l);
	for (size_t i = 0; i < l->nprocesses; i++)
		ranks |= l->processes[i].has_rank;
	table_column(&table, &(struct column){ .title = "     PID" });
	if (ranks)
		table_column(&table, &(struct column){ .title = "RANK" });
	table_column(&table, &(struct column){ .title = "COMMAND", .left = true, .shrinks = true });
	for (size_t i = 0; i < shown; i++) {
		const struct listed_process *listed = &l->processes[i];

		table_cell(&table, "%d", listed->process->pid);
		if (ranks && listed->has_rank)
			table_cell(&table, "%ld", listed->rank);
		else if (ranks)
			table_cell(&table, "-");
		table_cell(&table, "%s", command_of(listed, l->width > before ? l->width - before : 0));
	}
	err = table_print(&table, stdout, l->width);
	table_free(&table);
	if (shown < l->nprocesses)
		printf("  and %zu more: -v names them\n", l->nprocesses - shown);
	return err;
}

/* Of several: those of which nothing would be observed. */
static void print_unknown(const struct listing *l)
{
	struct paragraph p = begin(l, 2);
	size_t known = 0;

	for (size_t i = 0; i < l->nprocesses; i++)
		known += l->processes[i].known;
	if (!known || known == l->nprocesses)
		return;
	paragraph_words(&p, "without a runtime that is observed:");
	for (size_t i = 0; i < l->nprocesses; i++)
		if (!l->processes[i].known)
			paragraph_words(&p, "%d", l->processes[i].process->pid);
	paragraph_end(&p);
}

/* --- functions, each in a line ------------------------------------------- */

const char *list_not_observed(const struct listing *l, const struct site *site)
{
	if (site->left_out)
		return site->left_out;
	return site->uncalled && l->one_by_one ? "nothing that is mapped calls it, and each probe is dear to remove on "
						 "this kernel (record --all-symbols observes it all the same)"
					       : NULL;
}

/* In words, if only that it is called is seen, though its event has a duration. */
static const char *why_no_duration(const struct listing *l, const struct site *site)
{
	if (site->returns != RETURNS_NONE || site->no_span || site->function->marks & (MARK_ATOMIC | MARK_OPENS) ||
	    list_not_observed(l, site))
		return NULL;
	return site->no_exits ?: site->returns_why ?: "?";
}

/* The further names that people use, joined by blanks. malloc'ed; NULL: none, or no memory. */
static char *names_for_people(const char *aliases)
{
	char *names = aliases ? calloc(1, strlen(aliases) + 1) : NULL, *copy = names ? strdup(aliases) : NULL, *rest;

	for (char *name = copy ? strtok_r(copy, " ", &rest) : NULL; name; name = strtok_r(NULL, " ", &rest))
		if (*name != '_')
			strcat(strcat(names, *names ? " " : ""), name);
	free(copy);
	if (names && !*names) {
		free(names);
		names = NULL;
	}
	return names;
}

static bool is_measured(const struct listing *l)
{
	for (size_t class = 0; class < SITE_CLASSES; class ++)
		if (l->cost_ns[class])
			return true;
	return false;
}

/* How wide each column would like to be. */
struct widths {
	size_t event, function, library, further;
};

static void widen(size_t *width, const char *text)
{
	size_t columns = text ? utf8_columns(log_safe(text)) : 0;

	*width = columns > *width ? columns : *width;
}

static struct widths measure(const struct listing *l, const struct model *model, bool asked)
{
	struct widths w = { .event = strlen("EVENT"), .function = strlen("FUNCTION"), .library = strlen("LIBRARY") };

	for (size_t i = 0; i < l->plan->nsites; i++) {
		const struct site *site = &l->plan->sites[i];
		char *names;

		if (!list_is_of(site->function, model) || list_not_observed(l, site))
			continue;
		for (size_t k = 0; k < site->nfunctions; k++)
			widen(&w.event, site->function[k].event);
		widen(&w.function, function_label(site->function->symbol, FUNCTION_NAME_COLUMNS));
		widen(&w.library, path_base(site->image->path));
		names = names_for_people(site->aliases);
		widen(&w.further, asked ? site->signature : names);
		free(names);
	}
	return w;
}

#define COST_COLUMNS (sizeof("9999.9 us") - 1)

/* What is cut where the terminal is narrow: the library first, names of functions last. */
static void set_columns(const struct listing *l, struct table *table, const struct widths *w, bool asked)
{
	size_t needed = 2 + w->event + 1 + w->function + 1 + w->library + (is_measured(l) ? 1 + COST_COLUMNS : 0);
	bool narrow = needed > l->width + (w->library > LEAST_LIBRARY ? w->library - LEAST_LIBRARY : 0);

	table_column(table, &(struct column){ .title = " ", .left = true });
	table_column(table, &(struct column){ .title = "EVENT", .left = true });
	table_column(table, &(struct column){ .title = "FUNCTION", .left = true, .shrinks = narrow });
	table_column(table, &(struct column){ .title = "LIBRARY", .left = true, .shrinks = true, .drop = 1 });
	if (is_measured(l))
		table_column(table, &(struct column){ .title = "COST" });
	if (asked && w->further)
		table_column(table, &(struct column){ "PROTOTYPE", .left = true, .shrinks = true, .drop = 2 });
	else if (!asked && w->further && needed + 1 + w->further <= l->width)
		table_column(table, &(struct column){ .title = "ALSO", .left = true });
}

static void add_rows(const struct listing *l, struct table *table, const struct site *site, bool asked)
{
	char *names = names_for_people(site->aliases);
	size_t columns = 4 + is_measured(l);
	unsigned cost = site_cost(site, l->cost_ns);

	for (size_t k = 0; k < site->nfunctions; k++) {
		table_cell(table, " ");
		table_cell(table, "%s", log_safe(site->function[k].event));
		table_cell(table, "%s", function_label(site->function->symbol, FUNCTION_NAME_COLUMNS));
		table_cell(table, "%s", log_safe(path_base(site->image->path)));
		if (is_measured(l) && cost)
			table_cell(table, "%.1f us", cost / 1000.0);
		else if (is_measured(l))
			table_cell(table, "?");
		if (columns < table->ncolumns && asked)
			table_cell(table, "%s", log_safe(site->signature ?: ""));
		else if (columns < table->ncolumns)
			table_cell(table, "%s", names ? log_safe(names) : "");
	}
	free(names);
}

static int print_table(const struct listing *l, const struct model *model)
{
	bool asked = !strcmp(model->name, ASKED_MODEL);
	struct widths w = measure(l, model, asked);
	struct table table = { 0 };
	int err = 0;

	set_columns(l, &table, &w, asked);
	for (size_t i = 0; i < l->plan->nsites; i++)
		if (list_is_of(l->plan->sites[i].function, model) && !list_not_observed(l, &l->plan->sites[i]))
			add_rows(l, &table, &l->plan->sites[i], asked);
	if (table.ncells)
		err = table_print(&table, stdout, l->width);
	table_free(&table);
	return err;
}

/* --- what is not seen, by reason ----------------------------------------- */

typedef const char *reason_of(const struct listing *l, const struct site *site);

static bool has_reason(const struct listing *l, size_t i, const struct model *model, reason_of *reason, const char *why)
{
	const struct site *site = &l->plan->sites[i];
	const char *its = list_is_of(site->function, model) ? reason(l, site) : NULL;

	return its && !strcmp(its, why);
}

static void print_one_reason(const struct listing *l, size_t first, const struct model *model, const char *what,
			     reason_of *reason, const char *why)
{
	struct paragraph p = begin(l, 2);
	size_t count = 0, put = 0;

	for (size_t i = first; i < l->plan->nsites; i++)
		count += has_reason(l, i, model, reason, why);
	paragraph_words(&p, "%s: %s (%zu function%s):", what, why, count, plural(count));
	for (size_t i = first; i < l->plan->nsites; i++)
		if (has_reason(l, i, model, reason, why))
			paragraph_piece(&p, function_label(l->plan->sites[i].function->symbol, FUNCTION_NAME_COLUMNS),
					++put < count ? "," : "");
	paragraph_end(&p);
}

static void print_reasons(const struct listing *l, const struct model *model, const char *what, reason_of *reason)
{
	for (size_t i = 0; i < l->plan->nsites; i++) {
		const struct site *site = &l->plan->sites[i];
		const char *why = list_is_of(site->function, model) ? reason(l, site) : NULL;
		size_t earlier = 0;

		while (why && earlier < i && !has_reason(l, earlier, model, reason, why))
			earlier++;
		if (why && earlier == i)
			print_one_reason(l, i, model, what, reason, why);
	}
}

void list_print_places(const struct model *model)
{
	if (model->in_program)
		printf("the program's own symbols%s", model->library && *model->library ? " " : "");
	for (char **glob = model->library; glob && *glob; glob++)
		printf("%s%s", glob == model->library ? "" : " ", *glob);
}

/* Is no file of the model's there? */
static bool is_unused(const struct plan *plan, const struct model *model)
{
	for (size_t i = 0; i < plan->nabsents; i++)
		if (list_is_of(plan->absents[i].function, model))
			return plan->absents[i].why == ABSENT_NOT_MAPPED;
	return false;
}

/* Each in a line. */
static void print_absents_one_by_one(const struct plan *plan, const struct model *model)
{
	bool any = false;

	for (size_t i = 0; i < plan->nabsents; i++) {
		const struct absent *absent = &plan->absents[i];

		if (!list_is_of(absent->function, model))
			continue;
		if (!any)
			printf("  not there:\n");
		any = true;
		printf("  %-34s %-34s %s%s%s\n", absent->function->event, absent->function->symbol,
		       absence_text(absent->why), absent->image ? ": " : "",
		       absent->image ? log_safe(absent->image->path) : "");
	}
}

static bool is_like(const struct absent *absent, const struct absent *other)
{
	return absent->function->model == other->function->model && absent->why == other->why &&
	       absent->image == other->image;
}

/* A library that has not all that others have of its kind: nobody can call that, so nothing is missed. */
static bool is_of_other_versions(const struct absent *absent)
{
	return absent->image && !absent->image->is_program &&
	       (absent->why == ABSENT_NOT_EXPORTED || absent->why == ABSENT_STRIPPED);
}

static void print_absents_like(const struct listing *l, size_t first)
{
	const struct absent *absent = &l->plan->absents[first];
	const char *file = absent->image ? log_safe(path_base(absent->image->path)) : "";
	struct paragraph p = begin(l, 2);
	size_t count = 0, put = 0, shown;

	for (size_t i = first; i < l->plan->nabsents; i++)
		count += is_like(&l->plan->absents[i], absent);
	shown = is_of_other_versions(absent) && count > MISSING_SHOWN ? MISSING_SHOWN : count;
	if (is_of_other_versions(absent))
		paragraph_words(&p, "not in this version of %s (%zu function%s):", file, count, plural(count));
	else
		paragraph_words(&p, "not observed%s%s: %s (%zu function%s):", *file ? " in " : "", file,
				absence_text(absent->why), count, plural(count));
	for (size_t i = first; i < l->plan->nabsents && put < shown; i++)
		if (is_like(&l->plan->absents[i], absent))
			paragraph_piece(&p, log_safe(l->plan->absents[i].function->symbol), ++put < count ? "," : "");
	if (put < count)
		paragraph_words(&p, "and %zu more (-v names them)", count - put);
	paragraph_end(&p);
}

static void print_absents(const struct listing *l, const struct model *model)
{
	for (size_t i = 0; i < l->plan->nabsents; i++) {
		size_t earlier = 0;

		if (!list_is_of(l->plan->absents[i].function, model))
			continue;
		while (earlier < i && !is_like(&l->plan->absents[earlier], &l->plan->absents[i]))
			earlier++;
		if (earlier == i)
			print_absents_like(l, i);
	}
}

/* --- models -------------------------------------------------------------- */

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

/* What the model itself says that it cannot show. */
static void print_unseen(const struct listing *l, const struct model *model)
{
	if (model->nunseen)
		printf("  not observable here, or not all of it:\n");
	for (size_t i = 0; i < model->nunseen; i++) {
		struct paragraph p = begin(l, 4);

		paragraph_words(&p, "%s: %s%s", model->unseen[i].event, model->unseen[i].partly ? "in part: " : "",
				model->unseen[i].why);
		paragraph_end(&p);
	}
}

static bool has_functions(const struct plan *plan, const struct model *model, const struct image *image)
{
	for (size_t i = 0; i < plan->nsites; i++)
		if (plan->sites[i].image == image && list_is_of(plan->sites[i].function, model))
			return true;
	return false;
}

/* An empty line between two parts. */
static void print_gap(bool *gap)
{
	if (*gap)
		putchar('\n');
	*gap = true;
}

static void print_title(const struct listing *l, const struct model *model, size_t sites)
{
	struct paragraph p = begin(l, 0);
	size_t put = 0;

	if (!strcmp(model->name, ASKED_MODEL))
		paragraph_words(&p, ASKED_MODEL " (asked for with -F):");
	else
		paragraph_words(&p, "%s:", model->name);
	paragraph_words(&p, "%zu function%s%s", sites, plural(sites), sites ? " in" : "");
	for (size_t i = 0; i < l->plan->nimages; i++)
		if (has_functions(l->plan, model, l->plan->images[i]))
			paragraph_words(&p, "%s%s", put++ ? "and " : "", log_safe(l->plan->images[i]->path));
	paragraph_end(&p);
}

static int print_model(const struct listing *l, const struct model *model, bool *gap)
{
	size_t sites = 0;
	int err = 0;

	for (size_t i = 0; i < l->plan->nsites; i++)
		sites += list_is_of(l->plan->sites[i].function, model);
	print_gap(gap);
	print_title(l, model, sites);
	for (size_t i = 0; l->verbose && i < l->plan->nsites; i++)
		if (list_is_of(l->plan->sites[i].function, model))
			list_print_site(l, &l->plan->sites[i]);
	if (!l->verbose) {
		err = print_table(l, model);
		print_reasons(l, model, "not observed", list_not_observed);
		print_reasons(l, model, "only the calls are seen, not how long they take", why_no_duration);
	}
	print_builds(l->plan, model);
	if (sites)
		print_unseen(l, model);
	if (l->verbose || l->all)
		print_absents_one_by_one(l->plan, model);
	else
		print_absents(l, model);
	return err;
}

static bool is_chosen(const struct plan *plan, const struct model *model)
{
	for (size_t i = 0; i < plan->nchosen; i++)
		if (plan->chosen[i] == model)
			return true;
	return false;
}

/* The functions that -F has found are of a model that is none of the set. NULL: none was found. */
static const struct model *asked_model(const struct plan *plan)
{
	for (size_t i = 0; i < plan->nsites; i++)
		if (!strcmp(plan->sites[i].function->model->name, ASKED_MODEL))
			return plan->sites[i].function->model;
	return NULL;
}

enum standing { OBSERVED, NOT_ASKED_FOR, UNUSED, STANDINGS };

static enum standing standing(const struct listing *l, const struct model *model)
{
	if (strcmp(model->name, USER_MODEL) && is_unused(l->plan, model))
		return UNUSED;
	return is_chosen(l->plan, model) ? OBSERVED : NOT_ASKED_FOR;
}

static int print_observed(const struct listing *l)
{
	bool gap = l->nprocesses;
	int err = 0;

	for (size_t i = 0; !err && i < models_count(l->plan->models); i++) {
		const struct model *model = models_at(l->plan->models, i);

		if (standing(l, model) == OBSERVED)
			err = print_model(l, model, &gap);
	}
	if (!err && asked_model(l->plan))
		err = print_model(l, asked_model(l->plan), &gap);
	if (!l->plan->nsites) {
		print_gap(&gap);
		printf("no function that gaspbpf knows is here\n");
	}
	return err;
}

/* The names of all models that stand so, in one paragraph. */
static void print_names(const struct listing *l, enum standing which, const char *what, const char *behind)
{
	struct paragraph p = begin(l, 0);
	size_t count = 0, put = 0;

	for (size_t i = 0; i < models_count(l->plan->models); i++)
		count += standing(l, models_at(l->plan->models, i)) == which;
	if (!count)
		return;
	paragraph_words(&p, "%s", what);
	for (size_t i = 0; i < models_count(l->plan->models); i++)
		if (standing(l, models_at(l->plan->models, i)) == which)
			paragraph_piece(&p, models_at(l->plan->models, i)->name, ++put < count ? "," : "");
	paragraph_words(&p, "%s", behind);
	paragraph_end(&p);
}

/* With -v where they were looked for; with -a each of their functions, too. */
static void print_unused(const struct listing *l)
{
	for (size_t i = 0; i < models_count(l->plan->models); i++) {
		const struct model *model = models_at(l->plan->models, i);

		if (standing(l, model) != UNUSED)
			continue;
		printf("\n%s: 0 functions: %s (", model->name, absence_text(ABSENT_NOT_MAPPED));
		list_print_places(model);
		printf(")\n");
		if (l->all)
			print_absents_one_by_one(l->plan, model);
	}
}

/* --- the rest ------------------------------------------------------------ */

static void print_unmodelled(const struct plan *plan)
{
	bool any = false;

	for (size_t i = 0; i < plan->nimages; i++) {
		const char *what = list_unmodelled(plan, plan->images[i]);

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

/* A return probe stands in for the return address of a call in progress, and who prints a backtrace then gets no
 * further. */
static void print_crashes(const struct listing *l)
{
	struct paragraph p = begin(l, 0);
	size_t count = 0;

	for (size_t i = 0; i < l->plan->nsites; i++)
		count += l->plan->sites[i].returns == RETURNS_TRAMPOLINE;
	if (!l->crash_handler || !count)
		return;
	paragraph_words(
		&p,
		"process %d has a crash handler: if it crashes within a call that has a return probe (trampoline: %zu "
		"function%s here), backtraces, also from core files, stop at 0x7fffffffe000. --returns=sites keeps "
		"them whole; calls cost more then",
		l->crash_handler, count, plural(count));
	paragraph_end(&p);
}

static void print_hints(const struct listing *l)
{
	if (!is_measured(l) && l->plan->nsites)
		printf("costs are not known: they are measured by who may observe (sudo)\n");
	if (!l->verbose && l->plan->nsites)
		printf("-v tells further names of the functions, and where each probe is and why there\n");
}

int list_print(const struct listing *l)
{
	int err = print_processes(l);

	if (err)
		return err;
	print_unknown(l);
	err = print_observed(l);
	if (err)
		return err;
	if (l->verbose || l->all)
		print_unused(l);
	putchar('\n');
	print_names(l, NOT_ASKED_FOR, "not observed unless asked for with -m:", "");
	if (!l->verbose && !l->all)
		print_names(l, UNUSED, "not used here:",
			    l->nprocesses ? "(their libraries are not mapped; -a names their functions)"
					  : "(not in these files; -a names their functions)");
	if (l->verbose)
		list_print_files(l->plan);
	print_unmodelled(l->plan);
	print_inside(l->plan);
	print_crashes(l);
	print_hints(l);
	return 0;
}
