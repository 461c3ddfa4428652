/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * returns.c - how the end of a call is seen without harm to the job.
 *
 * A return probe puts the kernel's trampoline in the place of the return address on the target's stack. As long as
 * every call simply returns, nobody notices. But an unwinder that walks over the frame finds no way on: a C++
 * exception ends in std::terminate, a cancelled thread skips its destructors and leaves its mutex locked for
 * ever, backtrace() ends early. And a thread that switches stacks inside the function confuses the kernel's list of
 * return addresses, which is one a thread: it crashes.
 *
 * So a function has a return probe (trampoline) only where no such thing can happen while it is in progress. Elsewhere
 * its own last instructions are probed (sites, see exits.c): each costs a single step, but the stack stays what it is.
 * Where these cannot all be told, only calls are observed (none).
 *
 * What can happen is told by what the process maps (doubts.c), and by marks in the model: leaf (calls nobody), callback
 * (calls user code), cancel (a thread may be cancelled in it), stays (its library, which switches stacks elsewhere,
 * does not do so inside it), and the model's hooks: whoever imports one gives the runtime code of its own, to be run in
 * any of its functions.
 *
 * Where one link sees both ends of all calls, the kernel side looks at each call besides (bpf/home.h): on another stack
 * than the thread's own, and in a process that has changed since it was looked at here, the return is left alone.
 * Elsewhere all doubts must be settled here: a handler on a stack of its own, or a timer that switches between stacks,
 * puts even a leaf in danger.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/doubts.h"
#include "probe/plan_private.h"

struct hazard {
	const char *import; /* whoever imports or has this can do it */
	unsigned marks;     /* functions with one of these marks are in danger; user functions always */
	enum {
		PROGRAM = 1, /* ... all functions but leaves, where code that no runtime has brought imports it */
		HOOKED = 2,  /* ... all functions but leaves of a model to which code that knows exceptions may give
				functions of its own */
	} how;
	const char *why;
};

static const char switch_code[] = "a thread may switch stacks inside it (the program has code of its own for that)";
static const char switch_import[] = "a thread may switch stacks inside it (a function for that is imported)";
static const char switch_jump[] = "a thread may switch stacks inside it (longjmp is imported)";
static const char cancelled[] =
	"threads may be cancelled anywhere inside it (pthread_cancel and pthread_setcanceltype are imported)";
static const char plugin_cancels[] = "threads may be cancelled inside it, by a library that comes later";
static const char handler_throws[] = "an exception may come out of a signal handler inside it";
static const char other_stack[] = "a signal handler on a stack of its own may interrupt it (sigaltstack is imported)";
static const char preempted[] = "a signal handler may switch stacks inside it";
static const char strangers[] = "processes that are not known yet may call it";
static const char own_return[] = "it may look at its own return address, or hand it on";
static const char filter_kills[] = "a seccomp filter kills who returns through a trampoline on this kernel";

#define THROW(name)                                                                                              \
	{                                                                                                        \
		name, MARK_CALLBACK, HOOKED, "an exception may pass through it (exceptions are known: " name ")" \
	}
#define LOOK(name)                                                                                      \
	{                                                                                               \
		name, MARK_CALLBACK, 0, "somebody may look up the stack from it (" name " is imported)" \
	}

static const struct hazard hazards[] = {
	{ "pthread_cancel", MARK_CANCEL | MARK_CALLBACK, PROGRAM,
	  "threads may be cancelled inside it (pthread_cancel is imported)" },
	{ "pthread_exit", MARK_CALLBACK, 0, "a thread may end inside it (pthread_exit is imported)" },
	{ "thrd_exit", MARK_CALLBACK, 0, "a thread may end inside it (thrd_exit is imported)" },
	THROW("__cxa_throw"),
	THROW("_Unwind_RaiseException"),
	THROW("_Unwind_ForcedUnwind"),
	LOOK("backtrace"),
	LOOK("_Unwind_Backtrace"),
	LOOK("_UL" ARCH_MACHINE "_step"),
	LOOK("unw_backtrace"),
};
#define HAZARDS (sizeof(hazards) / sizeof(hazards[0]))

const char *returns_name(enum returns returns)
{
	static const char *const names[RETURNS_KINDS] = { "trampoline", "sites", "none" };

	return returns < RETURNS_KINDS ? names[returns] : "?";
}

unsigned site_cost(const struct site *site, const unsigned cost_ns[SITE_CLASSES])
{
	unsigned cost = cost_ns[site->class];

	/* A ret is stepped; all else in a return costs what an emulated hit does, as it is part of the calibrated call.
	 */
	if (site->returns == RETURNS_SITES && cost && cost_ns[SITE_STEPPED] > cost_ns[SITE_EMULATED])
		cost += cost_ns[SITE_STEPPED] - cost_ns[SITE_EMULATED];
	return cost;
}

/* --- the choice -------------------------------------------------------- */

