/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place_test.c - where probes go, in functions written to trap the placement.
 *
 * Each function is assembler text with its own truth: the distance from its start at which the probe belongs. Most
 * are ways in which another place would be wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/probe.h"

#define PAD "\n.fill 300, 1, 0x90\n" /* farther than a short branch reaches */
#define RDI 0x01
#define RSI 0x02
#define ALL PLACE_ALL_REGISTERS
#define REFUSED SITE_CLASSES /* the kernel takes no probe there */

struct trial {
	const char *name, *code;
	unsigned distance;
	enum site_class class;
	uint8_t registers;
};

static const struct trial trials[] = {
	/* Cheap from the start. */
	{ "push", "push %rbp; pop %rbp; ret", 0, SITE_EMULATED, ALL },
	{ "push_r12", "push %r12; pop %r12; ret", 0, SITE_EMULATED, ALL },
	{ "tail_call", "jmp push", 0, SITE_EMULATED, ALL },
	{ "tail_call_short", "jmp 1f; .fill 9, 1, 0x90; 1: ret", 0, SITE_EMULATED, ALL },
	{ "nop", "nop; ret", 0, SITE_EMULATED, ALL },
	{ "nop_long", "xchg %ax, %ax; ret", 0, SITE_EMULATED, ALL },
	{ "nop5", ".byte 0x0f, 0x1f, 0x44, 0, 0; push %rbx; pop %rbx; ret", 0, SITE_OPTIMIZED, ALL },
	{ "call", "call push; ret", 0, SITE_EMULATED, ALL },
	/* Worth moving. */
	{ "endbr", "endbr64; push %rbx; pop %rbx; ret", 4, SITE_EMULATED, ALL },
	{ "endbr_jump", "endbr64; jmp push", 4, SITE_EMULATED, ALL },
	{ "endbr_nop5", "endbr64; .byte 0x0f, 0x1f, 0x44, 0, 0; ret", 4, SITE_OPTIMIZED, ALL },
	{ "test_branch", "test %rdi, %rdi; je 1f; inc %eax; 1: ret", 3, SITE_EMULATED, ALL },
	{ "test_far_branch", "test %rdi, %rdi; .byte 0x0f, 0x84; .long 0x40; ret; .fill 0x60, 1, 0x90", 3,
	  SITE_EMULATED, ALL },
	{ "read_memory",
	  "mov (%rdi), %rax; mov %fs:0x28, %rbx; lea 8(%rsp), %r10; movq %xmm0, %r11; push %rax; pop %rax; ret", 22,
	  SITE_EMULATED, ALL },
	{ "vectors", "pxor %xmm0, %xmm0; movaps %xmm1, %xmm2; movups (%rdi), %xmm3; push %rax; pop %rax; ret", 10,
	  SITE_EMULATED, ALL },
	{ "frame_pointer", "mov %rsp, %rbp; push %rbp; pop %rbp; ret", 3, SITE_EMULATED, ALL },
	{ "segment_nop", "cs nopw 0(%rax,%rax,1); push %rax; pop %rax; ret", 6, SITE_EMULATED, ALL },
	{ "branch_to_start", "test %edi, %edi; jne branch_to_start; ret", 2, SITE_EMULATED, ALL },
	{ "branch_behind", "test %edi, %edi; je 2f; 1: dec %edi; jne 1b; 2: ret", 2, SITE_EMULATED, ALL },
	/* Registers that the probe reads, in any width. */
	{ "argument", "mov $1, %esi; push %rax; pop %rax; ret", 0, SITE_STEPPED, ALL },
	{ "argument_not_read", "mov $1, %esi; push %rax; pop %rax; ret", 5, SITE_EMULATED, RDI },
	{ "argument_read", "mov $1, %esi; push %rax; pop %rax; ret", 0, SITE_STEPPED, RSI },
	{ "argument_low", "mov $1, %sil; push %rax; pop %rax; ret", 0, SITE_STEPPED, RSI },
	{ "argument_high", "mov $1, %dh; push %rax; pop %rax; ret", 0, SITE_STEPPED, ALL },
	{ "argument_lea", "lea 8(%rdi), %rdi; push %rax; pop %rax; ret", 0, SITE_STEPPED, RDI },
	{ "argument_r9", "xor %r9d, %r9d; push %rax; pop %rax; ret", 0, SITE_STEPPED, ALL },
	{ "argument_of_cltd", "cltd; push %rax; pop %rax; ret", 0, SITE_STEPPED, ALL },
	{ "argument_of_mul", "mul %rbx; push %rax; pop %rax; ret", 0, SITE_STEPPED, ALL },
	{ "argument_from_vector", "movq %xmm0, %rdi; push %rax; pop %rax; ret", 0, SITE_STEPPED, RDI },
	/* The stack, memory, control, and what is not known. */
	{ "stack", "sub $8, %rsp; call push; add $8, %rsp; ret", 0, SITE_STEPPED, 0 },
	{ "stack_lea", "lea -8(%rsp), %rsp; push %rax; add $16, %rsp; ret", 0, SITE_STEPPED, 0 },
	{ "pop", "pop %rax; push %rax; ret", 0, SITE_STEPPED, 0 },
	{ "leave", "leave; push %rax; ret", 0, SITE_STEPPED, 0 },
	{ "store", "mov %rdi, -8(%rsp); push %rax; pop %rax; ret", 0, SITE_STEPPED, 0 },
	{ "store_add", "addl $1, (%rdi); push %rax; pop %rax; ret", 0, SITE_STEPPED, 0 },
	{ "exchange", "xchg %rax, (%rdi); push %rax; pop %rax; ret", 0, SITE_STEPPED, 0 },
	{ "string", "movsq; push %rax; pop %rax; ret", 0, SITE_STEPPED, 0 },
	{ "later_call", "xor %eax, %eax; call push; ret", 0, SITE_STEPPED, 0 },
	{ "return", "xor %eax, %eax; ret; push %rax", 0, SITE_STEPPED, 0 },
	{ "indirect_call", "call *%rax; push %rax; pop %rax; ret", 0, SITE_STEPPED, 0 },
	{ "system_call", "mov $39, %eax; syscall; push %rax; pop %rax; ret", 0, SITE_STEPPED, 0 },
	{ "time_stamp", "rdtsc; push %rax; pop %rax; ret", 0, SITE_STEPPED, 0 },
	{ "processor", "cpuid; push %rax; pop %rax; ret", 0, SITE_STEPPED, 0 },
	{ "flags", "push %rax; popf; ret", 0, SITE_EMULATED, 0 },
	{ "segment_load", "mov %eax, %fs; push %rax; pop %rax; ret", 0, SITE_STEPPED, 0 },
	{ "no_code", ".byte 0x06; push %rax; pop %rax; ret", 0, SITE_STEPPED, 0 },
	{ "no_code_later", "endbr64; push %rax; pop %rax; ret; .byte 0x06", 0, SITE_STEPPED, 0 },
	{ "too_far", ".rept 20; mov %rax, %rbx; nopl (%rax); .endr; push %rax; pop %rax; ret", 0, SITE_STEPPED, 0 },
	{ "rex_nop", ".byte 0x41, 0x90; push %rax; pop %rax; ret", 0, REFUSED,
	  ALL }, /* xchg %rax, %r8: the kernel runs it as a nop */
	{ "vex", ".byte 0xc5, 0xf9, 0xeb, 0xc1; push %rax; pop %rax; ret", 0, REFUSED, 0 }, /* vpor: as a jump */
	{ "call_of_16_bits", "xor %eax, %eax; .byte 0x66, 0xe9; .long 0; ret", 0, SITE_STEPPED, 0 },
	{ "branch_with_hint", "xor %eax, %eax; .byte 0x3e; je 1f; 1: ret", 0, SITE_STEPPED, 0 },
	/* Prefixes that the kernel refuses. */
	{ "lock", "lock incl (%rdi); push %rax; pop %rax; ret", 0, REFUSED, 0 },
	{ "data_segment", ".byte 0x3e; mov (%rdi), %rax; push %rax; pop %rax; ret", 4, SITE_EMULATED, ALL },
	/* Branches to between the start and the cheap instruction, or to it. */
	{ "loop", "1: test %edi, %edi; 2: je 3f; dec %edi; jmp 2b; 3: ret", 0, SITE_STEPPED, 0 },
	{ "loop_between", "endbr64; 1: mov (%rdi), %eax; test %eax, %eax; je 2f; jmp 1b; 2: ret", 0, SITE_STEPPED, 0 },
	{ "loop_at_push", "endbr64; 1: push %rax; pop %rax; dec %eax; jne 1b; ret", 0, SITE_STEPPED, 0 },
	{ "loop_instruction", "xor %eax, %eax; 1: push %rax; pop %rax; loop 1b; ret", 0, SITE_STEPPED, 0 },
	{ "count_branch", "xor %eax, %eax; 1: push %rax; pop %rax; jrcxz 1b; ret", 0, SITE_STEPPED, 0 },
	{ "called_inside", "xor %eax, %eax; 1: push %rax; pop %rax; call 1b; ret", 0, SITE_STEPPED, 0 },
	{ "cold",
	  "mov (%rdi), %eax; .globl cold_label; cold_label: test %eax, %eax; jne away; ret\n"
	  ".pushsection .text.unlikely, \"ax\"\n.fill 300, 1, 0x90\naway: dec %eax; .byte 0xe9; .long cold_label - . "
	  "- 4\n.popsection",
	  0, SITE_STEPPED, 0 },
	{ "before", "xor %eax, %eax; ret; 1: jmp behind_label", 0, SITE_STEPPED, 0 },
	{ "behind", "xor %eax, %eax; behind_label: push %rax; pop %rax; ret", 0, SITE_STEPPED, 0 },
	{ "ahead", "xor %eax, %eax; ahead_label: push %rax; pop %rax; ret", 0, SITE_STEPPED, 0 },
	{ "after", "jmp ahead_label", 0, SITE_EMULATED, 0 },
	{ "with_entry",
	  "xor %eax, %eax\n.globl inner_entry\n.type inner_entry, @function\ninner_entry: push %rax; pop %rax; ret\n"
	  ".size inner_entry, . - inner_entry",
	  0, SITE_STEPPED, 0 },
	{ "with_unsized_entry",
	  "xor %eax, %eax\n.globl other_entry\n.type other_entry, @function\nother_entry: push %rax; pop %rax; ret", 0,
	  SITE_STEPPED, 0 },
	{ "transaction", "xor %eax, %eax; 1: push %rax; pop %rax; xbegin 1b; ret", 0, SITE_STEPPED, 0 },
	/* Jumps that may lead anywhere. */
	{ "table", "mov %edi, %eax; push %rbx; pop %rbx; jmp *%rax", 0, SITE_STEPPED, 0 },
	{ "table_in_memory", "mov %edi, %eax; push %rbx; pop %rbx; jmp *8(,%rax,8)", 0, SITE_STEPPED, 0 },
	{ "through_index", "mov %edi, %eax; push %rbx; pop %rbx; mov (%rdx,%rax,8), %rax; jmp *%rax", 0, SITE_STEPPED,
	  0 },
	{ "through_branch", "mov %edi, %eax; push %rbx; pop %rbx; mov (%rdx), %rcx; je 1f; nop; 1: jmp *%rcx", 0,
	  SITE_STEPPED, 0 },
	{ "table_endbr", "endbr64; push %rbx; pop %rbx; jmp *%rax", 4, SITE_EMULATED, ALL },
	{ "table_past_endbr",
	  "endbr64; 1: push %rbx; pop %rbx; lea labels(%rip), %rdx; jmp *(%rdx,%rax,8)\n"
	  ".pushsection .data\nlabels: .quad 1b\n.popsection",
	  0, SITE_STEPPED, 0 },
	{ "table_endbr_more", "endbr64; mov %edi, %eax; push %rbx; pop %rbx; notrack jmp *%rax", 0, SITE_STEPPED, 0 },
	{ "table_to_start",
	  "mov %edi, %eax; 1: test %eax, %eax; jne table_part; ret\n"
	  ".pushsection .text.unlikely, \"ax\"\n.fill 300, 1, 0x90\n"
	  "table_part: lea offsets(%rip), %rdx; movslq (%rdx,%rax,4), %rax; add %rdx, %rax; jmp *%rax\n.popsection\n"
	  ".pushsection .rodata\n.balign 4\noffsets: .long table_part - offsets, 1b - offsets\n.popsection",
	  0, SITE_STEPPED, 0 },
	{ "table_elsewhere",
	  "mov %edi, %eax; test %eax, %eax; jne elsewhere; 1: ret\n"
	  ".pushsection .text.unlikely, \"ax\"\n.fill 300, 1, 0x90\n"
	  "elsewhere: lea others(%rip), %rdx; movslq (%rdx,%rax,4), %rax; add %rdx, %rax; jmp *%rax\n.popsection\n"
	  ".pushsection .rodata\n.balign 4\n.quad 0x7fffffff7fffffff\n"
	  "others: .long elsewhere - others, 1b - others\n.popsection",
	  4, SITE_EMULATED, ALL },
	/* Calls at the end through pointers: where nothing points to near the function's start. */
	{ "through_memory", "mov %edi, %eax; push %rbx; pop %rbx; jmp *8(%rdi)", 2, SITE_EMULATED, ALL },
	{ "through_stack", "mov %edi, %eax; push %rbx; pop %rbx; jmp *-8(%rsp)", 2, SITE_EMULATED, ALL },
	{ "through_register", "mov %edi, %eax; push %rbx; mov 8(%r12), %r11; pop %rbx; jmp *%r11", 2, SITE_EMULATED,
	  ALL },
	{ "through_import", "mov %edi, %eax; push %rbx; pop %rbx; jmp *elsewhere_else@GOTPCREL(%rip)", 2, SITE_EMULATED,
	  ALL },
	{ "label_in_data",
	  "mov %edi, %eax; 1: push %rbx; pop %rbx; jmp *8(%rdi)\n.pushsection .data\n.quad 1b\n.popsection", 0,
	  SITE_STEPPED, 0 },
	{ "label_in_code", "mov %edi, %eax; 1: push %rbx; lea 1b(%rip), %rdx; pop %rbx; jmp *8(%rdx)", 0, SITE_STEPPED,
	  0 },
	{ "plain_elsewhere",
	  "mov %edi, %eax; test %eax, %eax; jne plain_part; ret\n"
	  ".pushsection .text.unlikely, \"ax\"\n.fill 300, 1, 0x90\nplain_part: dec %eax; ret\n.popsection",
	  4, SITE_EMULATED, ALL },
};

