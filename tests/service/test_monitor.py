# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf monitor: which processes it chooses, when it notices them, what it leaves alone."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

import gaspbpf
import monitoring


@pytest.fixture
def pair(tmp_path):
    with monitoring.two_programs(tmp_path, "chosen_one", "bystander") as pair:
        yield pair


@pytest.fixture
def gate(tmp_path):
    folder = tmp_path / "gate"
    folder.mkdir()
    return folder


def let_both_work(gate, processes):
    (gate / "go").touch()
    for process in processes:
        gaspbpf.wait_for((gate / f"done.{process.pid}").exists, "their work")


def check_only(monitor, gate, wanted, unwanted):
    """The chosen process is counted, wholly; the other one not at all, though it runs through the same probes."""
    monitor.wait_for_processes([wanted.pid])
    let_both_work(gate, [wanted, unwanted])
    line = monitor.now()
    assert [process["pid"] for process in line["processes"]] == [wanted.pid]
    found = monitoring.events_of(line["processes"][0])
    assert found["GASP_SHMEM_BARRIER_ALL"]["calls"] == 11
    assert monitoring.events_of(line)["GASP_SHMEM_BARRIER_ALL"]["calls"] == 11
    (gate / "end").touch()
    assert wanted.wait(timeout=gaspbpf.PATIENCE) == 0 and unwanted.wait(timeout=gaspbpf.PATIENCE) == 0


def test_by_name(pair, gate, monitors):
    chosen, other = pair
    monitor = monitors("--comm", f"*{chosen.name[1:]}", "--lazy", "--max-overhead", "none")
    check_only(monitor, gate, chosen.start(11, 0, gate), other.start(100, 0, gate))


def test_by_job_of_the_resource_manager(pair, gate, monitors):
    chosen, other = pair
    unwanted = other.start(100, 0, gate, env={"SLURM_JOB_ID": other.name})
    wanted = chosen.start(11, 0, gate, env={"SLURM_JOB_ID": chosen.name})
    monitor = monitors("--slurm-job", chosen.name, "--lazy", "--max-overhead", "none")  # they run already
    monitor.wait_for_processes([wanted.pid])
    assert monitor.process_of(wanted.pid)["job"] == chosen.name
    check_only(monitor, gate, wanted, unwanted)


@pytest.fixture
def open_folder():
    """One that every user may enter: pytest's own are for nobody else."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gaspbpf-monitor-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_by_user(monitors, open_folder):
    user = 100000 + os.getpid()  # nobody else's
    job = monitoring.Runtime(open_folder / "runtime", "users")
    for path in (job.folder, job.library, job.program):
        path.chmod(0o755)
    gate = open_folder / "gate"
    gate.mkdir()
    gate.chmod(0o777)
    monitor = monitors("--user", str(user), "--lazy", "--max-overhead", "none")
    unwanted = job.start(100, 0, gate)
    wanted = subprocess.Popen([str(job.program), "--gate", str(gate), "11", "0"], user=user, group=user,
                              extra_groups=[])
    job.running.append(wanted)
    try:
        check_only(monitor, gate, wanted, unwanted)
    finally:
        job.kill()


@pytest.fixture
def control_group():
    """A cgroup of the test's own, and a job's step below it, as Slurm makes them; and one whose names only begin like
    these. Gone afterwards."""
    bases = [pathlib.Path(base) for base in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
             if pathlib.Path(base, "cgroup.procs").exists()]
    if not bases:
        pytest.skip("no cgroup v2 here")
    top = bases[0] / f"gaspbpf-test-{os.getpid()}"
    alike = bases[0] / f"{top.name}0"
    folders = [alike, alike / f"job_{os.getpid()}0", top, top / f"job_{os.getpid()}",
               top / f"job_{os.getpid()}" / "step_0"]
    try:
        for folder in folders:
            folder.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    yield folders[-1], folders[1]
    for folder in reversed(folders):
        gaspbpf.wait_for(lambda: not (folder / "cgroup.procs").read_text(), "the group to be empty")
        folder.rmdir()


@pytest.mark.parametrize("by", ["cgroup", "slurm-job"])
def test_by_cgroup(control_group, pair, gate, monitors, by):
    """Below the one that is named; and by the job's number in its path, where no variable tells it."""
    chosen, other = pair
    step, alike = control_group
    top, number = step.parents[1], step.parent.name.removeprefix("job_")
    monitor = monitors(*{"cgroup": ["--cgroup", f"/sys/fs/cgroup/{top.name}"],
                         "slurm-job": ["--slurm-job", number]}[by], "--lazy", "--max-overhead", "none")
    environment = {name: value for name, value in os.environ.items() if "JOB" not in name}

    def start(job, group, barriers):
        job.running.append(subprocess.Popen(["sh", "-c", f"echo $$ > {group}/cgroup.procs && exec {job.program} --gate "
                                             f"{gate} {barriers} 0"], env=environment))
        return job.running[-1]
    unwanted, wanted = start(other, alike, 100), start(chosen, step, 11)
    monitor.wait_for_processes([wanted.pid])
    process = monitor.process_of(wanted.pid)
    assert process["cgroup"].endswith(f"/{top.name}/job_{number}/step_0") and process["job"] == number
    check_only(monitor, gate, wanted, unwanted)


