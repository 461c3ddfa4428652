# SPDX-License-Identifier: BSD-2-Clause
"""Who holds the locks for which ranks wait: as the lock says, as the probes saw, or as follows from who waits."""
import json
import re

import pytest

import gaspbpf
import truth
from sticking import STUCK, by_rank, entered, finding, finds, ranks, ready, said, until, waiting_in

QUICK = ("-d", "200ms")


def shmem(job, how, *options, count=3):
    return job(["oshrun", *options, "-n", count, STUCK / "shmem", how], ranks=count, env=truth.ENVIRONMENT)


@pytest.mark.parametrize("count", [4])
def test_the_pe_that_holds_a_lock_and_the_job_goes_on(job, count):
    run = shmem(job, "lock", count=count)
    entered(run, range(count))
    waiters = range(1, count)
    seen = until(finds("held", lambda seen: waiting_in("GASP_SHMEM_LOCK", waiters)(seen)
                       and all(by_rank(seen)[rank]["waits_for"] for rank in waiters)),
                 "-p", run.process.pid, *QUICK)
    found = finding(seen, "held")
    assert ranks(found["waiting"]) == list(waiters) and ranks(found["others"]) == [0]
    for rank in waiters:
        waits = by_rank(seen)[rank]["waits_for"]
        assert waits["holder_rank"] == 0 and int(waits["lock"], 16)
    assert not [f for f in seen["findings"] if f["kind"] in ("deadlock", "lock")]
    (run.gate / "go").touch()
    assert run.process.wait(timeout=gaspbpf.PATIENCE) == 0, run.output()
    assert f"total {sum(range(count + 1))}" in run.output()


@pytest.mark.parametrize("count", [2, 4])
def test_pes_that_wait_for_each_others_locks(job, count):
    """The locks themselves tell: with more PEs than two, nothing follows from who waits."""
    run = shmem(job, "cycle", count=count)
    entered(run, range(2))
    seen = until(finds("deadlock", waiting_in("GASP_SHMEM_LOCK", range(2))), "-p", run.process.pid, *QUICK)
    found = finding(seen, "deadlock")
    assert ranks(found["waiting"]) == [0, 1] and not found["likely"]
    assert re.fullmatch(r"deadlock of 2: PE 0 waits for lock 0x[0-9a-f]+ that PE 1 holds "
                        r"\(shmem_stuck\.c:\d+ in take\); "
                        r"PE 1 waits for lock 0x[0-9a-f]+ that PE 0 holds \(shmem_stuck\.c:\d+ in take\)",
                        found["text"])
    said(found, "-p", run.process.pid, *QUICK)


def test_a_pe_that_has_left_with_a_lock(job):
    run = shmem(job, "holder", "--enable-recovery")
    entered(run, range(2))
    ready(run, 2)
    (run.gate / "go").touch()
    seen = until(lambda seen: any(f["kind"] == "left" for f in seen["findings"])
                 and waiting_in("GASP_SHMEM_LOCK", range(2))(seen),
                 "-p", run.process.pid, *QUICK)
    found = finding(seen, "left")
    assert ranks(found["waiting"]) == [0, 1] and ranks(found["others"]) == [2] and found["likely"]
    assert re.fullmatch(r"PE 0 and PE 1 wait for lock 0x[0-9a-f]+ that PE 2 holds, which has left the program",
                        found["text"])


@pytest.mark.parametrize("program", ["upc", "upc_pthreads"])
def test_all_but_one_wait_so_that_one_has_it(job, program):
    run = job([STUCK / program, "-n", "4", "held"], ranks=4)
    entered(run, range(3))
    ready(run, 3)
    seen = until(finds("held", waiting_in("GASP_UPC_LOCK", range(3))), "-p", run.process.pid, *QUICK)
    found = finding(seen, "held")
    assert ranks(found["waiting"]) == [0, 1, 2] and ranks(found["others"]) == [3] and found["likely"]
    assert re.match(r"thread 0, thread 1 and thread 2 wait for lock 0x[0-9a-f]+ of thread 0 that thread 3 holds, which "
                    r"is in no known call", found["text"])
    (run.gate / "go").touch()
    (run.gate / "end").touch()
    assert run.process.wait(timeout=gaspbpf.PATIENCE) == 0, run.output()
    assert "all 4 met" in run.output()


def test_two_upc_threads_that_wait_for_each_others_locks(job):
    run = job([STUCK / "upc", "-n", "2", "cycle"], ranks=2)
    entered(run, range(2))
    seen = until(finds("deadlock", waiting_in("GASP_UPC_LOCK", range(2))), "-p", run.process.pid, *QUICK)
    found = finding(seen, "deadlock")
    assert ranks(found["waiting"]) == [0, 1] and found["likely"]
    assert found["text"].startswith("deadlock (likely) of 2: thread 0 waits for lock 0x")


def test_of_three_nobody_is_said_to_hold_what_two_might(job):
    run = job([STUCK / "upc", "-n", "3", "cycle"], ranks=3)
    entered(run, range(2))
    seen = until(waiting_in("GASP_UPC_LOCK", range(2)), "-p", run.process.pid, *QUICK)
    found = {tuple(ranks(f["waiting"])): f for f in seen["findings"]}
    assert {f["kind"] for f in found.values()} == {"lock"}
    assert ranks(found[0,]["others"]) == [1, 2] and ranks(found[1,]["others"]) == [0, 2]
    assert re.fullmatch(r"thread 0 waits for lock 0x[0-9a-f]+ of thread 0 \(upc_stuck\.c:\d+ in take\); who has it is "
                        r"not known: thread 1 or thread 2",
                        found[0,]["text"])
    said(found[0,], "-p", run.process.pid, *QUICK)


@pytest.mark.parametrize("program", ["upc", "upc_pthreads"])
def test_who_took_the_lock_while_it_watched(job, observe, program):
    """Then it is certain, and any number of others may do something else."""
    run = job([STUCK / program, "-n", "5", "late"], ranks=5)
    ready(run, 4)
    watch = observe("stuck", "-p", run.process.pid, "--json", "-d", f"{gaspbpf.PATIENCE}s", ready="watching")
    (run.gate / "go").touch()
    entered(run, range(2))
    # so long have they waited at least
    until(waiting_in("GASP_UPC_LOCK", range(2)), "-p", run.process.pid, "--no-probes", "-d", "1s")
    status, out, errors = watch.stop()
    assert status == 0, errors
    seen = json.loads(out)
    found = finding(seen, "held")
    assert set(ranks(found["waiting"])) >= {0, 1} and ranks(found["others"]) == [4] and not found["likely"]
    (run.gate / "more").touch()
    assert run.process.wait(timeout=gaspbpf.PATIENCE) == 0, run.output()
