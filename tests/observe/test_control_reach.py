# SPDX-License-Identifier: BSD-2-Clause
"""'gaspbpf control' and recorders that are hard to reach: stopped ones, those that are not root's, those that have
gone."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess

import pytest

import gaspbpf
import rights
import truth

pytestmark = pytest.mark.usefixtures("own_run")


def control(pid, word):
    return gaspbpf.run("control", "-p", pid, word)


def is_stopped(process):
    return "State:\tT" in pathlib.Path(f"/proc/{process.pid}/status").read_text()


@pytest.fixture
def threads(job):
    return job([gaspbpf.WORKLOADS / "threads"]).wait_ready()


def test_a_stopped_one_is_not_waited_for(threads, observe):
    """It is named, and obeys when it goes on; the others obey at once."""
    pid = threads.pids()[0]
    stopped = observe("-p", pid, "-m", "pthread", "--json")
    stopped.process.send_signal(signal.SIGSTOP)
    gaspbpf.wait_for(lambda: is_stopped(stopped.process), "it to stop")
    alone = control(pid, "off")
    assert alone.returncode == 1
    assert f"process id {stopped.process.pid} does not answer: it is stopped" in alone.stderr \
        and "no gaspbpf that answers observes it" in alone.stderr
    other = observe("-p", pid, "-m", "pthread", "--json")
    both = control(pid, "on")
    assert both.returncode == 0 and f"process id {stopped.process.pid} does not answer: it is stopped" in both.stderr
    assert "measurement is on: 1 process" in both.stdout
    assert other.stop()[0] == 0

    control(pid, "off")
    stopped.process.send_signal(signal.SIGCONT)
    gaspbpf.wait_for(lambda: "as before" in control(pid, "off").stdout, "what it has missed to be obeyed")
    threads.work()
    status, out, errors = stopped.stop()
    assert status == 0, errors
    assert threads.end() == 0
    assert not gaspbpf.events(json.loads(out)).get("GASP_PTHREAD_MUTEX_LOCK", {"calls": 0})["calls"]


def test_a_killed_one_is_not_waited_for(threads, observe):
    """What it has left behind is removed, and tells nobody anything."""
    watcher = observe("-p", threads.pids()[0], "-m", "pthread", "--json")
    left = pathlib.Path(f"/run/gaspbpf/{watcher.process.pid}.sock")
    assert left.is_socket()
    watcher.stop(signal.SIGKILL)
    result = control(threads.pids()[0], "off")
    assert result.returncode == 1 and "no running gaspbpf observes it" in result.stderr \
        and "does not answer" not in result.stderr
    assert not left.exists()


def test_folders_that_others_can_write_to_are_not_asked(threads, tmp_path):
    """Who is in there could be anybody. In a file system of its own: /run is everybody's."""
    script = f"""
        mount -t tmpfs none /run && mkdir -m 777 /run/gaspbpf /run/gaspbpf-monitor && touch {tmp_path}/there
        read line; exec {gaspbpf.PROGRAM} control -p {threads.pids()[0]} off"""
    with subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE) as asking:
        gaspbpf.wait_for((tmp_path / "there").exists, "the folders")
        liars = []
        for folder in "gaspbpf", "gaspbpf-monitor":
            liars.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            liars[-1].bind(f"/proc/{asking.pid}/root/run/{folder}/{os.getpid()}.sock")
        _, errors = asking.communicate(b"\n", timeout=gaspbpf.PATIENCE)
    assert asking.returncode == 1 and b"no running gaspbpf observes it" in errors
    for liar in liars:
        liar.setblocking(False)
        with pytest.raises(BlockingIOError):
            liar.recv(100)
        liar.close()


@pytest.fixture
def writable():
    with rights.folder() as folder:
        yield folder


@pytest.mark.alone
def test_the_services_own_folder(job, tmp_path, writable):
    """A monitor that is not root, in the folder that systemd makes for it: root and its own user reach it, and no
    stranger."""
    program = shutil.copy(gaspbpf.PROGRAM, writable / "gaspbpf")
    ring = job(["mpirun.openmpi", "-n", "2", gaspbpf.WORKLOADS / "mpi_job_openmpi", "--rounds", "2"], ranks=2,
               env=truth.ENVIRONMENT).wait_ready()
    folder = (f"mount -t tmpfs none /run && mkdir -m 755 /run/gaspbpf-monitor && "
              f"chown {rights.NOBODY} /run/gaspbpf-monitor && exec \"$@\"")
    errors = open(tmp_path / "errors", "w")
    with rights.started("monitor", "-p", ring.process.pid, "-m", "mpi", "--lazy", "--max-overhead", "none", "--flight",
                        "1h,8m", "-o", writable, stderr=errors,
                        before=["unshare", "--mount", "sh", "-c", folder, "sh"]) as service:
        gaspbpf.wait_for(lambda: "monitoring" in (tmp_path / "errors").read_text(), "the monitor")
        inside = ["nsenter", f"--mount=/proc/{service.pid}/ns/mnt"]

        def once(uid, word):
            result = subprocess.run([*inside, "setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", program,
                                     "control", "-p", str(ring.pids()[0]),
                                     word], capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
            return None if "it is busy: try again" in result.stderr else result

        def ask(uid, word):
            return gaspbpf.wait_for(lambda: once(uid, word), "the monitor to have time")

        stranger = ask(65000, "off")
        assert stranger.returncode == 1 and "belongs to somebody else" in stranger.stderr
        ring.work()
        for uid in 0, rights.NOBODY:
            dumped = ask(uid, "dump")
            assert dumped.returncode == 0, dumped.stderr
            seen = gaspbpf.events(json.loads(gaspbpf.run("report", dumped.stdout.strip(), "--json").stdout))
            assert seen["GASP_MPI_SEND"]["calls"] > 0
        assert "measurement is off: 1 process" in ask(rights.NOBODY, "off").stdout
        service.terminate()
        out, _ = service.communicate(timeout=gaspbpf.PATIENCE)
    assert service.returncode == 0, (tmp_path / "errors").read_text()
    assert ring.end() == 0, ring.output()
    sent = truth.by_event(truth.functions(ring), lambda function: function)["MPI_Send"]["calls"]
    assert seen["GASP_MPI_SEND"]["calls"] == sent
