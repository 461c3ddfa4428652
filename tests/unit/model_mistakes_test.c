/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_mistakes_test.c - what the reader of models says about mistakes, and that no text, however damaged, does harm.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/models.h"

/* --- mistakes ------------------------------------------------------------------- */

static void mistakes_say_where_and_what_to_do(void **state)
{
	complains("PUT put void f(size_t n @byte)", "25", "unknown annotation '@byte': did you mean @bytes?");
	complains("PUT putt void f(void)", "5", "unknown role: did you mean 'put'?");
	complains("librery libx.so", "1", "unknown statement: did you mean 'library'?");
	complains("PUT put void f(foo_t x)", "16", "unknown type 'foo_t': declare how it is passed");
	complains("PUT put void f(size_t n", "24", "expected ',' or ')' instead of the end of the line");
	complains("PUT put void f(size_t n @count:both)", "32", "expected 'send' or 'recv'");
	complains("PUT put void f(void *p @ptr(+8))", "31", "expected u8 s8");
	complains("PUT put void f(void *p @ptr(*))", "16", "no integer or pointer");
	complains("PUT put void f(int p @ptr(*))", "22", "'*' needs a pointer");
	complains("PUT put void f(int p @path)", "22", "'@path' needs a 'const char *'");
	complains("PUT put void f(char *p @path(+8 ptr))", "24", "'@path' needs a 'const char *', and nothing in");
	complains("PUT put void f(int p @out)", "16", "@out needs a pointer");
	complains("PUT put void f(T *p)", "14", "T stands for a type");
	complains("PUT put void f_{int,long(T *p)", "16", "missing");
	complains("PUT put void f_{x y=int,long}(int p)", "17", "is one word");
	complains("PUT put void f_{x=a,b}{x=c,d}(int p)", "14", "two groups of one name");
	complains("PUT put (int p)", "9", "expected the function's name");
	complains("PUT put f(int p)", "9", "expected the type of the result");
	complains("PUT put void f(void) -> @ptr", "22", "returns nothing");
	complains("PUT put void f(void) extra", "22", "unexpected 'extra'");
	complains("PUT put atomic int f(void) -> @ptr", "16", "not observed");
	complains("PUT put one int f(int n)", "17", "'one' means one element");
	complains("PUT put void f(int n @bytes(bits 3..70))", "37", "the last bit");
	complains("Put put void f(void)", "1", "an event has capitals");
	complains("model y", "1", "one file holds one model");
	complains("PUT put void f(void *p @ptr(sise))", "16", "is no path");
	complains("PUT put void f(struct s *p @ptr(sise))", "16", "no layout gives s.sise");
	complains("X.size = *", "10", "cannot stand in a layout");
}

static void mistakes_are_collected(void **state)
{
	static const char text[] = "model x\nlibrary program\nA put void f(int @byte)\nB putt void g(void)\n";
	char *said = complaint(text, strlen(text));

	assert_non_null(strstr(said, "x.model:3:18: "));
	assert_non_null(strstr(said, "x.model:4:3: "));

	char many[4096] = "model x\nlibrary program\n";
	int count = 0;

	for (int i = 0; i < 50; i++)
		strcat(many, "A put void f(int n @byte)\n");
	said = complaint(many, strlen(many));
	for (char *c = said; (c = strchr(c, '\n')); c++)
		count++;
	assert_int_equal(count, 11); /* ten, and that there may be more */
}

static void columns_count_through_continued_lines(void **state)
{
	static const char text[] = "model x\nlibrary program\nA put \\\n  void f(int a, \\\n  int b @byte)\n";

	assert_non_null(strstr(complaint(text, strlen(text)), "x.model:5:9: unknown annotation"));
}

static void whole_files_that_are_no_models(void **state)
{
	static const char twice[] = "model x\nlibrary program\nA put void f(void)\nB get void f(void)\n";
	static const char different[] =
		"model x\nlibrary program\nA put void f(int a @only(== 1))\nB get void f(int a @only(== 2))\n";

	assert_non_null(strstr(complaint("", 0), "no model here"));
	assert_non_null(strstr(complaint("model x\n", 8), "where are the functions?"));
	assert_non_null(strstr(complaint("model x\0y\n", 10), "a NUL byte"));
	assert_non_null(strstr(complaint("\177ELF\2\1\1", 7), "x.model:1:1: "));
	assert_non_null(strstr(complaint(twice, strlen(twice)), "f is in line 3 already"));
	assert_non_null(strstr(complaint(different, strlen(different)), "only the condition of @only may differ"));
}

