/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * neighbours.h - what bpf/neighbours.bpf.c writes of each link of many uprobes: a head, and `count` offsets in the
 * file.
 */
#ifndef GASPBPF_NEIGHBOURS_H
#define GASPBPF_NEIGHBOURS_H

#include "gaspbpf/wire.h"

#define GB_NEIGHBOUR_OFFSETS 3500 /* most of one link: what is written of it must fit the kernel's buffer of 32 KiB */
#define GB_OWN_PROGRAMS 8

struct gb_neighbour {
	gb_u64 device; /* major << 20 | minor */
	gb_u64 inode;
	gb_u32 pid;     /* 0: every process */
	gb_u32 returns; /* it has return probes */
	gb_u32 link;
	gb_u32 count;
};

#endif
