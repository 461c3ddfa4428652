/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stacks_test.c - the calls that a thread is in, out of registers and stack words.
 *
 * The functions below note their own return addresses, by the compiler's word, while they call each other in any order.
 * The innermost one keeps registers and stack, as a look at another thread would give them. Only what is in this
 * program is compared; what libc does in between is its own affair, but must be got over.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <alloca.h>
#include <cmocka.h>
#include <search.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/recorded_job.h"
#include "shared/own_stack.h"

#define CHAINS 200
#ifdef __clang__
#define FUNCTION_BYTES 8000 /* with sanitizers */
#else
#define FUNCTION_BYTES 600 /* that none of them has */
#endif

/* --- functions of all kinds -------------------------------------------------- */

typedef void (*level)(unsigned depth);
static level plan[DEPTH_MOST + 1];

#define GO_ON(depth)                            \
	do {                                    \
		if (depth)                      \
			plan[depth](depth - 1); \
		else                            \
			own_stack_keep();       \
		STAY();                         \
	} while (0)

static OWN void plain(unsigned depth)
{
	NOTE();
	GO_ON(depth);
}

/* Much is alive across the call, in registers and beyond. */
static OWN void wide(unsigned depth)
{
	volatile unsigned from = depth;
	unsigned a = from, b = from + 1, c = from + 2, d = from + 3, e = from + 4, f = from + 5, g = from + 6;

	NOTE();
	GO_ON(depth);
	assert_int_equal(a + b + c + d + e + f + g, 7 * depth + 21);
}

/* The frame has a size of its own each time: it ends by the frame pointer. */
static OWN void growing(unsigned depth)
{
	volatile uint8_t *room = alloca(16 * depth + 8);

	NOTE();
	room[0] = 1;
	GO_ON(depth);
	assert_int_equal(room[0], 1);
}

/* The stack pointer is rounded down. */
static OWN void aligned(unsigned depth)
{
	volatile _Alignas(128) uint8_t room[128];

	NOTE();
	room[depth] = 1;
	GO_ON(depth);
	assert_int_equal((uintptr_t)room % 128 + room[depth], 1);
}

static OWN void large(unsigned depth)
{
	volatile uint8_t room[700];

	NOTE();
	room[depth] = 1;
	GO_ON(depth);
	assert_int_equal(room[depth], 1);
}

static OWN int compare(const void *key, const void *element)
{
	unsigned depth = *(const unsigned *)key;

	NOTE();
	GO_ON(depth);
	return 0;
}

static OWN void through_libc(unsigned depth)
{
	unsigned array[1] = { 0 };
	size_t count = 1;

	NOTE();
	NOTE_LIBC(through_libc);
	assert_ptr_equal(lfind(&depth, array, &count, sizeof(*array), compare), array);
}

static volatile unsigned signal_depth;

static OWN void on_signal(int number)
{
	unsigned depth = signal_depth;

	NOTE();
	GO_ON(depth);
}

static OWN void through_signal(unsigned depth)
{
	NOTE();
	noted.signals++;
	signal_depth = depth;
	NOTE_LIBC(through_signal);
	raise(SIGUSR1);
	STAY();
}

/* It has values of its own in the registers that calls keep; its callees save them where they like. */
void keeps(unsigned depth);
extern const char keeps_return[];
OWN void keeps_calls(unsigned depth);
OWN void keeps_notes(uint64_t address, uint64_t end);

OWN void keeps_calls(unsigned depth)
{
	NOTE();
	GO_ON(depth);
}

OWN void keeps_notes(uint64_t address, uint64_t end)
{
	noted.returns[noted.count] = address;
	noted.ends[noted.count++] = end;
}

