/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * neighbours.c - other observers of the same functions.
 *
 * The kernel calls all probes of an instruction in every process that has a breakpoint there. A return probe that is
 * meant for one process is called in others, too, where somebody else's breakpoint is on its instruction; its program
 * does not run there, but the trampoline is set, and nobody has asked whether it does harm in that process. So two
 * observers, each harmless alone, kill a program together.
 *
 * Therefore we look at the kernel's links before probes go in (bpf/neighbours.bpf.c). Where others have a probe:
 *
 *   - our return probe for single processes does not go onto an instruction where somebody else has a breakpoint: ends
 * are seen by the function's last instructions there;
 *   - our breakpoint does not go onto an instruction where somebody has a return probe for other processes than ours:
 * it goes to another instruction, and where there is none, the function is left out.
 *
 * So an observer that came before us need not know of us. Two that start at the same time take turns (a lock file).
 * Links of perf events, as before Linux 6.6, are not seen.
 *
 * The same list tells which file a file on an overlay is for the kernel: two containers may share it (breakpoints.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "gaspbpf/neighbours.h"
#include "neighbours.skel.h"
#include "observe.skel.h"
#include "process.skel.h"
#include "probe/heap.h"
#include "probe/kernel_private.h"
#include "probe/plan_private.h"
#include "util/array.h"
#include "util/files.h"
#include "util/iterator.h"
#include "util/log.h"

#define LOCK_FILE "/run/gaspbpf.lock"
#define LOCK_TRIES 200 /* a hundredth of a second each */

static const char why[] = "another observer has probes on it";

struct real_file {
	uint64_t device, inode;           /* as file_identity() says */
	uint64_t real_device, real_inode; /* where the kernel's probes are */
};

struct neighbours {
	struct neighbours_bpf *skeleton; /* NULL: the kernel does not tell */
	struct real_file *real;
	size_t nreal, room;
	int lock;
	bool said;
};

/* A probe of somebody else in a file. */
struct other {
	uint64_t offset;
	pid_t pid;
	bool returns;
};

/* The words of the iterator as they come, and what is kept of them. */
struct reading {
	uint64_t device, inode; /* only of this file; 0: all */
	struct gb_neighbour head;
	size_t have;   /* words of the head so far */
	uint32_t rest; /* offsets of it that are still to come */
	struct other *others;
	size_t count, room;
	bool failed;
};

static uint32_t program_id(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	return bpf_program__fd(program) < 0 || bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) ? 0
													      : info.id;
}

static struct neighbours_bpf *load(const struct kernel *kernel)
{
	const struct observe_bpf *o = kernel->observe;
	const struct bpf_program *own[] = { o->progs.session, o->progs.call, o->progs.leave, o->progs.last,
					    kernel->process->progs.linker };
	struct neighbours_bpf *skeleton = neighbours_bpf__open();

	for (size_t i = 0; skeleton && i < sizeof(own) / sizeof(own[0]); i++)
		skeleton->rodata->own[i] = program_id(own[i]);
	if (skeleton && (object_is_whole(skeleton->obj) || neighbours_bpf__load(skeleton) ||
			 variables_are_mapped(skeleton->rodata, skeleton->bss))) {
		neighbours_bpf__destroy(skeleton);
		skeleton = NULL;
	}
	if (!skeleton)
		log_debug("the kernel does not tell of others' probes");
	return skeleton;
}

static struct neighbours *neighbours_of(struct kernel *kernel)
{
	struct neighbours *n = kernel->neighbours;

	if (n || !kernel->process)
		return n;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->lock = open(LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	n->skeleton = kernel->rung == RUNG_PERF ? NULL
						: load(kernel); /* where those are known, there is another rung */
	heap_release();                                         /* it was the last object */
	kernel->neighbours = n;
	return n;
}

void neighbours_free(struct kernel *kernel)
{
	struct neighbours *n = kernel->neighbours;

	if (!n)
		return;
	neighbours_bpf__destroy(n->skeleton);
	if (n->lock >= 0)
		close(n->lock);
	free(n->real);
	free(n);
}

bool neighbours_prepare(struct kernel *kernel)
{
	return neighbours_of(kernel);
}

bool neighbours_tell(struct kernel *kernel)
{
	const struct neighbours *n = kernel->neighbours;
	int fd = n && n->skeleton ? iterator_open(n->skeleton->progs.neighbours) : -1;

	if (fd >= 0)
		close(fd);
	return !n || !n->skeleton || fd >= 0;
}

void neighbours_lock(struct kernel *kernel)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct neighbours *n = neighbours_of(kernel);

