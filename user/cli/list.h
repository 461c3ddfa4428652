/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.h - what the files of gaspbpf list share.
 */
#ifndef GASPBPF_CLI_LIST_H
#define GASPBPF_CLI_LIST_H

#include <string.h>

#include "cli/cli.h"
#include "probe/probe.h"
#include "util/json.h"

/* A process that was looked at. */
struct listed_process {
	const struct process *process;
	bool has_rank;
	long rank;
	bool known; /* it maps something of which functions can be observed */
};

/* All that is listed. Nothing in it is its own. */
struct listing {
	const struct plan *plan;
	const struct listed_process *processes;
	size_t nprocesses;
	const pid_t *launchers; /* named by their numbers; what they have started was looked at in their place */
	size_t nlaunchers;
	pid_t crash_handler;            /* a process that has one; 0: none */
	bool one_by_one;                /* each probe is a perf event of its own: uncalled functions get none */
	unsigned cost_ns[SITE_CLASSES]; /* of a call at such a probe; 0: not measured */
	bool all;                       /* each function of runtimes that are not used, too */
	bool verbose;                   /* where each probe is, and why there */
	unsigned width;                 /* columns */
};

/* For people, on stdout. 0 or -ENOMEM. */
int list_print(const struct listing *listing);
/* 0 or -errno. */
int list_print_json(const struct listing *listing);
/* Where a model would look, on stdout. */
void list_print_places(const struct model *model);

/* What was asked for with -F has a model for each file, all of one name. */
static inline bool list_is_of(const struct function *function, const struct model *model)
{
	return function->model == model || !strcmp(function->model->name, model->name);
}

/* In words why the function gets no probe; NULL: it gets one. */
const char *list_not_observed(const struct listing *listing, const struct site *site);
/* Its line, or lines, with the place of its probe. */
void list_print_site(const struct listing *listing, const struct site *site);
/* The files with functions, by their build-ids. */
void list_print_files(const struct plan *plan);
/* The place of the site's probe. */
struct probe_place list_place(const struct site *site);
/* What this one of the plan's images is, if it is of a runtime without a model; else NULL. */
const char *list_unmodelled(const struct plan *plan, const struct image *image);

/* "0x1d1c0 +4 emulated 350 ns INSTRUCTION", and why nothing cheaper where there is a reason. cost: of a call, ns; 0:
 * not measured. */
void list_print_place(const struct image *image, uint64_t start, const struct probe_place *place, unsigned cost);
/* Keys of the object that is open: probe_offset, class, expected_ns (where measured), instruction, why_here. */
void list_json_place(struct json *j, const struct image *image, const struct probe_place *place, unsigned cost);
/* Keys "symbol", and "name" where people call it something else. */
void list_json_symbol(struct json *j, const char *symbol);
/* Each function of the files, with where its probe would go. 0 or -errno, said. */
int list_every_function(const struct text_list *files, bool at_entry, bool json, const unsigned *cost_ns);

#endif
