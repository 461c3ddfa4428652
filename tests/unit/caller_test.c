/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * caller_test.c - what callers had passed to a function, out of their code, their registers and their stack.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <search.h>
#include <string.h>

#include "shared/own_stack.h"

/* --- what callers had passed ---------------------------------------------------- */

#define WORDS 6

static uint64_t passed[WORDS];

/* What the cases below call; it notes what came. */
OWN void stands(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);
OWN void stands(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	const uint64_t came[WORDS] = { a, b, c, d, e, f };

	NOTE();
	memcpy(passed, came, sizeof(passed));
	own_stack_keep();
	STAY();
}
uint64_t changing = 81;
const uint64_t constant = 82;

void by_constants(void), by_kept(uint64_t a, uint64_t b), by_branch(uint64_t a), by_frame(uint64_t a, uint64_t b),
	by_leaked_frame(uint64_t a), by_table(uint64_t a), by_pointer(void (*callee)(void)), by_slot(void),
	after_a_call(void);

#define CASE(name, code)                                                                     \
	__asm__(".text\n.globl " name "\n.hidden " name "\n.type " name ", @function\n" name \
		":\n.cfi_startproc\n" code "\tret\n.cfi_endproc\n.size " name ", .-" name "\n")
#define ENTER "\tsub $8, %rsp\n.cfi_adjust_cfa_offset 8\n"
#define LEAVE "\tadd $8, %rsp\n.cfi_adjust_cfa_offset -8\n"
#define PUSH(reg) "\tpush %" reg "\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %" reg ", 0\n"
#define POP(reg) "\tpop %" reg "\n.cfi_adjust_cfa_offset -8\n.cfi_restore %" reg "\n"

CASE("by_constants", ENTER "	mov $5, %edi\n"
			   "	mov $-1, %rsi\n"
			   "	xor %edx, %edx\n"
			   "	lea changing(%rip), %rcx\n"
			   "	mov changing(%rip), %r8\n"
			   "	mov constant(%rip), %r9\n"
			   "	call stands\n" LEAVE);
/* Through registers that calls keep, and one that they do not. */
CASE("by_kept", PUSH("rbx") PUSH("r12") ENTER "	mov %rdi, %rbx\n"
					      "	mov %rsi, %r12\n"
					      "	mov %rbx, %rdi\n"
					      "	lea 8(%r12), %rsi\n"
					      "	mov %r12d, %edx\n"
					      "	imul %rbx, %rcx\n"
					      "	mov %r12, %rax\n"
					      "	mov %rax, %r8\n"
					      "	mov %rbx, (%rsp)\n"
					      "	mov (%rsp), %r9\n"
					      "	call stands\n" LEAVE POP("r12") POP("rbx"));
/* What stands before the branch comes in may have come from elsewhere. */
CASE("by_branch", ENTER "	mov $1, %esi\n"
			"	mov $1, %edx\n"
			"	test %rdi, %rdi\n"
			"	je 1f\n"
			"	mov $2, %esi\n"
			"1:	mov $3, %ecx\n"
			"	call stands\n" LEAVE);
CASE("by_frame", "	push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
		 "	mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
		 "	sub $32, %rsp\n"
		 "	mov %rdi, -8(%rbp)\n"
		 "	mov %rsi, -16(%rbp)\n"
		 "	mov -8(%rbp), %rdi\n"
		 "	movslq -16(%rbp), %rsi\n"
		 "	call stands\n"
		 "	leave\n.cfi_def_cfa %rsp, 8\n");
/* Its address is known to others, who may have written there since. */
CASE("by_leaked_frame", "	push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
			"	mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
			"	sub $32, %rsp\n"
			"	mov %rdi, -8(%rbp)\n"
			"	lea -16(%rbp), %rsi\n"
			"	mov -8(%rbp), %rdi\n"
			"	call stands\n"
			"	leave\n.cfi_def_cfa %rsp, 8\n");
/* A jump that does not say where it leads may lead anywhere. */
CASE("by_table", ENTER "	lea 1f(%rip), %rax\n"
		       "	jmp *%rax\n"
		       "1:	mov $9, %edi\n"
		       "	call stands\n" LEAVE);
CASE("by_pointer", ENTER "	mov %rdi, %rax\n"
			 "	mov $5, %edi\n"
			 "	call *%rax\n" LEAVE);
