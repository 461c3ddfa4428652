/*
 * conformance.c - what the documents demand, and which test has seen it.
 *
 * documents.list has the rows of the documents' tables; seen/MODEL.list which test has seen which event on which runtime (written by the
 * tests themselves, tests/conformance.py), and seen/none.list why a row can be seen nowhere. All three stand beside the models. Behind
 * the documents' tables come the events that the documents leave open and the models define.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/events.h"
#include "util/files.h"
#include "util/json.h"
#include "util/log.h"

#define LIST_MOST (4u << 20) /* bytes of a list */
#define ROWS_MOST 100000
#define FIELDS 7

/* A test has seen an event on a runtime. */
struct seen {
	const char *event, *runtime, *test;
};

/* Nothing can be seen, and why. */
struct reason {
	const char *event, *text;
};

/* A row of a document's table, or of a model's. */
struct row {
	const char *document, *table, *name, *number, *types, *arguments, *names;
};

struct lists {
	char **texts;            /* the files, which all else points into */
	size_t ntexts;
	struct seen *seen;
	size_t nseen;
	struct reason *reasons;
	size_t nreasons;
	struct row *rows;
	size_t nrows;
};

/* Adds a zeroed element; NULL: no memory, or more than anybody needs. */
static void *grow(void *array, size_t *count, size_t size)
{
	char **items = array, *more = *count < ROWS_MOST ? reallocarray(*items, *count + 1, size) : NULL;

	if (!more)
		return NULL;
	*items = more;
	memset(more + *count * size, 0, size);
	return more + (*count)++ * size;
}

static void lists_free(struct lists *lists)
{
	for (size_t i = 0; i < lists->ntexts; i++)
		free(lists->texts[i]);
	free(lists->texts);
	free(lists->seen);
	free(lists->reasons);
	free(lists->rows);
}

/* The next line that is no comment and not empty, cut out of the text; NULL: there is none. */
static char *next_line(char **text)
{
	for (;;) {
		char *line = strsep(text, "\n");

		if (!line || (*line && *line != '#'))
			return line;
	}
}

static char *trimmed(char *text)
{
	size_t length;

	text += strspn(text, " ");
	length = strlen(text);
	while (length && text[length - 1] == ' ')
		text[--length] = '\0';
	return text;
}

static int take_seen(struct lists *lists, char *line)
{
	char *event = strsep(&line, " "), *runtime = line ? strsep(&line, " ") : NULL;
	struct seen *seen = line ? grow(&lists->seen, &lists->nseen, sizeof(*seen)) : NULL;

	if (!seen)
		return line ? -ENOMEM : -EINVAL;
	*seen = (struct seen){ event, runtime, line };
	return 0;
}

static int take_reason(struct lists *lists, char *line)
{
	char *event = strsep(&line, " ");
	struct reason *reason = line ? grow(&lists->reasons, &lists->nreasons, sizeof(*reason)) : NULL;

	if (!reason)
		return line ? -ENOMEM : -EINVAL;
	*reason = (struct reason){ event, trimmed(line) };
	return 0;
}

static int take_row(struct lists *lists, char *line)
{
	const char *fields[FIELDS] = { NULL };
	struct row *row;

	for (int i = 0; i < FIELDS; i++) {
		if (!line)
			return -EINVAL;
		fields[i] = trimmed(i < FIELDS - 1 ? strsep(&line, "|") : line);
	}
	row = grow(&lists->rows, &lists->nrows, sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = (struct row){ fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], fields[6] };
	return 0;
}

/* Every line of a file; a bad one is said. */
static int read_list(struct lists *lists, int folder, const char *name, int (*take)(struct lists *, char *))
{
	char *text = read_file_at(folder, name, LIST_MOST, NULL), **kept, *line;
	int error = 0;

	if (!text) {
		error = errno ? -errno : -EIO;
		log_error("%s: %s: cannot read this list beside the models", log_safe(name), strerror(-error));
		return error;
	}
	kept = grow(&lists->texts, &lists->ntexts, sizeof(*kept));
	if (!kept) {
		free(text);
		return -ENOMEM;
	}
	*kept = text;
	while (!error && (line = next_line(&text))) {
		error = take(lists, line);
		if (error == -EINVAL)
			log_error("%s: '%s': not a line of this list: see its head", log_safe(name), log_safe(line));
	}
	return error;
}

