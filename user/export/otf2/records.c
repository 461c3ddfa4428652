/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * records.c - records of each location on their way into its file.
 *
 * A record is put as few bytes: its kind, the time since the one before, and its numbers, each with 1 added, so that
 * the largest, which stands for "not known", is the shortest of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/otf2/parts.h"

static const uint8_t counts[RECORD_KINDS] = {
	[RECORD_ENTER] = 3,
	[RECORD_LEAVE] = 1,
	[RECORD_SEND] = 4,
	[RECORD_ISEND] = 5,
	[RECORD_ISEND_DONE] = 1,
	[RECORD_IRECV_REQUEST] = 1,
	[RECORD_RECV] = 4,
	[RECORD_IRECV] = 5,
	[RECORD_COLLECTIVE_END] = 5,
	[RECORD_COLLECTIVE_REQUEST] = 1,
	[RECORD_COLLECTIVE_DONE] = 6,
	[RECORD_RMA_COLLECTIVE_END] = 5,
	[RECORD_PUT] = 4,
	[RECORD_GET] = 4,
	[RECORD_ATOMIC] = 6,
	[RECORD_RMA_DONE] = 2,
	[RECORD_RMA_ACQUIRE] = 3,
	[RECORD_RMA_RELEASE] = 3,
	[RECORD_ACQUIRE] = 3,
	[RECORD_RELEASE] = 3,
};

int otf2_put(struct otf2 *o, uint32_t location, const struct record *record)
{
	struct location *l = &o->locations[location];
	struct buffer *piece;
	int error = spool_room(o->spool, &l->heap, &piece);
	uint64_t time = record->time > o->d->run.start ? record->time : o->d->run.start;

	if (error)
		return error;
	if (time < l->time) /* of two calls that a forged recording has in no order */
		time = l->time;
	buffer_put_varint(piece, record->kind);
	buffer_put_varint(piece, time - l->time);
	for (unsigned i = 0; i < counts[record->kind]; i++)
		buffer_put_varint(piece, record->numbers[i] + 1);
	l->time = time;
	l->records++;
	return piece->failed ? -ENOMEM : 0;
}

/* --- into the archive -------------------------------------------------------- */

struct writing {
	struct otf2 *o;
	OTF2_EvtWriter *writer;
	OTF2_AttributeList *attributes;
	uint64_t time;
};

static void add_attributes(struct writing *w, uint32_t number, uint64_t end)
{
	const struct otf2_library *lib = w->o->library;
	const struct def_site *site = number < w->o->d->nsites ? &w->o->d->sites[number] : NULL;

	if (site && site->file && site->line)
		lib->AttributeList_AddAttribute(w->attributes, ATTRIBUTE_SITE, OTF2_TYPE_SOURCE_CODE_LOCATION,
						(OTF2_AttributeValue){ .sourceCodeLocationRef = number });
	if (site)
		lib->AttributeList_AddAttribute(
			w->attributes, site->function && site->file ? ATTRIBUTE_CALLER : ATTRIBUTE_PLACE,
			OTF2_TYPE_STRING, (OTF2_AttributeValue){ .stringRef = site_string(number) });
	if (end)
		lib->AttributeList_AddAttribute(w->attributes, ATTRIBUTE_END, OTF2_TYPE_STRING,
						(OTF2_AttributeValue){ .stringRef = (uint32_t)end });
}

