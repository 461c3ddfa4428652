# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf simulate on recordings that make no sense: it ends, changes nothing where it is told so, and writes what can
be read."""
import random

import pytest

import gaspbpf
from composed import compose, lines, simulate

pytestmark = pytest.mark.files

CALLS = {
    "MPI_Init": [], "work": ["step"], "MPI_Request_free": ["request"], "MPI_Put": [], "MPI_Win_fence": ["win"],
    "MPI_Probe": ["source", "tag", "comm.id"],
    "MPI_Send": ["dest", "tag", "comm.id", "count", "datatype"], "MPI_Ssend": ["dest", "tag", "comm.id", "count"],
    "MPI_Recv": ["source", "tag", "comm.id", "status.source", "status.tag"],
    "MPI_Irecv": ["source", "tag", "comm.id", "request"],
    "MPI_Isend": ["dest", "tag", "comm.id", "request"], "MPI_Issend": ["dest", "tag", "comm.id", "request"],
    "MPI_Sendrecv": ["dest", "sendtag", "source", "recvtag", "comm.id", "status.source", "status.tag"],
    "MPI_Wait": ["request", "status.source", "status.tag"],
    "MPI_Waitall": ["count", "array_of_requests.0", "array_of_requests.1"],
    "MPI_Waitany": ["count", "array_of_requests.0", "index", "status.source", "status.tag"],
    "MPI_Test": ["request", "flag"],
    "MPI_Barrier": ["comm.id", "comm.rank"], "MPI_Bcast": ["root", "comm.id", "comm.rank"],
    "MPI_Reduce": ["root", "comm.id", "comm.rank"],
    "MPI_Ibarrier": ["comm.id", "comm.rank", "request"], "pthread_mutex_lock": ["mutex"],
    "pthread_mutex_unlock": ["mutex"], "pthread_barrier_wait": ["barrier"], "pthread_cond_wait": ["cond", "mutex"],
}
NUMBERS = [0, 0, 0, 1, 1, 2, 3, -1, -2, 64, 2**31 - 1, -2**31]


def nonsense(generator):
    count = generator.randint(1, 4)
    text = "".join(f"process {10 + i} {generator.choice([i, i, i, -1, 0])}\n" for i in range(count))
    tids = [10 + i for i in range(count)]
    for tid in range(100, 100 + generator.randint(0, 3)):
        text += f"thread {generator.choice(tids[:count])} {tid}\n"
        tids.append(tid)
    last = dict.fromkeys(tids, 0)
    for _ in range(generator.randint(5, 250)):
        tid, symbol = generator.choice(tids), generator.choice(list(CALLS))
        last[tid] += generator.randint(0, 50)
        values = " ".join(f"{name}={generator.choice(NUMBERS)}" for name in CALLS[symbol] if generator.random() < 0.9)
        start = max(0, last[tid] - generator.choice([0, 1, 10, 30, 200]))
        text += f"call {tid} {start} {last[tid]} {symbol} {values} depth={generator.randint(0, 3)}\n"
    return text


@pytest.mark.parametrize("seed", [7, 23, 51, 66, 78, 81])
def test_nonsense_is_simulated(tmp_path, seed):
    recording = compose(tmp_path / "run.gasp", nonsense(random.Random(seed)))
    _, after = simulate(recording, "same")
    assert {tid: sorted(events) for tid, events in lines(after).items()} == {
        tid: sorted(events) for tid, events in lines(recording).items()}
    for plugin in (["ideal"], ["nolock"], ["dimemas", "eager=0", "buses=1"]):
        _, after = simulate(recording, *plugin)
        assert gaspbpf.run("report", after, "--json").returncode == 0
