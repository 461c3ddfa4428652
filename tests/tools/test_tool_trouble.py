# SPDX-License-Identifier: BSD-2-Clause
"""Tools that crash, hang, end, close, print and dawdle: that is said, and neither the job nor the recording has less
for it."""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

import pytest

import gaspbpf
import naming
import toolkit
import truth

JOB = [gaspbpf.WORKLOADS / "upc_job", "-n", "3", "--rounds", "40"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tools")


@pytest.fixture(scope="module")
def tool(folder):
    return toolkit.build(folder, "gasp_log.c")


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recording")
    result = gaspbpf.run("record", "-q", "-o", folder / "run.gasp", "--", *JOB)
    assert result.returncode == 0, result.stderr
    return folder / "run.gasp"


def replay(recording, tool, path, *options, **env):
    return gaspbpf.run("replay", recording, "--tool", tool, *options, env={"TOOL_LOG": path, **env})


SAYS = {
    "crash": r"crashed \(Segmentation fault\) in its notify function, told of GASP_UPC_\w+ (START|END)",
    "hang": r"hangs in its notify function, told of GASP_UPC_\w+ (START|END): it made no step for",
    "exit": r"ended its process \(exit status 0\) in its notify function, told of GASP_UPC_\w+ (START|END)",
    "close": r"the descriptor that its events come through cannot be read",
}


@pytest.mark.parametrize("what", SAYS)
def test_capture_goes_on_without_it(job, observe, tool, tmp_path, what):
    """Said while it is live; the report and the recording have every call of the job, and the job runs to its end."""
    ring = job([*JOB, "--warmup", "1", "--after", "1"], ranks=3).wait_ready()
    watcher = observe("-p", ring.process.pid, "--json", "-o", tmp_path / "run.gasp", "--tool", tool,
                      "--tool-patience", "2s", env={"TOOL_LOG": tmp_path / "log", "TOOL_DO": what, "TOOL_AT": "50"})
    ring.work()
    gaspbpf.wait_for(lambda: watcher.has_said(b"the observation goes on without it"), "gaspbpf to notice")
    status, out, errors = watcher.stop()
    assert ring.end() == 0, ring.output()
    assert status == 1 and re.search(SAYS[what], errors), errors
    report = json.loads(out)
    assert report["loss"]["lost"] == 0
    counted = truth.by_event(truth.functions(ring), naming.upc)
    assert truth.differences_in_calls(report, counted, "UPC", inner=True) == {}
    again = gaspbpf.run("report", "--json", tmp_path / "run.gasp")
    assert truth.differences_in_calls(json.loads(again.stdout), counted, "UPC", inner=True) == {}


@pytest.mark.parametrize("what", SAYS)
def test_replay_says_what_happened(recording, tool, tmp_path, what):
    result = replay(recording, tool, tmp_path / "log", "--tool-patience=2s", TOOL_DO=what, TOOL_AT="50")
    assert result.returncode == 1 and re.search(SAYS[what], result.stderr), result.stderr


def test_a_slow_tool_is_left_behind(job, observe, tool, tmp_path):
    """What waits for it is bounded. It is told a part, in which each START has its END; the recording tells it all
    later."""
    ring = job([*JOB, "--rounds", "400"], ranks=3).wait_ready()
    watcher = observe("-p", ring.process.pid, "--json", "-o", tmp_path / "run.gasp", "--tool", tool,
                      "--tool-buffer", "64k", env={"TOOL_LOG": tmp_path / "log", "TOOL_DO": "slow"})
    ring.work()
    gaspbpf.wait_for(lambda: watcher.has_said(b"does not keep up"), "gaspbpf to notice")
    gaspbpf.wait_for((tmp_path / "log").exists, "the tool to have been told something")
    status, out, errors = watcher.stop()
    assert ring.end() == 0, ring.output()
    assert status == 1
    untold = int(re.search(r"was not told (\d+) events", errors)[1])
    log = toolkit.Log(tmp_path / "log")
    log.check_nesting()
    assert log.lines[-1].startswith("end ")
    calls = json.loads(out)["loss"]["calls"]
    result = replay(tmp_path / "run.gasp", tool, tmp_path / "later")
    assert result.returncode == 0, result.stderr
    later = toolkit.Log(tmp_path / "later")
    assert sum(later.counts().values()) == calls
    assert len(log.calls) + untold == len(later.calls)


def test_rubbish_is_passed_on_and_said(recording, tool, tmp_path):
    result = replay(recording, tool, tmp_path / "log", TOOL_DO="print")
    assert result.returncode == 0
    rubbish = int(re.search(r"printed (\d+) bytes that are no text", result.stderr)[1])
    assert rubbish == 3 * 4096
    assert result.stdout.count("rubbish") == result.stderr.count("rubbish") == 2048
    assert sum(toolkit.Log(tmp_path / "log").counts().values()) > 1000


def fields(out):
    return dict(re.findall(r"^(\w[\w-]*):\s*(.*?)\s*$", out, re.M))


def test_it_has_no_privileges(recording, tool, tmp_path):
    """Where root asked, it is root without any capability, now and after any exec."""
    result = replay(recording, tool, tmp_path / "log", TOOL_DO="show", SUDO_UID="", SUDO_GID="")
    assert result.returncode == 0, result.stderr
    said = fields(result.stdout)
    assert {said[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert said["NoNewPrivs"] == "1" and said["Session"] == "1"


@pytest.fixture
def open_folder():
    """One that everybody may look into; pytest's own are root's."""
    with tempfile.TemporaryDirectory(prefix="gaspbpf-test-") as path:
        os.chmod(path, 0o755)
        yield pathlib.Path(path)


def test_it_is_the_user_behind_sudo(recording, open_folder):
    """Its uid, gid and groups are nobody's; files of root are closed to it. What it writes is nobody's."""
    tool = toolkit.build(open_folder, "gasp_log.c")
    written = open_folder / "written"
    written.mkdir()
    written.chmod(0o777)
    nobody = subprocess.run(["id", "-u", "nobody"], capture_output=True, text=True, check=True).stdout.strip()
    group = subprocess.run(["id", "-g", "nobody"], capture_output=True, text=True, check=True).stdout.strip()
    result = replay(recording, tool, written / "log", TOOL_DO="show", SUDO_UID=nobody, SUDO_GID=group)
    assert result.returncode == 0, result.stderr
    said = fields(result.stdout)
    assert said["Uid"].split() == [nobody] * 4 and said["Gid"].split() == [group] * 4
    assert set(said["Groups"].split()) <= {group}
    assert {said[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert said["NoNewPrivs"] == "1" and said["Root-file"] == "-1"
    assert (written / "log").stat().st_uid == int(nobody)


def test_mistakes_are_told_before_anything_is_attached(recording, folder, tmp_path):
    (folder / "none.c").write_text("int nothing_of_interest;\n")
    gaspbpf.compile_c(folder / "none.c", folder / "none.so", "-shared", "-fPIC")
    (folder / "text.so").write_text("no library\n")
    for path, why in ((folder / "none.so", "is no tool that is known"), (folder / "text.so", "cannot be loaded"),
                      (folder / "missing.so", "cannot be loaded")):
        result = replay(recording, path, tmp_path / "log")
        assert result.returncode == 1 and why in result.stderr and str(path) in result.stderr
        result = gaspbpf.run("record", "--tool", path, "--", "true")
        assert result.returncode == 1 and why in result.stderr and "observing" not in result.stderr
    for option in ("--gasp-ids=other", "--tool-threads=two", "--tool-clock=no", "--tool-buffer=1", "--tool-patience=0"):
        assert gaspbpf.run("replay", recording, "--tool", "x.so", option).returncode == 2
    assert gaspbpf.run("replay", recording).returncode == 2


def test_interrupt_ends_a_replay_in_good_order(recording, tool, tmp_path):
    """The tool is told no more and may write down what it has; a second signal does not wait for one that hangs."""
    env = {**os.environ, "TOOL_LOG": str(tmp_path / "log"), "TOOL_DO": "hang", "TOOL_AT": "50"}
    process = subprocess.Popen([gaspbpf.PROGRAM, "replay", recording, "--tool", tool], env=env,
                               stderr=subprocess.PIPE, text=True)
    gaspbpf.wait_for((tmp_path / "log").exists, "the tool to begin")
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            pass
    assert process.returncode == 1
    assert "killed, since it was not to be waited for" in process.stderr.read()


def test_no_process_is_left_when_gaspbpf_is_killed(job, observe, tool, tmp_path):
    """Its pipe ends, so the tool is at its end, too, and writes down what it has."""
    ring = job([*JOB], ranks=3).wait_ready()
    watcher = observe("-p", ring.process.pid, "--tool", tool, env={"TOOL_LOG": tmp_path / "log"})
    ring.work()
    gaspbpf.wait_for(lambda: (tmp_path / "log").exists(), "the tool to begin")
    watcher.process.kill()
    gaspbpf.wait_for(lambda: "\nend " in (tmp_path / "log").read_text(), "the tool to end")
    assert ring.end() == 0, ring.output()


def test_nor_is_one_that_hangs_left(job, observe, tool, tmp_path):
    ring = job([*JOB], ranks=3).wait_ready()
    watcher = observe("-p", ring.process.pid, "--tool", tool,
                      env={"TOOL_LOG": tmp_path / "log", "TOOL_DO": "hang", "TOOL_FLUSH": "1"})
    children = pathlib.Path(f"/proc/{watcher.process.pid}/task/{watcher.process.pid}/children").read_text().split()
    host, = (child for child in children if pathlib.Path(f"/proc/{child}/comm").read_text() == "gaspbpf-toolhos\n")
    ring.work()
    gaspbpf.wait_for(lambda: (tmp_path / "log").exists() and " START " in (tmp_path / "log").read_text(),
                     "the tool to hang")
    watcher.process.kill()
    gaspbpf.wait_for(lambda: not pathlib.Path(f"/proc/{host}/comm").exists() or
                     pathlib.Path(f"/proc/{host}/stat").read_text().split(")")[1].split()[0] == "Z",
                     "its process to end")
    assert ring.end() == 0, ring.output()


def test_what_is_lost_is_not_told_and_said(folder):
    """A flood and tiny rings: what the tool is told, and what it is said not to have been told, is all that the kernel
    counted."""
    tool = toolkit.build(folder, "count.cc")
    result = gaspbpf.run("record", "-q", "--json", "-m", "c", "--ring-size", "4k", "--tool-buffer", "1g", "--tool",
                         tool, "--", "sh", "-c", f"exec {gaspbpf.WORKLOADS / 'storm'} --storm-ms 300 >/dev/null")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    told = sum(int(calls) for calls in re.findall(r"^\d+ (\d+) \d+$", result.stderr, re.M))
    said = re.search(r"was not told (\d+) calls that are not on the timeline", result.stderr)
    assert report["loss"]["lost"] == (int(said[1]) if said else 0)
    assert told and told + report["loss"]["lost"] == report["loss"]["calls"]
