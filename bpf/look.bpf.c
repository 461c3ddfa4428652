/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * look.bpf.c - where threads stand, without stopping them: an iterator over all tasks that tells of those of the
 * processes in `wanted`.
 *
 * A thread that is not on a processor is in the kernel, and its program's registers are saved at the top of its kernel
 * stack. How long it has not run is told by its processor's own clock, which leaves out time that a hypervisor took
 * away: two readings of the same processor's clock are never further apart than real time. So user space runs this on
 * each processor in turn.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "arch.h"
#include "hash.h"
#include "gaspbpf/look.h"

HASH(wanted, PROCESSES_MOST, __u32, __u8);

SEC("iter/task")
int look(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task, *self;
	struct gb_look look = { 0 };
	struct pt_regs *regs;
	__u32 pid;

	if (!task)
		return 0;
	pid = task->tgid;
	if (!bpf_map_lookup_elem(&wanted, &pid))
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (!regs)
		return 0;
	look.pid = pid;
	look.tid = task->pid;
	look.on_cpu = task->on_cpu;
	look.state = task->__state;
	look.switches = task->nvcsw + task->nivcsw;
	look.ran = task->se.sum_exec_runtime;
	look.last = task->se.exec_start;
	look.cpu = task->thread_info.cpu;
	if (look.cpu == bpf_get_smp_processor_id()) {
		self = bpf_get_current_task_btf();
		look.now = self->se.exec_start;
	}
	arch_take_registers(regs, look.registers);
	look.system_call = arch_system_call(regs);
	bpf_seq_write(ctx->meta->seq, &look, sizeof(look));
	return 0;
}

SEC("iter/task")
int returns(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct return_instance *at;
	struct gb_return found;
	__u32 pid;

	if (!task)
		return 0;
	pid = task->tgid;
	if (!bpf_map_lookup_elem(&wanted, &pid))
		return 0;
	at = BPF_CORE_READ(task, utask, return_instances);
	for (int i = 0; i < GB_RETURNS && at; i++) {
		found.pid = pid;
		found.tid = task->pid;
		found.stack = BPF_CORE_READ(at, stack);
		found.address = BPF_CORE_READ(at, orig_ret_vaddr);
		bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
		at = BPF_CORE_READ(at, next);
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
