# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf top on a job that stands still: no call begins or ends, and it says all the same what each process is in."""
import json
import os
import re
import time

import gaspbpf
from selecting import start  # noqa: F401 (a fixture)
from sticking import STUCK, entered, mpi, sleeps, waits_of

MEET = r"""
    #include <pthread.h>
    #include <stdio.h>
    static pthread_barrier_t place;
    static void *come(void *unused)
    {
        for (int i = 0; i < 2; i++) {
            getchar();
            pthread_barrier_wait(&place);
        }
        return unused;
    }
    int main(void)
    {
        pthread_t other;

        pthread_barrier_init(&place, 0, 2);
        pthread_create(&other, 0, come, 0);
        puts("ready");
        fflush(stdout);
        pthread_barrier_wait(&place);
        puts("done");
        fflush(stdout);
        pthread_barrier_wait(&place);
        return 0;
    }
    """


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


def test_who_goes_on_is_not_said_to_stand(start, observe, tmp_path):
    """The first thread is at a barrier until the other one comes, at a line of input: what was is forgotten then,
    and the next barrier is one that the probes have seen."""
    (tmp_path / "meet.c").write_text(MEET)
    gaspbpf.compile_c(tmp_path / "meet.c", tmp_path / "meet", "-g", "-pthread")
    target = start(tmp_path / "meet")
    sleeps([target.pid])
    before, = json.loads(watched(target.pid, "-m", "pthread", "--json"))["processes"]
    assert before["all"] is None and before["in_before"]["event"] == "GASP_PTHREAD_BARRIER_WAIT"
    watcher = observe("top", "-p", target.pid, "--once", "-d", "10m", "-m", "pthread", "--json")
    target.stdin.write("\n")
    target.stdin.flush()
    assert target.stdout.readline().startswith("done")
    # The one at its next barrier, the other at its next line.
    sleeps([int(tid) for tid in os.listdir(f"/proc/{target.pid}/task")])
    status, out, errors = watcher.stop()
    assert status == 0, errors
    target.stdin.write("\n")
    target.stdin.flush()
    assert target.wait(timeout=gaspbpf.PATIENCE) == 0
    after, = json.loads(out)["processes"]
    assert after["all"]["calls"] and after["in_before"] is None
