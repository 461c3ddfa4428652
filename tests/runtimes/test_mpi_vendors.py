# SPDX-License-Identifier: BSD-2-Clause
"""MPI of vendors that keep to MPICH's binary interface. Debian has none of them: MPICH under their names stands in, and
under a name that no layout knows."""
import shutil
import subprocess

import pytest

import gaspbpf
import naming
import truth

NAMES = ["libmpi.so.12", "libmpi_cray.so.12", "libmpi_gnu_91.so.12"]


def patch(file, *what):
    subprocess.run(["patchelf", *map(str, what), str(file)], check=True, capture_output=True, timeout=gaspbpf.PATIENCE)


@pytest.fixture
def renamed(tmp_path, job):
    """Starts the MPI job on MPICH under another name."""
    def start(soname):
        library = subprocess.run(["gcc", "-print-file-name=libmpich.so.12"], capture_output=True, text=True,
                                 check=True).stdout.strip()
        shutil.copy(library, tmp_path / soname)
        patch(tmp_path / soname, "--set-soname", soname)
        program = shutil.copy(gaspbpf.WORKLOADS / "mpi_job_mpich", tmp_path / "program")
        patch(program, "--replace-needed", "libmpich.so.12", soname)
        return job(["mpirun.mpich", "-n", "2", program, "--rounds", "3", "--warmup", "1", "--after", "1"], ranks=2,
                   env={**truth.ENVIRONMENT, "LD_LIBRARY_PATH": str(tmp_path)}).wait_ready()
    return start


@pytest.mark.parametrize("soname", NAMES)
def test_calls_and_bytes_are_the_jobs_own(renamed, observe, soname):
    ring = renamed(soname)
    report = truth.window(ring, observe)
    counted = truth.by_event(truth.functions(ring), naming.mpi)
    assert truth.differences_in_calls(report, counted, "MPI") == {}
    seen = gaspbpf.events(report)
    moved = seen["GASP_MPI_SENDRECV"], counted["GASP_MPI_SENDRECV"]
    assert moved[0]["bytes_sent"] == moved[1]["sent"] > 0 and moved[0]["bytes_received"] == moved[1]["received"] > 0
    assert sorted(thread["rank"] for thread in report["threads"] if thread["calls"]) == [0, 1]


def test_of_a_layout_that_is_not_known_nothing_is_guessed(renamed, observe):
    """Calls are exact, too; what would have to be read in a layout is unknown, and not 0."""
    ring = renamed("libmpi.so.77")
    report = truth.window(ring, observe)
    assert truth.differences_in_calls(report, truth.by_event(truth.functions(ring), naming.mpi), "MPI") == {}
    sends = gaspbpf.events(report)["GASP_MPI_SENDRECV"]
    assert sends["bytes"] is None and sends["calls_without_bytes"] == sends["calls"] > 0