def test_by_number_with_all_that_it_starts(pair, gate, monitors, tmp_path):
    """A launcher's number: what it starts later, as another program, belongs to it."""
    chosen, other = pair
    begin = tmp_path / "begin"
    launcher = subprocess.Popen(
        ["bash", "-c", f"until [ -e {begin} ]; do sleep 0.05; done; {chosen.program} --gate {gate} 11 0 & wait"])
    monitor = monitors("-p", launcher.pid, "--lazy", "--max-overhead", "none")
    unwanted = other.start(100, 0, gate)
    begin.touch()
    line = gaspbpf.wait_for(lambda: (lambda line: line and line["processes"] and line)(monitor.last()),
                            "the launched process")
    assert line["processes"][0]["pid"] not in (launcher.pid, unwanted.pid)
    (gate / "go").touch()
    gaspbpf.wait_for(lambda: len(list(gate.glob("done.*"))) == 2, "their work")
    line = monitor.now()
    assert [process["comm"] for process in line["processes"]] == [chosen.name]
    assert monitoring.events_of(line)["GASP_SHMEM_BARRIER_ALL"]["calls"] == 11
    (gate / "end").touch()
    assert launcher.wait(timeout=gaspbpf.PATIENCE) == 0


def test_too_many_to_keep_apart(pair, gate, monitors):
    """More processes than asked for: those beyond count in the totals, and that is said."""
    chosen, other = pair
    monitor = monitors("--comm", chosen.name, "--lazy", "--max-overhead", "none", "--max-processes", "2")
    processes = [chosen.start(11, 0, gate) for _ in range(5)]
    gaspbpf.wait_for(lambda: (monitor.last() or {"monitor": {"noticed": 0}})["monitor"]["noticed"] == 5,
                     "all to be noticed")
    let_both_work(gate, processes)
    line = monitor.now()
    assert len(line["processes"]) == 2 and line["monitor"]["crowded"] == 3
    assert monitoring.events_of(line)["GASP_SHMEM_BARRIER_ALL"]["calls"] == 5 * 11
    assert "more than 2 processes at a time" in monitor.errors()
    (gate / "end").touch()
    assert {process.wait(timeout=gaspbpf.PATIENCE) for process in processes} == {0}


