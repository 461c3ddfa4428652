/* SPDX-License-Identifier: BSD-2-Clause */
/* selection.c - files of names: events that are wanted, functions that are not. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/parts.h"
#include "model/selection.h"
#include "util/files.h"
#include "util/log.h"

#define NAMES_MOST 100000

struct selected_name {
	char *glob;           /* as GASP writes it */
	const char *constant; /* and only functions for which this value ... */
	int64_t number;       /* ... is that; constant NULL: all */
	const char *written;  /* as it stands in the file */
	const char *file;
	int line;
};

struct name_list {
	struct selected_name *names;
	size_t count;
};

struct selection {
	struct name_list events, functions;
	bool only; /* a file of events was given, so the empty list means none */
	char **texts;
	size_t ntexts;
};

/* Events that PUPC 1.1 calls otherwise than GASP_UPC_ with the rest of its name. */
static const struct {
	const char *pupc, *gasp, *constant;
	int64_t number;
} renamed[] = {
	{ "PUPC_INIT", "GASP_UPC_INIT", NULL, 0 },
	{ "PUPC_GLOBAL_EXIT", "GASP_UPC_*COLLECTIVE_EXIT", NULL, 0 },
	{ "PUPC_LOCK_INIT", "GASP_UPC_LOCK_INIT", NULL, 0 },
	{ "PUPC_STRICT_GET", "GASP_UPC_GET", "is_relaxed", 0 },
	{ "PUPC_RELAXED_GET", "GASP_UPC_GET", "is_relaxed", 1 },
	{ "PUPC_STRICT_PUT", "GASP_UPC_PUT", "is_relaxed", 0 },
	{ "PUPC_RELAXED_PUT", "GASP_UPC_PUT", "is_relaxed", 1 },
	{ "PUPC_USERFN", "GASP_C_FUNC", NULL, 0 },
};

struct selection *selection_new(void)
{
	return calloc(1, sizeof(struct selection));
}

static void free_names(struct name_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->names[i].glob);
	free(list->names);
}

void selection_free(struct selection *selection)
{
	if (!selection)
		return;
	free_names(&selection->events);
	free_names(&selection->functions);
	for (size_t i = 0; i < selection->ntexts; i++)
		free(selection->texts[i]);
	free(selection->texts);
	free(selection);
}

static int append(struct name_list *list, struct selected_name name)
{
	struct selected_name *grown = reallocarray(list->names, list->count + 1, sizeof(*grown));

	if (!grown || !name.glob) {
		free(name.glob);
		list->names = grown ?: list->names;
		return -ENOMEM;
	}
	list->names = grown;
	list->names[list->count++] = name;
	return 0;
}

static int append_function(struct name_list *list, struct selected_name name)
{
	name.glob = strdup(name.written);
	return append(list, name);
}

/* A name of PUPC's is that of GASP's event; with a '*' it may be several. */
static int append_event(struct name_list *list, struct selected_name name)
{
	static const char prefix[] = "PUPC_";
	bool exact = false;

	if (strncmp(name.written, prefix, strlen(prefix))) {
		name.glob = strdup(name.written);
		return append(list, name);
	}
	for (size_t i = 0; i < sizeof(renamed) / sizeof(*renamed); i++) {
		struct selected_name other = name;

		if (!name_matches(name.written, renamed[i].pupc))
			continue;
		exact |= !strcmp(name.written, renamed[i].pupc);
		other.glob = strdup(renamed[i].gasp);
		other.constant = renamed[i].constant;
		other.number = renamed[i].number;
		if (append(list, other))
			return -ENOMEM;
	}
	if (exact)
		return 0;
	if (asprintf(&name.glob, "GASP_UPC_%s", name.written + strlen(prefix)) < 0)
		return -ENOMEM;
	return append(list, name);
}

