# SPDX-License-Identifier: BSD-2-Clause
"""Many at once, and for long: short-lived processes, containers, attaching and letting go, the monitor's own death."""
import collections
import os
import shutil
import subprocess

import pytest

import gaspbpf
import monitoring
import truth

CYCLES = int(os.environ.get("CYCLES", 240))  # 10000: what months do
AT_A_TIME = 40

MODEL = """
model    many
language MANY
numbers  0x7000
library  libmany.so*
BARRIER  barrier  void shmem_barrier_all(void)
PUT      put      leaf  void shmem_putmem(void *to, const void *from, size_t n @bytes, int pe @peer)
"""


def met(monitor, job):
    """The library is known from here on: one process has mapped it and has been noticed."""
    first = job.start(0, 0, gate=job.folder)
    monitor.wait_for_processes([first.pid])
    (job.folder / "go").touch()
    (job.folder / "end").touch()
    assert first.wait(timeout=gaspbpf.PATIENCE) == 0
    (job.folder / "go").unlink()
    (job.folder / "end").unlink()


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def run_many(job, count, barriers, puts):
    """Runs the program so often, as fast as a shell can."""
    script = (f'i=0; while [ $i -lt {count} ]; do "{job.program}" {barriers} {puts} & i=$((i+1)); [ $((i % 8)) = 0 ] '
              '&& wait; done; wait')
    subprocess.run(["bash", "-c", script], check=True, timeout=gaspbpf.PATIENCE, stdout=subprocess.DEVNULL)


def test_every_call_of_short_lived_processes_counts(runtime, monitors, tmp_path):
    """--all, and hardly one of them lives long enough to be looked at: but the kernel knows the file. A runtime of the
    test's own, that no other test has."""
    job = runtime("many_short", soname="libmany.so.1")
    (tmp_path / "many.model").write_text(MODEL)
    monitor = monitors("--all", "--lazy", "--max-overhead", "none", "--model-file", tmp_path / "many.model",
                       "-m", "many")
    met(monitor, job)
    run_many(job, 200, 7, 3)
    totals = monitor.totals()
    assert totals["GASP_MANY_BARRIER"]["calls"] == 200 * 7
    assert (totals["GASP_MANY_PUT"]["calls"], totals["GASP_MANY_PUT"]["bytes"]) == (200 * 3, 200 * (1 + 2 + 3))
    # a leaf; a return probe of the other may do harm in a process that nobody knows yet, so there it is only counted
    assert totals["GASP_MANY_PUT"]["skipped"] == 0
    # Those that were left alone in such a process have neither a time nor were they left out by anybody's wish.
    assert totals["GASP_MANY_BARRIER"]["timed"] + totals["GASP_MANY_BARRIER"]["skipped"] <= 200 * 7
    line = monitor.stop()
    assert line["monitor"]["lost"] == 0


def holds(monitor, path):
    """Has the monitor this file open? Its other descriptors come and go meanwhile."""
    folder = f"/proc/{monitor.process.pid}/fd"
    return any(str(path) in os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)
               if os.path.islink(f"{folder}/{fd}"))


def attach_and_let_go(monitor, job, gate, count):
    """So many processes, some at a time: each is held until the monitor has it, calls, ends, and is let go."""
    for first in range(0, count, AT_A_TIME):
        processes = [job.start(2, 3, gate) for _ in range(min(AT_A_TIME, count - first))]
        monitor.wait_for_processes([process.pid for process in processes])
        for mark in "go", "end":
            (gate / mark).touch()
        assert {process.wait(timeout=gaspbpf.PATIENCE) for process in processes} == {0}
        job.running.clear()
        for path in gate.iterdir():
            path.unlink()
    return gaspbpf.wait_for(lambda: (lambda line: not line["processes"] and line)(monitor.now()),
                            "all to be let go")["monitor"]


@pytest.mark.parametrize("joins", ["parallel", "alone"])
def test_memory_and_descriptors_stay_flat(joins, runtime, monitors, tmp_path):
    """Attach and let go, hundreds of times: what a process needed is given back; where each has links of its own,
    these, too."""
    job = runtime("many_cycles", soname="libmany.so.1")
    (tmp_path / "many.model").write_text(MODEL.replace("library", f"join {joins}\nlibrary"))
    monitor = monitors("--comm", job.name, "--lazy", "--linger", "0", "--max-overhead", "none", "--model-file",
                       tmp_path / "many.model", "-m", "many")
    gate = tmp_path / "gate"
    gate.mkdir()
    before = attach_and_let_go(monitor, job, gate, 2 * AT_A_TIME)
    files = descriptors(monitor.process.pid)
    grown = []
    # In use, not what malloc keeps but for its small caches: 300 bytes that stay of each process would be too much. A
    # table that doubles, as more of them are there at a time than before, does so once; so three times is a leak.
    while not grown or (grown[-1] > 49152 + 60 * CYCLES and len(grown) < 3):
        after = attach_and_let_go(monitor, job, gate, CYCLES)
        grown.append(after["own_heap_bytes"] - before["own_heap_bytes"])
        before = after
        seen = 2 * AT_A_TIME + len(grown) * CYCLES
        assert after["noticed"] == after["ended"] == seen
        assert monitor.totals()["GASP_MANY_BARRIER"]["calls"] == 2 * seen
        gaspbpf.wait_for(lambda: descriptors(monitor.process.pid) <= files, "links to be closed")
    assert grown[-1] <= 49152 + 60 * CYCLES, grown
    # nothing is left in the kernel, either
    assert (after["sums"], after["images"], after["sites"]) == (0, before["images"], before["sites"])


