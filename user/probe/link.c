/*
 * link.c - one link for many probes.
 *
 * libbpf learned uprobe_multi in 1.3 and sessions in 1.6; Debian 12 has 1.1. The system call underneath is stable, so
 * it is used directly, with the kernel's numbers written out here and nowhere else. On kernels without
 * either (before 6.6) each probe is a perf event, through libbpf: two for a function, and slow to remove.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "observe.skel.h"
#include "probe/kernel_private.h"

#define LINK_CREATE 28          /* BPF_LINK_CREATE */
#define TRACE_UPROBE_MULTI 48   /* Linux 6.6, commit 89ae89f53d20 */
#define TRACE_UPROBE_SESSION 57 /* Linux 6.13, commit d920179b3d48 */
#define MULTI_RETURN 1          /* BPF_F_UPROBE_MULTI_RETURN */

/* The part of union bpf_attr that BPF_LINK_CREATE reads for uprobe_multi. */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, reserved;
};

static int remember(struct kernel *kernel, struct held_link link)
{
	if (kernel->nlinks == kernel->room) {
		size_t room = kernel->room ? kernel->room * 2 : 16;
		struct held_link *grown = realloc(kernel->links, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		kernel->links = grown;
		kernel->room = room;
	}
	kernel->links[kernel->nlinks++] = link;
	return 0;
}

static int multi_link(struct kernel *kernel, int program, uint32_t type, uint32_t flags,
		      const struct link_request *request)
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
	int fd, err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", request->file_fd);
	fd = syscall(SYS_bpf, LINK_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return -errno;
	err = remember(kernel, (struct held_link){ .fd = fd, .probes = request->count });
	if (err)
		close(fd);
	return err;
}

static int perf_links(struct kernel *kernel, struct bpf_program *program, bool at_return,
		      const struct link_request *request)
{
	char path[64];
	int err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", request->file_fd);
	for (size_t i = 0; i < request->count; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = request->cookies[i], .retprobe = at_return);
		struct bpf_link *link = bpf_program__attach_uprobe_opts(program, request->pid ?: -1, path,
									request->offsets[i], &options);

		if (!link)
			return -errno;
		err = remember(kernel, (struct held_link){ .fd = -1, .perf = link, .probes = 1 });
		if (err) {
			bpf_link__destroy(link);
			return err;
		}
	}
	return 0;
}

int link_attach(struct kernel *kernel, const struct link_request *request)
{
	struct observe_bpf *o = kernel->observe;
	size_t before = kernel->nlinks;
	int err;

	switch (kernel->rung) {
	case RUNG_SESSION:
		err = multi_link(kernel, bpf_program__fd(o->progs.session), TRACE_UPROBE_SESSION, 0, request);
		break;
	case RUNG_MULTI:
		/* The return first: a call whose return is not watched would stay open for ever. */
		err = request->call_only ? 0 : multi_link(kernel, bpf_program__fd(o->progs.leave), TRACE_UPROBE_MULTI,
							  MULTI_RETURN, request);
		if (!err)
			err = multi_link(kernel, bpf_program__fd(o->progs.call), TRACE_UPROBE_MULTI, 0, request);
		break;
	default:
		err = request->call_only ? 0 : perf_links(kernel, o->progs.leave, true, request);
		if (!err)
			err = perf_links(kernel, o->progs.call, false, request);
	}
	if (err)
		link_remove_from(kernel, before, NULL);
	return err;
}

void link_remove_from(struct kernel *kernel, size_t from, void (*progress)(size_t, size_t))
{
	size_t all = kernel->nlinks - from;

	for (size_t done = 0; done < all; done++) {
		struct held_link *link = &kernel->links[from + done];

		if (link->perf)
			bpf_link__destroy(link->perf);
		else
			close(link->fd);
		if (progress)
			progress(done + 1, all);
	}
	kernel->nlinks = from;
}