/* The lines of a file, without the blanks around them. */
static int read_names(struct selection *selection, struct name_list *list, const char *path,
		      int (*add)(struct name_list *list, struct selected_name name))
{
	static const char blanks[] = " \t\r\v\f";
	size_t size, count = 0;
	char *text = read_file_at(AT_FDCWD, path, MODEL_FILE_MOST, &size), *rest = text, *line;
	char **texts = text ? reallocarray(selection->texts, selection->ntexts + 1, sizeof(*texts)) : NULL;
	int err = 0;

	if (!text) {
		err = errno ? -errno : -EIO;
		log_error("%s: %s: cannot read this file of names", log_safe(path),
			  err == -EFBIG ? "more than 1 MiB" : strerror(-err));
		return err;
	}
	if (!texts) {
		free(text);
		return -ENOMEM;
	}
	selection->texts = texts;
	selection->texts[selection->ntexts++] = text;
	for (int number = 1; !err && (line = strsep(&rest, "\n")); number++) {
		size_t length;

		line += strspn(line, blanks);
		length = strlen(line);
		while (length && strchr(blanks, line[length - 1]))
			length--;
		line[length] = 0;
		if (!length || *line == '#')
			continue;
		if (count++ == NAMES_MOST || length > MODEL_NAME_MOST) {
			log_error("%s: line %d: more than %d names, or a name of more than %d bytes: this is no list "
				  "of names",
				  log_safe(path), number, NAMES_MOST, MODEL_NAME_MOST);
			return -EINVAL;
		}
		err = add(list, (struct selected_name){ .written = line, .file = path, .line = number });
	}
	return err;
}

int selection_only(struct selection *selection, const char *path)
{
	selection->only = true;
	return read_names(selection, &selection->events, path, append_event);
}

int selection_partial(struct selection *selection, const char *path)
{
	static const char ends[] =
		"GASP_UPC_*COLLECTIVE_EXIT"; /* PUPC 1.1 section 3.4.1: always, whatever the file has */
	int err = selection_only(selection, path);

	return err
		       ?: append(&selection->events,
				 (struct selected_name){ .glob = strdup(ends), .written = ends, .file = path });
}

int selection_exclude(struct selection *selection, const char *path)
{
	return read_names(selection, &selection->functions, path, append_function);
}

/* What a group of the function's name says of it, as a number; false: there is no such group. */
static bool function_constant(const struct function *f, const char *name, int64_t *number)
{
	for (size_t i = 0; i < f->nconstants; i++) {
		if (strcmp(f->constants[i].name, name))
			continue;
		*number = strtoll(f->constants[i].text, NULL, 0);
		return true;
	}
	return false;
}

static bool function_matches(const struct selected_name *name, const struct function *f)
{
	int64_t number;

	if (!name_matches(name->glob, f->event))
		return false;
	return !name->constant || !function_constant(f, name->constant, &number) || number == name->number;
}

bool selection_has(const struct selection *selection, const struct function *f)
{
	bool wanted = !selection || !selection->only;

	/* No list of the language's events takes away what the program says itself (GASP 1.4 section 3.1.3). */
	if (!selection || (f->marks & MARKS_TELL && !(f->of && f->of->listed)))
		return true;
	for (size_t i = 0; !wanted && i < selection->events.count; i++)
		wanted = function_matches(&selection->events.names[i], f);
	for (size_t i = 0; wanted && f->role == ROLE_USER && i < selection->functions.count; i++)
		wanted = !function_is_called(selection->functions.names[i].glob, f->symbol);
	return wanted;
}

bool selection_has_event(const struct selection *selection, const char *event)
{
	bool wanted = !selection || !selection->only;

	for (size_t i = 0; !wanted && i < selection->events.count; i++)
		wanted = name_matches(selection->events.names[i].glob, event);
	return wanted;
}

static bool any_event(const struct model_set *models, const char *glob)
{
	for (size_t m = 0; m < models_count(models); m++) {
		const struct model *model = models_at(models, m);

		for (size_t i = 0; i < model->nevents; i++)
			if (name_matches(glob, model->events[i].name))
				return true;
	}
	return false;
}

void selection_check(const struct selection *selection, const struct model_set *models)
{
	const struct selected_name *names = selection->events.names;

	for (size_t i = 0, next; i < selection->events.count; i = next) {
		bool known = false;

		for (next = i; next < selection->events.count && names[next].written == names[i].written; next++)
			known = known || any_event(models, names[next].glob);
		if (!known)
			log_warn("%s:%d: %s: no model knows such an event: ignored", log_safe(names[i].file),
				 names[i].line, log_safe(names[i].written));
	}
}
