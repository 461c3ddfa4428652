# SPDX-License-Identifier: BSD-2-Clause
"""The machine changes under gaspbpf: a control group has no more memory, a processor goes and comes, somebody sets the
clock.

What changes the whole machine is done in the emulated one only (scripts/kernel-6.1).
"""
import contextlib
import itertools
import json
import os
import pathlib
import random
import signal
import threading
import time

import pytest

import faults
import gaspbpf
from faults import SEED

elsewhere = pytest.mark.skipif(not os.environ.get("GASPBPF_GUEST"),
                               reason="for the emulated machine: it changes the whole of it")


@contextlib.contextmanager
def memory_group(most, numbers=itertools.count()):
    """A control group whose processes have so many bytes, those in the kernel counted."""
    name, limit = f"gaspbpf-test-{os.getpid()}-{next(numbers)}", "memory.max"
    root = pathlib.Path("/sys/fs/cgroup")
    if (root / "memory").is_dir():
        root, limit = root / "memory", "memory.limit_in_bytes"
    with contextlib.suppress(OSError):  # it is there already, or never will
        (root / "cgroup.subtree_control").write_text("+memory")
    group = root / name
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        if not (group / limit).exists():
            pytest.skip("no control groups of memory here")
        (group / limit).write_text(str(most))
        yield group
    finally:
        gaspbpf.wait_for(lambda: not (group / "cgroup.procs").read_text(), "the group to be empty")
        group.rmdir()


@pytest.mark.parametrize("name", ["record", "top", "monitor", "stuck"])
def test_a_control_group_without_memory(maker, scenarios, target, name):  # noqa: F811
    """The kernel ends gaspbpf or one of its helpers, or gaspbpf says that there is no memory; and with enough of it all
    is well. The job has not noticed."""
    scenario, chance = scenarios[name], random.Random(f"{SEED} {name}")
    ends = set()
    for most in [4 << 20, 1 << 30, *(int(2 ** chance.uniform(22, 27)) for _ in range(3))]:
        if scenario.recording:
            scenario.recording.unlink(missing_ok=True)
        with memory_group(most) as group:
            result = maker.finish(maker.start(scenario.arguments, within=group))
            ends.add(result.status)
        assert result.status in (0, 1, -signal.SIGKILL), f"{most} bytes: {result.errors}"
        assert result.status != 1 or faults.is_clear(result.errors), f"{most} bytes: {result.errors}"
        assert result.status == 0 or most < 1 << 30, result.errors
        assert not faults.left_behind(scenario, result), f"{most} bytes: {result.errors}"
    assert 0 in ends and len(ends) > 1, ends  # else the limits were none


@contextlib.contextmanager
def meanwhile(change):
    """Does that again and again, with numbers that count up, until the end of the block."""
    ended = threading.Event()

    def loop():
        for number in itertools.count():
            if ended.is_set():
                return
            change(number)
    worker = threading.Thread(target=loop)
    worker.start()
    try:
        yield
    finally:
        ended.set()
        worker.join()


def exact_with(job, observe, change):
    """The report of a job's counted work during which the machine changed: every call is in it, and lasts no longer
    than it all took."""
    work = job([gaspbpf.WORKLOADS / "threads", "--rounds", "400", "--threads", "4"]).wait_ready()
    watcher, begun = observe("-p", work.process.pid, "-m", "c,pthread", "--json"), time.monotonic()
    with meanwhile(change):
        work.work()
    status, out, errors = watcher.stop()
    took = time.monotonic() - begun
    assert status == 0, errors
    assert work.end() == 0, work.output()
    report, made = json.loads(out), work.truths()[0]["functions"]
    rows = gaspbpf.events(report)
    assert report["loss"]["lost"] == 0
    assert rows["GASP_C_MALLOC"]["calls"] == made["malloc"]["calls"]
    assert all(row["max_ns"] < took * 1e9 for row in rows.values() if row["calls"])
    return report


@pytest.mark.guest
@elsewhere
def test_a_processor_goes_and_comes(job, observe):
    switch = pathlib.Path("/sys/devices/system/cpu/cpu1/online")
    changes = []

    def change(number):
        switch.write_text(str(number % 2))
        changes.append(number)
        time.sleep(0.1)
    try:
        exact_with(job, observe, change)
    finally:
        switch.write_text("1")
    assert len(changes) > 2


@pytest.mark.guest
@elsewhere
def test_somebody_sets_the_clock(job, observe):
    """Forward and back by a day: durations are of another clock."""
    begun, since = time.time(), time.monotonic()

    def change(number):
        time.clock_settime(time.CLOCK_REALTIME, begun + (time.monotonic() - since) + 86400 * (number % 2))
        time.sleep(0.1)
    try:
        report = exact_with(job, observe, change)
    finally:
        time.clock_settime(time.CLOCK_REALTIME, begun + (time.monotonic() - since))
    assert 0 < report["recording"]["end_ns"] - report["recording"]["start_ns"] < (time.monotonic() - since) * 1e9
