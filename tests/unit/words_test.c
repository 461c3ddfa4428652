/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * words_test.c - the words of a call mean the same to the kernel side and to user space.
 *
 * First, without a kernel: what the steps of a capture program make of memory that is laid out by hand. Then random
 * programs, on random registers and memory, are run by both sides, the kernel's truly in the kernel
 * (bpf/words.bpf.c), and so are random values and payloads read. Needs root; other users see that skipped.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/words.h"
#include "meaning/fetch.h"
#include "meaning/value.h"
#include "unit/bpf/words.skel.h"

/*
 * AddressSanitizer reserves most of the address space: what nobody has touched there can be read from outside, and not
 * by the kernel side, which never waits for a page.
 */
#if defined(__has_feature)
#define ADDRESSES_ARE_CHECKED __has_feature(address_sanitizer)
#else
#define ADDRESSES_ARE_CHECKED 0
#endif

#define CASES 24000
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* --- memory ------------------------------------------------------------------------- */

/* Pages, at an address with nothing near; those with a dot are not mapped. */
#define PAGE 4096
static const char layout[] = ".##.#.";
#define PAGES (sizeof(layout) - 1)
#define AREA UINT64_C(0x200000000000)

static bool is_mapped(uint64_t address)
{
	return address >= AREA && address < AREA + PAGES * PAGE && layout[(address - AREA) / PAGE] == '#';
}

