/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel.c - loads the BPF programs on the best rung that really works here.
 *
 * What a kernel can do is found by doing it (trial.c): load, attach to a function of our own, call it,
 * and look for the span. Version numbers lie (distributions backport), and so do feature bits.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "observe.skel.h"
#include "process.skel.h"
#include "probe/heap.h"
#include "probe/kernel_private.h"
#include "util/clock.h"
#include "util/iterator.h"
#include "util/log.h"
#include "util/privileges.h"

#define DEFAULT_RING_BYTES (32UL << 20)
#define MACHINE_SUMS (1U << 18) /* entries, of all threads of a machine; memory is taken only for those in use */
#define FILES_MOST (1UL << 18)  /* descriptors: two for each function in each of a few processes */

const char *rung_name(enum rung rung)
{
	static const char *const names[RUNGS] = { "session", "multi", "perf" };

	return rung < RUNGS ? names[rung] : "?";
}

/* --- rings ------------------------------------------------------------- */

static unsigned power_of_two_up(unsigned n)
{
	unsigned p = 1;

	while (p < n)
		p *= 2;
	return p;
}

/*
 * Each change of a map of maps waits for a grace period of the kernel. So all rings are put in at once (before
 * Linux 5.13 one by one), and meanwhile the programs are loaded.
 */
static void *fill_rings(void *context)
{
	const struct kernel *kernel = context;
	uint32_t numbers[sizeof(kernel->ring_fds) / sizeof(int)], count = kernel->rings;

	for (uint32_t i = 0; i < kernel->rings; i++)
		numbers[i] = i;
	if (!bpf_map_update_batch(kernel->rings_fd, numbers, kernel->ring_fds, &count, NULL))
		return NULL;
	for (uint32_t i = 0; i < kernel->rings; i++)
		if (bpf_map_update_elem(kernel->rings_fd, &i, &kernel->ring_fds[i], BPF_ANY))
			return (void *)(intptr_t)-errno;
	return NULL;
}

static int gather_rings(struct kernel *kernel)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = kernel->ring_fds[0]);

	kernel->rings_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "rings", sizeof(uint32_t), sizeof(int),
					  kernel->rings, &options);
	if (kernel->rings_fd < 0)
		return -errno;
	kernel->filling = !pthread_create(&kernel->filler, NULL, fill_rings, kernel);
	return kernel->filling ? 0 : (int)(intptr_t)fill_rings(kernel);
}

/* Waits until the rings are in their map. */
static int rings_are_in(struct kernel *kernel)
{
	void *err = NULL;

	if (kernel->filling)
		pthread_join(kernel->filler, &err);
	kernel->filling = false;
	return (int)(intptr_t)err;
}

static int make_rings(struct kernel *kernel, uint64_t total)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t page = sysconf(_SC_PAGESIZE);

	kernel->rings = power_of_two_up(cpus < 1 ? 1 : cpus > 64 ? 64 : cpus);
	if (!total)
		total = DEFAULT_RING_BYTES;
	kernel->ring_bytes = page;
	while (kernel->ring_bytes * 2 * kernel->rings <= total)
		kernel->ring_bytes *= 2;
	for (unsigned i = 0; i < kernel->rings; i++) {
		kernel->ring_fds[i] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "spans", 0, 0, kernel->ring_bytes, NULL);
		if (kernel->ring_fds[i] < 0)
			return -errno;
	}
	return gather_rings(kernel);
}

static int read_counts(const struct kernel *kernel, struct kernel_counts *counts)
{
	int cpus = libbpf_num_possible_cpus();
	struct gb_trouble *trouble;
	uint32_t zero = 0;
	int err = 0;

	memset(counts, 0, sizeof(*counts));
	if (cpus < 1)
		return -EINVAL;
	trouble = calloc(cpus, sizeof(*trouble));
	if (!trouble)
		return -ENOMEM;
	if (bpf_map_lookup_elem(bpf_map__fd(kernel->observe->maps.trouble), &zero, trouble))
		err = -errno;
	for (int i = 0; i < cpus; i++) {
		counts->lost += trouble[i].lost;
		counts->no_memory += trouble[i].no_memory;
		counts->no_sum += trouble[i].no_sum;
		counts->no_entry += trouble[i].no_entry;
		counts->life_lost += trouble[i].life_lost;
		counts->near += trouble[i].near;
		counts->summed += trouble[i].summed;
		counts->trampolines += trouble[i].trampolines;
		counts->rounds += trouble[i].rounds;
	}
	free(trouble);
	return err;
}

