/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hash.h - a map that takes memory for its entries only, as it fills.
 */
#ifndef GASPBPF_BPF_HASH_H
#define GASPBPF_BPF_HASH_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#define PROCESSES_MOST 65536 /* entries of a map that has one for a process, or for few things of each */

#define HASH(name, most, key_type, value_type)        \
	struct {                                      \
		__uint(type, BPF_MAP_TYPE_HASH);      \
		__uint(max_entries, most);            \
		__uint(map_flags, BPF_F_NO_PREALLOC); \
		__type(key, key_type);                \
		__type(value, value_type);            \
	} name SEC(".maps")

#endif
