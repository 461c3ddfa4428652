/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * disassembler.h - libcapstone for x86-64, opened so that a lack of memory is an error and not the end of the program.
 */
#ifndef GASPBPF_DISASSEMBLER_H
#define GASPBPF_DISASSEMBLER_H

#include <capstone/capstone.h>

/* cs_close() ends it. 0, -ENOMEM, or -ENOTSUP: this libcapstone knows no x86. */
int disassembler_open(csh *handle);

#endif
