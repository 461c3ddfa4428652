# SPDX-License-Identifier: BSD-2-Clause
"""What commands that people run can still do when they look at the first target: nothing, and all works."""
import contextlib
import ctypes
import itertools
import json
import os
import pathlib
import re
import signal
import stat
import subprocess

import pytest

import gaspbpf
import monitoring
import rights
import toolkit

OTHER = 61001  # a user who is nobody else
BARRIERS, PUTS = 71, 33
MADE = {"GASP_SHMEM_BARRIER_ALL": BARRIERS, "GASP_SHMEM_PUT": PUTS}


@pytest.fixture
def waiting(runtime, tmp_path):
    """A program at its gate; its calls are let through once it is observed."""
    own, gate = runtime("rights"), monitoring.Gate(tmp_path / "gate")
    process = own.start(BARRIERS, PUTS, gate)
    gaspbpf.wait_for(lambda: (gate.folder / f"ready.{process.pid}").exists(), "the program at its gate")
    return process, gate


def is_nobody(status):
    """All numbers of its user and group are of the range that no user has, and there are no other groups."""
    numbers = [int(number) for line in re.findall(r"^[UG]id:(.*)", status, re.MULTILINE) for number in line.split()]
    return len(numbers) == 8 and len(set(numbers)) == 1 and 0x7fff0000 <= numbers[0] < 0x7fffffff \
        and re.search(r"^Groups:\s*$", status, re.MULTILINE)


def keeper_of(watcher):
    """What makes files for it."""
    keeper, = rights.helpers(watcher.process.pid)["gaspbpf-keeper"]
    return rights.capabilities(keeper)


def has_nothing(watcher, rung, more=frozenset()):
    """Before any file was looked into, and what reads for it has what that needs (and `more`)."""
    sets, own = rights.capabilities(watcher.process.pid), rights.capabilities("self")["Prm"]
    if rung == "perf":
        assert sets["Eff"] == own
        return
    for task in pathlib.Path(f"/proc/{watcher.process.pid}/task").iterdir():
        sets, status = rights.capabilities(f"{watcher.process.pid}/task/{task.name}"), (task / "status").read_text()
        assert sets["Eff"] == sets["Prm"] == sets["Bnd"] == sets["Amb"] == set(), status
        assert "NoNewPrivs:\t1" in status
        assert is_nobody(status), status
    starter, = rights.helpers(watcher.process.pid)["gaspbpf-starter"]
    assert "Seccomp:\t2" in pathlib.Path(f"/proc/{starter}/status").read_text()
    assert rights.capabilities(starter)["Eff"] == (rights.TO_READ | {rights.CAP_SYS_PTRACE} | more) & own


@pytest.mark.parametrize("rung", gaspbpf.rungs())
def test_a_recording_is_exact_and_written_where_it_should_be(waiting, observe, tmp_path, rung):
    """Into a folder of another user, where root may only write because it is root."""
    process, gate = waiting
    folder = tmp_path / "others"
    folder.mkdir()
    os.chown(folder, OTHER, OTHER)
    watcher = observe("-v", "-p", process.pid, "-m", "shmem", "--json", "-o", folder / "run.gasp", "-o",
                      folder / "run.json", env={"GASPBPF_RUNG": rung})
    has_nothing(watcher, rung)
    if rung != "perf":
        override = {1} & rights.capabilities("self")["Prm"]
        sets = keeper_of(watcher)
        assert sets["Eff"] == sets["Prm"] == override and sets["Bnd"] == set()  # which Landlock keeps to that folder
    gate.let_through(process)
    status, out, errors = watcher.finish()
    assert status == 0, errors
    report = json.loads(out)
    assert {name: row["calls"] for name, row in gaspbpf.events(report).items() if name in MADE} == MADE \
        and report["loss"]["lost"] == 0
    assert {path.name for path in folder.iterdir()} == {"run.gasp", "run.json"}
    assert gaspbpf.run("report", folder / "run.gasp").returncode == 0
    assert json.loads((folder / "run.json").read_text())


