/*
 * model_test.c - the model language: what a line means, what the reader says about mistakes, and that the
 * words which a capture program fetches come out as the numbers of the call.
 *
 * The kernel's part is played by run(): it carries out a capture program on made-up registers, a stack
 * and the test's own memory, with garbage wherever the ABI allows garbage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "model/model.h"
#include "model/value.h"

#define GARBAGE 0xabad1dea00000000u
#define RESULT_OF(x) .result = (uint64_t)(x)
#define ADDRESS(x) ((uint64_t)(uintptr_t)(x))

/* --- reading ------------------------------------------------------------------- */

static struct model_set *read_text(const char *text)
{
	struct model_set *set = models_new();

	assert_int_equal(models_add_text(set, "x.model", text, strlen(text)), 0);
	return set;
}

/* A model of one program with these lines. */
static struct model_set *read_lines(const char *lines)
{
	char text[8192];

	snprintf(text, sizeof(text), "model x\nlibrary program libx.so*\n%s\n", lines);
	return read_text(text);
}

static const struct function *find(const struct model_set *set, const char *symbol)
{
	for (size_t m = 0; m < models_count(set); m++)
		for (size_t i = 0; i < models_at(set, m)->nfunctions; i++)
			if (!strcmp(models_at(set, m)->functions[i].symbol, symbol))
				return &models_at(set, m)->functions[i];
	fail_msg("no function %s", symbol);
	return NULL;
}

/* What is said on standard error while `text` is read, which must fail. */
static char *complaint(const char *text, size_t length)
{
	static char said[16384];
	struct model_set *set = models_new();
	FILE *file = tmpfile();
	int old = dup(2);

	fflush(stderr);
	dup2(fileno(file), 2);
	int result = models_add_text(set, "x.model", text, length);
	fflush(stderr);
	dup2(old, 2);
	close(old);
	rewind(file);
	said[fread(said, 1, sizeof(said) - 1, file)] = 0;
	fclose(file);
	assert_int_not_equal(result, 0);
	assert_int_equal(models_count(set), 0);
	models_free(set);
	return said;
}

static void complains(const char *line, const char *place, const char *expected)
{
	char text[4096], want[256];

	snprintf(text, sizeof(text), "model x\nlibrary program\n%s\n", line);
	char *said = complaint(text, strlen(text));

	snprintf(want, sizeof(want), "x.model:3:%s: ", place);
	if (!strstr(said, want) || !strstr(said, expected))
		fail_msg("for \"%s\"\nexpected %s ... %s\nsaid %s", line, want, expected, said);
}

/* --- a call --------------------------------------------------------------------- */

struct call {
	uint64_t registers[6];
	uint64_t stack[16];      /* [0] is the return address */
	uint64_t result, result2;
	void (*during)(void *context); /* what the function does to memory */
	void *context;
	bool unwound;
};

struct seen {
	struct capture capture;
	uint64_t words[GB_SLOTS];
	uint32_t unread;
	bool returned;
	enum role role;
};

static uint64_t extend(uint64_t word, uint8_t width)
{
	switch (width) {
	case GB_U8: return (uint8_t)word;
	case GB_S8: return (int64_t)(int8_t)word;
	case GB_U16: return (uint16_t)word;
	case GB_S16: return (int64_t)(int16_t)word;
	case GB_U32: return (uint32_t)word;
	case GB_S32: return (int64_t)(int32_t)word;
	default: return word;
	}
}

static bool load(uint64_t address, uint8_t width, uint64_t *word)
{
	static const uint8_t sizes[] = { 0, 1, 1, 2, 2, 4, 4, 8 };
	uint64_t raw = 0;

	*word = 0;
	if (address < 65536)
		return false;
	memcpy(&raw, (void *)(uintptr_t)address, sizes[width]);
	*word = extend(raw, width);
	return true;
}

