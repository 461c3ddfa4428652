/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attach.c - puts the plan's sites into the kernel: programs into the probe table, probes into files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "meaning/value.h"
#include "observe.skel.h"
#include "probe/kernel_private.h"
#include "util/clock.h"
#include "util/log.h"

/* Can a call of this kind be in progress for long? Then it is worth a look where it came from, leaf or not. */
static bool may_wait(enum role role)
{
	return role == ROLE_ACQUIRE || role == ROLE_BARRIER || role == ROLE_WAIT;
}

/* Where the code of its file begins, seen from the probe, and how long it is: the program's own code is not in it, or
 * the length is 0. */
static void tell_code(struct gb_probe *program, const struct site *site)
{
	uint64_t low = UINT64_MAX, high = 0, at = 0;
	const struct code_segment *code;
	size_t count;

	if (site_is_in_program(site))
		return;
	code = image_code(site->image, &count);
	for (size_t i = 0; i < count; i++) {
		low = code[i].address < low ? code[i].address : low;
		high = code[i].address + code[i].size > high ? code[i].address + code[i].size : high;
		if (site->probe_offset - code[i].offset < code[i].size)
			at = code[i].address + site->probe_offset - code[i].offset;
	}
	if (at < low || high - low > UINT32_MAX)
		return;
	program->code_below = at - low;
	program->code_size = high - low;
}

/* Elsewhere than on top of a return address a return probe would overwrite what the function keeps there, whatever was
 * decided. */
static enum returns how_returns(const struct site *site)
{
	return site->returns == RETURNS_TRAMPOLINE && site->pushed ? RETURNS_NONE : site->returns;
}

/* The site's capture program, with what only the plan knows. */
static struct gb_probe site_program(const struct kernel *kernel, const struct site *site)
{
	const struct capture *capture = &site->captures[0];
	struct gb_probe program = capture->program;
	unsigned marks = site->function->marks;

	program.pushed = site->pushed;
	if (site->rounds) /* whose part of memory it is about may be another in each round */
		memset(program.near, 0, sizeof(program.near));
	program.out_at = site->out_at;
	program.rounds = site->rounds;
	if (site->left_out)
		program.skip = GB_SKIP_ALL;
	else if (site->level.level != LEVEL_ALL)
		program.skip = site->level.level == LEVEL_OUT ? GB_SKIP_ALL : site->level.every - 1;
	if (site->withdrawn) { /* on its way out, and so not even counted: like a round of a function that is skipped */
		program.skip = GB_SKIP_ALL;
		program.rounds = true;
	}
	program.wary = how_returns(site) == RETURNS_TRAMPOLINE && !(marks & MARK_LEAF);
	program.return_slots = 0;
	for (size_t v = 0; v < capture->nvalues; v++)
		if (capture->values[v].at_return && !capture->values[v].unobservable && !capture->values[v].constant)
			program.return_slots |= 1U << capture->values[v].slot;
	if (marks & MARK_OPENS)
		program.flags |= GB_PROBE_OPENS | GB_PROBE_CALLER;
	else if (marks & MARK_ATOMIC || how_returns(site) == RETURNS_NONE)
		program.flags |= GB_PROBE_NO_RETURN | GB_PROBE_CALLER;
	else if (site->returns == RETURNS_SITES)
		program.flags |= GB_PROBE_EXITS | GB_PROBE_CALLER | (site->own_stacks ? GB_PROBE_STACKS : 0);
	if (site->function->role == ROLE_EXIT ||
	    (kernel->callers && (!(marks & MARK_LEAF) || may_wait(site->function->role))))
		program.flags |= GB_PROBE_CALLER;
	if (site->no_span) {
		program.flags |= GB_PROBE_CLOSES;
		program.opener = site->closes;
	}
	if (site->withdrawn)
		program.flags |= GB_PROBE_NO_RETURN;
	if (site->sampled || site->withdrawn)
		program.flags |= GB_PROBE_SAMPLED;
	if (site->level.level == LEVEL_SUMMED || kernel->sums)
		program.flags |= GB_PROBE_SUMMED;
	program.runtime = site->runtime;
	program.calls_back = !!(marks & MARK_CALLBACK);
	program.happens = !site_may_be_inner(site);
	tell_code(&program, site);
	return program;
}

