# SPDX-License-Identifier: BSD-2-Clause
"""The page of a recording, as readers see it: what it names, tables and their CSV, links, paper, keys, hostile names.

In real browsers; one that is not there is left out, but for Chromium, which all else is tested in.
"""
import base64
import csv
import gzip
import io
import json
import re
import shutil
import subprocess

import pytest

import composed
import gaspbpf
from browsing import look

pytestmark = pytest.mark.files
MS = 10**6
RANKS, LATE, STEPS = 8, 2, 30
EVIL = ("</script><script>window.gaspbpfRun=1</script><img src=x onerror=window.gaspbpfRun=1>\"' "
        "onmouseover=window.gaspbpfRun=1 \u202egnp\u0007 javascript:window.gaspbpfRun=1//")


def job():
    """Ranks that meet at a barrier each 10 ms. One of them comes 4 ms late: it computes longer before slow.c:33."""
    members = " ".join(map(str, range(RANKS)))
    text = composed.ranks(RANKS) + "".join(f"comm {rank + 1} 4096 0 0 {members}\n" for rank in range(RANKS))
    for step in range(STEPS):
        begin = 10 * MS * step + MS
        for rank in range(RANKS):
            late = 4 * MS if rank == LATE else 0
            text += composed.send(rank + 1, begin + 50_000 * rank, begin + 50_000 * rank + 20_000, (rank + 1) % RANKS,
                                  tag=step, count=8 << rank, comm=4096, site="send.c:12,exchange")
            text += composed.call(rank + 1, begin + MS + 50_000 * rank + late, begin + 5 * MS + 300_000, "MPI_Barrier",
                                  **{"comm.id": 0, "comm.rank": rank, "site": "slow.c:33,solve"})
    return text + f"end {10 * MS * STEPS}\n"


def all_kinds():
    """A process with all that has a section of its own: a lock, regions, memory, tasks, calls that were lost."""
    us, workers, calls = 1000, (11, 12), []

    def add(tid, start, end, symbol, depth=0, **values):
        calls.append((end, -start, tid, symbol, {"depth": depth, **values}))

    for tid in workers:
        add(tid, us, 9 * us, "_starpu_cpu_driver_init", **{"worker.id": tid - 11})
    for at in range(10 * us, 4000 * us, 40 * us):
        task = {"job.task": at, "job.kind": 256}
        add(1, at, at + us, "starpu_task_submit", **{"task": at, "task.kind": 256, "task.internal": 0, "result": 0})
        add(1, at + 2 * us, at + 2 * us, "_starpu_push_task", **task)
        add(11, at + 4 * us, at + 9 * us, "_starpu_driver_start_job", **{"worker.id": 0, **task})
        add(11, at + 10 * us, at + 10 * us, "_starpu_handle_job_termination", **task)
        add(1, at + 11 * us, at + 12 * us, "malloc", nbytes=4096, returnptr=at, site="leak.c:5,lose")
        for tid, late in zip(workers, (0, 100)):
            add(tid, at + 20 * us + late, at + 22 * us + late * 9, "pthread_mutex_lock", mutex=64, site="lock.c:7,take")
            add(tid, at + 23 * us + late * 10, at + 23 * us + late * 11, "pthread_mutex_unlock", mutex=64)
        add(1, at + 30 * us, at + 37 * us, "GOMP_parallel", site="omp.c:10,main")
        add(1, at + 31 * us, at + 33 * us, "fn", depth=1)
        add(12, at + 31 * us, at + 36 * us, "fn")
    text = "process 1 -1\n" + "".join(f"thread 1 {tid}\n" for tid in workers)
    for end, begin, tid, symbol, values in sorted(calls, key=lambda call: call[:3]):
        line = composed.call(tid, -begin, end, symbol, **values)
        text += line if end > -begin else line.replace(f"call {tid} {end} ", f"atomic {tid} ", 1)
    return text + f"lost 11 5\nscheduled 1 {10**9} {5 * 10**8} {4 * 10**8} 2 0\nend {10**9}\n"