static void run_op(struct seen *s, const struct gb_op *op, const struct call *call)
{
	if (op->kind == GB_OP_STACK_WORDS) {
		assert_true(op->source <= GB_STACK_WORDS && op->slot <= GB_SLOTS - GB_STACK_WORDS);
		for (int i = 0; i < op->source; i++)
			run_op(s, &(struct gb_op){ .kind = GB_OP_STACK, .slot = op->slot + i, .width = GB_U64, .offset = op->offset + 8 * i }, call);
		return;
	}
	uint64_t word = 0, from = s->words[op->source];
	bool ok = true;

	assert_true(op->slot < GB_SLOTS && op->source < GB_SLOTS);
	switch (op->kind) {
	case GB_OP_STACK: ok = load(ADDRESS(call->stack) + op->offset, op->width, &word); break;
	case GB_OP_COPY: word = from; break;
	case GB_OP_LOAD: ok = !(s->unread >> op->source & 1) && load(from + op->offset, op->width, &word); break;
	case GB_OP_RESULT: word = extend(call->result, op->width); break;
	case GB_OP_RESULT2: word = extend(call->result2, op->width); break;
	case GB_OP_DECODE: word = 1000 + op->offset; break;
	default: fail_msg("op %u", op->kind);
	}
	s->words[op->slot] = word;
	s->unread = ok ? s->unread & ~(1u << op->slot) : s->unread | 1u << op->slot;
}

/* The words of one call, as the kernel side fetches them. What is not sent is wiped. */
static struct seen run(const struct function *f, const char *soname, const struct call *call)
{
	struct seen s = { .returned = !call->unwound, .role = f->role };
	const struct gb_probe *p = &s.capture.program;

	assert_int_equal(model_function_capture(f, soname, &s.capture), 0);
	assert_true(p->slots <= GB_SLOTS && p->entry_ops + p->return_ops <= GB_OPS);
	for (int i = 0; i < GB_SLOTS; i++)
		s.words[i] = i < 6 ? call->registers[i] : 0xdead;
	for (int i = 0; i < p->entry_ops; i++)
		run_op(&s, &p->ops[i], call);
	for (int i = p->slots; i < GB_SLOTS; i++)
		s.words[i] = 0xdead; /* a kernel side may keep only what is sent */
	if (call->during)
		call->during(call->context);
	for (int i = 0; !call->unwound && i < p->return_ops; i++)
		run_op(&s, &p->ops[p->entry_ops + i], call);
	return s;
}

static const struct value *value_named(const struct seen *s, const char *name)
{
	for (size_t i = 0; i < s->capture.nvalues; i++)
		if (!strcmp(s->capture.values[i].name, name))
			return &s->capture.values[i];
	fail_msg("no value %s", name);
	return NULL;
}

static struct value_reading reading(const struct seen *s, const char *name)
{
	return value_read(value_named(s, name), s->words, s->capture.program.slots, s->unread, s->returned);
}

static int64_t number(const struct seen *s, const char *name)
{
	struct value_reading r = reading(s, name);

	if (!r.known)
		fail_msg("%s is unknown", name);
	return r.number;
}

static void assert_payload(const struct seen *s, int64_t bytes, int64_t sent, int64_t received)
{
	struct payload p = value_payload(s->role, s->capture.values, s->capture.nvalues, s->words,
					 s->capture.program.slots, s->unread, s->returned);

	assert_int_equal(p.bytes, bytes);
	assert_int_equal(p.sent, sent);
	assert_int_equal(p.received, received);
}

