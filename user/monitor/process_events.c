/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process_events.c - processes start, map files, change their names and end: the kernel tells.
 *
 * No probe is needed for that, and no polling. A perf event of kind "dummy" counts nothing, but with attr.mmap2, comm
 * and task the kernel writes a record into the event's buffer for each executable mapping (with device and inode, so
 * that a file is known whatever its name and mount namespace), each exec, each end of a thread. One event for each CPU
 * sees the whole machine: containers, too, with the numbers that processes have outside. That costs the machine well
 * under a microsecond for each such act.
 *
 * A buffer that is full drops records and says so; then all processes are looked at (monitor.c).
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "monitor/process_events.h"
#include "util/log.h"

#define DATA_BYTES (512UL << 10) /* of each CPU; a power of two. What fits into the default of perf_event_mlock_kb */
#define RECORD_MOST 65536        /* a record's size has 16 bits */
#define CPUS_MOST 4096

struct buffer_of_cpu {
	int fd;
	struct perf_event_mmap_page *page; /* NULL: none */
};

struct news {
	struct news_handlers handlers;
	struct buffer_of_cpu *cpus;
	size_t ncpus;
	size_t bytes; /* of data, of each */
	int epoll;
	char record[RECORD_MOST + 1];
};

/* What follows each record's own fields: sample_type TID and TIME. */
struct tail {
	uint32_t pid, tid;
	uint64_t time;
};

static int open_cpu(struct news *news, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	struct buffer_of_cpu *b = &news->cpus[news->ncpus];
	struct epoll_event event = { .events = EPOLLIN };
	size_t page = sysconf(_SC_PAGESIZE);

	b->fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (b->fd < 0)
		return errno == ENODEV ? 0 : -errno; /* that CPU is off */
	for (; news->bytes >= 2 * page; news->bytes /= 2) {
		b->page = mmap(NULL, page + news->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
		if (b->page != MAP_FAILED)
			break;
		b->page = NULL;
		if (errno != EPERM && errno != ENOMEM)
			break;
	}
	news->ncpus++;
	if (!b->page || epoll_ctl(news->epoll, EPOLL_CTL_ADD, b->fd, &event))
		return -errno;
	return 0;
}

int news_open(struct news **result, const struct news_handlers *handlers)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct news *news = calloc(1, sizeof(*news));
	int err = 0;

	*result = NULL;
	if (!news)
		return -ENOMEM;
	if (cpus < 1 || cpus > CPUS_MOST)
		cpus = 1;
	news->handlers = *handlers;
	news->bytes = DATA_BYTES;
	news->epoll = epoll_create1(EPOLL_CLOEXEC);
	news->cpus = calloc(cpus, sizeof(*news->cpus));
	if (news->epoll < 0 || !news->cpus)
		err = -ENOMEM;
	for (int cpu = 0; !err && cpu < cpus; cpu++)
		err = open_cpu(news, cpu);
	if (err) {
		log_error("the kernel does not tell of processes that start: %s: run gaspbpf with sudo, or with "
			  "CAP_PERFMON; "
			  "see 'gaspbpf doctor'",
			  strerror(-err));
		news_close(news);
		return err;
	}
	*result = news;
	return 0;
}

void news_close(struct news *news)
{
	if (!news)
		return;
	for (size_t i = 0; i < news->ncpus; i++) {
		if (news->cpus[i].page)
			munmap(news->cpus[i].page, sysconf(_SC_PAGESIZE) + news->bytes);
		close(news->cpus[i].fd);
	}
	if (news->epoll >= 0)
		close(news->epoll);
	free(news->cpus);
	free(news);
}

int news_fd(const struct news *news)
{
	return news->epoll;
}

/* --- records ----------------------------------------------------------- */

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, length, page_offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[];
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[];
};

struct task_record {
	struct perf_event_header header;
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t time;
};

static void take_mapping(struct news *news, const struct mmap2_record *r, size_t size, uint64_t time)
{
	struct news_file file = {
		.device = makedev(r->major, r->minor),
		.inode = r->inode,
		.generation = r->generation,
		.path = r->path,
	};

	/* The kernel's own text has no process; a build id may stand in the inode's place, but was not asked for. */
	if (size <= sizeof(*r) || (int32_t)r->pid <= 0 || !r->inode || r->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
		return;
	news->handlers.mapped(news->handlers.context, r->pid, &file, time);
}

static void take_record(struct news *news, size_t size)
{
	const struct perf_event_header *header = (const void *)news->record;
	const struct task_record *task = (const void *)header;
	struct tail tail;

	if (header->type == PERF_RECORD_LOST) {
		news->handlers.lost(news->handlers.context);
		return;
	}
	if (size < sizeof(*header) + sizeof(tail))
		return;
	memcpy(&tail, news->record + size - sizeof(tail), sizeof(tail));
	news->record[size - sizeof(tail)] = '\0'; /* whatever the path before it is */
	switch (header->type) {
	case PERF_RECORD_MMAP2:
		take_mapping(news, (const void *)header, size - sizeof(tail), tail.time);
		break;
	case PERF_RECORD_COMM:
		if (tail.pid == tail.tid && size > sizeof(struct comm_record))
			news->handlers.named(news->handlers.context, tail.pid,
					     header->misc & PERF_RECORD_MISC_COMM_EXEC);
		break;
	case PERF_RECORD_EXIT:
		if (size >= sizeof(*task))
			news->handlers.ended(news->handlers.context, task->pid, task->tid, task->time);
		break;
	}
}

/* Copies out of the ring, in two pieces where it ends. */
static void copy_out(struct news *news, const char *data, uint64_t at, size_t size)
{
	size_t from = at & (news->bytes - 1), first = news->bytes - from;

	if (first > size)
		first = size;
	memcpy(news->record, data + from, first);
	memcpy(news->record + first, data, size - first);
}

static void read_cpu(struct news *news, struct perf_event_mmap_page *page)
{
	const char *data = (const char *)page + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), at = page->data_tail;
	struct perf_event_header header;

	while (at < head) {
		copy_out(news, data, at, sizeof(header));
		memcpy(&header, news->record, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - at)
			break; /* never */
		copy_out(news, data, at, header.size);
		at += header.size;
		/* Given back at once: looking at a process takes a while, and meanwhile there is more news. */
		__atomic_store_n(&page->data_tail, at, __ATOMIC_RELEASE);
		take_record(news, header.size);
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

void news_read(struct news *news)
{
	for (size_t i = 0; i < news->ncpus; i++)
		read_cpu(news, news->cpus[i].page);
}
