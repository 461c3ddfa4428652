# SPDX-License-Identifier: BSD-2-Clause
"""Exact under any load: with rings far too small for the job, every call is still counted, timed, and at its place.

The truth is the job's own: it counts its calls by thread and function. What gaspbpf delivered, and what it says it
lost, must be that to the last call, in the live report, in the report of the recording and in the traces.
"""
import collections
import json
import re
import signal

import pytest

import gaspbpf
import naming
import truth
from odd import own_functions  # noqa: F401 (a fixture)

MISSING = ("lost", "summed", "skipped")


def truth_by_thread(job):
    """The job's own counts: {(tid, event): calls}."""
    counts = collections.Counter()
    for thread in job.truths()[0]["threads"]:
        for function, counted in thread["functions"].items():
            if counted["calls"] and function in naming.THREADS:
                counts[thread["tid"], naming.THREADS[function]] += counted["calls"]
    return counts


def check_identities(report):
    """What a report says of itself must agree with itself."""
    loss = report["loss"]
    assert loss["calls"] == loss["delivered"] + sum(loss[kind] for kind in MISSING)
    for rows in report["events"], report["by_thread"]:
        for row in rows:
            assert row["calls"] == row["delivered"] + sum(row[kind] for kind in MISSING), row["name"]
            assert sum(calls for _, calls in row["histogram_ns"]) == row["timed"], row["name"]
            if row["timed"]:
                assert row["min_ns"] <= row["mean_ns"] <= row["max_ns"]
                floors = [floor for floor, _ in row["histogram_ns"]]
                assert floors[0] <= row["min_ns"] < 2 * max(floors[0], 1)
                assert floors[-1] <= row["max_ns"] < 2 * max(floors[-1], 1)
    for kind in ("calls", "delivered", *MISSING):
        assert sum(row[kind] for row in report["events"]) == loss[kind], kind
        assert sum(row[kind] for row in report["by_thread"]) == loss[kind], kind
        assert sum(row[kind] for row in report["threads"]) == loss[kind], kind


def calls_by_thread(report):
    return collections.Counter({(row["tid"], row["name"]): row["calls"] for row in report["by_thread"]})


def check_trace(trace, counted, report):
    """On the timeline: calls and gaps of each thread; with the sums in its head they are the truth."""
    seen, gaps = collections.Counter(), collections.Counter()
    neighbours = collections.defaultdict(set)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            seen[event["tid"], event["name"]] += 1
            neighbours[event["tid"]].add(round(1000 * (event["ts"] + event["dur"])))
    for event in trace["traceEvents"]:
        if event.get("cat") == "loss":
            gaps[event["tid"]] += event["args"]["count"]
            at = round(1000 * event["ts"])
            assert not at or at in neighbours[event["tid"]], "a gap begins where a call of its thread ends"
            if "until" in event["args"]:
                assert round(1000 * event["args"]["until"]) in neighbours[event["tid"]]
                assert event["args"]["until"] >= event["ts"]
    lost = collections.Counter()
    for row in trace["otherData"]["not_on_timeline"]:
        seen[row["tid"], row["name"]] += row["lost"] + row["summed"] + row["skipped"]
        lost[row["tid"]] += row["lost"]
    assert seen == counted
    assert gaps == lost
    assert sum(gaps.values()) == report["loss"]["lost"]


def check_lines(path, report):
    """The list of events has each call that was delivered, and each gap."""
    lost, calls = 0, 0
    for line in path.read_text().splitlines():
        fields = line.split()
        if fields[3] == "LOST":
            lost += int(fields[4])
            assert len(fields) == 5 or float(fields[5].removeprefix("until=")) >= float(fields[0])
        else:
            calls += fields[3] in ("START", "ATOMIC")
    assert lost == report["loss"]["lost"]
    assert calls == report["loss"]["delivered"]


# On perf each of the forty probes takes its time to remove, and nothing here depends on the rung but once.
RINGS = [(rung, threads, ring) for rung in gaspbpf.RUNGS for threads, ring in ((1, "4k"), (4, "8k"), (9, "16k"))
         if rung != "perf" or threads == 4]


