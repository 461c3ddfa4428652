/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stand-in UPC runtime: threads, barriers, locks and the shared heap.
 *
 * Every UPC thread is a process. The program's first process maps one shared area, forks one child for each thread and
 * stays behind as a monitor that waits for them. With UPC_PTHREADS they are threads of that process instead. The area
 * holds a control block and then an equal part for each thread:
 *
 *     control | thread 0: global half, local half | thread 1: global half, local half | ...
 *
 * A block of the global heap lies at the same offset in every thread's global half, so a pointer-to-shared that steps
 * from thread to thread keeps its address. A block of the local heap belongs to one thread. Offset 0 is never given
 * out: it is null.
 *
 * Waiting is by futex, so that more threads than cores make progress.
 */
#include "upc_runtime.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX     64
#define AREA            (8u << 20)      /* bytes of shared memory a thread */
#define GLOBAL_HALF     (AREA / 2)
#define SIZES           24              /* free lists for blocks of 32 << i bytes */

UPC_OWN int MYTHREAD;
int THREADS = 2;
#ifdef UPC_BERKELEY
unsigned gasneti_mynode = -1; /* of a process; the one that waits for them is none */
#endif

/* How pointers-to-shared are stored, for debuggers; and how the program was compiled, as the compiler would leave it.
 */
upc_debug_ptr upc_debug_null;
__attribute__((used, section("upc_pgm_info"))) static const char program_information[] =
#ifdef UPC_PTHREADS
	"$GCCUPCConfig: (upc_job.upc) dynamicthreads pthreads-tls$";
#else
	"$GCCUPCConfig: (upc_job.upc) dynamicthreads process$";
#endif

struct heap {
	_Atomic int lock;
	uint32_t next;                  /* first offset never used */
	uint32_t end;
	uint32_t free[SIZES];           /* offset of the first free block, 0: none */
};

/* Stands before every block; of a global block, in thread 0's part. */
struct block {
	uint32_t size_class;
	uint32_t next_free;
	uint64_t unused;                /* keeps what follows aligned to 16 bytes */
};

struct control {
	_Atomic int arrived, generation;        /* of the barrier: how many have notified; how often it has opened */
	_Atomic int barrier_id;                 /* the id that the first one to come gave */
	_Atomic int exit_called, exit_status;
	upc_shared_ptr agreed;                  /* what thread 0 tells all others */
	struct heap global;
	struct heap local[THREADS_MAX];
};

#define CONTROL_SIZE    ((sizeof(struct control) + 63) / 64 * 64)

static struct control *control;
static unsigned char *areas;
static UPC_OWN bool notified;
static UPC_OWN int notified_generation;

void upc_complain(const char *what)
{
	fprintf(stderr, "upc thread %d: %s\n", MYTHREAD, what);
	fflush(stderr);
	upc_global_exit(1);
}

void *upc_local_address(upc_shared_ptr p)
{
	uint64_t address = upc_address(p);
	int thread = upc_thread(p);

	if (!address || address >= AREA || thread >= THREADS)
		upc_complain("access through a null or wild pointer-to-shared");
	return areas + (size_t)thread * AREA + address;
}

/* Waiting */

