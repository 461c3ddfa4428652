# SPDX-License-Identifier: BSD-2-Clause
"""What a start does not do twice: it measures what probes cost once an hour, and believes no earlier measurement that
somebody else could have written; it reads no file of the job's twice; and what it does not do at all: load programs of
ways of attaching that it does not use."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess

import pytest

import gaspbpf
import sticking
from following import Gated, runtime  # noqa: F401 (fixture)

MEASURED = "calibrated in "
TAKEN = "calibrated by an earlier start"
PLANTED = 7  # ns; no probe is that cheap, so what says it has read it


class Machine:
    """gaspbpf, with a folder of its own for /run: what other starts of this machine have written is not there."""

    def __init__(self, run):
        self.run = run
        run.mkdir(mode=0o755)

    def gaspbpf(self, *arguments):
        command = 'mount --bind "$0" /run && exec "$@"'
        result = subprocess.run(["unshare", "--mount", "sh", "-c", command, self.run, gaspbpf.PROGRAM, *arguments],
                                capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
        assert result.returncode == 0, result.stderr
        return result.stdout + result.stderr

    def start(self):
        """What the start of an observation says of prices: MEASURED or TAKEN."""
        said = self.gaspbpf("-v", "--", "true")
        assert (MEASURED in said) != (TAKEN in said), said
        return MEASURED if MEASURED in said else TAKEN

    @property
    def folder(self):
        return self.run / "gaspbpf-calibration"

    def file(self):
        [path] = self.folder.iterdir()
        return path


@pytest.fixture
def machine(tmp_path, rung):
    return Machine(tmp_path / "run")


@pytest.fixture
def measured(machine):
    """A start has measured, and its prices have been replaced by very low ones."""
    assert machine.start() == MEASURED
    plant(machine.file())
    return machine


def plant(path):
    """A price that nothing costs, in each line of prices."""
    text, lines = re.subn(r"(?m)^\d+ \d+ \d+$", f"{PLANTED} {PLANTED} {PLANTED}", path.read_text())
    assert lines == 5
    path.write_text(text)


def is_planted(path):
    return f"\n{PLANTED} {PLANTED} {PLANTED}\n" in path.read_text()


def test_second_start_takes_what_the_first_has_measured(measured):
    said = measured.gaspbpf("-v", "--", "true")
    assert TAKEN in said
    assert re.search(rf"a call costs {PLANTED / 1000} us[ ;]", said), said
    assert is_planted(measured.file())


def test_doctor_measures_anew(measured):
    said = measured.gaspbpf("doctor")
    assert f" {PLANTED} ns" not in said
    assert not is_planted(measured.folder / os.environ["GASPBPF_RUNG"])
    assert len(re.findall("yes +(?:session|multi|perf) ", said)) == len(list(measured.folder.iterdir()))


def test_dearer_than_calls_are_is_measured_anew(machine):
    """It was written by a start that something disturbed."""
    assert machine.start() == MEASURED
    path = machine.file()
    dear = re.sub(r"(?m)^\d+ \d+ \d+$", "90000000 90000000 90000000", path.read_text())
    path.write_text(dear)
    assert machine.start() == MEASURED
    assert path.read_text() != dear


def others_may_write(path):
    path.chmod(0o622)


def is_anothers(path):
    os.chown(path, 1, 0)


def is_behind_a_link(path):
    os.rename(path, path.parent / "elsewhere")
    path.symlink_to("elsewhere")


def is_a_fifo(path):
    path.unlink()
    os.mkfifo(path)


def others_may_write_the_folder(path):
    path.parent.chmod(0o777)


def folder_is_anothers(path):
    os.chown(path.parent, 1, 0)


def folder_is_behind_a_link(path):
    os.rename(path.parent, path.parent.parent / "elsewhere")
    path.parent.symlink_to("elsewhere")


DOUBTS = (others_may_write, is_anothers, is_behind_a_link, is_a_fifo, others_may_write_the_folder, folder_is_anothers,
          folder_is_behind_a_link)


@pytest.mark.parametrize("doubt", DOUBTS, ids=lambda doubt: doubt.__name__)
@pytest.mark.parametrize("rung", gaspbpf.RUNGS[:1], indirect=True)
def test_what_others_could_have_written_is_not_believed(measured, doubt):
    doubt(measured.file())
    assert measured.start() == MEASURED


@pytest.mark.parametrize("line", ["kernel", "boot", "processor", "programs", "bpf", "way"])
@pytest.mark.parametrize("rung", gaspbpf.RUNGS[:1], indirect=True)
def test_of_another_machine_it_is_not_believed(measured, line):
    text, changed = re.subn(rf"(?m)^{line} .*$", f"{line} another", measured.file().read_text())
    assert changed == 1
    measured.file().write_text(text)
    assert measured.start() == MEASURED


@pytest.mark.parametrize("rung", gaspbpf.RUNGS[:1], indirect=True)
def test_file_behind_a_link_is_not_written_to(measured):
    """The new one takes the link's place."""
    victim = pathlib.Path(measured.run, "victim")
    victim.write_text("kept")
    path = measured.file()
    path.unlink()
    path.symlink_to("../victim")
    assert measured.start() == MEASURED
    assert victim.read_text() == "kept"
    assert not path.is_symlink() and path.stat().st_mode & 0o777 == 0o600


# --- programs -----------------------------------------------------------------

NEEDED = {"session": {"session", "call", "last"}, "multi": {"leave", "call", "last"}, "perf": {"leave", "call", "last"}}


