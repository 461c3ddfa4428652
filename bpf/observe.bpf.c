/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * observe.bpf.c - one probe hit: the call, the return, the span.
 *
 * Where a return probe does no harm, a session program sees call and return on one link; the pair `call` and `leave`
 * serves uprobe_multi links and perf events. Elsewhere `call` is alone, or the function's last instructions have `last`
 * (user/probe/returns.c tells which). frames.h tells how the two ends of a call find each other, stacks.h how they
 * do where a thread has several stacks; values.h fetches what a call carries.
 */
#include "frames.h"
#include "home.h"
#include "passed.h"
#include "stacks.h"
#include "values.h"

extern bool bpf_session_is_return(void) __ksym __weak; /* Linux 6.13, commit adf644ff8573 */

bool filter_targets; /* look the process up in `targets`; told once the processes are known, so not a constant */
bool active;         /* observation is on */

/*
 * A function may jump back to its first instruction: a loop that it begins with, or a last call of itself. Then the
 * probe there is hit without a call. As a call is followed by a return probe, a further round finds the kernel's
 * trampoline in the place of the return address, and the frame of that very call on top. A new call in the same place
 * has a real return address there.
 */
static __noinline int is_round(struct thread_state *t, __u64 sp, __u32 id)
{
	__u32 top;

	if (!t)
		return 0;
	top = t->depth - 1;
	if (top >= GB_DEPTH || t->frames[top].sp != sp || t->frames[top].span.probe != id)
		return 0;
	return holds_trampoline(sp);
}

/* Where a call has no return probe, its rounds look like calls. */
static __noinline int note_round(void)
{
	struct gb_trouble *seen = trouble_here();

	if (seen)
		seen->rounds++;
	return 1;
}

/* What a hit on a closing probe ends: the topmost frame of its opener. */
__noinline int close_opened(struct thread_state *t, __u32 opener)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 at = GB_DEPTH;

	if (!t)
		return 0;
	for (int i = 0; i < GB_DEPTH; i++) {
		at = t->depth - 1 - i;
		if (at >= GB_DEPTH || t->frames[at].span.probe == opener)
			break;
	}
	if (at >= GB_DEPTH)
		return 1;
	for (int i = 0; i < GB_DEPTH; i++) {
		__u32 top = t->depth - 1;

		if (top >= GB_DEPTH)
			break;
		if (t->frames[top].span.probe == opener) {
			frame_close(t, now, GB_END_RETURN);
			return 0;
		}
		frame_close(t, now, GB_END_UNWOUND);
	}
	return 1;
}

static __always_inline bool teller_add(__u32 pid)
{
	__u32 one = 1, *count = bpf_map_lookup_elem(&tellers, &pid);

	if (!count && !bpf_map_update_elem(&tellers, &pid, &one, BPF_NOEXIST))
		return true;
	count = count ?: bpf_map_lookup_elem(&tellers, &pid); /* another thread was faster */
	if (count)
		__sync_fetch_and_add(count, 1);
	return count;
}

static __noinline struct thread_state *thread_new(void)
{
	struct thread_state *t;
	struct gb_trouble *missed;

	struct task_struct *task = bpf_get_current_task_btf();
	__u32 user = monitoring ? user_account() : 0;
	bool room = !monitoring || room_take(user, GB_ROOM_THREADS);

	t = room ? bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) : 0;
	if (!t) {
		if (monitoring && room) {
			room_give(user, GB_ROOM_THREADS);
			user_refused(user, GB_REFUSED_MEMORY);
		}
		missed = trouble_here();
		if (missed)
			missed->no_memory++;
		return 0;
	}
	t->pid_tid = bpf_get_current_pid_tgid();
	t->born = bpf_ktime_get_ns();
	t->user = user;
	t->counted = monitoring;
	t->told = teller_add(t->pid);
	cpu_time_read(task, &t->began);
	return t;
}

/* Keeps a call by the place of its return address. 0, or 1: there is no room. Static, since Linux 6.1 puts only what it
 * knows to be of a map into one. */
