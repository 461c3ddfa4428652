# SPDX-License-Identifier: BSD-2-Clause
"""scripts/figures: the documents have the figures of one run of the measurements, and say of what was not measured that
it was not."""
import json
import re
import shutil
import subprocess
import sys

import pytest

import gaspbpf

pytestmark = pytest.mark.files
TOP = gaspbpf.TOP

sys.path.insert(0, str(TOP / "bench"))
import figures  # noqa: E402

# What a made-up run has besides what each figure is made up of.
AIMED = {r"[\d.]+": "1.15", r"1/\d+": "1/4", r"\d+ M spans/s": "5 M spans/s", r"[\d.]+ M calls/s": "0.5 M calls/s",
         r"\d+ ns": "150 ns", r"\d+ ms": "300 ms", r"\d+ MB": "64 MB", r"\d+": "12",
         r"at most \d+ MB": "at most 16 MB", "the smallest": "the smallest"}


def script(top, *words):
    done = subprocess.run([top / "scripts" / "figures", *words], capture_output=True, text=True,
                          timeout=gaspbpf.PATIENCE)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture
def copy(tmp_path):
    """A checkout with what the script reads and writes."""
    shutil.copy(TOP / "README.md", tmp_path)
    for folder, pattern in ("docs", "*.md"), ("docs", "figures.json"), ("bench", "figures.py"), \
            ("bench", "README.md"), ("scripts", "figures"):
        (tmp_path / folder).mkdir(exist_ok=True)
        for file in (TOP / folder).glob(pattern):
            shutil.copy(file, tmp_path / folder)
    return tmp_path


def made_up():
    """A run that has every figure and every aim. Each cell is 1,234 of its unit, but for the few that tests name."""
    parts = {}
    for source in figures.FIGURES.values():
        if len(source) > 2:
            unit, part, row, column = source
            rows = parts.setdefault(part, {})
            value = 1234 if unit == "count" else {"median": 1234.4, "best": 1, "worst": 2000, "rounds": [[1, 2000]]}
            rows.setdefault(row.replace("*", "as many as possible"), {})[column] = value
    parts["span"]["unobserved"]["session"]["median"] = 2
    targets = {part: [] for part in parts}
    for part, pattern in figures.AIMS.values():
        group = re.search(r"\((?!-o)([^()]*[^\\])\)", pattern.replace(r"\(-o\)", "-o-"))[1]
        text = pattern.replace(f"({group})", AIMED[group]).replace(r"\w+", "session").replace(".*", "MPI")
        targets[part].append({"target": text.replace("\\", "") + " ...", "value": "0", "met": True})
    machine = {"date": "2031-02-03", "kernel": "6.99.1-vendor", "cpu": "Abacus 3", "cpus": 7, "virtual": False,
               "software": {"Open MPI": "9.8"}, "commit": "abcdef1", "quick": False, "seconds": {"pairs": 3}}
    return {"machine": machine, "parts": {part: [{
        "title": part, "unit": "", "notes": [], "targets": targets[part],
        "rows": [{"row": row, **cells} for row, cells in rows.items()]}] for part, rows in parts.items()}}


def cell(run, part, row):
    return next(each for each in run["parts"][part][0]["rows"] if each["row"] == row)


def write(run, top):
    (top / "run.json").write_text(json.dumps(run))
    return top / "run.json"


def block(top, page, name):
    return re.search(rf"<!-- figures: {name} -->\n(.*?)<!-- /figures -->", (top / page).read_text(), re.DOTALL)[1]


def row_of(text, start):
    return next(line for line in text.splitlines() if line.startswith(f"| {start}"))


def test_the_documents_have_the_figures_that_are_kept():
    done = script(TOP, "--check")
    assert (done.returncode, done.stderr) == (0, "")


def test_another_figure_in_a_page_is_named(copy):
    page = copy / "docs" / "cost.md"
    text = page.read_text()
    table = block(copy, "docs/cost.md", "cost")
    page.write_text(text.replace(table, table.replace("bpftrace", "bpftrace about", 1)))
    done = script(copy, "--check")
    assert done.returncode == 1 and "docs/cost.md" in done.stderr and "README.md" not in done.stderr
    assert script(copy, "--pages").returncode == 0
    assert page.read_text() == text and script(copy, "--check").returncode == 0


@pytest.mark.parametrize("damage, why", [
    ("<!-- figures: other -->\n<!-- /figures -->\n", "docs/top.md: figures: other: not in bench/figures.py"),
    ("<!-- figures: cost -->\n", "docs/top.md: a mark of figures has no other end"),
    ("<!-- figures: cost -->\n{}<!-- /figures -->\n", "figures: cost: stands in the pages 2 times, not once")],
                         ids=["unknown", "open", "twice"])
def test_marks_that_are_wrong_are_named(copy, damage, why):
    with (copy / "docs" / "top.md").open("a") as page:
        page.write(damage.replace("{}", block(copy, "docs/cost.md", "cost")))
    done = script(copy, "--check")
    assert done.returncode == 1 and why in done.stderr


