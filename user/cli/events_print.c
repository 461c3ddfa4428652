/* SPDX-License-Identifier: BSD-2-Clause */
/* events_print.c - the events of the models as a table, as Markdown, as JSON, and as a C header. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/events.h"
#include "util/json.h"
#include "util/log.h"

#define NARROW 24 /* columns that arguments need at least; else they go on a line of their own */
#define HEADER_WIDTH 120
#define FUNCTIONS_SHOWN 6
#define PROSE 99 /* columns of a page's text */

/* Numbers of the specifications' own are small and decimal there; blocks of numbers are easier to see in hex. */
static const char *number_text(uint32_t number, char text[16])
{
	snprintf(text, 16, number < 100 ? "%u" : "0x%x", number);
	return text;
}

/* Words up to `width` columns, the lines behind the first begin at `indent`. */
static void print_wrapped(FILE *out, const char *text, unsigned indent, unsigned width)
{
	unsigned room = width > indent + NARROW ? width - indent : NARROW;

	while (strlen(text) > room) {
		size_t cut = room;

		while (cut && text[cut] != ' ')
			cut--;
		if (!cut)
			cut = strcspn(text, " ");
		fprintf(out, "%.*s\n%*s", (int)cut, text, (int)indent, "");
		text += cut + strspn(text + cut, " ");
	}
	fprintf(out, "%s\n", text);
}

typedef int print_model_fn(const struct chosen_events *chosen, const struct model *model, FILE *out, unsigned width);

/* Those that have something to be printed, an empty line between them. */
static int print_models(const struct chosen_events *chosen, print_model_fn *print, FILE *out, unsigned width)
{
	bool some = false;
	int error = 0;

	for (size_t i = 0; i < models_count(chosen->models) && !error; i++) {
		const struct model *model = models_at(chosen->models, i);

		if (!model_is_chosen(chosen, model))
			continue;
		if (some)
			fputc('\n', out);
		some = true;
		error = print(chosen, model, out, width);
	}
	return error;
}

/* --- table -------------------------------------------------------------- */

static void print_functions(FILE *out, const struct model *model, const struct model_event *event, unsigned width)
{
	if (event->description)
		fprintf(out, "           %s\n", event->description);
	for (size_t i = 0; i < model->nfunctions; i++) {
		if (model->functions[i].of != event)
			continue;
		fputs("           ", out);
		print_wrapped(out, model->functions[i].prototype, 15, width);
	}
}

static int print_event(FILE *out, const struct model *model, const struct model_event *event, unsigned name_width,
		       unsigned width, bool detail)
{
	struct event_row rows[EVENT_TYPES];
	size_t count = event_rows(event, rows);
	unsigned indent = 11 + name_width + 2 + 12;
	char number[16];

	fprintf(out, "%10s %-*s", number_text(event->number, number), (int)name_width, event->name);
	for (size_t i = 0; i < count; i++) {
		char *text = arguments_text(rows[i].list);

		if (!text)
			return -ENOMEM;
		fprintf(out, "%*s  %-12s", i ? (int)(11 + name_width) : 0, "", rows[i].types);
		print_wrapped(out, text, indent, width);
		free(text);
	}
	if (!count)
		fputc('\n', out);
	if (detail)
		print_functions(out, model, event, width);
	return 0;
}

static int print_model(const struct chosen_events *chosen, const struct model *model, FILE *out, unsigned width)
{
	unsigned name_width = 0;
	bool by_event = *chosen->names;
	int error = 0;

	for (size_t i = 0; i < model->nevents; i++)
		if (event_is_chosen(chosen, model, &model->events[i]) && strlen(model->events[i].name) > name_width)
			name_width = strlen(model->events[i].name);
	for (char **name = chosen->names; *name; name++)
		by_event &= strcasecmp(*name, model->name) != 0;
	fprintf(out, "%s (model %s)\n", model->language, model->name);
	for (size_t i = 0; i < model->nevents && !error; i++)
		if (event_is_chosen(chosen, model, &model->events[i]))
			error = print_event(out, model, &model->events[i], name_width, width, by_event);
	return error;
}

