/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * communicator.c - who is in a communicator, read from the memory of a process by the facts of a layout.
 *
 * The process runs on meanwhile: the communicator may be freed, and its memory may be something else by now. So nothing
 * is believed that is not confirmed: the caller's own entry must be the rank that it is known to have, all members must
 * be of its job, sizes are bounded, and the id must be the same before and after. Whoever is not of the caller's job
 * (it was spawned, or connected to) has no rank there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/communicator.h"
#include "model/parts.h"
#include "meaning/value.h"

#define MEMBERS_MOST (1 << 22)
#define AT_ONCE 512 /* pieces of one read */
#define WINDOW 64   /* bytes of a member's object that are looked at */

/* The facts of one library. */
struct view {
	const struct parsed_model *parsed;
	const char *soname, *type;
	const struct memory *memory;
};

static const struct fact *fact_of(const struct view *view, const char *field)
{
	return fact_field(view->parsed, view->soname, view->type, field);
}

/* The type of which the library's layout says who its members are. NULL: none. */
static const char *type_with_members(const struct parsed_model *parsed, const char *soname)
{
	for (size_t i = 1; i < parsed->nlayouts; i++) {
		const struct layout *layout = &parsed->layouts[i];

		for (size_t k = 0; k < layout->nfacts; k++) {
			const struct fact *fact = &layout->facts[k];

			if (fact->field && (!strcmp(fact->field, "members") || !strcmp(fact->field, "world")) &&
			    fact_field(parsed, soname, fact->type, fact->field) == fact)
				return fact->type;
		}
	}
	return NULL;
}

bool model_has_members(const struct model *model, const char *soname)
{
	return type_with_members(model->parsed, soname);
}

/* The bits that a path ends with; false: they do not hold here. */
static bool bits_of(const struct path *path, uint64_t word, int64_t *value)
{
	uint64_t some = path->valid_count ? word >> path->valid_low : 0;

	if (path->valid_count && path->valid_count < 64)
		some &= (UINT64_C(1) << path->valid_count) - 1;
	if (path->valid_count && some != path->valid_equals)
		return false;
	if (!path->bits_count)
		return true;
	word >>= path->bits_low;
	*value = (int64_t)(path->bits_count < 64 ? word & ((UINT64_C(1) << path->bits_count) - 1) : word);
	return true;
}

/* From `start` along a fact's path. False: no such fact, or nothing can be read there. */
static bool follow(const struct view *view, const char *field, uint64_t start, int64_t *value)
{
	const struct fact *fact = fact_of(view, field);

	if (!fact || fact->null || fact->path.decoder || fact->path.kernel_decoder)
		return false;
	*value = (int64_t)start;
	for (unsigned i = 0; i < fact->path.nsteps; i++) {
		const struct step *step = &fact->path.steps[i];
		uint64_t word = 0;
		struct memory_piece piece = { (uint64_t)*value + step->offset, &word, gb_bytes_of(step->width) };

		if (!view->memory->read(view->memory->context, &piece, 1))
			return false;
		*value = (int64_t)gb_word_extend(word, step->width);
	}
	if (fact->path.string)
		*value += fact->path.string_offset;
	return bits_of(&fact->path, (uint64_t)*value, value);
}

/* Like follow(), of a path of one step within bytes that were read already. */
static bool follow_within(const struct view *view, const char *field, const uint8_t *bytes, int32_t first,
			  int64_t *value)
{
	const struct fact *fact = fact_of(view, field);
	const struct step *step = fact && fact->path.nsteps == 1 ? &fact->path.steps[0] : NULL;
	uint64_t word = 0;

	if (!step || step->offset < first || step->offset - first > (int32_t)(WINDOW - gb_bytes_of(step->width)))
		return false;
	memcpy(&word, bytes + (step->offset - first), gb_bytes_of(step->width));
	*value = (int64_t)gb_word_extend(word, step->width);
	return bits_of(&fact->path, word, value);
}

/* Which job somebody is of: two numbers. A layout without them knows of one job only. */
struct job {
	int64_t job, step;
};

/* One member: its rank in its job, and which job that is. */
struct member {
	int64_t rank;
	struct job job;
};

/* A member that has an object of its own, whose beginning has been read. */
static bool member_near(const struct view *view, const uint8_t *bytes, int32_t first, struct member *member)
{
	return follow_within(view, "member", bytes, first, &member->rank) &&
	       (!fact_of(view, "job") || follow_within(view, "job", bytes, first, &member->job.job)) &&
	       (!fact_of(view, "step") || follow_within(view, "step", bytes, first, &member->job.step));
}

/* A member whose entry is not a pointer but says it all. */
static bool member_far(const struct view *view, uint64_t entry, struct member *member)
{
	return follow(view, "far", entry, &member->rank) &&
	       (!fact_of(view, "far_job") || follow(view, "far_job", entry, &member->job.job)) &&
	       (!fact_of(view, "far_step") || follow(view, "far_step", entry, &member->job.step));
}

/* Where in a member's object the first fact lies. */
static int32_t window_start(const struct view *view)
{
	static const char *const fields[] = { "member", "job", "step" };
	int32_t first = INT32_MAX;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const struct fact *fact = fact_of(view, fields[i]);

		if (fact && fact->path.nsteps == 1 && fact->path.steps[0].offset < first)
			first = fact->path.steps[0].offset;
	}
	return first;
}

/* Bytes of an entry: a rank may be all that it is. */
static size_t entry_size(const struct view *view)
{
	const struct fact *fact = fact_of(view, "entry");

	return fact && fact->null && fact->number == 4 ? 4 : 8;
}

