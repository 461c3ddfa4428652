/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * words.c - the words of a call that began before anybody watched: its capture program (gaspbpf/wire.h), run here on
 * what can be known of its arguments.
 *
 * The kernel side runs it at the call, when all registers are as the caller left them. Here some are known, some
 * likely, some lost; and memory is as it is now. So each word has a mark besides: what comes from memory, or from a
 * word that is likely, is likely.
 */
#include <string.h>

#include "stuck/private.h"

struct run {
	const struct stuck_process *process;
	const struct thread_look *look;
	uint64_t entry_sp; /* where the return address is */
	uint64_t words[GB_SLOTS];
	uint32_t known, certain;
};

static uint64_t narrow(uint64_t word, uint8_t width)
{
	switch (width) {
	case GB_U8:
		return (uint8_t)word;
	case GB_S8:
		return (uint64_t)(int8_t)word;
	case GB_U16:
		return (uint16_t)word;
	case GB_S16:
		return (uint64_t)(int16_t)word;
	case GB_U32:
		return (uint32_t)word;
	case GB_S32:
		return (uint64_t)(int32_t)word;
	default:
		return word;
	}
}

static size_t bytes_of(uint8_t width)
{
	return width <= GB_S8 ? 1 : width <= GB_S16 ? 2 : width <= GB_S32 ? 4 : 8;
}

static void put(struct run *run, unsigned slot, bool known, uint64_t word, bool certain)
{
	if (slot >= GB_SLOTS)
		return;
	run->words[slot] = word;
	run->known = (run->known & ~(1u << slot)) | (uint32_t)known << slot;
	run->certain = (run->certain & ~(1u << slot)) | (uint32_t)(known && certain) << slot;
}

static void step(struct run *run, const struct gb_op *op)
{
	bool known = op->source < GB_SLOTS && run->known >> op->source & 1;
	bool certain = op->source < GB_SLOTS && run->certain >> op->source & 1;
	uint64_t word = 0;

	switch (op->kind) {
	case GB_OP_COPY:
		put(run, op->slot, known, known ? narrow(run->words[op->source], op->width) : 0, certain);
		return;
	case GB_OP_LOAD:
		known = known && stack_read(run->process->space, run->look, run->words[op->source] + op->offset, &word,
					    bytes_of(op->width));
		put(run, op->slot, known, narrow(word, op->width), false);
		return;
	case GB_OP_STACK:
		known = run->entry_sp && stack_read(run->process->space, run->look, run->entry_sp + op->offset, &word,
						    bytes_of(op->width));
		put(run, op->slot, known, narrow(word, op->width), false);
		return;
	default:
		put(run, op->slot, false, 0, false);
	}
}

/* Where the function lies in the process; 0: it is mapped more than once, or not at all. */
static uint64_t address_of(const struct stuck_process *p, const struct site *site)
{
	const struct mapping *m = process_code_of(p->process, site->image, site->offset, 1, NULL);

	return m && !process_code_of(p->process, site->image, site->offset, 1, m)
		       ? m->start + (site->offset - m->offset)
		       : 0;
}

void find_words(const struct stuck *stuck, const struct stuck_thread *t, const struct thread_look *look,
		struct stuck_call *call)
{
	const struct site *site = call->site;
	const struct stuck_process *process = &stuck->processes[t->process];
	struct run run = { .process = process, .look = look };
	const struct gb_probe *program = &site->captures[0].program;
	struct call_arguments arguments = { .known = 0 };
	const struct stack_frame *caller;

	call->values = site->captures[0].values;
	call->nvalues = site->captures[0].nvalues;
	call->nwords = program->slots < GB_SLOTS ? program->slots : GB_SLOTS;
	call->unread = ~0u;
	call->certain = 0;
	if (call->frame == NO_FRAME || call->frame + 1 >= t->nframes || !process->space)
		return;
	caller = &t->frames[call->frame + 1];
	stack_arguments(process->space, look, caller, address_of(process, site), &arguments);
	if (site_at(stuck, caller[-1].image, caller[-1].offset - !caller[-1].exact) == site)
		stack_kept_arguments(process->space, look, &caller[-1], &arguments);
	for (int i = 0; i < GB_REGISTERS; i++)
		put(&run, i, arguments.known >> i & 1, arguments.word[i], arguments.certain >> i & 1);
	run.entry_sp = arguments.known && call->frame_end ? call->frame_end - 8 : 0;
	for (unsigned i = 0; i < program->entry_ops && i < GB_OPS; i++)
		step(&run, &program->ops[i]);
	memcpy(call->words, run.words, sizeof(call->words));
	call->unread = ~run.known | program->return_slots;
	call->certain = run.certain;
}
