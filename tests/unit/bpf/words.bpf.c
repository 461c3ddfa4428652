/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * words.bpf.c - for words_test.c: the kernel side's own reading of words and numbers, of a call that is made up.
 */
#include "values.h"

#include "words.h"

struct words_case words;
struct numbers_case numbers;

/* Too large for a program's stack. */
static struct thread_state thread;
static struct frame frame;
static struct gb_sum sum;

SEC("raw_tp")
int run_program(void *ctx)
{
	frame.span = words.span;
	frame.sp = words.sp;
	thread.result = words.result;
	thread.result2 = words.result2;
	run_ops(&thread, &frame, &words.program, words.at_return);
	words.span = frame.span;
	return 0;
}

SEC("raw_tp")
int read_numbers(void *ctx)
{
	__u32 zero = 0;

	frame.span = numbers.span;
	numbers.number = 0;
	numbers.known = first_known(&frame, &numbers.amounts, RANGE(0, 1), &numbers.number) == 0;
	bpf_map_update_elem(&amounts, &zero, &numbers.amounts, BPF_ANY);
	sum.sized = 0;
	sum.bytes = 0;
	sum_payload(&sum, &frame);
	numbers.sized = sum.sized;
	numbers.bytes = sum.bytes;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
