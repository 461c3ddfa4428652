/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool.c - events on their way to a tool's process, and what comes of it.
 *
 * Frames (frames.c) are made in memory and written into a pipe that does not block. Live, nothing ever waits for the
 * tool: what the pipe does not take stays in memory, up to a limit; beyond it the tool is told no more than the ENDs of
 * what it was told has begun, so that that stays nested, and the recording has all of it for gaspbpf replay. In a
 * replay it is the recording that waits.
 *
 * A tool may crash, hang, exit, or close what it did not open. It hangs where it was given something to do and made no
 * step for `patience`. Time in which gaspbpf itself stood still does not count.
 */
#include "tool/tool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/private.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/log.h"

#define LOOK_EVERY_MS 20
#define LOOK_MOST_NS 1000000000ULL /* what one look at it may add to its time without a step */
#define LOOK_EVERY 4096            /* events of a replay */
#define REPLAY_WAITING (1 << 20)   /* bytes */

/* --- how it is ---------------------------------------------------------------------- */

/* Notices that it has ended, or that it hangs, which ends it. */
static void look(struct tool *t, bool printed)
{
	const volatile struct host_status *page = t->process.page;
	uint64_t now = clock_monotonic(), since = now - t->looked, steps = page->calls + page->frames + page->state;

	t->looked = now;
	if (process_ended(&t->process)) {
		if (!t->trouble)
			t->trouble = TROUBLE_ENDED;
		return;
	}
	if (steps != t->steps || printed || page->reading)
		t->idle = 0;
	else
		t->idle += since < LOOK_MOST_NS ? since : LOOK_MOST_NS;
	t->steps = steps;
	if (t->idle < t->options.patience)
		return;
	t->trouble = TROUBLE_HUNG;
	process_kill(&t->process);
}

static void serve(struct tool *t)
{
	tool_pump(t);
	look(t, process_relay(&t->process));
}

/* Has somebody asked us to stop? fd: a signalfd that does not block, or -1. */
static bool asked_to_stop(int fd)
{
	struct signalfd_siginfo info;

	return fd >= 0 && read(fd, &info, sizeof(info)) == sizeof(info);
}

/* Until there is something to serve. */
static void wait_some(const struct tool *t, int stop)
{
	struct pollfd wait[] = {
		{ .fd = t->process.relays[0].from, .events = POLLIN },
		{ .fd = t->process.relays[1].from, .events = POLLIN },
		{ .fd = stop, .events = POLLIN },
		{ .fd = t->written < t->waiting.size ? t->process.frames : -1, .events = POLLOUT },
	};

	poll(wait, sizeof(wait) / sizeof(wait[0]), LOOK_EVERY_MS);
}

/* What it was doing, for a message. */
static const char *doing(const struct tool *t, char *text, size_t room)
{
	static const char *const types[EVENT_TYPES] = { "START", "END", "ATOMIC" };
	static const char *const calls[] = {
		[HOST_NO_CALL] = "between two events",
		[HOST_LOAD] = "while it was loaded",
		[HOST_INIT] = "in gasp_init()",
		[HOST_CONTROL] = "in its control function",
		[HOST_CREATE] = "in its create_event function",
		[HOST_LEAVE] = "at the end",
	};
	const volatile struct host_status *page = t->process.page;
	uint32_t call = page->call, probe = page->probe, type = page->type;

	if (call == HOST_NOTIFY && t->d && probe < t->d->nprobes && type < EVENT_TYPES)
		snprintf(text, room, "in its notify function, told of %s %s",
			 log_safe(t->d->probes[probe].event ?: "?"), types[type]);
	else if (call < sizeof(calls) / sizeof(calls[0]) && calls[call])
		snprintf(text, room, "%s", calls[call]);
	else
		snprintf(text, room, "in its notify function");
	return text;
}

/* What the host itself says, which a tool can have written over. */
static const char *host_text(const volatile char *text, size_t size, char *copy, size_t room)
{
	size_t length = 0;

	for (; length < size && length < room - 1 && text[length]; length++)
		copy[length] = text[length];
	copy[length] = '\0';
	return log_safe(copy);
}