static __noinline int stack_begin(struct thread_state *t, struct frame *f)
{
	struct stack_place place = { 0 };
	struct frame *left;

	if (!t || !f)
		return 1;
	place.sp = f->sp;
	place.pid = t->pid;
	f->user = t->user;
	f->span.depth = 0;
	if (!note_stacked(t)) {
		if (monitoring)
			user_refused(t->user, GB_ROOM_STACKS);
		return 1;
	}
	left = bpf_map_lookup_elem(&stacks, &place);
	if (left) {
		f->user = left->user;
		stack_finish(t, left, f->span.start, GB_END_UNWOUND);
	} else if (monitoring && !room_take(t->user, GB_ROOM_STACKS)) {
		return 1;
	}
	if (!bpf_map_update_elem(&stacks, &place, f, BPF_ANY))
		return 0;
	if (monitoring && !left) {
		room_give(t->user, GB_ROOM_STACKS);
		user_refused(t->user, GB_REFUSED_MEMORY);
	}
	return 1;
}

static __always_inline bool is_target(void)
{
	__u32 pid;
	__u8 *how;

	if (!filter_targets)
		return true;
	pid = bpf_get_current_pid_tgid() >> 32;
	how = bpf_map_lookup_elem(&targets, &pid);
	return monitoring ? !how || *how != GB_TARGET_NO : how != 0;
}

/* Has the current process switched measurement off? */
static __noinline int is_off(void)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct gb_control *c = bpf_map_lookup_elem(&controls, &pid);

	return c && !c->value;
}

static void tell_control(struct thread_state *t, __u64 now, __u32 id, __s32 value)
{
	struct gb_life *life = life_reserve(GB_LIFE_CONTROL, now);

	if (!life)
		return;
	life->pid = t->pid;
	life->tid = t->tid;
	life->changing = id;
	life->exit_code = value;
	bpf_ringbuf_submit(life, 0);
}

static const struct gb_control always_on = { .value = 1 };

/* The program switches its measurement off or on. Said again, it is nothing new. */
static __noinline int set_control(struct thread_state *t, __u32 id, __s32 value)
{
	__u64 now = bpf_ktime_get_ns();
	struct gb_control *c;
	__u32 pid, next;

	if (!t)
		return 0;
	pid = t->pid;
	c = bpf_map_lookup_elem(&controls, &pid);
	if (!c) {
		if (monitoring && !room_take(t->user, GB_ROOM_CONTROLS))
			return 0;
		bpf_map_update_elem(&controls, &pid, &always_on, BPF_NOEXIST);
		c = bpf_map_lookup_elem(&controls, &pid);
		if (c && monitoring) {
			c->user = t->user;
			c->charged = 1;
		} else if (monitoring) {
			room_give(t->user, GB_ROOM_CONTROLS);
		}
	}
	if (!c)
		return 0;
	c->heard = 1;
	if (c->value == value)
		return 0;
	if (!value && c->value) {
		next = c->next++ % GB_OFFS;
		barrier_var(next);
		if (next < GB_OFFS)
			c->off[next] = now;
	}
	c->value = value;
	some_off = true;
	tell_control(t, now, id, value);
	return 0;
}

/* Is this an access to the caller's own part of the global address space? */
static __noinline int is_near(const struct pt_regs *ctx, const struct gb_probe *p)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	__u32 *rank = bpf_map_lookup_elem(&ranks, &pid);
	volatile __u64 arguments[8] = { 0 }; /* the verifier wants the context read at fixed places */
	struct gb_trouble *seen;

	if (!rank)
		return 0;
	arch_take_arguments(ctx, arguments);
	for (int i = 0; i < GB_NEAR; i++) {
		const struct gb_near *near = &p->near[i];
		__u64 part = arguments[near->reg & 7] >> (near->shift & 63);

		if (near->bits && (part & ((1ULL << (near->bits & 63)) - 1)) != *rank)
			return 0;
	}
	seen = trouble_here();
	if (seen)
		seen->near++;
	return 1;
}

/* The call. Returns 1 where its return need not be seen. session: the link would see it; elsewhere user space has
 * decided about it for all calls. */
