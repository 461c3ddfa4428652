# SPDX-License-Identifier: BSD-2-Clause
"""report --section NAME: one section of the report, whole, and nothing else."""
import json

import pytest

import composed
import gaspbpf

pytestmark = pytest.mark.files


@pytest.fixture
def recording(tmp_path):
    return composed.compose(tmp_path / "run.gasp", composed.LATE_SENDER)


def report(*arguments, expect=0):
    result = gaspbpf.run("report", *arguments)
    assert result.returncode == expect, result.stderr
    return result


def test_one_section(recording):
    whole, events = report(recording).stdout, report("--section", "events", recording).stdout
    assert "Threads" in whole and "Events by self time" in whole
    assert "Events by self time" in events and "GASP_MPI_BARRIER" in events
    assert "Threads" not in events and "Observed for" not in events
    both = report("--section", "threads", "--section", "events", recording).stdout
    assert both.index("Events by self time") < both.index("Threads"), "in the order of the report"


def test_one_section_as_json(recording):
    whole = json.loads(report("--json", recording).stdout)
    assert json.loads(report("--json", "--section", "events", recording).stdout) == {"events": whole["events"]}


def test_a_section_that_is_made_where_it_is_asked_for(recording):
    assert "counters" not in json.loads(report("--json", recording).stdout)
    assert list(json.loads(report("--json", "-S", "counters", recording).stdout)) == ["counters"]


def test_which_sections_there_are(recording):
    names = report("--section", "list").stdout.split()
    assert {"events", "threads", "findings", "loss"} <= set(names)
    for name in names:
        report("--section", name, recording)


def test_a_section_that_there_is_not(recording):
    assert "--section list" in report("--section", "evnts", recording, expect=1).stderr
