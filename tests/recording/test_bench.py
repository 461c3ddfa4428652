# SPDX-License-Identifier: BSD-2-Clause
"""The measurements themselves are not tests; but the recordings that they are made on must be read back as they were
generated."""
import collections
import json
import subprocess

import pytest

import gaspbpf

BENCH = gaspbpf.TOP / "bench"
GENERATE = gaspbpf.TOP / "build" / "bench" / "generate"


def bench(*arguments):
    return subprocess.run(["/usr/bin/python3", BENCH / "bench.py", *arguments], capture_output=True, text=True,
                          timeout=60, check=False)


def test_help_names_the_parts_that_the_readme_has():
    told = bench("--help")
    assert told.returncode == 0
    rows = [line.split("`")[1] for line in (BENCH / "README.md").read_text(encoding="utf-8").splitlines()
            if line.startswith("| `")]
    named = " ".join(told.stdout.split()).split("only these: ")[1].split(" (default")[0].split()
    assert rows and sorted(rows) == sorted(named)


def test_an_unknown_part_is_an_error_that_names_the_known_ones():
    told = bench("sites", "teapots")
    assert told.returncode == 2
    assert "teapots: no such part: use sites pairs" in told.stderr


def test_the_figures_of_the_documents_are_of_parts_that_there_are():
    listed = subprocess.run(["/usr/bin/python3", "-c", "import figures; print(*figures.parts())"], capture_output=True,
                            text=True, timeout=60, check=True, cwd=BENCH, env={"PYTHONDONTWRITEBYTECODE": "1"})
    named = " ".join(bench("--help").stdout.split()).split("only these: ")[1].split(" (default")[0].split()
    assert len(listed.stdout.split()) > 10 and set(listed.stdout.split()) <= set(named)


KEEPS = """
import json, pathlib, sys
import bench
bench.RESULTS = pathlib.Path(sys.argv[1])
facts = json.loads(sys.argv[2])
kept = bench.earlier(facts, ["pairs"])
print(json.dumps([kept, facts]))
"""
MACHINE = {"kernel": "6.18", "cpu": "a", "cpus": 2, "quick": False}


def earlier(file, **other):
    return subprocess.run(["/usr/bin/python3", "-c", KEEPS, file, json.dumps({**MACHINE, "date": "d", **other})],
                          capture_output=True, text=True, timeout=60, check=False, cwd=BENCH,
                          env={"PYTHONDONTWRITEBYTECODE": "1"})


def test_what_an_earlier_run_measured_is_kept_with_its_commit(tmp_path):
    file = tmp_path / "bench.json"
    file.write_text(json.dumps({
        "machine": {**MACHINE, "date": "b", "commit": "2", "seconds": {"pairs": 1, "span": 2, "rate": 3},
                    "kept": {"rate": {"date": "a", "commit": "1"}}},
        "parts": {"pairs": [1], "span": [2], "rate": [3]}}))
    kept, facts = json.loads(earlier(file).stdout)
    assert kept == {"span": [2], "rate": [3]} and facts["seconds"] == {"span": 2, "rate": 3}
    assert facts["kept"] == {"span": {"date": "b", "commit": "2"}, "rate": {"date": "a", "commit": "1"}}
    for told in (earlier(file, cpu="b"), earlier(file, quick=True), earlier(tmp_path / "none")):
        assert told.returncode == 1 and "is of no such run" in told.stderr


def test_what_the_made_up_job_sends_is_received(tmp_path):
    """Else a simulation would keep all of it, and its memory would be no figure."""
    recording = tmp_path / "generated.gasp"
    made = json.loads(subprocess.run([GENERATE, "mpi", recording, "50000", "8"], capture_output=True, text=True,
                                     timeout=60, check=True, cwd=gaspbpf.TOP).stdout)
    told = gaspbpf.run("simulate", recording, "--plugin", "ideal", "--json")
    assert told.returncode == 0
    said = json.loads(told.stdout)
    sent = made["events"]["GASP_MPI_ISEND"] + made["events"]["GASP_MPI_SENDRECV"]
    assert said["messages"] + said["unmatched_sends"] == sent and said["unmatched_sends"] < sent / 100


@pytest.mark.parametrize("mix, spans, threads, probes", [
    ("mpi", 50_000, 8, 9), ("mpi", 7, 8, 9), ("mpi", 20_000, 200, 9), ("malloc", 50_000, 3, 5),
    ("malloc", 20_000, 1, 1), ("one", 20_000, 4, 2_000),
])
def test_a_generated_recording_is_read_back(tmp_path, mix, spans, threads, probes):
    assert GENERATE.exists(), f"{GENERATE} is not built: make bench-programs"
    recording, trace = tmp_path / "generated.gasp", tmp_path / "generated.json"
    made = json.loads(subprocess.run([GENERATE, mix, recording, str(spans), str(threads), str(probes)],
                                     capture_output=True, text=True, timeout=60, check=True, cwd=gaspbpf.TOP).stdout)
    assert (made["spans"], made["threads"], made["bytes"]) == (spans, threads, recording.stat().st_size)
    assert sum(made["events"].values()) == spans

    told = gaspbpf.run("report", "--json", recording)
    assert told.returncode == 0 and told.stderr == ""
    report = json.loads(told.stdout)
    assert {row["name"]: row["calls"] for row in report["events"]} == made["events"]
    assert report["loss"]["lost"] == 0 and report["loss"]["delivered"] == spans
    assert sum(row["calls"] for row in report["threads"]) == spans \
        and len(report["threads"]) == min(threads, spans // 7)

    assert gaspbpf.run("export", recording, "-o", trace).returncode == 0
    events = collections.Counter(event["name"] for event in json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
                                 if event["ph"] == "X")
    assert events == made["events"]
