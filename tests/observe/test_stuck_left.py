# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf stuck on jobs of which a rank is gone, is going, or does not run any more, while the others wait for it."""
import ctypes
import os
import re
import signal

import pytest

import gaspbpf
import truth
from sticking import STUCK, entered, finding, finds, mpi, ranks, ready, said, stuck, until, waiting_in

QUICK = ("-d", "200ms")
NO_PROBES = ("--no-probes", "-d", "200ms")  # beside MPICH's ranks, which never yield, putting probes in takes long
# Settings under which the launcher lets the other ranks live on.
SPARING = {
    "openmpi": ["mpirun.openmpi", "--enable-recovery", "--mca", "orte_abort_on_non_zero_status", "0"],
    "mpich": ["mpirun.mpich", "-disable-auto-cleanup"],
}


def goes(run, number):
    """Lets the rank end, and waits until it has."""
    ready(run, number)
    pid = int((run.gate / f"ready.{number}").read_text())
    (run.gate / "go").touch()

    def has_ended():
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0] in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return True
    gaspbpf.wait_for(has_ended, f"rank {number} to end")


def left(run, event, waiting, options=QUICK):
    """What is said of the one that has left."""
    seen = until(finds("left", waiting_in(event, waiting), waiting), "-p", run.process.pid, *options)
    found = finding(seen, "left")
    assert ranks(found["waiting"]) == list(waiting)
    assert not [f for f in seen["findings"] if f["kind"] in ("deadlock", "stopped")]
    return found


@pytest.mark.parametrize("build, how", [("openmpi", "gone"), ("openmpi", "crash"), ("mpich", "gone")])
def test_a_rank_of_mpi_that_has_ended(job, build, how):
    run = job([*SPARING[build], "-n", "3", STUCK / f"mpi_{build}", how], ranks=3, env=truth.ENVIRONMENT)
    entered(run, range(2))
    goes(run, 2)
    found = left(run, "GASP_MPI_BARRIER", range(2), QUICK if build == "openmpi" and how == "gone" else NO_PROBES)
    assert ranks(found["others"]) == [2]
    assert re.fullmatch(r"rank 0 and rank 1 wait in GASP_MPI_BARRIER \(mpi_stuck\.c:\d+ in meet\); 1 of 3 has not "
                        r"come: rank 2 has left the program",
                        found["text"])
    if build == "openmpi" and how == "gone":
        said(found, "-p", run.process.pid, *QUICK)


def test_a_rank_that_has_crashed_and_whose_launcher_stands_still(job):
    """Nobody has waited for it: it is a zombie."""
    run = mpi(job, "openmpi", "crash", 3)
    entered(run, range(2))
    ready(run, 2)
    os.kill(run.process.pid, signal.SIGSTOP)
    goes(run, 2)
    pid = int((run.gate / "ready.2").read_text())
    assert os.path.exists(f"/proc/{pid}")
    found = left(run, "GASP_MPI_BARRIER", range(2), NO_PROBES)
    assert found["text"].endswith("; 1 of 3 has not come: rank 2 has left the program")


def test_a_message_of_a_rank_that_has_ended(job):
    run = job([*SPARING["openmpi"], "-n", "3", STUCK / "mpi_openmpi", "receive"], ranks=3, env=truth.ENVIRONMENT)
    entered(run, range(2))
    goes(run, 2)
    seen = until(waiting_in("GASP_MPI_RECV", [0]), "-p", run.process.pid, *NO_PROBES)
    found = {tuple(ranks(f["waiting"])): f for f in seen["findings"] if f["kind"] == "left"}
    assert set(found) == {(0,), (1,)}
    assert found[0,]["text"] == "rank 0 waits in GASP_MPI_RECV for rank 2, which has left the program" \
        and ranks(found[0,]["others"]) == [2]
    assert ranks(found[1,]["others"]) == [0, 2]


def test_a_pe_that_has_ended(job):
    run = job(["oshrun", "--enable-recovery", "-n", "3", STUCK / "shmem", "gone"], ranks=3, env=truth.ENVIRONMENT)
    entered(run, range(2))
    goes(run, 2)
    found = left(run, "GASP_SHMEM_BARRIER_ALL", range(2))
    assert re.fullmatch(r"PE 0 and PE 1 wait in GASP_SHMEM_BARRIER_ALL \(shmem_stuck\.c:\d+ in meet\); 1 of 3 has not "
                        r"come: PE 2 has left the program",
                        found["text"])


@pytest.mark.parametrize("program, how, gone",
                         [("upc", "gone", 2), ("upc_pthreads", "gone", 2), ("upc_pthreads", "first", 0)])