/* Facts that do not change from function to function. */
struct facts {
	bool imported[HAZARDS];
	bool of_program[HAZARDS];
	const struct model **hooked;
	size_t nhooked;
	bool switch_imported;
	bool jumps; /* somebody leaves functions by longjmp(): coroutines may be made of that, on pieces of one stack */
	bool cancelled; /* threads may be cancelled anywhere (pthread_setcanceltype is imported, too) */
	bool plugins;   /* libraries may come later */
	bool throws;    /* somebody's code knows exceptions, */
	bool handlers;  /* and somebody handles signals, */
	bool own_stack; /* maybe on a stack of their own */
	int switches;   /* by code of the process's own: -1 until somebody asks */
};

/* A function of which a model knows what it does with stacks is a runtime's, whatever its role. */
static bool is_user(const struct function *f)
{
	return doubts_is_user(f);
}

static bool hooked(const struct facts *facts, const struct model *model)
{
	for (size_t i = 0; i < facts->nhooked; i++)
		if (facts->hooked[i] == model)
			return true;
	return false;
}

static bool endangers(const struct facts *facts, size_t h, const struct site *site)
{
	const struct hazard *hazard = &hazards[h];
	const struct function *f = site->function;

	if (facts->imported[h] && (is_user(f) || f->marks & hazard->marks))
		return true;
	if (hazard->how & HOOKED && hooked(facts, f->model))
		return true;
	return hazard->how & PROGRAM && facts->of_program[h];
}

/* Does the site's own library run user-level threads inside? */
static bool switches_inside(const struct plan *plan, const struct site *site)
{
	for (size_t m = 0; !site->image->is_program && m < models_count(plan->models); m++)
		for (char **name = models_at(plan->models, m)->switches; name && *name; name++)
			if (image_imports(site->image, *name))
				return true;
	return false;
}

static bool switches_by_code(struct plan *plan, struct facts *facts)
{
	if (facts->switches < 0)
		facts->switches = doubts_switch_by_code(plan);
	return facts->switches;
}

/* Why a thread may go on on another stack inside the function; NULL: it cannot. */
static const char *switch_danger(struct plan *plan, struct facts *facts, const struct site *site)
{
	const struct function *f = site->function;

	if (f->marks & MARK_LEAF)
		return NULL;
	if (!(f->marks & MARK_STAYS) && switches_inside(plan, site))
		return switch_import;
	if (!is_user(f) && !(f->marks & MARK_CALLBACK))
		return NULL;
	if (facts->switch_imported)
		return switch_import;
	if (facts->jumps)
		return switch_jump;
	return switches_by_code(plan, facts) ? switch_code : NULL;
}

/* Why a signal handler could do harm; NULL: it could not. */
static const char *handler_danger(struct plan *plan, struct facts *facts, const struct site *site)
{
	if (facts->throws)
		return handler_throws;
	if (facts->switch_imported || switches_by_code(plan, facts))
		return preempted; /* on pieces of the thread's own stack calls are at home, too */
	return facts->own_stack && !plan->choosing[site->function->model->alone] ? other_stack : NULL;
}

static bool looks_back(struct site *site)
{
	if (!site->looks_back)
		site->looks_back = site_looks_back(site) ? 1 : -1;
	return site->looks_back > 0;
}

/* Why a return probe could do harm; NULL: it cannot. *stacks: because stacks are changed. */
static const char *danger(struct plan *plan, struct facts *facts, struct site *site, bool *stacks)
{
	const char *why = switch_danger(plan, facts, site);

	*stacks = why && why != switch_jump; /* what jumps is mostly an error on its way out */
	for (size_t h = 0; !why && !(site->function->marks & MARK_LEAF) && h < HAZARDS; h++)
		if (endangers(facts, h, site))
			why = hazards[h].why;
	if (!why && facts->cancelled)
		why = cancelled;
	if (!why && facts->plugins && site->function->marks & MARK_CANCEL)
		why = plugin_cancels;
	if (!why && facts->handlers) {
		why = handler_danger(plan, facts, site);
		*stacks = why == preempted;
	}
	if (!why && plan->cautious[site->function->model->alone] && !(site->function->marks & MARK_LEAF))
		why = strangers;
	if (!why && is_user(site->function) && looks_back(site))
		why = own_return;
	return why ?: plan->guarded ? filter_kills : NULL;
}

struct observed_here {
	const struct plan *plan;
	const struct image *image;
};

static bool is_observed(void *context, uint64_t offset)
{
	const struct observed_here *here = context;

	for (size_t i = 0; i < here->plan->nsites; i++)
		if (here->plan->sites[i].image == here->image && here->plan->sites[i].offset == offset)
			return true;
	return false;
}

/* Probes on the function's ends, where they can be told; else none. */
static void choose_sites(const struct plan *plan, struct site *site, bool stacks)
{
	struct observed_here here = { plan, site->image };
	struct observed observed = { is_observed, &here };

	if (!site->exits && !site->no_exits)
		site->no_exits = exits_find(site->image, &site->body, site->probe_offset, &observed, &site->exits,
					    &site->nexits);
	site->own_stacks = stacks;
	site->returns = site->no_exits ? RETURNS_NONE : RETURNS_SITES;
}

