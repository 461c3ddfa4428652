# SPDX-License-Identifier: BSD-2-Clause
"""Metrics over HTTP: against the job's own counts, in every form, and as a real Prometheus takes them."""
import json
import re
import socket
import subprocess
import urllib.error
import urllib.request

import pytest

import gaspbpf
import monitored
import truth

pytestmark = pytest.mark.alone  # the runtimes of all of the machine are probed

EXAMPLES = monitored.EXAMPLES
RANKS = 3
RING = ["mpirun.openmpi", "-n", str(RANKS)]


@pytest.fixture
def ring(job, tmp_path):
    """An MPI job at its gate, with a library that counts its calls."""
    line = [*RING, *truth.counting("libcount_mpi_openmpi.so", tmp_path), gaspbpf.WORKLOADS / "mpi_job_openmpi",
            "--rounds", "5", "--warmup", "1", "--after", "1"]
    return job(line, ranks=RANKS, env=truth.ENVIRONMENT).wait_ready()


@pytest.fixture
def monitor(observe):
    """Starts a monitor; returns the address of its metrics."""
    def start(*arguments):
        return monitored.url_of(observe("monitor", "--listen", "0", "--max-overhead", "none", *arguments,
                                        ready="monitoring"))
    return start


def counted_calls(folder):
    """The counting library's calls by event."""
    tables = truth.windows(folder, "mpi")
    assert len(tables) == RANKS
    sums = truth.by_event(tables, lambda function: f"GASP_{function.upper()}" if function.startswith("MPI_") else None)
    return {event: counts["calls"] for event, counts in sums.items() if counts["calls"]}


def mpi(sums):
    return {event: value for event, value in sums.items() if event and event.startswith("GASP_MPI_")}


def test_figures_are_those_of_the_job(ring, monitor, tmp_path):
    """Calls of each event, of the machine and added up over the ranks, in each form of text; each rank by its
    number."""
    url = monitor("-p", ring.process.pid, "-m", "mpi")
    ring.work()
    alive = monitored.scrape_anew(url)
    rank_of = {int(labels["pid"]): int(labels["rank"]) for labels, value in alive["gaspbpf_process_calls_total"]}
    assert rank_of == {pid: rank for rank, pid in enumerate(ring.pids())}
    assert {labels["comm"] for labels, value in alive["gaspbpf_process_calls_total"]} == {"mpi_job_openmpi"}
    assert ring.end() == 0, ring.output()

    counted = counted_calls(tmp_path)
    seen = mpi(monitored.total(alive, "gaspbpf_process_calls_total", "event"))
    assert seen == counted
    assert mpi(monitored.total(alive, "gaspbpf_event_calls_total", "event")) == counted
    for kind in "event", "process":
        assert mpi(monitored.total(alive, f"gaspbpf_{kind}_duration_seconds_count", "event")) == counted
        assert mpi(monitored.total(alive, f"gaspbpf_{kind}_duration_seconds_bucket", "event", le="+Inf")) == counted
    bytes_sent = monitored.total(alive, "gaspbpf_event_bytes_total", "event")["GASP_MPI_SEND"]
    own = truth.by_event(truth.functions(ring), lambda function: f"GASP_{function.upper()}"
                         if function == "MPI_Send" else None)
    assert bytes_sent == own["GASP_MPI_SEND"]["bytes"]
    assert monitored.total(alive, "gaspbpf_event_size_bytes_sum", "event")["GASP_MPI_SEND"] == bytes_sent

    # The ranks have gone; what they did stays, with what they did at their end.
    def gone():
        samples = monitored.scrape_anew(url)
        return samples if samples["gaspbpf_processes"][0][1] == 0 else None
    after = gaspbpf.wait_for(gone, "the ranks to be let go")
    left = mpi(monitored.total(after, "gaspbpf_event_calls_total", "event"))
    assert all(left[event] >= calls for event, calls in counted.items())
    assert left["GASP_MPI_FINALIZE"] == RANKS
    assert monitored.total(after, "gaspbpf_process_calls_total", "rank", event="GASP_MPI_FINALIZE") == {
        str(rank): 1 for rank in range(RANKS)}
    assert mpi(monitored.total(after, "gaspbpf_process_calls_total", "event")) == left

    kind, text = monitored.get(url, "text/plain;version=0.0.4")
    assert kind.startswith("text/plain; version=0.0.4")
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                             timeout=gaspbpf.PATIENCE)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


