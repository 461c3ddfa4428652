# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf job where nodes do not see the folder: they send their recordings. The nodes are none: an ssh that runs
commands here, with another folder in the place of the shared one."""
import json
import os
import signal

import pytest

import clusters
import gaspbpf
import nodes

NAMES = ["collected1", "collected2"]

SSH = """#!/bin/sh
while :; do
    case $1 in
    -o) shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
export SLURMD_NODENAME="$1" TMPDIR=OWN
shift
exec unshare --mount sh -c 'mount -t tmpfs none "$1" && exec sh -c "$2"' sh HIDDEN "$*"
"""


@pytest.fixture
def running(job, tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "own").mkdir()
    ssh = SSH.replace("HIDDEN", str(tmp_path / "shared")).replace("OWN", str(tmp_path / "own"))
    return nodes.threads_on(job, tmp_path, NAMES, ssh)


def start(observe, running, tmp_path, *options):
    observer = observe("job", "--hosts", ",".join(NAMES), "--by", "ssh", "-o", tmp_path / "shared" / "run.gasp",
                       *options,
                       "--", "--comm", nodes.THREADS, "-m", "pthread", env=running[1])
    gaspbpf.wait_for(lambda: sum(each.stat().st_size > 0 for each in tmp_path.glob("own/*/*.gasp")) == len(NAMES),
                     "all to begin")
    return observer


def calls_of(job):
    assert job.end() == 0
    functions = job.truths()[0]["functions"].items()
    return sum(function["calls"] for name, function in functions if name.startswith("pthread_"))


def by_node(recording):
    report = json.loads(gaspbpf.run("report", "--json", recording).stdout)
    return {node["host"]: node for node in report["nodes"]}, report


@pytest.mark.parametrize("options", [[], ["--collect"]], ids=["not seen", "asked for"])
def test_recordings_come_from_nodes_that_do_not_see_the_folder(running, observe, tmp_path, options):
    """Every call of each job is in the result."""
    observer = start(observe, running, tmp_path, *options)
    for work in running[0].values():
        work.work()
    status, _, errors = observer.stop()
    assert status == 0, errors
    assert ("shared/run.gasp.nodes is not here" in errors) == (not options)
    told, report = by_node(tmp_path / "shared" / "run.gasp")
    assert sorted(told) == sorted(NAMES) and not any(node["cut"] for node in told.values())
    assert report["loss"]["calls"] == sum(calls_of(work) for work in running[0].values())
    assert os.listdir(tmp_path / "shared") == ["run.gasp"] and os.listdir(tmp_path / "own") == []


def test_orders_that_a_node_does_not_see_in_the_folder(job, observe, tmp_path):
    """A network file system may show it what was there before; so they come by what has started it, too. Recordings
    come into the folder."""
    for name in ("shared", "own"):
        (tmp_path / name).mkdir()
    (tmp_path / "own" / "before").write_text("")
    orders = tmp_path / "shared" / "run.gasp.nodes" / "orders"
    ssh = SSH.replace('mount -t tmpfs none "$1"', 'mount --bind OWN/before "$1"').replace("HIDDEN", str(orders))
    jobs, environment = nodes.threads_on(job, tmp_path, NAMES, ssh.replace("OWN", str(tmp_path / "own")))
    output = tmp_path / "shared" / "run.gasp"
    observer = observe("job", "--hosts", ",".join(NAMES), "--by", "ssh", "-o", output, "--patience", "5s", "--",
                       "--comm", nodes.THREADS, "-m", "pthread", env=environment)
    gaspbpf.wait_for(lambda: sum(each.stat().st_size > 0 for each in tmp_path.glob("shared/*/*.gasp")) == len(NAMES),
                     "all to begin")
    for work in jobs.values():
        work.work()
    status, _, errors = observer.stop()
    assert status == 0 and "is cut" not in errors and "not in the result" not in errors, errors
    assert by_node(output)[1]["loss"]["calls"] == sum(calls_of(work) for work in jobs.values())


def test_nothing_is_left_on_a_node_where_it_is_killed(running, observe, tmp_path):
    """Nor is the node in the result; it is named."""
    observer = start(observe, running, tmp_path, "--patience", "5s")
    found = [pid for pid, line in clusters.processes(SLURMD_NODENAME=NAMES[0]).items()
             if line.startswith(f"{gaspbpf.PROGRAM} record --part-of")]
    os.kill(min(found), signal.SIGKILL)
    for work in running[0].values():
        work.work()
    status, _, errors = observer.stop()
    assert status == 0 and "gaspbpf: collected1: it is not in the result: Killed" in errors, errors
    assert list(by_node(tmp_path / "shared" / "run.gasp")[0]) == ["collected2"]
    gaspbpf.wait_for(lambda: not os.listdir(tmp_path / "own"), "the nodes' own folders to be gone")
