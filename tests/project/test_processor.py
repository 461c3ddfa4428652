# SPDX-License-Identifier: BSD-2-Clause
"""What is known of the processor stands in a room of its own: user/arch, and bpf/arch_*.h."""

import pathlib
import re

import pytest

pytestmark = pytest.mark.files

TOP = pathlib.Path(__file__).resolve().parents[2]

REGISTERS = (
    r"[re]?[abcd]x|[abcd]l|[re]?[sd]i|[re]sp|[re]?bp|[re]ip|r(8|9|1[0-5])[dwb]?|[xyz]mm\d*|orig_ax|rflags|[fg]s_?base")
INSTRUCTIONS = r"endbr\d*|lea|mov|jmp|jcc|jrcxz|jne|ud2|hlt|xbegin|nop|nop5|cmov|xchg|REX|ModRM|SSE|x87"
LIBRARY = r"capstone|csh|cs_\w+|user_regs_struct"
NUMBERS = r"0x(e8|e9|eb|cc|c3)|__NR_\w+|EM_(X86|AARCH|RISCV|PPC|S390)\w*|AUDIT_ARCH_\w+|R_X86\w*"
NAMED = re.compile(rf"\b({REGISTERS}|{INSTRUCTIONS}|{LIBRARY}|{NUMBERS})\b|x86|X86|[aA][mM][dD]64|syscall\(\d")

# Where a processor's own files are chosen; and names of others' that read like a register's.
CHOICES = {"user/arch/arch.h", "bpf/arch.h", "include/gaspbpf/arch.h"}
OTHERS = ('"bp"', "DW_CFA_nop", "struct starpu_codelet *cl", "Syscall User Dispatch")


def sources():
    for folder, kinds in (("user", "[ch]"), ("bpf", "[ch]"), ("include", "h")):
        for path in sorted((TOP / folder).rglob(f"*.{kinds}")):
            name = str(path.relative_to(TOP))
            if not re.match(r"user/arch/\w+/|bpf/arch_\w+\.h", name) and name not in CHOICES:
                yield name, path.read_text()


def named(text):
    for number, line in enumerate(text.splitlines(), 1):
        for other in OTHERS:
            line = line.replace(other, "")
        found = NAMED.search(line)
        if found:
            yield f"{number}: {found.group(0)}"


def test_only_the_room_of_the_processor_names_what_is_its_own():
    wrong = {name: list(named(text)) for name, text in sources()}
    assert {name: lines for name, lines in wrong.items() if lines} == {}


def test_what_is_a_processors_own_is_recognised():
    for line in ("x = ctx->di;", "regs.rip", "/* rdi rsi rdx */", "case X86_INS_MOV:", "code[0] == 0xe8", "EM_X86_64",
                 "R_X86_64_RELATIVE", "syscall(202, 0)", "/* the endbr64 at its start */",
                 '"/usr/lib/x86_64-linux-gnu"',
                 "#include <capstone/capstone.h>", "cs_disasm(handle)", "AUDIT_ARCH_X86_64", "memcheck-amd64-"):
        assert list(named(line)), line
