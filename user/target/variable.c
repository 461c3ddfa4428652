/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * variable.c - an int variable of an image, read from the memory of a process that maps it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "target/image_private.h"

#define SYMBOLS_MOST (16u << 20)
#define STRINGS_MOST (1ull << 30)
#define PAGE 4096ull

/* Looks a variable up in one symbol table. 0, -ENOENT, -ENOTSUP: each thread has its own, -EINVAL: no int. */
static int find_variable(const struct elf_file *elf, uint32_t table_type, const char *name, uint64_t *address)
{
	const Elf64_Shdr *table = elf_section_of_type(elf, table_type);
	size_t length = strlen(name) + 1, size;
	Elf64_Sym *symbols;
	char *names;
	int result = -ENOENT;

	if (!table || table->sh_link >= elf->nsections)
		return -ENOENT;
	symbols = elf_section_bytes(elf, table, SYMBOLS_MOST * sizeof(*symbols));
	names = elf_section_bytes(elf, &elf->sections[table->sh_link], STRINGS_MOST);
	size = elf->sections[table->sh_link].sh_size;
	for (size_t i = 0; symbols && names && i < table->sh_size / sizeof(*symbols); i++) {
		const Elf64_Sym *symbol = &symbols[i];
		unsigned type = ELF64_ST_TYPE(symbol->st_info);

		if ((type != STT_OBJECT && type != STT_TLS) || symbol->st_shndx == SHN_UNDEF ||
		    symbol->st_name >= size || length > size - symbol->st_name ||
		    memcmp(names + symbol->st_name, name, length))
			continue;
		if (type == STT_TLS)
			result = -ENOTSUP;
		else if (symbol->st_size && symbol->st_size < sizeof(int))
			result = -EINVAL;
		else
			result = 0;
		*address = symbol->st_value;
		if (ELF64_ST_BIND(symbol->st_info) != STB_LOCAL)
			break; /* a static one of this name counts only where there is no global one */
	}
	free(symbols);
	free(names);
	return result;
}

static int find_in_file(int fd, const char *name, uint64_t *address)
{
	struct elf_file elf;
	int error = elf_file_read(&elf, fd);

	if (error)
		return error;
	error = find_variable(&elf, SHT_SYMTAB, name, address);
	if (error == -ENOENT)
		error = find_variable(&elf, SHT_DYNSYM, name, address);
	elf_file_free(&elf);
	return error;
}

/* What the process added to the addresses of the file, from where its code is mapped. */
static int load_bias(const struct image *image, const struct process *process, uint64_t *bias)
{
	const struct image_private *priv = private_of(image);

	for (size_t i = 0; i < process->nmappings; i++) {
		const struct mapping *mapping = &process->mappings[i];

		if (!mapping->executable || mapping->inode != image->inode || mapping->device != image->device)
			continue;
		for (size_t k = 0; k < priv->ncode; k++) {
			const struct code_segment *code = &priv->code[k];
			uint64_t first = code->offset & ~(PAGE - 1);

			if (mapping->offset < first || mapping->offset >= code->offset + code->size)
				continue;
			*bias = mapping->start - (mapping->offset - first) - (code->address & ~(PAGE - 1));
			return 0;
		}
	}
	return -ENOENT;
}

int image_variable(const struct image *image, const char *name, uint64_t *address)
{
	const struct image_private *priv = private_of(image);
	int error = find_in_file(image->fd, name, address);

	if (error == -ENOENT && priv->debug_fd >= 0)
		error = find_in_file(priv->debug_fd, name, address);
	return error;
}

int process_read(const struct process *process, uint64_t address, void *bytes, size_t size)
{
	ssize_t got = memory_read(process->pid, address, bytes, size);

	if (got != (ssize_t)size)
		return got < 0 ? (int)got : -EFAULT;
	return process_alive(process) ? 0 : -ESRCH;
}

int image_variable_at(const struct image *image, const struct process *process, const char *name, uint64_t *address)
{
	uint64_t bias = 0;
	int error = image_variable(image, name, address);

	if (!error)
		error = load_bias(image, process, &bias);
	if (!error)
		*address += bias;
	return error;
}

ssize_t image_read_variable(const struct image *image, const struct process *process, const char *name, void *bytes,
			    size_t most)
{
	uint64_t address = 0;
	int error = image_variable_at(image, process, name, &address);

	if (!error)
		error = process_read(process, address, bytes, most);
	return error ? error : (ssize_t)most;
}

int image_read_int(const struct image *image, const struct process *process, const char *name, int *value)
{
	ssize_t got = image_read_variable(image, process, name, value, sizeof(*value));

	return got < 0 ? (int)got : 0;
}