static __always_inline int on_call(struct pt_regs *ctx, __u32 id, bool session)
{
	struct thread_state *t;
	struct gb_probe *p;
	struct frame *f;
	__u64 sp;
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 depth, top;
	bool alone; /* its return is left alone */

	if (!active || !is_target())
		return 1;
	p = bpf_map_lookup_elem(&probes, &id);
	if (!p)
		return 1;
	if (some_off && !p->control && !(p->flags & GB_PROBE_CLOSES) && is_off())
		return 1;
	sp = arch_sp(ctx) + p->pushed; /* as at the function's first instruction */
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t) {
		t = thread_new();
		if (!t)
			return 1;
	}
	alone = session && choosing &&
		!(p->flags & (GB_PROBE_NO_RETURN | GB_PROBE_OPENS | GB_PROBE_CLOSES | GB_PROBE_EXITS)) &&
		(!is_at_home(task, t, sp) || (p->wary && !is_known(t)));
	top = t->depth - 1;
	barrier_var(top); /* index with the register that was checked: Linux 6.1 does not follow a copy of it */
	if (alone) {
		if (p->rounds)
			return is_round(t, sp, id) || note_round();
	} else if (top < GB_DEPTH && t->frames[top].sp <= sp) {
		if (p->rounds && is_round(t, sp, id))
			return 1;
		close_passed(t, sp);
	}
	depth = t->depth;
	if (p->flags & GB_PROBE_CLOSES) {
		if (close_opened(t, p->opener) && !(p->flags & GB_PROBE_SAMPLED)) {
			struct gb_trouble *missed = trouble_here();

			if (missed)
				missed->no_entry++;
		}
		return 1;
	}
	if (p->near[0].bits && is_near(ctx, p))
		return 1;
	if (is_skipped(p)) {
		if (p->rounds) /* it is on its way out */
			return 1;
		sum_skip(t, depth || t->alone_sp ? id | skipped_inner(t, id, sp, arch_ip(ctx)) : id);
		return 1;
	}
	if (depth > GB_DEPTH)
		depth = GB_DEPTH;
	barrier_var(depth);
	f = &t->frames[depth];
	f->sp = sp;
	f->ip = arch_ip(ctx);
	f->exits = p->flags & GB_PROBE_EXITS;
	f->summed = p->flags & GB_PROBE_SUMMED;
	f->span.pid_tid = t->pid_tid;
	f->span.caller = 0;
	f->span.probe = id;
	f->span.unread = 0;
	f->span.depth = depth;
	f->span.inner = 0;
	f->span.reason = GB_END_RETURN;
	f->span.values = p->slots;
	arch_take_arguments(ctx, f->span.value);
	if (p->entry_ops)
		run_ops(t, f, p, false);
	if (p->control && p->control != GB_CONTROL_ALWAYS) {
		__u32 slot = p->control - GB_CONTROL_SLOT;

		bool off = is_off();

		if (slot < GB_SLOTS && !(f->span.unread >> slot & 1))
			set_control(t, id, f->span.value[slot]);
		if (off && is_off())
			return 1;
	}
	if (p->flags & GB_PROBE_CALLER || alone)
		arch_return_address(sp, &f->span.caller);
	f->span.start = bpf_ktime_get_ns();
	/*
	 * The kernel follows 64 returns at a time on a thread, those that a longjmp left behind included, and
	 * silently leaves out further ones (MAX_URETPROBE_DEPTH in kernel/events/uprobes.c).
	 */
	if (p->flags & GB_PROBE_STACKS) {
		if (!stack_begin(t, f))
			return 1;
	} else if (!alone && depth < GB_DEPTH && !(p->flags & GB_PROBE_NO_RETURN) &&
		   (p->flags & (GB_PROBE_OPENS | GB_PROBE_EXITS) || task->utask->depth <= GB_DEPTH)) {
		if (p->flags & GB_PROBE_OPENS)
			f->sp = ~0ULL;
		t->depth = depth + 1;
		return p->flags & (GB_PROBE_OPENS | GB_PROBE_EXITS) ? 1 : 0;
	}
	if (p->rounds)
		return note_round();
	if (alone && t->alone_sp < sp)
		t->alone_sp = sp;
	f->span.end = f->span.start;
	f->span.reason = p->flags & GB_PROBE_NO_RETURN ? GB_END_ATOMIC : alone ? GB_END_ALONE : GB_END_DEPTH;
	/* What only the return would have told is not known. */
	f->span.unread |= p->return_slots;
	frame_send(t, f);
	return 1;
}

/* Mostly the topmost frame is the one that is looked for. */
static __always_inline bool is_topmost(const struct thread_state *t, __u64 sp, __u32 id)
{
	__u32 top = t->depth - 1;

	return top < GB_DEPTH && t->frames[top].sp == sp && t->frames[top].span.probe == id;
}

enum standing { STANDS_ABOVE, STANDS_THERE, STANDS_BELOW };

