/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calls.c - which of a thread's frames are calls of known functions, and which of these the program waits in.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stuck/private.h"

const struct site *site_at(const struct stuck *stuck, const struct image *image, uint64_t offset)
{
	const struct symbol *symbol = image ? image_symbol_at(image, offset) : NULL;

	for (size_t i = 0; symbol && i < stuck->names->nsites; i++) {
		const struct site *site = &stuck->names->sites[i];

		if (site->offset == symbol->offset && site->nfunctions && site->image->inode == image->inode &&
		    site->image->device == image->device)
			return site;
	}
	return NULL;
}

/* Is this a file that functions of models lie in? */
static bool is_runtime(const struct stuck *stuck, const struct image *image)
{
	for (size_t i = 0; image && i < stuck->names->nsites; i++)
		if (stuck->names->sites[i].image->inode == image->inode &&
		    stuck->names->sites[i].image->device == image->device)
			return true;
	return false;
}

/*
 * Is it the program's own call, and not one that a runtime makes for itself inside another one (outer; NO_FRAME: there
 * is none)? Where code of the program, or of the file that made the outer call, lies in between, it is.
 */
static bool is_own(const struct stuck *stuck, const struct stuck_thread *t, size_t frame, size_t outer)
{
	const struct image *asked = outer != NO_FRAME && outer + 1 < t->nframes ? t->frames[outer + 1].image : NULL;

	if (outer == NO_FRAME)
		return true;
	for (size_t i = frame + 1; i < outer; i++) {
		const struct image *image = t->frames[i].image;

		if (image && (image->is_program ? !site_at(stuck, image, t->frames[i].offset - !t->frames[i].exact)
						: image == asked && !is_runtime(stuck, image)))
			return true;
	}
	return false;
}

/* The known function whose frame this is; NULL: none. */
static const struct site *site_of(const struct stuck *stuck, const struct stack_frame *frame)
{
	return frame->guessed ? NULL : site_at(stuck, frame->image, frame->offset - !frame->exact);
}

/*
 * The known function that was called here and has gone on to another one by a jump: then it has no frame any more, but
 * what it went on to, known or not, stands in its place. That is looked for where a file calls another one, and in a
 * program that has a runtime in it. NULL: none.
 */
static const struct site *site_jumped_from(const struct stuck *stuck, const struct stuck_thread *t,
					   const struct thread_look *look, size_t i, const struct site *own)
{
	const struct stack_frame *frame = &t->frames[i], *caller = i + 1 < t->nframes ? frame + 1 : NULL;
	struct stack_space *space = stuck->processes[t->process].space;
	const struct site *site;
	struct image *image;
	uint64_t target, offset;

	if (!caller || frame->guessed || !is_runtime(stuck, frame->image) ||
	    (caller->image == frame->image && !frame->image->is_program))
		return NULL;
	target = stack_called(space, look, caller);
	image = target ? stack_image(space, target, &offset) : NULL;
	site = image ? site_at(stuck, image, offset) : NULL;
	return site && site != own && site->offset == offset ? site : NULL;
}

static void add_call(const struct stuck *stuck, struct stuck_thread *t, size_t frame, const struct site *site,
		     size_t *own)
{
	struct stuck_call *call = &t->calls[t->ncalls];

	if (!site || site->no_span || t->ncalls == STUCK_CALLS)
		return;
	*call = (struct stuck_call){
		.function = site->function, .site = site, .image = site->image, .frame = frame, .unread = ~0u
	};
	if (frame + 1 < t->nframes) {
		call->caller = t->frames[frame + 1].pc;
		call->frame_end = t->frames[frame + 1].registers.value[REGISTER_SP];
	}
	/* Of two that stand in one place the first is the program's. */
	if ((*own != frame || *own == NO_FRAME) && is_own(stuck, t, frame, *own)) {
		*own = frame;
		t->waits_in = t->ncalls;
	}
	t->ncalls++;
}

int calls_on_stack(const struct stuck *stuck, struct stuck_thread *t, const struct thread_look *look)
{
	size_t own = NO_FRAME;

	t->calls = calloc(STUCK_CALLS, sizeof(*t->calls));
	if (!t->calls)
		return -ENOMEM;
	t->ncalls = 0;
	t->waits_in = SIZE_MAX;
	for (size_t i = t->nframes; i-- && t->ncalls < STUCK_CALLS;) {
		const struct site *site = site_of(stuck, &t->frames[i]);

		add_call(stuck, t, i, site_jumped_from(stuck, t, look, i, site), &own);
		add_call(stuck, t, i, site, &own);
	}
	if (t->waits_in == SIZE_MAX)
		t->waits_in = t->ncalls;
	return 0;
}
