/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * read_records.c - the spans of a recording, record by record: for who reads many recordings at a time, whose files
 * rest meanwhile, closed.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/reader.h"

static const char changed[] = "it is another file by now";

void recording_rest(struct recording *r)
{
	struct stat status;

	if (!r->owned || r->fd < 0 || fstat(r->fd, &status))
		return;
	if (!r->path)
		r->path = strdup(r->name);
	if (!r->path)
		return; /* it stays open */
	r->device = status.st_dev;
	r->inode = status.st_ino;
	close(r->fd);
	r->fd = -1;
	packer_free(r->packer); /* larger than all else */
	r->packer = NULL;
}

static const char *wake(struct recording *r)
{
	struct stat status;

	if (r->fd >= 0)
		return NULL;
	r->packer = packer_new();
	if (!r->packer)
		return READER_NO_MEMORY;
	r->fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (r->fd < 0)
		return "it cannot be opened again";
	return fstat(r->fd, &status) || status.st_dev != r->device || status.st_ino != r->inode ? changed : NULL;
}

/* The next chunk. False: there is none. */
static bool begin_next(struct recording *r)
{
	bool rests = r->fd < 0;
	const char *wrong;

	if (r->next_place >= r->nplaces)
		return false;
	wrong = wake(r);
	if (!wrong)
		wrong = records_begin(r, r->next_place, &r->next);
	if (rests)
		recording_rest(r);
	if (wrong)
		reader_stop_at(r, r->next_place, false, wrong);
	else
		r->next_place++;
	return !wrong;
}

void recording_rewind(struct recording *r)
{
	r->next = (struct records){ 0 };
	r->next_place = 0;
}

int recording_next(struct recording *r, struct recorded_item *item)
{
	const char *wrong;

	item->what = RECORDED_END;
	while (!r->next.nspans && !r->next.ngaps)
		if (!begin_next(r)) {
			recording_rewind(r);
			r->next_place = r->nplaces;
			buffer_free(&r->stored);
			buffer_free(&r->decoded);
			return 0;
		}
	switch (records_next(r, &r->next, &item->span, &item->gap, &wrong)) {
	case RECORD_SPAN:
		item->what = RECORDED_SPAN;
		return 0;
	case RECORD_GAP:
		item->what = RECORDED_GAP;
		return 0;
	case RECORD_BAD:
		break;
	}
	r->next = (struct records){ 0 };
	reader_stop_at(r, r->next_place - 1, true, wrong);
	return recording_next(r, item);
}
