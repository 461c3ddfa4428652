/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_filter.h - of all system calls a process keeps those that it needs (seccomp).
 */
#ifndef GASPBPF_CALL_FILTER_H
#define GASPBPF_CALL_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULE_VALUES 4

enum rule_kind {
	RULE_ALLOW,
	RULE_WITHOUT, /* where none of the bits in values[0] is set in the argument; the kernel looks at its lower 32
			 only */
	RULE_ONE_OF,  /* where the argument is one of the values; 0 ends these */
	RULE_UNKNOWN, /* fails with ENOSYS, as on a kernel that has not got it */
};

struct call_rule {
	int call; /* its number */
	enum rule_kind kind;
	unsigned argument; /* which one, from 0 */
	uint32_t values[RULE_VALUES];
};

#define RULE_ALLOWED(name)         \
	{                          \
		.call = SYS_##name \
	}
/* For openat(2): to read, and nothing else. */
#define RULE_OPENAT_TO_READ                           \
	{                                             \
		SYS_openat, RULE_WITHOUT, 2,          \
		{                                     \
			O_ACCMODE | O_CREAT | O_TRUNC \
		}                                     \
	}

/*
 * For this thread and all that it starts, for good. Whatever else is called ends the process, or fails with EPERM
 * (ends: false). It needs no_new_privs. False with errno.
 */
bool calls_allow_only(const struct call_rule *rules, size_t count, bool ends);

#endif
