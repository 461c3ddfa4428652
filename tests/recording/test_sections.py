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


@pytest.mark.parametrize("text, cpus, said", [
    ("cpus 4\n", 4, "(Linux 6.18, 4 CPUs)"), ("cpus 1\n", 1, "(Linux 6.18, 1 CPU)"), ("", None, "(Linux 6.18)"),
    ("cpus 8\nscheduled 1 100 90 0 8 0\nscheduled 2 100 90 0 8 1\n", 8, "(Linux 6.18, 8 CPUs)"),
    ("cpus 8\nscheduled 1 100 90 0 2 0\nscheduled 2 100 90 0 2 1\n", 8, "8 CPUs, each thread may use 2)"),
    ("cpus 8\nscheduled 1 100 90 0 1 0\nscheduled 2 100 90 0 4 1\n", 8, "8 CPUs, a thread may use 1 to 4)")])
def test_how_many_processors_there_were(tmp_path, text, cpus, said):
    """Older recordings do not say it."""
    head, rest = text.partition("scheduled")[0], "".join(text.partition("scheduled")[1:])
    recording = composed.compose(tmp_path / "run.gasp", head + composed.ranks(2) + rest)
    assert json.loads(gaspbpf.run("report", "--json", recording).stdout)["recording"]["cpus"] == cpus
    assert said in " ".join(gaspbpf.run("report", recording).stdout.split())


def test_the_processors_of_several_machines(tmp_path):
    """Two recordings are of one of them."""
    parts = [composed.compose(tmp_path / f"{boot}{cpus}{pid}.gasp", f"boot {boot}\ncpus {cpus}\nprocess {pid} {pid}\n"
                              + composed.call(pid, 10, 20, "MPI_Init")) for boot, cpus, pid in
             (("a", 4, 1), ("b", 6, 2), ("a", 4, 3))]
    merged = tmp_path / "all.gasp"
    assert gaspbpf.run("merge", "-o", merged, *parts).returncode == 0
    told = json.loads(gaspbpf.run("report", "--json", merged).stdout)
    assert told["recording"]["cpus"] == 10 and [node["cpus"] for node in told["nodes"]] == [4, 6, 4]
    assert "10 CPUs in all" in gaspbpf.run("report", merged).stdout
