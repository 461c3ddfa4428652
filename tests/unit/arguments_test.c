/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arguments_test.c - events and their arguments: what an `event` statement says, how it becomes a probe's definition,
 * what of it survives the recording, and what a tool gets in the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/session.h"
#include "recording/definitions.h"
#include "shared/models.h"
#include "timeline/arguments.h"

/* A model of these lines, whose events have names and numbers. */
static struct model_set *read_events(const char *lines)
{
	struct model_set *set = models_new();
	char text[8192];

	snprintf(text, sizeof(text), "model x\nlanguage X\nnumbers 100\nlibrary program libx.so*\n%s\n", lines);
	assert_int_equal(models_add_text(set, "x.model", text, strlen(text)), 0);
	return set;
}

static void events_of_a_model(void **state)
{
	struct model_set *set = read_events(
		"number SEEN 7\n"
		"event SEEN start(size_t n) end(size_t n, void  *  where = a.b|result|0)  \"one line\"\n"
		"event NEVER atomic(int status)\n"
		"PLAIN put void x_put(int n)\n"
		"SEEN get void *x_get(size_t n) -> @ptr\n"
		"event QUIET both()\n");
	const struct model *model = models_at(set, 0);
	const struct model_event *seen = model_event_find(model, "GASP_X_SEEN"),
				 *never = model_event_find(model, "GASP_X_NEVER"),
				 *plain = model_event_find(model, "GASP_X_PLAIN"),
				 *quiet = model_event_find(model, "GASP_X_QUIET");

	assert_int_equal(model->nevents, 4);
	assert_int_equal(seen->number, 7);
	assert_int_equal(plain->number, 100); /* functions first, in the order of the file */
	assert_int_equal(never->number, 101);
	assert_int_equal(quiet->number, 102);
	assert_string_equal(seen->description, "one line");
	assert_int_equal(seen->role, ROLE_GET);
	assert_int_equal(seen->nfunctions, 1);
	assert_int_equal(never->nfunctions, 0);
	assert_true(never->listed && !plain->listed);
	assert_ptr_equal(find_function(set, "x_get")->of, seen);
	assert_ptr_equal(find_function(set, "x_put")->of, plain);
	assert_false(seen->lists[EVENT_ATOMIC].stated);
	assert_int_equal(seen->lists[EVENT_START].count, 1);
	assert_string_equal(seen->lists[EVENT_START].arguments[0].type, "size_t");
	assert_int_equal(seen->lists[EVENT_START].arguments[0].kind, ARGUMENT_UINT);
	const struct event_argument *where = &seen->lists[EVENT_END].arguments[1];

	assert_string_equal(where->name, "where");
	assert_string_equal(where->type, "void *");
	assert_int_equal(where->nfrom, 3);
	assert_string_equal(where->from[0].name, "a.b");
	assert_null(where->from[2].name);
	assert_true(quiet->lists[EVENT_START].stated && quiet->lists[EVENT_END].stated);
	assert_int_equal(quiet->lists[EVENT_END].count, 0);
	assert_null(model_event_find(model, "GASP_X_OTHER"));
	models_free(set);
}

static void kinds_of_arguments(void **state)
{
	struct model_set *set = read_events(
		"event E both(int a, unsigned short b, const char *c, gasp_upc_PTS_t* d, gasp_upc_lock_t *e, "
		"double f, gasp_upc_nb_handle_t g, void **h, struct s *i)\n");
	const struct event_list *list = &model_event_find(models_at(set, 0), "GASP_X_E")->lists[EVENT_START];
	static const enum argument_kind expected[] = { ARGUMENT_INT,    ARGUMENT_UINT,    ARGUMENT_TEXT,
						       ARGUMENT_SHARED, ARGUMENT_SHARED,  ARGUMENT_DOUBLE,
						       ARGUMENT_UINT,   ARGUMENT_POINTER, ARGUMENT_POINTER };

	assert_int_equal(list->count, 9);
	for (size_t i = 0; i < list->count; i++)
		assert_int_equal(list->arguments[i].kind, expected[i]);
	assert_int_equal(list->arguments[0].size, 4);
	assert_int_equal(list->arguments[1].size, 2);
	assert_string_equal(list->arguments[1].type, "unsigned short");
	assert_string_equal(list->arguments[2].type, "const char *");
	assert_string_equal(list->arguments[3].type, "gasp_upc_PTS_t *");
	assert_string_equal(list->arguments[7].type, "void **");
	models_free(set);
}