@pytest.mark.parametrize("rung, threads, ring", RINGS, indirect=["rung"])
def test_overflown_rings(job, observe, tmp_path, rung, threads, ring):
    team = job([gaspbpf.WORKLOADS / "threads", "--threads", threads, "--rounds", "400"]).wait_ready()
    watcher = observe("-p", team.pids()[0], "--json", "--ring-size", ring, "-o", tmp_path / "run.gasp",
                      "-o", tmp_path / "run.json", "-o", tmp_path / "run.events")
    team.work()
    status, out, errors = watcher.stop()
    assert status == 0 and "please report" not in errors, errors
    assert team.end() == 0
    report, counted = json.loads(out), truth_by_thread(team)

    assert report["loss"]["lost"] > 0
    assert report["loss"]["calls"] == sum(counted.values())
    check_identities(report)
    assert calls_by_thread(report) == counted
    window = team.truths()[0]["window_ns"]
    for row in report["by_thread"]:
        assert 0 < row["total_ns"] <= window, row["name"]
        assert row["timed"] == row["calls"]

    again = json.loads(gaspbpf.run("report", tmp_path / "run.gasp", "--json").stdout)
    assert again == report
    check_trace(json.loads((tmp_path / "run.json").read_text()), counted, report)
    check_lines(tmp_path / "run.events", report)
    text = gaspbpf.run("report", tmp_path / "run.gasp", "--histogram").stdout
    assert f"lost {report['loss']['lost']:,} of {report['loss']['calls']:,} calls from the timeline" in text
    assert "all are in Calls and Total, timed in the kernel" in text
    assert "\nDurations" in text


@pytest.mark.guest
@pytest.mark.parametrize("rung", gaspbpf.RUNGS[-1:], indirect=True)
def test_a_tiny_ring_on_an_old_kernel(job, observe, rung):
    """The same in short."""
    team = job([gaspbpf.WORKLOADS / "threads", "--threads", "2", "--rounds", "300"]).wait_ready()
    watcher = observe("-p", team.pids()[0], "--json", "--ring-size", "4k")
    team.work()
    status, out, errors = watcher.stop()
    assert status == 0 and "please report" not in errors, errors
    assert team.end() == 0
    report = json.loads(out)
    assert report["loss"]["lost"] > 0
    check_identities(report)
    assert calls_by_thread(report) == truth_by_thread(team)


# --- calls that do not just return -----------------------------------------

OWN = ["-e", "long outer(const char *how)", "-e", "long inside(const char *how)"]
# What ends the last call of outer() and the one of inside() in it, and how many more there are of each but for the
# first hundred.
ENDS = {
    "return": ("return", 0), "exit": ("exit", 0), "kill": ("exit", 0), "thread": ("exit", 100),
    "exec": ("exec", 101), "exec-thread": ("exec", 201), "fork": ("return", 100),
}


def reasons(path):
    """How calls ended, by event: {name: {reason: calls}}; LOST: how many were lost."""
    ends = collections.defaultdict(collections.Counter)
    for line in path.read_text().splitlines():
        fields = line.split(" @ ")[0].split()
        if fields[3] == "END":
            said = [field for field in fields if field.startswith("end=")]
            ends[fields[4]][said[0].removeprefix("end=") if said else "return"] += 1
        elif fields[3] == "ATOMIC" and "GASP_USER" in fields[4]:
            # a program that has just come, while nobody looks: its returns are left alone (bpf/home.h)
            ends[fields[4]]["return"] += 1
        elif fields[3] == "LOST":
            ends["LOST"]["calls"] += int(fields[4])
    return ends


MARKS = {"kill": pytest.mark.guest, "exec-thread": pytest.mark.guest, "fork": pytest.mark.guest_more}


@pytest.mark.parametrize("how", [pytest.param(how, marks=MARKS.get(how, ())) for how in ENDS])
def test_what_ends_a_call(tmp_path, rung, how):
    """Each call is closed, with its reason, whatever happens inside it; the job's end is its own."""
    path = tmp_path / "run.events"
    result = gaspbpf.run("-m", "user", *OWN, "-q", "--json", "-o", path, "--", gaspbpf.WORKLOADS / "inside", how)
    assert result.returncode == (137 if how == "kill" else 0), result.stderr
    report = json.loads(result.stdout)
    reason, more = ENDS[how]
    expected = collections.Counter({"return": 100 + more}) + collections.Counter({reason: 1})
    assert reasons(path) == {"GASP_USER_OUTER": expected, "GASP_USER_INSIDE": expected}
    check_identities(report)
    assert report["loss"]["lost"] == 0
    assert report["loss"]["no_entry"] == 0 or how == "fork" # the child returns from calls that are not its own
    for row in report["events"]:
        assert row["ended"] == (reason != "return")


