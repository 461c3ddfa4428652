/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind.c - the rules of .eh_frame, and a thread's stack that is unwound by them.
 *
 * The input begins with the thread: its registers and its stack; the file follows. The file is "mapped" at BASE; of the
 * registers, the instruction pointer is one of the file's, and the stack pointer one of the stack's.
 */
#include "shared/fuzz.h"

#include <sys/stat.h>

#include "stacks/stacks.h"
#include "target/unwind.h"

#define BASE 0x555500000000ULL
#define STACK_AT 0x7ffd00001000ULL
#define STACK 512 /* bytes */
#define FRAMES 40

static void visit(void *context, const struct unwind_entry *entry)
{
	const uint8_t *at = entry->rules;
	uint64_t value;

	*(uint64_t *)context += entry->size;
	while (at < entry->rules_end && unwind_uleb(&at, entry->rules_end, &value))
		continue;
}

static void look_at_rules(const struct image *image)
{
	uint64_t sum = 0;
	size_t count;

	unwind_visit(image, visit, &sum);
	for (size_t i = 0; i < image->nsymbols && i < 20; i++)
		image_unwind_range_at(image, image->symbols[i].address);
	image_calls(image, &count);
	image_called_name(image, "malloc");
	image_call_at(image, image->nsymbols ? image->symbols[0].offset + 5 : 0);
}

/* Registers and stack, from the beginning of the input. */
static void take_thread(struct input *in, struct thread_look *look, uint8_t stack[STACK])
{
	look->registers.known = (1u << GB_LOOK_REGISTERS) - 1;
	for (int i = 0; i < GB_LOOK_REGISTERS; i++)
		look->registers.value[i] = input_number(in, 8);
	look->registers.value[REGISTER_IP] = BASE + (look->registers.value[REGISTER_IP] & 0xffffff);
	look->registers.value[REGISTER_SP] = STACK_AT + (look->registers.value[REGISTER_SP] & 0x1ff);
	input_take(in, stack, STACK);
	look->stack = stack;
	look->stack_size = STACK;
	look->stack_at = STACK_AT;
}

static void look_at_frames(struct stack_space *space, const struct thread_look *look)
{
	struct stack_frame frames[FRAMES];
	size_t count = stack_unwind(space, look, frames, FRAMES);

	for (size_t i = 0; i + 1 < count; i++) {
		struct call_arguments arguments = { 0 };
		uint64_t callee = stack_called(space, look, &frames[i + 1]);

		stack_arguments(space, look, &frames[i + 1], callee, &arguments);
		stack_kept_arguments(space, look, &frames[i], &arguments);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	struct thread_look look = { .pid = 1, .tid = 1, .state = 'S', .system_call = -1 };
	struct process process = *fuzz_own_process();
	struct mapping mapping = { .start = BASE, .executable = true };
	struct stack_files *files = stack_files_new();
	struct stack_space *space;
	uint8_t stack[STACK];
	struct image *image;
	struct stat st;

	take_thread(&in, &look, stack);
	mapping.path = (char *)fuzz_file(in.at, input_left(&in));
	must(!stat(mapping.path, &st) && files);
	mapping.end = BASE + ((st.st_size + 4095) & ~4095ULL);
	mapping.inode = st.st_ino;
	mapping.device = st.st_dev;
	process.mappings = &mapping;
	process.nmappings = 1;
	image = fuzz_image(in.at, input_left(&in));
	if (image)
		look_at_rules(image);
	image_close(image);
	if (input_left(&in) && !stack_space_new(&space, files, &process)) {
		look_at_frames(space, &look);
		stack_space_free(space);
	}
	stack_files_free(files);
	return 0;
}
