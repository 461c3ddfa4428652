/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sites.c - the places to observe, each once.
 *
 * The same place has many names: MPI_Send is PMPI_Send, glibc's pthread_mutex_lock is
 * __pthread_mutex_lock. Probing each name would count each call several times, so a site is keyed by
 * (file, offset), the first name in the model's order gives it its meaning, and all further names are
 * its aliases.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "probe/plan_private.h"
#include "util/files.h"
#include "util/log.h"

#define ALIASES_MOST 400 /* bytes of alias names kept for a site */

struct site_key {
	size_t image;
	uint64_t offset;
};

struct site_entry {
	struct site_key key;
	uint32_t site;
	UT_hash_handle hh;
};

static struct site *site_at(const struct plan *plan, size_t image, uint64_t offset)
{
	struct site_key key;
	struct site_entry *entry;

	memset(&key, 0, sizeof(key));
	key.image = image;
	key.offset = offset;
	HASH_FIND(hh, plan->places, &key, sizeof(key), entry);
	return entry ? &plan->sites[entry->site] : NULL;
}

static int remember_place(struct plan *plan, size_t image, const struct site *site)
{
	struct site_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	entry->key.image = image;
	entry->key.offset = site->offset;
	entry->site = site->id;
	HASH_ADD(hh, plan->places, key, sizeof(entry->key), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return -ENOMEM;
	}
	return 0;
}

static void add_alias(struct site *site, const char *name)
{
	size_t have = site->aliases ? strlen(site->aliases) : 0;
	char *grown;

	if (!strcmp(name, site->function->symbol) || have + strlen(name) + 2 > ALIASES_MOST)
		return;
	for (const char *at = site->aliases; at && (at = strstr(at, name)); at += strlen(name)) {
		char before = at == site->aliases ? ' ' : at[-1], after = at[strlen(name)];

		if (before == ' ' && (after == ' ' || !after))
			return;
	}
	if (asprintf(&grown, "%s%s%s", have ? site->aliases : "", have ? " " : "", name) < 0)
		return;
	free(site->aliases);
	site->aliases = grown;
}

const char *site_next_name(const struct site *site, struct site_names *names)
{
	size_t length;

	if (!names->rest) {
		names->rest = site->aliases ?: "";
		return site->function->symbol;
	}
	while (*names->rest) {
		const char *name = names->rest;

		length = strcspn(name, " ");
		names->rest += length + (name[length] == ' ');
		if (length >= sizeof(names->name))
			continue;
		memcpy(names->name, name, length);
		names->name[length] = '\0';
		return names->name;
	}
	return NULL;
}

/* Functions of one model have a number in common. */
static uint16_t runtime_of(const struct plan *plan, const struct model *model)
{
	for (size_t i = 0; i < plan->nchosen && i < UINT16_MAX; i++)
		if (plan->chosen[i] == model)
			return i + 1;
	return 0;
}

bool site_is_in_program(const struct site *site)
{
	return !model_matches_file(site->function->model, site->image->soname, path_base(site->image->path));
}

bool site_may_be_inner(const struct site *site)
{
	if (!site->runtime || site->no_span || site->function->marks & (MARKS_TELL | MARK_OUTER))
		return false;
	switch (site->function->role) {
	case ROLE_TASK:
	case ROLE_TRANSFER:
	case ROLE_READY:
	case ROLE_DONE:
	case ROLE_USER:
		return false;
	case ROLE_FUNCTION: /* of the program, it may be the user's as well */
		return !site_is_in_program(site);
	default:
		return true;
	}
}

static int new_site(struct plan *plan, size_t image, const struct symbol *symbol, const struct function *f, size_t n,
		    const struct build *build)
{
	struct image *i = plan->images[image];
	struct site *site, *grown;
	int err;

	if (plan->nsites >= GB_PROBES - SITE_CLASSES) {
		plan->crowded = true;
		if (plan->admission.functions)
			return -E2BIG; /* it is said to whom it matters */
		log_warn("more than %d functions to observe: the rest is left out: choose models with -m",
			 GB_PROBES - SITE_CLASSES);
		return -E2BIG;
	}
	grown = realloc(plan->sites, (plan->nsites + 1) * sizeof(*site));
	if (!grown)
		return -ENOMEM;
	plan->sites = grown;
	site = &plan->sites[plan->nsites];
	*site = (struct site){
		.image = i,
		.body = *symbol,
		.offset = symbol->offset,
		.function = f,
		.nfunctions = n,
		.id = plan->nsites,
		.closes = NO_SITE,
		.no_span = f->marks & MARK_CLOSES,
		/* What is called inside a share, or jumped to at its end, the program has called. */
		.runtime = f->marks & MARK_POINTED ? 0 : runtime_of(plan, f->model),
		.captures = calloc(n, sizeof(struct capture)),
	};
	if (!site->captures)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++) {
		err = model_function_capture_build(&f[k], i->soname ?: path_base(i->path), build, &site->captures[k]);
		if (err)
			return err;
		site->captures[k].unwanted = !selection_has(plan->selection, &f[k]);
		if (plan->leave_near)
			memcpy(site->captures[k].program.near, site->captures[k].near, sizeof(site->captures[k].near));
	}
	plan->nsites++;
	return remember_place(plan, image, site);
}

size_t plan_same_symbol(const struct model *model, size_t at)
{
	size_t n = 1;

	while (at + n < model->nfunctions && !strcmp(model->functions[at].symbol, model->functions[at + n].symbol))
		n++;
	return n;
}

