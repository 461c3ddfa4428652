# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf simulate beyond messages: one-sided transfers, locks, split barriers, operations that are begun, roots,
tasks; and what each callback is told."""
import pytest

import gaspbpf
import toolkit
from composed import call, compose, lines, ranks, simulate, times

pytestmark = pytest.mark.files


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    return toolkit.build(tmp_path_factory.mktemp("plugin"), "cpf_facts.cc")


@pytest.fixture
def facts(plugin, tmp_path):
    """What the C++ class of tests/tools/cpf_facts.cc is told of a text's recording; and nothing changes."""
    def tell(text):
        recording = compose(tmp_path / "run.gasp", text)
        after = tmp_path / "facts.gasp"
        result = gaspbpf.run("simulate", recording, "--plugin", plugin, "-o", after)
        assert result.returncode == 0, result.stderr
        assert lines(after) == lines(recording)
        return recording, [line for line in result.stdout.splitlines() if not line.startswith("status")]
    return tell


def test_one_sided_transfers(facts):
    text = ("process 1 0\nprocess 2 1\n" + call(1, 100, 150, "shmem_putmem", nelems=500, pe=1) +
            call(1, 200, 290, "shmem_getmem", nelems=300, pe=1)
            + call(1, 300, 310, "shmem_quiet") + call(2, 50, 60, "shmem_putmem", nelems=20, pe=0))
    recording, told = facts(text)
    assert sorted(line for line in told if line.startswith("onesided")) == [
        "onesided 0 GASP_SHMEM_GET get to 1 size=300 200-290", "onesided 0 GASP_SHMEM_PUT put to 1 size=500 100-150",
        "onesided 0 GASP_SHMEM_QUIET fence to -1 size=0 300-310", "onesided 1 GASP_SHMEM_PUT put to 0 size=20 50-60"]
    # A put is over when it is sent, 500 ns; a get goes there and back: 2 x 40 + 300; a fence takes nothing.
    _, after = simulate(recording, "dimemas", "latency=40ns", "bandwidth=1000000000")
    assert times(after) == {1: [(100, 600), (650, 1030), (1040, 1040)], 2: [(50, 70)]}
    _, after = simulate(recording, "ideal")
    assert times(after) == {1: [(100, 100), (150, 150), (160, 160)], 2: [(50, 50)]}


def test_split_barrier(facts):
    """UPC's notify and wait: the wait ends with the last notify; what is done between them counts."""
    text = ("process 1 0\nprocess 2 1\n" + call(1, 100, 110, "__upc_notify", expr=1) +
            call(1, 150, 330, "__upc_wait", expr=1)
            + call(2, 300, 320, "__upc_notify", expr=1) + call(2, 400, 405, "__upc_wait", expr=1))
    recording, told = facts(text)
    assert sorted(line for line in told if line.startswith("split")) == [
        "split 0 GASP_UPC_WAIT of GASP_UPC_NOTIFY threads=2 root=-1 size=0 began=100-300 150-330",
        "split 1 GASP_UPC_WAIT of GASP_UPC_NOTIFY threads=2 root=-1 size=0 began=100-300 400-405"]
    assert "function GASP_UPC_NOTIFY tables=000" in told
    _, after = simulate(recording, "ideal")
    assert times(after) == {1: [(100, 100), (140, 300)], 2: [(300, 300), (380, 380)]}


