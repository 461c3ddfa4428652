/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * script.c - where a thread is in a script, out of the structures of an interpreter.
 *
 * The input begins with the version; the rest is the memory of the process, and the stack of its only thread, which
 * lies at BASE here, too. The runtime is at its beginning; what has BASE as its type is code.
 */
#include "stacks/cpython.c" /* its readers are static; the library's copy is not linked then */

#include "shared/fuzz.h"

#include <sys/mman.h>

#define BASE 0x500000000000ULL
#define MEMORY 65536 /* bytes */

static uint8_t *memory(void)
{
	static uint8_t *at;

	if (!at)
		at = mmap((void *)BASE, MEMORY, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	must(at == (uint8_t *)BASE);
	return at;
}

static void look_at_script(const struct script_reader *r, const struct thread_look *look)
{
	struct script script;

	script_take(r, look, &script);
	must(script.count <= STACK_FRAMES);
	for (size_t i = 0; i < script.count; i++) {
		const struct script_frame *frame = &script.frames[i];

		must(frame->file && strlen(frame->file) <= 4 * NAME_MOST);
		must(!frame->function || strlen(frame->function) <= 4 * NAME_MOST);
		must(frame->mark && frame->line <= INT32_MAX);
	}
	script_free(&script);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	struct script_reader *r = calloc(1, sizeof(*r));
	uint32_t version = 0x300 | input_number(&in, 1);
	struct thread_look look = { .stack = memory(), .stack_at = BASE, .stack_size = MEMORY };

	must(r);
	input_take(&in, memory(), MEMORY);
	r->process = fuzz_own_process();
	r->code_type = BASE;
	if (find_layout(r, version, BASE)) {
		find_threads(r, BASE);
		look_at_script(r, &look);
	}
	script_reader_free(r);
	return 0;
}
