# SPDX-License-Identifier: BSD-2-Clause
"""Without root, with CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE alone: every command that observes does on root's jobs
what it does for root."""
import json
import os
import shutil
import signal

import pytest

import gaspbpf
import rights
import truth
from sticking import entered, ready, sleeps, waits_of

pytestmark = pytest.mark.skipif(gaspbpf.RUNGS == ["perf"],
                                reason="where probes are perf events, the kernel wants CAP_SYS_ADMIN, too")


@pytest.fixture
def ring(job):
    return job(["mpirun.openmpi", "-n", "2", gaspbpf.WORKLOADS / "mpi_job_openmpi", "--rounds", "2"], ranks=2,
               env=truth.ENVIRONMENT).wait_ready()


@pytest.fixture
def writable():
    with rights.folder() as folder:
        yield folder


def wait_said(path, text, process):
    def there():
        assert process.poll() is None, path.read_text()
        return text in path.read_text()
    gaspbpf.wait_for(there, f"gaspbpf to say '{text}'")


def sends(events):
    return sum(row["calls"] for row in events if row["name"] == "GASP_MPI_SEND")


def sent(ring):
    return sum(each["MPI_Send"]["calls"] for each in truth.functions(ring))


@pytest.mark.parametrize("command", ["record", "top"])
def test_commands_that_count(ring, tmp_path, writable, command):
    options = ["--once", "-d", "10m"] if command == "top" else ["-o", writable / "run.gasp"]
    said = tmp_path / "said"
    with open(said, "w") as errors, rights.started(command, "-p", ring.process.pid, "-m", "mpi", "--json", *options,
                                                   stderr=errors) as observer:
        wait_said(said, "observing", observer)
        ring.work()
        observer.send_signal(signal.SIGINT)
        out, _ = observer.communicate(timeout=gaspbpf.PATIENCE)
    assert observer.returncode == 0, said.read_text()
    assert ring.end() == 0, ring.output()
    report = json.loads(out)
    if command == "top":
        report["events"] = [{"name": event["event"], "calls": event["all"]["calls"]} for thread in report["threads"]
                            for event in thread["events"]]
    assert sends(report["events"]) == sent(ring) > 0
    if command == "record":
        assert sends(json.loads(gaspbpf.run("report", writable / "run.gasp", "--json").stdout)["events"]) == sent(ring)


def test_a_flight_recorder(ring, tmp_path, writable):
    """Its dump, asked for by a signal; 'gaspbpf control' has its own test."""
    said = tmp_path / "said"
    with open(said, "w") as errors, rights.started("-p", ring.process.pid, "-m", "mpi", "--flight", "1h,8m", "-o",
                                                   writable, stderr=errors) as recorder:
        wait_said(said, "observing", recorder)
        ring.work()
        recorder.send_signal(signal.SIGUSR1)
        (dump,) = gaspbpf.wait_for(lambda: list(writable.glob("*.gasp")), "the dump")
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=gaspbpf.PATIENCE)
    assert recorder.returncode == 0, said.read_text()
    assert ring.end() == 0, ring.output()
    assert sends(json.loads(gaspbpf.run("report", dump, "--json").stdout)["events"]) == sent(ring)


def test_who_is_stuck(job, tmp_path):
    """With probes: calls that begin while it watches are known from their beginning, with their arguments."""
    locks = job([gaspbpf.WORKLOADS / "stuck" / "locks", "cycle", "2"], env={"ENTER_LATE": "1"})
    ready(locks, 0)
    said = tmp_path / "said"
    with open(said, "w") as errors, rights.started("stuck", "-p", locks.process.pid, "--json", "-d",
                                                   f"{gaspbpf.PATIENCE}s", stderr=errors) as watcher:
        wait_said(said, "watching", watcher)
        (locks.gate / "go").touch()
        entered(locks, [0, 1])
        sleeps([waits_of(locks, n)[0] for n in range(2)])
        watcher.send_signal(signal.SIGINT)
        out, _ = watcher.communicate(timeout=gaspbpf.PATIENCE)
    assert watcher.returncode == 0 and "without root" not in said.read_text(), said.read_text()
    calls = [thread["call"] for thread in json.loads(out)["threads"] if thread["call"]
             and thread["call"]["event"] == "GASP_PTHREAD_MUTEX_LOCK"]
    assert len(calls) == 2 and all(call["entered"] == "seen" and call["since_ns"] for call in calls)


@pytest.mark.alone
def test_a_library_that_only_its_owner_can_read_is_told(job, tmp_path):
    """Its calls are not counted, and that does not look like none."""
    private = tmp_path / "private"
    private.mkdir()
    library = shutil.copy(os.path.realpath("/usr/lib/x86_64-linux-gnu/libmpi.so.40"), private / "libmpi.so.40")
    os.chmod(library, 0o600)
    job = job(["mpirun.openmpi", "-n", "2", "-x", f"LD_LIBRARY_PATH={private}", gaspbpf.WORKLOADS / "mpi_job_openmpi",
               "--rounds", "2"], ranks=2,
              env=truth.ENVIRONMENT).wait_ready()
    said = tmp_path / "said"
    with open(said, "w") as errors, rights.started("monitor", "-p", job.process.pid, "-m", "mpi", "--lazy",
                                                   stderr=errors) as watcher:
        wait_said(said, f"{library}: cannot be read: its calls are not counted", watcher)
        watcher.send_signal(signal.SIGTERM)
        watcher.communicate(timeout=gaspbpf.PATIENCE)
    job.work()
    assert job.end() == 0, job.output()


def test_what_is_missing_is_said(ring):
    """Each one left out, and which it is; nothing is counted as if nothing had happened."""
    for left, name in ("+perfmon,+sys_ptrace", "CAP_BPF"), ("+bpf,+sys_ptrace", "CAP_PERFMON"), \
            ("+bpf,+perfmon", "CAP_SYS_PTRACE"):
        for command in ("record", "-p", ring.process.pid, "-d", "1ms"), \
                ("top", "-p", ring.process.pid, "--once", "-d", "1ms"):
            status, _, errors = rights.run(*command, rights=left)
            assert status == 1 and "needs root, or three capabilities" in errors, (left, command, errors)
        status, out, _ = rights.run("doctor", rights=left)
        assert status == 1 and f"{name} is missing" in out
    ring.work()
    assert ring.end() == 0


def test_a_monitor_without_rights_is_not_started_again():
    """Status 2: the unit takes it as final."""
    status, _, errors = rights.run("monitor", "--comm", "no-such-program-anywhere", "-m", "upc", "-d", "1ms",
                                   rights="+perfmon,+sys_ptrace")
    assert status == 2 and "gaspbpf doctor" in errors


def test_a_command_has_none_of_them():
    """What was given to observe is not for what is observed: the command has what nobody has."""
    status, out, errors = rights.run("-q", "--", "grep", "^Cap[^B]", "/proc/self/status")
    assert status == 0, errors
    told = dict(line.split() for line in out.splitlines() if line.startswith("Cap"))
    assert set(told) == {"CapInh:", "CapPrm:", "CapEff:", "CapAmb:"} \
        and not any(int(value, 16) for value in told.values())
