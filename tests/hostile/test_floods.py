# SPDX-License-Identifier: BSD-2-Clause
"""Requests without end, of anybody on the machine: to the port of the metrics, and to the control socket. Others are
answered meanwhile."""
import json
import os
import re
import signal
import sys

import pytest

import beside
import gaspbpf
import monitored

# Connections of which none is closed, as many as a process may have, and then others in their place, without a pause.
CONNECTIONS = """
import itertools, random, resource, socket, sys
most = min(1000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 20)
texts = [b"", b"G", b"GET /metrics HTTP/1.1\\r\\n", b"POST / HTTP/1.1\\r\\nContent-Length: 99999999999\\r\\n\\r\\n", b"\\0\\xff" * 9000, b"GET /metrics HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n"]
held = []
for number in itertools.count():
    one = socket.socket()
    one.settimeout(0.05)
    try:
        one.connect(("127.0.0.1", int(sys.argv[1])))
        one.send(random.choice(texts))
    except OSError:
        pass
    held.append(one)
    if len(held) >= most:
        held.pop(random.randrange(len(held))).close()
    if number == 200:
        print("at work", flush=True)
"""
# Words to the control socket that are none, or about processes of others; with descriptors; from sockets that nobody
# reads.
WORDS = """
import array, itertools, os, random, socket, sys
path, pid = sys.argv[1:]
texts = [b"", b"\\0" * 4096, b"x" * 100000, b"1 dump", b"1 off", b"-1 off", b"99999999999999999999 on", (pid + " off").encode(), (pid + " dump").encode(),
         (pid + " off and on").encode(), b"%s%n%d dump", os.urandom(300)]
sockets = []
for n in range(20):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.setblocking(False)
    if n % 2:
        one.bind("")
    sockets.append(one)
held = array.array("i", [0] * 100)
for number in itertools.count():
    one = random.choice(sockets)
    try:
        one.sendmsg([random.choice(texts)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, held)] if number % 3 == 0 else [], 0, path)
    except OSError:
        pass
    if number == 1000:
        print("at work", flush=True)
"""


@pytest.fixture(name="flood")
def flooding():
    """Starts one, and waits until it is at work."""
    running = []

    def start(text, *arguments):
        running.append(beside.running(sys.executable, "-c", text, *map(str, arguments), stdout=-1, cwd="/"))
        process = running[-1].__enter__()
        assert process.stdout.readline() == b"at work\n"
        return process
    yield start
    for each in running:
        each.__exit__(None, None, None)


def test_connections(flood, monitors, runtime, tmp_path):
    m = beside.Monitor(monitors, runtime, tmp_path)
    floods = [flood(CONNECTIONS, re.search(r":(\d+)/", m.url)[1]) for _ in range(2)]
    for _ in range(5):
        assert "gaspbpf_processes" in monitored.scrape_anew(m.url)
    m.an_honest_job_is_exact()
    m.ends_well()
    assert all(each.poll() is None for each in floods)


def test_words_to_the_control_socket(own_run, flood, job, observe):
    """The owner is obeyed, nobody else is; no call is lost, no descriptor is kept; and it ends."""
    target = job([gaspbpf.WORKLOADS / "threads"]).wait_ready()
    pid = target.pids()[0]
    watcher = observe("-p", pid, "-m", "pthread", "--json", "--ring-size", "64m")
    socket = f"/run/gaspbpf/{watcher.process.pid}.sock"
    assert os.path.exists(socket)
    descriptors = f"/proc/{watcher.process.pid}/fd"
    before = len(os.listdir(descriptors))
    floods = [flood(WORDS, socket, pid) for _ in range(2)]
    # each asks for ten seconds; who loses all the races for a place in the queue is told to try again
    for word in "off", "on":
        asked = [gaspbpf.run("control", "-p", pid, word)]
        while asked[-1].returncode and len(asked) < 3:
            asked.append(gaspbpf.run("control", "-p", pid, word))
        assert f"measurement is {word}" in asked[-1].stdout, asked
    target.work()
    assert len(os.listdir(descriptors)) <= before + 2
    assert all(each.poll() is None for each in floods)
    status, out, errors = watcher.stop(signal.SIGTERM)
    assert status == 0, errors
    assert target.end() == 0
    report = json.loads(out)
    assert [(row["last"], row["by"]) for row in report["controls"]] == [(1, "gaspbpf control")]
    told, counted = target.truths()[0]["functions"], gaspbpf.events(report)
    assert counted["GASP_PTHREAD_MUTEX_LOCK"]["calls"] == told["pthread_mutex_lock"]["calls"]
