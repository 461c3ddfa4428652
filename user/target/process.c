/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.c - looking at a process that may end at any moment.
 *
 * A pid is only a number: the process behind it may end and another may take it. So all of a process is read
 * through one descriptor of its /proc/PID, which belongs to that process and fails with ESRCH once it is
 * gone. The pidfd is taken by number after that; reading once more through the folder afterwards
 * proves that both are the same process.
 */
#include "arch/arch.h"
#include "target/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "gaspbpf/words.h"
#include "target/proc.h"
#include "target/reader.h"
#include "util/clock.h"
#include "util/log.h"

#define SIGNAL_BIT(n) (1ull << ((n)-1)) /* in the masks of /proc/PID/status */
#define CRASHES \
	(SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGABRT) | SIGNAL_BIT(SIGFPE) | SIGNAL_BIT(SIGILL))

#define NAME_MOST 256
#define COMMAND_MOST                                                                                                   \
	16384 /* bytes; what comes after it is cut: one may have two megabytes, and a monitor keeps those of thousands \
	       */

/* Says why a process cannot be looked at, and gives the error to return. */
static int refuse(const struct process *process, pid_t pid, int error)
{
	if (process->quiet)
		return error == -ENOENT ? -ESRCH : error;
	if (error == -ESRCH || error == -ENOENT) {
		if (!process->may_end)
			log_error("%d: ended while gaspbpf was looking at it: start it again, or choose another PID",
				  pid);
		return -ESRCH;
	}
	if ((error == -EACCES || error == -EPERM) && geteuid())
		log_error("%d: not permitted to look at it: run gaspbpf with sudo", pid);
	else if (error == -EACCES || error == -EPERM)
		log_error("%d: not permitted to look at it, not even for root: run gaspbpf outside of the container",
			  pid);
	else if (error == -ETIMEDOUT)
		log_error("%d: its memory, or its file, does not answer: it is left alone: look which file system it "
			  "waits for",
			  pid);
	else
		log_error("%d: cannot be looked at: %s: try again", pid, strerror(-error));
	return error;
}

