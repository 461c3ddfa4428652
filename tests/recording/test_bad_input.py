# SPDX-License-Identifier: BSD-2-Clause
"""What cannot work is said in one clear line, and nothing is left behind by it."""
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess

import pytest

import gaspbpf
import remains

needs_32_bits = pytest.mark.skipif(not gaspbpf.runs_32_bits(), reason="this kernel does not start 32-bit programs")
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def lines(text):
    return [line for line in text.splitlines() if line]


def refused(result, *words, status=1):
    """It ended with the status, told why in one line of the usual form, and left nothing in the kernel."""
    said = lines(result.stderr)
    usage = [line for line in said if line.startswith("Try `gaspbpf")]
    said = [line for line in said if line not in usage]
    assert result.returncode == status, result.stderr
    assert len(said) == 1, result.stderr
    assert re.match(r"gaspbpf( \w+)?: ", said[0])
    assert said[0].count(": ") >= 2 or status == 2, f"what, why, what to do: {said[0]}"
    assert bool(usage) <= (status == 2)
    assert result.stdout == ""
    for word in words:
        assert word in said[0], said[0]
    remains.assert_no_orphans()
    return said[0]


@pytest.fixture
def sleeper():
    """A process that maps nothing but libc and does nothing."""
    with subprocess.Popen(["sleep", "120"]) as process:
        gaspbpf.wait_for(lambda: pathlib.Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n", "sleep to start")
        yield process
        assert process.poll() is None, "it was harmed"
        assert remains.patched(process.pid, remains.places(process.pid, "-m", "c")) == set()
        process.kill()


@pytest.fixture
def recording(tmp_path):
    """A good recording, that everybody may read."""
    path = tmp_path / "good.gasp"
    result = gaspbpf.run("-q", "-o", path, "--", gaspbpf.WORKLOADS / "threads", "--rounds", 20)
    assert result.returncode == 0, result.stderr
    os.chmod(path, 0o644)
    return path


# --- the process ----------------------------------------------------------

def free_pid():
    with subprocess.Popen(["true"]) as process:
        process.wait()
        return process.pid


def test_no_such_process():
    refused(gaspbpf.run("-p", free_pid()), "no such process")


@pytest.mark.parametrize("pid", ["", "x", "0", "-1", "12x", "99999999999", "1,,2", "1,", ",1", " ", "1 , , 2", "1;2"])
def test_a_pid_that_is_none(pid):
    result = gaspbpf.run(f"--pid={pid}")
    assert result.returncode == 2
    assert len([line for line in lines(result.stderr) if not line.startswith("Try")]) == 1, result.stderr


def test_a_kernel_thread():
    assert pathlib.Path("/proc/2/comm").read_text() == "kthreadd\n"
    refused(gaspbpf.run("-p", 2), "kernel thread")


def test_a_zombie():
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        refused(gaspbpf.run("-p", process.pid), str(process.pid), "zombie")


@pytest.mark.parametrize("program, words", [
    pytest.param("elf32", ["32-bit", "64-bit"], marks=needs_32_bits),
    ("golike", ["Go program"]),
    ("static_stripped", ["stripped", "gaspbpf list -p"]),
])
def test_programs_that_cannot_be_observed(tmp_path, program, words):
    """Refused; the program runs on, and a file that was asked for is not made."""
    with subprocess.Popen([gaspbpf.WORKLOADS / program], stdout=subprocess.PIPE) as target:
        try:
            assert target.stdout.readline().startswith(b"ready")
            refused(gaspbpf.run("-p", target.pid, "-d", 5, "-o", tmp_path / "run.gasp"), str(target.pid), *words)
            assert target.poll() is None
            assert not (tmp_path / "run.gasp").exists()
        finally:
            target.kill()


@needs_32_bits
def test_a_command_that_cannot_be_observed_is_not_started(tmp_path):
    result = gaspbpf.run("-o", tmp_path / "run.gasp", "--", gaspbpf.WORKLOADS / "elf32")
    refused(result, "32-bit")
    assert not (tmp_path / "run.gasp").exists()
    pid = int(re.search(r"gaspbpf: (\d+):", result.stderr)[1])
    assert not pathlib.Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("command, words", [
    ("/nowhere/job", ["/nowhere/job", "No such file"]), ("/etc/passwd", ["/etc/passwd", "ermission denied"]),
    ("no-such-job", ["no-such-job", "No such file"]),
])
def test_a_command_that_does_not_exist(tmp_path, command, words):
    refused(gaspbpf.run("-o", tmp_path / "run.gasp", "--", command), *words)
    assert not (tmp_path / "run.gasp").exists()


def test_nothing_known_is_mapped(sleeper):
    refused(gaspbpf.run("-p", sleeper.pid, "-m", "mpi"), str(sleeper.pid), "no known runtime", "gaspbpf list -p")


def test_a_command_that_maps_nothing_known(tmp_path):
    """It runs on, for what it starts may map something; at the end the user is told why nothing is in the report."""
    result = gaspbpf.run("-q", "-m", "mpi", "--", "sh", "-c", "exit 5")
    assert result.returncode == 5
    assert len(lines(result.stderr)) == 1 and "mapped no known runtime" in result.stderr, result.stderr
    assert "No call was observed" in result.stdout


def test_processes_that_end_while_gaspbpf_looks(tmp_path):
    """Whatever moment they end in: a report or one clear line, never a hang."""
    program = gaspbpf.WORKLOADS / "brief"
    for children in (1, 30, 100, 300, 1000, 1000):
        with subprocess.Popen([program, str(children)]) as target:
            result = gaspbpf.run("-q", "-p", target.pid)
            assert target.wait(timeout=gaspbpf.PATIENCE) == 0
        if result.returncode:
            refused(result, str(target.pid))
        else:
            assert "Observed for" in result.stdout
    remains.assert_no_orphans()


def test_a_process_that_is_killed_while_gaspbpf_attaches(job):
    """As above, with a process that ends at an exact, varied time after gaspbpf has begun."""
    for delay in range(12):
        target = job([gaspbpf.WORKLOADS / "threads", "--seconds", 60], gate=False)
        gaspbpf.wait_for(lambda: "ready" in target.output(), "the job to work")
        watcher = subprocess.Popen([gaspbpf.PROGRAM, "-q", "-p", str(target.process.pid)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace")
        try:
            watcher.wait(timeout=delay * 0.05)
        except subprocess.TimeoutExpired:
            pass
        target.process.kill()
        out, errors = watcher.communicate(timeout=gaspbpf.PATIENCE)
        assert watcher.returncode in (0, 1), errors
        if watcher.returncode:
            refused(subprocess.CompletedProcess([], 1, out, errors))
        else:
            assert "Observed for" in out
    remains.assert_no_orphans()


# --- rights ---------------------------------------------------------------

@pytest.fixture
def for_nobody(tmp_path):
    """A copy of gaspbpf and its models where everybody may run it, and a folder that nobody may write to."""
    folder = pathlib.Path(subprocess.run(["mktemp", "-d", "/tmp/gaspbpf-test.XXXXXX"], capture_output=True, text=True,
                                         check=True).stdout.strip())
    os.chmod(folder, 0o755)
    shutil.copy(gaspbpf.PROGRAM, folder / "gaspbpf")
    shutil.copytree(gaspbpf.TOP / "models", folder / "models")
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    (folder / "own").mkdir()
    os.chown(folder / "own", 65534, 65534)
    yield folder
    shutil.rmtree(folder)


def as_nobody(folder, *arguments):
    return subprocess.run([*NOBODY, folder / "gaspbpf", *map(str, arguments)], capture_output=True, text=True,
                          errors="replace", timeout=gaspbpf.PATIENCE, cwd=folder / "own")


def test_not_root(sleeper, for_nobody):
    refused(as_nobody(for_nobody, "-p", sleeper.pid, "-o", "run.gasp"), "root", "sudo")
    refused(as_nobody(for_nobody, "-o", "run.gasp", "--", "touch", "ran"), "root", "sudo")
    assert os.listdir(for_nobody / "own") == []


def test_report_and_export_need_no_root(recording, for_nobody):
    shutil.copy(recording, for_nobody / "run.gasp")
    os.chmod(for_nobody / "run.gasp", 0o444)
    report = as_nobody(for_nobody, "report", for_nobody / "run.gasp")
    assert report.returncode == 0, report.stderr
    assert report.stdout == gaspbpf.run("report", recording).stdout
    export = as_nobody(for_nobody, "export", for_nobody / "run.gasp", "-o", "run.json", "-o", "run.json.gz", "-o",
                       "run.events")
    assert (export.returncode, export.stderr) == (0, "")
    made = for_nobody / "own" / "run.json"
    assert made.stat().st_uid == 65534
    assert gaspbpf.run("export", recording, "-o", for_nobody / "again.json").returncode == 0
    assert made.read_bytes() == (for_nobody / "again.json").read_bytes()
    refused(as_nobody(for_nobody, "export", for_nobody / "run.gasp", "-o", for_nobody / "no.json"), "no.json",
            "may not write there")


def test_a_recording_that_may_not_be_read(recording, for_nobody):
    shutil.copy(recording, for_nobody / "run.gasp")
    os.chmod(for_nobody / "run.gasp", 0o600)
    refused(as_nobody(for_nobody, "report", for_nobody / "run.gasp"), "run.gasp", "ermission")


# --- the command line -----------------------------------------------------

@pytest.mark.parametrize("arguments, words", [
    (["frobnicate"], ["frobnicate", "no such command", "--help"]),
    (["--frobnicate"], ["--frobnicate"]),
    (["-z"], ["'z'"]),
    (["-p", "1", "--", "true"], ["-p", "COMMAND", "not both"]),
    (["record"], ["nothing to observe"]),
    (["-o", "run.gasp"], ["nothing to observe"]),
    (["-p"], ["requires an argument"]),
    (["-p", "1", "-d", "soon"], ["-d soon", "not a time"]),
    (["-p", "1", "-d", "0"], ["-d 0"]),
    (["-p", "1", "--scope", "wide"], ["--scope=wide"]),
    (["-p", "1", "--ring-size", "1"], ["--ring-size 1"]),
    (["-p", "1", "-o", "run.txt"], ["-o run.txt", ".gasp", ".json"]),
    (["-p", "1", "-o", "run"], ["-o run", ".gasp", ".json"]),
    (["-p", "1", "-o", "a.gasp", "-o", "b.gasp"], ["-o b.gasp", "one recording"]),
    (["report"], ["which recording"]),
    (["report", "a.gasp", "b.gasp"], ["b.gasp"]),
    (["report", "--top", "x", "a.gasp"], ["--top x"]),
    (["report", "--frobnicate", "a.gasp"], ["--frobnicate"]),
    (["export", "a.gasp"], ["where to"]),
    (["export", "-o", "a.json"], ["which recording"]),
    (["export", "a.gasp", "-o", "a.txt"], ["-o a.txt", ".json"]),
    (["list"], ["nothing to look at"]),
    (["list", "-p", "x"], ["-p x"]),
    (["doctor", "--frobnicate"], ["--frobnicate"]),
], ids=" ".join)
def test_usage(tmp_path, arguments, words):
    result = subprocess.run([gaspbpf.PROGRAM, *arguments], capture_output=True, text=True, timeout=gaspbpf.PATIENCE,
                            cwd=tmp_path)
    refused(result, *words, status=2)
    assert os.listdir(tmp_path) == []


def test_no_argument_at_all():
    result = gaspbpf.run()
    assert result.returncode == 2
    assert result.stdout == "" and result.stderr.startswith("Usage: gaspbpf")


def test_an_unknown_model(sleeper):
    refused(gaspbpf.run("-p", sleeper.pid, "-m", "frobnicate"), "frobnicate", "no such model", "gaspbpf list --known")


def test_an_unknown_rung(sleeper, tmp_path):
    result = gaspbpf.run("-p", sleeper.pid, "-o", tmp_path / "run.gasp", env={"GASPBPF_RUNG": "frobnicate"})
    refused(result, "GASPBPF_RUNG=frobnicate", "session, multi or perf")
    assert not (tmp_path / "run.gasp").exists()


@pytest.mark.parametrize("text, place", [
    ("model x\nlibrary libx.so\nFOO nonsense void f(int a)\n", "3:5"),
    ("model x\nlibrary libx.so\nFOO get void f(int a @frobnicate)\n", "3:22"),
    ("model x\nlibary libx.so\nlibrary libx.so\n", "2:1"),
    ("model x\nFOO get void f(void)\n", "1:"),
    ("model x\nlibrary libx.so\nFOO get void f(int a", "3:"),
    ("\0\1\2", "1:1"),
], ids=["role", "annotation", "statement", "no library", "open parenthesis", "binary"])
def test_a_bad_model_file(sleeper, tmp_path, text, place):
    model = tmp_path / "bad.model"
    model.write_text(text)
    for command in (["-p", sleeper.pid], ["list", "-p", sleeper.pid]):
        said = refused(gaspbpf.run(*command, "--model-file", model))
        assert said.startswith(f"gaspbpf: {model}:{place}"), said


def test_a_model_file_that_is_not_there(sleeper, tmp_path):
    refused(gaspbpf.run("-p", sleeper.pid, "--model-file", tmp_path / "no.model"), "no.model", "No such file")


# --- outputs --------------------------------------------------------------

def test_into_a_missing_folder(sleeper, tmp_path):
    for name in ("run.gasp", "run.json"):
        refused(gaspbpf.run("-p", sleeper.pid, "-o", tmp_path / "no" / name), name, "folder")
    assert not (tmp_path / "no").exists()


def test_onto_links_and_pipes(sleeper, tmp_path):
    """A link is not followed, a pipe does not hold gaspbpf up, a folder is none: each is said, and each is left as it
    was."""
    (tmp_path / "kept").write_text("precious")
    (tmp_path / "link.gasp").symlink_to(tmp_path / "kept")
    (tmp_path / "dangling.json").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "fifo.gasp")
    (tmp_path / "folder.gasp").mkdir()
    refused(gaspbpf.run("-p", sleeper.pid, "-o", tmp_path / "link.gasp"), "link.gasp", "symbolic link")
    refused(gaspbpf.run("-p", sleeper.pid, "-o", tmp_path / "dangling.json"), "dangling.json", "symbolic link")
    refused(gaspbpf.run("-p", sleeper.pid, "-o", tmp_path / "fifo.gasp"), "fifo.gasp", "not a regular file")
    refused(gaspbpf.run("-p", sleeper.pid, "-o", tmp_path / "folder.gasp"), "folder.gasp", "folder")
    assert (tmp_path / "kept").read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()
    assert stat.S_ISFIFO((tmp_path / "fifo.gasp").stat().st_mode)


def test_what_was_in_a_file_is_kept_until_the_run_begins(tmp_path):
    """The wrong PID must not cost the last recording, nor leave empty files."""
    (tmp_path / "old.gasp").write_text("the last recording")
    (tmp_path / "old.json").write_text("the last trace")
    options = [option for name in ("old.gasp", "old.json", "new.json.gz") for option in ("-o", tmp_path / name)]
    refused(gaspbpf.run("-p", free_pid(), *options))
    refused(gaspbpf.run("-p", 2, *options))
    result = gaspbpf.run(*options, "--", "/nowhere/job")
    refused(result, "/nowhere/job")
    assert (tmp_path / "old.gasp").read_text() == "the last recording"
    assert (tmp_path / "old.json").read_text() == "the last trace"
    assert sorted(os.listdir(tmp_path)) == ["old.gasp", "old.json"]
    assert gaspbpf.run("-q", *options, "--", gaspbpf.WORKLOADS / "brief").returncode == 0
    assert gaspbpf.run("report", tmp_path / "old.gasp").returncode == 0
    assert b"last" not in (tmp_path / "old.json").read_bytes()


@pytest.fixture
def tiny(tmp_path):
    """A disk of a few pages."""
    folder = tmp_path / "tiny"
    folder.mkdir()

    def mount(size):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tiny", folder], check=True)
        return folder

    yield mount
    subprocess.run(["umount", folder], check=True)


def test_a_disk_that_gets_full(tiny):
    """What fits is kept, it is said once, the report is whole, the recording opens and tells what it misses."""
    folder = tiny("1m")
    result = gaspbpf.run("-q", "-o", folder / "run.gasp", "--", gaspbpf.WORKLOADS / "threads", "--rounds", 1500)
    assert result.returncode == 1
    said = [line for line in lines(result.stderr) if "--max-overhead" not in line]  # probes are dear for it
    assert len(said) == 1 and "No space left" in said[0] and "run.gasp" in said[0], result.stderr
    assert "checksum" in result.stdout and "GASP_C_MALLOC" in result.stdout
    delivered = int(re.search(r"lost 0 of ([\d,]+) calls", result.stdout)[1].replace(",", ""))
    again = gaspbpf.run("report", folder / "run.gasp", "--json")
    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    kept = sum(row["calls"] for row in report["events"])
    assert 0 < kept < delivered
    assert kept + report["loss"]["unwritten"] == delivered


def test_a_disk_that_is_full_from_the_start(tiny):
    folder = tiny("64k")
    (folder / "filler").write_bytes(bytes(65536))
    result = gaspbpf.run("-q", "-o", folder / "run.gasp", "--", gaspbpf.WORKLOADS / "threads", "--rounds", 20)
    assert result.returncode == 1
    said = [line for line in lines(result.stderr) if "--max-overhead" not in line]
    assert len(said) == 1 and "No space left" in said[0], result.stderr
    assert "GASP_C_MALLOC" in result.stdout


def test_an_export_onto_a_full_disk(tiny, recording):
    folder = tiny("64k")
    (folder / "filler").write_bytes(bytes(61440))
    refused(gaspbpf.run("export", recording, "-o", folder / "run.json"), "run.json", "No space left")


# --- recordings -----------------------------------------------------------

@pytest.mark.parametrize("command", [["report"], ["report", "--json"], ["export", "-o", "out.json"]], ids=" ".join)
def test_what_is_no_recording(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.gasp").touch()
    (tmp_path / "foreign.gasp").write_bytes(b"PK\3\4 something else" * 100)
    (tmp_path / "short.gasp").write_bytes(b"GASP")
    refused(gaspbpf.run(*command, "empty.gasp"), "empty.gasp", "empty")
    refused(gaspbpf.run(*command, "foreign.gasp"), "foreign.gasp", "not a gaspbpf recording")
    refused(gaspbpf.run(*command, "short.gasp"), "short.gasp")
    refused(gaspbpf.run(*command, "missing.gasp"), "missing.gasp", "No such file")
    refused(gaspbpf.run(*command, tmp_path), "not a regular file")
    assert not (tmp_path / "out.json").exists()


def test_a_recording_of_a_later_version(tmp_path, recording):
    data = bytearray(recording.read_bytes())
    data[8] += 1
    (tmp_path / "later.gasp").write_bytes(data)
    refused(gaspbpf.run("report", tmp_path / "later.gasp"), "later.gasp", "format 2", "newer")


def test_a_cut_recording(tmp_path, recording):
    """At whatever byte: read up to the cut, with one line about it; or refused in one line where nothing is left."""
    data = recording.read_bytes()
    whole = calls_of(gaspbpf.run("report", "--json", recording))
    cut = tmp_path / "cut.gasp"
    opened = 0
    for length in [*range(1, 64, 7), *range(64, len(data) - 1, max(1, len(data) // 40)), len(data) - 1]:
        cut.write_bytes(data[:length])
        result = gaspbpf.run("report", "--json", cut)
        assert result.returncode in (0, 1), result.stderr
        assert len(lines(result.stderr)) <= 1, result.stderr
        if result.returncode:
            refused(result, "cut.gasp")
        else:
            opened += 1
            assert calls_of(result) <= whole
    assert opened > 10


def calls_of(result):
    return sum(row["calls"] for row in json.loads(result.stdout)["events"])


def test_a_damaged_recording(tmp_path, recording):
    """A byte turned anywhere: no crash, at most one line, and never more calls than there were."""
    data = recording.read_bytes()
    whole = calls_of(gaspbpf.run("report", "--json", recording))
    damaged = tmp_path / "damaged.gasp"
    told = 0
    for at in range(0, len(data), max(1, len(data) // 60)):
        damaged.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:])
        result = gaspbpf.run("report", "--json", damaged)
        assert result.returncode in (0, 1), (at, result.stderr)
        assert len(lines(result.stderr)) <= 1, (at, result.stderr)
        told += bool(result.stderr)
        if result.returncode == 0:
            assert calls_of(result) <= whole, at
    assert told > 50


def test_an_export_over_its_own_recording(tmp_path, recording):
    (tmp_path / "run.json").symlink_to(recording)
    before = recording.read_bytes()
    os.link(recording, tmp_path / "same.json")
    refused(gaspbpf.run("export", recording, "-o", tmp_path / "same.json"), "same.json", "the recording itself")
    assert recording.read_bytes() == before


def test_a_report_into_a_closed_pipe(recording):
    """`gaspbpf report | head` ends quietly."""
    result = subprocess.run(f"{gaspbpf.PROGRAM} report {recording} | true", shell=True, capture_output=True, text=True,
                            timeout=gaspbpf.PATIENCE)
    assert result.stderr == ""
