# SPDX-License-Identifier: BSD-2-Clause
"""What the server of metrics does with clients of all kinds, with names that no format likes, and with many ranks."""
import contextlib
import http.client
import re
import shutil
import socket
import subprocess
import threading

import pytest

import gaspbpf
import monitored
import monitoring
import prometheus_wire

RANKS = 64


@pytest.fixture
def monitor(observe):
    """Starts a monitor that probes only what a chosen process maps; returns the address of its metrics."""
    def start(*arguments, listen="0"):
        return monitored.url_of(observe("monitor", "-m", "shmem", "--lazy", "--listen", listen, "--max-overhead",
                                        "none", *arguments, ready="monitoring"))
    return start


@pytest.fixture
def runtime(tmp_path):
    runtime = monitoring.Runtime(tmp_path / "runtime", "rank")
    yield runtime
    runtime.kill()


def address(url):
    host, port = re.search(r"//\[?([^/\]]+)\]?:(\d+)/", url).groups()
    return host, int(port)


def ask(url, method="GET", headers=(), body=None):
    """(status, headers, body)"""
    with contextlib.closing(http.client.HTTPConnection(*address(url), timeout=gaspbpf.PATIENCE)) as connection:
        connection.request(method, "/metrics", body, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


# --- clients ---------------------------------------------------------------

def test_connections_that_are_held_keep_nobody_out(monitor):
    """Many clients that send a byte now and then and never end: others are answered at once, and the oldest are closed
    to make room."""
    url = monitor("--comm", "no-such-program-anywhere")
    held, stop = [], threading.Event()
    for _ in range(200):  # who has gone takes no room
        socket.create_connection(address(url), timeout=gaspbpf.PATIENCE).close()
    assert "gaspbpf_processes" in monitored.scrape(url)

    def drip():
        while not stop.wait(0.3):
            for each in held:
                with contextlib.suppress(OSError):
                    each.send(b"x")
    thread = threading.Thread(target=drip)
    thread.start()
    try:
        for _ in range(150):
            held.append(socket.create_connection(address(url), timeout=gaspbpf.PATIENCE))
            held[-1].sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\nX: ")
        assert "gaspbpf_processes" in monitored.scrape(url)

        def closed(each):
            try:
                return each.recv(1, socket.MSG_DONTWAIT) == b""
            except BlockingIOError:
                return False
            except OSError:
                return True
        gaspbpf.wait_for(lambda: all(closed(each) for each in held[:100]), "the oldest to be closed")
        assert "gaspbpf_processes" in monitored.scrape(url)
    finally:
        stop.set()
        thread.join()
        for each in held:
            each.close()
    assert "gaspbpf_processes" in monitored.scrape(url)


def test_methods_headers_and_sizes(monitor):
    """What RFC 9110 asks for, and requests that are larger than any that a scraper makes."""
    url = monitor("--comm", "no-such-program-anywhere")
    for accept, kind in [(None, "text/plain; version=0.0.4"),
                         (monitored.OPENMETRICS, "application/openmetrics-text; version=1.0.0"),
                         (monitored.PROTOBUF, "application/vnd.google.protobuf; "
                          "proto=io.prometheus.client.MetricFamily; encoding=delimited")]:
        headers = {"Accept": accept, "Accept-Encoding": "gzip"} if accept else {}
        for method in "GET", "HEAD":
            status, got, body = ask(url, method, headers)
            assert status == 200 and got["Content-Type"].startswith(kind) and got["Vary"] == "Accept" \
                and got["Content-Encoding"] is None
            assert int(got["Content-Length"]) > 1000
            assert len(body) == (int(got["Content-Length"]) if method == "GET" else 0)
    for method in "POST", "PUT", "DELETE", "OPTIONS", "NONSENSE":
        status, got, body = ask(url, method, body=b"x" * 100000 if method in ("POST", "PUT") else None)
        assert (status, got["Allow"]) == (405, "GET, HEAD")
    for headers in {"X-Large": "a" * 1000000}, {f"X-{i}": "a" * 100 for i in range(90)} | {"Y": "b" * 60000}:
        with contextlib.suppress(OSError, http.client.HTTPException):  # closed while it was sending is an answer, too
            assert 400 <= ask(url, headers=headers)[0] < 500
        assert ask(url)[0] == 200
    assert ask(url, headers={"Accept": ",".join(["application/openmetrics-text;q=0.1"] * 200)})[1][
        "Content-Type"].startswith("application/openmetrics-text")


def test_an_ipv6_address(monitor):
    with socket.socket(socket.AF_INET6) as there:
        try:
            there.bind(("::1", 0))
        except OSError:
            pytest.skip("no IPv6 here")
    url = monitor("--comm", "no-such-program-anywhere", listen="[::1]:0")
    assert re.fullmatch(r"http://\[::1\]:\d+/metrics", url)
    assert "gaspbpf_processes" in monitored.scrape(url)


def test_two_monitors_cannot_have_one_port(monitor):
    url = monitor("--comm", "no-such-program-anywhere")
    host, port = address(url)
    result = gaspbpf.run("monitor", "--comm", "no-such-program-anywhere", "-m", "shmem", "--lazy", "--listen", port,
                         "-d", "1ms")
    assert result.returncode == 1
    assert result.stderr == (f"gaspbpf: --listen {port}: Address already in use: another gaspbpf, or something else, "
                             "listens there: choose another port\n")
    assert "gaspbpf_processes" in monitored.scrape(url)


# --- names -----------------------------------------------------------------

def test_names_that_no_format_likes(runtime, monitor, tmp_path):
    """A program whose name has a newline, a quote, a backslash, a brace, and bytes that are no UTF-8, in each of the
    three forms."""
    name = b'a"b\\c\nd}\xff,e="1'  # 15 bytes, as many as a comm has
    program = bytes(runtime.folder) + b"/" + name
    shutil.copy(runtime.program, program)
    gate = tmp_path / "gate"
    gate.mkdir()
    runtime.running.append(subprocess.Popen([program, b"--gate", bytes(gate), b"3", b"5"]))
    job = runtime.running[-1]
    url = monitor("-p", job.pid)
    gaspbpf.wait_for(lambda: (gate / f"ready.{job.pid}").exists(), "the job at its gate")
    (gate / "go").touch()
    gaspbpf.wait_for(lambda: (gate / f"done.{job.pid}").exists(), "the job to work")

    shown = 'a"b\\c\\x0ad}\\xff,e="1'
    samples = monitored.scrape_anew(url)
    assert {(labels["comm"], labels["event"]): value for labels, value in samples["gaspbpf_process_calls_total"]} == {
        (shown, "GASP_SHMEM_BARRIER_ALL"): 3, (shown, "GASP_SHMEM_PUT"): 5}
    wire = prometheus_wire.families(monitored.get(url, monitored.PROTOBUF)[1])
    assert prometheus_wire.row(wire, "gaspbpf_process_calls_total", comm=shown, event="GASP_SHMEM_PUT")["value"] == 5
    kind, text = monitored.get(url, "text/plain")
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                             timeout=gaspbpf.PATIENCE)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


