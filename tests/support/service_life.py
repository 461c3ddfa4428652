# SPDX-License-Identifier: BSD-2-Clause
"""The life of the service under a real systemd: run by scripts/service-life as root of a Debian of its own, in which
the package given is installed.

That system's PID 1 is systemd; the jobs under test come from the system around it, in /host. Each step prints a line;
the first that fails is the last.
"""
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import gaspbpf

CONF = pathlib.Path("/etc/gaspbpf.conf")
DROP_INS = pathlib.Path("/etc/systemd/system/gaspbpf.service.d")
METRICS = "http://127.0.0.1:9464/metrics"
CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON, CAP_BPF = 19, 21, 38, 39
PERF_ONLY = tuple(map(int, re.match(r"(\d+)\.(\d+)", platform.release()).groups())) < (6, 6)  # probes are perf events


def run(*command, status=0):
    result = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            timeout=gaspbpf.PATIENCE,
                            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C", "SYSTEMD_PAGER": ""})
    assert status is None or result.returncode == status, f"{command}: {result.returncode}: {result.stdout}"
    return result.stdout


def show(what):
    return run("systemctl", "show", "-p", what, "--value", "gaspbpf").strip()


def pid():
    return int(show("MainPID"))


def wait_active(other_than=0):
    gaspbpf.wait_for(lambda: show("ActiveState") == "active" and pid() not in (0, other_than),
                     "the service to be there")


def status_of(process):
    return dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines())


def samples(name):
    """What /metrics says of one name: [(labels as text, value)]."""
    with urllib.request.urlopen(METRICS, timeout=gaspbpf.PATIENCE) as answer:
        text = answer.read().decode()
    return [(labels, float(value)) for labels, value in re.findall(rf"(?m)^{name}(\{{.*\}})? (\S+)", text)]


def value(name):
    ((_, number),) = samples(name)
    return number


def sends():
    return sum(number for labels, number in samples("gaspbpf_event_calls_total") if 'event="GASP_MPI_SEND"' in labels)


class MpiJob(gaspbpf.Job):
    """Two ranks of another user's, in the files of the system around."""

    def __init__(self, name):
        folder = pathlib.Path("/tmp") / name
        (folder / "gate").mkdir(parents=True)
        for each in (folder, folder / "gate"):
            each.chmod(0o777)
        super().__init__(["chroot", "--userspec=65534:65534", "--groups=65534", "/host", "/usr/bin/env", "HOME=/tmp",
                          "mpirun.openmpi", "-n", "2",
                          gaspbpf.WORKLOADS / "mpi_job_openmpi", "--rounds", "2"], folder, ranks=2,
                         env=gaspbpf.MPI_ENVIRONMENT)
        self.wait_ready()

    def finish(self):
        """Its own count of MPI_Send."""
        assert self.end() == 0, self.output()
        return sum(each["functions"]["MPI_Send"]["calls"] for each in self.truths())


def warnings():
    return run("journalctl", "-q", "--no-pager", "-u", "gaspbpf", "-p", "warning", "-o", "cat")


def drop_in(name, text):
    DROP_INS.mkdir(exist_ok=True)
    (DROP_INS / name).write_text(text)
    run("systemctl", "daemon-reload")


def no_drop_ins():
    shutil.rmtree(DROP_INS)
    run("systemctl", "daemon-reload")


# --- the steps -------------------------------------------------------------

def boots_with_it(package):
    assert run("systemctl", "is-system-running", "--wait").strip() == "running"
    wait_active()
    assert "metrics at " + METRICS in show("StatusText") \
        and "metrics at " + METRICS in run("systemctl", "status", "gaspbpf")
    assert warnings() == ""


