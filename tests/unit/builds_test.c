/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * builds_test.c - pointers-to-shared in each layout, by registers, stack and result; how a program's runtime was built;
 * what cannot be seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "meaning/value.h"
#include "model/model.h"
#include "recording/recording.h"
#include "target/target.h"
#include "util/log.h"

#define HEAD "model m\nlanguage M\nlibrary program\n"

static struct model_set *read_text(const char *text)
{
	struct model_set *set = models_new();

	assert_non_null(set);
	assert_int_equal(models_add_text(set, "test", text, strlen(text)), 0);
	return set;
}

static void refused(const char *text)
{
	struct model_set *set = models_new();
	int level = log_get_level();

	log_set_level(-1);
	assert_true(models_add_text(set, "test", text, strlen(text)) < 0);
	log_set_level(level);
	models_free(set);
}

struct call {
	uint64_t words[GB_SLOTS]; /* as the kernel puts the registers there */
	uint64_t stack[8];        /* behind the return address */
	uint64_t result[2];
};

/* What the kernel side makes of a call; loads are not among it. */
static void fetch(const struct capture *capture, struct call *call)
{
	const struct gb_probe *p = &capture->program;

	for (int i = 0; i < p->entry_ops + p->return_ops; i++) {
		const struct gb_op *op = &p->ops[i];

		switch (op->kind) {
		case GB_OP_STACK:
			call->words[op->slot] = call->stack[op->offset / 8 - 1];
			break;
		case GB_OP_STACK_WORDS:
			for (int j = 0; j < op->source; j++)
				call->words[op->slot + j] = call->stack[op->offset / 8 - 1 + j];
			break;
		case GB_OP_COPY:
			call->words[op->slot] = call->words[op->source];
			break;
		case GB_OP_RESULT:
		case GB_OP_RESULT2:
			call->words[op->slot] = call->result[op->kind == GB_OP_RESULT2];
			break;
		default:
			fail_msg("op %u", op->kind);
		}
	}
}

static const struct value *named(const struct capture *capture, const char *name)
{
	for (size_t i = 0; i < capture->nvalues; i++)
		if (!strcmp(capture->values[i].name, name))
			return &capture->values[i];
	fail_msg("no value '%s'", name);
	return NULL;
}

/* As a recording gives it back. */
static struct value_reading reading(const struct capture *capture, const struct call *call, const char *name,
				    bool returned)
{
	struct buffer bytes = { 0 };
	struct value again;
	struct value_reading r;

	value_encode(&bytes, named(capture, name));
	struct cursor cursor = { bytes.data, bytes.data + bytes.size, false };

	assert_true(value_decode(&cursor, &again) && !cursor.failed);
	r = value_read(&again, call->words, capture->program.slots, 0, returned);
	value_free(&again);
	buffer_free(&bytes);
	return r;
}

static void assert_points(struct value_reading r, uint64_t thread, uint64_t phase, uint64_t address)
{
	assert_true(r.known && r.decoded);
	assert_int_equal(r.thread, thread);
	assert_int_equal(r.phase, phase);
	assert_int_equal(r.address, address);
}

static const char layouts[] = HEAD
	"build last if symbol last\nbuild wide if symbol wide\nbuild pair\n"
	"layout program:last\ntype pts = u64 upc_packed_last\n"
	"layout program:wide\ntype pts = u64 upc_packed 16 12\n"
	"layout program:pair\ntype pts = struct 16 upc_struct\n"
	"layout program:turned\ntype pts = struct 16 upc_struct_last\nbuild turned\n"
	"layout program:lost\ntype pts = unknown\nbuild lost\n"
	"layout program\ntype none = nothing\n"
	"COPY copy pts copy(none team, pts dst @peer:send(thread), pts src @peer:recv(thread), size_t n @bytes, pts "
	"more, int last) -> @ptr\n"
	"GET get void get(void *dst, pts src @peer(thread), size_t n @bytes)\n"
	"LOCK acquire void lock(pts lck @lock)\n";

static void capture_of(const struct model_set *set, const char *symbol, const char *build, struct capture *capture)
{
	const struct model *m = models_at(set, 0);

	for (size_t i = 0; i < m->nfunctions; i++) {
		if (strcmp(m->functions[i].symbol, symbol))
			continue;
		const struct build *b = model_build_find(m, build);

		assert_non_null(b);
		assert_int_equal(model_function_capture_build(&m->functions[i], "job", b, capture), 0);
		return;
	}
	fail();
}

