/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * x86_private.h - private to user/arch/x86_64: what its files share.
 */
#ifndef GASPBPF_ARCH_X86_PRIVATE_H
#define GASPBPF_ARCH_X86_PRIVATE_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stdint.h>

struct decoder {
	csh handle;
	cs_insn *scratch;
};

/*
 * libcapstone, opened so that a lack of memory is an error and not the end of the program. cs_close() ends it. 0,
 * -ENOMEM, or -ENOTSUP: this libcapstone knows no x86.
 */
int disassembler_open(csh *handle);

/* The next instruction, valid until another one is decoded; NULL: none. detail: with operands. */
const cs_insn *decode(struct decoder *decoder, const uint8_t *code, size_t size, uint64_t address, bool detail);

/* DWARF's number of the general register that this one is, or is a part of; -1: it is none of the sixteen. */
int register_number(x86_reg reg);

bool is_legacy_prefix(uint8_t b);
/* Does a ModRM operand, which begins at `at`, stand for memory, with no index register? */
bool is_plain_memory(const uint8_t *code, unsigned length, unsigned at);

#endif
