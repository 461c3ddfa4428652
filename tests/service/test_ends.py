# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf monitor: processes that have ended. Their last calls are told, once or for a while, and nothing that they did
vanishes from the sums."""
import subprocess

import pytest

import gaspbpf
import monitored
import monitoring
from monitoring import BARRIERS


@pytest.fixture
def gate(tmp_path):
    return monitoring.Gate(tmp_path / "gate")


@pytest.fixture
def other_gate(tmp_path):
    return monitoring.Gate(tmp_path / "other_gate")


def known(job, wait_for_processes, gate):
    """One process that stays, so that the library has its probes and others are counted from their first call."""
    stays = job.start(0, 0, gate)
    wait_for_processes([stays.pid])
    return stays


def test_a_line_has_once_more_who_ended_since_the_one_before(runtime, monitors, gate, other_gate):
    """Each process ends between two lines; the lines have all its calls, once, as of one that has ended."""
    job = runtime("ends_once")
    monitor = monitors("--comm", job.name, "--lazy", "--max-overhead", "none")
    stays = known(job, monitor.wait_for_processes, gate)
    working = job.start(5, 0, other_gate)
    monitor.wait_for_processes([working.pid])
    other_gate.let_through(working)
    monitor.now()
    monitor.now()
    ended = [process for line in monitor.lines() for process in line["processes"] if process["pid"] == working.pid
             and process["ended"]]
    assert [monitoring.events_of(process)[BARRIERS]["calls"] for process in ended] == [5]
    gate.let_through(stays)


class Scraped:
    """A monitor that is only asked over HTTP."""

    def __init__(self, observe, *arguments):
        self.url = monitored.url_of(observe("monitor", "--listen", "0", "--lazy", "--max-overhead", "none", *arguments,
                                            ready="monitoring"))

    def processes(self):
        return monitored.total(monitored.scrape_anew(self.url), "gaspbpf_process_calls_total", "pid", event=BARRIERS)

    def alive(self):
        return monitored.scrape_anew(self.url)["gaspbpf_processes"][0][1]

    def wait_for_processes(self, pids):
        gaspbpf.wait_for(lambda: self.alive() >= len(pids), "processes to be noticed")

    def sums(self):
        """Calls by event: as the machine's, and added up over the series of processes. Exact at any time, whoever
        lives."""
        samples = monitored.scrape_anew(self.url)
        return tuple(monitored.total(samples, f"gaspbpf_{kind}_calls_total", "event") for kind in ("event", "process"))


def test_between_two_scrapes(runtime, observe, gate, other_gate):
    """Processes that no scrape has met alive have their series all the same, with all that they did; after a while
    these go, and the sums stay."""
    job = runtime("ends_scraped")
    monitor = Scraped(observe, "--comm", job.name, "--linger", "3s")
    stays = known(job, monitor.wait_for_processes, gate)
    met, made = {}, 0

    def scrape():
        met.update({pid: calls for pid, calls in monitor.processes().items() if pid})

    for barriers in range(1, 9):
        # held until it has been noticed: what ends before that is nobody's
        process = job.start(barriers, 0, other_gate)
        monitor.wait_for_processes(range(2))
        other_gate.let_through(process)
        gaspbpf.wait_for(lambda: monitor.alive() == 1, "it to be let go")
        scrape()
        made += barriers
    assert met == {str(process.pid): barriers for barriers, process in enumerate(job.running[1:], 1)}
    by_event, by_process = gaspbpf.wait_for(lambda: (lambda sums: sums if not sums[1].get(BARRIERS)
                                                     else None)(monitor.sums()), "the series to go")
    assert by_event[BARRIERS] == made
    gate.let_through(stays)


def test_nothing_vanishes_from_the_sum_of_series(runtime, observe, gate, tmp_path):
    """Many short-lived processes, most of them over before anybody has looked: what is no process's own is in the
    overflow series."""
    job = runtime("ends_many", soname="libends.so.1")
    model = tmp_path / "ends.model"
    model.write_text("model ends\nlanguage ENDS\nnumbers 0x7100\nlibrary libends.so*\nBARRIER_ALL barrier void "
                     "shmem_barrier_all(void)\n")
    monitor = Scraped(observe, "--all", "--model-file", str(model), "-m", "ends", "--linger", "10m",
                      "--max-series", "200")
    stays = known(job, monitor.wait_for_processes, gate)
    script = f'i=0; while [ $i -lt 60 ]; do "{job.program}" 3 0 & i=$((i+1)); [ $((i % 4)) = 0 ] && wait; done; wait'
    subprocess.run(["bash", "-c", script], check=True, timeout=gaspbpf.PATIENCE, stdout=subprocess.DEVNULL)
    gaspbpf.wait_for(lambda: monitor.alive() == 1, "all to be let go")
    by_event, by_process = monitor.sums()
    assert by_event["GASP_ENDS_BARRIER_ALL"] == by_process["GASP_ENDS_BARRIER_ALL"] == 180
    gate.let_through(stays)
