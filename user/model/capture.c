/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * capture.c - from a prototype to the words that a span carries.
 *
 * wants.c has made a list of wants: each is one value, the place that it starts from
 * (a register, a word of the stack, the result), and the loads that lead from there to
 * it. Here each want gets a slot, and the capture program is written.
 *
 * Slots. At the call the kernel puts the six integer registers in slots 0..5
 * whether they are wanted or not, and every slot that is sent costs 8 bytes of ring. So
 *
 *   - a parameter that is itself a value stays in its register's slot;
 *   - a pointer that is only followed gives its slot to the last value that is read
 *     through it: until then, for values at the return that is until the return, the
 *     slot is busy;
 *   - anything else takes the lowest slot that is never busy, which may well be that
 *     of a register nobody wants;
 *   - where a gap remains below a register's slot, the register is copied down.
 *
 * The last value read through a pointer overwrites it, so no slot at or beyond the
 * number that is sent is needed after the entry program.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meaning/decoder.h"
#include "model/wants.h"
#include "util/log.h"

#define NO_SLOT 255

/* A place that wants start from. */
struct origin_slot {
	struct place place;
	uint8_t slot;
	uint8_t width;
	unsigned pending;    /* wants that still follow it */
	bool kept;           /* it is a value itself */
	bool used_at_return; /* followed when the function returns */
};

struct plan {
	struct origin_slot origins[PARAMETERS_MOST * 2 + GB_REGISTERS + 2];
	unsigned norigins;
	bool busy[GB_SLOTS];
	struct gb_op entry[GB_OPS], ret[GB_OPS];
	unsigned nentry, nret;
	bool full;                                             /* ran out of slots or ops */
	char program[sizeof(PROGRAM_BUILD) + MODEL_NAME_MOST]; /* "program:NAME" */
	const struct build *build;
	char decoder[64];   /* of packed pointers, where the build says how many bits of each they have */
	struct wants wants; /* the last: its items are not cleared */
};

static bool has_slot(const struct want *want)
{
	return !want->value.unobservable && !want->value.constant;
}

static bool is_plain(const struct want *want)
{
	return !want->nloads && !want->kernel_decoder && !want->is_path;
}

static struct origin_slot *origin_of(struct plan *plan, struct place place)
{
	struct origin_slot *origin;

	for (unsigned i = 0; i < plan->norigins; i++) {
		origin = &plan->origins[i];
		if (origin->place.origin == place.origin && origin->place.index == place.index)
			return origin;
	}
	origin = &plan->origins[plan->norigins++];
	*origin = (struct origin_slot){ .place = place, .slot = NO_SLOT, .width = GB_U64 };
	if (place.origin == FROM_REGISTER)
		origin->slot = place.index;
	return origin;
}

static uint8_t slot_take(struct plan *plan)
{
	for (unsigned i = 0; i < GB_SLOTS; i++) {
		if (plan->busy[i])
			continue;
		plan->busy[i] = true;
		return i;
	}
	plan->full = true;
	return 0;
}

/* As many as a path takes, one behind the other. */
static uint8_t slots_take_path(struct plan *plan)
{
	unsigned run = 0;

	for (unsigned i = 0; i < GB_SLOTS; i++) {
		run = plan->busy[i] ? 0 : run + 1;
		if (run == GB_PATH_WORDS) {
			memset(&plan->busy[i + 1 - run], true, run);
			return i + 1 - run;
		}
	}
	plan->full = true;
	return 0;
}

static void emit(struct plan *plan, bool at_return, struct gb_op op)
{
	if (plan->nentry + plan->nret == GB_OPS)
		plan->full = true;
	else if (at_return)
		plan->ret[plan->nret++] = op;
	else
		plan->entry[plan->nentry++] = op;
}

