/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * otf2.c - a recording as an archive of OTF2, for Vampir, Score-P's tools and others.
 *
 * parts.h tells the way. The library keeps all that it is given in memory unless it is refused more of it: each buffer
 * gets one piece, and is written when that is full.
 *
 * Of calls on a lane but the first (several stacks of a thread) there is a location for each lane, since OTF2 wants
 * calls of a location to nest. Threads have the location of their number among the definitions; lanes, and ranks that
 * were not observed, come behind them.
 */
#include "export/otf2/otf2.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/otf2/parts.h"
#include "export/output.h"
#include "util/array.h"
#include "util/files.h"
#include "util/log.h"

#define CHUNK_EVENTS (1 << 20)
#define CHUNK_DEFINITIONS (4 << 20)

int otf2_fail(struct otf2 *o, int error)
{
	if (!o->error)
		o->error = error;
	return error;
}

void otf2_progress(struct otf2 *o, size_t done, size_t all)
{
	tell_progress(&o->percent, o->name, done, all);
}

/* --- what the library asks ------------------------------------------------- */

static OTF2_FlushType always_flush(void *context, OTF2_FileType type, OTF2_LocationRef location, void *caller,
				   bool final)
{
	return OTF2_FLUSH;
}

/* The one piece of a buffer: of those that were got at the beginning, for the library asks for ever if it gets none. */
static void *allocate(void *context, OTF2_FileType type, OTF2_LocationRef location, void **buffer, uint64_t size)
{
	struct otf2 *o = context;
	struct piece *piece = *buffer;

	for (unsigned i = 0; !piece && i < PIECES; i++)
		if (!o->pieces[i].taken)
			piece = &o->pieces[i];
	if (!piece) {
		otf2_fail(o, -ENOMEM);
		return NULL;
	}
	*buffer = piece;
	piece->taken = true;
	if (piece->used)
		return NULL;
	piece->used = true;
	return piece->memory;
}

static void free_all(void *context, OTF2_FileType type, OTF2_LocationRef location, void **buffer, bool final)
{
	struct piece *piece = *buffer;

	if (!piece)
		return;
	piece->used = false;
	if (final) {
		piece->taken = false;
		*buffer = NULL;
	}
}

static int get_pieces(struct otf2 *o)
{
	for (unsigned i = 0; i < PIECES; i++) {
		o->pieces[i].memory = malloc(CHUNK_DEFINITIONS);
		if (!o->pieces[i].memory)
			return -ENOMEM;
	}
	return 0;
}

/* What the library means: it has few numbers of its own, and leaves the system's. */
static int cause_of(OTF2_ErrorCode code, int number)
{
	static const int causes[] = { ENOMEM, ENOSPC, EDQUOT, EFBIG, EACCES, EMFILE, ENFILE, EROFS };

	if (code == OTF2_ERROR_MEM_ALLOC_FAILED || code == OTF2_ERROR_ENOMEM)
		return ENOMEM;
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (causes[i] == number)
			return number;
	return EIO;
}

/* The first thing that it says is the cause; what follows are consequences. */
static OTF2_ErrorCode take_error(void *context, const char *file, uint64_t line, const char *function,
				 OTF2_ErrorCode code, const char *format, va_list arguments)
{
	int cause = cause_of(code, errno);
	struct otf2 *o = context;
	char text[200];

	if (o->error)
		return code;
	vsnprintf(text, sizeof(text), format, arguments);
	log_status("%s", "");
	log_error("%s: cannot write: %s (%s): make room or choose another place", log_safe(o->name), strerror(cause),
		  log_safe(text));
	otf2_fail(o, -cause);
	return code;
}

/* --- reading --------------------------------------------------------------- */

uint32_t location_of(struct otf2 *o, uint32_t thread, uint32_t lane)
{
	uint32_t at;

	if (!lane)
		return thread;
	for (at = o->extra[thread]; at; at = o->lane_before[at - 1])
		if (o->locations[at - 1].lane == lane)
			return at - 1;
	if (array_reach(&o->locations, &o->locations_room, o->nlocations + 1, sizeof(*o->locations)) ||
	    array_reach(&o->lane_before, &o->lane_room, o->nlocations + 1, sizeof(*o->lane_before)))
		return NO_INDEX;
	o->locations[o->nlocations] = (struct location){ .thread = thread, .lane = lane };
	o->lane_before[o->nlocations] = o->extra[thread];
	o->extra[thread] = ++o->nlocations;
	return o->nlocations - 1;
}

bool location_is_shown(const struct otf2 *o, uint32_t location)
{
	uint32_t thread = o->locations[location].thread;

	return thread == NO_INDEX || !thread_is_left_out(o->d, thread);
}

static int put_event(void *context, const struct definitions *d, const struct event *event)
{
	struct otf2 *o = context;
	uint32_t location = location_of(o, event->span->thread, event->lane);
	int error = location == NO_INDEX ? -ENOMEM : 0;

	if (!error && event->type != EVENT_END)
		error = otf2_call_begins(o, location, event->span);
	if (!error && event->type != EVENT_START)
		error = otf2_call_ends(o, location, event->span, event->time);
	return error ?: o->error;
}

