# SPDX-License-Identifier: BSD-2-Clause
"""However gaspbpf goes, and whatever the job does meanwhile: the job is not harmed and nothing remains."""
import json
import os
import re
import signal
import subprocess
import time

import pytest

import gaspbpf
import remains
import truth

ROUNDS = 30000  # about a second of work for `threads` when nobody looks
OPTIONS = {"perf": ["-m", "c"]}  # a perf event takes its time to remove
LEAVING = [(rung, how) for rung in gaspbpf.RUNGS
           for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
           if rung != "perf" or how in (signal.SIGINT, signal.SIGKILL)]


def alone(*command):
    """What a job prints and how it ends when nobody looks."""
    result = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    return truth.checksum(result.stdout), result.returncode


@pytest.fixture(scope="module")
def threads_alone():
    return alone(gaspbpf.WORKLOADS / "threads", "--rounds", ROUNDS)


def in_mid_flight(job, observe, rung, recording):
    """A job under load with gaspbpf on it: returns both, and the places that are probed."""
    target = job([gaspbpf.WORKLOADS / "threads", "--rounds", ROUNDS]).wait_ready()
    pid = target.process.pid
    options = OPTIONS.get(rung, [])
    probed = remains.places(pid, *options)
    assert remains.patched(pid, probed) == set()
    watcher = observe("-p", pid, *options, "-o", recording)
    assert remains.patched(pid, probed) == probed, "this is how breakpoints look: the check below sees them"
    (target.gate / "go").touch()
    gaspbpf.wait_for(lambda: gaspbpf.breakpoints(pid), "the job to run over a breakpoint")
    time.sleep(0.1)
    assert not (target.gate / "done.0").exists(), "the job was to be at work still"
    return target, watcher, probed


def is_whole_or_gone(pid, probed):
    """On a busy machine the job may have done all its work by now."""
    try:
        return not remains.patched(pid, probed)
    except ProcessLookupError:
        return True


@pytest.mark.guest
@pytest.mark.parametrize("rung, how", LEAVING, indirect=["rung"], ids=[f"{rung}-{how.name}" for rung, how in LEAVING])
def test_leaving_in_mid_flight(job, observe, threads_alone, tmp_path, rung, how):
    target, watcher, probed = in_mid_flight(job, observe, rung, tmp_path / "run.gasp")
    held = remains.held_by(watcher.process.pid)
    assert {kind for kind, _ in held} == {"prog", "link"}
    status, out, errors = watcher.stop(how)
    if how == signal.SIGKILL:
        assert status == -signal.SIGKILL
    else:
        assert status == 0, errors
        assert "Observed for" in out
        assert gaspbpf.run("report", tmp_path / "run.gasp").returncode == 0
    remains.assert_gone(held)
    gaspbpf.wait_for(lambda: is_whole_or_gone(target.process.pid, probed), "the job's text to be whole", 20)
    target.work()
    status = target.end()
    assert (truth.checksum(target.output()), status) == threads_alone


