/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doubts.c - what code that the processes map could do to a call in progress: unwind it, cancel it, leave its stack.
 *
 * All objects count, as all of them may be on the stack above a call: the program, libraries of any name, plug-ins.
 * What an object could do is told by the functions it imports; by the names that it could look up at run time, where it
 * imports dlsym() and has such a name as a text; and for stacks by its code (switches.c). An object that defines such a
 * function itself (libc, the unwinder) does it when somebody asks for it, so who imports it is what counts. A runtime,
 * with its own plug-ins, does not throw through itself nor cancel its own threads: its imports count for its own
 * functions only.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/doubts.h"
#include "util/files.h"

/* What is known of an image, worked out once. */
enum { UNKNOWN, NO, YES };

struct known {
	uint8_t switches, throws;
	bool *texts; /* which of returns_work.names it has; NULL: not looked for yet */
};

struct returns_work {
	struct known *known; /* by image */
	size_t nknown;
	/* What may be looked up at run time, all of it, so that a file is read once: threads' cancellation, functions
	 * that switch stacks, and hooks of runtimes. Borrowed. */
	const char **names;
	size_t nnames;
};

static bool add_name(struct returns_work *work, const char *name)
{
	const char **grown = realloc(work->names, (work->nnames + 1) * sizeof(*grown));

	if (!grown)
		return false;
	work->names = grown;
	work->names[work->nnames++] = name;
	return true;
}

static bool add_names(struct returns_work *work, char *const names[])
{
	bool good = true;

	for (size_t i = 0; good && names && names[i]; i++)
		good = add_name(work, names[i]);
	return good;
}

static struct returns_work *new_work(const struct plan *plan)
{
	struct returns_work *work = calloc(1, sizeof(*work));
	bool good = work && add_name(work, "pthread_cancel") && add_name(work, "pthread_setcanceltype");

	for (size_t m = 0; good && m < models_count(plan->models); m++)
		good = add_names(work, models_at(plan->models, m)->switches) &&
		       add_names(work, models_at(plan->models, m)->hooks);
	if (good)
		return work;
	if (work)
		free(work->names);
	free(work);
	return NULL;
}

int doubts_begin(struct plan *plan)
{
	struct returns_work *work = plan->returns_work = plan->returns_work ?: new_work(plan);
	struct known *grown;

	if (!work)
		return -ENOMEM;
	if (work->nknown >= plan->nimages)
		return 0;
	grown = realloc(work->known, plan->nimages * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + work->nknown, 0, (plan->nimages - work->nknown) * sizeof(*grown));
	work->known = grown;
	work->nknown = plan->nimages;
	return 0;
}

void doubts_free(struct plan *plan)
{
	struct returns_work *work = plan->returns_work;

	for (size_t i = 0; work && i < work->nknown; i++)
		free(work->known[i].texts);
	if (work) {
		free(work->known);
		free(work->names);
	}
	free(work);
	plan->returns_work = NULL;
}

/* --- whose code it is --------------------------------------------------- */

bool doubts_is_user(const struct function *f)
{
	return !(f->marks & MARK_STAYS) && (f->role == ROLE_FUNCTION || f->role == ROLE_USER);
}

static bool has_runtime_site(const struct plan *plan, const struct image *image)
{
	for (size_t i = 0; i < plan->nsites; i++)
		if (plan->sites[i].image == image && !doubts_is_user(plan->sites[i].function))
			return true;
	return false;
}

/* Is it below the folder of a library of a runtime, as its plug-ins are? The usual folders for libraries are
 * everybody's. */
static bool is_plugin_of_runtime(const struct plan *plan, const struct image *image)
{
	for (size_t i = 0; i < plan->nimages; i++) {
		const struct image *runtime = plan->images[i];
		const char *base = path_base(runtime->path);
		size_t folder = base ? base - runtime->path : 0; /* with the slash */

		if (runtime == image || folder < 2 || runtime->is_program ||
		    is_library_folder(runtime->path, folder - 1))
			continue;
		if (!strncmp(image->path, runtime->path, folder) && strchr(image->path + folder, '/') &&
		    has_runtime_site(plan, runtime))
			return true;
	}
	return false;
}

static bool is_runtime(const struct plan *plan, const struct image *image)
{
	return !image->is_program && (has_runtime_site(plan, image) || is_plugin_of_runtime(plan, image));
}

/* Does the one ask the linker for the other? */
static bool needs(const struct image *image, const struct image *other)
{
	const char *name = other->soname ?: path_base(other->path);

	for (const char *at = image->needed; name && at && *at; at += strlen(at) + 1)
		if (!strcmp(at, name))
			return true;
	return false;
}

/* Marks those that are needed by one that is marked, whatever `stop` has. */
static void spread(const struct plan *plan, bool *marked, const bool *stop)
{
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < plan->nimages; i++)
			for (size_t o = 0; marked[i] && o < plan->nimages; o++)
				if (!marked[o] && !(stop && stop[o]) && needs(plan->images[i], plan->images[o]))
					more = marked[o] = true;
	}
}

