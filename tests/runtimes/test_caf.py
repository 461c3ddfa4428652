# SPDX-License-Identifier: BSD-2-Clause
"""Coarray Fortran on OpenCoarrays, which runs on MPI: both layers against counting libraries in the same run."""
import subprocess

import gaspbpf
import truth

NAMED = {"send": "PUT", "sendget": "COPY", "is_contiguous": None}


def event_of(function):
    name = function.removeprefix("_gfortran_caf_")
    if name in NAMED:
        return NAMED[name] and f"GASP_CAF_{NAMED[name]}"
    return "GASP_CAF_ATOMIC" if name.startswith("atomic_") else f"GASP_CAF_{name.upper()}"


JOB = [gaspbpf.WORKLOADS / "caf_job", "--rounds", "20", "--warmup", "1", "--after", "1"]


def observed(job, observe, *between):
    """cafrun is a script that starts mpiexec, which starts the images: its pid means them all."""
    ring = job(["cafrun", "-np", "2", *between, *JOB], ranks=2, env=truth.ENVIRONMENT).wait_ready()
    report = truth.window(ring, observe)
    return ring, report


def test_calls_are_those_of_counting_libraries(job, observe, tmp_path):
    line = truth.counting("libcount_caf.so", tmp_path)
    line[1] += f":{gaspbpf.WORKLOADS / 'libcount_mpi_openmpi.so'}"
    ring, report = observed(job, observe, *line)
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


def test_payload_is_the_jobs_own(job, observe):
    ring, report = observed(job, observe)
    counted = truth.by_event(truth.functions(ring), event_of)
    # The size that is registered counts bytes, locks or events, by the type of the coarray: it is no payload.
    counted.pop("GASP_CAF_REGISTER")
    assert truth.differences_in_bytes(report, counted) == {}
    seen = gaspbpf.events(report)
    assert seen["GASP_CAF_PUT"]["bytes_sent"] == counted["GASP_CAF_PUT"]["sent"]
    assert seen["GASP_CAF_GET"]["bytes_received"] == counted["GASP_CAF_GET"]["received"]
    alone = subprocess.run(["cafrun", "-np", "2", *map(str, JOB)], capture_output=True, text=True,
                           env=truth.ENVIRONMENT, timeout=gaspbpf.PATIENCE, check=True)
    assert truth.checksum(alone.stdout) == truth.checksum(ring.output())