def report(recording, *options):
    result = gaspbpf.run("report", recording, *options)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The recording, and its page."""
    if not (gaspbpf.TOP / "page" / "node_modules" / "puppeteer-core").exists() or not shutil.which("chromium"):
        pytest.skip("'make page', and Chromium")
    folder = tmp_path_factory.mktemp("page")
    recording = composed.compose(folder / "run.gasp", job())
    page = folder / "run.html"
    result = gaspbpf.run("export", recording, "-o", page)
    if "has no page" in result.stderr:
        pytest.skip(result.stderr)
    assert result.returncode == 0, result.stderr
    return recording, page


@pytest.fixture(scope="module")
def seen(pages):
    return look(pages[1], "axe", "tables", "findings", "layout", "pdf", "hostile", "keys", "flame")


def test_who_is_late_where_and_what_it_gives(pages, seen):
    finding = json.loads(report(pages[0], "--json"))["findings"][0]
    text = seen["findings"]["text"]
    assert seen["findings"]["kinds"][0] == finding["kind"] == "delay"
    assert finding["text"] in text
    assert re.search(rf"Who\s+rank {LATE}\n", text) and "between send.c:12 in exchange and slow.c:33 in solve" in text
    assert re.search(r"It would give\s+1\d\d\.\d ms \(\d+\.\d % of the watched time\) shorter; simulated", text)
    assert re.search(r": ([\d.]+ ms) in all", text)[1] == re.search(r"How much\s+([\d.]+ ms): ", text)[1]
    assert "No call was lost" in text


def test_a_link_of_a_finding_shows_its_instance(pages, seen):
    data = json.loads(report(pages[0], "--json"))
    instance, start = data["findings"][0]["instances"][0], data["recording"]["start_ns"]
    view = seen["findings"]["view"]
    begin, end = instance["start_ns"] - start, instance["end_ns"] - start
    assert view["from"] < begin and end < view["to"] < begin + 3 * (end - begin)
    assert data["threads"][view["lane"]]["tid"] == instance["tid"]


def in_two_parts():
    """Rank 2 computes 3 ms while the others wait for it at a barrier, sends for 0.5 ms, computes 2.5 ms more."""
    text = composed.ranks(RANKS)
    for step in range(STEPS):
        begin = 10 * MS * step + MS
        text += composed.send(LATE + 1, begin + 4 * MS, begin + 4 * MS + MS // 2, 0, tag=step,
                              site="send.c:12,exchange")
        for rank in range(RANKS):
            text += composed.call(rank + 1, begin + (7 * MS if rank == LATE else MS), begin + 8 * MS, "MPI_Barrier",
                                  **{"comm.id": 0, "comm.rank": rank, "site": "slow.c:33,solve"})
    return text + f"end {10 * MS * STEPS}\n"


def test_a_gap_says_who_waited_and_who_waited_leads_to_it(pages, tmp_path):
    page = tmp_path / "parts.html"
    made = gaspbpf.run("export", composed.compose(tmp_path / "parts.gasp", in_two_parts()), "-o", page)
    assert made.returncode == 0, made.stderr
    seen = look(page, "waits")["waits"]
    waiter, text = seen["waiter"]
    assert waiter != LATE and f"Took 7.000 ms Waited for waited 6.000 ms for rank {LATE} " in text
    assert seen["inView"], "in a window of 900 pixels, too"
    assert seen["late"][0] == LATE and seen["gap"]["to"] - seen["gap"]["from"] == 6 * MS
    assert re.match(r"No observed call for 6\.000 ms .*?Waited for by rank \d waited 3\.000 of 6\.000 ms "
                    r"\(the last one comes\) go there rank", seen["late"][1])
    assert seen["back"][0] != LATE and "Took 7.000 ms" in seen["back"][1]
    instance = json.loads(report(tmp_path / "parts.gasp", "--json"))["findings"][0]["instances"][0]
    part = (instance["end_ns"] - instance["start_ns"]) / MS
    assert part < 6 and seen["link"].endswith(f"waits {part:.3f} of 6.000 ms for this")


def test_bars_say_who_ran_and_arrows_what_they_are_and_rows_lead_to_the_longest_wait(pages, tmp_path):
    """Rank 1 ran for a quarter of its second, and had no CPU for a half; of the others nothing is known."""
    page = tmp_path / "ran.html"
    text = job().replace(f"end {10 * MS * STEPS}", f"scheduled 2 {10**9} {10**9 // 4} {10**9 // 2} 2 0\nend {10**9}")
    made = gaspbpf.run("export", composed.compose(tmp_path / "ran.gasp", text), "-o", page)
    assert made.returncode == 0, made.stderr
    seen = look(page, "bits")["bits"]
    assert seen["ran"] == [["25%", "50%"]]
    assert seen["arrows"] == ["the last one comes"]
    longest = json.loads(report(tmp_path / "ran.gasp", "--json"))["findings"][0]["instances"][0]
    took = (longest["end_ns"] - longest["start_ns"]) / MS
    assert f"waited {took:.3f} ms for rank {LATE}" in seen["longest"]


def test_a_place_finds_its_calls(seen):
    asked, found = seen["findings"]["found"]
    assert asked == f'"slow.c:33 in solve" "rank {LATE}" longest' and found == f"1 of {STEPS}, longest first"


def test_tables_are_sorted_by_key_and_click(seen):
    tables = seen["tables"]
    key, down, up = "calls", *(tables[way] for way in ("down", "up"))
    assert down[0] == [[key, "descending"]] and up[0] == [[key, "ascending"]]
    figures = [int(cell.replace(",", "")) for cell in down[1]]
    assert figures == sorted(figures, reverse=True) and len(set(figures)) > 1
    assert [int(cell.replace(",", "")) for cell in up[1]] == sorted(figures)


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("table, key", [("events", "name"), ("threads", "tid"), ("communication.pairs", None),
                                        ("delays.causes", None), ("critical_path.parts", None), ("meetings", "event")])
def test_csv_has_the_figures_of_the_report(pages, seen, table, key):
    """Columns of the same name are the report's, in any order of rows; what labels are, people read."""
    labels = {"name", "does", "where", "threads", "members", "last", "share", "waiting", "who"}
    options = [] if table == "events" else ["--section", table]
    theirs, ours = rows_of(report(pages[0], *options, "--csv")), rows_of(seen["tables"]["tables"][table])
    columns = (set(theirs[0]) & set(ours[0])) - labels
    assert len(columns) >= 3 and len(theirs) == len(ours)
    for column in columns:
        assert sorted(row[column] for row in theirs) == sorted(row[column] for row in ours), column
    if key:
        assert key in ours[0]


