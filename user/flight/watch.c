/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * watch.c - the triggers: calls that take too long, and processes that die.
 *
 * A call is looked at when it ends; and so that a deadlock is seen, too, the calls in progress are looked at now and
 * then. A call is believed to be in progress when two looks have shown it. It fires once: what lies within it, and its
 * own end, do not.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "flight/private.h"
#include "recording/labels.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/format.h"
#include "util/log.h"

#define SETTLE 300000000ULL /* ns; when one rank dies others often follow: they come into the same dump */

static void request(struct flight *f, const char *word, uint64_t due, const char *format, ...)
{
	struct request *r = &f->triggered;
	va_list list;

	if (r->is) {
		r->more++;
		return;
	}
	*r = (struct request){ .is = true, .word = word, .due = due };
	va_start(list, format);
	vsnprintf(r->why, sizeof(r->why), format, list);
	va_end(list);
}

static char *name_process(const struct definitions *d, uint32_t process, char *text, size_t room)
{
	struct who who = who_is_process(d, process);

	return label_with_pid(&who, text, room);
}

/* --- long calls ---------------------------------------------------------- */

static const struct limit *limit_of(struct flight *f, uint32_t probe)
{
	static const struct limit none = { .ns = NO_LIMIT };
	struct limit *limit;

	if (probe >= f->nlimits && array_reach(&f->limits, &f->nlimits, (size_t)probe + 1, sizeof(*f->limits)))
		return &none;
	limit = &f->limits[probe];
	if (!limit->known) {
		limit->ns = trigger_limit(f->options, &f->d->probes[probe], &limit->trigger);
		limit->known = true;
	}
	return limit;
}

static struct thread_watch *watch_of(struct flight *f, uint32_t thread)
{
	if (thread >= f->nthreads && array_reach(&f->threads, &f->nthreads, (size_t)thread + 1, sizeof(*f->threads)))
		return NULL;
	return &f->threads[thread];
}

static void say(struct flight *f, const struct span *span, const struct limit *limit, uint64_t length, const char *verb)
{
	struct who who = who_is_thread(f->d, span->thread);
	char process[LABEL_ROOM], thread[LABEL_ROOM] = "", event[LABEL_ROOM], time[FORMAT_SIZE];

	name_process(f->d, f->d->threads[span->thread].process, process, sizeof(process));
	who.rank = -1;
	if (who.tid != who.pid)
		label_of_thread(&who, thread, sizeof(thread));
	request(f, "wait", 0, "%s%s%s: %s %s %s (%s)", process, *thread ? ", " : "", thread,
		event_label(&f->d->probes[span->probe], false, event, sizeof(event)), verb, format_time(time, length),
		log_safe(limit->trigger->text));
}

void flight_watch_span(struct flight *f, const struct span *span)
{
	struct thread_watch *watch = span->thread < f->nthreads ? &f->threads[span->thread] : NULL;
	const struct limit *limit;

	if (watch && watch->fired && span->start >= watch->fired) {
		if (span->start == watch->fired)
			watch->fired = 0;
		return;
	}
	limit = limit_of(f, span->probe);
	if (span->end - span->start > limit->ns)
		say(f, span, limit, span->end - span->start, "took");
}

struct looking {
	struct flight *flight;
	uint64_t now;
	uint32_t thread; /* the last one of which a long call has been shown */
};

static void look_at(struct looking *looking, const struct span *span)
{
	struct flight *f = looking->flight;
	const struct limit *limit = span->probe == NO_INDEX || span->thread == looking->thread
					    ? NULL
					    : limit_of(f, span->probe);
	struct thread_watch *watch;

	if (!limit || span->start > looking->now || looking->now - span->start <= limit->ns)
		return;
	watch = watch_of(f, span->thread);
	if (!watch)
		return;
	looking->thread = span->thread;
	if (watch->fired == span->start)
		return;
	if (watch->seen != span->start) {
		watch->seen = span->start; /* again with the next look */
		return;
	}
	watch->fired = span->start;
	say(f, span, limit, looking->now - span->start, "has lasted");
}

void flight_watch_open(struct flight *f, uint64_t now)
{
	struct looking looking = { f, now, NO_INDEX };
	struct open_calls open = { 0 };

	if (!f->look || now - f->looked < f->look)
		return;
	f->looked = now;
	if (!open_look(f, &open))
		for (size_t i = 0; i < open.count; i++)
			look_at(&looking, &open.spans[i]);
	open_free(&open);
}

/* --- deaths --------------------------------------------------------------- */

static uint32_t process_of(const struct definitions *d, pid_t pid)
{
	for (size_t i = d->nprocesses; i--;) /* numbers are used again: the last one */
		if (d->processes[i].pid == (uint32_t)pid)
			return i;
	return NO_INDEX;
}

void flight_process_ended(struct flight *f, pid_t pid, int status)
{
	uint32_t process = f && f->options->deaths && status ? process_of(f->d, pid) : NO_INDEX;
	uint64_t due = clock_monotonic() + SETTLE;
	char who[LABEL_ROOM];

	if (process == NO_INDEX)
		return;
	name_process(f->d, process, who, sizeof(who));
	if (WIFSIGNALED(status))
		request(f, "death", due, "%s was killed by signal %d (%s)", who, WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else
		request(f, "death", due, "%s ended with status %d", who, WEXITSTATUS(status));
}
