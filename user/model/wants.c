/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wants.c - which values a call carries, and the way to each.
 *
 * The parameters are walked as the ABI passes them (arch/arch.h). Each annotation, or the parameter itself where
 * there is none, is a want: the place that it starts from and the loads that lead to it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "meaning/value.h"
#include "model/wants.h"

#define SMALL_ADDRESS 4096 /* never mapped: reading there fails by itself */

static struct passed passed_of(const struct wants *wants, struct ctype type)
{
	return type_passed(wants->parsed, wants->soname, type, &wants->bound->t);
}

/* A type with T put in. */
static struct ctype bound_type(const struct wants *wants, struct ctype type)
{
	unsigned pointers = type.pointers;

	if (type.kind == TYPE_T) {
		type = wants->bound->t;
		type.pointers += pointers;
	}
	return type;
}

static bool add_load(struct want *want, int32_t offset, uint8_t width, uint8_t form)
{
	if (want->nloads == LOADS_MOST)
		return false;
	want->loads[want->nloads++] = (struct step){ .offset = offset, .width = width, .form = form };
	want->value.width = width;
	want->value.form = form;
	return true;
}

/* Through `stars` pointers, the last to an object of its own C type. False: its type cannot be read. */
static bool follow_stars(const struct wants *wants, struct want *want, struct ctype type, unsigned stars)
{
	type = bound_type(wants, type);
	while (stars--) {
		struct passed passed;

		if (!type.pointers)
			return false;
		type.pointers--;
		if (type.kind == TYPE_NAMED && !type.pointers && !fact_type(wants->parsed, wants->soname, type.name))
			return false;
		passed = passed_of(wants, type);
		if (passed.how != PASS_INTEGER || !add_load(want, 0, passed.width, passed.form))
			return false;
	}
	return true;
}

/* The part of a path that is the same in annotations and layouts. */
static bool follow_path(struct want *want, const struct path *path)
{
	struct value *v = &want->value;

	for (unsigned i = 0; i < path->nsteps; i++)
		if (!add_load(want, path->steps[i].offset, path->steps[i].width, path->steps[i].form))
			return false;
	if (path->bits_count) {
		v->bits_low = path->bits_low;
		v->bits_count = path->bits_count;
		v->valid_low = path->valid_low;
		v->valid_count = path->valid_count;
		v->valid_equals = path->valid_equals;
		v->form = FORM_UINT;
	}
	if (path->string) {
		v->form = FORM_STRING;
		v->number = path->string_offset;
	}
	want->kernel_decoder = path->kernel_decoder;
	if (path->kernel_decoder || path->decoder) {
		v->form = FORM_INT;
		v->width = GB_U64;
		v->decoder = (char *)path->decoder;
	}
	return true;
}

/* X.null: where the handle is that, nothing was read. */
static void apply_null(struct wants *wants, struct want *want, const struct ctype *type, bool is_handle)
{
	const struct fact *null = fact_field(wants->parsed, wants->soname, type->name, "null");

	if (!null)
		return;
	want->value.null = null->number;
	if (!want->nloads && !want->kernel_decoder) {
		want->value.has_null = true; /* the handle is the word itself */
	} else if (is_handle && (null->number >= SMALL_ADDRESS || null->number < -SMALL_ADDRESS)) {
		want->value.has_null = true;
		want->keep_handle = true;
	}
}

/* X.FIELD, from a parameter of type X, X * or X **. False: no layout gives it. */
static bool follow_field(struct wants *wants, struct want *want, struct ctype type, const char *field)
{
	const struct fact *fact, *declared;
	unsigned pointers;

	type = bound_type(wants, type);
	pointers = type.pointers;
	if (type.kind != TYPE_NAMED)
		return false;
	fact = fact_field(wants->parsed, wants->soname, type.name, field);
	declared = fact_type(wants->parsed, wants->soname, type.name);
	if (!fact || fact->null || (!declared && !pointers))
		return false;
	for (unsigned i = 1; i < pointers; i++)
		if (!add_load(want, 0, GB_U64, FORM_POINTER))
			return false;
	if (declared && pointers && !add_load(want, 0, declared->passed.width, declared->passed.form))
		return false;
	bool is_handle = !want->nloads;

	if (!follow_path(want, &fact->path))
		return false;
	apply_null(wants, want, &type, is_handle);
	return true;
}