static void *at(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static int map_area(void **state)
{
	void *area = mmap(at(AREA), PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (area != at(AREA))
		return -1;
	for (size_t i = 0; i < PAGES; i++)
		if (layout[i] == '#' && mprotect(at(AREA + i * PAGE), PAGE, PROT_READ | PROT_WRITE))
			return -1;
	return 0;
}

/* As from another process: whatever the address is, it is an answer and no fault. */
static bool read_own(void *context, uint64_t address, void *bytes, size_t size)
{
	struct iovec here = { bytes, size }, there = { at(address), size };

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* --- one side alone ----------------------------------------------------------------- */

static struct fetched_call run_steps(const uint64_t registers[GB_REGISTERS], const struct gb_op *ops, unsigned count)
{
	const struct fetch_memory memory = { .read = read_own };
	struct gb_probe program = { .slots = GB_SLOTS, .entry_ops = count };
	struct fetched_call call = { .sp = AREA + PAGE + 64 };

	memcpy(program.ops, ops, count * sizeof(*ops));
	memcpy(call.span.value, registers, GB_REGISTERS * sizeof(*registers));
	fetch_words(&call, &program, false, &memory);
	return call;
}

static void each_width(void **state)
{
	static const struct {
		enum gb_width width;
		uint64_t is;
	} widths[] = {
		{ GB_U8, 0x89 },
		{ GB_S8, -0x77l },
		{ GB_U16, 0xab89 },
		{ GB_S16, -0x5477l },
		{ GB_U32, 0x89cdab89 },
		{ GB_S32, -0x76325477l },
		{ GB_U64, 0xfedcba9889cdab89 },
	};
	uint64_t word = 0xfedcba9889cdab89;

	memcpy(at(AREA + PAGE + 128), &word, sizeof(word));
	for (size_t i = 0; i < COUNT(widths); i++) {
		uint8_t width = widths[i].width;
		const struct gb_op ops[] = {
			{ .kind = GB_OP_COPY, .slot = 6, .source = 1, .width = width },
			{ .kind = GB_OP_LOAD, .slot = 7, .source = 0, .width = width, .offset = 8 },
			{ .kind = GB_OP_STACK, .slot = 8, .width = width, .offset = 64 },
		};
		struct fetched_call call = run_steps((uint64_t[GB_REGISTERS]){ AREA + PAGE + 120, word }, ops,
						     COUNT(ops));

		for (int slot = 6; slot <= 8; slot++)
			assert_int_equal(call.span.value[slot], widths[i].is);
		assert_int_equal(call.span.unread, 0);
	}
}

/* What is read at a word that could not be read cannot be read, either; and no address is below a page. */
static void what_cannot_be_read(void **state)
{
	static const struct gb_op ops[] = {
		{ .kind = GB_OP_LOAD, .slot = 6, .source = 0, .width = GB_U64 },
		{ .kind = GB_OP_LOAD, .slot = 7, .source = 6, .width = GB_U64 },
		{ .kind = GB_OP_COPY, .slot = 8, .source = 7, .width = GB_U32 },
		{ .kind = GB_OP_LOAD, .slot = 9, .source = 1, .width = GB_U64 },
		{ .kind = GB_OP_LOAD, .slot = 10, .source = 2, .width = GB_U32 },
		{ .kind = GB_OP_LOAD, .slot = 11, .source = 2, .width = GB_U64 },
		{ .kind = GB_OP_STACK_WORDS, .slot = 12, .source = 3, .offset = 2 * PAGE - 64 - 16 },
		{ .kind = GB_OP_DECODE, .slot = 15, .source = 3, .width = GB_U64, .offset = GB_DECODE_GFC_BYTES },
		{ .kind = GB_OP_DECODE, .slot = 16, .source = 2, .width = GB_U64, .offset = 99 },
	};
	uint32_t last = 0x12345678;
	struct fetched_call call;

	memcpy(at(AREA + 3 * PAGE - 4), &last, sizeof(last));
	call = run_steps((uint64_t[GB_REGISTERS]){ AREA, PAGE - 1, AREA + 3 * PAGE - 4, AREA + 3 * PAGE - 8 }, ops,
			 COUNT(ops));
	assert_int_equal(call.span.value[10], last);
	assert_int_equal(call.span.unread, 0x1fbc0); /* of 6 to 16 all but 10 */
}

static void texts(void **state)
{
	static const struct gb_op ops[] = {
		{ .kind = GB_OP_TEXT, .slot = 6, .source = 0 },
		{ .kind = GB_OP_TEXT, .slot = 12, .source = 1 },
	};
	char long_text[100], is[64] = "to the very end";
	struct fetched_call call;

	memset(long_text, 'x', sizeof(long_text));
	memcpy(at(AREA + PAGE), long_text, sizeof(long_text));
	memcpy(at(AREA + 3 * PAGE - 16), is, 16);
	call = run_steps((uint64_t[GB_REGISTERS]){ AREA + PAGE, AREA + 3 * PAGE - 16 }, ops, COUNT(ops));
	assert_int_equal(call.span.unread, 0);
	assert_memory_equal(&call.span.value[12], is, 64);
	assert_memory_equal(&call.span.value[6], long_text, 48); /* slot 12 is the other one's */
	call = run_steps((uint64_t[GB_REGISTERS]){ AREA + PAGE, AREA + 3 * PAGE - 15 }, ops, COUNT(ops));
	assert_string_equal((char *)&call.span.value[12], "o the very end");
	call = run_steps((uint64_t[GB_REGISTERS]){ AREA + PAGE }, ops, 1);
	assert_int_equal(strlen((char *)&call.span.value[6]), 63);
	memset(at(AREA + 3 * PAGE - 16), 'x', 16);
	call = run_steps((uint64_t[GB_REGISTERS]){ 7, AREA + 3 * PAGE - 16 }, ops, COUNT(ops));
	assert_int_equal(call.span.unread, 1 << 6 | 1 << 12);
}

/* The text at the call; where it is another one at the return, it is not known which one was opened. */
static void paths(void **state)
{
	static const struct gb_op at_call = { .kind = GB_OP_PATH, .slot = 3, .source = 1, .offset = 1 },
				  at_return = { .kind = GB_OP_PATH_AGAIN, .slot = 3, .source = 1, .offset = 1 };
	struct gb_probe again = { .return_ops = 1, .ops = { at_return } };
	const struct fetch_memory memory = { .read = read_own };
	char name[PAGE] = "/a/path";
	struct fetched_call call;

	memset(name + 8, 'x', sizeof(name) - 8);
	memcpy(at(AREA + PAGE), name, sizeof(name));
	call = run_steps((uint64_t[GB_REGISTERS]){ 7, AREA + PAGE }, &at_call, 1);
	assert_int_equal(call.span.unread, 0);
	assert_string_equal((char *)&call.span.value[3], "/a/path");
	assert_int_equal(call.span.value[4], 0); /* nothing of what stands behind it */
	call.span.value[3 + GB_PATH_TEXT] = 77;
	fetch_words(&call, &again, true, &memory);
	assert_int_equal(call.span.unread, 0);
	assert_int_equal(call.span.value[3 + GB_PATH_TEXT], 0); /* it was in another folder then */
	((char *)at(AREA + PAGE))[2] = 'x';
	fetch_words(&call, &again, true, &memory);
	assert_int_equal(call.span.unread, 1 << 3);
	/* One without an end is cut; one that memory ends in is none. */
	memset(at(AREA + PAGE), 'x', PAGE);
	call = run_steps((uint64_t[GB_REGISTERS]){ 7, AREA + PAGE }, &at_call, 1);
	assert_int_equal(strlen((char *)&call.span.value[3]), GB_PATH_TEXT * 8 - 1);
	memset(at(AREA + 3 * PAGE - 100), 'x', 100);
	call = run_steps((uint64_t[GB_REGISTERS]){ 7, AREA + 3 * PAGE - 100 }, &at_call, 1);
	assert_int_equal(call.span.unread, 1 << 3);
	/* It was not there at the call: what is there at the return may be anything. */
	memcpy(at(AREA + 3 * PAGE - 8), "/a/path", 8);
	fetch_words(&call, &again, true, &memory);
	assert_int_equal(call.span.unread, 1 << 3);
}

/* As gfortran 12 lays out real(8) :: a(3:7, -1:2). */
static void array_descriptor(void **state)
{
	struct {
		uint64_t base, offset, elem_len;
		uint32_t version;
		int8_t rank, type;
		int16_t attribute;
		int64_t span;
		struct {
			int64_t stride, lower, upper;
		} dim[2];
	} a = { .elem_len = 8, .rank = 2, .dim = { { 1, 3, 7 }, { 5, -1, 2 } } };
	const struct gb_op op = { .kind = GB_OP_DECODE, .slot = 6, .width = GB_U64, .offset = GB_DECODE_GFC_BYTES };
	struct fetched_call call;

	memcpy(at(AREA + PAGE), &a, sizeof(a));
	call = run_steps((uint64_t[GB_REGISTERS]){ AREA + PAGE }, &op, 1);
	assert_int_equal(call.span.value[6], 8 * 5 * 4);
	a.dim[1].upper = -2;
	memcpy(at(AREA + PAGE), &a, sizeof(a));
	call = run_steps((uint64_t[GB_REGISTERS]){ AREA + PAGE }, &op, 1);
	assert_int_equal(call.span.value[6], 0);
	assert_int_equal(call.span.unread, 0);
	a.rank = 16;
	memcpy(at(AREA + PAGE), &a, sizeof(a));
	call = run_steps((uint64_t[GB_REGISTERS]){ AREA + PAGE }, &op, 1);
	assert_int_equal(call.span.unread, 1 << 6);
}

/* --- chance -------------------------------------------------------------------------- */

static uint64_t seed;

/* xorshift64* (Marsaglia, Vigna). */
static uint64_t chance(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * UINT64_C(0x2545f4914f6cdd1d);
}

static unsigned below(unsigned limit)
{
	return (unsigned)(chance() >> 33) % limit;
}

/* One in so many. */
static bool once_in(unsigned times)
{
	return !below(times);
}

static uint64_t any_number(void)
{
	uint64_t number = chance() >> below(64);

	return once_in(4) ? -number : number;
}

static uint64_t any_address(void)
{
	uint64_t page = AREA + below(PAGES) * PAGE;

	switch (below(10)) {
	case 0:
		return page + below(PAGE);
	case 1:
	case 2:
		return page + PAGE - below(100); /* across an end, or just not */
	case 3:
		return below(2) ? below(2 * PAGE) : 0;
	case 4:
		return any_number();
	case 5:
		return -(uint64_t)below(200); /* MAP_FAILED and the like; it wraps */
	case 6:
		return UINT64_C(0x7fffffffffff) - below(8192); /* where user space ends */
	default:
		return page + below(PAGE / 8) * 8;
	}
}

/* Descriptors of small arrays, at all places that are multiples of 256: the head, and up to six dimensions. */
static void put_descriptor(uint64_t *words)
{
	uint64_t rank = once_in(6) ? below(256) : below(7);

	words[2] = any_number();
	words[3] = chance() << 40 | rank << 32 | below(3);
	for (int i = 0; i < 6; i++) {
		words[6 + 3 * i] = below(2) ? any_number() : below(10);
		words[7 + 3 * i] = once_in(8) ? any_number() : words[6 + 3 * i] + below(20);
	}
}

static void fill_area(void)
{
	for (uint64_t page = AREA; page < AREA + PAGES * PAGE; page += PAGE) {
		uint64_t *words = at(page);

		if (!is_mapped(page))
			continue;
		for (size_t i = 0; i < PAGE / 8; i++)
			words[i] = below(3)   ? any_address()
				   : below(2) ? chance() | UINT64_C(0x0101010101010101)
					      : any_number();
		for (size_t i = 0; i < PAGE / 8; i += 32)
			if (below(2))
				put_descriptor(&words[i]);
	}
}

static bool is_path(const struct gb_op *op)
{
	return op->kind == GB_OP_PATH || op->kind == GB_OP_PATH_AGAIN;
}

static struct gb_op any_op(void)
{
	struct gb_op op = {
		.kind = 1 + below(once_in(3) ? GB_OP_PATH_AGAIN : GB_OP_STACK_WORDS),
		.slot = below(GB_SLOTS),
		.source = below(GB_SLOTS),
		.width = GB_U8 + below(GB_U64),
		.offset = (int32_t)below(200) - 60,
	};

	if (op.kind == GB_OP_STACK_WORDS) {
		op.source = below(GB_STACK_WORDS + 2);
		op.slot = below(GB_SLOTS - GB_STACK_WORDS + 2);
	}
	if (op.kind == GB_OP_TEXT)
		op.slot = below(GB_SLOTS - GB_TEXT_WORDS + 2);
	if (is_path(&op)) {
		op.slot = below(GB_SLOTS - GB_PATH_WORDS + 2);
		op.source = below(GB_REGISTERS);
		op.offset = 1 + below(GB_SLOTS); /* no word is GB_AT_FDCWD: user space does not know the folder */
	}
	if (op.kind == GB_OP_DECODE)
		op.offset = once_in(10) ? below(3) : GB_DECODE_GFC_BYTES;
	if (op.kind == GB_OP_DECODE || op.kind == GB_OP_TEXT)
		op.source = below(GB_REGISTERS);
	/* What no program of ours has. */
	if (once_in(50))
		op.kind = chance();
	if (once_in(50))
		op.slot = chance();
	if (once_in(50))
		op.source = chance();
	if (once_in(50))
		op.width = chance();
	if (once_in(50))
		op.offset = (int32_t)chance();
	if (is_path(&op) && !op.offset)
		op.offset = GB_SLOTS + 1;
	return op;
}

static struct gb_texts any_texts(void)
{
	struct gb_texts texts = { .slots = below(GB_SLOTS + 1), .raw = below(4) };

	for (int i = 0; i < GB_TEXTS; i++)
		texts.text[i] = once_in(5) ? GB_NO_TEXT : below(GB_SLOTS);
	return texts;
}

#define EVENTS 64 /* that are announced, numbered from 0: every second is known */

static struct words_case any_case(void)
{
	struct words_case c = {
		.sp = any_address(),
		.result = any_number(),
		.result2 = any_number(),
		.at_return = below(2),
		.program = { .slots = GB_SLOTS, .entry_ops = below(GB_OPS + 1) },
		.span = { .pid_tid = (uint64_t)getpid() << 32, .values = GB_SLOTS },
	};

	c.program.return_ops = below(GB_OPS + 1 - c.program.entry_ops);
	for (int i = 0; i < GB_OPS; i++)
		c.program.ops[i] = any_op();
	for (int i = 0; i < GB_SLOTS; i++) {
		c.span.value[i] = once_in(6) ? below(EVENTS) : any_address();
		if (once_in(8)) {
			c.span.value[i] = 0;
			c.span.unread |= 1U << i;
		}
	}
	return c;
}

/* --- both sides ----------------------------------------------------------------------- */

struct both {
	struct words_bpf *kernel;
	struct gb_texts events[EVENTS];
};

static void load_kernel_side(struct both *both)
{
	struct bpf_map *map;

	both->kernel = words_bpf__open();
	assert_non_null(both->kernel);
	bpf_object__for_each_map(map, both->kernel->obj) bpf_map__set_autocreate(
		map, bpf_map__is_internal(map) || map == both->kernel->maps.texts || map == both->kernel->maps.amounts);
	assert_int_equal(words_bpf__load(both->kernel), 0);
	seed = UINT64_C(0x9e3779b97f4a7c15);
}

static void run_in_kernel(const struct bpf_program *program)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(program), &options), 0);
	assert_int_equal(options.retval, 0);
}

