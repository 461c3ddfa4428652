# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf top on a job that stands still: no call begins or ends, and it says all the same what each process is in."""
import json
import re
import time

import gaspbpf
from sticking import STUCK, entered, mpi, ready, sleeps, waits_of


def watched(pid, *options):
    out = gaspbpf.run("top", "-p", pid, "--once", "-d", "1500ms", *options)
    assert out.returncode == 0, out.stderr
    return out.stdout


def until(pid, condition):
    """A look may miss a thread that polls, on a machine that has other things to do."""
    end = time.monotonic() + gaspbpf.PATIENCE
    while True:
        top = json.loads(watched(pid, "--json"))
        if condition(top) or time.monotonic() > end:
            return top


def test_ranks_that_receive_from_each_other(job):
    run = mpi(job, "openmpi", "cycle", 2)
    entered(run, range(2))
    began = time.monotonic_ns()
    top = until(run.process.pid, lambda top: all(process["in_before"] for process in top["processes"]))
    assert [process["rank"] for process in top["processes"]] == [0, 1]
    for process in top["processes"]:
        assert process["all"] is None
        before = process["in_before"]
        assert before["event"] == "GASP_MPI_RECV" and before["tid"] == process["pid"]
        assert re.fullmatch(r"mpi_stuck\.c:\d+ in exchange", before["called_from"])
        assert before["at_least_ns"] is None or before["at_least_ns"] < time.monotonic_ns() - began + 60e9


def test_the_text_says_since_when_and_what_to_ask(job):
    run = job([STUCK / "locks", "cycle", "2"])
    entered(run, range(2))
    sleeps([waits_of(run, n)[0] for n in range(2)])
    time.sleep(1.2)  # the call is worth a word from a second on: what it takes, whatever the machine does
    out = watched(run.process.pid, "-m", "pthread")
    row, = (line for line in out.splitlines() if "GASP_PTHREAD" in line)
    found = re.search(r"(GASP_PTHREAD_\w+) >= ([\d.]+) (s|ms|min)", row)
    assert found, out
    assert "?" not in row.split()
    assert f"hint: no call ends: 'sudo gaspbpf stuck -p {run.process.pid}' tells who waits for whom" in out
    assert all(len(line) <= 150 for line in out.splitlines())


def test_who_goes_on_is_not_said_to_stand(job, observe):
    """The last rank waits at the gate, in no call; when it opens all go on, and what was is forgotten."""
    run = mpi(job, "openmpi", "barrier", 3)
    entered(run, range(2))
    ready(run, 2)
    watcher = observe("top", "-p", run.process.pid, "--once", "-d", "10m", "--json")
    (run.gate / "go").touch()
    (run.gate / "end").touch()
    assert run.process.wait(timeout=gaspbpf.PATIENCE) == 0, run.output()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    for process in json.loads(out)["processes"]:
        assert process["all"]["calls"] and process["in_before"] is None
