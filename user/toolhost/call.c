/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call.c - calls of variadic functions whose arguments are known at run time only, by libffi.
 */
#include "toolhost/call.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static union call_word *add(struct call *c, ffi_type *type)
{
	if (c->count == CALL_MOST)
		return &c->words[CALL_MOST - 1]; /* no event has so many */
	c->types[c->count] = type;
	c->values[c->count] = &c->words[c->count];
	return &c->words[c->count++];
}

void call_int(struct call *c, int value)
{
	add(c, &ffi_type_sint32)->s32 = value;
}

void call_unsigned(struct call *c, unsigned value)
{
	add(c, &ffi_type_uint32)->u32 = value;
}

void call_pointer(struct call *c, const void *value)
{
	add(c, &ffi_type_pointer)->pointer = value;
}

void call_dots(struct call *c)
{
	c->fixed = c->count;
}

/* --- arguments ------------------------------------------------------------ */

static void shared_argument(struct call *c, const struct argument *a)
{
	unsigned index = c->count < CALL_MOST ? c->count : CALL_MOST - 1;

	/* Tools follow it without a look: inside a program there always is one. */
	c->shared[index][0] = a->word;
	c->shared[index][1] = a->high;
	c->of[index] = a;
	call_pointer(c, c->shared[index]);
}

void call_argument(struct call *c, const struct argument *a)
{
	double real;

	switch (a->kind) {
	case ARGUMENT_INT:
		if (a->size > 4)
			add(c, &ffi_type_sint64)->s64 = a->known ? (int64_t)a->word : INT64_MIN;
		else
			call_int(c, a->known ? (int32_t)a->word : INT_MIN);
		break;
	case ARGUMENT_UINT:
		if (a->size > 4)
			add(c, &ffi_type_uint64)->u64 = a->known ? a->word : UINT64_MAX;
		else
			call_unsigned(c, a->known ? (uint32_t)a->word : UINT_MAX);
		break;
	case ARGUMENT_TEXT: /* the program's memory is not here: an address is of no use */
		call_pointer(c, a->known ? a->text : NULL);
		break;
	case ARGUMENT_SHARED:
		shared_argument(c, a);
		break;
	case ARGUMENT_DOUBLE:
		real = NAN;
		if (a->known)
			memcpy(&real, &a->word, sizeof(real));
		add(c, &ffi_type_double)->real = real;
		break;
	default:
		add(c, &ffi_type_uint64)->u64 = a->known ? a->word : 0;
	}
}

/* The tool's functions are called one at a time, from whatever thread. */
static const struct call *current;

bool call_make(struct call *c, void (*function)(void))
{
	ffi_cif cif;

	if (ffi_prep_cif_var(&cif, FFI_DEFAULT_ABI, c->fixed, c->count, &ffi_type_void, c->types) != FFI_OK)
		return false;
	current = c;
	ffi_call(&cif, function, NULL, c->values);
	current = NULL;
	return true;
}

const struct argument *call_shared(const void *pts)
{
	for (unsigned i = 0; current && i < current->count; i++)
		if (current->of[i] && pts == current->shared[i])
			return current->of[i];
	return NULL;
}
