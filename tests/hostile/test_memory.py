# SPDX-License-Identifier: BSD-2-Clause
"""Processes whose memory cannot be read: a page is of a file whose server (FUSE) never answers. Nobody waits for it but
who is left behind."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

import gaspbpf
import monitored
import rights

HERE = pathlib.Path(__file__).parent
MOST = 20     # s, on a slow machine; without the reader it is for ever
USER = 64321  # nobody, and not one whom other tests look at
# Of what the page is that cannot be read; lock: nothing can, the lock of the address space is held. The kernel itself
# refuses to read arguments and environment from a page of a file (who may open /proc/PID/environ), so nobody waits for
# these.
WHAT = ["rank", "arguments", "environment", "lock"]

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="no FUSE here")


class Silent:
    """A mounted file system of the kind, and programs of nobody's on it. The kernel ends all waiting when it goes
    away."""

    def __init__(self, folder, *more):
        self.folder, self.mount, self.log, self.programs = folder, folder / "mount", folder / "log", []
        self.mount.mkdir()
        gaspbpf.compile_c(HERE / "silent_files.c", folder / "silent_files", "-O1")
        # Static: it shares no file with anybody, so that nobody else's probes wait for its lock.
        gaspbpf.compile_c(HERE / "silent_memory.c", folder / "silent_memory", "-O1", "-static", "-pthread")
        with open(self.log, "w") as log:
            self.server = subprocess.Popen([folder / "silent_files", self.mount, "240", *more], stdout=log)
        gaspbpf.wait_for(lambda: "mounted" in self.log.read_text(), "the file system")

    def start(self, what, name="silent_memory", user=USER):
        program = self.folder / name
        if not program.exists():
            os.link(self.folder / "silent_memory", program)
        self.programs.append(subprocess.Popen(
            ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", program, what, self.mount, "x" * 20000],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "LONG": "y" * 20000}))
        return int(self.programs[-1].stdout.readline())

    def start_and_wait(self, what):
        """What it wants to do with its memory is done; its lock is held against all others."""
        pid = self.start(what)
        if what == "lock":
            gaspbpf.wait_for(lambda: pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0] == "D",
                             "its lock to be held")
        return pid

    def waits(self):
        """Somebody has asked for a page that does not come."""
        return re.search("never|second", self.log.read_text()) is not None

    def close(self):
        self.server.kill()
        self.server.wait()
        subprocess.run(["umount", "-l", self.mount], check=False)
        for program in self.programs:
            program.kill()
            program.wait()
            program.stdout.close()


@pytest.fixture
def silent():
    with rights.folder() as folder:
        one = Silent(folder)
        try:
            yield one
        finally:
            one.close()


@contextlib.contextmanager
def within(seconds=MOST):
    begun = time.monotonic()
    yield
    assert time.monotonic() - begun < seconds


def ended(process):
    """Its exit status; all that it has left of itself ends with the file system."""
    try:
        return process.wait(timeout=MOST)
    except subprocess.TimeoutExpired:
        where = [(task.joinpath("comm").read_text().strip(), task.joinpath("stack").read_text())
                 for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir()]
        process.kill()
        raise AssertionError(f"it does not end: {where}") from None


def processes(url):
    return monitored.scrape_anew(url)["gaspbpf_processes"][0][1]


@pytest.mark.parametrize("what", WHAT)
def test_a_monitor_goes_on(silent, runtime, observe, tmp_path, what):
    """HTTP is answered, other users' jobs are counted to the call, SIGTERM ends it; who does not answer is said."""
    own = runtime("other")
    pid = silent.start_and_wait(what)
    watcher = observe("monitor", "--comm", "silent_memory", "--comm", own.name, "-m", "upc,shmem", "--max-overhead",
                      "none", "--lazy", "--listen", "0", ready="monitoring")
    url = monitored.url_of(watcher)
    if what in ("rank", "lock"):
        gaspbpf.wait_for(lambda: watcher.has_said(f"{pid}: its memory does not answer".encode()),
                         "the monitor to say who does not answer")
        assert silent.waits()
    gate = tmp_path / "gate"
    gate.mkdir()
    other = own.start(20, 30, gate)
    gaspbpf.wait_for(lambda: list(gate.glob("ready.*")), "the other job")
    with within():
        monitored.scrape(url)
    gaspbpf.wait_for(lambda: processes(url) == (what != "lock") + 1, "its being noticed")
    (gate / "go").touch()
    gaspbpf.wait_for(lambda: list(gate.glob("done.*")), "its work")
    with within():
        calls = monitored.total(monitored.scrape_anew(url), "gaspbpf_process_calls_total", "event", comm=own.name)
    assert calls == {"GASP_SHMEM_BARRIER_ALL": 20, "GASP_SHMEM_PUT": 30}
    (gate / "end").touch()
    assert other.wait(timeout=gaspbpf.PATIENCE) == 0
    watcher.process.send_signal(signal.SIGTERM)
    assert ended(watcher.process) == 0


@pytest.mark.parametrize("what", WHAT + ["stack"])
@pytest.mark.parametrize("command",
                         [["record", "-m", "upc", "-d", "500ms"], ["top", "-m", "upc", "--once", "-d", "500ms"],
                          ["stuck", "-m", "upc"], ["list"]], ids=lambda words: words[0])
def test_a_command_ends(silent, command, what):
    """Each command that looks at such a process comes to an end by itself, and says what it could not know."""
    pid = silent.start_and_wait(what)
    with open(silent.folder / "said", "w+") as said:
        process = subprocess.Popen([gaspbpf.PROGRAM, *command, "-p", str(pid)], stdout=said, stderr=said)
        status = ended(process)
        text = (silent.folder / "said").read_text()
    if silent.waits():
        assert f"{pid}: its memory does not answer" in text
    assert status in (0, 1), text


def test_a_command_whose_library_answers_others_only(tmp_path):
    """It is held while it maps it. Who holds it waits for no file system: it comes to an end, and says why it did not
    let the command begin."""
    (tmp_path / "library.c").write_text("int secret(void) { return 42; }\n")
    (tmp_path / "program.c").write_text("int secret(void); int main(void) { return secret(); }\n")
    gaspbpf.compile_c(tmp_path / "library.c", tmp_path / "library.so", "-shared", "-fPIC")
    silent = Silent(tmp_path, tmp_path / "library.so")
    try:
        # no soname: it is needed by its path
        gaspbpf.compile_c(tmp_path / "program.c", tmp_path / "program", "-Wl,--no-as-needed",
                          str(silent.mount / "choosy"))
        assert subprocess.run([tmp_path / "program"]).returncode == 42
        with within(2 * MOST):
            said = gaspbpf.run("-m", "+c", "--", tmp_path / "program")
        assert said.returncode == 1 and "does not answer: it is left alone" in said.stderr, said.stderr
        assert "choosy" in silent.log.read_text()
    finally:
        silent.close()


def test_a_reader_that_takes_long_to_start_is_nobodys_fault(job, tmp_path):
    """A far file system, a busy machine: what the reader's own program takes is not held against the process that is
    looked at."""
    gaspbpf.compile_c(HERE / "late_reader.c", tmp_path / "libbz2.so.1.0", "-shared", "-fPIC",
                      "-Wl,-soname,libbz2.so.1.0")
    target = job([gaspbpf.WORKLOADS / "threads"]).wait_ready()
    begun = time.monotonic()
    said = gaspbpf.run("list", "-p", target.process.pid, env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert time.monotonic() - begun > 2.9
    assert (said.returncode, said.stderr) == (0, "")
    assert "GASP_C_MALLOC" in said.stdout
