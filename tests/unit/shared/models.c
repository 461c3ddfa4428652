/* SPDX-License-Identifier: BSD-2-Clause */
#include "models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char message_model[] =
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

const char task_model[] = "model t\nlanguage T\nlibrary libt.so\n"
			  "arch.type = +8 ptr +0 u32\n"
			  "CPU task opens void {,x}begin(struct arch *a @only(type == 0), int w @worker)\n"
			  "DONE test void other(void)\n"
			  "GPU task opens void {,x}begin(struct arch *a @only(type != 0), int w @worker)\n"
			  "CPU task closes void end(struct arch *a, int w)\n";

/* --- reading ------------------------------------------------------------------- */

struct model_set *read_text(const char *text)
{
	struct model_set *set = models_new();

	assert_int_equal(models_add_text(set, "x.model", text, strlen(text)), 0);
	return set;
}

struct model_set *read_lines(const char *lines)
{
	char text[8192];

	snprintf(text, sizeof(text), "model x\nlibrary program libx.so*\n%s\n", lines);
	return read_text(text);
}

const struct function *find_function(const struct model_set *set, const char *symbol)
{
	for (size_t m = 0; m < models_count(set); m++)
		for (size_t i = 0; i < models_at(set, m)->nfunctions; i++)
			if (!strcmp(models_at(set, m)->functions[i].symbol, symbol))
				return &models_at(set, m)->functions[i];
	fail_msg("no function %s", symbol);
	return NULL;
}

char *complaint(const char *text, size_t length)
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

void complains(const char *line, const char *place, const char *expected)
{
	char text[4096], want[256];

	snprintf(text, sizeof(text), "model x\nlibrary program\n%s\n", line);
	char *said = complaint(text, strlen(text));

	snprintf(want, sizeof(want), "x.model:3:%s: ", place);
	if (!strstr(said, want) || !strstr(said, expected))
		fail_msg("for \"%s\"\nexpected %s ... %s\nsaid %s", line, want, expected, said);
}

/* --- a call --------------------------------------------------------------------- */

static uint64_t extend(uint64_t word, uint8_t width)
{
	switch (width) {
	case GB_U8:
		return (uint8_t)word;
	case GB_S8:
		return (int64_t)(int8_t)word;
	case GB_U16:
		return (uint16_t)word;
	case GB_S16:
		return (int64_t)(int16_t)word;
	case GB_U32:
		return (uint32_t)word;
	case GB_S32:
		return (int64_t)(int32_t)word;
	default:
		return word;
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
			run_op(s,
			       &(struct gb_op){ .kind = GB_OP_STACK,
						.slot = op->slot + i,
						.width = GB_U64,
						.offset = op->offset + 8 * i },
			       call);
		return;
	}
	uint64_t word = 0, from = s->words[op->source];
	bool ok = true;

	assert_true(op->slot < GB_SLOTS && op->source < GB_SLOTS);
	switch (op->kind) {
	case GB_OP_STACK:
		ok = load(ADDRESS(call->stack) + op->offset, op->width, &word);
		break;
	case GB_OP_COPY:
		word = from;
		break;
	case GB_OP_LOAD:
		ok = !(s->unread >> op->source & 1) && load(from + op->offset, op->width, &word);
		break;
	case GB_OP_RESULT:
		word = extend(call->result, op->width);
		break;
	case GB_OP_RESULT2:
		word = extend(call->result2, op->width);
		break;
	case GB_OP_DECODE:
		word = 1000 + op->offset;
		break;
	default:
		fail_msg("op %u", op->kind);
	}
	s->words[op->slot] = word;
	s->unread = ok ? s->unread & ~(1u << op->slot) : s->unread | 1u << op->slot;
}

struct seen run(const struct function *f, const char *soname, const struct call *call)
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

const struct value *value_named(const struct seen *s, const char *name)
{
	for (size_t i = 0; i < s->capture.nvalues; i++)
		if (!strcmp(s->capture.values[i].name, name))
			return &s->capture.values[i];
	fail_msg("no value %s", name);
	return NULL;
}

struct value_reading reading(const struct seen *s, const char *name)
{
	return value_read(value_named(s, name), s->words, s->capture.program.slots, s->unread, s->returned);
}

int64_t number(const struct seen *s, const char *name)
{
	struct value_reading r = reading(s, name);

	if (!r.known)
		fail_msg("%s is unknown", name);
	return r.number;
}

void assert_payload(const struct seen *s, int64_t bytes, int64_t sent, int64_t received)
{
	struct payload p = value_payload(s->role, s->capture.values, s->capture.nvalues, s->words,
					 s->capture.program.slots, s->unread, s->returned);

	assert_int_equal(p.bytes, bytes);
	assert_int_equal(p.sent, sent);
	assert_int_equal(p.received, received);
}

void done(struct seen *s, struct model_set *set)
{
	capture_free(&s->capture);
	models_free(set);
}
