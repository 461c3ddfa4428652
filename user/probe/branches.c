/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * branches.c - does anything jump there?
 *
 * A probe that is not on a function's first instruction relies on this: whoever gets to the probe has come through
 * the first instruction. So no branch may lead in between, or to the probe itself. Branches come from four sides.
 *
 *   The function itself. It is decoded from its first to its last byte.
 *
 *   Far away: the function's own cold part, which compilers put elsewhere, and hand-written code that shares tails.
 *   In stripped files nobody can tell where such code begins. But such branches can be told from the bytes alone
 * (arch/scan.h): that finds all of them, and since it also finds branches that are none, a few functions are refused
 * for nothing: one in ten thousand, going by chance.
 *
 *   Nearby: a branch of short reach from the function before or behind. No compiler does that, but people do. Code
 *   before the function is decoded from a known function's start where one is near, else from a distance that lets the
 * decoder fall into step: instructions are found within a few, wherever one begins.
 *
 *   Through a register or memory. Where such a jump leads is not in the code, and there are two kinds. A jump table is
 * read with an index, and what is read is added to something, as a rule. A call through a pointer at a function's end
 * is a jump, too, but to what stands at a plain address in memory. A function with the first kind may have the mark at
 * its beginning left out at most. One with the second kind counts as others do. For either, nothing in the file may be
 * the address of the place in question: no word of 8 bytes anywhere in it (of 4 in a program that is loaded at a fixed
 * address), which covers tables of labels and the relocations that fill them, no address that code forms, and no entry
 * of a jump table (tables.c). The same is asked where a function's branches lead to code elsewhere that has an indirect
 * jump: in a stripped file that may be a part of the function, though most often it is another one that it calls last.
 *
 * What a mistake would cost: at each instruction of compiled code the stack has one depth, however it was reached, and
 * the places in question have the depth of the function's start. So a branch that was overlooked makes a loop look like
 * calls, or hides a call, but a return address is where it is looked for, and the job runs on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/scan.h"
#include "probe/branches.h"
#include "probe/tables.h"

#define CODE_MOST (1ull << 30) /* bytes of code between the first and the last range */
#define CHUNK (1u << 20)
#define TABLES_READ 65521     /* that are remembered; a prime */
#define NEAR (1u << 16)       /* bytes */
#define NEAR_MOST 16          /* so many of them are looked at */
#define LEAD 256              /* bytes before a function to begin decoding at */
#define PART_INSTRUCTIONS 300 /* of a function's parts elsewhere */
#define PART_BLOCKS 16

/* --- from afar --------------------------------------------------------- */

/* One bit for each address between the first and the last range. */
struct bits {
	uint64_t low, high;
	uint8_t *wanted;  /* nothing must jump there ... */
	uint8_t *pointed; /* ... and nothing point there */
	uint8_t *near;    /* one bit for NEAR of those: is one of them set? */
	uint8_t *hit;
	struct tables *tables; /* NULL: they do not matter */
	uint64_t *read;        /* tables read lately, by a part of their address: many instructions name the same one */
	struct breath *breath;
	bool too_many; /* entries of tables: not all were looked at */
};

static void set(uint8_t *bits, uint64_t at)
{
	bits[at / 8] |= 1u << at % 8;
}

static bool is_set(const uint8_t *bits, uint64_t at)
{
	return bits[at / 8] >> at % 8 & 1;
}

static void look_at(const uint8_t *bits, struct bits *b, uint64_t target)
{
	if (target >= b->low && target < b->high && is_set(bits, target - b->low))
		set(b->hit, target - b->low);
}

/* Of the millions of entries hardly one leads near to what is pointed at. */
static bool is_near(void *context, uint64_t first, uint64_t last)
{
	const struct bits *b = context;

	if (last < b->low || first >= b->high)
		return false;
	first = first < b->low ? 0 : first - b->low;
	last = (last < b->high ? last : b->high - 1) - b->low;
	if (last / NEAR - first / NEAR > NEAR_MOST)
		return true;
	for (uint64_t at = first / NEAR; at <= last / NEAR; at++)
		if (is_set(b->near, at))
			return true;
	return false;
}

static void look_at_entries(void *context, uint64_t table, const int32_t *offsets, unsigned count)
{
	struct bits *b = context;

	for (unsigned i = 0; i < count; i++) {
		uint64_t target = table + offsets[i];

		if (target - b->low < b->high - b->low && is_set(b->near, (target - b->low) / NEAR))
			look_at(b->pointed, b, target);
	}
}

