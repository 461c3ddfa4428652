# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf monitor as a service: options from a file and anew, systemd's notifications, the journal, rights."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import pytest

import gaspbpf
import monitored
import truth
from rights import CAP_SYS_PTRACE, THREE, TO_READ, capabilities, helpers

pytestmark = pytest.mark.alone  # the runtimes of all of the machine are probed

UNIT = gaspbpf.TOP / "service" / "gaspbpf.service"
NOBODY = "no-such-program-anywhere"


@pytest.fixture
def options(tmp_path):
    """Writes a file of options."""
    path = tmp_path / "gaspbpf.conf"

    def write(text):
        path.write_text(text)
        return path
    return write


class Systemd:
    """The other end of sd_notify's socket."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("")  # the kernel chooses an abstract name, which every user can reach
        self.socket.settimeout(gaspbpf.PATIENCE)
        self.environment = {"NOTIFY_SOCKET": "@" + self.socket.getsockname()[1:].decode()}

    def next(self):
        """What was told next: {variable: value}."""
        return dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines())

    def until(self, variable):
        """What was told before `variable` was, and with it."""
        told = []
        while not told or variable not in told[-1]:
            told.append(self.next())
        return told


@pytest.fixture
def systemd():
    one = Systemd()
    yield one
    one.socket.close()


def monitored_names(url):
    return {labels["comm"] for labels, value in monitored.scrape(url).get("gaspbpf_process_calls_total", [])}


# --- the file --------------------------------------------------------------

def test_options_of_a_file_are_those_of_the_command_line(options, observe):
    """In each way of writing them; the command line has the last word."""
    path = options(f"# a comment\n\n  comm {NOBODY}  \n\tlisten=0\nmax-series = 7\nmodels upc\nquiet\n")
    samples = monitored.scrape(
        monitored.url_of(observe("monitor", "--config", path, "--max-series", "8", ready="monitoring")))
    assert samples["gaspbpf_series_limit"][0][1] == 8


@pytest.mark.parametrize("text, said", [
    (f"comm {NOBODY}\nnonsense 1\n", ":2: nonsense 1: not an option"),
    ("comm\nall\n", ":1: comm: needs a value"),
    (f"comm {NOBODY}\n--all\n", ":2: --all: not an option"),
    ("all yes\n", ":1: all: has no value"),
    ("max-over 1%\nall\n", ":1: max-over 1%: not an option"),
    ("all:\n", ":1: all:: not an option"),
    ("Listen 1\n", ":1: Listen 1: not an option"),
    ("config /etc/passwd\n", ":1: a file of options cannot name another one"),
    ("all\0\n", "has a NUL byte"),
    ("max-overhead 200%\nall\n", "not a share between"),
    ("#" * 70000, "File too large"),
    ("", "nothing to monitor"),
])
def test_files_that_are_none(options, text, said):
    result = gaspbpf.run("monitor", "--config", options(text), "-d", "1ms")
    assert result.returncode in (1, 2)
    assert said in result.stderr


def test_whose_files_are_obeyed(options, tmp_path):
    """Not those that others can write to: they would have the privileges of gaspbpf. Nor what is not a file."""
    path = options("all\n")
    path.chmod(0o666)
    for given, said in (path, "others may write to it"), (tmp_path / "none", "No such file"), (tmp_path, "not a file"):
        result = gaspbpf.run("monitor", "--config", given, "-d", "1ms")
        assert result.returncode == 2 and said in result.stderr  # systemd does not try that again
    path.chmod(0o644)
    os.chown(path, 65534, 65534)
    assert "others may write to it" in gaspbpf.run("monitor", "--config", path, "-d", "1ms").stderr


# --- while it runs ---------------------------------------------------------

def test_a_service_from_start_to_stop(job, observe, options, systemd, tmp_path):
    """Ready with its probes in; options anew by SIGHUP, first wrong ones; counters go on; the watchdog is told; the end
    is told."""
    program = shutil.copy(gaspbpf.WORKLOADS / "mpi_job_openmpi", tmp_path / f"own{os.getpid()}")  # nobody else's
    ring = job(["mpirun.openmpi", "-n", "2", program, "--rounds", "2"], ranks=2, env=truth.ENVIRONMENT).wait_ready()
    base = "listen 0\nmodels mpi\nmax-overhead none\n"
    path = options(f"comm {NOBODY}\n" + base)
    service = observe("monitor", "--config", path, env={**systemd.environment, "WATCHDOG_USEC": "200000"}, ready=None)
    ready = systemd.next()
    assert ready["READY"] == "1"
    url = re.search(r"http://\S+", ready["STATUS"])[0]
    assert monitored_names(url) == set()
    systemd.until("WATCHDOG")

    # What is wrong changes nothing, and does not end it.
    for wrong, said in ("nonsense\n", b"not an option"), (f"comm {NOBODY}\nlisten 1:2:3\n", b"not an address"), \
            ("all\nmax-overhead 0\n", b"not a share"):
        options(wrong)
        service.process.send_signal(signal.SIGHUP)
        assert int(systemd.until("RELOADING")[-1]["MONOTONIC_USEC"]) > 0
        systemd.until("READY")
        gaspbpf.wait_for(lambda: service.has_said(said), "what is wrong to be said")
        assert monitored.scrape(url)["gaspbpf_processes"][0][1] == 0

    options(f"comm {program.name[:-1]}?\nmax-series 5000\n" + base)
    service.process.send_signal(signal.SIGHUP)
    systemd.until("READY")
    gaspbpf.wait_for(lambda: monitored.scrape(url)["gaspbpf_processes"][0][1] == 2, "the ranks to be noticed")
    ring.work()
    samples = monitored.scrape_anew(url)
    assert samples["gaspbpf_series_limit"][0][1] == 5000
    calls = monitored.total(samples, "gaspbpf_event_calls_total", "event")
    assert calls["GASP_MPI_SEND"] > 0

    # Nobody is wanted any more: the processes are let go, the sums stay.
    options(f"comm {NOBODY}\n" + base.replace("none", "5%"))
    service.process.send_signal(signal.SIGHUP)
    systemd.until("READY")
    gaspbpf.wait_for(lambda: service.has_said(b"take effect at the next start"), "what cannot change to be said")
    gaspbpf.wait_for(lambda: monitored.scrape(url)["gaspbpf_processes"][0][1] == 0, "the ranks to be let go")
    after = monitored.total(monitored.scrape(url), "gaspbpf_event_calls_total", "event")
    assert all(after[event] >= value for event, value in calls.items())

    service.process.send_signal(signal.SIGTERM)
    systemd.until("STOPPING")
    assert service.finish()[0] == 0
    assert ring.end() == 0, ring.output()
    sent = truth.by_event(truth.functions(ring), lambda function: function)["MPI_Send"]["calls"]
    assert calls["GASP_MPI_SEND"] == sent


def test_messages_for_the_journal_have_priorities(tmp_path):
    """Only where standard error is what systemd says it is."""
    log = tmp_path / "log"
    for mine, expected in (True, r"<3>gaspbpf: "), (False, r"gaspbpf: "):
        with open(log, "wb") as stream:
            about = os.fstat(stream.fileno())
            environment = {**os.environ, "JOURNAL_STREAM": f"{about.st_dev}:{about.st_ino + (not mine)}"}
            subprocess.run([gaspbpf.PROGRAM, "monitor", "--config", tmp_path / "none"], stderr=stream, env=environment,
                           timeout=gaspbpf.PATIENCE)
        lines = log.read_text().splitlines()
        assert lines and all(re.match(expected, line) for line in lines)


# --- rights ----------------------------------------------------------------

@pytest.mark.parametrize("rung", ["session", "multi", "perf"])
def test_root_keeps_what_observing_needs(observe, rung):
    """Nothing at all, in what looks into others' files, but where each probe is a perf event. What reads for it has the
    rights for that."""
    watcher = observe("monitor", "--comm", NOBODY, "-m", "upc", "--listen", "0", ready="monitoring",
                      env={"GASPBPF_RUNG": rung})
    sets, own = capabilities(watcher.process.pid), capabilities("self")["Prm"]
    assert monitored.scrape(monitored.url_of(watcher))["gaspbpf_privileged"] == [({}, rung == "perf")]
    administer = {21} & own if rung == "perf" else set()
    assert sets["Eff"] == sets["Prm"] == sets["Bnd"] == ((THREE | TO_READ | administer) & own if rung == "perf"
                                                         else set())
    assert sets["Amb"] == set()
    assert "NoNewPrivs:\t1" in pathlib.Path(f"/proc/{watcher.process.pid}/status").read_text()
    if rung == "perf":
        return
    starter, = helpers(watcher.process.pid)["gaspbpf-starter"]
    for each in [starter, *helpers(starter).get("gaspbpf-reader", [])]:
        sets = capabilities(each)
        assert sets["Eff"] == sets["Prm"] == (TO_READ | {CAP_SYS_PTRACE}) & own and sets["Bnd"] == sets["Amb"] == set()


@pytest.mark.parametrize("rung", ["session", "perf"])
def test_some_sites_had_rather_none_than_one_with_rights(rung):
    result = gaspbpf.run("monitor", "--comm", NOBODY, "-m", "upc", "--unprivileged", "-d", "100ms",
                         env={"GASPBPF_RUNG": rung})
    assert result.returncode == (2 if rung == "perf" else 0), result.stderr
    assert ("rights would have to be kept" in result.stderr) == (rung == "perf")


def test_a_monitor_that_can_read_nothing_any_more_ends(observe):
    """Somebody has killed what has the rights: systemd starts the service again."""
    watcher = observe("monitor", "--comm", "late_one", "-m", "upc,shmem", "--listen", "0", ready="monitoring")
    starter, = helpers(watcher.process.pid)["gaspbpf-starter"]
    os.kill(starter, signal.SIGKILL)
    # Somebody comes, who is to be looked at.
    gaspbpf.wait_for(lambda: subprocess.run(["true"], check=True) and watcher.process.poll() is not None, "its end")
    status, _, errors = watcher.finish()
    assert status == 1 and "start gaspbpf again" in errors


def test_rights_stay_where_only_they_show_others_processes(job, observe):
    """/proc is mounted so that who has no rights sees only his own."""
    ring = job(["mpirun.openmpi", "-n", "2", gaspbpf.WORKLOADS / "mpi_job_openmpi", "--rounds", "2"], ranks=2,
               env=truth.ENVIRONMENT).wait_ready()
    as_nobody = ("setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+bpf,+perfmon,+sys_ptrace "
                 "--ambient-caps=-all,+bpf,+perfmon,+sys_ptrace --bounding-set=-all,+bpf,+perfmon,+sys_ptrace")
    watcher = observe("monitor", "-v", "-p", ring.process.pid, "-m", "mpi", "--max-overhead", "none", "--listen", "0",
                      ready="monitoring", env={"GASPBPF_MODELS": str(gaspbpf.TOP / "models")},
                      before=["unshare", "-m", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec 7< "$0" '
                              f'{as_nobody} /proc/self/fd/7 "$@"'])
    url = monitored.url_of(watcher)
    assert CAP_SYS_PTRACE in capabilities(watcher.process.pid)["Eff"] and watcher.has_said(b"are kept")
    ring.work()
    sends = monitored.total(monitored.scrape_anew(url), "gaspbpf_process_calls_total", "rank", event="GASP_MPI_SEND")
    assert watcher.stop()[0] == 0
    assert ring.end() == 0, ring.output()
    assert sends == {str(each["rank"]): each["functions"]["MPI_Send"]["calls"] for each in ring.truths()}


def test_three_capabilities_are_enough(job, systemd):
    """As another user, with what the unit gives: ranks of root's are found with their numbers, and their calls
    counted."""
    unit = UNIT.read_text()
    rights = re.search(r"(?m)^AmbientCapabilities=(.*)", unit)[1].lower()
    assert rights.split() == re.search(r"(?m)^CapabilityBoundingSet=(.*)",
                                       unit)[1].lower().split() == ["cap_bpf", "cap_perfmon", "cap_sys_ptrace"]
    rights = rights.replace("cap_", "+").replace(" ", ",")
    ring = job(["mpirun.openmpi", "-n", "2", gaspbpf.WORKLOADS / "mpi_job_openmpi", "--rounds", "2"], ranks=2,
               env=truth.ENVIRONMENT).wait_ready()
    with open(gaspbpf.PROGRAM, "rb") as program:  # the way to the checkout may be closed to others
        descriptor = program.fileno()
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs",
                   f"--inh-caps=-all,{rights}", f"--ambient-caps=-all,{rights}",
                   f"--bounding-set=-all,{rights}", f"/proc/self/fd/{descriptor}", "monitor", "-v", "-p",
                   ring.process.pid, "-m", "mpi", "--max-overhead", "none", "--listen", "0"]
        watcher = subprocess.Popen([*map(str, command)], pass_fds=[descriptor], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, "GASPBPF_MODELS": str(gaspbpf.TOP / "models"),
                                        **systemd.environment})
    try:
        url = re.search(r"http://\S+", systemd.next()["STATUS"])[0]
        assert capabilities(watcher.pid)["Prm"] == set()
        starter, = helpers(watcher.pid)["gaspbpf-starter"]
        assert capabilities(starter)["Prm"] == {CAP_SYS_PTRACE}
        # Another process of that user gets nothing out of it.
        for each in (watcher.pid, starter):
            look = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "ls",
                                   f"/proc/{each}/fd"], capture_output=True, text=True,
                                  timeout=gaspbpf.PATIENCE)
            assert "Permission denied" in look.stderr, look
        ring.work()
        samples = monitored.scrape_anew(url)
        sends = monitored.total(samples, "gaspbpf_process_calls_total", "rank", event="GASP_MPI_SEND")
    finally:
        watcher.terminate()
        out, _ = watcher.communicate(timeout=gaspbpf.PATIENCE)
    assert watcher.returncode == 0, out
    assert out.index("all rights are given up") < out.index("probes put in"), out  # before any file is looked into
    assert ring.end() == 0, ring.output()
    assert sends == {str(each["rank"]): each["functions"]["MPI_Send"]["calls"] for each in ring.truths()}


def test_the_unit_is_sound(tmp_path):
    """For systemd itself, but for the command, which is not installed here."""
    unit = tmp_path / "gaspbpf.service"
    unit.write_text(UNIT.read_text().replace("/usr/bin/gaspbpf", str(gaspbpf.PROGRAM)))
    result = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True,
                            timeout=gaspbpf.PATIENCE)
    assert (result.returncode, result.stderr.replace("running with root privileges is not recommended!", "").strip()) \
        == (0, "")
    assert re.search(r"ExecStart=\S+ monitor --config /etc/gaspbpf.conf$", UNIT.read_text(), re.M)
    exposed = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=21", unit],
                             capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    assert exposed.returncode == 0, exposed.stdout
    limits = dict(re.findall(r"(?m)^(MemoryMax|TasksMax|KillMode)=(\w+)$", UNIT.read_text()))
    assert limits == {"MemoryMax": "2G", "TasksMax": "64", "KillMode": "mixed"}


def system_calls(lines):
    """What a unit's SystemCallFilter lines allow, by systemd's own sets."""
    text = subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True, check=True,
                          timeout=gaspbpf.PATIENCE).stdout
    sets = {block.split()[0]: {word for line in block.splitlines()[1:] for word in line.split("#")[0].split()}
            for block in re.split(r"\n\n", text) if block[:1] == "@"}

    def spread(words):
        return {call for word in words for call in (spread(sets[word]) if word in sets else {word})}
    allowed = set()
    for line in lines:
        allowed = allowed - spread(line[1:].split()) if line[0] == "~" else allowed | spread(line.split())
    return allowed


def test_the_unit_cannot_touch_what_it_looks_at():
    allowed = system_calls(re.findall(r"(?m)^SystemCallFilter=(.*)", UNIT.read_text()))
    assert {"bpf", "perf_event_open", "process_vm_readv", "execve", "memfd_create", "setfsuid", "clone", "capset",
            "prctl", "close_range", "pidfd_open", "pidfd_send_signal", "sendmsg", "recvmsg", "socketpair"} <= allowed
    assert not allowed & {"ptrace", "process_vm_writev", "process_madvise", "pidfd_getfd", "setns", "unshare",
                          "userfaultfd", "add_key", "mount", "init_module"}


def test_the_units_options_are_the_monitors(options):
    """The file that is installed is taken as it is, and with all that it only mentions."""
    text = (gaspbpf.TOP / "service" / "gaspbpf.conf").read_text()
    for each in text, re.sub(r"(?m)^#(?=[a-z])", "", text):
        result = gaspbpf.run("monitor", "--config", options(each), "--version")  # which comes after them
        assert (result.returncode, result.stderr) == (0, "")
