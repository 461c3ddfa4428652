# SPDX-License-Identifier: BSD-2-Clause
"""Archives of OTF2, as its own library reads them: calls, messages, operations of all, one-sided accesses and locks are
those of the recording, and of the report."""
import os
import pathlib
import pwd
import re
import subprocess
import tempfile

import pytest

import faults
import gaspbpf
import truth
from composed import call, compose, ranks
from otf2_reading import NONE, UNKNOWN, Archive, exported, markers, reported
from peak_memory import most_memory

WORK, OTHER = "GASP_PROGRAM_WORK", "GASP_PROGRAM_OTHER"
WORLD = {"comm.id": 0}
COMMS = "comm 1 100 0 0 0 1\ncomm 2 200 0 0 0 1\n"  # both ranks' handles of it

files = pytest.mark.files


def of_two(*calls, comms=COMMS):
    return ranks(2, init=False) + comms + "".join(calls)


def archive(folder, text):
    return exported(compose(folder / "run.gasp", text))


def assert_as_reported(read, report):
    """Calls and times of each event and location, to the nanosecond; what the runtime calls of itself is told apart."""
    seen = {(read.tids[location], event): row for (location, event), row in read.calls().items()}
    said = {}
    for table, inner in (("by_thread", ""), ("inner_by_thread", " (inner)")):
        said |= {(row["tid"], row["name"] + inner): [row["calls"], row["total_ns"] or 0] for row in report[table]}
    assert seen == said


# --- definitions ------------------------------------------------------------------

@files
def test_otf2s_own_printer_has_nothing_to_complain_of(tmp_path):
    """Also where the first process is left out, and one of a communicator was not observed."""
    recording = compose(tmp_path / "run.gasp", ranks(3) + "comm 2 200 0 0 0 1 2 3\n" + call(2, 100, 110, "MPI_Barrier"))
    written = gaspbpf.run("export", recording, "-o", tmp_path / "run.otf2", "--ranks", "1-2")
    assert written.returncode == 0, written.stderr
    for options in (), ("-G",):
        printed = subprocess.run(["otf2-print", *options, tmp_path / "run.otf2"], capture_output=True, text=True,
                                 timeout=gaspbpf.PATIENCE, check=True)
        assert not re.search("warning|error", printed.stdout + printed.stderr, re.IGNORECASE)


# --- calls ----------------------------------------------------------------------


@files
def test_calls_in_calls(tmp_path):
    """One inside the other, one inside itself, one that takes no time, one that is a moment."""
    recording = compose(tmp_path / "run.gasp", "process 7 -1\n" + call(7, 20, 30, "malloc", depth=1) +
                        call(7, 40, 40, "malloc", depth=2) + call(7, 35, 60, "work", depth=1) +
                        call(7, 10, 70, "work") + "atomic 7 95 other\nend 100\n")
    read = exported(recording)
    assert read.story() == [
        (10, "Enter", ("work",)), (20, "Enter", ("malloc",)), (30, "Leave", ("malloc",)), (35, "Enter", ("work",)),
        (40, "Enter", ("malloc",)), (40, "Leave", ("malloc",)), (60, "Leave", ("work",)), (70, "Leave", ("work",)),
        (95, "Enter", ("other",)), (95, "Leave", ("other",))]
    assert ("malloc", "GASP_C_MALLOC", "RegionRole.ALLOCATE", "Paradigm.UNKNOWN") in read.regions
    assert (read.clock.timer_resolution, read.clock.trace_length) == (10**9, 100)
    assert read.locations == {0: ("./job", "job (tid 7)", 10)}
    assert_as_reported(read, reported(recording))


@files
def test_where_a_call_is_made_and_how_it_ends(tmp_path):
    read = archive(tmp_path, "process 7 -1\ncall 7 10 20 malloc site=a.c:12\n"
                   "call 7 60 100 malloc end=under_way\nend 100\n")
    site, end = read.attributes
    assert (site["call site"].file, site["call site"].line_number) == ("a.c", 12)
    assert "end" not in site and end["end"] == "detach"