static void look_at_address(struct bits *b, uint64_t target)
{
	const struct table_search search = { is_near, look_at_entries, b };

	look_at(b->pointed, b, target);
	if (!b->tables || b->read[target % TABLES_READ] == target)
		return;
	b->read[target % TABLES_READ] = target;
	b->too_many |= !tables_entries(b->tables, target, &search);
}

static bool look_at_hit(void *context, const struct scan_hit *hit)
{
	struct bits *b = context;

	if (hit->what == SCAN_ADDRESS)
		look_at_address(b, hit->target);
	else
		look_at(b->wanted, b, hit->target);
	return true;
}

/* Every branch that may begin in the first `own` of `size` bytes at `address`; and every address that code forms. */
static void scan_code(struct bits *b, const uint8_t *code, size_t size, size_t own, uint64_t address)
{
	const struct code_scan scan = { .wanted = SCAN_CALL | SCAN_JUMP | SCAN_CONDITION | SCAN_ADDRESS,
					.found = look_at_hit,
					.context = b };

	code_scan(&scan, code, size, own, address);
}

/* Everything that may be an address. */
static void scan_data(struct bits *b, const uint8_t *data, size_t size, size_t own, uint64_t address)
{
	size_t bytes = b->tables->fixed ? 4 : 8;

	for (size_t i = 0; i < own && i + bytes <= size; i++) {
		uint64_t word = 0;

		memcpy(&word, data + i, bytes);
		if (word - b->low < b->high - b->low)
			look_at(b->pointed, b, word);
	}
}

typedef void (*scan_fn)(struct bits *b, const uint8_t *bytes, size_t size, size_t own, uint64_t address);

/* 0, -ENOMEM, -ECANCELED, or -EIO: not all could be read. */
static int scan_part(struct bits *b, int fd, uint64_t offset, uint64_t size, uint64_t address, scan_fn scan)
{
	const size_t overlap = 7; /* the rest of a branch or an address that begins at the end of a chunk */
	uint8_t *buffer = malloc(CHUNK + overlap);
	int err = buffer ? 0 : -ENOMEM;

	for (uint64_t at = 0; !err && at < size; at += CHUNK) {
		uint64_t left = size - at;
		size_t want = left < CHUNK + overlap ? left : CHUNK + overlap;

		if (pread(fd, buffer, want, offset + at) != (ssize_t)want)
			err = -EIO;
		else
			scan(b, buffer, want, left < CHUNK ? left : CHUNK, address + at);
		if (!err && breath_ends(b->breath))
			err = -ECANCELED;
		if (!err && b->too_many)
			err = -EFBIG;
	}
	free(buffer);
	return err;
}

static int scan_file(struct bits *b, int fd)
{
	struct stat file;

	if (fstat(fd, &file))
		return -EIO;
	return (uint64_t)file.st_size > CODE_MOST ? -EFBIG : scan_part(b, fd, 0, file.st_size, 0, scan_data);
}

static int scan_image(struct bits *b, const struct image *image)
{
	size_t count;
	const struct code_segment *code = image_code(image, &count);
	uint64_t total = 0;
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		total += code[i].size;
		err = code[i].size > CODE_MOST || total > CODE_MOST
			      ? -EFBIG
			      : scan_part(b, image->fd, code[i].offset, code[i].size, code[i].address, scan_code);
	}
	for (size_t i = 0; !err && i < image->nsymbols; i++)
		look_at(b->wanted, b, image->symbols[i].address);
	return err;
}

static bool bits_cover(struct bits *b, const struct quiet_range *ranges, size_t count)
{
	b->low = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		if (ranges[i].first < b->low)
			b->low = ranges[i].first;
		if (ranges[i].end > b->high)
			b->high = ranges[i].end;
	}
	return b->low < b->high && b->high - b->low <= CODE_MOST;
}

static void want(struct bits *b, const struct quiet_range *range)
{
	for (uint64_t at = range->first; at < range->end; at++) {
		set(b->wanted, at - b->low);
		if (!range->pointers)
			continue;
		set(b->pointed, at - b->low);
		set(b->near, (at - b->low) / NEAR);
	}
}

