# SPDX-License-Identifier: BSD-2-Clause
"""What the report on a composed recording says of waiting: who for whom, and what that one did meanwhile."""
import json

import composed
import gaspbpf


def report(tmp_path, text, *sections):
    recording = composed.compose(tmp_path / "run.gasp", text)
    result = gaspbpf.run("report", "--json", recording, *(word for name in sections for word in ("-S", name)))
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def states(seen):
    return {(pair["state"], pair["waiting"]["tid"], pair["for"]["tid"]): pair["waited_ns"]
            for pair in seen["wait_states"]["pairs"]}


def causes(seen):
    """{(who, does, after, before or the call): (direct, passed on)}"""
    def event(called):
        return called and called["event"].removeprefix("GASP_MPI_")
    return {(cause["tid"], cause["does"], event(cause["call"]) or (event(cause["after"]), event(cause["before"]))):
            (cause["direct_ns"], cause["passed_on_ns"]) for cause in seen["delays"]["causes"]}