static void one_word(void **state)
{
	struct model_set *set = read_text(layouts);
	struct capture capture;
	struct call call = { .words = { 3ull << 44 | 5ull << 34 | 0x12345, 7ull << 44 | 1023ull << 34 | 8, 64,
					0xfull << 34, 9 },
			     .result = { 1ull << 34 | 16 } };

	capture_of(set, "copy", "last", &capture);
	fetch(&capture, &call);
	assert_points(reading(&capture, &call, "dst", true), 5, 3, 0x12345);
	assert_points(reading(&capture, &call, "src", true), 1023, 7, 8);
	assert_int_equal(reading(&capture, &call, "dst.thread", true).number, 5);
	assert_int_equal(reading(&capture, &call, "src.thread", true).number, 1023);
	assert_int_equal(reading(&capture, &call, "n", true).number, 64);
	assert_int_equal(reading(&capture, &call, "last", true).number, 9);
	assert_points(reading(&capture, &call, "result", true), 1, 0, 16);
	assert_false(reading(&capture, &call, "result", false).known);
	capture_free(&capture);

	capture_of(set, "get", "wide", &capture);
	call = (struct call){ .words = { 1, 0xabcdull << 28 | 0xfff << 16 | 0x1234, 8 } };
	fetch(&capture, &call);
	assert_points(reading(&capture, &call, "src", true), 0xfff, 0x1234, 0xabcd);
	capture_free(&capture);
	models_free(set);
}

/* dst in rdi and rsi, src in rdx and rcx, n in r8; `more` does not fit into r9 and comes by the stack, `last` fits. */
static void two_words(void **state)
{
	struct model_set *set = read_text(layouts);
	struct capture capture;
	struct call call = { .words = { 0x1000, 7ull << 32 | 2, 0x2000, 3, 64, 11 },
			     .stack = { 0x3000, 1ull << 32 | 4 },
			     .result = { 0x4000, 5 } };

	capture_of(set, "copy", "pair", &capture);
	fetch(&capture, &call);
	assert_points(reading(&capture, &call, "dst", true), 2, 7, 0x1000);
	assert_points(reading(&capture, &call, "src", true), 3, 0, 0x2000);
	assert_points(reading(&capture, &call, "more", true), 4, 1, 0x3000);
	assert_points(reading(&capture, &call, "result", true), 5, 0, 0x4000);
	assert_int_equal(reading(&capture, &call, "dst.thread", true).number, 2);
	assert_int_equal(reading(&capture, &call, "n", true).number, 64);
	assert_int_equal(reading(&capture, &call, "last", true).number, 11);
	assert_true(reading(&capture, &call, "dst", true).has_high);
	assert_int_equal(reading(&capture, &call, "dst", true).high, 7ull << 32 | 2);
	/* Half of it is not it. */
	assert_false(value_read(named(&capture, "dst"), call.words, capture.program.slots,
				1u << named(&capture, "dst")->high_slot, true)
			     .known);
	capture_free(&capture);

	capture_of(set, "get", "turned", &capture);
	call = (struct call){ .words = { 1, 6ull << 32 | 9, 0x5000, 32 } };
	fetch(&capture, &call);
	assert_points(reading(&capture, &call, "src", true), 6, 9, 0x5000);
	capture_free(&capture);

	/* Locks at the same address of two threads are two. */
	capture_of(set, "lock", "pair", &capture);
	call = (struct call){ .words = { 0x40, 1 } };
	fetch(&capture, &call);
	int64_t one = reading(&capture, &call, "lck", true).number;

	call.words[1] = 2;
	assert_int_not_equal(reading(&capture, &call, "lck", true).number, one);
	capture_free(&capture);
	models_free(set);
}

/* Of how it is passed nothing is known: so nothing of what follows. */
static void unknown_types(void **state)
{
	struct model_set *set = read_text(layouts);
	struct capture capture;
	struct call call = { .words = { 1, 2, 3, 4, 5, 6 } };

	capture_of(set, "get", "lost", &capture);
	fetch(&capture, &call);
	assert_int_equal(reading(&capture, &call, "dst", true).number, 1);
	assert_false(reading(&capture, &call, "src", true).known);
	assert_false(reading(&capture, &call, "n", true).known);
	capture_free(&capture);
	models_free(set);
}