static int look_everywhere(struct bits *b, const struct image *image, const struct quiet_range *ranges, size_t count)
{
	size_t size = (b->high - b->low) / 8 + 1;
	struct tables tables = { 0 };
	bool pointers = false;
	int err = 0;

	b->wanted = calloc(size, 1);
	b->pointed = calloc(size, 1);
	b->near = calloc(size / NEAR + 1, 1);
	b->hit = calloc(size, 1);
	b->read = calloc(TABLES_READ, sizeof(*b->read));
	if (!b->wanted || !b->pointed || !b->near || !b->hit || !b->read)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		want(b, &ranges[i]);
		pointers |= ranges[i].pointers;
	}
	if (pointers) {
		err = tables_open(&tables, image);
		b->tables = &tables;
	}
	if (!err)
		err = scan_image(b, image);
	if (!err && pointers)
		err = scan_file(b, image->fd);
	tables_close(&tables);
	b->tables = NULL;
	return err;
}

int branches_from_afar(const struct image *image, struct quiet_range *ranges, size_t count, struct breath *breath)
{
	struct bits b = { .breath = breath };
	int err = bits_cover(&b, ranges, count) ? look_everywhere(&b, image, ranges, count) : -EFBIG;

	for (size_t i = 0; i < count; i++) {
		ranges[i].broken = err;
		for (uint64_t at = ranges[i].first; !ranges[i].broken && at < ranges[i].end; at++)
			ranges[i].broken = is_set(b.hit, at - b.low);
	}
	free(b.wanted);
	free(b.pointed);
	free(b.near);
	free(b.hit);
	free(b.read);
	return err == -ENOMEM || err == -ECANCELED ? err : 0;
}

/* --- the function itself ----------------------------------------------- */

uint8_t *branches_code_at(const struct image *image, uint64_t address, uint64_t *size)
{
	size_t count;
	const struct code_segment *code = image_code(image, &count);

	for (size_t i = 0; i < count; i++) {
		uint64_t from = address - code[i].address;
		uint8_t *bytes;

		if (address < code[i].address || from >= code[i].size)
			continue;
		if (*size > code[i].size - from)
			*size = code[i].size - from;
		bytes = malloc(*size + 1);
		if (bytes && pread(image->fd, bytes, *size, code[i].offset + from) != (ssize_t)*size) {
			free(bytes);
			return NULL;
		}
		return bytes;
	}
	return NULL;
}

static void remember_recent(struct recent *recent, uint64_t at)
{
	if (recent->count == RECENT)
		memmove(&recent->at[0], &recent->at[1], --recent->count * sizeof(recent->at[0]));
	recent->at[recent->count++] = at;
}

static enum indirect kind_of_jump(const struct function_code *code, const uint8_t *bytes, const struct recent *recent,
				  uint64_t at, unsigned length)
{
	unsigned reg;

	switch (instruction_jump_source(bytes + at, length, &reg)) {
	case JUMP_POINTER:
		return INDIRECT_POINTER;
	case JUMP_COMPUTED:
		return INDIRECT_TABLE;
	case JUMP_REGISTER:
		break;
	}
	for (unsigned i = recent->count; i-- > 0;) {
		uint64_t end = i + 1 < recent->count ? recent->at[i + 1] : at;

		switch (instruction_load(code->decoder, bytes + recent->at[i], end - recent->at[i], reg)) {
		case LOAD_NOTHING:
			continue;
		case LOAD_POINTER:
			return INDIRECT_POINTER;
		case LOAD_ENTRY:
			return INDIRECT_TABLE;
		case LOAD_OTHER:
			return INDIRECT_ANY;
		}
	}
	return INDIRECT_ANY;
}

enum transfer branches_step(const struct function_code *code, const uint8_t *bytes, uint64_t size, uint64_t start,
			    uint64_t *at, struct recent *recent, uint64_t *target, enum indirect *indirect,
			    bool *always)
{
	unsigned length = instruction_length(code->decoder, bytes + *at, size - *at);
	enum transfer transfer;
	int64_t displacement;

	if (!length) {
		*at = size + 1;
		return TRANSFER_NONE;
	}
	transfer = instruction_transfer(bytes + *at, length, &displacement, always);
	if (transfer == TRANSFER_INDIRECT) {
		enum indirect kind = kind_of_jump(code, bytes, recent, *at, length);

		if (kind > *indirect)
			*indirect = kind;
	}
	if (transfer == TRANSFER_NONE)
		remember_recent(recent, *at);
	else
		recent->count = 0;
	*at += length;
	*target = start + *at + displacement;
	return transfer;
}