def test_a_run_fills_the_pages(copy):
    run = made_up()
    cell(run, "pairs", "gaspbpf")["malloc+free"]["median"] = 2146.3
    cell(run, "pairs", "bpftrace uprobe+uretprobe at +0")["malloc+free"]["median"] = 13145.2
    cell(run, "monitor", "100,000 calls/s")["gaspbpf, % CPU"]["median"] = 0.1499
    cell(run, "mpi", "EZTrace, started under it")["added"]["median"] = 76.4
    run["parts"]["mpi"][0]["targets"][0]["met"] = False
    run["parts"]["starpu"][0]["targets"][0]["met"] = None
    done = script(copy, write(run, copy))
    assert (done.returncode, done.stderr) == (0, "")
    assert script(copy, "--check").returncode == 0

    readme, cost = block(copy, "README.md", "readme"), block(copy, "docs/cost.md", "cost")
    assert "7 CPUs of an Abacus 3, 2031-02-03" in readme and "virtual" not in readme
    assert row_of(readme, "`malloc`") == "| `malloc` and `free`, both calls | 2.1 us | bpftrace 13.1 us, perf 1.23 us |"
    assert "inside: 76 ns" in readme and " 0.15 %;" in readme
    assert row_of(cost, "`malloc`").split(" | ")[3:] == ["1/6.1, 1/0.58", "1/4 |"]
    assert row_of(cost, "`MPI_Sendrecv`").endswith("| 1.15: missed |")
    assert row_of(cost, "StarPU, empty task, four").endswith("| 1.15: not judged |")
    assert row_of(cost, "1,234 functions: attach / detach").startswith("| 1,234 functions: attach / detach | 1.23 s /")
    assert "Linux 6.99.1, Open MPI 9.8" in block(copy, "docs/cost.md", "run") and "not measured" not in readme + cost
    assert all(len(line) <= 100 or line[0] == "|" for line in (copy / "README.md").read_text().splitlines() if line)

    kept = json.loads((copy / "docs" / "figures.json").read_text())
    assert kept["figures"]["malloc"] == {"value": 2.1, "unit": "us", "from": "pairs: gaspbpf: malloc+free"}
    assert kept["run"]["date"] == "2031-02-03"


def no_part(run):
    del run["parts"]["pairs"]


def no_tool(run):
    cells = cell(run, "pairs", "bpftrace uprobe+uretprobe at +0")
    cells.clear()
    cells.update({"row": "bpftrace uprobe+uretprobe at +0", "not_available": "bpftrace is not installed"})


def other_row(run):
    cell(run, "pairs", "bpftrace uprobe+uretprobe at +0")["row"] = "bpftrace"


def two_rows(run):
    run["parts"]["pairs"][0]["rows"].append(cell(run, "pairs", "bpftrace uprobe+uretprobe at +0"))


def no_number(run):
    cell(run, "pairs", "bpftrace uprobe+uretprobe at +0")["malloc+free"]["median"] = float("nan")


def a_look(run):
    run["machine"]["quick"] = True


def other_target(run):
    for target in run["parts"]["pairs"][0]["targets"]:
        target["target"] = "cheap"


@pytest.mark.parametrize("spoil, why", [(no_part, "the part pairs was not run"),
                                        (no_tool, "bpftrace is not installed: malloc.bpftrace"),
                                        (other_row, "pairs has no row 'bpftrace uprobe+uretprobe at +0'"),
                                        (two_rows, "pairs has more than one row 'bpftrace uprobe+uretprobe at +0'"),
                                        (no_number, "no number came out: malloc.bpftrace"),
                                        (a_look, "--quick"), (other_target, "pairs has no target")])
def test_a_run_that_lacks_something_is_refused(copy, spoil, why):
    """No figure of an earlier run stays where it is taken nevertheless."""
    assert script(copy, write(made_up(), copy)).returncode == 0
    before = {page: page.read_text() for page in (copy / "docs").iterdir()}
    run = made_up()
    spoil(run)
    done = script(copy, write(run, copy))
    assert done.returncode == 1 and why in done.stderr
    assert {page: page.read_text() for page in (copy / "docs").iterdir()} == before

    done = script(copy, "--partial", copy / "run.json")
    assert done.returncode == 0 and why in done.stderr
    row = row_of(block(copy, "docs/cost.md", "cost"), "`malloc`")
    assert ("bpftrace not measured" in row) == (spoil not in (a_look, other_target))
    assert row.endswith("| not measured |") == (spoil in (no_part, other_target))
    assert ("a quick look" in block(copy, "README.md", "readme")) == (spoil is a_look)


def test_no_run_is_said(copy):
    done = script(copy)
    assert done.returncode == 1 and "scripts/bench --figures" in done.stderr


def test_every_figure_stands_in_a_page():
    """Or is what another one is made of."""
    used = set(re.findall(r"\{([\w.]+)(?::bare)?\}", "".join(figures.BLOCKS.values())))
    made_of = {name for source in figures.FIGURES.values() if len(source) == 2
               for name in re.findall(r"[a-z][\w.]*", source[1])}
    assert used <= figures.FIGURES.keys() and figures.FIGURES.keys() - made_of <= used
    assert set(re.findall(r"\{aim:([\w.]+)\}", "".join(figures.BLOCKS.values()))) == figures.AIMS.keys()
