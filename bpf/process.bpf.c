/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * process.bpf.c - the life of the observed processes: fork, exec, thread and process exit.
 *
 * The set of observed processes lives in `targets` and is kept here, in the kernel, so that a child is
 * observed from its first instruction. User space hears of each change on the control ring.
 * The maps are those of observe.bpf.c (user/probe/kernel.c joins them).
 */
#include "frames.h"
#include "stacks.h"

#define PF_EXITING 4 /* the kernel's, of task_struct.flags: as macros it is not in BTF */

const volatile bool follow; /* children of observed processes are observed too */
bool strangers;             /* what others execute is told, too: probes are in their files */
bool stacks_used;           /* there may be calls in `stacks` */
__u32 holder;               /* the process that holds others (user/target/hold.c); 0: nobody does */
__u64 stopped_at;           /* ns; when observation ended: the end of the calls still in progress then; 0: it has not */

/* Does user space hold this task? */
static __always_inline bool is_held(const struct task_struct *task)
{
	return holder && task->ptrace && (__u32)BPF_CORE_READ(task, parent, tgid) == holder;
}

static __always_inline struct gb_life *life_new(__u32 kind, __u64 now)
{
	return monitoring && !spans_too ? 0 : life_reserve(kind, now);
}

/* The thread's calls end here; those that outlived the observation ended with it. */
static __always_inline void end_calls(struct thread_state *t, __u64 now, __u32 reason)
{
	if (stopped_at)
		frames_close_all(t, stopped_at, GB_END_DETACH);
	else
		frames_close_all(t, now, reason);
}

/* The last thread of a process tells the calls that are kept by stack, whether it was observed itself or not. */
static __always_inline struct thread_state *last_teller(struct task_struct *task, const struct signal_struct *signal,
							struct thread_state *t)
{
	__u32 pid = task->tgid;

	if (t || !stacks_used || signal->live.counter || !bpf_map_lookup_elem(&stacked, &pid))
		return t;
	t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (t) {
		t->pid = task->tgid;
		t->tid = task->pid;
		t->born = bpf_ktime_get_ns();
		cpu_time_read(task, &t->began);
	}
	return t;
}

/* The same for the process's calls that are kept by stack. */
static __always_inline void end_stacks(struct task_struct *task, struct thread_state *t, __u64 now, __u32 reason)
{
	__u32 pid = task->tgid;

	if (!stacks_used || !t || !bpf_map_lookup_elem(&stacked, &pid))
		return;
	stacks_end_all(t, pid, stopped_at ?: now, stopped_at ? GB_END_DETACH : reason);
	bpf_map_delete_elem(&stacked, &pid);
	t->stacked = false;
}

/* What the thread has had of the processors since its first call. */
static __always_inline void tell_cpu_time(struct gb_life *life, const struct task_struct *task,
					  const struct thread_state *t)
{
	const struct cpu_time *began = &t->began;
	struct cpu_time now;

	cpu_time_read(task, &now);
	now.user -= began->user;
	now.system -= began->system;
	life->run = now.run - began->run;
	/* Processor time is exact; of it the share that ticks found in the kernel. */
	if (now.user + now.system)
		life->system = now.system * 1000 / (now.user + now.system) * life->run / 1000;
	life->queued = now.queued == GB_UNKNOWN ? GB_UNKNOWN : now.queued - began->queued;
	life->preempted = now.preempted - began->preempted;
	life->observed = bpf_ktime_get_ns() - t->born;
	life->cpus = task->nr_cpus_allowed;
	life->cpu = task->thread_info.cpu;
}

static __always_inline void thread_ended(struct task_struct *task, __u32 tid, __u32 kind, __u64 now,
					 struct thread_state *t)
{
	struct gb_life *life = life_new(kind, now);

