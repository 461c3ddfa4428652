/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * join.c - the definitions of several recordings as those of one.
 *
 * An entry is copied by way of its form in the file, as whoever reads the result gets it. Two entries of a kind that
 * may be shared are the same if these forms are, with the indices of the whole in them.
 *
 * What a probe costs was measured on each machine anew. It is one probe all the same: of the prices the whole has the
 * highest, and of what is to be taken off each span the lowest, so that none is made shorter than it was.
 */
#include "recording/join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording/chunk.h"
#include "recording/definitions.h"
#include "util/array.h"
#include "util/log.h"
#include "util/text.h"

/* Entries of one kind by their form. */
struct forms {
	struct known_form {
		uint64_t hash;
		uint32_t index; /* + 1; 0: none */
		uint8_t *bytes;
		size_t size;
	} * slots;
	size_t room, count; /* room: a power of two */
};

struct join {
	struct definitions *d;
	struct forms images, probes, unseen, chains;
	struct buffer form;
	size_t parts, open_ended; /* of these, whose queues were not looked at */
};

/* Of the recording that is being joined. */
struct joining {
	struct join *join;
	const struct join_source *source;
	const struct definitions *from;
	struct joined_part *part;
	uint32_t *images; /* index, by its own */
	uint32_t first_process, first_thread, first_node;
};

/* --- forms ------------------------------------------------------------------ */

static void forms_free(struct forms *forms)
{
	for (size_t i = 0; i < forms->room; i++)
		free(forms->slots[i].bytes);
	free(forms->slots);
}

static struct known_form *forms_slot(const struct forms *forms, uint64_t hash, const uint8_t *bytes, size_t size)
{
	size_t at = hash & (forms->room - 1);

	while (forms->slots[at].index && (forms->slots[at].hash != hash || forms->slots[at].size != size ||
					  memcmp(forms->slots[at].bytes, bytes, size) != 0))
		at = (at + 1) & (forms->room - 1);
	return &forms->slots[at];
}

static int forms_grow(struct forms *forms)
{
	struct forms grown = { .room = forms->room ? 2 * forms->room : 64, .count = forms->count };

	if (2 * forms->count < forms->room)
		return 0;
	grown.slots = calloc(grown.room, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < forms->room; i++) {
		struct known_form *form = &forms->slots[i];

		if (form->index)
			*forms_slot(&grown, form->hash, form->bytes, form->size) = *form;
	}
	free(forms->slots);
	*forms = grown;
	return 0;
}

/* The place of what has this form: with index 0 it is new, and the caller sets that. NULL: no memory. */
static struct known_form *forms_find(struct forms *forms, const struct buffer *bytes)
{
	uint64_t hash = 0xcbf29ce484222325ULL;
	struct known_form *form;

	if (bytes->failed || forms_grow(forms))
		return NULL;
	for (size_t i = 0; i < bytes->size; i++)
		hash = (hash ^ bytes->data[i]) * 0x100000001b3ULL;
	hash ^= hash >> 29;
	form = forms_slot(forms, hash, bytes->data, bytes->size);
	if (form->index)
		return form;
	*form = (struct known_form){ .hash = hash, .size = bytes->size, .bytes = malloc(bytes->size + 1) };
	if (!form->bytes)
		return NULL;
	memcpy(form->bytes, bytes->data, bytes->size);
	return form;
}

/* --- entries ---------------------------------------------------------------- */

static const struct kind *kind_named(uint32_t type)
{
	const struct kind *kind = kinds;

	while (kind->type != type)
		kind++;
	return kind;
}

/* What follows from one form: an entry of its own. Its members are checked when it is written. */
static int add_form(struct joining *j, const struct kind *kind, uint32_t *index)
{
	struct buffer *form = &j->join->form;
	struct cursor in = { form->data, form->data + form->size, false };

	if (form->failed)
		return -ENOMEM;
	if (kind_count(kind, j->join->d) >= kind->most) {
		log_error("%s: together the recordings have more definitions than one may have: merge fewer",
			  log_safe(j->source->name));
		return -E2BIG;
	}
	*index = definitions_add(j->join->d, kind);
	if (*index == NO_INDEX || entry_decode(&in, kind->fields, kind->size, kind_entry(kind, j->join->d, *index)))
		return -ENOMEM;
	return 0;
}

