/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * definitions.c - what the records refer to: regions, places in the source, threads in processes on nodes.
 *
 * Names are those that Score-P gives, where it has any: "MPI Rank 3" is a process. Threads are called as in the report.
 * A string of OTF2 is UTF-8: bytes that are none stand as the characters of their numbers, as in the Chrome trace.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/call.h"
#include "export/otf2/parts.h"
#include "recording/labels.h"
#include "util/text.h"
#include "util/utf8.h"

#define NAME_SIZE 1024 /* bytes of a name of a process or thread */

struct defining {
	struct otf2 *o;
	const struct otf2_library *lib;
	OTF2_GlobalDefWriter *writer;
	uint32_t strings; /* references so far */
	OTF2_StringRef empty;
	const char *file; /* of the site before: mostly it is the same */
	OTF2_StringRef file_string;
	uint32_t groups;
	/* Of processes, which are location groups: by index, where it is not left out; and the next one. Readers want
	 * them without gaps, from 0 on. */
	uint32_t *process_group, process_groups;
};

int otf2_clean(char **text)
{
	size_t left = strlen(*text);
	char *clean = malloc(2 * left + 1), *to = clean;
	const uint8_t *at = (const uint8_t *)*text;

	if (!clean)
		return -ENOMEM;
	while (left) {
		unsigned length = utf8_length(at, left);

		if (length) {
			memcpy(to, at, length);
			to += length;
		} else {
			*to++ = (char)(0xc0 | *at >> 6);
			*to++ = (char)(0x80 | (*at & 0x3f));
			length = 1;
		}
		at += length;
		left -= length;
	}
	*to = '\0';
	free(*text);
	*text = clean;
	return 0;
}

static void check(struct defining *w, OTF2_ErrorCode code)
{
	if (code != OTF2_SUCCESS)
		otf2_fail(w->o, -EIO);
}

static void put_string_at(struct defining *w, OTF2_StringRef at, const char *text)
{
	char *copy = strdup(text);

	if (!copy || otf2_clean(&copy))
		otf2_fail(w->o, -ENOMEM);
	else
		check(w, w->lib->GlobalDefWriter_WriteString(w->writer, at, copy));
	free(copy);
}

static OTF2_StringRef put_string(struct defining *w, const char *text)
{
	put_string_at(w, w->strings, text);
	return w->strings++;
}

__attribute__((format(printf, 2, 3))) static OTF2_StringRef put_text(struct defining *w, const char *format, ...)
{
	va_list arguments;
	char *text = NULL;
	int length;
	OTF2_StringRef string = w->empty;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0) {
		otf2_fail(w->o, -ENOMEM);
		return string;
	}
	string = put_string(w, text);
	free(text);
	return string;
}

/* --- what calls are, and where they are made --------------------------------------- */

static void put_ends(struct defining *w)
{
	for (unsigned i = 1; i < ENDS; i++) {
		struct span span = { .reason = i - 1 };

		put_string_at(w, i, call_end(&span) ?: "return");
	}
}

static void put_site(struct defining *w, uint32_t index)
{
	const struct def_site *site = &w->o->d->sites[index];
	char *place = NULL;

	if (!site->function || !site->file) {
		place = site_place(w->o->d, index);
		if (!place) {
			otf2_fail(w->o, -ENOMEM);
			return;
		}
	}
	put_string_at(w, site_string(index), site->function && site->file ? site->function : place);
	free(place);
	if (site->file && site->line) {
		OTF2_StringRef file = same_text(site->file, w->file) ? w->file_string : put_string(w, site->file);

		w->file = site->file;
		w->file_string = file;
		check(w, w->lib->GlobalDefWriter_WriteSourceCodeLocation(w->writer, index, file, site->line));
	}
}

static void put_attribute(struct defining *w, OTF2_AttributeRef self, const char *name, const char *about,
			  OTF2_Type type)
{
	OTF2_StringRef called = put_string(w, name), described = put_string(w, about);

	check(w, w->lib->GlobalDefWriter_WriteAttribute(w->writer, self, called, described, type));
}