@files
def test_work_on_two_stacks(tmp_path):
    """A location for each, for calls of one must nest."""
    read = archive(tmp_path, "process 7 0\n" + call(7, 10, 30, "work") + call(7, 20, 40, "other"))
    assert read.story(0) == [(10, "Enter", ("work",)), (30, "Leave", ("work",))]
    assert read.story(1) == [(20, "Enter", ("other",)), (40, "Leave", ("other",))]
    assert read.locations[1] == ("MPI Rank 0", "rank 0 stack 2", 2)


@files
@pytest.mark.parametrize("text, locations", (("", 0), ("process 7 0\n", 1)))
def test_a_recording_of_nothing(tmp_path, text, locations):
    read = archive(tmp_path, text)
    assert len(read.locations) == locations and not read.records


# --- messages -------------------------------------------------------------------


def status(source, tag, count):
    return {"status.source": source, "status.tag": tag, "status.bytes": count}


@files
def test_a_message(tmp_path):
    """What the status says comes before what was asked for: from anybody, up to 400 bytes."""
    read = archive(tmp_path, of_two(
        call(1, 10, 20, "MPI_Send", dest=1, tag=5, comm=100, count=3, datatype=4, **WORLD),
        call(2, 5, 30, "MPI_Recv", source=-1, tag=-1, comm=200, count=100, datatype=4, **WORLD, **status(0, 5, 12))))
    assert read.messages(0) == [(10, "MpiSend", (1, "MPI communicator 0", 5, 12))]
    assert read.messages(1) == [(30, "MpiRecv", (0, "MPI communicator 0", 5, 12))]
    everybody = [("MPI Rank 0", "rank 0"), ("MPI Rank 1", "rank 1")]
    assert read.comms == [("MPI communicator 0", everybody)]


@files
def test_ranks_in_another_communicator(tmp_path):
    """In it rank 0 is the job's rank 1."""
    comms = "comm 1 100 0 7 1 0\ncomm 2 200 0 7 1 0\n"
    read = archive(tmp_path, of_two(call(1, 10, 20, "MPI_Send", dest=0, tag=5, comm=100, count=3, datatype=4),
                                    comms=comms))
    assert read.messages() == [(10, "MpiSend", (0, "MPI communicator 7", 5, 12))]
    assert read.comms[0][1][0] == ("MPI Rank 1", "rank 1")


@files
def test_requests(tmp_path):
    """Each end has the number of its begin; a handle is used again; who waits for both at once ends both."""
    world = {"comm": 100, **WORLD, "datatype": 4, "count": 1}
    both = {"count": 2, "array_of_requests.0": 8, "array_of_requests.1": 9}
    read = archive(tmp_path, of_two(
        call(1, 10, 11, "MPI_Isend", dest=1, tag=1, request=8, **world), call(1, 12, 13, "MPI_Wait", request=8),
        call(1, 20, 21, "MPI_Isend", dest=1, tag=2, request=8, **world),
        call(1, 22, 23, "MPI_Irecv", source=-1, tag=3, request=9, **world), call(1, 30, 35, "MPI_Waitall", **both),
        call(1, 40, 41, "MPI_Irecv", source=-1, tag=-1, request=9, **world),
        call(1, 42, 43, "MPI_Test", request=9, flag=0),
        call(1, 44, 45, "MPI_Test", request=9, flag=1, **status(1, 6, 3))))
    name = "MPI communicator 0"
    assert read.messages() == [
        (10, "MpiIsend", (1, name, 1, 4, 0)), (13, "MpiIsendComplete", (0,)), (20, "MpiIsend", (1, name, 2, 4, 1)),
        (22, "MpiIrecvRequest", (2,)), (35, "MpiIsendComplete", (1,)),
        # From whom the second came, nothing has said.
        (40, "MpiIrecvRequest", (3,)), (45, "MpiIrecv", (1, name, 6, 3, 3))]