static void bounds_hold(void **state)
{
	size_t size = 1 << 20;
	char *text = malloc(size + 1), *at;

	/* 8 groups of 10: a hundred million functions */
	at = text + sprintf(text, "model x\nlibrary program\nA put f");
	for (int i = 0; i < 8; i++)
		at += sprintf(at, "{0,1,2,3,4,5,6,7,8,9}");
	assert_non_null(strstr(complaint(text, at - text), "at most 100000 functions"));

	/* lists of lists */
	at = text + sprintf(text, "model x\nlibrary program\nlist L0 = a,b,c,d,e,f,g,h,i,j\n");
	for (int i = 1; i < 20; i++)
		at += sprintf(at, "list L%d = L%d,L%d,L%d,L%d,L%d,L%d\n", i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	assert_non_null(strstr(complaint(text, at - text), "more than 10000 alternatives"));

	/* a long prototype many times */
	at = text + sprintf(text, "model x\nlibrary program\nlist L = a0");
	for (int i = 1; i < 10000; i++)
		at += sprintf(at, ",a%d", i);
	at += sprintf(at, "\n");
	for (int i = 0; i < 10; i++) {
		at += sprintf(at, "A put void f%d{L}(", i);
		for (int j = 0; j < 60; j++)
			at += sprintf(at, "%sint a_rather_long_name_of_a_parameter_%d", j ? ", " : "", j);
		at += sprintf(at, ")\n");
	}
	assert_non_null(strstr(complaint(text, at - text), "needs more than 64 MiB"));

	memset(text, '*', size + 1);
	assert_non_null(strstr(complaint(text, size + 1), "at most 1 MiB"));
	complaint(text, size);
	memset(text, '{', size);
	memcpy(text, "model x\nA put ", 14);
	complaint(text, size);
	memset(text, '(', size);
	memcpy(text, "model x\nA put void f", 20);
	complaint(text, size);
	memset(text, '\n', size);
	complaint(text, size);
	free(text);
}

/* --- the models that come with gaspbpf, whole and damaged ------------------------- */

static const char *models_folder(void)
{
	const char *folder = getenv("GASPBPF_MODELS");

	return folder ? folder : "models";
}

static void every_shipped_model_loads(void **state)
{
	static const char *const sonames[] = { NULL, "libmpi.so.40", "libmpich.so.12", "liboshmem.so.40",
					       "libstarpu-1.3.so.9" };
	struct model_set *set;

	if (access(models_folder(), R_OK))
		skip();
	assert_int_equal(models_load_folder(&set, models_folder()), 0);
	for (size_t m = 0; m < models_count(set); m++)
		for (size_t i = 0; i < models_at(set, m)->nfunctions; i++)
			for (size_t l = 0; l < sizeof(sonames) / sizeof(*sonames); l++) {
				struct capture capture;

				assert_int_equal(
					model_function_capture(&models_at(set, m)->functions[i], sonames[l], &capture),
					0);
				capture_free(&capture);
			}
	models_free(set);
}

static void a_folder_without_models_is_refused(void **state)
{
	struct model_set *set;
	char folder[] = "/tmp/model_test.XXXXXX";
	int old = dup(2);

	assert_non_null(mkdtemp(folder));
	assert_non_null(freopen("/dev/null", "w", stderr));
	assert_int_not_equal(models_load_folder(&set, folder), 0);
	assert_null(set);
	assert_int_equal(rmdir(folder), 0);
	assert_int_not_equal(models_load_folder(&set, folder), 0);
	dup2(old, 2);
	close(old);
}

/* A small generator of its own, so that a failure can be repeated. */
static uint32_t dice(uint64_t *seed, uint32_t sides)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % sides;
}

static const char *const snippets[] = {
	"@",
	"(",
	")",
	"{",
	"}",
	",",
	"->",
	"...",
	"..",
	"*",
	"+8 ptr",
	"-2147483648 u64",
	"bits 0..63 if bits 0..63 == -1",
	"str",
	"T",
	"@only(* == 1)",
	"@bytes(sizeof *)",
	"@out",
	"@skip",
	"high",
	"{op=",
	"=",
	"\\\n",
	"#",
	"\n",
	"\0",
	"\377",
	"struct",
	"void",
	"layout *\n",
	"type X = struct 65536\n",
	"X",
	"list L = L,L\n",
	"{L,L,L,L}",
	"A put void f(",
	"99999999999999999999",
	"[",
	"]",
	"opens",
	"closes",
	"one",
	"long double",
	"_Complex",
	"upc_packed",
	"gfc_bytes",
	":recv",
	"none=1",
	"element=1",
	"\t",
	"unsigned",
	"event A start(int a)",
	"both(",
	"atomic()",
	"\"",
	"|",
	".given",
	"= a.b|-1",
	"{is_relaxed=:1,s:0}",
	"-> returnptr",
};

