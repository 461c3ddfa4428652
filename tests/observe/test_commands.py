# SPDX-License-Identifier: BSD-2-Clause
"""The commands from a user's side: what they print, where it goes, and how they end."""
import json
import os
import pathlib
import platform
import pty
import re
import select
import shutil
import subprocess
import termios
import time

import pytest

import gaspbpf
import truth

COMMANDS = ["record", "report", "export", "list", "doctor"]


def run_json(*arguments, **keywords):
    result = gaspbpf.run(*arguments, **keywords)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout[result.stdout.index("{\n"):])


# --- help -----------------------------------------------------------------

@pytest.mark.parametrize("command", [[], *([command] for command in COMMANDS)],
                         ids=lambda words: " ".join(words) or "none")
def test_help_has_examples(command):
    result = gaspbpf.run(*command, "--help")
    assert (result.returncode, result.stderr) == (0, "")
    usage, _, examples = result.stdout.partition("Examples:\n")
    assert "Usage: gaspbpf" in usage
    example = examples.splitlines()[0].split()
    assert "gaspbpf" in example
    if command:
        assert command[0] in example or command == ["record"]
        assert f"gaspbpf {command[0]}" in usage
    else:
        assert all(name in usage for name in COMMANDS)


def test_version():
    assert re.fullmatch(r"gaspbpf \d+\.\d+\n", gaspbpf.run("--version").stdout)


# --- list -----------------------------------------------------------------

def symbols(file):
    """Offsets in the file by name of its functions, as binutils tell them."""
    headers = subprocess.run(["readelf", "-lW", file], capture_output=True, text=True, check=True).stdout
    segments = [[int(number, 16) for number in line.split()[1:5]] for line in headers.splitlines()
                if line.split()[:1] == ["LOAD"]]
    found = {}
    for table in (["-D"], []):
        out = subprocess.run(["nm", *table, "--defined-only", file], capture_output=True, text=True).stdout
        for line in out.splitlines():
            address, _, name = line.split()[:3]
            address = int(address, 16)
            for offset, start, _, size in segments:
                if start <= address < start + size:
                    # The default version of a name (@@) is the one that a program is linked with.
                    name, _, version = name.partition("@")
                    if name not in found or version.startswith("@"):
                        found[name] = address - start + offset
    return found


