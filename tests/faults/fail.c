/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fail.c - lets the n-th call of a kind fail, in the one program that it is loaded into (LD_PRELOAD).
 *
 *   FAIL_BOOK=FILE      what was called how often, and whether a fault was made: struct book, kept while the program
 *                       runs, so that it is right even where it is killed. Without it the library does nothing
 *   FAIL_KIND=KIND      one of those in `kinds`; without it calls are only counted
 *   FAIL_AT=N           the N-th call of this kind fails, 1 is the first
 *   FAIL_ON=1           and so do all behind it
 *   FAIL_ERRNO=NUMBER   what it fails with
 *   FAIL_ROOM=BYTES     so many bytes fit on the disk: the write that fills it is cut short, those behind it fail;
 *                       for KIND write
 *   FAIL_DIES=1         the program does not fail there, but is killed: right before the call; with a fork, right after
 *   FAIL_CHILDREN=1     what it forks counts, too, and fails
 *   FAIL_TRACE=FILE     writes who called where the first fault was made, and where the program crashed
 *   FAIL_WAYS=FILE      writes 8 bytes a call of this kind: a number for the way that led there, the same for calls
 *                       from the same place
 *
 * The variables are taken out of the environment, and what the program starts does not count: children have another
 * pid, or not these variables. Types that are handed to the kernel (BPF_BTF_LOAD) always arrive: libbpf goes on without
 * them, and the verifier then takes a minute. Memory that the C library takes for itself counts (strdup, asprintf,
 * open_memstream); what it writes for stdio does not: that is for /dev/full.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define WAY_FROM 3 /* this library's own */
#define WAY_LENGTH 5

enum kind { MEMORY, WRITE, MMAP, BPF, PERF, FORK, THREAD, OPEN, KINDS };

static const char *const kinds[KINDS] = { "memory", "write", "mmap", "bpf", "perf", "fork", "thread", "open" };

/* As tests/support/faults.py reads it. */
struct book {
	uint64_t calls[KINDS];
	uint64_t faults;
	uint64_t written; /* bytes, into regular files */
};

static struct book *book;
static pid_t program;
static int kind = -1, error, trace = -1, ways = -1;
static uint64_t at, room = UINT64_MAX;
static bool from_there_on, children, dies;
static __thread bool
	excepted; /* these calls are not the program's: in backtrace(), for example, which takes memory, too */

/*
 * What the program would have called; looked for at the first call, which can come before begin(): other libraries
 * begin, too.
 */
#define REAL(name)                                                          \
	({                                                                  \
		static __typeof__(&name) real;                              \
		real ?: (real = (__typeof__(real))dlsym(RTLD_NEXT, #name)); \
	})

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *data, size_t size);

static const char *taken(const char *name)
{
	const char *text = getenv(name);

	unsetenv(name); /* the text stays */
	return text;
}

static void tell(void)
{
	void *callers[32];

	if (trace < 0 || excepted)
		return;
	excepted = true;
	backtrace_symbols_fd(callers, backtrace(callers, 32), trace);
	excepted = false;
}

/*
 * The callers that are nearest tell one place from another; all of them would tell apart each turn of a loop in a
 * loop.
 */
static void note_way(void)
{
	void *callers[WAY_FROM + WAY_LENGTH];
	uint64_t hash = 14695981039346656037ull; /* FNV-1a */
	int count;

	excepted = true;
	count = backtrace(callers, WAY_FROM + WAY_LENGTH);
	for (int i = WAY_FROM; i < count; i++)
		hash = (hash ^ (uintptr_t)callers[i]) * 1099511628211ull;
	if (REAL(write)(ways, &hash, sizeof(hash)) < 0)
		ways = -1;
	excepted = false;
}

static bool mine(void)
{
	return book && !excepted && (children || getpid() == program);
}

/* The program has no handler for these: they end it after this. */
static void tell_crash(int signal)
{
	if (REAL(write)(trace, "crash:\n", 7) == 7)
		tell();
	raise(signal);
}

static bool fails(enum kind called)
{
	uint64_t number;

	if (!mine())
		return false;
	number = __atomic_add_fetch(&book->calls[called], 1, __ATOMIC_RELAXED);
	if ((int)called == kind && ways >= 0)
		note_way();
	if ((int)called != kind || !at || number < at || (number > at && !from_there_on))
		return false;
	if (__atomic_fetch_add(&book->faults, 1, __ATOMIC_RELAXED) == 0)
		tell();
	if (dies && called != FORK)
		raise(SIGKILL);
	errno = error;
	return true;
}

/* memory */

void *malloc(size_t size)
{
	return fails(MEMORY) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails(MEMORY) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *data, size_t size)
{
	return fails(MEMORY) ? NULL : __libc_realloc(data, size);
}

/* files */

/* How much of it fits on the disk; -1: nothing, and errno is set. Only what goes into a file, or to standard output. */
static ssize_t fits(int fd, size_t size)
{
	struct stat st;
	uint64_t before;

	if (!mine() || fstat(fd, &st) || (!S_ISREG(st.st_mode) && fd != STDOUT_FILENO))
		return (ssize_t)size;
	if (fails(WRITE))
		return -1;
	if (!S_ISREG(st.st_mode))
		return (ssize_t)size;
	before = __atomic_fetch_add(&book->written, size, __ATOMIC_RELAXED);
	if (before + size <= room)
		return (ssize_t)size;
	if (__atomic_fetch_add(&book->faults, 1, __ATOMIC_RELAXED) == 0)
		tell();
	if (before < room)
		return (ssize_t)(room - before);
	errno = error;
	return -1;
}

ssize_t write(int fd, const void *data, size_t size)
{
	ssize_t part = fits(fd, size);

	return part < 0 ? -1 : REAL(write)(fd, data, (size_t)part);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t where)
{
	ssize_t part = fits(fd, size);

	return part < 0 ? -1 : REAL(pwrite)(fd, data, (size_t)part, where);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t where) __attribute__((alias("pwrite")));

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	return fits(fd, 0) < 0 ? -1 : REAL(writev)(fd, parts, count);
}