def test_operations_that_are_begun_and_roots(facts):
    """A broadcast that is begun: its wait is told who its root is and when that began; a reduction's root is told by
    its place, too."""
    def each(symbol, starts, length, **values):
        return [call(rank + 1, start, start + length, symbol, **{"comm.id": 0, "comm.rank": rank}, **values)
                for rank, start in enumerate(starts)]
    begun = each("MPI_Ibcast", (100, 150, 120), 5, root=1, count=30, datatype=1, request=16)
    waits = [call(rank + 1, 200, 210, "MPI_Wait", request=16) for rank in range(3)]
    reduced = each("MPI_Reduce", (300, 320, 310), 50, root=2, op=1, count=7, datatype=1)
    barrier = each("MPI_Barrier", (400, 410, 420), 30)
    exchanged = each("MPI_Alltoall", (500, 510, 520), 30, sendcount=10, sendtype=1, recvcount=10, recvtype=1)
    text = ranks(3) + "".join(a + b + c + d + e for a, b, c, d, e in zip(begun, waits, reduced, barrier, exchanged))
    recording, told = facts(text)
    assert sorted(line for line in told if line.startswith("split")) == [
        f"split {rank} GASP_MPI_WAIT of GASP_MPI_IBCAST threads=3 root=1 size=30 began=100-150 200-210"
        for rank in range(3)]
    assert sorted(line for line in told if line.startswith("collop")) == [
        "collop GASP_MPI_ALLTOALL root=-1 index=-1 first=500 0:500-530 1:510-540 2:520-550",
        "collop GASP_MPI_BARRIER root=-1 index=-1 first=400 0:400-430 1:410-440 2:420-450",
        "collop GASP_MPI_REDUCE root=2 index=2 first=300 0:300-350 1:320-370 2:310-360"]
    for line in ("function GASP_MPI_IBCAST collective onetoall tables=010",
                 "function GASP_MPI_REDUCE collective alltoone tables=010",
                 "function GASP_MPI_BARRIER collective all tables=010",
                 "function GASP_MPI_ALLTOALL collective alltoall tables=010",
                 "function GASP_MPI_WAIT single tables=100"):
        assert line in told, line
    # 10 ns of INIT go. Ibcast: 2 steps of 20 + 30 after the last start, 140. Reduce: 2 x (20 + 7), its root only.
    # Barrier: 2 x 20. Alltoall: 2 x 20 + 2 x 10.
    _, after = simulate(recording, "dimemas", "latency=20ns", "bandwidth=1000000000")
    assert times(after) == {
        1: [(0, 0), (90, 90), (185, 240), (330, 330), (380, 504), (574, 634)],
        2: [(0, 0), (140, 140), (185, 240), (350, 350), (390, 504), (574, 634)],
        3: [(0, 0), (110, 110), (185, 240), (340, 404), (464, 504), (574, 634)]}


def test_a_message_that_is_waited_for(facts):
    """When the receive was posted, and when it was waited for, are two times."""
    text = (ranks(2) + call(1, 100, 110, "MPI_Send", dest=1, tag=3, count=9, datatype=1, **{"comm.id": 0})
            + call(2, 20, 30, "MPI_Irecv", source=0, tag=3, request=16, **{"comm.id": 0})
            + call(2, 60, 130, "MPI_Wait", request=16, **{"status.source": 0, "status.tag": 3}))
    _, told = facts(text)
    assert "wait 0->1 tag=3 size=9 backwards=0 send=100 recv=60-130 posted=20" in told


def test_locks_are_told_with_their_history(facts):
    text = ("process 1 -1\nthread 1 2\n" + call(1, 100, 105, "pthread_mutex_lock", mutex=64) +
            call(1, 205, 210, "pthread_mutex_unlock", mutex=64)
            + call(2, 120, 215, "pthread_mutex_lock", mutex=64) + call(2, 230, 235, "pthread_mutex_unlock", mutex=64))
    _, told = facts(text)
    assert "lock 1 kind=0 previous=0 120-215" in told and "lock 1 was given back at 205" in told
    assert "lock 0 kind=2 previous=-1 205-210" in told
    assert sum("was given back" in line for line in told) == 1


def test_tasks(facts):
    """A StarPU task, cut in two by a call that it makes."""
    text = ("process 1 -1\n" + call(1, 150, 160, "starpu_task_submit", task=0x900, depth=1)
            + call(1, 100, 300, "_starpu_driver_start_job", **{"job.task": 0x800, "worker.id": 3}))
    recording, told = facts(text)
    assert [line for line in told if line.startswith("task")] == [
        "task 0 GASP_STARPU_CPU_EXEC 0x800 worker=3 100-150", "task 0 GASP_STARPU_CPU_EXEC 0x800 worker=3 160-300"]
    _, after = simulate(recording, "dimemas", "cpu=2")
    assert [time for time, *_ in sorted(lines(after)[1])][-1] == 100 + 25 + 5 + 70 # the call is work, too