@pytest.mark.parametrize("rung", gaspbpf.rungs())
@pytest.mark.parametrize("command", [["--json"], ["top", "--once", "--json", "-d", "60"]], ids=["record", "top"])
def test_nothing_is_left_when_a_target_is_looked_at(waiting, observe, command, rung):
    """But for top's look at what threads are in, of which those that run are sampled by what may."""
    process, gate = waiting
    watcher = observe(*command, "-v", "-p", process.pid, "-m", "shmem", env={"GASPBPF_RUNG": rung})
    has_nothing(watcher, rung, *[{rights.CAP_PERFMON}] * (command[0] == "top"))
    gate.let_through(process)
    status, out, errors = watcher.finish()
    assert status == 0, errors
    assert all(f'"{name}"' in out for name in MADE)


@pytest.mark.parametrize("rung", gaspbpf.rungs())
def test_stuck_looks_at_threads_without_rights(waiting, observe, rung):
    """A thread that runs is sampled by what may; the call of one that sleeps is recognised as always."""
    process, gate = waiting
    watcher = observe("stuck", "-v", "-p", process.pid, "-d", f"{gaspbpf.PATIENCE}s", "--json", ready="watching",
                      env={"GASPBPF_RUNG": rung})
    has_nothing(watcher, rung, {rights.CAP_PERFMON})
    watcher.process.send_signal(signal.SIGINT)
    status, out, errors = watcher.finish()
    assert status == 0, errors
    assert [thread["tid"] for thread in json.loads(out)["threads"]] == [process.pid]
    gate.let_through(process)


# --- a command -----------------------------------------------------------------


@pytest.fixture(params=["root", "nobody"])
def command(request):
    """The words of a command that runs such a program twice, one after the other, and ends with 3; its gate; the
    environment in which that user has called sudo."""
    with rights.folder() as folder:
        own, gate = monitoring.Runtime(folder / "runtime", "rights"), monitoring.Gate(folder / "gate")
        os.chown(gate.folder, rights.NOBODY, rights.NOBODY)
        user = {"root": {}, "nobody": {"SUDO_UID": rights.NOBODY, "SUDO_GID": rights.NOBODY}}[request.param]
        words = ["sh", "-c", '"$@"; "$@"; exit 3', "sh", own.program, "--gate", gate, BARRIERS, PUTS]
        yield list(map(str, words)), gate, {name: str(number) for name, number in user.items()}


def reach_the_gate(gate):
    """The first of the two programs."""
    return int(gaspbpf.wait_for(lambda: next(gate.folder.glob("ready.*"), None), "the program at its gate").suffix[1:])


def open_gate(gate):
    for mark in "go", "end":
        (gate.folder / mark).touch()


@pytest.mark.parametrize("rung", gaspbpf.rungs())
def test_nothing_is_left_once_a_command_is_held(command, observe, rung):
    """Not of the thread either that holds it; and all is seen from the first instruction, of what it starts, too."""
    words, gate, user = command
    watcher = observe("-v", "-m", "shmem", "--json", "-o", gate.folder / "run.gasp", "--", *words,
                      env={"GASPBPF_RUNG": rung, **user}, ready=None)
    first = reach_the_gate(gate)
    assert pathlib.Path(f"/proc/{first}").stat().st_uid == int(user.get("SUDO_UID", 0))
    has_nothing(watcher, rung)
    open_gate(gate)
    status, out, errors = watcher.finish()
    assert status == 3, errors
    report = json.loads(out)
    assert {name: row["calls"] for name, row in gaspbpf.events(report).items() if name in MADE} == {
        name: 2 * calls for name, calls in MADE.items()}
    assert report["loss"]["lost"] == 0 and gaspbpf.run("report", gate.folder / "run.gasp").returncode == 0
    assert (gate.folder / "run.gasp").stat().st_uid == int(user.get("SUDO_UID", 0))


@pytest.mark.parametrize("rung", gaspbpf.rungs())
def test_nothing_is_left_under_top(command, observe, rung):
    words, gate, user = command
    watcher = observe("top", "--once", "--json", "-d", "60", "-v", "-m", "shmem", "--", *words,
                      env={"GASPBPF_RUNG": rung, **user}, ready=None)
    reach_the_gate(gate)
    has_nothing(watcher, rung)
    open_gate(gate)
    status, out, errors = watcher.finish()
    assert status == 3, errors
    assert all(f'"{name}"' in out for name in MADE)


# --- tools ---------------------------------------------------------------------


