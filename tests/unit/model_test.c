/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_test.c - the model language: what a line means, and that the
 * words which a capture program fetches come out as the numbers of the call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/models.h"

/* --- statements ----------------------------------------------------------------- */

static void head_of_a_model(void **state)
{
	struct model_set *set = read_text("# a runtime\n"
					  "model    toy\n"
					  "language TOY\n"
					  "numbers  0x3000     # from here\n"
					  "number   LOCK 7\n"
					  "library  libtoy.so* \\\n"
					  "         libplay.so.?\n"
					  "join     alone\n"
					  "needs    toy_start toy_run\n"
					  "rank     env TOY_RANK PMI_RANK\n"
					  "rank     symbol my_toy\n"
					  "rank     plus 1\n"
					  "unit     toy\n"
					  "PUT   put      void toy_put(void)\n"
					  "LOCK  acquire  void toy_lock(void)\n"
					  "PUT   put      void toy_put2(void)\n"
					  "GET   get leaf cancel  void toy_get(void);\n");
	const struct model *m = models_find(set, "toy");

	assert_non_null(m);
	assert_string_equal(m->language, "TOY");
	assert_string_equal(m->unit, "toy");
	assert_true(m->alone);
	assert_false(m->in_program);
	assert_string_equal(m->needs[1], "toy_run");
	assert_null(m->needs[2]);
	assert_string_equal(m->rank_env[0], "TOY_RANK");
	assert_string_equal(m->rank_symbol, "my_toy");
	assert_int_equal(m->rank_plus, 1);
	assert_int_equal(find_function(set, "toy_put")->number, 0x3000);
	assert_int_equal(find_function(set, "toy_put2")->number, 0x3000);
	assert_int_equal(find_function(set, "toy_lock")->number, 7);
	assert_int_equal(find_function(set, "toy_get")->number, 0x3001);
	assert_int_equal(find_function(set, "toy_get")->marks, MARK_LEAF | MARK_CANCEL);
	assert_int_equal(find_function(set, "toy_get")->line, 17);
	assert_string_equal(find_function(set, "toy_get")->event, "GASP_TOY_GET");
	assert_string_equal(find_function(set, "toy_get")->prototype, "void toy_get(void)");
	assert_true(model_matches_file(m, "libtoy.so.1", NULL));
	assert_true(model_matches_file(m, NULL, "libplay.so.2"));
	assert_false(model_matches_file(m, "libplay.so.22", "xlibtoy.so"));
	models_free(set);
}

static void a_later_model_replaces_one_of_the_same_name(void **state)
{
	struct model_set *set = read_text("model a\nlibrary program\n");

	assert_int_equal(models_add_text(set, "y", "model b\nlibrary program\n", 24), 0);
	assert_int_equal(models_add_text(set, "z", "model a\nlibrary libz.so\n", 24), 0);
	assert_int_equal(models_count(set), 2);
	assert_false(models_find(set, "a")->in_program);
	models_free(set);
}

static void alternatives(void **state)
{
	struct model_set *set = read_lines(
		"list REAL = float,longdouble:long double\n"
		"list ALL = int,longlong:long long,REAL\n"
		"GET get void {,p}x_{ALL}_get(T *dst, const T *src, size_t n @count)\n"
		"RED collective void x_{op=sum,fadd:fetch_add}_{8:int8_t,16:int16_t}(T *d, size_t n @count)\n"
		"NEW alloc x_{a,b}");

	assert_int_equal(models_at(set, 0)->nfunctions, 2 * 4 + 4 + 2);
	assert_string_equal(find_function(set, "px_longlong_get")->prototype,
			    "void px_longlong_get(long long *dst, const long long *src, size_t n)");
	assert_null(find_function(set, "x_int_get")->op);
	assert_string_equal(find_function(set, "x_sum_8")->op, "sum");
	assert_string_equal(find_function(set, "x_fadd_16")->op, "fetch_add");
	assert_string_equal(find_function(set, "x_fadd_16")->prototype, "void x_fadd_16(int16_t *d, size_t n)");
	assert_string_equal(find_function(set, "x_b")->prototype, "x_b");

	struct call call = { .registers = { 1, 2, 10 } };
	struct seen s = run(find_function(set, "x_longdouble_get"), NULL, &call);

	assert_payload(&s, 160, -1, 160);
	capture_free(&s.capture);
	s = run(find_function(set, "x_b"), NULL, &call);
	assert_int_equal(s.capture.nvalues, 0);
	assert_int_equal(s.capture.program.slots, 0);
	done(&s, set);
}

