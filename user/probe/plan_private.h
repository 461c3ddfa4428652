/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan_private.h - what the files that make a plan share.
 */
#ifndef GASPBPF_PLAN_PRIVATE_H
#define GASPBPF_PLAN_PRIVATE_H

#include "probe/probe.h"

/* Goes through the names of a site, its own first, then its aliases: all zero at first. Not valid once the site gets
 * another alias. */
struct site_names {
	const char *rest;
	char name[256];
};

/* The next name, or NULL: there are no more. Aliases of 256 bytes and more are passed over. */
const char *site_next_name(const struct site *site, struct site_names *names);
/* How many functions of the model from `at` on are the meanings of one symbol (@only). */
size_t plan_same_symbol(const struct model *model, size_t at);
/* Takes in the names that the file itself has for the sites' places. */
void plan_add_file_aliases(struct plan *plan, size_t image);
/* Finds which opening site each closing site from `first` on ends. */
void plan_join_pairs(struct plan *plan, uint32_t first);
void sites_free(struct plan *plan);
/* Those from `first` on go, before they have been placed. */
void sites_forget(struct plan *plan, uint32_t first);

/*
 * IFUNCs (indirect.c): the symbol that stands for a function of this name in the source, NULL: none; how much of a
 * symbol's name is that name; and, of an IFUNC, the functions that its resolver chooses from, at most so many. 0: they
 * cannot be told.
 */
const struct symbol *indirect_symbol(const struct image *image, const char *name);
size_t indirect_name_length(const struct symbol *symbol);
size_t indirect_find(const struct image *image, const struct symbol *symbol, struct symbol *found, size_t most);
#define IMPLEMENTATIONS_MOST 64

/* Decides where the probes of the image's sites from `first` on go. 0 or -errno. */
int plan_place_sites(struct plan *plan, const struct image *image, uint32_t first);
void plan_place_back(struct site *site); /* where a return probe may be */
int plan_place_aside(struct plan *plan, const struct image *image);
/* The probes of these sites of the image, which have no return probes, move to where nothing is taken; where there is
 * no such place they stay. 0 or -errno. */
int plan_place_away(struct plan *plan, const struct image *image, struct site **sites, size_t count,
		    bool (*taken)(void *context, uint64_t offset), void *context);
/* A return probe is not to be: the ends of its calls are seen otherwise. (returns.c) */
void plan_leave_returns(const struct plan *plan, struct site *site, const char *why);
/* True where the kernel lets no probe be anywhere in this function. */
bool plan_cannot_place(const struct plan *plan, const struct image *image, const struct symbol *symbol);
/* Decides for each site how its return is observed; fills site.returns and what belongs to it. 0, -ENOMEM or
 * -ECANCELED. */
int plan_choose_returns(struct plan *plan);
/* Does a return probe kill a process with a strict seccomp filter on this kernel? Found by trying (trial.c). */
bool trial_filter_kills(void);
void returns_free(struct plan *plan);
/* Has the image code that sets the stack pointer as no compiler does (switches.c)? */
bool image_switches_stacks(const struct image *image);
/* Decides for sites from `first` on, and for those that were uncalled, whether anybody calls them; fills site.uncalled
 * and site.late. */
void plan_find_uncalled(struct plan *plan, uint32_t first);
/* Has the stack read where a library that only passes calls on calls the sites from `first` on. */
void plan_find_wrappers(struct plan *plan, uint32_t first);
/* May this function look at its own return address, or hand it on? In doubt it does. (looks_back.c) */
bool site_looks_back(struct site *site);
/* Leaves out the functions whose code in this process's memory is another one than in the file. (patched.c) */
void plan_find_patched(struct plan *plan, const struct process *process);
/* Does a process map this image (an index)? It may be there only as a file. */
bool plan_maps(const struct plan *plan, size_t image);

/* Takes in what -F asks for in this image (patterns.c). 0 or -errno. */
int plan_add_asked(struct plan *plan, size_t image);
/* Makes sites of the model's functions in this image; where it is not chosen, only of those that switch measurement off
 * and on. */
int plan_add_model(struct plan *plan, const struct model *model, size_t image, bool chosen);
void asked_free(struct asked_work *work);

/* Makes a site of the function at this place of the image, if there is none yet (sites.c); and what every new site
 * needs, where nothing but sites from `first` on has come (plan.c). 0 or -errno. */
int plan_add_place(struct plan *plan, size_t image, const struct symbol *symbol, const struct function *function);
int plan_finish_sites(struct plan *plan, const struct process *process, uint32_t first);
void pointed_free(struct plan *plan);

#endif
