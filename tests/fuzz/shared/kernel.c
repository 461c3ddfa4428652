/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel.c - rings that targets fill, a plan, a process.
 */
#include "shared/kernel.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "capture/session.h"
#include "observe.skel.h"
#include "process.skel.h"
#include "probe/kernel_private.h"

#define PAGE 4096UL
#define RING_BYTES (64UL << 10)
#define RECORD_HEAD 8
#define RECORD_BUSY (1U << 31)

int __wrap_kernel_control_fd(const struct kernel *kernel, size_t *bytes);
int __wrap_epoll_ctl(int epoll, int operation, int fd, void *event);

struct ring_file {
	int fd;
	unsigned long *consumer, *producer;
	unsigned long last; /* where the last record begins */
	uint8_t *data;      /* twice in a row, as readers of ring buffers see it */
};

static struct ring_file files[FUZZ_RINGS + 1];

static void make_ring(struct ring_file *file)
{
	size_t size = 2 * PAGE + 2 * RING_BYTES;
	uint8_t *memory;

	file->fd = memfd_create("ring", MFD_CLOEXEC);
	must(file->fd >= 0 && !ftruncate(file->fd, size));
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
	must(memory != MAP_FAILED);
	file->consumer = (unsigned long *)memory;
	file->producer = (unsigned long *)(memory + PAGE);
	file->data = memory + 2 * PAGE;
}

struct kernel *fuzz_kernel(void)
{
	static struct kernel kernel;

	if (kernel.observe)
		return &kernel;
	libbpf_set_print(NULL);
	kernel.observe = observe_bpf__open();
	kernel.process = process_bpf__open();
	must(kernel.observe && kernel.process && !held_new(&kernel));
	kernel.rings = FUZZ_RINGS;
	kernel.ring_bytes = RING_BYTES;
	for (unsigned i = 0; i <= FUZZ_RINGS; i++) {
		make_ring(&files[i]);
		kernel.ring_fds[i] = files[i].fd;
	}
	return &kernel;
}

/* Linked in the place of kernel_control_fd(): the map has no descriptor. */
int __wrap_kernel_control_fd(const struct kernel *kernel, size_t *bytes)
{
	*bytes = RING_BYTES;
	return files[FUZZ_CONTROL].fd;
}

/* Nobody waits for the rings, and nobody could: they are files. */
int __wrap_epoll_ctl(int epoll, int operation, int fd, void *event)
{
	return 0;
}

struct plan *fuzz_plan(void)
{
	static struct plan *plan;
	static char mpi[4096], pupc[4096];
	bool known;

	if (plan)
		return plan;
	snprintf(mpi, sizeof(mpi), "%s", fuzz_data("data/libmpi.so.40"));
	snprintf(pupc, sizeof(pupc), "%s", fuzz_data("../libpupc/libpupc.so.1"));
	must(!plan_new(&plan, fuzz_models(), "+pupc"));
	must(!plan_add_file(plan, mpi, &known) && !plan_add_file(plan, pupc, &known) && plan->nsites);
	return plan;
}

pid_t fuzz_sleeper(void)
{
	static pid_t pid;

	if (pid)
		return pid;
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execlp("sleep", "sleep", "1000000", NULL);
		_exit(1);
	}
	usleep(100000); /* that it maps what it maps; nothing depends on it but which code is reached */
	return pid;
}

void fuzz_rings_empty(void)
{
	for (unsigned i = 0; i <= FUZZ_RINGS; i++)
		*files[i].consumer = *files[i].producer = 0;
}

static void copy_twice(struct ring_file *file, unsigned long at, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		size_t place = (at + i) & (RING_BYTES - 1);

		file->data[place] = file->data[place + RING_BYTES] = bytes[i];
	}
}

bool fuzz_ring_put(unsigned ring, const void *record, size_t size)
{
	struct ring_file *file = &files[ring];
	unsigned long at = *file->producer, next = (at + RECORD_HEAD + size + 7) & ~7UL;
	uint32_t head[2] = { size, 0 };

	if (next - *file->consumer > RING_BYTES)
		return false;
	file->last = at;
	copy_twice(file, at, (const uint8_t *)head, sizeof(head));
	copy_twice(file, at + RECORD_HEAD, record, size);
	__atomic_store_n(file->producer, next, __ATOMIC_RELEASE);
	return true;
}

void fuzz_ring_hold(unsigned ring, bool busy)
{
	struct ring_file *file = &files[ring];
	uint32_t head;

	memcpy(&head, file->data + (file->last & (RING_BYTES - 1)), sizeof(head));
	head = busy ? head | RECORD_BUSY : head & ~RECORD_BUSY;
	copy_twice(file, file->last, (const uint8_t *)&head, sizeof(head));
}

void fuzz_session_open(struct fuzz_session *s, const struct capture_events *events)
{
	*s = (struct fuzz_session){ 0 };
	fuzz_kernel();
	fuzz_rings_empty();
	must(!capture_new(&s->session, fuzz_kernel(), fuzz_plan(), &s->d, events));
}

void fuzz_session_close(struct fuzz_session *s)
{
	capture_close(s->session);
	definitions_free(&s->d);
}

/* It and a few above: numbers that no process of a small machine has. */
static uint32_t no_pid(void)
{
	static unsigned most;
	FILE *file = most ? NULL : fopen("/proc/sys/kernel/pid_max", "re");

	must(most || (file && fscanf(file, "%u", &most) == 1));
	if (file)
		fclose(file);
	return most - 8;
}

static uint32_t some_pid(uint8_t which)
{
	return which % 4 ? no_pid() + which % 4 : (uint32_t)fuzz_sleeper();
}

size_t fuzz_span(struct input *in, struct gb_span *span)
{
	uint8_t who = input_number(in, 1), values = input_number(in, 1);
	uint32_t pid = some_pid(who);

	memset(span, 0, sizeof(*span));
	span->pid_tid = (uint64_t)pid << 32 | (pid + (who >> 6));
	span->probe = input_number(in, 1) % fuzz_plan()->nsites; /* the kernel has it from the cookie, which is ours */
	span->sequence = input_number(in, 1);
	span->start = input_number(in, 2);
	span->end = span->start + input_number(in, 2);
	span->caller = FUZZ_CALLER + input_number(in, 2);
	span->unread = input_number(in, 1);
	span->depth = input_number(in, 1);
	span->inner = input_number(in, 1);
	span->reason = input_number(in, 1);
	span->values = values % (GB_SLOTS + 1);
	for (unsigned i = 0; i < span->values; i++)
		span->value[i] = input_number(in, i % 2 ? 8 : 2);
	return GB_SPAN_HEADER + span->values * sizeof(span->value[0]);
}

size_t fuzz_life(struct input *in, struct gb_life *life)
{
	uint8_t who = input_number(in, 1);

	memset(life, 0, sizeof(*life));
	life->kind = input_number(in, 1) % 10;
	life->pid = some_pid(who);
	life->tid = life->pid + (who >> 6);
	life->parent = some_pid(who >> 2);
	life->time = input_number(in, 2);
	life->sequence = input_number(in, 1);
	life->lost = input_number(in, 1);
	life->exit_code = input_number(in, 2);
	life->changing = input_number(in, 1) % (fuzz_plan()->nsites + 1);
	life->born = input_number(in, 1);
	life->sums = input_number(in, 1) & 3;
	input_take(in, life->comm, sizeof(life->comm));
	return sizeof(*life);
}
