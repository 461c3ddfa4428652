/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that use what lies on top of the stack: who has called, parameters behind the call, the object on whose
 * behalf dlsym() looks, and data where no call has been. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

long parameter(void);
long with_parameter(void);
long machine(void);

/* parameter() takes the word behind its call, and goes on behind that. machine() has its handlers run by jumps, with
 * numbers on the stack. */
__asm__(".text\n"
	".globl parameter\n.type parameter, @function\nparameter:\n\tmov (%rsp), %rcx\n\tmov (%rcx), %rax\n\tadd $8, %rcx\n\tmov %rcx, (%rsp)\n\tret\n"
	".size parameter, . - parameter\n"
	".globl with_parameter\n.type with_parameter, @function\nwith_parameter:\n\tsub $8, %rsp\n\tcall parameter\n\t.quad 42\n\tadd $8, %rsp\n\tret\n"
	".size with_parameter, . - with_parameter\n"
	".globl machine\n.type machine, @function\nmachine:\n\tpush $30\n\tpush $12\n\tjmp handler_plus\n.size machine, . - machine\n"
	".globl handler_plus\n.type handler_plus, @function\nhandler_plus:\n\tnop\n\tpop %rax\n\tpop %rcx\n\tadd %rax, %rcx\n\tpush %rcx\n\tjmp handler_end\n"
	".size handler_plus, . - handler_plus\n"
	".globl handler_end\n.type handler_end, @function\nhandler_end:\n\tnop\n\tpop %rax\n\tret\n.size handler_end, . - handler_end\n");

/* Was it main() that called? */
__attribute__((noinline)) int called_by_main(void)
{
	Dl_info info;

	return dladdr(__builtin_return_address(0), &info) && info.dli_sname && !strcmp(info.dli_sname, "main");
}

__attribute__((noinline)) void *next_of(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

int main(void)
{
	long callers = 0, found = 0, parameters = 0, sums = 0;

	for (int i = 0; i < 100; i++) {
		callers += called_by_main();
		found += next_of("puts") != NULL;
		parameters += with_parameter();
		sums += machine();
	}
	printf("callers %ld found %ld parameters %ld sums %ld\n", callers, found, parameters, sums);
	return 0;
}
