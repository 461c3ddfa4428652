# SPDX-License-Identifier: BSD-2-Clause
"""UPC on the stand-in runtime (tests/workloads/upc), built in each way in which GNU UPC's may be: names from the
program's own symbol table."""
import collections
import json
import os
import re
import subprocess

import conformance
import gaspbpf
import naming
import pytest
import statements
import truth
import upc

# How the runtime was built: the programs.
VARIANTS = {
    "process-packed": "upc_job", "pthreads-packed": "upc_job_pthreads", "process-struct": "upc_job_struct",
    "pthreads-struct": "upc_job_pthreads_struct", "process-packed-last": "upc_job_last",
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_call_argument_and_result_is_the_jobs_own(job, observe, variant):
    """From the gate to the job's end: each thread's events in order, with the tables' arguments, as the job wrote them
    down."""
    line = upc.command(VARIANTS[variant], 2)
    ring, status, events, _ = upc.whole_life(job, observe, line)
    assert status == 0, ring.output()
    truth.compare_with_alone(ring, line)
    seen, labels = upc.calls_seen(events)
    made = upc.calls_made(ring.folder)
    assert set(seen) == set(made) and len(made) == 3
    for tid, (thread, calls) in made.items():
        assert upc.differences(seen[tid], calls, naming.upc) is None
        if variant.startswith("process"):
            assert labels[tid] == f"thread:{thread}"
        last = seen[tid][-1]
        assert (last.event, last.start, last.reason) == ("GASP_UPC_COLLECTIVE_EXIT", {"status": "0"}, "exit")
    names = {call.event for calls in seen.values() for call in calls}
    missing = {f"GASP_UPC_{name}" for name in upc.TABLES} - names
    assert missing == {"GASP_UPC_NONCOLLECTIVE_EXIT"}
    conformance.seen(f"gupc-{variant}", *names)


@pytest.mark.parametrize("rung", gaspbpf.RUNGS_OF_MANY, indirect=True)
@pytest.mark.parametrize("variant", ["process-packed", "pthreads-struct"])
def test_on_each_rung_calls_and_payload_are_the_jobs_own(job, observe, variant, rung):
    """Attached to the monitor, the process that the threads were forked from and that is no thread itself."""
    ring = job([*upc.command(VARIANTS[variant], 3), "--after", "1"], ranks=3).wait_ready()
    report = truth.window(ring, observe)
    counted = truth.by_event(truth.functions(ring), naming.upc)
    assert truth.differences_in_calls(report, counted, "UPC", inner=True) == {}
    assert truth.differences_in_bytes(report, counted, inner=True) == {}
    if variant.startswith("process"):
        assert {thread["rank"] for thread in report["threads"] if thread["calls"]} == {0, 1, 2}


def test_pointers_in_two_registers_on_each_rung(job, observe, tmp_path, rung):
    """With a handful of the model's functions, for on perf each probe takes its time to go."""
    few = ("upc_memput", "upc_memget", "upc_lock", "upc_all_lock_alloc", "__upc_exit")
    lines = statements.of_model("upc")
    model = tmp_path / "few.model"
    model.write_text("\n".join(line for line in lines if not re.match(r"[A-Z_]+ +[a-z]+ ", line) or
                               any(f" {name}(" in line for name in few)) + "\n")
    ring, status, events, _ = upc.whole_life(job, observe, upc.command("upc_job_struct", 1), "--model-file", model,
                                             *truth.sparing(rung))
    assert status == 0
    seen, _ = upc.calls_seen(events)
    made = upc.calls_made(ring.folder)
    assert set(seen) == set(made)
    for tid, (_, calls) in made.items():
        assert upc.differences(seen[tid], calls, lambda name: naming.upc(name) if name in few else None) is None


def test_where_nothing_can_be_left_out_that_is_said(observe, tmp_path, job):
    """UPC's threads as POSIX threads of one process: their numbers are not known, so every access is an event."""
    threads = job(upc.command("upc_job_pthreads", 1), ranks=3).wait_ready()
    watcher = observe("-p", threads.process.pid, "--profile", "--json")
    threads.work()
    status, out, errors = watcher.stop()
    assert status == 0 and threads.end() == 0, errors
    assert errors.count("--profile leaves no access of upc out") == 1
    assert json.loads(out)["loss"]["near"] == 0


@pytest.mark.parametrize("variant", ["process-packed", "pthreads-packed"])
def test_one_thread_ends_the_program(job, observe, variant):
    ring, status, events, _ = upc.whole_life(job, observe, upc.command(VARIANTS[variant], 1, "--global-exit", "5"))
    assert status == 5
    seen, _ = upc.calls_seen(events)
    ends = [(tid, call.start) for tid, calls in seen.items() for call in calls
            if call.event == "GASP_UPC_NONCOLLECTIVE_EXIT"]
    made = {thread: tid for tid, (thread, _) in upc.calls_made(ring.folder).items()}
    assert ends == [(made[0], {"status": "5"})]
    conformance.seen(f"gupc-{variant}", "GASP_UPC_NONCOLLECTIVE_EXIT")


def test_what_cannot_be_seen_is_said_and_never_0(job, observe, tmp_path):
    ring = job(upc.command("upc_job", 1), ranks=3).wait_ready()
    watcher = observe("-p", ring.process.pid, "-o", tmp_path / "run.gasp")
    ring.work()
    status, text, errors = watcher.stop()
    assert status == 0, errors
    assert ring.end() == 0
    report = json.loads(gaspbpf.run("report", tmp_path / "run.gasp", "--json").stdout)
    unseen = {row["event"]: row for row in report["not_observable"]}
    hidden = {f"GASP_UPC_{name}" for name in
              ("FORALL", "NB_GET_DATA", "NB_PUT_DATA", "CACHE_MISS", "CACHE_HIT", "CACHE_INVALIDATE")}
    assert {event for event, row in unseen.items() if not row["partly"]} == hidden
    assert {"GASP_UPC_GET", "GASP_UPC_PUT"} < {event for event, row in unseen.items() if row["partly"]}
    assert all(row["model"] == "upc" and row["why"] for row in unseen.values())
    assert not hidden & set(gaspbpf.events(report))
    assert "Not observable here" in text and "GASP_UPC_FORALL: " in text
    listed = gaspbpf.run("list", gaspbpf.WORKLOADS / "upc_job").stdout
    listed = " ".join(listed.split())
    assert "not observable here" in listed and all(row["why"] in listed for row in unseen.values())


def test_a_build_that_is_none_is_refused():
    for wrong, what in (("upc=frobnicate", "no such build"), ("frobnicate=struct", "MODEL=BUILD"),
                        ("struct", "MODEL=BUILD")):
        refused = gaspbpf.run("-p", os.getpid(), "--build", wrong)
        assert refused.returncode == 1 and what in refused.stderr and wrong in refused.stderr


def test_told_builds_decide_how_pointers_are_read(job, observe, tmp_path):
    """Without its debugging information the program does not tell."""
    program = tmp_path / "job"
    subprocess.run(["objcopy", "--strip-debug", gaspbpf.WORKLOADS / "upc_job_struct", program], check=True)
    line = [program, "-n", "2", "--rounds", "1"]
    ring, status, events, _ = upc.whole_life(job, observe, line, "--build", "upc=struct", ranks=2)
    assert status == 0
    seen, _ = upc.calls_seen(events)
    made = upc.calls_made(ring.folder)
    assert set(seen) == set(made)
    for tid, (_, calls) in made.items():
        assert upc.differences(seen[tid], calls, naming.upc) is None


def test_the_program_says_how_many_bits_each_part_has(job, observe):
    """Its struct for debuggers does: as bit-fields, which need more room there than in the pointer."""
    listed = gaspbpf.run("list", gaspbpf.WORKLOADS / "upc_job_bits").stdout
    assert "build: packed (28, 12 and 24 bits): recognised in the program" in listed
    ring, status, events, _ = upc.whole_life(job, observe, upc.command("upc_job_bits", 1))
    assert status == 0
    seen, _ = upc.calls_seen(events)
    made = upc.calls_made(ring.folder)
    assert set(seen) == set(made)
    for tid, (_, calls) in made.items():
        assert upc.differences(seen[tid], calls, naming.upc) is None


def test_how_pointers_are_read_is_not_guessed(job, observe, tmp_path):
    """Without debugging information the code shows the default; of another build nothing is told that is not so, and
    that is said."""
    for name, build in (("upc_job", "default: recognised"), ("upc_job_struct", "unknown: taken by default"),
                        ("upc_job_bits", "unknown: taken by default")):
        subprocess.run(["objcopy", "--strip-debug", gaspbpf.WORKLOADS / name, tmp_path / name], check=True)
        assert f"build: {build}" in gaspbpf.run("list", tmp_path / name).stdout
    for name in ("upc_job_struct", "upc_job_bits"):
        ring = job([tmp_path / name, "-n", "2", "--rounds", "1"], ranks=2, env={"UPC_CALLS": "calls"}).wait_ready()
        events = tmp_path / f"{name}.events"
        watcher = observe("-p", ring.process.pid, "-o", events, "--json")
        ring.work()
        assert ring.end() == 0
        status, out, errors = watcher.finish()
        assert status == 0 and errors.count("was built cannot be told: taken as 'unknown'") == 1
        assert json.loads(out)["loss"]["lost"] == 0
        seen, _ = upc.calls_seen(events)
        for tid, (_, calls) in upc.calls_made(ring.folder).items():
            assert upc.differences(seen[tid], calls, naming.upc, whole=False) is None
        assert not [call for calls in seen.values() for call in calls
                    if any("thread=" in value for value in call.start.values())]
        for event, row in gaspbpf.events(json.loads(out)).items():
            if event in ("GASP_UPC_MEMGET", "GASP_UPC_MEMPUT"):
                assert row["bytes"] is None and row["calls_without_bytes"] == row["calls"]


def test_a_thread_that_is_not_there_shows_that_pointers_are_misread(job, observe, tmp_path):
    """The build that is said has its parts elsewhere in the word: thread 1 comes out as 16."""
    ring = job([gaspbpf.WORKLOADS / "upc_job_bits", "-n", "2", "--rounds", "1"], ranks=2,
               env={"UPC_CALLS": "calls"}).wait_ready()
    watcher = observe("-p", ring.process.pid, "--build", "upc=default", "-o", tmp_path / "run.events", "--json")
    ring.work()
    assert ring.end() == 0
    status, out, errors = watcher.finish()
    assert status == 0 and json.loads(out)["loss"]["lost"] == 0
    told = [int(thread) for thread in re.findall(r"=thread=(\d+),", (tmp_path / "run.events").read_text())]
    assert all(thread < 2 for thread in told), max(told)
    assert errors.count("a pointer-to-shared names thread 16, and there are 2: how its runtime (model upc) was built "
                        "is guessed, or was said, wrongly") == 1
    assert "such pointers are unknown from here on: --build upc=NAME tells" in errors


def own_and_others(folder):
    """Of the accesses that the job's threads wrote down: those to the caller's own part, and the others."""
    own = others = 0
    for thread, calls in upc.calls_made(folder).values():
        for _, function, arguments, _ in calls:
            event = naming.upc(function)
            if not event or not upc.access(event):
                continue
            parts = {text for name, text in arguments.items() if name in ("dst.thread", "src.thread")}
            parts |= {arguments[name].partition(".")[0] for name in ("dst", "src") if "." in arguments.get(name, "")}
            own, others = own + (parts == {str(thread)}), others + (parts != {str(thread)})
    return own, others


def test_own_accesses_at_the_start_are_left_out_too(tmp_path):
    """Under `--` a thread clears its part before anybody can have told the kernel which one it is. And who forks the
    threads is none of them."""
    program = [gaspbpf.WORKLOADS / "upc_job", "-n", "3", "--rounds", "40", "--warmup", "0"]
    out = gaspbpf.run("--profile", "--json", "-o", tmp_path / "run.gasp", "--", "env", "UPC_CLEARS=50",
                      f"UPC_CALLS={tmp_path}/calls", *program)
    assert out.returncode == 0, out.stderr
    report = json.loads(gaspbpf.run("report", tmp_path / "run.gasp", "--json").stdout)
    own, others = own_and_others(tmp_path)
    accesses = sum(truth.with_inner(row)["calls"] for row in report["events"] if upc.access(row["name"]))
    assert accesses == others and report["loss"]["near"] >= own + 3 * 50  # the job's first steps are not in its account
    ranks = collections.Counter(process["rank"] for process in report["processes"] if process["rank"] is not None)
    assert ranks == {0: 1, 1: 1, 2: 1}


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name.startswith("process")])
def test_accesses_to_ones_own_part_can_be_left_out(job, observe, variant):
    """--profile: the thread is read from the pointers, however they are laid out. A build with pthreads has no rank of
    the process, so no own part."""
    ring, status, _, out = upc.whole_life(job, observe, upc.command(VARIANTS[variant], 2), "--profile")
    assert status == 0, ring.output()
    report = json.loads(out)
    own, others = own_and_others(ring.folder)
    accesses = sum(truth.with_inner(row)["calls"] for row in report["events"] if upc.access(row["name"]))
    assert own and others
    assert (report["loss"]["near"], accesses) == (own, others)