/* Many a tool was written for a process and threads of its own, and dies where it has not got them. */
static void say_other_ways(const struct tool *t)
{
	char kind[40];
	const char *threads = t->options.threads ?: "one";

	if (t->process.page->threads > 1 && strcmp(threads, "process"))
		log_warn("tool %s: was told of %llu threads of the job %s; a tool that keeps things for its thread or "
			 "its process wants --tool-threads=%sprocess",
			 log_safe(t->options.library), (unsigned long long)t->process.page->threads,
			 strcmp(threads, "one") ? "in one process" : "by one thread",
			 strcmp(threads, "one") ? "" : "each, or ");
	if (!strcmp(host_text(t->process.page->kind, sizeof(t->process.page->kind), kind, sizeof(kind)), "StarPU") &&
	    !t->options.starpu)
		log_warn("tool %s: --starpu-headers=1.4 or 1.5 says with which of StarPU's headers it was compiled; "
			 "what callbacks get differs",
			 log_safe(t->options.library));
}

static void say_trouble(struct tool *t)
{
	const volatile struct host_status *page = t->process.page;
	const char *library = log_safe(t->options.library);
	int status = t->process.status;
	char text[512];

	if (t->said)
		return;
	t->said = true;
	if (t->trouble == TROUBLE_HUNG)
		log_error("tool %s: hangs %s: it made no step for %.0f s and was killed (--tool-patience)", library,
			  doing(t, text, sizeof(text)), t->options.patience / 1e9);
	else if (t->trouble == TROUBLE_STOPPED)
		log_error("tool %s: killed, since it was not to be waited for", library);
	else if (page->state == HOST_FAILED)
		log_error("tool %s: %s", library, host_text(page->error, sizeof(page->error), text, sizeof(text)));
	else if (WIFSIGNALED(status))
		log_error("tool %s: crashed (%s) %s", library, strsignal(WTERMSIG(status)),
			  doing(t, text, sizeof(text)));
	else if (page->state != HOST_ENDING)
		log_error("tool %s: ended its process (exit status %d) %s", library, WEXITSTATUS(status),
			  doing(t, text, sizeof(text)));
	else if (WEXITSTATUS(status))
		log_error("tool %s: ended with exit status %d", library, WEXITSTATUS(status));
	if (page->state != HOST_FAILED && (WIFSIGNALED(status) || page->state != HOST_ENDING) &&
	    t->trouble != TROUBLE_STOPPED)
		say_other_ways(t);
}

/* Did it go to its end, and well? */
static bool went_well(const struct tool *t)
{
	return t->process.page->state == HOST_ENDING && WIFEXITED(t->process.status) && !WEXITSTATUS(t->process.status);
}

/* --- starting ------------------------------------------------------------------------ */

static int watch_descriptors(struct tool *t)
{
	t->wake = epoll_create1(EPOLL_CLOEXEC);
	if (t->wake < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		struct epoll_event event = { .events = EPOLLIN };

		epoll_ctl(t->wake, EPOLL_CTL_ADD, t->process.relays[i].from, &event);
	}
	return 0;
}

int tool_start(struct tool **tool, const struct tool_options *options, const struct caller *caller)
{
	struct tool *t = calloc(1, sizeof(*t));
	int error;

	*tool = t;
	if (!t)
		return -ENOMEM;
	t->options = *options;
	t->wake = t->stop = t->process.frames = t->process.relays[0].from = t->process.relays[1].from = -1;
	error = process_start(&t->process, options, caller);
	if (!error)
		error = watch_descriptors(t);
	t->looked = clock_monotonic();
	while (!error && !t->trouble && t->process.page->state == HOST_STARTING) {
		wait_some(t, -1);
		serve(t);
	}
	if (error || t->process.page->state == HOST_READY)
		return error;
	while (!process_ended(&t->process) && t->process.page->state == HOST_FAILED)
		wait_some(t, -1);
	process_relay(&t->process);
	say_trouble(t);
	return -EINVAL;
}

/* --- live ------------------------------------------------------------------------------ */

/*
 * A tool that was left behind is still told the END of each START that it was told. Is this event kept from it? Room
 * for the count of STARTs that were is made as threads come; without memory it is told nothing any more.
 */
static bool withhold(struct tool *t, enum event_type type, uint32_t thread, unsigned lane)
{
	size_t at = (size_t)thread * TIMELINE_LANES + lane % TIMELINE_LANES;

	if (array_reach(&t->withheld, &t->withheld_room, at + 1, sizeof(*t->withheld))) {
		t->trouble = TROUBLE_MEMORY;
		return true;
	}
	if (type == EVENT_START)
		t->withheld[at]++;
	if (type != EVENT_END)
		return true;
	if (!t->withheld[at])
		return false;
	t->withheld[at]--;
	return true;
}

