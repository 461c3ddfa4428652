# SPDX-License-Identifier: BSD-2-Clause
"""Programs that translate others (valgrind, qemu-user) beside an observer: what they run maps a probed library, and
nobody observes it. It runs as it does alone."""
import contextlib
import json
import subprocess
import sys

import pytest

import gaspbpf
import monitoring
from monitoring import BARRIERS

# Traces the command, and does nothing else: nobody else can hold it.
TRACER = """
import ctypes, os, signal, sys
trace = ctypes.CDLL(None).ptrace
trace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
TRACE_ME, CONTINUE = 0, 7
child = os.fork()
if not child:
    trace(TRACE_ME, 0, None, None)
    os.execvp(sys.argv[1], sys.argv[1:])
while os.WIFSTOPPED(status := os.waitpid(child, 0)[1]):
    stopped = os.WSTOPSIG(status)
    trace(CONTINUE, child, None, 0 if stopped == signal.SIGTRAP else stopped)
sys.exit(os.waitstatus_to_exitcode(status) != 0)
"""

TRANSLATORS = {
    "none": ["valgrind", "-q", "--tool=none"],
    "memcheck": ["valgrind", "-q", "--tool=memcheck"],
    "qemu": ["qemu-x86_64"],
    "traced": [sys.executable, "-c", TRACER, "qemu-x86_64"],
}

pytestmark = pytest.mark.alone  # every observer of the machine takes its probes out meanwhile


@contextlib.contextmanager
def translated_program(how, job, folder, said):
    """It has mapped the library, and calls it once the observer has said that its probes are out."""
    folder.mkdir()
    with subprocess.Popen([*TRANSLATORS[how], job.program, "--gate", folder, "50", "20"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as program:
        gaspbpf.wait_for(lambda: said() and list(folder.glob("ready.*")), "the translated program to be seen")
        yield
        for mark in ("go", "end"):
            (folder / mark).touch()
        errors = program.communicate(timeout=gaspbpf.PATIENCE)[1]
        assert program.returncode == 0, errors


@pytest.mark.parametrize("how", TRANSLATORS)
def test_a_translated_program_beside_a_monitor(runtime, monitors, tmp_path, how):
    """While it lives the library has no probes, which is said; after it the monitor counts as before."""
    job = runtime("beside")
    gate = tmp_path / "gate"
    gate.mkdir()
    monitor = monitors("--comm", job.name, "--lazy", "--max-overhead", "none")
    stays = job.start(7, 0, gate)
    monitor.wait_for_processes([stays.pid])
    with translated_program(how, job, tmp_path / "translated",
                            lambda: "translates another program" in monitor.errors()):
        pass
    gaspbpf.wait_for(lambda: "probes are in again" in monitor.errors(), f"probes to be put back: {monitor.errors()}")
    assert "translates another program" in monitor.errors() and "were not counted" in monitor.errors()
    assert how != "traced" or "cannot be held" in monitor.errors()
    (gate / "go").touch()
    gaspbpf.wait_for(lambda: (gate / f"done.{stays.pid}").exists(), "the program to work")
    monitor.now()
    assert monitoring.events_of(monitor.process_of(stays.pid))[BARRIERS]["calls"] == 7
    (gate / "end").touch()
    stays.wait(timeout=gaspbpf.PATIENCE)


@pytest.mark.parametrize("how", TRANSLATORS)
def test_a_translated_program_beside_a_command(runtime, observe, tmp_path, how):
    """The command's library has probes for everybody. What its calls were in the meantime is not known, and the report
    says when that was."""
    job = runtime("beside")
    gate = tmp_path / "gate"
    gate.mkdir()
    watcher = observe("--json", "--", job.program, "--gate", gate, "7", "0")
    gaspbpf.wait_for(lambda: list(gate.glob("ready.*")), "the command to be ready")
    with translated_program(how, job, tmp_path / "translated", lambda: watcher.has_said(b"translates another program")):
        pass
    gaspbpf.wait_for(lambda: watcher.has_said(b"probes are in again"), "probes to be put back")
    (gate / "go").touch()
    gaspbpf.wait_for(lambda: list(gate.glob("done.*")), "the program to work")
    (gate / "end").touch()
    status, out, errors = watcher.finish()
    assert status == 0, errors
    report = json.loads(out[out.index("{"):])
    assert gaspbpf.events(report)[BARRIERS]["calls"] == 7
    window, = report["blind_windows"]
    assert window["after"] == "a translator's start" and window["to_ns"] > window["from_ns"]


def test_a_translated_program_need_not_wait_beside_a_monitor(runtime, monitors, tmp_path):
    """It is held until the probes are out. The first comes while the monitor puts probes into all libraries of
    runtimes: without being held it dies in two runs of three."""
    job = runtime("beside")
    gate = tmp_path / "gate"
    gate.mkdir()
    monitor = monitors("--comm", job.name, "--max-overhead", "none")
    stays = job.start(7, 0, gate)
    monitor.wait_for_processes([stays.pid])
    for nth in range(8):
        done = subprocess.run([*TRANSLATORS["qemu"], job.program, "50", "0"], capture_output=True, text=True,
                              timeout=gaspbpf.PATIENCE)
        assert done.returncode == 0, (nth, done.returncode, done.stderr)
        gaspbpf.wait_for(lambda: monitor.errors().count("probes are in again") > nth,
                         f"probes to be put back: {monitor.errors()}")
    for mark in ("go", "end"):
        (gate / mark).touch()
    stays.wait(timeout=gaspbpf.PATIENCE)


def test_a_command_that_begins_beside_a_translator(runtime, tmp_path):
    """Then each of its processes has probes by itself: nothing is missed, and nobody else has any."""
    job = runtime("beside")
    with translated_program("none", job, tmp_path / "translated", lambda: True):
        result = gaspbpf.run("--json", "--", job.program, "7", "0")
    assert "the job's processes get probes of their own (--scope=process)" in result.stderr
    assert gaspbpf.events(json.loads(result.stdout[result.stdout.index("{"):]))[BARRIERS]["calls"] == 7