__asm__(".text\n"
	".globl keeps, keeps_return\n.hidden keeps, keeps_return\n"
	".type keeps, @function\n"
	"keeps:\n"
	".cfi_startproc\n"
	"	push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
	"	push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
	"	push %r12\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r12, 0\n"
	"	push %r13\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r13, 0\n"
	"	push %r14\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r14, 0\n"
	"	push %r15\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %r15, 0\n"
	"	push %rdi\n.cfi_adjust_cfa_offset 8\n"
	"	mov 56(%rsp), %rdi\n"
	"	lea 64(%rsp), %rsi\n"
	"	call keeps_notes\n"
	"	mov (%rsp), %rdi\n"
	"	movabs $0x3333333333333333, %rbx\n"
	"	movabs $0x6666666666666666, %rbp\n"
	"	movabs $0x1212121212121212, %r12\n"
	"	movabs $0x1313131313131313, %r13\n"
	"	movabs $0x1414141414141414, %r14\n"
	"	movabs $0x1515151515151515, %r15\n"
	"	call keeps_calls\n"
	"keeps_return:\n"
	"	pop %rdi\n.cfi_adjust_cfa_offset -8\n"
	"	pop %r15\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r15\n"
	"	pop %r14\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r14\n"
	"	pop %r13\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r13\n"
	"	pop %r12\n.cfi_adjust_cfa_offset -8\n.cfi_restore %r12\n"
	"	pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbp\n"
	"	pop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\n"
	"	ret\n"
	".cfi_endproc\n"
	".size keeps, .-keeps\n");

static const level levels[] = { plain, wide, growing, aligned, large, through_libc, through_signal, keeps };

/* --- unwinding ----------------------------------------------------------------- */

static int set_up(void **state)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_NODEFER };

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	return own_stack_open(state);
}

static OWN void begin_chain(unsigned depth)
{
	own_stack_begin();
	NOTE();
	GO_ON(depth);
}

static unsigned random_chain(uint64_t seed)
{
	unsigned depth;

	random_state = 0x9e3779b97f4a7c15u * seed;
	depth = 1 + (unsigned)below(DEPTH_MOST / 2); /* one of them may be two functions */
	for (unsigned i = 1; i <= depth; i++)
		plan[i] = levels[below(sizeof(levels) / sizeof(*levels))];
	begin_chain(depth);
	return depth;
}

/* Those that were noted, the innermost first, are the frames of this program; beyond begin_chain() is the test. */
static void check_frames(const struct stack_frame *frames, size_t count)
{
	unsigned at = noted.count, exact = 0;

	assert_true(count > 1 && count < STACK_FRAMES);
	assert_int_equal(frames[0].pc, look.registers.value[REGISTER_IP]);
	assert_true(frames[0].exact);
	for (size_t i = 1; i < count; i++) {
		exact += frames[i].exact;
		assert_false(frames[i].guessed);
		if (!is_own(frames[i].pc))
			continue;
		while (at && !is_own(noted.returns[at - 1]))
			at--;
		if (!at)
			break;
		at--;
		assert_false(frames[i].exact);
		if (!noted.ends[at]) {
			assert_in_range(frames[i].pc, noted.returns[at], noted.returns[at] + FUNCTION_BYTES);
			continue;
		}
		assert_int_equal(frames[i].pc, noted.returns[at]);
		assert_int_equal(frames[i].registers.value[REGISTER_SP], noted.ends[at]);
	}
	assert_int_equal(at, 0);
	assert_int_equal(exact, 2 * noted.signals); /* what it interrupted, and the kernel's own frame */
}

static void test_frames_are_the_calls_in_progress(void **state)
{
	struct stack_frame frames[STACK_FRAMES];

	for (uint64_t seed = 1; seed <= CHAINS; seed++) {
		random_chain(seed);
		check_frames(frames, stack_unwind(space, &look, frames, STACK_FRAMES));
	}
}

static void test_registers_that_calls_keep_are_those_of_the_frame(void **state)
{
	static const struct {
		unsigned reg;
		uint64_t value;
	} kept[] = { { 3, 0x3333333333333333 },  { 6, 0x6666666666666666 },  { 12, 0x1212121212121212 },
		     { 13, 0x1313131313131313 }, { 14, 0x1414141414141414 }, { 15, 0x1515151515151515 } };
	struct stack_frame frames[STACK_FRAMES];
	unsigned seen = 0;

	for (uint64_t seed = 1; seed <= CHAINS; seed++) {
		size_t count;

		random_chain(seed);
		count = stack_unwind(space, &look, frames, STACK_FRAMES);
		for (size_t i = 0; i < count; i++) {
			if (frames[i].pc != (uint64_t)keeps_return)
				continue;
			for (size_t k = 0; k < sizeof(kept) / sizeof(*kept); k++) {
				assert_true(frames[i].registers.known >> kept[k].reg & 1);
				assert_int_equal(frames[i].registers.value[kept[k].reg], kept[k].value);
			}
			seen++;
		}
	}
	assert_true(seen > CHAINS / 2);
}

