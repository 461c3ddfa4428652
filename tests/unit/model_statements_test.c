/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_statements_test.c - models: statements of several lines, and arguments of events that need not be listed.
 */
#include <stdio.h>
#include <string.h>

#include "shared/models.h"

static const struct model_event *event_of(const struct model_set *set, const char *name)
{
	const struct model_event *event = model_event_find(models_at(set, 0), name);

	if (!event)
		fail_msg("no event %s", name);
	return event;
}

/* "int a, size_t b = c"; "-" where the event has no such list. */
static const char *arguments(const struct model_set *set, const char *event, enum event_type type)
{
	const struct event_list *list = &event_of(set, event)->lists[type];
	static char text[1024];

	strcpy(text, list->stated ? "" : "-");
	for (size_t i = 0; i < list->count; i++) {
		const struct event_argument *a = &list->arguments[i];
		size_t length = strlen(text);

		snprintf(text + length, sizeof(text) - length, "%s%s%s%s%s%s", i ? ", " : "", a->type,
			 strchr(a->type, '*') ? "" : " ", a->name, strcmp(a->from[0].name, a->name) ? " = " : "",
			 strcmp(a->from[0].name, a->name) ? a->from[0].name : "");
	}
	return text;
}

/* --- several lines -------------------------------------------------------------- */

static void a_statement_goes_on_in_indented_lines(void **state)
{
	struct model_set *set = read_lines("event A  start(int a,\n"
					   "\tint b)  end(int a, # a comment\n"
					   "    # and one more\n"
					   "    int c)\n"
					   "\t\"one \"\n"
					   "\t\"text (of\"\r\n"
					   "\t\") three pieces\"\n"
					   "A put void f_{x,\n"
					   "\ty}(int a\n"
					   "\t@bytes,\n"
					   "\tint b)\n"
					   "A get int g(int a)\n"
					   "\t-> c\n"
					   "list L = p,q, \\\n"
					   "  r\n"
					   "unseen A \"no probe \"\n"
					   "\t\"sees it\"\n"
					   "A get void h_{L}(void)\n");

	assert_string_equal(arguments(set, "GASP_X_A", EVENT_START), "int a, int b");
	assert_string_equal(arguments(set, "GASP_X_A", EVENT_END), "int a, int c");
	assert_string_equal(event_of(set, "GASP_X_A")->description, "one text (of) three pieces");
	assert_string_equal(models_at(set, 0)->unseen[0].why, "no probe sees it");
	assert_string_equal(find_function(set, "f_y")->prototype, "void f_y(int a, int b)");
	assert_int_equal(find_function(set, "f_y")->line, 10); /* the first of read_lines() is line 3 */
	assert_int_equal(find_function(set, "g")->line, 14);
	assert_int_equal(find_function(set, "h_r")->line, 20);
	assert_int_equal(models_at(set, 0)->nfunctions, 6);
	models_free(set);
}

static void indented_statements_are_their_own(void **state)
{
	struct model_set *set = read_lines("  A put void f(s x)\n"
					   "\tB get void g(void)\n"
					   "layout libx.so.1\n"
					   "\ttype s = ptr\n"
					   "\ts.size = +8 u32\n"
					   "    C put void h(s x @bytes(size))\n");

	assert_int_equal(models_at(set, 0)->nfunctions, 3);
	models_free(set);
}

static void mistakes_are_where_they_are(void **state)
{
	static const char inside[] =
		"model x\nlibrary program\nA put void f(int a,\n\tint b @byte)\nB putt void g(void)\n";
	static const char open[] = "model x\nlibrary program\nA put void f(int a\nB putt void g(void)\n";
	static const char text[] =
		"model x\nlibrary program\nevent A both()\n\t\"one\"\n\t\"two\nB putt void g(void)\n";
	char *said = complaint(inside, strlen(inside));

	assert_non_null(strstr(said, "x.model:4:8: unknown annotation"));
	assert_non_null(strstr(said, "x.model:5:3: unknown role"));
	/* What was forgotten costs its own statement. */
	said = complaint(open, strlen(open));
	assert_non_null(strstr(said, "x.model:3:19: expected ',' or ')' instead of the end of the line"));
	assert_non_null(strstr(said, "x.model:4:3: unknown role"));
	said = complaint(text, strlen(text));
	assert_non_null(strstr(said, "x.model:5:2: the '\"' at the end of the description is missing"));
	assert_non_null(strstr(said, "x.model:6:3: unknown role"));
	complains("unseen A \"why\" \"", "1", "expected 'unseen EVENT");
	complains("unseen A \"\"", "1", "expected 'unseen EVENT");
}

