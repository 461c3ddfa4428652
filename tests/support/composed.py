# SPDX-License-Identifier: BSD-2-Clause
"""Recordings of what a text says (tests/support/compose.c), what is in them, and what a simulation makes of them."""
import json
import subprocess

import gaspbpf

COMPOSE = gaspbpf.BUILD / "tests" / "compose"


def compose(path, text):
    """A recording of what the text says (tests/support/compose.c)."""
    result = subprocess.run([COMPOSE, path, gaspbpf.TOP / "models"], input=text, capture_output=True, text=True,
                            timeout=gaspbpf.PATIENCE)
    assert result.returncode == 0, result.stderr
    return path


def lines(recording):
    """The lines of the event list, by thread, without their labels."""
    listed = recording.with_suffix(".events")
    result = gaspbpf.run("export", recording, "-o", listed)
    assert result.returncode == 0, result.stderr
    by_thread = {}
    for line in listed.read_text().splitlines():
        time, rank, thread, *rest = line.split(" ")
        seconds, nanoseconds = time.split(".")
        by_thread.setdefault(int(thread.split(":")[-1]), []).append((int(seconds) * 10**9 + int(nanoseconds), *rest))
    return by_thread


def times(recording):
    """(start, end) of each call, by thread, in the order of their ends. Calls are not nested here."""
    result = {}
    for thread, events in lines(recording).items():
        starts = [time for time, kind, *_ in events if kind == "START"]
        ends = [time for time, kind, *_ in events if kind == "END"]
        result[thread] = list(zip(starts, ends))
    return result


def simulate(recording, plugin, *parameters, expect=0):
    after = recording.with_name("after.gasp")
    result = gaspbpf.run("simulate", recording, "--plugin", plugin, *parameters, "-o", after, "--json")
    assert result.returncode == expect, result.stderr
    return json.loads(result.stdout[result.stdout.index("{\n"):]), after


def world(comm=0):
    return f"comm.id={comm}"


def send(tid, start, end, dest, tag=0, count=1, symbol="MPI_Send", **more):
    values = " ".join(f"{name}={value}" for name, value in more.items())
    return f"call {tid} {start} {end} {symbol} dest={dest} tag={tag} {world()} count={count} datatype=1 {values}\n"


def receive(tid, start, end, source, tag=0, **more):
    values = "".join(f" {name}={value}" for name, value in more.items())
    return (f"call {tid} {start} {end} MPI_Recv source={source} tag={tag} {world()} status.source={source} "
            f"status.tag={tag}{values}\n")


def call(tid, start, end, symbol, **values):
    return f"call {tid} {start} {end} {symbol} " + " ".join(f"{name}={value}" for name, value in values.items()) + "\n"


def ranks(count, init=True):
    """Ranks 0.. with the tids 1.. ; with init their runtimes are seen from the start."""
    text = "".join(f"process {rank + 1} {rank}\n" for rank in range(count))
    return text + "".join(call(rank + 1, 0, 10, "MPI_Init") for rank in range(count) if init)


def threads(count, pid=1, rank=-1):
    text = f"process {pid} {rank}\n"
    return text + "".join(f"thread {pid} {tid}\n" for tid in range(pid + 1, pid + count))


def region(begun, ended, shares, line=10, inside="", base=None, symbol="GOMP_parallel", share="fn", **values):
    """The first of the shares, (tid, start, end), is that of the thread that begins it."""
    site = f"omp.c:{line}" + (f"@{base}" if base else "")
    text = "".join(call(tid, start, end, share, depth=int(not number), **values)
                   for number, (tid, start, end) in enumerate(shares))
    first = shares[0][0] if shares else 1
    return inside + text + call(first, begun, ended, symbol, site=site)


def of_llvm(begun, ended, shares, line=10, fn=0x1000):
    return region(begun, ended, shares, line, symbol="__kmpc_fork_call", share="__kmp_invoke_microtask", fn=fn)


LATE_SENDER = ranks(2) + send(1, 100, 110, 1) + receive(2, 50, 130, 0) + "".join(
    call(rank + 1, start, end, "MPI_Barrier", **{"comm.id": 0, "comm.rank": rank})
    for rank, (start, end) in enumerate([(200, 300), (280, 310)]))