static void mistakes(void **state)
{
	complains("event", "6", "expected an event");
	complains("event low both()", "7", "capitals");
	complains("event A beginning()", "9", "expected start(...)");
	complains("event A start(int)", "18", "expected the argument's name");
	complains("event A start(int x,)", "21", "expected an argument");
	complains("event A start(int x", "20", "expected ',' or ')'");
	complains("event A start(void x)", "15", "has a C type");
	complains("event A start(int x = )", "23", "expected a value's name");
	complains("event A start(int x = a. b)", "23", "no blanks");
	complains("event A start() start()", "17", "a second list");
	complains("event A both() \"open", "16", "is missing");
	complains("event A both() \"x\" y", "20", "after the description");
	complains("event A both() ;", "16", "unexpected ';'");
}

static void second_statement(void **state)
{
	struct model_set *set = models_new();
	const char *text = "model x\nlibrary program\nevent A both()\nevent A both()\n";

	assert_int_not_equal(models_add_text(set, "x.model", text, strlen(text)), 0);
	models_free(set);
}

/* --- a call, from the model to the tool ------------------------------------------ */

struct made {
	struct model_set *set;
	struct definitions d;
	struct span span;
};

/* A probe of one function, as capture would define it; and a call with these words. */
static void make(struct made *made, const char *lines, const char *symbol, const uint64_t *words, unsigned nwords)
{
	const struct function *f;
	struct capture capture;
	struct def_probe *probe;

	memset(made, 0, sizeof(*made));
	made->set = read_events(lines);
	f = find_function(made->set, symbol);
	assert_int_equal(definitions_add_probe(&made->d), 0);
	assert_int_equal(definitions_add_image(&made->d), 0);
	probe = &made->d.probes[0];
	assert_int_equal(model_function_capture(f, "libx.so", &capture), 0);
	probe->values = capture.values;
	probe->nvalues = capture.nvalues;
	capture.values = NULL;
	capture.nvalues = 0;
	capture_free(&capture);
	assert_int_equal(define_arguments(probe, f), 0);
	made->span = (struct span){ .reason = GB_END_RETURN, .nwords = nwords };
	memcpy(made->span.words, words, nwords * sizeof(*words));
}

/* What of the probe survives the file. */
static void through_the_file(struct made *made)
{
	const struct kind *kind = NULL;
	struct buffer bytes = { 0 };
	struct def_probe copy;

	for (int i = 0; i < KINDS; i++)
		if (kinds[i].array == offsetof(struct definitions, probes))
			kind = &kinds[i];
	assert_non_null(kind);
	entry_encode(&bytes, kind->fields, &made->d.probes[0]);
	assert_false(bytes.failed);
	struct cursor cursor = { bytes.data, bytes.data + bytes.size, false };

	assert_null(entry_decode(&cursor, kind->fields, kind->size, &copy));
	assert_null(entry_check(kind, &made->d, &copy));
	entry_free(kind->fields, &made->d.probes[0]);
	made->d.probes[0] = copy;
	buffer_free(&bytes);
}

static void unmake(struct made *made)
{
	definitions_free(&made->d);
	models_free(made->set);
}

/* The event's arguments as "name=value ..."; unknown ones as "name?". */
static const char *shown(struct made *made, enum event_type type)
{
	static char text[1024];
	struct event event = { .type = type, .span = &made->span };
	struct argument arguments[ARGUMENTS_AT_MOST];
	size_t count = event_arguments(&made->d, &event, arguments, ARGUMENTS_AT_MOST), length = 0;

	*text = 0;
	for (size_t i = 0; i < count; i++) {
		const struct argument *a = &arguments[i];

		length += snprintf(text + length, sizeof(text) - length, "%s%s", i ? " " : "", a->name);
		if (!a->known)
			length += snprintf(text + length, sizeof(text) - length, "?");
		else if (a->text)
			length += snprintf(text + length, sizeof(text) - length, "=%s", a->text);
		else if (a->high)
			length += snprintf(text + length, sizeof(text) - length, "=%llx:%llx", (long long)a->high,
					   (long long)a->word);
		else
			length += snprintf(text + length, sizeof(text) - length, "=%lld", (long long)a->word);
	}
	return text;
}