@files
def test_requests_that_have_one_handle(tmp_path):
    """A runtime may have one that means "complete already"."""
    world = {"comm": 100, **WORLD, "datatype": 4, "count": 1, "request": 8}
    both = {"count": 2, "array_of_requests.0": 8, "array_of_requests.1": 8}
    read = archive(tmp_path, of_two(call(1, 10, 11, "MPI_Isend", dest=1, tag=1, **world),
                                    call(1, 12, 13, "MPI_Isend", dest=1, tag=2, **world),
                                    call(1, 20, 30, "MPI_Waitall", **both)))
    assert sorted(fields for _, kind, fields in read.messages() if kind == "MpiIsendComplete") == [(0,), (1,)]


@files
def test_who_waits_need_not_be_who_began(tmp_path):
    """Two threads of a rank, and more requests than a wait carries: the thread's latest are meant."""
    world = {"comm": 100, **WORLD, "datatype": 4, "count": 1}
    many_of_them = "".join(call(1, 20 + i, 21 + i, "MPI_Isend", dest=1, tag=i, request=50 + i, **world)
                           for i in range(10))
    waited = {f"array_of_requests.{i}": 50 + i for i in range(8)}
    read = archive(tmp_path, of_two("thread 1 3\n", call(1, 10, 11, "MPI_Isend", dest=1, tag=1, request=8, **world),
                                    call(3, 12, 13, "MPI_Wait", request=8), many_of_them,
                                    call(1, 50, 60, "MPI_Waitall", count=10, **waited)))
    thread = next(at for at, (_, name, _) in read.locations.items() if name.endswith("job (tid 3)"))
    assert read.messages(thread) == [(13, "MpiIsendComplete", (0,))]
    assert sorted(number for time, kind, (number, *_) in read.messages() if kind == "MpiIsendComplete") == \
        list(range(1, 11))


@files
def test_what_is_not_known_is_not_0(tmp_path):
    """A message of unknown size has none; to nobody that is known there is none."""
    read = archive(tmp_path, of_two(call(1, 10, 20, "MPI_Send", dest=1), call(1, 20, 30, "MPI_Send", tag=5),
                                    call(1, 30, 40, "MPI_Send", dest=-2, tag=5), comms=""))
    (time, kind, (receiver, comm, tag, size)), = read.messages()
    assert (time, kind, receiver, comm, tag, size) == (10, "MpiSend", 1, None, NONE, UNKNOWN)


@files
def test_ranks_that_were_not_observed(tmp_path):
    """They are members, without events."""
    read = archive(tmp_path, "process 1 2\ncomm 1 100 0 0 0 1 2\n" +
                   call(1, 10, 20, "MPI_Send", dest=0, tag=1, comm=100, count=1, datatype=4))
    assert [process for process, _ in read.comms[0][1]] == ["MPI Rank 0, not observed", "MPI Rank 1, not observed",
                                                            "MPI Rank 2"]


# --- operations of all ------------------------------------------------------------


@files
def test_operations_of_all(tmp_path):
    both = {0: {"comm": 100, **WORLD, "comm.rank": 0}, 1: {"comm": 200, **WORLD, "comm.rank": 1}}
    read = archive(tmp_path, of_two(
        *(call(r + 1, 10, 20 + r, "MPI_Bcast", root=1, count=2, datatype=8, **both[r]) for r in both),
        *(call(r + 1, 30, 40, "MPI_Reduce", root=0, count=1, datatype=8, **both[r]) for r in both),
        *(call(r + 1, 50, 60, "MPI_Allreduce", count=3, datatype=8, **both[r]) for r in both),
        *(call(r + 1, 60, 70, "MPI_Barrier", **both[r]) for r in both),
        *(call(r + 1, 70, 75, "MPI_Ibarrier", request=5, **both[r]) for r in both),
        *(call(r + 1, 80, 85, "MPI_Wait", request=5) for r in both)))
    name = "MPI communicator 0"
    for rank, bcast, reduce in ((0, (0, 16), (8, 8)), (1, (16, 0), (8, 0))):
        ends = [(time, *fields) for time, kind, fields in read.messages(rank) if kind == "MpiCollectiveEnd"]
        assert ends == [(20 + rank, "CollectiveOp.BCAST", name, 1, *bcast),
                        (40, "CollectiveOp.REDUCE", name, 0, *reduce),
                        (60, "CollectiveOp.ALLREDUCE", name, NONE, 24, 24),
                        (70, "CollectiveOp.BARRIER", name, NONE, 0, 0)]
        begun, done = read.messages(rank)[-2:]
        assert begun[1] == "NonBlockingCollectiveRequest" and done[1] == "NonBlockingCollectiveComplete"
        assert (begun[0], done[0], done[2][0], done[2][-1]) == (70, 85, "CollectiveOp.BARRIER", begun[2][0])
    roles = {event: role for _, event, role, _ in read.regions}
    assert roles["GASP_MPI_BCAST"] == "RegionRole.COLL_ONE2ALL"
    assert roles["GASP_MPI_REDUCE"] == "RegionRole.COLL_ALL2ONE"
    assert roles["GASP_MPI_BARRIER"] == "RegionRole.BARRIER"


