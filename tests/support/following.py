# SPDX-License-Identifier: BSD-2-Clause
"""What the tests share that follow children and other programs: the jobs of tests/workloads/follow, their runtime, and
what they count."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

import gaspbpf

FOLLOW = gaspbpf.WORKLOADS / "follow"
MODEL = """
model    calls
language CALLS
library  libcalls.so*
STEP     function  leaf  void calls_step(int number)
"""


@pytest.fixture
def runtime(tmp_path):
    """A runtime that only LD_LIBRARY_PATH leads to, in a private copy: the options that describe it, and the
    environment."""
    folder = tmp_path / "runtime"
    folder.mkdir()
    for file in FOLLOW.iterdir():
        shutil.copy(file, folder)
    (tmp_path / "calls.model").write_text(MODEL)

    class Runtime:
        path = folder
        options = ["--model-file", tmp_path / "calls.model"]
        truth_file = tmp_path / "calls.truth"
        env = {"LD_LIBRARY_PATH": str(folder), "FOLLOW_TRUTH": str(truth_file)}

        def counted(self):
            """Calls by process."""
            calls = {}
            for line in self.truth_file.read_text().splitlines():
                pid, number = map(int, line.split())
                calls[pid] = calls.get(pid, 0) + number
            return calls

    return Runtime()


def json_of(result):
    assert "{\n" in result.stdout, result.stderr
    return json.loads(result.stdout[result.stdout.index("{\n"):])


def calls_by_process(report, event="GASP_CALLS_STEP"):
    pid_of = {thread["tid"]: thread["pid"] for thread in report["threads"]}
    calls = {}
    for row in report["by_thread"]:
        if row["name"] == event:
            calls[pid_of[row["tid"]]] = calls.get(pid_of[row["tid"]], 0) + row["calls"]
    return calls


def alone(command, env):
    result = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=gaspbpf.PATIENCE,
                            env={**os.environ, **env})
    return result.stdout, result.returncode


class Gated:
    """A `step` at its gate, started by some command line."""

    def __init__(self, runtime, command, gate, folder=None):
        self.gate = gate
        self.process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        start_new_session=True,
                                        env={**os.environ, **runtime.env, "FOLLOW_GATE": str(folder or gate)})
        gaspbpf.wait_for(lambda: self.there("ready"), "the job to reach its gate")

    def there(self, what):
        return pathlib.Path(f"{self.gate}.{what}").exists()

    def work(self):
        pathlib.Path(f"{self.gate}.go").touch()
        gaspbpf.wait_for(lambda: self.there("done"), "the job to do its work")

    def end(self):
        pathlib.Path(f"{self.gate}.end").touch()
        self.process.wait(timeout=gaspbpf.PATIENCE)
        return self.process.returncode

    def kill(self):
        gaspbpf.kill_group(self.process)


@pytest.fixture
def gated(runtime, tmp_path):
    started = []

    def start(command, folder=None):
        started.append(Gated(runtime, command, tmp_path / f"gate{len(started)}", folder))
        return started[-1]

    yield start
    for each in started:
        each.kill()