/* From the place to the value; false: it cannot be had. */
static bool follow(struct wants *wants, struct want *want, struct ctype type, const struct annotation *a,
		   bool implied_star)
{
	if (!a || !a->located)
		return !implied_star || follow_stars(wants, want, type, 1);
	if (a->path.field)
		return follow_field(wants, want, type, a->path.field);
	if (a->path.high) {
		want->value.width = GB_U64;
		want->value.form = FORM_UINT;
	}
	return follow_stars(wants, want, type, a->path.stars) && follow_path(want, &a->path);
}

static char *value_name(const struct parameter *p, const struct annotation *a, const char *suffix)
{
	char *name = NULL;

	if (a && !suffix)
		suffix = a->path.field ? a->path.field : meaning_name(a->meaning);
	if (!suffix)
		return strdup(p->name);
	return asprintf(&name, "%s.%s", p->name, suffix) < 0 ? NULL : name;
}

/* Does a parameter say the size of this side's elements? */
static bool says_size(const struct parameter *p, enum side side)
{
	for (unsigned i = 0; i < p->nannotations; i++) {
		const struct annotation *a = &p->annotations[i];

		if ((a->meaning == MEANING_SIZE || a->meaning == MEANING_TYPE) &&
		    (a->side == side || a->side == SIDE_NONE))
			return true;
	}
	return false;
}

/* Bytes of what the function's first pointer to T points to; 0 where @size or @type is to say it, known or not. */
static uint32_t element_size(const struct wants *wants, enum side side)
{
	const struct prototype *p = wants->bound->prototype;

	for (unsigned i = 0; i < p->nparameters; i++)
		if (says_size(&p->parameters[i], side))
			return 0;
	for (unsigned i = 0; i < p->nparameters; i++) {
		struct ctype type = p->parameters[i].type;

		if (type.kind != TYPE_T || !type.pointers)
			continue;
		type.pointers--;
		return type_size(wants->parsed, wants->soname, type, &wants->bound->t);
	}
	return 0;
}

static bool says_any_size(const struct prototype *p)
{
	for (unsigned i = 0; i < p->nparameters; i++)
		if (says_size(&p->parameters[i], SIDE_NONE))
			return true;
	return false;
}

static struct want *want_add(struct wants *wants, char *name, enum meaning meaning, struct place place)
{
	struct want *want = &wants->items[wants->count];

	if (!name || wants->count == WANTS_MOST) {
		free(name);
		wants->failed = true;
		return NULL;
	}
	memset(want, 0, sizeof(*want));
	want->value.name = name;
	want->value.meaning = meaning;
	want->place = place;
	want->value.unobservable = place.origin == FROM_NOWHERE;
	want->value.at_return = place.origin == FROM_RESULT;
	wants->count++;
	return want;
}

static void want_constant(struct wants *wants, const struct parameter *p, const struct annotation *a, bool is_result)
{
	struct want *want = want_add(wants, value_name(p, a, NULL), a->meaning,
				     (struct place){ .origin = FROM_NOWHERE });
	struct ctype type = bound_type(wants, p->type);

	if (!want)
		return;
	want->value.unobservable = false;
	want->value.constant = true;
	want->value.side = a->side;
	want->value.form = FORM_UINT;
	want->value.width = GB_U64;
	want->value.at_return = is_result;
	want->value.number = a->number;
	if (a->fixed == FIXED_POINTEE && type.pointers)
		type.pointers--;
	if (a->fixed == FIXED_T)
		type = wants->bound->t;
	if (a->fixed != FIXED_NUMBER)
		want->value.number = a->fixed == FIXED_UNKNOWN ? 0
							       : type_size(wants->parsed, wants->soname, type, NULL);
	if (a->fixed != FIXED_NUMBER && !want->value.number) {
		want->value.constant = false;
		want->value.unobservable = true;
	}
}

/* The wants of one parameter, or of the result, that arrives at `place` (and `high`). */
struct arrival {
	const struct parameter *parameter;
	struct passed passed;
	struct place place, high;
	bool is_result;
};