# --- one-sided, locks -----------------------------------------------------------------


@files
def test_windows(tmp_path):
    """Made together they are one, whatever its handles; of one that was there before nobody knows whose it is."""
    read = archive(tmp_path, of_two(
        call(1, 10, 20, "MPI_Win_create", comm=100, win=9, **WORLD),
        call(2, 10, 20, "MPI_Win_create", comm=200, win=8, **WORLD),
        call(1, 20, 30, "MPI_Put", target_rank=1, origin_count=4, origin_datatype=8, win=9),
        call(2, 20, 30, "MPI_Get", target_rank=0, origin_count=2, origin_datatype=8, win=8),
        call(1, 30, 40, "MPI_Win_lock", rank=1, win=9), call(1, 40, 50, "MPI_Win_unlock", rank=1, win=9),
        call(1, 50, 60, "MPI_Win_fence", win=9), call(1, 60, 61, "MPI_Put", target_rank=1, win=77)))
    assert [entry[:2] + entry[2][:3] for entry in read.messages(0) if entry[2]] == [
        (20, "RmaPut", "MPI window 1", 1, 32), (40, "RmaAcquireLock", "MPI window 1", 1, 9),
        (40, "RmaReleaseLock", "MPI window 1", 1, 9),
        (60, "RmaCollectiveEnd", "CollectiveOp.BARRIER", "RmaSyncLevel.PROCESS", "MPI window 1"),
        (60, "RmaPut", "MPI window, not seen when it was made", 1, UNKNOWN)]
    assert read.messages(1)[0][2][:3] == ("MPI window 1", 0, 16)


@files
def test_memory_of_all(tmp_path):
    """A put is complete when it returns, one that is only begun is not."""
    read = archive(tmp_path, "process 1 0\nprocess 2 1\n" + call(1, 10, 20, "shmem_putmem", nelems=64, pe=1) +
                   call(1, 20, 30, "shmem_getmem", nelems=32, pe=1) +
                   call(1, 30, 40, "shmem_putmem_nbi", nelems=8, pe=1) + call(1, 40, 50, "shmem_barrier_all") +
                   call(1, 50, 60, "shmem_set_lock", lock=5) +
                   call(1, 60, 70, "shmem_clear_lock", lock=5))
    name = "SHMEM memory of all"
    assert read.messages() == [
        (10, "RmaPut", (name, 1, 64, 1)), (20, "RmaOpCompleteBlocking", (name, 1)),
        (20, "RmaGet", (name, 1, 32, 2)), (30, "RmaOpCompleteBlocking", (name, 2)), (30, "RmaPut", (name, 1, 8, 3)),
        (40, "RmaCollectiveBegin", ()),
        (50, "RmaCollectiveEnd", ("CollectiveOp.BARRIER", "RmaSyncLevel.PROCESS", name, NONE, 0, 0)),
        (60, "RmaAcquireLock", (name, NONE, 5, "LockType.EXCLUSIVE")), (60, "RmaReleaseLock", (name, NONE, 5))]


