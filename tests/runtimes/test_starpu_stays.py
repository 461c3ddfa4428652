# SPDX-License-Identifier: BSD-2-Clause
"""The mark `stays` of the StarPU model, checked against the library's own code: no function that has it reaches a
switch of stacks."""
import bisect
import re
import subprocess

import gaspbpf
import statements

LIBRARY = "/usr/lib/x86_64-linux-gnu/libstarpu-1.3.so.9"
SWITCHES = {"swapcontext", "setcontext"}
LINE = re.compile(r"\s*([0-9a-f]+):\s+(?:call|jmp|j[a-z]+)\s+([0-9a-f]+) <([^>+]*)")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=gaspbpf.PATIENCE, check=True).stdout


def functions():
    """Address to name, of all functions that can be told apart; those without a name have None."""
    found = {}
    for match in re.finditer(r"pc=([0-9a-f]+)\.\.", output("readelf", "--debug-dump=frames", LIBRARY)):
        found[int(match[1], 16)] = None
    for line in output("nm", "-D", "--defined-only", LIBRARY).splitlines():
        address, kind, name = line.split()
        if kind in "TtWi":
            found[int(address, 16)] = name.split("@")[0]
    return found


def callers():
    """Who calls, or jumps to, each function or imported name."""
    names = functions()
    starts = sorted(names)
    address_of = {name: address for address, name in names.items() if name}
    found = {}
    for match in map(LINE.match, output("objdump", "-d", "--no-show-raw-insn", LIBRARY).splitlines()):
        if not match:
            continue
        at, target, name = int(match[1], 16), int(match[2], 16), match[3]
        here = starts[bisect.bisect_right(starts, at) - 1]
        if name.endswith("@plt"):
            imported = name.split("@")[0]
            there = address_of.get(imported, imported)
        else:
            there = starts[bisect.bisect_right(starts, target) - 1]
        if there != here:
            found.setdefault(there, set()).add(here)
    return found, names


def test_no_function_that_stays_reaches_a_switch_of_stacks():
    called_by, names = callers()
    reaching, new = set(), set(SWITCHES)
    while new:
        reaching |= new
        new = {caller for name in new for caller in called_by.get(name, ())} - reaching
    reaching_names = {names.get(place) for place in reaching}
    assert "starpu_omp_barrier" in reaching_names  # what does switch is found
    staying = set()
    for line in statements.of_model("starpu"):
        if re.match(r"[A-Z_]+\s+\w+\s+stays ", line):
            words = re.search(r"[ *]\{?([\w,]+)\}?\(", line)[1]
            staying |= set(words.split(","))
    assert "starpu_task_submit" in staying and len(staying) > 25
    assert not staying & reaching_names
    assert staying - {"_starpu_cuda_driver_init", "_starpu_cuda_driver_deinit"} <= set(names.values())
