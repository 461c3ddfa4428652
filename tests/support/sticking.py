# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of gaspbpf stuck share: jobs that wait, and what is said of them."""
import json
import pathlib
import re
import time

import gaspbpf
import truth

STUCK = gaspbpf.WORKLOADS / "stuck"
LAUNCHERS = {"openmpi": "mpirun.openmpi", "mpich": "mpirun.mpich", "openmpi_O0": "mpirun.openmpi"}


def entered(job, numbers):
    """Waits until these have said that they are about to wait."""
    gaspbpf.wait_for(lambda: all((job.gate / f"enters.{n}").exists() for n in numbers), "the job to enter its calls")


def ready(job, number):
    mark = job.gate / f"ready.{number}"
    gaspbpf.wait_for(lambda: mark.exists() and mark.stat().st_size, "the job to reach its gate")


def switches(tid):
    """How often a thread has left a processor, and whether it sleeps."""
    status = pathlib.Path(f"/proc/{tid}/status").read_text()
    return re.findall(r"ctxt_switches:\t(\d+)", status), "State:\tS" in status


def sleeps(tids):
    """Waits until these threads have slept for a while without a break."""
    def there():
        before = [switches(tid) for tid in tids]
        time.sleep(0.1)
        return all(asleep for _, asleep in before) and [switches(tid) for tid in tids] == before
    gaspbpf.wait_for(there, "threads to sleep")


def waits_of(job, number):
    tid, address = (job.gate / f"enters.{number}").read_text().split()
    return int(tid), int(address, 16)


def stuck(*arguments):
    out = gaspbpf.run("stuck", "--json", *arguments)
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout)


def until(condition, *arguments):
    """Looks again until the ranks are where they are about to go: between saying so and being there is a moment."""
    end = time.monotonic() + gaspbpf.PATIENCE
    while True:
        seen = stuck(*arguments)
        if condition(seen) or time.monotonic() > end:
            return seen


def waiting_in(event, ranks):
    def there(seen):
        return {t["rank"] for t in seen["threads"] if t["stuck"] and t["call"]["event"] == event} >= set(ranks)
    return there


def finds(kind, there, whom=()):
    """And that is concluded from it, of all of these: on a busy machine a look may not have caught a thread, which is
    said, or its arguments."""
    return lambda seen: there(seen) and any(f["kind"] == kind and "could not be caught" not in f["text"] and
                                            {*whom} <= {*ranks(f.get("waiting", []))} for f in seen["findings"])


def finding(seen, kind):
    found = [f for f in seen["findings"] if f["kind"] == kind]
    assert len(found) == 1, seen["findings"]
    return found[0]


def sparing(build):
    """MPICH's ranks never yield: more of them than processors leave nobody the time to put probes in."""
    return ["--no-probes"] if build == "mpich" else []


def by_rank(seen):
    return {t["rank"]: t for t in seen["threads"] if t["call"] and t["pid"] == t["tid"]}


def ranks(parties):
    return sorted(party["rank"] for party in parties)


def said(found, *arguments):
    """The text says the same sentence as the JSON: at the latest when each rank was caught at both looks, which poll
    and run."""
    line = f"\n- {'likely: ' if found['likely'] and found['kind'] != 'deadlock' else ''}{found['text']}\n"
    end = time.monotonic() + gaspbpf.PATIENCE
    while True:
        out = gaspbpf.run("stuck", *arguments)
        assert out.returncode == 0, out.stderr
        if line in out.stdout:
            return
        assert time.monotonic() < end, (line, out.stdout)


def mpi(job, build, how, count, **environment):
    return job([LAUNCHERS[build], "-n", count, STUCK / f"mpi_{build}", how], ranks=count,
               env={**truth.ENVIRONMENT, **environment})
