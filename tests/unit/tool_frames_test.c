/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_frames_test.c - what a tool's process reads from its pipe, compared with what was to be told: in order, whole,
 * and never before what it refers to. The other end is the test's own, which reads as slowly as it likes.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "shared/recorded_job.h"
#include "tool/private.h"

#define EVENTS 3000
#define WORDS_MOST 6

/* What was told, and how far the other end has got. */
static struct {
	struct definitions d, known; /* known: to the other end */
	struct tool tool;
	struct wire_event events[EVENTS];
	uint64_t words[EVENTS][WORDS_MOST];
	size_t told, seen, controls;
	uint64_t clock;
	struct buffer read;
	int end;
} play;

static void begin(void)
{
	int ends[2];

	memset(&play, 0, sizeof(play));
	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	fcntl(ends[1], F_SETPIPE_SZ, 4096);
	play.end = ends[0];
	play.tool = (struct tool){ .d = &play.d, .process.frames = ends[1] };
	definitions_add_process(&play.d);
	definitions_add_image(&play.d);
	play.d.images[0].path = text("libtest.so");
	random_state = 4711;
}

static void finish(void)
{
	close(play.end);
	close(play.tool.process.frames);
	buffer_free(&play.tool.waiting);
	buffer_free(&play.read);
	definitions_free(&play.d);
	definitions_free(&play.known);
}

static uint32_t new_thread(void)
{
	uint32_t thread = definitions_add_thread(&play.d);

	play.d.threads[thread] = (struct def_thread){ .process = 0,
						      .tid = 1000 + thread,
						      .name = text("worker-%u", thread) };
	return thread;
}

static uint32_t new_probe(void)
{
	uint32_t probe = definitions_add_probe(&play.d);

	play.d.probes[probe] = (struct def_probe){
		.event = text("GASP_TEST_%u", probe), .model = text("test"), .symbol = text("f%u", probe), .image = 0
	};
	return probe;
}

static uint32_t new_site(void)
{
	uint32_t site = definitions_add_site(&play.d);

	play.d.sites[site] = (struct def_site){ .image = NO_INDEX, .address = 0x4000 + site };
	return site;
}

static void tell(uint32_t thread, uint32_t probe, uint32_t site)
{
	size_t i = play.told++;
	struct span span = { .thread = thread,
			     .probe = probe,
			     .site = site,
			     .start = play.clock,
			     .end = play.clock + 5,
			     .sequence = (uint32_t)i,
			     .nwords = (uint8_t)below(WORDS_MOST + 1) };
	struct event event = { .type = (enum event_type)below(3),
			       .span = &span,
			       .lane = (unsigned)below(3),
			       .level = (unsigned)below(9) };

	event.time = play.clock += below(4);
	span.start = event.time;
	span.end = event.time + 5;
	for (unsigned k = 0; k < span.nwords; k++)
		span.words[k] = play.words[i][k] = random_number();
	play.events[i] = (struct wire_event){ .time = event.time,
					      .start = span.start,
					      .end = span.end,
					      .thread = thread,
					      .probe = probe,
					      .site = site,
					      .sequence = span.sequence,
					      .nwords = span.nwords,
					      .type = event.type,
					      .lane = event.lane,
					      .level = event.level };
	tool_put_event(&play.tool, &event);
}

static void switch_measurement(uint32_t thread, int on)
{
	uint32_t index = definitions_add_control(&play.d);

	play.d.controls[index] = (struct def_control){
		.time = play.clock, .process = 0, .thread = thread, .value = on
	};
}

/* --- the other end -------------------------------------------------------- */

static void take_event(const uint8_t *bytes, size_t size)
{
	struct wire_event e;

	assert_true(play.seen < play.told && size >= sizeof(e));
	memcpy(&e, bytes, sizeof(e));
	assert_memory_equal(&e, &play.events[play.seen], sizeof(e));
	assert_int_equal(size, sizeof(e) + e.nwords * sizeof(uint64_t));
	assert_memory_equal(bytes + sizeof(e), play.words[play.seen], e.nwords * sizeof(uint64_t));
	play.seen++;
	assert_true(e.thread < play.known.nthreads && e.probe < play.known.nprobes &&
		    (e.site == NO_INDEX || e.site < play.known.nsites));
	assert_string_equal(play.known.probes[e.probe].event, play.d.probes[e.probe].event);
	assert_int_equal(play.known.threads[e.thread].tid, play.d.threads[e.thread].tid);
}

