/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_tree.c - calls summed up by the stack that they were made on.
 *
 * The timeline tells of calls as they nest; so on each lane of each thread the calls in progress are a stack, and each
 * is the same entry of the tree as all before it of the same event and place, inside the same entry. A call's own time
 * is what is left of it: as in the profiles for speedscope, sums of an event with all that is inside are the report's.
 */
#include "export/call_tree.h"

#include <errno.h>
#include <stdlib.h>

#include <uthash.h>

#include "account/account.h"
#include "analysis/report.h"
#include "export/call.h"
#include "timeline/timeline.h"
#include "util/array.h"

struct key {
	uint32_t parent, thread, event, site;
};

struct entry {
	UT_hash_handle hh;
	struct key key;
	uint32_t call; /* index */
};

/* A call in progress. */
struct open_call {
	uint32_t call;
	uint64_t start;  /* ns */
	uint64_t inside; /* ns: of calls inside */
};

struct lane {
	struct open_call *open;
	size_t nopen, room;
};

struct lanes {
	struct lane *lanes;
	size_t nlanes;
};

struct call_tree {
	const struct definitions *d;
	struct output *out;
	struct event_names names;
	uint32_t *event_of; /* by probe */
	uint32_t *probe_of; /* by event */
	uint32_t *site_of;  /* by site: the first one that is the same place */
	struct lanes *threads;
	uint64_t *missing;
	struct tree_call *calls;
	size_t ncalls, room;
	struct entry *entries;
};

static int find_events(struct call_tree *tree)
{
	for (uint32_t i = 0; i < tree->d->nprobes; i++) {
		const struct def_probe *probe = &tree->d->probes[i];
		struct event_key key = event_key_of(probe, probe->marks & MARK_INNER);
		uint32_t known = tree->names.count, number = event_names_number(&tree->names, &key);

		if (number == NO_INDEX)
			return -ENOMEM;
		tree->event_of[i] = number;
		if (number == known)
			tree->probe_of[number] = i;
	}
	return 0;
}

struct call_tree *call_tree_new(const struct definitions *d)
{
	struct call_tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	tree->d = d;
	tree->event_of = calloc(d->nprobes + 1, sizeof(*tree->event_of));
	tree->probe_of = calloc(d->nprobes + 1, sizeof(*tree->probe_of));
	/* What called further out may differ between instructions of one line. */
	tree->site_of = d->nchains ? report_same_sites(d) : report_same_lines(d);
	tree->threads = calloc(d->nthreads + 1, sizeof(*tree->threads));
	tree->missing = calloc(d->nthreads + 1, sizeof(*tree->missing));
	if (tree->event_of && tree->probe_of && tree->site_of && tree->threads && tree->missing && !find_events(tree))
		return tree;
	call_tree_free(tree);
	return NULL;
}

void call_tree_free(struct call_tree *tree)
{
	struct entry *entry, *next;

	if (!tree)
		return;
	HASH_ITER (hh, tree->entries, entry, next) {
		HASH_DEL(tree->entries, entry);
		free(entry);
	}
	for (size_t i = 0; tree->threads && i < tree->d->nthreads; i++) {
		for (size_t lane = 0; lane < tree->threads[i].nlanes; lane++)
			free(tree->threads[i].lanes[lane].open);
		free(tree->threads[i].lanes);
	}
	free(tree->threads);
	free(tree->event_of);
	free(tree->probe_of);
	free(tree->site_of);
	free(tree->missing);
	free(tree->calls);
	event_names_free(&tree->names);
	free(tree);
}

/* --- reading ---------------------------------------------------------------------- */

/* The index; NO_INDEX: out of memory. */
static uint32_t add_call(struct call_tree *tree, const struct key *key)
{
	struct entry *entry;

	if (tree->ncalls >= NO_INDEX || array_one_more(&tree->calls, &tree->room, tree->ncalls, sizeof(*tree->calls)))
		return NO_INDEX;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NO_INDEX;
	entry->key = *key;
	entry->call = (uint32_t)tree->ncalls;
	HASH_ADD(hh, tree->entries, key, sizeof(entry->key), entry);
	if (!entry->hh.tbl) {
		free(entry);
		return NO_INDEX;
	}
	tree->calls[tree->ncalls] = (struct tree_call){
		.parent = key->parent, .thread = key->thread, .event = key->event, .site = key->site
	};
	return (uint32_t)tree->ncalls++;
}

static uint32_t find_call(struct call_tree *tree, const struct lane *lane, const struct span *span)
{
	const struct key key = {
		.parent = lane->nopen ? lane->open[lane->nopen - 1].call : NO_INDEX,
		.thread = span->thread,
		.event = tree->event_of[span->probe],
		.site = span->site < tree->d->nsites ? tree->site_of[span->site] : NO_INDEX,
	};
	struct entry *entry;

	HASH_FIND(hh, tree->entries, &key, sizeof(key), entry);
	return entry ? entry->call : add_call(tree, &key);
}