/* The library empties a list of attributes when it has written it. */
static OTF2_ErrorCode write_record(struct writing *w, enum record_kind kind, const uint64_t *n)
{
	const struct otf2_library *lib = w->o->library;
	OTF2_EvtWriter *to = w->writer;
	uint64_t time = w->time;

	switch (kind) {
	case RECORD_ENTER:
		add_attributes(w, n[1], n[2]);
		return lib->EvtWriter_Enter(to, w->attributes, time, n[0]);
	case RECORD_LEAVE:
		return lib->EvtWriter_Leave(to, NULL, time, n[0]);
	case RECORD_ON:
		return lib->EvtWriter_MeasurementOnOff(to, NULL, time, OTF2_MEASUREMENT_ON);
	case RECORD_OFF:
		return lib->EvtWriter_MeasurementOnOff(to, NULL, time, OTF2_MEASUREMENT_OFF);
	case RECORD_SEND:
		return lib->EvtWriter_MpiSend(to, NULL, time, n[0], n[1], n[2], n[3]);
	case RECORD_ISEND:
		return lib->EvtWriter_MpiIsend(to, NULL, time, n[0], n[1], n[2], n[3], n[4]);
	case RECORD_ISEND_DONE:
		return lib->EvtWriter_MpiIsendComplete(to, NULL, time, n[0]);
	case RECORD_IRECV_REQUEST:
		return lib->EvtWriter_MpiIrecvRequest(to, NULL, time, n[0]);
	case RECORD_RECV:
		return lib->EvtWriter_MpiRecv(to, NULL, time, n[0], n[1], n[2], n[3]);
	case RECORD_IRECV:
		return lib->EvtWriter_MpiIrecv(to, NULL, time, n[0], n[1], n[2], n[3], n[4]);
	case RECORD_COLLECTIVE_BEGIN:
		return lib->EvtWriter_MpiCollectiveBegin(to, NULL, time);
	case RECORD_COLLECTIVE_END:
		return lib->EvtWriter_MpiCollectiveEnd(to, NULL, time, n[0], n[1], n[2], n[3], n[4]);
	case RECORD_COLLECTIVE_REQUEST:
		return lib->EvtWriter_NonBlockingCollectiveRequest(to, NULL, time, n[0]);
	case RECORD_COLLECTIVE_DONE:
		return lib->EvtWriter_NonBlockingCollectiveComplete(to, NULL, time, n[0], n[1], n[2], n[3], n[4], n[5]);
	case RECORD_RMA_COLLECTIVE_BEGIN:
		return lib->EvtWriter_RmaCollectiveBegin(to, NULL, time);
	case RECORD_RMA_COLLECTIVE_END:
		return lib->EvtWriter_RmaCollectiveEnd(to, NULL, time, n[0], OTF2_RMA_SYNC_LEVEL_PROCESS, n[1], n[2],
						       n[3], n[4]);
	case RECORD_PUT:
		return lib->EvtWriter_RmaPut(to, NULL, time, n[0], n[1], n[2], n[3]);
	case RECORD_GET:
		return lib->EvtWriter_RmaGet(to, NULL, time, n[0], n[1], n[2], n[3]);
	case RECORD_ATOMIC:
		return lib->EvtWriter_RmaAtomic(to, NULL, time, n[0], n[1], n[2], n[3], n[4], n[5]);
	case RECORD_RMA_DONE:
		return lib->EvtWriter_RmaOpCompleteBlocking(to, NULL, time, n[0], n[1]);
	case RECORD_RMA_ACQUIRE:
		return lib->EvtWriter_RmaAcquireLock(to, NULL, time, n[0], n[1], n[2], OTF2_LOCK_EXCLUSIVE);
	case RECORD_RMA_RELEASE:
		return lib->EvtWriter_RmaReleaseLock(to, NULL, time, n[0], n[1], n[2]);
	case RECORD_ACQUIRE:
		return lib->EvtWriter_ThreadAcquireLock(to, NULL, time, n[0], n[1], n[2]);
	case RECORD_RELEASE:
		return lib->EvtWriter_ThreadReleaseLock(to, NULL, time, n[0], n[1], n[2]);
	default:
		return OTF2_ERROR_INVALID_DATA;
	}
}

static int write_pieces(void *context, struct cursor *pieces)
{
	struct writing *w = context;

	while (pieces->at < pieces->end) {
		uint64_t kind = cursor_varint(pieces), numbers[RECORD_NUMBERS];

		w->time += cursor_varint(pieces);
		for (unsigned i = 0; kind < RECORD_KINDS && i < counts[kind]; i++)
			numbers[i] = cursor_varint(pieces) - 1;
		if (pieces->failed || kind >= RECORD_KINDS)
			return -EIO;
		if (write_record(w, kind, numbers) != OTF2_SUCCESS)
			return otf2_fail(w->o, -EIO);
	}
	return 0;
}

static int write_location(struct otf2 *o, OTF2_Archive *archive, uint32_t location, OTF2_AttributeList *attributes)
{
	struct writing w = { .o = o, .attributes = attributes };
	int error;

	w.writer = o->library->Archive_GetEvtWriter(archive, location);
	if (!w.writer)
		return otf2_fail(o, -EIO);
	error = spool_read(o->spool, &o->locations[location].heap, write_pieces, &w);
	if (o->library->Archive_CloseEvtWriter(archive, w.writer) != OTF2_SUCCESS)
		error = error ?: otf2_fail(o, -EIO);
	heap_free(&o->locations[location].heap);
	o->locations[location].heap = (struct heap){ 0 };
	return error;
}

int otf2_records_write(struct otf2 *o, OTF2_Archive *archive)
{
	OTF2_AttributeList *attributes = o->library->AttributeList_New();
	int error = attributes ? 0 : -ENOMEM;

	if (!error && o->library->Archive_OpenEvtFiles(archive) != OTF2_SUCCESS)
		error = otf2_fail(o, -EIO);
	for (uint32_t i = 0; i < o->nlocations && !error; i++) {
		if (location_is_shown(o, i))
			error = write_location(o, archive, i, attributes);
		otf2_progress(o, o->nlocations + i + 1, 2 * o->nlocations);
	}
	if (!error && o->library->Archive_CloseEvtFiles(archive) != OTF2_SUCCESS)
		error = otf2_fail(o, -EIO);
	if (attributes)
		o->library->AttributeList_Delete(attributes);
	return error;
}
