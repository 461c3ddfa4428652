# SPDX-License-Identifier: BSD-2-Clause
"""Ranks that a launcher starts while gaspbpf is on its way to it, or later: none is missed, whether there were some
already or not.

The launcher starts one after the other. When the first ones come gaspbpf has looked for ranks, and its kernel side does
not tell of forks yet.
"""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

import gaspbpf
import remains
from terminal import children

MODEL = """
model    calls
language CALLS
library  libcalls.so*
rank     env TEST_RANK
STEP     function  leaf  void calls_step(int number)
"""
MEANWHILE, LATER = 20, 3  # at most so many before gaspbpf says that it observes; and so many when it does
LAUNCHER = f"""
start() {{
    TEST_RANK=$n FOLLOW_GATE=$PWD/gate$n runtime/step 20 &
    until [ -e gate$n.ready ]; do sleep 0.01; done
    n=$((n + 1))
}}
n=0
until [ -e begin ]; do sleep 0.01; done
while [ ! -e observed ] && [ $n -lt {MEANWHILE} ]; do start; sleep 0.05; done
until [ -e observed ]; do sleep 0.01; done
for i in $(seq {LATER}); do start; done
echo $n >started
wait
"""


class Launcher:
    def __init__(self, folder):
        self.folder = folder
        shutil.copytree(gaspbpf.WORKLOADS / "follow", folder / "runtime")
        (folder / "calls.model").write_text(MODEL)
        (folder / "launch").write_text(LAUNCHER)
        self.process = subprocess.Popen(["sh", str(folder / "launch")], cwd=folder, start_new_session=True,
                                        env={**os.environ, "LD_LIBRARY_PATH": str(folder / "runtime"),
                                             "FOLLOW_TRUTH": str(folder / "truth")})

    def there(self, name):
        return (self.folder / name).exists()

    def touch(self, name):
        (self.folder / name).touch()

    def wait_for(self, name):
        gaspbpf.wait_for(lambda: self.there(name), name)

    def number(self):
        """How many it has started, when it is done with that."""
        gaspbpf.wait_for(lambda: self.there("started") and (self.folder / "started").read_text(),
                         "the launcher to have started its ranks")
        return int((self.folder / "started").read_text())

    def ranks(self):
        """Their pids."""
        return [pid for pid in children(self.process.pid) if comm(pid) == "step"]


def comm(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except FileNotFoundError:
        return None


@pytest.fixture
def launcher(tmp_path):
    started = Launcher(tmp_path)
    yield started
    gaspbpf.kill_group(started.process)


@pytest.mark.parametrize("command, scope, some", [("record", "process", False), ("record", "file", True),
                                                  ("top", "auto", False), ("top", "auto", True)])
def test_none_is_missed(launcher, observe, command, scope, some):
    if some:
        launcher.touch("begin")
        launcher.wait_for("gate0.ready")
    options = ["--json"] if command == "record" else ["--json", "--once", "-d", "10m"]
    watcher = observe(command, "--model-file", launcher.folder / "calls.model", "--scope", scope, *options, "-p",
                      launcher.process.pid, ready=None)
    gaspbpf.wait_for(lambda: remains.held_by(watcher.process.pid) or watcher.has_said(b"observing"),
                     "the kernel side to be loaded")
    launcher.touch("begin")
    gaspbpf.wait_for(lambda: watcher.has_said(b"observing"), "gaspbpf to say 'observing'")
    launcher.touch("observed")
    number, ranks = launcher.number(), launcher.ranks()
    assert len(ranks) == number
    probed = remains.places(ranks[0], "--model-file", launcher.folder / "calls.model", "-m", "calls")
    gaspbpf.wait_for(lambda: all(remains.patched(pid, probed) for pid in ranks), "all ranks to have their probes")
    for what in "go", "done", "end":
        for i in range(number):
            launcher.touch(f"gate{i}.{what}") if what != "done" else launcher.wait_for(f"gate{i}.{what}")
    status, out, errors = watcher.finish() if some else watcher.stop()
    assert status == 0, errors
    told = json.loads(out)
    if command == "record":
        pid_of = {thread["tid"]: (thread["pid"], thread["rank"]) for thread in told["threads"]}
        seen = {pid_of[row["tid"]]: row["calls"] for row in told["by_thread"] if row["name"] == "GASP_CALLS_STEP"}
    else:
        seen = {(process["pid"], process["rank"]): sum(event["all"]["calls"] for thread in told["threads"]
                                                       if thread["pid"] == process["pid"]
                                                       for event in thread["events"]
                                                       if event["event"] == "GASP_CALLS_STEP")
                for process in told["processes"] if process["rank"] is not None}
    truth = {int(pid): int(calls)
             for pid, calls in map(str.split, (launcher.folder / "truth").read_text().splitlines())}
    assert sorted(rank for _, rank in seen) == list(range(number))
    # One call comes before the gate: those that were seen from their start made one more.
    assert {pid: calls - (calls > truth[pid]) for (pid, _), calls in seen.items()} == truth
    # A launcher stands for its ranks, whether it had some already or not; and there is no model that has joined for
    # want of another.
    assert launcher.process.pid not in {thread["pid"] for thread in told["threads"]}
    if command == "record":
        assert {row["model"] for row in told["events"]} == {"calls"}
    if command == "top":
        assert len(told["processes"]) == number, "nor is what it starts besides"
