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

		if (site->offset == symbol->offset && site->nfunctions && site->image->inode == image->inode && site->image->device == image->device)
			return site;
	}
	return NULL;
}

/* Is this a file that functions of models lie in? */
static bool is_runtime(const struct stuck *stuck, const struct image *image)
{
	for (size_t i = 0; image && i < stuck->names->nsites; i++)
		if (stuck->names->sites[i].image->inode == image->inode && stuck->names->sites[i].image->device == image->device)
			return true;
	return false;
}

/*
 * Is it the program's own call, and not one that a runtime makes for itself inside another one (outer; NO_FRAME: there is none)? Where code of the program, or of
 * the file that made the outer call, lies in between, it is.
 */
static bool is_own(const struct stuck *stuck, const struct stuck_thread *t, size_t frame, size_t outer)
{
	const struct image *asked = outer != NO_FRAME && outer + 1 < t->nframes ? t->frames[outer + 1].image : NULL;

	if (outer == NO_FRAME)
		return true;
	for (size_t i = frame + 1; i < outer; i++) {
		const struct image *image = t->frames[i].image;

		if (image && (image->is_program ? !site_at(stuck, image, t->frames[i].offset - !t->frames[i].exact) : image == asked && !is_runtime(stuck, image)))
			return true;
	}
	return false;
}

/*
 * The known function whose frame this is. Or that was called here and has gone on to another one by a jump: then it has no frame any more, but what it
 * went on to stands in its place. That is looked for where a file calls another one, and in a program that has a runtime in it.
 */
static const struct site *site_of(const struct stuck *stuck, const struct stuck_thread *t, const struct thread_look *look, size_t i)
{
	const struct stack_frame *frame = &t->frames[i], *caller = i + 1 < t->nframes ? frame + 1 : NULL;
	struct stack_space *space = stuck->processes[t->process].space;
	const struct site *site = frame->guessed ? NULL : site_at(stuck, frame->image, frame->offset - !frame->exact);
	struct image *image;
	uint64_t target, offset;

	if (site || !caller || frame->guessed || !is_runtime(stuck, frame->image) ||
	    (caller->image == frame->image && !frame->image->is_program))
		return site;
	target = stack_called(space, look, caller);
	image = target ? stack_image(space, target, &offset) : NULL;
	site = image ? site_at(stuck, image, offset) : NULL;
	return site && site->offset == offset ? site : NULL;
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
		const struct site *site = site_of(stuck, t, look, i);
		struct stuck_call *call = &t->calls[t->ncalls];

		if (!site || site->no_span)
			continue;
		*call = (struct stuck_call){ .function = site->function, .site = site, .image = site->image, .frame = i, .unread = ~0u };
		if (i + 1 < t->nframes) {
			call->caller = t->frames[i + 1].pc;
			call->frame_end = t->frames[i + 1].registers.value[REGISTER_SP];
		}
		if (is_own(stuck, t, i, own)) {
			own = i;
			t->waits_in = t->ncalls;
		}
		t->ncalls++;
	}
	if (t->waits_in == SIZE_MAX)
		t->waits_in = t->ncalls;
	return 0;
}