static int take_event(void *context, const struct definitions *d, const struct event *event)
{
	struct tool *t = context;

	if (t->trouble == TROUBLE_BEHIND ? withhold(t, event->type, event->span->thread, event->lane)
					 : t->trouble != NO_TROUBLE)
		t->untold++;
	else
		tool_put_event(t, event);
	return 0;
}

int tool_follow(struct tool *t, const struct definitions *d, void (*locate)(void *context, uint32_t site),
		void *context)
{
	struct timeline_ops ops = { .event = take_event, .context = t };

	t->d = d;
	t->locate = locate;
	t->locate_context = context;
	t->live = timeline_live_new(d, &ops);
	if (!t->live)
		return -ENOMEM;
	tool_put_run(t);
	return 0;
}

struct span_sink tool_sink(struct tool *t)
{
	return timeline_live_sink(t->live);
}

/* Lets go what waits. Definitions stay, and the first events, up to a quarter of what may wait: however long the first
 * burst, the tool is told its begin. */
static void forget_untaken(struct tool *t)
{
	size_t at = t->written + t->frame_left, kept = at, events = 0;

	while (at < t->waiting.size) {
		struct wire_head head;
		struct wire_event e;
		size_t size;

		memcpy(&head, t->waiting.data + at, sizeof(head));
		size = sizeof(head) + head.size;
		if (head.kind == WIRE_EVENT) {
			memcpy(&e, t->waiting.data + at + sizeof(head), sizeof(e));
			events += size;
		}
		if (head.kind == WIRE_EVENT && events > t->options.buffer / 4 &&
		    withhold(t, e.type, e.thread, e.lane)) {
			t->untold++;
			t->events--;
		} else {
			memmove(t->waiting.data + kept, t->waiting.data + at, size);
			kept += size;
		}
		at += size;
	}
	t->waiting.size = kept;
}

static void check_waiting(struct tool *t)
{
	if (t->trouble || t->waiting.size - t->written <= t->options.buffer)
		return;
	t->trouble = TROUBLE_BEHIND;
	log_warn("tool %s: does not keep up: %llu MB wait for it: it is told no more; the observation goes on, and "
		 "with -o FILE.gasp 'gaspbpf replay' "
		 "tells it everything",
		 log_safe(t->options.library), (unsigned long long)(t->waiting.size - t->written) >> 20);
	forget_untaken(t);
}

void tool_serve(struct tool *t)
{
	if (timeline_live_release(t->live) && !t->trouble)
		t->trouble = TROUBLE_MEMORY;
	if (!t->process.pid)
		return;
	serve(t);
	check_waiting(t);
	if (!t->process.pid && !t->said) {
		say_trouble(t);
		log_warn("tool %s: the observation goes on without it", log_safe(t->options.library));
	}
}

bool tool_wants_open(const struct tool *t, uint64_t time)
{
	return !t->trouble && timeline_live_waits(t->live, time);
}

void tool_open(struct tool *t, const struct span *span, bool silent)
{
	if (timeline_live_open(t->live, span, silent) && !t->trouble)
		t->trouble = TROUBLE_MEMORY;
}

int tool_fd(const struct tool *t)
{
	return t->wake;
}

/* --- a recording --------------------------------------------------------------------------- */

/* Waits until there is room. 0, or -errno to end the replay. */
static int make_room(struct tool *t, size_t most)
{
	serve(t);
	while (!t->trouble && !t->stopped && t->waiting.size - t->written > most) {
		wait_some(t, t->stop);
		t->stopped = asked_to_stop(t->stop);
		serve(t);
	}
	return t->trouble ? -EPIPE : t->stopped ? -EINTR : 0;
}

static int replay_event(void *context, const struct definitions *d, const struct event *event)
{
	struct tool *t = context;

	tool_put_event(t, event);
	if (t->events % LOOK_EVERY == 0)
		t->stopped = asked_to_stop(t->stop);
	if (t->stopped)
		return -EINTR;
	if (t->waiting.size - t->written <= REPLAY_WAITING)
		return t->trouble == TROUBLE_MEMORY ? -ENOMEM : 0;
	return make_room(t, REPLAY_WAITING / 2);
}