/* Which origins are values, which are only followed, and until when. */
static void survey(struct plan *plan)
{
	for (unsigned i = 0; i < plan->wants.count; i++) {
		struct want *want = &plan->wants.items[i];
		struct origin_slot *origin;

		if (!has_slot(want))
			continue;
		origin = origin_of(plan, want->place);
		if (is_plain(want)) {
			origin->width = want->value.width;
			origin->kept = true;
		} else {
			origin->pending++;
			origin->used_at_return |= want->value.at_return || want->is_path;
		}
		origin->kept |= want->keep_handle || want->is_path;
	}
	for (unsigned i = 0; i < plan->norigins; i++) {
		/* What is followed is followed as it came, all of it. */
		if (plan->origins[i].pending)
			plan->origins[i].width = GB_U64;
		if (plan->origins[i].place.origin == FROM_REGISTER)
			plan->busy[plan->origins[i].slot] = true;
	}
}

/* Is this the word behind the last one of `op`, so that one step can fetch both? */
static bool stack_joins(const struct gb_op *op, const struct gb_op *next)
{
	unsigned count = op->kind == GB_OP_STACK_WORDS ? op->source : 1;

	return (op->kind == GB_OP_STACK || op->kind == GB_OP_STACK_WORDS) && count < GB_STACK_WORDS &&
	       op->slot <= GB_SLOTS - GB_STACK_WORDS && next->slot == op->slot + count &&
	       next->offset == op->offset + 8 * (int)count;
}

/* A word of the stack; together with those before it where they are neighbours. */
static void emit_stack(struct plan *plan, struct gb_op op)
{
	struct gb_op *last = plan->nentry ? &plan->entry[plan->nentry - 1] : NULL;

	if (!last || !stack_joins(last, &op))
		emit(plan, false, op);
	else
		*last = (struct gb_op){ .kind = GB_OP_STACK_WORDS,
					.slot = last->slot,
					.offset = last->offset,
					.source = last->kind == GB_OP_STACK ? 2 : last->source + 1 };
}

/* Words of the stack, at the call; the result, at the return. */
static void fetch_origins(struct plan *plan, enum origin which)
{
	for (unsigned i = 0; i < plan->norigins; i++) {
		struct origin_slot *origin = &plan->origins[i];
		struct gb_op op = { .width = origin->width };

		if (origin->place.origin != which)
			continue;
		op.slot = origin->slot = slot_take(plan);
		op.kind = which == FROM_STACK ? GB_OP_STACK : origin->place.index ? GB_OP_RESULT2 : GB_OP_RESULT;
		op.offset = which == FROM_STACK ? origin->place.index : 0;
		if (which == FROM_STACK)
			emit_stack(plan, op);
		else
			emit(plan, true, op);
	}
}

/* Does `longer` go on from where `shorter` ends? */
static bool goes_on(const struct want *longer, const struct want *shorter)
{
	if (!has_slot(shorter) || shorter->kernel_decoder || !shorter->nloads || shorter->nloads >= longer->nloads ||
	    shorter->value.at_return != longer->value.at_return || shorter->place.origin != longer->place.origin ||
	    shorter->place.index != longer->place.index)
		return false;
	for (unsigned i = 0; i < shorter->nloads; i++)
		if (shorter->loads[i].offset != longer->loads[i].offset ||
		    shorter->loads[i].width != longer->loads[i].width)
			return false;
	return true;
}

/* The value fetched before that leads furthest towards this one; NULL: none. */
static const struct want *on_the_way(const struct plan *plan, const struct want *want)
{
	const struct want *best = NULL;

	for (const struct want *w = plan->wants.items; w < want; w++)
		if (goes_on(want, w) && (!best || w->nloads > best->nloads))
			best = w;
	return best;
}

