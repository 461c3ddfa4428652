# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf list for people: which processes were looked at, which functions there are and what they cost, and what is
not observed. What the text says is compared with the jobs, and with --json where that has tests of its own."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

import gaspbpf
from gaspbpf import MPI_ENVIRONMENT, WORKLOADS

THREADS = WORKLOADS / "threads"


def run_json(*arguments, **keywords):
    result = gaspbpf.run("list", "--json", *arguments, **keywords)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def pids(listed):
    return [process["pid"] for process in listed["processes"]]


def text_of(*arguments, **keywords):
    result = gaspbpf.run("list", *arguments, **keywords)
    assert result.returncode == 0, result.stderr
    return result.stdout


def words(text):
    """Without the places where lines are broken."""
    return " ".join(text.split())


def start_mpi(job, *before):
    """Two ranks at their gate."""
    return job([*before, "mpirun", "-n", "2", WORKLOADS / "mpi_job_openmpi"], ranks=2, env=MPI_ENVIRONMENT).wait_ready()


# --- which processes --------------------------------------------------------

@pytest.mark.parametrize("before", [[], ["bash", "-c", '"$@"; exit $?', "bash"]], ids=["launcher", "script"])
def test_a_launcher_means_its_ranks(job, before):
    target = start_mpi(job, *before)
    launcher, ranks = target.process.pid, target.pids()
    listed = run_json("-p", launcher)
    assert {process["pid"]: process["rank"] for process in listed["processes"]} == dict(zip(ranks, (0, 1)))
    assert all(process["known"] for process in listed["processes"])
    assert {"MPI_Send", "MPI_Recv"} <= {row["symbol"] for row in listed["found"]}
    lines = text_of("-p", launcher).splitlines()
    assert lines[0] == f"2 processes started by {launcher}:" and lines[1].split() == ["PID", "RANK", "COMMAND"]
    shown = [line.split() for line in lines[2:4]]
    assert {(int(pid), int(rank)) for pid, rank, *_ in shown} == {(pid, rank) for rank, pid in enumerate(ranks)}
    assert all(line.split()[2].endswith("mpi_job_openmpi") for line in lines[2:4])
    assert any(line.startswith("  GASP_MPI_SEND ") for line in lines)
    assert launcher in pids(run_json("-p", launcher, "--all-processes"))


def test_a_wrapper_means_what_it_has_started(job):
    target = job(["timeout", "600", THREADS]).wait_ready()
    listed = run_json("-p", target.process.pid)
    assert pids(listed) == target.pids() != [target.process.pid]
    assert text_of("-p", target.process.pid).splitlines()[0] == f"1 process started by {target.process.pid}:"
    assert set(pids(run_json("-p", target.process.pid, "--all-processes"))) == {target.process.pid, *target.pids()}


def test_a_process_is_itself(job):
    target = job([THREADS]).wait_ready()
    assert pids(run_json("-p", target.process.pid)) == [target.process.pid]
    lines = text_of("-p", target.process.pid).splitlines()
    assert lines[0] == "1 process:" and lines[1].split() == ["PID", "COMMAND"]
    pid, program, *_ = lines[2].split()
    assert pid == str(target.process.pid) and program in (str(THREADS), THREADS.name)


