/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exits.c - the instructions by which a call ends.
 *
 * A return probe exchanges the return address on the stack, and some jobs do not bear that (returns.c). A plain probe
 * on each of the function's own `ret` instructions touches nothing. It needs to know all of them, and there are three
 * difficulties.
 *
 * Where they are. The function is decoded from its first to its last byte; a branch that leads into the middle of an
 * instruction would mean that the decoder is out of step, and the function is refused. Compilers put seldom used parts
 * elsewhere, so each branch that leaves the function is followed: code that has a name ending in ".cold", or that
 * .eh_frame describes as running inside a frame that is set up already, or that jumps back into the function, is a part
 * of it and is decoded in the same way. The entries of the jump tables that the function uses are looked at for the
 * same reason.
 *
 * Last calls. `return g(x);` becomes a jump to g, and the ret is g's. Where g is a function of the same file that
 * nobody else can name, and is not observed itself, its ends are ours, too. What leads elsewhere, to a stub of the
 * linkage table or through a pointer, is taken as the end of the call (GB_END_TAIL); what g takes is not part of it,
 * and its result is not seen. A conditional jump ends the call only where the condition holds, which the kernel side
 * works out from the flags. A jump that may be either is refused.
 *
 * Others that come by. A ret in a part that two functions share, or a jump that is no end after all, is hit without a
 * call of this function having been where the stack pointer is. The kernel side compares that and takes no notice. So a
 * place too many costs time; one too few would leave a call open until its frame is found to be gone, as `unwound`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/scan.h"
#include "probe/branches.h"
#include "probe/plan_private.h"
#include "probe/tables.h"
#include "util/array.h"

#define EXITS_MOST 64 /* of one function */
#define PIECES_MOST 16
#define TARGETS_MOST 4096
#define LAST_CALLS_MOST 3 /* one after the other */
#define SEARCH_STEPS 512  /* that a search takes before the first byte */
#define TRIED 64          /* functions called last that are remembered, by a part of their address */
#define HEAD 16           /* bytes of a branch's target that are looked at */

/* Of a byte of code: an instruction begins here; a jump table leads here; control flow does. */
enum { BEGINS = 1, TABLED = 2, REACHED = 4 };

/* A stretch of the function's code. */
struct piece {
	uint64_t start, size;
	uint8_t *bytes;
	uint8_t *marks; /* by byte: BEGINS, TABLED, REACHED */
};

struct search {
	const struct image *image;
	struct function_code code;
	const struct symbol *function;
	uint64_t probe_offset;
	struct piece pieces[PIECES_MOST];
	size_t npieces;
	uint64_t *targets; /* of branches that stay inside */
	size_t ntargets;
	struct site_exit exits[EXITS_MOST];
	size_t nexits;
	const struct observed *observed;
	bool has_table;
	unsigned depth;  /* of last calls */
	const char *why; /* the search has failed */
	struct {
		uint64_t address;
		bool taken;
	} tried[TRIED]; /* called last before */
};

static const char many_parts[] = "it has too many parts";
static const char too_long[] = "its file takes too long to look through";
static const char unknown_jump[] = "nobody can tell where one of its jumps leads";

static const struct piece *piece_at(const struct search *s, uint64_t address)
{
	for (size_t i = 0; i < s->npieces; i++)
		if (address - s->pieces[i].start < s->pieces[i].size)
			return &s->pieces[i];
	return NULL;
}

/* So much is about to be decoded. False: that would be too much. */
static bool may_decode(struct search *s, uint64_t size)
{
	if (image_reads(s->image, EFFORT_ENDS, size))
		s->why = too_long;
	return !s->why;
}

static void add_piece(struct search *s, uint64_t start, uint64_t size)
{
	struct piece *piece = &s->pieces[s->npieces];
	uint64_t have = size;

	if (!may_decode(s, size))
		return;
	if (s->npieces == PIECES_MOST || size > FUNCTION_MOST) {
		s->why = size > FUNCTION_MOST ? "there is too much code to look at" : many_parts;
		return;
	}
	*piece = (struct piece){ .start = start, .size = size };
	s->npieces++;
	piece->bytes = branches_code_at(s->image, start, &have);
	piece->marks = calloc(size + 1, 1);
	if (!piece->bytes || !piece->marks || have != size)
		s->why = "its code cannot be read";
}

