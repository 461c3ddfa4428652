# SPDX-License-Identifier: BSD-2-Clause
"""Sections that open and close, and what the page draws over time: memory, tasks by worker, iterations, lack of a CPU.

In Chromium and Firefox, each with what it must say worked out from the text that the recording is made of.
"""
import re
import shutil

import pytest

import composed
import gaspbpf
from browsing import look

pytestmark = pytest.mark.files
PROGRAMS = {"chromium": "chromium", "firefox": "firefox-esr"}
MS = 10**6
S = 10**9


@pytest.fixture(scope="module", params=PROGRAMS)
def browser(request):
    if not shutil.which(PROGRAMS[request.param]):
        pytest.skip(f"{PROGRAMS[request.param]} is not installed")
    if not (gaspbpf.TOP / "page" / "node_modules" / "puppeteer-core").exists():
        pytest.skip("'make page'")
    return request.param


def seen_in(browser, folder, text, *looks, options=()):
    page = folder / "run.html"
    result = gaspbpf.run("export", composed.compose(folder / "run.gasp", text), "-o", page, *options)
    if "has no page" in result.stderr:
        pytest.skip(result.stderr)
    assert result.returncode == 0, result.stderr
    return look(page, *looks, browser=browser)


def barrier(tid, start, end, ranks):
    return composed.call(tid, start, end, "MPI_Barrier", **{"comm.id": 0, "comm.rank": tid - 1,
                                                            "site": "slow.c:33,solve"})


def late(ranks=4, steps=30, at=2, keep=True):
    """Rank 2 comes 4 ms late to each barrier, and has no CPU for a while; an allocation in each step, which is
    kept, or freed in the next one."""
    text = composed.ranks(ranks)
    for step in range(steps):
        begin = 10 * MS * step + MS
        for rank in range(ranks):
            text += composed.call(rank + 1, begin, begin + 100, "malloc", nbytes=1024 * (rank + 1),
                                  returnptr=4096 * (step + 1), site="grow.c:5,grow")
            if step and not keep:
                text += composed.call(rank + 1, begin + 200, begin + 300, "free", ptr=4096 * step)
            text += barrier(rank + 1, begin + MS + (4 * MS if rank == at else 0), begin + 6 * MS, ranks)
    return text + f"end {10 * MS * steps}\n"


def test_sections_open_and_close(browser, tmp_path):
    seen = seen_in(browser, tmp_path, late(keep=False), "folds")["folds"]
    first = ["findings", "threads", "timeline", "waiting"]
    assert seen["first"] == seen["order"][:4] == first, "what the finding is about, and no more"
    assert seen["closed"] == 0 < seen["byKey"][1]
    assert [entry for entry in seen["contents"] if re.search(r"\d", entry)] == ["Who waits for whom 1 finding"]
    assert all(gist for name, gist in seen["gists"].items() if name != "findings"), seen["gists"]
    assert seen["gists"]["waiting"].startswith("1 finding · rank 2 makes others wait the most: ")
    assert seen["gists"]["memory"] == "at most 8.00 KiB (rank 3, c)"
    by_key = [name for name in seen["order"] if name in (*first, "events")]
    assert seen["byKey"][0] == by_key and seen["told"] == "true" and seen["again"] == first
    assert seen["marked"] == ["#unseen"], "though it is too short to come to the top"
    assert set(seen["byLink"]) == {*first, "unseen"} and set(seen["byHash"]) == {*first, "unseen", "about"}
    assert "timeline" not in seen["shut"] and "timeline" in seen["bySlash"][0] and seen["bySlash"][1] == "tl-search"
    assert seen["byFinding"] == seen["byHash"]
    assert seen["current"] == ["#timeline"]
    assert seen["onPaper"] == len(seen["order"]) and seen["charts"] >= 3 and seen["behind"] == seen["byHash"]
    assert seen["all"] == [seen["order"], "Close all"] and seen["none"] == ["findings"]


def test_what_findings_are_about_comes_first(browser, tmp_path):
    """Who is late, and what is never freed."""
    seen = seen_in(browser, tmp_path, late(steps=60), "folds")["folds"]
    assert seen["first"] == seen["order"][:5] == ["findings", "threads", "timeline", "waiting", "memory"]


def test_memory_of_each_rank(browser, tmp_path):
    """8 ranks: those with the most first, and the others by choice. What is told is what was alive then."""
    seen = seen_in(browser, tmp_path, late(ranks=8, at=7), "curves")["curves"]
    most = [f"rank {rank}, c {30 * (rank + 1)}.0 KiB" if 30 * (rank + 1) < 100 else
            f"rank {rank}, c {30 * (rank + 1)} KiB" for rank in (7, 6, 5, 4, 3, 2)]
    assert seen["read"][0] == f"at 300.0 ms: {'; '.join(most)}"
    assert seen["read"][1] == "at 291.0 ms: " + "; ".join(f"{one} (its most)" for one in most)
    assert seen["read"][2] == "at 0 ns: " + "; ".join(f"rank {rank}, c 0 B" for rank in (7, 6, 5, 4, 3, 2))
    assert seen["read"][3].startswith("at 1.000 ms: rank 7, c 8.00 KiB; rank 6, c 7.00 KiB; ")
    assert "rank 7, c: at most 240 KiB, at 291.0 ms" in seen["legend"].replace("\n", "")
    assert seen["choices"] == ["the 6 with the most: rank 7, c to rank 2, c", "rank 1, c to rank 0, c"]


