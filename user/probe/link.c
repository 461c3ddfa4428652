/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * link.c - one link for many probes.
 *
 * libbpf learned uprobe_multi in 1.3 and sessions in 1.6; Debian 12 has 1.1. The system call underneath is stable, so
 * it is used directly, with the kernel's numbers written out here and nowhere else.
 *
 * On kernels without either (before 6.6) each probe is a perf event, two for a function. The events are opened here
 * too, for four reasons. They stay disabled: BPF programs run all the same, but the kernel has nothing to switch on
 * and off whenever the target's thread is scheduled. They are given to CPUs where that thread does not run, so
 * that it need not even look at them then. The link holds its event, so a probe takes one
 * descriptor and not two. And removing one waits for the kernel's grace periods, which many
 * threads can do at the same time.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "observe.skel.h"
#include "process.skel.h"
#include "probe/kernel_private.h"
#include "util/array.h"
#include "util/privileges.h"

#define LINK_CREATE 28 /* BPF_LINK_CREATE */
#define MULTI_RETURN 1 /* BPF_F_UPROBE_MULTI_RETURN */

/* The part of union bpf_attr that BPF_LINK_CREATE reads for uprobe_multi. */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, reserved;
};

static int remember(struct kernel *kernel, struct held_link link)
{
	if (array_one_more(&kernel->links, &kernel->room, kernel->nlinks, sizeof(*kernel->links)))
		return -ENOMEM;
	kernel->links[kernel->nlinks++] = link;
	return 0;
}

/* The place in the table first: a link that nobody knows of would be the worse. */
static int remember_link(struct kernel *kernel, int fd, const struct link_request *request, struct held_set *set)
{
	const struct held_link link = {
		.fd = fd,
		.probes = request->count,
		.file_fd = request->file_fd,
		.pid = request->pid,
		.site = request->apart ? (uint32_t)request->cookies[0] : NO_SITE,
		.withdraws = request->withdraws,
		.set = set,
	};
	int err = fd < 0 ? fd : remember(kernel, link);

	if (err) {
		if (fd >= 0)
			apart_close(fd);
		held_gone(kernel, set, false);
	}
	return err;
}

static int make_multi(void *attr, size_t i)
{
	int fd = syscall(SYS_bpf, LINK_CREATE, attr, sizeof(struct multi_attr));

	return fd < 0 ? -errno : fd;
}

static int multi_link(struct kernel *kernel, int program, uint32_t type, uint32_t flags,
		      const struct link_request *request, enum held_what what)
{
	char path[64];
	struct multi_attr attr = {
		.prog_fd = program,
		.attach_type = type,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)request->offsets,
		.cookies = (uintptr_t)request->cookies,
		.count = request->count,
		.multi_flags = flags,
		.pid = request->pid,
	};
	struct held_set *set = held_take(kernel, request, what);
	int fd, err;

	if (!set)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", request->file_fd);
	apart_make(make_multi, &attr, 1, (int[]){ program, request->file_fd }, &fd, &err);
	return remember_link(kernel, err ?: fd, request, set);
}

int link_for_nobody(struct kernel *kernel, int file_fd)
{
	unsigned long offset = 0;
	char path[64];
	struct multi_attr attr = {
		.prog_fd = bpf_program__fd(kernel->observe->progs.call),
		.attach_type = TRACE_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)&offset,
		.count = 1,
		.pid = getpid(),
	};
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	fd = syscall(SYS_bpf, LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

/* Of a child (works_without_privileges()). */
static bool can_put_in(void *context)
{
	struct kernel *kernel = context;
	int file = others_show() ? open("/proc/self/exe", O_RDONLY | O_CLOEXEC) : -1;

	return file >= 0 && link_for_nobody(kernel, file) >= 0 && neighbours_tell(kernel);
}

bool kernel_works_without_rights(struct kernel *kernel)
{
	/* There each probe is a perf event. */
	return kernel->rung != RUNG_PERF && neighbours_prepare(kernel) && works_without_privileges(can_put_in, kernel);
}

static int read_uprobe_type(struct kernel *kernel)
{
	FILE *f;
	int read;

	if (kernel->uprobe_type)
		return 0;
	f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	if (!f)
		return -EOPNOTSUPP;
	read = fscanf(f, "%u", &kernel->uprobe_type);
	fclose(f);
	return read == 1 && kernel->uprobe_type ? 0 : -EOPNOTSUPP;
}

/*
 * The CPU for an event of a process. On a uprobe BPF programs run wherever it is hit; the CPU only decides when the
 * event is looked at: as often as the main thread is scheduled there (about 10 ns for each; 400 functions made a
 * context switch five times as dear). So one where it may not run, as a bound rank's neighbours; else all in turn.
 */
static int idle_cpu(struct kernel *kernel, pid_t pid)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	unsigned cpu = kernel->next_cpu++;
	cpu_set_t allowed;

	if (cpus < 1 || sched_getaffinity(pid, sizeof(allowed), &allowed))
		return -1; /* any */
	for (long i = 0; i < cpus; i++)
		if (!CPU_ISSET((cpu + i) % cpus, &allowed))
			return (cpu + i) % cpus;
	return cpu % cpus;
}