def has_the_rights_it_needs(package):
    status = status_of(pid())
    assert 61184 <= int(status["Uid"].split()[0]) <= 65519  # DynamicUser
    expected = sum(1 << bit for bit in (CAP_SYS_PTRACE, CAP_PERFMON, CAP_BPF, *([CAP_SYS_ADMIN] if PERF_ONLY else [])))
    assert [int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb", "CapInh")] == [
        expected] * 3 + [0, 0]
    assert status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2"
    mounts = [line.split() for line in pathlib.Path(f"/proc/{pid()}/mountinfo").read_text().splitlines()]
    assert all(words[5].startswith("ro") for words in mounts if words[4] == "/")
    run("systemd-analyze", "security", "--threshold=30", "gaspbpf")


def counts_the_jobs_of_others(package):
    before = sends()
    job = MpiJob("counted")
    gaspbpf.wait_for(lambda: value("gaspbpf_processes") == 2, "the ranks to be noticed")
    job.work()
    time.sleep(0.2)  # what was made for another scrape is given out for a tenth of a second
    counted = sends() - before
    sent = job.finish()
    assert counted == sent > 0, (counted, sent, sends() - before)
    assert warnings() == ""


def reads_its_options_again(package):
    was, process = CONF.read_text(), pid()
    CONF.write_text(was + "max-series 77\nlazy\n")
    run("systemctl", "reload", "gaspbpf")
    gaspbpf.wait_for(lambda: value("gaspbpf_series_limit") == 77, "the new limit")
    gaspbpf.wait_for(lambda: "take effect at the next start: lazy" in warnings(), "what is not taken to be said")
    CONF.write_text("nonsense\n")
    run("systemctl", "reload", "gaspbpf")
    gaspbpf.wait_for(lambda: "not taken" in show("StatusText"), "what is wrong to be said")
    assert "nonsense: not an option" in warnings() and value("gaspbpf_series_limit") == 77
    CONF.write_text(was)
    run("systemctl", "reload", "gaspbpf")
    gaspbpf.wait_for(lambda: "not taken" not in show("StatusText"), "all to be well")
    assert pid() == process and show("NRestarts") == "0"


def is_reached_by_control(package):
    """With a flight recorder; a dump goes to its own folder."""
    was, process = CONF.read_text(), pid()
    CONF.write_text(was + "flight 1h,8m\n")
    run("systemctl", "restart", "gaspbpf")
    wait_active(process)
    job = MpiJob("dumped")
    gaspbpf.wait_for(lambda: value("gaspbpf_processes") == 2, "the ranks to be noticed")
    job.work()
    recording = pathlib.Path(run("gaspbpf", "control", "-p", job.process.pid, "dump").strip())
    assert recording.is_absolute() or (recording := pathlib.Path("/var/lib/gaspbpf") / recording)
    report = run("gaspbpf", "report", recording)
    assert re.search(rf"GASP_MPI_SEND +{job.finish()} ", report), report
    CONF.write_text(was)


def comes_back_when_it_is_killed(package):
    """From zero, and saying so; the job does not notice."""
    job = MpiJob("survivor")
    job.work()
    began, process = value("gaspbpf_start_time_seconds"), pid()
    os.kill(process, signal.SIGKILL)
    wait_active(process)
    assert value("gaspbpf_start_time_seconds") > began and sends() == 0
    assert job.finish() > 0


def comes_back_when_it_hangs(package):
    drop_in("watchdog.conf", "[Service]\nWatchdogSec=20\nTimeoutAbortSec=20\n")
    process = pid()
    run("systemctl", "restart", "gaspbpf")
    wait_active(process)
    process = pid()
    os.kill(process, signal.SIGSTOP)
    wait_active(process)
    assert "Watchdog timeout" in run("journalctl", "-q", "--no-pager", "-u", "gaspbpf")
    no_drop_ins()


def does_not_try_wrong_options_again(package):
    was = CONF.read_text()
    CONF.write_text("all\nmax-series many\n")
    run("systemctl", "restart", "gaspbpf", status=None)
    gaspbpf.wait_for(lambda: show("ActiveState") == "failed", "it to give up")
    assert (show("Result"), show("ExecMainStatus")) == ("exit-code", "2")
    assert "max-series many: not a number" in run("systemctl", "status", "gaspbpf", status=3)
    CONF.write_text(was)
    run("systemctl", "reset-failed", "gaspbpf")


