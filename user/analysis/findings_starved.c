/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * findings_starved.c - who had no processor, and is late by its code, too.
 *
 * That a thread had no processor may be why it is late, and then nothing else is told of it. Where it is told that it
 * takes longer, that is so with a processor, too (delays_own.c). The processors would hide it if they came first: so
 * what such threads do comes before, and what is said of the processors names it.
 */
#include "analysis/findings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/people.h"

static bool is_of_work(const struct finding *f)
{
	return !strcmp(f->kind, "delay") || !strcmp(f->kind, "load_imbalance");
}

static bool is_of_starving(const struct finding *f)
{
	return !strcmp(f->kind, "starved");
}

/* Is somebody late by its work who had no processor? */
static bool is_about_them(const struct report *r, const struct finding *work, const struct finding *starving)
{
	if (!is_of_work(work) || !starving->victims)
		return false;
	for (uint32_t i = 0; i < r->d->nthreads; i++)
		if (people_has(starving->victims, i) &&
		    (work->culprits ? people_has(work->culprits, i) : work->thread == i))
			return true;
	return false;
}

void findings_sort_starved(struct report *r)
{
	for (size_t i = r->nfindings; i--;) {
		struct finding starving = r->findings[i];
		size_t last = i;

		for (size_t k = i + 1; k < r->nfindings && is_of_starving(&starving); k++)
			if (is_about_them(r, &r->findings[k], &starving))
				last = k;
		memmove(&r->findings[i], &r->findings[i + 1], (last - i) * sizeof(*r->findings));
		r->findings[last] = starving;
	}
}

/* "1", "1 and 2", "1, 2 and 3": numbers of findings about them. How many. */
static size_t numbers(const struct report *r, const struct finding *starving, char *text, size_t room)
{
	size_t count = 0, done = 0, at = 0;

	for (size_t i = 0; i < r->nfindings; i++)
		count += is_about_them(r, &r->findings[i], starving);
	*text = '\0';
	for (size_t i = 0; i < r->nfindings && at < room; i++)
		if (is_about_them(r, &r->findings[i], starving)) {
			const char *before = !done ? "" : done + 1 == count ? " and " : ", ";

			at += snprintf(text + at, room - at, "%s%zu", before, i + 1);
			done++;
		}
	return count;
}

int findings_refer_starved(struct report *r)
{
	char which[100];

	for (size_t i = 0; i < r->nfindings; i++) {
		struct finding *f = &r->findings[i];
		char *more;
		size_t count = is_of_starving(f) ? numbers(r, f, which, sizeof(which)) : 0;

		if (!count)
			continue;
		if (asprintf(&more, "%s. That does not explain %s, which %s longer with a CPU, too", f->text, which,
			     count == 1 ? "takes" : "take") < 0)
			return -ENOMEM;
		free(f->text);
		f->text = more;
	}
	return 0;
}