def test_charts_are_read_by_keys(seen):
    keys = seen["keys"]
    assert keys["heat"].startswith("from rank 0 to rank 1: 30 operations, 240 B, 8 B each on average")
    assert keys["sizes"].startswith("16 B up to 32 B: 30 operations, 480 B in all")
    assert "median 10.00 ms" in keys["iterations"] or "an iteration of 10.00 ms" in keys["iterations"]
    assert seen["flame"]["rows"] == 0 and "No call that is in this file one by one is inside" in seen["flame"]["text"]


def test_a_filter_leaves_rows_that_copies_have(seen):
    assert seen["tables"]["filtered"] == ["rank 1"]
    assert [row["rank"] for row in rows_of(seen["tables"]["copied"])] == ["1"]


def test_no_violation_of_accessibility(seen):
    assert seen["axe"] == {"light": [], "dark": []}


def test_no_violation_in_the_other_sections(pages, tmp_path):
    page = tmp_path / "all.html"
    result = gaspbpf.run("export", composed.compose(tmp_path / "all.gasp", all_kinds()), "-o", page)
    assert result.returncode == 0, result.stderr
    seen = look(page, "axe", "layout", "sections", "flame")
    assert seen["flame"]["rows"] >= 3 and re.match(r"GASP_\w+.*: .*% of the time in calls", seen["flame"]["name"])
    assert {"locks", "regions", "tasks", "memory", "cpu", "flame", "unseen"} <= set(seen["sections"])
    assert seen["axe"] == {"light": [], "dark": []} and seen["layout"]["narrow"] == 400