def build_id(file):
    notes = subprocess.run(["readelf", "-n", file], capture_output=True, text=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


def test_list_of_a_job_is_what_binutils_say(job):
    """File, offset and build-id of each function; every known function is either found or absent."""
    target = job([gaspbpf.WORKLOADS / "threads"]).wait_ready()
    listed = run_json("list", "-p", target.process.pid, "--json")
    files = {row["file"] for row in listed["found"]}
    libc = os.path.realpath(re.search(r"\S+/libc\.so\.6",
                                      pathlib.Path(f"/proc/{target.process.pid}/maps").read_text())[0])
    assert files == {libc}
    offsets = symbols(libc)
    for row in listed["found"]:
        assert row["offset"] == offsets[row["symbol"]], row
        assert row["build_id"] == build_id(libc)
    found = {row["symbol"]: row for row in listed["found"]}
    assert found["malloc"]["event"] == "GASP_C_MALLOC" and found["malloc"]["model"] == "c"
    assert found["pthread_mutex_lock"]["event"] == "GASP_PTHREAD_MUTEX_LOCK"
    text = gaspbpf.run("list", "-v", "-p", target.process.pid).stdout
    assert re.search(rf"GASP_C_MALLOC +malloc +libc\S* +0x{offsets['malloc']:x} ", text)
    assert build_id(libc) in text
    assert not gaspbpf.breakpoints(target.process.pid)


def test_list_tells_who_handles_crashes(job, tmp_path):
    """Its own backtrace ends at a return probe."""
    source = tmp_path / "crash.c"
    source.write_text("#include <fcntl.h>\n#include <signal.h>\n#include <unistd.h>\nstatic void end(int s) { "
                      "_exit(s); }\nint main(int c, char **v) { if (c > 1) signal(SIGSEGV, end); "
                      "close(creat(\"ready\", 0600)); return pause(); }\n")
    subprocess.run(["cc", source, "-o", tmp_path / "crash"], check=True, timeout=gaspbpf.PATIENCE)
    for arguments in ([], ["handler"]):
        target = job([tmp_path / "crash", *arguments], gate=False)
        gaspbpf.wait_for(lambda: (target.folder / "ready").exists(), "the program to wait")
        assert run_json("list", "-p", target.process.pid, "-m", "c", "--json")["crash_handler"] == bool(arguments)
        text = gaspbpf.run("list", "-p", target.process.pid, "-m", "c").stdout
        assert ("has a crash handler" in text) == bool(arguments)


def test_list_of_a_library_tells_aliases():
    """MPI_Send and PMPI_Send are one function under two names: one probe."""
    library = subprocess.run(["mpicc.openmpi", "-print-file-name=libmpi.so"], capture_output=True,
                             text=True).stdout.strip()
    library = os.path.realpath(library)
    offsets = symbols(library)
    assert offsets["MPI_Send"] == offsets["PMPI_Send"]
    found = {row["symbol"]: row for row in run_json("list", library, "--json")["found"]}
    assert found["MPI_Send"]["aliases"].split() == ["PMPI_Send"]
    assert found["MPI_Send"]["offset"] == offsets["MPI_Send"]
    assert found["MPI_Send"]["event"] == "GASP_MPI_SEND"
    places = [(row["file"], row["offset"], row["event"]) for row in found.values()]
    assert len(places) == len(set(places))
    assert re.search(r"GASP_MPI_SEND .*= PMPI_Send", gaspbpf.run("list", "-v", library).stdout)


SOURCE = """
#include <stdio.h>
#include <stdlib.h>
static inline __attribute__((always_inline)) int inlined(int a) { return a * 3 + rand(); }
__attribute__((noipa)) int plain(int a) { return a + 1; }
static __attribute__((noipa)) int local(int a) { return a + 2; }
int main(int argc, char **argv) { printf("%d\\n", inlined(argc) + plain(argc) + local(argc)); return 0; }
"""
MODEL = """
model own
library program
INLINED function int inlined(int a)
PLAIN function int plain(int a)
LOCAL function int local(int a)
NOWHERE function int nowhere(int a)
"""


@pytest.fixture
def small(tmp_path):
    (tmp_path / "small.c").write_text(SOURCE)
    (tmp_path / "small.model").write_text(MODEL)
    subprocess.run(["gcc", "-O2", "-g", "-o", tmp_path / "small", tmp_path / "small.c"], check=True,
                   timeout=gaspbpf.PATIENCE)
    return tmp_path


def own(listed, kind):
    return {row["symbol"]: row for row in listed[kind] if row["model"] == "own"}


def test_list_says_why_a_function_is_not_there(small):
    options = ["--model-file", small / "small.model", "-m", "own", "--json"]
    listed = run_json("list", small / "small", *options)
    assert set(own(listed, "found")) == {"plain", "local"}
    why = {symbol: row["why"] for symbol, row in own(listed, "absent").items()}
    assert set(why) == {"inlined", "nowhere"}
    assert "inlined by the compiler" in why["inlined"]
    assert "not exported" in why["nowhere"] and "stripped" not in why["nowhere"]
    assert all("not mapped" in row["why"] for row in listed["absent"] if row["model"] == "mpi")
    assert own(listed, "found")["local"]["offset"] == symbols(small / "small")["local"]

    subprocess.run(["strip", small / "small"], check=True)
    listed = run_json("list", small / "small", *options)
    assert own(listed, "found") == {}
    assert {symbol: "stripped" in row["why"] for symbol, row in own(listed, "absent").items()} == dict.fromkeys(
        ["inlined", "plain", "local", "nowhere"], True)
    text = gaspbpf.run("list", small / "small", *options[:-1]).stdout
    said = " ".join(text.split())
    assert "not observed in small: not exported, and the file is stripped of its local symbols (4 functions): " \
        "inlined, plain, local, nowhere" in said
    assert re.search(r"not used here: .*\bmpi, .*\bshmem, .*\(not in these files; -a names their functions\)", said)
    text = gaspbpf.run("list", "-v", small / "small", *options[:-1]).stdout
    assert re.search(r"GASP_OWN_PLAIN +plain +.*stripped", text)
    assert re.search(r"library not mapped \(libmpi\.so\*", text)
    assert "GASP_MPI_SEND" not in text
    assert re.search(r"GASP_MPI_SEND +MPI_Send ", gaspbpf.run("list", "-a", small / "small", *options[:-1]).stdout)


def test_one_function_is_no_functions(small):
    """Words about one of them."""
    one = small / "one.model"
    one.write_text("model own\nlibrary program\nPLAIN function int plain(int a)\n")
    options = ["--model-file", one, "-m", "own"]
    assert "\nown: 1 function in " in "\n" + gaspbpf.run("list", small / "small", *options).stdout
    seen = gaspbpf.run(*options, "--", small / "small")
    assert "gaspbpf: observing 1 process: 1 function of own; a call costs " in seen.stderr


def test_list_names_the_models():
    text = gaspbpf.run("list", "--known").stdout
    assert {"c", "pthread", "mpi", "shmem", "caf", "upc", "starpu"} <= {line.split()[0] for line in text.splitlines()}


@pytest.mark.parametrize("file, word", [("/etc/passwd", "ELF"), ("/nowhere", "No such file"), ("/tmp", "ELF")])
def test_list_of_what_is_no_program(file, word):
    result = gaspbpf.run("list", file)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1 and file in result.stderr and word in result.stderr, result.stderr


# --- doctor ---------------------------------------------------------------

@pytest.mark.guest
def test_doctor(job):
    target = job([gaspbpf.WORKLOADS / "threads"]).wait_ready()
    result = gaspbpf.run("doctor", "-p", target.process.pid)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout
    assert platform.release() in result.stdout
    assert re.search(r"yes +(session|multi|perf) .*a call costs \d+ ns", result.stdout)
    assert re.search(r"yes +c: \d+ functions", result.stdout)
    assert "NO" not in result.stdout and "all well" in result.stdout
    costs = [int(ns) for ns in re.findall(r"(\d+) ns \(", re.search(r"\n  yes +(?:session|multi|perf) .*",
                                                                    result.stdout)[0])]
    assert len(costs) == 3
    assert re.search(r"\nYou can observe the processes of this machine; each observed call costs its thread "
                     rf"{min(costs) / 1e3:.1f} to {max(costs) / 1e3:.1f} us, by the instruction .*\.\n"
                     rf"You can observe process {target.process.pid}\.\n$", result.stdout), result.stdout
    assert not gaspbpf.breakpoints(target.process.pid)


def test_doctor_says_what_to_do_about_a_no(tmp_path):
    """Without rights, and about a process that is not there."""
    result = gaspbpf.run("doctor", "-p", 2)
    assert result.returncode == 1
    assert "kernel thread" in result.stderr and "1 thing to mend" in result.stdout
    assert result.stdout.endswith("You cannot observe process 2, because it cannot be looked at.\n"), result.stdout
    folder = pathlib.Path("/tmp") / f"gaspbpf-test.{os.getpid()}"
    folder.mkdir(mode=0o755)
    try:
        shutil.copy(gaspbpf.PROGRAM, folder)
        shutil.copytree(gaspbpf.TOP / "models", folder / "models")
        result = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                                 folder / "gaspbpf", "doctor"],
                                capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    finally:
        shutil.rmtree(folder)
    assert result.returncode == 1
    assert re.search(r"NO +not root: run gaspbpf with sudo", result.stdout)
    assert "CAP_BPF is missing" in result.stdout
    assert "all well" not in result.stdout
    assert re.search(r"\nYou cannot observe anything on this machine, because gaspbpf is not root; .*\n$",
                     result.stdout)