static void put_paradigms(struct defining *w)
{
	bool used[UINT8_MAX + 1] = { false };

	for (uint32_t i = 0; i < w->o->d->nprobes; i++) {
		const struct paradigm *p = w->o->regions[i].paradigm;

		if (used[p->paradigm] || p->paradigm == OTF2_PARADIGM_UNKNOWN)
			continue;
		used[p->paradigm] = true;
		check(w,
		      w->lib->GlobalDefWriter_WriteParadigm(w->writer, p->paradigm, put_string(w, p->name), p->class));
	}
}

static void put_region(struct defining *w, uint32_t number)
{
	uint32_t probe = w->o->region_probe[number] - 1;
	const struct def_probe *def = &w->o->d->probes[probe];
	size_t length;
	const char *name = otf2_region_name(def, &length);
	char label[LABEL_ROOM];
	bool inner = def->marks & MARK_INNER;
	OTF2_StringRef called = put_text(w, "%.*s%s", (int)length, name, inner ? " (inner)" : "");
	OTF2_StringRef canonical = put_string(w, def->symbol ?: name);
	OTF2_StringRef event = put_string(w, event_label(def, inner, label, sizeof(label)));

	check(w, w->lib->GlobalDefWriter_WriteRegion(
			 w->writer, number, called, canonical, event, otf2_region_role(w->o, probe),
			 w->o->regions[probe].paradigm->paradigm, OTF2_REGION_FLAG_NONE, OTF2_UNDEFINED_STRING, 0, 0));
}

/* --- who makes them ------------------------------------------------------------------ */

static void put_node_property(struct defining *w, uint32_t node, const char *name, const char *value)
{
	OTF2_AttributeValue said = { .stringRef = 0 };
	OTF2_StringRef called;

	if (!value)
		return;
	called = put_string(w, name);
	said.stringRef = put_string(w, value);
	check(w, w->lib->GlobalDefWriter_WriteSystemTreeNodeProperty(w->writer, node, called, OTF2_TYPE_STRING, said));
}

