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

#include "meaning/fetch.h"
#include "stuck/private.h"

struct memory {
	const struct stack_space *space;
	const struct thread_look *look;
};

static bool read_memory(void *context, uint64_t address, void *bytes, size_t size)
{
	const struct memory *memory = context;

	return stack_read(memory->space, memory->look, address, bytes, size);
}

/* The slots with a word in them, and those of them that are certain; both in: the registers. */
static void mark(const struct gb_probe *program, uint32_t *filled, uint32_t *certain)
{
	for (unsigned i = 0; i < program->entry_ops && i < GB_OPS; i++) {
		const struct gb_op *op = &program->ops[i];
		bool copied = op->kind == GB_OP_COPY && op->source < GB_SLOTS && *certain >> op->source & 1;

		*filled |= gb_op_slots(op);
		*certain = copied ? *certain | gb_op_slots(op) : *certain & ~gb_op_slots(op);
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
	struct memory place = { process->space, look };
	const struct fetch_memory memory = { .read = read_memory, .context = &place };
	const struct gb_probe *program = &site->captures[0].program;
	struct call_arguments arguments = { .known = 0 };
	struct fetched_call fetched = { .sp = 0 };
	uint32_t filled = (1u << GB_REGISTERS) - 1, certain;
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
	fetched.span.unread = ~arguments.known & filled;
	for (int i = 0; i < GB_REGISTERS; i++)
		fetched.span.value[i] = arguments.known >> i & 1 ? arguments.word[i] : 0;
	fetched.sp = arguments.known && call->frame_end ? call->frame_end - 8 : 0;
	fetch_words(&fetched, program, false, &memory);
	certain = arguments.certain & arguments.known;
	mark(program, &filled, &certain);
	memcpy(call->words, fetched.span.value, sizeof(call->words));
	call->unread = fetched.span.unread | ~filled | program->return_slots;
	call->certain = certain & ~fetched.span.unread;
}
