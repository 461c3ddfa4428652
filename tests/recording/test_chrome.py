# SPDX-License-Identifier: BSD-2-Clause
"""The Chrome trace: good JSON whatever names a target has, one track a thread on which calls nest, all the calls there
were."""
import collections
import gzip
import json
import re
import subprocess

import pytest

import gaspbpf
import truth
from strict_json import BY_NUMBER, parse

def nanoseconds(text):
    """Microseconds with up to three decimals, exactly."""
    whole, _, part = str(text).partition(".")
    assert len(part) <= 3 and whole.isdigit(), text
    return int(whole) * 1000 + int((part + "000")[:3])


def calls(trace):
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def tracks(trace):
    """(start, end, event) of each call, by (pid, tid), in the order of the file."""
    found = collections.defaultdict(list)
    for event in calls(trace):
        start = nanoseconds(event["ts"])
        found[event["pid"], event["tid"]].append((start, start + nanoseconds(event["dur"]), event))
    return found


def assert_nests(trace):
    """On each track two calls are apart, or one lies within the other. That is what the viewers demand."""
    for track, spans in tracks(trace).items():
        open_until = []
        for start, end, event in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1], f"{event} sticks out of its caller on {track}"
            open_until.append(end)


def named(trace, what):
    """{(pid, tid): name} of processes or threads."""
    return {(event["pid"], event["tid"]): event["args"]["name"] for event in trace["traceEvents"]
            if event["ph"] == "M" and event["name"] == what}


def assert_whole(trace, report):
    """Known phases only, all tracks named, and as many calls as the report has, event by event."""
    assert {event["ph"] for event in trace["traceEvents"]} <= {"X", "M", "s", "f"}
    assert_nests(trace)
    threads, processes = named(trace, "thread_name"), named(trace, "process_name")
    for pid, tid in tracks(trace):
        assert (pid, tid) in threads
        assert pid in {pid for pid, _ in processes}
    counted = collections.Counter(event["name"] for event in calls(trace))
    assert counted == {event["name"]: truth.with_inner(event)["calls"] for event in report["events"]}
    for name, row in gaspbpf.events(report).items():
        if row["inner"]["calls"]:
            continue  # the durations below are of the program's own calls
        durations = [nanoseconds(event["dur"]) for event in calls(trace) if event["name"] == name]
        if row["min_ns"] is None:  # only its calls are observed
            assert set(durations) == {0}
        else:
            assert (min(durations), max(durations)) == (row["min_ns"], row["max_ns"])
            assert sum(durations) >= row["total_ns"]  # which counts a call within one of its own kind once


def recorded(folder, *command):
    """A command's run: (trace, report)."""
    result = gaspbpf.run("-q", "-o", folder / "run.gasp", "-o", folder / "run.json", *command)
    assert result.returncode == 0, result.stderr
    report = gaspbpf.run("report", "--json", folder / "run.gasp")
    assert report.returncode == 0, report.stderr
    return parse((folder / "run.json").read_bytes()), json.loads(report.stdout)


def test_a_trace_of_threads(tmp_path):
    """Names, arguments and source of each call; the trace of the run, of export and unzipped are the same bytes."""
    trace, report = recorded(tmp_path, "--", gaspbpf.WORKLOADS / "threads", "--threads", 3, "--rounds", 30)
    assert_whole(trace, report)
    assert len(tracks(trace)) == 4
    names = set(named(trace, "thread_name").values())
    assert {name.split(" (")[0] for name in names} == {"worker-0", "worker-1", "worker-2", "threads"}
    assert all(str(gaspbpf.WORKLOADS / "threads") in name for name in named(trace, "process_name").values())

    source = (gaspbpf.TOP / "tests" / "workloads" / "threads.c").read_text().splitlines()
    seen = 0
    for event in calls(trace):
        if event["name"] == "GASP_C_POSIX_MEMALIGN":
            args = event["args"]
            assert args["alignment"] == 256 and args["bytes" if "bytes" in args else "size"] > 0
            file, line = re.fullmatch(r"(.*/threads\.c):(\d+):\d+", args["site"]).groups()
            assert "posix_memalign(" in source[int(line) - 1]
            seen += 1
    assert seen == 3 * 30 * 8

    assert gaspbpf.run("export", tmp_path / "run.gasp", "-o", tmp_path / "again.json", "-o",
                       tmp_path / "again.json.gz").returncode == 0
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "run.json").read_bytes()
    assert gzip.decompress((tmp_path / "again.json.gz").read_bytes()) == (tmp_path / "run.json").read_bytes()