void kernel_costs(const struct kernel *kernel, struct probe_costs *costs)
{
	*costs = kernel->costs;
}

/* --- loading ----------------------------------------------------------- */

static int libbpf_says(enum libbpf_print_level level, const char *format, va_list arguments)
{
	if (log_get_level() < LOG_DEBUG)
		return 0;
	return vfprintf(stderr, format, arguments);
}

static int load_observe(struct kernel *kernel, const struct kernel_options *options)
{
	struct observe_bpf *o = observe_bpf__open();
	int err;

	if (!o)
		return -errno;
	kernel->observe = o;
	err = object_is_whole(o->obj);
	if (err)
		return err;
	err = bpf_map__reuse_fd(o->maps.rings, kernel->rings_fd);
	if (err)
		return err;
	o->rodata->ring_mask = kernel->rings - 1;
	o->rodata->wakeup_bytes = kernel->ring_bytes / 4;
	o->bss->filter_targets = options->filter;
	o->rodata->monitoring = options->sums;
	o->rodata->spans_too = options->spans;
	o->rodata->choosing = kernel->rung == RUNG_SESSION;
	o->rodata->observer = getpid();
	if (options->sums) {
		bpf_map__set_max_entries(o->maps.sums, MACHINE_SUMS);
		bpf_map__set_max_entries(o->maps.amounts, GB_PROBES);
	}
	bpf_program__set_autoload(o->progs.call, true);
	bpf_program__set_autoload(o->progs.last, true);
	bpf_program__set_autoload(o->progs.session, kernel->rung == RUNG_SESSION);
	bpf_program__set_autoload(o->progs.leave, kernel->rung != RUNG_SESSION);
	bpf_program__set_expected_attach_type(o->progs.session, TRACE_UPROBE_SESSION);
	if (kernel->rung != RUNG_PERF) {
		bpf_program__set_expected_attach_type(o->progs.call, TRACE_UPROBE_MULTI);
		bpf_program__set_expected_attach_type(o->progs.leave, TRACE_UPROBE_MULTI);
		bpf_program__set_expected_attach_type(o->progs.last, TRACE_UPROBE_MULTI);
	}
	err = observe_bpf__load(o) ?: variables_are_mapped(o->rodata, o->bss);
	return err ?: rooms_begin(kernel);
}

/* The maps of the other side, which both have in common. A part that has one of its own instead would see nothing, and
 * say nothing. */
static int share_maps(struct process_bpf *p, const struct observe_bpf *o)
{
	const struct {
		struct bpf_map *ours;
		const struct bpf_map *theirs;
	} maps[] = {
		{ p->maps.threads, o->maps.threads },   { p->maps.rings, o->maps.rings },
		{ p->maps.control, o->maps.control },   { p->maps.probes, o->maps.probes },
		{ p->maps.sums, o->maps.sums },         { p->maps.amounts, o->maps.amounts },
		{ p->maps.trouble, o->maps.trouble },   { p->maps.targets, o->maps.targets },
		{ p->maps.looked, o->maps.looked },     { p->maps.doubts, o->maps.doubts },
		{ p->maps.controls, o->maps.controls }, { p->maps.stacks, o->maps.stacks },
		{ p->maps.stacked, o->maps.stacked },   { p->maps.users, o->maps.users },
		{ p->maps.returned, o->maps.returned }, { p->maps.rooms, o->maps.rooms },
		{ p->maps.tellers, o->maps.tellers },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]) && !err; i++)
		err = bpf_map__reuse_fd(maps[i].ours, bpf_map__fd(maps[i].theirs));
	return err;
}

static int attach_one(const struct bpf_program *program, struct bpf_link **link)
{
	*link = bpf_program__attach(program);
	return *link ? 0 : -errno;
}