/* entry: a copy whose texts are still those of the recording. */
static int add_copy(struct joining *j, uint32_t type, const void *entry, uint32_t *index)
{
	const struct kind *kind = kind_named(type);
	uint32_t at;
	int error;

	buffer_clear(&j->join->form);
	entry_encode(&j->join->form, kind->fields, entry);
	error = add_form(j, kind, &at);
	if (index)
		*index = at;
	return error;
}

/* The same, if there is none of this form yet; *is_new tells. */
static int share_copy(struct joining *j, uint32_t type, struct forms *forms, const void *entry, uint32_t *index,
		      bool *is_new)
{
	struct buffer *bytes = &j->join->form;
	const struct kind *kind = kind_named(type);
	struct known_form *form;
	int error;

	buffer_clear(bytes);
	entry_encode(bytes, kind->fields, entry);
	form = forms_find(forms, bytes);
	if (!form)
		return -ENOMEM;
	*is_new = !form->index;
	if (*is_new) {
		error = add_form(j, kind, index);
		if (error)
			return error;
		form->index = *index + 1;
		forms->count++;
	}
	*index = form->index - 1;
	return 0;
}

static uint64_t moved(const struct joining *j, uint64_t time)
{
	return j->source->time ? j->source->time(j->source->context, time) : time;
}

/* Where 0 says something else. */
static uint64_t moved_if(const struct joining *j, uint64_t time)
{
	return time ? moved(j, time) : 0;
}

static uint32_t process_of(const struct joining *j, uint32_t index)
{
	return index == NO_INDEX ? NO_INDEX : j->first_process + index;
}

static uint32_t thread_of(const struct joining *j, uint32_t index)
{
	return index == NO_INDEX ? NO_INDEX : j->first_thread + index;
}

/* A recording that was merged itself has nodes of its own. */
static uint32_t node_of(const struct joining *j, uint32_t node)
{
	return j->first_node + (node ? node : 1);
}

/* --- what is shared ---------------------------------------------------------- */