/* The offset in the file of a code address; the address is known to be code. */
static uint64_t offset_of(const struct search *s, uint64_t address)
{
	size_t count;
	const struct code_segment *code = image_code(s->image, &count);

	for (size_t i = 0; i < count; i++)
		if (address - code[i].address < code[i].size)
			return code[i].offset + (address - code[i].address);
	return 0;
}

static bool is_code(const struct search *s, uint64_t address)
{
	return offset_of(s, address) != 0;
}

static void add_exit(struct search *s, const struct piece *piece, uint64_t at, uint64_t next, uint32_t how)
{
	uint64_t offset = offset_of(s, piece->start + at);

	if (instruction_refused(piece->bytes + at, next - at))
		s->why = "the kernel lets no probe be where it ends";
	else if (offset == s->probe_offset)
		s->why = "it ends at the instruction where its call is observed";
	else if (s->nexits == EXITS_MOST)
		s->why = "it ends in too many places";
	else
		s->exits[s->nexits++] = (struct site_exit){ offset, how,
							    instruction_class(piece->bytes + at, next - at) };
}

/* --- branches that leave ----------------------------------------------- */

static struct search *search_new(const struct image *image, const struct symbol *function, uint64_t probe_offset,
				 unsigned depth);
static void search_free(struct search *s);
static void search(struct search *s);

static bool find_ends_of(struct search *s, uint64_t address)
{
	const struct unwind_range *range = image_unwind_range_at(s->image, address);
	struct symbol local = {
		.name = "", .address = address, .offset = offset_of(s, address), .size = range ? range->size : 0
	};
	const struct symbol *symbol = image_symbol_at(s->image, local.offset);
	struct search *last;
	bool taken;

	if (s->observed && s->observed->is(s->observed->context, local.offset))
		return false;
	if ((symbol && symbol->address == address && symbol->dynamic) || !range || range->address != address ||
	    address == s->code.address || s->depth == LAST_CALLS_MOST)
		return false;
	last = may_decode(s, SEARCH_STEPS) ? search_new(s->image, &local, s->probe_offset, s->depth + 1) : NULL;
	if (!last)
		return false;
	last->observed = s->observed;
	search(last);
	taken = !last->why && s->nexits + last->nexits <= EXITS_MOST;
	for (size_t i = 0; taken && i < last->nexits; i++)
		s->exits[s->nexits++] = last->exits[i];
	search_free(last);
	return taken;
}

/*
 * The ends of a local function that is called last; false: they cannot be told. What is called last at many places is
 * looked at once.
 */
static bool take_ends_of(struct search *s, uint64_t address)
{
	typeof(s->tried[0]) *tried = &s->tried[address / 16 % TRIED];
	bool known = tried->address == address;

	tried->taken = known ? tried->taken : find_ends_of(s, address);
	tried->address = address;
	return tried->taken;
}

enum destination { KNOWN, ELSEWHERE, PART, NOWHERE };

static bool is_cold(const struct symbol *symbol)
{
	return symbol && strstr(symbol->name, ".cold");
}

/* The known parts, from the first to the last. */
struct extent {
	uint64_t low, high;
};

static bool leads_elsewhere(void *context, const struct scan_hit *hit)
{
	const struct extent *own = context;

	return hit->target - own->low >= own->high - own->low;
}

/* May it have a branch into the function? Most code of others is told by that, without being decoded. */
static bool may_come_back(const struct search *s, const uint8_t *bytes, uint64_t size, uint64_t address)
{
	struct extent own = { .low = UINT64_MAX };
	const struct code_scan scan = { .wanted = SCAN_JUMP | SCAN_CONDITION | SCAN_SHORT,
					.found = leads_elsewhere,
					.context = &own };

	for (size_t i = 0; i < s->npieces; i++) {
		own.low = s->pieces[i].start < own.low ? s->pieces[i].start : own.low;
		own.high = s->pieces[i].start + s->pieces[i].size > own.high ? s->pieces[i].start + s->pieces[i].size
									     : own.high;
	}
	return !code_scan(&scan, bytes, size, size, address);
}