/* How its calls' payload is summed. */
static int attach_amounts(struct kernel *kernel, const struct site *site)
{
	const struct capture *capture = &site->captures[0];
	int fd = bpf_map__fd(kernel->observe->maps.amounts);
	struct gb_amounts amounts = { 0 };

	if (!site->no_span)
		payload_amounts(site->function->role, capture->values, capture->nvalues, &amounts);
	return bpf_map_update_elem(fd, &site->id, &amounts, BPF_ANY) ? -errno : 0;
}

int attach_program(struct kernel *kernel, const struct site *site)
{
	struct gb_probe program = site_program(kernel, site);
	int fd = bpf_map__fd(kernel->observe->maps.probes), err = kernel->sums ? attach_amounts(kernel, site) : 0;

	if (err)
		return err;
	return bpf_map_update_elem(fd, &site->id, &program, BPF_ANY) ? -errno : 0;
}

#define REFUSED (-524) /* ENOTSUPP: the kernel cannot put a probe on this instruction; not in errno.h */

/* Parallel arrays for one link. */
struct batch {
	struct link_request request;
	unsigned long *offsets;
	uint64_t *cookies;
	size_t room;
};

static int batch_add(struct batch *b, uint64_t offset, uint64_t cookie)
{
	if (b->request.count == b->room) {
		size_t room = b->room ? b->room * 2 : 64;
		unsigned long *offsets = realloc(b->offsets, room * sizeof(*offsets));
		uint64_t *cookies;

		if (!offsets)
			return -ENOMEM;
		b->offsets = offsets;
		cookies = realloc(b->cookies, room * sizeof(*cookies));
		if (!cookies)
			return -ENOMEM;
		b->cookies = cookies;
		b->room = room;
	}
	b->offsets[b->request.count] = offset;
	b->cookies[b->request.count++] = cookie;
	b->request.offsets = b->offsets;
	b->request.cookies = b->cookies;
	return 0;
}

static void batch_drop(struct batch *b, size_t at)
{
	b->request.count--;
	memmove(&b->offsets[at], &b->offsets[at + 1], (b->request.count - at) * sizeof(*b->offsets));
	memmove(&b->cookies[at], &b->cookies[at + 1], (b->request.count - at) * sizeof(*b->cookies));
}

/* One link stands or falls as a whole. Finds, by halves, an instruction that the kernel refuses. */
static size_t find_refused(struct kernel *kernel, const struct link_request *request)
{
	size_t low = 0, high = request->count, before = kernel->nlinks;

	while (high - low > 1) {
		struct link_request half = *request;

		half.offsets += low;
		half.cookies += low;
		half.count = (high - low) / 2;
		if (link_attach(kernel, &half) == REFUSED)
			high = low + half.count;
		else
			low += half.count;
		link_remove_from(kernel, before, NULL);
	}
	return low;
}

static int attach_all_but_refused(struct kernel *kernel, const struct plan *plan, struct batch *b)
{
	int err;

	while ((err = b->request.count ? link_attach(kernel, &b->request) : 0) == REFUSED) {
		size_t bad = find_refused(kernel, &b->request);

		log_warn("%s is not observed%s: the kernel cannot put a probe on the instruction at 0x%lx",
			 plan->sites[(uint32_t)b->cookies[bad]].function->symbol,
			 b->request.kind == LINK_EXITS ? " to its end" : "", b->offsets[bad]);
		batch_drop(b, bad);
	}
	return err;
}

static bool call_only(const struct site *site)
{
	return site->no_span || how_returns(site) != RETURNS_TRAMPOLINE ||
	       site->function->marks & (MARK_ATOMIC | MARK_OPENS);
}