/* What lies beyond is not known; the memory of the process is another moment's. */
static void test_of_a_stack_that_is_cut_the_first_frames_are_told(void **state)
{
	struct stack_frame whole[STACK_FRAMES], cut[STACK_FRAMES];

	for (uint64_t seed = 1; seed <= CHAINS; seed++) {
		size_t all, count;

		random_chain(seed);
		all = stack_unwind(space, &look, whole, STACK_FRAMES);
		look.stack_size = below(whole[all - 1].registers.value[REGISTER_SP] - look.stack_at);
		count = stack_unwind(space, &look, cut, STACK_FRAMES);
		assert_in_range(count, 1, all - 1);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(cut[i].pc, whole[i].pc);
	}
}

static void test_no_more_frames_than_there_is_room_for(void **state)
{
	struct stack_frame frames[STACK_FRAMES], few[3];

	random_chain(1);
	assert_true(stack_unwind(space, &look, frames, STACK_FRAMES) > 3);
	assert_int_equal(stack_unwind(space, &look, few, 3), 3);
	assert_memory_equal(frames, few, sizeof(few));
	assert_int_equal(stack_unwind(space, &look, few, 0), 0);
}

static void test_what_is_torn_or_was_not_caught_has_no_frames(void **state)
{
	struct stack_frame frames[STACK_FRAMES];

	random_chain(2);
	look.torn = true;
	assert_int_equal(stack_unwind(space, &look, frames, STACK_FRAMES), 0);
	look.torn = false;
	look.stack = NULL;
	assert_int_equal(stack_unwind(space, &look, frames, STACK_FRAMES), 0);
	random_chain(2);
	look.registers.known = 0;
	assert_int_equal(stack_unwind(space, &look, frames, STACK_FRAMES), 0);
}

static void test_a_stack_of_nonsense_ends(void **state)
{
	struct stack_frame frames[STACK_FRAMES];

	for (uint64_t seed = 1; seed <= CHAINS; seed++) {
		unsigned spoilt = 1 + (unsigned)below(20);

		random_chain(seed);
		while (spoilt--) {
			uint64_t word = below(2) ? random_number() : noted.returns[below(noted.count)];

			memcpy(stack_copy + 8 * below(look.stack_size / 8), &word, sizeof(word));
		}
		assert_in_range(stack_unwind(space, &look, frames, STACK_FRAMES), 1, STACK_FRAMES);
		assert_int_equal(frames[0].pc, look.registers.value[REGISTER_IP]);
	}
}

static void test_memory_is_that_of_the_copy_where_it_has_it(void **state)
{
	uint64_t word = 0, at;
	static uint64_t elsewhere = 0x4711;

	random_chain(3);
	at = look.registers.value[REGISTER_SP] + 8;
	memset(stack_copy + (at - look.stack_at), 0xab, sizeof(word));
	assert_true(stack_read(space, &look, at, &word, sizeof(word)));
	assert_int_equal(word, 0xababababababababu);
	assert_true(stack_read(space, &look, (uint64_t)&elsewhere, &word, sizeof(word)));
	assert_int_equal(word, 0x4711);
	/* One that reaches beyond it is read from the process, whole. */
	look.stack_size = at + 4 - look.stack_at;
	assert_true(stack_read(space, &look, at, &word, sizeof(word)));
	assert_int_not_equal(word, 0xababababababababu);
	assert_false(stack_read(space, &look, 8, &word, sizeof(word)));
}

/* --- looks at another process ------------------------------------------------------ */

long call_and_wait(long number, long a, long b, long c);
extern const char call_and_wait_here[];
__asm__(".text\n.globl call_and_wait, call_and_wait_here\n.hidden call_and_wait, call_and_wait_here\n"
	".type call_and_wait, @function\n"
	"call_and_wait:\n.cfi_startproc\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	mov %rcx, %rdx\n"
	"	syscall\n"
	"call_and_wait_here:\n"
	"	ret\n.cfi_endproc\n.size call_and_wait, .-call_and_wait\n");

static uint64_t shared_buffer[8];
static int wait_pipe[2];

/* In the child: who waits, and from where. */
static OWN void wait_for_ever(void)
{
	call_and_wait(SYS_read, wait_pipe[0], (long)shared_buffer, 48);
	STAY();
}