def test_times_are_those_of_the_clock(tmp_path):
    """ts counts from the start of the run: no call begins before 0 or ends after the run."""
    trace, report = recorded(tmp_path, "--", gaspbpf.WORKLOADS / "threads", "--rounds", 5)
    length = report["recording"]["end_ns"] - report["recording"]["start_ns"]
    for spans in tracks(trace).values():
        for start, end, _ in spans:
            assert 0 <= start <= end <= length


def test_a_trace_while_the_job_runs(job, observe, tmp_path):
    """Calls in progress at the end are in it, closed there, and say so."""
    target = job([gaspbpf.WORKLOADS / "threads", "--seconds", 60, "--slow", 0, "--slow-us", 20000], gate=False)
    gaspbpf.wait_for(lambda: "ready" in target.output(), "the job to work")
    watcher = observe("-p", target.process.pid, "-m", "pthread", "-o", tmp_path / "run.json", "-o",
                      tmp_path / "run.gasp", "-d", "1s")
    status, _, errors = watcher.finish()
    assert status == 0, errors
    trace = parse((tmp_path / "run.json").read_bytes())
    assert_whole(trace, json.loads(gaspbpf.run("report", "--json", tmp_path / "run.gasp").stdout))
    last = max(end for spans in tracks(trace).values() for _, end, _ in spans)
    # The slow thread keeps the others waiting at the barrier nearly all the time.
    for event in calls(trace):
        if event["args"].get("end") == "detach":
            assert nanoseconds(event["ts"]) + nanoseconds(event["dur"]) == last
    assert any(event["args"].get("end") == "detach" for event in calls(trace))


def test_hostile_names(job, observe, tmp_path):
    """Quotes, backslashes, newlines, control characters, bytes that are no UTF-8: told, and no harm to the JSON."""
    target = job([gaspbpf.WORKLOADS / "names"]).wait_ready()
    watcher = observe("-p", target.process.pid, "-o", tmp_path / "run.json", "-o", tmp_path / "run.gasp",
                      "-m", "pthread")
    target.work()
    status, _, errors = watcher.stop()
    assert status == 0, errors
    assert target.end() == 0
    data = (tmp_path / "run.json").read_bytes()
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", data)
    trace = parse(data)
    assert_whole(trace, json.loads(gaspbpf.run("report", "--json", tmp_path / "run.gasp").stdout))
    shown = {tid: name for (_, tid), name in named(trace, "thread_name").items()}
    truths = target.truths()[0]
    for tid, name in truths["names"].items():
        assert shown[int(tid)] == f"{bytes.fromhex(name).decode(errors='by_number')} (tid {tid})"
    per_thread = {thread["tid"]: thread["functions"]["pthread_mutex_lock"]["calls"] for thread in truths["threads"]}
    seen = collections.Counter(event["tid"] for event in calls(trace) if event["name"] == "GASP_PTHREAD_MUTEX_LOCK")
    assert {tid: seen[tid] for tid in per_thread} == per_thread


HOSTILE = ['say "hi"', "back\\slash", "new\nline", "tab\there", "esc\x1b[31m", "del\x7f", b"\xff\xfe", b"cut\xe2\x82",
           "</script>", "%s%n", "ünï ☃ 🎉", "\u2028", "'"]