# --- whom, how long -------------------------------------------------------

@pytest.mark.parametrize("spell", [lambda a, b: ["-p", f"{a},{b}"], lambda a, b: ["-p", a, "-p", b]],
                         ids=["-p A,B", "-p A -p B"])
def test_several_processes(job, observe, spell):
    jobs = [job([gaspbpf.WORKLOADS / "threads", "--rounds", rounds]).wait_ready() for rounds in (5, 9)]
    watcher = observe(*spell(*(each.process.pid for each in jobs)), "--json")
    for each in jobs:
        each.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    report = json.loads(out)
    counted = 0
    for each in jobs:
        assert each.end() == 0
        functions = truth.functions(each)[0]
        tids = {thread["tid"] for thread in each.truths()[0]["threads"]}
        seen = sum(row["calls"] for row in report["by_thread"] if row["name"] == "GASP_C_MALLOC" and row["tid"] in tids)
        assert seen == functions["malloc"]["calls"]
        counted += seen
    assert gaspbpf.events(report)["GASP_C_MALLOC"]["calls"] == counted
    assert {process["pid"] for process in report["processes"]} == {each.process.pid for each in jobs}


def test_duration(job):
    """-d ends the observation, not the job. Generous: the machine may be busy."""
    target = job([gaspbpf.WORKLOADS / "threads"]).wait_ready()
    began = time.monotonic()
    report = run_json("-p", target.process.pid, "-d", "300ms", "--json")
    assert time.monotonic() - began < 20
    observed = report["recording"]["end_ns"] - report["recording"]["start_ns"]
    assert 0.3e9 <= observed < 10e9
    assert target.process.poll() is None


