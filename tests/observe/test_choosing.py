# SPDX-License-Identifier: BSD-2-Clause
"""Processes are chosen by their job, user, name or cgroup, as 'monitor' does; counts against what the program does."""
import contextlib
import json
import os
import pathlib
import subprocess

import pytest

import gaspbpf
import monitoring


@pytest.fixture
def pair(tmp_path):
    with monitoring.two_programs(tmp_path, "chosen", "other") as pair:
        yield pair


@pytest.fixture
def gate(tmp_path):
    return monitoring.Gate(tmp_path / "gate")


def barriers(report):
    return gaspbpf.events(report)["GASP_SHMEM_BARRIER_ALL"]["calls"]


def record(observe, gate, processes, *options):
    """What record says of them all: its report, and its words."""
    observation = observe(*options, "--json")
    (gate.folder / "go").touch()
    (gate.folder / "end").touch()
    for process in processes:
        assert process.wait(timeout=gaspbpf.PATIENCE) == 0
    status, out, errors = observation.finish()
    assert status == 0, errors
    return json.loads(out), errors


@pytest.mark.parametrize("option", ["--slurm-job", "--job"])
def test_by_job(pair, gate, observe, option):
    """All of its ranks here, and nobody else."""
    chosen, other = pair
    wanted = [chosen.start(11, 0, gate, env={"SLURM_JOB_ID": chosen.name, "SLURM_PROCID": str(rank)})
              for rank in range(2)]
    unwanted = other.start(100, 0, gate, env={"SLURM_JOB_ID": other.name})
    report, errors = record(observe, gate, [*wanted, unwanted], option, chosen.name)
    assert f"--slurm-job {chosen.name}: 2 processes, 2 with a rank; what they start is observed, too" in errors
    assert sorted(process["pid"] for process in report["processes"]) == sorted(process.pid for process in wanted)
    assert barriers(report) == 22


def test_a_gaspbpf_inside_of_the_job_is_no_part_of_it(pair, gate, observe):
    chosen, _ = pair
    job = {"SLURM_JOB_ID": chosen.name}
    wanted = chosen.start(11, 0, gate, env=job)
    observation = gaspbpf.Observation("--slurm-job", chosen.name, "--json", env=job)
    gate.let_through(wanted)
    status, out, errors = observation.finish()
    assert status == 0 and f"{chosen.name}: 1 process, 0 with a rank" in errors
    assert [process["pid"] for process in json.loads(out)["processes"]] == [wanted.pid]


def test_by_name_or_user_or_number(pair, gate, observe):
    """One option names some, another others; who is named twice counts once."""
    chosen, other = pair
    wanted = [chosen.start(11, 0, gate), chosen.start(11, 0, gate)]
    third = other.start(100, 0, gate)
    report, _ = record(observe, gate, [*wanted, third], "--comm", f"*{chosen.name[1:]}", "-p",
                       f"{wanted[0].pid} {third.pid}")
    assert sorted(process["pid"] for process in report["processes"]) == sorted([*(w.pid for w in wanted), third.pid])
    assert barriers(report) == 122


def test_malloc_is_nobodys_unless_asked_for(tmp_path, pair, gate):
    """A program without a parallel runtime, found by a description, gets no probes."""
    sleeper = subprocess.Popen(["sleep", "60"], env={"SLURM_JOB_ID": pair[0].name})
    try:
        done = gaspbpf.run("--slurm-job", pair[0].name, "-d", "1", timeout=60)
        assert done.returncode == 1 and "maps a parallel runtime" in done.stderr, done.stderr
        assert not gaspbpf.breakpoints(sleeper.pid)
    finally:
        sleeper.kill()
        sleeper.wait()


@pytest.mark.parametrize("command", ["record", "top", "stuck", "list"])
def test_each_command_says_whom_it_has_chosen(pair, gate, command):
    chosen, _ = pair
    wanted = chosen.start(11, 0, gate)
    more = {"record": ["-d", "0.2"], "top": ["--once", "-d", "0.2"], "stuck": ["-d", "0.2"], "list": []}[command]
    done = gaspbpf.run(command, "--comm", chosen.name, *more, timeout=60)
    assert done.returncode == 0, done.stderr
    assert f"--comm {chosen.name}: 1 process, 0 with a rank" in done.stderr
    if command == "list":
        assert "GASP_SHMEM_BARRIER_ALL" in done.stdout
    if command in ("stuck", "top"):
        assert str(wanted.pid) in done.stdout


