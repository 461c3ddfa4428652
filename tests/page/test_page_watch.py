# SPDX-License-Identifier: BSD-2-Clause
"""The page of gaspbpf watch in real browsers: the figures of a job while it runs, and its last ones."""
import json
import re
import shutil
import subprocess

import pytest

import gaspbpf
from gaspbpf import WORKLOADS, wait_for

LIVE = gaspbpf.TOP / "tests" / "page" / "live.mjs"
ROUNDS = 10


@pytest.mark.parametrize("browser, program", [("chrome", "chromium"), ("firefox", "firefox-esr")])
def test_a_job_while_it_runs(job, observe, browser, program):
    for needed in "node", program:
        if not shutil.which(needed):
            pytest.skip(f"{needed} is not installed")
    work = job([WORKLOADS / "late", "--rounds", ROUNDS]).wait_ready()
    watcher = observe("watch", "--listen", "0", "-i", "200ms", "-m", "pthread", "-p", work.pids()[0], ready="open http")
    wait_for(lambda: b"token=" in watcher.errors and watcher.errors.endswith(b"\n") or watcher.has_said(b"\n\n"), "it")
    url = re.search(rb"http://\S+", watcher.errors)[0].decode()
    with subprocess.Popen(["node", LIVE, browser, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as looking:
        try:
            assert looking.stdout.readline() == "ready\n", looking.stderr.read()
            work.work()
            assert work.end() == 0
            out, errors = looking.communicate("\n", timeout=gaspbpf.PATIENCE)
        finally:
            looking.kill()
    assert looking.returncode == 0, errors
    seen = json.loads(out)
    assert seen["errors"] == [] and seen["foreign"] == "TypeError", "it may ask nobody else"
    own = url.partition("?")[0]
    assert [one for one in seen["requests"] if not one.startswith(own)] in ([], ["http://127.0.0.1:1/"])
    assert "runs" in seen["live"]["head"] and "has ended" in seen["ended"]["head"] and "ended" in seen["status"]
    assert "none lost" in seen["ended"]["head"]
    events = {row[0]: row for row in seen["ended"]["events"]}
    assert "GASP_PTHREAD_BARRIER_WAIT" in events, seen
    counted = work.truths()[0]["functions"]["pthread_barrier_wait"]["calls"]
    assert int(events["GASP_PTHREAD_BARRIER_WAIT"][1]) == counted
    meeting, = (row for row in seen["ended"]["meetings"] if row[0] == "GASP_PTHREAD_BARRIER_WAIT")
    assert meeting[1:3] == ["4", str(ROUNDS + 1)]
    assert "team-2" in meeting[4]