	for (int i = 0;
	     n && n->lock >= 0 && i < LOCK_TRIES && flock(n->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK; i++)
		nanosleep(&pause, NULL);
}

void neighbours_unlock(struct kernel *kernel)
{
	struct neighbours *n = kernel->neighbours;

	if (n && n->lock >= 0)
		flock(n->lock, LOCK_UN);
}

/* --- the kernel's list --------------------------------------------------- */

static uint64_t device_of(const struct gb_neighbour *head)
{
	return makedev(head->device >> 20, head->device & 0xfffff);
}

static void take_word(void *context, const void *word)
{
	struct reading *r = context;
	struct other *other;

	if (!r->rest) {
		memcpy((char *)&r->head + r->have * sizeof(uint64_t), word, sizeof(uint64_t));
		if (++r->have < sizeof(r->head) / sizeof(uint64_t))
			return;
		r->have = 0;
		r->rest = r->head.count;
		return;
	}
	r->rest--;
	if (r->inode && (r->head.inode != r->inode || device_of(&r->head) != r->device))
		return;
	if (array_one_more(&r->others, &r->room, r->count, sizeof(*r->others))) {
		r->failed = true;
		return;
	}
	other = &r->others[r->count++];
	memcpy(&other->offset, word, sizeof(other->offset));
	other->pid = r->head.pid;
	other->returns = r->head.returns;
}

_Static_assert(sizeof(struct gb_neighbour) % sizeof(uint64_t) == 0, "it is read in words");

static void read_list(struct neighbours *n, struct reading *r)
{
	int fd = iterator_open(n->skeleton->progs.neighbours);

	if (fd < 0 || iterator_read(fd, sizeof(uint64_t), take_word, r))
		r->failed = true;
}

/* A link that never acts, for ourselves only: the kernel's list tells which file it is in. */
static int look_below(struct kernel *kernel, int file_fd, struct real_file *file)
{
	struct neighbours *n = kernel->neighbours;
	struct reading r = { 0 };
	struct bpf_link_info info = { 0 };
	uint32_t size = sizeof(info);
	int fd = link_for_nobody(kernel, file_fd);

	if (fd < 0)
		return fd;
	if (!bpf_obj_get_info_by_fd(fd, &info, &size)) {
		n->skeleton->bss->wanted = info.id;
		read_list(n, &r);
		n->skeleton->bss->wanted = 0;
	}
	close(fd);
	if (r.failed || !r.count)
		r.head.inode = 0;
	free(r.others);
	if (!r.head.inode)
		return -ENOENT;
	file->real_device = device_of(&r.head);
	file->real_inode = r.head.inode;
	return 0;
}

int neighbours_identity(struct kernel *kernel, int fd, uint64_t *device, uint64_t *inode)
{
	struct neighbours *n = kernel->neighbours;
	struct statfs system;
	struct real_file file;
	int err = file_identity(fd, device, inode);

	if (err || !n || !n->skeleton || kernel->rung == RUNG_PERF || fstatfs(fd, &system) ||
	    (uint32_t)system.f_type != OVERLAYFS_SUPER_MAGIC)
		return err;
	for (size_t i = 0; i < n->nreal; i++) {
		if (n->real[i].device != *device || n->real[i].inode != *inode)
			continue;
		*device = n->real[i].real_device;
		*inode = n->real[i].real_inode;
		return 0;
	}
	file = (struct real_file){ .device = *device, .inode = *inode };
	if (look_below(kernel, fd, &file) || array_one_more(&n->real, &n->room, n->nreal, sizeof(*n->real)))
		return 0;
	n->real[n->nreal++] = file;
	*device = file.real_device;
	*inode = file.real_inode;
	return 0;
}

/* --- keeping out of each other's way ----------------------------------------- */

/* Whom our probe is for. */
struct whom {
	bool everybody;
	const pid_t *pids;
	size_t npids;
};

static bool is_among(const struct whom *whom, pid_t pid)
{
	for (size_t i = 0; i < whom->npids; i++)
		if (whom->pids[i] == pid)
			return true;
	return false;
}

/* Would its return probe act where our breakpoint is, in a process that is not its own? */
static bool would_return(const struct other *other, const struct whom *whom)
{
	return other->returns && other->pid && (whom->everybody || whom->npids != 1 || !is_among(whom, other->pid));
}

static bool returns_there(const struct reading *r, const struct whom *whom, uint64_t offset)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->others[i].offset == offset && would_return(&r->others[i], whom))
			return true;
	return false;
}

/* Would our return probe act where somebody else's breakpoint is? Ours for everybody is asked about each call, and can
 * decline. */
static bool is_met(const struct reading *r, const struct whom *whom, uint64_t offset)
{
	for (size_t i = 0; !whom->everybody && i < r->count; i++)
		if (r->others[i].offset == offset &&
		    (!r->others[i].pid || whom->npids != 1 || !is_among(whom, r->others[i].pid)))
			return true;
	return false;
}