static bool has_exits(const struct site *site)
{
	return site->returns == RETURNS_SITES && !site->no_span &&
	       !(site->function->marks & (MARK_ATOMIC | MARK_OPENS));
}

bool attach_leaves_out(const struct kernel *kernel, const struct attach_scope *scope, const struct site *site)
{
	return site->uncalled && !scope->all_symbols && kernel->rung == RUNG_PERF;
}

/* What of the plan is to be put in now, and for whom. */
struct wanted {
	const struct plan *plan;
	const struct attach_scope *scope;
	const struct image *image;
	const struct site *only; /* NULL: all */
	bool endangered;         /* only those whose return probes have become dangerous */
	uint32_t first;          /* sites from here on ... */
	uint32_t before;         /* ... up to here; 0: all, and late ones */
	pid_t pid;
};

static bool wants(const struct kernel *kernel, const struct wanted *w, const struct site *site)
{
	if ((w->only && site != w->only) || (w->endangered && !site->endangered) || site->level.level == LEVEL_OUT ||
	    site->crowded || site->avoided)
		return false;
	if (site->left_out || (site->no_span && site->closes != NO_SITE && w->plan->sites[site->closes].left_out))
		return false;
	if (w->before && (site->id >= w->before || !site->attached))
		return false;
	if (site->withdrawn || plan_has_withdrawn(w->plan, site->function))
		return false;
	/* No inode: the file was written over, its sites are of what was there before (attach_forget_image). */
	return site->image == w->image && site->image->inode && (site->id >= w->first || site->late) &&
	       !(site->no_span && site->closes == NO_SITE) && !attach_leaves_out(kernel, w->scope, site);
}

/* Has the link of this kind something of this site? */
static bool takes_part(const struct site *site, int kind)
{
	return kind == LINK_EXITS ? has_exits(site) : call_only(site) == (kind == LINK_CALLS);
}

static int add_to_batch(struct kernel *kernel, struct batch *b, const struct site *site)
{
	int err;

	if (b->request.kind != LINK_EXITS) {
		err = attach_program(kernel, site);
		return err ?: batch_add(b, site->probe_offset, site->id);
	}
	if (site->own_stacks)
		kernel_use_stacks(kernel);
	err = 0;
	for (size_t i = 0; !err && i < site->nexits; i++)
		err = batch_add(b, site->exits[i].offset, site->id | (uint64_t)site->exits[i].how << 32);
	return err;
}

/* A link for this site alone. */
static int attach_apart(struct kernel *kernel, const struct plan *plan, const struct site *site,
			struct link_request request)
{
	struct batch b = { .request = request };
	int err;

	b.request.apart = true;
	err = add_to_batch(kernel, &b, site);
	if (!err)
		err = attach_all_but_refused(kernel, plan, &b);
	free(b.offsets);
	free(b.cookies);
	return err;
}

/* The sites of one image whose probes are of one kind: those that may have to come out before all others have a link
 * of their own. */
static int attach_part(struct kernel *kernel, const struct wanted *w, int kind, bool withdraws)
{
	const struct link_request request = {
		.file_fd = w->image->fd, .pid = w->pid, .kind = kind, .withdraws = withdraws
	};
	struct batch b = { .request = request };
	const struct plan *plan = w->plan;
	int err = 0;

	for (size_t i = 0; !err && i < plan->nsites; i++) {
		const struct site *site = &plan->sites[i];

		if (!takes_part(site, kind) || !wants(kernel, w, site) ||
		    plan_may_withdraw(plan, site->function) != withdraws)
			continue;
		err = w->scope->apart && !site->uncalled ? attach_apart(kernel, plan, site, request)
							 : add_to_batch(kernel, &b, site);
	}
	if (!err)
		err = attach_all_but_refused(kernel, plan, &b);
	free(b.offsets);
	free(b.cookies);
	return err;
}

static int attach_kind(struct kernel *kernel, const struct wanted *w, int kind)
{
	int err = attach_part(kernel, w, kind, false);

	return err ?: attach_part(kernel, w, kind, true);
}