/* Recordings are anybody's. */
static void odd_decoders(void **state)
{
	static const char *const odd[] = { "",
					   "upc_packed 0 0",
					   "upc_packed 63 63",
					   "upc_packed 99999999999 1",
					   "upc_packed 1",
					   "upc_struct",
					   "frobnicate",
					   "upc_packed_last 31 32",
					   "gfc_bytes" };
	uint64_t words[GB_SLOTS] = { UINT64_MAX, UINT64_MAX };

	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		struct value v = { .name = "v", .decoder = (char *)odd[i], .width = GB_U64 };

		value_read(&v, words, 2, 0, true);
		v.has_high = true;
		v.high_slot = 1;
		value_read(&v, words, 2, 0, true);
		assert_false(value_read(&v, words, 1, 0, true).known);
	}
}

/* A pointer-to-shared that a call has in parts is put together as the runtime's own are, and read as one. */
static void put_together(void **state)
{
	static const struct {
		const char *decoder;
		bool two;
	} layouts[] = { { "upc_packed", false },          { "upc_packed_last", false }, { "upc_packed 16 12", false },
			{ "upc_packed_last 8 8", false }, { "upc_struct", true },       { "upc_struct_last", true } };

	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		struct value v = { .name = "v",
				   .decoder = (char *)layouts[i].decoder,
				   .width = GB_U64,
				   .has_high = layouts[i].two,
				   .high_slot = 1 };
		struct value_reading r;
		uint64_t words[2];

		assert_true(value_is_shared(&v));
		value_encode_shared(v.decoder, 201, 0x12340, words);
		r = value_read(&v, words, 2, 0, true);
		assert_true(r.known && r.decoded);
		assert_int_equal(r.thread, 201);
		assert_int_equal(r.address, 0x12340);
		assert_int_equal(r.phase, 0);
	}
}

static bool holds(void *context, const struct build_test *test)
{
	const char *facts = context;

	return strstr(facts, test->name) &&
	       (test->kind != BUILD_STRUCT || (test->bytes == 16 && !strcmp(test->member, "vaddr")));
}

static void recognising(void **state)
{
	struct model_set *set = read_text(
		HEAD "build a if text \"$Config: *=packed\" and symbol xyz\nbuild b if struct s 16 vaddr\n"
		     "build c if struct s 8\nA function void f(void)\n");
	const struct model *m = models_at(set, 0);

	assert_int_equal(m->nbuilds, 3);
	assert_string_equal(model_build_recognise(m, holds, "$Config: *=packed xyz")->name, "a");
	assert_null(model_build_recognise(m, holds, "$Config: *=packed"));
	assert_string_equal(model_build_recognise(m, holds, "s")->name, "b");
	assert_null(model_build_find(m, "d"));
	models_free(set);
	refused(HEAD "build\n");
	refused(HEAD "build a if\n");
	refused(HEAD "build a if text x\n");
	refused(HEAD "build a if text \"x\n");
	refused(HEAD "build a if struct s\n");
	refused(HEAD "build a if bits s a b\n");
	refused(HEAD "build a if shifts 20\n");
	refused(HEAD "build a if shifts 20 64\n");
	refused(HEAD "build a when symbol f\n");
	refused(HEAD "build a\nbuild a\n");
	refused(HEAD "type pts = u32 upc_packed\n");
	refused(HEAD "type pts = struct 8 upc_struct\n");
	refused(HEAD "type pts = u64 upc_struct\n");
	refused(HEAD "type pts = u64 upc_packed 16\n");
	refused(HEAD "type pts = u64\nGET get void f(pts p @peer(thread))\n");
}

static void unseen(void **state)
{
	struct model_set *set = read_text(
		HEAD "A function void f(void)\nunseen A B \"it is inlined\"\nunseen C \"it is a loop\"\n");
	const struct model *m = models_at(set, 0);

	assert_int_equal(m->nunseen, 3);
	assert_string_equal(m->unseen[0].event, "GASP_M_A");
	assert_true(m->unseen[0].partly);
	assert_string_equal(m->unseen[1].event, "GASP_M_B");
	assert_string_equal(m->unseen[1].why, "it is inlined");
	assert_false(m->unseen[1].partly);
	assert_string_equal(m->unseen[2].why, "it is a loop");
	models_free(set);
	refused(HEAD "unseen A\n");
	refused(HEAD "unseen \"why\"\n");
	refused(HEAD "unseen A \"\"\n");
	refused(HEAD "unseen a \"why\"\n");
	refused(HEAD "unseen A \"why\" more\n");
}

