# SPDX-License-Identifier: BSD-2-Clause
"""Messages that are described once and begun again and again, and receives from nobody at the border of a grid."""
import json

import pytest

import composed
import gaspbpf
from composed import call, ranks
from waits import report, states

pytestmark = pytest.mark.files
MS, STEPS = 10**6, 30


def described(tid, other, handles=(0x50, 0x60)):
    """Both describe a message to the other one and one from it."""
    common = {"tag": 0, "comm.id": 0}
    return (call(tid, 20, 30, "MPI_Send_init", dest=other, request=handles[0], **common)
            + call(tid, 40, 50, "MPI_Recv_init", source=other, request=handles[1], **common))


def exchanges(describe=described):
    """Rank 1 works 3 ms before each exchange, the other 1 ms, and each waits for both of its messages."""
    text, now = ranks(2) + describe(1, 1) + describe(2, 0), 1000
    for _ in range(STEPS):
        late = now + 3 * MS
        for tid, came in ((1, now + MS), (2, late)):
            text += call(tid, came, came + 100, "MPI_Start", request=0x60)
            text += call(tid, came + 200, came + 300, "MPI_Start", request=0x50)
            text += call(tid, came + 400, late + 5000, "MPI_Waitall", count=2,
                         **{"array_of_requests.0": 0x50, "array_of_requests.1": 0x60})
        now = late + 5000
    return text + "".join(call(tid, now + 10, now + 20, "MPI_Finalize") for tid in (1, 2))


def test_a_late_sender(tmp_path):
    seen = report(tmp_path, exchanges())
    assert states(seen) == {("late_sender", 1, 2): STEPS * (2 * MS - 400 + 200)}
    finding, = (each for each in seen["findings"] if each["kind"] == "delay")
    assert finding["tid"] == 2 and abs(finding["gain_ns"] - STEPS * 2 * MS) < 0.1 * STEPS * 2 * MS


@pytest.mark.parametrize("others", ["", composed.send(1, 11, 12, 1, comm=0x1000)])
def test_the_section_of_communication_says_what_it_does_not_know(tmp_path, others):
    text = exchanges().replace("call 1 20 30", others + "call 1 20 30")
    recording = composed.compose(tmp_path / "c.gasp", text + "comm 1 4096 0 0 0 1\n")
    said = (f"Persistent requests, not in the above: begun by {4 * STEPS} calls of GASP_MPI_START, which do not say "
            "whom each message goes to, or its bytes")
    out = gaspbpf.run("report", recording, env={"COLUMNS": "80"}).stdout
    section = "Communication " + out.split("\nCommunication ")[1].split("\n\n")[0]
    assert said in " ".join(section.split()) and max(map(len, section.splitlines())) <= 80
    assert json.loads(gaspbpf.run("report", recording, "--json").stdout)["communication"]["calls_of_described"] == (
        4 * STEPS)
    text += call(1, 10**9, 10**9 + 10, "MPI_Startall", count=2, **{"array_of_requests.0": 1, "array_of_requests.1": 2})
    out = gaspbpf.run("report", composed.compose(tmp_path / "two.gasp", text)).stdout
    one, other = f"{4 * STEPS} calls of GASP_MPI_START", "1 call of GASP_MPI_STARTALL"
    assert any(f"begun by {first} and {last}, which do not" in " ".join(out.split())
               for first, last in ((one, other), (other, one)))
    none = composed.compose(tmp_path / "none.gasp", composed.LATE_SENDER)
    assert "Persistent" not in gaspbpf.run("report", none).stdout


def test_what_was_described_before_is_not_known(tmp_path):
    seen = report(tmp_path, exchanges(describe=lambda *_: ""))
    assert not [each for each in seen["findings"] if each["kind"] == "delay"]


def test_a_message_that_is_given_up(tmp_path):
    """A handle is used again, for a message the other way round."""
    text = ranks(2)
    for tid, other in ((1, 1), (2, 0)):
        text += described(tid, other) + call(tid, 60, 65, "MPI_Request_free", request=0x50)
        text += call(tid, 66, 67, "MPI_Request_free", request=0x60)
        text += described(tid, other, handles=(0x60, 0x50)).replace(" 20 30 ", " 70 75 ").replace(" 40 50 ", " 80 85 ")
    text += call(1, 100, 110, "MPI_Start", request=0x50) + call(1, 120, 320, "MPI_Wait", request=0x50)
    text += call(2, 300, 310, "MPI_Start", request=0x60) + call(2, 311, 312, "MPI_Wait", request=0x60)
    assert states(report(tmp_path, text)) == {("late_sender", 1, 2): 180}


def test_a_call_that_was_lost(tmp_path):
    """One that begins a message is missing: which are which is not known from there on, so nothing is told."""
    seen = report(tmp_path, ranks(2) + "sum 2 MPI_Start 1 0 0\n" + exchanges().removeprefix(ranks(2)))
    assert not states(seen)