def test_narrow_screens_and_what_comes_late(seen):
    assert seen["layout"]["narrow"] == 400
    assert seen["layout"]["shifts"] < 0.02


def test_on_paper(pages, seen):
    if not shutil.which("pdftotext"):
        pytest.skip("pdftotext")
    text = subprocess.run(["pdftotext", "-layout", f"{pages[1]}.pdf", "-"], capture_output=True, text=True,
                          check=True).stdout
    words = re.sub(r"\s+", " ", text)
    assert json.loads(report(pages[0], "--json"))["findings"][0]["text"] in words
    assert "slow.c:33 in solve" in words and "Time per thread" in words
    assert "copy as CSV" not in words and "Filter" not in words
    assert seen["pdf"]["theme"] is None, "the screen's colours are back"


def spoilt(value, key=""):
    """All texts of it with markup and more behind them; but those that are words of the format."""
    if isinstance(value, dict):
        return {name: spoilt(inside, name) for name, inside in value.items()}
    if isinstance(value, list):
        return [spoilt(inside, key) for inside in value]
    words = ("kind", "how", "gain", "group", "role", "does", "phase", "state", "leak", "groups", "what")
    return f"{value} {EVIL}" if isinstance(value, str) and key not in words else value


def spoil(page, to):
    """The same page, with hostile names in each field of its data."""
    def block(match):
        value = spoilt(json.loads(gzip.decompress(base64.b64decode(match[2]))))
        return match[1] + base64.b64encode(gzip.compress(json.dumps(value).encode())).decode() + match[3]

    names = "facts|report|series|tasks"
    text = re.sub(rf'(<script type="application/x-gaspbpf" id="gaspbpf-(?:{names})">)([^<]*)(</script>)', block,
                  page.read_text())
    to.write_text(text)
    return to


def test_hostile_names_are_text(pages, seen, tmp_path):
    clean, evil = seen["hostile"], look(spoil(pages[1], tmp_path / "evil.html"), "hostile")["hostile"]
    assert not evil["run"]
    for what in ("scripts", "made", "links"):
        assert evil[what] == clean[what], what
    assert "<img src=x onerror=" in evil["text"] and "\u202e" not in evil["text"] + evil["title"]
    assert "\\u202egnp" in evil["text"]


def test_hostile_names_of_all_kinds_are_text(tmp_path):
    """Of heaps, workers, kinds of tasks, locks and regions, too."""
    page = tmp_path / "all.html"
    assert gaspbpf.run("export", composed.compose(tmp_path / "all.gasp", all_kinds()), "-o", page).returncode == 0
    clean, evil = (look(one, "hostile")["hostile"] for one in (page, spoil(page, tmp_path / "evil.html")))
    assert not evil["run"]
    for what in ("scripts", "made", "links"):
        assert evil[what] == clean[what], what
    assert "<img src=x onerror=" in evil["text"] and "\u202e" not in evil["text"] + evil["title"]


def test_nothing_stands_out(pages, tmp_path):
    recording = composed.compose(tmp_path / "calm.gasp", composed.ranks(2) + f"end {100 * MS}\n")
    page = tmp_path / "calm.html"
    assert gaspbpf.run("export", recording, "-o", page).returncode == 0
    text = look(page, "findings")["findings"]["text"]
    assert "Nothing stands out" in text and "Looked for: " in text and "locks that threads wait for" in text


@pytest.mark.skipif(not shutil.which("firefox-esr"), reason="Firefox")
def test_in_firefox(pages):
    seen = look(pages[1], "tables", "findings", browser="firefox")
    assert seen["tables"]["down"][0] == [["calls", "descending"]]
    assert seen["findings"]["kinds"][0] == "delay" and seen["findings"]["view"]["to"] > seen["findings"]["view"]["from"]