static int load_process(struct kernel *kernel, const struct kernel_options *options)
{
	struct process_bpf *p = process_bpf__open();
	const struct observe_bpf *o = kernel->observe;
	int err;

	if (!p)
		return -errno;
	p->rodata->ring_mask = o->rodata->ring_mask;
	p->rodata->wakeup_bytes = o->rodata->wakeup_bytes;
	p->rodata->follow = options->follow;
	p->bss->strangers = options->filter && !options->sums;
	p->rodata->monitoring = o->rodata->monitoring;
	p->rodata->spans_too = o->rodata->spans_too;
	p->bss->some_off = true; /* the other side's word is not seen here, and nothing here is in a hurry */
	if (kernel->rung != RUNG_PERF)
		bpf_program__set_expected_attach_type(p->progs.linker, 48);
	err = object_is_whole(p->obj) ?: share_maps(p, o) ?: process_bpf__load(p);
	err = err ?: variables_are_mapped(p->rodata, p->bss);
	err = err ?: attach_one(p->progs.on_fork, &p->links.on_fork) ?:
	      attach_one(p->progs.on_exec, &p->links.on_exec) ?: attach_one(p->progs.on_exit, &p->links.on_exit);
	if (err)
		process_bpf__destroy(p);
	else
		kernel->process = p; /* from here on its variables are there */
	return err;
}

static int try_rung(struct kernel *kernel, enum rung rung, const struct kernel_options *options)
{
	int err;

	kernel->rung = rung;
	err = link_possible(rung) ? load_observe(kernel, options) : -EOPNOTSUPP;
	if (!err)
		err = rings_are_in(kernel) ?: trial_run(kernel, options->anew);
	if (!err) /* what the trial took is nobody's */
		err = read_counts(kernel, &kernel->before) ?: rooms_begin(kernel);
	if (err) {
		log_debug("rung %s does not work here: %s", rung_name(rung), strerror(-err));
		link_remove_from(kernel, 0, NULL);
		observe_bpf__destroy(kernel->observe); /* NULL: nothing */
		kernel->observe = NULL;
	}
	return err;
}

/* The rungs to try, from the environment or all. */
static int choose_rungs(enum rung *first, enum rung *last)
{
	const char *forced = getenv("GASPBPF_RUNG");

	*first = RUNG_SESSION;
	*last = RUNG_PERF;
	if (!forced || !*forced)
		return 0;
	for (int rung = 0; rung < RUNGS; rung++) {
		if (!strcmp(forced, rung_name(rung))) {
			*first = *last = rung;
			return 0;
		}
	}
	log_error("GASPBPF_RUNG=%s: no such way of attaching: use session, multi or perf", log_safe(forced));
	return -EINVAL;
}

static void explain(int err, const struct kernel_options *options)
{
	if (options->quiet)
		return;
	if (inside_pid_namespace())
		log_error("cannot observe anything from inside a PID namespace (a container): the kernel tells other "
			  "process numbers than are seen there: "
			  "run gaspbpf on the host, or start the container with --pid=host");
	else if (may_observe() && !may_administer() && (err == -EPERM || err == -EACCES))
		log_error("cannot put probes in with CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE alone: before Linux 6.6 "
			  "probes are perf events, and the kernel wants "
			  "CAP_SYS_ADMIN for these: give it that, too (docs/service.md), or run it as root");
	else if (err == -EPERM) /* EACCES is a verifier that says no, to root too */
		log_error("cannot load BPF programs: %s: run gaspbpf with sudo, or see 'gaspbpf doctor'",
			  strerror(-err));
	else
		log_error("cannot observe anything on this kernel: %s: see 'gaspbpf doctor' for what is missing, "
			  "or use -vv for the kernel's own words",
			  strerror(-err));
}

/* Descriptors for two perf events a function. A command that we start gets the limits of our caller (util/files.h). */
static void raise_limits(void)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit files = { FILES_MOST, FILES_MOST }, now;

	setrlimit(RLIMIT_MEMLOCK, &unlimited); /* before Linux 5.11 maps count against it */
	if (getrlimit(RLIMIT_NOFILE, &now) || now.rlim_cur >= FILES_MOST)
		return;
	if (now.rlim_max > files.rlim_max)
		files.rlim_max = now.rlim_max;
	if (!setrlimit(RLIMIT_NOFILE, &files))
		return;
	now.rlim_cur = now.rlim_max < FILES_MOST ? now.rlim_max : FILES_MOST;
	setrlimit(RLIMIT_NOFILE, &now);
}

static void *remove_links(void *context)
{
	link_remove_from(context, 0, NULL);
	return NULL;
}