@pytest.mark.parametrize("how", ENDS)
def test_a_reader_that_comes_late(job, observe, tmp_path, how):
    """All of a job's life lies in the rings when gaspbpf looks for the first time, with numbers of threads that are
    used twice."""
    go = tmp_path / "go"
    target = job([gaspbpf.WORKLOADS / "inside", how, go], gate=False)
    watcher = observe("-p", target.process.pid, "--scope", "file", "-m", "user", *OWN, "--json", "-o",
                      tmp_path / "run.events")
    watcher.process.send_signal(signal.SIGSTOP)
    go.touch()
    target.process.wait(timeout=gaspbpf.PATIENCE)
    watcher.process.send_signal(signal.SIGCONT)
    status, out, errors = watcher.finish()
    assert status == 0 and "please report" not in errors, errors
    report = json.loads(out)
    reason, more = ENDS[how]
    expected = collections.Counter({"return": 100 + more}) + collections.Counter({reason: 1})
    assert reasons(tmp_path / "run.events") == {"GASP_USER_OUTER": expected, "GASP_USER_INSIDE": expected}
    check_identities(report)
    assert report["loss"]["lost"] == 0


def read_late(watcher, target, go):
    """Lets the target work and end while nobody reads the rings; then the report."""
    watcher.process.send_signal(signal.SIGSTOP)
    go.touch()
    target.process.wait(timeout=gaspbpf.PATIENCE)
    watcher.process.send_signal(signal.SIGCONT)
    status, out, errors = watcher.finish()
    assert status == 0 and "please report" not in errors, errors
    report = json.loads(out)
    check_identities(report)
    return report


@pytest.mark.parametrize("how", ENDS)
def test_what_ends_a_call_in_a_tiny_ring(job, observe, tmp_path, how):
    """The same with rings that hold a few calls, which nobody reads meanwhile: all but those few are lost, and
    counted."""
    go = tmp_path / "go"
    target = job([gaspbpf.WORKLOADS / "inside", how, go], gate=False)
    watcher = observe("-p", target.process.pid, "--scope", "file", "-m", "user", *OWN, "--json", "--ring-size", "4k",
                      "-o", tmp_path / "run.events")
    report = read_late(watcher, target, go)
    seen = gaspbpf.events(report)
    calls = 101 + ENDS[how][1]
    assert {name: row["calls"] for name, row in seen.items()} == {"GASP_USER_OUTER": calls, "GASP_USER_INSIDE": calls}
    assert all(row["timed"] == calls or how.startswith("exec") for row in seen.values())
    assert report["loss"]["lost"] > 0
    assert reasons(tmp_path / "run.events")["LOST"]["calls"] == report["loss"]["lost"]


@pytest.mark.parametrize("program, arguments", [
    ("deep", ["--depth", 20, "--rounds", 100]), ("deep", ["--depth", 150, "--rounds", 30]),
    ("throwing", ["--rounds", 300]), ("contexts", ["--rounds", 100]),
], ids=["longjmp", "recursion of 150", "exceptions", "stacks"])
def test_odd_jobs_in_a_tiny_ring(job, observe, own_functions, program, arguments):
    """Recursion, longjmp, exceptions, stacks that are switched, a signal stack: counts are as exact as with room for
    all."""
    target = job([gaspbpf.WORKLOADS / program, *arguments]).wait_ready()
    watcher = observe("-p", target.process.pid, "--json", "--ring-size", "4k", *own_functions)
    watcher.process.send_signal(signal.SIGSTOP)
    (target.gate / "go").touch()
    gaspbpf.wait_for(lambda: (target.gate / "done.0").exists(), "the job to do its work")
    watcher.process.send_signal(signal.SIGCONT)
    status, out, errors = watcher.stop()
    assert status == 0 and "please report" not in errors, errors
    assert target.end() == 0, target.output()
    report = json.loads(out)
    assert report["loss"]["lost"] > 0
    check_identities(report)
    counted = truth.by_event(truth.functions(target), naming.ODD.get)
    assert truth.differences_in_calls(report, counted, "ODD") == {}