/* Off means that nothing is measured, whatever was chosen: what switches it off and on is observed in any case. */
static bool any_wanted(const struct plan *plan, const struct function *f, size_t n, bool chosen)
{
	while (n && !(chosen && selection_has(plan->selection, &f[n - 1])) && !(f[n - 1].marks & MARK_CONTROLS))
		n--;
	return n;
}

/* Is the function observed at the two places that follow its entry? */
static bool is_split(const struct image *image, const struct function *f)
{
	char name[256];

	return f->marks & MARK_SPLIT && snprintf(name, sizeof(name), "%s_plain", f->symbol) < (int)sizeof(name) &&
	       image_symbol(image, name);
}

/* What depends on it may be wrong or missing. */
static void say_untold_build(const struct plan *plan, const struct model *model, const struct build *build,
			     const struct image *image)
{
	if (plan->says_builds && build && !build->ntests && !plan_build_is_told(plan, model) &&
	    plan_has_sites(plan, model, image))
		log_warn("%s: how its runtime (model %s) was built cannot be told: taken as '%s'; values that depend "
			 "on it may be unknown: "
			 "--build %s=NAME tells ('gaspbpf list --known' has the names)",
			 log_safe(image->path), model->name, build->name, model->name);
}

/* The site of one place, a new one or one that has another name already. */
static int add_place(struct plan *plan, size_t image, const struct symbol *symbol, const struct function *f, size_t n,
		     const struct build *build)
{
	struct site *known = site_at(plan, image, symbol->offset);

	if (!symbol->offset || plan_cannot_place(plan, plan->images[image], symbol))
		return 0;
	if (!known)
		return new_site(plan, image, symbol, f, n, build);
	add_alias(known, f->symbol);
	return 0;
}

int plan_add_place(struct plan *plan, size_t image, const struct symbol *symbol, const struct function *function)
{
	int err;

	if (!selection_has(plan->selection, function) || site_at(plan, image, symbol->offset))
		return 0;
	err = add_place(plan, image, symbol, function, 1, NULL);
	return err == -E2BIG ? 0 : err;
}

/* One function that is there several times: each time it is the same one. */
static int add_implementations(struct plan *plan, size_t image, const struct symbol *symbol, const struct function *f,
			       size_t n, const struct build *build)
{
	struct symbol found[IMPLEMENTATIONS_MOST];
	size_t count = indirect_find(plan->images[image], symbol, found, IMPLEMENTATIONS_MOST);
	int err = 0;

	if (!count && (!strcmp(f->model->name, USER_MODEL) || !strcmp(f->model->name, ASKED_MODEL)))
		log_warn("%s: %s: %s", log_safe(plan->images[image]->path), log_safe(f->symbol),
			 absence_text(ABSENT_INDIRECT));
	for (size_t i = 0; !err && i < count; i++)
		err = add_place(plan, image, &found[i], f, n, build);
	return err;
}

int plan_add_model(struct plan *plan, const struct model *model, size_t image, bool chosen)
{
	struct build room;
	const struct build *build = plan_build(plan, model, plan->images[image], &room);

	for (size_t at = 0, n; at < model->nfunctions; at += n) {
		const struct function *f = &model->functions[at];
		const struct symbol *symbol = indirect_symbol(plan->images[image], f->symbol);
		int err;

		n = plan_same_symbol(model, at);
		if (breath_ends(plan->placing.breath))
			return -ECANCELED;
		if (!symbol || f->marks & MARK_POINTED || !any_wanted(plan, f, n, chosen) ||
		    is_split(plan->images[image], f))
			continue;
		err = symbol->ifunc ? add_implementations(plan, image, symbol, f, n, build)
				    : add_place(plan, image, symbol, f, n, build);
		if (err)
			return err == -E2BIG ? 0 : err;
	}
	say_untold_build(plan, model, build, plan->images[image]);
	return 0;
}

void plan_add_file_aliases(struct plan *plan, size_t image)
{
	const struct image *i = plan->images[image];

	for (size_t s = 0; s < i->nsymbols; s++) {
		struct site *site = site_at(plan, image, i->symbols[s].offset);

		if (site && !i->symbols[s].ifunc) /* whose name is not its resolver's */
			add_alias(site, i->symbols[s].name);
	}
}

void plan_join_pairs(struct plan *plan, uint32_t first)
{
	for (uint32_t c = first; c < plan->nsites; c++) {
		struct site *closing = &plan->sites[c];

		for (uint32_t o = 0; closing->no_span && o < plan->nsites; o++) {
			const struct site *opening = &plan->sites[o];

			if (opening->image == closing->image && opening->function->model == closing->function->model &&
			    opening->function->marks & MARK_OPENS) {
				for (size_t k = 0; k < opening->nfunctions; k++)
					if (!strcmp(opening->function[k].event, closing->function->event))
						closing->closes = o;
			}
		}
	}
}

void sites_forget(struct plan *plan, uint32_t first)
{
	struct site_entry *entry, *next;

	HASH_ITER (hh, plan->places, entry, next) {
		if (entry->site < first)
			continue;
		HASH_DEL(plan->places, entry);
		free(entry);
	}
	for (size_t i = first; i < plan->nsites; i++) {
		for (size_t k = 0; k < plan->sites[i].nfunctions; k++)
			capture_free(&plan->sites[i].captures[k]);
		free(plan->sites[i].captures);
		free(plan->sites[i].aliases);
		free(plan->sites[i].signature);
		free(plan->sites[i].exits);
	}
	plan->nsites = first;
}

void sites_free(struct plan *plan)
{
	sites_forget(plan, 0);
	free(plan->sites);
}