static const struct gb_texts *find_texts(void *context, const struct gb_event_place *place)
{
	const struct both *both = context;

	return place->pid == (uint32_t)getpid() && place->id < EVENTS && place->id % 2 ? &both->events[place->id]
										       : NULL;
}

static void announce_events(struct both *both)
{
	for (uint32_t i = 0; i < EVENTS; i++) {
		struct gb_event_place place = { getpid(), i };

		both->events[i] = any_texts();
		if (i % 2)
			assert_int_equal(bpf_map_update_elem(bpf_map__fd(both->kernel->maps.texts), &place,
							     &both->events[i], BPF_ANY),
					 0);
	}
}

static void print_program(const struct words_case *c)
{
	unsigned first = c->at_return ? c->program.entry_ops : 0,
		 count = c->at_return ? c->program.return_ops : c->program.entry_ops;

	print_error("sp %#lx, result %#lx %#lx, unread %#x\n", c->sp, c->result, c->result2, c->span.unread);
	for (int i = 0; i < GB_SLOTS; i++)
		print_error("slot %d: %#lx\n", i, c->span.value[i]);
	for (unsigned i = first; i < first + count; i++)
		print_error("step: kind %u slot %u source %u width %u offset %d\n", c->program.ops[i].kind,
			    c->program.ops[i].slot, c->program.ops[i].source, c->program.ops[i].width,
			    c->program.ops[i].offset);
}