def test_a_limit_of_series_is_kept_and_told(ring, monitor, tmp_path):
    """With room for a few rows, the others' calls are in the overflow series: nothing is missing from the sum."""
    url = monitor("-p", ring.process.pid, "-m", "mpi", "--max-series", "60")
    ring.work()
    samples = monitored.scrape(url)
    series = sum(len(rows) for name, rows in samples.items() if name.startswith("gaspbpf_process_")
                 for rows in [[1 for labels, _ in rows if "overflow" not in labels]])
    assert 0 < series <= 60
    assert samples["gaspbpf_series_limit"][0][1] == 60
    assert samples["gaspbpf_series_overflow_rows"][0][1] > 0
    assert ring.end() == 0, ring.output()
    assert mpi(monitored.total(samples, "gaspbpf_process_calls_total", "event")) == counted_calls(tmp_path)
    assert sum(monitored.total(samples, "gaspbpf_process_calls_total", "event", overflow="true").values()) > 0


# --- HTTP ------------------------------------------------------------------

def status_of(url, method="GET"):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=gaspbpf.PATIENCE) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_nobody_can_keep_the_server_waiting(monitor):
    """Clients that say nothing, nonsense, or never end, and requests for what is not there, beside one that is
    answered."""
    url = monitor("--comm", "no-such-program-anywhere", "-m", "upc")
    port = int(re.search(r":(\d+)/", url)[1])
    talk = [b"", b"GET /metrics HTTP/1.1\r\nHost:", b"\xff\x00\r\n\r\n" * 100,
            b"POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx"]
    silent = []
    for words in talk:
        silent.append(socket.create_connection(("127.0.0.1", port)))
        silent[-1].sendall(words)
    assert "gaspbpf_processes" in monitored.scrape(url)
    assert [status_of(url, method) for method in ("HEAD", "POST", "DELETE")] == [200, 405, 405]
    assert [status_of(url.replace("/metrics", path)) for path in ("/", "/metrics/../etc/passwd", "/nothing")] == [
        200, 404, 404]
    kind, message = monitored.get(url, monitored.PROTOBUF)
    assert kind.startswith("application/vnd.google.protobuf") and message[1:21] == b"\x0a\x12gaspbpf_build_info"
    for each in silent:
        each.close()


@pytest.mark.parametrize("listen, said", [
    ("nonsense", "not an address"), ("1:2:3", "not an address"), ("127.0.0.1:65536", "not an address"),
    ("127.0.0.1:", "not an address"), ("[::1", "not an address"), ("192.0.2.7:0", "use an address of this machine"),
])
def test_addresses_that_are_none(listen, said):
    result = gaspbpf.run("monitor", "--comm", "no-such-program-anywhere", "-m", "upc", "--listen", listen, "-d", "1ms")
    assert result.returncode == 1
    assert f"--listen {listen}: " in result.stderr and said in result.stderr


# --- Prometheus ------------------------------------------------------------

def test_examples_are_what_promtool_takes(tmp_path):
    """The configuration, the rules, and the rules' own tests."""
    for command in ["config", "prometheus.yml"], ["rules", "gaspbpf.rules.yml"]:
        subprocess.run(["promtool", "check", *command], cwd=EXAMPLES, check=True, capture_output=True,
                       timeout=gaspbpf.PATIENCE)
    subprocess.run(["promtool", "test", "rules", "gaspbpf.rules.test.yml"], cwd=EXAMPLES, check=True,
                   capture_output=True, timeout=gaspbpf.PATIENCE)
    tested = set(re.findall(r"alertname: (\w+)", (EXAMPLES / "gaspbpf.rules.test.yml").read_text()))
    assert tested == set(re.findall(r"alert: (\w+)", (EXAMPLES / "gaspbpf.rules.yml").read_text()))


