# SPDX-License-Identifier: BSD-2-Clause
"""Histograms against what the job itself has measured: sizes exactly, durations between two bounds that hold whatever
the machine does; and over a restart."""
import itertools
import json
import math
import subprocess

import pytest

import gaspbpf
import monitored
import monitoring
import prometheus_wire

# Poses as OpenSHMEM's library, and logs of each call how long it took inside, and what it moved.
LIBRARY = r"""
#include <stddef.h>
#include <time.h>
#define NOW(t) clock_gettime(CLOCK_MONOTONIC, &(t))
#define NS(a, b) (((b).tv_sec - (a).tv_sec) * 1000000000L + (b).tv_nsec - (a).tv_nsec)
long inside[4096], sizes[4096];
int calls, puts_;
__attribute__((noinline)) void shmem_barrier_all(void)
{
	struct timespec from, now;

	NOW(from);
	do
		NOW(now);
	while (NS(from, now) < 200L << calls % 14);
	inside[calls++] = NS(from, now);
}
__attribute__((noinline)) void shmem_putmem(void *to, const void *from, size_t n, int pe) { sizes[puts_++] = n; }
"""

# At the gate's mark: 280 barriers that take from 0.2 us to 2 ms, and a put of each size it is given; then what it has
# measured, as JSON.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define NS(a, b) (((b).tv_sec - (a).tv_sec) * 1000000000L + (b).tv_nsec - (a).tv_nsec)
void shmem_barrier_all(void); void shmem_putmem(void *, const void *, size_t, int);
extern long inside[4096], sizes[4096];
extern int calls, puts_;
static long outside[4096];
static void wait_for(const char *gate, const char *mark)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", gate, mark);
	for (int i = 0; i < 60000 && access(path, F_OK); i++)
		nanosleep(&pause, NULL);
}
static void list(FILE *f, const char *name, const long *values, int count)
{
	fprintf(f, "\"%s\": [", name);
	for (int i = 0; i < count; i++)
		fprintf(f, "%s%ld", i ? ", " : "", values[i]);
	fprintf(f, "]");
}
int main(int argc, char **argv)
{
	struct timespec from, to;
	FILE *f;

	wait_for(argv[1], "go");
	for (int i = 0; i < 280; i++) {
		clock_gettime(CLOCK_MONOTONIC, &from);
		shmem_barrier_all();
		clock_gettime(CLOCK_MONOTONIC, &to);
		outside[i] = NS(from, to);
	}
	for (int i = 3; i < argc; i++)
		shmem_putmem(NULL, NULL, strtoul(argv[i], NULL, 10), 0);
	f = fopen(argv[2], "w");
	fprintf(f, "{");
	list(f, "inside", inside, calls);
	fprintf(f, ", ");
	list(f, "outside", outside, 280);
	fprintf(f, ", ");
	list(f, "sizes", sizes, puts_);
	fprintf(f, "}");
	fclose(f);
	wait_for(argv[1], "end");
	return 0;
}
"""

# Powers of two and their neighbours, from nothing to a gigabyte, where a bound that is off by one shows; with gaps,
# where native histograms have several spans.
POWERS = [power for power in range(31) if power not in (13, 14, 15, 21, 22, 23, 24)]
SIZES = sorted({size for power in POWERS for size in ((1 << power) - 1, 1 << power, (1 << power) + 1)}) + \
    [1000] * 50 + \
    [3_000_000] * 7
# docs/metrics.md
POWERS_OF_BOUNDS = {"event": (range(3, 31, 3), range(10, 35, 2)), "process": (range(6, 31, 6), range(10, 35, 4))}
BARRIER, PUT = {"event": "GASP_SHMEM_BARRIER_ALL"}, {"event": "GASP_SHMEM_PUT"}


class Measured:
    """The job, at its gate; and what it has measured."""

    def __init__(self, folder, runtime):
        self.gate, self.log = folder / "gate", folder / "measured.json"
        self.gate.mkdir()
        runtime.running.append(
            subprocess.Popen([str(runtime.program), str(self.gate), str(self.log), *map(str, SIZES)]))
        self.process = runtime.running[-1]

    def work(self):
        (self.gate / "go").touch()

        def written():
            assert self.process.poll() is None
            text = self.log.read_text() if self.log.exists() else ""
            return json.loads(text) if text.endswith("}") else None
        return gaspbpf.wait_for(written, "the job to measure")


@pytest.fixture(name="runtime")
def this_runtime(runtime):
    return runtime("size", library=LIBRARY, program=PROGRAM)


@pytest.fixture
def monitor(observe):
    """Starts a monitor of one process; returns it and the address of its metrics."""
    def start(*arguments):
        watcher = observe("monitor", "-m", "shmem", "--lazy", "--listen", "0", "--max-overhead", "none", *arguments,
                          ready="monitoring")
        return watcher, monitored.url_of(watcher)
    return start


@pytest.fixture
def prometheus(tmp_path):
    with monitored.prometheus(tmp_path / "prometheus") as start:
        yield start


def bounds_hold(cumulative, inside, outside):
    """Each bucket of durations has at least what took no longer outside, and at most what took no longer inside."""
    for bound, count in cumulative:
        assert sum(ns <= bound for ns in outside) <= count <= sum(ns <= bound for ns in inside), \
            f"bucket up to {bound} ns: {count}"


def classic(samples, name, labels):
    """[(bound, how many up to it)] without +Inf."""
    rows = [(float(has["le"]), value) for has, value in samples[f"{name}_bucket"] if labels.items() <= has.items()]
    assert rows[-1][0] == float("inf") and sorted(rows) == rows
    return rows[:-1]


def quantile(values, share):
    return sorted(values)[math.ceil(share * len(values)) - 1]  # as Prometheus counts them


def test_buckets_are_what_the_job_has_measured(runtime, monitor, tmp_path):
    """Every bucket of every histogram, in each of the three forms."""
    job = Measured(tmp_path, runtime)
    watcher, url = monitor("-p", job.process.pid)
    truth = job.work()
    assert len(truth["inside"]) == 280 and truth["sizes"] == SIZES
    samples = monitored.scrape_anew(url)
    wire = prometheus_wire.families(monitored.get(url, monitored.PROTOBUF)[1])

    for kind in "event", "process":
        # Sizes: each bound is a whole number, and what is not above it is in it.
        sizes = classic(samples, f"gaspbpf_{kind}_size_bytes", PUT)
        assert [bound for bound, _ in sizes] == [2 ** power - 1 for power in POWERS_OF_BOUNDS[kind][0]]
        assert sizes == [(bound, sum(size <= bound for size in SIZES)) for bound, _ in sizes]
        read = prometheus_wire.row(wire, f"gaspbpf_{kind}_size_bytes", **PUT)
        assert (read["buckets"], read["count"], read["sum"]) == (sizes, len(SIZES), sum(SIZES))
        # Native: from a power of two, included, to the next one, as docs/metrics.md has it; 0 is with 1.
        read = prometheus_wire.row(wire, f"gaspbpf_{kind}_payload_bytes", **PUT)
        buckets = [(low, 2 * low, len(list(group)))
                   for low, group in itertools.groupby(sorted(SIZES), lambda size: 1 << max(size.bit_length() - 1, 0))]
        assert (read["native"], read["count"], read["sum"]) == (buckets, len(SIZES), sum(SIZES))
        assert len(buckets) == 27  # of 31: there are gaps

        # Durations: gaspbpf's own lies between what the function has seen of itself and what its caller has.
        durations = [(bound * 1e9, count)
                     for bound, count in classic(samples, f"gaspbpf_{kind}_duration_seconds", BARRIER)]
        assert [round(bound) for bound, _ in durations] == [2 ** power - 1 for power in POWERS_OF_BOUNDS[kind][1]]
        bounds_hold(durations, truth["inside"], truth["outside"])
        read = prometheus_wire.row(wire, f"gaspbpf_{kind}_duration_seconds", **BARRIER)
        assert [(pytest.approx(bound * 1e9), count) for bound, count in read["buckets"]] == durations
        assert sum(truth["inside"]) <= read["sum"] * 1e9 <= sum(truth["outside"])
        read = prometheus_wire.row(wire, f"gaspbpf_{kind}_duration_nanoseconds", **BARRIER)
        assert sum(truth["inside"]) <= read["sum"] <= sum(truth["outside"])
        assert sum(count for _, _, count in read["native"]) == read["count"] == 280
        # The kernel's bucket ends before its upper power of two.
        total = itertools.accumulate(count for _, _, count in read["native"])
        bounds_hold([(upper - 1, count) for (_, upper, _), count in zip(read["native"], total)], truth["inside"],
                    truth["outside"])
        # A bucket's calls are not below it, either.
        assert all(sum(ns >= low for ns in truth["outside"]) >= count for low, _, count in read["native"])


def test_quantiles_in_prometheus_are_near_the_truth(runtime, monitor, prometheus, tmp_path):
    """histogram_quantile() of native histograms: within one bucket, a power of two, of what the job has measured."""
    job = Measured(tmp_path, runtime)
    watcher, url = monitor("-p", job.process.pid)
    server = prometheus(url)
    truth = job.work()

    def ask(expression):
        rows = monitored.query(server, expression)
        return rows[0][1] if rows else None
    count = 'histogram_count(gaspbpf_process_payload_bytes{event="GASP_SHMEM_PUT"})'
    gaspbpf.wait_for(lambda: ask(count) == len(SIZES), "Prometheus to have all puts")
    assert ask('histogram_sum(gaspbpf_process_payload_bytes{event="GASP_SHMEM_PUT"})') == sum(SIZES)
    for share in 0.123, 0.456, 0.777, 0.987:  # of 280 none is a whole number: which bucket is meant is certain
        size = ask(f'histogram_quantile({share}, gaspbpf_process_payload_bytes{{event="GASP_SHMEM_PUT"}})')
        assert quantile(SIZES, share) / 2 <= size <= quantile(SIZES, share) * 2, share
        ns = ask(f'histogram_quantile({share}, gaspbpf_process_duration_nanoseconds{{event="GASP_SHMEM_BARRIER_ALL"}})')
        assert quantile(truth["inside"], share) / 2 <= ns <= quantile(truth["outside"], share) * 2, share


def test_the_sums_of_a_job_on_two_nodes(observe, prometheus, tmp_path):
    """Two monitors, each of its own node's processes; by the label job the sums are exact, and of no other job."""
    nodes, job = ("node1", "node2"), {"SLURM_JOB_ID": "4711"}
    with monitoring.two_programs(tmp_path, "sums", "others") as (program, _):
        watchers = [observe("monitor", "-m", "shmem", "--lazy", "--listen", "0", "--max-overhead", "none", "--comm",
                            program.name, ready="monitoring", env={"SLURMD_NODENAME": node, "GASPBPF_OTHERS": "ignore"})
                    for node in nodes]
        urls = [monitored.url_of(watcher) for watcher in watchers]
        gate = monitoring.Gate(tmp_path / "gate")
        for number, node in enumerate(nodes):
            for rank in (0, 1):
                program.start(10 + number, 20 + 5 * rank, gate, env={"SLURMD_NODENAME": node, **job})
            program.start(7, 7, gate, env={"SLURMD_NODENAME": node, "SLURM_JOB_ID": "4712"})
        for url in urls:
            gaspbpf.wait_for(lambda: monitored.scrape(url)["gaspbpf_processes"][0][1] == 3, "its node's processes")
        server = prometheus(*urls)
        (gate.folder / "go").touch()

        def ask(expression, key="event"):
            return {labels.get(key): value for labels, value in monitored.query(server, expression)}
        calls = {"GASP_SHMEM_BARRIER_ALL": 2 * 10 + 2 * 11, "GASP_SHMEM_PUT": 2 * (20 + 25)}
        gaspbpf.wait_for(lambda: ask('sum by (event) (gaspbpf_process_calls_total{job="4711"})') == calls, "all calls")
        moved = 2 * (sum(range(21)) + sum(range(26)))
        assert ask('sum by (event) (gaspbpf_process_bytes_total{job="4711"})')["GASP_SHMEM_PUT"] == moved
        puts = ask('sum by (job) (gaspbpf_process_calls_total{event="GASP_SHMEM_PUT"})', "job")
        assert puts == {"4711": calls["GASP_SHMEM_PUT"], "4712": 14}
        barriers = ask('sum by (instance) (gaspbpf_process_calls_total{job="4711",event="GASP_SHMEM_BARRIER_ALL"})',
                       "instance")
        assert sorted(barriers.values()) == [20, 22]


