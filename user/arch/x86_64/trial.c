/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trial.c - see arch/trial.h.
 */
#include "arch/trial.h"

__asm__(".text\n"
	".globl gaspbpf_trial_nop5\n.type gaspbpf_trial_nop5,@function\n"
	"gaspbpf_trial_nop5: .byte 0x0f,0x1f,0x44,0x00,0x00\nret\n.size gaspbpf_trial_nop5,.-gaspbpf_trial_nop5\n"
	".globl gaspbpf_trial_push\n.type gaspbpf_trial_push,@function\n"
	"gaspbpf_trial_push: push %rbp\npop %rbp\nret\n.size gaspbpf_trial_push,.-gaspbpf_trial_push\n"
	".globl gaspbpf_trial_step\n.type gaspbpf_trial_step,@function\n"
	"gaspbpf_trial_step: mov %rdi,%rax\nret\n.size gaspbpf_trial_step,.-gaspbpf_trial_step\n");
void gaspbpf_trial_nop5(long);
void gaspbpf_trial_push(long);
void gaspbpf_trial_step(long);

void (*const arch_trials[SITE_CLASSES])(long) = {
	[SITE_OPTIMIZED] = gaspbpf_trial_nop5,
	[SITE_EMULATED] = gaspbpf_trial_push,
	[SITE_STEPPED] = gaspbpf_trial_step,
};
