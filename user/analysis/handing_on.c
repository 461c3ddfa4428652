/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handing_on.c - see handing_on.h.
 *
 * Pages go round: one is being written, the others are full, or read. Who is told reads a whole page before the next
 * one does: so its code and what it knows stay in the cache.
 */
#include "analysis/handing_on.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define PAGES 4
#define PAGE_BYTES (128u << 10) /* a meeting of very many has more */

enum kind { TOLD_WORK, TOLD_CALL, TOLD_WAIT, TOLD_MESSAGE, TOLD_MEETING, TOLD_PASS, TOLD_GO_ON };

/* What one of the functions of struct relations_ops was called with. */
struct told {
	uint32_t size; /* with what follows a meeting: its calls */
	enum kind kind;
	union {
		struct related_work work;
		struct {
			struct related_call call;
			struct waited waited; /* TOLD_WAIT; it takes no room of others */
		};
		struct {
			struct related_call sends, receives;
			uint64_t bytes;
		};
		struct meeting meeting;
		struct {
			uint32_t thread;
			uint64_t time;
		} pass;
		struct gone_on gone_on;
	};
};

#define ROOM_OF(member) (offsetof(struct told, member) + sizeof(((struct told *)NULL)->member))

struct page {
	uint8_t *data;
	size_t used, room;
};

struct handing_on {
	const struct made_analysis *all[ANALYSES_MOST];
	size_t count;
	struct relations_ops ops;
	struct page pages[PAGES]; /* the n-th page is at n % PAGES */
	bool apart;               /* there is a thread that reads: */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	uint64_t written, read; /* pages */
	bool ended;
	int error; /* of whoever was told: nothing is told any more */
};

/* --- reading --------------------------------------------------------------------- */

static int tell_one(const struct made_analysis *one, struct told *told)
{
	const struct relations_ops *ops = one->is->relations;

	switch (told->kind) {
	case TOLD_WORK:
		return ops->work ? ops->work(one->state, &told->work) : 0;
	case TOLD_CALL:
		return ops->call ? ops->call(one->state, &told->call, NULL) : 0;
	case TOLD_WAIT:
		return ops->call ? ops->call(one->state, &told->call, &told->waited) : 0;
	case TOLD_MESSAGE:
		return ops->message ? ops->message(one->state, &told->sends, &told->receives, told->bytes) : 0;
	case TOLD_PASS:
		return ops->pass ? ops->pass(one->state, told->pass.thread, told->pass.time) : 0;
	case TOLD_GO_ON:
		return ops->go_on ? ops->go_on(one->state, &told->gone_on) : 0;
	default:
		told->meeting.calls = (const struct related_call *)(told + 1);
		return ops->meeting ? ops->meeting(one->state, &told->meeting) : 0;
	}
}

static int tell_page(const struct handing_on *h, const struct page *page)
{
	int error = 0;

	for (size_t i = 0; i < h->count && !error; i++)
		for (size_t at = 0; at < page->used && !error; at += ((struct told *)(page->data + at))->size)
			error = tell_one(h->all[i], (struct told *)(page->data + at));
	return error;
}