def test_more_threads_than_sums(tmp_path):
    """80,000 sums of threads that come and go, where the kernel has room for 65,536 at a time."""
    functions = [f"step_{i}" for i in range(8)]
    source = tmp_path / "storm.c"
    source.write_text("#include <pthread.h>\n#include <stddef.h>\n" +
                      "".join(f"__attribute__((noipa)) int {name}(int n) {{ return n + 1; }}\n" for name in functions) +
                      "static void *run(void *unused)\n{\n\tfor (int i = 0; i < 4; i++) {\n" +
                      "".join(f"\t\t{name}(i);\n" for name in functions) + "\t}\n\treturn NULL;\n}\n"
                      "int main(void)\n{\n\tfor (int i = 0; i < 10000; i++) {\n\t\tpthread_t thread;\n\n"
                      "\t\tif (pthread_create(&thread, NULL, run, NULL))\n\t\t\treturn 1;\n\t\tpthread_join(thread, "
                      "NULL);\n\t}\n\treturn 0;\n}\n")
    gaspbpf.compile_c(source, tmp_path / "storm", "-O1", "-pthread")
    result = gaspbpf.run("-m", "user", *(part for name in functions for part in ("-e", f"int {name}(int n)")),
                         "--ring-size", "4k", "-q", "--json", "-o", tmp_path / "run.gasp", "--", tmp_path / "storm")
    assert result.returncode == 0 and "please report" not in result.stderr, result.stderr
    report = json.loads(result.stdout)
    missing = re.search(r"([\d,]+) calls are in no span and, for want of memory, in no sum", result.stderr)
    unknown = int(missing[1].replace(",", "")) if missing else 0 # only where gaspbpf got no time for a second
    assert report["loss"]["calls"] == 10000 * 4 * 8
    assert sum(row["calls"] for row in report["events"]) == 10000 * 4 * 8 - unknown
    if not unknown:
        check_identities(report)
        assert {row["calls"] for row in report["events"]} == {40000}
        assert len(report["threads"]) == 10000
        assert {row["calls"] for row in report["by_thread"]} == {4}


def test_lost_calls_of_which_the_arguments_are_missed(tmp_path, job, observe):
    """One function is two events, and an argument says which (@only): of a lost call it is not known, and that is
    said."""
    (tmp_path / "two.c").write_text("""
        #include <unistd.h>
        struct kind { int filler, which; };
        __attribute__((noipa)) int act(struct kind *kind, int n) { return n + kind->which; }
        int main(int argc, char **argv)
        {
            struct kind kinds[] = { { 7, 0 }, { 7, 1 } };

            while (access(argv[1], F_OK))
                usleep(10000);
            for (int i = 0; i < 3000; i++)
                act(&kinds[i % 3 == 0], i);
            return 0;
        }
        """)
    (tmp_path / "two.model").write_text("model two\nlanguage TWO\nlibrary program\nneeds act\nkind.which = +4 s32\n"
                                        "FAST function int act(struct kind *kind @only(which == 0), int n)\n"
                                        "SLOW function int act(struct kind *kind @only(which != 0), int n)\n")
    gaspbpf.compile_c(tmp_path / "two.c", tmp_path / "two", "-O1")
    go = tmp_path / "go"
    target = job([tmp_path / "two", go], gate=False)
    watcher = observe("-p", target.process.pid, "--model-file", tmp_path / "two.model", "-m", "two", "--json",
                      "--ring-size", "4k")
    report = read_late(watcher, target, go)
    seen = gaspbpf.events(report)
    assert set(seen) == {"GASP_TWO_FAST", "GASP_TWO_SLOW", "GASP_TWO_FAST|GASP_TWO_SLOW"}
    assert seen["GASP_TWO_FAST|GASP_TWO_SLOW"]["lost"] == report["loss"]["lost"] > 0
    assert sum(row["calls"] for row in seen.values()) == 3000
    assert seen["GASP_TWO_FAST"]["lost"] == seen["GASP_TWO_SLOW"]["lost"] == 0


def test_a_killed_recorder_with_losses(job, observe, tmp_path):
    """What is saved every two seconds says of the losses after it how many they are, and not more."""
    team = job([gaspbpf.WORKLOADS / "threads", "--threads", "2", "--seconds", "60"]).wait_ready()
    path = tmp_path / "run.gasp"
    watcher = observe("-p", team.pids()[0], "--ring-size", "4k", "-o", path)
    (team.gate / "go").touch()

    def saved_losses():
        return b"SUMS" in path.read_bytes()
    gaspbpf.wait_for(saved_losses, "losses to be saved")
    watcher.process.kill()
    watcher.finish()
    report = json.loads(gaspbpf.run("report", path, "--json").stdout)
    loss = report["loss"]
    assert not report["recording"]["finished"]
    assert loss["calls"] == loss["delivered"] + loss["lost"]
    assert loss["lost"] >= sum(row["lost"] for row in report["events"]) > 0
    assert loss["delivered"] == sum(row["delivered"] for row in report["events"])
