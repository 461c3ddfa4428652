# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf stuck where nothing tells for whom a rank waits: messages whose peers cannot be read, and barriers that are
entered in two calls."""
import re

import pytest

import gaspbpf
from sticking import STUCK, by_rank, entered, finding, finds, mpi, ranks, ready, said, sparing, stuck, until, waiting_in


def kinds(seen, *which):
    return [f["kind"] for f in seen["findings"] if f["kind"] in which]


def goes_on(run, text):
    (run.gate / "go").touch()
    (run.gate / "end").touch()
    assert run.process.wait(timeout=gaspbpf.PATIENCE) == 0, run.output()
    assert text in run.output()


# --- messages -------------------------------------------------------------------


@pytest.mark.parametrize("build", ["openmpi", "mpich"])
def test_a_ring_in_which_all_send_and_nobody_receives(job, build):
    run = mpi(job, build, "ring", 3)
    entered(run, range(3))
    options = ["-p", run.process.pid, "-d", "600ms", *sparing(build)]
    seen = until(finds("deadlock", waiting_in("GASP_MPI_SEND", range(3)), range(3)), *options)
    found = finding(seen, "deadlock")
    assert ranks(found["waiting"]) == [0, 1, 2] and not found["others"] and found["likely"]
    if all(t["waits_for"] is None for t in by_rank(seen).values()):
        assert re.fullmatch(r"deadlock \(likely\) of 3: rank 0, rank 1 and rank 2 wait in GASP_MPI_SEND "
                            r"\(mpi_stuck\.c:\d+ in send_on\), "
                            r"and no rank receives", found["text"])
    said(found, *options)


@pytest.mark.parametrize("how", ["shifted", "begun"])
def test_a_ring_in_which_one_will_receive_is_none(job, how):
    """One of them computes: it will receive, or send what the others have begun to receive."""
    run = mpi(job, "openmpi", how, 3)
    late = 0 if how == "shifted" else 2
    others = sorted({0, 1, 2} - {late})
    ready(run, late)
    waiting = others if how == "shifted" else []
    entered(run, others)
    seen = until(waiting_in("GASP_MPI_SEND", waiting), "-p", run.process.pid, "-d", "400ms")
    assert not kinds(seen, "deadlock"), seen["findings"]
    goes_on(run, "sum 6")


@pytest.mark.parametrize("build", ["openmpi", "mpich"])
@pytest.mark.parametrize("how", ["sent", "awaited"])
def test_all_wait_for_what_they_have_begun(job, build, how):
    """Who was meant is not to be seen any more: nobody is left to begin the other side."""
    count = 2 if build == "mpich" else 3
    run = mpi(job, build, how, count)
    entered(run, range(count))
    for seconds in 1, 2, 4, 8, 16, 32, 64:  # who polls needs some processor time to show that it is in vain
        seen = stuck("-p", run.process.pid, "-d", f"{seconds}s")
        if kinds(seen, "deadlock"):
            break
    found = finding(seen, "deadlock")
    assert ranks(found["waiting"]) == list(range(count)) and not found["others"] and found["likely"]
    wait = r"GASP_MPI_WAIT \(mpi_stuck\.c:\d+ in complete\)"
    all_of = r"GASP_MPI_WAITALL \(mpi_stuck\.c:\d+ in complete\)"
    who = {("sent", 3): f"rank 0, rank 1 and rank 2 wait in {wait}", ("sent", 2): f"rank 0 and rank 1 wait in {wait}",
           ("awaited", 3): f"rank 0 and rank 2 wait in {wait}; rank 1 waits in {all_of}",
           ("awaited", 2): f"rank 0 waits in {wait}; rank 1 waits in {all_of}"}
    assert re.fullmatch(rf"deadlock \(likely\) of {count}: {who[how, count]}; no rank is left to send or receive "
                        r"anything else: "
                        r"only a message that is on its way already could end it", found["text"])


def test_one_that_is_still_to_send_is_no_deadlock(job):
    run = mpi(job, "openmpi", "late", 3)
    entered(run, range(2))
    ready(run, 2)
    seen = until(waiting_in("GASP_MPI_WAIT", [0]), "-p", run.process.pid, "-d", "600ms")
    assert not kinds(seen, "deadlock"), seen["findings"]
    goes_on(run, "sum 6")


def test_messages_that_move_are_no_deadlock(job):
    """All ranks are in such a wait nearly all the time, but never for long in the same one."""
    run = mpi(job, "openmpi", "moving", 3)
    entered(run, range(3))
    for options in ["-d", "600ms"], ["-d", "600ms", "--no-probes"]:
        assert not kinds(stuck("-p", run.process.pid, *options), "deadlock")
    goes_on(run, "sum 6")


# --- barriers in two calls --------------------------------------------------------


@pytest.mark.parametrize("program, how, event",
                         [("upc_waits", "barrier", "GASP_UPC_BARRIER"), ("upc_waits", "split", "GASP_UPC_WAIT"),
                          ("upc", "split", "GASP_UPC_WAIT"), ("upc_pthreads", "split", "GASP_UPC_WAIT")])
def test_who_has_not_come_to_a_barrier_of_two_calls(job, program, how, event):
    """upc_waits: the barrier's function ends in a jump to that of the wait, which has a frame."""
    run = job([STUCK / program, "-n", "3", *([how] if how != "barrier" else [])], ranks=3)
    entered(run, range(2))
    ready(run, 2)
    options = ["-p", run.process.pid, "-d", "200ms"]
    seen = until(finds("absent", waiting_in(event, range(2))), *options)
    found = finding(seen, "absent")
    assert ranks(found["waiting"]) == [0, 1] and ranks(found["others"]) == [2] and not found["likely"]
    assert re.match(rf"thread 0 and thread 1 wait in {event} \(upc_stuck\.c:\d+ in \w+\); 1 of 3 has not come: thread "
                    r"2 is in no known call ",
                    found["text"])
    for thread in seen["threads"]:
        if thread["rank"] in (0, 1):
            assert thread["call"]["arguments"]["expr"]["value"] == (7 if how == "barrier" else 8)
    said(found, *options)
    goes_on(run, "all 3 met")