def says_which_right_is_missing(package):
    """Of a site that grants less than it needs: a message that tells what to do, and no attempt after the other."""
    if PERF_ONLY:
        drop_in("perf-events.conf", "")  # in place of the generator's
        missing = "CAP_SYS_ADMIN"
    else:
        drop_in("less.conf", "[Service]\nAmbientCapabilities=~CAP_BPF\n")
        missing = "gaspbpf doctor"
    run("systemctl", "restart", "gaspbpf", status=None)
    gaspbpf.wait_for(lambda: show("ActiveState") == "failed", "it to give up")
    assert show("ExecMainStatus") == "2" and missing in run("systemctl", "status", "gaspbpf", "--full", status=3)
    assert "it could not go on" in show("StatusText")
    no_drop_ins()
    run("systemctl", "reset-failed", "gaspbpf")
    run("systemctl", "start", "gaspbpf")
    wait_active()


def stops_without_harm(package):
    job = MpiJob("left")
    gaspbpf.wait_for(lambda: value("gaspbpf_processes") == 2, "the ranks to be noticed")
    start = time.monotonic()
    run("systemctl", "stop", "gaspbpf")
    print(f"  systemctl stop took {time.monotonic() - start:.1f} s")
    assert (show("ActiveState"), show("Result")) == ("inactive", "success")
    assert not pathlib.Path("/run/gaspbpf-monitor").exists()
    job.work()
    assert job.finish() > 0
    run("systemctl", "start", "gaspbpf")


def is_upgraded(package):
    """Restarted, with the administrator's options."""
    mine = CONF.read_text() + "# mine\n"
    CONF.write_text(mine)
    run("dpkg-deb", "-R", package, "/tmp/later")
    control = pathlib.Path("/tmp/later/DEBIAN/control")
    control.write_text(re.sub(r"(?m)^Version: .*", "Version: 999", control.read_text()))
    pathlib.Path("/tmp/later/etc/gaspbpf.conf").write_text("# theirs\nall\n")
    run("dpkg-deb", "-Znone", "--root-owner-group", "-b", "/tmp/later", "/tmp/later.deb")
    process = pid()
    run("dpkg", "--force-confdef", "--force-confold", "-i", "/tmp/later.deb")
    wait_active(process)
    assert CONF.read_text() == mine


def is_removed_and_purged(package):
    process = pid()
    run("dpkg", "-r", "gaspbpf")
    assert not pathlib.Path(f"/proc/{process}").exists() and CONF.exists()
    run("dpkg", "-P", "gaspbpf")
    left = run("find", "/etc", "/lib/systemd", "/run", "/usr", "/var/lib", "-xdev", "-name", "*gaspbpf*").splitlines()
    assert not left, left
    assert "not-found" in run("systemctl", "show", "-p", "LoadState", "gaspbpf")


def is_installed_and_runs(package):
    run("apt-get", "install", "-y", "--no-install-recommends", package)
    wait_active()
    assert show("UnitFileState") == "enabled" and value("gaspbpf_processes") == 0


STEPS = [boots_with_it, has_the_rights_it_needs, counts_the_jobs_of_others, reads_its_options_again,
         is_reached_by_control, comes_back_when_it_is_killed,
         comes_back_when_it_hangs, does_not_try_wrong_options_again, says_which_right_is_missing, stops_without_harm,
         is_upgraded, is_removed_and_purged, is_installed_and_runs]

if __name__ == "__main__":
    for step in STEPS:
        began = time.monotonic()
        try:
            step(sys.argv[1])
        except BaseException:
            print(run("journalctl", "--no-pager", "-u", "gaspbpf", "-n", 60, status=None), flush=True)
            print(f"FAILED: {step.__name__}", flush=True)
            raise
        print(f"{step.__name__}: {time.monotonic() - began:.0f} s", flush=True)