static void expect_same(const struct words_case *c, const struct gb_span *kernel, const struct gb_span *user,
			int number)
{
	bool same = kernel->unread == user->unread && kernel->values == user->values;

	for (int i = 0; i < GB_SLOTS; i++) {
		if (kernel->value[i] != user->value[i])
			print_error("slot %d: kernel %#lx, user %#lx\n", i, kernel->value[i], user->value[i]);
		same &= kernel->value[i] == user->value[i];
	}
	if (same)
		return;
	print_program(c);
	fail_msg("program %d: unread %#x in the kernel, %#x here; values %u, %u", number, kernel->unread, user->unread,
		 kernel->values, user->values);
}

/* How often a step of each kind filled its slots, and how often it could not. */
struct seen_steps {
	unsigned read[GB_OP_PATH_AGAIN + 1], unread[GB_OP_PATH_AGAIN + 1];
};

/* The last step that fills a slot says what is in it. */
static void count_steps(struct seen_steps *seen, const struct words_case *c, uint32_t unread)
{
	unsigned count = c->at_return ? c->program.return_ops : c->program.entry_ops;
	const struct gb_op *ops = &c->program.ops[c->at_return ? c->program.entry_ops : 0];
	uint32_t later = 0;

	while (count--) {
		uint32_t slots = gb_op_slots(&ops[count]) & ~later;

		if (ops[count].kind <= GB_OP_PATH_AGAIN && ops[count].source < GB_SLOTS && slots) {
			seen->read[ops[count].kind] += !(unread & slots);
			seen->unread[ops[count].kind] += !!(unread & slots);
		}
		later |= slots;
	}
}