def test_of_two_that_do_not_wait_one_has_come(job):
    """Who has notified and computes is not the one that is waited for; which one that is nobody can tell."""
    run = job([STUCK / "upc_waits", "-n", "4", "two"], ranks=4)
    entered(run, range(2))
    ready(run, 2)
    ready(run, 3)
    seen = until(finds("absent", waiting_in("GASP_UPC_WAIT", range(2))), "-p", run.process.pid, "-d", "200ms")
    found = finding(seen, "absent")
    assert ranks(found["waiting"]) == [0, 1] and ranks(found["others"]) == [2, 3] and found["likely"]
    assert "; of 2 others at least one has not come: thread 2 is in no known call " in found["text"]
    goes_on(run, "all 4 met")


@pytest.mark.parametrize("build", ["openmpi", "mpich"])
def test_who_does_not_wait_for_a_barrier_that_was_begun_before(job, build):
    run = mpi(job, build, "split", 3)
    entered(run, range(2))
    ready(run, 2)
    options = ["-p", run.process.pid, "-d", "400ms", *sparing(build)]
    seen = until(finds("absent", waiting_in("GASP_MPI_WAIT", range(2))), *options)
    found = finding(seen, "absent")
    assert ranks(found["waiting"]) == [0, 1] and ranks(found["others"]) == [2] and found["likely"]
    assert re.match(r"rank 0 and rank 1 wait in GASP_MPI_WAIT \(mpi_stuck\.c:\d+ in meet_in_two\), for whom is not "
                    r"known; 1 of 3 does not wait: "
                    r"rank 2 is in no known call ", found["text"])
    said(found, *options)
    goes_on(run, "sum 6")


def test_one_that_waits_alone_is_nothing_to_tell(job):
    """Of ranks that work most need not wait for anybody."""
    run = mpi(job, "openmpi", "alone", 3)
    entered(run, [0])
    ready(run, 1)
    ready(run, 2)
    seen = until(waiting_in("GASP_MPI_WAIT", [0]), "-p", run.process.pid, "-d", "400ms")
    assert not seen["findings"]
    goes_on(run, "sum 6")
