/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plan.c - the whole way from a mapped file to probes: models that apply, how a runtime was built, wrappers, doubts,
 * places, returns.
 */
#include "shared/fuzz.h"

#include "probe/probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plan *plan;
	bool known;

	must(!plan_new(&plan, fuzz_models(), "+c,+pthread,+pupc"));
	plan->returns = size & 1 ? RETURNS_ALL_SITES : RETURNS_AUTO;
	must(!plan_ask(plan, "*"));
	if (!plan_add_file(plan, fuzz_file(data, size), &known)) {
		plan_find_absent(plan);
		for (size_t i = 0; i < plan->nsites; i++)
			site_is_in_program(&plan->sites[i]);
		for (size_t i = 0; plan->nimages && i < models_count(plan->models); i++) {
			struct build room;

			plan_build(plan, models_at(plan->models, i), plan->images[0], &room);
		}
	}
	plan_free(plan);
	return 0;
}