/* --- the ABI -------------------------------------------------------------------- */

static void integers_have_the_width_and_sign_of_their_type(void **state)
{
	struct model_set *set = read_lines(
		"F function bool f(int a, unsigned b, short c, unsigned char d, bool e, long g) ->");
	struct call call = { .registers = { GARBAGE | (uint32_t)-5, GARBAGE | 0xfffffffb, GARBAGE | 0xfffe,
					    GARBAGE | 0x1ff, GARBAGE | 1, (uint64_t)-7 },
			     RESULT_OF(GARBAGE | 0x100) };
	struct seen s = run(find_function(set, "f"), NULL, &call);

	assert_int_equal(s.capture.program.slots, 7);
	assert_int_equal(number(&s, "a"), -5);
	assert_int_equal(number(&s, "b"), 0xfffffffb);
	assert_int_equal(number(&s, "c"), -2);
	assert_int_equal(number(&s, "d"), 0xff);
	assert_int_equal(number(&s, "e"), 1);
	assert_int_equal(number(&s, "g"), -7);
	assert_int_equal(number(&s, "result"), 0);
	assert_int_equal(value_named(&s, "e")->form, FORM_BOOL);
	assert_int_equal(value_named(&s, "b")->form, FORM_UINT);
	done(&s, set);
}

static void floating_point_takes_no_integer_register(void **state)
{
	struct model_set *set = read_lines(
		"F function double f(double x, int a, float y[3], float z, long double w, int b, long c, "
		"long d, long e, long g, long double v, int h) ->");
	/* a y b c d e in registers; w at 8 (16 bytes), g at 24, v at 40 (aligned), h at 56 */
	struct call call = { .registers = { 1, 2, 3, 4, 5, 6 }, .stack = { 0, 90, 91, 7, 92, 93, 94, GARBAGE | 8 } };
	struct seen s = run(find_function(set, "f"), NULL, &call);

	assert_true(value_named(&s, "x")->unobservable);
	assert_true(value_named(&s, "w")->unobservable);
	assert_true(value_named(&s, "result")->unobservable);
	assert_false(reading(&s, "z").known);
	assert_int_equal(number(&s, "a"), 1);
	assert_int_equal(number(&s, "y"), 2);
	assert_int_equal(number(&s, "e"), 6);
	assert_int_equal(number(&s, "g"), 7);
	assert_int_equal(number(&s, "h"), 8);
	assert_int_equal(s.capture.program.slots, 8);
	done(&s, set);
}