@files
def test_images_count_from_1(tmp_path):
    """The highest is as high as there are of them: what is told of image 2 is about member 1."""
    recording = compose(tmp_path / "run.gasp", "process 1 1\nprocess 2 2\n" +
                        call(1, 10, 20, "_gfortran_caf_sync_all"))
    read = exported(recording)
    assert read.kinds()["RmaCollectiveEnd"] == 1


@files
def test_locks(tmp_path):
    """Who takes it has its number in the order of all; one that is not got is not taken; a wait lends it."""
    read = archive(tmp_path, "process 7 -1\nthread 7 8\n" + call(7, 10, 20, "pthread_mutex_lock", mutex=64) +
                   call(8, 12, 13, "pthread_mutex_trylock", mutex=64, result=16) +
                   call(7, 30, 31, "pthread_mutex_unlock", mutex=64) + call(8, 25, 35, "pthread_mutex_lock", mutex=64) +
                   call(8, 40, 50, "pthread_cond_wait", cond=4, mutex=64) +
                   call(8, 60, 61, "pthread_mutex_unlock", mutex=64))
    locks = {at: [(time, kind, fields[1:]) for time, kind, fields in read.messages(at)] for at in (0, 1)}
    take, give = "ThreadAcquireLock", "ThreadReleaseLock"
    assert locks[0] == [(20, take, (0, 1)), (30, give, (0, 1))]
    assert locks[1] == [(35, take, (0, 2)), (40, give, (0, 2)), (50, take, (0, 3)), (60, give, (0, 3))]


# --- what is not on the timeline --------------------------------------------------------


@files
def test_what_is_missing_is_marked(tmp_path):
    recording = compose(tmp_path / "run.gasp", "process 7 0\nprocess 8 1\n" + call(7, 10, 20, "work") +
                        "lost 7 3 90\n" + call(7, 80, 90, "work") +
                        "sum 8 work 0 20 100\nwindow 8 5 50 fork mpi\nend 99\n")
    exported(recording)
    begin = 10**12
    marked = {text: (time - begin, duration, scope) for time, duration, scope, text in markers(tmp_path / "run.otf2")}
    assert marked["3 calls lost here"] == (20, 70, "LOCATION:0")
    assert marked["not on the timeline: 20 calls summed up, 100 only counted"] == (0, 99, "LOCATION:1")
    assert marked["what was before was not observed"] == (0, 0, "GLOBAL")
    assert next(row for text, row in marked.items() if text.startswith("calls of mpi")) == (5, 45, "LOCATION_GROUP:1")


@files
def test_nodes_of_a_merged_recording(tmp_path):
    """Each is a node, and says how its clock was set."""
    for k in range(2):
        message = call(1, 1000, 2000, "MPI_Send", dest=1, comm=100, count=1, datatype=4) if not k else \
            call(2, 1500, 3000, "MPI_Recv", source=0, comm=100, count=1, datatype=4)
        compose(tmp_path / f"n{k}.gasp",
                f"host n{k}\nboot b{k}\nprocess {k + 1} {k}\ncomm {k + 1} 100 0 0 0 1\n" + message)
    both = tmp_path / "both.gasp"
    assert gaspbpf.run("merge", tmp_path / "n0.gasp", tmp_path / "n1.gasp", "-o", both).returncode == 0
    read = exported(both)
    assert [(name, kind) for name, kind, parent in read.nodes if parent] == [("n0", "node"), ("n1", "node")]
    assert read.of_nodes["n0", "clock known by"] == "the reference"
    assert ("n1", "clock known by") in read.of_nodes and ("n1", "clock added/ns") in read.of_nodes
    assert [entry[2][0] for location in (0, 1) for entry in read.messages(location)] == [1, 0]


@files
def test_measurement_off_and_on(tmp_path):
    read = archive(tmp_path, "process 7 0\n" + call(7, 10, 20, "work") + "control 7 30 0\ncontrol 7 50 1\n" +
                   call(7, 60, 70, "work"))
    assert [(time, fields) for time, kind, fields in read.story() if kind == "MeasurementOnOff"] == [
        (30, ("MeasurementMode.OFF",)), (50, ("MeasurementMode.ON",))]