static int join_images(struct joining *j)
{
	bool is_new;
	int error = 0;

	for (size_t i = 0; i < j->from->nimages && !error; i++)
		error = share_copy(j, CHUNK_IMAGES, &j->join->images, &j->from->images[i], &j->images[i], &is_new);
	return error;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void set_prices(struct def_probe *to, const struct def_probe *from, bool is_new)
{
	to->cost_ns = larger(to->cost_ns, from->cost_ns);
	to->skipped_ns = larger(to->skipped_ns, from->skipped_ns);
	to->floor_ns = is_new ? from->floor_ns : smaller(to->floor_ns, from->floor_ns);
	to->out_ns = to->out_ns > from->out_ns ? to->out_ns : from->out_ns;
}

static int join_probes(struct joining *j)
{
	int error = 0;

	for (size_t i = 0; i < j->from->nprobes && !error; i++) {
		struct def_probe probe = j->from->probes[i];
		uint32_t *index = &j->part->probes[i];
		bool is_new;

		probe.image = j->images[probe.image];
		probe.cost_ns = probe.skipped_ns = probe.floor_ns = 0;
		probe.out_ns = 0;
		error = share_copy(j, CHUNK_PROBES, &j->join->probes, &probe, index, &is_new);
		if (!error)
			set_prices(&j->join->d->probes[*index], &j->from->probes[i], is_new);
	}
	return error;
}

static int join_unseen(struct joining *j)
{
	uint32_t index;
	bool is_new;
	int error = 0;

	for (size_t i = 0; i < j->from->nunseen && !error; i++)
		error = share_copy(j, CHUNK_UNSEEN, &j->join->unseen, &j->from->unseen[i], &index, &is_new);
	return error;
}

static int join_chains(struct joining *j)
{
	int error = 0;

	for (size_t i = 0; i < j->from->nchains && !error; i++) {
		struct def_chain chain = j->from->chains[i];
		uint32_t index;
		bool is_new;

		chain.looks = 0;
		error = share_copy(j, CHUNK_CHAINS, &j->join->chains, &chain, &index, &is_new);
		if (!error)
			j->join->d->chains[index].looks += j->from->chains[i].looks;
	}
	return error;
}

/* --- what is of one recording --------------------------------------------------- */

static int join_nodes(struct joining *j)
{
	struct def_node whole = j->source->node;
	int error = 0;

	for (size_t i = 0; i < j->from->nnodes && !error; i++) {
		struct def_node node = j->from->nodes[i];

		node.start = moved(j, node.start);
		node.end = moved(j, node.end);
		node.clock_of = node.clock_of ? j->first_node + node.clock_of : i ? 0 : whole.clock_of;
		node.known_by = larger(node.known_by, whole.known_by);
		node.unsure += whole.unsure;
		error = add_copy(j, CHUNK_NODES, &node, NULL);
	}
	if (error || j->from->nnodes)
		return error;
	whole.start = moved(j, whole.start);
	whole.end = moved(j, whole.end);
	return add_copy(j, CHUNK_NODES, &whole, NULL);
}

static const char launcher[] = "launcher ";

/* Which launcher stands behind a job's name; the whole where there is nothing else. NULL: none. */
static const char *launcher_in(const char *job)
{
	const char *found = job ? strstr(job, launcher) : NULL;

	return found && (found == job || (found - job > 2 && !strncmp(found - 2, ", ", 2))) ? found : NULL;
}

/* Has the job with a name only this launcher on its node? */
static bool is_only_launcher(const struct definitions *d, const char *job, size_t name)
{
	for (size_t i = 0; i < d->nprocesses; i++) {
		const char *other = d->processes[i].job;

		if (other && !strncmp(other, job, name) && strcmp(other, job) != 0)
			return false;
	}
	return true;
}

/*
 * What tells jobs apart on one node is the launcher's pid there. Of several nodes the job's name does, where it has
 * one; else it is said whose launcher that is. malloc'ed.
 */
static char *job_of(const struct joining *j, const char *job)
{
	const char *found = j->source->several && !j->from->nnodes ? launcher_in(job) : NULL;
	char *text;

	if (!found)
		return strdup(job);
	if (found != job && is_only_launcher(j->from, job, found - job))
		return strndup(job, found - job - 2);
	return asprintf(&text, "%s on %s", job, j->source->node.host ?: "?") < 0 ? NULL : text;
}

static int join_processes(struct joining *j)
{
	int error = 0;

	for (size_t i = 0; i < j->from->nprocesses && !error; i++) {
		struct def_process process = j->from->processes[i];

		process.start = moved_if(j, process.start);
		process.end = moved_if(j, process.end);
		process.node = node_of(j, process.node);
		if (process.job)
			process.job = job_of(j, process.job);
		if (!process.job && j->from->processes[i].job)
			return -ENOMEM;
		error = add_copy(j, CHUNK_PROCESSES, &process, NULL);
		free(process.job);
	}
	return error;
}

static int join_threads(struct joining *j)
{
	int error = 0;

	for (size_t i = 0; i < j->from->nthreads && !error; i++) {
		struct def_thread thread = j->from->threads[i];

		thread.process = process_of(j, thread.process);
		error = add_copy(j, CHUNK_THREADS, &thread, NULL);
	}
	return error;
}

static int join_sites(struct joining *j)
{
	int error = 0;

	for (size_t i = 0; i < j->from->nsites && !error; i++) {
		struct def_site site = j->from->sites[i];

		site.process = process_of(j, site.process);
		site.image = site.image == NO_INDEX ? NO_INDEX : j->images[site.image];
		error = add_copy(j, CHUNK_SITES, &site, NULL);
	}
	return error;
}

static int join_sums(struct joining *j)
{
	int error = 0;

	for (size_t i = 0; i < j->from->nsums && !error; i++) {
		struct def_sum sum = j->from->sums[i];

		sum.thread = thread_of(j, sum.thread);
		sum.probe = j->part->probes[sum.probe];
		error = add_copy(j, CHUNK_SUMS, &sum, NULL);
	}
	return error;
}

static int join_steps(struct joining *j)
{
	int error = 0;

	for (size_t i = 0; i < j->from->nsteps && !error; i++) {
		struct def_step step = j->from->steps[i];

		step.time = moved(j, step.time);
		step.probe = j->part->probes[step.probe];
		step.thread = thread_of(j, step.thread);
		step.node = node_of(j, step.node);
		error = add_copy(j, CHUNK_STEPS, &step, NULL);
	}
	return error;
}

static int join_controls(struct joining *j)
{
	int error = 0;

	for (size_t i = 0; i < j->from->ncontrols && !error; i++) {
		struct def_control control = j->from->controls[i];

		control.time = moved(j, control.time);
		control.process = process_of(j, control.process);
		control.thread = thread_of(j, control.thread);
		error = add_copy(j, CHUNK_CONTROLS, &control, NULL);
	}
	return error;
}

static int join_comms(struct joining *j)
{
	int error = 0;

	for (size_t i = 0; i < j->from->ncomms && !error; i++) {
		struct def_comm comm = j->from->comms[i];

		comm.since = moved_if(j, comm.since);
		comm.process = process_of(j, comm.process);
		error = add_copy(j, CHUNK_COMMS, &comm, NULL);
	}
	return error;
}

static int join_texts(struct joining *j)
{
	int error = 0;

	for (size_t i = 0; i < j->from->ntexts && !error; i++) {
		struct def_text text = j->from->texts[i];

		text.time = moved_if(j, text.time);
		text.process = process_of(j, text.process);
		error = add_copy(j, CHUNK_TEXTS, &text, NULL);
	}
	return error;
}

static int join_windows(struct joining *j)
{
	int error = 0;

	for (size_t i = 0; i < j->from->nwindows && !error; i++) {
		struct def_window window = j->from->windows[i];

		window.from = moved_if(j, window.from);
		window.to = moved_if(j, window.to);
		window.process = process_of(j, window.process);
		window.loader = process_of(j, window.loader);
		error = add_copy(j, CHUNK_WINDOWS, &window, NULL);
	}
	return error;
}

static int join_queues(struct joining *j)
{
	int error = 0;

	for (size_t i = 0; i < j->from->nqueues && !error; i++) {
		struct def_queue queue = j->from->queues[i];

		queue.from = moved(j, queue.from);
		queue.to = moved(j, queue.to);
		queue.thread = thread_of(j, queue.thread);
		error = add_copy(j, CHUNK_QUEUES, &queue, NULL);
	}
	return error;
}

/* --- the run ------------------------------------------------------------------- */

static int take_text(char **to, const char *from)
{
	if (*to || !from)
		return 0;
	*to = strdup(from);
	return *to ? 0 : -ENOMEM;
}

/* "one and 3 others", where they differ. */
static int count_text(char **to, const char *first, const char *from, size_t *others)
{
	char *text;

	if (!from || same_text(first, from))
		return 0;
	if (asprintf(&text, "%s and %zu other%s", first, *others + 1, *others ? "s" : "") < 0)
		return -ENOMEM;
	++*others;
	free(*to);
	*to = text;
	return 0;
}

static void join_prices(struct def_run *to, const struct def_run *from, bool first)
{
	for (size_t i = 0; i < sizeof(to->cost_ns) / sizeof(to->cost_ns[0]); i++) {
		to->cost_ns[i] = larger(to->cost_ns[i], from->cost_ns[i]);
		to->skipped_ns[i] = larger(to->skipped_ns[i], from->skipped_ns[i]);
		to->floor_ns[i] = first ? from->floor_ns[i] : smaller(to->floor_ns[i], from->floor_ns[i]);
	}
}

static int join_texts_of_run(struct def_run *to, const struct def_run *from)
{
	return take_text(&to->command, from->command) || take_text(&to->version, from->version) ||
			       take_text(&to->rung, from->rung) || take_text(&to->reason, from->reason)
		       ? -ENOMEM
		       : 0;
}

static int join_run(struct joining *j)
{
	struct def_run *to = &j->join->d->run;
	const struct def_run *from = &j->from->run;
	uint64_t start = moved(j, from->start), end = moved(j, from->end);
	bool first = !j->join->parts;

	if (first || start < to->start) {
		to->start_realtime = first || from->start_realtime ? from->start_realtime : to->start_realtime;
		to->start = start;
	}
	if (first || end > to->end) {
		to->end = end;
		to->end_realtime = from->end_realtime;
	}
	to->budget = first || (to->budget && from->budget) ? larger(to->budget, from->budget) : 0;
	to->own_cpu += from->own_cpu;
	to->only_sums = from->only_sums;
	j->join->open_ended += !from->queues_until;
	if (from->queues_until && (!to->queues_until || moved(j, from->queues_until) < to->queues_until))
		to->queues_until = moved(j, from->queues_until);
	join_prices(to, from, first);
	return join_texts_of_run(to, from);
}

static void join_loss(struct joining *j)
{
	struct def_loss *to = &j->join->d->loss;
	const struct def_loss *from = &j->from->loss;

	to->calls += from->calls;
	to->delivered += from->delivered;
	to->lost += from->lost;
	to->no_memory += from->no_memory;
	to->no_entry += from->no_entry;
	to->unwritten += from->unwritten;
	to->summed += from->summed;
	to->skipped += from->skipped;
	to->near += from->near;
}

/* --- all ------------------------------------------------------------------------ */

struct join *join_new(struct definitions *d)
{
	struct join *join = calloc(1, sizeof(*join));

	if (join)
		join->d = d;
	return join;
}

void join_free(struct join *join)
{
	if (!join)
		return;
	forms_free(&join->images);
	forms_free(&join->probes);
	forms_free(&join->unseen);
	forms_free(&join->chains);
	buffer_free(&join->form);
	free(join);
}

int join_add(struct join *join, const struct join_source *source, struct joined_part *part)
{
	static int (*const steps[])(struct joining *) = {
		join_run,   join_nodes,   join_processes, join_images, join_threads,  join_probes,
		join_sites, join_sums,    join_steps,     join_unseen, join_controls, join_comms,
		join_texts, join_windows, join_chains,    join_queues,
	};
	struct joining j = {
		.join = join,
		.source = source,
		.from = source->d,
		.part = part,
		.images = calloc(source->d->nimages + 1, sizeof(*j.images)),
		.first_process = join->d->nprocesses,
		.first_thread = join->d->nthreads,
		.first_node = join->d->nnodes,
	};
	int error = 0;

	*part = (struct joined_part){ .first_process = join->d->nprocesses,
				      .first_thread = join->d->nthreads,
				      .first_site = join->d->nsites,
				      .probes = calloc(source->d->nprobes + 1, sizeof(*part->probes)) };
	if (!j.images || !part->probes)
		error = -ENOMEM;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !error; i++)
		error = steps[i](&j);
	if (!error)
		join_loss(&j);
	join->parts++;
	free(j.images);
	return error;
}

static int by_time_of_step(const void *a, const void *b)
{
	const struct def_step *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

static int by_time_of_control(const void *a, const void *b)
{
	const struct def_control *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Hosts and kernels as one text each. */
static int name_nodes(struct definitions *d)
{
	size_t hosts = 0, kernels = 0;
	int error = 0;

	for (size_t i = 0; i < d->nnodes && !error; i++) {
		const struct def_node *node = &d->nodes[i], *first = &d->nodes[0];

		error = take_text(&d->run.host, node->host) ?: take_text(&d->run.kernel, node->kernel);
		if (!error && first->host)
			error = count_text(&d->run.host, first->host, node->host, &hosts);
		if (!error && first->kernel)
			error = count_text(&d->run.kernel, first->kernel, node->kernel, &kernels);
	}
	return error;
}

int join_finish(struct join *join)
{
	struct definitions *d = join->d;

	if (d->nsteps)
		qsort(d->steps, d->nsteps, sizeof(*d->steps), by_time_of_step);
	if (d->ncontrols)
		qsort(d->controls, d->ncontrols, sizeof(*d->controls), by_time_of_control);
	if (join->open_ended)
		d->run.queues_until = 0;
	return name_nodes(d);
}