def test_a_table_for_people(pair, gate, monitors, tmp_path):
    chosen, _ = pair
    out = open(tmp_path / "table", "w+")
    monitor = subprocess.Popen([str(gaspbpf.PROGRAM), "monitor", "--comm", chosen.name, "--lazy", "--interval",
                                "200ms"], stdout=out,
                               stderr=subprocess.DEVNULL)
    try:
        process = chosen.start(11, 3, gate, env={"PMIX_RANK": "3", "SLURM_JOB_ID": "99"})
        gaspbpf.wait_for(lambda: str(process.pid) in (tmp_path / "table").read_text(), "the process to be shown")
        let_both_work(gate, [process])
        gaspbpf.wait_for(lambda: "GASP_SHMEM_PUT" in (tmp_path / "table").read_text(), "the event to be shown")
        monitor.terminate()
        assert monitor.wait(timeout=gaspbpf.PATIENCE) == 0
        rows = [line.split() for line in (tmp_path / "table").read_text().splitlines()]
        assert ["GASP_SHMEM_BARRIER_ALL", "11"] in [row[:2] for row in rows]
        assert [str(process.pid), chosen.name, "root", "3", "99"] in [row[:5] for row in rows]
    finally:
        if monitor.poll() is None:
            monitor.kill()
        monitor.wait()
        out.close()


@pytest.mark.parametrize("arguments, says", [
    ([], "nothing to monitor"),
    (["--user", "nobody-has-this-name"], "no such user"),
    (["--cgroup", "slice"], "not a path"),
    (["--all", "--max-overhead", "200%"], "not a share"),
    (["--all", "--interval", "1ms"], "not a time"),
    (["-p", "4194303"], "no such process"),
    (["--all", "-m", "nonsense"], "no such model"),
    (["--all", "--max-processes", "0"], "not a number"),
])
def test_what_cannot_be_meant_is_said(arguments, says):
    result = gaspbpf.run("monitor", "-d", "1s", *arguments)
    assert result.returncode in (1, 2) and says in result.stderr


# --- from when on ------------------------------------------------------------

def test_who_was_there_before_is_late(runtime, gate, monitors):
    """What it called before its probes were in is in no figure: how long that was is said, in the line and in the
    process. From then on all is counted."""
    job = runtime("early")
    process = job.start(11, 0, gate)
    gaspbpf.wait_for((gate / f"ready.{process.pid}").exists, "the job to be there")
    monitor = monitors("--comm", job.name, "-m", "shmem", "--max-overhead", "none")
    monitor.wait_for_processes([process.pid])
    row, line = monitor.process_of(process.pid), monitor.now()
    assert not row["from_start"] and row["blind_ns"] > 0
    began = line["time_ns"] - line["monitor"]["since_ns"]
    assert began <= row["blind_from_ns"] + 1000 and row["blind_to_ns"] - row["blind_from_ns"] == row["blind_ns"] \
        and row["blind_to_ns"] < line["time_ns"]
    assert line["monitor"]["late"] == 1 \
        and line["monitor"]["late_ns"] == line["monitor"]["late_longest_ns"] == row["blind_ns"]
    (gate / "go").touch()
    gaspbpf.wait_for((gate / f"done.{process.pid}").exists, "its work")
    assert monitor.totals()["GASP_SHMEM_BARRIER_ALL"]["calls"] == 11
    (gate / "end").touch()
    assert process.wait(timeout=gaspbpf.PATIENCE) == 0


def test_who_comes_after_the_monitor_is_ready_is_whole(gate, job, monitors):
    """Libraries in the usual folders have their probes when it says that it is monitoring: not only soon after."""
    monitor = monitors("--comm", "openmp_job", "-m", "openmp", "--max-overhead", "none")
    target = job([gaspbpf.WORKLOADS / "openmp_job", "--threads", 2]).wait_ready()
    assert monitor.now()["monitor"]["ready"]
    monitor.wait_for_processes([target.process.pid])
    row = monitor.process_of(target.process.pid)
    assert row["from_start"] and row["blind_ns"] == 0 and row["blind_from_ns"] is None
    target.work()
    assert target.end() == 0