/* Does code in this range jump back into the middle of the function? */
static bool comes_back(struct search *s, const struct unwind_range *range)
{
	uint64_t size = range->size, target, at = 0;
	uint8_t *bytes = size <= FUNCTION_MOST && may_decode(s, size / 16)
				 ? branches_code_at(s->image, range->address, &size)
				 : NULL;
	struct recent recent = { 0 };
	enum indirect indirect = INDIRECT_NONE;
	bool back = false, always,
	     decode = bytes && may_come_back(s, bytes, size, range->address) && may_decode(s, size);

	while (decode && at < size && !back) {
		enum transfer transfer = branches_step(&s->code, bytes, size, range->address, &at, &recent, &target,
						       &indirect, &always);
		const struct piece *into = transfer == TRANSFER_BRANCH ? piece_at(s, target) : NULL;

		back = into && target != s->code.address;
	}
	free(bytes);
	return back;
}

/* Where a branch out of the known parts leads; adds the part that it belongs to, if it is one. */
static enum destination destination_of(struct search *s, uint64_t target)
{
	const struct unwind_range *range = image_unwind_range_at(s->image, target);
	const struct symbol *symbol;
	uint64_t room = HEAD, word;
	uint8_t *head;
	bool stub;

	if (!is_code(s, target))
		return NOWHERE;
	symbol = image_symbol_at(s->image, offset_of(s, target));
	if (is_cold(symbol)) {
		add_piece(s, range ? range->address : symbol->address, range ? range->size : symbol->size);
		return PART;
	}
	if (symbol && symbol->address == target)
		return ELSEWHERE;
	head = branches_code_at(s->image, target, &room);
	stub = head && instruction_is_stub(head, room, target, &word);
	free(head);
	if (stub)
		return ELSEWHERE;
	if (symbol || !range)
		return NOWHERE; /* into the middle of a function; or code that nothing describes */
	if (!range->continued && range->address == target && !comes_back(s, range))
		return ELSEWHERE;
	add_piece(s, range->address, range->size);
	return PART;
}

static void remember_target(struct search *s, uint64_t target)
{
	if (s->ntargets == TARGETS_MOST)
		s->why = "it has too many branches";
	else
		s->targets[s->ntargets++] = target;
}

static void take_branch(struct search *s, size_t piece, uint64_t at, uint64_t next, uint64_t target, bool always)
{
	const uint8_t *code = s->pieces[piece].bytes + at;
	int condition = instruction_condition(code, next - at);

	if (piece_at(s, target))
		remember_target(s, target);
	/* A jump to the function's own start is a last call of itself: it comes by the probe there again. */
	switch (target == s->code.address ? ELSEWHERE : piece_at(s, target) ? KNOWN : destination_of(s, target)) {
	case KNOWN:
		break;
	case PART:
		remember_target(s, target);
		break;
	case ELSEWHERE:
		if (take_ends_of(s, target))
			break;
		if (!always && condition < 0)
			s->why = unknown_jump;
		else
			add_exit(s, &s->pieces[piece], at, next, always ? GB_EXIT_JUMP : GB_EXIT_CONDITION + condition);
		break;
	case NOWHERE:
		s->why = "it jumps into code that is not known to be its own";
	}
}

/* --- parts ------------------------------------------------------------- */

static void take_indirect(struct search *s, size_t piece, uint64_t at, uint64_t next, enum indirect kind)
{
	if (kind == INDIRECT_TABLE)
		s->has_table = true;
	else if (kind == INDIRECT_POINTER)
		add_exit(s, &s->pieces[piece], at, next, GB_EXIT_JUMP);
	else
		s->why = unknown_jump;
}

static void sweep(struct search *s, size_t piece)
{
	struct piece *p = &s->pieces[piece];
	struct recent recent = { 0 };
	uint64_t at = 0, before, target;

	while (!s->why && at < p->size) {
		enum indirect indirect = INDIRECT_NONE;
		enum transfer transfer;
		bool always = false;

		before = at;
		transfer = branches_step(&s->code, p->bytes, p->size, p->start, &at, &recent, &target, &indirect,
					 &always);
		if (at > p->size) {
			s->why = "there is code that cannot be decoded";
			return;
		}
		p->marks[before] |= BEGINS;
		if (transfer == TRANSFER_BRANCH)
			take_branch(s, piece, before, at, target, always);
		else if (transfer == TRANSFER_INDIRECT)
			take_indirect(s, piece, before, at, indirect);
		else if (transfer == TRANSFER_END && instruction_is_return(p->bytes + before, at - before))
			add_exit(s, p, before, at, GB_EXIT_RETURN);
	}
}