# --- a command ------------------------------------------------------------

EXACT = ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "pthread_create", "pthread_join",
         "pthread_barrier_wait", "pthread_cond_wait", "pthread_cond_signal", "pthread_rwlock_rdlock",
         "pthread_mutex_trylock"]


@pytest.mark.guest
@pytest.mark.usefixtures("rung")
def test_a_command_is_seen_from_its_first_call_to_its_last(tmp_path):
    """Every call there was, by a counter inside the command, from its start to its end."""
    result = gaspbpf.run("-q", "-o", tmp_path / "run.gasp", "--", gaspbpf.WORKLOADS / "threads", "--rounds", 20,
                         env={"LD_PRELOAD": str(gaspbpf.WORKLOADS / "libcount_libc.so"),
                              "COUNT_FILE": str(tmp_path / "count.%d")})
    assert result.returncode == 0, result.stderr
    report = run_json("report", "--json", tmp_path / "run.gasp")
    whole = json.loads((tmp_path / f"count.{report['processes'][0]['pid']}.libc").read_text())["whole"]
    seen = gaspbpf.events(report)
    for function in EXACT:
        name = f"GASP_{function.upper()}" if function.startswith("pthread") else f"GASP_C_{function.upper()}"
        assert seen[name]["calls"] == whole[function]["calls"], function
        if whole[function]["bytes"]:
            assert seen[name]["bytes"] == whole[function]["bytes"], function


@pytest.fixture
def folder_of_nobody():
    folder = pathlib.Path("/tmp") / f"gaspbpf-nobody.{os.getpid()}"
    folder.mkdir(mode=0o755)
    os.chown(folder, 65534, 65534)
    yield folder
    shutil.rmtree(folder)


def test_behind_sudo(folder_of_nobody):
    """The command runs as the user who called sudo, and the files belong to that user."""
    options = [option for name in ("run.gasp", "run.json") for option in ("-o", folder_of_nobody / name)]
    result = gaspbpf.run("-q", *options, "--", "sh", "-c", "id -u; id -g; touch made; true", cwd=folder_of_nobody,
                         env={"SUDO_UID": "65534", "SUDO_GID": "65534", "SUDO_USER": "nobody"})
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[:2] == ["65534", "65534"]
    for name in ("run.gasp", "run.json", "made"):
        status = (folder_of_nobody / name).stat()
        assert (status.st_uid, status.st_gid) == (65534, 65534), name
    assert gaspbpf.run("report", folder_of_nobody / "run.gasp").returncode == 0


def test_behind_sudo_nothing_is_written_as_root(tmp_path):
    os.chmod(tmp_path, 0o755)
    result = gaspbpf.run("-o", tmp_path / "run.gasp", "--", "true", env={"SUDO_UID": "65534", "SUDO_GID": "65534"})
    assert result.returncode == 1
    assert "run.gasp" in result.stderr and "may not write" in result.stderr
    assert os.listdir(tmp_path) == []


# --- the report -----------------------------------------------------------

@pytest.fixture
def recorded(tmp_path):
    result = gaspbpf.run("-q", "--json", "-o", tmp_path / "run.gasp", "--", gaspbpf.WORKLOADS / "threads",
                         "--rounds", 20)
    assert result.returncode == 0, result.stderr
    return tmp_path / "run.gasp", json.loads(result.stdout[result.stdout.index("{\n"):])