# --- many ------------------------------------------------------------------

def test_many_ranks_and_many_scrapers(runtime, monitor, tmp_path):
    """64 ranks at work while several scrapers ask all the time: each answer is whole, none goes back, and the last has
    every call of every rank."""
    gate = tmp_path / "gate"
    gate.mkdir()
    jobs = [runtime.start(200 + rank, 100 + rank, gate=gate, env={"OMPI_COMM_WORLD_RANK": str(rank)})
            for rank in range(RANKS)]
    gaspbpf.wait_for(lambda: len(list(gate.glob("ready.*"))) == RANKS, "the ranks at their gate")
    url = monitor("-p", ",".join(str(job.pid) for job in jobs))
    stop, wrong = threading.Event(), []

    def scrape_on():
        before = 0
        try:
            while not stop.is_set():
                now = sum(monitored.total(monitored.scrape(url), "gaspbpf_event_calls_total", "event").values())
                assert now >= before, "a counter went back"
                before = now
        except Exception as error:  # told by the test itself
            wrong.append(error)
    scrapers = [threading.Thread(target=scrape_on) for _ in range(4)]
    for each in scrapers:
        each.start()
    (gate / "go").touch()
    gaspbpf.wait_for(lambda: len(list(gate.glob("done.*"))) == RANKS, "the ranks to work")
    stop.set()
    for each in scrapers:
        each.join()
    assert not wrong

    samples = monitored.scrape_anew(url)
    calls = {(int(labels["rank"]), labels["event"]): value for labels, value in samples["gaspbpf_process_calls_total"]}
    assert calls == {(rank, event): count + rank for rank in range(RANKS)
                     for event, count in [("GASP_SHMEM_BARRIER_ALL", 200), ("GASP_SHMEM_PUT", 100)]}
    moved = {int(labels["rank"]): value for labels, value in samples["gaspbpf_process_bytes_total"]}
    assert moved == {rank: sum(range(1, 101 + rank)) for rank in range(RANKS)}
    # As docs/metrics.md has it: 13 series an event of a process, 23 where it moves data; of text, native histograms are
    # not a part.
    series = sum(len(rows) for name, rows in samples.items() if name.startswith("gaspbpf_process_"))
    assert series <= samples["gaspbpf_series_reserved"][0][1] == RANKS * (13 + 23)
    assert samples["gaspbpf_series_overflow_rows"][0][1] == 0
    wire = prometheus_wire.families(monitored.get(url, monitored.PROTOBUF)[1])
    assert {(int(labels["rank"]), labels["event"]): row["value"]
            for labels, row in wire["gaspbpf_process_calls_total"][1]} == calls
