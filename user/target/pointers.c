/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pointers.c - what the words of a file point to, once it is loaded: what its relocations say.
 */
#include <elf.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "target/elf_file.h"
#include "target/image_private.h"

#define TABLE_MOST (256ull << 20) /* bytes of relocations, or of symbols */

/* What this relocation puts in; 0: nothing of this file. */
static uint64_t relocated(const struct elf_file *elf, const Elf64_Rela *relocation)
{
	const Elf64_Shdr *section = elf_section_of_type(elf, SHT_DYNSYM);
	uint64_t at = ELF64_R_SYM(relocation->r_info) * sizeof(Elf64_Sym);
	Elf64_Sym symbol;

	switch (arch_relocation(ELF64_R_TYPE(relocation->r_info))) {
	case RELOCATION_BASE:
		return relocation->r_addend;
	case RELOCATION_SLOT:
	case RELOCATION_SYMBOL:
		break;
	default:
		return 0;
	}
	if (!section || !elf_section_filled(section) || at > section->sh_size - sizeof(symbol) ||
	    section->sh_size < sizeof(symbol) || !elf_read(elf, section->sh_offset + at, sizeof(symbol), &symbol))
		return 0;
	return symbol.st_shndx == SHN_UNDEF ? 0 : symbol.st_value;
}

static bool find_in(const struct elf_file *elf, const Elf64_Shdr *section, uint64_t address, uint64_t *target)
{
	Elf64_Rela *relocations = elf_section_bytes(elf, section, TABLE_MOST);
	size_t count = relocations ? section->sh_size / sizeof(*relocations) : 0;
	bool found = false;

	for (size_t i = 0; i < count && !found; i++) {
		found = relocations[i].r_offset == address;
		*target = found ? relocated(elf, &relocations[i]) : 0;
	}
	free(relocations);
	return found;
}

uint64_t image_pointer_at(const struct image *image, uint64_t address)
{
	struct elf_file elf;
	uint64_t target = 0, offset;
	bool found = false;

	if (elf_file_read(&elf, image->fd))
		return 0;
	for (size_t i = 0; !found && i < elf.nsections; i++)
		if (elf.sections[i].sh_type == SHT_RELA)
			found = find_in(&elf, &elf.sections[i], address, &target);
	if (!found && (!elf_offset_of(&elf, address, &offset) || !elf_read(&elf, offset, sizeof(target), &target)))
		target = 0;
	elf_file_free(&elf);
	return target;
}
