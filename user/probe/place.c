/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place.c - which instruction of a function carries the breakpoint.
 *
 * The kernel executes the instruction under a breakpoint in one of two ways. A few it emulates (instruction_class()); a
 * hit then costs about 0.2 us. For all others it lets the thread run a copy elsewhere and traps a second time: 1 to
 * 2 us. What a function begins with is chance, and a matter of compilers' options. So the probe goes to the first
 * instruction that is emulated, if it makes no difference to the call: if everything before it
 *
 *   - leaves the stack pointer alone, so the return address is where it was, for the return probe to be set and the
 *     caller to be read;
 *   - leaves the registers alone whose arguments the probe reads;
 *   - goes on to the next instruction and nowhere else;
 *   - writes no memory. A store would happen as it always does. But recent kernels replace some instructions by a call,
 *     which writes below the stack pointer, where a store may have put something (the red zone). Stores that early are
 *     rare;
 *   - is on the list of harmless instructions (instruction_harm()). Reading memory is fine. So are flags and vector
 *     registers: a probe changes neither.
 *
 * A probe that has no return probe beside it may also come after pushes of registers and after the frame has been made:
 * the kernel side adds what was pushed. That is used to keep it away from where return probes are. For the kernel sets
 * a return probe's trampoline in every process that hits the breakpoint, whichever process the probe is meant for, so
 * somebody else's would act in this process, too.
 *
 * All this if nothing jumps to where it would miss the probe, or hit it without a call (branches.c). The call is then
 * seen some ns later than at the first instruction, and a fault in between is seen as no call.
 *
 * A breakpoint that does not begin an instruction crashes the job. Therefore every doubt means the first instruction: a
 * byte that is no instruction, an unknown size, a jump table. A function with a jump table, or whose size is not known,
 * may have the mark at its beginning left out and nothing else.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/branches.h"
#include "probe/plan_private.h"

#define SEARCHED 64              /* bytes from a function's start */
#define DECODED_MOST (32u << 20) /* bytes of functions that are decoded at one time: about 10 s */
#define PAGE 4096

struct search {
	const struct image *image;
	const struct place_options *options;
	struct decoder *decoder;
	uint64_t decoded;           /* bytes so far */
	struct quiet_range *ranges; /* of functions whose probe is to move ... */
	size_t *owners;             /* ... and which they are */
	size_t nranges;
};

/*
 * No probe on what the kernel replaces by a call (Linux 6.18): that leads to a page that a child made by fork has not
 * got. Each child that came to such an instruction was killed. (s->options->optimized is for kernels where that is
 * known to be mended; of none it is.)
 */
static bool is_refused(const struct search *s, const uint8_t *code, size_t size)
{
	return instruction_refused(code, size) || (!s->options->optimized && instruction_is_optimized(code, size));
}

/* The class of an instruction here, as it stands in the file. */
static enum site_class class_at(const struct search *s, const uint8_t *code, unsigned length, uint64_t address)
{
	enum site_class class = instruction_class(code, length);

	if (class == SITE_OPTIMIZED && (!s->options->optimized || address % PAGE + length > PAGE))
		return SITE_STEPPED;
	return class;
}

/* Finds the first cheap instruction; NULL: found, else why not. *at: its distance, *length: its bytes. */
static const char *walk(const struct search *s, const struct place_wish *wish, const uint8_t *head, size_t size,
			unsigned *at, unsigned *length, enum site_class *class)
{
	for (*at = 0; *at < SEARCHED; *at += *length) {
		const char *why;
		bool always;
		int64_t displacement;

		*length = instruction_length(s->decoder, head + *at, size - *at);
		if (!*length)
			return "there is code that cannot be decoded";
		*class = class_at(s, head + *at, *length, wish->function->address + *at);
		/* A call before the stack is aligned is none that a compiler made: only where it comes first anyway. */
		if (*class != SITE_STEPPED &&
		    (!*at || instruction_transfer(head + *at, *length, &displacement, &always) != TRANSFER_CALL))
			return NULL;
		why = instruction_harm(s->decoder, head + *at, size - *at, wish->registers);
		if (why)
			return why;
	}
	return "there is no cheap instruction near its start";
}

