/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * telling.c - the capture programs of functions by which a program tells of events itself: it creates one, starts and
 * ends it, or switches measurement off and on.
 *
 * Which values follow the named arguments of an announcement is known only once its number is: so what is sent is where
 * they may be, the registers as they are and some words of the stack. user/capture/announced picks them out. Floating
 * point values are in vector registers, which no probe can read; a function with the mark `reals` has stored the first
 * ones right below its stack pointer (libpupc/entries.S).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "model/parts.h"

#define STACK_WORDS 6 /* of the values of one announcement */
#define STACK_WORDS_WITH_REALS (STACK_WORDS - TELLING_REALS)

/* The position of the first parameter with this meaning; -1: none. */
static int position_of(const struct prototype *p, enum meaning meaning)
{
	for (unsigned i = 0; i < p->nparameters; i++)
		for (unsigned k = 0; k < p->parameters[i].nannotations; k++)
			if (p->parameters[i].annotations[k].meaning == meaning)
				return i;
	return -1;
}

static bool is_list(const struct parameter *p)
{
	return p->type.pointers && !strcmp(p->name, "varargs");
}

static void need(struct source *source, const struct prototype *p, enum meaning meaning, const char *mark)
{
	int position = position_of(p, meaning);

	if (position < 0 || position >= GB_REGISTERS)
		source_error(source, p->name_at, "'%s' needs a parameter with @%s among the first %d", mark,
			     meaning_name(meaning), GB_REGISTERS);
}

void telling_check(struct source *source, const struct prototype *p, unsigned marks)
{
	if (p->bare) {
		source_error(source, p->name_at, "a function with this mark needs its prototype");
		return;
	}
	if (marks & MARK_CREATES)
		need(source, p, MEANING_NAME, "creates");
	if (marks & MARK_CONTROLS)
		need(source, p, MEANING_ON, "controls");
	if (marks & MARKS_ANNOUNCE)
		need(source, p, MEANING_ID, "starts', 'ends', 'happens' and 'notifies");
	if (marks & MARK_NOTIFIES)
		need(source, p, MEANING_KIND, "notifies");
	if (marks & MARK_CREATES && p->nparameters > 3)
		source_error(source, p->name_at, "'creates' has at most 3 parameters");
}

static uint8_t slot_of(const struct prototype *p, enum meaning meaning)
{
	int position = position_of(p, meaning);

	return position < 0 || position >= GB_REGISTERS ? SLOT_NOWHERE : position;
}

static void add(struct gb_probe *program, bool at_return, struct gb_op op)
{
	program->ops[program->entry_ops + program->return_ops] = op;
	program->entry_ops += !at_return;
	program->return_ops += at_return;
}

/* Texts are read at the return, when the function has read them, so that they are in memory. */
static void creation(const struct prototype *p, struct capture *c)
{
	unsigned slot = p->nparameters;

	if (c->telling.name != SLOT_NOWHERE)
		add(&c->program, true, (struct gb_op){ .kind = GB_OP_TEXT, .slot = slot, .source = c->telling.name });
	c->telling.name_at = c->telling.name;
	c->telling.format_at = c->telling.format;
	c->telling.name = slot;
	slot += TELLING_TEXT;
	if (c->telling.format != SLOT_NOWHERE) {
		add(&c->program, true, (struct gb_op){ .kind = GB_OP_TEXT, .slot = slot, .source = c->telling.format });
		c->telling.format = slot;
		slot += TELLING_TEXT;
	}
	add(&c->program, true, (struct gb_op){ .kind = GB_OP_RESULT, .slot = slot, .width = GB_U32 });
	c->telling.id = slot;
	c->program.slots = slot + 1;
	c->program.control = GB_CONTROL_ALWAYS;
}

static void control(const struct prototype *p, struct capture *c)
{
	/* Fortran passes the number's address. */
	if (p->parameters[c->telling.on].type.pointers)
		add(&c->program, false,
		    (struct gb_op){
			    .kind = GB_OP_LOAD, .slot = c->telling.on, .source = c->telling.on, .width = GB_S32 });
	c->program.slots = c->telling.on + 1;
	c->values[0] = (struct value){ .name = strdup(p->parameters[c->telling.on].name),
				       .width = GB_S32,
				       .slot = c->telling.on,
				       .null_slot = c->telling.on };
	c->nvalues = c->values[0].name != NULL;
	c->program.control = GB_CONTROL_SLOT + c->telling.on;
}

