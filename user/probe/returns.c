/*
 * returns.c - where a return probe could harm the job.
 *
 * A return probe puts the kernel's trampoline in the place of the return address on the target's stack. As long as
 * every call simply returns, nobody notices. But an unwinder that walks over the frame finds no way on: a C++
 * exception ends in std::terminate, a cancelled thread skips its destructors and leaves its mutex locked for
 * ever. And a thread that switches stacks inside the function confuses the kernel's list of return addresses, which is one a
 * thread: it crashes.
 *
 * So the return is not observed where such a thing can happen while the function is in progress: the call is then an event without
 * duration, and `gaspbpf list` says why. What can happen is told by the functions that the program and its libraries import. A runtime's
 * own imports do not count against it: it does not throw through itself.
 */
#include <string.h>

#include "probe/plan_private.h"

struct hazard {
	const char *import;  /* whoever imports this can do it */
	unsigned marks;      /* functions with one of these marks are in danger */
	bool user;           /* so are functions of the program itself */
	const char *why;
};

static const struct hazard hazards[] = {
	{ "pthread_cancel", MARK_CANCEL, false, "threads may be cancelled inside it (pthread_cancel is imported)" },
	{ "__cxa_throw", MARK_CALLBACK, true, "an exception may pass through it (__cxa_throw is imported)" },
	{ "_Unwind_RaiseException", MARK_CALLBACK, true, "an exception may pass through it (_Unwind_RaiseException is imported)" },
	{ "swapcontext", MARK_CALLBACK, true, "a thread may switch stacks inside it (swapcontext is imported)" },
};

static bool has_sites(const struct plan *plan, const struct image *image)
{
	for (size_t i = 0; i < plan->nsites; i++)
		if (plan->sites[i].image == image && plan->sites[i].function->role != ROLE_FUNCTION)
			return true;
	return false;
}

static bool imported(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->nimages; i++)
		if (image_imports(plan->images[i], name) &&
		    (plan->images[i]->is_program || !has_sites(plan, plan->images[i])))
			return true;
	return false;
}

static bool endangers(const struct hazard *hazard, const struct function *f)
{
	if (f->marks & MARK_LEAF)
		return false;
	return f->marks & hazard->marks || (hazard->user && (f->role == ROLE_FUNCTION || f->role == ROLE_USER));
}

void plan_choose_returns(struct plan *plan)
{
	for (size_t h = 0; h < sizeof(hazards) / sizeof(hazards[0]); h++) {
		if (!imported(plan, hazards[h].import))
			continue;
		for (size_t i = 0; i < plan->nsites; i++)
			if (!plan->sites[i].no_return && endangers(&hazards[h], plan->sites[i].function))
				plan->sites[i].no_return = hazards[h].why;
	}
}
