# SPDX-License-Identifier: BSD-2-Clause
"""Tool libraries written to GASP 1.4 and PUPC 1.1, told of jobs that were never instrumented: every call they get
against the jobs' own figures."""
import collections
import json
import os
import re
import subprocess

import pytest

import conformance
import gaspbpf
import naming
import toolkit
import truth

# Each call writes what it did on its own: the truth. Two threads, one after the other.
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static _Thread_local void *volatile kept;
static FILE *truth;
static void *work(void *name)
{
	for (unsigned long i = 0; i < 20; i++) {
		kept = malloc(1000 + i); int line = __LINE__;
		fprintf(truth, "%s MALLOC calls.c:%d %lu|%lu %p\n", (char *)name, line, 1000 + i, 1000 + i, kept);
		void *more = realloc(kept, 90000 + i); line = __LINE__;
		fprintf(truth, "%s REALLOC calls.c:%d %p %lu|%p %lu %p\n", (char *)name, line, kept, 90000 + i, kept, 90000 + i, more);
		free(more); line = __LINE__;
		fprintf(truth, "%s FREE calls.c:%d %p|%p\n", (char *)name, line, more, more);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	static char room[65536];
	pthread_t other;
	truth = fopen(argv[1], "w");
	setvbuf(truth, room, _IOFBF, sizeof(room));
	fprintf(truth, "\n");
	work("main");
	pthread_create(&other, NULL, work, "other");
	pthread_join(other, NULL);
	return fclose(truth) != 0;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tools")


@pytest.fixture(scope="module")
def notify(folder):
    return toolkit.build(folder, "gasp_log.c", name="notify.so")


@pytest.fixture(scope="module")
def notify_va(folder):
    return toolkit.build(folder, "gasp_log.c", "-DONLY_VA", name="notify_va.so")


@pytest.fixture(scope="module")
def calls(folder):
    (folder / "calls.c").write_text(PROGRAM)
    gaspbpf.compile_c(folder / "calls.c", folder / "calls", "-g", "-O0", "-pthread", "-Wno-use-after-free")
    return folder / "calls"


def expected(path):
    """(thread's name, event, place, arguments at START, at END) of each call of the program."""
    for line in path.read_text().splitlines():
        if line:
            start, end = line.split("|")
            thread, event, place, *arguments = start.split(" ")
            yield thread, event, place, arguments, end.split(" ")


@pytest.mark.parametrize("how", ["notify", "notify_va"])
def test_live_every_call_with_its_arguments_and_place(calls, request, tmp_path, how):
    """GASP 1.4 table 2, argument by argument; by gasp_event_notify and by a tool that has gasp_event_notifyVA only."""
    toolkit.types_file(tmp_path / "types", "c")
    result = gaspbpf.run("record", "-m", "c", "-q", "--json", "--tool", request.getfixturevalue(how), "--", calls,
                         tmp_path / "truth", env={"TOOL_LOG": tmp_path / "log", "TOOL_TYPES": tmp_path / "types"})
    assert result.returncode == 0, result.stderr
    log = toolkit.Log(tmp_path / "log")
    log.check_nesting()
    assert all(call.on_own for call in log.calls)
    number = {event["name"]: event["number"] for event in toolkit.vocabulary("c")}
    threads = collections.defaultdict(set)
    at = collections.defaultdict(int)
    sources = PROGRAM.splitlines()
    for thread, event, place, start, end in expected(tmp_path / "truth"):
        # The next call of that kind from this place of the program; libc and the loader have calls of their own.
        for i in range(at[place], len(log.calls)):
            call = log.calls[i]
            if call.type == "START" and call.tag == number[f"GASP_C_{event}"] and place in call.place:
                break
        else:
            raise AssertionError(f"not told: {event} at {place}")
        at[place] = i + 1
        finish = next(c for c in log.calls[i + 1:] if c.thread == call.thread and c.type == "END")
        assert (call.arguments, finish.arguments) == (start, end)
        assert finish.place == call.place
        line = int(place.split(":")[1])
        assert call.place.endswith(f":{line}:{sources[line - 1].index(event.lower() + '(') + 1}")
        threads[thread].add(call.thread)
    assert [len(seen) for seen in threads.values()] == [1, 1] and threads["main"] != threads["other"]
    # One gasp_init a thread, with the program's own arguments, ended by a NULL, before anything else of that thread.
    inits = [line for line in log.other if line.startswith("init")]
    assert len(inits) == len(log.threads())
    assert all(f"argc 2 [{calls}] [{tmp_path / 'truth'}]" in line and not line.endswith("unended") for line in inits)
    # All that the observation counted was told, and the tool was left in good order.
    assert sum(log.counts().values()) == json.loads(result.stdout)["loss"]["calls"]
    assert log.lines[-1].startswith("end ")


def numbers(*models):
    return {event["name"]: event["number"] for event in toolkit.vocabulary(*models)}


JOBS = {
    "mpi": ([*"mpirun.openmpi -n 3".split(), gaspbpf.WORKLOADS / "mpi_job_openmpi", "--rounds", "5"], 3,
            naming.mpi, "MPI", 3),
    "shmem": (["oshrun", "-n", "2", gaspbpf.WORKLOADS / "shmem_job", "--rounds", "5"], 2, naming.shmem, "SHMEM", 4),
    "upc": ([gaspbpf.WORKLOADS / "upc_job", "-n", "3", "--rounds", "10"], 3, naming.upc, "UPC", 0),
}


def replay(recording, tool, path, *options, env=None, status=0):
    result = gaspbpf.run("replay", recording, "--tool", tool, *options, env={"TOOL_LOG": path, **(env or {})})
    assert result.returncode == status, result.stderr
    return result


PAYLOAD = {
    "mpi": ["GASP_MPI_SEND", "GASP_MPI_ISEND", "GASP_MPI_BCAST", "GASP_MPI_ALLREDUCE"],
    "upc": ["GASP_UPC_MEMGET", "GASP_UPC_MEMPUT", "GASP_UPC_MEMSET", "GASP_UPC_GET", "GASP_UPC_PUT"],
}


def payload(log, names, tag):
    """Bytes, from the arguments of the ENDs."""
    total = 0
    for call in log.calls:
        if call.tag == tag and call.type == "END":
            values = dict(zip(names[tag, "END"], call.arguments))
            total += int(values["n"]) if "n" in values else int(values["count"]) * int(values["datatype_size"])
    return total


@pytest.mark.parametrize("name", JOBS)
def test_live_and_replayed_are_the_jobs_own_figures(job, observe, notify, tmp_path, name):
    """Attached late. What the tool was told live is what it is told of the recording, and both are what the job
    counted."""
    command, ranks, event_of, language, number = JOBS[name]
    names = toolkit.types_file(tmp_path / "types", name)
    ring = job([*command, "--warmup", "1", "--after", "1"], ranks=ranks, env=truth.ENVIRONMENT).wait_ready()
    watcher = observe("-p", ring.process.pid, "--json", "-o", tmp_path / "run.gasp", "--tool", notify,
                      f"--tool-threads={'each' if name == 'mpi' else 'one'}",
                      env={"TOOL_LOG": tmp_path / "live", "TOOL_TYPES": tmp_path / "types"})
    ring.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert ring.end() == 0, ring.output()
    live = toolkit.Log(tmp_path / "live")
    live.check_nesting()
    assert all(call.on_own for call in live.calls)
    event_numbers = numbers(name)
    counted = truth.by_event(truth.functions(ring), event_of)
    told = live.outermost() if name == "shmem" else live.counts() # the library calls itself
    assert {event: told[event_numbers[event]] for event in counted} == {event: counts["calls"]
                                                                        for event, counts in counted.items()}
    assert sum(live.counts().values()) == json.loads(out)["loss"]["calls"]
    # What came through the dots adds up to the job's own bytes, those that are passed on the stack included.
    for event in PAYLOAD.get(name, ()):
        assert payload(live, names, event_numbers[event]) == counted[event]["bytes"], event
    contexts = [line for line in live.other if line.startswith("init") and f" language {number} " in line]
    assert len(contexts) >= ranks

    replay(tmp_path / "run.gasp", notify, tmp_path / "later", env={"TOOL_TYPES": tmp_path / "types"})
    later = toolkit.Log(tmp_path / "later")
    times = [call.time for call in later.calls]
    assert times == sorted(times)
    # Which thread came first may differ, so its number does.
    plain = [sorted([call._replace(thread=0) for call in calls] for calls in log.threads().values())
             for log in (live, later)]
    assert plain[0] == plain[1]


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Three UPC threads, recorded from their first instruction to their end."""
    folder = tmp_path_factory.mktemp("recording")
    result = gaspbpf.run("record", "-q", "-o", folder / "run.gasp", "--", gaspbpf.WORKLOADS / "upc_job", "-n", "3",
                         "--rounds", "4")
    assert result.returncode == 0, result.stderr
    return folder / "run.gasp"


def test_a_thread_for_each_thread(recording, notify, tmp_path):
    """With --tool-threads=each the same calls in the same order, each on the thread that its context was made on."""
    replay(recording, notify, tmp_path / "one")
    replay(recording, notify, tmp_path / "each", "--tool-threads=each")
    one, each = toolkit.Log(tmp_path / "one"), toolkit.Log(tmp_path / "each")
    assert one.lines == each.lines
    assert len(one.threads()) >= 3
    assert all(call.on_own for call in each.calls)


IDS = {"own": 7, "gupc": 7, "bupc": 1100, "pupc": 0x01000000}


@pytest.mark.parametrize("ids", IDS)
def test_numbers_that_a_tool_was_compiled_with(recording, notify, tmp_path, ids):
    """UPC_NOTIFY as GNU UPC, Berkeley UPC and PUPC 1.1 number it: as many of them under each number, and START and END
    apart in PUPC."""
    replay(recording, notify, tmp_path / "own")
    replay(recording, notify, tmp_path / "log", f"--gasp-ids={ids}")
    own, log = toolkit.Log(tmp_path / "own"), toolkit.Log(tmp_path / "log")
    count = own.counts()[7]
    assert count and count == sum(call.tag == IDS[ids] and call.type == "START" for call in log.calls)
    assert count == sum(call.tag == IDS[ids] + (ids == "pupc") and call.type == "END" for call in log.calls)
    assert len(own.calls) == len(log.calls)
    # No two events have come to share a number.
    pairs = {(a.tag, b.tag, b.type if ids == "pupc" else None) for a, b in zip(own.calls, log.calls)}
    assert len({(tag, type_) for _, tag, type_ in pairs}) == len(pairs)


def test_pupc_tool(recording, folder, tmp_path):
    """PUPC_INIT first and PUPC_GLOBAL_EXIT last on each thread; a location's address stands for one place; ticks are
    those of the job."""
    tool = toolkit.build(folder, "pupc_log.c")
    replay(recording, tool, tmp_path / "log")
    lines = [line.split(" ") for line in (tmp_path / "log").read_text().splitlines()]
    kinds = collections.Counter(line[1] for line in lines)
    assert kinds["00000000"] >= 3 and kinds["00000000"] == kinds["00000100"]
    assert all(line[2:4] == ["0", "none:0"] and line[5].endswith("upc_job") for line in lines if line[1] == "00000000")
    # The threads end together: no call of the program's is the place of that.
    assert {tuple(line[2:5]) for line in lines if line[1] == "00000100"} == {("0", "none:0", "0")}
    assert {line[1] for line in lines[:1]} == {"00000000"}
    places = {}
    for line in lines:
        if line[2] != "0":
            assert places.setdefault(line[2], line[3]) == line[3]
    replay(recording, toolkit.build(folder, "gasp_log.c", name="gasp.so"), tmp_path / "gasp")
    gasp = toolkit.Log(tmp_path / "gasp").calls
    told = [line for line in lines if line[1] not in ("00000000", "00000100")]
    assert [int(line[0]) for line in told] == [call.time for call in gasp if call.tag not in (5, 6)]
    barriers = [line for line in told if line[1] in ("01000200", "01000201")]
    assert len(barriers) == sum(call.tag == 9 for call in gasp)
    wrong = gaspbpf.run("replay", recording, "--tool", tool, "--gasp-ids=gupc", env={"TOOL_LOG": tmp_path / "log"})
    assert wrong.returncode == 1 and "PUPC 1.1" in wrong.stderr
    replay(recording, tool, tmp_path / "each", "--tool-threads=each")
    threads = collections.defaultdict(list)
    for line in (tmp_path / "each").read_text().splitlines():
        threads[line.split("@")[1]].append(line.split(" ")[1])
    assert len(threads) == kinds["00000000"]
    for ids in threads.values():
        assert [i for i, number in enumerate(ids) if number in ("00000000", "00000100")] == [0, len(ids) - 1]
    conformance.seen("gupc-process-packed", "PUPC_INIT", "PUPC_GLOBAL_EXIT")


def test_pupc_tool_and_a_program_that_ends_itself(folder, tmp_path):
    """upc_global_exit(): PUPC_GLOBAL_EXIT has its place, though not its line where the program was gone before anybody
    could look it up, and its status."""
    tool = toolkit.build(folder, "pupc_log.c", name="pupc_exit.so")
    gaspbpf.run("record", "-q", "-o", tmp_path / "run.gasp", "--", gaspbpf.WORKLOADS / "upc_job", "-n", "2", "--rounds",
                "1", "--global-exit", "3")
    replay(tmp_path / "run.gasp", tool, tmp_path / "log")
    ends = [line.split(" ") for line in (tmp_path / "log").read_text().splitlines() if line.split(" ")[1] == "00000100"]
    source = (gaspbpf.TOP / "tests/workloads/upc/upc_job.c").read_text().splitlines()
    line = next(number for number, text in enumerate(source, 1) if "upc_global_exit((int)global_exit);" in text)
    called = [end for end in ends if end[3] != "none:0"]
    assert len(called) == 1 and called[0][3].split("/")[-1] in (f"upc_job.c:{line}", ":0") and called[0][4] == "3"


def test_pupc_tool_creates_events_and_is_switched(folder, tmp_path):
    """pupc_create_event() before the first use, with the name alone; START and END of it differ by their places;
    pupc_control() is passed on."""
    tool = toolkit.build(folder, "pupc_log.c", name="pupc_user.so")
    (folder / "pupc_user.c").write_text(USER)
    gaspbpf.compile_c(folder / "pupc_user.c", folder / "pupc_user", "-g", f"-I{gaspbpf.TOP / 'include'}",
                      f"-Wl,--whole-archive,{gaspbpf.TOP}/build/libpupc/libpupc.a,--no-whole-archive")
    result = gaspbpf.run("record", "-q", "-o", tmp_path / "run.gasp", "--", folder / "pupc_user")
    assert result.returncode == 0, result.stderr
    replay(tmp_path / "run.gasp", tool, tmp_path / "log")
    lines = [line.split(" ") for line in (tmp_path / "log").read_text().splitlines()]
    assert [line for line in lines if line[0] == "create"] == [["create", "phase", "c0000010"],
                                                               ["create", "point", "c0000011"]]
    told = [line[1] if line[0] != "control" else line for line in lines if line[0] == "control"
            or line[1] in ("c0000010", "c0000011")]
    steps = 5 * ["c0000010", "c0000011", "c0000010"]
    assert [entry for entry in told if entry not in ("phase", "point")] == [*steps, ["control", "0"], ["control", "1"],
                                                                            "c0000010", "c0000010"]
    places = [line[2] for line in lines if line[1] == "c0000010"]
    assert len(set(places[0:10:2])) == len(set(places[1:10:2])) == 1 and places[0] != places[1]


def test_a_tool_may_change_the_arguments(recording, notify, tmp_path):
    """What gasp_init() leaves of argc and argv is what the next thread of the process gets, in that process and no
    other."""
    replay(recording, notify, tmp_path / "log", env={"TOOL_TAKES_ARGUMENTS": "1"})
    inits = [re.search(r"argc (\d+) (.*)", line) for line in toolkit.Log(tmp_path / "log").other
             if line.startswith("init")]
    assert all(m[1] == "5" and m[2].endswith("upc_job] [-n] [3] [--rounds] [4]") for m in inits)


def test_time_is_that_of_the_job(recording, notify, tmp_path):
    """clock_gettime() in a tool tells when the event was, as .events has it; --tool-clock=true tells when it is."""
    out = tmp_path / "run.events"
    assert gaspbpf.run("export", recording, "-o", out).returncode == 0
    seconds = sorted(float(line.split(" ")[0]) for line in out.read_text().splitlines()
                     if re.search(r" (START|END|ATOMIC) ", line))
    replay(recording, notify, tmp_path / "job")
    times = [call.time for call in toolkit.Log(tmp_path / "job").calls]
    assert len(times) == len(seconds)
    assert max(abs((time - times[0]) / 1e9 - (at - seconds[0])) for time, at in zip(times, seconds)) < 1e-6
    replay(recording, notify, tmp_path / "true", "--tool-clock=true")
    assert toolkit.Log(tmp_path / "true").calls[0].time > times[-1]


USER = r"""
#include <pupc.h>
#include <stdio.h>
int main(void)
{
	unsigned phase = pupc_create_event("phase", "%d %s %ld"), point = pupc_create_event("point", (const char *)0);
	for (int i = 0; i < 5; i++) {
		pupc_event_start(phase, i, "step", -3000000000L * i);
		pupc_event_atomic(point);
		pupc_event_end(phase, -i, "done", 5L);
	}
	pupc_control(0);
	pupc_event_start(phase, 77, "off", 1L);
	pupc_event_end(phase, 77, "off", 1L);
	pupc_control(1);
	pupc_event_start(phase, 9, "on", 1L);
	pupc_event_end(phase, 9, "on", 1L);
	return 0;
}
"""


def test_user_events_and_control(notify, folder, tmp_path):
    """Created before their first use, told under the tool's own number; pupc_control() reaches gasp_control()."""
    (folder / "user.c").write_text(USER)
    first = 0xC0000100 # that this tool gives
    (tmp_path / "types").write_text(f"{first} 0 isl\n{first} 1 isl\n")
    libpupc = gaspbpf.TOP / "build" / "libpupc"
    gaspbpf.compile_c(folder / "user.c", folder / "user", "-g", f"-I{gaspbpf.TOP / 'include'}",
                      f"-Wl,--whole-archive,{libpupc}/libpupc.a,--no-whole-archive")
    result = gaspbpf.run("record", "-q", "-o", tmp_path / "run.gasp", "--tool", notify, "--", folder / "user",
                         env={"TOOL_LOG": tmp_path / "live", "TOOL_TYPES": tmp_path / "types"})
    assert result.returncode == 0, result.stderr
    replay(tmp_path / "run.gasp", notify, tmp_path / "later", env={"TOOL_TYPES": tmp_path / "types"})
    for path in tmp_path / "live", tmp_path / "later":
        lines = path.read_text().splitlines()
        created = {line.split(" ")[2]: line.split(" ") for line in lines if line.startswith("create")}
        assert set(created) == {"phase", "point"}
        assert created["phase"][3:6] == ["(%d", "%s", "%ld)"] and created["point"][3] == "(NULL)"
        used = {name: next(i for i, line in enumerate(lines) if f" {words[-1]} " in line)
                for name, words in created.items()}
        assert all(lines.index(" ".join(created[name])) < used[name] for name in created)
        log = toolkit.Log(path)
        phase, point = int(created["phase"][-1]), int(created["point"][-1])
        assert phase == first
        told = [(call.type, *call.arguments) for call in log.calls if call.tag == phase]
        steps = [pair for i in range(5)
                 for pair in (("START", str(i), "'step'", str(-3000000000 * i)), ("END", str(-i), "'done'", "5"))]
        assert told == [*steps, ("START", "9", "'on'", "1"), ("END", "9", "'on'", "1")]
        assert log.counts()[phase] == 6 and log.counts()[point] == 5
        of_interest = [line for line in lines if line.startswith("control") or f" START {phase} " in line]
        assert [line.startswith("control") for line in of_interest] == [False] * 5 + [True, True, False]
        assert [line.split(" ")[-1] for line in of_interest if line.startswith("control")] == ["0", "1"]


def test_examples_say_what_the_job_did(calls, folder, tmp_path):
    """The tracer's file for each thread has every call with its arguments; the profiler's table adds up to the job's
    calls."""
    tracer, profiler = (toolkit.build(folder, f"{name}.c") for name in ("tracer", "profiler"))
    result = gaspbpf.run("record", "-m", "c", "-q", "-o", tmp_path / "run.gasp", "--tool", tracer, "--tool", profiler,
                         "--", calls, tmp_path / "truth", env={"TRACE_DIR": tmp_path})
    assert result.returncode == 0, result.stderr
    traces = [path.read_text() for path in sorted(tmp_path.glob("trace.*"))]
    rows = {}
    for line in result.stdout.splitlines():
        match = re.match(r" *(\d+) +([\d.]+) +([\d.]+) +(\d+) +(\S*calls.c:\d+)$", line)
        if match:
            rows[int(match[4]), match[5].split("/")[-1]] = int(match[1])
    wanted = collections.Counter()
    number = numbers("c")
    for thread, event, place, start, end in expected(tmp_path / "truth"):
        wanted[number[f"GASP_C_{event}"], place] += 1
        at_start = {"MALLOC": "nbytes={}", "REALLOC": "ptr={} size={}", "FREE": "ptr={}"}[event].format(*start)
        assert any(re.search(rf" START {event.lower()} \S*{place} {at_start}$", trace, re.M) for trace in traces)
        if event == "MALLOC":
            assert any(f" END malloc {calls.parent / place} nbytes={end[0]} returnptr={end[1]}\n" in trace
                       for trace in traces)
    assert rows == wanted


LASTING = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static _Thread_local void *volatile kept;
static const char *go;
static void allocate(int n)
{
	while (n--) {
		kept = malloc(100);
		free(kept);
	}
}
__attribute__((noinline)) int inner(int n)
{
	allocate(n);
	while (access(go, F_OK))
		usleep(1000);
	allocate(n);
	return n;
}
__attribute__((noinline)) int outer(int n)
{
	allocate(n);
	inner(n + 1);
	allocate(n);
	return n;
}
static void *work(void *n)
{
	allocate(5);
	outer((long)n);
	allocate(5);
	outer((long)n);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t threads[2];
	go = argv[1];
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 10));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""


def test_a_call_that_lasts_is_told_when_it_begins(observe, notify, folder, tmp_path):
    """Two calls deep in functions that do not return: the tool is told that, and what they do, while they do it. In the
    end all is as in the recording."""
    (folder / "lasting.c").write_text(LASTING)
    gaspbpf.compile_c(folder / "lasting.c", folder / "lasting", "-g", "-O1", "-fno-builtin", "-pthread")
    watcher = observe("-q", "-m", "c", "-e", "int outer(int n)", "-e", "int inner(int n)", "-o", tmp_path / "run.gasp",
                      "--tool", notify,
                      "--", folder / "lasting", tmp_path / "go", env={"TOOL_LOG": tmp_path / "live", "TOOL_FLUSH": "1"},
                      ready=None)

    def told():
        lines = (tmp_path / "live").read_text().splitlines() if (tmp_path / "live").exists() else []
        counts = collections.Counter(tuple(line.split(" ")[2:4]) for line in lines if "lasting.c" in line)
        # On both threads: outer and inner begun and not ended, and every allocation up to there.
        inits = sum(line.startswith("create") for line in lines)
        return inits and counts["START", "2"] == counts["END", "2"] == 5 + 5 + 10 + 11 + 11 + 12

    gaspbpf.wait_for(told, "the tool to be told what goes on")
    starts = collections.Counter(line.split(" ")[4] for line in (tmp_path / "live").read_text().splitlines()
                                 if re.search(r" START 32212\d+ ", line))
    assert sorted(starts.values()) == [2, 2]
    assert not re.search(r" END 32212\d+ ", (tmp_path / "live").read_text())
    (tmp_path / "go").touch()
    status, _, errors = watcher.finish()
    assert status == 0, errors
    replay(tmp_path / "run.gasp", notify, tmp_path / "later")
    live, later = toolkit.Log(tmp_path / "live"), toolkit.Log(tmp_path / "later")
    live.check_nesting()
    plain = [sorted([call._replace(thread=0, tag=min(call.tag, 1000)) for call in calls]
                    for calls in log.threads().values()) for log in (live, later)]
    assert plain[0] == plain[1]


def test_a_tool_in_cplusplus(recording, notify, folder, tmp_path):
    """With the library's own containers and clock: as many calls, and as much time, as another tool is told."""
    tool = toolkit.build(folder, "count.cc")
    result = gaspbpf.run("replay", recording, "--tool", tool)
    assert result.returncode == 0, result.stderr
    told = {int(tag): (int(calls), int(ns)) for tag, calls, ns in (line.split() for line in result.stdout.splitlines())}
    replay(recording, notify, tmp_path / "log")
    wanted = collections.defaultdict(lambda: [0, 0])
    for calls in toolkit.Log(tmp_path / "log").threads().values():
        stack = []
        for call in calls:
            if call.type == "START":
                stack.append(call.time)
            elif call.type == "END":
                wanted[call.tag][0] += 1
                wanted[call.tag][1] += call.time - stack.pop()
    assert told == {tag: tuple(sums) for tag, sums in wanted.items()}


def test_functions_by_name(notify, folder, tmp_path):
    """GASP 1.4 table 1 and PUPC 1.1 table 6: what -F asks for comes with the function's full signature, inside each
    other as they call."""
    (folder / "functions.c").write_text(FUNCTIONS)
    gaspbpf.compile_c(folder / "functions.c", folder / "functions", "-g", "-O1", "-fno-inline")
    (tmp_path / "types").write_text("1 0 s\n1 1 s\n")
    pupc = toolkit.build(folder, "pupc_log.c", name="pupc_functions.so")
    result = gaspbpf.run("record", "-q", "-F", "solve*", "-o", tmp_path / "run.gasp", "--tool", notify, "--",
                         folder / "functions", env={"TOOL_LOG": tmp_path / "live", "TOOL_TYPES": tmp_path / "types"})
    assert result.returncode == 0, result.stderr
    lines = [line.split(" ", 6) for line in (tmp_path / "live").read_text().splitlines() if " own " in line]
    once = [("START", "1", "'int solve(double *grid, int n)'"), ("START", "1", "'int solve_row(double *row)'"),
            ("END", "1", "'int solve_row(double *row)'"), ("END", "1", "'int solve(double *grid, int n)'")]
    assert [(type_, tag, signature) for _, _, type_, tag, _, _, signature in lines] == 3 * once
    replay(tmp_path / "run.gasp", pupc, tmp_path / "pupc")
    ids = [line.split(" ")[1] for line in (tmp_path / "pupc").read_text().splitlines()]
    assert [number for number in ids if number < "60000000"] == [
        "00000000", *(3 * ["05000000", "05000000", "05000001", "05000001"]), "00000100"]


FUNCTIONS = r"""
static volatile double kept;
int solve_row(double *row)
{
	kept = *row;
	return 0;
}
int solve(double *grid, int n)
{
	kept = n;
	int sum = solve_row(grid);
	kept = sum;
	return sum;
}
int main(void)
{
	double grid[4] = { 1 };
	for (int i = 0; i < 3; i++)
		solve(grid, i);
	return 0;
}
"""


def test_as_installed(recording, notify, tmp_path):
    """make install puts the tools' own program where the installed gaspbpf finds it."""
    subprocess.run(["make", "-s", "-C", gaspbpf.TOP, "-o", "gaspbpf", "-o", "gaspbpf-toolhost", "install",
                    f"DESTDIR={tmp_path}", "prefix=/usr"],
                   check=True, timeout=gaspbpf.PATIENCE)
    result = subprocess.run([tmp_path / "usr" / "bin" / "gaspbpf", "replay", recording, "--tool", notify],
                            env={**os.environ, "TOOL_LOG": str(tmp_path / "log")},
                            capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    assert result.returncode == 0, result.stderr
    assert toolkit.Log(tmp_path / "log").counts()