#define TRIALS (sizeof(trials) / sizeof(trials[0]))
#define UNSIZED 2 /* functions without a size, below */

static char folder[] = "/tmp/gaspbpf-place.XXXXXX";
static struct image *image;
static struct probe_place places[TRIALS];

static int build(void **state)
{
	char path[80], command[300];
	FILE *f;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/trials.s", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, ".text\n");
	for (size_t i = 0; i < TRIALS; i++) {
		bool next_is_near = !strcmp(trials[i].name, "before") || !strcmp(trials[i].name, "ahead");

		fprintf(f, ".globl %s\n.type %s, @function\n%s: %s\n.size %s, . - %s\n%s", trials[i].name,
			trials[i].name, trials[i].name, trials[i].code, trials[i].name, trials[i].name,
			next_is_near ? "" : PAD);
	}
	fprintf(f,
		".globl unsized\n.type unsized, @function\nunsized: xor %%eax, %%eax; push %%rax; pop %%rax; ret" PAD);
	fprintf(f, ".globl unsized_endbr\n.type unsized_endbr, @function\nunsized_endbr: endbr64; push %%rax; pop "
		   "%%rax; ret" PAD);
	assert_int_equal(fclose(f), 0);
	snprintf(command, sizeof(command), "cc -nostdlib -shared -Wl,-Bsymbolic -o %s/trials.so %s", folder, path);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "%s/trials.so", folder);
	return image_open_file(&image, path);
}