static void done(struct seen *s, struct model_set *set)
{
	capture_free(&s->capture);
	models_free(set);
}

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
	assert_int_equal(find(set, "toy_put")->number, 0x3000);
	assert_int_equal(find(set, "toy_put2")->number, 0x3000);
	assert_int_equal(find(set, "toy_lock")->number, 7);
	assert_int_equal(find(set, "toy_get")->number, 0x3001);
	assert_int_equal(find(set, "toy_get")->marks, MARK_LEAF | MARK_CANCEL);
	assert_int_equal(find(set, "toy_get")->line, 17);
	assert_string_equal(find(set, "toy_get")->event, "GASP_TOY_GET");
	assert_string_equal(find(set, "toy_get")->prototype, "void toy_get(void)");
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
	struct model_set *set = read_lines("list REAL = float,longdouble:long double\n"
					   "list ALL = int,longlong:long long,REAL\n"
					   "GET get void {,p}x_{ALL}_get(T *dst, const T *src, size_t n @count)\n"
					   "RED collective void x_{op=sum,fadd:fetch_add}_{8:int8_t,16:int16_t}(T *d, size_t n @count)\n"
					   "NEW alloc x_{a,b}");

	assert_int_equal(models_at(set, 0)->nfunctions, 2 * 4 + 4 + 2);
	assert_string_equal(find(set, "px_longlong_get")->prototype,
			    "void px_longlong_get(long long *dst, const long long *src, size_t n)");
	assert_null(find(set, "x_int_get")->op);
	assert_string_equal(find(set, "x_sum_8")->op, "sum");
	assert_string_equal(find(set, "x_fadd_16")->op, "fetch_add");
	assert_string_equal(find(set, "x_fadd_16")->prototype, "void x_fadd_16(int16_t *d, size_t n)");
	assert_string_equal(find(set, "x_b")->prototype, "x_b");

	struct call call = { .registers = { 1, 2, 10 } };
	struct seen s = run(find(set, "x_longdouble_get"), NULL, &call);

	assert_payload(&s, 160, -1, 160);
	capture_free(&s.capture);
	s = run(find(set, "x_b"), NULL, &call);
	assert_int_equal(s.capture.nvalues, 0);
	assert_int_equal(s.capture.program.slots, 0);
	done(&s, set);
}

/* --- the ABI -------------------------------------------------------------------- */

static void integers_have_the_width_and_sign_of_their_type(void **state)
{
	struct model_set *set = read_lines("F function bool f(int a, unsigned b, short c, unsigned char d, bool e, long g) ->");
	struct call call = { .registers = { GARBAGE | (uint32_t)-5, GARBAGE | 0xfffffffb, GARBAGE | 0xfffe, GARBAGE | 0x1ff,
					    GARBAGE | 1, (uint64_t)-7 }, RESULT_OF(GARBAGE | 0x100) };
	struct seen s = run(find(set, "f"), NULL, &call);

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
	struct model_set *set = read_lines("F function double f(double x, int a, float y[3], float z, long double w, int b, long c, "
					   "long d, long e, long g, long double v, int h) ->");
	/* a y b c d e in registers; w at 8 (16 bytes), g at 24, v at 40 (aligned), h at 56 */
	struct call call = { .registers = { 1, 2, 3, 4, 5, 6 }, .stack = { 0, 90, 91, 7, 92, 93, 94, GARBAGE | 8 } };
	struct seen s = run(find(set, "f"), NULL, &call);

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
	struct model_set *set = read_lines("type pts = struct 16\ntype big = struct 40\ntype small = struct 4\n"
					   "F function pts f(void *d, pts src @peer(high bits 0..31) @ptr, size_t n @bytes) ->\n"
					   "G function big g(int a, big b, int c)\n"
					   "H function void h(long a, long b, long c, long d, long e, pts p, small s)\n"
					   "I function void i(int a, pts p @skip, int b)");
	struct call call = { .registers = { 1, 0x1000, 0x500000003, 64, 5, 6 }, .result = 77, .result2 = 88,
			     .stack = { 0, 21, 22, 23, 24, 25, 26 } };
	struct seen s = run(find(set, "f"), NULL, &call);

	assert_int_equal(number(&s, "src.peer"), 3);
	assert_int_equal(number(&s, "src"), 0x1000);
	assert_int_equal(number(&s, "n"), 64);
	assert_int_equal(number(&s, "result"), 77);
	assert_int_equal(number(&s, "result.high"), 88);
	capture_free(&s.capture);

	s = run(find(set, "g"), NULL, &call); /* rdi is the hidden place of the result */
	assert_int_equal(number(&s, "a"), 0x1000);
	assert_true(value_named(&s, "b")->unobservable);
	assert_int_equal(number(&s, "c"), 3);
	capture_free(&s.capture);

	s = run(find(set, "h"), NULL, &call); /* one register left: the struct goes to the stack, the next does not */
	assert_int_equal(number(&s, "p"), 21);
	assert_int_equal(number(&s, "p.high"), 22);
	assert_int_equal(number(&s, "s"), 6);
	capture_free(&s.capture);

	s = run(find(set, "i"), NULL, &call);
	assert_int_equal(number(&s, "b"), 64);
	assert_int_equal(s.capture.program.slots, 2);
	done(&s, set);
}