static void structs_by_value(void **state)
{
	struct model_set *set = read_lines(
		"type pts = struct 16\ntype big = struct 40\ntype small = struct 4\n"
		"F function pts f(void *d, pts src @peer(high bits 0..31) @ptr, size_t n @bytes) ->\n"
		"G function big g(int a, big b, int c)\n"
		"H function void h(long a, long b, long c, long d, long e, pts p, small s)\n"
		"I function void i(int a, pts p @skip, int b)");
	struct call call = { .registers = { 1, 0x1000, 0x500000003, 64, 5, 6 },
			     .result = 77,
			     .result2 = 88,
			     .stack = { 0, 21, 22, 23, 24, 25, 26 } };
	struct seen s = run(find_function(set, "f"), NULL, &call);

	assert_int_equal(number(&s, "src.peer"), 3);
	assert_int_equal(number(&s, "src"), 0x1000);
	assert_int_equal(number(&s, "n"), 64);
	assert_int_equal(number(&s, "result"), 77);
	assert_int_equal(number(&s, "result.high"), 88);
	capture_free(&s.capture);

	s = run(find_function(set, "g"), NULL, &call); /* rdi is the hidden place of the result */
	assert_int_equal(number(&s, "a"), 0x1000);
	assert_true(value_named(&s, "b")->unobservable);
	assert_int_equal(number(&s, "c"), 3);
	capture_free(&s.capture);

	s = run(find_function(set, "h"), NULL,
		&call); /* one register left: the struct goes to the stack, the next does not */
	assert_int_equal(number(&s, "p"), 21);
	assert_int_equal(number(&s, "p.high"), 22);
	assert_int_equal(number(&s, "s"), 6);
	capture_free(&s.capture);

	s = run(find_function(set, "i"), NULL, &call);
	assert_int_equal(number(&s, "b"), 64);
	assert_int_equal(s.capture.program.slots, 2);
	done(&s, set);
}

static void slots_are_few(void **state)
{
	struct model_set *set = read_lines(
		"A alloc void *a(size_t n @bytes) -> @ptr\n"
		"B free void b(void *p)\n"
		"C send int c(void *b, int n, int t, int d, int g, int c, int *r @request(*) @out)\n"
		"D function void d(int a @skip, int b @skip, int c)\n"
		"E function void e(void)\n"
		"F recv int f(int a @skip, long *p @peer(+0 s32) @tag(+4 s32) @bytes(+8 u64) @out, int b @skip) ->\n"
		"G function void g(long *a @ptr(*), long *b @ptr(*), int c @skip, int d)");
	static const struct {
		const char *symbol;
		int slots;
	} expected[] = { { "a", 2 }, { "b", 1 }, { "c", 7 }, { "d", 1 }, { "e", 0 }, { "f", 4 }, { "g", 3 } };
	long memory[] = { 0x0000000700000003, 55 };
	struct call call = { .registers = { 1, ADDRESS(memory), 3, 4, 5, 6 }, .stack = { 0, ADDRESS(memory) } };
	struct seen s;

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		s = run(find_function(set, expected[i].symbol), NULL, &call);
		assert_int_equal(s.capture.program.slots, expected[i].slots);
		capture_free(&s.capture);
	}
	s = run(find_function(set, "d"), NULL, &call);
	assert_int_equal(number(&s, "c"), 3);
	capture_free(&s.capture);
	s = run(find_function(set, "f"), NULL, &call);
	assert_int_equal(number(&s, "p.peer"), 3);
	assert_int_equal(number(&s, "p.tag"), 7);
	assert_payload(&s, 55, -1, 55);
	done(&s, set);
}

static void too_much_is_left_out_from_the_end(void **state)
{
	struct model_set *set = read_lines(
		"F function int f(int a1,int a2,int a3,int a4,int a5,int a6,int a7,int a8,int a9,int b1,int b2,"
		"int b3,int b4,int b5,int b6,int b7,int b8,int b9,int c1,int c2,int c3,int c4) ->");
	struct call call = { .stack = { [14] = 20 } };
	struct seen s = run(find_function(set, "f"), NULL, &call);

	assert_int_equal(s.capture.nvalues, GB_SLOTS);
	assert_int_equal(s.capture.program.slots, GB_SLOTS);
	assert_int_equal(number(&s, "c2"), 20);
	done(&s, set);
}

/* --- paths ---------------------------------------------------------------------- */

static void write_seven(void *context)
{
	*(int *)context = 7;
}