#define BOTH_WAYS(made) for (int way = 0; way < 2; way++, way == 1 ? through_the_file(made) : (void)0)

static void start_and_end_have_their_own(void **state)
{
	struct made made;

	make(&made,
	     "event MALLOC start(size_t nbytes) end(size_t nbytes, void *returnptr)\n"
	     "MALLOC alloc void *x_malloc(size_t nbytes @bytes) -> returnptr @ptr\n",
	     "x_malloc", (uint64_t[]){ 10, 4096 }, 2);
	BOTH_WAYS(&made)
	{
		assert_string_equal(shown(&made, EVENT_START), "nbytes=10");
		assert_string_equal(shown(&made, EVENT_END), "nbytes=10 returnptr=4096");
	}
	made.span.reason = GB_END_EXIT; /* it never returned: nothing is made up */
	assert_string_equal(shown(&made, EVENT_END), "nbytes=10 returnptr?");
	made.span.reason = GB_END_RETURN;
	made.span.unread = 1;
	assert_string_equal(shown(&made, EVENT_START), "nbytes?");
	unmake(&made);
}

static void given_or_not(void **state)
{
	struct made made;
	const char *lines =
		"event BARRIER both(int named = id.given, int expr = id)\nBARRIER barrier void x_barrier(int id "
		"@named(none=-1))\n";

	make(&made, lines, "x_barrier", (uint64_t[]){ 17 }, 1);
	BOTH_WAYS(&made)
	assert_string_equal(shown(&made, EVENT_START), "named=1 expr=17");
	unmake(&made);
	make(&made, lines, "x_barrier", (uint64_t[]){ UINT32_MAX }, 1);
	BOTH_WAYS(&made)
	assert_string_equal(shown(&made, EVENT_END), "named=0 expr?");
	unmake(&made);
}

static void groups_are_constants(void **state)
{
	struct made made;
	const char *lines =
		"event GET both(int is_relaxed, int type, const char *funcsig = prototype, const char *what = op, "
		"int no = nothing|5, int never)\n"
		"GET get void x_get{is_relaxed=:1,s:0}{type=I:4,D:9}{op=sum,max}(int n)\n";

	make(&made, lines, "x_getIsum", (uint64_t[]){ 3 }, 1);
	BOTH_WAYS(&made)
	assert_string_equal(shown(&made, EVENT_START),
			    "is_relaxed=1 type=4 funcsig=void x_getIsum(int n) what=sum no=5 never?");
	unmake(&made);
	make(&made, lines, "x_getsDmax", (uint64_t[]){ 3 }, 1);
	assert_string_equal(find_function(made.set, "x_getsDmax")->op, "max");
	BOTH_WAYS(&made)
	assert_string_equal(shown(&made, EVENT_END),
			    "is_relaxed=0 type=9 funcsig=void x_getsDmax(int n) what=max no=5 never?");
	unmake(&made);
}

static void types_and_sizes_of_elements(void **state)
{
	struct made made;
	const char *lines =
		"list TYPES = short,longlong:long long\n"
		"event PUT both(size_t nelems, const char *type = T, size_t size = element|1)\n"
		"PUT put void x_{TYPES}_put(T *dest, size_t nelems @count)\nPUT put one void x_{TYPES}_p(T *dest, T "
		"value @skip)\n"
		"PUT put void x_putmem(void *dest @skip, size_t nelems @bytes)\n";

	make(&made, lines, "x_longlong_put", (uint64_t[]){ 64, 3 }, 2);
	BOTH_WAYS(&made)
	assert_string_equal(shown(&made, EVENT_START), "nelems=3 type=long long size=8");
	unmake(&made);
	make(&made, lines, "x_short_p", (uint64_t[]){ 64 }, 1);
	BOTH_WAYS(&made)
	assert_string_equal(shown(&made, EVENT_START), "nelems? type=short size=2");
	unmake(&made);
	make(&made, lines, "x_putmem", (uint64_t[]){ 7 }, 1);
	BOTH_WAYS(&made)
	assert_string_equal(shown(&made, EVENT_END), "nelems=7 type? size=1");
	unmake(&made);
}

