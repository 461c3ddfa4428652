# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf stuck on jobs that really wait for each other, entered before it looks and while it looks; and that a job
that can go on does."""
import json
import os
import re
import subprocess
import tempfile
import time

import pytest

import gaspbpf
import truth
from sticking import (LAUNCHERS, STUCK, by_rank, entered, finding, finds, mpi, ranks, ready, sleeps, sparing, stuck,
                      until, waiting_in, waits_of)

# --- threads ------------------------------------------------------------------


@pytest.mark.parametrize("program", ["locks", "locks_O0"])
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("options", [(), ("--no-probes", "-d", "100ms")])
def test_a_cycle_of_locks_is_named(job, program, count, options):
    run = job([STUCK / program, "cycle", count])
    entered(run, range(count))
    truth_of = dict(waits_of(run, n) for n in range(count))
    sleeps(truth_of)
    seen = stuck("-p", run.process.pid, *options)
    found = finding(seen, "deadlock")
    assert {party["tid"] for party in found["waiting"]} == set(truth_of) and not found["likely"]
    tids = [waits_of(run, n)[0] for n in range(count)]
    for thread in seen["threads"]:
        if thread["tid"] not in truth_of:
            continue
        assert thread["call"]["event"] == "GASP_PTHREAD_MUTEX_LOCK" and thread["call"]["entered"] == "before"
        assert thread["waits_for"] == {"lock": hex(truth_of[thread["tid"]]),
                                       "holder": tids[(tids.index(thread["tid"]) + 1) % count], "likely": False}
        assert re.fullmatch(r"locks\.c:\d+ in take", thread["call"]["called_from"])
        assert 0 < thread["call"]["at_least_ns"] and thread["call"]["since_ns"] is None
    for tid in tids:
        assert f"(tid {tid})" in found["text"]


def test_calls_that_begin_meanwhile_have_their_time_and_arguments(job, observe):
    run = job([STUCK / "locks", "cycle", "2"], env={"ENTER_LATE": "1"})
    ready(run, 0)
    watch = observe("stuck", "-p", run.process.pid, "--json", "-d", f"{gaspbpf.PATIENCE}s", ready="watching")
    began = time.monotonic()
    (run.gate / "go").touch()
    entered(run, [0, 1])
    sleeps([waits_of(run, n)[0] for n in range(2)])
    since = time.monotonic()
    gaspbpf.wait_for(lambda: time.monotonic() - since > 0.7, "the locks to be worth a word")
    status, out, errors = watch.stop()
    assert status == 0, errors
    seen = json.loads(out)
    took = time.monotonic() - began
    assert {party["tid"] for party in finding(seen, "deadlock")["waiting"]} == {waits_of(run, n)[0] for n in range(2)}
    for thread in seen["threads"]:
        if thread["call"] and thread["call"]["event"] == "GASP_PTHREAD_MUTEX_LOCK":
            assert thread["call"]["entered"] == "seen"
            assert 0.7e9 < thread["call"]["since_ns"] < took * 1e9
            assert thread["call"]["arguments"]["mutex"] == {
                "value": hex(dict(waits_of(run, n) for n in range(2))[thread["tid"]]), "likely": False}
            assert re.fullmatch(r"locks\.c:\d+ in take", thread["call"]["called_from"])
            # past the return probe
            assert any((frame["place"] or "").endswith("in in_cycle") for frame in thread["stack"])


def test_return_probes_of_somebody_else_hide_no_caller(job, observe):
    run = job([STUCK / "locks", "cycle", "2"], env={"ENTER_LATE": "1"})
    ready(run, 0)
    other = observe("-p", run.process.pid)
    (run.gate / "go").touch()
    entered(run, [0, 1])
    tids = [waits_of(run, n)[0] for n in range(2)]
    sleeps(tids)
    seen = stuck("-p", run.process.pid, "--no-probes", "-d", "0")
    for thread in seen["threads"]:
        if thread["tid"] in tids:
            assert re.fullmatch(r"locks\.c:\d+ in take", thread["call"]["called_from"])
            assert any((frame["place"] or "").endswith("in in_cycle") for frame in thread["stack"])
    assert other.stop()[0] == 0


def test_who_holds_the_lock_and_the_job_goes_on(job):
    run = job([STUCK / "locks", "held"])
    entered(run, [0, 1])
    ready(run, 0)
    tids = [waits_of(run, n)[0] for n in range(2)]
    sleeps(tids)
    seen = stuck("-p", run.process.pid)
    found = finding(seen, "held")
    assert {party["tid"] for party in found["waiting"]} == set(tids)
    assert [party["tid"] for party in found["others"]] == [run.process.pid]
    assert hex(waits_of(run, 0)[1]) in found["text"]
    assert not any(f["kind"] == "deadlock" for f in seen["findings"])
    (run.gate / "go").touch()
    assert run.process.wait(timeout=gaspbpf.PATIENCE) == 0
    assert "passed 2" in run.output()


def test_a_barrier_of_threads_says_how_many_have_come(job):
    run = job([STUCK / "locks", "barrier"])
    entered(run, range(3))
    ready(run, 0)
    tids = [waits_of(run, n)[0] for n in range(3)]
    sleeps(tids)
    seen = stuck("-p", run.process.pid)
    found = finding(seen, "absent")
    assert {party["tid"] for party in found["waiting"]} == set(tids)
    assert "3 of 4 threads have come" in found["text"]
    (run.gate / "go").touch()
    assert run.process.wait(timeout=gaspbpf.PATIENCE) == 0


def test_waiting_for_a_thread_that_waits_for_oneself(job):
    run = job([STUCK / "locks", "join"])
    entered(run, [0])
    tid, address = waits_of(run, 0)
    sleeps([tid, run.process.pid])
    seen = stuck("-p", run.process.pid)
    found = finding(seen, "deadlock")
    assert {party["tid"] for party in found["waiting"]} == {tid, run.process.pid} and not found["likely"]
    main, = [t for t in seen["threads"] if t["tid"] == run.process.pid]
    assert main["call"]["event"] == "GASP_PTHREAD_JOIN" and main["waits_for"]["thread"] == tid


def test_text_says_the_same(job):
    run = job([STUCK / "locks", "cycle", "2"])
    entered(run, [0, 1])
    sleeps([waits_of(run, n)[0] for n in range(2)])
    out = gaspbpf.run("stuck", "-p", run.process.pid, "--stack")
    assert out.returncode == 0, out.stderr
    assert re.search(r"^- deadlock of 2: waiter-\d \(tid \d+\) waits for lock 0x[0-9a-f]+ that waiter-\d \(tid \d+\) "
                     r"holds \(locks\.c:\d+ in take\); ",
                     out.stdout, re.M), out.stdout
    assert re.search(r"^waiter-0 \(tid \d+\) +\d+ GASP_PTHREAD_MUTEX_LOCK +\S.*before, >= [\d.]+ m?s +locks\.c:\d+ in "
                     r"take$", out.stdout, re.M)
    assert re.search(r"^  #\d +locks\.c:\d+ in in_cycle$", out.stdout, re.M)


# --- ranks --------------------------------------------------------------------


@pytest.mark.parametrize("build", LAUNCHERS)
def test_ranks_that_all_receive(job, build):
    run = mpi(job, build, "cycle", 2)
    entered(run, range(2))
    seen = until(finds("deadlock", waiting_in("GASP_MPI_RECV", range(2))), "-p", run.process.pid, *sparing(build))
    found = finding(seen, "deadlock")
    assert ranks(found["waiting"]) == [0, 1]
    for rank, thread in by_rank(seen).items():
        assert thread["waits_for"]["peer"] == 1 - rank
        assert thread["call"]["arguments"]["source"] == {"value": 1 - rank, "likely": False}
        assert thread["call"]["arguments"]["tag"] == {"value": 5, "likely": False}
        assert thread["call"]["entered"] == "before"
        assert thread["call"]["called_from"].endswith(" in exchange")
    assert "rank 0 waits in GASP_MPI_RECV for rank 1" in found["text"]


def test_ranks_that_receive_while_it_watches(job, observe):
    run = mpi(job, "openmpi", "cycle", 2, ENTER_LATE="1").wait_ready()
    watch = observe("stuck", "-p", run.process.pid, "--json", "-d", f"{gaspbpf.PATIENCE}s", ready="watching")
    (run.gate / "go").touch()
    entered(run, range(2))
    since = time.monotonic()
    gaspbpf.wait_for(lambda: time.monotonic() - since > 3, "the calls to be worth a word")
    status, out, errors = watch.stop()
    assert status == 0, errors
    seen = json.loads(out)
    assert ranks(finding(seen, "deadlock")["waiting"]) == [0, 1]
    for rank, thread in by_rank(seen).items():
        assert thread["call"]["entered"] == "seen" \
            and thread["call"]["arguments"]["source"] == {"value": 1 - rank, "likely": False}


@pytest.mark.parametrize("build", ["openmpi", "mpich"])
def test_who_has_not_come_to_the_barrier_and_the_job_goes_on(job, build):
    run = mpi(job, build, "barrier", 3)
    entered(run, range(2))
    ready(run, 2)
    seen = until(finds("absent", waiting_in("GASP_MPI_BARRIER", range(2))), "-p", run.process.pid, *sparing(build))
    found = finding(seen, "absent")
    assert ranks(found["waiting"]) == [0, 1] and ranks(found["others"]) == [2]
    assert re.match(r"rank 0 and rank 1 wait in GASP_MPI_BARRIER \(mpi_stuck\.c:\d+ in meet\); 1 of 3 has not come: "
                    r"rank 2 ", found["text"])
    assert not [f for f in seen["findings"] if f["kind"] == "deadlock"]
    (run.gate / "go").touch()
    (run.gate / "end").touch()
    assert run.process.wait(timeout=gaspbpf.PATIENCE) == 0, run.output()
    assert "sum 6" in run.output()


def test_a_barrier_of_some_ranks_is_not_one_of_all(job):
    """Odd ranks of four at a barrier of their own, even ones at one of all: the odd ones wait for rank 3 alone."""
    run = mpi(job, "openmpi", "part", 4)
    entered(run, [0, 1, 2])
    ready(run, 3)

    def absent(seen):
        return {tuple(ranks(f["waiting"])): ranks(f["others"]) for f in seen["findings"] if f["kind"] == "absent"}
    expected = {(1,): [3], (0, 2): [1, 3]}  # a look that has not caught a communicator knows of one barrier only
    assert absent(until(lambda seen: absent(seen) == expected, "-p", run.process.pid)) == expected


@pytest.mark.parametrize("build", ["openmpi", "mpich"])
def test_a_rank_that_leaves_without_reaching_the_barrier(job, build):
    run = mpi(job, build, "leave", 3)
    entered(run, range(3))

    def there(seen):
        return any(f["kind"] == "left" and ranks(f["waiting"]) == [0, 1] for f in seen["findings"]) \
            and waiting_in("GASP_MPI_BARRIER", range(2))(seen)
    seen = until(there, "-p", run.process.pid, *sparing(build))
    found = finding(seen, "left")
    assert ranks(found["waiting"]) == [0, 1] and ranks(found["others"]) == [2]
    assert re.search(r"rank 2 (is leaving the program, in GASP_MPI_FINALIZE|has left the program)", found["text"])


def test_of_one_rank_alone_the_others_are_not_said_to_have_left(job):
    """Who names a rank instead of the launcher looks at that one only; where the others are, nobody has asked."""
    run = mpi(job, "openmpi", "barrier", 3)
    entered(run, range(2))
    ready(run, 2)
    first = by_rank(until(waiting_in("GASP_MPI_BARRIER", range(2)), "-p", run.process.pid))[0]["pid"]
    seen = until(finds("absent", waiting_in("GASP_MPI_BARRIER", [0])), "-p", first)
    assert not [f for f in seen["findings"] if f["kind"] == "left"]
    found = finding(seen, "absent")
    assert ranks(found["waiting"]) == [0] and ranks(found["others"]) == [1, 2]
    assert "rank 1 is not among the processes looked at" in found["text"]


def test_shmem_barrier(job):
    run = job(["oshrun", "-n", "3", STUCK / "shmem", "barrier"], ranks=3, env=truth.ENVIRONMENT)
    entered(run, range(2))
    ready(run, 2)
    seen = until(finds("absent", waiting_in("GASP_SHMEM_BARRIER_ALL", range(2))), "-p", run.process.pid)
    found = finding(seen, "absent")
    assert ranks(found["waiting"]) == [0, 1] and ranks(found["others"]) == [2]
    assert "PE 2" in found["text"]
    (run.gate / "go").touch()
    (run.gate / "end").touch()
    assert run.process.wait(timeout=gaspbpf.PATIENCE) == 0, run.output()


def test_upc_barrier(job):
    run = job([STUCK / "upc", "-n", "3"])
    entered(run, range(2))
    ready(run, 2)
    seen = until(finds("absent", waiting_in("GASP_UPC_BARRIER", range(2))), "-p", run.process.pid)
    found = finding(seen, "absent")
    assert ranks(found["waiting"]) == [0, 1] and ranks(found["others"]) == [2]
    for rank in range(2):
        assert by_rank(seen)[rank]["call"]["arguments"]["expr"] == {"value": 7, "likely": False}
    (run.gate / "go").touch()
    (run.gate / "end").touch()
    assert run.process.wait(timeout=gaspbpf.PATIENCE) == 0, run.output()
    assert "all 3 met" in run.output()


# --- odd ones -----------------------------------------------------------------


NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
CAPABLE = ["--inh-caps=+bpf,+perfmon,+sys_ptrace", "--ambient-caps=+bpf,+perfmon,+sys_ptrace"]


def stuck_as(caller, *arguments):
    for folder in [gaspbpf.PROGRAM, *gaspbpf.PROGRAM.parents]:
        if not os.stat(folder).st_mode & 1:
            pytest.skip(f"{folder} is closed to others")
    return subprocess.run([*caller, str(gaspbpf.PROGRAM), "stuck", *map(str, arguments)], capture_output=True,
                          text=True, timeout=gaspbpf.PATIENCE, check=False)


def test_three_capabilities_do_for_the_job_of_somebody_else(job):
    run = job([STUCK / "locks", "cycle", "2"])
    entered(run, [0, 1])
    tids = {waits_of(run, n)[0] for n in range(2)}
    sleeps(tids)
    out = stuck_as([*NOBODY, *CAPABLE], "--json", "-d", "200ms", "-p", run.process.pid)
    assert out.returncode == 0 and "without root" not in out.stderr, out.stderr
    seen = json.loads(out.stdout)
    assert seen["probed"] and {party["tid"] for party in finding(seen, "deadlock")["waiting"]} == tids
    refused = stuck_as(NOBODY, "-p", run.process.pid)
    assert refused.returncode == 1 and "not permitted" in refused.stderr
    little = stuck_as([*NOBODY, "--inh-caps=+sys_ptrace", "--ambient-caps=+sys_ptrace"], "-d", "0", "-p",
                      run.process.pid)
    assert little.returncode == 0, little.stderr
    assert "0 in no known call, 3 not known" in little.stdout and "belongs to another user" in little.stderr


def test_without_root_the_owner_sees_who_sleeps():
    if not os.path.exists("/proc/self/syscall"):
        pytest.skip("this kernel has no /proc/PID/syscall")
    for folder in [gaspbpf.PROGRAM, *gaspbpf.PROGRAM.parents]:
        if not os.stat(folder).st_mode & 1:
            pytest.skip(f"{folder} is closed to others")
    with tempfile.TemporaryDirectory() as folder:  # pytest's own is closed to others
        os.chmod(folder, 0o777)
        os.mkdir(f"{folder}/gate")
        os.chmod(f"{folder}/gate", 0o777)
        run = gaspbpf.Job([*NOBODY, "sh", "-c", 'umask 0; exec "$@"', "sh", STUCK / "locks", "cycle", "2"], folder)
        try:
            entered(run, [0, 1])
            tids = {waits_of(run, n)[0] for n in range(2)}
            sleeps(tids)
            out = subprocess.run([*NOBODY, str(gaspbpf.PROGRAM), "stuck", "--json", "-d", "100ms", "-p",
                                  str(run.process.pid)],
                                 capture_output=True, text=True, timeout=gaspbpf.PATIENCE, check=False)
        finally:
            run.kill()
    assert out.returncode == 0, out.stderr
    assert "without root" in out.stderr
    seen = json.loads(out.stdout)
    assert not seen["probed"]
    assert {party["tid"] for party in finding(seen, "deadlock")["waiting"]} == tids


def test_a_job_that_moves_is_not_stuck(job):
    run = job([STUCK / "locks", "moves"])
    entered(run, [0, 1])
    for options in [(), ("--no-probes",)]:
        seen = until(lambda seen: not any(t["stuck"] for t in seen["threads"] if t["name"].startswith("waiter")), "-p",
                     run.process.pid, *options)
        assert not any(t["stuck"] for t in seen["threads"] if t["name"].startswith("waiter"))
        assert not [f for f in seen["findings"] if f["kind"] != "held"]  # main waits for the end of one
    (run.gate / "end").touch()
    assert run.process.wait(timeout=gaspbpf.PATIENCE) == 0
    assert int(run.output().split()[-1]) > 0


def test_a_program_without_names_has_places_by_number(job, tmp_path):
    program = tmp_path / "bare"
    subprocess.run(["strip", "-o", str(program), str(STUCK / "locks")], check=True)
    run = job([program, "cycle", "2"])
    entered(run, [0, 1])
    tids = {waits_of(run, n)[0] for n in range(2)}
    sleeps(tids)
    found = finding(stuck("-p", run.process.pid, "-d", "200ms"), "deadlock")
    assert {party["tid"] for party in found["waiting"]} == tids
    assert len(re.findall(r"holds \(bare\+0x[0-9a-f]+\)", found["text"])) == 2


def test_a_rank_in_fortran_is_where_it_called_and_not_in_the_wrapper(job):
    run = job(["mpirun.openmpi", "-n", "2", STUCK / "fortran"], ranks=2, env=truth.ENVIRONMENT)
    entered(run, range(2))
    seen = until(finds("deadlock", waiting_in("GASP_MPI_RECV", range(2))), "-p", run.process.pid, "-d", "200ms")
    assert ranks(finding(seen, "deadlock")["waiting"]) == [0, 1]
    for thread in by_rank(seen).values():
        assert re.fullmatch(r"fortran\.f90:\d+ in exchange", thread["call"]["called_from"])


def test_images_each_of_which_waits_for_the_next(job):
    run = job(["mpirun.openmpi", "--oversubscribe", "-n", "3", STUCK / "images"], ranks=3, env=truth.ENVIRONMENT)
    entered(run, range(1, 4))
    options = ["-p", run.process.pid, "-d", "200ms"]
    found = finding(until(finds("deadlock", waiting_in("GASP_CAF_SYNC_IMAGES", range(1, 4)), range(1, 4)), *options),
                    "deadlock")
    for image in range(1, 4):
        assert re.search(rf"image {image} waits in GASP_CAF_SYNC_IMAGES for image {image % 3 + 1} \(images\.f90:\d+ ",
                         found["text"])


def test_sixty_four_threads_of_which_one_has_not_come(job):
    run = job([STUCK / "upc_pthreads", "-n", "64"], ranks=64)
    entered(run, range(63))
    ready(run, 63)
    sleeps([run.process.pid])
    seen = until(finds("absent", waiting_in("GASP_UPC_BARRIER", range(63))), "-p", run.process.pid, "--no-probes",
                 "-d", "200ms")
    found = finding(seen, "absent")
    assert ranks(found["waiting"]) == list(range(63)) and ranks(found["others"]) == [63]
    assert re.match(r"thread 0, thread 1, thread 2, thread 3, thread 4 and 58 others wait in GASP_UPC_BARRIER .*; 1 of "
                    r"64 has not come: thread 63 ", found["text"])


def test_locks_in_a_container_are_held_by_the_threads_that_we_know(job):
    """In a PID namespace of its own the lock has its holder by another number than ours."""
    run = job(["unshare", "--pid", "--mount", "--fork", "--mount-proc", STUCK / "locks", "cycle", "2"])
    entered(run, [0, 1])
    with open(f"/proc/{run.process.pid}/task/{run.process.pid}/children", encoding="ascii") as children:
        pid = int(children.read())
    tids = {int(tid) for tid in os.listdir(f"/proc/{pid}/task")}
    sleeps(tids)
    found = finding(stuck("-p", pid, "-d", "200ms"), "deadlock")
    assert {party["tid"] for party in found["waiting"]} == tids - {pid} and not found["likely"]
    assert {waits_of(run, n)[0] for n in range(2)}.isdisjoint(tids)


def test_a_job_that_ends_meanwhile(job, observe):
    run = job([STUCK / "locks", "held"])
    ready(run, 0)
    watch = observe("stuck", "-p", run.process.pid, "-d", f"{gaspbpf.PATIENCE}s", ready="watching")
    (run.gate / "go").touch()
    assert run.process.wait(timeout=gaspbpf.PATIENCE) == 0
    status, out, errors = watch.finish()
    assert status == 0, errors
    assert "1 process has ended meanwhile" in out


def test_wrong_use():
    assert gaspbpf.run("stuck").returncode == 2
    assert gaspbpf.run("stuck", "-p", "4194304000").returncode == 2
    gone = gaspbpf.run("stuck", "-p", 2 ** 22 - 1)
    assert gone.returncode == 1 and "no such process" in gone.stderr