static int put_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	return otf2_marker_gap(context, gap);
}

static int put_control(void *context, const struct definitions *d, uint32_t thread, const struct def_control *control)
{
	struct record record = { .kind = control->value ? RECORD_ON : RECORD_OFF, .time = control->time };

	return otf2_put(context, thread, &record);
}

static void put_progress(void *context, size_t done, size_t all)
{
	otf2_progress(context, done, 2 * all);
}

static int read_all(struct otf2 *o, struct recording *recording)
{
	struct timeline_ops ops = {
		.event = put_event, .gap = put_gap, .control = put_control, .progress = put_progress, .context = o
	};

	return timeline_read_merged(recording, &ops);
}

/* --- the archive ----------------------------------------------------------- */

/* "run" of "/a/run.otf2" */
static char *archive_name(const char *path)
{
	const char *base = path_base(path);
	size_t length = strlen(base), suffix = strlen(".otf2");

	return strndup(base, length > suffix ? length - suffix : length);
}

static int write_files(struct otf2 *o, OTF2_Archive *archive)
{
	static const OTF2_FlushCallbacks flush = { .otf2_pre_flush = always_flush };
	static const OTF2_MemoryCallbacks memory = { .otf2_allocate = allocate, .otf2_free_all = free_all };
	const struct otf2_library *lib = o->library;
	int error;

	if (lib->Archive_SetFlushCallbacks(archive, &flush, o) != OTF2_SUCCESS ||
	    lib->Archive_SetMemoryCallbacks(archive, &memory, o) != OTF2_SUCCESS ||
	    lib->Archive_SetSerialCollectiveCallbacks(archive) != OTF2_SUCCESS)
		return otf2_fail(o, -EIO);
	lib->Archive_SetCreator(archive, "gaspbpf " GASPBPF_VERSION);
	error = otf2_records_write(o, archive);
	if (!error)
		error = otf2_markers_write(o, archive);
	if (!error)
		error = otf2_definitions_write(o, archive);
	return error ?: o->error;
}

static int write_archive(struct otf2 *o)
{
	char *name = archive_name(o->name);
	OTF2_Archive *archive;
	int error;

	if (!name)
		return -ENOMEM;
	archive = o->library->Archive_Open(".", name, OTF2_FILEMODE_WRITE, CHUNK_EVENTS, CHUNK_DEFINITIONS,
					   OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	free(name);
	if (!archive)
		return otf2_fail(o, -EIO);
	error = write_files(o, archive);
	if (o->library->Archive_Close(archive) != OTF2_SUCCESS)
		error = error ?: otf2_fail(o, -EIO);
	return error;
}

static int otf2_open(struct otf2 *o, int spare)
{
	const struct definitions *d = o->d;

	o->spool = spool_new(spare);
	o->extra = calloc(d->nthreads + 1, sizeof(*o->extra));
	if (!o->spool || !o->extra ||
	    array_reach(&o->locations, &o->locations_room, d->nthreads + 1, sizeof(*o->locations)) ||
	    array_reach(&o->lane_before, &o->lane_room, d->nthreads + 1, sizeof(*o->lane_before)))
		return -ENOMEM;
	for (uint32_t i = 0; i < d->nthreads; i++)
		o->locations[o->nlocations++] = (struct location){ .thread = i };
	return get_pieces(o) ?: otf2_regions_open(o) ?: otf2_people_open(o);
}

static void otf2_close(struct otf2 *o)
{
	for (size_t i = 0; i < o->nlocations; i++)
		heap_free(&o->locations[i].heap);
	otf2_requests_close(o);
	otf2_people_close(o);
	otf2_regions_close(o);
	spool_free(o->spool);
	free(o->locations);
	free(o->lane_before);
	free(o->extra);
	heap_free(&o->gaps);
	for (unsigned i = 0; i < PIECES; i++)
		free(o->pieces[i].memory);
	free(o);
}

int otf2_ready(void)
{
	const struct otf2_library *library;

	return otf2_library(&library);
}

int otf2_write(struct recording *recording, int fd, int spare, const char *name)
{
	struct otf2 *o = calloc(1, sizeof(*o));
	OTF2_ErrorCallback before;
	int error;

	if (!o)
		return -ENOMEM;
	o->d = recording_definitions(recording);
	o->name = name;
	error = otf2_library(&o->library) ?: otf2_open(o, spare);
	if (!error)
		error = read_all(o, recording);
	if (!error) {
		errno = 0;
		before = o->library->Error_RegisterCallback(take_error, o);
		error = write_archive(o);
		error = o->error ?: error;
		o->library->Error_RegisterCallback(before, NULL);
	}
	log_status("%s", "");
	otf2_close(o);
	return error;
}