/* Element `index` of an array of C objects. False: the size of one is not known. */
static bool follow_element(const struct wants *wants, struct want *want, struct ctype type, unsigned index)
{
	uint32_t size;

	if (!follow_stars(wants, want, type, 1))
		return false;
	type = bound_type(wants, type);
	type.pointers--;
	size = type_size(wants->parsed, wants->soname, type, NULL);
	want->loads[0].offset = (int32_t)(index * size);
	return size && size <= 4096;
}

/* The first elements of an array, each known where the array has it. */
static void want_elements(struct wants *wants, const struct arrival *arrival, const struct annotation *a)
{
	for (unsigned i = 0; i < a->each && !wants->failed; i++) {
		char number[16];
		struct want *want;

		snprintf(number, sizeof(number), "%u", i);
		want = want_add(wants, value_name(arrival->parameter, NULL, number), a->meaning, arrival->place);
		if (!want)
			return;
		want->value.at_return |= arrival->parameter->out;
		want->condition = a->condition;
		want->value.least = i + 1;
		if (!want->value.unobservable && !follow_element(wants, want, arrival->parameter->type, i))
			want->value.unobservable = true;
	}
}

/* What a value depends on is another one, that is sent too. */
static void find_conditions(struct wants *wants)
{
	for (unsigned i = 0; i < wants->count; i++) {
		struct want *want = &wants->items[i];
		bool found = !want->condition;

		for (unsigned k = 0; k < wants->count && !found; k++) {
			const struct value *on = &wants->items[k].value;

			if (strcmp(on->name, want->condition) || on->unobservable || on->constant ||
			    wants->items[k].condition)
				continue;
			found = true;
			want->condition_at = k;
			want->value.has_least = true;
			want->value.at_return |= on->at_return;
		}
		if (!found)
			want->value.unobservable = true;
	}
}

/* @peer(thread), where the type has a decoder. */
static bool is_decoded_field(const struct arrival *arrival, const struct annotation *a)
{
	return arrival->passed.decoder && a && a->path.field && !strcmp(a->path.field, DECODED_FIELD);
}

/* The second word of the last want, whose decoder takes two. */
static void want_high(struct wants *wants, struct want *want, const struct arrival *arrival)
{
	if (want->value.unobservable || want->nloads || arrival->high.origin == FROM_NOWHERE) {
		want->value.unobservable = true;
		return;
	}
	bool at_return = want->value.at_return;
	struct want *high = want_add(wants, value_name(arrival->parameter, NULL, "high"), MEANING_PLAIN, arrival->high);

	if (!high)
		return;
	high->is_high = true;
	high->value.width = GB_U64;
	high->value.form = FORM_UINT;
	high->value.at_return = at_return;
}

/* The text itself, as it is at the call. */
static void want_path(struct want *want)
{
	want->is_path = true;
	want->value.form = FORM_TEXT;
	want->value.width = GB_U64;
	want->value.element = GB_PATH_TEXT;
}

static void want_value(struct wants *wants, const struct arrival *arrival, const struct annotation *a, bool alone)
{
	const struct parameter *p = arrival->parameter;
	bool high = a && a->path.high, implied = p->out && p->type.pointers;
	enum meaning meaning = a ? a->meaning : MEANING_PLAIN;
	struct annotation size = { .meaning = MEANING_TYPE, .located = true, .path = { .field = "size" } };
	struct ctype type = bound_type(wants, p->type);
	struct want *want;

	if (a && meaning == MEANING_TYPE && !a->located) {
		size.side = a->side;
		if (type.kind == TYPE_NAMED && fact_field(wants->parsed, wants->soname, type.name, "size"))
			a = &size;
		else
			meaning = MEANING_PLAIN;
	}
	/* The parameter itself, or its only value, has its name. */
	bool itself = alone || !a || (!a->located && !implied);

	want = want_add(wants, value_name(p, itself ? NULL : a, NULL), meaning, high ? arrival->high : arrival->place);
	if (!want)
		return;
	want->value.width = arrival->passed.width;
	want->value.form = arrival->passed.form;
	want->value.at_return |= p->out;
	if (a) {
		want->value.side = a->side;
		want->value.has_none = a->has_none;
		want->value.none = a->none;
		want->condition = a->condition;
		want->value.least = a->condition != NULL;
	}
	if (a && meaning == MEANING_COUNT)
		want->value.element = a->element ? a->element : element_size(wants, a->side);
	if (is_decoded_field(arrival, a))
		want->value.decoder = (char *)arrival->passed.decoder;
	else if (!want->value.unobservable && !follow(wants, want, p->type, a, implied))
		want->value.unobservable = true;
	else if (!want->nloads && !(a && a->located))
		want->value.decoder = (char *)arrival->passed.decoder;
	if (decoder_words(want->value.decoder) > 1)
		want_high(wants, want, arrival);
	if (meaning == MEANING_PATH && !want->value.unobservable)
		want_path(want);
}