static void out_parameters_are_read_at_the_return(void **state)
{
	struct model_set *set = read_lines("F test int f(int *flag @done @out, void **p @ptr(*) @out, int *q @out)");
	int flag = 0, q = -3;
	void *p = &q;
	struct call call = { .registers = { ADDRESS(&flag), ADDRESS(&p), ADDRESS(&q) },
			     .during = write_seven,
			     .context = &flag };
	struct seen s = run(find_function(set, "f"), NULL, &call);

	assert_int_equal(number(&s, "flag"), 7);
	assert_int_equal(number(&s, "p"), ADDRESS(&q));
	assert_int_equal(number(&s, "q"), -3);
	assert_int_equal(s.capture.program.slots, 3);
	assert_int_equal(s.capture.program.return_slots, 7);
	capture_free(&s.capture);
	call.unwound = true;
	s = run(find_function(set, "f"), NULL, &call);
	assert_false(reading(&s, "flag").known);
	done(&s, set);
}

static void paths_through_structs(void **state)
{
	struct {
		uint64_t id;
		char *name;
		char text[8];
	} object = { 0x1234567890, "hello", "inline" };
	struct {
		long pad;
		void *object;
	} holder = { 1, &object };
	uint64_t deep = 99, *pointer = &deep;
	struct call call = { .registers = { ADDRESS(&holder), ADDRESS(&object), ADDRESS("abc"), ADDRESS(&pointer) } };

	struct model_set *set;

	set = read_lines("F function void f(struct h *h @name(+8 ptr +8 ptr str) @task(+8 ptr +0 u64 bits 4..11) "
			 "@ptr(+8 ptr), struct o *o @name(+16 str), char *s @name(str), uint64_t **v @node(**))\n"
			 "G function void g(struct h *h @name(+8 ptr +8 ptr str))");
	struct seen s = run(find_function(set, "f"), NULL, &call);

	assert_string_equal((char *)(uintptr_t)number(&s, "h.name"), "hello");
	assert_int_equal(value_named(&s, "h.name")->form, FORM_STRING);
	assert_int_equal(number(&s, "h.task"), 0x89);
	assert_int_equal(number(&s, "h.ptr"), ADDRESS(&object));
	assert_string_equal((char *)(uintptr_t)number(&s, "o"), "inline");
	assert_string_equal((char *)(uintptr_t)number(&s, "s"), "abc");
	assert_int_equal(number(&s, "v"), 99);
	capture_free(&s.capture);

	holder.object = NULL; /* what leads nowhere is unknown, not zero */
	s = run(find_function(set, "g"), NULL, &call);
	assert_false(reading(&s, "h").known);
	done(&s, set);
}

/* The one step of this kind at the call, or at the return. */
static struct gb_op only_step(const struct gb_probe *p, uint8_t kind, bool at_return)
{
	unsigned first = at_return ? p->entry_ops : 0, count = at_return ? p->return_ops : p->entry_ops, found = 0;
	struct gb_op op = { 0 };

	for (unsigned i = first; i < first + count; i++) {
		if (p->ops[i].kind != kind)
			continue;
		op = p->ops[i];
		found++;
	}
	assert_int_equal(found, 1);
	return op;
}

static void expect_path(const struct model_set *set, const char *name, unsigned source, int folder, unsigned slots)
{
	struct capture c;
	struct gb_op at_call, again;
	const struct value *path = NULL;

	assert_int_equal(model_function_capture(find_function(set, name), NULL, &c), 0);
	at_call = only_step(&c.program, GB_OP_PATH, false);
	again = only_step(&c.program, GB_OP_PATH_AGAIN, true);
	assert_int_equal(at_call.source, source);
	assert_int_equal(at_call.offset, folder);
	again.kind = at_call.kind;
	assert_memory_equal(&again, &at_call, sizeof(again));
	assert_int_equal(c.program.slots, slots);
	for (size_t i = 0; i < c.nvalues; i++)
		path = c.values[i].meaning == MEANING_PATH ? &c.values[i] : path;
	assert_non_null(path);
	assert_int_equal(path->form, FORM_TEXT);
	assert_int_equal(path->slot, at_call.slot);
	assert_int_equal(path->element, GB_PATH_TEXT);
	assert_int_equal(c.program.return_slots >> at_call.slot & 1, 0);
	capture_free(&c);
}