def test_hostile_command_lines_and_paths(tmp_path):
    """The program's path, its arguments and the file of its source are names of the target's, too."""
    arguments = [text if isinstance(text, bytes) else text.encode() for text in HOSTILE]
    folder = tmp_path / 'a "folder"\n\\ of 🎉'
    folder.mkdir()
    (folder / 'q"uote\\.c').write_text("#include <stdlib.h>\nint main(void) { for (int i = 0; i < 10; i++) "
                                       "free((void *)(volatile long)malloc(10)); return 0; }\n")
    program = folder / "p\tr\"o\\g"
    subprocess.run(["gcc", "-g", "-O0", "-fno-builtin", "-o", program, folder / 'q"uote\\.c'], check=True,
                   timeout=gaspbpf.PATIENCE)
    subprocess.run([gaspbpf.PROGRAM, "-q", "-o", tmp_path / "run.json", "-o", tmp_path / "run.gasp", "--", program,
                    *arguments],
                   check=True, capture_output=True, timeout=gaspbpf.PATIENCE)
    data = (tmp_path / "run.json").read_bytes()
    trace = parse(data)
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", data)
    report = json.loads(gaspbpf.run("report", "--json", tmp_path / "run.gasp").stdout)
    assert_whole(trace, report)
    process, = named(trace, "process_name").values()
    line = b" ".join([str(program).encode(), *arguments]).decode(errors=BY_NUMBER)
    assert process == line and report["processes"][0]["command"] == line
    callers = {event["args"]["site"] for event in calls(trace) if event["name"] == "GASP_C_MALLOC"}
    assert callers == {f"{folder}/q\"uote\\.c:2:{column}"
                       for column in {int(caller.split(":")[-1]) for caller in callers}}
    # What is printed for people carries no control character of the target's to their terminal.
    text = subprocess.run([gaspbpf.PROGRAM, "report", tmp_path / "run.gasp"], capture_output=True,
                          timeout=gaspbpf.PATIENCE).stdout
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", text), text


def test_work_on_two_stacks(tmp_path):
    """Two stacks take turns in the middle of work that a pair of functions brackets: what comes out nests."""
    (tmp_path / "turns.c").write_text("""
#include <ucontext.h>
static ucontext_t scheduler, fibers[2];
static char stacks[2][65536];
void opened(int who), closed(int who);
__attribute__((noipa)) void opened(int who) { __asm__ volatile("" :: "r"(who)); }
__attribute__((noipa)) void closed(int who) { __asm__ volatile("" :: "r"(who)); }
static void fiber(int who)
{
	for (int i = 0; i < 10; i++) {
		opened(who);
		swapcontext(&fibers[who], &fibers[!who]);
		closed(who);
	}
	swapcontext(&fibers[who], who ? &scheduler : &fibers[1]);
}
int main(void)
{
	for (int i = 0; i < 2; i++) {
		getcontext(&fibers[i]);
		fibers[i].uc_stack.ss_sp = stacks[i];
		fibers[i].uc_stack.ss_size = sizeof(stacks[i]);
		makecontext(&fibers[i], (void (*)(void))fiber, 1, i);
	}
	swapcontext(&scheduler, &fibers[0]);
	return 0;
}
""")
    (tmp_path / "turns.model").write_text("model turns\nlibrary program\n"
                                          "TURN task opens void opened(int who)\nTURN task closes void "
                                          "closed(int who)\n")
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "turns", tmp_path / "turns.c"], check=True, timeout=gaspbpf.PATIENCE)
    trace, report = recorded(tmp_path, "-m", "turns", "--model-file", tmp_path / "turns.model", "--",
                             tmp_path / "turns")
    assert_whole(trace, report)
    assert len(calls(trace)) == 20


@pytest.mark.parametrize("program, ranks", [("upc_job", 3)])
def test_ranks_are_named(tmp_path, program, ranks):
    """A process with a rank is called by it, and stands in the order of ranks."""
    trace, report = recorded(tmp_path, "--", gaspbpf.WORKLOADS / program, "-n", ranks)
    assert_whole(trace, report)
    names = {name for (pid, _), name in named(trace, "process_name").items()
             if any(pid == track[0] for track in tracks(trace))}
    for rank in range(ranks):
        assert any(re.match(rf"\w+ {rank}\b", name) for name in names), names
    order = {event["pid"]: event["args"]["sort_index"] for event in trace["traceEvents"]
             if event["name"] == "process_sort_index"}
    assert {order[process["pid"]] for process in report["processes"] if process["rank"] is not None} == set(
        range(ranks))