/*
 * Whose are the libraries that are no runtimes themselves? The program's are those that it needs, or that one of these
 * needs, and plug-ins that need nothing of a runtime's own; a runtime's are all else that it needs, and their plug-ins.
 * *of_program: a flag for each image. False: no memory.
 */
static bool tell_sides(const struct plan *plan, bool **of_program)
{
	bool *program = calloc(plan->nimages + 1, sizeof(bool)), *runtime = calloc(plan->nimages + 1, sizeof(bool)),
	     *both = calloc(plan->nimages + 1, sizeof(bool));
	bool good = program && runtime && both;

	for (size_t i = 0; good && i < plan->nimages; i++) {
		runtime[i] = both[i] = is_runtime(plan, plan->images[i]);
		program[i] = plan->images[i]->is_program;
	}
	if (good) {
		spread(plan, program, runtime);
		spread(plan, both, program);
	}
	for (size_t i = 0; good && i < plan->nimages; i++) {
		bool of_runtime = both[i];

		for (size_t o = 0; !program[i] && !of_runtime && o < plan->nimages; o++)
			of_runtime = both[o] && !runtime[o] && needs(plan->images[i], plan->images[o]);
		program[i] |= !of_runtime;
	}
	free(runtime);
	free(both);
	*of_program = program;
	if (!good)
		free(program);
	return good;
}

/* --- what it can call --------------------------------------------------- */

/* Can it look up functions at run time? */
static bool calls_by_name(const struct image *image)
{
	return image_imports(image, "dlsym") || image_imports(image, "dlvsym");
}

/* Is the name in it, to be looked up? A name that is not of those that are looked for counts as there, as do all where
 * there is no memory to look. */
static bool looks_up(const struct plan *plan, size_t image, const char *name)
{
	struct returns_work *work = plan->returns_work;
	struct known *known = &work->known[image];
	size_t at = 0;

	if (!calls_by_name(plan->images[image]))
		return false;
	if (!known->texts && (known->texts = calloc(work->nnames, sizeof(*known->texts)))) {
		image_find_names(plan->images[image], work->names, work->nnames, known->texts);
		if (breath_ends(plan->placing.breath)) { /* it was not read to its end: another time */
			free(known->texts);
			known->texts = NULL;
		}
	}
	while (at < work->nnames && strcmp(work->names[at], name))
		at++;
	return at == work->nnames || !known->texts || known->texts[at];
}

static bool has(const struct image *image, const char *name)
{
	return image_imports(image, name) || (image->is_program && image_symbol(image, name));
}

bool doubts_imported(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->nimages; i++)
		if (has(plan->images[i], name) && !is_runtime(plan, plan->images[i]))
			return true;
	return false;
}

bool doubts_reached(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->nimages; i++)
		if (!is_runtime(plan, plan->images[i]) && (has(plan->images[i], name) || looks_up(plan, i, name)))
			return true;
	return false;
}

/* Is it the program, or does a program import a function that it defines? */
static bool is_used_by_program(const struct plan *plan, const struct image *image)
{
	for (size_t i = 0; i < plan->nimages && !image->is_program; i++)
		if (plan->images[i]->is_program && image_imports_from(plan->images[i], image))
			return true;
	return image->is_program;
}

bool doubts_of_users(const struct plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->nimages; i++)
		if (has(plan->images[i], name) && !is_runtime(plan, plan->images[i]) &&
		    is_used_by_program(plan, plan->images[i]))
			return true;
	return false;
}

bool doubts_of_program(const struct plan *plan, const char *name)
{
	bool *of_program, found = false;

	if (!doubts_reached(plan, name))
		return false;
	if (!tell_sides(plan, &of_program))
		return true;
	for (size_t i = 0; i < plan->nimages && !found; i++)
		found = of_program[i] && (has(plan->images[i], name) || looks_up(plan, i, name));
	free(of_program);
	return found;
}

bool doubts_handles_signals(const struct plan *plan)
{
	static const char *const names[] = { "sigaction", "__sigaction", "signal",        "bsd_signal",
					     "ssignal",   "sysv_signal", "__sysv_signal", "sigset" };
	bool handles = false;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		handles = handles || doubts_of_users(plan, names[i]);
	return handles;
}

/* --- exceptions --------------------------------------------------------- */

static const char *const exception_names[] = { "__gxx_personality_v0", "_Unwind_Resume", "__cxa_throw",
					       "_Unwind_RaiseException" };

/* What an unwinder asks for the tables of others with: a C++ library that was linked in statically, without a name, is
 * known by that. */
static bool has_nameless_unwinder(const struct image *image)
{
	if (image->has_symtab || !image_has_landing_pads(image))
		return false;
	return image->is_static || image_imports(image, "dl_iterate_phdr") || image_imports(image, "_dl_find_object");
}