	if (!life)
		return;
	life->pid = task->tgid;
	life->tid = tid;
	if (t) {
		life->sequence = t->sequence;
		life->lost = t->lost;
		life->born = t->born;
		life->sums = t->sums;
		tell_cpu_time(life, task, t);
	}
	if (kind == GB_LIFE_EXIT)
		/* An exit of the whole group (exit_group, a signal) has its code there. */
		life->exit_code = BPF_CORE_READ(task, signal, group_exit_code) ?: task->exit_code;
	bpf_probe_read_kernel_str(life->comm, sizeof(life->comm), task->comm);
	bpf_ringbuf_submit(life, kind == GB_LIFE_EXIT ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/* Not the first thread called exec: it has the first one's number from now on, and is another thread to everybody. */
static __always_inline void begin_anew(struct task_struct *task, struct thread_state *t, __u64 now, __u32 old_tid)
{
	thread_ended(task, old_tid, GB_LIFE_THREAD, now, t);
	t->tid = task->pid;
	t->sequence = t->lost = t->sums = 0;
	t->born = now;
	cpu_time_read(task, &t->began);
}

static __always_inline void forget_control(__u32 pid)
{
	struct gb_control *c = bpf_map_lookup_elem(&controls, &pid);
	__u32 user, charged;

	if (!c)
		return;
	user = c->user;
	charged = c->charged;
	if (!bpf_map_delete_elem(&controls, &pid) && charged)
		room_give(user, GB_ROOM_CONTROLS);
}

/* A child is a copy of its parent, and what it last said of measurement with it. */
static __always_inline void inherit_control(__u32 parent, __u32 child)
{
	struct gb_control *c = bpf_map_lookup_elem(&controls, &parent);

	if (!c)
		return;
	forget_control(child); /* of somebody who had its number */
	if (c->charged && !room_take(c->user, GB_ROOM_CONTROLS))
		return;
	if (bpf_map_update_elem(&controls, &child, c, BPF_NOEXIST) && c->charged)
		room_give(c->user, GB_ROOM_CONTROLS);
}

/* What user space has seen of the process is no longer what it is. */
static __noinline int doubt(__u32 pid)
{
	__u32 zero = 0, *count = bpf_map_lookup_elem(&doubts, &zero);

	if (bpf_map_delete_elem(&looked, &pid))
		return 0;
	if (count)
		__sync_fetch_and_add(count, 1);
	return 1;
}

/* A runtime loads its own plug-ins inside its functions: the thread is in one. They are looked at later, and do not
 * throw through it. */
static __always_inline bool loads_its_own(void)
{
	const struct thread_state *t = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);

	return t && t->depth;
}

/*
 * Pages of code that a process had mapped when its linker last gave a sign. The sign that its objects are consistent
 * comes also where it has found that there was nothing to map, and of a namespace of their own (dlmopen) nothing else
 * can be read.
 */
HASH(code_mapped, PROCESSES_MOST, __u32, __u64);

static __always_inline bool maps_other_code(__u32 pid)
{
	struct mm_struct *mm = bpf_get_current_task_btf()->mm;
	__u64 now = mm ? mm->exec_vm : 0, *before = bpf_map_lookup_elem(&code_mapped, &pid);

	if (before && *before == now)
		return false;
	bpf_map_update_elem(&code_mapped, &pid, &now, BPF_ANY);
	return true;
}

/* The linker has done what it was looked at for, while it stood still. */
static __always_inline bool settle(__u32 pid)
{
	__u8 *how = bpf_map_lookup_elem(&looked, &pid);

	if (!how || *how != GB_LOOKED_HELD)
		return false;
	*how = GB_LOOKED;
	return true;
}

/* A child maps what its parent maps. */
static __always_inline void inherit_look(__u32 parent, __u32 child)
{
	__u8 *how = bpf_map_lookup_elem(&looked, &parent);

	if (how)
		bpf_map_update_elem(&looked, &child, how, BPF_ANY);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 pid = child->tgid, parent_pid = parent->tgid;
	struct gb_life *life;
	__u8 how, *parents;

	if (pid == parent_pid)
		return 0;
	parents = bpf_map_lookup_elem(&targets, &parent_pid);
	if (!parents)
		return 0;
	how = *parents;
	if (follow)
		bpf_map_update_elem(&targets, &pid, &how, BPF_ANY);
	inherit_look(parent_pid, pid);
	inherit_control(parent_pid, pid);
	life = life_new(GB_LIFE_FORK, bpf_ktime_get_ns());
	if (!life)
		return 0;
	life->pid = life->tid = pid;
	life->parent = parent_pid;
	life->exit_code = is_held(child); /* not so one that was made with CLONE_UNTRACED */
	bpf_ringbuf_submit(life, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* Another program: what was known of the process is not of this one. */
static __always_inline void judge_anew(__u32 pid)
{
	__u8 *how = bpf_map_lookup_elem(&targets, &pid);

	if (how && *how != GB_TARGET_TREE)
		bpf_map_delete_elem(&targets, &pid);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid)
{
	__u32 pid = task->tgid;
	struct thread_state *t;
	struct gb_life *life;
	__u64 now;

	doubt(pid);
	bpf_map_delete_elem(&code_mapped, &pid);
	now = bpf_ktime_get_ns();
	if (!monitoring && !bpf_map_lookup_elem(&targets, &pid)) {
		life = strangers ? life_new(GB_LIFE_STRANGER, now) : 0;
		if (!life)
			return 0;
		life->pid = pid;
		bpf_ringbuf_submit(life, BPF_RB_FORCE_WAKEUP);
		return 0;
	}
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (t) {
		end_calls(t, now, GB_END_EXEC);
		t->stack_low = t->stack_size = t->alone_sp = 0; /* its stack is another one */
	}
	if (monitoring)
		judge_anew(pid);
	end_stacks(task, t, now, GB_END_EXEC);
	forget_control(pid);
	if (t && old_pid != task->pid)
		begin_anew(task, t, now, old_pid);
	life = life_new(GB_LIFE_EXEC, now);
	if (!life)
		return 0;
	life->pid = pid;
	life->tid = old_pid; /* of the thread that called exec; it is the first one now */
	bpf_ringbuf_submit(life, BPF_RB_FORCE_WAKEUP);
	return 0;
}

/*
 * A thread that is held stops before its next instruction: here its linker has mapped objects, and none of their code
 * has run. Only where its tracer is surely there to take the signal away, and where it is not blocked, which would
 * deliver it in some other place; nor where somebody's own waits for this thread, since that one would be all that
 * comes.
 */
static __always_inline bool hold_here(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	unsigned long kept_away = task->blocked.sig[0] | task->pending.signal.sig[0];

	if (!is_held(task) || kept_away & 1UL << (GB_HOLD_SIGNAL - 1))
		return false;
	return !bpf_send_signal_thread(GB_HOLD_SIGNAL);
}

/* The place where a dynamic linker tells debuggers that its list of objects changes, or has changed. */
SEC("uprobe")
int linker(struct pt_regs *ctx)
{
	__u64 pid_tid = bpf_get_current_pid_tgid();
	__u32 pid = pid_tid >> 32, distance = bpf_get_attach_cookie(ctx), state = 0;
	struct gb_life *life;
	bool held, changed;

	if (stopped_at || !bpf_map_lookup_elem(&targets, &pid))
		return 0;
	if (distance)
		bpf_probe_read_user(&state, sizeof(state), (void *)(arch_ip(ctx) + distance));
	changed = maps_other_code(pid) || state || !distance;
	if ((state || !distance || !settle(pid)) && changed && !loads_its_own())
		doubt(pid);
	held = !state && hold_here();
	life = life_new(GB_LIFE_LINKER, bpf_ktime_get_ns());
	if (!life)
		return 0;
	life->changing = state;
	life->exit_code = held;
	life->pid = pid;
	life->tid = (__u32)pid_tid;
	bpf_ringbuf_submit(life, state ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* Threads that have made no observed call, by pid; and by tid, what those had run that were there before. */
HASH(quiet, PROCESSES_MOST, __u32, struct gb_quiet);
HASH(quiet_before, PROCESSES_MOST, __u32, __u64);

static __always_inline bool is_quiet(struct task_struct *task)
{
	__u32 pid = task->tgid;

	return !monitoring && bpf_map_lookup_elem(&targets, &pid) && !bpf_task_storage_get(&threads, task, 0, 0);
}

static __always_inline void count_quiet(struct task_struct *task)
{
	__u32 pid = task->tgid, tid = task->pid;
	struct gb_quiet none = { .born = BPF_CORE_READ(task, group_leader, start_time) };
	__u64 run = task->se.sum_exec_runtime, *before;
	struct gb_quiet *q;

	if (!bpf_map_lookup_elem(&quiet, &pid))
		bpf_map_update_elem(&quiet, &pid, &none, BPF_NOEXIST);
	q = bpf_map_lookup_elem(&quiet, &pid);
	if (!q || q->born != none.born)
		return;
	before = bpf_map_lookup_elem(&quiet_before, &tid);
	if (before && *before <= run)
		run -= *before;
	__sync_fetch_and_add(&q->threads, 1);
	__sync_fetch_and_add(&q->run, run);
}

static __always_inline void quiet_ends(struct task_struct *task, const struct thread_state *t)
{
	__u32 tid = task->pid;

	if (!t && !stopped_at && is_quiet(task))
		count_quiet(task);
	bpf_map_delete_elem(&quiet_before, &tid);
}

/* When observation begins. */
SEC("iter/task")
int quiet_begins(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u64 run;
	__u32 tid;

	if (!task || !is_quiet(task))
		return 0;
	tid = task->pid;
	run = task->se.sum_exec_runtime;
	bpf_map_update_elem(&quiet_before, &tid, &run, BPF_ANY);
	return 0;
}

/* How many threads of the process have yet to tell their end, without this one. */
static __always_inline __u32 tellers_left(__u32 pid, bool counted)
{
	__u32 *count = bpf_map_lookup_elem(&tellers, &pid);

	return !count ? 0 : counted ? __sync_fetch_and_add(count, -1) - 1 : *count;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	const struct signal_struct *signal = task->signal;
	struct thread_state *t = bpf_task_storage_get(&threads, task, 0, 0);
	bool told = t && t->told;
	__u32 pid = task->tgid, left;
	__u64 now;

	if (!monitoring)
		quiet_ends(task, t);
	t = last_teller(task, signal, t);
	if (t) {
		now = bpf_ktime_get_ns();
		end_calls(t, now, GB_END_EXIT);
		if (!signal->live.counter)
			end_stacks(task, t, now, GB_END_EXIT);
		thread_ended(task, task->pid, GB_LIFE_THREAD, now, t);
		t->ended = true;
		/* A zombie keeps what is left in the storage, and nobody counts zombies. */
		if (t->counted)
			room_give(t->user, GB_ROOM_THREADS);
		bpf_task_storage_delete(&threads, task);
	}
	left = tellers_left(pid, told);
	/* live has been counted down already: 0 means that all are on their way out. */
	if (signal->live.counter || left)
		return 0;
	bpf_map_delete_elem(&tellers, &pid);
	bpf_map_delete_elem(&looked, &pid);
	bpf_map_delete_elem(&code_mapped, &pid);
	forget_control(
		pid); /* one that is no target may have one, too, and the next process of its number is not off */
	if (bpf_map_delete_elem(&targets, &pid)) /* it is none, or another thread has just told its end */
		return 0;
	thread_ended(task, task->pid, GB_LIFE_EXIT, bpf_ktime_get_ns(), 0);
	return 0;
}

/* After the links are gone: the calls still in progress, and the final counts of threads that live on. */
SEC("iter/task")
int open_frames(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_state *t;

	if (!task)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t && !(task->flags & PF_EXITING) && is_quiet(task))
		count_quiet(task);
	if (!t || t->ended) /* a zombie has told its end already */
		return 0;
	frames_close_all(t, stopped_at, GB_END_DETACH);
	end_stacks(task, t, stopped_at, GB_END_DETACH);
	thread_ended(task, task->pid, GB_LIFE_OPEN, stopped_at, t);
	return 0;
}

/* How long threads have waited for a processor so far. */
SEC("iter/task")
int show_queues(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct gb_queue shown = { 0 };
	struct thread_state *t;
	struct cpu_time now;

	if (!task)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t || t->ended || t->began.queued == GB_UNKNOWN)
		return 0;
	cpu_time_read(task, &now);
	shown.pid = t->pid;
	shown.tid = t->tid;
	shown.born = t->born;
	shown.time = bpf_ktime_get_ns();
	shown.run = now.run - t->began.run;
	shown.queued = now.queued - t->began.queued;
	bpf_seq_write(ctx->meta->seq, &shown, sizeof(shown));
	return 0;
}

/* The calls in progress, while they are: whoever reads this must expect that they change meanwhile
 * (user/capture/open.c). */
SEC("iter/task")
int show_frames(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ctx->meta->seq;
	struct thread_state *t;

	if (!task)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t || t->ended)
		return 0;
	for (__u32 i = 0; i < GB_DEPTH && i < t->depth; i++) {
		if (i)
			frame_inner(t, &t->frames[i]);
		struct gb_open open = { .pid_tid = t->pid_tid, .depth = i, .silent = t->frames[i].summed };

		bpf_seq_write(seq, &open, sizeof(open));
		bpf_seq_write(seq, &t->frames[i].span, sizeof(t->frames[i].span));
	}
	return 0;
}

/* The same of those that are kept by stack. */
SEC("iter/bpf_map_elem")
int show_stacked(struct bpf_iter__bpf_map_elem *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct frame *f = ctx->value;

	if (!f)
		return 0;
	struct gb_open open = { .pid_tid = f->span.pid_tid, .silent = f->summed };

	bpf_seq_write(seq, &open, sizeof(open));
	bpf_seq_write(seq, &f->span, sizeof(f->span));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