/* --- end +(...) ------------------------------------------------------------------- */

static void end_has_what_start_has(void **state)
{
	struct model_set *set = read_lines("event ADD    start(int a, int b)  end +(int c, int d)\n"
					   "event NONE   end +()  start(int a)\n"
					   "event PLACE  start(int a, int b, int c)  end +(long b = x|b, int d)\n"
					   "event MIDDLE start(int a, int b, int c)  end +(int d, int e, int c)\n"
					   "event FIRST  start(int a)  end +(int d, int a = x)  atomic(int z)\n"
					   "event EMPTY  start()  end+(int c)\n");

	assert_string_equal(arguments(set, "GASP_X_ADD", EVENT_START), "int a, int b");
	assert_string_equal(arguments(set, "GASP_X_ADD", EVENT_END), "int a, int b, int c, int d");
	assert_string_equal(arguments(set, "GASP_X_NONE", EVENT_END), "int a");
	assert_string_equal(arguments(set, "GASP_X_PLACE", EVENT_START), "int a, int b, int c");
	assert_string_equal(arguments(set, "GASP_X_PLACE", EVENT_END), "int a, long b = x, int c, int d");
	assert_string_equal(arguments(set, "GASP_X_MIDDLE", EVENT_END), "int a, int b, int d, int e, int c");
	assert_string_equal(arguments(set, "GASP_X_FIRST", EVENT_END), "int d, int a = x");
	assert_string_equal(arguments(set, "GASP_X_FIRST", EVENT_ATOMIC), "int z");
	assert_string_equal(arguments(set, "GASP_X_EMPTY", EVENT_END), "int c");
	models_free(set);
}

static void mistakes_with_end(void **state)
{
	char line[1024] = "event A start(int a0";

	complains("event A end +(int c)", "9", "start(...), which is missing");
	complains("event A start +(int c)", "9", "expected start(...), end(...), end +(...)");
	complains("event A both +(int c)", "9", "expected start(...), end(...), end +(...)");
	complains("event A start(int a) end + int c", "22", "expected start(...), end(...), end +(...)");
	complains("event A both(int a) end +(int c)", "21", "a second list");
	complains("event A start(int a, int b) end +(int b, int a)", "29", "'a' stands twice, or in another order");
	complains("event A start(int a) end +(int c, int c)", "22", "'c' stands twice");
	for (int i = 1; i < 15; i++)
		sprintf(line + strlen(line), ", int a%d", i);
	strcat(line, ") end +(int b0, int b1, int b2, int b3, int b4, int b5)");
	complains(line, "140", "at most 20 arguments");
}

/* --- by the prototype --------------------------------------------------------------- */