/* The loads of one value. The last to follow a pointer takes its slot. */
static void fetch(struct plan *plan, struct want *want)
{
	struct origin_slot *origin = origin_of(plan, want->place);
	const struct want *way = on_the_way(plan, want);
	bool at_return = want->value.at_return;
	uint8_t slot, from = way ? way->value.slot : origin->slot;

	slot = --origin->pending || origin->kept ? slot_take(plan) : origin->slot;
	for (unsigned i = way ? way->nloads : 0; i < want->nloads; i++) {
		emit(plan, at_return,
		     (struct gb_op){ .kind = GB_OP_LOAD,
				     .slot = slot,
				     .source = from,
				     .width = want->loads[i].width,
				     .offset = want->loads[i].offset });
		from = slot;
	}
	if (want->kernel_decoder)
		emit(plan, at_return,
		     (struct gb_op){ .kind = GB_OP_DECODE,
				     .slot = slot,
				     .source = from,
				     .width = GB_U64,
				     .offset = want->kernel_decoder });
	want->value.slot = slot;
}

/* Where GB_OP_PATH finds the descriptor that a path is relative to. */
static int32_t folder_place(struct plan *plan)
{
	for (unsigned i = 0; i < plan->wants.count; i++) {
		const struct want *want = &plan->wants.items[i];

		if (want->value.meaning == MEANING_FOLDER)
			return has_slot(want) && is_plain(want) ? origin_of(plan, want->place)->slot + 1
								: GB_SLOTS + 1; /* nowhere */
	}
	return 0;
}

/* The text at the call, and at the return whether it still is that. */
static void fetch_path(struct plan *plan, struct want *want)
{
	struct gb_op op = { .kind = GB_OP_PATH,
			    .slot = slots_take_path(plan),
			    .source = origin_of(plan, want->place)->slot,
			    .offset = folder_place(plan) };

	emit(plan, false, op);
	op.kind = GB_OP_PATH_AGAIN;
	emit(plan, true, op);
	want->value.slot = op.slot;
}

static void fetch_all(struct plan *plan, bool at_return)
{
	for (unsigned i = 0; i < plan->wants.count; i++) {
		struct want *want = &plan->wants.items[i];

		if (!has_slot(want) || want->value.at_return != at_return)
			continue;
		if (is_plain(want))
			want->value.slot = origin_of(plan, want->place)->slot;
		else if (want->is_path)
			fetch_path(plan, want);
		else
			fetch(plan, want);
		want->value.null_slot = want->keep_handle ? origin_of(plan, want->place)->slot : want->value.slot;
	}
}

static unsigned slots_sent(const struct plan *plan)
{
	unsigned slots = 0;

	for (unsigned i = 0; i < plan->wants.count; i++) {
		const struct want *want = &plan->wants.items[i];

		if (has_slot(want) && want->value.slot >= slots)
			slots = want->value.slot + (want->is_path ? GB_PATH_WORDS : 1);
		if (has_slot(want) && want->value.has_null && want->value.null_slot >= slots)
			slots = want->value.null_slot + 1;
	}
	return slots;
}

static void rename_slot(struct plan *plan, uint8_t from, uint8_t to)
{
	for (unsigned i = 0; i < plan->wants.count; i++) {
		struct value *v = &plan->wants.items[i].value;

		v->null_slot = v->null_slot == from ? to : v->null_slot;
		v->least_slot = v->least_slot == from ? to : v->least_slot;
		v->slot = v->slot == from ? to : v->slot;
	}
}

/* Copies registers down into slots that nothing ever used. */
static void close_gaps(struct plan *plan)
{
	for (unsigned gap = 0; gap < GB_SLOTS; gap++) {
		unsigned last = slots_sent(plan);
		struct origin_slot *origin = NULL;

		if (plan->busy[gap])
			continue;
		if (gap >= last || last > GB_REGISTERS || plan->nentry + plan->nret == GB_OPS)
			return;
		for (unsigned i = 0; i < plan->norigins; i++)
			if (plan->origins[i].slot == last - 1 && plan->origins[i].place.origin == FROM_REGISTER)
				origin = &plan->origins[i];
		if (!origin || !origin->kept || origin->used_at_return)
			return;
		emit(plan, false,
		     (struct gb_op){ .kind = GB_OP_COPY, .slot = gap, .source = last - 1, .width = GB_U64 });
		rename_slot(plan, last - 1, gap);
		plan->busy[gap] = true;
	}
}