/* Meanwhile the trial's links are removed, which waits for grace periods. */
static int load_rest(struct kernel *kernel, const struct kernel_options *options)
{
	pthread_t remover;
	bool apart = !pthread_create(&remover, NULL, remove_links, kernel);
	int err = load_process(kernel, options);

	if (apart)
		pthread_join(remover, NULL);
	else
		remove_links(kernel);
	return err;
}

int kernel_load(struct kernel **result, const struct kernel_options *options)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));
	enum rung rung, last;
	int err;

	*result = NULL;
	if (!kernel)
		return -ENOMEM;
	memset(kernel->ring_fds, -1, sizeof(kernel->ring_fds));
	kernel->rings_fd = -1;
	kernel->callers = options->callers;
	kernel->sums = options->sums;
	libbpf_set_print(libbpf_says);
	raise_limits();
	heap_keep();
	err = held_new(kernel);
	if (!err)
		err = choose_rungs(&rung, &last);
	if (err)
		goto fail;
	err = make_rings(kernel, options->ring_bytes);
	if (err) {
		explain(err, options);
		goto fail;
	}
	do {
		err = try_rung(kernel, rung, options);
	} while (err && ++rung <= last);
	if (err && last == RUNG_PERF && may_observe() && !may_administer())
		err = -EACCES; /* which of its steps refuses depends on the kernel */
	if (!err)
		err = load_rest(kernel, options);
	if (err) {
		explain(err, options);
		goto fail;
	}
	*result = kernel;
	return 0;
fail:
	kernel_free(kernel);
	return err;
}

void kernel_free(struct kernel *kernel)
{
	if (!kernel)
		return;
	rings_are_in(kernel);
	if (kernel->observe) {
		kernel_set_active(kernel, false);
		link_remove_from(kernel, 0, NULL);
		dismiss_wait(kernel);
	}
	process_bpf__destroy(kernel->process);
	observe_bpf__destroy(kernel->observe);
	for (unsigned i = 0; i < kernel->rings; i++)
		if (kernel->ring_fds[i] >= 0)
			close(kernel->ring_fds[i]);
	if (kernel->rings_fd >= 0)
		close(kernel->rings_fd);
	neighbours_free(kernel);
	held_free(kernel);
	rooms_free(kernel);
	free(kernel->links);
	free(kernel);
}

/* --- the running kernel side ------------------------------------------- */

enum rung kernel_rung(const struct kernel *kernel)
{
	return kernel->rung;
}

unsigned kernel_rings(const struct kernel *kernel)
{
	return kernel->rings;
}

int kernel_ring_fd(const struct kernel *kernel, unsigned ring, size_t *bytes)
{
	*bytes = kernel->ring_bytes;
	return kernel->ring_fds[ring];
}

int kernel_control_fd(const struct kernel *kernel, size_t *bytes)
{
	*bytes = bpf_map__max_entries(kernel->observe->maps.control);
	return bpf_map__fd(kernel->observe->maps.control);
}

int kernel_add_target(struct kernel *kernel, pid_t pid)
{
	uint32_t key = pid;
	uint8_t one = 1;

	return bpf_map_update_elem(bpf_map__fd(kernel->observe->maps.targets), &key, &one, BPF_ANY) ? -errno : 0;
}

int kernel_set_target(struct kernel *kernel, pid_t pid, uint8_t how)
{
	uint32_t key = pid;

	return bpf_map_update_elem(bpf_map__fd(kernel->observe->maps.targets), &key, &how, BPF_ANY) ? -errno : 0;
}

int kernel_get_target(const struct kernel *kernel, pid_t pid)
{
	uint32_t key = pid;
	uint8_t how;

	return bpf_map_lookup_elem(bpf_map__fd(kernel->observe->maps.targets), &key, &how) ? -errno : how;
}

void kernel_look(struct kernel *kernel, pid_t pid)
{
	uint32_t key = pid;
	uint8_t how = GB_LOOKING;

	/* What was seen before holds until the kernel side takes it back. */
	bpf_map_update_elem(bpf_map__fd(kernel->observe->maps.looked), &key, &how, BPF_NOEXIST);
}