static bool ends_there(const struct reading *r, const struct whom *whom, const struct site *site)
{
	for (size_t i = 0; site->returns == RETURNS_SITES && i < site->nexits; i++)
		if (returns_there(r, whom, site->exits[i].offset))
			return true;
	return false;
}

static bool is_crowded(const struct reading *r, const struct whom *whom, const struct site *site)
{
	return returns_there(r, whom, site->probe_offset) || ends_there(r, whom, site) ||
	       (site->returns == RETURNS_TRAMPOLINE && is_met(r, whom, site->probe_offset));
}

/* The user knows of the other observers, and that all programs on these files bear return probes. */
static bool are_ignored(void)
{
	const char *others = getenv("GASPBPF_OTHERS");

	return others && !strcmp(others, "ignore");
}

static struct reading others_in(struct kernel *kernel, const struct image *image)
{
	struct neighbours *n = neighbours_of(kernel);
	struct reading r = { 0 };

	if (n && n->skeleton && !are_ignored() && image->inode &&
	    !neighbours_identity(kernel, image->fd, &r.device, &r.inode))
		read_list(n, &r);
	return r;
}

struct away {
	const struct reading *reading;
	const struct whom *whom;
};

static bool is_taken(void *context, uint64_t offset)
{
	const struct away *away = context;

	return returns_there(away->reading, away->whom, offset);
}

/* Sites of an image that are not in yet. `moved` and `out` are counted up. */
static int settle_image(struct plan *plan, const struct image *image, const struct reading *r, const struct whom *whom,
			size_t *moved, size_t *out)
{
	struct away away = { r, whom };
	struct site **sites = calloc(plan->nsites + 1, sizeof(*sites));
	size_t count = 0;
	int err;

	if (!sites)
		return -ENOMEM;
	for (size_t i = 0; i < plan->nsites; i++) {
		struct site *site = &plan->sites[i];

		if (site->image != image || site->attached || !is_crowded(r, whom, site))
			continue;
		if (site->returns == RETURNS_TRAMPOLINE)
			plan_leave_returns(plan, site, why);
		if (returns_there(r, whom, site->probe_offset))
			sites[count++] = site;
		++*moved;
	}
	err = plan_place_away(plan, image, sites, count, is_taken, &away);
	free(sites);
	for (size_t i = 0; !err && i < plan->nsites; i++) {
		struct site *site = &plan->sites[i];

		if (site->image != image || site->attached)
			continue;
		site->crowded = is_crowded(r, whom, site);
		*out += site->crowded;
	}
	return err;
}

static struct whom whom_of(const struct plan *plan, const struct image *image, const struct attach_scope *scope)
{
	return (struct whom){ attach_for_everybody(plan, image, scope), scope->pids, scope->npids };
}

static bool has_new(const struct plan *plan, const struct image *image)
{
	for (size_t i = 0; i < plan->nsites; i++)
		if (plan->sites[i].image == image && !plan->sites[i].attached)
			return true;
	return false;
}

int neighbours_settle(struct kernel *kernel, struct plan *plan, const struct attach_scope *scope)
{
	size_t moved = 0, out = 0;
	int err = 0;

	for (size_t i = 0; !err && i < plan->nimages; i++) {
		const struct image *image = plan->images[i];
		const struct whom whom = whom_of(plan, image, scope);
		struct reading r;

		if (!has_new(plan, image))
			continue;
		r = others_in(kernel, image);
		if (r.count)
			err = settle_image(plan, image, &r, &whom, &moved, &out);
		free(r.others);
	}
	if (moved)
		log_warn("another observer (gaspbpf, bpftrace, perf) has probes on %zu of these functions: so that no "
			 "return probe acts where nobody decided on "
			 "it, their ends are seen by their last instructions, which is dearer%s",
			 moved, out ? "" : "; stop one of both to avoid that");
	if (out)
		log_warn("%zu of them are not observed at all, for there is no other place in them: stop the other "
			 "observer to have them",
			 out);
	return err;
}

void neighbours_mark(struct kernel *kernel, struct plan *plan, const struct image *image, pid_t pid)
{
	const struct whom whom = { false, &pid, 1 };
	struct neighbours *n = kernel->neighbours;
	struct reading r = others_in(kernel, image);
	size_t marked = 0;

	for (size_t i = 0; r.count && i < plan->nsites; i++) {
		struct site *site = &plan->sites[i];

		site->avoided = site->image == image && is_crowded(&r, &whom, site);
		marked += site->avoided;
	}
	free(r.others);
	if (marked && !n->said) {
		log_warn("%d: %zu function%s not observed there: another observer has come to have probes on %s", pid,
			 marked, marked == 1 ? " is" : "s are", marked == 1 ? "it" : "them");
		n->said = true;
	}
}

void neighbours_unmark(struct plan *plan)
{
	for (size_t i = 0; i < plan->nsites; i++)
		plan->sites[i].avoided = false;
}
