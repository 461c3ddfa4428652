# SPDX-License-Identifier: BSD-2-Clause
"""Events of GASP's tables for which a runtime has no function: an instrumented program tells of them, and of them
alone.

upc_forall is a loop, the data of a nonblocking transfer arrives in the hardware, and a cache is inlined: only a
compiler's or runtime's own announcements (GASP 1.4 section 3.2) can show them. The program makes these as GNU UPC's
runtime does, and writes down what it announced.
"""
import re

import pytest

import conformance
import gaspbpf

PROGRAM = r"""
#include <stdarg.h>
#include <stdio.h>
enum { START, END, ATOMIC };
enum { C_FUNC = 1, FORALL = 11, NB_GET_DATA = 29, NB_PUT_DATA = 31, CACHE_MISS = 33, CACHE_HIT, CACHE_INVALIDATE }; /* GNU UPC's gasp_upc.h */
int MYTHREAD;
char __upc_info[8];
__attribute__((noinline)) void __upc_barrier(int id) { __asm__ volatile("" ::: "memory"); } /* a UPC program */
static FILE *truth;
__attribute__((weak, noinline)) void gasp_event_notifyVA(void *context, unsigned evttag, int evttype, const char *filename, int linenum, int colnum,
							 va_list varargs)
{
	__asm__ volatile("" ::: "memory");
}
#define FORWARD(function, type) \
	__attribute__((noinline)) void function(unsigned evttag, const char *filename, int linenum, ...) \
	{ \
		va_list varargs; \
		va_start(varargs, linenum); \
		gasp_event_notifyVA(&truth, evttag, type, filename, linenum, 0, varargs); \
		va_end(varargs); \
	}
FORWARD(pupc_event_startg, START)
FORWARD(pupc_event_endg, END)
FORWARD(pupc_event_atomicg, ATOMIC)

static void around(int tag, const char *name, int line, unsigned long handle)
{
	pupc_event_startg(tag, "prog.upc", line, handle);
	pupc_event_endg(tag, "prog.upc", line, handle);
	for (int end = 0; end < 2; end++)
		fprintf(truth, "%s GASP_UPC_%s handle=%lu @ prog.upc:%d\n", end ? "END" : "START", name, handle, line);
}

int main(int argc, char **argv)
{
	static char room[65536];
	truth = fopen(argv[1], "w");
	setvbuf(truth, room, _IOFBF, sizeof(room));
	__upc_barrier(0);
	for (unsigned long i = 1; i <= 10; i++) {
		pupc_event_startg(C_FUNC, "prog.upc", 9, "int solve(int n)");
		fprintf(truth, "START GASP_C_FUNC funcsig=int\\x20solve(int\\x20n) @ prog.upc:9\n");
		pupc_event_startg(FORALL, "prog.upc", 10);
		fprintf(truth, "START GASP_UPC_FORALL @ prog.upc:10\n");
		pupc_event_atomicg(CACHE_MISS, "prog.upc", 11, 8 * i, 64 * i);
		fprintf(truth, "ATOMIC GASP_UPC_CACHE_MISS n=%lu n_lines=%lu @ prog.upc:11\n", 8 * i, 64 * i);
		pupc_event_atomicg(CACHE_HIT, "prog.upc", 12, i);
		fprintf(truth, "ATOMIC GASP_UPC_CACHE_HIT n=%lu @ prog.upc:12\n", i);
		pupc_event_atomicg(CACHE_INVALIDATE, "prog.upc", 13, 100 + i);
		fprintf(truth, "ATOMIC GASP_UPC_CACHE_INVALIDATE n_dirty=%lu @ prog.upc:13\n", 100 + i);
		__upc_barrier(i);
		around(NB_GET_DATA, "NB_GET_DATA", 14, 1000 + i);
		around(NB_PUT_DATA, "NB_PUT_DATA", 15, 2000 + i);
		pupc_event_endg(FORALL, "prog.upc", 10);
		fprintf(truth, "END GASP_UPC_FORALL @ prog.upc:10\n");
		pupc_event_endg(C_FUNC, "prog.upc", 9, "int solve(int n)");
		fprintf(truth, "END GASP_C_FUNC funcsig=int\\x20solve(int\\x20n) @ prog.upc:9\n");
	}
	return fclose(truth) != 0;
}
"""


@pytest.fixture(name="program", scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("announce")
    (folder / "announce.c").write_text(PROGRAM)
    gaspbpf.compile_c(folder / "announce.c", folder / "announce", "-O1")
    return folder / "announce"


def announced_and_told(program, tmp_path, *options):
    """What the program says that it announced, and what gaspbpf has of it; each "TYPE EVENT ARGUMENTS @ PLACE"."""
    result = gaspbpf.run("record", *options, "-o", tmp_path / "run.events", "--", program, tmp_path / "truth")
    assert result.returncode == 0, result.stderr
    announced = (tmp_path / "truth").read_text().splitlines()
    assert len(announced) == 10 * 11
    lines = (tmp_path / "run.events").read_text().splitlines()
    told = [line.split(" ", 3)[3] for line in lines if " @ prog.upc" in line]
    assert not [line for line in lines if "user_event_" in line]
    return announced, [re.sub(r"handle=0x(\w+)", lambda m: f"handle={int(m[1], 16)}", line) for line in told]


@pytest.mark.usefixtures("rung")
def test_what_only_an_instrumented_program_tells(program, tmp_path):
    """GASP 1.4 tables 1, 5, 8 and 9: types, arguments, places, order and number of all that was announced."""
    announced, told = announced_and_told(program, tmp_path)
    assert told == announced
    conformance.seen("gupc-instrumented", *{line.split()[1] for line in announced})


def test_calls_inside_of_what_is_announced(program, tmp_path):
    """The runtime's functions are observed there as anywhere."""
    announced_and_told(program, tmp_path)
    inside, seen = False, []
    for line in (tmp_path / "run.events").read_text().splitlines():
        if " GASP_UPC_FORALL " in line:
            inside = " START " in line
        elif " START GASP_UPC_BARRIER " in line:
            seen.append(inside)
    assert seen == [False] + [True] * 10


@pytest.mark.parametrize("option, names, wanted", [
    ("--profile-only", "GASP_UPC_FORALL\nGASP_C_FUNC\n", ("FORALL", "C_FUNC")),
    ("--profile-partial", "PUPC_FORALL\nPUPC_MEMCPY\n", ("FORALL",)),
    ("--profile-only", "GASP_UPC_CACHE_*\n", ("CACHE_",)),
    ("-m", "pupc", ("",)),
])
def test_only_those_that_are_asked_for(program, tmp_path, option, names, wanted):
    """By name, though no function of the runtime stands for them; and whichever models take part."""
    if option != "-m":
        (tmp_path / "names").write_text(names)
        names = tmp_path / "names"
    announced, told = announced_and_told(program, tmp_path, option, names)
    assert told == [line for line in announced if any(word in line.split()[1] for word in wanted)]