static bool is_taken(const struct place_wish *wish, uint64_t offset)
{
	return wish->taken && wish->taken(wish->context, offset);
}

/*
 * The same for a probe that keeps away from return probes: the first cheap instruction that is none of theirs, else the
 * first one. Returns false where there is none.
 */
static bool walk_aside(const struct search *s, const struct place_wish *wish, const uint8_t *head, size_t size,
		       unsigned *found, unsigned *length, struct probe_place *place)
{
	unsigned at, pushed = 0, step, lowered;

	*length = 0;
	for (at = 0; at < SEARCHED; at += step) {
		enum site_class class;
		int64_t displacement;
		bool always;

		step = instruction_length(s->decoder, head + at, size - at);
		if (!step || instruction_transfer(head + at, step, &displacement, &always) == TRANSFER_CALL)
			break;
		class = instruction_class(head + at, step) == SITE_EMULATED ? SITE_EMULATED : SITE_STEPPED;
		if (at && wish->function->offset + at != wish->avoid && !is_taken(wish, wish->function->offset + at) &&
		    !is_refused(s, head + at, step) && (!*length || class == SITE_EMULATED)) {
			*found = at;
			*length = step;
			place->class = class;
			place->pushed = pushed;
			if (class == SITE_EMULATED)
				break;
		}
		lowered = instruction_lowers_stack(head + at, step);
		pushed += lowered;
		if (!lowered && instruction_harm(s->decoder, head + at, size - at, wish->registers))
			break;
	}
	return *length;
}

/*
 * Why a probe cannot move `distance` bytes into the function, as far as its own and nearby code tells; *pointers: it
 * must be made sure of that nothing points to there, either.
 */
static const char *why_not_there(struct search *s, const struct symbol *symbol, const uint8_t *head, unsigned distance,
				 unsigned length, bool *pointers)
{
	struct function_code code = {
		.image = s->image,
		.decoder = s->decoder,
		.address = symbol->address,
		.offset = symbol->offset,
		.size = symbol->size,
	};
	uint64_t first = symbol->address + 1, end = symbol->address + distance + length;
	bool past_mark = distance && distance == instruction_mark(head, INSTRUCTION_MOST);
	enum indirect indirect;
	bool unknown;

	*pointers = true;
	if (symbol->size && distance + length > symbol->size)
		return "it is shorter than that";
	if (branches_from_near(&code, first, end))
		return "a branch leads to code near its start";
	if (!symbol->size)
		return past_mark ? NULL : "its size is not known";
	if (symbol->size > FUNCTION_MOST || s->decoded > DECODED_MOST)
		return past_mark ? NULL : "there is too much code to look at";
	s->decoded += symbol->size;
	if (branches_of_function(&code, first, end, &indirect, &unknown))
		return "a branch leads to code near its start";
	if (unknown)
		return "there is code that cannot be decoded";
	*pointers = indirect != INDIRECT_NONE;
	return indirect >= INDIRECT_TABLE && !past_mark ? "it has a jump table" : NULL;
}

/* Does the function jump back to its start? Then a probe there, or behind, is hit in each round. */
static bool comes_back(struct search *s, const struct symbol *symbol)
{
	const struct unwind_range *range = symbol->size ? NULL : image_unwind_range_at(s->image, symbol->address);
	struct function_code code = {
		.image = s->image,
		.decoder = s->decoder,
		.address = symbol->address,
		.offset = symbol->offset,
		.size = symbol->size,
	};

	if (!code.size)
		code.size = range && range->address == symbol->address ? range->size : SEARCHED;
	return s->decoded <= DECODED_MOST && branches_to_start(&code, &s->decoded);
}

/* Where the place of a function's probe is to be, if nothing jumps there. */
static void claim(struct search *s, const struct symbol *symbol, size_t index, unsigned at, unsigned length,
		  bool pointers)
{
	s->owners[s->nranges] = index;
	s->ranges[s->nranges++] = (struct quiet_range){ symbol->address + 1, symbol->address + at + length, pointers,
							false };
}