/* Read at the call, and again at the return; where the descriptor is that it is relative to; nothing is left out. */
static void paths_of_files(void **state)
{
	struct model_set *set = read_lines(
		"F io int f(const char *path @path, int flags) -> result @fd\n"
		"G io int g(int at @folder, const char *path @path, int flags) -> result @fd\n"
		"H io int h(double at @folder, const char *path @path)\n");

	expect_path(set, "f", 0, 0, 2 + GB_PATH_WORDS + 1);
	expect_path(set, "g", 1, 1, GB_SLOTS);
	expect_path(set, "h", 0, GB_SLOTS + 1, 1 + GB_PATH_WORDS); /* a folder that nobody can see */
	models_free(set);
}

static void layouts_of_one_library(void **state)
{
	struct model_set *set = read_text(message_model);
	struct {
		char pad[24];
		uint64_t size;
	} type = { "", 8 };
	struct {
		int pad, id;
	} comm = { 0, 42 };
	struct {
		int source, x, y, z;
		uint64_t bytes;
	} status = { 3, 0, 0, 0, 80 };
	void *comms[] = { &comm };
	struct call call = { .registers = { 1, GARBAGE | 100, ADDRESS(&type), GARBAGE | (uint32_t)-1, 5,
					    ADDRESS(&comm) },
			     .stack = { 0, ADDRESS(&status) } };
	struct seen s = run(find_function(set, "Recv"), "libmsg.so.4", &call);

	assert_int_equal(number(&s, "t"), 8);
	assert_int_equal(number(&s, "s"), -1);
	assert_int_equal(number(&s, "c"), ADDRESS(&comm));
	assert_int_equal(number(&s, "c.id"), 42);
	assert_int_equal(number(&s, "st.source"), 3);
	assert_payload(&s, 80, -1, 80);
	capture_free(&s.capture);

	call.stack[1] = 0; /* the status is ignored: what was posted */
	s = run(find_function(set, "Recv"), "libmsg.so.4", &call);
	assert_payload(&s, 800, -1, 800);
	assert_false(reading(&s, "st.source").known);
	capture_free(&s.capture);

	call = (struct call){ .registers = { ADDRESS(comms), ADDRESS(comms) } };
	s = run(find_function(set, "Wait"), "libmsg.so.4", &call);
	assert_int_equal(number(&s, "r"), ADDRESS(&comm));
	assert_int_equal(number(&s, "c"), 42);
	done(&s, set);
}

static void layouts_of_another(void **state)
{
	struct model_set *set = read_text(message_model);
	struct {
		uint32_t low;
		int x, source;
	} status = { 24, 0, 6 };
	struct call call = { .registers = { 1, 100, GARBAGE | 0x4c000405, 2, 5, GARBAGE | 0x44000007 },
			     .stack = { 0, ADDRESS(&status) } };
	struct seen s = run(find_function(set, "Recv"), "libmsg.so.12", &call);

	assert_int_equal(number(&s, "t"), 4);
	assert_int_equal(number(&s, "c"), 0x44000007);
	assert_int_equal(number(&s, "c.id"), 7);
	assert_int_equal(number(&s, "st.source"), 6);
	assert_payload(&s, 24, -1, 24);
	capture_free(&s.capture);

	call.stack[1] = 1;
	call.registers[5] = GARBAGE | 0x4000000;
	s = run(find_function(set, "Recv"), "libmsg.so.12", &call);
	assert_payload(&s, 400, -1, 400);
	assert_false(reading(&s, "c.id").known); /* null */
	capture_free(&s.capture);

	call.registers[2] = 0x8c000000; /* a derived type: its size is not in the handle */
	s = run(find_function(set, "Recv"), "libmsg.so.12", &call);
	assert_false(reading(&s, "t").known);
	assert_payload(&s, -1, -1, -1);
	done(&s, set);
}

