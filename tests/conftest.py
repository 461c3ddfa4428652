# SPDX-License-Identifier: BSD-2-Clause
import ctypes
import fcntl
import os
import subprocess

import pytest

import conformance
import gaspbpf
import monitoring
from terminal import Terminal


CLONE_NEWNS = 0x20000
LONGEST = gaspbpf.TOP / "tests" / "longest.list"


def pytest_configure(config):
    config.addinivalue_line("markers",
                            "guest: runs on Debian 12's kernel, too, in the emulated machine of test_kernel_6_1.py")
    config.addinivalue_line("markers", "guest_more: does, too, where there is time: not in scripts/check")
    config.addinivalue_line("markers",
                            "files: about files alone, recordings, models, documents: needs neither root nor a kernel")
    config.addinivalue_line("markers",
                            "alone: no other test runs meanwhile (one looks at what all of the machine does)")
    config.addinivalue_line("markers", "elsewhere: runs on a machine of its own, beside any other test")


def seconds_of_files():
    """What each of the longer ones took once."""
    lines = [line.split() for line in LONGEST.read_text().splitlines() if not line.startswith("#")]
    return {name: float(seconds) for seconds, name in lines}


def in_good_order(items):
    """What has a machine of its own begins, and beside it those that are alone: one after the other, so that the rest
    does not stand still for each of them. Then the longest files, so that none of them is left at the end."""
    took, marks = seconds_of_files(), {}
    for item in items:
        of = marks.setdefault(item.path, {"elsewhere": [], "alone": []})
        for mark, has in of.items():
            has.append(item.get_closest_marker(mark) is not None)

    def place(item):
        of = marks[item.path]
        return (not any(of["elsewhere"]), not all(of["alone"]), not any(of["alone"]),
                -took.get(item.nodeid.partition("::")[0], 0))

    order = {path: at for at, path in enumerate(dict.fromkeys(item.path for item in sorted(items, key=place)))}
    items.sort(key=lambda item: (order[item.path], item.get_closest_marker("elsewhere") is None,
                                 item.get_closest_marker("alone") is None))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    observing = any(item.get_closest_marker("files") is None for item in items)
    if os.geteuid() and observing:
        pytest.exit("the tests observe processes: run them as root, with scripts/check; or those on files alone: "
                    "make check", 1)
    if not gaspbpf.PROGRAM.exists() or (observing and not gaspbpf.WORKLOADS.exists()):
        pytest.exit("build first: scripts/check does", 1)
    in_good_order(items)


@pytest.fixture(autouse=True)
def room(request):
    """Several processes run tests at the same time (pytest-xdist); one marked `alone` waits until the others' tests are
    over.

    Who waits for the room stands in the door, so that those who want it for themselves get their turn.
    """
    build = gaspbpf.TOP / "build"
    # the emulated machine only reads it; with sanitizers (another BUILD) nothing is observed
    if request.node.get_closest_marker("elsewhere") or gaspbpf.BUILD != build or not os.access(build, os.W_OK):
        yield
        return
    wanted = fcntl.LOCK_EX if request.node.get_closest_marker("alone") else fcntl.LOCK_SH
    with open(build / "tests.door", "w") as door, open(build / "tests.room", "w") as inside:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(inside, wanted)
        fcntl.flock(door, fcntl.LOCK_UN)
        yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call":
        item.passed = outcome.get_result().passed


@pytest.fixture(autouse=True)
def seen_events(request):
    """What a test says that it has seen is what tests/seen/ lists for it (tests/support/conformance.py)."""
    conformance.begin(request.node)
    yield
    wrong = conformance.end(getattr(request.node, "passed", False))
    if wrong:
        pytest.fail(wrong, pytrace=False)


# Tests run several at a time, and their jobs share the system's libraries: tests/observe/test_two_observers.py is about
# what one observer does for another.
os.environ["GASPBPF_OTHERS"] = "ignore"


@pytest.fixture(params=gaspbpf.RUNGS)
def rung(request, monkeypatch):
    """Runs a test once on each rung of the attach ladder that this kernel has; gaspbpf is told by the environment.

    On perf each probe takes about 0.1 s to remove, which nothing makes quicker: test there with few of them.
    """
    monkeypatch.setenv("GASPBPF_RUNG", request.param)
    return request.param


@pytest.fixture
def job(tmp_path):
    """Starts jobs under test, and makes sure that none survives the test."""
    jobs = []

    def start(command, **keywords):
        folder = tmp_path / f"job{len(jobs)}"
        folder.mkdir()
        jobs.append(gaspbpf.Job(command, folder, **keywords))
        return jobs[-1]

    yield start
    for each in jobs:
        each.kill()


@pytest.fixture
def observe():
    """Starts observations, and makes sure that none survives the test."""
    running = []

    def start(*arguments, **keywords):
        running.append(gaspbpf.Observation(*arguments, **keywords))
        return running[-1]

    yield start
    for each in running:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()


@pytest.fixture
def monitors(tmp_path):
    """Starts monitors, and makes sure that none survives the test."""
    running = []

    def start(*arguments, **keywords):
        running.append(monitoring.Monitor(tmp_path, *arguments, **keywords))
        return running[-1]

    yield start
    for each in running:
        each.kill()


@pytest.fixture
def runtime(tmp_path):
    """Makes runtimes of the test's own, and makes sure that none of their programs survives it."""
    made = []

    def make(name, **keywords):
        made.append(monitoring.Runtime(tmp_path / f"runtime{len(made)}", name, **keywords))
        return made[-1]

    yield make
    for each in made:
        each.kill()


@pytest.fixture
def terminal():
    """Opens terminals with a command in each."""
    opened = []

    def start(*arguments, **keywords):
        opened.append(Terminal(*arguments, **keywords))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.fixture
def own_run():
    """A /run of our own, for us and what we start: recorders of others on this machine may observe the job, too, and
    answer."""
    libc, here = ctypes.CDLL(None, use_errno=True), os.getcwd()
    with open("/proc/thread-self/ns/mnt", "rb") as before:
        assert libc.unshare(CLONE_NEWNS) == 0
        try:
            subprocess.run("mount --make-rslave / && mount -t tmpfs none /run", shell=True, check=True)
            yield
        finally:
            assert libc.setns(before.fileno(), CLONE_NEWNS) == 0
            os.chdir(here)