static void want_arrival(struct wants *wants, const struct arrival *arrival)
{
	const struct parameter *p = arrival->parameter;
	unsigned values = 0;
	bool whole = false;

	for (unsigned i = 0; i < p->nannotations; i++) {
		values += p->annotations[i].fixed == FIXED_NOT;
		whole |= !p->annotations[i].located && p->annotations[i].fixed == FIXED_NOT;
	}
	/* What has a decoder is recorded as a whole, whatever is said of its parts. */
	if (values && !whole && !p->skip && arrival->passed.decoder)
		want_value(wants, arrival, NULL, true);
	for (unsigned i = 0; i < p->nannotations; i++) {
		if (p->annotations[i].each)
			want_elements(wants, arrival, &p->annotations[i]);
		else if (p->annotations[i].fixed == FIXED_NOT)
			want_value(wants, arrival, &p->annotations[i], values == 1 && !arrival->passed.decoder);
		else
			want_constant(wants, p, &p->annotations[i], arrival->is_result);
	}
	if (values || p->skip)
		return;
	want_value(wants, arrival, NULL, true);
	if (arrival->high.origin == FROM_NOWHERE || wants->failed || arrival->passed.decoder)
		return;
	struct want *want = want_add(wants, value_name(p, NULL, "high"), MEANING_PLAIN, arrival->high);

	if (want) {
		want->value.width = GB_U64;
		want->value.form = FORM_UINT;
	}
}

/* What has been handed out so far. */
struct handed {
	struct arguments arguments;
	bool lost; /* something came whose size is unknown */
};

static struct arrival arrive(struct wants *wants, struct handed *h, const struct parameter *p)
{
	static const enum argument_class classes[] = {
		[PASS_INTEGER] = ARGUMENT_INTEGER, [PASS_FLOAT] = ARGUMENT_FLOAT, [PASS_MEMORY] = ARGUMENT_MEMORY
	};
	struct arrival arrival = { .parameter = p, .passed = passed_of(wants, p->type) };
	const struct passed *passed = &arrival.passed;
	enum argument_place place;
	unsigned at;
	bool stack;

	h->lost |= passed->how == PASS_UNKNOWN;
	if (h->lost || passed->how == PASS_NOTHING)
		return arrival;
	place = arguments_next(&h->arguments, classes[passed->how], passed->words, passed->aligned16, &at);
	if (passed->how != PASS_INTEGER)
		return arrival;
	stack = place == ON_STACK;
	arrival.place = (struct place){ stack ? FROM_STACK : FROM_REGISTER, at };
	if (passed->words == 2)
		arrival.high = (struct place){ arrival.place.origin, at + (stack ? 8 : 1) };
	return arrival;
}

static void want_result(struct wants *wants, bool hidden)
{
	const struct parameter *result = &wants->bound->prototype->result;
	struct arrival arrival = { .parameter = result, .passed = passed_of(wants, result->type), .is_result = true };

	if (arrival.passed.how == PASS_NOTHING)
		return;
	if (hidden)
		arrival.passed = (struct passed){
			.how = PASS_INTEGER, .words = 1, .width = GB_U64, .form = FORM_POINTER
		};
	if (arrival.passed.how == PASS_INTEGER)
		arrival.place = (struct place){ FROM_RESULT, 0 };
	if (arrival.passed.how == PASS_INTEGER && arrival.passed.words == 2)
		arrival.high = (struct place){ FROM_RESULT, 1 };
	want_arrival(wants, &arrival);
}

