# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf watch: who has the token is told what the job does; nobody else is told anything, and nobody holds it up."""
import contextlib
import http.client
import json
import os
import re
import signal
import socket

import pytest

import gaspbpf
from gaspbpf import WORKLOADS, wait_for
from truth import by_name, calls_of

LATE = WORKLOADS / "late"
ROUNDS = 10


class Watch:
    def __init__(self, observe, *arguments):
        self.watcher = observe("watch", "--listen", "0", "-m", "pthread", *arguments, ready="open http")
        wait_for(lambda: self.watcher.has_said(b"token=") and self.watcher.errors.endswith(b"\n"), "the address")
        said = re.search(rb"open (http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32}))\n", self.watcher.errors)
        self.port, self.token = int(said[2]), said[3].decode()

    def ask(self, path="/", token=True, method="GET", body=None):
        """(status, headers, body)"""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=gaspbpf.PATIENCE)) as to:
            to.request(method, path + (f"?token={self.token}" if token is True else token or ""), body)
            answer = to.getresponse()
            return answer.status, answer.headers, answer.read()

    @contextlib.contextmanager
    def listening(self):
        """The messages of the stream, as they come."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=gaspbpf.PATIENCE)) as to:
            to.request("GET", f"/events?token={self.token}")
            answer = to.getresponse()
            assert (answer.status, answer.headers["Content-Type"]) == (200, "text/event-stream")
            yield messages(answer)


def messages(answer):
    for line in answer:
        if line != b"\n":
            assert line.startswith(b"data: "), line
            assert answer.readline() == b"\n"
            yield json.loads(line[len(b"data: "):])


@pytest.fixture
def waiting(job):
    return job([LATE, "--rounds", ROUNDS]).wait_ready()


def test_what_is_told_is_what_the_job_counted(waiting, observe, rung):
    watch = Watch(observe, "-i", "200ms", "-p", waiting.pids()[0])
    with watch.listening() as told:
        assert not next(told)["ended"]
        waiting.work()
        next(told)
        done = next(told)  # it was looked at after the work
        assert waiting.end() == 0
        last = [message for message in told][-1]  # the stream ends by itself
    status, _, errors = watch.watcher.finish()
    assert status == 0 and "all that was observed has ended" in errors
    assert (done["ended"], last["ended"]) == (False, True)
    threads = by_name(done)
    for thread in waiting.truths()[0]["threads"]:
        seen = threads[thread["name"]]["all"]
        assert seen["calls"] == calls_of(thread) - 1, "it is in its last barrier"
        assert sum(seen["group_ns"].values()) == seen["observed_ns"]
    assert last["loss"]["lost"] == 0
    # Its first thread joins the others, which the job does not count.
    assert last["processes"][0]["all"]["calls"] == last["loss"]["delivered"] > calls_of(waiting.truths()[0])


def test_what_threads_did_outlives_them(waiting, observe, rung):
    """Its threads have ended, two looks ago, when the job writes its truth, into a pipe that nobody reads yet."""
    truth = waiting.folder / "truth"
    os.mkfifo(truth)
    watch = Watch(observe, "-i", "200ms", "-p", waiting.pids()[0])
    with watch.listening() as told:
        waiting.work()
        (waiting.gate / "end").touch()
        alone = (message for message in told if len(message["threads"]) == 1)
        next(alone), next(alone)
        counted = json.loads(truth.read_text())["functions"]
        last = list(told)[-1]
    assert waiting.process.wait(timeout=gaspbpf.PATIENCE) == watch.watcher.finish()[0] == 0
    assert last["ended"] and last["loss"]["lost"] == 0
    process, = last["processes"]
    ended = {event["event"]: event["all"]["calls"] for event in process["ended_events"]}
    for name in "pthread_barrier_wait", "pthread_mutex_lock", "pthread_mutex_unlock":
        assert ended[f"GASP_{name.upper()}"] == counted[name]["calls"]
    living = sum(event["all"]["calls"] for thread in last["threads"] for event in thread["events"])
    assert sum(ended.values()) + living == process["all"]["calls"]
    meeting, = (one for one in last["meetings"] if one["event"] == "GASP_PTHREAD_BARRIER_WAIT")
    assert (meeting["members"], meeting["all"]["met"]) == (4, ROUNDS + 1)


def test_without_the_token_there_is_nothing(waiting, observe):
    watch = Watch(observe, "-p", waiting.pids()[0])
    wrong = f"{int(watch.token[0], 16) ^ 1:x}{watch.token[1:]}"
    for path in ("/", "/events", "/nothing"):
        for token in (None, "?token=", f"?token={wrong}", f"?token={watch.token}0", f"?other={watch.token}"):
            status, _, body = watch.ask(path, token)
            assert status == 403 and watch.token.encode() not in body and b"late" not in body
    assert watch.ask("/nothing")[0] == 404
    assert [watch.ask("/", method=method, body="x")[0] for method in ("POST", "PUT", "DELETE")] == [405] * 3
    status, headers, page = watch.ask()
    assert status == 200 and watch.token.encode() not in page and b"gaspbpf-live" in page
    assert headers["Cache-Control"] == "no-store" and headers["Referrer-Policy"] == "no-referrer"
    policy = re.search(rb'Content-Security-Policy" content="([^"]+)"', page)[1].decode().split("; ")
    assert "default-src 'none'" in policy and "connect-src 'self'" in policy


def test_readers_that_do_not_read_hold_nobody_up(waiting, observe):
    """They have streams, and never take a byte from them; the seventeenth is told that there are too many."""
    watch = Watch(observe, "-i", "200ms", "-p", waiting.pids()[0])
    with contextlib.ExitStack() as held:
        for _ in range(15):
            silent = held.enter_context(socket.create_connection(("127.0.0.1", watch.port), timeout=gaspbpf.PATIENCE))
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            silent.sendall(f"GET /events?token={watch.token} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert silent.recv(12, socket.MSG_PEEK) == b"HTTP/1.1 200"
        for _ in range(60):  # who has no token, and keeps connections, is no hindrance either
            held.enter_context(socket.create_connection(("127.0.0.1", watch.port), timeout=gaspbpf.PATIENCE))
        with watch.listening() as told:
            first, *others = [next(told)["now_ns"] for _ in range(10)]
            assert others == sorted(others) and others[0] > first
            assert watch.ask("/events")[0] == 503
            assert watch.ask()[0] == 200
    waiting.work()
    assert watch.watcher.stop()[0] == 0
    assert waiting.end() == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_its_end_ends_the_streams_and_leaves_the_job(waiting, observe, how):
    watch = Watch(observe, "-p", waiting.pids()[0])
    with watch.listening() as told:
        assert not next(told)["ended"]
        assert watch.watcher.stop(how)[0] == 0
        assert [message for message in told][-1]["ended"]
    waiting.work()
    assert waiting.end() == 0


def test_a_command(observe, tmp_path):
    """It is started, its output is its own, its status is what watch ends with."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    watch = Watch(observe, "--", "sh", "-c", f"read line < {fifo}; echo $line; exit 7")
    assert watch.ask()[0] == 200
    fifo.write_text("said\n")
    status, out, errors = watch.watcher.finish()
    assert (status, out) == (7, "said\n"), errors


def test_an_address_that_is_taken(waiting):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = gaspbpf.run("watch", "-m", "pthread", "-p", waiting.pids()[0], "--listen",
                           f"127.0.0.1:{taken.getsockname()[1]}")
    assert done.returncode == 1 and "choose another port" in done.stderr
    assert not gaspbpf.breakpoints(waiting.pids()[0])
