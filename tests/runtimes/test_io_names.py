# SPDX-License-Identifier: BSD-2-Clause
"""Names of files that are open for some microseconds: by the path that the call was given, never a wrong one."""
import collections
import json

import gaspbpf
import truth

JOB = [gaspbpf.WORKLOADS / "brief_files"]
ROUNDS = 333


def run(job, observe, folder, *options):
    folder.mkdir(exist_ok=True)
    running = job(JOB, env={"IO_FOLDER": str(folder)}).wait_ready()
    report = truth.window(running, observe, options=("-m", "io", *options))
    return report, running.truths()[0]["files"]


def rows_of(report, folder):
    """What each row says of opens and bytes, by name and who told it; the job's own files only."""
    rows = collections.defaultdict(lambda: {"opens": 0, "bytes": 0})
    for row in report["files"]:
        if row["file"] is None or row["named_by"] == "call, relative" or row["file"].startswith(f"{folder}/"):
            rows[row["file"], row["named_by"]]["opens"] += row["opens"]
            rows[row["file"], row["named_by"]]["bytes"] += row["bytes_written"]
    return rows


def compare(report, told, folder):
    """Each file is what Linux says, or what the call was given; how many of each."""
    rows = rows_of(report, folder)
    by = collections.Counter()
    whole = [row["file"] for row in report["files"] if row["named_by"] in ("linux", "call")]
    assert len(whole) == len(set(whole)), "one row a file, whoever told its name"
    for file in told:
        names = [(file["path"], "linux"), (file["path"], "call")]
        if file["given"] != file["path"] and file["given"] != "same":
            names.append((file["given"], "call, relative"))
        assert "(cut)" not in file["path"]
        opens = sum(rows[name]["opens"] for name in names)
        size = sum(rows[name]["bytes"] for name in names)
        by.update({who: rows[path, who]["opens"] for path, who in names})
        if file["given"] == "same":  # some of them are relative, to nobody knows which folder
            assert opens <= file["opens"] and size * file["opens"] == opens * file["bytes"], file
        else:
            assert (opens, size) == (file["opens"], file["bytes"]), file
    return rows, by


def test_each_file_has_its_name(job, observe, tmp_path, rung):
    """1,000 files, each by the name that it has, and what was written to it; what the working directory was is
    certain where it still is, and else not told."""
    report, told = run(job, observe, tmp_path / "data")
    assert len(told) == 3 * ROUNDS + 2
    rows, by = compare(report, told, tmp_path / "data")
    # Of those that are relative: as many as were looked at while the program had not gone elsewhere.
    assert by["call"] and by["call"] + by["linux"] >= ROUNDS, by
    same = {name: rows[f"{tmp_path}/data/{name}/same", who] for name in ("here", "there") for who in ("linux", "call")}
    lost = rows["same", "call, relative"]
    assert lost["bytes"] <= sum(file["bytes"] for file in told if file["given"] == "same"), same
    # Nobody's: the stream's end, by a descriptor that was copied, at most.
    # Nor can it be read what the program's constants are in a page of it that nobody has touched before.
    assert rows[None, None]["opens"] <= 2 and rows[None, None]["bytes"] <= 5 + 9 + 5


def test_a_name_that_is_odd(job, observe, tmp_path):
    """Longer than what is copied, or no text: told as that. What cannot be read, or fails, is nobody's name."""
    report, _ = run(job, observe, tmp_path / "data")
    names = {(row["file"], row["named_by"]): row for row in report["files"] if row["file"]}
    odd = [row for (file, by), row in names.items() if by != "linux" and file.endswith(" (cut)")]
    assert [(row["opens"], row["bytes_written"]) for row in odd] in ([], [(1, 7)])
    assert [row["bytes_written"] for (file, _), row in names.items()
            if file.startswith(f"{tmp_path}/data/there/no") or file.startswith("no")] == [9]
    assert not [file for file, _ in names if "/nothing/" in file or "uuuu" in file]
    assert odd or (f"{tmp_path}/data/there/long", "linux") in names


def test_the_recording_has_the_same_names(job, observe, tmp_path):
    """However often a descriptor was used again; and the text says whose word a name is."""
    data = tmp_path / "d".ljust(105 - len(str(tmp_path)), "d")
    assert len(f"{data}/whole.332") < 119
    data.mkdir()
    running = job(JOB, env={"IO_FOLDER": str(data)}).wait_ready()
    watcher = observe("-p", running.process.pid, "-m", "io", "-o", tmp_path / "x.gasp")
    running.work()
    status, _, errors = watcher.stop()
    assert status == 0 and running.end() == 0, errors
    report = json.loads(gaspbpf.run("report", "--json", tmp_path / "x.gasp").stdout)
    compare(report, running.truths()[0]["files"], data)
    text = gaspbpf.run("report", "--top", "4000", tmp_path / "x.gasp").stdout
    assert "as the program called it" in " ".join(text.split())
    assert "given: " in text and "relative: at." in text
    gaspbpf.run("export", tmp_path / "x.gasp", "-o", tmp_path / "x.json")
    calls = [event["args"]["pathname"] for event in json.loads((tmp_path / "x.json").read_text())["traceEvents"]
             if event["name"] == "GASP_IO_OPEN"]
    for file in running.truths()[0]["files"]:
        assert file["given"] in calls
    assert "/nothing/is/here" in calls
