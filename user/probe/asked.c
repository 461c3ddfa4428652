/*
 * asked.c - functions that the user asked for by a pattern (-F 'solve*'): GASP_C_FUNC events (GASP 1.4, table 1).
 *
 * They become a model of their own for each file, as if the user had written one, with what DWARF says of each function as its
 * signature. Where the file has DWARF only functions that it knows count: what the compiler and the C library put into every
 * program (_start, frame_dummy) is nobody's function.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/plan_private.h"
#include "util/files.h"
#include "util/log.h"

#define ASKED_MOST 4000 /* functions of one file: more are hardly meant */

/* One -F: [FILE:]NAME. */
struct asked {
	char *file;  /* glob of a soname or base name; NULL: the program */
	char *name;  /* glob */
	bool found;
};

struct asked_work {
	struct asked *asked;
	size_t count;
	struct model_set **sets; /* one for each file in which something was found */
	size_t nsets;
};

int plan_ask(struct plan *plan, const char *pattern)
{
	struct asked_work *work = plan->asked ?: calloc(1, sizeof(*work));
	const char *colon = strchr(pattern, ':');
	struct asked *grown;

	plan->asked = work;
	if (colon && colon[1] == ':') /* a name in C++ */
		colon = NULL;
	grown = work ? reallocarray(work->asked, work->count + 1, sizeof(*grown)) : NULL;
	if (!grown)
		return -ENOMEM;
	work->asked = grown;
	grown[work->count] = (struct asked){
		.file = colon ? strndup(pattern, colon - pattern) : NULL, .name = strdup(colon ? colon + 1 : pattern),
	};
	return (colon && !grown[work->count].file) || !grown[work->count++].name ? -ENOMEM : 0;
}

void asked_free(struct asked_work *work)
{
	for (size_t i = 0; work && i < work->count; i++) {
		free(work->asked[i].file);
		free(work->asked[i].name);
	}
	for (size_t i = 0; work && i < work->nsets; i++)
		models_free(work->sets[i]);
	if (work) {
		free(work->asked);
		free(work->sets);
	}
	free(work);
}

const char *plan_not_found(const struct plan *plan)
{
	for (size_t i = 0; plan->asked && i < plan->asked->count; i++)
		if (!plan->asked->asked[i].found)
			return plan->asked->asked[i].name;
	return NULL;
}

static bool in_file(const struct asked *asked, const struct image *image)
{
	if (!asked->file)
		return image->is_program;
	return (image->soname && name_matches(asked->file, image->soname)) || name_matches(asked->file, path_base(image->path));
}

/* Can a model name it? Parts that the compiler cut off a function (solve.cold) are none, unless they are asked for. */
static bool is_function_name(const char *name, const char *pattern)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.";

	if (!*name || strspn(name, letters) != strlen(name) || strlen(name) > 1000)
		return false;
	return !strchr(name, '.') || strchr(pattern, '.');
}

static bool is_asked_for(struct asked_work *work, const struct image *image, const char *name, bool note)
{
	bool found = false;

	for (size_t i = 0; i < work->count; i++) {
		struct asked *asked = &work->asked[i];

		if (!in_file(asked, image) || !name_matches(asked->name, name) || !is_function_name(name, asked->name))
			continue;
		found = true;
		asked->found |= note;
	}
	return found;
}

/* What begins with '_' is somebody's function only where DWARF says so, or a pattern does. */
static bool is_hidden(const struct asked_work *work, const char *name)
{
	for (size_t i = 0; i < work->count; i++)
		if (work->asked[i].name[0] == '_' && name_matches(work->asked[i].name, name))
			return false;
	return *name == '_';
}

static struct model_set *make_model(const struct symbol *const *functions, size_t count)
{
	struct model_set *set = models_new();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!set || !out) {
		models_free(set);
		return NULL;
	}
	fprintf(out, "model " ASKED_MODEL "\nlanguage C\nnumber FUNC 1\nlibrary program *\njoin alone\n"
		"event FUNC both(const char *funcsig = prototype)\n");
	for (size_t i = 0; i < count; i++)
		fprintf(out, "FUNC user each %s\n", functions[i]->name);
	if (fclose(out) || models_add_text(set, "-F", text, size)) {
		models_free(set);
		set = NULL;
	}
	free(text);
	return set;
}

/* The functions that are asked for, one symbol for each place. */
static size_t find_functions(struct asked_work *work, const struct image *image, const struct symbol **functions)
{
	size_t count = 0;

	for (size_t i = 0; i < image->nsymbols && count < ASKED_MOST; i++) {
		const struct symbol *symbol = &image->symbols[i];

		if (symbol->ifunc || !symbol->offset || !is_asked_for(work, image, symbol->name, false))
			continue;
		if (image_symbol(image, symbol->name) == symbol)
			functions[count++] = symbol;
	}
	if (count == ASKED_MOST)
		log_warn("-F: more than %d functions of %s: the rest is left out: ask for fewer", ASKED_MOST, log_safe(image->path));
	return count;
}

/* Of those without DWARF, what counts; of those with, what it knows. */
static size_t keep_functions(struct asked_work *work, const struct image *image, const struct symbol **functions, char **signatures,
			     size_t count)
{
	size_t kept = 0;
	bool known = false;

	for (size_t i = 0; i < count; i++)
		known |= signatures[i] != NULL;
	for (size_t i = 0; i < count; i++) {
		if (known ? !signatures[i] : is_hidden(work, functions[i]->name))
			continue;
		is_asked_for(work, image, functions[i]->name, true);
		functions[kept] = functions[i];
		signatures[kept++] = signatures[i];
	}
	for (size_t i = kept; i < count; i++)
		signatures[i] = NULL; /* it has moved down, or never was there */
	return kept;
}

/* The model's functions come in the order in which they were written, but for names that stand for one place. */
static void sign_sites(struct plan *plan, uint32_t first, const struct symbol *const *functions, char **signatures, size_t count)
{
	for (uint32_t s = first; s < plan->nsites; s++) {
		for (size_t i = 0; i < count; i++) {
			if (plan->sites[s].offset != functions[i]->offset || !signatures[i])
				continue;
			plan->sites[s].signature = signatures[i];
			signatures[i] = NULL;
			break;
		}
	}
}

int plan_add_asked(struct plan *plan, size_t at)
{
	struct asked_work *work = plan->asked;
	struct image *image = plan->images[at];
	const struct symbol **functions;
	uint32_t first = plan->nsites;
	struct model_set *set, **sets;
	size_t count;
	char **signatures;
	int err = -ENOMEM;

	if (!work)
		return 0;
	functions = calloc(ASKED_MOST, sizeof(*functions));
	signatures = calloc(ASKED_MOST, sizeof(*signatures));
	count = functions && signatures ? find_functions(work, image, functions) : 0;
	if (functions && signatures)
		err = count ? image_signatures(image, functions, count, signatures) : 0;
	count = err ? 0 : keep_functions(work, image, functions, signatures, count);
	sets = count ? reallocarray(work->sets, work->nsets + 1, sizeof(*sets)) : NULL;
	set = sets ? make_model(functions, count) : NULL;
	work->sets = sets ?: work->sets;
	if (set) {
		work->sets[work->nsets++] = set;
		err = plan_add_model(plan, models_at(set, 0), at, true);
		sign_sites(plan, first, functions, signatures, count);
	} else if (count) {
		err = -ENOMEM;
	}
	for (size_t i = 0; signatures && i < ASKED_MOST; i++)
		free(signatures[i]);
	free(signatures);
	free(functions);
	return err;
}
