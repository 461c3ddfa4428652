/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c - the words of the model language that the rest of gaspbpf sees too. */
#include <string.h>

#include "model/parts.h"
#include "util/function_name.h"

/* Edit distance, up to 3; words are short here. */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned row[33];

	if (na > 32 || nb > 32)
		return 4;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		unsigned corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned change = corner + (a[i - 1] != b[j - 1]);
			unsigned best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

			corner = row[j];
			row[j] = change < best ? change : best;
		}
	}
	return row[nb];
}

const char *name_nearest(const char *word, size_t length, const char *const *names)
{
	const char *best = NULL;
	unsigned least = length < 4 ? 2 : 3;

	for (; *names; names++) {
		unsigned d = distance(word, length, *names, strlen(*names));

		if (d < least) {
			least = d;
			best = *names;
		}
	}
	return best;
}

/* A '*' is retried from its last place only, so the time is bounded by the product of the lengths. */
bool name_matches(const char *glob, const char *text)
{
	const char *star = NULL, *retry = NULL;

	while (*text) {
		if (*glob == '*') {
			star = ++glob;
			retry = text;
		} else if (*glob == '?' || *glob == *text) {
			glob++;
			text++;
		} else if (star) {
			glob = star;
			text = ++retry;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}

bool function_is_called(const char *glob, const char *symbol)
{
	char name[FUNCTION_NAME_ROOM];

	if (name_matches(glob, symbol))
		return true;
	return (function_name(symbol, NAME_WITH_ARGUMENTS, name) && name_matches(glob, name)) ||
	       (function_name(symbol, NAME_ALONE, name) && name_matches(glob, name));
}

bool names_any_match(char *const globs[], const char *soname, const char *basename)
{
	for (; *globs; globs++)
		if ((soname && name_matches(*globs, soname)) || (basename && name_matches(*globs, basename)))
			return true;
	return false;
}

bool model_matches_file(const struct model *model, const char *soname, const char *basename)
{
	return names_any_match(model->library, soname, basename);
}

bool model_wraps_in_file(const struct model *model, const char *soname, const char *basename)
{
	return model->wrapper && names_any_match(model->wrapper, soname, basename);
}

bool model_runtime_has_file(const struct model *model, const char *soname, const char *basename)
{
	return names_any_match(model->library, soname, basename) ||
	       (model->parts && names_any_match(model->parts, soname, basename));
}