static int attach_wanted(struct kernel *kernel, const struct wanted *w)
{
	int err;

	if (!w->pid && kernel->let_go)
		return 0; /* they go in with all others (attach_put_back) */
	/* The ends first: a call whose end is not watched would stay open for ever. */
	err = attach_kind(kernel, w, LINK_EXITS);

	if (!err)
		err = attach_kind(kernel, w, LINK_SPANS);
	if (!err)
		err = attach_kind(kernel, w, LINK_CALLS);
	if (err == -ESRCH)
		log_info("%d: ended before its probes were in", w->pid);
	else if (err)
		log_error("%s: cannot put probes in: %s: see 'gaspbpf doctor'", log_safe(w->image->path),
			  strerror(-err));
	return err;
}

/* Do all sites of the image belong to models that join alone? */
static bool only_alone(const struct plan *plan, const struct image *image)
{
	for (size_t i = 0; i < plan->nsites; i++)
		if (plan->sites[i].image == image && !plan->sites[i].function->model->alone)
			return false;
	return true;
}

bool attach_for_everybody(const struct plan *plan, const struct image *image, const struct attach_scope *scope)
{
	return only_alone(plan, image) ? scope->file_alone : scope->file;
}

/* For everybody, or for each process of the scope. */
static int attach_for_all(struct kernel *kernel, struct wanted w)
{
	if (attach_for_everybody(w.plan, w.image, w.scope))
		return attach_wanted(kernel, &w);
	for (size_t p = 0; p < w.scope->npids; p++) {
		int err;

		w.pid = w.scope->pids[p];
		err = attach_wanted(kernel, &w);
		if (err && err != -ESRCH)
			return err;
	}
	return 0;
}

int attach_again(struct kernel *kernel, const struct plan *plan, const struct site *site,
		 const struct attach_scope *scope)
{
	struct wanted w = { .plan = plan, .scope = scope, .image = site->image, .only = site };

	return attach_for_all(kernel, w);
}

/* --- out for good ------------------------------------------------------ */

bool attach_withdraw(struct kernel *kernel, struct plan *plan, uint64_t *since)
{
	bool some = false;

	for (size_t i = 0; i < plan->nsites; i++) {
		struct site *site = &plan->sites[i];

		if (site->withdrawn || !plan_has_withdrawn(plan, site->function))
			continue;
		some |= site->attached;
		site->withdrawn = true;
		site->out_at = clock_monotonic();
		if (site->attached)
			attach_program(kernel, site);
	}
	*since = clock_monotonic();
	if (some)
		dismiss_withdrawn(kernel);
	return some;
}

/* --- all out for a while ----------------------------------------------- */

void attach_let_go(struct kernel *kernel, struct plan *plan, const struct attach_scope *scope)
{
	size_t kept = 0;

	kernel->let_go = true;
	for (size_t i = 0; i < plan->nsites; i++) {
		struct site *site = &plan->sites[i];

		if (!site->attached || !attach_for_everybody(plan, site->image, scope))
			continue;
		site->out_at = clock_monotonic(); /* calls in progress end here: their returns are not seen */
		attach_program(kernel, site);
	}
	for (size_t i = 0; i < kernel->nlinks; i++) {
		struct held_link link = kernel->links[i];

		if (link.pid) {
			kernel->links[i] = kernel->links[kept];
			kernel->links[kept++] = link;
		}
	}
	link_remove_from(kernel, kept, NULL);
}

int attach_put_back(struct kernel *kernel, struct plan *plan, const struct attach_scope *scope)
{
	int err = 0;

	kernel->let_go = false;
	neighbours_lock(kernel);
	for (size_t i = 0; !err && i < plan->nimages; i++) {
		struct wanted w = { .plan = plan, .scope = scope, .image = plan->images[i], .before = plan->nsites };

		if (attach_for_everybody(plan, plan->images[i], scope))
			err = attach_wanted(kernel, &w);
	}
	neighbours_unlock(kernel);
	return err;
}

