# SPDX-License-Identifier: BSD-2-Clause
"""Messages as they should not be: the matrix is the job's own count, and what is planted is found; in the healed twin
nothing is."""
import re

import gaspbpf
import truth

SOURCE = (gaspbpf.TOP / "tests" / "workloads" / "messages.c").read_text().splitlines()
KINDS = {"small_messages", "no_overlap", "hot_target"}
HABITS, HOT = (2, "--what", "0"), (4, "--what", "1")
ROUNDS, SMALL, COLUMN = 20, 1000, 512


def line_of(mark):
    return next(number for number, line in enumerate(SOURCE, 1) if f"/* {mark} */" in line)


def observed(job, observe, ranks, *options):
    ring = job(["mpirun.openmpi", "-n", str(ranks), gaspbpf.WORKLOADS / "messages", "--rounds", str(ROUNDS), "--small",
                str(SMALL), *options], ranks=ranks, env=truth.ENVIRONMENT).wait_ready()
    report = truth.window(ring, observe, ring.pids())
    return report, {of["rank"]: of for of in ring.truths()}


def matrix(report):
    return {(pair["from"], pair["to"]): [pair["operations"], pair["bytes"]]
            for pair in report["communication"]["pairs"]}


def counted(truths):
    return {(rank, int(to)): figures for rank, of in truths.items() for to, figures in of["sent"].items()}


def findings(report):
    """Waits that overlap nothing may stand below who is late in them."""
    told = [each for finding in report["findings"] for each in [finding, *finding["seen_as"]]]
    return {finding["kind"]: finding for finding in told if finding["kind"] in KINDS}


def mean(pairs):
    return sum(pair["time_ns"] for pair in pairs) / sum(pair["operations"] for pair in pairs)


def near(measured, told):
    return abs(measured - told) <= 0.1 * told


def test_small_messages_and_waits_without_overlap(job, observe):
    report, truths = observed(job, observe, *HABITS)
    assert matrix(report) == counted(truths)
    told, found = report["communication"], findings(report)
    assert set(found) == {"small_messages", "no_overlap"}

    small, = told["small_messages"]
    assert (small["rank"], small["to"]) == (1, 0)
    assert small["messages"] == ROUNDS * SMALL and small["bytes"] == COLUMN * small["messages"]
    assert small["runs"] == ROUNDS and small["messages_that_would_do"] == ROUNDS * (SMALL * COLUMN // 65536 + 1)
    assert 0 < small["saves_ns"] < small["without_waiting_ns"] < small["time_ns"] < truths[1]["small_ns"]
    for text in small["place"], found["small_messages"]["text"]:
        assert f"messages.c:{line_of('small')} " in text
    assert f"messages.c:{line_of('small')}:" in found["small_messages"]["places"][0]
    assert "rank 1 to rank 0" in found["small_messages"]["text"]

    idle, = told["no_overlap"]
    assert (idle["rank"], idle["waits"], idle["begun_by"]) == (0, ROUNDS, "GASP_MPI_IRECV")
    assert idle["without_overlap"] >= 0.9 * ROUNDS
    assert near(idle["hidden_at_most_ns"], truths[0]["idle_ns"])
    for text in idle["place"], found["no_overlap"]["text"]:
        assert f"messages.c:{line_of('idle')} " in text
    assert f"messages.c:{line_of('idle')}:" in found["no_overlap"]["places"][0]
    assert "rank 0" in found["no_overlap"]["text"]


def test_a_hot_target(job, observe):
    report, truths = observed(job, observe, *HOT)
    assert matrix(report) == counted(truths)
    told = report["communication"]
    assert told["hot_target"]["rank"] == 0
    to_hot = [pair for pair in told["pairs"] if pair["to"] == 0]
    assert told["hot_target"]["operations"] == sum(pair["operations"] for pair in to_hot)
    assert near(sum(pair["time_ns"] for pair in to_hot), sum(of["hot_ns"] for of in truths.values()))
    others = [pair for pair in told["pairs"] if pair["to"] != 0]
    if mean(to_hot) < 2 * mean(others):
        return  # on a busy machine all calls are slow: then nobody is slower to call than the others
    assert re.match("rank 0 is the target of 89 % .* by 3 of 4 ranks", findings(report)["hot_target"]["text"])
    assert set(findings(report)) == {"hot_target"}


def test_the_healed_twins_are_silent(job, observe):
    for ranks, *options in HABITS, HOT:
        report, truths = observed(job, observe, ranks, *options, "--healed", "1")
        assert matrix(report) == counted(truths)
        assert findings(report) == {} and not report["communication"]["hot_target"]
