/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * imports.c - which functions of a large library nobody in the job calls.
 *
 * Where each probe is a perf event of its own, putting it in and taking it out costs tens of milliseconds, and a
 * library of a parallel runtime has many hundred functions, of which a program uses a dozen. What a program or library
 * calls in another one stands in its table of undefined names. So a function that no mapped file imports, under
 * any of its names, is marked as uncalled, and attach.c leaves it out on such a kernel.
 *
 * That misses calls which need no such name: those found by dlsym(), and those from inside the same library.
 * Models of libraries with few functions describe such inner calls, too, and have little to gain: there nothing is
 * marked.
 */
#include "probe/plan_private.h"

#define MANY_SITES 100 /* in one file */

static bool imports_any(const struct image *image, const struct site *site)
{
	struct site_names names = { .rest = NULL };
	const char *name;

	while ((name = site_next_name(site, &names)))
		if (image_imports(image, name))
			return true;
	return false;
}

static bool has_many_sites(const struct plan *plan, const struct image *image)
{
	size_t sites = 0;

	for (size_t i = 0; i < plan->nsites; i++)
		sites += plan->sites[i].image == image;
	return sites >= MANY_SITES;
}

/* Looks at the images that have come since the last time. */
static void look_for_callers(const struct plan *plan, struct site *site, bool is_new)
{
	bool called = false;

	for (; site->looked_at < plan->nimages && !called; site->looked_at++)
		called = imports_any(plan->images[site->looked_at], site);
	site->late = site->late || (called && !is_new && !site->attached);
	site->uncalled = !called;
}

void plan_find_uncalled(struct plan *plan, uint32_t first)
{
	for (size_t image = 0; image < plan->nimages; image++) {
		/* Who will map a file that nobody maps yet is not known. */
		if (plan->images[image]->is_program || !plan_maps(plan, image) ||
		    !has_many_sites(plan, plan->images[image]))
			continue;
		for (size_t i = 0; i < plan->nsites; i++) {
			struct site *site = &plan->sites[i];

			if (site->image == plan->images[image] && (i >= first || site->uncalled))
				look_for_callers(plan, site, i >= first);
		}
	}
}

bool plan_has_new(const struct plan *plan, uint32_t first)
{
	for (size_t i = 0; i < plan->nsites && i < first; i++)
		if (plan->sites[i].late || plan->sites[i].endangered)
			return true;
	return plan->nsites > first;
}
