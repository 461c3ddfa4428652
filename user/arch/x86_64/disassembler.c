/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * disassembler.c - memory for libcapstone.
 *
 * libcapstone 4 uses what it asks for in cs_open(), and its table of instructions at the first one that it decodes,
 * without looking whether it got it. So what malloc() refuses comes out of a few places that are set aside here, and a
 * disassembler that had to take one is given up at once.
 */
#include "arch/x86_64/x86_private.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 8
#define PLACE_SIZE 65536 /* more than any of its objects has; its table of instructions has 28 KB */

static _Alignas(max_align_t) char places[PLACES][PLACE_SIZE];
static bool taken[PLACES];
static _Thread_local bool starved;

static void *take_place(size_t size)
{
	starved = true;
	for (size_t i = 0; size <= PLACE_SIZE && i < PLACES; i++)
		if (!__atomic_exchange_n(&taken[i], true, __ATOMIC_ACQUIRE))
			return memset(places[i], 0, PLACE_SIZE);
	return NULL;
}

static bool is_place(const void *data)
{
	return (uintptr_t)data >= (uintptr_t)places && (uintptr_t)data < (uintptr_t)places + sizeof(places);
}

static void *get(size_t size)
{
	return malloc(size) ?: take_place(size);
}

static void *get_zeroed(size_t count, size_t size)
{
	return calloc(count, size) ?: take_place(count * size);
}

static void *get_larger(void *data, size_t size)
{
	if (is_place(data))
		return size <= PLACE_SIZE ? data : NULL;
	return realloc(data, size); /* this is looked at */
}

static void give_back(void *data)
{
	if (is_place(data))
		__atomic_store_n(&taken[((char *)data - places[0]) / PLACE_SIZE], false, __ATOMIC_RELEASE);
	else
		free(data);
}

/* So that the table is there. */
static void decode_one(csh handle)
{
	static const uint8_t nop[] = { 0x90 };
	const uint8_t *code = nop;
	size_t size = sizeof(nop);
	uint64_t address = 0;
	cs_insn *instruction = cs_malloc(handle);

	if (instruction) {
		cs_disasm_iter(handle, &code, &size, &address, instruction);
		cs_free(instruction, 1);
	}
}

int disassembler_open(csh *handle)
{
	cs_opt_mem memory = {
		.malloc = get, .calloc = get_zeroed, .realloc = get_larger, .free = give_back, .vsnprintf = vsnprintf
	};
	cs_err error;

	cs_option(0, CS_OPT_MEM, (size_t)&memory); /* the same each time */
	starved = false;
	error = cs_open(CS_ARCH_X86, CS_MODE_64, handle);
	if (error == CS_ERR_OK)
		decode_one(*handle);
	if (error == CS_ERR_OK && !starved)
		return 0;
	if (error == CS_ERR_OK)
		cs_close(handle);
	return starved || error == CS_ERR_MEM ? -ENOMEM : -ENOTSUP;
}
