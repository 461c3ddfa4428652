# SPDX-License-Identifier: BSD-2-Clause
"""MPI from Fortran: each call once and not again for the library beneath it, with the arguments that the C library
gets."""
import re

import pytest

import conformance
import gaspbpf
import truth

RUNTIMES = {"openmpi": "openmpi-4.1.4", "mpich": "mpich-4.0.2"}
# What MPI_IN_PLACE becomes in C.
IN_PLACE = {"openmpi": "0x1", "mpich": "0xffffffffffffffff"}


SOURCE = (gaspbpf.TOP / "tests" / "workloads" / "mpi_fortran.F90").read_text().splitlines()
SITE = re.compile(r" @ (?:.*/)?mpi_fortran\.F90:(\d+)(?::\d+)?$")


def sites(lines, pid):
    """Where the process's outermost MPI calls come from, as (event, line of the Fortran source)."""
    found, depth = [], 0
    for line in lines:
        fields = line.split(" ")
        if not fields[2].endswith(f":{pid}") or not fields[4].startswith("GASP_MPI_"):
            continue
        if fields[3] == "START" and not depth:
            site = SITE.search(line)
            found.append((fields[4], site and int(site[1])))
        depth += {"START": 1, "END": -1, "ATOMIC": 0}[fields[3]]
    return found


def function_called(line):
    """What the statement at this line calls: GASP_MPI_SEND for `call MPI_Send(...)`."""
    while line and SOURCE[line - 2].rstrip().endswith("&"):
        line -= 1
    call = re.search(r"call (mpi_\w+)", SOURCE[line - 1], re.IGNORECASE) if line else None
    return call and f"GASP_{call[1].upper()}"


def events(lines, pid):
    """The MPI calls of a process as (event, {argument: value}), each as it ended: in all, and those inside others."""
    calls, inside, open_calls = [], [], []
    for line in lines:
        fields = line.split(" ")
        if not fields[2].endswith(f":{pid}") or not fields[4].startswith("GASP_MPI_"):
            continue
        if fields[3] == "START":
            open_calls.append(fields[4])
        elif open_calls and open_calls[:-1]:
            inside.append((open_calls.pop(), open_calls[-1]))
        else:
            assert open_calls.pop() == fields[4]
            calls.append((fields[4], dict(each.split("=", 1) for each in fields[5:] if "=" in each)))
    return calls, inside


@pytest.mark.parametrize("interface", (1, 2, 3), ids=("mpif.h", "mpi", "mpi_f08"))
@pytest.mark.parametrize("mpi", RUNTIMES)
def test_calls_from_fortran(job, observe, tmp_path, mpi, interface):
    program = gaspbpf.WORKLOADS / f"mpi_fortran_{mpi}_{interface}"
    pair = job([f"mpirun.{mpi}", "-n", "2", program], ranks=2, env=truth.ENVIRONMENT).wait_ready()
    recording, lines = tmp_path / "fortran.gasp", tmp_path / "fortran.events"
    truth.window(pair, observe, pair.pids(), ["-o", recording])
    assert gaspbpf.run("export", recording, "-o", lines).returncode == 0
    text = lines.read_text().splitlines()
    for rank in pair.truths():
        calls = [call.replace("IN_PLACE", IN_PLACE[mpi]).replace("(nil)", "0x0").split() for call in rank["calls"]]
        names = [f"GASP_{call[0]}" for call in calls]
        ends, inside = events(text, rank["pid"])
        assert [event for event, _ in ends] == names
        # Only MPI I/O is made of other MPI calls. A call that was seen in the Fortran library and again in C would
        # stand here.
        assert [pair for pair in inside if not pair[1].startswith("GASP_MPI_FILE_")] == []
        for (event, arguments), (_, *expected) in zip(ends, calls):
            assert {each.split("=")[0]: arguments.get(each.split("=")[0]) for each in expected} == \
                dict(each.split("=") for each in expected), event
        # Each comes from the line of the Fortran program that calls this function, and later ones from later lines:
        # there is no loop.
        places = sites(text, rank["pid"])
        # (Of some calls with an interface that have two arguments GCC 12's line table has the line of the program's
        # last one; so says addr2line.)
        last = max(line for _, line in places) if interface > 1 else None
        assert [(event, line) for event, line in places if function_called(line) != event and line != last] == []
        own = [line for _, line in places if line != last]
        assert len(own) > 15 and own == sorted(set(own))
        conformance.seen(RUNTIMES[mpi], *names)
