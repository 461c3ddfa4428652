/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * home.h - may the end of this very call be watched by a return probe?
 *
 * The kernel keeps one list of return probes a thread, and takes it for a stack: a return probe that is set at a higher
 * address than one that waits throws that one away, and the thread that returns to it is killed (SIGILL). Two stacks of
 * one thread break that: fibers, and a signal handler's own stack above the thread's. What a program does with its
 * stacks is known only when it does it, so each call is asked: is it on the stack that the thread was born with?
 * Elsewhere no return probe is set. All that wait are then on one stack, and there the order is kept, whoever switches
 * between stacks in between.
 *
 * The stack of a process's first thread is the one that the kernel made (mm->start_stack). Another thread's was made by
 * the C library, which keeps where it begins and its size next to each other in what the thread pointer leads to: that
 * pair is found by what it says, since the thread pointer is at the end of the stack that it describes. Without such a
 * pair it is the mapping that holds both the stack pointer and the thread pointer, as it was at first: a stack for
 * fibers may be put right below, and look like a part of it. The bounds of a thread are looked for once, those of a
 * first thread's stack again as it grows; each other call costs a subtraction and a comparison.
 *
 * A thread whose system calls somebody else takes has none, either. And each process is asked: has user space seen what
 * it maps? After an exec, and from the moment when its linker says that objects come or go, nobody knows whether an
 * exception may pass through the function. Only a link for both ends of a call (a session) can leave the return alone
 * for one call; elsewhere user space decides for all calls beforehand (user/probe/returns.c).
 */
#ifndef GASPBPF_HOME_H
#define GASPBPF_HOME_H

#include "frames.h"

const volatile bool choosing;  /* each call may choose: it is seen by a session link */
const volatile __u32 observer; /* gaspbpf itself: its process */

#define SS_AUTODISARM (1u << 31)
#define TELLING_WORDS 320  /* of what the thread pointer leads to, that are looked at */
#define TELLING_MOST 16384 /* bytes from the thread pointer to the end of its stack, at most */
#define LOWEST_STACK 65536 /* where nobody may map anything (vm.mmap_min_addr) */
#define LARGEST_STACK (1ull << 40)
#define BORN_WITH                                                                                                \
	131072 /* bytes of a first thread's stack that the kernel makes at exec, below where it begins (mm/exec: \
		  stack_expand) */
#define PAGE_SHIFT 12
#define EBUSY 16

struct stack_search {
	__u64 sp, low, high;
	__u64 born; /* the first thread's: where the kernel began it */
	__u64 self; /* another thread's: its thread pointer */
};

static long take_mapping(struct task_struct *task, struct vm_area_struct *vma, struct stack_search *s)
{
	__u64 low = vma->vm_start, high = vma->vm_end;

	if (s->born ? s->born >= low && s->born < high : s->self > s->sp && s->self < high) {
		s->low = low;
		s->high = s->born ? high : s->self;
	}
	return 0;
}

static long is_told_at(__u32 word, struct stack_search *s)
{
	__u64 pair[2];

	if (bpf_probe_read_user(pair, sizeof(pair), (void *)(s->self + word * 8)))
		return 1;
	/* The thread's number stands before a pointer to what is beside it: numbers and pointers are told apart. */
	if (pair[0] < LOWEST_STACK || pair[1] >= LARGEST_STACK || pair[0] >= s->self ||
	    pair[0] + pair[1] - s->self - 1 >= TELLING_MOST)
		return 0;
	s->low = pair[0];
	s->high = s->self;
	return 1;
}

/* Looks for a beginning and a size whose sum is just behind the thread pointer. The kernel counts the rounds: in a loop
 * of ours the verifier follows each. */
__noinline int stack_told(struct stack_search *s)
{
	struct stack_search found = { 0 };

	if (!s || !choosing)
		return 0;
	found.self = s->self;
	bpf_loop(TELLING_WORDS, is_told_at, &found, 0);
	if (!found.high)
		return 0;
	s->low = found.low;
	s->high = found.high;
	return 1;
}