def test_a_restart_is_a_reset(runtime, monitor, tmp_path):
    """Killed and started again, the monitor counts from 0, and says since when; the job does not notice."""
    job = Measured(tmp_path, runtime)
    watcher, url = monitor("-p", job.process.pid)
    job.work()
    first = monitored.scrape_anew(url)
    assert monitored.total(first, "gaspbpf_event_calls_total", "event")["GASP_SHMEM_PUT"] == len(SIZES)
    began = first["gaspbpf_start_time_seconds"][0][1]
    wire = prometheus_wire.families(monitored.get(url, monitored.PROTOBUF)[1])
    for name in "gaspbpf_event_calls_total", "gaspbpf_event_size_bytes", "gaspbpf_event_payload_bytes":
        assert prometheus_wire.row(wire, name, **PUT)["created"] == pytest.approx(began, abs=1e-6)
    assert prometheus_wire.row(wire, "gaspbpf_process_calls_total", **PUT)["created"] >= began
    assert prometheus_wire.row(wire, "gaspbpf_processes")["created"] is None  # a gauge has no beginning
    watcher.process.kill()
    watcher.process.wait()

    watcher, url = monitor("-p", job.process.pid)
    second = gaspbpf.wait_for(lambda: (lambda s: s if s["gaspbpf_processes"][0][1] == 1
                                       else None)(monitored.scrape(url)), "the job to be seen again")
    assert "gaspbpf_event_calls_total" not in second  # nothing was called since
    assert second["gaspbpf_start_time_seconds"][0][1] > began
    (job.gate / "end").touch()
    assert job.process.wait(timeout=gaspbpf.PATIENCE) == 0
