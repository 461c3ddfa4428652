/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * line_program.c - how many lines a line program makes.
 *
 * A line program is a small machine's code, of which each byte can make a line; libdw takes a hundred bytes for each,
 * and is not to be stopped on the way. So the program is gone through before libdw runs it, counting only. That must
 * not miss what libdw finds: an instruction whose length is not the one that its operands have, which each reader could
 * take for another one, makes the whole program unusable. No compiler writes one.
 */
#include <dwarf.h>
#include <string.h>

#include "target/dwarf_reader.h"
#include "target/unwind.h"

#define HEADER_MOST (2u << 20) /* bytes: names of folders and files, of which libdw makes up to 64 each */
#define ADDRESS 8u

struct program {
	const uint8_t *at, *end;
	const uint8_t *lengths; /* how many numbers follow an instruction, by its code less one */
	unsigned special;       /* codes from there on make a line each */
};

/* `bytes` of them, little-endian; false: there are not so many. */
static bool take(struct program *p, unsigned bytes, uint64_t *value)
{
	*value = 0;
	if ((size_t)(p->end - p->at) < bytes)
		return false;
	memcpy(value, p->at, bytes);
	p->at += bytes;
	return true;
}

/* Of the header: where the instructions are, and what their codes are. */
static bool take_header(struct program *p)
{
	uint64_t length, version, skipped, header, special;
	unsigned width = 4;

	if (!take(p, 4, &length))
		return false;
	if (length == UINT32_MAX) {
		width = 8;
		if (!take(p, 8, &length))
			return false;
	}
	if (length > (size_t)(p->end - p->at))
		return false;
	p->end = p->at + length;
	if (!take(p, 2, &version) || (version >= 5 && !take(p, 2, &skipped)) || !take(p, width, &header) ||
	    header > HEADER_MOST || header > (size_t)(p->end - p->at))
		return false;
	length = p->end - p->at - header;
	/* Shortest instruction, operations in each since version 4, the lines' default, base and range. */
	if (!take(p, version >= 4 ? 5 : 4, &skipped) || !take(p, 1, &special) || !special ||
	    (size_t)(p->end - p->at) < special - 1)
		return false;
	p->special = special;
	p->lengths = p->at;
	p->at = p->end - length;
	return true;
}

static bool skip_extended(struct program *p, bool *makes_line)
{
	const uint8_t *next;
	uint64_t length, code, number;

	if (!take(p, 1, &length) || !length || length > 0x7f || length > (size_t)(p->end - p->at))
		return false;
	next = p->at + length;
	take(p, 1, &code);
	*makes_line = code == DW_LNE_end_sequence;
	if (code == DW_LNE_set_address)
		p->at += ADDRESS;
	else if (code == DW_LNE_set_discriminator && !unwind_uleb(&p->at, next, &number))
		return false;
	else if (code == DW_LNE_define_file)
		return false; /* of DWARF 2, and no compiler's any more */
	else if (code != DW_LNE_end_sequence && code != DW_LNE_set_discriminator)
		p->at = next;
	return p->at == next;
}

static bool skip_instruction(struct program *p, bool *makes_line)
{
	uint64_t code, number;

	take(p, 1, &code);
	*makes_line = code >= p->special || code == DW_LNS_copy;
	if (code >= p->special)
		return true;
	if (!code)
		return skip_extended(p, makes_line);
	if (code == DW_LNS_fixed_advance_pc)
		return take(p, 2, &number);
	for (unsigned i = 0; i < p->lengths[code - 1]; i++)
		if (!unwind_uleb(&p->at, p->end, &number))
			return false;
	return true;
}

bool line_program_counts(const struct debug_sections *sections, uint64_t offset, uint64_t most, uint64_t *lines)
{
	struct program p = { .end = sections->line + sections->line_size };

	*lines = 0;
	if (offset > sections->line_size)
		return false;
	p.at = sections->line + offset;
	if (!take_header(&p))
		return false;
	while (p.at < p.end && *lines <= most) {
		bool makes_line;

		if (!skip_instruction(&p, &makes_line) || reading_pauses(1))
			return false;
		*lines += makes_line;
	}
	return true;
}