static __always_inline int stack_keep(struct thread_state *t, const struct stack_search *s)
{
	t->stack_low = s->low;
	t->stack_size = s->high - s->low;
	return s->sp - t->stack_low < t->stack_size;
}

/*
 * Where another thread maps something at this moment, nobody can ask for mappings from here. The first pages of a first
 * thread's stack are known all the same: they are there from the exec on, unless less was allowed (ulimit -s).
 */
static __always_inline bool is_where_born(const struct mm_struct *mm, __u64 sp)
{
	return mm->start_stack - sp < BORN_WITH && mm->stack_vm << PAGE_SHIFT >= BORN_WITH;
}

/* The stack pointer is not where it was before: is that the thread's own stack nevertheless? */
__noinline int stack_find(struct thread_state *t, __u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_search search = { .sp = sp };
	const struct mm_struct *mm;
	long err;

	if (!t || !choosing) /* where calls cannot choose, the kernel may not know the helpers below */
		return 0;
	mm = task->mm;
	if (!mm)
		return 0;
	if (task->pid == task->tgid) {
		search.born = mm->start_stack;
		err = bpf_find_vma(task, sp, take_mapping, &search, 0);
		if (!err && search.high)
			return stack_keep(t, &search);
		if (err == -EBUSY && is_where_born(mm, sp))
			return 1;
	}
	/* A child that another thread than the first has forked runs on that one's stack. */
	if (t->stack_size)
		return 0;
	search.self = arch_thread_pointer(task);
	if (stack_told(&search))
		return stack_keep(t, &search);
	search.born = 0;
	if (task->pid == task->tgid || bpf_find_vma(task, sp, take_mapping, &search, 0) || !search.high)
		return 0;
	return stack_keep(t, &search);
}

/*
 * Is this the stack that the thread has for its signal handlers (sigaltstack)? One that is disarmed while a handler
 * runs (SS_AUTODISARM) is not known then, and may lie in the thread's own: with that no call is at home.
 */
static __always_inline bool on_signal_stack(const struct task_struct *task, __u64 sp)
{
	return sp - task->sas_ss_sp < task->sas_ss_size || task->sas_ss_flags & SS_AUTODISARM;
}

/*
 * The kernel's code at which a return probe ends makes a system call. Would anybody but the kernel take it? A tracer
 * (other than gaspbpf, which holds processes while it looks at them) that takes its two stops for breakpoints, as
 * ltrace does, sends the thread astray; a program that has its system calls given back to itself (Syscall User
 * Dispatch: emulators of other systems) gets a SIGSYS that it cannot understand.
 */
static __always_inline bool has_calls_taken(const struct task_struct *task)
{
	return (task->ptrace && (__u32)BPF_CORE_READ(task, parent, tgid) != observer) ||
	       task->thread_info.syscall_work & 1UL << SYSCALL_WORK_BIT_SYSCALL_USER_DISPATCH;
}

/* Is it on the thread's own stack, and the innermost return probe, whoever has set it, too? */
static __always_inline bool is_at_home(const struct task_struct *task, struct thread_state *t, __u64 sp)
{
	const struct return_instance *waits;

	if (sp - t->stack_low >= t->stack_size && !stack_find(t, sp))
		return false;
	if (on_signal_stack(task, sp) || has_calls_taken(task))
		return false;
	waits = task->utask->return_instances;
	return !waits || waits->stack - t->stack_low < t->stack_size;
}

/* Has user space seen what the process maps? Once it has, that holds until somebody's doubt is counted. */
__noinline int is_looked_at(struct thread_state *t, __u32 doubts_now)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	__u8 *how = bpf_map_lookup_elem(&looked, &pid);

	if (!t || !how || *how < GB_LOOKED)
		return 0;
	t->trusted = doubts_now + 1;
	return 1;
}

static __always_inline bool is_known(struct thread_state *t)
{
	__u32 zero = 0, *now = bpf_map_lookup_elem(&doubts, &zero);

	return now && (t->trusted == *now + 1 || is_looked_at(t, *now));
}

#endif