def test_questions_over_nodes_are_those_that_promtool_asks():
    """What comes of each of them stands in the rules' tests."""
    asked = re.findall(r"expr: '(.*)'", (EXAMPLES / "gaspbpf.rules.test.yml").read_text())
    assert documented_queries("A job on many nodes") == asked


def dashboard_queries():
    """Every query of the dashboard, with its variables as Grafana fills them in."""
    dashboard = json.loads((EXAMPLES / "grafana-dashboard.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield re.sub(r"\$__(rate_interval|range)", "5m",
                         target["expr"]).replace("$instance", ".*").replace("$job", ".*")


def documented_queries(section="Questions"):
    """The questions of docs/metrics.md; behind each stands what it asks."""
    text = (gaspbpf.TOP / "docs" / "metrics.md").read_text().split(f"## {section}\n")[1].split("\n## ")[0]
    return [re.split(r" {3,}", line.strip())[0] for line in text.splitlines() if line.startswith("    ")]


@pytest.fixture
def prometheus(tmp_path):
    with monitored.prometheus(tmp_path / "prometheus") as start:
        yield start


def test_prometheus_takes_all_of_it(ring, monitor, prometheus, tmp_path):
    """A real server scrapes protocol buffers with native histograms; its figures are the job's, and every query of the
    dashboard has an answer."""
    url = monitor("-p", ring.process.pid, "-m", "mpi")
    server = prometheus(url)
    ring.work()
    known = monitored.scrape_anew(url)
    calls = mpi(monitored.total(known, "gaspbpf_event_calls_total", "event"))

    def ask(expression, key="event"):
        return {labels.get(key): value for labels, value in monitored.query(server, expression)}
    wanted = 'sum by (event) (gaspbpf_process_calls_total{event=~"GASP_MPI_.*"})'
    gaspbpf.wait_for(lambda: ask(wanted) == calls, "Prometheus to have all calls")
    assert ask("up", "job") == {"gaspbpf": 1}
    assert set(ask("sum by (rank) (gaspbpf_process_calls_total)", "rank")) == {str(rank) for rank in range(RANKS)}
    # Native histograms: all calls, their bytes exactly, and quantiles within a power of two of what the other kind
    # says.
    assert ask('histogram_count(gaspbpf_event_duration_nanoseconds{event=~"GASP_MPI_.*"})') == calls
    sent = monitored.total(known, "gaspbpf_event_bytes_total", "event")["GASP_MPI_SEND"]
    assert ask('histogram_sum(gaspbpf_event_payload_bytes{event="GASP_MPI_SEND"})') == {"GASP_MPI_SEND": sent}
    for event in calls:
        native = ask(f'histogram_quantile(0.5, gaspbpf_event_duration_nanoseconds{{event="{event}"}}) / 1e9')[event]
        other = ask(f'histogram_quantile(0.5, gaspbpf_event_duration_seconds_bucket{{event="{event}"}})')[event]
        assert other / 4.1 <= native <= other * 4.1, event  # its buckets are powers of four
    assert len(documented_queries()) >= 4
    for expression in documented_queries():
        gaspbpf.wait_for(lambda: monitored.query(server, expression), f"an answer to {expression}")
    for expression in dashboard_queries():
        if expression.endswith("< 1"):
            monitored.query(server, expression)  # every event is followed
        elif "lost" not in expression:
            gaspbpf.wait_for(lambda: monitored.query(server, expression), f"an answer to {expression}")
        else:
            assert all(value == 0 for _, value in monitored.query(server, expression))
    with urllib.request.urlopen(f"{server}/api/v1/rules", timeout=gaspbpf.PATIENCE) as answer:
        rules = json.load(answer)["data"]["groups"][0]["rules"]
    assert len(rules) == 11 and {rule.get("lastError", "") for rule in rules} == {""}
    assert ring.end() == 0, ring.output()
    assert calls == counted_calls(tmp_path)