static size_t mutate(uint64_t *seed, char *text, size_t length, size_t room)
{
	for (uint32_t changes = 1 + dice(seed, 8); changes--;) {
		size_t at = dice(seed, length + 1);
		const char *snippet = snippets[dice(seed, sizeof(snippets) / sizeof(*snippets))];
		size_t size = strlen(snippet) + !*snippet, cut;

		switch (dice(seed, 4)) {
		case 0: /* a byte */
			if (at < length)
				text[at] = dice(seed, 256);
			break;
		case 1: /* a piece gone */
			cut = dice(seed, 64);
			cut = cut > length - at ? length - at : cut;
			memmove(text + at, text + at + cut, length - at - cut);
			length -= cut;
			break;
		case 2: /* a piece more */
			if (length + size > room)
				break;
			memmove(text + at + size, text + at, length - at);
			memcpy(text + at, snippet, size);
			length += size;
			break;
		default: /* a piece of elsewhere */
			cut = dice(seed, 64);
			if (length < 128 || at > length - 64)
				break;
			memmove(text + at, text + dice(seed, length - 64), cut);
		}
	}
	return length;
}

static void try_text(const char *text, size_t length)
{
	struct model_set *set = models_new();
	struct call call = { .registers = { 0 } };

	if (!models_add_text(set, "fuzz", text, length))
		for (size_t i = 0; i < models_at(set, 0)->nfunctions && i < 50; i++) {
			struct seen s = run(&models_at(set, 0)->functions[i], NULL, &call);

			for (size_t v = 0; v < s.capture.nvalues; v++)
				value_read(&s.capture.values[v], s.words, s.capture.program.slots, s.unread, true);
			value_payload(s.role, s.capture.values, s.capture.nvalues, s.words, s.capture.program.slots,
				      s.unread, true);
			capture_free(&s.capture);
		}
	models_free(set);
}

static void damaged_models_do_no_harm(void **state)
{
	static const char *const parts[] = {
		message_model,
		task_model,
		"model x\nlibrary program\nlist N = :int,_c:int64_t\ntype pts = struct 16\n"
		"A put void {,P}f{N}(const T *a @count:send(+4 u32 bits 0..7 if bits 8..9 == 1), void *(*g)(int, "
		"int), char **s @name(* str) @out, ...) -> @ptr\n"
		"B get one double g_{int,double}(T v[], pts p @peer(high bits 0..31) @ptr(upc_packed), int r[][3] "
		"@skip)\n",
	};
	uint64_t seed = getenv("SEED") ? strtoull(getenv("SEED"), NULL, 0) : 1;
	long rounds = getenv("ROUNDS") ? atol(getenv("ROUNDS")) : 20000;
	char text[8192];
	int old = dup(2);

	assert_non_null(freopen("/dev/null", "w", stderr));
	for (long i = 0; i < rounds; i++) {
		const char *part = parts[dice(&seed, 3)];
		size_t length = strlen(part);

		memcpy(text, part, length);
		try_text(text, mutate(&seed, text, length, sizeof(text)));
	}
	fflush(stderr);
	dup2(old, 2);
	close(old);
}

static void damaged_values_do_no_harm(void **state)
{
	struct model_set *set = read_text(message_model);
	struct call call = { .registers = { 0 } };
	struct seen s = run(find_function(set, "Recv"), "libmsg.so.12", &call);
	struct buffer bytes = { .data = NULL };
	uint64_t seed = 7, words[GB_SLOTS] = { 0 };

	for (size_t i = 0; i < s.capture.nvalues; i++)
		value_encode(&bytes, &s.capture.values[i]);
	for (int round = 0; round < 20000; round++) {
		uint8_t copy[1024];
		struct cursor c = { .at = copy, .end = copy + bytes.size };
		struct value v;

		assert_true(bytes.size <= sizeof(copy));
		memcpy(copy, bytes.data, bytes.size);
		for (uint32_t n = 1 + dice(&seed, 4); n--;)
			copy[dice(&seed, bytes.size)] = dice(&seed, 256);
		while (value_decode(&c, &v)) {
			value_read(&v, words, dice(&seed, GB_SLOTS + 1), 0, true);
			value_payload(ROLE_RECV, &v, 1, words, GB_SLOTS, 0, true);
			value_free(&v);
		}
	}
	buffer_free(&bytes);
	done(&s, set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_say_where_and_what_to_do),
		cmocka_unit_test(mistakes_are_collected),
		cmocka_unit_test(columns_count_through_continued_lines),
		cmocka_unit_test(whole_files_that_are_no_models),
		cmocka_unit_test(bounds_hold),
		cmocka_unit_test(every_shipped_model_loads),
		cmocka_unit_test(a_folder_without_models_is_refused),
		cmocka_unit_test(damaged_models_do_no_harm),
		cmocka_unit_test(damaged_values_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