static void a_library_that_no_layout_knows(void **state)
{
	struct model_set *set = read_text(message_model);
	struct call call = { .registers = { 10, 0x4c000405 } };
	struct seen s = run(find_function(set, "Bcast"), "libmsg.so.99", &call);

	assert_int_equal(value_named(&s, "t")->meaning, MEANING_PLAIN);
	assert_payload(&s, -1, -1, -1);
	done(&s, set);
}

static void a_null_that_can_be_read(void **state)
{
	static const int none = 9;
	char lines[512];

	snprintf(lines, sizeof(lines), "Status.n = +0 s32\nStatus.null = %lld\nF wait void f(Status *s @count(n) @out)",
		 (long long)(intptr_t)&none);
	struct model_set *set = read_lines(lines);
	int some = 5;
	struct call call = { .registers = { ADDRESS(&some) } };
	struct seen s = run(find_function(set, "f"), NULL, &call);

	assert_int_equal(number(&s, "s"), 5);
	capture_free(&s.capture);
	call.registers[0] = ADDRESS(&none);
	s = run(find_function(set, "f"), NULL, &call);
	assert_false(reading(&s, "s").known);
	done(&s, set);
}

static void decoders(void **state)
{
	struct model_set *set = read_lines(
		"type pts = u64\n"
		"GET get void get(void *d, pts s @peer(upc_packed) @ptr(upc_packed), size_t n @bytes)\n"
		"PUT put void put(void *t, gfc_descriptor_t *d @bytes(gfc_bytes))\n"
		"BARRIER barrier void bar(int id @named(none=-2147483648))");
	uint64_t packed = 0x12345ull << 30 | 5 << 20 | 17;
	struct call call = { .registers = { 1, packed, 64 } };
	struct seen s = run(find_function(set, "get"), NULL, &call);
	struct value_reading r = reading(&s, "s.peer");

	assert_true(r.known && r.decoded);
	assert_int_equal(r.number, 5);
	assert_int_equal(r.thread, 5);
	assert_int_equal(r.phase, 17);
	assert_int_equal(r.address, 0x12345);
	assert_int_equal(reading(&s, "s.ptr").number, packed);
	assert_int_equal(s.capture.program.slots, 3);
	assert_payload(&s, 64, -1, 64);
	capture_free(&s.capture);

	s = run(find_function(set, "put"), NULL, &call);
	assert_payload(&s, 1000 + GB_DECODE_GFC_BYTES, 1000 + GB_DECODE_GFC_BYTES, -1);
	capture_free(&s.capture);

	call.registers[0] = GARBAGE | 0x80000000;
	s = run(find_function(set, "bar"), NULL, &call);
	assert_true(reading(&s, "id").none);
	done(&s, set);
}

/* What there is says another parameter: how long an array is, whether a status was filled. */
static void values_that_depend_on_another(void **state)
{
	struct model_set *set = read_lines(
		"WAIT wait int wait_some(int n, void *handles[] @request(each 3 of n), int *done @out, "
		"int which[] @index(each 2 of done) @out, int *status @tag(+4 s32, if done) @out)");
	void *handles[3] = { &handles[0], &handles[1], &handles[2] };
	int done_count = 1, which[2] = { 1, 77 }, status[2] = { 5, 6 };
	struct call call = { .registers = { GARBAGE | 2, ADDRESS(handles), ADDRESS(&done_count), ADDRESS(which),
					    ADDRESS(status) } };
	struct seen s = run(find_function(set, "wait_some"), NULL, &call);
	struct buffer stored = { 0 };
	struct value again;

	assert_int_equal(reading(&s, "handles.0").number, ADDRESS(handles[0]));
	assert_int_equal(reading(&s, "handles.1").number, ADDRESS(handles[1]));
	assert_false(reading(&s, "handles.2").known);
	assert_int_equal(reading(&s, "which.0").number, 1);
	assert_false(reading(&s, "which.1").known);
	assert_int_equal(reading(&s, "status").number, 6);
	for (size_t i = 0; i < s.capture.nvalues; i++) {
		struct cursor cursor;

		buffer_clear(&stored);
		value_encode(&stored, &s.capture.values[i]);
		cursor = (struct cursor){ .at = stored.data, .end = stored.data + stored.size };
		assert_true(value_decode(&cursor, &again));
		assert_int_equal(again.has_least, s.capture.values[i].has_least);
		assert_int_equal(again.least, again.has_least ? s.capture.values[i].least : 0);
		assert_int_equal(again.least_slot, again.has_least ? s.capture.values[i].least_slot : 0);
		value_free(&again);
	}
	buffer_free(&stored);
	capture_free(&s.capture);

	done_count = 0; /* then the status is what it was before the call */
	s = run(find_function(set, "wait_some"), NULL, &call);
	assert_false(reading(&s, "which.0").known);
	assert_false(reading(&s, "status").known);
	done(&s, set);
}