static void place_one(struct search *s, const struct place_wish *wish, size_t index, struct probe_place *place)
{
	const struct symbol *symbol = wish->function;
	uint8_t head[SEARCHED + INSTRUCTION_MOST];
	ssize_t size = pread(s->image->fd, head, sizeof(head), symbol->offset);
	struct probe_place aside = { 0 };
	unsigned at = 0, length = 0;
	enum site_class class;
	bool pointers;

	*place = (struct probe_place){ .offset = symbol->offset, .class = SITE_STEPPED };
	if (size < 0)
		size = 0;
	place->refused = is_refused(s, head, size);
	if (wish->aside) {
		if (!walk_aside(s, wish, head, size, &at, &length, &aside) ||
		    why_not_there(s, symbol, head, at, length, &pointers))
			return;
		claim(s, symbol, index, at, length, pointers);
		place->offset = symbol->offset + at;
		place->class = aside.class;
		place->pushed = aside.pushed;
		return;
	}
	place->rounds = comes_back(s, symbol);
	place->why = walk(s, wish, head, size, &at, &length, &class);
	if (!place->why && !at) {
		place->class = class;
		return;
	}
	if (s->options->at_entry)
		place->why = "not asked for";
	if (!place->why)
		place->why = why_not_there(s, symbol, head, at, length, &pointers);
	if (place->why)
		return;
	claim(s, symbol, index, at, length, pointers);
	place->offset = symbol->offset + at;
	place->class = class;
}

int place_probes(const struct image *image, const struct place_wish *wishes, size_t count,
		 const struct place_options *options, struct probe_place *places)
{
	struct search s = { .image = image, .options = options };
	int err = decoder_new(&s.decoder);

	if (err)
		return err;
	s.ranges = calloc(count + 1, sizeof(*s.ranges));
	s.owners = calloc(count + 1, sizeof(*s.owners));
	err = s.ranges && s.owners ? 0 : -ENOMEM;
	for (size_t i = 0; !err && i < count; i++) {
		place_one(&s, &wishes[i], i, &places[i]);
		err = breath_ends(options->breath) ? -ECANCELED : 0;
	}
	if (!err)
		err = branches_from_afar(image, s.ranges, s.nranges, options->breath);
	for (size_t i = 0; !err && i < s.nranges; i++) {
		struct probe_place *place = &places[s.owners[i]];

		if (s.ranges[i].broken) {
			place->offset = wishes[s.owners[i]].function->offset;
			place->class = SITE_STEPPED;
			place->pushed = 0;
			place->why = "a branch, a symbol or a pointer leads to code near its start";
		} else {
			place->refused = false;
		}
	}
	free(s.ranges);
	free(s.owners);
	decoder_free(s.decoder);
	return err;
}

bool place_text(const struct image *image, const struct probe_place *place, char *text, size_t room)
{
	uint8_t code[INSTRUCTION_MOST];
	ssize_t size = pread(image->fd, code, sizeof(code), place->offset);
	struct decoder *decoder;
	bool known;

	if (size <= 0 || decoder_new(&decoder))
		return false;
	known = instruction_text(decoder, code, size, place->offset, text, room);
	decoder_free(decoder);
	return known;
}

/* --- for a plan -------------------------------------------------------- */

bool plan_cannot_place(const struct plan *plan, const struct image *image, const struct symbol *symbol)
{
	uint8_t head[INSTRUCTION_MOST];
	ssize_t size = pread(image->fd, head, sizeof(head), symbol->offset);
	struct place_wish wish = { .function = symbol, .registers = PLACE_ALL_REGISTERS };
	struct probe_place place;

	struct search s = { .options = &plan->placing };

	if (size > 0 && !is_refused(&s, head, size))
		return false;
	return size <= 0 || place_probes(image, &wish, 1, &plan->placing, &place) || place.refused;
}