/* Is this the name of a part of the function? */
static bool is_part_by_name(const struct search *s, const struct symbol *symbol)
{
	size_t length = strlen(s->function->name);

	return is_cold(symbol) && !strncmp(symbol->name, s->function->name, length) && symbol->name[length] == '.';
}

/* An entry of a table that may be one of ours: what it leads to is a part only if it cannot be anything else. */
static void look_at_entry(struct search *s, uint64_t target)
{
	const struct piece *piece = piece_at(s, target);
	const struct unwind_range *range;
	const struct symbol *symbol;

	if (piece)
		piece->marks[target - piece->start] |= TABLED;
	if (s->why || piece || !is_code(s, target))
		return;
	range = image_unwind_range_at(s->image, target);
	symbol = image_symbol_at(s->image, offset_of(s, target));
	if (range &&
	    (is_part_by_name(s, symbol) || (range->continued && (!symbol || is_cold(symbol)) && comes_back(s, range))))
		add_piece(s, range->address, range->size);
}

static void look_at_entries(void *context, uint64_t table, const int32_t *offsets, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		look_at_entry(context, table + offsets[i]);
}

static bool look_at_address(void *context, uint64_t target)
{
	struct search *s = context;

	look_at_entry(s, target);
	return !s->why;
}

/* Bytes of the instruction that begins here. */
static unsigned length_at(const struct piece *piece, uint64_t at)
{
	unsigned length = 1;

	while (at + length < piece->size && !(piece->marks[at + length] & BEGINS))
		length++;
	return length;
}

static void look_at_tables(struct search *s)
{
	const struct table_search search = { .entries = look_at_entries, .context = s };
	struct tables tables;
	size_t pieces = s->npieces;

	if (tables_open(&tables, s->image)) {
		s->why = unknown_jump;
		pieces = 0;
	}
	for (size_t i = 0; i < pieces; i++) {
		uint64_t target;

		for (uint64_t at = 0; !s->why && at + instruction_forms_bytes() <= s->pieces[i].size; at++) {
			const uint8_t *code = s->pieces[i].bytes + at;

			if (!(s->pieces[i].marks[at] & BEGINS))
				continue;
			if (instruction_forms(code, instruction_forms_bytes(), s->pieces[i].start + at, &target))
				s->why = tables_entries(&tables, target, &search) ? s->why : too_long;
			else if (instruction_names_table(code, length_at(&s->pieces[i], at), &target))
				tables_addresses(&tables, target, look_at_address, s);
		}
	}
	tables_close(&tables);
}

static void check_targets(struct search *s)
{
	for (size_t i = 0; !s->why && i < s->ntargets; i++) {
		const struct piece *piece = piece_at(s, s->targets[i]);

		if (!piece || !(piece->marks[s->targets[i] - piece->start] & BEGINS))
			s->why = "one of its branches leads into the middle of an instruction";
	}
}

/* --- what is code at all ------------------------------------------------ */

/* Instructions that control flow leads to, and whose own way on has yet to be followed. */
struct pending {
	uint64_t *at;
	size_t count, room;
	bool failed;
};

static void reach(struct search *s, struct pending *pending, uint64_t address)
{
	const struct piece *piece = piece_at(s, address);
	uint8_t *mark = piece ? &piece->marks[address - piece->start] : NULL;

	if (!mark || !(*mark & BEGINS) || *mark & REACHED)
		return;
	*mark |= REACHED;
	if (array_one_more(&pending->at, &pending->room, pending->count, sizeof(*pending->at)))
		pending->failed = true;
	else
		pending->at[pending->count++] = address;
}