/* A frame, as seen from a return: is it of the call that returns, or above it, or below, as all further ones then? */
__noinline int frame_stands(struct thread_state *t, __u32 at, __u32 id)
{
	const struct frame *f;

	if (!t || at >= GB_DEPTH)
		return STANDS_BELOW;
	f = &t->frames[at];
	if (f->sp == t->place.sp && f->span.probe == id)
		return STANDS_THERE;
	return f->sp > t->place.sp && f->sp != ~0ULL && !has_passed(t, f->sp) ? STANDS_BELOW : STANDS_ABOVE;
}

/*
 * Makes the frame of this return the topmost one. Frames above it are of calls that were left without a
 * return, and of openers that were never closed. 0: found.
 */
__noinline int find_returned(struct thread_state *t, __u64 sp, __u32 id, __u64 now)
{
	if (!t)
		return 1;
	if (is_topmost(t, sp, id))
		return 0;
	place_here(t, sp);
	for (int i = 0; i < GB_DEPTH; i++) {
		int stands = frame_stands(t, t->depth - 1, id);

		if (stands != STANDS_ABOVE)
			return stands != STANDS_THERE;
		frame_close(t, now, GB_END_UNWOUND);
	}
	return 1;
}

/*
 * The frame of the call that ends here. GB_DEPTH: none; code that functions share, or a call that began before the
 * observation.
 */
__noinline __u32 find_ended(struct thread_state *t, __u64 sp, __u32 id)
{
	if (!t)
		return GB_DEPTH;
	if (is_topmost(t, sp, id))
		return t->depth - 1;
	place_here(t, sp);
	for (int i = 0; i < GB_DEPTH; i++) {
		__u32 at = t->depth - 1 - i;
		int stands = frame_stands(t, at, id);

		if (stands != STANDS_ABOVE)
			return stands == STANDS_THERE ? at : GB_DEPTH;
	}
	return GB_DEPTH;
}

/* The place of the frame that this return ends, the topmost one from now on. GB_DEPTH: none; that is counted where it
 * is odd. */
__noinline __u32 top_returned(struct thread_state *t, __u64 sp, __u32 id, __u64 now)
{
	struct gb_probe *p = bpf_map_lookup_elem(&probes, &id);
	struct gb_trouble *missed;

	if (t && p && p->flags & GB_PROBE_SAMPLED && find_ended(t, sp, id) >= GB_DEPTH)
		return GB_DEPTH; /* of a call that was only counted; what is in progress is no matter of its */
	if (t && !find_returned(t, sp, id, now))
		return t->depth - 1;
	missed = p && p->flags & GB_PROBE_SAMPLED ? 0 : trouble_here();
	if (missed)
		missed->no_entry++;
	return GB_DEPTH;
}

/*
 * Is the topmost frame, which is at the stack pointer of a return, certainly the one that returns? On a session link a
 * return is only told of a call that was followed. Then the place says it all, unless a tail call has put two frames
 * there: the probes of the upper one may have been taken out meanwhile, and its return not told. Asking for the probe's
 * number costs about as much as all else that is done to find a frame.
 */
static __always_inline bool is_plain(const struct thread_state *t, __u32 top)
{
	__u32 below = top - 1;

	if (t->frames[top].exits)
		return false;
	return below >= GB_DEPTH || t->frames[below].sp != t->frames[top].sp;
}

static __always_inline int on_return(struct pt_regs *ctx, bool session)
{
	__u64 now = bpf_ktime_get_ns(), sp = arch_sp_before(ctx);
	struct thread_state *t;
	struct gb_probe *p;
	struct frame *f;
	__u32 top, id;

	if (!active)
		return 0;
	t = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
	top = t ? t->depth - 1 : GB_DEPTH;
	if (!t || top >= GB_DEPTH || t->frames[top].sp != sp || !session || !is_plain(t, top)) {
		id = bpf_get_attach_cookie(ctx);
		if (!t || top >= GB_DEPTH || t->frames[top].sp != sp || t->frames[top].span.probe != id)
			top = top_returned(t, sp, id, now);
	}
	if (!t || top >= GB_DEPTH)
		return 0;
	f = &t->frames[top];
	id = f->span.probe;
	p = bpf_map_lookup_elem(&probes, &id);
	if (!p)
		return 0;
	f->span.end = now;
	f->span.caller = arch_ip(ctx);
	if (p->return_ops) {
		arch_take_result(ctx, &t->result, &t->result2);
		run_ops(t, f, p, true);
	}
	t->depth = top;
	frame_put(t, f);
	return 0;
}

/*
 * A return probe of somebody else at the instruction of our probe replaces the return address in this process, too,
 * even if it is for another process. We leave it alone by intention here, so it is worth a word.
 */
