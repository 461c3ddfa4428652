# SPDX-License-Identifier: BSD-2-Clause
"""StarPU: what a program submits, waits for, acquires and allocates, each call with all that it was given and gave,
StarPU's own calls included."""
import collections

import conformance
import event_lines
import gaspbpf
import truth

RUNTIME = "starpu-1.3.10"
EVENTS = {
    "TASK_SUBMIT", "SUBMIT_INTERNAL", "TASK_WAIT", "TASK_WAIT_ARRAY", "TASK_WAIT_ALL", "TASK_WAIT_CTX", "TASK_WAIT_N",
    "TASK_WAIT_READY",
    "TAG_WAIT", "DATA_ACQUIRE", "DATA_ACQUIRE_TRY", "DATA_RELEASE", "DATA_REGISTER", "DATA_UNREGISTER", "MALLOC",
    "FREE", "NODE_MALLOC", "NODE_FREE",
}


def by_thread(lines):
    """[(START|END, event, arguments)] by thread, in order."""
    threads = collections.defaultdict(list)
    for tid, kind, event, arguments in lines:
        if event in EVENTS:
            threads[tid].append((kind, event, arguments))
    return dict(threads)


def outermost(calls):
    """How often each event began in no other call."""
    counts, depth = collections.Counter(), 0
    for kind, event, _ in calls:
        counts[event] += kind == "START" and depth == 0
        depth += 1 if kind == "START" else -1
    assert depth == 0
    return +counts


def written(path):
    """What libstarpu_every.so wrote down."""
    for line in path.read_text().splitlines():
        tid, kind, event, *text = line.split(" ", 3)
        yield int(tid), kind, event, event_lines.arguments_of("".join(text))


def test_each_call_with_its_arguments(job, observe, tmp_path, rung):
    """What the program asked for itself it has counted; every call there was, StarPU's to itself too, a library in
    front of it has."""
    log = tmp_path / "log"
    tasks = job(["env", f"LD_PRELOAD={gaspbpf.WORKLOADS / 'libstarpu_every.so'}", f"EVERY_LOG={log}",
                 gaspbpf.WORKLOADS / "starpu_every",
                 "--rounds", "2", "--warmup", "1"], env={**truth.ENVIRONMENT, "STARPU_NCPU": "2"}).wait_ready()
    report = truth.window(tasks, observe, options=["-m", "starpu", "-o", tmp_path / "run.events"])
    own = by_thread(written(log))
    seen = by_thread((tid, kind, event, arguments)
                     for _, tid, kind, event, arguments in event_lines.lines(tmp_path / "run.events", "STARPU"))
    assert seen.keys() == own.keys()
    for tid, calls in own.items():
        assert len(seen[tid]) == len(calls)
        # Behind an event's arguments stand the names of the task.
        found = [(kind, event, {name: given.get(name) for name in wrote})
                 for (kind, event, given), (_, _, wrote) in zip(seen[tid], calls)]
        assert [pair for pair in zip(found, calls) if pair[0] != pair[1]] == []
    asked = {event: counts["calls"] for event, counts in truth.functions(tasks)[0].items()}
    assert outermost(seen[tasks.process.pid]) == asked and asked.keys() == EVENTS
    # The tables agree, and have the bytes of the arguments.
    rows = gaspbpf.events(report)
    ends = [(event, arguments) for calls in own.values() for kind, event, arguments in calls if kind == "END"]
    assert {event: rows[f"GASP_STARPU_{event}"]["calls"] for event in EVENTS} == collections.Counter(
        event for event, _ in ends)
    for event in ("MALLOC", "NODE_MALLOC"):
        assert rows[f"GASP_STARPU_{event}"]["bytes"] == sum(int(arguments["size"]) for name, arguments in ends
                                                            if name == event)
    conformance.seen(RUNTIME, *{f"GASP_STARPU_{event}" for event in EVENTS})