static void futex_wait(_Atomic int *word, int value)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic int *word, int count)
{
	syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

/* A lock word: 0 free, 1 held, 2 held and somebody waits. */
static void take(_Atomic int *word)
{
	int expected = 0;

	if (atomic_compare_exchange_strong(word, &expected, 1))
		return;
	while (atomic_exchange(word, 2) != 0)
		futex_wait(word, 2);
}

static bool try_to_take(_Atomic int *word)
{
	int expected = 0;

	return atomic_compare_exchange_strong(word, &expected, 1);
}

static void give_back(_Atomic int *word)
{
	if (atomic_exchange(word, 0) == 2)
		futex_wake(word, 1);
}

static void arrive(int id)
{
	int none = UPC_UNNAMED;

	if (notified)
		upc_complain("notify after notify");
	notified = true;
	notified_generation = control->generation;
	if (id != UPC_UNNAMED && !atomic_compare_exchange_strong(&control->barrier_id, &none, id) && none != id)
		upc_complain("threads came to one barrier with different ids");
	if (atomic_fetch_add(&control->arrived, 1) + 1 < THREADS)
		return;
	control->arrived = 0;
	control->barrier_id = UPC_UNNAMED;
	control->generation++;
	futex_wake(&control->generation, INT_MAX);
}

static void await_others(void)
{
	if (!notified)
		upc_complain("wait without notify");
	while (control->generation == notified_generation)
		futex_wait(&control->generation, notified_generation);
	notified = false;
}

void upc_wait_for_all(void)
{
	arrive(UPC_UNNAMED);
	await_others();
}

/* noipa: a caller must really call them, as it would in a library that was compiled before the program. */
__attribute__((noipa)) void __upc_notify(int id)
{
	arrive(id);
}

__attribute__((noipa)) void __upc_wait(int id)
{
	await_others();
#ifdef UPC_WAITS_ITSELF
	__asm__ volatile("" : : : "memory"); /* no jump: the frame is its own */
#endif
}

void __upc_barrier(int id)
{
	__upc_notify(id);
	__upc_wait(id);
}

/* Thread 0's value, for all. */
upc_shared_ptr upc_all_agree(upc_shared_ptr of_thread_0)
{
	upc_shared_ptr agreed;

	if (MYTHREAD == 0)
		control->agreed = of_thread_0;
	upc_wait_for_all();
	agreed = control->agreed;
	upc_wait_for_all();
	return agreed;
}

/* The shared heap */

static struct block *block_header(int thread, uint32_t offset)
{
	return (struct block *)(areas + (size_t)thread * AREA + offset - sizeof(struct block));
}

static uint32_t heap_alloc(struct heap *heap, int thread, size_t size)
{
	uint32_t class = 0, offset;

	while (class < SIZES && ((size_t)32 << class) < size)
		class++;
	if (class == SIZES)
		return 0;
	take(&heap->lock);
	offset = heap->free[class];
	if (offset) {
		heap->free[class] = block_header(thread, offset)->next_free;
	} else if (((size_t)32 << class) + sizeof(struct block) <= heap->end - heap->next) {
		offset = heap->next + sizeof(struct block);
		heap->next = offset + (32u << class);
		block_header(thread, offset)->size_class = class;
	}
	give_back(&heap->lock);
	return offset;
}

static void heap_free(struct heap *heap, int thread, uint32_t offset)
{
	struct block *block = block_header(thread, offset);

	take(&heap->lock);
	block->next_free = heap->free[block->size_class];
	heap->free[block->size_class] = offset;
	give_back(&heap->lock);
}

static upc_shared_ptr spread(size_t nblocks, size_t nbytes)
{
	size_t each = (nblocks + THREADS - 1) / THREADS * nbytes;
	uint32_t offset = each ? heap_alloc(&control->global, 0, each) : 0;

	return offset ? upc_pointer(offset, 0, 0) : UPC_NULL;
}

static void release(upc_shared_ptr p)
{
	uint64_t address = upc_address(p);

	if (upc_is_null(p))
		return;
	upc_local_address(p);
	if (address < GLOBAL_HALF)
		heap_free(&control->global, 0, (uint32_t)address);
	else
		heap_free(&control->local[upc_thread(p)], upc_thread(p), (uint32_t)address);
}

upc_shared_ptr upc_alloc(size_t nbytes)
{
	uint32_t offset = nbytes ? heap_alloc(&control->local[MYTHREAD], MYTHREAD, nbytes) : 0;

	return offset ? upc_pointer(offset, MYTHREAD, 0) : UPC_NULL;
}

upc_shared_ptr upc_global_alloc(size_t nblocks, size_t nbytes)
{
	return spread(nblocks, nbytes);
}

upc_shared_ptr upc_all_alloc(size_t nblocks, size_t nbytes)
{
	return upc_all_agree(MYTHREAD == 0 ? spread(nblocks, nbytes) : UPC_NULL);
}

void upc_free(upc_shared_ptr block)
{
	release(block);
}

void upc_all_free(upc_shared_ptr block)
{
	upc_wait_for_all();
	if (MYTHREAD == 0)
		release(block);
}

/* Locks: one word in the local heap of the thread that made it. */

static _Atomic int *lock_word(upc_shared_ptr lock)
{
	return upc_local_address(lock);
}

static upc_shared_ptr make_lock(void)
{
	uint32_t offset = heap_alloc(&control->local[MYTHREAD], MYTHREAD, sizeof(int));
	upc_shared_ptr lock = offset ? upc_pointer(offset, MYTHREAD, 0) : UPC_NULL;

	if (!upc_is_null(lock))
		*lock_word(lock) = 0;
	return lock;
}

upc_shared_ptr upc_global_lock_alloc(void)
{
	return make_lock();
}

upc_shared_ptr upc_all_lock_alloc(void)
{
	return upc_all_agree(MYTHREAD == 0 ? make_lock() : UPC_NULL);
}

void upc_lock(upc_shared_ptr lock)
{
	take(lock_word(lock));
}

int upc_lock_attempt(upc_shared_ptr lock)
{
	return try_to_take(lock_word(lock));
}

void upc_unlock(upc_shared_ptr lock)
{
	give_back(lock_word(lock));
}

void upc_lock_free(upc_shared_ptr lock)
{
	release(lock);
}

void upc_all_lock_free(upc_shared_ptr lock)
{
	upc_wait_for_all();
	if (MYTHREAD == 0)
		release(lock);
}

/* The program's life */

void __upc_exit(int status)
{
	upc_wait_for_all();
#ifdef UPC_PTHREADS
	if (status)
		control->exit_status = status;
	pthread_exit(NULL);
#else
	exit(status);
#endif
}

void upc_global_exit(int status)
{
	if (!atomic_exchange(&control->exit_called, 1))
		control->exit_status = status;
	exit(status);
}

#ifdef UPC_PTHREADS

struct start {
	int thread, argc;
	char **argv;
};

static void *run_thread(void *argument)
{
	const struct start *start = argument;

	MYTHREAD = start->thread;
	upc_wait_for_all();
	__upc_exit(upc_main(start->argc, start->argv));
}

static int run_all(int argc, char **argv)
{
	static struct start starts[THREADS_MAX];
	pthread_t threads[THREADS_MAX];

	for (int i = 0; i < THREADS; i++) {
		starts[i] = (struct start){ i, argc, argv };
		if (pthread_create(&threads[i], NULL, run_thread, &starts[i])) {
			fprintf(stderr, "upc: cannot start a thread\n");
			return 1;
		}
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return control->exit_status;
}

#else

/* What a runtime does at a thread's start, before the program: UPC_CLEARS calls of it. */
static void clear_own_part(void)
{
	const char *times = getenv("UPC_CLEARS");

	for (int i = 0; times && i < atoi(times); i++)
		upc_memset(upc_pointer(AREA - 64, MYTHREAD, 0), 0, 64);
}

static void run_thread(int thread, int argc, char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	MYTHREAD = thread;
#ifdef UPC_BERKELEY
	gasneti_mynode = thread;
#endif
	clear_own_part();
	upc_wait_for_all();
	__upc_exit(upc_main(argc, argv));
}

/* Waits for all threads. One that fails, or says that all shall end, ends the others. */
static int monitor(const pid_t *children)
{
	int status = 0, left = THREADS;

	while (left > 0) {
		int how, code;

		if (wait(&how) < 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		left--;
		code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
		if (code && !status)
			status = code;
		if (control->exit_called)
			status = control->exit_status;
		if (code || control->exit_called)
			for (int i = 0; i < THREADS; i++)
				kill(children[i], SIGKILL);
		if (code || control->exit_called)
			break;
	}
	return status;
}

static int run_all(int argc, char **argv)
{
	pid_t children[THREADS_MAX];

	for (int i = 0; i < THREADS; i++) {
		children[i] = fork();
		if (children[i] == 0)
			run_thread(i, argc, argv);
		if (children[i] < 0) {
			perror("upc: cannot fork");
			while (i-- > 0)
				kill(children[i], SIGKILL);
			return 1;
		}
	}
	return monitor(children);
}

#endif

static void make_memory(void)
{
	size_t size = CONTROL_SIZE + (size_t)THREADS * AREA;
	unsigned char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1,
				     0);

	if (memory == MAP_FAILED) {
		perror("upc: cannot map the shared area");
		exit(1);
	}
	control = (struct control *)memory;
	areas = memory + CONTROL_SIZE;
	control->barrier_id = UPC_UNNAMED;
	control->global.next = 64;
	control->global.end = GLOBAL_HALF;
	for (int i = 0; i < THREADS; i++) {
		control->local[i].next = GLOBAL_HALF;
		control->local[i].end = AREA;
	}
}

/* PROGRAM [-n THREADS] ARGUMENTS... */
int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "-n")) {
		THREADS = atoi(argv[2]);
		argv[2] = argv[0];
		argc -= 2;
		argv += 2;
	}
	if (THREADS < 1 || THREADS > THREADS_MAX) {
		fprintf(stderr, "upc: -n takes 1 to %d threads\n", THREADS_MAX);
		return 2;
	}
	make_memory();
	return run_all(argc, argv);
}
