/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf.c - an ELF file that a process maps: headers, symbols, names, notes, what it imports, variables.
 */
#include "shared/fuzz.h"

static void look_at_functions(const struct image *image)
{
	for (size_t i = 0; i < image->nsymbols; i++) {
		const struct symbol *s = &image->symbols[i];

		must(image_symbol(image, s->name));
		image_symbol_at(image, s->offset + s->size / 2);
	}
	image_symbol_at(image, 0);
	image_symbol_at(image, UINT64_MAX);
}

static void look_at_facts(struct image *image)
{
	static const char *const texts[] = { "GASP*", "M?I *", "x" };
	static const char *const variables[] = { "MYTHREAD", "counter", "pupc_table" };
	bool found[sizeof(variables) / sizeof(variables[0])] = { false };
	char bytes[64];
	size_t count;
	int value;

	image_code(image, &count);
	image_imports(image, "malloc");
	image_imports_from(image, image);
	process_maps(fuzz_own_process(), image);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		image_has_text(image, texts[i]);
	image_find_names(image, variables, sizeof(variables) / sizeof(variables[0]), found);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		uint64_t address;

		image_variable(image, variables[i], &address);
		image_read_int(image, fuzz_own_process(), variables[i], &value);
		image_read_thread_int(image, fuzz_own_process(), fuzz_own_process()->pid, variables[i], &value);
		image_read_variable(image, fuzz_own_process(), variables[i], bytes, sizeof(bytes));
	}
	image_has_landing_pads(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "MPI_Send", "malloc", "main", NULL };
	struct image *image;

	image_may_have(fuzz_file_fd(data, size), names);
	image = fuzz_image(data, size);
	if (!image)
		return 0;
	look_at_functions(image);
	look_at_facts(image);
	image_let_go(image);
	look_at_functions(image);
	image_close(image);
	return 0;
}
