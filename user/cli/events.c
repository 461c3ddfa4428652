/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * events.c - gaspbpf events: every event with its number, types and arguments, from the models. Needs no privileges.
 */
#include <argp.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/events.h"
#include "util/log.h"

#define DEFAULT_WIDTH 120 /* columns, where stdout is no terminal */

enum output { AS_TABLE, AS_MARKDOWN, AS_JSON, AS_HEADER };

struct options {
	enum output output;
	const char *include;
	char **names;
	struct text_list model_files;
};

enum { KEY_HEADER = 256, KEY_INCLUDE, KEY_MODEL_FILE };

static const struct argp_option option_list[] = {
	{ "json", 'j', NULL, 0, "As JSON", 0 },
	{ "markdown", 'm', NULL, 0, "As tables in the form of GASP's specification, for docs/", 0 },
	{ "header", KEY_HEADER, NULL, 0, "One model's events as a C header", 0 },
	{ "include", KEY_INCLUDE, "FILE", 0, "Headers that this header includes, joined by commas", 0 },
	{ "model-file", KEY_MODEL_FILE, "FILE", 0, "A model more, or in place of the one of its name (may repeat)", 0 },
	{ 0 }
};

static const char about[] =
	"Lists the events that gaspbpf knows: names, numbers, types and arguments, from the models. Without a name "
	"all of them."
	"\vA name is that of a model, or of an event with or without its GASP_X_; * and ? stand for any characters.\n"
	"\nExamples:\n"
	"  gaspbpf events                            all\n"
	"  gaspbpf events c upc                      those of two models\n"
	"  gaspbpf events 'MEM*' GASP_MPI_SEND       some, with their functions\n"
	"  gaspbpf events --json | jq '.events[].name'\n"
	"  gaspbpf events upc --header               what a tool compiles against\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'j':
		o->output = AS_JSON;
		return 0;
	case 'm':
		o->output = AS_MARKDOWN;
		return 0;
	case KEY_HEADER:
		o->output = AS_HEADER;
		return 0;
	case KEY_INCLUDE:
		o->include = argument;
		return 0;
	case KEY_MODEL_FILE:
		return -cli_append(&o->model_files, argument);
	case ARGP_KEY_ARGS:
		o->names = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		if (o->include && o->output != AS_HEADER)
			argp_error(state, "--include belongs to --header");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool is_wanted(const char *wanted, const struct model *model, const struct model_event *event)
{
	return !fnmatch(wanted, model->name, FNM_CASEFOLD) || !fnmatch(wanted, event->name, 0) ||
	       !fnmatch(wanted, event->own_name, 0);
}

bool event_is_chosen(const struct chosen_events *chosen, const struct model *model, const struct model_event *event)
{
	for (char **name = chosen->names; *name; name++)
		if (is_wanted(*name, model, event))
			return true;
	return !*chosen->names;
}

bool model_is_chosen(const struct chosen_events *chosen, const struct model *model)
{
	for (size_t i = 0; i < model->nevents; i++)
		if (event_is_chosen(chosen, model, &model->events[i]))
			return true;
	return false;
}

/* Each name must mean something, or it is misspelt. */
static int check_names(const struct chosen_events *chosen)
{
	for (char **name = chosen->names; *name; name++) {
		char *one[] = { *name, NULL };
		struct chosen_events just = { chosen->models, one };
		bool some = false;

		for (size_t i = 0; i < models_count(chosen->models) && !some; i++)
			some = model_is_chosen(&just, models_at(chosen->models, i));
		if (!some) {
			log_error("%s: no such model or event: 'gaspbpf events' lists all", log_safe(*name));
			return -ENOENT;
		}
	}
	return 0;
}

static bool same_list(const struct event_list *a, const struct event_list *b)
{
	bool same = a->stated == b->stated && a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++)
		same = !strcmp(a->arguments[i].type, b->arguments[i].type) &&
		       !strcmp(a->arguments[i].name, b->arguments[i].name);
	return same;
}

size_t event_rows(const struct model_event *event, struct event_row *rows)
{
	static const char *const names[EVENT_TYPES] = { "Start", "End", "Atomic" };
	size_t count = 0;

	if (!event->listed) {
		rows[0].list = NULL;
		strcpy(rows[0].types, event->marks & MARK_ATOMIC ? "Atomic" : "Start, End");
		return 1;
	}
	for (int type = 0; type < EVENT_TYPES; type++) {
		const struct event_list *list = &event->lists[type];

		if (!list->stated)
			continue;
		if (count && same_list(rows[count - 1].list, list)) {
			strcat(strcat(rows[count - 1].types, ", "), names[type]);
			continue;
		}
		rows[count].list = list;
		strcpy(rows[count++].types, names[type]);
	}
	return count;
}

char *arguments_text(const struct event_list *list)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (!list)
		fputs("(values of the call)", out);
	else if (!list->count)
		fputs("(none)", out);
	for (size_t i = 0; list && i < list->count; i++) {
		const char *type = list->arguments[i].type;

		fprintf(out, "%s%s%s%s", i ? ", " : "", type, type[strlen(type) - 1] == '*' ? "" : " ",
			list->arguments[i].name);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static int print_header(const struct chosen_events *chosen, const char *include)
{
	const struct model *model = *chosen->names && !chosen->names[1] ? models_find(chosen->models, *chosen->names)
									: NULL;

	if (!model) {
		log_error("--header: it is made of one model: name one, as in 'gaspbpf events upc --header'");
		return -EINVAL;
	}
	return events_print_header(model, include, stdout);
}

static int print(const struct model_set *models, const struct options *o)
{
	static char *nothing[] = { NULL };
	struct chosen_events chosen = { models, o->names ? o->names : nothing };
	unsigned width = cli_width();
	int error = check_names(&chosen);

	if (error)
		return error;
	switch (o->output) {
	case AS_JSON:
		return events_print_json(&chosen, stdout);
	case AS_MARKDOWN:
		return events_print_markdown(&chosen, stdout);
	case AS_HEADER:
		return print_header(&chosen, o->include);
	default:
		return events_print_table(&chosen, stdout, width ? width : DEFAULT_WIDTH);
	}
}

int command_events(int argc, char **argv)
{
	static const struct argp argp = { option_list, parse, "[MODEL|EVENT...]", about, NULL, NULL, NULL };
	struct options o = { .output = AS_TABLE };
	struct choice choice = { .at_entry = false };
	struct model_set *models = NULL;
	int error;

	cli_parse(&argp, argc, argv, &o);
	choice.model_files = o.model_files;
	error = cli_load_models(&models, &choice);
	if (!error)
		error = print(models, &o);
	models_free(models);
	free(o.model_files.items);
	return cli_status("events", error);
}