USERS = {"root": {}, "nobody": {"SUDO_UID": str(rights.NOBODY), "SUDO_GID": str(rights.NOBODY)}}


@contextlib.contextmanager
def tool_that_hangs(user):
    """A tool that hangs in the midst of its work, and where it works; the environment in which that user calls sudo."""
    with rights.folder() as folder:
        folder.chmod(0o777)
        tool = toolkit.build(folder, "gasp_log.c")
        yield tool, {"TOOL_LOG": str(folder / "log"), "TOOL_DO": "hang", "TOOL_AT": "20", "TOOL_FLUSH": "1",
                     **USERS[user]}


@pytest.fixture(params=USERS)
def hanging_tool(request):
    with tool_that_hangs(request.param) as tool:
        yield tool


def is_gone(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("rung", gaspbpf.rungs())
def test_a_tool_that_hangs_is_ended_without_rights(waiting, hanging_tool, observe, rung):
    process, gate = waiting
    tool, environment = hanging_tool
    watcher = observe("-v", "-p", process.pid, "-m", "shmem", "--json", "--tool", tool, "--tool-patience", "2s",
                      env={"GASPBPF_RUNG": rung, **environment})
    has_nothing(watcher, rung)
    host, = rights.helpers(watcher.process.pid)["gaspbpf-toolhos"]
    assert pathlib.Path(f"/proc/{host}").stat().st_uid == int(environment.get("SUDO_UID", 0))
    gate.let_through(process)
    status, out, errors = watcher.finish()
    assert status == 1 and "hangs in its notify function" in errors, errors
    assert is_gone(host)
    assert {name: row["calls"] for name, row in gaspbpf.events(json.loads(out)).items() if name in MADE} == MADE


def test_nor_is_it_left_when_gaspbpf_is_killed(runtime, observe, tmp_path):
    """On each rung, for each user; all at a time, since it is given ten seconds to end by itself."""
    own, killed = runtime("rights"), []
    with contextlib.ExitStack() as tools:
        for number, (rung, user) in enumerate(itertools.product(gaspbpf.rungs(), USERS)):
            tool, environment = tools.enter_context(tool_that_hangs(user))
            gate = monitoring.Gate(tmp_path / f"gate{number}")
            process = own.start(BARRIERS, PUTS, gate)
            gaspbpf.wait_for((gate.folder / f"ready.{process.pid}").exists, "the program at its gate")
            watcher = observe("-p", process.pid, "-m", "shmem", "--tool", tool,
                              env={"GASPBPF_RUNG": rung, **environment})
            host, = rights.helpers(watcher.process.pid)["gaspbpf-toolhos"]
            assert pathlib.Path(f"/proc/{host}").stat().st_uid == int(environment.get("SUDO_UID", 0))
            gate.let_through(process)
            log = pathlib.Path(environment["TOOL_LOG"])
            gaspbpf.wait_for(lambda log=log: log.exists() and " START " in log.read_text(), "the tool to hang")
            assert not is_gone(host)
            watcher.process.kill()
            killed.append(host)
        for host in killed:
            gaspbpf.wait_for(lambda host=host: is_gone(host), "the tool's process to end")


HIDDEN = ["unshare", "--mount", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh"]


@pytest.mark.parametrize("command", [["list"], ["doctor"], ["stuck", "--no-probes", "-d", "10ms"], ["-d", "10ms"],
                                     ["stuck", "-d", "10ms"]], ids=" ".join)
def test_where_proc_hides_others_rights_are_kept(waiting, command):
    """Without them nothing would be seen at all."""
    line = [*HIDDEN, gaspbpf.PROGRAM, *command, "-v", "-p", waiting[0].pid, "-m", "shmem"]
    result = subprocess.run(list(map(str, line)), capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    assert result.returncode in (0, 1) and "all rights are given up" not in result.stderr, result.stderr
    assert "no such process" not in result.stderr and "ended while" not in result.stderr, result.stderr


def test_where_proc_hides_others_a_command_is_seen(command):
    """Its user is not gaspbpf's any more, were rights given up."""
    words, gate, user = command
    open_gate(gate)
    result = subprocess.run([*HIDDEN, str(gaspbpf.PROGRAM), "-v", "-m", "shmem", "--json", "--", *words],
                            env={**os.environ, **user}, capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    assert result.returncode == 3 and "all rights are given up" not in result.stderr, result.stderr
    assert {name: row["calls"] for name, row in gaspbpf.events(json.loads(result.stdout)).items() if name in MADE} == {
        name: 2 * calls for name, calls in MADE.items()}


def test_they_are_given_up_before_anything_is_looked_at(runtime, observe, tmp_path):
    """That a launcher's ranks were found is said before any file of theirs is opened."""
    own, gate = runtime("ranks"), monitoring.Gate(tmp_path / "gate")
    ranks = " ".join(f"OMPI_COMM_WORLD_RANK={rank} {own.program} --gate {gate} {BARRIERS} {PUTS} &"
                     for rank in range(2))
    with subprocess.Popen(["sh", "-c", f"{ranks} wait"]) as launcher:
        try:
            gaspbpf.wait_for(lambda: len(list(gate.folder.glob("ready.*"))) == 2, "two programs at their gate")
            watcher = observe("-v", "-p", launcher.pid, "-m", "shmem", "--json", ready="observing 2 processes")
            for mark in "go", "end":
                (gate.folder / mark).touch()
            status, out, errors = watcher.finish()
        finally:
            for mark in "go", "end":
                (gate.folder / mark).touch()
    assert status == 0, errors
    assert {name: row["calls"] for name, row in gaspbpf.events(json.loads(out)).items() if name in MADE} == {
        name: 2 * calls for name, calls in MADE.items()}
    assert errors.index("all rights are given up") < errors.index("processes with a rank") < errors.index(
        "probes put in"), errors


def test_a_program_that_only_its_owner_can_read(runtime, observe, tmp_path):
    """It is the reader that has the right to."""
    own, gate = runtime("secret"), monitoring.Gate(tmp_path / "gate")
    for path in own.program, own.library:
        os.chown(path, OTHER, OTHER)
        path.chmod(stat.S_IRWXU)
    own.folder.chmod(0o700)
    process = own.start(BARRIERS, PUTS, gate)
    gaspbpf.wait_for(lambda: (gate.folder / f"ready.{process.pid}").exists(), "the program at its gate")
    listed = gaspbpf.run("list", "-v", own.library, "-m", "shmem")
    assert listed.returncode == 0 and "shmem_putmem" in listed.stdout, listed.stderr
    assert "all rights are given up" in listed.stderr
    watcher = observe("-p", process.pid, "-m", "shmem", "--json")
    gate.let_through(process)
    status, out, errors = watcher.finish()
    assert status == 0, errors
    assert {name: row["calls"] for name, row in gaspbpf.events(json.loads(out)).items() if name in MADE} == MADE


def has_landlock():
    return ctypes.CDLL(None).syscall(444, None, 0, 1) > 0  # landlock_create_ruleset: its version


def can_make(pid, path):
    """Could the process make this file? A debugger calls creat() in it."""
    call = f'print ((int (*)(const char *, unsigned)) creat)("{path}", 0600)'
    out = subprocess.run(["gdb", "-nx", "-batch", "-p", str(pid), "-ex", call], capture_output=True, text=True,
                         timeout=gaspbpf.PATIENCE, stdin=subprocess.DEVNULL)
    made = re.search(r"^\$1 = (-?\d+)$", out.stdout, re.MULTILINE)
    assert made, out
    assert (int(made[1]) >= 0) == path.exists()
    return path.exists()


def test_it_can_make_no_file(waiting, observe, tmp_path):
    """Its outputs are open, and its dumps are made by another process."""
    process, gate = waiting
    tmp_path.chmod(0o755)
    folder = tmp_path / "everybodys"
    folder.mkdir()
    folder.chmod(0o777)
    watcher = observe("-p", process.pid, "-m", "shmem", "-o", folder / "run.gasp")
    assert not can_make(watcher.process.pid, tmp_path / "made")
    assert not has_landlock() or not can_make(watcher.process.pid, folder / "made")
    gate.let_through(process)
    assert watcher.finish()[0] == 0


def test_the_keeper_can_make_files_where_the_outputs_are_and_nowhere_else(waiting, observe, tmp_path):
    process, gate = waiting
    for name in "outputs", "elsewhere":
        (tmp_path / name).mkdir()
    watcher = observe("-p", process.pid, "-m", "shmem", "-o", tmp_path / "outputs" / "run.gasp")
    keeper, = rights.helpers(watcher.process.pid)["gaspbpf-keeper"]
    assert can_make(keeper, tmp_path / "outputs" / "made")
    assert not has_landlock() or not can_make(keeper, tmp_path / "elsewhere" / "made")
    gate.let_through(process)
    assert watcher.finish()[0] == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_its_control_socket_goes_with_it(waiting, observe, how):
    process, gate = waiting
    watcher = observe("-p", process.pid, "-m", "shmem")
    socket = pathlib.Path(f"/run/gaspbpf/{watcher.process.pid}.sock")
    assert socket.is_socket()
    watcher.process.send_signal(how)
    watcher.process.wait()
    if how == signal.SIGKILL:
        gaspbpf.wait_for(lambda: not socket.exists(), "the socket's end")
    assert not socket.exists()
    gate.let_through(process)


def test_doctor_looks_without_rights(waiting):
    result = gaspbpf.run("doctor", "-v", "-p", waiting[0].pid, "-m", "shmem")
    assert "shmem: 4 functions" in result.stdout and "all rights are given up" in result.stderr, result.stdout


@pytest.mark.parametrize("owner", [0, OTHER])
def test_dumps_of_a_flight_recorder(waiting, observe, tmp_path, owner):
    """They are made long after: in a folder of another user root needs a right for that, and has no other."""
    process, gate = waiting
    folder = tmp_path / "dumps"
    folder.mkdir()
    os.chown(folder, owner, owner)
    watcher = observe("-v", "-p", process.pid, "-m", "shmem", "--flight", "30s,8m", "-o", folder)
    has_nothing(watcher, "session")
    assert keeper_of(watcher)["Eff"] == ({1} & rights.capabilities("self")["Prm"] if owner else set())
    assert gaspbpf.run("control", "-p", process.pid, "dump").returncode == 0
    gaspbpf.wait_for(lambda: list(folder.glob("*.gasp")), "the dump")
    gate.let_through(process)
    assert watcher.finish()[0] == 0


def test_what_cannot_be_observed_leaves_no_file(tmp_path):
    """The output was opened before it was known that there is nothing to write; one that was there is as it was."""
    kept = tmp_path / "kept.gasp"
    kept.write_bytes(b"something else")
    result = gaspbpf.run("-p", 2**22 - 1, "-o", tmp_path / "new.json", "-o", kept)
    assert result.returncode == 1 and not (tmp_path / "new.json").exists()
    assert kept.read_bytes() == b"something else"


# --- what could not be found out any more ------------------------------------

FILTER = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter rules[] = { /* what no program does is refused */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1000000, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(rules) / sizeof(rules[0]), rules };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 1;
	execv(argv[1], argv + 1);
	return 2;
}
"""


@pytest.fixture
def filtered(runtime, tmp_path):
    """A program at its gate whose system calls are filtered, as those of most containers are."""
    own, gate = runtime("filter"), monitoring.Gate(tmp_path / "gate")
    (tmp_path / "filter.c").write_text(FILTER)
    gaspbpf.compile_c(tmp_path / "filter.c", tmp_path / "filter")
    process = subprocess.Popen([tmp_path / "filter", own.program, "--gate", str(gate), str(BARRIERS), str(PUTS)])
    own.running.append(process)
    gaspbpf.wait_for(lambda: (gate.folder / f"ready.{process.pid}").exists(), "the program at its gate")
    assert "Seccomp:\t2" in pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return process, gate


def test_calls_behind_a_filter_are_timed(filtered, observe):
    """Whether their returns may be watched on this kernel was tried while there were rights for it."""
    process, gate = filtered
    watcher = observe("-p", process.pid, "-m", "shmem", "--json")
    gate.let_through(process)
    status, out, errors = watcher.finish()
    assert status == 0 and "only the calls are observed" not in errors, errors
    rows = gaspbpf.events(json.loads(out))
    assert {name: (rows[name]["calls"], rows[name]["total_ns"] > 0) for name in MADE} == {
        name: (calls, True) for name, calls in MADE.items()}
