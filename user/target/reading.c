/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reading.c - how much work a file may make.
 *
 * Problem: how long it takes to look through a file is up to who made it. A hundred kilobytes of DWARF or code can
 * name the same thing over and over, a small library can have a table of names that is a gigabyte of nothing, and the
 * tool that looks runs as root, for everybody.
 *
 * So what a file's contents decide is counted: steps of each kind, each about a byte or an entry that is looked at,
 * against a limit that grows with the file. A compiler's files stay far below (docs/security.md has the figures).
 * Beyond it that kind of look at the file is over, for good: what depends on it is not known, and what is not known
 * is not probed. And what is kept of all files together has a limit in bytes.
 *
 * Which files those were is remembered, as long as they stay what they are: who maps such a file next does not make
 * that work again.
 *
 * While a thread looks through the files of others it takes a breath now and then (util/breath.h), so that who waits
 * is served, and the work can be ended.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "target/image_private.h"
#include "util/log.h"

#define NAMES_MOST (1ull << 30) /* bytes of names and symbols, over all images */
#define DWARF_MOST (2ull << 30) /* and of DWARF, unpacked */
#define STEPS_PER_BREATH 4096   /* some 10 to 100 us */
#define REMEMBERED 4096         /* files */
#define SAID_MOST 100           /* of so many files it is said; then a user could fill the log */
#define SORTED_AT_ONCE 4096

static const struct {
	uint64_t least, per_byte; /* steps, whatever its size; and for each byte of the file */
	const char *what;
} limits[EFFORTS] = {
	[EFFORT_RANGES] = { 16u << 20, 1, "the addresses of its units (DWARF): source lines are not known" },
	[EFFORT_ENDS] = { 8u << 20, 3,
			  "where its functions end: calls whose ends want to be known by that are not observed" },
	[EFFORT_TABLES] = { 64u << 20, 64,
			    "its jump tables: functions that one of them may lead into are not observed" },
	[EFFORT_UNWIND] = { 8u << 20, 8, "how its functions are left (.eh_frame): what is told by that is not known" },
	[EFFORT_SWITCHES] = { 8u << 20, 2, "whether its code changes stacks: taken to do so" },
	[EFFORT_TEXTS] = { 8u << 20, 4,
			   "which texts it has: taken to look up all names that are of interest, and what "
			   "runtimes are inside is not known" },
};

static const struct {
	uint64_t each, all; /* bytes, of one image and of all */
	const char *what;
} rooms[ROOMS] = {
	[ROOM_NAMES] = { NAMES_MOST / 2, NAMES_MOST, "names and symbols: the rest of them is left out" },
	[ROOM_DWARF] = { DWARF_MOST, DWARF_MOST, "DWARF: source lines are not known" },
};

/* A file by what it is: with other contents it is another one. */
struct remembered {
	struct file_state state;
	unsigned what; /* bits: efforts; REFUSED_* */
};

static _Thread_local struct breath *breath;
static _Thread_local uint64_t since_breath;
static atomic_size_t kept[ROOMS], refused;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct remembered files[REMEMBERED]; /* the oldest is forgotten for the newest */
static size_t nfiles, next;

/* --- taking breath ------------------------------------------------------ */

void reading_breathes(struct breath *taken)
{
	breath = taken;
}

bool reading_pauses(uint64_t steps)
{
	since_breath += steps;
	if (since_breath < STEPS_PER_BREATH)
		return breath && breath->ended;
	since_breath = 0;
	return breath_ends(breath);
}

/* --- what was refused --------------------------------------------------- */

struct file_state file_state_of(const struct stat *status)
{
	return (struct file_state){
		.device = status->st_dev,
		.inode = status->st_ino,
		.size = status->st_size,
		.changed = status->st_ctim.tv_sec * 1000000000ll + status->st_ctim.tv_nsec,
	};
}

bool file_state_is(const struct file_state *a, const struct file_state *b)
{
	return a->inode == b->inode && a->device == b->device && a->size == b->size && a->changed == b->changed;
}

/* NULL: it is not remembered. */
static struct remembered *find(const struct file_state *state)
{
	for (size_t i = 0; i < nfiles; i++)
		if (file_state_is(&files[i].state, state))
			return &files[i];
	return NULL;
}

void reading_begins(const struct image *image, const struct stat *status)
{
	struct image_private *priv = private_of(image);
	struct remembered *known;

	priv->state = file_state_of(status);
	priv->size = status->st_size;
	pthread_mutex_lock(&lock);
	known = find(&priv->state);
	priv->refused = known ? known->what : 0;
	pthread_mutex_unlock(&lock);
}

