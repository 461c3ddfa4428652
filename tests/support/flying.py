# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of the flight recorder share: the jobs that log their calls, and reading a dump beside that log."""
import json
import re
import typing

import gaspbpf
import truth

JOBS = {  # launcher, program's source, ranks, models
    "threads": ([], "threads.c", 1, ["-m", "pthread,c"]),
    "openmpi": (["mpirun.openmpi", "-n", "2"], "mpi.c", 2, []),
    "shmem": (["oshrun", "-n", "2"], "shmem.c", 2, []),
}
PROGRAMS = {"threads": "threads", "openmpi": "mpi_openmpi", "shmem": "shmem"}
SAYS = re.compile(rb"gaspbpf: (\S+\.gasp): (.* calls?\b.* before, .*)")


class Call(typing.NamedTuple):
    event: str
    line: int
    end: str | None  # "": it returned; None: it is nowhere


def start(job, kind, *options, env=None):
    """A job at its gate, and the options with which it is observed."""
    launcher, _, ranks, models = JOBS[kind]
    line = [*launcher, gaspbpf.WORKLOADS / "flight" / PROGRAMS[kind], *options]
    return job(line, ranks=ranks, env={**truth.ENVIRONMENT, **(env or {})}).wait_ready(), models


def log(running):
    """What the job says: by (rank or number, tid) its calls in order; end None where a call has not come back."""
    calls = {}
    for path in running.folder.glob("truth.*"):
        number, tid = map(int, path.name.split(".")[1:])
        mine = calls.setdefault((number, tid), [])
        for sign, event, line in (text.split() for text in path.read_text().splitlines()):
            if sign == "<":
                mine.append(Call(event, int(line), None))
            else:
                assert mine[-1][:2] == (event, int(line))
                mine[-1] = mine[-1]._replace(end="")
    return calls


def dumped(recording, kind, folder):
    """What a dump says of the same calls, by tid: those that the job's own source makes, at that line."""
    text = folder / f"{recording.name}.events"
    result = gaspbpf.run("export", recording, "-o", text)
    assert result.returncode == 0, result.stderr
    source, calls, open_calls = JOBS[kind][1], {}, {}
    for line in text.read_text().splitlines():
        found = re.match(rf"[\d.]+ \S+ \S*?:(\d+) (START|END) (GASP_\w+)(.*) @ \S*/flight/{re.escape(source)}:(\d+)",
                         line)
        if not found:
            continue
        tid, word, event, values, place = int(found[1]), found[2], found[3], found[4], int(found[5])
        mine, under_way = calls.setdefault(tid, []), open_calls.setdefault(tid, [])
        if word == "START":
            under_way.append(len(mine))
            mine.append(Call(event, place, None))
        else:
            reason = re.search(r" end=(\w+)", values)
            at = under_way.pop()
            assert mine[at][:2] == (event, place)
            mine[at] = mine[at]._replace(end=reason[1] if reason else "")
    assert not any(open_calls.values())
    return calls


def dumps(watcher):
    """The files that gaspbpf has named so far, with what it says of each."""
    if not watcher.process.stderr.closed:
        watcher.has_said(b"observing")  # reads on
    return [(match[0].decode(), match[1].decode(errors="replace")) for match in SAYS.findall(watcher.errors)]


def wait_for_dump(watcher, number=1):
    gaspbpf.wait_for(lambda: len(dumps(watcher)) >= number, f"dump number {number}")
    return dumps(watcher)[number - 1]


def report(path):
    result = gaspbpf.run("report", "--json", path)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def wait_until_waiting(running, event, count):
    """As the job's own log says: so many threads have begun a call of this event and not come back."""
    def waiting():
        return sum(bool(calls) and calls[-1].event == event and calls[-1].end is None
                   for calls in log(running).values()) == count
    gaspbpf.wait_for(waiting, f"{count} threads in {event}")