static __always_inline void look_for_trampoline(const struct frame *f)
{
	struct gb_trouble *seen;
	__u64 caller;

	if (arch_return_address(f->sp, &caller) || caller == f->span.caller || !holds_trampoline(f->sp))
		return; /* as it was, or the function itself has changed it */
	seen = trouble_here();
	if (seen)
		seen->trampolines++;
}

/* What is known of a call only now that it ends; at a jump there is no result yet. */
__noinline int end_frame(struct thread_state *t, struct frame *f, __u32 how)
{
	struct gb_probe *p;
	__u32 id;

	if (!t || !f)
		return 0;
	look_for_trampoline(f);
	id = f->span.probe;
	p = bpf_map_lookup_elem(&probes, &id);
	if (p && how != GB_EXIT_RETURN)
		f->span.unread |= p->return_slots;
	else if (p && p->return_ops)
		run_ops(t, f, p, true);
	return 0;
}

/* Ends the topmost frame: one that ends at sp, or one above that was left without a return. */
__noinline int end_top(struct thread_state *t, __u64 sp, __u64 now, __u32 how)
{
	struct frame *f;
	__u32 top;

	if (!t)
		return 0;
	top = t->depth - 1;
	if (top >= GB_DEPTH)
		return 0;
	f = &t->frames[top];
	if (f->sp == sp) {
		end_frame(t, f, how);
		frame_close(t, now, how == GB_EXIT_RETURN ? GB_END_RETURN : GB_END_TAIL);
	} else {
		frame_close(t, now, GB_END_UNWOUND);
	}
	return 0;
}

/* A last instruction of a function whose calls are kept by stack. */
static __always_inline void on_stack_exit(struct pt_regs *ctx, struct thread_state *t, __u32 id, __u32 how, __u64 now)
{
	struct stack_place place = { .sp = arch_sp(ctx), .pid = t->pid };
	struct frame *f = bpf_map_lookup_elem(&stacks, &place);

	if (!f || f->span.probe != id)
		return;
	arch_take_result(ctx, &t->result, &t->result2);
	end_frame(t, f, how);
	stack_finish(t, f, now, how == GB_EXIT_RETURN ? GB_END_RETURN : GB_END_TAIL);
	stack_forget(&place, f);
}

/* One of a function's last instructions. */
static __always_inline int on_exit(struct pt_regs *ctx, __u32 id, __u32 how)
{
	__u64 now = bpf_ktime_get_ns(), sp = arch_sp(ctx);
	struct thread_state *t;
	__u32 found;
	struct gb_probe *p;

	if (!active)
		return 0;
	if (how >= GB_EXIT_CONDITION && !arch_condition_holds(ctx, how & 15))
		return 0;
	p = bpf_map_lookup_elem(&probes, &id);
	t = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
	if (!p)
		return 0;
	if (p->flags & GB_PROBE_STACKS) {
		if (!t && is_target())
			t = thread_new(); /* the call may have begun on another thread */
		if (t)
			on_stack_exit(ctx, t, id, how, now);
		return 0;
	}
	found = t ? find_ended(t, sp, id) : GB_DEPTH;
	if (!t || found >= GB_DEPTH ||
	    !t->frames[found].exits) /* one that began before the function had probes here has a return probe */
		return 0;
	arch_take_result(ctx, &t->result, &t->result2);
	for (int i = 0; i < GB_DEPTH && t->depth > found; i++)
		end_top(t, sp, now, how);
	return 0;
}

SEC("?uprobe")
int session(struct pt_regs *ctx)
{
	if (bpf_session_is_return())
		return on_return(ctx, true);
	return on_call(ctx, bpf_get_attach_cookie(ctx), true);
}

SEC("?uprobe")
int call(struct pt_regs *ctx)
{
	on_call(ctx, bpf_get_attach_cookie(ctx), false);
	return 0;
}

SEC("?uretprobe")
int leave(struct pt_regs *ctx)
{
	__u32 only = bpf_get_attach_cookie(ctx) >> 32; /* the event's process; 0: all, or the link sees to it */

	/* Linux 6.1 calls the return probes of an event that is for another process, too. */
	if (only && only != bpf_get_current_pid_tgid() >> 32)
		return 0;
	return on_return(ctx, false);
}

SEC("?uprobe")
int last(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);

	return on_exit(ctx, cookie, cookie >> 32);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