/* Of a function that jumps back to its first instruction calls are only told where a return probe follows them, and can
 * be declined at each hit. */
static void choose_whether(const struct plan *plan, struct site *site)
{
	site->left_out = site->patched;
	if (!site->rounds || site->patched)
		return;
	if (site->returns != RETURNS_TRAMPOLINE)
		site->left_out =
			"it jumps back to where it begins, and only a return probe could tell its calls from such "
			"jumps";
	else if (!plan->sessions)
		site->left_out =
			"it jumps back to where it begins, and only uprobe sessions (Linux 6.13) could tell its "
			"calls from such jumps";
}

void plan_leave_returns(const struct plan *plan, struct site *site, const char *why)
{
	choose_sites(plan, site, false);
	site->returns_why = why;
	choose_whether(plan, site);
}

static void choose_returns(struct plan *plan, struct facts *facts, struct site *site)
{
	bool stacks;
	const char *why;

	if (site->no_span || site->function->marks & (MARK_ATOMIC | MARK_OPENS)) {
		site->returns = RETURNS_NONE;
		site->returns_why = site->function->marks & MARK_ATOMIC ? "its event has no duration"
									: "another function ends what it begins";
		return;
	}
	if (site->image->language == IMAGE_GO) {
		site->returns = RETURNS_NONE;
		site->returns_why = "Go moves its stacks";
		return;
	}
	why = danger(plan, facts, site, &stacks);
	if (plan->returns == RETURNS_ALL_SITES || (plan->returns == RETURNS_AUTO && why)) {
		choose_sites(plan, site, stacks);
		site->returns_why = plan->returns == RETURNS_AUTO ? why : "asked for";
		return;
	}
	site->returns = plan->returns == RETURNS_ALL_NONE ? RETURNS_NONE : RETURNS_TRAMPOLINE;
	if (site->returns == RETURNS_TRAMPOLINE && site->aside)
		plan_place_back(site); /* the doubt was of another scope */
	if (plan->returns != RETURNS_AUTO)
		site->returns_why = "asked for";
	else
		site->returns_why = site->function->marks & MARK_LEAF ? "it calls nobody's code"
								      : "nobody unwinds or switches stacks here";
}

static int find_facts(const struct plan *plan, struct facts *facts)
{
	for (size_t h = 0; h < HAZARDS; h++) {
		bool of_program = hazards[h].how & PROGRAM;

		facts->imported[h] = of_program ? doubts_reached(plan, hazards[h].import)
						: doubts_imported(plan, hazards[h].import);
		facts->of_program[h] = of_program && doubts_of_program(plan, hazards[h].import);
		facts->cancelled |= facts->of_program[h];
	}
	facts->hooked = calloc(plan->nchosen + 1, sizeof(*facts->hooked));
	if (!facts->hooked)
		return -ENOMEM;
	for (size_t m = 0; m < models_count(plan->models); m++)
		for (char **name = models_at(plan->models, m)->switches; name && *name; name++)
			facts->switch_imported |= doubts_reached(plan, *name);
	facts->jumps = doubts_imported(plan, "longjmp") || doubts_imported(plan, "_longjmp") ||
		       doubts_imported(plan, "siglongjmp") || doubts_imported(plan, "__longjmp_chk");
	facts->cancelled &= doubts_reached(plan, "pthread_setcanceltype");
	facts->plugins = doubts_imported(plan, "dlopen") || doubts_imported(plan, "dlmopen");
	facts->throws = doubts_throws(plan);
	facts->handlers = doubts_handles_signals(plan);
	facts->own_stack = doubts_of_users(plan, "sigaltstack");
	facts->switches = -1;
	for (size_t m = 0; m < plan->nchosen; m++)
		if (doubts_hooked(plan, plan->chosen[m]))
			facts->hooked[facts->nhooked++] = plan->chosen[m];
	return 0;
}

int plan_choose_returns(struct plan *plan)
{
	struct facts facts = { 0 };
	int err = 0;

	if (doubts_begin(plan) || find_facts(plan, &facts))
		return -ENOMEM;
	for (size_t i = 0; i < plan->nsites; i++) {
		struct site *site = &plan->sites[i];

		if (site->attached && site->returns != RETURNS_TRAMPOLINE)
			continue; /* what is in stays: it does no harm */
		if (breath_ends(plan->placing.breath))
			break;
		choose_returns(plan, &facts, site);
		choose_whether(plan, site);
		site->endangered = site->attached && site->returns != RETURNS_TRAMPOLINE;
	}
	free(facts.hooked);
	for (size_t i = 0; !err && i < plan->nimages; i++)
		err = plan_place_aside(plan, plan->images[i]);
	return err ?: breath_ends(plan->placing.breath) ? -ECANCELED : 0;
}

int plan_set_choosing(struct plan *plan, bool of_files, bool of_alone)
{
	plan->choosing[false] = of_files;
	plan->choosing[true] = of_alone;
	return plan_choose_returns(plan);
}

void returns_free(struct plan *plan)
{
	doubts_free(plan);
}
