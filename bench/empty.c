/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * empty.c - empty probes: BPF programs that return at once, to see what a hit costs before anybody does anything in it.
 *
 *   empty KIND PID FILE OFFSET...      (offsets in the file)
 *
 *   uprobe        a perf event for each call (Linux 4.1)
 *   uprobe-pair   and one for each return
 *   multi         one link for all calls (Linux 6.6)
 *   multi-pair    and one for all returns
 *   session       one link for both (Linux 6.13)
 *
 * Says "ready" when they are in, and takes them out when its standard input ends; exit status 3: this kernel has no
 * such link. Debian 12's libbpf is older than the last two kinds, so the system call is used directly, with its numbers
 * written out.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define UPROBE_MULTI 48   /* enum bpf_attach_type: BPF_TRACE_UPROBE_MULTI */
#define UPROBE_SESSION 57 /* BPF_TRACE_UPROBE_SESSION */
#define AT_RETURN 1       /* BPF_F_UPROBE_MULTI_RETURN */
#define PLACES_MOST 4096

struct probes {
	pid_t pid;
	const char *file;
	unsigned long offsets[PLACES_MOST];
	uint32_t count;
};

/* The part of union bpf_attr that BPF_LINK_CREATE reads for uprobe_multi. */
struct multi_link {
	uint32_t program, target, type, flags;
	uint64_t path, offsets, ref_counts, cookies;
	uint32_t count, multi_flags, pid, reserved;
};

static int fail(const char *what)
{
	fprintf(stderr, "empty: %s: %s\n", what, strerror(errno));
	exit(errno == EINVAL || errno == EOPNOTSUPP ? 3 : 1);
}

static int load(uint32_t attach_type)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.expected_attach_type = attach_type,
		.insns = (uintptr_t)nothing,
		.insn_cnt = 2,
		.license = (uintptr_t) "GPL",
		.prog_name = "empty",
	};
	int fd = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	return fd < 0 ? fail("cannot load a BPF program") : fd;
}

static void link_multi(const struct probes *probes, uint32_t type, uint32_t flags)
{
	struct multi_link attr = {
		.program = load(type),
		.type = type,
		.path = (uintptr_t)probes->file,
		.offsets = (uintptr_t)probes->offsets,
		.count = probes->count,
		.multi_flags = flags,
		.pid = probes->pid,
	};

	if (syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)) < 0)
		fail(probes->file);
}

static uint32_t uprobe_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	uint32_t type = 0;

	if (!f || fscanf(f, "%u", &type) != 1)
		fail("this kernel's type of uprobes");
	fclose(f);
	return type;
}

/* As libraries do it: the event is enabled, the program set on it. */
static void link_events(const struct probes *probes, bool at_return)
{
	struct perf_event_attr attr = {
		.type = uprobe_type(),
		.size = sizeof(attr),
		.config = at_return,
		.uprobe_path = (uintptr_t)probes->file,
	};
	int program = load(0);

	for (uint32_t i = 0; i < probes->count; i++) {
		int event;

		attr.probe_offset = probes->offsets[i];
		event = syscall(SYS_perf_event_open, &attr, probes->pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, program) ||
		    ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
			fail(probes->file);
	}
}

static int attach(const char *kind, const struct probes *probes)
{
	if (!strcmp(kind, "session")) {
		link_multi(probes, UPROBE_SESSION, 0);
	} else if (!strcmp(kind, "multi-pair") || !strcmp(kind, "multi")) {
		if (strchr(kind, '-'))
			link_multi(probes, UPROBE_MULTI, AT_RETURN);
		link_multi(probes, UPROBE_MULTI, 0);
	} else if (!strcmp(kind, "uprobe-pair") || !strcmp(kind, "uprobe")) {
		if (strchr(kind, '-'))
			link_events(probes, true);
		link_events(probes, false);
	} else {
		return -1;
	}
	return 0;
}

static struct probes read_probes(int argc, char **argv)
{
	struct probes probes = { .pid = atoi(argv[2]), .file = argv[3] };

	for (int i = 4; i < argc && probes.count < PLACES_MOST; i++)
		probes.offsets[probes.count++] = strtoul(argv[i], NULL, 0);
	return probes;
}

int main(int argc, char **argv)
{
	static struct probes probes;
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY }, files = { 1 << 16, 1 << 16 };
	char byte;

	if (argc >= 5)
		probes = read_probes(argc, argv);
	if (probes.pid <= 0) { /* 0 would be everybody */
		fprintf(stderr, "usage: empty uprobe|uprobe-pair|multi|multi-pair|session PID FILE OFFSET...\n");
		return 2;
	}
	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	setrlimit(RLIMIT_NOFILE, &files);
	if (attach(argv[1], &probes)) {
		fprintf(stderr, "empty: %s: no such kind of probe\n", argv[1]);
		return 2;
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
