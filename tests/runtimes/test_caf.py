# SPDX-License-Identifier: BSD-2-Clause
"""Coarray Fortran on OpenCoarrays, which runs on MPI: both layers against counting libraries in the same run; and with
the runtime inside the program, as OpenCoarrays' own wrapper links it."""

import pytest

import gaspbpf
import truth

NAMED = {"send": "PUT", "sendget": "COPY", "is_contiguous": None}


def event_of(function):
    name = function.removeprefix("_gfortran_caf_")
    if name in NAMED:
        return NAMED[name] and f"GASP_CAF_{NAMED[name]}"
    return "GASP_CAF_ATOMIC" if name.startswith("atomic_") else f"GASP_CAF_{name.upper()}"


LINKED, INSIDE = [[gaspbpf.WORKLOADS / name, "--rounds", "20", "--warmup", "1", "--after", "1"]
                  for name in ("caf_job", "caf_job_inside")]


def observed(job, observe, program, *between):
    """cafrun is a script that starts mpiexec, which starts the images: its pid means them all."""
    ring = job(["cafrun", "-np", "2", *between, *program], ranks=2, env=truth.ENVIRONMENT).wait_ready()
    report = truth.window(ring, observe)
    return ring, report


def test_calls_are_those_of_counting_libraries(job, observe, tmp_path):
    line = truth.counting("libcount_caf.so", tmp_path)
    line[1] += f":{gaspbpf.WORKLOADS / 'libcount_mpi_openmpi.so'}"
    ring, report = observed(job, observe, LINKED, *line)
    caf, mpi = truth.windows(tmp_path, "caf"), truth.windows(tmp_path, "mpi")
    assert len(caf) == 2 and len(mpi) == 2
    counted = truth.by_event(caf, event_of)
    assert truth.differences_in_calls(report, counted, "CAF", inner=True) == {}
    assert truth.differences_in_calls(report, truth.by_event(mpi, lambda name: f"GASP_{name.upper()}"), "MPI") == {}
    # The job says the same of itself.
    own = truth.by_event(truth.functions(ring), event_of)
    assert {name: row["calls"] for name, row in own.items()} == {name: row["calls"] for name, row in counted.items()}
    # Images count from 1.
    assert {thread["rank"] for thread in report["threads"] if thread["calls"]} == {1, 2}


def test_calls_of_a_runtime_that_is_inside(job, observe, tmp_path):
    """No library can count between: the job itself does. MPI's calls are those that the runtime makes."""
    ring, report = observed(job, observe, INSIDE, *truth.counting("libcount_mpi_openmpi.so", tmp_path))
    counted = truth.by_event(truth.functions(ring), event_of)
    assert len(counted) > 15
    assert truth.differences_in_calls(report, counted, "CAF", inner=True) == {}
    mpi = truth.by_event(truth.windows(tmp_path, "mpi"), lambda name: f"GASP_{name.upper()}")
    assert mpi and truth.differences_in_calls(report, mpi, "MPI") == {}
    assert {thread["rank"] for thread in report["threads"] if thread["calls"]} == {1, 2}


@pytest.mark.parametrize("program", [LINKED, INSIDE], ids=["linked", "inside"])
def test_payload_is_the_jobs_own(job, observe, program):
    ring, report = observed(job, observe, program)
    counted = truth.by_event(truth.functions(ring), event_of)
    # The size that is registered counts bytes, locks or events, by the type of the coarray: it is no payload.
    counted.pop("GASP_CAF_REGISTER")
    assert truth.differences_in_bytes(report, counted) == {}
    seen = gaspbpf.events(report)
    assert seen["GASP_CAF_PUT"]["bytes_sent"] == counted["GASP_CAF_PUT"]["sent"]
    assert seen["GASP_CAF_GET"]["bytes_received"] == counted["GASP_CAF_GET"]["received"]
    # What MPI does for it is not there a second time; a copy between two others is one access of each.
    told = report["communication"]
    for kind, events in ("put", ("PUT", "COPY")), ("got", ("GET", "COPY")), ("atomic", ("ATOMIC",)):
        accesses = [pair[kind] for pair in told["pairs"] if kind in pair]
        own = [counted[f"GASP_CAF_{event}"] for event in events]
        assert sum(row["operations"] for row in accesses) == sum(row["calls"] for row in own), kind
    assert {pair["from"] for pair in told["pairs"]} == {1, 2} == {pair["to"] for pair in told["pairs"]}
    assert not any("sent" in pair for pair in told["pairs"]) and not told["calls_with_too_many_inside"]
    truth.compare_with_alone(ring, ["cafrun", "-np", "2", *program], truth.ENVIRONMENT)
