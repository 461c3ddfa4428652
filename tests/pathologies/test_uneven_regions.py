# SPDX-License-Identifier: BSD-2-Clause
"""A team of OpenMP threads with uneven shares and much serial code: whose share is too long, at which line, what the
others wait and what it would give, by the clocks of the threads themselves. Of the healed twin nothing is said."""
import itertools
import json
import statistics

import pytest

import gaspbpf
from pathologies import near

SOURCE = (gaspbpf.TOP / "tests" / "workloads" / "pathology" / "regions.c").read_text().splitlines()
LINE, = (f"regions.c:{number}" for number, line in enumerate(SOURCE, 1) if "/* region */" in line)
KINDS = {"uneven_region", "short_regions", "serial_code", "team_wait"}
SLOW = 1


class Observed:
    def __init__(self, job, observe, recording, *options):
        team = job([gaspbpf.WORKLOADS / "pathology" / "regions", *options],
                   env={"OMP_WAIT_POLICY": "passive"}).wait_ready()
        watcher = observe("-p", team.process.pid, "-o", recording)
        team.work()
        status, self.live, errors = watcher.stop()
        assert status == 0, errors
        assert team.end() == 0, team.output()
        result = gaspbpf.run("report", "--json", recording)
        assert result.returncode == 0, result.stderr
        self.report = json.loads(result.stdout)
        self.truth, = team.truths()
        self.region, = self.report["regions"]["regions"]
        self.judged = self.region["judged"]
        self.findings = {one["kind"]: one for one in self.report["findings"] if one["kind"] in KINDS}

    def ended(self):
        """When each thread was done, round by round, in those of which all was seen: the last ones."""
        return list(zip(*(share["ended"][-self.judged:] for share in self.truth["shares"])))

    def waited(self):
        return [sum(max(round) - round[number] for round in self.ended()) for number in range(3)]

    def outside(self):
        return sum(came - left for left, came in zip(self.truth["left"], self.truth["came"][1:]))

    def rounds(self):
        return [after - before for before, after in itertools.pairwise(self.truth["came"])]

    def noise(self):
        """How far the rounds are from what is usual: a busy machine has its part in some."""
        usual = statistics.median(self.rounds())
        return sum(abs(each - usual) for each in self.rounds())


@pytest.fixture(scope="module")
def runs():
    return {}


@pytest.fixture
def planted(job, observe, tmp_path, runs):
    if "planted" not in runs:
        runs["planted"] = Observed(job, observe, tmp_path / "planted.gasp")
    return runs["planted"]


@pytest.fixture
def healed(job, observe, tmp_path, runs):
    if "healed" not in runs:
        runs["healed"] = Observed(job, observe, tmp_path / "healed.gasp", "--healed", "1")
    return runs["healed"]


def test_who_is_late_where_and_what_the_others_wait(planted):
    rounds = planted.truth["rounds"]
    assert planted.region["times"] == rounds and rounds / 2 <= planted.judged < rounds, "the first ones are not known"
    assert planted.region["site"].endswith(LINE + ":9") or LINE in planted.region["site"]
    shares = planted.truth["shares"]
    told = {thread["tid"]: thread for thread in planted.region["processes"][0]["threads"]}
    for number, waited in enumerate(planted.waited()):
        assert near(told[shares[number]["tid"]]["waited_at_end_ns"], waited), number
        own = sum(end - begin for begin, end in zip(shares[number]["began"][-planted.judged:],
                                                    shares[number]["ended"][-planted.judged:]))
        assert near(told[shares[number]["tid"]]["shares_ns"], own), number
    finding = planted.findings["uneven_region"]
    assert finding["tid"] == shares[SLOW]["tid"] and LINE in finding["text"]
    assert near(finding["weight_ns"], sum(planted.waited()))
    assert [tid for tid, thread in told.items() if thread["persistent"]] == [shares[SLOW]["tid"]]


def test_serial_code(planted):
    beginner, = planted.report["regions"]["beginners"]
    assert near(beginner["outside_ns"], planted.outside())
    finding = planted.findings["serial_code"]
    assert finding["tid"] == planted.truth["shares"][0]["tid"] and LINE in finding["text"]
    # At the end of the observation it is said, too.
    assert LINE in planted.live and "is the last in" in " ".join(planted.live.split())


def test_the_run_is_as_long_as_the_late_thread(planted):
    """The critical path is its share of each region that was seen, and what the first thread does between them."""
    path, shares = planted.report["critical_path"], planted.truth["shares"]
    on_path = {}
    for part in path["parts"]:
        for thread in part["threads"]:
            where = (thread["tid"], bool(part["inside"]), part["does"])
            on_path[where] = on_path.get(where, 0) + thread["on_path_ns"]
    late = sum(end - begin for begin, end in zip(shares[SLOW]["began"][-planted.judged:],
                                                 shares[SLOW]["ended"][-planted.judged:]))
    assert near(on_path[shares[SLOW]["tid"], True, "outside"], late)
    assert near(on_path[shares[0]["tid"], False, "outside"], planted.outside())
    assert path["unknown_ns"] < 0.1 * path["length_ns"]


def test_what_it_would_give(planted, healed):
    # Of the first regions, whose shares are not seen, nothing is said.
    seen = planted.judged / planted.truth["rounds"]
    gain = planted.findings["uneven_region"]["gain_ns"] / seen + planted.findings["serial_code"]["gain_ns"]
    real = sum(planted.rounds()) - sum(healed.rounds())
    assert near(gain, real, 0.25, planted.noise() + healed.noise()), (gain, planted.rounds(), healed.rounds())
    assert set(planted.findings) == {"uneven_region", "serial_code"}


def test_the_healed_twin_is_silent(healed):
    assert not healed.findings
    assert healed.judged >= healed.truth["rounds"] / 2
