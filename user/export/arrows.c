/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arrows.c - who sent what to whom, and who waited for whom, as arrows from call to call.
 *
 * Who waits for a sender has the arrow of the message: that wait has none of its own. Who waits for a receiver sends it
 * one, which says nothing of who waited: so there is another one, from the receiver.
 */
#include "export/arrows.h"

struct reading {
	const struct recording *chosen;
	const struct arrows_ops *ops;
};

static const char *const names[ARROW_KINDS] = {
	[ARROW_MESSAGE] = "message",
	[ARROW_LAST] = "the last one comes",
	[ARROW_ROOT] = "the root comes",
	[ARROW_LOCK] = "lock is handed over",
	[ARROW_MEMORY] = "memory is opened",
	[ARROW_ACCESS] = "the last access ends",
	[ARROW_PROGRESS] = "makes progress",
	[ARROW_NOTIFY] = "notifies",
	[ARROW_RECEIVER] = "the receiver comes",
};

const char *arrow_name(enum arrow_kind kind)
{
	return kind < ARROW_KINDS ? names[kind] : "?";
}

/* Of a wait; ARROW_MESSAGE: it has no arrow of its own. */
static enum arrow_kind kind_of(enum wait_state state)
{
	static const enum arrow_kind kinds[WAIT_STATES] = {
		[WAIT_LATE_SENDER] = ARROW_MESSAGE,   [WAIT_LATE_RECEIVER] = ARROW_RECEIVER,
		[WAIT_AT_BARRIER] = ARROW_LAST,       [WAIT_AT_NXN] = ARROW_LAST,
		[WAIT_LATE_BROADCAST] = ARROW_ROOT,   [WAIT_EARLY_REDUCE] = ARROW_LAST,
		[WAIT_FOR_LOCK] = ARROW_LOCK,         [WAIT_AT_FENCE] = ARROW_LAST,
		[WAIT_LATE_POST] = ARROW_MEMORY,      [WAIT_EARLY_WAIT] = ARROW_ACCESS,
		[WAIT_FOR_PROGRESS] = ARROW_PROGRESS, [WAIT_LATE_NOTIFY] = ARROW_NOTIFY,
	};

	return kinds[state];
}

/* The moment, or the last one that is in the call. */
static uint64_t within(const struct related_call *call, uint64_t time)
{
	uint64_t first = call->last ?: call->start, last = call->end > first ? call->end - 1 : first;

	return time < first ? first : time > last ? last : time;
}

static bool is_chosen(const struct reading *r, const struct related_call *call)
{
	return recording_has_chosen(r->chosen, call->thread, call->start, call->end);
}

/* It arrives at `time`, and was waited for until `until`. */
static int tell(const struct reading *r, enum arrow_kind kind, const struct related_call *from,
		const struct related_call *to, uint64_t time, uint64_t until)
{
	struct arrow arrow = { .begin = from->start,
			       .end = within(to, time),
			       .waited = until > to->start && until <= to->end ? until - to->start : 0,
			       .from = from->thread,
			       .to = to->thread,
			       .kind = kind };

	if (!r->ops->arrow || from->thread == to->thread || !is_chosen(r, from) || !is_chosen(r, to))
		return 0;
	return r->ops->arrow(r->ops->context, &arrow);
}

static int tell_message(void *context, const struct related_call *sends, const struct related_call *receives,
			uint64_t bytes)
{
	const struct reading *r = context;
	int error = r->ops->message ? r->ops->message(r->ops->context, sends, receives, bytes) : 0;

	return error ?: tell(r, ARROW_MESSAGE, sends, receives, sends->end, sends->start);
}

static int tell_wait(void *context, const struct related_call *call, const struct waited *waited)
{
	const struct reading *r = context;
	enum arrow_kind kind = waited ? kind_of(waited->state) : ARROW_MESSAGE;
	int error = r->ops->call ? r->ops->call(r->ops->context, call, waited) : 0;

	if (error || kind == ARROW_MESSAGE)
		return error;
	return tell(context, kind, &waited->of, call, waited->until, waited->until);
}

static int tell_work(void *context, const struct related_work *work)
{
	const struct reading *r = context;

	return r->ops->work(r->ops->context, work);
}

int arrows_read(struct relations *relations, const struct recording *chosen, const struct arrows_ops *ops)
{
	struct reading reading = { chosen, ops };
	struct relations_ops told = { .call = tell_wait,
				      .message = tell_message,
				      .work = ops->work ? tell_work : NULL,
				      .context = &reading,
				      .measures = ops->message };

	return relations_read(relations, &told, NULL, NULL);
}