/* --- exchange ---------------------------------------------------------- */

static bool has_endangered(const struct plan *plan, const struct image *image)
{
	for (size_t i = 0; i < plan->nsites; i++)
		if (plan->sites[i].image == image && plan->sites[i].endangered)
			return true;
	return false;
}

/* Takes the links of one image out, but those of the linker's sign. Their processes, each once, are left in `pids`,
 * which has room for all. */
static size_t take_out(struct kernel *kernel, const struct image *image, pid_t *pids)
{
	size_t kept = 0, npids = 0, all = kernel->nlinks;

	for (size_t i = 0; i < all; i++) {
		struct held_link link = kernel->links[i];
		size_t p = 0;

		if (link.file_fd != image->fd || !link.probes) {
			kernel->links[i] = kernel->links[kept];
			kernel->links[kept++] = link;
			continue;
		}
		if (!link.pid) { /* then for everybody, and nobody else */
			pids[0] = 0;
			npids = 1;
		}
		if (npids && !pids[0])
			continue;
		while (p < npids && pids[p] != link.pid)
			p++;
		if (p == npids)
			pids[npids++] = link.pid;
	}
	link_remove_from(kernel, kept, NULL);
	return npids;
}

/*
 * A library that came later (dlopen) can throw, or switch stacks: return probes that were harmless until now come out,
 * and other probes go in. Calls in progress lose their end.
 */
static int exchange(struct kernel *kernel, struct plan *plan, const struct image *image, uint32_t first,
		    const struct attach_scope *scope)
{
	pid_t *pids = calloc(kernel->nlinks + 1, sizeof(*pids));
	size_t npids = pids ? take_out(kernel, image, pids) : 0;
	int err = pids ? 0 : -ENOMEM;

	for (size_t i = 0; i < plan->nsites; i++) {
		struct site *site = &plan->sites[i];

		if (site->image != image)
			continue;
		site->endangered = false;
		site->shares = site->attached && scope->apart && site->uncalled;
	}
	for (size_t p = 0; !err && p < npids; p++) {
		struct wanted w = { .plan = plan, .scope = scope, .image = image, .before = first, .pid = pids[p] };

		err = attach_wanted(kernel, &w);
		if (err == -ESRCH)
			err = 0;
	}
	free(pids);
	return err;
}

/*
 * The same where nothing has to come out: a link for everybody on a session asks its program at each call whether the
 * return is wanted, and the program looks at what it is told here. So no call is missed meanwhile. Calls in progress
 * keep the return probe that they have.
 */
static int decline(struct kernel *kernel, struct plan *plan, const struct image *image, uint32_t first,
		   const struct attach_scope *scope)
{
	const struct wanted w = { .plan = plan, .scope = scope, .image = image, .before = first, .endangered = true };
	int err = kernel->let_go ? 0
				 : attach_kind(kernel, &w,
					       LINK_EXITS); /* first: a call whose end is not watched would stay open */

	for (size_t i = 0; !err && i < plan->nsites; i++) {
		struct site *site = &plan->sites[i];

		if (site->image != image || !site->endangered)
			continue;
		err = attach_program(kernel, site);
		site->endangered = false;
	}
	return err;
}

static int exchange_endangered(struct kernel *kernel, struct plan *plan, uint32_t first,
			       const struct attach_scope *scope)
{
	size_t count = 0;
	int err = 0;

	for (size_t i = 0; i < plan->nsites; i++)
		count += plan->sites[i].endangered;
	for (size_t i = 0; !err && i < plan->nimages; i++)
		if (has_endangered(plan, plan->images[i]))
			err = (kernel->rung == RUNG_SESSION && attach_for_everybody(plan, plan->images[i], scope)
				       ? decline
				       : exchange)(kernel, plan, plan->images[i], first, scope);
	if (count)
		log_info("%zu return probes have been exchanged: a library that came later makes them dangerous",
			 count);
	return err;
}

