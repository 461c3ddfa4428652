/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_filter.c - rules for system calls, turned into a program that the kernel runs at each.
 */
#include "arch/arch.h"
#include "util/call_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#define ROOM 512                        /* instructions */
#define RULE_MOST (4 + 2 * RULE_VALUES) /* of one rule */
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define ARGUMENT(which) \
	((uint32_t)(offsetof(struct seccomp_data, args) + 8 * (which))) /* its lower half: little-endian */

struct program {
	struct sock_filter code[ROOM];
	unsigned short length;
};

static void add(struct program *program, struct sock_filter instruction)
{
	program->code[program->length++] = instruction;
}

static void answer(struct program *program, uint32_t with)
{
	add(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, with));
}

/* What happens to this call, and to no other. */
static void add_rule(struct program *program, const struct call_rule *rule, uint32_t others)
{
	unsigned short test = program->length;

	add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rule->call, 0, 0));
	switch (rule->kind) {
	case RULE_ALLOW:
		answer(program, SECCOMP_RET_ALLOW);
		break;
	case RULE_UNKNOWN:
		answer(program, SECCOMP_RET_ERRNO | ENOSYS);
		break;
	case RULE_WITHOUT:
		add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(rule->argument)));
		add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, rule->values[0], 0, 1));
		answer(program, others);
		answer(program, SECCOMP_RET_ALLOW);
		break;
	case RULE_ONE_OF:
		add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(rule->argument)));
		for (size_t i = 0; i < RULE_VALUES && rule->values[i]; i++) {
			add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->values[i], 0, 1));
			answer(program, SECCOMP_RET_ALLOW);
		}
		answer(program, others);
		break;
	}
	program->code[test].jf = (uint8_t)(program->length - test - 1);
}

bool calls_allow_only(const struct call_rule *rules, size_t count, bool ends)
{
	const uint32_t others = ends ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
	struct program program = { .length = 0 };
	struct sock_fprog fprog = { .filter = program.code };

	add(&program, (struct sock_filter)LOAD(arch));
	add(&program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_AUDIT, 1, 0));
	answer(&program, SECCOMP_RET_KILL_PROCESS);
	add(&program, (struct sock_filter)LOAD(nr));
	for (size_t i = 0; i < count; i++) {
		if (program.length + RULE_MOST >= ROOM) {
			errno = E2BIG;
			return false;
		}
		add_rule(&program, &rules[i], others);
	}
	answer(&program, others);
	fprog.len = program.length;
	return !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &fprog, 0, 0);
}