static int begin_call(struct lane *lane, uint32_t call, uint64_t time)
{
	if (array_one_more(&lane->open, &lane->room, lane->nopen, sizeof(*lane->open)))
		return -ENOMEM;
	lane->open[lane->nopen++] = (struct open_call){ .call = call, .start = time };
	return 0;
}

static void end_call(struct call_tree *tree, struct lane *lane, uint64_t time)
{
	const struct open_call *open = &lane->open[--lane->nopen];
	uint64_t took = time - open->start;

	tree->calls[open->call].self += took > open->inside ? took - open->inside : 0;
	if (lane->nopen)
		lane->open[lane->nopen - 1].inside += took;
}

static int put_event(void *context, const struct definitions *d, const struct event *event)
{
	struct call_tree *tree = context;
	struct lanes *thread = &tree->threads[event->span->thread];
	struct lane *lane;
	uint32_t call;

	if (array_reach(&thread->lanes, &thread->nlanes, event->lane + (size_t)1, sizeof(*thread->lanes)))
		return -ENOMEM;
	lane = &thread->lanes[event->lane];
	if (event->type == EVENT_END) {
		end_call(tree, lane, event->time);
		return 0;
	}
	call = find_call(tree, lane, event->span);
	if (call == NO_INDEX)
		return -ENOMEM;
	tree->calls[call].calls++;
	return event->type == EVENT_START ? begin_call(lane, call, event->time) : 0;
}

static int put_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	((struct call_tree *)context)->missing[gap->thread] += gap->count;
	return 0;
}

static void put_progress(void *context, size_t done, size_t all)
{
	output_progress(((struct call_tree *)context)->out, done, 2 * all);
}

int call_tree_read(struct call_tree *tree, struct recording *recording, struct output *out)
{
	struct timeline_ops ops = { .event = put_event, .gap = put_gap, .progress = put_progress, .context = tree };
	int error;

	tree->out = out;
	error = timeline_read(recording, &ops);
	return error ? error : add_missing_calls(tree->d, tree->missing);
}

/* --- what was found ---------------------------------------------------------------- */

const struct tree_call *call_tree_calls(const struct call_tree *tree, uint32_t *count)
{
	*count = (uint32_t)tree->ncalls;
	return tree->calls;
}

/* The first call inside, and the next one beside; NO_INDEX: none. */
struct kin {
	uint32_t inside, beside;
};

/* Of each call; after them of each thread, whose calls inside are those that nothing is around. */
static struct kin *find_kin(const struct call_tree *tree)
{
	size_t count = tree->ncalls + tree->d->nthreads;
	struct kin *kin = malloc((count + 1) * sizeof(*kin));

	for (size_t i = 0; kin && i < count; i++)
		kin[i] = (struct kin){ NO_INDEX, NO_INDEX };
	for (size_t i = tree->ncalls; kin && i--;) {
		const struct tree_call *call = &tree->calls[i];
		size_t around = call->parent != NO_INDEX ? call->parent : tree->ncalls + call->thread;

		kin[i].beside = kin[around].inside;
		kin[around].inside = (uint32_t)i;
	}
	return kin;
}

static uint32_t call_after(const struct call_tree *tree, const struct kin *kin, uint32_t at)
{
	if (kin[at].inside != NO_INDEX)
		return kin[at].inside;
	while (at != NO_INDEX && kin[at].beside == NO_INDEX)
		at = tree->calls[at].parent;
	return at == NO_INDEX ? NO_INDEX : kin[at].beside;
}

uint32_t *call_tree_order(const struct call_tree *tree)
{
	uint32_t *threads = threads_in_order(tree->d), *order = malloc((tree->ncalls + 1) * sizeof(*order));
	struct kin *kin = find_kin(tree);
	size_t told = 0;

	for (size_t i = 0; threads && order && kin && i < tree->d->nthreads; i++)
		for (uint32_t at = kin[tree->ncalls + threads[i]].inside; at != NO_INDEX;
		     at = call_after(tree, kin, at))
			order[told++] = at;
	if (!threads || !kin) {
		free(order);
		order = NULL;
	}
	free(threads);
	free(kin);
	return order;
}

const struct def_probe *call_tree_probe(const struct call_tree *tree, uint32_t event)
{
	return &tree->d->probes[tree->probe_of[event]];
}

uint32_t call_tree_events(const struct call_tree *tree)
{
	return tree->names.count;
}

const uint64_t *call_tree_missing(const struct call_tree *tree)
{
	return tree->missing;
}

const char *call_tree_callers(const struct call_tree *tree, const struct tree_call *call)
{
	const char *event = call_tree_probe(tree, call->event)->event ?: "?";
	const struct def_chain *chain;
	size_t at = 0;

	chain = chain_of_site(tree->d, call->site, event, &at);
	return chain && chain->places && !chain_of_site(tree->d, call->site, event, &at) ? chain->places : NULL;
}