/* --- payload -------------------------------------------------------------------- */

static void payload_by_role(void **state)
{
	static const struct {
		const char *line;
		int64_t bytes, sent, received;
	} cases[] = {
		{ "F alloc void *f(size_t n @count, size_t s @size) -> @ptr", 200, -1, -1 },
		{ "F put void f(int n @bytes)", 20, 20, -1 },
		{ "F get void f(int n @bytes)", 20, -1, 20 },
		{ "F copy void f(int n @bytes)", 20, -1, -1 },
		{ "F exchange void f(int n @bytes:send, int m @bytes:recv)", 30, 20, 10 },
		{ "F exchange void f(int n @count:send, int m @count:recv, int s @size)", 240, 160, 80 },
		{ "F put void f(int n @count(element=4))", 80, 80, -1 },
		{ "F put void f(int n @count)", -1, -1, -1 },
		{ "F put one void f_{short,double}(T *d, T v, int pe @peer)", 2, 2, -1 },
		{ "F put void f(int n, short v @bytes(sizeof))", 2, 2, -1 },
		{ "F get long f(short v) -> @bytes(sizeof)", 8, -1, 8 },
		{ "F get void f(int *p @bytes(sizeof *))", 4, -1, 4 },
		{ "F get void f(int *p @bytes(12))", 12, -1, 12 },
		{ "F barrier void f(int n)", -1, -1, -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct model_set *set = read_lines(cases[i].line);
		struct call call = { .registers = { 20, 10, 8 } };
		struct seen s = run(&models_at(set, 0)->functions[0], NULL, &call);

		assert_payload(&s, cases[i].bytes, cases[i].sent, cases[i].received);
		done(&s, set);
	}
}

static void impossible_payload_is_unknown(void **state)
{
	struct model_set *set = read_lines(
		"F alloc void *f(size_t n @count, size_t s @size)\nG send void g(int n @count(element=8))");
	struct call call = { .registers = { 1ull << 40, 1ull << 40 } };
	struct seen s = run(find_function(set, "f"), NULL, &call);

	assert_payload(&s, -1, -1, -1);
	capture_free(&s.capture);
	call.registers[0] = (uint32_t)-1;
	s = run(find_function(set, "g"), NULL, &call);
	assert_payload(&s, -1, -1, -1);
	done(&s, set);
}

/* --- pairs and events by value ---------------------------------------------------- */

static void one_function_several_events(void **state)
{
	struct model_set *set = read_text(task_model);
	const struct model *m = models_at(set, 0);
	uint32_t kind = 3;
	struct {
		void *pad;
		uint32_t *kind;
	} arch = { NULL, &kind };
	struct call call = { .registers = { ADDRESS(&arch), 4 } };

	assert_int_equal(m->nfunctions, 6);
	assert_string_equal(m->functions[0].symbol, "begin");
	assert_string_equal(m->functions[0].event, "GASP_T_CPU");
	assert_string_equal(m->functions[1].symbol, "begin");
	assert_string_equal(m->functions[1].event, "GASP_T_GPU");
	assert_string_equal(m->functions[2].symbol, "xbegin");
	assert_true(m->functions[0].has_only && !m->functions[0].only_negated && m->functions[1].only_negated);

	struct seen s = run(&m->functions[1], "libt.so", &call);

	assert_true(s.capture.program.flags & GB_PROBE_OPENS);
	assert_int_equal(s.capture.program.return_ops, 0);
	assert_int_equal(value_read(&s.capture.only, s.words, s.capture.program.slots, s.unread, false).number, 3);
	assert_int_equal(number(&s, "w"), 4);
	capture_free(&s.capture);

	s = run(find_function(set, "end"), "libt.so", &call);
	assert_int_equal(s.capture.nvalues, 0);
	assert_int_equal(s.capture.program.slots, 0);
	done(&s, set);
}

/* --- storing ---------------------------------------------------------------------- */

static void values_survive_storing(void **state)
{
	struct model_set *set = read_text(message_model);
	struct call call = { .registers = { 0 } };
	struct seen s = run(find_function(set, "Recv"), "libmsg.so.12", &call);
	struct buffer bytes = { .data = NULL };

	for (size_t i = 0; i < s.capture.nvalues; i++)
		value_encode(&bytes, &s.capture.values[i]);
	for (size_t cut = 0; cut <= bytes.size; cut++) {
		struct cursor c = { .at = bytes.data, .end = bytes.data + cut };
		size_t i = 0;

		for (; i < s.capture.nvalues; i++) {
			struct value got, *had = &s.capture.values[i];

			if (!value_decode(&c, &got))
				break;
			assert_string_equal(got.name, had->name);
			value_free(&got);
		}
		assert_true(cut < bytes.size ? i < s.capture.nvalues : i == s.capture.nvalues);
	}
	struct cursor c = { .at = bytes.data, .end = bytes.data + bytes.size };

	for (size_t i = 0; i < s.capture.nvalues; i++) {
		struct value got, had = s.capture.values[i];

		assert_true(value_decode(&c, &got));
		free(got.name);
		got.name = had.name;
		assert_memory_equal(&got, &had, sizeof(got));
	}
	buffer_free(&bytes);
	done(&s, set);
}

static void names_and_their_inverse(void **state)
{
	for (int i = 0; i < ROLES; i++)
		assert_int_equal(role_from_name(role_name(i)), i);
	for (int i = 0; i < MEANINGS; i++)
		assert_int_equal(meaning_from_name(meaning_name(i)), i);
	assert_int_equal(role_from_name("nonsense"), -1);
	assert_int_equal(meaning_from_name(NULL), -1);
	assert_string_equal(role_name(ROLES), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(head_of_a_model),
		cmocka_unit_test(a_later_model_replaces_one_of_the_same_name),
		cmocka_unit_test(alternatives),
		cmocka_unit_test(integers_have_the_width_and_sign_of_their_type),
		cmocka_unit_test(floating_point_takes_no_integer_register),
		cmocka_unit_test(structs_by_value),
		cmocka_unit_test(slots_are_few),
		cmocka_unit_test(too_much_is_left_out_from_the_end),
		cmocka_unit_test(out_parameters_are_read_at_the_return),
		cmocka_unit_test(paths_through_structs),
		cmocka_unit_test(paths_of_files),
		cmocka_unit_test(layouts_of_one_library),
		cmocka_unit_test(layouts_of_another),
		cmocka_unit_test(a_library_that_no_layout_knows),
		cmocka_unit_test(a_null_that_can_be_read),
		cmocka_unit_test(decoders),
		cmocka_unit_test(values_that_depend_on_another),
		cmocka_unit_test(payload_by_role),
		cmocka_unit_test(impossible_payload_is_unknown),
		cmocka_unit_test(one_function_several_events),
		cmocka_unit_test(values_survive_storing),
		cmocka_unit_test(names_and_their_inverse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