/* A value that the call gives only where another one says so. */
static void plain_values_have_conditions(void **state)
{
	struct made made;

	make(&made,
	     "event NEXT end(int more, long first)\nNEXT submit int x_next(long *first @plain(*, if more) @out) -> "
	     "more\n",
	     "x_next", (uint64_t[]){ 12, 1 }, 2);
	BOTH_WAYS(&made)
	{
		made.span.words[1] = 1;
		assert_string_equal(shown(&made, EVENT_END), "more=1 first=12");
		made.span.words[1] = 0;
		assert_string_equal(shown(&made, EVENT_END), "more=0 first?");
	}
	unmake(&made);
}

static void the_first_known(void **state)
{
	struct made made;

	make(&made,
	     "event RECV start(int source) end(int source = status.peer|source)\n"
	     "RECV recv void x_recv(int source, int *status @peer(+0 s32) @tag(+4 s32) @out)\n",
	     "x_recv", (uint64_t[]){ 99, 4, 3 }, 3);
	BOTH_WAYS(&made)
	{
		assert_string_equal(shown(&made, EVENT_START), "source=99");
		made.span.unread = 0;
		assert_string_equal(shown(&made, EVENT_END), "source=3");
		made.span.unread = 6; /* MPI_STATUS_IGNORE */
		assert_string_equal(shown(&made, EVENT_END), "source=99");
	}
	unmake(&made);
}

static void shared_pointers_keep_their_words(void **state)
{
	struct made made;

	make(&made,
	     "type pts = u64\nevent FREE both(gasp_upc_PTS_t *shrd_ptr)\nFREE free void x_free(pts shrd_ptr "
	     "@ptr(upc_packed))\n",
	     "x_free", (uint64_t[]){ (5ull << 30) | (2 << 20) | 1 }, 1);
	BOTH_WAYS(&made)
	{
		struct event event = { .type = EVENT_START, .span = &made.span };
		struct argument a;

		assert_int_equal(event_arguments(&made.d, &event, &a, 1), 1);
		assert_true(a.known && a.decoded);
		assert_int_equal(a.word, (5ull << 30) | (2 << 20) | 1);
		assert_int_equal(a.thread, 2);
		assert_int_equal(a.phase, 1);
		assert_int_equal(a.address, 5);
	}
	unmake(&made);
	make(&made,
	     "type pts = struct 16\nevent FREE both(gasp_upc_PTS_t *shrd_ptr)\nFREE free void x_free(pts shrd_ptr)\n",
	     "x_free", (uint64_t[]){ 0x11, 0x22 }, 2);
	BOTH_WAYS(&made)
	assert_string_equal(shown(&made, EVENT_START), "shrd_ptr=22:11");
	unmake(&made);
}

static void an_event_without_a_list_has_its_values(void **state)
{
	struct made made;

	make(&made, "PUT put int x_put(int n @bytes, int pe @peer) -> @error\n", "x_put", (uint64_t[]){ 8, 3, 0 }, 3);
	BOTH_WAYS(&made)
	{
		assert_string_equal(shown(&made, EVENT_START), "n=8 pe=3");
		assert_string_equal(shown(&made, EVENT_END), "n=8 pe=3 result=0");
	}
	unmake(&made);
}

static void an_empty_list_is_a_list(void **state)
{
	struct made made;

	make(&made, "event FENCE both()\nFENCE fence void x_fence(int secret)\n", "x_fence", (uint64_t[]){ 8 }, 1);
	BOTH_WAYS(&made)
	assert_string_equal(shown(&made, EVENT_START), "");
	unmake(&made);
}