static int clean(void **state)
{
	char command[80];

	image_close(image);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void place(struct place_options options)
{
	struct place_wish wishes[TRIALS];

	for (size_t i = 0; i < TRIALS; i++) {
		wishes[i] = (struct place_wish){ .function = image_symbol(image, trials[i].name),
						 .registers = trials[i].registers };
		assert_non_null(wishes[i].function);
	}
	assert_int_equal(place_probes(image, wishes, TRIALS, &options, places), 0);
}

static void test_each_trial(void **state)
{
	unsigned wrong = 0;

	place((struct place_options){ .optimized = true });
	for (size_t i = 0; i < TRIALS; i++) {
		const struct trial *t = &trials[i];
		uint64_t distance = places[i].offset - image_symbol(image, t->name)->offset;

		if (distance == t->distance && (places[i].refused ? REFUSED : places[i].class) == t->class)
			continue;
		print_error("%s: +%u %s, not +%u: %s\n", t->name, (unsigned)distance, site_class_name(places[i].class),
			    t->distance, places[i].why ?: "no reason");
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void test_reason_where_it_stays(void **state)
{
	place((struct place_options){ .optimized = true });
	for (size_t i = 0; i < TRIALS; i++)
		assert_int_equal(!places[i].why, places[i].class != SITE_STEPPED);
}

static void test_at_entry(void **state)
{
	place((struct place_options){ .at_entry = true, .optimized = true });
	for (size_t i = 0; i < TRIALS; i++)
		assert_int_equal(places[i].offset, image_symbol(image, trials[i].name)->offset);
}

/* On kernels before 6.18 the nop of 5 bytes is stepped: then it is passed over. */
static void test_without_nop5(void **state)
{
	place((struct place_options){ 0 });
	for (size_t i = 0; i < TRIALS; i++) {
		assert_int_not_equal(places[i].class, SITE_OPTIMIZED);
		if (!strcmp(trials[i].name, "nop5")) {
			assert_int_equal(places[i].offset - image_symbol(image, "nop5")->offset, 5);
			assert_int_equal(places[i].class, SITE_EMULATED);
		}
	}
}

static void test_unknown_size(void **state)
{
	struct place_wish wishes[UNSIZED] = { { .function = image_symbol(image, "unsized") },
					      { .function = image_symbol(image, "unsized_endbr") } };
	struct place_options options = { 0 };
	struct probe_place found[UNSIZED];

	assert_int_equal(place_probes(image, wishes, UNSIZED, &options, found), 0);
	assert_int_equal(found[0].offset, wishes[0].function->offset);
	assert_int_equal(found[1].offset, wishes[1].function->offset + 4);
}

/* Sizes and places that no compiler makes. */
static void test_lies(void **state)
{
	struct symbol lies[] = {
		{ .name = "endless",
		  .offset = image_symbol(image, "endbr")->offset,
		  .address = image_symbol(image, "endbr")->address,
		  .size = UINT64_MAX },
		{ .name = "large",
		  .offset = image_symbol(image, "test_branch")->offset,
		  .address = image_symbol(image, "test_branch")->address,
		  .size = 1 << 30 },
		{ .name = "short",
		  .offset = image_symbol(image, "read_memory")->offset,
		  .address = image_symbol(image, "read_memory")->address,
		  .size = 3 },
		{ .name = "outside", .offset = 1ull << 40, .address = 1ull << 40, .size = 100 },
		{ .name = "wraps", .offset = UINT64_MAX - 3, .address = UINT64_MAX - 3, .size = 100 },
	};
	struct place_wish wishes[5];
	struct place_options options = { 0 };
	struct probe_place found[5];

	for (int i = 0; i < 5; i++)
		wishes[i] = (struct place_wish){ .function = &lies[i], .registers = ALL };
	assert_int_equal(place_probes(image, wishes, 5, &options, found), 0);
	assert_int_equal(found[0].offset, lies[0].offset + 4); /* past its endbr64 */
	for (int i = 1; i < 5; i++)
		assert_int_equal(found[i].offset, lies[i].offset);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_trial),   cmocka_unit_test(test_reason_where_it_stays),
		cmocka_unit_test(test_at_entry),     cmocka_unit_test(test_without_nop5),
		cmocka_unit_test(test_unknown_size), cmocka_unit_test(test_lies),
	};

	return cmocka_run_group_tests(tests, build, clean);
}
