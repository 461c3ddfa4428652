/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * left_out.c - processes that are no part of the job, in the report: which, why, and how they can be seen.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"

#include <string.h>

#include "util/files.h"
#include "util/json.h"
#include "util/log.h"

#define NAMES_SHOWN 6

/* What people know it by: the first word of its command, without folders. */
static void short_name(const struct def_process *def, char *name, size_t size)
{
	const char *command = def->command && *def->command ? def->command : def->name ? def->name : "?";

	snprintf(name, size, "%.*s", (int)strcspn(command, " "), command);
	memmove(name, path_base(name), strlen(path_base(name)) + 1);
}

/* How many processes have this one's name and reason; *first: none before it has. */
static size_t count_alike(const struct definitions *d, size_t index, const char *name, bool *first)
{
	size_t count = 0;
	char other[64];

	*first = true;
	for (size_t i = 0; i < d->nprocesses; i++) {
		const struct def_process *def = &d->processes[i];

		if (!def->left_out || strcmp(def->left_out, d->processes[index].left_out))
			continue;
		short_name(def, other, sizeof(other));
		if (strcmp(name, other))
			continue;
		*first &= i >= index;
		count++;
	}
	return count;
}

static void print_those(const struct printer *p, const char *why, const char *one, const char *many)
{
	const struct definitions *d = p->r->d;
	size_t names = 0, all = 0;
	char name[64];

	for (size_t i = 0; i < d->nprocesses; i++) {
		const struct def_process *def = &d->processes[i];
		bool first;
		size_t alike;

		if (!def->left_out || strcmp(def->left_out, why))
			continue;
		all++;
		short_name(def, name, sizeof(name));
		alike = count_alike(d, i, name, &first);
		if (!first || names++ >= NAMES_SHOWN)
			continue;
		fprintf(p->out, "%s%s", names == 1 ? "  left out: " : ", ", log_safe(name));
		if (alike == 1)
			fprintf(p->out, " (pid %u)", def->pid);
		else
			fprintf(p->out, " (%zu processes)", alike);
	}
	if (names > NAMES_SHOWN)
		fprintf(p->out, " and %zu more names", names - NAMES_SHOWN);
	if (all)
		fprintf(p->out, ", %s: --all-processes observes %s\n", all == 1 ? one : many, all == 1 ? "it" : "them");
}

static void print_left_out(void *state, const struct printer *p)
{
	print_those(p, LEFT_OUT_LAUNCHER, "a launcher", "launchers");
	print_those(p, LEFT_OUT_BESIDE, "which maps no parallel runtime", "which map no parallel runtime");
}

static void put_left_out(void *state, const struct report *r, struct json *j)
{
	const struct definitions *d = r->d;

	json_array(j);
	for (size_t i = 0; i < d->nprocesses; i++) {
		const struct def_process *p = &d->processes[i];

		if (!p->left_out)
			continue;
		json_object(j);
		json_key_uint(j, "pid", p->pid);
		json_key_string(j, "command", p->command);
		json_key_string(j, "name", p->name);
		json_key_string(j, "why", p->left_out);
		json_end_object(j);
	}
	json_end_array(j);
}

/* Rows, call sites and events of processes that are left out. */
void report_leave_out(struct report *r)
{
	size_t rows = 0, sites = 0;

	for (size_t i = 0; i < r->nrows; i++)
		if (!thread_is_left_out(r->d, r->rows[i].thread))
			r->rows[rows++] = r->rows[i];
	r->nrows = rows;
	for (size_t i = 0; i < r->nsites; i++) {
		const struct def_site *def = r->sites[i].site < r->d->nsites ? &r->d->sites[r->sites[i].site] : NULL;

		if (!def || def->process >= r->d->nprocesses || !r->d->processes[def->process].left_out)
			r->sites[sites++] = r->sites[i];
	}
	r->nsites = sites;
}

const struct analysis analysis_left_out = {
	.name = "left_out",
	.print = print_left_out,
	.json = put_left_out,
};