def test_a_name_is_not_trusted(pair, gate):
    """Somebody gives his process a name of escapes and somebody else's job: both are shown, and whose it is."""
    chosen, other = pair
    job = {"SLURM_JOB_ID": chosen.name}
    wanted = chosen.start(11, 0, gate, env=job)
    name = "\x1b[31mx"
    pretender = subprocess.Popen(["sleep", "60"], env=job, user=100000 + os.getpid() % 10000, extra_groups=[])
    escaped = subprocess.Popen(["python3", "-c", f"import ctypes, time; ctypes.CDLL(None).prctl(15, {name!r}.encode());"
                                "time.sleep(60)"])
    try:
        done = gaspbpf.run("--slurm-job", chosen.name, "-d", "0.2", timeout=60)
        assert done.returncode == 0 and "2 processes" in done.stderr
        assert "of several users: " in done.stderr and f"{100000 + os.getpid() % 10000} (1)" in done.stderr
        gaspbpf.wait_for(lambda: open(f"/proc/{escaped.pid}/comm").read().strip() == name, "the name")
        done = gaspbpf.run("--comm", "31mX", "-d", "0.2", timeout=60)
        assert done.returncode == 1 and "names like it are " in done.stderr and "\x1b" not in done.stderr
    finally:
        for process in (wanted, pretender, escaped):
            process.kill()
            process.wait()


def test_who_is_not_there_is_said_with_what_is(pair, gate):
    chosen, _ = pair
    chosen.start(11, 0, gate, env={"SLURM_JOB_ID": "471147"})
    done = gaspbpf.run("--slurm-job", "47114", timeout=60)
    assert done.returncode == 1 and "--slurm-job 47114: no process here that is so; the jobs here are " in done.stderr
    assert "471147" in done.stderr
    done = gaspbpf.run("--comm", chosen.name.upper(), timeout=60)
    assert done.returncode == 1 and f"names like it are {chosen.name}" in done.stderr
    assert "no such user" in gaspbpf.run("--user", "nobody-at-all", timeout=60).stderr


def full_pipe():
    """Its two ends; who writes to it next waits until somebody reads."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    for size in (4096, 1):
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"\n" * size)
    os.set_blocking(writer, True)
    return reader, writer


def test_one_that_ends_after_it_was_chosen_is_no_error(pair, gate):
    """gaspbpf says whom it has chosen, and cannot go on before that is read: one of them ends meanwhile."""
    chosen, _ = pair
    gone, stays = [chosen.start(11, 0, gate) for _ in range(2)]
    reader, writer = full_pipe()
    command = [gaspbpf.PROGRAM, "--comm", chosen.name, "-d", "0.2", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=writer) as observer, open(reader, "rb") as said:
        os.close(writer)
        gaspbpf.wait_for(lambda: pathlib.Path(f"/proc/{observer.pid}/syscall").read_text().startswith("1 0x2 "),
                         "it to say something")
        gone.kill()
        gone.wait()
        errors = said.read().decode()
        report = json.loads(observer.stdout.read())
    assert errors.startswith(f"gaspbpf: --comm {chosen.name}: 2 processes", errors.index("gaspbpf")), errors
    assert observer.returncode == 0 and "no such process" not in errors, errors
    assert [process["pid"] for process in report["processes"]] == [stays.pid]


@pytest.mark.parametrize("between", ["\n", " ", ",", " , \n"])
def test_numbers_as_pgrep_prints_them(pair, gate, between):
    chosen, _ = pair
    two = [chosen.start(11, 0, gate), chosen.start(11, 0, gate)]
    pids = between.join(str(process.pid) for process in two) + ("\n" if between == "\n" else "")
    done = gaspbpf.run("top", "-p", pids, "--once", "--json", "-d", "0.2", timeout=60)
    assert done.returncode == 0, done.stderr
    assert sorted(process["pid"] for process in json.loads(done.stdout)["processes"]) == sorted(p.pid for p in two)


def test_numbers_that_are_none():
    assert "no process id" in gaspbpf.run("-p", "").stderr  # -p "$(pgrep nobody)"
    assert "Quote process ids" in gaspbpf.run("-p", "1", "2").stderr
    assert "not a process id" in gaspbpf.run("-p", "1;2").stderr