CASE("by_slot", ENTER "	mov $6, %edi\n"
		      "	call *slot_of_stands(%rip)\n" LEAVE);
/* What a call has left in registers, nobody knows. */
CASE("after_a_call", ENTER "	mov $7, %edi\n"
			   "	mov $8, %esi\n"
			   "	call nothing\n"
			   "	mov %rax, %rdi\n"
			   "	mov $9, %edx\n"
			   "	call stands\n" LEAVE);
void (*slot_of_stands)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) = stands;
uint64_t nothing(void);
OWN uint64_t nothing(void)
{
	return 70;
}

/* The frame of the caller of stands(): the one after own_stack_keep()'s and its own. */
static void look_at_call(struct stack_frame *caller, struct call_arguments *arguments)
{
	struct stack_frame frames[STACK_FRAMES];
	size_t count = stack_unwind(space, &look, frames, STACK_FRAMES);

	assert_true(count > 3);
	*caller = frames[2];
	assert_int_equal(caller->pc, noted.returns[0]);
	stack_arguments(space, &look, caller, (uint64_t)stands, arguments);
	for (int i = 0; i < WORDS; i++)
		if (arguments->certain >> i & 1)
			assert_int_equal(arguments->word[i], passed[i]);
	assert_int_equal(arguments->certain & ~arguments->known, 0);
}

#define ALL_BUT(bits) (0x3f & ~(bits))

static void test_constants_are_certain_and_memory_that_changes_is_not(void **state)
{
	struct call_arguments arguments;
	struct stack_frame caller;

	own_stack_begin();
	by_constants();
	look_at_call(&caller, &arguments);
	assert_int_equal(stack_called(space, &look, &caller), (uint64_t)stands);
	assert_int_equal(arguments.known, 0x3f);
	assert_int_equal(arguments.certain, ALL_BUT(1 << 4));
	changing++;
	stack_arguments(space, &look, &caller, (uint64_t)stands, &arguments);
	assert_int_equal(arguments.word[4], changing);
	/* Of a call that leads elsewhere nothing is known. */
	stack_arguments(space, &look, &caller, (uint64_t)nothing, &arguments);
	assert_int_equal(arguments.known, 0);
	stack_arguments(space, &look, &caller, 0, &arguments);
	assert_int_equal(arguments.known, 0);
}

static void test_registers_that_calls_keep_are_certain(void **state)
{
	struct call_arguments arguments;
	struct stack_frame caller;

	own_stack_begin();
	by_kept(0x1234567800000011, 0x9876543200000022);
	look_at_call(&caller, &arguments);
	assert_int_equal(arguments.certain, 1 << 0 | 1 << 1 | 1 << 2 | 1 << 4);
	assert_int_equal(arguments.word[2], 0x22);
	assert_int_equal(arguments.known, arguments.certain | 1 << 5);
	assert_int_equal(arguments.word[5], passed[5]);
}

static void test_only_what_is_behind_the_last_branch_is_known(void **state)
{
	struct call_arguments arguments;
	struct stack_frame caller;

	for (uint64_t way = 0; way < 2; way++) {
		own_stack_begin();
		by_branch(way);
		look_at_call(&caller, &arguments);
		assert_int_equal(arguments.known, 1 << 3);
		assert_int_equal(arguments.certain, 1 << 3);
	}
}

static void test_a_variable_is_certain_while_nobody_has_its_address(void **state)
{
	struct call_arguments arguments;
	struct stack_frame caller;

	own_stack_begin();
	by_frame(0x1111111122222222, (uint64_t)-5);
	look_at_call(&caller, &arguments);
	assert_int_equal(arguments.certain, 3);
	assert_int_equal(arguments.word[1], (uint64_t)-5);
	own_stack_begin();
	by_leaked_frame(0x1111111122222222);
	look_at_call(&caller, &arguments);
	assert_int_equal(arguments.known, 3);
	assert_int_equal(arguments.certain, 2);
}

static void test_a_jump_to_nowhere_known_leaves_nothing_certain(void **state)
{
	struct call_arguments arguments;
	struct stack_frame caller;

	own_stack_begin();
	by_table(0);
	look_at_call(&caller, &arguments);
	assert_int_equal(arguments.known & 1, 1);
	assert_int_equal(arguments.word[0], 9);
	assert_int_equal(arguments.certain, 0);
}

static OWN int compare(const void *key, const void *element)
{
	own_stack_keep();
	return 0;
}

