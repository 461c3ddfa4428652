# SPDX-License-Identifier: BSD-2-Clause
"""The engine that compares programs of others bare and observed (scripts/peers.py), and a sample of the suites that it
compares (scripts/suites)."""
import re
import subprocess
import sys

import pytest

import gaspbpf
import peers

CANNOT_FETCH = 77  # scripts/suites: there is no network
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


def tried_again(folder, script, seen_script):
    """What is made of a program that differed once. In each further run, bare or observed, there is one line more in
    `runs`."""
    runs = folder / "runs"
    bare = peers.stable(case(folder, "echo fine"))
    tally = peers.Tally()
    runs.write_text("")
    peers.note(tally, case(folder, f"echo >>runs; {script}"), bare, peers.run(case(folder, "echo bad")),
               lambda: peers.run(case(folder, f"echo >>runs; {seen_script}")))
    assert tally.same == 0
    return [len(which) for which in (tally.bare_too, tally.once, tally.different)], len(runs.read_text())


def test_what_differs_is_tried_again(tmp_path):
    assert tried_again(tmp_path, "echo fine", "echo fine") == ([0, 1, 0], 6)
    assert tried_again(tmp_path, "echo fine", "echo bad") == ([0, 0, 1], 4)
    assert tried_again(tmp_path, "test $(wc -l <runs) = 3 || echo fine", "echo fine") == ([1, 0, 0], 3)
    table = peers.markdown({("own", "start"): peers.Tally(5, 4, 1, ["a: bad"], ["b: late"], ["c: odd"])})
    assert "| own | 5 | 4 | `start` | 1 | 1 | 1 | 1 | - | - |" in table
    assert [line for line in table.splitlines() if line.startswith("- ")] == [
        f"- own, `start`: {what}" for what in ("a: bad", "c: odd", "b: late")]


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
        peers.compare_counts(tally, "here",
                             {"MPI_Send": {"calls": calls, "bytes": count, "sent": 0, "received": 0}}, None)
        return tally.wrong

    assert wrong(5, 40) == []
    assert wrong(6, 40) == ["here: MPI_Send: 5 calls for 6"]
    assert wrong(5, 48) == ["here: MPI_Send: 40 bytes for 48"]


def test_a_sample_is_the_same_for_the_same_seed(tmp_path):
    cases = [peers.Case("own", str(n), [], "") for n in range(100)]
    assert peers.sample(cases, 10, 1) == peers.sample(cases, 10, 1) != peers.sample(cases, 10, 2)
    assert len(peers.sample(cases, 10, 1)) == 10
    assert peers.sample(cases, 0, 1) == cases


# A hundred of them, by chance but always the same: of MPI's, which are counted, the most.
SAMPLE = {"mpich": (50, "session"), "glibc": (25, "start"), "posix": (25, "start")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where all of them are fetched: Debian's lists of sources once."""
    return tmp_path_factory.mktemp("suites")


@pytest.mark.parametrize("suite", SAMPLE)
def test_a_sample_of_the_suites_of_others(suite, folder):
    """Each as it is alone; and MPI's calls and bytes, of all of them under one gaspbpf, to the last."""
    number, mode = SAMPLE[suite]
    done = subprocess.run([sys.executable, gaspbpf.TOP / "scripts" / "suites", "--suites", suite, "--ranks", "2",
                           "--modes", mode, "--sample", str(number), "--folder", folder],
                          capture_output=True, text=True, timeout=1800)
    if done.returncode == CANNOT_FETCH:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    programs, compared = map(int, re.search(rf"^\| {suite} \| (\d+) \| (\d+) \| `{mode}` ", done.stdout, re.M).groups())
    assert programs >= compared > number * 0.8  # nearly all build, and are stable