static void random_programs(void **state)
{
	struct both both;
	struct seen_steps seen = { .read = { 0 } };
	const struct fetch_memory memory = { .read = read_own, .texts = find_texts, .context = &both };

	if (geteuid() || ADDRESSES_ARE_CHECKED)
		skip();
	load_kernel_side(&both);
	for (int i = 0; i < CASES; i++) {
		struct words_case c;
		struct fetched_call call;

		fill_area(); /* so that nothing of it can be known from the program before */
		if (i % 100 == 0)
			announce_events(&both);
		c = any_case();
		call = (struct fetched_call){ c.span, c.sp, c.result, c.result2 };
		both.kernel->bss->words = c;
		run_in_kernel(both.kernel->progs.run_program);
		fetch_words(&call, &c.program, c.at_return, &memory);
		expect_same(&c, &both.kernel->bss->words.span, &call.span, i);
		count_steps(&seen, &c, call.span.unread);
	}
	/* There was something to compare. */
	for (int kind = GB_OP_STACK; kind <= GB_OP_PATH_AGAIN; kind++) {
		bool can_fail = kind != GB_OP_RESULT && kind != GB_OP_RESULT2;

		if (seen.read[kind] < 500 || (can_fail && seen.unread[kind] < 500))
			fail_msg("steps of kind %d: %u read, %u not", kind, seen.read[kind], seen.unread[kind]);
	}
	words_bpf__destroy(both.kernel);
}