static OWN void through_table(void)
{
	unsigned array[1] = { 0 }, key = 0;
	size_t count = 1;

	assert_ptr_equal(lfind(&key, array, &count, sizeof(*array), compare), array);
}

static void test_where_a_call_leads(void **state)
{
	struct call_arguments arguments;
	struct stack_frame caller, frames[STACK_FRAMES];
	size_t count, at = 0;

	own_stack_begin();
	by_pointer((void (*)(void))stands);
	look_at_call(&caller, &arguments);
	assert_int_equal(stack_called(space, &look, &caller), 0);
	assert_int_equal(arguments.known, 0);
	own_stack_begin();
	by_slot();
	look_at_call(&caller, &arguments);
	assert_int_equal(stack_called(space, &look, &caller), (uint64_t)stands);
	assert_int_equal(arguments.certain, 1);
	/* Through the procedure linkage table, to another file. */
	own_stack_begin();
	through_table();
	count = stack_unwind(space, &look, frames, STACK_FRAMES);
	while (at < count && !(is_own(frames[at].pc) && at && !is_own(frames[at - 1].pc)))
		at++;
	assert_true(at < count);
	assert_int_equal(stack_called(space, &look, &frames[at]), (uint64_t)lfind);
}

static void test_what_another_call_left_is_not_known(void **state)
{
	struct call_arguments arguments;
	struct stack_frame caller;

	own_stack_begin();
	after_a_call();
	look_at_call(&caller, &arguments);
	assert_int_equal(passed[0], 70);
	assert_int_equal(arguments.known, 1 << 2);
	assert_int_equal(arguments.certain, 1 << 2);
}

/* --- what a function keeps of what it was given ----------------------------------- */

void keeps_first(uint64_t a, uint64_t b), keeps_and_changes(uint64_t a, uint64_t b);

/* The first as it came, of the second the lower half. */
CASE("keeps_first", PUSH("rbx") PUSH("r12") ENTER "	mov %rdi, %rbx\n"
						  "	mov %esi, %r12d\n"
						  "	call stands\n"
						  "	mov %rbx, %rax\n" LEAVE POP("r12") POP("rbx"));
CASE("keeps_and_changes", PUSH("rbx") PUSH("r12") ENTER "	mov %rdi, %rbx\n"
							"	mov %rsi, %r12\n"
							"	add $1, %rbx\n"
							"	call stands\n" LEAVE POP("r12") POP("rbx"));

static void test_what_a_function_has_put_aside_is_known(void **state)
{
	struct call_arguments arguments = { 0 };
	struct stack_frame frames[STACK_FRAMES];

	own_stack_begin();
	keeps_first(0x1234567812345678, 0x8765432187654321);
	assert_true(stack_unwind(space, &look, frames, STACK_FRAMES) > 3);
	stack_kept_arguments(space, &look, &frames[2], &arguments);
	assert_int_equal(arguments.certain, 3);
	assert_int_equal(arguments.word[0], 0x1234567812345678);
	assert_int_equal(arguments.word[1], 0x87654321);
	/* What is certain already is not touched. */
	arguments.word[0] = 7;
	stack_kept_arguments(space, &look, &frames[2], &arguments);
	assert_int_equal(arguments.word[0], 7);

	memset(&arguments, 0, sizeof(arguments));
	own_stack_begin();
	keeps_and_changes(1, 2);
	assert_true(stack_unwind(space, &look, frames, STACK_FRAMES) > 3);
	stack_kept_arguments(space, &look, &frames[2], &arguments);
	assert_int_equal(arguments.known, 2);
	assert_int_equal(arguments.certain, 2);
	assert_int_equal(arguments.word[1], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constants_are_certain_and_memory_that_changes_is_not),
		cmocka_unit_test(test_registers_that_calls_keep_are_certain),
		cmocka_unit_test(test_only_what_is_behind_the_last_branch_is_known),
		cmocka_unit_test(test_a_variable_is_certain_while_nobody_has_its_address),
		cmocka_unit_test(test_a_jump_to_nowhere_known_leaves_nothing_certain),
		cmocka_unit_test(test_where_a_call_leads),
		cmocka_unit_test(test_what_another_call_left_is_not_known),
		cmocka_unit_test(test_what_a_function_has_put_aside_is_known),
	};

	return cmocka_run_group_tests(tests, own_stack_open, own_stack_close);
}