/* A function's parts elsewhere: blocks still to be followed. */
struct parts {
	const struct function_code *code;
	uint64_t blocks[PART_BLOCKS];
	unsigned nblocks, instructions;
	enum indirect indirect; /* the worst found; ANY where given up */
	bool to_start;          /* one leads to the function's first byte */
};

static const struct symbol *function_at(const struct image *image, uint64_t address)
{
	size_t count;
	const struct code_segment *code = image_code(image, &count);

	for (size_t i = 0; i < count; i++) {
		if (address >= code[i].address && address - code[i].address < code[i].size) {
			const struct symbol *symbol = image_symbol_at(image,
								      code[i].offset + (address - code[i].address));

			return symbol && symbol->address == address && !strstr(symbol->name, ".cold") ? symbol : NULL;
		}
	}
	return NULL;
}

static void add_block(struct parts *parts, uint64_t address)
{
	const struct function_code *f = parts->code;

	parts->to_start |= address == f->address;
	if (address - f->address < f->size || function_at(f->image, address))
		return; /* its own code, or another function: a tail call */
	for (unsigned i = 0; i < parts->nblocks; i++)
		if (parts->blocks[i] == address)
			return;
	if (parts->nblocks == PART_BLOCKS)
		parts->indirect = INDIRECT_ANY;
	else
		parts->blocks[parts->nblocks++] = address;
}

static void follow_block(struct parts *parts, uint64_t address)
{
	uint64_t size = 4096, target;
	uint8_t *bytes = branches_code_at(parts->code->image, address, &size);
	struct recent recent = { 0 };
	bool always = false;

	for (uint64_t at = 0; bytes && at < size && !always && parts->indirect != INDIRECT_ANY;) {
		enum transfer transfer = branches_step(parts->code, bytes, size, address, &at, &recent, &target,
						       &parts->indirect, &always);

		if (transfer == TRANSFER_BRANCH)
			add_block(parts, target);
		if (++parts->instructions > PART_INSTRUCTIONS)
			parts->indirect = INDIRECT_ANY;
	}
	free(bytes);
}

bool branches_of_function(const struct function_code *code, uint64_t first, uint64_t end, enum indirect *indirect,
			  bool *unknown)
{
	struct parts parts = { .code = code };
	uint64_t size = code->size, target, at = 0;
	uint8_t *bytes = size <= FUNCTION_MOST ? branches_code_at(code->image, code->address, &size) : NULL;
	enum indirect own = INDIRECT_NONE;
	struct recent recent = { 0 };
	bool found = false, always;

	while (bytes && at < size) {
		enum transfer transfer = branches_step(code, bytes, size, code->address, &at, &recent, &target, &own,
						       &always);

		if (transfer == TRANSFER_BRANCH || transfer == TRANSFER_CALL)
			found |= target >= first && target < end;
		if (transfer == TRANSFER_BRANCH)
			add_block(&parts, target);
	}
	for (unsigned i = 0; i < parts.nblocks && parts.indirect != INDIRECT_ANY; i++)
		follow_block(&parts, parts.blocks[i]);
	if (parts.indirect != INDIRECT_NONE && own == INDIRECT_NONE)
		own = INDIRECT_POINTER;
	*indirect = own;
	*unknown = !bytes || size != code->size || at != size;
	free(bytes);
	return found;
}

/* --- back to the start ------------------------------------------------- */

static bool leads_elsewhere(void *context, const struct scan_hit *hit)
{
	const struct function_code *code = context;
	bool back = hit->what == SCAN_INDIRECT || hit->target == code->address;

	return !back && (hit->what == SCAN_SHORT || hit->target - code->address < code->size ||
			 function_at(code->image, hit->target));
}

/*
 * Few functions have such a branch, and it takes long to decode all of them. So first each byte is taken for the
 * beginning of a branch: does it lead to the start, or to code that nobody else may own; or of an indirect jump?
 */
static bool may_lead_to_start(const struct function_code *code, const uint8_t *bytes, uint64_t size)
{
	struct function_code read = *code;
	const struct code_scan scan = { .wanted = SCAN_JUMP | SCAN_CONDITION | SCAN_SHORT | SCAN_INDIRECT,
					.found = leads_elsewhere,
					.context = &read };

	read.size = size;
	return !code_scan(&scan, bytes, size, size, code->address);
}

struct start {
	uint64_t address, size; /* of the function */
	bool found;
};