def test_files_that_are_gone_are_forgotten(runtime, monitors, tmp_path):
    """A program built again and again, each time with a library of its own: as many files as a node meets in years."""
    job = runtime("many_builds")
    monitor = monitors("--comm", job.name, "--lazy")
    pid = monitor.process.pid
    gate = tmp_path / "gate"
    gate.mkdir()
    stays = job.start(40, 2, gate)
    monitor.wait_for_processes([stays.pid])
    for batch in range(11):
        builds = [tmp_path / f"build{batch}_{i}" for i in range(10)]
        for folder in builds:
            folder.mkdir()
            shutil.copy(job.library, folder)
            shutil.copy(job.program, folder)
        processes = [subprocess.Popen([str(folder / job.name), "--gate", str(folder), "1", "1"],
                                      env={**os.environ, "LD_LIBRARY_PATH": str(folder)}) for folder in builds]
        monitor.wait_for_processes([process.pid for process in processes])
        monitor.now()  # if so many files were too many, all has been put in anew by then
        for folder in builds:
            (folder / "go").touch()
            (folder / "end").touch()
        assert {process.wait(timeout=gaspbpf.PATIENCE) for process in processes} == {0}
        for folder in builds:
            shutil.rmtree(folder)
    line = gaspbpf.wait_for(lambda: (lambda line: line["monitor"]["renewals"] and line)(monitor.now()),
                            "files to be forgotten")
    assert line["monitor"]["images"] < 200
    assert descriptors(pid) < 400
    (gate / "go").touch()
    gaspbpf.wait_for((gate / f"done.{stays.pid}").exists, "the first job's work")
    monitor.now()
    found = monitoring.events_of(monitor.process_of(stays.pid))
    assert found["GASP_SHMEM_BARRIER_ALL"]["calls"] == 40  # what has been there all the time goes on
    assert monitor.totals()["GASP_SHMEM_BARRIER_ALL"]["calls"] == 40 + 110
    (gate / "end").touch()
    assert stays.wait(timeout=gaspbpf.PATIENCE) == 0


def test_a_library_that_is_written_over(runtime, monitors, tmp_path):
    """The same file, other contents: a probe for the old ones would be a breakpoint in the midst of the new one's
    instructions."""
    job = runtime("many_over")
    moved = "long moved(long n) { long s = n; for (long i = 0; i < n; i++) s = s * 31 + i; return s; }\n"
    (tmp_path / "moved.c").write_text(moved + monitoring.LIBRARY)
    other = tmp_path / "other.so"
    gaspbpf.compile_c(tmp_path / "moved.c", other, "-O1", "-shared", "-fPIC", f"-Wl,-soname,{job.library.name}")
    monitor = monitors("--comm", job.name, "--lazy", "--max-overhead", "none")
    met(monitor, job)
    gaspbpf.wait_for(lambda: not monitor.now()["processes"], "the first to be let go")
    with open(job.library, "r+b") as library:
        library.write(other.read_bytes())
    gaspbpf.wait_for(lambda: "was written over" in monitor.errors(), "the monitor to notice")
    gate = tmp_path / "gate"
    gate.mkdir()
    process = job.start(13, 4, gate)
    monitor.wait_for_processes([process.pid])
    for mark in "go", "end":
        (gate / mark).touch()
    assert process.wait(timeout=gaspbpf.PATIENCE) == 0
    totals = monitor.totals()
    assert (totals["GASP_SHMEM_BARRIER_ALL"]["calls"], totals["GASP_SHMEM_PUT"]["bytes"]) == (13, 1 + 2 + 3 + 4)