@files
def test_hostile_names(tmp_path):
    """Quotes, newlines and bytes that are no UTF-8 are read back as they are, or as the characters of their numbers."""
    text = b'process 7 -1\nhost a"\\\xffb\n' + call(7, 10, 20, "work").encode()
    recording = tmp_path / "run.gasp"
    made = subprocess.run([gaspbpf.BUILD / "tests" / "compose", recording, gaspbpf.TOP / "models"], input=text,
                          check=True)
    assert not made.returncode
    read = exported(recording)
    assert read.nodes[0][0] == 'a"\\\u00ffb'


# --- files -----------------------------------------------------------------------------


@files
def test_an_archive_takes_the_place_of_an_earlier_one(tmp_path):
    first, second = (compose(tmp_path / name, f"process 7 0\n{call(7, 10, end, 'work')}")
                     for name, end in (("first.gasp", 20), ("second.gasp", 30)))
    exported(first, "both.otf2")
    assert exported(second, "both.otf2").story()[-1][0] == 30
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        "both", "both.def", "both.marker", "both.otf2", "first.gasp", "second.gasp"]


@files
def test_nobody_elses_folder_is_touched(tmp_path):
    recording = compose(tmp_path / "run.gasp", "process 7 0\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").touch()
    assert "there is a folder run, of no archive" in exported(recording, status=1)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["run", "run.gasp"]
    assert (tmp_path / "run" / "mine").exists()


@files
def test_no_such_folder(tmp_path):
    recording = compose(tmp_path / "run.gasp", "process 7 0\n")
    result = gaspbpf.run("export", recording, "-o", tmp_path / "nowhere" / "run.otf2")
    assert result.returncode == 1 and "choose another place" in result.stderr


@files
def test_a_writer_that_is_killed_leaves_nothing(tmp_path):
    text = "".join(call(7, i * 10, i * 10 + 9, "work") for i in range(100_000))
    recording = compose(tmp_path / "run.gasp", "process 7 0\n" + text)
    command = [gaspbpf.PROGRAM, "export", recording, "-o", tmp_path / "run.otf2"]

    def killed():
        """What it said; None: it was done before anybody looked."""
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while process.poll() is None:
            started = {pid: parent for pid, _, _, parent, _ in faults.processes()}
            writers = [pid for pid, parent in started.items() if started.get(parent) == process.pid]
            if writers:
                faults.kill_quietly(writers[0])
                break
        said = process.communicate(timeout=gaspbpf.PATIENCE)[1]
        return said if process.returncode else None

    assert "was ended by signal 9" in gaspbpf.wait_for(killed, "a writer to be killed")
    assert {entry.name for entry in tmp_path.iterdir()} <= {"run.gasp", "run", "run.def", "run.marker", "run.otf2"}


@files
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_files_are_the_callers(tmp_path):
    """Who called sudo writes, with his rights: not where he may not."""
    nobody = pwd.getpwnam("nobody")
    recording = compose(tmp_path / "run.gasp", "process 7 0\n" + call(7, 10, 20, "work"))
    sudo = {**os.environ, "SUDO_UID": str(nobody.pw_uid), "SUDO_GID": str(nobody.pw_gid)}
    with tempfile.TemporaryDirectory() as folder:
        his = pathlib.Path(folder)
        os.chown(his, nobody.pw_uid, nobody.pw_gid)
        assert gaspbpf.run("export", recording, "-o", his / "run.otf2", env=sudo).returncode == 0
        assert {entry.stat().st_uid for entry in his.rglob("*")} == {nobody.pw_uid}
        assert Archive(his / "run.otf2").kinds()["Enter"] == 1
    result = gaspbpf.run("export", recording, "-o", tmp_path / "run.otf2", env=sudo)
    assert result.returncode == 1 and not (tmp_path / "run.otf2").exists()