def test_a_upc_thread_that_has_ended(job, program, how, gone):
    """As processes, and as threads of one process, each with a MYTHREAD of its own; that of the thread that waits for
    them all is 0, too."""
    run = job([STUCK / program, "-n", "3", how], ranks=3)
    others = sorted({0, 1, 2} - {gone})
    entered(run, others)
    ready(run, gone)
    (run.gate / "go").touch()
    seen = until(lambda seen: waiting_in("GASP_UPC_BARRIER", others)(seen)
                 and any(f["kind"] == "left" for f in seen["findings"]),
                 "-p", run.process.pid, *QUICK)
    found = finding(seen, "left")
    assert ranks(found["waiting"]) == others and ranks(found["others"]) == [gone]
    assert re.fullmatch(rf"thread {others[0]} and thread {others[1]} wait in GASP_UPC_BARRIER "
                        r"\(upc_stuck\.c:\d+ in meet\); "
                        rf"1 of 3 has not come: thread {gone} has left the program", found["text"])
    said(found, "-p", run.process.pid, *QUICK)


def test_threads_of_one_process_are_ranks(job):
    run = job([STUCK / "upc_pthreads", "-n", "3"], ranks=3)
    entered(run, range(2))
    ready(run, 2)
    seen = until(finds("absent", waiting_in("GASP_UPC_BARRIER", range(2))), "-p", run.process.pid, *QUICK)
    found = finding(seen, "absent")
    assert ranks(found["waiting"]) == [0, 1] and ranks(found["others"]) == [2]
    assert "thread 2 is in no known call" in found["text"] and not found["likely"]
    main, = [t for t in seen["threads"] if t["tid"] == run.process.pid]
    assert main["rank"] is None and main["call"]["event"] == "GASP_PTHREAD_JOIN"
    assert sorted(t["rank"] for t in seen["threads"] if t["tid"] != run.process.pid) == [0, 1, 2]


def test_of_named_ranks_one_that_ends_meanwhile_has_left(job, observe):
    run = job([*SPARING["openmpi"], "-n", "3", STUCK / "mpi_openmpi", "gone"], ranks=3, env=truth.ENVIRONMENT)
    entered(run, range(2))
    ready(run, 2)
    seen = stuck("-p", run.process.pid, "--no-probes", "-d", "0")
    watch = observe("stuck", "-p", ",".join(str(t["pid"]) for t in seen["threads"] if t["pid"] == t["tid"]),
                    "-d", f"{gaspbpf.PATIENCE}s", ready="watching")
    goes(run, 2)
    status, out, errors = watch.stop()
    assert status == 0, errors
    # On a busy machine one that polls may not be caught; it is not said to be absent then.
    left = "1 of 3 has not come: rank 2 has left the program"
    both = rf"rank 0 and rank 1 wait in GASP_MPI_BARRIER .*; {left}"
    one = (rf"rank (?P<caught>[01]) waits in GASP_MPI_BARRIER .*; {left}; who could not be caught, and may have come: "
           r"rank (?!(?P=caught))[01]")
    assert re.search(rf"^- ({both}|{one})$", out, re.M), out
    assert "3 processes" in errors and "1 process has ended meanwhile" in out


# --- there, but not running -----------------------------------------------------


def is_in_state(pid, state):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == state


def test_a_rank_that_a_signal_has_stopped(job):
    run = mpi(job, "openmpi", "barrier", 3)
    entered(run, range(2))
    ready(run, 2)
    pid = int((run.gate / "ready.2").read_text())
    os.kill(pid, signal.SIGSTOP)
    gaspbpf.wait_for(lambda: is_in_state(pid, "T"), "the rank to stop")
    seen = until(finds("stopped", waiting_in("GASP_MPI_BARRIER", range(2))), "-p", run.process.pid, *NO_PROBES)
    found = finding(seen, "stopped")
    assert seen["findings"][0] == found and ranks(found["others"]) == [2] and not found["waiting"]
    assert found["text"] == f"rank 2 is stopped by a signal: to let it go on, kill -CONT {pid}"
    assert "rank 2 is stopped by a signal, in no known call" in finding(seen, "absent")["text"]
    said(found, "-p", run.process.pid, *NO_PROBES)
    (run.gate / "go").touch()
    (run.gate / "end").touch()
    os.kill(pid, signal.SIGCONT)
    assert run.process.wait(timeout=gaspbpf.PATIENCE) == 0, run.output()
    assert not [f for f in stuck("-p", os.getpid(), *NO_PROBES)["findings"] if f["kind"] == "stopped"]


def test_threads_that_a_debugger_has_stopped(job):
    libc = ctypes.CDLL(None, use_errno=True)
    seize, interrupt, detach = 0x4206, 0x4207, 17
    run = job([STUCK / "locks", "held"])
    entered(run, [0, 1])
    ready(run, 0)
    pid = run.process.pid
    assert libc.ptrace(seize, pid, 0, 0) == 0 and libc.ptrace(interrupt, pid, 0, 0) == 0
    os.waitpid(pid, 0x40000000)  # __WALL
    seen = stuck("-p", pid, *NO_PROBES)
    found = finding(seen, "stopped")
    assert [party["tid"] for party in found["others"]] == [pid]
    assert found["text"].endswith(" is stopped by a debugger")
    assert "holds, which is stopped by a debugger, in no known call" in finding(seen, "held")["text"]
    assert libc.ptrace(detach, pid, 0, 0) == 0
    (run.gate / "go").touch()
    assert run.process.wait(timeout=gaspbpf.PATIENCE) == 0
    assert "passed 2" in run.output()
