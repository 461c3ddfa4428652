/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The few kernel types that bpf/ reads, written by hand. Only the named fields
 * matter: preserve_access_index lets libbpf move each access to where the
 * running kernel keeps the field, so no order, size or missing member here counts.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
enum { false, true };

/* include/uapi/linux/bpf.h */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_NO_PREALLOC = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* arch/x86/include/asm/ptrace.h; newer kernels wrap some of these in unions, the names stay */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct signal_struct {
	atomic_t live;
	int group_exit_code;
};

struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct uprobes_state uprobes_state;
	unsigned long exec_vm;     /* pages mapped as code */
	unsigned long stack_vm;    /* pages of stacks that grow: the first thread's, mostly */
	unsigned long start_stack; /* of the first thread: where the kernel began it */
};

struct vm_area_struct {
	unsigned long vm_start, vm_end;
};

struct thread_struct {
	unsigned long fsbase; /* x86: the thread pointer */
};

/* A return that a probe waits for: the kernel's trampoline stands in the place of the return address. */
struct return_instance {
	unsigned long stack;          /* where */
	unsigned long orig_ret_vaddr; /* the return address */
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances; /* the innermost first */
	unsigned int depth;                       /* return probes in progress on this thread */
};

/* include/linux/sched.h; without CONFIG_SCHED_INFO it is empty */
struct sched_info {
	unsigned long long run_delay; /* ns that it waited on a run queue */
};

struct sched_entity {
	__u64 exec_start;       /* ns of its processor's clock: when it last ran there */
	__u64 sum_exec_runtime; /* ns */
};

struct thread_info {
	unsigned long syscall_work; /* who else looks at its system calls: bits of enum syscall_work_bit */
	__u32 cpu;
};

enum syscall_work_bit {
	SYSCALL_WORK_BIT_SYSCALL_USER_DISPATCH = 5,
};

struct sigpending {
	sigset_t signal;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int on_cpu;
	struct sched_entity se;
	struct sched_info sched_info;
	int nr_cpus_allowed;
	__u64 utime, stime; /* ns; by ticks on most kernels */
	unsigned long nvcsw, nivcsw;
	__u64 start_time; /* ns, CLOCK_MONOTONIC */
	struct task_struct *group_leader;
	struct uprobe_task *utask;
	unsigned long sas_ss_sp, sas_ss_size; /* the stack of its signal handlers; size 0: none */
	unsigned int sas_ss_flags;
	int pid;
	int tgid;
	int exit_code;
	char comm[16];
	struct task_struct *real_parent;
	struct task_struct *parent; /* a tracer, while there is one */
	unsigned int ptrace;        /* 0: nobody traces it */
	sigset_t blocked;
	struct sigpending pending; /* what waits for this thread alone */
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct fs_struct *fs;
	struct thread_struct thread;
};

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_map;

struct bpf_iter__bpf_map_elem {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	void *key;
	void *value;
};

struct bpf_prog_aux {
	__u32 id;
};

struct bpf_prog {
	struct bpf_prog_aux *aux;
};

enum bpf_link_type {
	BPF_LINK_TYPE_UPROBE_MULTI = 12,
};

struct bpf_link {
	__u32 id;
	enum bpf_link_type type;
	struct bpf_prog *prog;
};

struct bpf_iter__bpf_link {
	struct bpf_iter_meta *meta;
	struct bpf_link *link;
};

struct super_block {
	__u32 s_dev;
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
};

struct dentry {
	struct inode *d_inode;
};

struct path {
	struct dentry *dentry;
};

struct fs_struct {
	struct path pwd; /* the working directory */
};

/* kernel/events/uprobes.c */
struct uprobe {
	struct inode *inode;
};

struct uprobe_consumer {
	void *ret_handler;
};

/* kernel/trace/bpf_trace.c */
struct bpf_uprobe {
	long long offset;
	struct uprobe *uprobe; /* since Linux 6.12 */
	struct uprobe_consumer consumer;
};

struct bpf_uprobe_multi_link {
	struct path path;
	struct bpf_link link;
	__u32 cnt;
	struct bpf_uprobe *uprobes;
	struct task_struct *task;
};

#pragma clang attribute pop

#endif