def test_gaspbpf_is_no_part_of_the_job(tmp_path):
    """The shell that asks for itself has started gaspbpf, too, which counts as a launcher."""
    result = subprocess.run(["bash", "-c", f'sleep 600 & echo $!; "{gaspbpf.PROGRAM}" list --json -p $$; kill $!'],
                            capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    sleeper, _, listed = result.stdout.partition("\n")
    assert pids(json.loads(listed)) == [int(sleeper)], result.stderr


def test_a_launcher_that_has_started_nothing():
    with subprocess.Popen(["bash", "-c", "echo; read; exit 0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        shell.stdout.readline()
        result = gaspbpf.run("list", "-p", shell.pid)
        looked_at = pids(run_json("-p", shell.pid, "--all-processes"))
    assert (result.returncode, result.stdout) == (1, "")
    assert len(result.stderr.splitlines()) == 1 and "nothing that was started" in result.stderr
    assert looked_at == [shell.pid]


def test_many_processes():
    """Some of them are shown, and with -v all."""
    command = [sys.executable, "-c", "import os\nprint(flush=True)\nos.read(0, 1)", "x" * 200]
    started = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(13)]
    try:
        for process in started:
            process.stdout.readline()
        options = ["-m", "c", "-p", ",".join(str(process.pid) for process in started)]
        short, all_of_them = text_of(*options), text_of(*options, "-v")
    finally:
        for process in started:
            process.communicate()
    expected = {str(process.pid) for process in started}
    assert all(len(line) == 100 and " python" in line for line in short.splitlines()[2:12])
    assert short.startswith("13 processes:\n") and "\n  and 3 more: -v names them\n" in short
    assert len(expected & set(short.split())) == 10 and expected <= set(all_of_them.split())
    assert max(map(len, short.splitlines())) <= 100


def test_those_of_which_nothing_is_observed(job):
    target = job([THREADS]).wait_ready()
    mpi = start_mpi(job)
    options = ["-p", f"{target.process.pid},{mpi.pids()[0]}"]
    assert {process["pid"]: process["known"] for process in run_json(*options)["processes"]} == {
        target.process.pid: False, mpi.pids()[0]: True}
    assert f"without a runtime that is observed: {target.process.pid}\n" in text_of(*options)


# --- functions ----------------------------------------------------------------

def rows(text):
    return [line.split() for line in text.splitlines() if line.startswith("  GASP_")]


def test_each_function_has_a_line(job):
    """Its event, name, library and cost, and nothing that only the makers of gaspbpf understand."""
    target = job([THREADS]).wait_ready()
    found = run_json("-p", target.process.pid)["found"]
    text = text_of("-p", target.process.pid)
    shown = rows(text)
    assert {tuple(row[:3]) for row in shown} == {
        (row["event"], row["symbol"], os.path.basename(row["file"])) for row in found if not row["not_observed"]}
    for row in shown:
        ns, = {each["expected_ns"] for each in found if each["symbol"] == row[1]}
        # Measured anew, perhaps: about the same, and in another unit.
        assert row[4] == "us" and ns / 20000 < float(row[3]) < ns / 50, (row, ns)
    assert not re.search(r"0x[0-9a-f]{5}|emulated|stepped|stays there|trampoline:|returns:", text)
    verbose = text_of("-p", target.process.pid, "-v")
    assert all(word in verbose for word in ("emulated", "stepped", "stays there: ", "returns: trampoline: "))


def test_names_for_the_inside_of_a_library_are_for_those_who_ask(job):
    target = job([THREADS]).wait_ready()
    lock, = (row for row in run_json("-p", target.process.pid)["found"] if row["symbol"] == "pthread_mutex_lock")
    assert "__pthread_mutex_lock" in lock["aliases"].split()
    assert "__pthread_mutex_lock" not in text_of("-p", target.process.pid)
    assert "__pthread_mutex_lock" in text_of("-p", target.process.pid, "-v")


def test_names_that_people_use(tmp_path):
    """MPI's functions have two names each; they are shown where they have room."""
    (tmp_path / "barrier.c").write_text(
        "int MPI_Barrier(void *c) { return !c; }\n"
        + "".join(f'int {name}(void *) __attribute__((alias("MPI_Barrier")));\n'
                  for name in ("PMPI_Barrier", "__barrier")))
    gaspbpf.compile_c(tmp_path / "barrier.c", tmp_path / "libmpi.so.40", "-shared", "-fPIC")
    row, = rows(text_of(tmp_path / "libmpi.so.40", "-m", "mpi"))
    assert row[:3] == ["GASP_MPI_BARRIER", "MPI_Barrier", "libmpi.so.40"] and row[5:] == ["PMPI_Barrier"]


def test_what_is_not_observed_is_told_in_words():
    libc = os.path.realpath(re.search(r"\S+/libc\.so\.6", open("/proc/self/maps").read())[0])
    absent = {row["symbol"]: row["why"] for row in run_json(libc, "-m", "pthread")["absent"]
              if row["model"] == "pthread"}
    text = text_of(libc, "-m", "pthread")
    assert list(absent) == ["pthread_spin_lock"]
    assert f"not observed in {os.path.basename(libc)}: {absent['pthread_spin_lock']} (1 function): " \
        "pthread_spin_lock" in words(text)
    assert not any(row[1] == "pthread_spin_lock" for row in rows(text))


def test_functions_of_which_only_calls_are_seen(tmp_path):
    """Where return probes are not wanted: all of them, with the reason once."""
    listed = run_json(THREADS, "-m", "c", "--returns=none")["found"]
    text = words(text_of(THREADS, "-m", "c", "--returns=none"))
    names = [row["symbol"] for row in listed if row["returns"] == "none" and row["model"] == "c"]
    assert "malloc" in names and f"only the calls are seen, not how long they take: asked for ({len(names)} " \
        f"functions): {', '.join(names)} " in text
    assert "only the calls" not in text_of(THREADS, "-m", "c")


@pytest.mark.skipif("perf" not in gaspbpf.RUNGS, reason="needs perf probes")
def test_what_nothing_calls_is_not_observed_where_probes_are_dear(job):
    target = start_mpi(job)
    found = run_json("-p", target.pids()[0], "-m", "mpi")["found"]
    uncalled = {row["symbol"] for row in found if not row["imported"]}
    text = text_of("-p", target.pids()[0], "-m", "mpi", env={"GASPBPF_RUNG": "perf"})
    assert uncalled and {row[1] for row in rows(text)} == {row["symbol"] for row in found} - uncalled
    [_, named] = words(text).split(f"all the same) ({len(uncalled)} functions): ")
    assert set(named.split(" not in this version")[0].split(", ")) == uncalled


def test_runtimes_that_are_not_used_are_in_one_line(job):
    target = job([THREADS]).wait_ready()
    text = text_of("-p", target.process.pid)
    named = re.search(r"not used here: (.*) \(their libraries are not mapped; -a names their functions\)", words(text))
    unused = {row["model"] for row in run_json("-p", target.process.pid)["absent"]
              if row["why"] == "library not mapped"}
    assert set(named[1].split(", ")) == unused and {"mpi", "shmem", "upc"} <= unused
    assert "GASP_SHMEM" not in text and "GASP_SHMEM_BARRIER_ALL" in text_of("-p", target.process.pid, "-a")
    assert re.search(r"(?m)^shmem: .*liboshmem\.so\*", text_of("-p", target.process.pid, "-v"))


def on_a_terminal(columns, *arguments):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([gaspbpf.PROGRAM, "list", *map(str, arguments)], stdout=theirs,
                               stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 65536):
            text += chunk
    except OSError:  # it has ended
        pass
    os.close(ours)
    assert process.wait(timeout=gaspbpf.PATIENCE) == 0
    return text.decode().splitlines()


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_lines_fit_the_terminal(job, columns):
    target = start_mpi(job)
    lines = on_a_terminal(columns, "-p", target.pids()[0], "-m", "+c,+pthread")
    assert max(map(len, lines)) <= columns
    assert {row[1] for row in rows("\n".join(lines))} >= {"MPI_Send", "malloc", "pthread_mutex_lock"}
    assert any(row[-1] == "PMPI_Send" for row in rows("\n".join(lines))) == (columns == 200)