static void take_frame(const struct wire_head *head, const uint8_t *bytes)
{
	struct cursor in = { .at = bytes, .end = bytes + head->size };

	if (head->kind == WIRE_DEFINITIONS) {
		assert_null(definitions_take(&in, &play.known));
		assert_ptr_equal(in.at, in.end);
	} else if (head->kind == WIRE_CONTROL) {
		assert_int_equal(head->size, sizeof(struct wire_control));
		play.controls++;
	} else {
		assert_int_equal(head->kind, WIRE_EVENT);
		take_event(bytes, head->size);
	}
}

/* At most so many bytes of what is in the pipe, and the frames that are whole with them. */
static void listen(size_t most)
{
	uint8_t bytes[8192];
	ssize_t got = read(play.end, bytes, most < sizeof(bytes) ? most : sizeof(bytes));
	struct wire_head head;
	size_t at = 0;

	if (got > 0)
		buffer_put(&play.read, bytes, got);
	while (play.read.size - at >= sizeof(head)) {
		memcpy(&head, play.read.data + at, sizeof(head));
		if (play.read.size - at < sizeof(head) + head.size)
			break;
		take_frame(&head, play.read.data + at + sizeof(head));
		at += sizeof(head) + head.size;
	}
	memmove(play.read.data, play.read.data + at, play.read.size - at);
	play.read.size -= at;
}

static void listen_to_the_end(void)
{
	for (int i = 0; i < 100000 && (play.seen < play.told || play.tool.waiting.size || play.read.size); i++) {
		tool_pump(&play.tool);
		listen(8192);
	}
	assert_int_equal(play.tool.waiting.size, 0);
	assert_int_equal(play.read.size, 0);
	assert_int_equal(play.seen, play.told);
}

/* --- the tests ------------------------------------------------------------ */

/* Threads, probes and sites come as the job goes on; the pipe takes a page at a time, and the other end reads odd
 * numbers of bytes. */
static void whole_and_in_order(void **state)
{
	begin();
	new_thread();
	new_probe();
	while (play.told < EVENTS) {
		if (!below(40))
			new_thread();
		if (!below(40))
			new_probe();
		tell((uint32_t)below(play.d.nthreads), (uint32_t)below(play.d.nprobes),
		     below(2) ? NO_INDEX : new_site());
		if (!below(3))
			tool_pump(&play.tool);
		if (!below(3))
			listen(1 + below(500));
	}
	listen_to_the_end();
	assert_int_equal(play.tool.events, EVENTS);
	finish();
}

/* It comes before the first event that is later; from outside, to each thread of the process, also to those that had no
 * event yet. */
static void measurement_is_switched(void **state)
{
	begin();
	new_thread();
	new_thread();
	new_probe();
	play.clock = 1000;
	tell(0, 0, NO_INDEX);
	switch_measurement(1, 0);
	play.clock = 2000;
	listen_to_the_end();
	assert_int_equal(play.controls, 0);
	tell(0, 0, NO_INDEX);
	listen_to_the_end();
	assert_int_equal(play.controls, 1);
	new_thread();
	switch_measurement(NO_INDEX, 1);
	play.clock = 3000;
	tell(0, 0, NO_INDEX);
	listen_to_the_end();
	assert_int_equal(play.controls, 4);
	assert_int_equal(play.known.nthreads, 3);
	finish();
}

/* Who reads no more is told nothing more, and nothing is kept for it. */
static void nobody_reads(void **state)
{
	begin();
	new_thread();
	new_probe();
	close(play.end);
	play.end = -1;
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < 100; i++) {
		tell(0, 0, NO_INDEX);
		tool_pump(&play.tool);
		assert_int_equal(play.tool.waiting.size, 0);
	}
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_and_in_order),
		cmocka_unit_test(measurement_is_switched),
		cmocka_unit_test(nobody_reads),
	};

	return cmocka_run_group_tests_name("tool_frames", tests, NULL, NULL);
}