int events_print_table(const struct chosen_events *chosen, FILE *out, unsigned width)
{
	return print_models(chosen, print_model, out, width);
}

/* --- Markdown ------------------------------------------------------------ */

static void print_cell(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("|*<\\", *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

/* C in a cell; what stands in its place is in parentheses, and text. */
static void print_code(FILE *out, const char *text)
{
	if (*text == '(')
		print_cell(out, text);
	else
		fprintf(out, "`%s`", text); /* an argument's type and name have no character that would need care */
}

/* The functions of an event, the first of them by name. */
static void print_symbols(FILE *out, const struct model *model, const struct model_event *event)
{
	size_t shown = 0;

	for (size_t i = 0; i < model->nfunctions && shown < FUNCTIONS_SHOWN; i++)
		if (model->functions[i].of == event)
			fprintf(out, "%s`%s`", shown++ ? ", " : "", model->functions[i].symbol);
	if (event->nfunctions > shown)
		fprintf(out, " and %zu more", event->nfunctions - shown);
	if (!event->nfunctions)
		fputs("–", out);
}

static int print_markdown_event(FILE *out, const struct model *model, const struct model_event *event)
{
	struct event_row rows[EVENT_TYPES];
	size_t count = event_rows(event, rows);
	char number[16];

	for (size_t i = 0; i < count; i++) {
		char *text = arguments_text(rows[i].list);

		if (!text)
			return -ENOMEM;
		fprintf(out, "| %s | %s | %s | ", i ? "" : event->name, i ? "" : number_text(event->number, number),
			rows[i].types);
		print_code(out, text);
		fputs(" | ", out);
		if (!i && event->description)
			print_cell(out, event->description);
		fputs(" | ", out);
		if (!i)
			print_symbols(out, model, event);
		fputs(" |\n", out);
		free(text);
	}
	return 0;
}

/* Prose, so in lines of at most PROSE columns. */
static void print_markdown_libraries(const struct model *model, FILE *out)
{
	size_t column = 0;

	for (char **glob = model->library; *glob; glob++) {
		size_t length = strlen(*glob) + strlen("``, ");

		if (glob == model->library)
			fputs(", which are in\n", out);
		else
			fputs(column + length > PROSE ? ",\n" : ", ", out);
		column = glob == model->library || column + length > PROSE ? length : column + length;
		fprintf(out, "`%s`", *glob);
	}
}

static int print_markdown_model(const struct chosen_events *chosen, const struct model *model, FILE *out,
				unsigned width)
{
	int error = 0;

	fprintf(out,
		"# Events of %s\n\nGenerated by `gaspbpf events %s --markdown` from models/%s.model\n"
		"(`make docs`): do not edit.\n\n"
		"Each event is seen in the functions of its last column",
		model->language, model->name, model->name);
	print_markdown_libraries(model, out);
	fprintf(out, "%s.\n",
		!model->in_program ? ""
		: *model->library  ? " or in the program itself"
				   : ", which are in the program itself");
	fputs("\n| Symbolic name | Number | Event type | vararg arguments | | Functions |\n|---|---|---|---|---|---|\n",
	      out);
	for (size_t i = 0; i < model->nevents && !error; i++)
		if (event_is_chosen(chosen, model, &model->events[i]))
			error = print_markdown_event(out, model, &model->events[i]);
	return error;
}

int events_print_markdown(const struct chosen_events *chosen, FILE *out)
{
	return print_models(chosen, print_markdown_model, out, 0);
}

/* --- JSON ---------------------------------------------------------------- */

static void json_list(struct json *j, const struct event_list *list)
{
	json_array(j);
	for (size_t i = 0; i < list->count; i++) {
		json_object(j);
		json_key_string(j, "type", list->arguments[i].type);
		json_key_string(j, "name", list->arguments[i].name);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_event(struct json *j, const struct model *model, const struct model_event *event)
{
	static const char *const types[EVENT_TYPES] = { "start", "end", "atomic" };

	json_object(j);
	json_key_string(j, "name", event->name);
	json_key_uint(j, "number", event->number);
	json_key_string(j, "model", model->name);
	json_key_string(j, "language", model->language);
	if (event->nfunctions)
		json_key_string(j, "role", role_name(event->role));
	if (event->description)
		json_key_string(j, "description", event->description);
	json_key_bool(j, "arguments_stated", event->listed);
	if (!event->listed)
		json_key_bool(j, "happens_at_once", event->marks & MARK_ATOMIC);
	for (int type = 0; type < EVENT_TYPES; type++)
		if (event->lists[type].stated) {
			json_key(j, types[type]);
			json_list(j, &event->lists[type]);
		}
	json_key(j, "functions");
	json_array(j);
	for (size_t i = 0; i < model->nfunctions; i++)
		if (model->functions[i].of == event)
			json_string(j, model->functions[i].symbol);
	json_end_array(j);
	json_end_object(j);
}

int events_print_json(const struct chosen_events *chosen, FILE *out)
{
	struct json j;

	json_init_file(&j, out, true);
	json_object(&j);
	json_key(&j, "events");
	json_array(&j);
	for (size_t m = 0; m < models_count(chosen->models); m++) {
		const struct model *model = models_at(chosen->models, m);

		for (size_t i = 0; i < model->nevents; i++)
			if (event_is_chosen(chosen, model, &model->events[i]))
				json_event(&j, model, &model->events[i]);
	}
	json_end_array(&j);
	json_end_object(&j);
	int error = json_finish(&j);

	fputc('\n', out);
	return error;
}

/* --- a C header ----------------------------------------------------------- */

/* Text in a comment, which it cannot end. */
/* A part of a comment, from column `used` on, in lines of at most HEADER_WIDTH columns. Returns the column behind it.
 */
static size_t print_comment(FILE *out, const char *text, size_t used)
{
	while (*text) {
		size_t word = strcspn(text, " ");

		if (used + 1 + word > HEADER_WIDTH - 3 && used > 3) {
			fputs("\n *  ", out);
			used = 4;
		}
		fputc(' ', out);
		used += 1 + word;
		for (; word--; text++) {
			fputc(*text, out);
			if (*text == '*' && text[1] == '/')
				fputc(' ', out);
		}
		text += strspn(text, " ");
	}
	return used;
}

static int header_event(FILE *out, const struct model_event *event)
{
	struct event_row rows[EVENT_TYPES];
	size_t count = event_rows(event, rows);
	char number[16];

	fputs("\n/*", out);
	if (event->description)
		print_comment(out, event->description, 2);
	for (size_t i = 0; i < count; i++) {
		char *text = arguments_text(rows[i].list);

		if (!text)
			return -ENOMEM;
		fprintf(out, "%s%s:", i || event->description ? "\n * " : " ", rows[i].types);
		print_comment(out, text, 4 + strlen(rows[i].types));
		free(text);
	}
	fprintf(out, " */\n#define %s %su\n", event->name, number_text(event->number, number));
	return 0;
}

int events_print_header(const struct model *model, const char *include, FILE *out)
{
	char *guard = NULL;
	int error = asprintf(&guard, "GASP_%s_H", model->language) < 0 ? -ENOMEM : 0;

	if (error)
		return error;
	fprintf(out,
		"/*\n * Numbers of the events GASP_%s_*, with their types and arguments.\n"
		" * Generated by 'gaspbpf events %s --header' from models/%s.model (make docs): do not edit.\n */\n"
		"#ifndef %s\n#define %s\n",
		model->language, model->name, model->name, guard, guard);
	while (include && *include) {
		size_t length = strcspn(include, ",");

		fprintf(out, "\n#include \"%.*s\"\n", (int)length, include);
		include += length + (include[length] == ',');
	}
	for (size_t i = 0; i < model->nevents && !error; i++)
		error = header_event(out, &model->events[i]);
	fputs("\n#endif\n", out);
	free(guard);
	return error;
}