def test_a_deleted_file_is_let_go(runtime, monitors, tmp_path):
    """It takes its room on the disk no longer than somebody maps it."""
    job = runtime("many_gone")
    monitor = monitors("--comm", job.name, "--lazy", "--max-overhead", "none")
    gate = tmp_path / "gate"
    gate.mkdir()
    process = job.start(6, 1, gate)
    monitor.wait_for_processes([process.pid])
    shutil.rmtree(job.folder)
    assert holds(monitor, job.library)
    for mark in "go", "end":
        (gate / mark).touch()
    assert process.wait(timeout=gaspbpf.PATIENCE) == 0
    gaspbpf.wait_for(lambda: not holds(monitor, job.library), "the library to be let go")
    assert monitor.totals()["GASP_SHMEM_BARRIER_ALL"]["calls"] == 6


@pytest.mark.parametrize("as_service", [False, True], ids=["root", "as the service"])
def test_a_container_with_its_own_library(runtime, monitors, tmp_path, as_service):
    """Its own mounts, its own process numbers, its own copy of the library at a path that is another file outside. As a
    service: its own root, too, to which the way leads through the process alone."""
    if as_service and gaspbpf.RUNGS == ["perf"]:
        pytest.skip("where probes are perf events, the kernel wants CAP_SYS_ADMIN, too")
    job = runtime("many_boxed")
    root = tmp_path / "root"
    inside = root / str(job.folder).lstrip("/")
    inside.mkdir(parents=True)
    for path in ("/bin", "/lib", "/lib64", "/usr", "/proc", "/tmp/gate", "/old"):
        (root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
    shutil.copy(job.library, inside)
    shutil.copy(job.program, inside)
    gate = tmp_path / "gate"
    gate.mkdir()
    monitor = monitors("--comm", job.name, "--lazy", "--max-overhead", "none", as_service=as_service)
    mounts = " && ".join(([f"mount --bind {root} {root}"] if as_service else []) +
                         [f"mount --rbind {path} {root}{path}" for path in ("/lib", "/lib64", "/usr", "/bin")])
    enter = f"cd {root} && pivot_root . old && umount -l old && exec chroot ." if as_service else f"exec chroot {root}"
    box = subprocess.Popen(["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c",
                            f"{mounts} && mount --bind {gate} {root}/tmp/gate && mount -t proc proc {root}/proc && "
                            f"{enter} {job.program} --gate /tmp/gate 21 5"], start_new_session=True,
                           env={**os.environ, "PMIX_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8", "SLURM_JOB_ID": job.name})
    try:
        line = gaspbpf.wait_for(lambda: (lambda line: line and line["processes"] and line)(monitor.last()),
                                "the container's process")
        pid = line["processes"][0]["pid"]
        (gate / "go").touch()
        gaspbpf.wait_for(lambda: list(gate.glob("done.*")), "its work")
        assert list(gate.glob("done.*")) != [gate / f"done.{pid}"]  # inside it has another number
        monitor.now()
        process = monitor.process_of(pid)
        assert (process["comm"], process["rank"], process["job"]) == (job.name, 3, job.name)
        assert os.path.samefile(f"/proc/{pid}/exe", inside / job.name) and process["exe"].endswith(f"/{job.name}")
        found = monitoring.events_of(process)
        assert found["GASP_SHMEM_BARRIER_ALL"]["calls"] == 21
        assert found["GASP_SHMEM_PUT"]["bytes"] == 15
        (gate / "end").touch()
        assert box.wait(timeout=gaspbpf.PATIENCE) == 0
    finally:
        gaspbpf.kill_group(box)


def test_many_ranks_on_one_node(runtime, monitors, tmp_path):
    """64 of them, each with its own rank, counted apart."""
    job = runtime("many_ranks")
    gate = tmp_path / "gate"
    gate.mkdir()
    monitor = monitors("--comm", job.name, "--lazy", "--max-overhead", "none")
    ranks = {job.start(rank + 1, 1, gate, env={"PMIX_RANK": str(rank), "SLURM_JOB_ID": "4711"}).pid: rank
             for rank in range(64)}
    monitor.wait_for_processes(ranks)
    (gate / "go").touch()
    gaspbpf.wait_for(lambda: len(list(gate.glob("done.*"))) == 64, "their work")
    line = monitor.now()
    (gate / "end").touch()
    assert sorted(process["rank"] for process in line["processes"]) == list(range(64))
    for process in line["processes"]:
        rank = ranks[process["pid"]]
        assert process["rank"] == rank and process["job"] == "4711"
        assert monitoring.events_of(process)["GASP_SHMEM_BARRIER_ALL"]["calls"] == rank + 1
    assert {process.wait(timeout=gaspbpf.PATIENCE) for process in job.running} == {0}


def test_killed_and_started_again(runtime, monitors, tmp_path):
    """The job does not notice; the counters begin anew, and say since when."""
    job = runtime("many_lives")
    gate = tmp_path / "gate"
    gate.mkdir()
    first = monitors("--comm", job.name, "--lazy", "--max-overhead", "none")
    process = job.start(2000000, 9, gate)
    first.wait_for_processes([process.pid])
    (gate / "go").touch()
    gaspbpf.wait_for(lambda: first.totals().get("GASP_SHMEM_BARRIER_ALL"), "calls")
    first.kill()  # in the middle of them
    second = monitors("--comm", job.name, "--lazy", "--max-overhead", "none")
    second.wait_for_processes([process.pid])
    gaspbpf.wait_for((gate / f"done.{process.pid}").exists, "the job to do its work")
    line = second.now()
    assert line["time_ns"] - line["monitor"]["since_ns"] > first.last()["time_ns"] - first.last()["monitor"]["since_ns"]
    found = {event["name"]: event["calls"] for event in line["events"]}
    seen = monitoring.events_of(first.last())["GASP_SHMEM_BARRIER_ALL"]["calls"]
    assert found.get("GASP_SHMEM_BARRIER_ALL", 0) <= 2000000 - seen
    (gate / "end").touch()
    assert process.wait(timeout=gaspbpf.PATIENCE) == 0


@pytest.mark.alone
@pytest.mark.parametrize("rung", gaspbpf.RUNGS_OF_MANY)
def test_jobs_that_throw_through_mpi_are_not_harmed(rung, job, monitors):
    """No monitor knows beforehand that a job throws exceptions out of MPI's functions, over which no return probe may
    stand then."""
    throws = ["mpirun.openmpi", "-n", "2", gaspbpf.WORKLOADS / "harm" / "mpi_throws_openmpi"]

    def run_throws():
        return subprocess.run([*map(str, throws)], capture_output=True, text=True, timeout=gaspbpf.PATIENCE,
                              env={**os.environ, **truth.ENVIRONMENT}, check=False)
    undisturbed = run_throws()
    assert undisturbed.returncode == 0, undisturbed.stderr
    known = job(["mpirun.openmpi", "-n", "2", gaspbpf.WORKLOADS / "mpi_job_openmpi"], ranks=2,
                env=truth.ENVIRONMENT).wait_ready()
    monitor = monitors("--all", "--lazy", "-m", "mpi", env={"GASPBPF_RUNG": rung})
    monitor.wait_for_processes(known.pids())
    for _ in range(3):
        result = run_throws()
        assert (result.returncode, sorted(result.stdout.splitlines())) == (0,
                                                                           sorted(undisturbed.stdout.splitlines())), \
            result.stderr
    # without sessions not all: return probes are exchanged once it is known who throws
    assert monitor.totals()["GASP_MPI_INIT"]["calls"] > 0
    known.work()
    assert known.end() == 0


@pytest.mark.alone
@pytest.mark.parametrize("options", [[], ["--max-overhead", "none"]], ids=["default", "all calls"])
def test_the_first_job_that_throws_is_not_harmed(options, monitors):
    """The libraries are probed before any job maps them; the first one that does is in the midst of its exceptions
    before anybody has looked at it."""
    throws = ["mpirun.openmpi", "-n", "2", gaspbpf.WORKLOADS / "harm" / "mpi_throws_openmpi"]
    env = {**os.environ, **truth.ENVIRONMENT}
    undisturbed = subprocess.run([*map(str, throws)], capture_output=True, text=True, timeout=gaspbpf.PATIENCE, env=env,
                                 check=True)
    monitor = monitors("--comm", "mpi_throws*", "-m", "mpi", *options)
    first = subprocess.run([*map(str, throws)], capture_output=True, text=True, timeout=gaspbpf.PATIENCE, env=env,
                           check=False)
    assert (first.returncode, sorted(first.stdout.splitlines())) == (0, sorted(undisturbed.stdout.splitlines())), \
        first.stderr
    told = collections.Counter()
    for words in map(str.split, first.stdout.splitlines()):
        if words[0] == "function" and words[1].startswith("MPI_"):
            told[f"GASP_{words[1].upper()}"] += int(words[3])
    if "session" not in gaspbpf.RUNGS:
        return  # there return probes come out once it is known that it throws, and others are not yet in

    def ranks():
        return monitor.totals().get("GASP_MPI_INIT", {"calls": 0})["calls"]

    # A rank that had ended before it was looked at is nobody's, and that is said; of the others no call is missing.
    gaspbpf.wait_for(lambda: ranks() + monitor.last()["monitor"]["unseen"] >= 2, "the job to be counted")
    totals, ranks = monitor.totals(), ranks()
    assert not ranks or {event: totals[event]["calls"]
                         for event in ("GASP_MPI_SEND", "GASP_MPI_ALLREDUCE", "GASP_MPI_FINALIZE")} == {
        "GASP_MPI_SEND": ranks * told["GASP_MPI_SEND"] // 2,
        "GASP_MPI_ALLREDUCE": ranks * told["GASP_MPI_ALLREDUCE"] // 2, "GASP_MPI_FINALIZE": ranks}