static void slots_are_few(void **state)
{
	struct model_set *set = read_lines("A alloc void *a(size_t n @bytes) -> @ptr\n"
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
		s = run(find(set, expected[i].symbol), NULL, &call);
		assert_int_equal(s.capture.program.slots, expected[i].slots);
		capture_free(&s.capture);
	}
	s = run(find(set, "d"), NULL, &call);
	assert_int_equal(number(&s, "c"), 3);
	capture_free(&s.capture);
	s = run(find(set, "f"), NULL, &call);
	assert_int_equal(number(&s, "p.peer"), 3);
	assert_int_equal(number(&s, "p.tag"), 7);
	assert_payload(&s, 55, -1, 55);
	done(&s, set);
}

static void too_much_is_left_out_from_the_end(void **state)
{
	struct model_set *set = read_lines("F function int f(int a1,int a2,int a3,int a4,int a5,int a6,int a7,int a8,int a9,int b1,int b2,"
					   "int b3,int b4,int b5,int b6,int b7,int b8,int b9,int c1,int c2,int c3,int c4) ->");
	struct call call = { .stack = { [14] = 20 } };
	struct seen s = run(find(set, "f"), NULL, &call);

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
	struct call call = { .registers = { ADDRESS(&flag), ADDRESS(&p), ADDRESS(&q) }, .during = write_seven, .context = &flag };
	struct seen s = run(find(set, "f"), NULL, &call);

	assert_int_equal(number(&s, "flag"), 7);
	assert_int_equal(number(&s, "p"), ADDRESS(&q));
	assert_int_equal(number(&s, "q"), -3);
	assert_int_equal(s.capture.program.slots, 3);
	assert_int_equal(s.capture.program.return_slots, 7);
	capture_free(&s.capture);
	call.unwound = true;
	s = run(find(set, "f"), NULL, &call);
	assert_false(reading(&s, "flag").known);
	done(&s, set);
}

static void paths_through_structs(void **state)
{
	struct { uint64_t id; char *name; char text[8]; } object = { 0x1234567890, "hello", "inline" };
	struct { long pad; void *object; } holder = { 1, &object };
	uint64_t deep = 99, *pointer = &deep;
	struct call call = { .registers = { ADDRESS(&holder), ADDRESS(&object), ADDRESS("abc"), ADDRESS(&pointer) } };

	struct model_set *set;

	set = read_lines("F function void f(struct h *h @name(+8 ptr +8 ptr str) @task(+8 ptr +0 u64 bits 4..11) "
			 "@ptr(+8 ptr), struct o *o @name(+16 str), char *s @name(str), uint64_t **v @node(**))\n"
			 "G function void g(struct h *h @name(+8 ptr +8 ptr str))");
	struct seen s = run(find(set, "f"), NULL, &call);

	assert_string_equal((char *)(uintptr_t)number(&s, "h.name"), "hello");
	assert_int_equal(value_named(&s, "h.name")->form, FORM_STRING);
	assert_int_equal(number(&s, "h.task"), 0x89);
	assert_int_equal(number(&s, "h.ptr"), ADDRESS(&object));
	assert_string_equal((char *)(uintptr_t)number(&s, "o"), "inline");
	assert_string_equal((char *)(uintptr_t)number(&s, "s"), "abc");
	assert_int_equal(number(&s, "v"), 99);
	capture_free(&s.capture);

	holder.object = NULL; /* what leads nowhere is unknown, not zero */
	s = run(find(set, "g"), NULL, &call);
	assert_false(reading(&s, "h").known);
	done(&s, set);
}