/* --- numbers --------------------------------------------------------------------------- */

static struct value any_value(const uint64_t *words)
{
	struct value v = {
		.name = "v",
		.form = FORM_INT + below(FORM_BOOL),
		.at_return = below(2),
		.unobservable = once_in(20),
		.constant = once_in(10),
		.slot = once_in(20) ? below(256) : below(GB_SLOTS),
		.width = below(GB_U64 + 1),
		.element = below(3) ? below(100) : 0,
		.has_none = once_in(4),
		.number = below(2) ? 0 : (int64_t)any_number(),
		.has_null = once_in(4),
		.has_least = once_in(4),
		.least_slot = below(GB_SLOTS),
		.least_width = below(GB_U64 + 1),
		.least = (int64_t)any_number(),
		.has_high = once_in(20),
		.high_slot = below(GB_SLOTS),
	};
	uint64_t word = gb_word_extend(words[v.slot % GB_SLOTS], v.width);

	if (once_in(3)) {
		v.bits_low = below(64);
		v.bits_count = once_in(10) ? below(65) : below(65 - v.bits_low);
	}
	if (once_in(3)) {
		v.valid_low = below(64);
		v.valid_count = 1 + (once_in(10) ? below(64) : below(64 - v.valid_low));
		v.valid_equals = below(3) ? gb_word_cut(word << ((64 - v.valid_low - v.valid_count) & 63), 0,
							64 - v.valid_count, false)
					  : chance();
	}
	v.none = below(2) ? (int64_t)((uint64_t)v.number + word) : (int64_t)any_number();
	v.null_slot = below(2) ? v.slot : below(GB_SLOTS);
	v.null = below(2) ? (int64_t)word : below(2) ? (int64_t)words[v.null_slot % GB_SLOTS] : (int64_t)any_number();
	return v;
}

static struct gb_span any_span(void)
{
	struct gb_span span = { .reason = below(2) ? GB_END_RETURN : GB_END_UNWOUND, .values = below(GB_SLOTS + 3) };

	if (below(3))
		span.values = GB_SLOTS;
	for (int i = 0; i < GB_SLOTS; i++) {
		span.value[i] = below(2) ? below(1000) : any_number();
		span.unread |= once_in(12) << i;
	}
	return span;
}

static void read_in_kernel(struct both *both, const struct gb_amounts *amounts, const struct gb_span *span)
{
	both->kernel->bss->numbers = (struct numbers_case){ .amounts = *amounts, .span = *span };
	run_in_kernel(both->kernel->progs.read_numbers);
}

