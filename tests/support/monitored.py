# SPDX-License-Identifier: BSD-2-Clause
"""Tests of gaspbpf monitor as a service: starting it, and reading what it tells over HTTP."""
import contextlib
import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import prometheus_client.openmetrics.parser

import gaspbpf

EXAMPLES = gaspbpf.TOP / "examples" / "monitor"
OPENMETRICS = "application/openmetrics-text;version=1.0.0"
PROTOBUF = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"


def url_of(watcher):
    """Where the metrics are; waits until it has been said."""
    gaspbpf.wait_for(lambda: watcher.has_said(b"/metrics\n"), "the address of the metrics")
    return re.search(rb"http://\S+/metrics", watcher.errors)[0].decode()


def get(url, accept=None):
    """What a scraper gets: (content type, bytes)."""
    request = urllib.request.Request(url, headers={"Accept": accept} if accept else {})
    with urllib.request.urlopen(request, timeout=gaspbpf.PATIENCE) as answer:
        return answer.headers["Content-Type"], answer.read()


def scrape(url):
    """All samples, read by Prometheus' own strict parser of OpenMetrics: {name: [(labels, value)]}."""
    kind, text = get(url, OPENMETRICS)
    assert kind.startswith("application/openmetrics-text")
    samples = {}
    for family in prometheus_client.openmetrics.parser.text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            samples.setdefault(sample.name, []).append((sample.labels, sample.value))
    return samples


def scrape_anew(url):
    """What is so now: what was made for another scrape is given out for a tenth of a second."""
    time.sleep(0.15)
    return scrape(url)


def total(samples, name, by, **labels):
    """Sums of the samples that have these labels, by the value of one label."""
    sums = {}
    for has, value in samples.get(name, []):
        if all(has.get(label) == wanted for label, wanted in labels.items()):
            sums[has.get(by)] = sums.get(has.get(by), 0) + value
    return sums


def query(server, expression):
    """An instant query to a Prometheus server: [(labels, value)]."""
    url = f"{server}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
    try:
        with urllib.request.urlopen(url, timeout=gaspbpf.PATIENCE) as answer:
            result = json.load(answer)
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{expression}: {error.read().decode()}") from None
    assert result["status"] == "success", result
    return [(row["metric"], float(row["value"][1])) for row in result["data"]["result"] if "value" in row]


@contextlib.contextmanager
def prometheus(folder):
    """start(url, ...): a Prometheus server with the example's configuration, for other addresses and each second; its
    own address."""
    servers = []

    def start(*urls, change_rules=lambda text: text):
        shutil.copytree(EXAMPLES, folder)
        config, rules = folder / "prometheus.yml", folder / "gaspbpf.rules.yml"
        targets = "', '".join(re.search(r"//([^/]+)/", url)[1] for url in urls)
        text = config.read_text().replace("127.0.0.1:9464", targets)
        config.write_text(text.replace("interval: 15s", "interval: 1s"))
        rules.write_text(change_rules(rules.read_text()))
        log = folder / "log"
        with open(log, "w") as errors:
            servers.append(
                subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
                                  "--web.listen-address=127.0.0.1:0", "--enable-feature=native-histograms"],
                                 stderr=errors, stdout=subprocess.DEVNULL))

        def address():
            assert servers[-1].poll() is None, log.read_text()
            return re.search(r"Listening on\"? address=127\.0\.0\.1:([1-9]\d*)", log.read_text())

        def ready():  # it listens before it answers
            try:
                with urllib.request.urlopen(f"{server}/-/ready", timeout=gaspbpf.PATIENCE):
                    return True
            except urllib.error.URLError:
                return False
        server = "http://127.0.0.1:" + gaspbpf.wait_for(address, "Prometheus to start")[1]
        gaspbpf.wait_for(ready, "Prometheus to be ready")
        return server

    try:
        yield start
    finally:
        for server in servers:
            server.kill()
            server.wait()


def alerts(server):
    """The labels of those that fire."""
    with urllib.request.urlopen(f"{server}/api/v1/alerts", timeout=gaspbpf.PATIENCE) as answer:
        found = json.load(answer)["data"]["alerts"]
    return [alert["labels"] for alert in found if alert["state"] == "firing"]
