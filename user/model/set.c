/* SPDX-License-Identifier: BSD-2-Clause */
/* set.c - the models of one run: those of the folder, and those that the user adds. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/parts.h"
#include "util/files.h"
#include "util/log.h"

#define MODELS_MOST 1000
#define NUMBERS "numbers"       /* the file of a folder that has its events' numbers */
#define UNMODELLED "unmodelled" /* and the one that has runtimes that nobody sees */

struct model_set {
	struct model **models;
	size_t count;
	struct unmodelled *unmodelled; /* NULL: none are known */
};

struct model_set *models_new(void)
{
	return calloc(1, sizeof(struct model_set));
}

void models_free(struct model_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->count; i++)
		model_free(set->models[i]);
	free(set->models);
	unmodelled_free(set->unmodelled);
	free(set);
}

size_t models_count(const struct model_set *set)
{
	return set->count;
}

const struct model *models_at(const struct model_set *set, size_t index)
{
	return index < set->count ? set->models[index] : NULL;
}

const struct model *models_find(const struct model_set *set, const char *name)
{
	for (size_t i = 0; i < set->count; i++)
		if (!strcmp(set->models[i]->name, name))
			return set->models[i];
	return NULL;
}

const char *models_unmodelled(const struct model_set *set, const char *soname, const char *basename)
{
	const char *what = unmodelled_find(set->unmodelled, soname, basename);

	for (size_t i = 0; what && i < set->count; i++)
		if (model_runtime_has_file(set->models[i], soname, basename))
			return NULL;
	return what;
}

bool models_beside(const struct model_set *set, const char *soname, const char *basename)
{
	return unmodelled_is_beside(set->unmodelled, soname, basename);
}

size_t models_inside(const struct model_set *set, const char *const **texts, const struct inside **insides)
{
	return unmodelled_inside(set->unmodelled, texts, insides);
}

static int add(struct model_set *set, struct model *model)
{
	struct model **more;

	for (size_t i = 0; i < set->count; i++) {
		if (strcmp(set->models[i]->name, model->name))
			continue;
		model_free(set->models[i]);
		set->models[i] = model;
		return 0;
	}
	more = set->count < MODELS_MOST ? reallocarray(set->models, set->count + 1, sizeof(*more)) : NULL;
	if (!more) {
		log_error("model %s: too many models, or no memory: remove some", log_safe(model->name));
		model_free(model);
		return -ENOMEM;
	}
	set->models = more;
	set->models[set->count++] = model;
	return 0;
}

static int add_text(struct model_set *set, const char *name, const char *text, size_t length,
		    const struct numbers *numbers)
{
	struct model *model = model_read(name, text, length, numbers);

	return model ? add(set, model) : -EINVAL;
}

int models_add_text(struct model_set *set, const char *name, const char *text, size_t length)
{
	return add_text(set, name, text, length, NULL);
}

/* The text of a file; NULL, said, with *error. */
static char *read_text_at(int folder, const char *file, const char *name, size_t *size, int *error)
{
	char *text = read_file_at(folder, file, MODEL_FILE_MOST, size);

	*error = text ? 0 : errno ? -errno : -EIO;
	if (*error == -EFBIG)
		log_error("%s: a model file has at most 1 MiB: split it", log_safe(name));
	else if (*error)
		log_error("%s: %s: cannot read this model file", log_safe(name), strerror(-*error));
	return text;
}

static int add_file_at(struct model_set *set, int folder, const char *file, const char *name,
		       const struct numbers *numbers)
{
	size_t size;
	int error;
	char *text = read_text_at(folder, file, name, &size, &error);

	if (!error)
		error = add_text(set, name, text, size, numbers);
	free(text);
	return error;
}

int models_add_file(struct model_set *set, const char *path)
{
	return add_file_at(set, AT_FDCWD, path, path, NULL);
}

static int is_model(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 6 && entry->d_name[0] != '.' && !strcmp(entry->d_name + length - 6, ".model");
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_entry(struct model_set *set, int folder, const char *dir, const char *entry,
		     const struct numbers *numbers)
{
	char *name;
	int error;

	if (asprintf(&name, "%s/%s", dir, entry) < 0)
		return -ENOMEM;
	error = add_file_at(set, folder, entry, name, numbers);
	free(name);
	return error;
}

/* A file beside the models, which need not be there: then *text is NULL. *name is what it is called in messages. The
 * caller frees both. */
static int read_beside(int folder, const char *dir, const char *file, char **name, char **text, size_t *size)
{
	int error;

	*name = *text = NULL;
	if (faccessat(folder, file, F_OK, 0) && errno == ENOENT)
		return 0;
	if (asprintf(name, "%s/%s", dir, file) < 0) {
		*name = NULL;
		return -ENOMEM;
	}
	*text = read_text_at(folder, file, *name, size, &error);
	return error;
}

static int read_numbers(struct numbers **numbers, int folder, const char *dir)
{
	char *name, *text;
	size_t size;
	int error = read_beside(folder, dir, NUMBERS, &name, &text, &size);

	if (text)
		error = numbers_read(numbers, name, text, size);
	free(text);
	free(name);
	return error;
}

static int read_unmodelled(struct model_set *set, int folder, const char *dir)
{
	char *name, *text;
	size_t size;
	int error = read_beside(folder, dir, UNMODELLED, &name, &text, &size);

	if (text)
		error = unmodelled_read(&set->unmodelled, name, text, size);
	free(text);
	free(name);
	return error;
}

/* Reads all of them even after a mistake, so that one run shows every file that has one. */
static int add_folder(struct model_set *set, const char *dir)
{
	int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), count, error = 0;
	struct numbers *numbers = NULL;
	struct dirent **entries;

	if (folder < 0) {
		error = -errno;
		log_error("%s: %s: cannot open the folder of models: set GASPBPF_MODELS", log_safe(dir),
			  strerror(-error));
		return error;
	}
	error = read_numbers(&numbers, folder, dir) ?: read_unmodelled(set, folder, dir);
	count = scandirat(folder, ".", &entries, is_model, by_name);
	if (count < 0)
		error = -errno;
	for (int i = 0; i < count; i++) {
		int bad = add_entry(set, folder, dir, entries[i]->d_name, numbers);

		error = error ? error : bad;
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	if (!count) {
		log_error("%s: no *.model file here: set GASPBPF_MODELS to the folder of models", log_safe(dir));
		error = -ENOENT;
	}
	numbers_free(numbers);
	close(folder);
	return error;
}

int models_load_folder(struct model_set **set, const char *dir)
{
	int error;

	*set = models_new();
	if (!*set)
		return -ENOMEM;
	error = add_folder(*set, dir);
	if (error) {
		models_free(*set);
		*set = NULL;
	}
	return error;
}
