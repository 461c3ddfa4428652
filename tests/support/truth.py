# SPDX-License-Identifier: BSD-2-Clause
"""Comparing a report with what the jobs and the counting libraries of tests/workloads say: equal, or told in full."""
import json
import subprocess

import gaspbpf

ENVIRONMENT = gaspbpf.environment_from(gaspbpf.TOP / "tests" / "workloads" / "env.sh")


def window(job, observe, pids=None, options=()):
    """Attaches to a job at its gate (to its first process, or these), lets it work, leaves, lets it end: the JSON
    report of exactly that work."""
    watcher = observe("-p", ",".join(map(str, pids or [job.process.pid])), "--json", *options)
    job.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert job.end() == 0, job.output()
    report = json.loads(out)
    assert report["loss"]["lost"] == 0
    return report


def sparing(rung):
    """Options for a job of few ranks: on the rung where each probe takes its time to remove, not one for each rank."""
    return ["--scope", "file"] if rung == "perf" else []


def counting(library, folder):
    """What to put in front of a job so that a counting library is in it and writes to the folder."""
    return ["env", f"LD_PRELOAD={gaspbpf.WORKLOADS / library}", f"COUNT_FILE={folder / 'count'}"]


def windows(folder, library):
    """The counting library's figures between the job's marks, one table a process."""
    return [json.loads(path.read_text())["window"] for path in sorted(folder.glob(f"count.{library}*"))]


def by_name(top):
    """The threads that top or watch tells of."""
    return {thread["name"]: thread for thread in top["threads"]}


def calls_of(truth):
    """All calls of a job's own account of a process, or of one of its threads."""
    return sum(function["calls"] for function in truth["functions"].values())


def functions(job):
    """The job's own figures, one table a process."""
    return [truth["functions"] for truth in job.truths()]


def by_event(tables, event_of):
    """Adds up tables by function to one table by event; event_of gives None for what is no event."""
    total = {}
    for table in tables:
        for function, counts in table.items():
            event = event_of(function)
            if event:
                sums = total.setdefault(event, dict.fromkeys(counts, 0))
                for key, value in counts.items():
                    sums[key] += value
    return total


def with_inner(row):
    """An event's figures with those of the calls that the runtime makes to itself: for a truth that has them, too."""
    inner = row["inner"]
    return {**row, **{key: (row[key] or 0) + (inner.get(key) or 0)
                      for key in ("calls", "bytes", "bytes_sent", "bytes_received")}}


def differences_in_calls(report, counted, language, inner=False):
    """Every event of a language has exactly the counted calls, and no event is there that was not counted. inner: the
    runtime's own were counted, too."""
    seen = {name: (with_inner(row) if inner else row)["calls"] for name, row in gaspbpf.events(report).items()
            if name.startswith(f"GASP_{language}_")}
    names = sorted(set(seen) | set(counted))
    return {name: f"seen {seen.get(name, 0)}, counted {counted.get(name, {}).get('calls', 0)}" for name in names
            if seen.get(name, 0) != counted.get(name, {}).get("calls", 0)}


def differences_in_bytes(report, counted, inner=False):
    """Payload: where directions are known each is compared, otherwise what the arguments say."""
    found = {}
    seen = gaspbpf.events(report)
    for name, counts in counted.items():
        row = seen.get(name)
        row = with_inner(row) if row and inner else row
        if row is None or not (counts["bytes"] or row["bytes"]):
            continue
        sent, received = row["bytes_sent"], row["bytes_received"]
        if sent and received:
            same = (sent, received, row["bytes"]) == (counts["sent"], counts["received"], sent + received)
        else:
            same = row["bytes"] == counts["bytes"]
        if not same:
            found[name] = f"seen {row['bytes']} ({sent} sent, {received} received), counted {counts}"
    return found


def checksum(output):
    lines = [line for line in output.splitlines() if line.startswith("checksum")]
    assert len(lines) == 1, output
    return lines[0]


def compare_with_alone(job, command, env=None):
    """It has computed what it computes when nobody looks."""
    alone = subprocess.run([*map(str, command)], capture_output=True, text=True, env=env, timeout=gaspbpf.PATIENCE,
                           check=True)
    assert checksum(alone.stdout) == checksum(job.output())