@files
@pytest.mark.skipif(gaspbpf.BUILD != gaspbpf.TOP / "build", reason="sanitizers keep memory")
def test_memory_does_not_grow_with_the_recording(tmp_path):
    used = []
    for calls in (150_000, 400_000):
        text = "".join(call(7 + i % 2, i * 10, i * 10 + 9, "work") for i in range(calls))
        recording = compose(tmp_path / f"{calls}.gasp", "process 7 0\nthread 7 8\n" + text)
        used.append(most_memory("export", recording, "-o", tmp_path / f"{calls}.otf2"))
    assert used[1] < used[0] + 4096 and used[1] < 36 << 10


# --- jobs -------------------------------------------------------------------------------


def test_an_mpi_job(job, observe, tmp_path):
    """All ways to use MPI, from the run itself as from its recording: calls and times of each event and thread, and the
    bytes of messages and accesses are those of the report."""
    ring = job(["mpirun.openmpi", "-n", "3", gaspbpf.WORKLOADS / "mpi_job_openmpi", "--rounds", "20", "--warmup", "1",
                "--after", "1"], ranks=3, env=truth.ENVIRONMENT).wait_ready()
    watcher = observe("-p", ring.process.pid, "-o", tmp_path / "run.gasp", "-o", tmp_path / "live.otf2")
    ring.work()
    assert watcher.stop()[0] == 0
    assert ring.end() == 0
    read, report = exported(tmp_path / "run.gasp"), reported(tmp_path / "run.gasp")
    assert_as_reported(read, report)
    assert Archive(tmp_path / "live.otf2").kinds() == read.kinds()
    events, moved = gaspbpf.events(report), read.moved()
    for event in ("SEND", "ISEND", "SSEND", "BSEND"):
        for kind in ("MpiSend", "MpiIsend"):
            records, size = moved.get((f"GASP_MPI_{event}", kind), (0, 0))
            assert not records or (records, size) == tuple(
                events[f"GASP_MPI_{event}"][key] for key in ("calls", "bytes_sent"))
    assert moved["GASP_MPI_RECV", "MpiRecv"] == [events["GASP_MPI_RECV"][key] for key in ("calls", "bytes_received")]
    for event, kind in (("PUT", "RmaPut"), ("GET", "RmaGet")):
        assert moved[f"GASP_MPI_{event}", kind] == [events[f"GASP_MPI_{event}"][key] for key in ("calls", "bytes")]
    begun, done = (read.kinds()[kind] for kind in ("MpiIsend", "MpiIsendComplete"))
    assert begun == done > 0
    operations = {event: row["calls"] for event, row in events.items() if re.fullmatch(
        "GASP_MPI_(BARRIER|BCAST|GATHERV?|SCATTERV?|ALL.*|REDUCE.*|SCAN|EXSCAN)", event)}
    assert read.kinds()["MpiCollectiveEnd"] == sum(operations.values()) > 0
    sent = {name: [] for name in read.locations}
    for location, records in read.records.items():
        sent[location] = [event for _, kind, event in records if kind == "MpiSend"]
    assert all(event.communicator.group.members for events in sent.values() for event in events)


def test_a_job_of_one_sided_accesses(job, observe, tmp_path):
    pes = job(["oshrun", "-n", "2", gaspbpf.WORKLOADS / "shmem_job", "--rounds", "10", "--warmup", "1", "--after", "1"],
              ranks=2, env=truth.ENVIRONMENT).wait_ready()
    watcher = observe("-p", pes.process.pid, "-o", tmp_path / "run.gasp")
    pes.work()
    assert watcher.stop()[0] == 0
    assert pes.end() == 0
    read, report = exported(tmp_path / "run.gasp"), reported(tmp_path / "run.gasp")
    assert_as_reported(read, report)
    events, moved = gaspbpf.events(report), read.moved()
    for event, kind in (("PUT", "RmaPut"), ("GET", "RmaGet")):
        assert moved[f"GASP_SHMEM_{event}", kind] == [events[f"GASP_SHMEM_{event}"][key] for key in ("calls", "bytes")]
    assert sorted({process for process, *_ in read.locations.values()}) == ["SHMEM PE 0", "SHMEM PE 1"]
    kinds = read.kinds()
    assert kinds["RmaAcquireLock"] == kinds["RmaReleaseLock"] == events["GASP_SHMEM_UNLOCK"]["calls"] > 0