/* One instruction, and where it leads. */
static void follow(struct search *s, struct pending *pending, uint64_t address)
{
	const struct piece *piece = piece_at(s, address);
	struct recent recent = { 0 };
	enum indirect indirect = INDIRECT_NONE;
	uint64_t at = address - piece->start, target;
	bool always = false;
	enum transfer transfer = branches_step(&s->code, piece->bytes, piece->size, piece->start, &at, &recent, &target,
					       &indirect, &always);

	if (transfer == TRANSFER_BRANCH)
		reach(s, pending, target);
	if (!always && at < piece->size)
		reach(s, pending, piece->start + at);
}

/*
 * Constants may stand among the code, and a byte of one read like a `ret`: a breakpoint there would change what the
 * program computes. So control flow must lead to each end, from the function's first instruction or by one of its jump
 * tables.
 */
static void check_reached(struct search *s)
{
	struct pending pending = { 0 };

	reach(s, &pending, s->code.address);
	for (size_t i = 0; i < s->npieces; i++)
		for (uint64_t at = 0; at < s->pieces[i].size && s->has_table; at++)
			if (s->pieces[i].marks[at] & TABLED)
				reach(s, &pending, s->pieces[i].start + at);
	while (pending.count && !pending.failed && may_decode(s, 1))
		follow(s, &pending, pending.at[--pending.count]);
	for (size_t i = 0; i < s->nexits && !s->why; i++)
		for (size_t p = 0; p < s->npieces; p++) {
			uint64_t at = s->exits[i].offset - offset_of(s, s->pieces[p].start);

			if (at < s->pieces[p].size && !(s->pieces[p].marks[at] & REACHED))
				s->why = "nothing leads to one of the instructions that may end it: it may be a "
					 "constant";
		}
	if (pending.failed)
		s->why = "there is no memory";
	free(pending.at);
}

static int by_offset(const void *a, const void *b)
{
	const struct site_exit *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void search(struct search *s)
{
	const struct unwind_range *range = image_unwind_range_at(s->image, s->function->address);
	uint64_t size = s->function->size;
	size_t swept = 0;

	if (!size && range && range->address == s->function->address)
		size = range->size;
	if (!size) {
		s->why = "its size is not known";
		return;
	}
	add_piece(s, s->function->address, size);
	do {
		for (; !s->why && swept < s->npieces; swept++)
			sweep(s, swept);
		if (!s->why && s->has_table)
			look_at_tables(s);
	} while (!s->why && swept < s->npieces);
	check_targets(s);
	if (!s->why)
		check_reached(s);
}

static void search_free(struct search *s)
{
	for (size_t i = 0; i < s->npieces; i++) {
		free(s->pieces[i].bytes);
		free(s->pieces[i].marks);
	}
	decoder_free(s->code.decoder);
	free(s->targets);
	free(s);
}

static struct search *search_new(const struct image *image, const struct symbol *function, uint64_t probe_offset,
				 unsigned depth)
{
	struct search *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct search){ .image = image,
			      .function = function,
			      .probe_offset = probe_offset,
			      .depth = depth,
			      .code = { .image = image,
					.address = function->address,
					.offset = function->offset,
					.size = function->size } };
	s->targets = malloc(TARGETS_MOST * sizeof(*s->targets));
	if (s->targets && !decoder_new(&s->code.decoder))
		return s;
	search_free(s);
	return NULL;
}

/* Without those that were found twice. */
static const char *copy_exits(const struct search *s, struct site_exit **exits, size_t *count)
{
	*exits = malloc((s->nexits + 1) * sizeof(**exits));
	if (!*exits)
		return "there is no memory";
	for (size_t i = 0; i < s->nexits; i++)
		if (!*count || (*exits)[*count - 1].offset != s->exits[i].offset)
			(*exits)[(*count)++] = s->exits[i];
	return NULL;
}

const char *exits_find(const struct image *image, const struct symbol *function, uint64_t probe_offset,
		       const struct observed *observed, struct site_exit **exits, size_t *count)
{
	struct search *s = search_new(image, function, probe_offset, 0);
	const char *why = "there is no memory";

	*exits = NULL;
	*count = 0;
	if (!s)
		return why;
	s->observed = observed;
	search(s);
	qsort(s->exits, s->nexits, sizeof(*s->exits), by_offset);
	why = s->why ?: copy_exits(s, exits, count);
	search_free(s);
	return why;
}
