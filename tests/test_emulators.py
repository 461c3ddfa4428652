"""Programs that translate others (valgrind, qemu-user) beside a monitor: what they run maps a probed library, and nobody observes it. It runs as it does alone."""
import subprocess

import pytest

import gaspbpf
import monitoring
from test_ends import BARRIERS

TRANSLATORS = {
    "none": ["valgrind", "-q", "--tool=none"],
    "memcheck": ["valgrind", "-q", "--tool=memcheck"],
    "qemu": ["qemu-x86_64"],
}


@pytest.mark.parametrize("how", TRANSLATORS)
def test_a_translated_program_beside_a_monitor(runtime, monitors, tmp_path, how):
    """While it lives the library has no probes, which is said; after it the monitor counts as before."""
    job = runtime("beside")
    gate = tmp_path / "gate"
    gate.mkdir()
    monitor = monitors("--comm", job.name, "--lazy", "--max-overhead", "none")
    stays = job.start(7, 0, gate)
    monitor.wait_for_processes([stays.pid])
    translated = subprocess.run([*TRANSLATORS[how], job.program, "50", "20"], capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    assert translated.returncode == 0, translated.stderr
    gaspbpf.wait_for(lambda: "probes are in again" in monitor.errors(), f"probes to be put back: {monitor.errors()}")
    assert "translates another program" in monitor.errors() and "were not counted" in monitor.errors()
    (gate / "go").touch()
    gaspbpf.wait_for(lambda: (gate / f"done.{stays.pid}").exists(), "the program to work")
    monitor.now()
    assert monitoring.events_of(monitor.process_of(stays.pid))[BARRIERS]["calls"] == 7
    (gate / "end").touch()
    stays.wait(timeout=gaspbpf.PATIENCE)