static const char message_model[] =
	"model msg\nlibrary libmsg.so*\n"
	"layout libmsg.so.4\n"
	"\ttype Type = ptr\n\ttype Comm = ptr\n\ttype Request = ptr\n"
	"\tType.size = +24 u64\n\tComm.id = +4 u32\n\tComm.null = 0\n"
	"\tStatus.source = +0 s32\n\tStatus.bytes = +16 u64\n\tStatus.null = 0\n"
	"layout libmsg.so.12\n"
	"\ttype Type = s32\n\ttype Comm = s32\n\ttype Request = s32\n"
	"\tType.size = bits 8..15 if bits 30..31 == 1\n\tComm.id = bits 0..7\n\tComm.null = 0x4000000\n"
	"\tStatus.source = +8 s32\n\tStatus.bytes = +0 u32\n\tStatus.null = 1\n"
	"RECV recv int Recv(void *b, int n @count, Type t @type, int s @peer, int g @tag, Comm c @comm @comm(id), "
	"Status *st @peer(source) @bytes(bytes) @out)\n"
	"SENDRECV exchange int Sendrecv(int n @count:send, Type t @type:send, int m @count:recv, Type u @type:recv, "
	"Status *st @bytes:recv(bytes) @out)\n"
	"WAIT wait int Wait(Request *r @request(*), Comm *c @comm(id))\n"
	"BCAST collective int Bcast(int n @count, Type t @type)\n";

static void layouts_of_one_library(void **state)
{
	struct model_set *set = read_text(message_model);
	struct { char pad[24]; uint64_t size; } type = { "", 8 };
	struct { int pad, id; } comm = { 0, 42 };
	struct { int source, x, y, z; uint64_t bytes; } status = { 3, 0, 0, 0, 80 };
	void *comms[] = { &comm };
	struct call call = { .registers = { 1, GARBAGE | 100, ADDRESS(&type), GARBAGE | (uint32_t)-1, 5, ADDRESS(&comm) },
			     .stack = { 0, ADDRESS(&status) } };
	struct seen s = run(find(set, "Recv"), "libmsg.so.4", &call);

	assert_int_equal(number(&s, "t"), 8);
	assert_int_equal(number(&s, "s"), -1);
	assert_int_equal(number(&s, "c"), ADDRESS(&comm));
	assert_int_equal(number(&s, "c.id"), 42);
	assert_int_equal(number(&s, "st.source"), 3);
	assert_payload(&s, 80, -1, 80);
	capture_free(&s.capture);

	call.stack[1] = 0; /* the status is ignored: what was posted */
	s = run(find(set, "Recv"), "libmsg.so.4", &call);
	assert_payload(&s, 800, -1, 800);
	assert_false(reading(&s, "st.source").known);
	capture_free(&s.capture);

	call = (struct call){ .registers = { ADDRESS(comms), ADDRESS(comms) } };
	s = run(find(set, "Wait"), "libmsg.so.4", &call);
	assert_int_equal(number(&s, "r"), ADDRESS(&comm));
	assert_int_equal(number(&s, "c"), 42);
	done(&s, set);
}

static void layouts_of_another(void **state)
{
	struct model_set *set = read_text(message_model);
	struct { uint32_t low; int x, source; } status = { 24, 0, 6 };
	struct call call = { .registers = { 1, 100, GARBAGE | 0x4c000405, 2, 5, GARBAGE | 0x44000007 },
			     .stack = { 0, ADDRESS(&status) } };
	struct seen s = run(find(set, "Recv"), "libmsg.so.12", &call);

	assert_int_equal(number(&s, "t"), 4);
	assert_int_equal(number(&s, "c"), 0x44000007);
	assert_int_equal(number(&s, "c.id"), 7);
	assert_int_equal(number(&s, "st.source"), 6);
	assert_payload(&s, 24, -1, 24);
	capture_free(&s.capture);

	call.stack[1] = 1;
	call.registers[5] = GARBAGE | 0x4000000;
	s = run(find(set, "Recv"), "libmsg.so.12", &call);
	assert_payload(&s, 400, -1, 400);
	assert_false(reading(&s, "c.id").known); /* null */
	capture_free(&s.capture);

	call.registers[2] = 0x8c000000; /* a derived type: its size is not in the handle */
	s = run(find(set, "Recv"), "libmsg.so.12", &call);
	assert_false(reading(&s, "t").known);
	assert_payload(&s, -1, -1, -1);
	done(&s, set);
}