static pid_t child_that(void (*does)(void))
{
	pid_t parent = getpid(), child = fork();

	assert_true(child >= 0);
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		does();
	_exit(0);
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Until it stands as wished; without more rights than anybody has to his own. */
static void take_looks(struct looks *looks, struct process *process, char state)
{
	struct timespec pause = { .tv_nsec = 10000000 };

	for (int i = 0; i < 1000; i++) {
		const struct thread_look *first;

		assert_int_equal(looks_take(looks, NULL, &process, 1), 0);
		first = looks_find(looks, process->pid, process->pid);
		if (first && first->state == state && (state != 'S' || first->system_call == SYS_read))
			return;
		looks_free(looks);
		nanosleep(&pause, NULL);
	}
	fail();
}

static void test_a_process_that_waits_is_seen_where_it_does(void **state)
{
	struct stack_frame frames[STACK_FRAMES];
	struct stack_space *others;
	struct process *process;
	struct looks looks;
	struct thread_look *seen;
	pid_t child;

	assert_int_equal(pipe(wait_pipe), 0);
	child = child_that(wait_for_ever);
	assert_int_equal(process_open(&process, child), 0);
	take_looks(&looks, process, 'S');
	seen = looks_find(&looks, child, child);
	assert_non_null(seen);
	assert_int_equal(looks.count, 1);
	assert_null(looks_find(&looks, child, child + 1));
	assert_false(looks.by_kernel);
	assert_false(seen->torn);
	assert_int_equal(seen->argument[0], wait_pipe[0]);
	assert_int_equal(seen->argument[1], (uint64_t)shared_buffer);
	assert_int_equal(seen->argument[2], 48);
	assert_int_equal(seen->registers.value[REGISTER_IP], (uint64_t)call_and_wait_here);
	assert_true(seen->stack_size > ARCH_RED_ZONE);
	assert_int_equal(stack_space_new(&others, opened, process), 0);
	assert_true(stack_unwind(others, seen, frames, STACK_FRAMES) > 1);
	assert_true(frames[1].pc > (uint64_t)wait_for_ever && frames[1].pc < (uint64_t)wait_for_ever + 200);
	assert_int_equal(stack_called(others, seen, &frames[1]), (uint64_t)call_and_wait);
	stack_space_free(others);
	looks_free(&looks);
	process_close(process);
	end_child(child);
	close(wait_pipe[0]);
	close(wait_pipe[1]);
}

static OWN void run_for_ever(void)
{
	for (;;)
		STAY();
}

/* Either a sample has caught it, or it is not to be believed: its registers belong to no stack that could be copied. */
static void test_a_process_that_runs_is_caught_or_torn(void **state)
{
	pid_t child = child_that(run_for_ever);
	struct stack_frame frames[STACK_FRAMES];
	struct stack_space *others;
	struct process *process;
	struct looks looks;
	const struct thread_look *seen;

	assert_int_equal(process_open(&process, child), 0);
	take_looks(&looks, process, 'R');
	seen = looks_find(&looks, child, child);
	assert_int_equal(stack_space_new(&others, opened, process), 0);
	if (seen->torn)
		assert_int_equal(stack_unwind(others, seen, frames, STACK_FRAMES), 0);
	else
		assert_in_range(seen->registers.value[REGISTER_IP], (uint64_t)run_for_ever,
				(uint64_t)run_for_ever + 100);
	stack_space_free(others);
	looks_free(&looks);
	process_close(process);
	end_child(child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_are_the_calls_in_progress),
		cmocka_unit_test(test_registers_that_calls_keep_are_those_of_the_frame),
		cmocka_unit_test(test_of_a_stack_that_is_cut_the_first_frames_are_told),
		cmocka_unit_test(test_no_more_frames_than_there_is_room_for),
		cmocka_unit_test(test_what_is_torn_or_was_not_caught_has_no_frames),
		cmocka_unit_test(test_a_stack_of_nonsense_ends),
		cmocka_unit_test(test_memory_is_that_of_the_copy_where_it_has_it),
		cmocka_unit_test(test_a_process_that_waits_is_seen_where_it_does),
		cmocka_unit_test(test_a_process_that_runs_is_caught_or_torn),
	};

	return cmocka_run_group_tests(tests, set_up, own_stack_close);
}