/* Whatever the bytes of the fields are, reading ends, and what was read is in bounds. */
static void bad_bytes(void **state)
{
	struct made made;
	const struct kind *kind = NULL;
	struct buffer bytes = { 0 };

	make(&made,
	     "event E both(int a = x.given|n, const char *s = prototype, int k = 3)\nE put void x_e(int n @bytes, "
	     "int x)\n",
	     "x_e", (uint64_t[]){ 1, 2 }, 2);
	for (int i = 0; i < KINDS; i++)
		if (kinds[i].array == offsetof(struct definitions, probes))
			kind = &kinds[i];
	entry_encode(&bytes, kind->fields, &made.d.probes[0]);
	for (size_t at = 0; at < bytes.size; at++)
		for (int bit = 0; bit < 8; bit++) {
			struct cursor cursor = { bytes.data, bytes.data + bytes.size, false };
			struct def_probe copy;

			bytes.data[at] ^= 1 << bit;
			if (!entry_decode(&cursor, kind->fields, kind->size, &copy)) {
				if (!entry_check(kind, &made.d, &copy))
					for (uint32_t i = 0; i < copy.narguments; i++)
						for (uint32_t j = 0; j < copy.arguments[i].nfrom; j++)
							assert_true(copy.arguments[i].from[j].what >= FROM_NUMBER ||
								    copy.arguments[i].from[j].value < copy.nvalues);
				entry_free(kind->fields, &copy);
			}
			bytes.data[at] ^= 1 << bit;
		}
	buffer_free(&bytes);
	unmake(&made);
}

/* Can any function of the event give this argument? */
static bool can_be_given(const struct model *model, const struct model_event *event, enum event_type type,
			 const char *name)
{
	bool given = false;

	for (size_t i = 0; i < model->nfunctions && !given; i++) {
		struct def_probe probe = { .nvalues = 0 };
		struct capture capture;

		if (model->functions[i].of != event)
			continue;
		assert_int_equal(model_function_capture(&model->functions[i], NULL, &capture), 0);
		probe.values = capture.values;
		probe.nvalues = capture.nvalues;
		assert_int_equal(define_arguments(&probe, &model->functions[i]), 0);
		for (uint32_t k = 0; k < probe.narguments; k++)
			given |= probe.arguments[k].event == type && !strcmp(probe.arguments[k].name, name) &&
				 probe.arguments[k].nfrom;
		arguments_free(&probe);
		capture_free(&capture);
	}
	return given;
}

/* An argument that no function of its event has would be unknown for ever: that is a slip of the pen. */
static void shipped_models_have_what_they_list(void **state)
{
	const char *folder = getenv("GASPBPF_MODELS") ? getenv("GASPBPF_MODELS") : "models";
	struct model_set *set;

	if (access(folder, R_OK))
		skip();
	assert_int_equal(models_load_folder(&set, folder), 0);
	for (size_t m = 0; m < models_count(set); m++) {
		const struct model *model = models_at(set, m);

		for (size_t e = 0; e < model->nevents; e++) {
			const struct model_event *event = &model->events[e];

			for (int type = 0; event->nfunctions && type < EVENT_TYPES; type++)
				for (size_t a = 0; a < event->lists[type].count; a++)
					if (!can_be_given(model, event, type, event->lists[type].arguments[a].name))
						fail_msg("%s: no function has '%s'", event->name,
							 event->lists[type].arguments[a].name);
		}
	}
	models_free(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_of_a_model),
		cmocka_unit_test(kinds_of_arguments),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(second_statement),
		cmocka_unit_test(start_and_end_have_their_own),
		cmocka_unit_test(given_or_not),
		cmocka_unit_test(groups_are_constants),
		cmocka_unit_test(types_and_sizes_of_elements),
		cmocka_unit_test(plain_values_have_conditions),
		cmocka_unit_test(the_first_known),
		cmocka_unit_test(shared_pointers_keep_their_words),
		cmocka_unit_test(an_event_without_a_list_has_its_values),
		cmocka_unit_test(an_empty_list_is_a_list),
		cmocka_unit_test(bad_bytes),
		cmocka_unit_test(shipped_models_have_what_they_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