static void a_library_that_no_layout_knows(void **state)
{
	struct model_set *set = read_text(message_model);
	struct call call = { .registers = { 10, 0x4c000405 } };
	struct seen s = run(find(set, "Bcast"), "libmsg.so.99", &call);

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
	struct seen s = run(find(set, "f"), NULL, &call);

	assert_int_equal(number(&s, "s"), 5);
	capture_free(&s.capture);
	call.registers[0] = ADDRESS(&none);
	s = run(find(set, "f"), NULL, &call);
	assert_false(reading(&s, "s").known);
	done(&s, set);
}

static void decoders(void **state)
{
	struct model_set *set = read_lines("type pts = u64\n"
					   "GET get void get(void *d, pts s @peer(upc_packed) @ptr(upc_packed), size_t n @bytes)\n"
					   "PUT put void put(void *t, gfc_descriptor_t *d @bytes(gfc_bytes))\n"
					   "BARRIER barrier void bar(int id @named(none=-2147483648))");
	uint64_t packed = 0x12345ull << 30 | 5 << 20 | 17;
	struct call call = { .registers = { 1, packed, 64 } };
	struct seen s = run(find(set, "get"), NULL, &call);
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

	s = run(find(set, "put"), NULL, &call);
	assert_payload(&s, 1000 + GB_DECODE_GFC_BYTES, 1000 + GB_DECODE_GFC_BYTES, -1);
	capture_free(&s.capture);

	call.registers[0] = GARBAGE | 0x80000000;
	s = run(find(set, "bar"), NULL, &call);
	assert_true(reading(&s, "id").none);
	done(&s, set);
}

/* What there is says another parameter: how long an array is, whether a status was filled. */
static void values_that_depend_on_another(void **state)
{
	struct model_set *set = read_lines("WAIT wait int wait_some(int n, void *handles[] @request(each 3 of n), int *done @out, "
					   "int which[] @index(each 2 of done) @out, int *status @tag(+4 s32, if done) @out)");
	void *handles[3] = { &handles[0], &handles[1], &handles[2] };
	int done_count = 1, which[2] = { 1, 77 }, status[2] = { 5, 6 };
	struct call call = { .registers = { GARBAGE | 2, ADDRESS(handles), ADDRESS(&done_count), ADDRESS(which), ADDRESS(status) } };
	struct seen s = run(find(set, "wait_some"), NULL, &call);
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
	s = run(find(set, "wait_some"), NULL, &call);
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
	struct model_set *set = read_lines("F alloc void *f(size_t n @count, size_t s @size)\nG send void g(int n @count(element=8))");
	struct call call = { .registers = { 1ull << 40, 1ull << 40 } };
	struct seen s = run(find(set, "f"), NULL, &call);

	assert_payload(&s, -1, -1, -1);
	capture_free(&s.capture);
	call.registers[0] = (uint32_t)-1;
	s = run(find(set, "g"), NULL, &call);
	assert_payload(&s, -1, -1, -1);
	done(&s, set);
}

/* --- pairs and events by value ---------------------------------------------------- */

static const char task_model[] =
	"model t\nlanguage T\nlibrary libt.so\n"
	"arch.type = +8 ptr +0 u32\n"
	"CPU task opens void {,x}begin(struct arch *a @only(type == 0), int w @worker)\n"
	"DONE test void other(void)\n"
	"GPU task opens void {,x}begin(struct arch *a @only(type != 0), int w @worker)\n"
	"CPU task closes void end(struct arch *a, int w)\n";

static void one_function_several_events(void **state)
{
	struct model_set *set = read_text(task_model);
	const struct model *m = models_at(set, 0);
	uint32_t kind = 3;
	struct { void *pad; uint32_t *kind; } arch = { NULL, &kind };
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

	s = run(find(set, "end"), "libt.so", &call);
	assert_int_equal(s.capture.nvalues, 0);
	assert_int_equal(s.capture.program.slots, 0);
	done(&s, set);
}

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
	static const char different[] = "model x\nlibrary program\nA put void f(int a @only(== 1))\nB get void f(int a @only(== 2))\n";

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

