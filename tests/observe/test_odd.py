# SPDX-License-Identifier: BSD-2-Clause
"""Targets that are not as usual (tests/workloads/odd): seen exactly where they can be, refused in words where not,
harmed never."""
import codecs
import json
import signal
import subprocess

import pytest

import gaspbpf
import naming
import truth
from odd import own_functions  # noqa: F401 (a fixture)

needs_32_bits = pytest.mark.skipif(not gaspbpf.runs_32_bits(), reason="this kernel does not start 32-bit programs")


def observed(job, observe, program, *options, arguments=()):
    """Observes the counted window of a job; returns the job and the report. The job must end as it does alone."""
    line = [gaspbpf.WORKLOADS / program, *arguments]
    target = job(line).wait_ready()
    watcher = observe("-p", target.process.pid, "--json", *options)
    target.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert target.end() == 0, target.output()
    truth.compare_with_alone(target, line)
    report = json.loads(out)
    assert report["loss"]["lost"] == 0
    return target, report


@pytest.mark.guest
@pytest.mark.usefixtures("rung")
def test_longjmp_unwinds_calls(job, observe, own_functions):
    target, report = observed(job, observe, "deep", *own_functions)
    counted = truth.by_event(truth.functions(target), naming.ODD.get)
    assert truth.differences_in_calls(report, counted, "ODD") == {}
    seen = gaspbpf.events(report)
    assert seen["GASP_ODD_LEAP"]["unwound"] == counted["GASP_ODD_LEAP"]["calls"]
    assert seen["GASP_ODD_CLIMB"]["unwound"] == 0


@pytest.mark.guest
@pytest.mark.usefixtures("rung")
def test_calls_too_deep_to_follow_are_still_counted(job, observe, own_functions):
    target, report = observed(job, observe, "deep", *own_functions, arguments=["--depth", "200"])
    counted = truth.by_event(truth.functions(target), naming.ODD.get)
    assert truth.differences_in_calls(report, counted, "ODD") == {}
    assert gaspbpf.events(report)["GASP_ODD_CLIMB"]["deep"] > 0


@pytest.mark.guest
@pytest.mark.usefixtures("rung")
@pytest.mark.parametrize("program", ["throwing", "contexts"])
def test_exceptions_and_stack_switches_do_no_harm(job, observe, own_functions, program):
    """An exception passes through probed functions; two stacks have calls of one function in progress."""
    target, report = observed(job, observe, program, *own_functions)
    counted = truth.by_event(truth.functions(target), naming.ODD.get)
    assert truth.differences_in_calls(report, counted, "ODD") == {}


@pytest.mark.guest
@pytest.mark.usefixtures("rung")
def test_cancellation_unlocks(job, observe):
    """A thread cancelled in pthread_cond_wait runs its destructors, which unlock what others wait for (for ever, if
    not)."""
    observed(job, observe, "throwing")


@pytest.mark.alone  # all of the machine has the probes
@pytest.mark.usefixtures("rung")
def test_cancellation_unlocks_in_a_program_that_nobody_observes(job, observe, tmp_path):
    """The probes of libc are for everybody (--scope=file), whatever the program that is observed does itself."""
    end = tmp_path / "end"
    watcher = observe("--scope", "file", "-m", "pthread", "--", "sh", "-c", f"until [ -e {end} ]; do sleep 0.1; done")
    line = [gaspbpf.WORKLOADS / "throwing"]
    for _ in range(3):
        bystander = job(line).wait_ready()
        bystander.work()
        assert bystander.end() == 0, bystander.output()
    end.touch()
    status, _, errors = watcher.finish()
    assert status == 0, errors


def test_hostile_thread_names(job, observe, tmp_path):
    """Any byte may stand in a name. JSON has the characters, and a byte that is none as the character of its number."""
    codecs.register_error("number", lambda error: ("".join(map(chr, error.object[error.start:error.end])), error.end))
    trace = tmp_path / "run.json"
    target, report = observed(job, observe, "names", "-m", "pthread", "-o", trace)
    expected = {int(tid): bytes.fromhex(name).decode(errors="number")
                for tid, name in target.truths()[0]["names"].items()}
    names = {thread["tid"]: thread["name"] for thread in report["threads"]}
    assert {tid: names[tid] for tid in expected} == expected
    counted = {thread["tid"]: sum(row["calls"] for row in thread["functions"].values())
               for thread in target.truths()[0]["threads"]}
    assert {thread["tid"]: thread["calls"] for thread in report["threads"] if thread["calls"]} == counted
    events = json.loads(trace.read_bytes().decode("utf-8", errors="strict"))
    events = events["traceEvents"] if isinstance(events, dict) else events
    labels = {event["tid"]: event["args"]["name"] for event in events if event.get("name") == "thread_name"}
    assert all(expected[tid] in labels[tid] for tid in expected)