static void *read_pages(void *context)
{
	struct handing_on *h = context;

	pthread_mutex_lock(&h->lock);
	for (;;) {
		while (h->read == h->written && !h->ended)
			pthread_cond_wait(&h->changed, &h->lock);
		if (h->read == h->written)
			break;
		if (!h->error) {
			int error;

			pthread_mutex_unlock(&h->lock);
			error = tell_page(h, &h->pages[h->read % PAGES]);
			pthread_mutex_lock(&h->lock);
			h->error = error;
		}
		h->read++;
		pthread_cond_signal(&h->changed);
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* --- writing --------------------------------------------------------------------- */

/* The page is full; the next one is empty. 0, or the -errno of whoever was told. */
static int turn_page(struct handing_on *h)
{
	int error;

	if (h->apart) {
		pthread_mutex_lock(&h->lock);
		h->written++;
		pthread_cond_signal(&h->changed);
		while (h->written - h->read == PAGES)
			pthread_cond_wait(&h->changed, &h->lock);
		error = h->error;
		pthread_mutex_unlock(&h->lock);
	} else {
		error = h->error ?: tell_page(h, &h->pages[h->written % PAGES]);
		h->error = error;
	}
	h->pages[h->written % PAGES].used = 0;
	return error;
}

/* Room for one that takes so many bytes. NULL: *error. */
static struct told *put(struct handing_on *h, enum kind kind, size_t size, int *error)
{
	struct page *page = &h->pages[h->written % PAGES];
	struct told *told;

	*error = 0;
	if (page->used && page->used + size > PAGE_BYTES) {
		*error = turn_page(h);
		if (*error)
			return NULL;
		page = &h->pages[h->written % PAGES];
	}
	if (page->used + size > page->room &&
	    array_reach(&page->data, &page->room, size < PAGE_BYTES ? PAGE_BYTES : size, 1)) {
		*error = -ENOMEM;
		return NULL;
	}
	told = (struct told *)(page->data + page->used);
	told->size = size;
	told->kind = kind;
	page->used += size;
	return told;
}

static int put_work(void *context, const struct related_work *work)
{
	int error;
	struct told *told = put(context, TOLD_WORK, ROOM_OF(work), &error);

	if (told)
		told->work = *work;
	return error;
}

static int put_call(void *context, const struct related_call *call, const struct waited *waited)
{
	int error;
	struct told *told = put(context, waited ? TOLD_WAIT : TOLD_CALL, waited ? ROOM_OF(waited) : ROOM_OF(call),
				&error);

	if (!told)
		return error;
	told->call = *call;
	if (waited)
		told->waited = *waited;
	return 0;
}

static int put_message(void *context, const struct related_call *sends, const struct related_call *receives,
		       uint64_t bytes)
{
	int error;
	struct told *told = put(context, TOLD_MESSAGE, ROOM_OF(bytes), &error);

	if (!told)
		return error;
	told->sends = *sends;
	told->receives = *receives;
	told->bytes = bytes;
	return 0;
}

static int put_meeting(void *context, const struct meeting *meeting)
{
	size_t calls = meeting->ncalls * sizeof(*meeting->calls);
	int error;
	struct told *told = put(context, TOLD_MEETING, sizeof(*told) + calls, &error);

	if (!told)
		return error;
	told->meeting = *meeting;
	memcpy(told + 1, meeting->calls, calls);
	return 0;
}

static int put_pass(void *context, uint32_t thread, uint64_t time)
{
	int error;
	struct told *told = put(context, TOLD_PASS, ROOM_OF(pass), &error);

	if (!told)
		return error;
	told->pass.thread = thread;
	told->pass.time = time;
	return 0;
}

static int put_gone_on(void *context, const struct gone_on *gone_on)
{
	int error;
	struct told *told = put(context, TOLD_GO_ON, ROOM_OF(gone_on), &error);

	if (told)
		told->gone_on = *gone_on;
	return error;
}

/* --- all of it ------------------------------------------------------------------- */

struct handing_on *handing_on_begin(const struct made_analysis *all, size_t count)
{
	struct handing_on *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	for (size_t i = 0; i < count && h->count < ANALYSES_MOST; i++) {
		const struct relations_ops *ops = all[i].made ? all[i].is->relations : NULL;

		if (!ops)
			continue;
		h->all[h->count++] = &all[i];
		h->ops.work = ops->work ? put_work : h->ops.work;
		h->ops.call = ops->call ? put_call : h->ops.call;
		h->ops.message = ops->message ? put_message : h->ops.message;
		h->ops.meeting = ops->meeting ? put_meeting : h->ops.meeting;
		h->ops.pass = ops->pass ? put_pass : h->ops.pass;
		h->ops.go_on = ops->go_on ? put_gone_on : h->ops.go_on;
	}
	h->ops.context = h;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->changed, NULL);
	h->apart = h->count && !pthread_create(&h->thread, NULL, read_pages, h);
	return h;
}

const struct relations_ops *handing_on_ops(const struct handing_on *h)
{
	return &h->ops;
}

int handing_on_end(struct handing_on *h)
{
	int error = turn_page(h);

	if (h->apart) {
		pthread_mutex_lock(&h->lock);
		h->ended = true;
		pthread_cond_signal(&h->changed);
		pthread_mutex_unlock(&h->lock);
		pthread_join(h->thread, NULL);
		error = h->error;
	}
	pthread_cond_destroy(&h->changed);
	pthread_mutex_destroy(&h->lock);
	for (size_t i = 0; i < PAGES; i++)
		free(h->pages[i].data);
	free(h);
	return error;
}
