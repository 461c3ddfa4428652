"""The engine that compares programs of others bare and observed (scripts/peers.py), and a sample of MPICH's own tests (scripts/suites)."""
import os
import subprocess
import sys

import pytest

import gaspbpf

sys.path.insert(0, str(gaspbpf.TOP / "scripts"))
import peers  # noqa: E402

WHOLE = '[ -n "$gone" ] || echo fine; exit 3'


def case(folder, script, **keywords):
    return peers.Case("own", "a shell", ["sh", "-c", script], str(folder), 30, **keywords)


def test_what_is_not_the_same_twice_is_left_out(tmp_path):
    assert peers.stable(case(tmp_path, 'test -e been && exit 1; touch been')) is None
    unsteady = peers.stable(case(tmp_path, 'od -An -tx8 -N16 /dev/urandom'))
    assert unsteady.status == 0 and unsteady.output is None  # its end can be compared
    steady = peers.stable(case(tmp_path, WHOLE))
    assert (steady.status, steady.output) == (3, ["fine"])


def test_another_end_and_another_output_are_seen(tmp_path):
    bare = peers.stable(case(tmp_path, WHOLE))
    assert peers.differs(bare, peers.run(case(tmp_path, WHOLE))) is None
    assert "ended with 4 for 3" in peers.differs(bare, peers.run(case(tmp_path, "echo fine; exit 4")))
    assert "output" in peers.differs(bare, peers.run(case(tmp_path, "exit 3")))
    assert peers.differs(bare, peers.run(case(tmp_path, "kill -9 $$")))


def test_a_program_that_hangs_is_ended(tmp_path):
    hanging = case(tmp_path, "sleep 1000 & wait")
    hanging.limit = 1
    assert peers.run(hanging).status == "hangs"


def test_a_result_in_a_file_is_compared(tmp_path):
    bare = peers.stable(case(tmp_path, "echo one >result", files=("result",)))
    assert peers.differs(bare, peers.run(case(tmp_path, "echo two >result", files=("result",))))


def test_a_wrong_count_is_seen(monkeypatch):
    row = {"calls": 5, "bytes": 40, "calls_without_bytes": 0}
    monkeypatch.setattr(peers, "events", lambda recording: {"GASP_MPI_SEND": row})

    def wrong(calls, count):
        tally = peers.Tally()
        peers.compare_counts(tally, "here", {"MPI_Send": {"calls": calls, "bytes": count, "sent": 0, "received": 0}}, None)
        return tally.wrong

    assert wrong(5, 40) == []
    assert wrong(6, 40) == ["here: MPI_Send: 5 calls for 6"]
    assert wrong(5, 48) == ["here: MPI_Send: 40 bytes for 48"]


def test_a_sample_is_the_same_for_the_same_seed(tmp_path):
    cases = [peers.Case("own", str(n), [], "") for n in range(100)]
    assert peers.sample(cases, 10, 1) == peers.sample(cases, 10, 1) != peers.sample(cases, 10, 2)
    assert len(peers.sample(cases, 10, 1)) == 10
    assert peers.sample(cases, 0, 1) == cases


@pytest.mark.skipif(not os.environ.get("GASPBPF_SUITES"), reason="wants a network: GASPBPF_SUITES says how many programs")
def test_a_sample_of_the_tests_of_mpich():
    """Each as it is alone, under one gaspbpf over all of them, and MPI's calls and bytes to the last."""
    done = subprocess.run([sys.executable, gaspbpf.TOP / "scripts" / "suites", "--suites", "mpich", "--ranks", "2", "--modes", "session",
                           "--sample", os.environ["GASPBPF_SUITES"]], capture_output=True, text=True, timeout=1200)
    if done.returncode == 77:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