/* Where the words are that values depend on. */
static void place_conditions(struct plan *plan)
{
	for (unsigned i = 0; i < plan->wants.count; i++) {
		struct want *want = &plan->wants.items[i];
		const struct value *on = &plan->wants.items[want->condition_at].value;

		if (!want->value.has_least)
			continue;
		want->value.least_slot = on->slot;
		want->value.least_width = on->width;
	}
}

static void assign(struct plan *plan)
{
	plan->norigins = plan->nentry = plan->nret = 0;
	plan->full = false;
	memset(plan->busy, 0, sizeof(plan->busy));
	survey(plan);
	fetch_origins(plan, FROM_STACK);
	fetch_all(plan, false);
	fetch_origins(plan, FROM_RESULT);
	fetch_all(plan, true);
	place_conditions(plan);
	if (!plan->full)
		close_gaps(plan);
}

static void drop_last(struct plan *plan)
{
	struct want *want = &plan->wants.items[--plan->wants.count];

	if (want->is_high) {
		free(want->value.name);
		want = &plan->wants.items[--plan->wants.count];
	}
	log_warn("%s: value '%s' is left out: a call carries at most %d words in %d steps",
		 log_safe(plan->wants.function->symbol), log_safe(want->value.name), GB_SLOTS, GB_OPS);
	free(want->value.name);
	/* What depends on it can no more be known. */
	for (unsigned i = 0; i < plan->wants.count; i++) {
		struct want *other = &plan->wants.items[i];

		if (other->value.has_least && other->condition_at == plan->wants.count) {
			other->value.has_least = false;
			other->value.unobservable = true;
		}
	}
}

/* The second word belongs to the value before it. */
static void set_high(const struct plan *plan, unsigned i, struct capture *capture)
{
	struct value *v = plan->wants.items[i - 1].is_only ? &capture->only : &capture->values[capture->nvalues - 1];
	uint8_t slot = plan->wants.items[i].value.slot;

	v->has_high = true;
	v->high_slot = slot;
	if (v->at_return)
		capture->program.return_slots |= 1u << slot;
}

/* In which bits of a register stands whose part of the address space an access is about? */
static bool near_find(const struct want *want, struct gb_near *near)
{
	const struct value *v = &want->value;
	unsigned word = 0;

	if (v->meaning != MEANING_PEER || v->at_return || !has_slot(want) || !is_plain(want) ||
	    want->place.origin != FROM_REGISTER || v->valid_count || v->has_null)
		return false;
	*near = (struct gb_near){ .reg = want->place.index, .shift = v->bits_low, .bits = v->bits_count ?: 32 };
	if (v->decoder && !value_rank_bits(v, &word, &near->shift, &near->bits))
		return false;
	near->reg += word; /* the second word of a struct comes in the next register */
	return near->reg < GB_REGISTERS;
}

static bool is_access(enum role role)
{
	return role == ROLE_GET || role == ROLE_PUT || role == ROLE_COPY || role == ROLE_SET || role == ROLE_ATOMIC;
}

/* All of them or none: an access of which one side is not known may be far away. */
static void near_find_all(const struct wants *wants, struct gb_near near[GB_NEAR])
{
	unsigned n = 0;

	if (!wants->function->model->affinity || !is_access(wants->function->role))
		return;
	for (unsigned i = 0; i < wants->count; i++) {
		if (wants->items[i].value.meaning != MEANING_PEER)
			continue;
		if (n == GB_NEAR || !near_find(&wants->items[i], &near[n++])) {
			memset(near, 0, GB_NEAR * sizeof(*near));
			return;
		}
	}
}