static void random_numbers(void **state)
{
	unsigned known = 0, unknown = 0, not_for_kernel = 0;
	struct both both;

	if (geteuid())
		skip();
	load_kernel_side(&both);
	for (int i = 0; i < CASES; i++) {
		struct gb_span span = any_span();
		struct value v = any_value(span.value);
		struct gb_amounts amounts = { .sides = 1, .number = { value_number(&v) } };
		const struct numbers_case *kernel = &both.kernel->bss->numbers;
		const struct sent_words sent = { span.value, span.values < GB_SLOTS ? span.values : GB_SLOTS,
						 span.unread, span.reason == GB_END_RETURN };
		struct value_reading user = value_read(&v, span.value, span.values, span.unread,
						       span.reason == GB_END_RETURN);
		struct prepared_value prepared;
		int64_t number = 0;

		value_prepare(&prepared, &v);
		assert_int_equal(prepared_number(&prepared, &sent, &number), user.known && !user.none);
		if (user.known && !user.none)
			assert_int_equal(number, user.number);
		if (amounts.number[0].flags & GB_NUMBER_UNKNOWN) {
			not_for_kernel++;
			continue;
		}
		read_in_kernel(&both, &amounts, &span);
		if (kernel->known != (user.known && !user.none) ||
		    (kernel->known && kernel->number != (uint64_t)user.number))
			fail_msg(
				"value %d: kernel %d %#lx, user %d%s %#lx; slot %u (%#lx) width %u bits %u+%u valid %u+%u null "
				"%d: %#lx in %u",
				i, kernel->known, kernel->number, user.known, user.none ? " (none)" : "", user.number,
				v.slot, span.value[v.slot % GB_SLOTS], v.width, v.bits_low, v.bits_count, v.valid_low,
				v.valid_count, v.has_null, v.null, v.null_slot);
		known += kernel->known;
		unknown += !kernel->known;
	}
	assert_true(known > CASES / 10 && unknown > CASES / 10 && not_for_kernel < CASES / 2);
	words_bpf__destroy(both.kernel);
}

/* The numbers that a payload is made of are small: the kernel side knows none that is beyond any call. */
static struct value any_part(const uint64_t *words)
{
	static const enum meaning meanings[] = { MEANING_BYTES, MEANING_COUNT, MEANING_COUNT,
						 MEANING_SIZE,  MEANING_TYPE,  MEANING_PLAIN };
	struct value v = any_value(words);

	v.meaning = meanings[below(COUNT(meanings))];
	v.side = below(SIDE_RECV + 1);
	v.width = GB_U8 + below(GB_S16);
	v.number = below(20);
	v.has_high = false;
	v.valid_count = 0;
	v.bits_count = v.bits_count < 8 ? v.bits_count : 0;
	v.bits_low = 0;
	return v;
}

static void random_payloads(void **state)
{
	static const enum role roles[] = { ROLE_PUT, ROLE_GET, ROLE_SEND, ROLE_RECV, ROLE_COLLECTIVE };
	unsigned known = 0, unknown = 0;
	struct both both;

	if (geteuid())
		skip();
	load_kernel_side(&both);
	for (int i = 0; i < CASES; i++) {
		struct gb_span span = any_span();
		enum role role = roles[below(COUNT(roles))];
		struct value values[6];
		size_t count = 1 + below(COUNT(values));
		const struct numbers_case *kernel = &both.kernel->bss->numbers;
		struct gb_amounts amounts;
		struct payload user;

		for (size_t j = 0; j < count; j++)
			values[j] = any_part(span.value);
		payload_amounts(role, values, count, &amounts);
		user = value_payload(role, values, count, span.value, span.values, span.unread,
				     span.reason == GB_END_RETURN);
		read_in_kernel(&both, &amounts, &span);
		if (kernel->sized != (user.bytes >= 0) || (kernel->sized && kernel->bytes != (uint64_t)user.bytes))
			fail_msg("payload %d: kernel %u %lu, user %ld; %zu values", i, kernel->sized, kernel->bytes,
				 user.bytes, count);
		known += kernel->sized;
		unknown += !kernel->sized;
	}
	assert_true(known > CASES / 10 && unknown > CASES / 10);
	words_bpf__destroy(both.kernel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_width),
		cmocka_unit_test(what_cannot_be_read),
		cmocka_unit_test(texts),
		cmocka_unit_test(paths),
		cmocka_unit_test(array_descriptor),
		cmocka_unit_test(random_programs),
		cmocka_unit_test(random_numbers),
		cmocka_unit_test(random_payloads),
	};

	return cmocka_run_group_tests(tests, map_area, NULL);
}
