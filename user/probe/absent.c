/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * absent.c - what the chosen models describe and no file has, and why.
 */
#include <errno.h>
#include <stdlib.h>

#include "probe/plan_private.h"

const char *absence_text(enum absence why)
{
	static const char *const texts[ABSENT_REASONS] = {
		[ABSENT_NOT_MAPPED] = "library not mapped",
		[ABSENT_NOT_EXPORTED] = "not exported: the file has no function of this name",
		[ABSENT_STRIPPED] = "not exported, and the file is stripped of its local symbols",
		[ABSENT_INLINED] = "inlined by the compiler: there is no function to observe",
		[ABSENT_INDIRECT] =
			"an indirect function (IFUNC), and which functions its resolver chooses from cannot be told",
		[ABSENT_OUTSIDE] = "its symbol does not lie in the file's code",
		[ABSENT_INSTRUCTION] =
			"its first instruction (a lock prefix) cannot carry a probe, and no other one will do",
	};

	return why < ABSENT_REASONS ? texts[why] : "?";
}

/* Why this image does not give the function; ABSENT_REASONS: it does. */
static enum absence why_absent(const struct plan *plan, struct image *image, const struct function *f)
{
	const struct symbol *symbol = indirect_symbol(image, f->symbol);
	struct symbol body;

	if (symbol && symbol->ifunc) {
		if (!indirect_find(image, symbol, &body, 1))
			return ABSENT_INDIRECT;
		symbol = &body;
	}
	if (symbol && !symbol->offset)
		return ABSENT_OUTSIDE;
	if (symbol && plan_cannot_place(plan, image, symbol))
		return ABSENT_INSTRUCTION;
	if (symbol)
		return ABSENT_REASONS;
	if (image->has_dwarf && image_inlined(image, f->symbol))
		return ABSENT_INLINED;
	return image->has_symtab ? ABSENT_NOT_EXPORTED : ABSENT_STRIPPED;
}

static int add_absent(struct plan *plan, struct absent absent)
{
	struct absent *grown = realloc(plan->absents, (plan->nabsents + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	plan->absents = grown;
	grown[plan->nabsents++] = absent;
	return 0;
}

static int find_absent_of(struct plan *plan, const struct model *model)
{
	for (size_t f = 0; f < model->nfunctions; f += plan_same_symbol(model, f)) {
		struct absent absent = { .function = &model->functions[f], .why = ABSENT_NOT_MAPPED };
		enum absence why;
		int err;

		if (absent.function->marks & MARK_POINTED)
			continue; /* it has no name that it could be missing by */
		for (size_t i = 0; i < plan->nimages && absent.why != ABSENT_REASONS; i++) {
			if (!plan_model_applies(model, plan->images[i]))
				continue;
			why = why_absent(plan, plan->images[i], absent.function);
			if (why == ABSENT_NOT_EXPORTED || why == ABSENT_STRIPPED)
				if (absent.why != ABSENT_NOT_MAPPED)
					continue; /* another file had more to say */
			absent.image = plan->images[i];
			absent.why = why;
		}
		if (absent.why == ABSENT_REASONS)
			continue;
		err = add_absent(plan, absent);
		if (err)
			return err;
	}
	return 0;
}

int plan_find_absent(struct plan *plan)
{
	int err = 0;

	plan->nabsents = 0;
	for (size_t m = 0; !err && m < models_count(plan->models); m++)
		err = find_absent_of(plan, models_at(plan->models, m));
	return err;
}