def test_the_report_of_a_recording_is_the_one_of_the_run(recorded):
    path, live = recorded
    assert run_json("report", path, "--json") == live
    assert run_json("report", "--json", path) == live


def test_the_report_has_the_promised_names(recorded):
    report = recorded[1]
    assert {"start_ns", "end_ns", "command", "host", "kernel"} <= set(report["recording"])
    assert {"lost", "delivered"} <= set(report["loss"])
    assert {"pid", "tid", "name", "rank"} <= set(report["threads"][0])
    assert {"name", "model", "calls", "total_ns", "self_ns", "min_ns", "max_ns", "bytes", "bytes_sent",
            "bytes_received"} \
        <= set(report["events"][0])
    assert {"tid", "name", "calls", "total_ns", "self_ns"} <= set(report["by_thread"][0])
    assert report["recording"]["host"] == platform.node() and report["recording"]["kernel"] == platform.release()
    for event in report["events"]:
        rows = [row for row in report["by_thread"] if row["name"] == event["name"]]
        assert sum(row["calls"] for row in rows) == event["calls"]
        assert sum(row["total_ns"] for row in rows) == event["total_ns"]
        assert event["self_ns"] <= event["total_ns"]
        assert event["min_ns"] * event["calls"] <= event["total_ns"] <= event["max_ns"] * event["calls"]


def test_the_report_in_words(recorded):
    """The columns of a profile, aligned; then the loss line. The figures are those of the JSON."""
    path, live = recorded
    text = gaspbpf.run("report", path).stdout
    lines = text.splitlines()
    head = next(line for line in lines if line.startswith("Event "))
    assert head.split()[1:7] == ["Calls", "Total", "Self", "Min", "Max", "Mean"]
    for event in live["events"]:
        line = next(line for line in lines if line.startswith(event["name"] + " "))
        end = head.index("Calls") + len("Calls")
        assert line[:end].split()[-1].replace(",", "") == str(event["calls"])
    calls = sum(event["calls"] for event in live["events"])
    assert f"lost 0 of {calls:,} calls" in lines
    assert "\x1b" not in text


# --- the terminal ---------------------------------------------------------

def on_a_terminal(*arguments):
    """What gaspbpf writes to its standard error when that is a terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 200))
    said = b""
    with subprocess.Popen([gaspbpf.PROGRAM, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        end = time.monotonic() + gaspbpf.PATIENCE
        while time.monotonic() < end:
            if not select.select([ours], [], [], 1)[0]:
                continue
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            said += piece
        if time.monotonic() >= end:
            process.kill()
        assert process.wait(gaspbpf.PATIENCE) == 0, said
    os.close(ours)
    return said.decode(errors="replace")


def own_cpu(live):
    """Seconds of gaspbpf's that these lines tell, at least: they are rounded."""
    at = [(float(time), int(own)) for time, own in re.findall(r"([\d.]+) s  .*own CPU (\d+)%", "\n".join(live))]
    return sum((own - 0.5) / 100 * (now - before - 0.1) for (before, _), (now, own) in zip([(0, 0), *at], at))


def test_the_live_line_is_for_terminals(job):
    target = job([gaspbpf.WORKLOADS / "threads", "--threads", 2, "--seconds", 60, "--slow", 0, "--slow-us", 2000],
                 gate=False)
    gaspbpf.wait_for(lambda: "ready" in target.output(), "the job to work")
    said = on_a_terminal("-p", target.process.pid, "-d", "3s")
    live = [line for line in said.split("\r") if re.search(r"\d s  .*events.*lost.*cost", line)]
    assert live, said
    assert re.search(r"[1-9][\d.,]* ?\w* events", live[-1]), live[-1]
    assert "/s" in live[-1]
    assert own_cpu(live) < float(re.search(r"own CPU: ([\d.]+) s", said)[1]), said
    quiet = on_a_terminal("-q", "-p", target.process.pid, "-d", "1500ms")
    assert "events" not in quiet
    piped = gaspbpf.run("-p", target.process.pid, "-d", "1500ms")
    assert piped.returncode == 0
    assert "\r" not in piped.stderr and "\x1b" not in piped.stderr + piped.stdout
