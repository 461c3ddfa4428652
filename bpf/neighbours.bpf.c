/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * neighbours.bpf.c - whose probes are where: an iterator over the kernel's links that tells of those of many uprobes
 * which are not ours.
 *
 * The file is told by the inode that the kernel's probes are in. That is the one below an overlay, and no matter of
 * names and mount namespaces.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "gaspbpf/neighbours.h"

const volatile __u32 own[GB_OWN_PROGRAMS]; /* ids of programs: links with them are passed over ... */
__u32 wanted;                              /* ... but this one */

struct walk {
	struct seq_file *seq;
	struct bpf_uprobe *uprobes;
};

static long write_offset(__u32 i, struct walk *walk)
{
	char *first = (char *)walk->uprobes;
	struct bpf_uprobe *uprobe = (void *)(first + (__u64)i * bpf_core_type_size(struct bpf_uprobe));
	__u64 offset = BPF_CORE_READ(uprobe, offset);

	return bpf_seq_write(walk->seq, &offset, sizeof(offset)) != 0;
}

static __always_inline bool is_own(__u32 program)
{
	for (int i = 0; i < GB_OWN_PROGRAMS; i++)
		if (own[i] == program)
			return true;
	return false;
}

static __always_inline struct inode *inode_of(struct bpf_uprobe_multi_link *link, struct bpf_uprobe *uprobes)
{
	if (bpf_core_field_exists(uprobes->uprobe))
		return BPF_CORE_READ(uprobes, uprobe, inode);
	return BPF_CORE_READ(link, path.dentry, d_inode);
}

SEC("iter/bpf_link")
int neighbours(struct bpf_iter__bpf_link *ctx)
{
	struct bpf_link *link = ctx->link;
	struct bpf_uprobe_multi_link *multi;
	struct gb_neighbour head = { 0 };
	struct inode *inode;
	struct bpf_uprobe *uprobes;
	struct walk walk;

	if (!link || BPF_CORE_READ(link, type) != BPF_LINK_TYPE_UPROBE_MULTI)
		return 0;
	head.link = BPF_CORE_READ(link, id);
	if (head.link != wanted && (wanted || is_own(BPF_CORE_READ(link, prog, aux, id))))
		return 0;
	multi = (void *)((char *)link - bpf_core_field_offset(struct bpf_uprobe_multi_link, link));
	walk.seq = ctx->meta->seq;
	uprobes = BPF_CORE_READ(multi, uprobes);
	walk.uprobes = uprobes;
	inode = inode_of(multi, uprobes);
	head.device = BPF_CORE_READ(inode, i_sb, s_dev);
	head.inode = BPF_CORE_READ(inode, i_ino);
	head.pid = BPF_CORE_READ(multi, task, tgid);
	head.returns = BPF_CORE_READ(uprobes, consumer.ret_handler) != 0;
	head.count = BPF_CORE_READ(multi, cnt);
	if (head.count > GB_NEIGHBOUR_OFFSETS)
		head.count = GB_NEIGHBOUR_OFFSETS;
	if (!bpf_seq_write(ctx->meta->seq, &head, sizeof(head)))
		bpf_loop(head.count, write_offset, &walk, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