static void replay_progress(void *context, size_t done, size_t all)
{
	log_status("replay: %zu %%", all ? done * 100 / all : 100);
}

int tool_replay(struct tool *t, struct recording *recording, int stop)
{
	struct timeline_ops ops = { .event = replay_event, .progress = replay_progress, .context = t };
	int error;

	t->d = recording_definitions(recording);
	t->stop = stop;
	tool_put_run(t);
	error = timeline_read_merged(recording, &ops);
	log_status("%s", "");
	return error == -EPIPE || error == -EINTR ? 0 : error; /* tool_finish() says */
}

/* --- the end -------------------------------------------------------------------------------- */

static void put_end(struct tool *t)
{
	struct buffer bytes = { 0 };

	if (t->trouble != TROUBLE_BEHIND) {
		tool_put_definitions(t);
		tool_put_controls(t, UINT64_MAX);
		definitions_put_processes(&bytes, t->d); /* how they ended */
		tool_put_frame(t, WIRE_DEFINITIONS, &bytes);
		tool_put_run(t);
		buffer_clear(&bytes);
	}
	tool_put_frame(t, WIRE_END, &bytes);
	buffer_free(&bytes);
}

/* Until it has ended, by itself or not. */
static void wait_end(struct tool *t, int stop)
{
	while (t->process.pid) {
		serve(t);
		if (t->process.pid && asked_to_stop(stop)) {
			t->trouble = TROUBLE_STOPPED;
			process_kill(&t->process);
		}
		if (t->process.pid)
			wait_some(t, stop);
	}
	while (process_relay(&t->process))
		continue;
}

static void say_rubbish(const struct tool *t)
{
	uint64_t rubbish = t->process.relays[0].rubbish + t->process.relays[1].rubbish;

	if (rubbish)
		log_warn("tool %s: printed %llu bytes that are no text", log_safe(t->options.library),
			 (unsigned long long)rubbish);
}

int tool_finish(struct tool *t, int stop, bool quiet)
{
	const volatile struct host_status *page = t->process.page;
	uint64_t off_timeline = t->d ? t->d->loss.lost + t->d->loss.summed + t->d->loss.skipped : 0;
	char kind[40];

	if (t->live && timeline_live_end(t->live) && !t->trouble)
		t->trouble = TROUBLE_MEMORY;
	if (t->process.pid) {
		if (t->trouble != TROUBLE_MEMORY)
			put_end(t);
		wait_end(t, stop);
	}
	say_rubbish(t);
	if (t->trouble == TROUBLE_MEMORY)
		log_error("tool %s: out of memory: it was told a part only", log_safe(t->options.library));
	if (t->trouble == TROUBLE_STOPPED || t->trouble == TROUBLE_HUNG || !went_well(t))
		say_trouble(t);
	if (off_timeline)
		log_warn("tool %s: was not told %llu calls that are not on the timeline (lost, or only counted: see "
			 "the report)",
			 log_safe(t->options.library), (unsigned long long)off_timeline);
	if (t->untold)
		log_warn("tool %s: was not told %llu events", log_safe(t->options.library),
			 (unsigned long long)t->untold);
	if (!quiet)
		fprintf(stderr, "gaspbpf: tool %s (%s) was told %llu events of %llu threads%s\n",
			log_safe(t->options.library), host_text(page->kind, sizeof(page->kind), kind, sizeof(kind)),
			(unsigned long long)page->events, (unsigned long long)page->threads,
			t->stopped ? ", up to where it was stopped" : "");
	return went_well(t) && !t->untold && t->trouble != TROUBLE_MEMORY ? 0 : -EIO;
}

bool tool_kept(const struct tool *t, struct kept_process *kept)
{
	*kept = (struct kept_process){
		.pid = t->process.pid, .group = true, .signal = SIGKILL, .orphaned = HOST_ORPHANED
	};
	return t->process.pid > 0;
}

void tool_free(struct tool *t)
{
	if (!t)
		return;
	process_kill(&t->process);
	process_close_tool(&t->process);
	if (t->wake >= 0)
		close(t->wake);
	timeline_live_free(t->live);
	buffer_free(&t->waiting);
	free(t->withheld);
	free(t);
}