def tasks():
    """Two workers; one task is the longest, and was ready for 3 us."""
    us, calls = 1000, []

    def add(tid, start, end, symbol, **values):
        line = composed.call(tid, start, end, symbol, **values)
        calls.append((end, start, line if end > start else line.replace(f"call {tid} {end} ", f"atomic {tid} ", 1)))

    for worker in (0, 1):
        add(11 + worker, us, 9 * us, "_starpu_cpu_driver_init", **{"worker.id": worker})
    for number in range(40):
        at, worker, lasts = 20 * us + 50 * us * number, number % 2, 45 * us if number == 21 else (10 + number) * 100
        names = {"job.task": 4096 * (number + 1), "job.kind": 256 + 256 * (number % 3)}
        add(1, at, at + us, "starpu_task_submit", **{"task": names["job.task"], "task.kind": names["job.kind"],
                                                     "task.internal": 0, "result": 0, "site": "dag.c:70,build"})
        add(1, at + 2 * us, at + 2 * us, "_starpu_push_task", **names)
        add(11 + worker, at + 5 * us, at + 5 * us + lasts, "_starpu_driver_start_job", **{"worker.id": worker, **names})
        add(11 + worker, at + 6 * us + lasts, at + 6 * us + lasts, "_starpu_handle_job_termination", **names)
    return "process 1 -1\nthread 1 11\nthread 1 12\ntext 1 256 potrf\n" + \
        "".join(line for _, _, line in sorted(calls)) + f"end {2100 * us}\n"


def test_tasks_by_worker(browser, tmp_path):
    seen = seen_in(browser, tmp_path, tasks(), "gantt")["gantt"]
    hover = [re.sub(" +", " ", one) for one in seen["hover"].split("\n")]
    assert hover[:3] == ["0x100 45.00 us", "submitted 5.000 us before, ready 3.000 us before",
                         "submitted at dag.c:70 in build"]
    assert hover[-1] == "worker 1 (job (tid 12))" and seen["lanes"] == ["worker 0 (job (tid 11))", hover[-1]]
    panel = seen["panel"]
    others = [(10 + number) * 100 for number in range(0, 40, 3) if number != 21]
    mean = (sum(others) + 45000) / (len(others) + 1)
    assert f"{len(others) + 1} of this kind, {mean / 1000:.3f} us on average: this one took {45000 / mean:.2f} times" \
        in panel
    assert "5.000 us before it began, at dag.c:70 in build Waited for others 2.000 us, for tasks before it" in panel
    assert re.search(r"Ready at .*, 3\.000 us before it began, made so by job \(tid 1\) Ended returned", panel)
    assert seen["live"].startswith("0x100, 45.00 us, worker 1 (job (tid 12)), at ")
    assert "Took 3.300 us" in seen["next"], "task 23"
    assert "Took 45.00 us" in seen["timeline"] and "GASP_STARPU" in seen["timeline"]
    assert "Tasks that wait, over time: ready, not ready" in seen["ready"]


def test_lanes_without_a_cpu(browser, tmp_path):
    text = "".join(f"process {rank + 1} {rank}\n" for rank in range(4))
    for step in range(200):
        for rank in range(4):
            text += barrier(rank + 1, step * 50 * MS + 10 * MS, step * 50 * MS + 35 * MS, 4)
    text += f"queue 3 {4 * S} {5 * S} {700 * MS} {300 * MS}\nlooked {10 * S}\nend {10 * S}\n"
    seen = seen_in(browser, tmp_path, text, "queues")["queues"]
    assert "had no CPU for 700.0 ms of 1.000 s around here (a mean: 70 %)" in seen["there"]
    assert "no CPU" not in seen["elsewhere"] + seen["other"]
    assert "could run, and had no CPU" in seen["key"]
    (red, green, blue), elsewhere = seen["colours"]
    assert red > green + 60 and red > blue + 60 and max(elsewhere) - min(elsewhere) < 40
    assert re.search(r"Could run, and had no CPU: rank 2 about (69|70)\d\.\d ms\.", seen["range"])


def test_iterations_of_which_no_call_is_in_the_page(browser, tmp_path):
    """1001 rounds of one rank: they are told by fours, and where one is out of line."""
    text, at = composed.ranks(1), 100 * MS
    for turn in range(1001):
        at += (3 + (turn * 7) % 5 + (30 if turn == 500 else 0)) * MS
        text += composed.call(1, at - MS, at, "MPI_Barrier", **{"comm.id": 0, "comm.rank": 0})
    text += composed.call(1, at + 50 * MS, at + 60 * MS, "MPI_Finalize")
    keys = seen_in(browser, tmp_path, text, "iterations", options=["--html-size", "1"])["iterations"]
    assert keys[0] == "at 103.0 ms: iterations 1 to 4, 5.500 ms on average, 4.000 ms to 7.000 ms" and len(keys) == 4