static bool may_be_start(void *context, uint64_t first, uint64_t last)
{
	const struct start *start = context;

	return first <= start->address && start->address <= last;
}

static void is_start(void *context, uint64_t table, const int32_t *offsets, unsigned count)
{
	struct start *start = context;

	for (unsigned i = 0; i < count; i++)
		start->found |= table + offsets[i] == start->address;
}

/* A table of whole addresses: for as long as they lead into the function. */
static bool is_start_address(void *context, uint64_t target)
{
	struct start *start = context;

	start->found |= target == start->address;
	return !start->found && target - start->address < start->size;
}

/* Does a table that the function reads have its start? */
static bool tables_lead_to_start(const struct function_code *code, const uint8_t *bytes, uint64_t size)
{
	struct start start = { .address = code->address, .size = code->size };
	const struct table_search search = { may_be_start, is_start, &start };
	struct tables tables;

	if (tables_open(&tables, code->image))
		size = 0;
	for (uint64_t at = 0, length; at < size && !start.found; at += length) {
		uint64_t target;

		length = instruction_length(code->decoder, bytes + at, size - at);
		if (!length)
			break;
		if (instruction_forms(bytes + at, length, code->address + at, &target))
			start.found |= !tables_entries(&tables, target, &search); /* in doubt it does */
		if (instruction_names_table(bytes + at, length, &target))
			tables_addresses(&tables, target, is_start_address, &start);
	}
	tables_close(&tables);
	return start.found;
}

bool branches_to_start(const struct function_code *code, uint64_t *decoded)
{
	struct parts parts = { .code = code };
	uint64_t size = code->size, target, at = 0;
	uint8_t *bytes = size && size <= FUNCTION_MOST ? branches_code_at(code->image, code->address, &size) : NULL;
	enum indirect own = INDIRECT_NONE;
	struct recent recent = { 0 };
	bool always;

	if (!bytes || !may_lead_to_start(code, bytes, size)) {
		free(bytes);
		return false;
	}
	*decoded += size;
	while (at < size)
		if (branches_step(code, bytes, size, code->address, &at, &recent, &target, &own, &always) ==
		    TRANSFER_BRANCH)
			add_block(&parts, target);
	for (unsigned i = 0; i < parts.nblocks && !parts.to_start && parts.indirect != INDIRECT_ANY; i++)
		follow_block(&parts, parts.blocks[i]);
	if (!parts.to_start && own >= INDIRECT_TABLE)
		parts.to_start = tables_lead_to_start(code, bytes, size);
	free(bytes);
	return parts.to_start;
}

/* --- from near --------------------------------------------------------- */

/* True where a branch in the code from..to leads to first..end. Bytes that are no instruction are stepped over. */
static bool sweep(const struct function_code *code, uint64_t from, uint64_t to, uint64_t first, uint64_t end)
{
	uint64_t size = to - from;
	uint8_t *bytes = from < to ? branches_code_at(code->image, from, &size) : NULL;
	bool found = false;

	for (uint64_t at = 0; bytes && at < size && !found;) {
		unsigned length = instruction_length(code->decoder, bytes + at, size - at);
		int64_t displacement;
		bool always;

		if (!length) {
			at++;
			continue;
		}
		if (instruction_transfer(bytes + at, length, &displacement, &always) == TRANSFER_BRANCH) {
			uint64_t target = from + at + length + displacement;

			found = target >= first && target < end;
		}
		at += length;
	}
	free(bytes);
	return found;
}

/* Where to begin decoding so that one is in step well before the function. */
static uint64_t lead_in(const struct function_code *code)
{
	size_t count;
	const struct code_segment *segment = image_code(code->image, &count);
	uint64_t before = code->offset < LEAD ? code->offset : LEAD;
	const struct symbol *previous = before ? image_symbol_at(code->image, code->offset - 1) : NULL;

	for (size_t i = 0; i < count; i++)
		if (code->address >= segment[i].address && code->address - segment[i].address < segment[i].size &&
		    before > code->address - segment[i].address)
			before = code->address - segment[i].address;
	if (previous && code->address > previous->address && code->address - previous->address <= before)
		return previous->address;
	return code->address - before;
}

bool branches_from_near(const struct function_code *code, uint64_t first, uint64_t end)
{
	return sweep(code, lead_in(code), code->address, first, end) ||
	       sweep(code, code->address + code->size, end + SHORT_REACH + INSTRUCTION_MOST, first, end);
}