static void an_event_without_a_list_has_its_prototypes_arguments(void **state)
{
	struct model_set *set = read_lines(
		"type handle = ptr\ntype offset = s64\ntype pair = struct 16\ntype kind = u32\nhandle.rank = +8 s32\n"
		"event PUT  \"puts\"\n"
		"PUT put long f(const void *from, size_t n @bytes, handle h @comm @comm(rank), offset o, int v[], "
		"char  *const *names, int flag @skip, pair two, int *more @done @out, handle *made @ptr @out, "
		"handle *old @ptr(*), handle *several, double x, void (*call)(int), int r[][3], struct s *s @ptr(+8 u64), "
		"const char *name @name(str), kind k @type, ...) -> count\n"
		"PUT put void g(int other)\n"
		"event LEFT\n"
		"LEFT exit atomic void leave(int status)\n"
		"event MIXED\n"
		"MIXED exit atomic void mixed_at_once(int a)\n"
		"MIXED exit void mixed(int b)\n"
		"event BRACKET\n"
		"BRACKET task closes void done(int no)\n"
		"BRACKET task opens void begin(int a)\n"
		"event NEVER  \"no function\"\n"
		"event BARE\n"
		"BARE user bare_name\n"
		"QUIET put void q(int a)\n"
		"event NOTHING both()\n"
		"NOTHING put void nothing(int a)\n");
	const struct model_event *put = event_of(set, "GASP_X_PUT");

	assert_string_equal(arguments(set, "GASP_X_PUT", EVENT_START),
			    "const void *from, size_t n, uint64_t h, int64_t o, int *v, char *const *names, "
			    "uint64_t old, void *several, double x, void *call, const char *name");
	assert_string_equal(
		arguments(set, "GASP_X_PUT", EVENT_END),
		"const void *from, size_t n, uint64_t h, int64_t o, int *v, char *const *names, int more, "
		"uint64_t made, uint64_t old, void *several, double x, void *call, const char *name, long count");
	assert_string_equal(put->description, "puts");
	assert_int_equal(put->lists[EVENT_START].arguments[1].kind, ARGUMENT_UINT);
	assert_int_equal(put->lists[EVENT_START].arguments[3].kind, ARGUMENT_INT);
	assert_int_equal(put->lists[EVENT_END].arguments[6].size, 4);
	assert_string_equal(arguments(set, "GASP_X_PUT", EVENT_ATOMIC), "-");
	assert_string_equal(arguments(set, "GASP_X_LEFT", EVENT_ATOMIC), "int status");
	assert_string_equal(arguments(set, "GASP_X_LEFT", EVENT_START), "-");
	assert_string_equal(arguments(set, "GASP_X_MIXED", EVENT_ATOMIC), "int a");
	assert_string_equal(arguments(set, "GASP_X_MIXED", EVENT_END), "int b");
	assert_string_equal(arguments(set, "GASP_X_BRACKET", EVENT_END), "int a");
	assert_string_equal(arguments(set, "GASP_X_NEVER", EVENT_START), "-");
	assert_string_equal(arguments(set, "GASP_X_BARE", EVENT_START), "-");
	/* Without a statement an event has the values of its calls, as ever. */
	assert_string_equal(arguments(set, "GASP_X_QUIET", EVENT_START), "-");
	assert_false(event_of(set, "GASP_X_QUIET")->listed);
	assert_string_equal(arguments(set, "GASP_X_NOTHING", EVENT_START), "");
	models_free(set);
}

static void what_t_is(void **state)
{
	struct model_set *set = read_lines("event ONE\nONE put void f_{long}(T a, const T *b)\n"
					   "event LONG\nLONG put void g{:int,_c:int64_t,_s:short}(T a, const T *b)\n"
					   "event MANY\nMANY put void h_{int,double}(T a, const T *b)\n"
					   "event SIGN\nSIGN put void i_{int,u:unsigned}(T a)\n");

	assert_string_equal(arguments(set, "GASP_X_ONE", EVENT_START), "long a, const long *b");
	assert_string_equal(arguments(set, "GASP_X_LONG", EVENT_START), "int64_t a, const int64_t *b");
	assert_string_equal(arguments(set, "GASP_X_MANY", EVENT_START), "const void *b");
	assert_string_equal(arguments(set, "GASP_X_SIGN", EVENT_START), "");
	models_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_statement_goes_on_in_indented_lines),
		cmocka_unit_test(indented_statements_are_their_own),
		cmocka_unit_test(mistakes_are_where_they_are),
		cmocka_unit_test(end_has_what_start_has),
		cmocka_unit_test(mistakes_with_end),
		cmocka_unit_test(an_event_without_a_list_has_its_prototypes_arguments),
		cmocka_unit_test(what_t_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