static int is_list(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 5 && *entry->d_name != '.' && !strcmp(entry->d_name + length - 5, ".list");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int read_seen(struct lists *lists, const char *folder)
{
	char *path = NULL;
	struct dirent **entries = NULL;
	int at = -1, count = -1, error = asprintf(&path, "%s/seen", folder) < 0 ? -ENOMEM : 0;

	if (!error && (at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0)
		count = scandirat(at, ".", &entries, is_list, by_name);
	if (!error && count < 0) {
		error = -errno;
		log_error("%s: %s: the tests' lists are beside the models of a checkout or an installation", log_safe(path), strerror(errno));
	}
	for (int i = 0; i < count; i++) {
		bool none = !strcmp(entries[i]->d_name, "none.list");

		if (!error)
			error = read_list(lists, at, entries[i]->d_name, none ? take_reason : take_seen);
		free(entries[i]);
	}
	free(entries);
	free(path);
	if (at >= 0)
		close(at);
	return error;
}

static int read_documents(struct lists *lists, const char *folder)
{
	int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error;

	if (at < 0) {
		error = -errno;
		log_error("%s: %s: cannot open the folder of models: set GASPBPF_MODELS", log_safe(folder), strerror(errno));
		return error;
	}
	error = read_list(lists, at, "documents.list", take_row);
	close(at);
	return error;
}

/* --- the rows of the models ------------------------------------------------ */

static bool has_rows(const struct lists *lists, const char *event)
{
	for (size_t i = 0; i < lists->nrows; i++)
		if (!strcmp(lists->rows[i].name, event))
			return true;
	return false;
}

/* A text that lives as long as the lists; NULL: no memory. */
static char *keep(struct lists *lists, char *text)
{
	char **kept = text ? grow(&lists->texts, &lists->ntexts, sizeof(*kept)) : NULL;

	if (!kept) {
		free(text);
		return NULL;
	}
	return *kept = text;
}

static int add_event(struct lists *lists, const struct model *model, const struct model_event *event)
{
	struct event_row rows[EVENT_TYPES];
	size_t count = event_rows(event, rows);

	for (size_t i = 0; i < count; i++) {
		char *arguments = keep(lists, arguments_text(rows[i].list)), *types = keep(lists, strdup(rows[i].types));
		struct row *row = arguments && types ? grow(&lists->rows, &lists->nrows, sizeof(*row)) : NULL;

		if (!row)
			return -ENOMEM;
		*row = (struct row){ "Beyond the documents", model->language, event->name, "", types,
				     !strcmp(arguments, "(none)") ? "" : arguments, "" };
	}
	return 0;
}

static int add_models(struct lists *lists, const struct model_set *models)
{
	int error = 0;

	for (size_t m = 0; m < models_count(models); m++) {
		const struct model *model = models_at(models, m);

		for (size_t i = 0; i < model->nevents && !error; i++)
			if (!has_rows(lists, model->events[i].name)) /* several models may have the events of one language */
				error = add_event(lists, model, &model->events[i]);
	}
	return error;
}

/* --- printing --------------------------------------------------------------- */

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	while (*words) {
		size_t size = strcspn(words, " ");

		if (size == length && !memcmp(words, word, size))
			return true;
		words += size + strspn(words + size, " ");
	}
	return false;
}

static bool is_named(const struct row *row, const char *event)
{
	return !strcmp(row->name, event) || has_word(row->names, event);
}

static const char *reason_of(const struct lists *lists, const struct row *row)
{
	for (size_t i = 0; i < lists->nreasons; i++)
		if (is_named(row, lists->reasons[i].event))
			return lists->reasons[i].text;
	return NULL;
}

static size_t times_seen(const struct lists *lists, const struct row *row)
{
	size_t times = 0;

	for (size_t i = 0; i < lists->nseen; i++)
		times += is_named(row, lists->seen[i].event);
	return times;
}

static bool new_table(const struct lists *lists, size_t i)
{
	return !i || strcmp(lists->rows[i].document, lists->rows[i - 1].document) || strcmp(lists->rows[i].table, lists->rows[i - 1].table);
}

static void print_text(const struct lists *lists, FILE *out)
{
	for (size_t i = 0; i < lists->nrows; i++) {
		const struct row *row = &lists->rows[i];

		if (new_table(lists, i))
			fprintf(out, "%s%s, %s\n", i ? "\n" : "", row->document, row->table);
		fprintf(out, "  %s%s%s  %s  %s\n", row->name, *row->number ? " " : "", row->number, row->types,
			*row->arguments ? row->arguments : *row->types ? "(none)" : "");
		for (size_t k = 0; k < lists->nseen; k++)
			if (is_named(row, lists->seen[k].event))
				fprintf(out, "      %s: %s\n", lists->seen[k].runtime, lists->seen[k].test);
		if (!times_seen(lists, row))
			fprintf(out, "      NOT SEEN%s%s\n", reason_of(lists, row) ? ": " : "", reason_of(lists, row) ?: "");
	}
}

/* A runtime, or a test without its parameters. */
static const char *seen_text(const struct seen *seen, int column, size_t *length)
{
	const char *text = column ? seen->test : seen->runtime;

	*length = column ? strcspn(text, "[") : strlen(text);
	return text;
}

static bool told_before(const struct lists *lists, const struct row *row, size_t end, int column)
{
	size_t length, other_length;
	const char *text = seen_text(&lists->seen[end], column, &length);

	for (size_t k = 0; k < end; k++) {
		const char *other = seen_text(&lists->seen[k], column, &other_length);

		if (other_length == length && !memcmp(other, text, length) && is_named(row, lists->seen[k].event))
			return true;
	}
	return false;
}

/* Runtimes, and tests, one after the other, each once. */
static void print_seen_cells(const struct lists *lists, const struct row *row, FILE *out)
{
	for (int column = 0; column < 2; column++) {
		size_t some = 0, length;

		for (size_t k = 0; k < lists->nseen; k++) {
			if (!is_named(row, lists->seen[k].event) || told_before(lists, row, k, column))
				continue;
			const char *text = seen_text(&lists->seen[k], column, &length);

			fprintf(out, column ? "%s`%.*s`" : "%s%.*s", some++ ? ", " : "", (int)length, text);
		}
		if (!some && !column)
			fputs(reason_of(lists, row) ? "nowhere" : "**not seen**", out);
		if (!some && column)
			events_print_cell(out, reason_of(lists, row) ?: "");
		fputs(column ? " |" : " | ", out);
	}
}

static void print_markdown(const struct lists *lists, FILE *out)
{
	fputs("# Conformance\n\nEvery row of every table of GASP 1.4, PUPC 1.1 and StarPU's profiling interface: the event, its arguments, the runtimes on which "
	      "a test has seen it, and that test. Behind them the events that GASP 1.4 leaves open, and others that gaspbpf defines. Generated by "
	      "`gaspbpf events --conformance --markdown` (`make docs`) from models/: do not edit. The tests write down what they have seen, and fail where "
	      "this table says something else (tests/conformance.py). A runtime named with a package's version is Debian's. The others, but for "
	      "glibc, libpupc and plain programs, are stand-ins that the tests bring along, with the functions and data of runtimes that Debian does not have (tests/workloads).\n", out);
	for (size_t i = 0; i < lists->nrows; i++) {
		const struct row *row = &lists->rows[i];

		if (new_table(lists, i))
			fprintf(out, "\n## %s, %s\n\n| Name | Event type | Arguments | Seen on | Test |\n|---|---|---|---|---|\n", row->document, row->table);
		fprintf(out, "| %s%s%s | %s | ", row->name, *row->number ? " " : "", row->number, row->types);
		if (*row->arguments && *row->arguments != '(')
			fprintf(out, "`%s`", row->arguments);
		else
			fputs(*row->arguments ? row->arguments : *row->types ? "(none)" : "", out);
		fputs(" | ", out);
		print_seen_cells(lists, row, out);
		fputs("\n", out);
	}
}

static int print_json(const struct lists *lists, FILE *out)
{
	struct json j;
	int error;

	json_init_file(&j, out, true);
	json_object(&j);
	json_key(&j, "rows");
	json_array(&j);
	for (size_t i = 0; i < lists->nrows; i++) {
		const struct row *row = &lists->rows[i];

		json_object(&j);
		json_key_string(&j, "document", row->document);
		json_key_string(&j, "table", row->table);
		json_key_string(&j, "name", row->name);
		if (*row->number)
			json_key_string(&j, "number", row->number);
		json_key_string(&j, "types", row->types);
		json_key_string(&j, "arguments", row->arguments);
		json_key(&j, "seen");
		json_array(&j);
		for (size_t k = 0; k < lists->nseen; k++) {
			if (!is_named(row, lists->seen[k].event))
				continue;
			json_object(&j);
			json_key_string(&j, "event", lists->seen[k].event);
			json_key_string(&j, "runtime", lists->seen[k].runtime);
			json_key_string(&j, "test", lists->seen[k].test);
			json_end_object(&j);
		}
		json_end_array(&j);
		if (!times_seen(lists, row) && reason_of(lists, row))
			json_key_string(&j, "reason", reason_of(lists, row));
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
	error = json_finish(&j);
	fputc('\n', out);
	return error;
}

int conformance_print(const struct model_set *models, const char *folder, enum conformance_form form, FILE *out)
{
	struct lists lists = { .texts = NULL };
	int error = read_documents(&lists, folder);

	if (!error)
		error = read_seen(&lists, folder);
	if (!error)
		error = add_models(&lists, models);
	if (!error && form == CONFORMANCE_JSON)
		error = print_json(&lists, out);
	else if (!error && form == CONFORMANCE_MARKDOWN)
		print_markdown(&lists, out);
	else if (!error)
		print_text(&lists, out);
	lists_free(&lists);
	return error;
}