/* `count` entries of an array, from the first-th on. */
static bool read_entries(const struct view *view, uint64_t array, size_t first, size_t count, uint64_t *entries)
{
	size_t size = entry_size(view);
	struct memory_piece piece = { array + size * first, entries, size * count };

	if (!view->memory->read(view->memory->context, &piece, 1))
		return false;
	for (size_t i = count; size == 4 && i-- > 0;) {
		uint32_t narrow;

		memcpy(&narrow, (const uint8_t *)entries + 4 * i, sizeof(narrow));
		entries[i] = narrow;
	}
	return true;
}

/* `count` members from their entries, in as few reads as may be. */
static bool read_members(const struct view *view, const uint64_t *entries, size_t count, struct member *members)
{
	static const struct member nobody;
	uint8_t windows[AT_ONCE][WINDOW];
	struct memory_piece pieces[AT_ONCE];
	int32_t first = window_start(view);
	size_t near[AT_ONCE], nnear = 0;

	for (size_t i = 0; i < count; i++) {
		members[i] = nobody;
		if (member_far(view, entries[i], &members[i]))
			continue;
		pieces[nnear] = (struct memory_piece){ entries[i] + first, windows[nnear], WINDOW };
		near[nnear++] = i;
	}
	if (nnear && !view->memory->read(view->memory->context, pieces, nnear))
		return false;
	for (size_t i = 0; i < nnear; i++)
		if (!member_near(view, windows[i], first, &members[near[i]]))
			return false;
	return true;
}

/* The caller itself, by its entry among those of its own side: whose ranks the communicator's are. */
static bool read_own(const struct view *view, uint64_t handle, long own_rank, struct member *own)
{
	int64_t rank, array;
	uint64_t entry;

	if (!follow(view, "rank", handle, &rank) || !follow(view, "own_members", handle, &array) || rank < 0 ||
	    rank >= MEMBERS_MOST)
		return false;
	return read_entries(view, (uint64_t)array, (size_t)rank, 1, &entry) && read_members(view, &entry, 1, own) &&
	       (own_rank < 0 || own->rank == own_rank);
}

static int read_list(const struct view *view, uint64_t handle, long own_rank, struct members *members)
{
	uint64_t entries[AT_ONCE];
	struct member own, some[AT_ONCE];
	int64_t size, array;

	if (!follow(view, "size", handle, &size) || !follow(view, "members", handle, &array) || size < 1 ||
	    size > MEMBERS_MOST || !read_own(view, handle, own_rank, &own))
		return -ENODATA;
	members->ranks = calloc((size_t)size, sizeof(*members->ranks));
	if (!members->ranks)
		return -ENOMEM;
	while (members->count < (size_t)size) {
		size_t more = (size_t)size - members->count < AT_ONCE ? (size_t)size - members->count : AT_ONCE;

		if (!read_entries(view, (uint64_t)array, members->count, more, entries) ||
		    !read_members(view, entries, more, some))
			return -ENODATA;
		for (size_t i = 0; i < more; i++) {
			bool mine = some[i].job.job == own.job.job && some[i].job.step == own.job.step;

			members->ranks[members->count++] = mine && some[i].rank >= 0 && some[i].rank < INT32_MAX
								   ? some[i].rank
								   : -1;
		}
	}
	return 0;
}

/* Not of importance: where it cannot be read there is none. */
static void read_name(const struct view *view, uint64_t handle, struct members *members)
{
	int64_t address;
	struct memory_piece piece = { .bytes = members->name, .size = MEMBERS_NAME };

	if (follow(view, "name", handle, &address)) {
		piece.address = (uint64_t)address;
		if (!view->memory->read(view->memory->context, &piece, 1))
			members->name[0] = '\0';
	}
	members->name[MEMBERS_NAME] = '\0';
}

/* A handle that has a meaning by itself. */
static bool is_fixed(const struct view *view, const char *field, uint64_t handle)
{
	const struct fact *fact = fact_of(view, field);

	return fact && fact->null && (uint64_t)fact->number == handle;
}

/* A handle that tells by its own bits that it is the whole job; the caller has its own rank there. */
static bool is_whole(const struct view *view, uint64_t handle, long own_rank)
{
	int64_t rank, bits;

	return follow(view, "whole", handle, &bits) && follow(view, "rank", handle, &rank) && rank >= 0 &&
	       (own_rank < 0 || rank == own_rank);
}

static int read_fixed(const struct view *view, uint64_t handle, long own_rank, struct members *members)
{
	members->world = is_fixed(view, "world", handle) || is_whole(view, handle, own_rank);
	if (members->world)
		return 0;
	if (own_rank < 0 || !is_fixed(view, "self", handle))
		return -ENODATA;
	members->ranks = malloc(sizeof(*members->ranks));
	if (!members->ranks)
		return -ENOMEM;
	members->ranks[members->count++] = own_rank;
	return 0;
}

int model_members(const struct model *model, const char *soname, uint64_t handle, long own_rank,
		  const struct memory *memory, struct members *members)
{
	struct view view = { model->parsed, soname, type_with_members(model->parsed, soname), memory };
	int64_t before = 0, after = 0;
	int err;

	memset(members, 0, sizeof(*members));
	if (!view.type)
		return -ENODATA;
	members->has_id = follow(&view, "id", handle, &before);
	members->id = (uint32_t)before;
	err = read_fixed(&view, handle, own_rank, members);
	if (err == -ENODATA && fact_of(&view, "members"))
		err = read_list(&view, handle, own_rank, members);
	read_name(&view, handle, members);
	/* What was read belongs together if it was the same communicator all the time. */
	if (!err && members->has_id && (!follow(&view, "id", handle, &after) || after != before))
		err = -ENODATA;
	if (err) {
		free(members->ranks);
		members->ranks = NULL;
		members->count = 0;
	}
	return err;
}
