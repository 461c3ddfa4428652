# SPDX-License-Identifier: BSD-2-Clause
"""What a reader trips over: legends of columns that are not there, headings without rows, symptoms beside their cause."""
import json

import pytest

import composed
import gaspbpf
from test_report_terminal import OnTerminal

pytestmark = pytest.mark.files
S = 10**9


def shown(recording, *arguments, width=200):
    result = gaspbpf.run("report", recording, *arguments, env={"COLUMNS": str(width)})
    assert result.returncode == 0, result.stderr
    return result.stdout


def told(recording):
    return json.loads(gaspbpf.run("report", recording, "--json").stdout)


def words(text):
    return " ".join(text.split())


def scheduled(tid, queued, run=5.0):
    return f"scheduled {tid} {10 * S} {int(run * S)} {int(queued * S)} 2 0\n"


def heading(text, title):
    """What stands in brackets behind the title."""
    return words(text[text.index(f"\n{title}") + len(title) + 1:]).split(")")[0]


@pytest.mark.parametrize("section, title, width, legends, beyond", [
    ("threads", "Threads", 60, ["queued: "], ["CPU: "]),
    ("threads", "Threads", 48, ["outside: "], ["CPU: ", "queued: "]),
    ("threads", "Threads", 200, ["CPU: ", "queued: ", "cost: ", "outside: "], []),
    ("delays", "Who is waited for", 62, ["passed on: "], ["share: "]),
    ("delays", "Who is waited for", 200, ["passed on: ", "share: of all that is waited"], []),
])
def test_a_column_that_is_left_out_has_no_legend(tmp_path, section, title, width, legends, beyond):
    recording = composed.compose(tmp_path / "run.gasp", composed.LATE_SENDER + scheduled(1, 0.1) + f"end {10 * S}\n")
    status, text = OnTerminal("report", recording, "--section", section, "--color=never", width=width).finish()
    assert status == 0, text
    said = heading(text.replace("\r", ""), title)
    assert all(legend in said for legend in legends), said
    assert not any(legend in said for legend in beyond), said


def test_no_heading_without_rows(tmp_path):
    """Nobody has waited: that is said, or what is not known of it."""
    together = composed.ranks(2, init=False) + "".join(
        composed.call(rank + 1, 100, 110, "MPI_Barrier", **{"comm.id": 0, "comm.rank": rank}) for rank in range(2))
    recording = composed.compose(tmp_path / "together.gasp", together)
    assert shown(recording, "--section", "wait_states").strip() == "Wait states: this recording has nothing of it."
    alone = composed.compose(tmp_path / "alone.gasp", composed.ranks(2, init=False) + composed.send(1, 100, 110, 1))
    text = shown(alone, "--section", "wait_states")
    assert "Wait states\nNot known for 1 sends and receives" in text and "Longest" not in text


@pytest.mark.parametrize("queued, noted, starved", [
    ((0.2, 0.1, 0.2), False, False), ((0.8, 0.1, 0.5), True, False), ((1.2, 0.1, 0.5), False, True)])
def test_a_cpu_is_lacking_now_and_then(tmp_path, queued, noted, starved):
    """Too little for a finding is told nevertheless, once."""
    ranks = composed.ranks(3) + "".join(scheduled(tid, ns) for tid, ns in enumerate(queued, 1))
    recording = composed.compose(tmp_path / "run.gasp", ranks + f"end {10 * S}\n")
    text = words(shown(recording, "--section", "threads"))
    note = "ranks 0, 2 could run and had no CPU for 6 % of their time since their first calls (1.300 s in all; the " \
           "most: rank 0, 8 %): too little for a finding"
    assert (note in text) == noted and ("too little for a finding" in text) == noted
    assert any(finding["kind"] == "starved" for finding in told(recording)["findings"]) == starved