/* Can a call of it be missed: was it asked for, or does something import it? */
static bool is_wanted(const struct plan *plan, const struct site *site)
{
	bool imported = site->function->role == ROLE_USER || !strcmp(site->function->model->name, USER_MODEL);

	for (size_t i = 0; i < plan->nimages && !imported; i++)
		imported = image_imports(plan->images[i], site->function->symbol);
	return imported;
}

static void say_left_out(struct plan *plan)
{
	for (size_t i = 0; i < plan->nsites; i++) {
		struct site *site = &plan->sites[i];

		if (!site->left_out || site->said_left_out)
			continue;
		site->said_left_out = true;
		if (is_wanted(plan, site))
			log_warn("%s is not observed: %s", log_safe(site->function->symbol), site->left_out);
		else
			log_info("%s is not observed: %s", log_safe(site->function->symbol), site->left_out);
	}
}

static int attach_new(struct kernel *kernel, struct plan *plan, uint32_t first, const struct attach_scope *scope)
{
	uint64_t start = clock_monotonic();
	int exchanged = exchange_endangered(kernel, plan, first, scope);
	size_t before = kernel->nlinks, probes = attach_count(kernel);

	if (!exchanged)
		exchanged = neighbours_settle(kernel, plan, scope);
	if (exchanged)
		return exchanged;
	say_left_out(plan);
	for (size_t i = 0; i < plan->nimages; i++) {
		struct wanted w = { .plan = plan, .scope = scope, .image = plan->images[i], .first = first };
		int err = attach_for_all(kernel, w);

		if (err) {
			link_remove_from(kernel, before, NULL);
			return err;
		}
	}
	for (size_t i = 0; i < plan->nsites; i++) {
		struct site *site = &plan->sites[i];
		bool was = site->attached;

		site->late = false;
		site->attached = !attach_leaves_out(kernel, scope, site) && !site->crowded && !site->left_out;
		site->shares = site->attached && (was ? site->shares : scope->apart && site->uncalled);
		if (!site->image->probed_ns)
			site->image->probed_ns = clock_monotonic();
	}
	log_info("%zu probes put in in %.1f ms", attach_count(kernel) - probes, (clock_monotonic() - start) / 1e6);
	return 0;
}

int attach_sites(struct kernel *kernel, struct plan *plan, uint32_t first, const struct attach_scope *scope)
{
	int err;

	neighbours_lock(kernel);
	err = attach_new(kernel, plan, first, scope);
	neighbours_unlock(kernel);
	return err;
}

static int attach_own(struct kernel *kernel, struct plan *plan, pid_t pid, const struct attach_scope *scope)
{
	for (size_t i = 0; i < plan->nimages; i++) {
		struct wanted w = { .plan = plan, .scope = scope, .image = plan->images[i], .pid = pid };
		int err;

		if (attach_for_everybody(plan, plan->images[i], scope))
			continue;
		neighbours_mark(kernel, plan, w.image, pid);
		err = attach_wanted(kernel, &w);
		neighbours_unmark(plan);
		if (err)
			return err;
	}
	return 0;
}

int attach_process(struct kernel *kernel, struct plan *plan, pid_t pid, const struct attach_scope *scope)
{
	int err;

	neighbours_lock(kernel);
	err = attach_own(kernel, plan, pid, scope);
	neighbours_unlock(kernel);
	return err;
}

void attach_remove_all(struct kernel *kernel, void (*progress)(size_t done, size_t all))
{
	link_remove_from(kernel, 0, progress);
	dismiss_wait(kernel);
}

void attach_wait_removed(struct kernel *kernel)
{
	dismiss_wait(kernel);
}

bool attach_is_for(const struct kernel *kernel, pid_t pid)
{
	for (size_t i = 0; i < kernel->nlinks; i++)
		if (kernel->links[i].pid == pid)
			return true;
	return false;
}

size_t attach_count(const struct kernel *kernel)
{
	size_t probes = 0;

	for (size_t i = 0; i < kernel->nlinks; i++)
		probes += kernel->links[i].probes;
	return probes;
}