void kernel_looked(struct kernel *kernel, pid_t pid, bool held)
{
	uint32_t key = pid;
	uint8_t how = held ? GB_LOOKED_HELD : GB_LOOKED;

	/* Not where the entry has gone meanwhile: what was looked at is no longer what is there. */
	bpf_map_update_elem(bpf_map__fd(kernel->observe->maps.looked), &key, &how, BPF_EXIST);
}

void kernel_forget_targets(struct kernel *kernel)
{
	int map = bpf_map__fd(kernel->observe->maps.targets);
	uint32_t pid;

	while (!bpf_map_get_next_key(map, NULL, &pid))
		if (bpf_map_delete_elem(map, &pid) && errno != ENOENT)
			return;
}

int kernel_set_rank(struct kernel *kernel, pid_t pid, long rank)
{
	uint32_t key = pid, value = rank;
	int fd = bpf_map__fd(kernel->observe->maps.ranks);

	if (rank < 0)
		return bpf_map_delete_elem(fd, &key) ? -errno : 0;
	return bpf_map_update_elem(fd, &key, &value, BPF_ANY) ? -errno : 0;
}

void kernel_filter(struct kernel *kernel, bool filter)
{
	kernel->observe->bss->filter_targets = filter;
	kernel->process->bss->strangers = filter && !kernel->sums;
}

void kernel_set_active(struct kernel *kernel, bool active)
{
	__atomic_store_n(&kernel->observe->bss->active, active, __ATOMIC_SEQ_CST);
	/* After that: a return that was still seen took its time before, so no call ends later than this. */
	if (kernel->process)
		kernel->process->bss->stopped_at = active ? 0 : clock_monotonic();
}

void kernel_hold(struct kernel *kernel, pid_t holder)
{
	if (kernel->process)
		kernel->process->bss->holder = holder;
}

void kernel_use_stacks(struct kernel *kernel)
{
	if (kernel->process)
		kernel->process->bss->stacks_used = true;
}

static int visit_tasks(const struct bpf_program *program)
{
	int fd = iterator_open(program);
	char buffer[64];

	if (fd < 0)
		return fd;
	while (read(fd, buffer, sizeof(buffer)) > 0)
		;
	close(fd);
	return 0;
}

int kernel_send_open(struct kernel *kernel)
{
	return visit_tasks(kernel->process->progs.open_frames);
}

int kernel_begin_quiet(struct kernel *kernel)
{
	return visit_tasks(kernel->process->progs.quiet_begins);
}

bool kernel_read_quiet(const struct kernel *kernel, pid_t pid, struct gb_quiet *quiet)
{
	uint32_t key = pid;

	return !bpf_map_lookup_elem(bpf_map__fd(kernel->process->maps.quiet), &key, quiet);
}

/* As show_frames writes it. */
struct open_record {
	struct gb_open open;
	struct gb_span span;
};

struct showing {
	kernel_open show;
	void *context;
};

static void show_record(void *context, const void *record)
{
	const struct open_record *shown = record;
	struct showing *showing = context;

	showing->show(showing->context, &shown->open, &shown->span);
}

int kernel_show_open(struct kernel *kernel, kernel_open show, void *context)
{
	struct showing showing = { show, context };
	int fd = iterator_open(kernel->process->progs.show_frames);

	return fd < 0 ? fd : iterator_read(fd, sizeof(struct open_record), show_record, &showing);
}

int kernel_show_stacked(struct kernel *kernel, kernel_open show, void *context)
{
	struct showing showing = { show, context };
	int fd = iterator_open_map(kernel->process->progs.show_stacked, bpf_map__fd(kernel->process->maps.stacks));

	return fd < 0 ? fd : iterator_read(fd, sizeof(struct open_record), show_record, &showing);
}

int kernel_show_queues(struct kernel *kernel, void (*show)(void *context, const void *record), void *context)
{
	int fd = iterator_open(kernel->process->progs.show_queues);

	return fd < 0 ? fd : iterator_read(fd, sizeof(struct gb_queue), show, context);
}

int kernel_read_counts(const struct kernel *kernel, struct kernel_counts *counts)
{
	const struct kernel_counts *before = &kernel->before;
	int err = read_counts(kernel, counts);

	counts->lost -= before->lost;
	counts->no_memory -= before->no_memory;
	counts->no_sum -= before->no_sum;
	counts->no_entry -= before->no_entry;
	counts->life_lost -= before->life_lost;
	counts->near -= before->near;
	counts->summed -= before->summed;
	return err;
}
