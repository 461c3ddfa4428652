# SPDX-License-Identifier: BSD-2-Clause
"""Communicators of which nothing but handles is known, that differ by process: which calls are one operation."""
import json

import pytest

import gaspbpf
from composed import call, compose, ranks

pytestmark = pytest.mark.files

MS = 1_000_000
ALL = (0, 1, 2, 3)


def handle(rank, which=0):
    return 0x84000000 + 16 * which + rank


def joined(groups):
    """One operation of each of these groups after the other: (members, start, {rank: when it comes}, end)."""
    return "".join(call(rank + 1, start + comes, end, "MPI_Barrier", comm=handle(rank))
                   for members, start, late, end in groups for rank in members for comes in [late.get(rank, 0)])


def in_order(text):
    lines = [line for line in text.splitlines() if line]
    calls = [line for line in lines if line.startswith("call")]
    return "\n".join([line for line in lines if not line.startswith("call")]
                     + sorted(calls, key=lambda line: int(line.split()[3]))) + "\n"


def meetings(tmp_path, text):
    """{members: times}"""
    recording = compose(tmp_path / "run.gasp", in_order(text))
    report = json.loads(gaspbpf.run("report", "--json", recording).stdout)
    found = {}
    for row in report["meetings"]:
        members = tuple(sorted(member["tid"] - 1 for member in row["members"]))
        found[members] = found.get(members, 0) + row["meetings"]
    return found


def late(turn, slow):
    return {slow: 3 * MS, (slow + 1) % 4: turn % 3 * MS // 2}


@pytest.mark.parametrize("times", [15, 20])
def test_who_has_met_each_time(tmp_path, times):
    """In a job that was joined late; fewer than sixteen may be by chance."""
    text = joined((ALL, (1 + 10 * turn) * MS, late(turn, turn % 4), (5 + 10 * turn) * MS) for turn in range(times))
    assert meetings(tmp_path, ranks(4, init=False) + text) == ({ALL: times} if times >= 16 else {})


def test_two_that_take_turns(tmp_path):
    halves = [((0, 1), 0, 0), ((2, 3), 5, 2)]
    text = joined((members, (1 + 10 * turn + after) * MS, late(turn, slow), (5 + 10 * turn + after) * MS)
                  for turn in range(20) for members, after, slow in halves)
    assert meetings(tmp_path, ranks(4, init=False) + text) == {(0, 1): 20, (2, 3): 20}


def test_two_at_the_same_times(tmp_path):
    """All are in their calls at the same times, but once, when rank 3 comes after ranks 0 and 1 have gone: so not all
    of them are one, and who is with whom cannot be told, and is not."""
    text = "".join(joined([((0, 1), start, {1: 2 * MS}, start + 3 * MS),
                           ((2, 3), start, {3: 3 * MS + 1 if turn == 7 else 2 * MS}, start + 4 * MS)])
                   for turn, start in enumerate((1 + 10 * turn) * MS for turn in range(20)))
    assert not meetings(tmp_path, ranks(4, init=False) + text)


def made(rank, at, new, symbol="MPI_Comm_split", **values):
    values = {"color": rank // 2, **values} if symbol == "MPI_Comm_split" else values
    return call(rank + 1, at, at + MS // 2, symbol, **{"comm.id": 0, "comm": 0x44000000, "newcomm.comm": new}, **values)


@pytest.mark.parametrize("from_start", [True, False])
def test_how_they_were_made(tmp_path, from_start):
    """The second that is made of the world, with one color, by ranks with other handles. A rank that is seen from its
    second on would be one behind the others: nothing is made of that."""
    text = ranks(4, init=from_start)
    for rank in ALL:
        text += made(rank, (1 + rank % 2) * MS, handle(rank, 1), "MPI_Comm_dup")
        if from_start or rank:
            text += made(rank, (3 + rank % 2) * MS, handle(rank, 3), color=rank % 2)
        text += made(rank, (5 + rank % 2) * MS, handle(rank))
        text += made(rank, (9 + rank % 2) * MS, handle(rank, 2), color=rank % 2)
        text += "".join(call(rank + 1, (20 + 2 * turn) * MS + rank, (21 + 2 * turn) * MS, "MPI_Allreduce",
                             comm=handle(rank)) for turn in range(5))
    found = meetings(tmp_path, text)
    assert found == ({(0, 1): 5, (2, 3): 5} if from_start else {}), found