/* Does its code know exceptions: could one come out of a function of its own? Not of the C++ library that others share,
 * unless somebody calls it. */
static bool find_exceptions(const struct image *image)
{
	for (size_t i = 0; i < sizeof(exception_names) / sizeof(exception_names[0]); i++) {
		const struct symbol *own = image_symbol(image, exception_names[i]);

		if (own && own->dynamic && !image->is_program)
			return false;
	}
	for (size_t i = 0; i < sizeof(exception_names) / sizeof(exception_names[0]); i++)
		if (image_imports(image, exception_names[i]) ||
		    (image->is_program && image_symbol(image, exception_names[i])))
			return true;
	/* A library may have a C++ library of its own. (An own _Unwind_Resume has the C library, too, for
	 * cancellation.) */
	if (image_symbol(image, "__cxa_throw") || image_symbol(image, "_Unwind_RaiseException"))
		return true;
	return has_nameless_unwinder(image);
}

static bool knows_exceptions(const struct plan *plan, size_t image)
{
	uint8_t *throws = &plan->returns_work->known[image].throws;

	if (*throws == UNKNOWN)
		*throws = find_exceptions(plan->images[image]) ? YES : NO;
	return *throws == YES;
}

/* One that shows others its C++ library, and uses it itself. */
static bool shows_exceptions(const struct image *image)
{
	return image_symbol(image, "__cxa_throw") != NULL;
}

/* Could code of `thrower` run inside of a function that `hooker` has given away? */
static bool may_be_called_by(const struct plan *plan, const struct image *thrower, const struct image *hooker)
{
	return thrower == hooker || image_imports_from(hooker, thrower) || image_imports_from(thrower, hooker) ||
	       is_used_by_program(plan, thrower);
}

static bool is_wrapper_of(const struct model *model, const struct image *image)
{
	return model_wraps_in_file(model, image->soname, path_base(image->path));
}

static bool imports_hooks(const struct plan *plan, size_t image, const struct model *model)
{
	for (char **hook = model->hooks; hook && *hook; hook++)
		if (image_imports(plan->images[image], *hook))
			return !is_plugin_of_runtime(plan, plan->images[image]) &&
			       !is_wrapper_of(model, plan->images[image]);
	return false;
}

/* A program that chooses its runtime when it runs imports none of its functions: it asks for them by their names. */
static bool looks_up_hooks(const struct plan *plan, size_t image, const struct model *model)
{
	if (is_runtime(plan, plan->images[image]) || is_wrapper_of(model, plan->images[image]))
		return false;
	for (char **hook = model->hooks; *hook; hook++)
		if (looks_up(plan, image, *hook))
			return true;
	return false;
}

/* Could an exception come out of what this image gives to a runtime? */
static bool may_throw_in_hooks(const struct plan *plan, const struct image *hooker)
{
	if (shows_exceptions(hooker))
		return true;
	for (size_t t = 0; t < plan->nimages; t++)
		if (knows_exceptions(plan, t) && may_be_called_by(plan, plan->images[t], hooker))
			return true;
	return false;
}

bool doubts_hooked(const struct plan *plan, const struct model *model)
{
	if (!model->hooks || !*model->hooks)
		return false;
	for (size_t h = 0; h < plan->nimages; h++)
		if (imports_hooks(plan, h, model) && may_throw_in_hooks(plan, plan->images[h]))
			return true;
	/* What takes longer comes last. */
	for (size_t h = 0; h < plan->nimages; h++)
		if (calls_by_name(plan->images[h]) && may_throw_in_hooks(plan, plan->images[h]) &&
		    looks_up_hooks(plan, h, model))
			return true;
	return false;
}

bool doubts_throws(const struct plan *plan)
{
	for (size_t i = 0; i < plan->nimages; i++)
		if (knows_exceptions(plan, i) && !is_runtime(plan, plan->images[i]) &&
		    is_used_by_program(plan, plan->images[i]))
			return true;
	return false;
}

/* --- stacks ------------------------------------------------------------- */

/* It changes stacks when somebody calls it by a name that is known. */
static bool does_it_by_name(const struct plan *plan, const struct image *image)
{
	for (size_t m = 0; m < models_count(plan->models); m++)
		for (char **name = models_at(plan->models, m)->switches; name && *name; name++)
			if (image_symbol(image, *name))
				return true;
	return image_symbol(image, "_Unwind_RaiseException") || image_symbol(image, "_dl_debug_state");
}

bool doubts_switch_by_code(struct plan *plan)
{
	struct returns_work *work = plan->returns_work;

	for (size_t i = 0; i < plan->nimages; i++) {
		const struct image *image = plan->images[i];

		if (image->language == IMAGE_GO)
			return true;
		if (!image->is_program && does_it_by_name(plan, image))
			continue;
		if (work->known[i].switches == UNKNOWN)
			work->known[i].switches = image_switches_stacks(image) ? YES : NO;
		if (work->known[i].switches == YES)
			return true;
	}
	return false;
}