int open(const char *path, int flags, ...)
{
	va_list arguments;
	unsigned mode;

	va_start(arguments, flags);
	mode = va_arg(arguments, unsigned);
	va_end(arguments);
	return fails(OPEN) ? -1 : REAL(open)(path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

int openat(int folder, const char *path, int flags, ...)
{
	va_list arguments;
	unsigned mode;

	va_start(arguments, flags);
	mode = va_arg(arguments, unsigned);
	va_end(arguments);
	return fails(OPEN) ? -1 : REAL(openat)(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) __attribute__((alias("openat")));

FILE *fopen(const char *path, const char *mode)
{
	return fails(OPEN) ? NULL : REAL(fopen)(path, mode);
}

FILE *fopen64(const char *path, const char *mode) __attribute__((alias("fopen")));

/* the kernel */

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	return fails(MMAP) ? MAP_FAILED : REAL(mmap)(address, size, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset)
	__attribute__((alias("mmap")));

long syscall(long number, ...)
{
	va_list arguments;
	long a[6];

	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	if (number == SYS_bpf && a[0] != BPF_BTF_LOAD && fails(BPF))
		return -1;
	if (number == SYS_perf_event_open && fails(PERF))
		return -1;
	if ((number == SYS_clone || number == SYS_clone3) && fails(FORK))
		return -1;
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* The C library of Debian 12 asserts that it has memory when it looks for a user: no fault of the program's. */
int getpwuid_r(uid_t uid, struct passwd *entry, char *room, size_t size, struct passwd **found)
{
	int result;

	excepted = true;
	result = REAL(getpwuid_r)(uid, entry, room, size, found);
	excepted = false;
	return result;
}

int getgrouplist(const char *name, gid_t group, gid_t *groups, int *count)
{
	int result;

	excepted = true;
	result = REAL(getgrouplist)(name, group, groups, count);
	excepted = false;
	return result;
}

/* processes and threads */

pid_t fork(void)
{
	pid_t child;

	if (!fails(FORK))
		return REAL(fork)();
	if (!dies)
		return -1;
	child = REAL(fork)();
	if (child)
		raise(SIGKILL);
	return child;
}

/* One that shares our memory is no more than a thread. */
int clone(int (*start)(void *), void *stack, int flags, void *argument, ...)
{
	return fails(THREAD) ? -1 : REAL(clone)(start, stack, flags, argument);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attributes, char *const *argv, char *const *environment)
{
	return fails(FORK) ? error : REAL(posix_spawn)(pid, path, actions, attributes, argv, environment);
}

int posix_spawnp(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attributes, char *const *argv, char *const *environment)
{
	return fails(FORK) ? error : REAL(posix_spawnp)(pid, path, actions, attributes, argv, environment);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
	return fails(THREAD) ? error : REAL(pthread_create)(thread, attributes, start, argument);
}

/* the beginning */

__attribute__((constructor)) static void begin(void)
{
	const char *path = taken("FAIL_BOOK"), *wanted = taken("FAIL_KIND"), *nth = taken("FAIL_AT"),
		   *on = taken("FAIL_ON");
	const char *number = taken("FAIL_ERRNO"), *bytes = taken("FAIL_ROOM"), *traced = taken("FAIL_TRACE"),
		   *forked = taken("FAIL_CHILDREN"), *way = taken("FAIL_WAYS"), *death = taken("FAIL_DIES");
	const struct sigaction crash = { .sa_handler = tell_crash, .sa_flags = SA_RESETHAND };
	struct book *fresh;
	int fd;

	fd = path ? REAL(open)(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
	if (fd < 0 || ftruncate(fd, sizeof(*book)))
		return;
	fresh = REAL(mmap)(NULL, sizeof(*book), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (fresh == MAP_FAILED)
		return;
	if (traced)
		trace = REAL(open)(traced, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (way)
		ways = REAL(open)(way, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (trace >= 0) {
		sigaction(SIGSEGV, &crash, NULL);
		sigaction(SIGABRT, &crash, NULL);
	}
	for (int i = 0; i < KINDS; i++)
		if (wanted && !strcmp(wanted, kinds[i]))
			kind = i;
	at = nth ? strtoull(nth, NULL, 10) : 0;
	error = number ? atoi(number) : ENOMEM;
	room = bytes ? strtoull(bytes, NULL, 10) : UINT64_MAX;
	from_there_on = on != NULL;
	children = forked != NULL;
	dies = death != NULL;
	program = getpid();
	book = fresh;
}