/* The words of a va_list, by the ABI: { u32 gp_offset, fp_offset; void *overflow_arg_area, *reg_save_area }. Slot 0 is
 * its address. */
static void list_words(struct capture *c, unsigned position)
{
	struct gb_probe *program = &c->program;

	if (position >= GB_REGISTERS)
		add(program, false,
		    (struct gb_op){ .kind = GB_OP_STACK,
				    .slot = 0,
				    .width = GB_U64,
				    .offset = arguments_stack_word(position - GB_REGISTERS) });
	else
		add(program, false,
		    (struct gb_op){ .kind = GB_OP_COPY, .slot = 0, .source = position, .width = GB_U64 });
	add(program, false,
	    (struct gb_op){ .kind = GB_OP_LOAD, .slot = LIST_USED, .source = 0, .width = GB_U32, .offset = 0 });
	add(program, false,
	    (struct gb_op){ .kind = GB_OP_LOAD, .slot = LIST_STACK, .source = 0, .width = GB_U64, .offset = 8 });
	add(program, false,
	    (struct gb_op){ .kind = GB_OP_LOAD, .slot = LIST_SAVED, .source = 0, .width = GB_U64, .offset = 16 });
	for (unsigned i = LIST_REGISTERS; i < LIST_WORDS; i++)
		add(program, false,
		    (struct gb_op){ .kind = GB_OP_LOAD,
				    .slot = i,
				    .source = LIST_SAVED,
				    .width = GB_U64,
				    .offset = 8 * (i - LIST_REGISTERS + 1) });
	for (unsigned i = LIST_WORDS; i < LIST_END; i++)
		add(program, false,
		    (struct gb_op){ .kind = GB_OP_LOAD,
				    .slot = i,
				    .source = LIST_STACK,
				    .width = GB_U64,
				    .offset = 8 * (i - LIST_WORDS) });
	program->slots = LIST_END;
	c->telling.list = true;
}

static void announcement(const struct prototype *p, struct capture *c, bool reals)
{
	unsigned n = p->nparameters, nstack = reals ? STACK_WORDS_WITH_REALS : STACK_WORDS;

	c->program.slots = GB_REGISTERS;
	c->telling.rest = n < GB_REGISTERS ? n : GB_REGISTERS;
	if (n && is_list(&p->parameters[n - 1])) {
		list_words(c, n - 1);
		return;
	}
	if (!p->variadic || n > GB_REGISTERS)
		return;
	for (unsigned i = 0; i < nstack; i++)
		add(&c->program, false,
		    (struct gb_op){ .kind = GB_OP_STACK,
				    .slot = GB_REGISTERS + i,
				    .width = GB_U64,
				    .offset = arguments_stack_word(i) });
	for (unsigned i = 0; i < STACK_WORDS - nstack; i++)
		add(&c->program, false,
		    (struct gb_op){ .kind = GB_OP_STACK,
				    .slot = GB_REGISTERS + nstack + i,
				    .width = GB_U64,
				    .offset = 8 * (int)i - 8 * TELLING_REALS });
	c->telling.reals = reals ? GB_REGISTERS + nstack : 0;
	add(&c->program, false,
	    (struct gb_op){ .kind = GB_OP_TEXTS, .slot = GB_REGISTERS + STACK_WORDS, .source = c->telling.id });
	c->telling.nstack = nstack;
	c->program.slots = GB_SLOTS;
}

int telling_capture(const struct function *function, struct capture *c)
{
	const struct prototype *p = ((const struct bound *)function->parsed)->prototype;

	c->values = calloc(1, sizeof(*c->values));
	if (!c->values)
		return -ENOMEM;
	c->program.flags = function->marks & MARK_ATOMIC ? GB_PROBE_NO_RETURN : 0;
	c->telling = (struct telling){
		.id = slot_of(p, MEANING_ID),
		.kind = slot_of(p, MEANING_KIND),
		.file = slot_of(p, MEANING_FILE),
		.line = slot_of(p, MEANING_LINE),
		.column = slot_of(p, MEANING_COLUMN),
		.on = slot_of(p, MEANING_ON),
		.name = slot_of(p, MEANING_NAME),
		.format = slot_of(p, MEANING_FORMAT),
	};
	if (function->marks & MARK_CREATES)
		creation(p, c);
	else if (function->marks & MARK_CONTROLS)
		control(p, c);
	else
		announcement(p, c, function->marks & MARK_REALS);
	return 0;
}
