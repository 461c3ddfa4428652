/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inner.c - calls that a runtime makes to itself, in spans and sums.
 *
 * The kernel tells most of them (bpf/inner.h). What it cannot know is which files a runtime has besides the one with
 * its functions (its plugins: MPI-IO is one in Open MPI), and what called where the call around was not followed
 * (sampled, or not wanted). Here the place of the call tells: its file, and the function that it lies in.
 *
 * A call from the file of the functions with no call of the runtime around it is the program's: it came by a function
 * that the model does not describe, as a binding for another language. It is inner only where the calling function is
 * one of the model's.
 *
 * Inner calls have a definition of their own, a twin of the probe's with MARK_INNER. So they are apart wherever calls
 * are counted by definition.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"
#include "util/array.h"
#include "util/files.h"

/* --- who called ---------------------------------------------------------- */

enum {
	NOT_LOOKED_AT,
	PROGRAM,
	RUNTIME_FILE /* in a file of the runtime */,
	RUNTIME_FUNCTION /* and in a function of the model */
};

static bool is_of_model(const struct model *model, const struct image *image, const struct symbol *symbol)
{
	for (size_t i = 0; i < image->nsymbols; i++) {
		if (image->symbols[i].offset != symbol->offset)
			continue;
		for (size_t k = 0; k < model->nfunctions; k++)
			if (!strcmp(model->functions[k].symbol, image->symbols[i].name))
				return true;
	}
	return false;
}

static uint8_t look_at_caller(const struct capture_session *s, const struct def_site *from, const struct site *site)
{
	const struct model *model = site->function->model;
	const struct image *image = session_defined_image(s, from->image);
	const struct symbol *caller;

	if (!image || (image == site->image && site_is_in_program(site)) ||
	    !model_runtime_has_file(model, image->soname, path_base(image->path)))
		return PROGRAM;
	if (!image_call_at(image, from->offset))
		return PROGRAM; /* by a pointer: what was called there is the program's, and its last act was a jump to
				   the function */
	caller = from->offset ? image_symbol_at(image, from->offset - 1) : NULL;
	return caller && is_of_model(model, image, caller) ? RUNTIME_FUNCTION : RUNTIME_FILE;
}

/* The same, asked once for each place. */
static uint8_t caller_at(struct capture_session *s, uint32_t from, const struct site *site)
{
	if (from == NO_INDEX ||
	    array_reach(&s->inner.callers, &s->inner.callers_room, (size_t)from + 1, sizeof(*s->inner.callers)))
		return PROGRAM;
	if (s->inner.callers[from].model != site->function->model)
		s->inner.callers[from] = (struct place_caller){ site->function->model,
								look_at_caller(s, &s->d->sites[from], site) };
	return s->inner.callers[from].is;
}

bool session_is_inner(struct capture_session *s, const struct gb_span *raw, uint32_t from)
{
	const struct site *site = &s->plan->sites[raw->probe];

	if (raw->inner & GB_INNER_SELF)
		return true;
	if (!site_may_be_inner(site))
		return false;
	if (from == NO_INDEX ||
	    s->d->sites[from].image == NO_INDEX) /* in a library that nobody could look at in time */
		return raw->inner & GB_INNER_AROUND;
	return caller_at(s, from, site) >= (raw->inner & GB_INNER_NESTED ? RUNTIME_FILE : RUNTIME_FUNCTION);
}

/* --- their definitions ----------------------------------------------------- */

uint32_t session_inner_probe(struct capture_session *s, uint32_t site, uint32_t probe)
{
	uint32_t index;

	if (array_reach(&s->inner.twins, &s->inner.twins_room, (size_t)probe + 1, sizeof(*s->inner.twins)))
		return probe;
	if (s->inner.twins[probe])
		return s->inner.twins[probe];
	index = session_define_inner(s, site, probe);
	if (index == NO_INDEX) {
		s->err = -ENOMEM;
		return probe;
	}
	return s->inner.twins[probe] = index; /* never 0: it comes after the one that it is of */
}

void session_free_inner(struct capture_session *s)
{
	free(s->inner.callers);
	free(s->inner.twins);
}
