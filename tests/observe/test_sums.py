# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's sums: calls, bytes and their distributions, against what the jobs themselves did."""
import pathlib
import shutil

import pytest

import gaspbpf
import monitoring

MPI = ["mpirun.openmpi", "--bind-to", "none", "-n", "2", gaspbpf.WORKLOADS / "mpi_job_openmpi", "--rounds", "20"]


def gate_of(folder):
    gate = pathlib.Path(folder)
    gate.mkdir()
    return gate


@pytest.mark.guest
def test_calls_bytes_and_sizes_are_those_of_the_program(rung, runtime, monitors, tmp_path):
    """Counted from outside, by a program that makes puts of 1, 2, 3 ... 1000 bytes."""
    job = runtime("sums_of_puts")
    gate = gate_of(tmp_path / "gate")
    monitor = monitors("--comm", job.name, "--lazy", "--max-overhead", "none")
    process = job.start(300, 1000, gate)
    monitor.wait_for_processes([process.pid])
    (gate / "go").touch()
    gaspbpf.wait_for((gate / f"done.{process.pid}").exists, "the job to do its work")
    monitor.now()
    found = monitoring.events_of(monitor.process_of(process.pid))
    put, barrier = found["GASP_SHMEM_PUT"], found["GASP_SHMEM_BARRIER_ALL"]
    assert (put["calls"], put["timed"], put["sized"], put["skipped"]) == (1000, 1000, 1000, 0)
    assert put["bytes"] == sum(range(1, 1001))
    assert put["histogram_bytes"] == monitoring.by_powers_of_two(range(1, 1001))
    assert (barrier["calls"], barrier["sized"], barrier["bytes"]) == (300, 0, None)  # no payload is not a payload of 0
    for event in put, barrier:
        assert sum(count for _, count in event["histogram_ns"]) == event["timed"]
        lows = [low for low, _ in event["histogram_ns"]]  # each bucket ends where the next power of two begins
        assert lows[0] <= event["min_ns"] < max(2, 2 * lows[0]) and lows[-1] <= event["max_ns"] < 2 * lows[-1]
        assert sum(low * count for low, count in event["histogram_ns"]) <= event["total_ns"] < sum(
            max(2, 2 * low) * count for low, count in event["histogram_ns"])
        assert event["min_ns"] * event["timed"] <= event["total_ns"] <= event["max_ns"] * event["timed"]
    (gate / "end").touch()
    assert process.wait(timeout=gaspbpf.PATIENCE) == 0
    gaspbpf.wait_for(lambda: not monitor.process_of(process.pid), "the process to be let go")
    totals = monitor.totals()  # what ended processes did stays
    assert (totals["GASP_SHMEM_PUT"]["calls"], totals["GASP_SHMEM_PUT"]["bytes"]) == (1000, sum(range(1, 1001)))


@pytest.mark.alone  # everybody's MPI library has probes
@pytest.mark.parametrize("rung", gaspbpf.RUNGS_OF_MANY)
def test_ranks_of_mpi(rung, job, monitors):
    """Each rank's calls, and payload from datatypes, as PMPI counts them."""
    ranks = job(MPI, ranks=2, env=gaspbpf.MPI_ENVIRONMENT).wait_ready()
    monitor = monitors("-p", ranks.process.pid, "--lazy", "--max-overhead", "none", env={"GASPBPF_RUNG": rung})
    monitor.wait_for_processes(ranks.pids())
    ranks.work()
    monitor.now()
    processes = [monitor.process_of(pid) for pid in ranks.pids()]
    assert ranks.end() == 0
    truths = {truth["rank"]: truth["functions"] for truth in ranks.truths()}
    assert sorted(process["rank"] for process in processes) == [0, 1]
    for process in processes:
        truth, found = truths[process["rank"]], monitoring.events_of(process)
        assert process["size"] == 2
        for function, event in (("MPI_Send", "SEND"), ("MPI_Isend", "ISEND"), ("MPI_Barrier", "BARRIER"),
                                ("MPI_Wait", "WAIT"),
                                ("MPI_Waitall", "WAITALL"), ("MPI_Win_fence", "WIN_FENCE"),
                                ("MPI_Comm_dup", "COMM_DUP"), ("MPI_Put", "PUT")):
            assert found[f"GASP_MPI_{event}"]["calls"] == truth[function]["calls"], function
        assert (found["GASP_MPI_SEND"]["bytes"], found["GASP_MPI_SEND"]["sized"]) == (truth["MPI_Send"]["sent"],
                                                                                      truth["MPI_Send"]["calls"])
        assert (found["GASP_MPI_PUT"]["bytes"], found["GASP_MPI_PUT"]["sized"]) == (truth["MPI_Put"]["sent"],
                                                                                    truth["MPI_Put"]["calls"])
        assert found["GASP_MPI_SENDRECV"]["bytes"] == truth["MPI_Sendrecv"]["sent"] + truth["MPI_Sendrecv"]["received"]


@pytest.mark.parametrize("rung", gaspbpf.RUNGS_OF_MANY)
def test_a_storm_is_counted_though_not_timed(rung, runtime, monitors, tmp_path):
    """What the governor leaves out is a duration, not a call: as long as probes are in, calls are exact."""
    job = runtime("sums_of_storm")
    gate = gate_of(tmp_path / "gate")
    monitor = monitors("--comm", job.name, "--lazy", env={"GASPBPF_RUNG": rung})
    process = job.start(3000000, 10, gate)
    monitor.wait_for_processes([process.pid])
    (gate / "go").touch()
    gaspbpf.wait_for((gate / f"done.{process.pid}").exists, "the job to do its work")
    barrier = monitor.totals()["GASP_SHMEM_BARRIER_ALL"]
    assert barrier["skipped"] or barrier["unseen_ns"]
    assert barrier["timed"] + barrier["skipped"] == barrier["calls"]
    assert barrier["calls"] <= 3000000
    assert barrier["unseen_ns"] or barrier["calls"] == 3000000
    assert "shmem_barrier_all" in monitor.errors()
    (gate / "end").touch()
    assert process.wait(timeout=gaspbpf.PATIENCE) == 0


def test_what_is_not_a_runtime_is_left_alone(job, monitors, tmp_path):
    """malloc and pthread only on request, and then with a word. The job has a C library of its own, so nobody else
    meets the probes."""
    own = tmp_path / "own"
    own.mkdir()
    shutil.copy("/lib/x86_64-linux-gnu/libc.so.6", own)
    threads = job([gaspbpf.WORKLOADS / "threads", "--rounds", "10", "--threads", "2"],
                  env={"LD_LIBRARY_PATH": str(own)}).wait_ready()
    monitor = monitors("-p", threads.process.pid, "--lazy")
    other = monitors("-p", threads.process.pid, "-m", "c", "--lazy", "--max-overhead", "none")
    other.wait_for_processes([threads.process.pid])
    assert "its functions are called by everything" in other.errors()
    assert "its functions" not in monitor.errors()
    threads.work()
    other.now()
    found = monitoring.events_of(other.process_of(threads.process.pid))
    line = monitor.now()
    assert threads.end() == 0
    truth = threads.truths()[0]["functions"]
    assert found["GASP_C_CALLOC"]["calls"] == truth["calloc"]["calls"]
    assert found["GASP_C_CALLOC"]["bytes"] == truth["calloc"]["bytes"]
    assert not line["events"] and not line["processes"]