/* The mark `one`: a count that is always 1. */
static void want_one(struct wants *wants)
{
	struct want *want = want_add(wants, strdup("count"), MEANING_COUNT, (struct place){ .origin = FROM_NOWHERE });

	if (!want)
		return;
	want->value.unobservable = false;
	want->value.constant = true;
	want->value.form = FORM_UINT;
	want->value.width = GB_U64;
	want->value.number = 1;
	want->value.element = element_size(wants, SIDE_NONE);
	/* No pointer to T and nothing else that says a size: then T itself is what moves. */
	if (!want->value.element && wants->bound->prototype->uses_t && !says_any_size(wants->bound->prototype))
		want->value.element = type_size(wants->parsed, wants->soname, (struct ctype){ .kind = TYPE_T },
						&wants->bound->t);
}

/* Does the call move something on this side, as far as its model says? */
static bool says_amount(const struct prototype *p, enum side side)
{
	for (unsigned i = 0; i < p->nparameters; i++)
		for (unsigned k = 0; k < p->parameters[i].nannotations; k++) {
			const struct annotation *a = &p->parameters[i].annotations[k];

			if ((a->meaning == MEANING_COUNT || a->meaning == MEANING_BYTES) && a->side == side)
				return true;
		}
	return false;
}

/* peer.nobody: with that rank no bytes are moved, whatever the count says. A value without a name that is 0 there, and
 * unknown elsewhere. */
static void want_nothing(struct wants *wants, const struct arrival *arrival, enum side side, int64_t nobody)
{
	struct want *want = want_add(wants, strdup(""), MEANING_BYTES, arrival->place);

	if (!want)
		return;
	want->value.side = side;
	want->value.width = arrival->passed.width;
	want->value.form = arrival->passed.form;
	want->value.number = -nobody;
	want->value.valid_count = 32;
	want->value.valid_equals = (uint32_t)nobody;
}

/* Before all other values, as the first one that is known tells how many bytes there are. */
static void want_nobody(struct wants *wants, const struct arrival *arrival)
{
	const struct fact *fact = fact_field(wants->parsed, wants->soname, "peer", "nobody");
	const struct parameter *p = arrival->parameter;
	uint8_t width = arrival->passed.width;

	if (!fact || p->out || p->type.pointers || arrival->place.origin == FROM_NOWHERE ||
	    (width != GB_S32 && width != GB_U32))
		return;
	for (unsigned i = 0; i < p->nannotations; i++) {
		const struct annotation *a = &p->annotations[i];

		if (a->meaning != MEANING_PEER || a->located)
			continue;
		for (enum side side = SIDE_NONE; side <= SIDE_RECV && !wants->failed; side++)
			if ((a->side == SIDE_NONE || a->side == side) && says_amount(wants->bound->prototype, side))
				want_nothing(wants, arrival, side, fact->number);
	}
}

/* What @only looks at comes first, so that it is never what is left out. */
static void want_only(struct wants *wants, const struct arrival *arrivals)
{
	const struct prototype *p = wants->bound->prototype;

	for (unsigned i = 0; i < p->nparameters && !wants->failed; i++) {
		if (!p->parameters[i].has_only)
			continue;
		want_value(wants, &arrivals[i], &p->parameters[i].only, true);
		wants->items[0].is_only = true;
	}
}

void wants_find(struct wants *wants)
{
	const struct prototype *p = wants->bound->prototype;
	struct arrival arrivals[PARAMETERS_MOST] = { 0 };
	struct handed handed = { 0 };
	struct ctype result = bound_type(wants, p->result.type);
	unsigned marks = wants->function->marks;
	/* A struct over 16 bytes comes back in memory whose address is a hidden first argument. */
	bool hidden = !result.pointers && result.kind == TYPE_NAMED && passed_of(wants, result).how == PASS_MEMORY;

	/* What closes a span has none of its own. */
	if (p->bare || marks & MARK_CLOSES)
		return;
	handed.arguments = arguments_begin(hidden);
	for (unsigned i = 0; i < p->nparameters; i++)
		arrivals[i] = arrive(wants, &handed, &p->parameters[i]);
	want_only(wants, arrivals);
	for (unsigned i = 0; i < p->nparameters && !wants->failed; i++)
		want_nobody(wants, &arrivals[i]);
	for (unsigned i = 0; i < p->nparameters && !wants->failed; i++)
		want_arrival(wants, &arrivals[i]);
	if (!wants->failed && marks & MARK_ONE)
		want_one(wants);
	if (!wants->failed && p->records_result)
		want_result(wants, hidden);
	if (!wants->failed)
		find_conditions(wants);
}
