/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * patterns.c - functions that the user asked for by a pattern (-F 'solve*'): GASP_C_FUNC events (GASP 1.4, table 1).
 *
 * They become a model of their own for each file, as if the user had written one, with what DWARF says of each function
 * as its signature. Where the file has DWARF only functions that it knows count: what the compiler and the C library
 * put into every program (_start, frame_dummy) is nobody's function.
 *
 * A C++ function can be asked for as people write it, with its arguments or without, and by its symbol.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/plan_private.h"
#include "util/files.h"
#include "util/function_name.h"
#include "util/log.h"

#define NAME_ROOM 1024
#define ASKED_MOST 4000 /* functions of one file: more are hardly meant */

/* One -F: [FILE:]NAME. */
struct asked {
	char *file; /* glob of a soname or base name; NULL: the program */
	char *name; /* glob */
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
		.file = colon ? strndup(pattern, colon - pattern) : NULL,
		.name = strdup(colon ? colon + 1 : pattern),
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
	return (image->soname && name_matches(asked->file, image->soname)) ||
	       name_matches(asked->file, path_base(image->path));
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

		if (!in_file(asked, image) || !function_is_called(asked->name, name) ||
		    !is_function_name(name, asked->name))
			continue;
		found = true;
		asked->found |= note;
	}
	return found;
}

static bool is_cxx(const char *name)
{
	char text[FUNCTION_NAME_ROOM];

	return function_name(name, NAME_ALONE, text);
}

/* What begins with '_' is somebody's function only where DWARF says so, or a pattern does; but for C++ ones, which all
 * do. */
static bool is_hidden(const struct asked_work *work, const char *name)
{
	for (size_t i = 0; i < work->count; i++)
		if (work->asked[i].name[0] == '_' && name_matches(work->asked[i].name, name))
			return false;
	return *name == '_' && !is_cxx(name);
}

/* The name that the function has in the source: as the symbol's, but for what a compiler put behind it. NULL: too long
 * for one. */
static const char *source_name(const struct symbol *symbol, char name[static NAME_ROOM])
{
	size_t length = indirect_name_length(symbol);

	if (length >= NAME_ROOM)
		return NULL;
	memcpy(name, symbol->name, length);
	name[length] = '\0';
	return name;
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
		fprintf(out, "FUNC user each %.*s\n", (int)indirect_name_length(functions[i]), functions[i]->name);
	if (fclose(out) || models_add_text(set, "-F", text, size)) {
		models_free(set);
		set = NULL;
	}
	free(text);
	return set;
}

/* The functions that are asked for, one symbol for each place; IFUNCs come last: an implementation with a name that is
 * asked for keeps it. */
static size_t find_functions(struct asked_work *work, const struct image *image, const struct symbol **functions)
{
	size_t count = 0;
	char name[NAME_ROOM];

	for (int indirect = 0; indirect < 2; indirect++) {
		for (size_t i = 0; i < image->nsymbols && count < ASKED_MOST; i++) {
			const struct symbol *symbol = &image->symbols[i];

			if (symbol->ifunc != indirect || !symbol->offset || !source_name(symbol, name) ||
			    !is_asked_for(work, image, name, false))
				continue;
			if (indirect_symbol(image, name) == symbol)
				functions[count++] = symbol;
		}
	}
	if (count == ASKED_MOST)
		log_warn("-F: more than %d functions of %s: the rest is left out: ask for fewer", ASKED_MOST,
			 log_safe(image->path));
	return count;
}

/* In a file with DWARF. That has no names of a lambda's function where it is looked for, but nobody else makes such
 * symbols. */
static bool is_of_nobody(const struct symbol *function, const char *signature)
{
	return !signature && !function->ifunc && !is_cxx(function->name);
}

/* Of those without DWARF, what counts; of those with, what it knows. */
static size_t keep_functions(struct asked_work *work, const struct image *image, const struct symbol **functions,
			     char **signatures, size_t count)
{
	size_t kept = 0;
	bool known = false;
	char name[NAME_ROOM];

	for (size_t i = 0; i < count; i++)
		known |= signatures[i] != NULL;
	for (size_t i = 0; i < count; i++) {
		if (known ? is_of_nobody(functions[i], signatures[i]) : is_hidden(work, functions[i]->name))
			continue;
		is_asked_for(work, image, source_name(functions[i], name) ?: "", true);
		functions[kept] = functions[i];
		signatures[kept++] = signatures[i];
	}
	for (size_t i = kept; i < count; i++)
		signatures[i] = NULL; /* it has moved down, or never was there */
	return kept;
}

/* The model's functions come in the order in which they were written, but for names that stand for one place. */
static void sign_sites(struct plan *plan, uint32_t first, const struct symbol *const *functions, char **signatures,
		       size_t count)
{
	char name[NAME_ROOM];

	for (uint32_t s = first; s < plan->nsites; s++) {
		struct site *site = &plan->sites[s];

		for (size_t i = 0; i < count && !site->signature; i++) {
			bool same = functions[i]->ifunc
					    ? !strcmp(site->function->symbol, source_name(functions[i], name) ?: "")
					    : site->offset == functions[i]->offset;

			if (same && signatures[i])
				site->signature = strdup(signatures[i]);
		}
	}
}

/* "int fast(int n)" becomes "int solve(int n)"; NULL: the one name is not in it, or no memory. */
static char *renamed(const char *signature, const char *from, const char *to)
{
	size_t length = strlen(from);
	char *text;

	for (const char *at = strstr(signature, from); at && length; at = strstr(at + 1, from)) {
		if ((at > signature && !strchr(" *&", at[-1])) || at[length] != '(')
			continue;
		return asprintf(&text, "%.*s%s%s", (int)(at - signature), signature, to, at + length) < 0 ? NULL : text;
	}
	return NULL;
}

/*
 * What DWARF says of each function. Of an IFUNC it knows the implementations: clones have the function's own name
 * there, others have names of their own. 0 or -ENOMEM.
 */
static int find_signatures(struct image *image, const struct symbol *const *functions, size_t count, char **signatures)
{
	struct symbol *bodies = calloc(count, sizeof(*bodies));
	const struct symbol **whose = calloc(count, sizeof(*whose));
	int err = bodies && whose ? 0 : -ENOMEM;
	char name[NAME_ROOM];

	for (size_t i = 0; !err && i < count; i++)
		whose[i] = functions[i]->ifunc && indirect_find(image, functions[i], &bodies[i], 1) ? &bodies[i]
												    : functions[i];
	if (!err)
		err = image_signatures(image, whose, count, signatures);
	for (size_t i = 0; !err && i < count; i++) {
		char *own = functions[i]->ifunc && signatures[i] && source_name(functions[i], name) &&
					    !strchr(whose[i]->name, '.')
				    ? renamed(signatures[i], whose[i]->name, name)
				    : NULL;

		if (whose[i] == functions[i] && functions[i]->ifunc) { /* the resolver's own */
			free(signatures[i]);
			signatures[i] = NULL;
		} else if (own) {
			free(signatures[i]);
			signatures[i] = own;
		}
	}
	free(whose);
	free(bodies);
	return err;
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
		err = count ? find_signatures(image, functions, count, signatures) : 0;
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