/* A group may say a number and a type of each. */
static void numbers_and_types(void **state)
{
	struct model_set *set = read_text(
		HEAD "R collective void reduce{type=C:0:signed char,L:6:long}(void *src @size(sizeof T), size_t n "
		     "@count)\n");
	const struct model *m = models_at(set, 0);
	const struct function *f = &m->functions[1];
	struct capture capture;
	struct call call = { .words = { 0, 5 } };
	bool found = false;

	assert_string_equal(f->symbol, "reduceL");
	for (size_t i = 0; i < f->nconstants; i++)
		found |= !strcmp(f->constants[i].name, "type") && !strcmp(f->constants[i].text, "6");
	assert_true(found);
	assert_int_equal(model_function_capture(f, NULL, &capture), 0);
	fetch(&capture, &call);
	assert_int_equal(value_payload(ROLE_COLLECTIVE, capture.values, capture.nvalues, call.words,
				       capture.program.slots, 0, true)
				 .bytes,
			 40);
	capture_free(&capture);
	models_free(set);
	refused(HEAD "R collective void reduce{type=C:0:signed char,L:6}(size_t n @bytes(sizeof T))\n");
}

/* This program, of itself. */
struct builds_test_layout {
	uint64_t vaddr;
	uint32_t thread, phase;
} builds_test_object;
__attribute__((used)) static const char configuration[] = "$BuildsTest: (x) LAYOUT=packed/p20:t10:a34,MORE $";

/* A pattern put together here: a whole one would be a text of this program too. */
static bool has_text(const struct image *image, const char *rest)
{
	char pattern[100];

	snprintf(pattern, sizeof(pattern), "$Builds%s: %s", "Test", rest);
	return image_has_text(image, pattern);
}

/* A section that begins with it, so that what is known of names in it is where: some across the ends of pieces that it
 * may be read in. Their first bytes are put there at run time, or the list of names would be found itself. */
#define AT(power) [(1 << (power)) - 3] = '#', 'n', 'o', 'w', (power) + 'a'
__attribute__((section("texts"), used, aligned(4096))) static const char far_apart[(2 << 20) + 64] = {
	AT(12), AT(13), AT(14), AT(15), AT(16), AT(17), AT(18), AT(19), AT(20), AT(21)
};

static void names_in_one_reading(void **state)
{
	static const char *const others[] = { "", "x", "assert_true_of_nothing" };
	enum { FIRST = 12, LAST = 21, COUNT = LAST - FIRST + 1, ALL = COUNT + 1 + 3 };
	char text[ALL][32];
	const char *names[ALL];
	bool found[ALL] = { false };
	struct image *image;

	for (int i = 0; i <= COUNT; i++) /* one more than there are */
		snprintf(text[i], sizeof(text[i]), "%cnow%c", '#', FIRST + i + 'a');
	for (int i = 0; i < 3; i++)
		snprintf(text[COUNT + 1 + i], sizeof(text[0]), "%s%s", others[i], i == 2 ? "_more" : "");
	for (int i = 0; i < ALL; i++)
		names[i] = text[i];
	assert_int_equal(image_open_file(&image, "/proc/self/exe"), 0);
	image_find_names(image, names, ALL, found);
	for (int i = 0; i < ALL; i++)
		assert_int_equal(found[i], i < COUNT);
	/* One at a time is the same. */
	for (int i = 0; i < COUNT; i++) {
		found[0] = false;
		image_find_names(image, &names[i], 1, found);
		assert_true(found[0]);
	}
	image_close(image);
}

static void traits(void **state)
{
	struct image *image;

	assert_int_equal(image_open_file(&image, "/proc/self/exe"), 0);
	assert_true(has_text(image, "*LAYOUT=packed/p20:t10:a34"));
	assert_true(has_text(image, "(?) LAYOUT="));
	assert_true(has_text(image, "(x) LAYOUT=packed/p20:t10:a34,MORE $"));
	assert_false(has_text(image, "(x) LAYOUT=packed/p20:t10:a34,MORE $$"));
	assert_false(has_text(image, "*LAYOUT=struct"));
	assert_false(image_has_text(image, ""));
	assert_true(image_has_struct(image, "builds_test_layout", 16, "vaddr"));
	assert_true(image_has_struct(image, "builds_test_layout", 16, NULL));
	assert_false(image_has_struct(image, "builds_test_layout", 16, "thread"));
	assert_false(image_has_struct(image, "builds_test_layout", 8, NULL));
	assert_false(image_has_struct(image, "no_such_layout", 16, NULL));
	image_close(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_word),      cmocka_unit_test(two_words),
		cmocka_unit_test(unknown_types), cmocka_unit_test(odd_decoders),
		cmocka_unit_test(put_together),  cmocka_unit_test(recognising),
		cmocka_unit_test(unseen),        cmocka_unit_test(numbers_and_types),
		cmocka_unit_test(traits),        cmocka_unit_test(names_in_one_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