def test_programs_of_other_rungs_are_not_loaded(rung, tmp_path):
    trace = tmp_path / "trace"
    subprocess.run(["strace", "-e", "trace=bpf", "-o", trace, gaspbpf.PROGRAM, "list", "/bin/sh"], capture_output=True,
                   timeout=gaspbpf.PATIENCE, check=True)
    loaded = set(re.findall(r'BPF_PROG_LOAD.*prog_name="(\w+)"', trace.read_text()))
    assert loaded & {"session", "call", "leave", "last"} == NEEDED[rung]


VERIFIED_MOST = 80_000  # instructions, of all programs together; 50,000 on Linux 6.18


def instructions_followed(pid):
    """Of each BPF program that a process has loaded, how many instructions the verifier has followed."""
    followed = {}
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            text = info.read_text()
            if "verified_insns" in text:
                number = re.search(r"^prog_id:\s*(\d+)$", text, re.M)[1]
                followed[number] = int(re.search(r"^verified_insns:\s*(\d+)$", text, re.M)[1])
    return followed


def test_verifier_has_little_to_follow(rung):
    """It follows what stands in a loop once for each round, and for all that earlier rounds may have found. So that
    most of a start's time was its, and nobody had changed more than a line."""
    with subprocess.Popen([gaspbpf.PROGRAM, "-m", "pthread", "--", "cat"], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        assert any(b"observing 1 process" in line for line in run.stderr)
        followed = instructions_followed(run.pid)
        run.communicate(timeout=gaspbpf.PATIENCE)  # nothing more to read: cat ends
    assert len(followed) >= len(NEEDED[rung])
    assert sum(followed.values()) < VERIFIED_MOST, followed


# --- probes -------------------------------------------------------------------


def started_by_first_thread(trace):
    """Of a run that has come to its command, what was started since: threads, and processes that put probes in."""
    lines = re.findall(r"^clone3?\(.*$", trace.read_text(), re.M)
    last = max(i for i, line in enumerate(lines) if "SIGCHLD" in line)
    threads = [line for line in lines[last:] if "CLONE_THREAD" in line]
    return threads, [line for line in lines[last:] if "flags=CLONE_VM)" in line]


@pytest.mark.parametrize("rung", gaspbpf.RUNGS[:1], indirect=True)
def test_command_does_not_wait_until_probes_are_out(rung, runtime, tmp_path):
    """Taking a probe out takes tens of milliseconds, by threads that are started for it. Before a process with a
    runtime is let go that had been done to the one that its linker has, which was then put in again: rank after
    rank, while all of them stood still."""
    trace = tmp_path / "trace"
    run = Gated(runtime, ["strace", "-e", "trace=clone,clone3", "-o", trace, gaspbpf.PROGRAM, "-q", *runtime.options,
                          "--", runtime.path / "step"], tmp_path / "gate")
    threads, putting_in = started_by_first_thread(trace)
    run.work()
    run.end()
    assert not threads
    assert len(putting_in) == 2  # of the runtime, and of the linker


# --- files ----------------------------------------------------------------------


def counted_by_kernel(what, *arguments):
    """Of a run of gaspbpf: rchar: bytes read; syscr: system calls that read."""
    with subprocess.Popen([gaspbpf.PROGRAM, *map(str, arguments)], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as run:
        os.waitid(os.P_PID, run.pid, os.WEXITED | os.WNOWAIT)
        counted = pathlib.Path(f"/proc/{run.pid}/io").read_text()
        assert run.wait() == 0, run.stderr.read()
    return int(re.search(rf"^{what}: (\d+)$", counted, re.M)[1])


def bytes_read(*arguments):
    return counted_by_kernel("rchar", *arguments)


def bytes_mapped(pid):
    """All of the files that a process has code from."""
    mapped = pathlib.Path(f"/proc/{pid}/maps").read_text()
    return sum(os.path.getsize(path) for path in set(re.findall(r" r-xp .* (/.*)$", mapped, re.M)))


@contextlib.contextmanager
def stopped(pids):
    """MPICH's ranks turn in circles while they wait, and take the processors from who reads."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    yield
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def test_names_are_looked_for_in_one_reading_of_a_library(job):
    """MPICH brings libraries of 300 MB, many of which could look up functions by their names: all names of interest
    are looked for at once, whatever the number of models, ranks and looks."""
    run = sticking.mpi(job, "mpich", "ring", 2)
    sticking.entered(run, range(2))
    seen = sticking.until(sticking.waiting_in("GASP_MPI_SEND", range(2)), "-d", "0", "-p", run.process.pid)
    ranks = sorted({thread["pid"] for thread in seen["threads"]})
    size = bytes_mapped(ranks[0])
    with stopped(ranks):
        assert bytes_read("list", "-p", ranks[0]) < 1.5 * size
        assert bytes_read("list", "-p", ",".join(map(str, ranks))) < 1.5 * size
    assert bytes_read("stuck", "-d", "0.1s", "-p", run.process.pid) < 3 * size


def test_code_is_read_in_large_pieces(rung):
    """Whether code goes to other stacks is asked of every function that saves a certain register, and each was read by
    itself. A job stands still while its libraries are looked at."""
    library = subprocess.run(["gcc", "-print-file-name=libmpich.so.12"], capture_output=True, text=True,
                             check=True).stdout.strip()
    assert counted_by_kernel("syscr", "list", library) < os.path.getsize(library) / 4096 + 3000
