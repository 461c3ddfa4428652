# SPDX-License-Identifier: BSD-2-Clause
"""docs/tutorial.md, as somebody follows it: its commands in their order, in a shell, in an empty folder."""
import json
import os
import re
import subprocess

import pytest

import gaspbpf

TUTORIAL = gaspbpf.TOP / "docs" / "tutorial.md"
EXAMPLE = gaspbpf.TOP / "examples" / "heat.c"
# A machine of tests is busy, and has no time; what `make install` has put where the reader finds it is in the checkout.
QUICKER = {"/usr/local/share/gaspbpf/examples": str(EXAMPLE.parent), "--seconds 10": "--seconds 1",
           "--seconds 60": "--seconds 20", "-d 5s": "-d 3s"}
PREPARED = "set -e\nsudo() { \"$@\"; }\ntrap 'kill $(jobs -p) 2>/dev/null || :' EXIT\n"


def commands():
    text = "".join(re.findall(r"^```sh\n(.*?)^```$", TUTORIAL.read_text(), re.M | re.S))
    for long, short in QUICKER.items():
        assert long in text, f"the tutorial has no {long} any more"
        text = text.replace(long, short)
    return text.replace("\nwait\n", "\n")


def line_of(call):
    return next(i for i, line in enumerate(EXAMPLE.read_text().splitlines(), 1) if call in line)


def report(recording):
    done = gaspbpf.run("report", "--json", recording)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def calls(told, event):
    return gaspbpf.events(told)[event]["calls"]


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """The folder in which it was followed, and what the shell said."""
    folder = tmp_path_factory.mktemp("tutorial")
    path = f"{gaspbpf.PROGRAM.parent}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", PREPARED + commands()], cwd=folder, env={**os.environ, "PATH": path},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_slow_job_is_told_what_is_wrong_with_it(followed):
    folder, said = followed
    told = report(folder / "slow.gasp")
    found = {finding["kind"]: finding for finding in told["findings"]}
    small = told["communication"]["small_messages"]
    assert {one["place"].split("/")[-1] for one in small} == {f"heat.c:{line_of('MPI_Send(')} in exchange"}
    assert {one["bytes"] // one["messages"] for one in small} == {64}
    if "starved" in found:  # which the text says may be: then who is late is not blamed, and little else is worth much
        return
    assert "small messages" in said
    assert [one["rank"] for one in found["delay"]["culprits"]] == [1]
    assert f"after GASP_MPI_RECV at heat.c:{line_of('MPI_Recv(')}, before GASP_MPI_ALLREDUCE at " \
        f"heat.c:{line_of('MPI_Allreduce(')} in step" in found["delay"]["text"]


def test_the_late_one_computes_for_longer(followed):
    """Where it had the machine: without a processor all takes long."""
    folder, _ = followed
    told, lasted = report(folder / "slow.gasp"), {0: 0, 1: 0}
    rank = {process["pid"]: process["rank"] for process in told["processes"]}
    for cause in told["delays"]["causes"]:
        if cause["does"] == "outside" and cause["before"] and cause["before"]["event"] == "GASP_MPI_ALLREDUCE":
            lasted[rank[cause["pid"]]] += cause["lasted_ns"]
    starved = any(finding["kind"] == "starved" for finding in told["findings"])
    assert sum(lasted.values()) > 0 and (starved or lasted[1] > lasted[0]), lasted


def test_the_lines_are_those_of_the_text():
    text = TUTORIAL.read_text()
    for call in "MPI_Send(", "MPI_Recv(", "MPI_Allreduce(":
        assert f"heat.c:{line_of(call)}" in text
    assert f"Between lines {line_of('MPI_Recv(')} and {line_of('MPI_Allreduce(')}" in text
    assert f"Line {line_of('MPI_Send(')} sends" in text


def test_the_mended_job_has_neither(followed):
    folder, _ = followed
    slow, quick = report(folder / "slow.gasp"), report(folder / "quick.gasp")
    assert quick["communication"]["small_messages"] == []
    # 128 messages of 8 points each were one row; the first step may be cut.
    for told, messages in (slow, 128), (quick, 1):
        steps = calls(told, "GASP_MPI_ALLREDUCE")
        assert abs(calls(told, "GASP_MPI_SEND") - messages * steps) <= 2 * messages + 2
    assert slow["processes"][-1]["command"].startswith("./heat")


def test_the_page_is_made(followed):
    folder, _ = followed
    page = (folder / "slow.html").read_text()
    assert "gaspbpf-report" in page and "gaspbpf-calls" in page


def test_the_comparison_tells_the_event(followed):
    _, said = followed
    assert "GASP_MPI_SEND" in said.rpartition("Observed for")[2]