/* Probes as perf events, each with a link. */
struct events {
	struct kernel *kernel;
	const struct link_request *request;
	int program;
	bool at_return;
	char path[64];
};

/* A uprobe as a perf event, in one process or (pid 0) in all. A descriptor or -errno. */
static int open_event(const struct events *e, size_t i)
{
	struct perf_event_attr attr = {
		.type = e->kernel->uprobe_type,
		.size = sizeof(attr),
		.disabled = 1,
		.config = e->at_return, /* format/retprobe of the PMU: config:0 */
		.uprobe_path = (uintptr_t)e->path,
		.probe_offset = e->request->offsets[i],
	};
	pid_t pid = e->request->pid;
	int fd = syscall(SYS_perf_event_open, &attr, pid ?: -1, pid ? idle_cpu(e->kernel, pid) : 0, -1,
			 PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int make_perf(void *context, size_t i)
{
	const struct events *e = context;
	/* See `leave` in bpf/observe.bpf.c. */
	uint64_t only = e->at_return ? (uint64_t)e->request->pid << 32 : 0;
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = e->request->cookies[i] | only);
	int event = open_event(e, i), fd;

	if (event < 0)
		return event;
	fd = bpf_link_create(e->program, event, BPF_PERF_EVENT, &options);
	if (fd >= 0)
		syscall(SYS_close, event); /* the link has it; without one its breakpoint goes with who has made it */
	return fd;
}

/* One more of them is known. */
static int remember_event(struct kernel *kernel, int fd, const struct link_request *all, size_t i, enum held_what what)
{
	const struct link_request one = {
		.file_fd = all->file_fd,
		.pid = all->pid,
		.offsets = &all->offsets[i],
		.cookies = &all->cookies[i],
		.count = 1,
		.apart = all->apart,
		.withdraws = all->withdraws,
		.kind = all->kind,
	};
	struct held_set *set = held_take(kernel, &one, what);

	if (set)
		return remember_link(kernel, fd, &one, set);
	apart_close(fd);
	return -ENOMEM;
}

static int perf_links(struct kernel *kernel, int program, bool at_return, const struct link_request *request,
		      enum held_what what)
{
	struct events e = { .kernel = kernel, .request = request, .program = program, .at_return = at_return };
	int *fds = malloc((request->count + 1) * sizeof(*fds)), err = fds ? read_uprobe_type(kernel) : -ENOMEM,
	    made_err;
	size_t made = 0;

	snprintf(e.path, sizeof(e.path), "/proc/self/fd/%d", request->file_fd);
	if (!err)
		made = apart_make(make_perf, &e, request->count, (int[]){ program, request->file_fd }, fds, &made_err);
	for (size_t i = 0; i < made; i++)
		if (err)
			apart_close(fds[i]);
		else
			err = remember_event(kernel, fds[i], request, i, what);
	free(fds);
	return err ?: made < request->count ? made_err : 0;
}

/* An empty program on something that is no file: a kernel that knows the kind of link says EBADF. */
bool link_possible(enum rung rung)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	uint32_t type = rung == RUNG_SESSION ? TRACE_UPROBE_SESSION : TRACE_UPROBE_MULTI;
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = type);
	unsigned long offset = 0;
	struct multi_attr attr = {
		.attach_type = type,
		.path = (uintptr_t) "/",
		.offsets = (uintptr_t)&offset,
		.count = 1,
	};
	int program, fd, err;

	if (rung == RUNG_PERF)
		return true;
	program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "nothing", "GPL", nothing, 2, &options);
	if (program < 0)
		return program == -EPERM; /* said where programs are loaded */
	attr.prog_fd = program;
	fd = syscall(SYS_bpf, LINK_CREATE, &attr, sizeof(attr));
	err = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	close(program);
	return err == EBADF;
}