@pytest.mark.guest_more
@pytest.mark.parametrize("program, said", [
    pytest.param("elf32", "32-bit", marks=needs_32_bits),
    ("static_stripped", "stripped"),
    ("golike", "Go program"),
])
def test_what_cannot_be_observed_is_refused_in_words(program, said):
    with subprocess.Popen([gaspbpf.WORKLOADS / program], stdout=subprocess.PIPE) as target:
        try:
            assert target.stdout.readline().startswith(b"ready")
            result = gaspbpf.run("-p", target.pid, "-d", "5")
            assert result.returncode == 1
            assert said in result.stderr and len(result.stderr.strip().splitlines()) == 1, result.stderr
            assert target.poll() is None
        finally:
            target.kill()


@pytest.mark.guest
@pytest.mark.usefixtures("rung")
def test_a_program_that_lives_a_millisecond(tmp_path):
    result = gaspbpf.run("-m", "c", "-o", tmp_path / "run.gasp", "--", gaspbpf.WORKLOADS / "brief")
    assert result.returncode == 0, result.stderr
    seen = gaspbpf.events(json.loads(gaspbpf.run("report", tmp_path / "run.gasp", "--json").stdout))
    assert (seen["GASP_C_MALLOC"]["calls"], seen["GASP_C_MALLOC"]["bytes"]) == (100, 6400)
    assert seen["GASP_C_FREE"]["calls"] == 100


@pytest.mark.guest
@pytest.mark.usefixtures("rung")
def test_a_family_that_forks_is_seen_from_each_childs_first_instruction(tmp_path):
    """One breakpoint for all processes (--scope file): children that live a millisecond, one after the other."""
    result = gaspbpf.run("--scope", "file", "-o", tmp_path / "run.gasp", "--", gaspbpf.WORKLOADS / "brief", "20")
    assert result.returncode == 0, result.stderr
    report = json.loads(gaspbpf.run("report", tmp_path / "run.gasp", "--json").stdout)
    seen = gaspbpf.events(report)
    assert (seen["GASP_C_MALLOC"]["calls"], seen["GASP_C_MALLOC"]["bytes"]) == (2000, 128000)
    assert seen["GASP_C_FREE"]["calls"] == 2000
    assert sum(1 for thread in report["threads"] if thread["calls"]) == 21


@pytest.mark.parametrize("how, status", [
    (0, 0), (1, 7), (2, 128 + signal.SIGABRT), (3, 128 + signal.SIGSEGV), (4, 0), (5, 0), (6, 7),
], ids=["return", "_exit", "abort", "crash", "exec", "first thread leaves", "exit by another thread"])
def test_every_way_to_end(tmp_path, how, status):
    """gaspbpf ends with the command's status, and keeps what was recorded."""
    result = gaspbpf.run("-v", "-o", tmp_path / "run.gasp", "--", gaspbpf.WORKLOADS / "ending", "--how", how,
                         "--seconds", "0.2")
    assert result.returncode == status, result.stderr
    report = json.loads(gaspbpf.run("report", tmp_path / "run.gasp", "--json").stdout)
    seen = gaspbpf.events(report)
    assert seen["GASP_C_MALLOC"]["calls"] > 10
    # Each lock is followed by its unlock; the call that was cut short by the end, if any, is the only difference. A
    # library that comes as the first thread leaves makes return probes dangerous: calls are missed while these are
    # exchanged, one function after the other.
    if "return probes have been exchanged" in result.stderr:
        return
    # Without its first thread the process keeps its probes only as long as no other observer of a function leaves, as
    # those of other tests do: that calls may be missing is told.
    told = [window for window in report["blind_windows"] if window["after"] == "the end of its first thread"]
    assert bool(told) == (how == 5 and gaspbpf.RUNGS[0] != "perf")
    if told:
        return
    assert abs(seen["GASP_PTHREAD_MUTEX_LOCK"]["calls"] - seen["GASP_PTHREAD_MUTEX_UNLOCK"]["calls"]) <= 2


ROUND = ["spin", "behind", "parted", "switched"]


@pytest.mark.usefixtures("rung")
@pytest.mark.parametrize("program, returns, rounds", [
    pytest.param("rounds", "auto", ROUND, marks=pytest.mark.guest),
    *(pytest.param(*each, marks=pytest.mark.guest_more) for each in [
        ("rounds_fled", "trampoline", [*ROUND, "fled"]), ("rounds", "sites", ROUND), ("rounds", "none", ROUND)]),
], ids=["default", "fled", "sites", "none"])
def test_a_jump_back_to_the_first_instruction_is_no_call(tmp_path, program, returns, rounds, rung):
    """Where a round of a loop looks like a call, and nothing tells them apart, the function is not observed, and that
    is said."""
    names = [*rounds, "recursive"]
    asked = [option for name in names for option in ("-F", name)]
    trace = tmp_path / "run.json"
    result = gaspbpf.run(*asked, f"--returns={returns}", "-o", trace, "--", gaspbpf.WORKLOADS / program)
    assert result.returncode == 0, result.stderr
    spans = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] in "Xi"]
    calls = {name: sum(name in json.dumps(span) for span in spans) for name in names}
    told = rung == "session" and returns in ("auto", "trampoline")
    assert calls == dict.fromkeys(rounds, 10 if told else 0) | {"recursive": 50}, result.stderr
    assert {name for name in names if f"{name} is not observed: it jumps back" in result.stderr} == (
        set() if told else set(rounds))
