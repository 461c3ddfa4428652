# SPDX-License-Identifier: BSD-2-Clause
"""Programs of the test's own that say 'ready', do their work at a line of input, and say 'done'."""
import json
import os
import subprocess

import pytest

import gaspbpf


@pytest.fixture
def start():
    running = []

    def begin(*command, env=None):
        running.append(subprocess.Popen([*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **(env or {})}))
        assert running[-1].stdout.readline() == "ready\n"
        return running[-1]

    yield begin
    for each in running:
        each.kill()
        each.communicate()


def observed(target, observe, *options):
    """What gaspbpf reports of all that the job does between two lines."""
    watcher = observe("-p", target.pid, *options, "--json")
    target.stdin.write("\n")
    target.stdin.flush()
    done = target.stdout.readline()
    assert done.startswith("done")
    status, out, errors = watcher.stop()
    assert status == 0, errors
    target.stdin.write("\n")
    target.stdin.flush()
    assert target.wait(timeout=gaspbpf.PATIENCE) == 0
    return json.loads(out), errors, done