def test_what_a_killed_gaspbpf_recorded_is_kept(job, observe, tmp_path):
    """After a SIGKILL the recording opens, says that it has no end, and holds what was flushed."""
    target = job([gaspbpf.WORKLOADS / "threads", "--rounds", 50]).wait_ready()
    watcher = observe("-p", target.process.pid, "-o", tmp_path / "run.gasp")
    target.work()
    gaspbpf.wait_for(lambda: "GASP_C_MALLOC" in gaspbpf.run("report", tmp_path / "run.gasp").stdout, "a flush")
    watcher.stop(signal.SIGKILL)
    result = gaspbpf.run("report", tmp_path / "run.gasp", "--json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["recording"]["finished"] is False
    assert target.end() == 0
    counted = truth.functions(target)[0]
    assert gaspbpf.events(report)["GASP_C_MALLOC"]["calls"] == counted["malloc"]["calls"]


def test_nohup_is_respected(job, tmp_path):
    """Started under nohup, gaspbpf outlives its terminal."""
    target = job([gaspbpf.WORKLOADS / "threads", "--rounds", 50]).wait_ready()
    watcher = subprocess.Popen(["nohup", gaspbpf.PROGRAM, "-p", str(target.process.pid), "--json"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        gaspbpf.wait_for(lambda: b"observing" in watcher.stderr.readline(), "gaspbpf to observe")
        watcher.send_signal(signal.SIGHUP)
        target.work()
        watcher.send_signal(signal.SIGINT)
        out, _ = watcher.communicate(timeout=gaspbpf.PATIENCE)
    finally:
        watcher.kill()
        watcher.wait()
    assert target.end() == 0
    assert gaspbpf.events(json.loads(out))["GASP_C_MALLOC"]["calls"] == truth.functions(target)[0]["malloc"]["calls"]


@pytest.mark.parametrize("how", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.guest)],
                         ids=lambda how: how.name)
def test_a_command_outlives_gaspbpf(job, tmp_path, how):
    arguments = [gaspbpf.WORKLOADS / "threads", "--rounds", 200]
    watcher = job([gaspbpf.PROGRAM, "-q", "-o", tmp_path / "run.gasp", "--", *arguments]).wait_ready()
    pid, = watcher.pids()
    assert pid != watcher.process.pid
    probed = remains.places(pid)
    assert remains.patched(pid, probed) == probed
    watcher.process.send_signal(how)
    status = watcher.process.wait(timeout=gaspbpf.PATIENCE)
    assert status == (0 if how == signal.SIGTERM else -how), watcher.output()
    gaspbpf.wait_for(lambda: not remains.patched(pid, probed), "the command's text to be whole", 20)
    (watcher.gate / "go").touch()
    (watcher.gate / "end").touch()
    gaspbpf.wait_for(lambda: "checksum" in watcher.output(), "the command to end")
    assert truth.checksum(watcher.output()) == alone(*arguments)[0]


@pytest.mark.guest
def test_gaspbpf_is_killed_while_it_starts_a_command(tmp_path):
    """At whatever moment: the command runs, or has not been started; it never hangs half-started."""
    for delay in range(10):
        watcher = subprocess.Popen([gaspbpf.PROGRAM, "-q", "--", gaspbpf.WORKLOADS / "brief"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            watcher.wait(timeout=0.05 * delay)
        except subprocess.TimeoutExpired:
            pass
        watcher.kill()
        watcher.wait()

        def all_gone():
            try:
                os.killpg(watcher.pid, 0)
            except ProcessLookupError:
                return True
            return False

        gaspbpf.wait_for(all_gone, "the command to end", 20)
    remains.assert_no_orphans()


# --- a thousand probes ----------------------------------------------------

FUNCTIONS = 1000


@pytest.fixture(scope="module")
def thousand(tmp_path_factory):
    """A program that calls its thousand functions all the time, and the model of it."""
    folder = tmp_path_factory.mktemp("thousand")
    source = ["#include <stdio.h>", "#include <time.h>", "volatile long sum;"]
    source += [f"__attribute__((noipa)) void step{i}(void) {{ sum += {i}; }}" for i in range(FUNCTIONS)]
    source += ["int main(void)", "{", "\tputs(\"ready\");", "\tfflush(stdout);",
               "\tfor (time_t end = time(NULL) + 60; time(NULL) < end;) {"]
    source += [f"\t\tstep{i}();" for i in range(FUNCTIONS)] + ["\t}", "\treturn 0;", "}"]
    (folder / "thousand.c").write_text("\n".join(source) + "\n")
    subprocess.run(["gcc", "-O1", "-o", folder / "thousand", folder / "thousand.c"], check=True,
                   timeout=gaspbpf.PATIENCE)
    (folder / "thousand.model").write_text("model thousand\nlibrary program\n" +
                                           "".join(f"STEP{i} function void step{i}(void)\n" for i in range(FUNCTIONS)))
    return folder


@pytest.mark.alone
@pytest.mark.parametrize("rung", gaspbpf.RUNGS_OF_MANY, indirect=True)
def test_a_thousand_probes_leave_within_a_second(observe, thousand, rung):
    with subprocess.Popen([thousand / "thousand"], stdout=subprocess.PIPE) as target:
        try:
            assert target.stdout.readline() == b"ready\n"
            options = ["-m", "thousand", "--model-file", thousand / "thousand.model"]
            probed = remains.places(target.pid, *options)
            assert len(probed) == FUNCTIONS
            watcher = observe("-v", "-q", "-p", target.pid, *options, "-o", thousand / f"{rung}.gasp", ready=None)
            gaspbpf.wait_for(lambda: remains.patched(target.pid, probed) == probed, "the probes to be in")
            gaspbpf.wait_for(lambda: gaspbpf.breakpoints(target.pid), "a hit")
            status, _, errors = watcher.stop()
            assert status == 0, errors
            took = re.search(r"probes taken out in ([\d.]+) ms", errors)
            assert took and float(took[1]) < 1000, errors
            assert remains.patched(target.pid, probed) == set()
            assert target.poll() is None
        finally:
            target.kill()


# --- the job's own ways ---------------------------------------------------

@pytest.mark.parametrize("script, status", [
    ("exit 3", 3), ("kill -SEGV $$", 139), ("kill -TERM $$", 143), ("exec true", 0), ("exec false", 1),
])
def test_status_of_a_command(script, status):
    result = gaspbpf.run("-q", "--", "sh", "-c", script)
    assert result.returncode == status, result.stderr


def test_a_command_finds_the_world_as_it_was(tmp_path):
    """Signals, limits, descriptors, environment and folder are those the command would have had."""
    look = ("grep -E '^Sig(Blk|Ign|Cgt)|^Seccomp|^Cap|^[UG]id' /proc/self/status; ulimit -a; ls /proc/self/fd | wc "
            "-l; env; pwd;yes | head -n 1; nice; umask")
    expected = subprocess.run(["sh", "-c", look], capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    result = gaspbpf.run("-q", "-o", tmp_path / "run.gasp", "--", "sh", "-c", look)
    assert result.returncode == expected.returncode == 0, result.stderr
    assert result.stdout.startswith(expected.stdout), result.stdout


@pytest.mark.usefixtures("rung")
@pytest.mark.parametrize("depth",
                         [pytest.param(40, marks=pytest.mark.guest_more), pytest.param(200, marks=pytest.mark.guest)])
def test_deep_recursion_and_longjmp(tmp_path, depth):
    """What a longjmp leaves is told as such, each call; the job's own count is the truth."""
    model, counted, trace = tmp_path / "deep.model", tmp_path / "truth", tmp_path / "run.json"
    model.write_text("model deep\nlibrary program\nCLIMB user long climb(long n)\nLEAP user long leap(long n)\n")
    command = [gaspbpf.WORKLOADS / "deep", "--depth", depth, "--rounds", 4, "--truth", counted]
    expected = alone(*command)
    result = gaspbpf.run("-m", "deep", "--model-file", model, "-o", trace, "--", *command)
    assert (truth.checksum(result.stdout), result.returncode) == expected, result.stderr
    functions = json.loads(counted.read_text())["functions"]
    spans = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    for name, function in (("GASP_DEEP_CLIMB", "climb"), ("GASP_DEEP_LEAP", "leap")):
        ends = [span["args"].get("end", "return") for span in spans if span["name"] == name]
        assert len(ends) == functions[function]["calls"]
        assert ("depth" in ends) == (depth > 64)
        if depth < 64:  # the kernel stops to watch returns on a thread that has been left by longjmp from deeper
            assert set(ends) == {"unwound" if function == "leap" else "return"}


@pytest.mark.guest
@pytest.mark.usefixtures("rung")
def test_forks_and_execs_of_a_command(tmp_path):
    """Each child is seen from its first instruction, and again after it has become another program."""
    pattern = tmp_path / "truth.%d"
    result = gaspbpf.run("--scope", "file", "--json", "--", gaspbpf.WORKLOADS / "family", "--children", 4,
                         "--rounds", 20, "--truth", pattern)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout[result.stdout.index("{"):])
    locks = sum(json.loads(path.read_text())["functions"]["pthread_mutex_lock"]["calls"]
                for path in tmp_path.glob("truth.*"))
    processes = {int(path.name.split(".")[1]) for path in tmp_path.glob("truth.*")}
    assert len(processes) == 5
    assert locks == 7 * 20
    assert {process["pid"] for process in report["processes"]} == processes
    assert all(process["status"] == 0 for process in report["processes"])
    # libc takes locks of its own when a process starts and ends: at least the job's must be there.
    assert gaspbpf.events(report)["GASP_PTHREAD_MUTEX_LOCK"]["calls"] >= locks


@pytest.mark.guest
def test_a_job_that_becomes_another_program(job, observe, tmp_path):
    """Attached with -p: calls up to the exec, then the other program, unharmed; and the end of it ends gaspbpf."""
    target = job([gaspbpf.WORKLOADS / "ending", "--how", 4, "--seconds", 0.2]).wait_ready()
    watcher = observe("-p", target.process.pid, "--json")
    (target.gate / "go").touch()
    status, out, errors = watcher.finish()
    assert status == 0, errors
    assert target.process.wait(timeout=gaspbpf.PATIENCE) == 0
    report = json.loads(out)
    assert gaspbpf.events(report)["GASP_C_MALLOC"]["calls"] > 0
    assert report["processes"][0]["status"] == 0


@pytest.mark.parametrize("how, status",
                         [(0, 0), (1, 7), pytest.param(3, -signal.SIGSEGV, marks=pytest.mark.guest_more)],
                         ids=["return", "_exit(7)", "crash"])
def test_the_end_of_the_job_ends_gaspbpf(job, observe, how, status):
    target = job([gaspbpf.WORKLOADS / "ending", "--how", how, "--seconds", 0.1]).wait_ready()
    watcher = observe("-p", target.process.pid)
    (target.gate / "go").touch()
    (target.gate / "end").touch()
    code, out, errors = watcher.finish()
    assert code == 0, errors
    assert target.process.wait(timeout=gaspbpf.PATIENCE) == status
    assert "GASP_C_MALLOC" in out
    assert ("exited with 7" in out) == (status == 7) and ("signal 11" in out) == (status < 0)


def test_a_killed_job_ends_gaspbpf(job, observe):
    target = job([gaspbpf.WORKLOADS / "threads", "--rounds", ROUNDS]).wait_ready()
    watcher = observe("-p", target.process.pid)
    (target.gate / "go").touch()
    time.sleep(0.1)
    target.process.kill()
    status, out, errors = watcher.finish()
    assert status == 0, errors
    assert "signal 9" in out


FORKS = r"""
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void step(int number) { __asm__ volatile("" : : "r"(number)); }
int main(void)
{
	int bad = 0, status;
	while (access("end", F_OK)) {
		step(1);
		pid_t child = fork();
		if (!child) {
			step(2);
			_exit(7);
		}
		waitpid(child, &status, 0);
		bad += !WIFEXITED(status) || WEXITSTATUS(status) != 7;
		usleep(10000);
	}
	return bad != 0;
}
"""


def test_children_of_functions_that_begin_with_a_long_nop(job, tmp_path):
    """Linux 6.18 makes a call of a nop of 5 bytes that has a probe, to a page that a child has not got."""
    (tmp_path / "forks.c").write_text(FORKS)
    gaspbpf.compile_c(tmp_path / "forks.c", tmp_path / "forks", "-O1", "-pg", "-mfentry", "-mnop-mcount",
                      "-fcf-protection=none", "-fno-pie", "-no-pie")
    running = subprocess.Popen([tmp_path / "forks"], cwd=tmp_path)
    try:
        result = gaspbpf.run("-p", running.pid, "-m", "user", "-e", "void step(int number)", "-d", "1s")
        (tmp_path / "end").touch()
        assert running.wait(timeout=gaspbpf.PATIENCE) == 0, result.stderr
    finally:
        running.kill()
        running.wait()