/* False: that is known already. *first: nothing of this file was. */
static bool remember(const struct file_state *state, unsigned what, bool *first)
{
	struct remembered *known;
	bool fresh;

	pthread_mutex_lock(&lock);
	known = find(state);
	*first = !known;
	if (!known) {
		known = &files[next];
		next = (next + 1) % REMEMBERED;
		nfiles += nfiles < REMEMBERED;
		*known = (struct remembered){ .state = *state };
	}
	fresh = !(known->what & what);
	known->what |= what;
	pthread_mutex_unlock(&lock);
	return fresh;
}

bool reading_refuses(const struct image *image, unsigned what)
{
	struct image_private *priv = private_of(image);
	bool first, fresh = remember(&priv->state, what, &first);
	size_t count = first ? atomic_fetch_add(&refused, 1) + 1 : atomic_load(&refused);

	priv->refused |= what;
	if (first && count == SAID_MOST + 1)
		log_warn("more files are too much to look at: they are counted (gaspbpf_files_refused_total), but not "
			 "named any more");
	return fresh && count <= SAID_MOST;
}

size_t images_refused(void)
{
	return atomic_load(&refused);
}

/* --- what is counted ---------------------------------------------------- */

bool image_reads(const struct image *image, enum effort kind, uint64_t steps)
{
	struct image_private *priv = private_of(image);

	if (priv->refused & 1u << kind)
		return true;
	priv->read[kind] += steps;
	if (priv->read[kind] <= limits[kind].least + limits[kind].per_byte * priv->size)
		return reading_pauses(steps);
	if (reading_refuses(image, 1u << kind))
		log_warn("%s: takes too long to look through: given up: %s", log_safe(image->path), limits[kind].what);
	return true;
}

bool reading_keeps(const struct image *image, enum room room, size_t bytes)
{
	struct image_private *priv = private_of(image);

	if (priv->kept[room] + bytes <= rooms[room].each) {
		if (atomic_fetch_add(&kept[room], bytes) + bytes <= rooms[room].all) {
			priv->kept[room] += bytes;
			return true;
		}
		atomic_fetch_sub(&kept[room], bytes); /* for want of room now: another time it may do */
		log_info("%s: has no room: %s", log_safe(image->path), rooms[room].what);
		return false;
	}
	if (reading_refuses(image, REFUSED_ROOM << room))
		log_warn("%s: is too much to keep: %s", log_safe(image->path), rooms[room].what);
	return false;
}

void reading_lets_go(const struct image *image, enum room room)
{
	atomic_fetch_sub(&kept[room], private_of(image)->kept[room]);
	private_of(image)->kept[room] = 0;
}

/* --- sorting ------------------------------------------------------------ */

/* Two neighbouring runs that are sorted become one. */
static void merge(char *to, const char *left, size_t nleft, const char *right, size_t nright, size_t size,
		  reading_order_fn compare, void *context)
{
	while (nleft && nright) {
		bool from_left = compare(left, right, context) <= 0;

		memcpy(to, from_left ? left : right, size);
		to += size;
		left += from_left ? size : 0;
		right += from_left ? 0 : size;
		nleft -= from_left;
		nright -= !from_left;
		if (reading_pauses(1))
			break;
	}
	memcpy(to, left, nleft * size);
	memcpy(to + nleft * size, right, nright * size);
}

int reading_sorts(void *all, size_t count, size_t size, reading_order_fn compare, void *context)
{
	char *from = all, *to = count > SORTED_AT_ONCE ? malloc(count * size) : NULL, *other = to;
	int error = 0;

	if (count > SORTED_AT_ONCE && !to)
		return -ENOMEM;
	for (size_t at = 0, some; at < count && !error; at += some) {
		some = count - at < SORTED_AT_ONCE ? count - at : SORTED_AT_ONCE;
		qsort_r(from + at * size, some, size, compare, context);
		error = reading_pauses(some) ? -ECANCELED : 0;
	}
	for (size_t run = SORTED_AT_ONCE; run < count && !error; run *= 2) {
		char *last = from;

		for (size_t at = 0; at < count; at += 2 * run) {
			size_t left = count - at < run ? count - at : run, rest = count - at - left;

			merge(to + at * size, from + at * size, left, from + (at + left) * size,
			      rest < run ? rest : run, size, compare, context);
		}
		from = to;
		to = last;
		error = reading_pauses(1) ? -ECANCELED : 0;
	}
	if (from != all)
		memcpy(all, from, count * size);
	free(other);
	return error;
}