/* A packed pointer has as many bits of each as this program says. */
static void set_bits(struct plan *plan)
{
	for (unsigned i = 0; plan->build && i < plan->wants.count; i++) {
		struct value *v = &plan->wants.items[i].value;

		if (v->decoder &&
		    decoder_with_bits(v->decoder, plan->build->bits, plan->decoder, sizeof(plan->decoder)))
			v->decoder = plan->decoder;
	}
}

static int hand_over(struct plan *plan, struct capture *capture)
{
	struct gb_probe *program = &capture->program;

	program->slots = slots_sent(plan);
	program->entry_ops = plan->nentry;
	program->return_ops = plan->nret;
	program->flags = (plan->wants.function->marks & MARK_ATOMIC ? GB_PROBE_NO_RETURN : 0) |
			 (plan->wants.function->marks & MARK_OPENS ? GB_PROBE_OPENS : 0);
	memcpy(program->ops, plan->entry, plan->nentry * sizeof(*program->ops));
	memcpy(program->ops + plan->nentry, plan->ret, plan->nret * sizeof(*program->ops));
	set_bits(plan);
	near_find_all(&plan->wants, capture->near);
	capture->values = calloc(plan->wants.count ? plan->wants.count : 1, sizeof(*capture->values));
	if (!capture->values)
		return -ENOMEM;
	for (unsigned i = 0; i < plan->wants.count; i++) {
		struct want *want = &plan->wants.items[i];
		struct value *v;

		if (want->is_high) {
			set_high(plan, i, capture);
			continue;
		}
		v = want->is_only ? &capture->only : &capture->values[capture->nvalues++];
		*v = want->value;
		want->value.name = NULL;
		if (v->decoder && !(v->decoder = strdup(v->decoder)))
			return -ENOMEM;
		if (!has_slot(want))
			v->slot = v->null_slot = 0;
		else if (v->at_return)
			program->return_slots |= 1u << v->slot;
	}
	return 0;
}

static struct plan *plan_new(void)
{
	struct plan *plan = malloc(sizeof(*plan));

	if (plan)
		memset(plan, 0, offsetof(struct plan, wants.items));
	return plan;
}

int model_function_capture_build(const struct function *function, const char *soname, const struct build *build,
				 struct capture *capture)
{
	struct plan *plan = plan_new();
	int error = 0;

	memset(capture, 0, sizeof(*capture));
	if (!plan)
		return -ENOMEM;
	if (function->marks & MARKS_TELL) {
		free(plan);
		return telling_capture(function, capture);
	}
	plan->wants.function = function;
	plan->wants.bound = function->parsed;
	plan->wants.parsed = function->model->parsed;
	plan->build = build;
	/* A file that is none of the model's libraries is the program: its layout is that. */
	if (build && snprintf(plan->program, sizeof(plan->program), PROGRAM_BUILD "%s", build->name) > 0)
		plan->wants.soname = plan->program;
	else if (!function->model->in_program || model_matches_file(function->model, soname, NULL))
		plan->wants.soname = soname;
	wants_find(&plan->wants);
	if (!plan->wants.failed) {
		assign(plan);
		while (plan->full && plan->wants.count) {
			drop_last(plan);
			assign(plan);
		}
	}
	error = plan->wants.failed ? -ENOMEM : hand_over(plan, capture);
	for (unsigned i = 0; i < plan->wants.count; i++)
		free(plan->wants.items[i].value.name);
	free(plan);
	if (error)
		capture_free(capture);
	return error;
}

int model_function_capture(const struct function *function, const char *soname, struct capture *capture)
{
	return model_function_capture_build(function, soname, NULL, capture);
}

void capture_free(struct capture *capture)
{
	for (size_t i = 0; i < capture->nvalues; i++)
		value_free(&capture->values[i]);
	free(capture->values);
	value_free(&capture->only);
	memset(capture, 0, sizeof(*capture));
}