/* O_PATH descriptor of /proc/PID, or -errno. */
static int open_folder(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

ssize_t process_program_path(const struct process *process, char *path, size_t room)
{
	return reader_link(process->proc_fd, "exe", process->pid, path, room);
}

int process_open_program(pid_t pid)
{
	struct process process = { .pid = pid, .proc_fd = open_folder(pid) };
	struct stat st;
	int fd;

	if (process.proc_fd < 0)
		return process.proc_fd;
	fd = fstat(process.proc_fd, &st) ? -errno : 0;
	process.uid = st.st_uid;
	process.gid = st.st_gid;
	if (!fd)
		fd = reader_open(READER_PROC, process.proc_fd, "exe", &process);
	close(process.proc_fd);
	return fd;
}

/* Thread group, owner and seccomp mode, from /proc/PID/status. */
static int read_status(struct process *process, pid_t *group)
{
	char *text = proc_read(process->proc_fd, "status", 65536, NULL), *at;
	unsigned real_uid = 0, real_gid = 0;
	int seccomp = 0;
	int tgid = 0, found = 0;
	unsigned long long caught;

	if (!text)
		return -errno;
	/* The name stands in the first line, with newlines escaped, so it cannot pose as another line. */
	at = strstr(text, "\nTgid:");
	if (at)
		found += sscanf(at, "\nTgid: %d", &tgid);
	at = strstr(text, "\nUid:");
	if (at)
		found += sscanf(at, "\nUid: %u", &real_uid);
	at = strstr(text, "\nGid:");
	if (at)
		found += sscanf(at, "\nGid: %u", &real_gid);
	at = strstr(text, "\nSeccomp:");
	if (at && sscanf(at, "\nSeccomp: %d", &seccomp) == 1)
		process->filtered = seccomp != 0;
	at = strstr(text, "\nSigCgt:");
	if (at && sscanf(at, "\nSigCgt: %llx", &caught) == 1)
		process->crash_handler = caught & CRASHES;
	free(text);
	if (found != 3)
		return -ESRCH;
	*group = tgid;
	process->uid = real_uid;
	process->gid = real_gid;
	return 0;
}

/* Opens /proc/PID of the process that `pid` belongs to; says why not. */
static int open_group(struct process *process, pid_t pid)
{
	pid_t group = 0;
	int error;

	process->proc_fd = pid > 0 ? open_folder(pid) : -ENOENT;
	if (process->proc_fd == -ENOENT) {
		if (!process->may_end)
			log_error("%d: no such process: check the PID with ps", pid);
		return -ESRCH;
	}
	if (process->proc_fd < 0)
		return refuse(process, pid, process->proc_fd);
	error = read_status(process, &group);
	if (error)
		return refuse(process, pid, error);
	process->pid = group;
	if (group == pid)
		return 0;
	log_info("%d: is a thread of process %d, which is taken", pid, group);
	close(process->proc_fd);
	process->proc_fd = open_folder(group);
	return process->proc_fd < 0 ? refuse(process, group, process->proc_fd) : 0;
}

/* Refuses what has no program of its own, or no longer. */
static int check_state(struct process *process)
{
	struct proc_stat stat;
	int error = proc_stat_read(process->proc_fd, "stat", &stat);

	if (error)
		return refuse(process, process->pid, error);
	if (stat.kernel_thread) {
		if (!process->quiet)
			log_error("%d: is a kernel thread: gaspbpf looks at programs, choose another PID",
				  process->pid);
		return -EINVAL;
	}
	if (stat.state == 'Z' || stat.state == 'X') {
		if (!process->may_end && stat.threads > 1)
			log_error("%d: its main thread has ended, and without it nobody can look at the others: start "
				  "it with 'gaspbpf -- COMMAND'",
				  process->pid);
		else if (!process->may_end)
			log_error("%d: has ended already (zombie): choose a running process", process->pid);
		return -ESRCH;
	}
	process->parent = stat.parent;
	process->start_time = stat.start_time;
	return 0;
}

/* Refuses a program for another processor. Where its file cannot be read, the images say more later. */
static int check_program(const struct process *process)
{
	unsigned char ident[EI_NIDENT + 4] = { 0 };
	uint16_t machine;
	ssize_t got;
	int fd;

	fd = reader_open(READER_PROC, process->proc_fd, "exe", process);
	if (fd < 0)
		return fd == -ESRCH || fd == -ETIMEDOUT ? refuse(process, process->pid, fd) : 0;
	got = pread(fd, ident, sizeof(ident), 0);
	close(fd);
	if (got != (ssize_t)sizeof(ident) || memcmp(ident, ELFMAG, SELFMAG))
		return 0;
	if (ident[EI_CLASS] == ELFCLASS32) {
		if (!process->quiet)
			log_error("%d: is a 32-bit program: gaspbpf observes 64-bit " ARCH_TITLE " programs only",
				  process->pid);
		return -ENOTSUP;
	}
	memcpy(&machine, ident + EI_NIDENT + 2, sizeof(machine)); /* e_machine follows e_type */
	if (machine != ARCH_ELF_MACHINE) {
		if (!process->quiet)
			log_error("%d: is not an " ARCH_TITLE " program: gaspbpf observes " ARCH_TITLE " programs only",
				  process->pid);
		return -ENOTSUP;
	}
	return 0;
}

/* argv with blanks between, cut; where a process has erased it, its name in brackets, as ps does. */
static char *read_command(const struct process *process)
{
	size_t size = 0;
	char *text = reader_file(process->proc_fd, "cmdline", process->pid, COMMAND_MOST, &size);

	if (!text)
		return NULL;
	while (size && text[size - 1] == '\0')
		size--;
	for (size_t i = 0; i < size; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	if (size)
		return text;
	free(text);
	return asprintf(&text, "[%s]", process->name) < 0 ? NULL : text;
}

static char *read_name(int folder, const char *path)
{
	char *text = proc_read(folder, path, NAME_MOST, NULL);
	size_t length;

	if (!text)
		return NULL;
	length = strlen(text);
	if (length && text[length - 1] == '\n')
		text[length - 1] = '\0';
	return text;
}

int process_refresh(struct process *process)
{
	struct mapping *mappings;
	size_t size, count;
	uint64_t begun = clock_monotonic(), ended;
	char *text = reader_file(process->proc_fd, "maps", process->pid, MAPS_BYTES, &size);
	int error;

	if (!text)
		return errno == ENOENT ? -ESRCH : -errno;
	ended = clock_monotonic();
	error = maps_parse(text, size, &mappings, &count);
	free(text);
	if (error)
		return error;
	/* No program has no mapping at all: its memory is gone, and it will be. */
	if (!count) {
		maps_free(mappings, count);
		return -ESRCH;
	}
	maps_free(process->mappings, process->nmappings);
	process->mappings = mappings;
	process->nmappings = count;
	process->mapped_ns = begun;
	process->mapped_end_ns = ended;
	return 0;
}

static int read_process(struct process *process)
{
	int error;

	process->name = read_name(process->proc_fd, "comm");
	if (!process->name)
		return refuse(process, process->pid, -errno);
	error = process_refresh(process);
	if (error == -E2BIG) {
		if (!process->quiet)
			log_error("%d: has more than %d mappings: too many to look at", process->pid, MAPS_MOST);
		return error;
	}
	if (error)
		return refuse(process, process->pid, error);
	process->command = read_command(process);
	if (!process->command)
		return refuse(process, process->pid, -errno);
	process->environment = proc_read_environment(process->proc_fd, "", process->pid, &process->environment_size);
	return process->environment ? 0 : refuse(process, process->pid, -errno);
}

/* The pidfd, and the proof that it is of the process whose folder is open. */
static int take_pidfd(struct process *process)
{
	struct proc_stat stat;
	int error;

	process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (process->pidfd < 0)
		return refuse(process, process->pid, -errno);
	error = proc_stat_read(process->proc_fd, "stat", &stat);
	return error ? refuse(process, process->pid, error) : 0;
}

static int open_process(struct process **process, pid_t pid, bool may_end, bool quiet)
{
	struct process *p = calloc(1, sizeof(*p));
	int error;

	if (!p)
		return -ENOMEM;
	p->may_end = may_end;
	p->quiet = quiet;
	p->pidfd = -1;
	p->proc_fd = -1;
	error = open_group(p, pid);
	if (!error)
		error = check_state(p);
	if (!error)
		error = check_program(p);
	if (!error)
		error = read_process(p);
	if (!error)
		error = take_pidfd(p);
	if (error) {
		process_close(p);
		return error;
	}
	*process = p;
	return 0;
}

int process_open(struct process **process, pid_t pid)
{
	return open_process(process, pid, false, false);
}

int process_open_if_there(struct process **process, pid_t pid)
{
	return open_process(process, pid, true, false);
}

int process_open_quietly(struct process **process, pid_t pid)
{
	return open_process(process, pid, true, true);
}

void process_slim(struct process *process)
{
	maps_free(process->mappings, process->nmappings);
	process->mappings = NULL;
	process->nmappings = 0;
	free(process->environment);
	process->environment = NULL;
	process->environment_size = 0;
}

void process_close(struct process *process)
{
	if (!process)
		return;
	if (process->pidfd >= 0)
		close(process->pidfd);
	if (process->proc_fd >= 0)
		close(process->proc_fd);
	maps_free(process->mappings, process->nmappings);
	free(process->name);
	free(process->command);
	free(process->environment);
	free(process);
}

uint64_t process_started_ns(const struct process *process)
{
	uint64_t started = process->start_time * (1000000000ULL / sysconf(_SC_CLK_TCK)),
		 asleep = clock_asleep(); /* ns after boot */

	return started > asleep ? started - asleep : 0;
}

bool process_alive(const struct process *process)
{
	struct pollfd ended = { .fd = process->pidfd, .events = POLLIN };

	/* A pidfd becomes readable when the last thread of the process has ended. */
	return poll(&ended, 1, 0) == 0;
}

const char *process_getenv(const struct process *process, const char *name)
{
	return environment_value(process->environment, process->environment_size, name);
}

const struct mapping *process_code_of(const struct process *process, const struct image *image, uint64_t offset,
				      uint64_t size, const struct mapping *after)
{
	const struct mapping *end = process->mappings + process->nmappings;

	for (const struct mapping *m = after ? after + 1 : process->mappings; m < end; m++)
		if (m->executable && m->inode == image->inode && m->device == image->device && offset >= m->offset &&
		    offset + size - m->offset <= m->end - m->start)
			return m;
	return NULL;
}

const struct mapping *process_mapping_at(const struct process *process, uint64_t address)
{
	size_t low = 0, high = process->nmappings;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct mapping *mapping = &process->mappings[middle];

		if (address < mapping->start)
			high = middle;
		else if (address >= mapping->end)
			low = middle + 1;
		else
			return mapping;
	}
	return NULL;
}

bool process_maps(const struct process *process, const struct image *image)
{
	for (size_t i = 0; i < process->nmappings; i++) {
		const struct mapping *m = &process->mappings[i];

		if (m->executable && m->inode == image->inode && m->device == image->device)
			return true;
	}
	return false;
}

char *thread_name(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	return read_name(AT_FDCWD, path);
}

ssize_t process_descriptor(const struct process *process, int fd, char *text, size_t room)
{
	char name[sizeof("fd/") + 3 * sizeof(fd)];

	snprintf(name, sizeof(name), "fd/%d", fd);
	return reader_link(process->proc_fd, name, process->pid, text, room);
}

/* Of one descriptor, so that name and number are of the same folder. Asking for nothing, and not to be in step with a
 * server, never waits for one. */
static ssize_t folder_look(int fd, uint64_t *id, char *text, size_t room)
{
	char name[sizeof("/proc/self/fd/") + 3 * sizeof(fd)];
	struct statx found;
	ssize_t length;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	length = readlink(name, text, room);
	if (length < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &found))
		return -errno;
	if ((size_t)length >= room)
		return -ENAMETOOLONG;
	text[length] = '\0';
	*id = gb_folder_id((uint64_t)found.stx_dev_major << 20 | found.stx_dev_minor, found.stx_ino);
	return length;
}

ssize_t process_folder(const struct process *process, uint64_t *id, char *text, size_t room)
{
	int fd = reader_open(READER_FOLDER, process->proc_fd, "cwd", process);
	ssize_t length;

	if (fd < 0)
		return fd;
	length = folder_look(fd, id, text, room);
	close(fd);
	return length;
}
