/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frames.c - what a tool's process is told, as it goes through the pipe (wire.h).
 */
#include "tool/private.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void tool_put_frame(struct tool *t, enum wire_kind kind, const struct buffer *bytes)
{
	struct wire_head head = { .kind = kind, .size = bytes->size };

	buffer_put(&t->waiting, &head, sizeof(head));
	if (bytes->size)
		buffer_put(&t->waiting, bytes->data, bytes->size);
	t->waiting.failed |= bytes->failed;
}

void tool_put_run(struct tool *t)
{
	struct buffer bytes = { 0 };

	run_put(&bytes, &t->d->run);
	tool_put_frame(t, WIRE_RUN, &bytes);
	buffer_free(&bytes);
}

void tool_put_definitions(struct tool *t)
{
	struct buffer bytes = { 0 };

	for (; t->nsites < t->d->nsites; t->nsites++)
		if (t->locate)
			t->locate(t->locate_context, t->nsites);
	definitions_put_new(&bytes, t->d, t->sent);
	/* A process may have been sent before its first call, and its rank be known since then. */
	for (size_t i = t->nthreads; i < t->d->nthreads; i++)
		definitions_put_process(&bytes, t->d, t->d->threads[i].process);
	tool_put_frame(t, WIRE_DEFINITIONS, &bytes);
	buffer_free(&bytes);
	t->nthreads = t->d->nthreads;
	t->nprobes = t->d->nprobes;
}

static bool is_defined(const struct tool *t, const struct span *span)
{
	return (span->site == NO_INDEX || span->site < t->nsites) && span->thread < t->nthreads &&
	       span->probe < t->nprobes;
}

static void forget_waiting(struct tool *t)
{
	buffer_clear(&t->waiting);
	t->written = 0;
}

/* To the thread that switched measurement; where it was somebody outside, to all threads of the process. */
static void put_control(struct tool *t, const struct def_control *control)
{
	struct wire_head head = { .kind = WIRE_CONTROL, .size = sizeof(struct wire_control) };

	if (t->nthreads < t->d->nthreads)
		tool_put_definitions(t);
	for (uint32_t i = 0; i < t->d->nthreads; i++) {
		struct wire_control c = { .time = control->time, .thread = i, .on = control->value };

		if (control->thread == NO_INDEX ? t->d->threads[i].process != control->process : control->thread != i)
			continue;
		buffer_put(&t->waiting, &head, sizeof(head));
		buffer_put(&t->waiting, &c, sizeof(c));
	}
}

void tool_put_controls(struct tool *t, uint64_t time)
{
	while (t->ncontrols < t->d->ncontrols && t->d->controls[t->ncontrols].time <= time)
		put_control(t, &t->d->controls[t->ncontrols++]);
}

void tool_put_event(struct tool *t, const struct event *event)
{
	const struct span *span = event->span;
	struct wire_event e = {
		.time = event->time,
		.start = span->start,
		.end = span->end,
		.thread = span->thread,
		.probe = span->probe,
		.site = span->site,
		.sequence = span->sequence,
		.unread = span->unread,
		.depth = span->depth,
		.reason = span->reason,
		.nwords = span->nwords,
		.type = event->type,
		.lane = event->lane,
		.level = event->level,
	};
	struct wire_head head = { .kind = WIRE_EVENT, .size = sizeof(e) + span->nwords * sizeof(span->words[0]) };

	tool_put_controls(t, event->time);
	if (!is_defined(t, span))
		tool_put_definitions(t);
	buffer_put(&t->waiting, &head, sizeof(head));
	buffer_put(&t->waiting, &e, sizeof(e));
	buffer_put(&t->waiting, span->words, span->nwords * sizeof(span->words[0]));
	t->events++;
	if (t->waiting.failed) {
		t->trouble = TROUBLE_MEMORY;
		forget_waiting(t);
	}
}

/* So many bytes have gone. Frames stand in the buffer as a whole. */
static void advance(struct tool *t, size_t size)
{
	while (size) {
		struct wire_head head;
		size_t some;

		if (!t->frame_left) {
			memcpy(&head, t->waiting.data + t->written, sizeof(head));
			t->frame_left = sizeof(head) + head.size;
		}
		some = size < t->frame_left ? size : t->frame_left;
		t->frame_left -= some;
		t->written += some;
		size -= some;
	}
}

void tool_pump(struct tool *t)
{
	while (t->written < t->waiting.size) {
		ssize_t written = write(t->process.frames, t->waiting.data + t->written, t->waiting.size - t->written);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0 && errno == EAGAIN)
			break;
		if (written < 0) { /* it reads no more, and will tell why by how it ends */
			forget_waiting(t);
			return;
		}
		advance(t, written);
	}
	if (t->written == t->waiting.size) {
		forget_waiting(t);
	} else if (t->written > t->waiting.size / 2) {
		memmove(t->waiting.data, t->waiting.data + t->written, t->waiting.size - t->written);
		t->waiting.size -= t->written;
		t->written = 0;
	}
}