static int spans_link(struct kernel *kernel, const struct link_request *request)
{
	struct observe_bpf *o = kernel->observe;
	bool calls_only = request->kind == LINK_CALLS;
	int err = 0;

	switch (kernel->rung) {
	case RUNG_SESSION:
		/*
		 * Calls only: never by a session link, though its program could decline the return. Where the link is
		 * for one process, the kernel does not ask the program about hits in others, and sets the trampoline
		 * there.
		 */
		if (calls_only)
			return multi_link(kernel, bpf_program__fd(o->progs.call), TRACE_UPROBE_MULTI, 0, request,
					  HELD_CALL);
		return multi_link(kernel, bpf_program__fd(o->progs.session), TRACE_UPROBE_SESSION, 0, request,
				  HELD_CALL);
	case RUNG_MULTI:
		/* The return first: a call whose return is not watched would stay open for ever. */
		if (!calls_only)
			err = multi_link(kernel, bpf_program__fd(o->progs.leave), TRACE_UPROBE_MULTI, MULTI_RETURN,
					 request, HELD_RETURN);
		return err
			       ?: multi_link(kernel, bpf_program__fd(o->progs.call), TRACE_UPROBE_MULTI, 0, request,
					     HELD_CALL);
	default:
		if (!calls_only)
			err = perf_links(kernel, bpf_program__fd(o->progs.leave), true, request, HELD_RETURN);
		return err ?: perf_links(kernel, bpf_program__fd(o->progs.call), false, request, HELD_CALL);
	}
}

static int attach_admitted(struct kernel *kernel, const struct link_request *request)
{
	int program = bpf_program__fd(kernel->observe->progs.last);
	size_t before = kernel->nlinks;
	int err;

	if (request->kind != LINK_EXITS)
		err = spans_link(kernel, request);
	else if (kernel->rung == RUNG_PERF)
		err = perf_links(kernel, program, false, request, HELD_EXIT);
	else
		err = multi_link(kernel, program, TRACE_UPROBE_MULTI, 0, request, HELD_EXIT);
	if (err)
		link_remove_from(kernel, before, NULL);
	return err;
}

int link_attach_beside(struct kernel *kernel, const struct link_request *request)
{
	return spans_link(kernel, request);
}

int link_attach(struct kernel *kernel, const struct link_request *request)
{
	struct link_request admitted;
	int err = held_admit(kernel, request, &admitted);

	if (!err && admitted.count)
		err = attach_admitted(kernel, &admitted);
	free((void *)admitted.offsets);
	free((void *)admitted.cookies);
	return err;
}

int link_attach_linker(struct kernel *kernel, const struct link_request *request)
{
	int program = bpf_program__fd(kernel->process->progs.linker);
	size_t before = kernel->nlinks;
	int err = kernel->rung == RUNG_PERF ? perf_links(kernel, program, false, request, HELD_LINKER)
					    : multi_link(kernel, program, TRACE_UPROBE_MULTI, 0, request, HELD_LINKER);

	for (size_t i = before; !err && i < kernel->nlinks; i++)
		kernel->links[i].probes = 0;
	return err;
}

/* --- removing ---------------------------------------------------------- */

#define CLOSERS 32 /* threads that remove links */
#define LOOK_EVERY_MS 10

struct closing {
	struct kernel *kernel;
	const struct held_link *links;
	size_t all;
	atomic_size_t next, done;
	sem_t over; /* all are done */
};

static void *close_links(void *context)
{
	struct closing *c = context;
	size_t i;

	while ((i = atomic_fetch_add(&c->next, 1)) < c->all) {
		apart_close(c->links[i].fd);
		held_gone(c->kernel, c->links[i].set, false);
		if (atomic_fetch_add(&c->done, 1) + 1 == c->all)
			sem_post(&c->over);
	}
	return NULL;
}

/* Until all are closed, or a moment has passed. */
static void wait_a_moment(struct closing *c)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += LOOK_EVERY_MS * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	sem_clockwait(&c->over, CLOCK_MONOTONIC, &until);
}

static void watch_closing(struct closing *c, void (*progress)(size_t, size_t))
{
	size_t done;

	while ((done = atomic_load(&c->done)) < c->all) {
		progress(done, c->all);
		wait_a_moment(c);
	}
}

void link_remove_from(struct kernel *kernel, size_t from, void (*progress)(size_t, size_t))
{
	struct closing c = { .kernel = kernel, .links = kernel->links + from, .all = kernel->nlinks - from };
	size_t wanted = c.all < 2 ? 0 : c.all < CLOSERS ? c.all : CLOSERS, nthreads = 0;
	pthread_t threads[CLOSERS];

	/* Even of two links each is removed at the same time: it is the grace period that takes long, not the probes.
	 */
	sem_init(&c.over, 0, 0);
	while (nthreads < wanted && !pthread_create(&threads[nthreads], NULL, close_links, &c))
		nthreads++;
	if (!nthreads)
		close_links(&c);
	else if (progress)
		watch_closing(&c, progress);
	for (size_t i = 0; i < nthreads; i++)
		pthread_join(threads[i], NULL);
	sem_destroy(&c.over);
	if (progress && c.all)
		progress(c.all, c.all);
	kernel->nlinks = from;
}