static void put_node(struct defining *w, uint32_t self, const char *host, const char *kernel)
{
	OTF2_StringRef name = put_string(w, host ?: "?"), class = put_string(w, "node");

	check(w, w->lib->GlobalDefWriter_WriteSystemTreeNode(w->writer, self, name, class, 0));
	check(w, w->lib->GlobalDefWriter_WriteSystemTreeNodeDomain(w->writer, self,
								   OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
	put_node_property(w, self, "kernel", kernel);
}

/* How a merged node's clock was set. */
static void put_clock(struct defining *w, uint32_t self, const struct def_node *node)
{
	static const char *const known[] = {
		[CLOCK_REFERENCE] = "the reference",
		[CLOCK_BOUNDS] = "messages and meetings",
		[CLOCK_ANCHORS] = "CLOCK_REALTIME",
	};
	OTF2_AttributeValue value;
	OTF2_StringRef name;

	put_node_property(w, self, "clock known by",
			  node->known_by < sizeof(known) / sizeof(*known) ? known[node->known_by] : "?");
	name = put_string(w, "clock added/ns");
	value.int64 = (int64_t)node->offset;
	check(w, w->lib->GlobalDefWriter_WriteSystemTreeNodeProperty(w->writer, self, name, OTF2_TYPE_INT64, value));
	if (node->known_by != CLOCK_BOUNDS)
		return;
	name = put_string(w, "clock not further off than/ns");
	value.uint64 = node->unsure;
	check(w, w->lib->GlobalDefWriter_WriteSystemTreeNodeProperty(w->writer, self, name, OTF2_TYPE_UINT64, value));
}

/* The machine, below it the nodes from 1 on, and last one for ranks that were not observed. */
static void put_nodes(struct defining *w)
{
	const struct definitions *d = w->o->d;
	OTF2_StringRef name = put_string(w, d->run.host ?: "?"), class = put_string(w, "machine");

	check(w,
	      w->lib->GlobalDefWriter_WriteSystemTreeNode(w->writer, 0, name, class, OTF2_UNDEFINED_SYSTEM_TREE_NODE));
	check(w, w->lib->GlobalDefWriter_WriteSystemTreeNodeDomain(w->writer, 0, OTF2_SYSTEM_TREE_DOMAIN_MACHINE));
	if (!d->nnodes)
		put_node(w, 1, d->run.host, d->run.kernel);
	for (uint32_t i = 0; i < d->nnodes; i++) {
		put_node(w, i + 1, d->nodes[i].host, d->nodes[i].kernel);
		put_clock(w, i + 1, &d->nodes[i]);
	}
}

static uint32_t node_of(const struct definitions *d, const struct def_process *p)
{
	return p->node && p->node <= d->nnodes ? p->node : 1;
}

/* "MPI Rank 3" */
static OTF2_StringRef put_rank(struct defining *w, const char *unit, long rank, const char *job, const char *more)
{
	const struct paradigm *p = paradigm_of_unit(unit);
	const char *word = unit ?: "rank";

	return put_text(w, "%s%s%c%s %ld%s%s%s", p->model ? p->name : "", p->model ? " " : "", toupper(*word),
			*word ? word + 1 : "", rank, job ? " of " : "", job ?: "", more);
}

static void put_process(struct defining *w, uint32_t index)
{
	uint32_t group = w->process_group[index] = w->process_groups++;
	const struct def_process *p = &w->o->d->processes[index];
	char text[NAME_SIZE];
	OTF2_AttributeValue value;
	OTF2_StringRef name;

	process_text(w->o->d, index, text, sizeof(text));
	name = p->rank >= 0 ? put_rank(w, p->unit, p->rank, p->job, "") : put_string(w, text);
	check(w, w->lib->GlobalDefWriter_WriteLocationGroup(w->writer, group, name, OTF2_LOCATION_GROUP_TYPE_PROCESS,
							    node_of(w->o->d, p), OTF2_UNDEFINED_LOCATION_GROUP));
	name = put_string(w, "pid");
	value.uint32 = p->pid;
	check(w, w->lib->GlobalDefWriter_WriteLocationGroupProperty(w->writer, group, name, OTF2_TYPE_UINT32, value));
	if (!p->command)
		return;
	name = put_string(w, "command");
	value.stringRef = put_string(w, p->command);
	check(w, w->lib->GlobalDefWriter_WriteLocationGroupProperty(w->writer, group, name, OTF2_TYPE_STRING, value));
}

/* Of a rank that was not observed. */
static void put_absent(struct defining *w, uint32_t location)
{
	const struct person *person = &w->o->people[w->o->locations[location].lane];
	uint32_t group = w->process_groups++;
	OTF2_StringRef name = put_rank(w, w->o->jobs[person->job].unit, person->rank, w->o->jobs[person->job].name,
				       ", not observed");

	check(w, w->lib->GlobalDefWriter_WriteLocationGroup(w->writer, group, name, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
							    OTF2_UNDEFINED_LOCATION_GROUP));
	check(w, w->lib->GlobalDefWriter_WriteLocation(w->writer, location, name, OTF2_LOCATION_TYPE_CPU_THREAD, 0,
						       group));
}

static void put_location(struct defining *w, uint32_t location)
{
	const struct definitions *d = w->o->d;
	const struct location *l = &w->o->locations[location];
	const struct def_process *p;
	char text[NAME_SIZE];
	OTF2_AttributeValue value;
	OTF2_StringRef name;

	if (l->thread == NO_INDEX) {
		put_absent(w, location);
		return;
	}
	struct who who = who_is_thread(d, l->thread);

	p = thread_process(d, l->thread);
	lane_text(&who, l->lane, text, sizeof(text));
	name = put_string(w, text);
	check(w, w->lib->GlobalDefWriter_WriteLocation(
			 w->writer, location, name, OTF2_LOCATION_TYPE_CPU_THREAD, l->records,
			 p ? w->process_group[d->threads[l->thread].process] : OTF2_UNDEFINED_LOCATION_GROUP));
	name = put_string(w, "tid");
	value.uint32 = d->threads[l->thread].tid;
	check(w, w->lib->GlobalDefWriter_WriteLocationProperty(w->writer, location, name, OTF2_TYPE_UINT32, value));
}

/* --- communicators ------------------------------------------------------------------ */

/* All members of a paradigm: all ranks of all jobs. */
static void put_everybody(struct defining *w, OTF2_Paradigm paradigm)
{
	uint64_t *members = calloc(w->o->npeople + 1, sizeof(*members));

	if (!members) {
		otf2_fail(w->o, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < w->o->npeople; i++)
		members[i] = w->o->people[i].location == NO_INDEX ? OTF2_UNDEFINED_LOCATION : w->o->people[i].location;
	check(w, w->lib->GlobalDefWriter_WriteGroup(w->writer, w->groups++, w->empty, OTF2_GROUP_TYPE_COMM_LOCATIONS,
						    paradigm, OTF2_GROUP_FLAG_NONE, (uint32_t)w->o->npeople, members));
	free(members);
}

static void put_everybodies(struct defining *w)
{
	bool used[UINT8_MAX + 1] = { false };

	for (size_t i = 0; i < w->o->ncomms; i++) {
		if (!used[w->o->comms[i].paradigm])
			put_everybody(w, w->o->comms[i].paradigm);
		used[w->o->comms[i].paradigm] = true;
	}
}

/* By their places among everybody. How many; 0: they are not all known. */
static uint32_t find_members(const struct otf2 *o, const struct comm *comm, uint64_t *members, uint32_t all)
{
	const struct job *job = &o->jobs[comm->job];
	uint64_t count = comm->def && comm->def->size ? comm->def->size : all;

	if (count > all || (!comm->def && !comm->world))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		int64_t rank = comm->def ? comm_world_rank(comm->def, i) : job->first + i;

		if (rank < job->first || rank > job->last)
			return 0;
		members[i] = job->at + (uint64_t)(rank - job->first);
	}
	return (uint32_t)count;
}

/* The group of its members; one without any where they are not known. */
static OTF2_GroupRef put_members(struct defining *w, const struct comm *comm)
{
	const struct job *job = &w->o->jobs[comm->job];
	uint32_t all = (uint32_t)(job->last - job->first + 1), count;
	uint64_t *members = calloc(all + 1, sizeof(*members));
	OTF2_StringRef name = w->empty;

	if (!members) {
		otf2_fail(w->o, -ENOMEM);
		return OTF2_UNDEFINED_GROUP;
	}
	count = find_members(w->o, comm, members, all);
	if (!count)
		name = put_string(w, "members are not known");
	check(w, w->lib->GlobalDefWriter_WriteGroup(w->writer, w->groups, name, OTF2_GROUP_TYPE_COMM_GROUP,
						    comm->paradigm, OTF2_GROUP_FLAG_NONE, count, members));
	free(members);
	return w->groups++;
}

static OTF2_StringRef comm_name(struct defining *w, const struct comm *comm)
{
	const char *job = w->o->jobs[comm->job].name;

	if (comm->def && comm->def->name && *comm->def->name)
		return put_string(w, comm->def->name);
	if (comm->world)
		return put_text(w, "%s, all%s%s", comm->of, job ? " of " : "", job ?: "");
	if (comm->id == UINT64_MAX)
		return put_text(w, "%s communicator", comm->of);
	return put_text(w, "%s communicator %llu", comm->of, (unsigned long long)comm->id);
}

static void put_comm(struct defining *w, uint32_t index)
{
	const struct comm *comm = &w->o->comms[index];
	OTF2_GroupRef group = put_members(w, comm);
	OTF2_StringRef name = comm_name(w, comm);

	check(w, w->lib->GlobalDefWriter_WriteComm(w->writer, index, name, group, OTF2_UNDEFINED_COMM,
						   OTF2_COMM_FLAG_NONE));
}

static void put_window(struct defining *w, uint32_t index)
{
	const struct window *window = &w->o->windows[index];
	OTF2_StringRef name;

	if (window->ordinal)
		name = put_text(w, "%s window %u", window->of, window->ordinal);
	else if (window->comm == OTF2_UNDEFINED_COMM)
		name = put_text(w, "%s window, not seen when it was made", window->of);
	else
		name = put_text(w, "%s memory of all", window->of);
	check(w, w->lib->GlobalDefWriter_WriteRmaWin(w->writer, index, name, window->comm, OTF2_RMA_WIN_FLAG_NONE));
}

/* --- all ----------------------------------------------------------------------------- */

static void put_all(struct defining *w)
{
	const struct definitions *d = w->o->d;
	const struct def_run *run = &d->run;

	put_string_at(w, 0, "");
	check(w, w->lib->GlobalDefWriter_WriteClockProperties(w->writer, 1000000000, run->start,
							      run->end > run->start ? run->end - run->start : 0,
							      run->start_realtime ?: OTF2_UNDEFINED_TIMESTAMP));
	put_ends(w);
	for (uint32_t i = 0; i < d->nsites && !w->o->error; i++)
		put_site(w, i);
	put_attribute(w, ATTRIBUTE_SITE, "call site", "the line of the source that makes the call",
		      OTF2_TYPE_SOURCE_CODE_LOCATION);
	put_attribute(w, ATTRIBUTE_CALLER, "caller", "the function that makes the call", OTF2_TYPE_STRING);
	put_attribute(w, ATTRIBUTE_END, "end", "how the call ended, where it did not return", OTF2_TYPE_STRING);
	put_attribute(w, ATTRIBUTE_PLACE, "site", "where the call is made, without a line", OTF2_TYPE_STRING);
	put_paradigms(w);
	for (uint32_t i = 0; i < w->o->names.count && !w->o->error; i++)
		put_region(w, i);
	put_nodes(w);
	for (uint32_t i = 0; i < d->nprocesses && !w->o->error; i++)
		if (!d->processes[i].left_out)
			put_process(w, i);
	for (uint32_t i = 0; i < w->o->nlocations && !w->o->error; i++)
		if (location_is_shown(w->o, i))
			put_location(w, i);
	put_everybodies(w);
	for (uint32_t i = 0; i < w->o->ncomms && !w->o->error; i++)
		put_comm(w, i);
	for (uint32_t i = 0; i < w->o->nwindows && !w->o->error; i++)
		put_window(w, i);
}

/* Readers look for a file of definitions of each location: there is nothing in it. */
static int put_local(struct otf2 *o, OTF2_Archive *archive)
{
	int error = o->library->Archive_OpenDefFiles(archive) == OTF2_SUCCESS ? 0 : -EIO;

	for (uint32_t i = 0; i < o->nlocations && !error; i++) {
		OTF2_DefWriter *writer;

		if (!location_is_shown(o, i))
			continue;
		writer = o->library->Archive_GetDefWriter(archive, i);
		if (!writer || o->library->Archive_CloseDefWriter(archive, writer) != OTF2_SUCCESS)
			error = -EIO;
	}
	if (!error && o->library->Archive_CloseDefFiles(archive) != OTF2_SUCCESS)
		error = -EIO;
	return error ? otf2_fail(o, error) : 0;
}

int otf2_definitions_write(struct otf2 *o, OTF2_Archive *archive)
{
	struct defining w = { .o = o,
			      .lib = o->library,
			      .writer = o->library->Archive_GetGlobalDefWriter(archive),
			      .strings = site_string((uint32_t)o->d->nsites),
			      .process_group = calloc(o->d->nprocesses + 1, sizeof(*w.process_group)) };

	if (!w.writer || !w.process_group) {
		free(w.process_group);
		return otf2_fail(o, w.writer ? -ENOMEM : -EIO);
	}
	put_all(&w);
	free(w.process_group);
	return o->error ?: put_local(o, archive);
}