/* --- storing ---------------------------------------------------------------------- */

static void values_survive_storing(void **state)
{
	struct model_set *set = read_text(message_model);
	struct call call = { .registers = { 0 } };
	struct seen s = run(find(set, "Recv"), "libmsg.so.12", &call);
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

/* --- the models that come with gaspbpf, whole and damaged ------------------------- */

static const char *models_folder(void)
{
	const char *folder = getenv("GASPBPF_MODELS");

	return folder ? folder : "models";
}

static void every_shipped_model_loads(void **state)
{
	static const char *const sonames[] = { NULL, "libmpi.so.40", "libmpich.so.12", "liboshmem.so.40", "libstarpu-1.3.so.9" };
	struct model_set *set;

	if (access(models_folder(), R_OK))
		skip();
	assert_int_equal(models_load_folder(&set, models_folder()), 0);
	for (size_t m = 0; m < models_count(set); m++)
		for (size_t i = 0; i < models_at(set, m)->nfunctions; i++)
			for (size_t l = 0; l < sizeof(sonames) / sizeof(*sonames); l++) {
				struct capture capture;

				assert_int_equal(model_function_capture(&models_at(set, m)->functions[i], sonames[l], &capture), 0);
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
	"@", "(", ")", "{", "}", ",", "->", "...", "..", "*", "+8 ptr", "-2147483648 u64", "bits 0..63 if bits 0..63 == -1", "str", "T",
	"@only(* == 1)", "@bytes(sizeof *)", "@out", "@skip", "high", "{op=", "=", "\\\n", "#", "\n", "\0", "\377", "struct", "void",
	"layout *\n", "type X = struct 65536\n", "X", "list L = L,L\n", "{L,L,L,L}", "A put void f(", "99999999999999999999", "[", "]",
	"opens", "closes", "one", "long double", "_Complex", "upc_packed", "gfc_bytes", ":recv", "none=1", "element=1", "\t", "unsigned",
	"event A start(int a)", "both(", "atomic()", "\"", "|", ".given", "= a.b|-1", "{is_relaxed=:1,s:0}", "-> returnptr",
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
			value_payload(s.role, s.capture.values, s.capture.nvalues, s.words, s.capture.program.slots, s.unread, true);
			capture_free(&s.capture);
		}
	models_free(set);
}

static void damaged_models_do_no_harm(void **state)
{
	static const char *const parts[] = {
		message_model, task_model,
		"model x\nlibrary program\nlist N = :int,_c:int64_t\ntype pts = struct 16\n"
		"A put void {,P}f{N}(const T *a @count:send(+4 u32 bits 0..7 if bits 8..9 == 1), void *(*g)(int, int), char **s @name(* str) @out, ...) -> @ptr\n"
		"B get one double g_{int,double}(T v[], pts p @peer(high bits 0..31) @ptr(upc_packed), int r[][3] @skip)\n",
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
	struct seen s = run(find(set, "Recv"), "libmsg.so.12", &call);
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
		cmocka_unit_test(layouts_of_one_library),
		cmocka_unit_test(layouts_of_another),
		cmocka_unit_test(a_library_that_no_layout_knows),
		cmocka_unit_test(a_null_that_can_be_read),
		cmocka_unit_test(decoders),
		cmocka_unit_test(values_that_depend_on_another),
		cmocka_unit_test(payload_by_role),
		cmocka_unit_test(impossible_payload_is_unknown),
		cmocka_unit_test(one_function_several_events),
		cmocka_unit_test(mistakes_say_where_and_what_to_do),
		cmocka_unit_test(mistakes_are_collected),
		cmocka_unit_test(columns_count_through_continued_lines),
		cmocka_unit_test(whole_files_that_are_no_models),
		cmocka_unit_test(bounds_hold),
		cmocka_unit_test(values_survive_storing),
		cmocka_unit_test(every_shipped_model_loads),
		cmocka_unit_test(a_folder_without_models_is_refused),
		cmocka_unit_test(damaged_models_do_no_harm),
		cmocka_unit_test(damaged_values_do_no_harm),
		cmocka_unit_test(names_and_their_inverse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