/* The argument registers that a capture program reads: see the slots in gaspbpf/wire.h. */
static uint8_t registers_read(const struct gb_probe *program)
{
	unsigned steps = program->entry_ops + program->return_ops;
	uint8_t read = 0, still = PLACE_ALL_REGISTERS; /* slots that still hold what was in their register */

	for (unsigned i = 0; i < steps && i < GB_OPS; i++) {
		const struct gb_op *op = &program->ops[i];

		if (gb_op_has_source(op) && op->source < GB_REGISTERS)
			read |= still & 1U << op->source;
		still &= ~gb_op_slots(op);
	}
	for (unsigned slot = 0; slot < program->slots && slot < GB_REGISTERS; slot++)
		read |= still & 1U << slot;
	return read;
}

static bool ends_at(const struct site *site, uint64_t offset)
{
	for (size_t i = 0; i < site->nexits; i++)
		if (site->exits[i].offset == offset)
			return true;
	return false;
}

int plan_place_away(struct plan *plan, const struct image *image, struct site **sites, size_t count,
		    bool (*taken)(void *context, uint64_t offset), void *context)
{
	struct place_wish *wishes = calloc(count + 1, sizeof(*wishes));
	struct probe_place *places = calloc(count + 1, sizeof(*places));
	int err = wishes && places ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < count; i++)
		wishes[i] = (struct place_wish){
			.function = &sites[i]->body,
			.registers = sites[i]->registers,
			.aside = true,
			.avoid = sites[i]->probe_offset,
			.taken = taken,
			.context = context,
		};
	if (!err && count && !plan->placing.at_entry)
		err = place_probes(image, wishes, count, &plan->placing, places);
	for (size_t i = 0; !err && i < count && !plan->placing.at_entry; i++) {
		if (places[i].offset == sites[i]->offset || ends_at(sites[i], places[i].offset))
			continue; /* there is no other place */
		sites[i]->probe_offset = places[i].offset;
		sites[i]->class = places[i].class;
		sites[i]->pushed = places[i].pushed;
		sites[i]->why_here = places[i].class == SITE_STEPPED ? "return probes may be on the cheaper ones"
								     : NULL;
	}
	free(wishes);
	free(places);
	return err;
}

void plan_place_back(struct site *site)
{
	site->probe_offset = site->entry.offset;
	site->class = site->entry.class;
	site->why_here = site->entry.why;
	site->pushed = 0;
	site->aside = false;
}

/* Sites whose returns are not observed by return probes: their probes move to where none of those is, if there is such
 * a place. */
int plan_place_aside(struct plan *plan, const struct image *image)
{
	struct site **sites = calloc(plan->nsites + 1, sizeof(*sites));
	size_t count = 0;
	int err = sites ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < plan->nsites; i++) {
		struct site *site = &plan->sites[i];

		if (site->image != image || site->aside || site->attached ||
		    (site->returns != RETURNS_SITES && !site->no_exits))
			continue;
		site->aside = true;
		sites[count++] = site;
	}
	if (!err)
		err = plan_place_away(plan, image, sites, count, NULL, NULL);
	free(sites);
	return err;
}

int plan_place_sites(struct plan *plan, const struct image *image, uint32_t first)
{
	struct place_wish *wishes = calloc(plan->nsites, sizeof(*wishes));
	struct probe_place *places = calloc(plan->nsites, sizeof(*places));
	size_t count = plan->nsites - first;
	int err = wishes && places ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < count; i++) {
		struct site *site = &plan->sites[first + i];

		for (size_t k = 0; k < site->nfunctions; k++)
			site->registers |= registers_read(&site->captures[k].program);
		wishes[i] = (struct place_wish){ .function = &site->body, .registers = site->registers };
	}
	if (!err)
		err = place_probes(image, wishes, count, &plan->placing, places);
	for (size_t i = 0; !err && i < count; i++) {
		struct site *site = &plan->sites[first + i];

		site->entry = places[i];
		site->rounds = places[i].rounds;
		plan_place_back(site);
	}
	free(wishes);
	free(places);
	return err;
}
