# SPDX-License-Identifier: BSD-2-Clause
"""Files: calls and bytes against the job's own account, by function and by file."""
import collections
import json

import conformance
import gaspbpf
import truth

EVENTS = {"open": "OPEN", "close": "CLOSE", "read": "READ", "readv": "READV", "pread": "PREAD", "write": "WRITE",
          "writev": "WRITEV", "pwrite": "PWRITE", "fsync": "SYNC", "lseek": "SEEK", "openat": "OPEN",
          "pwritev": "PWRITEV", "preadv": "PREADV", "copy_file_range": "COPY", "sendfile": "COPY",
          "ftruncate": "TRUNCATE", "posix_fallocate": "ALLOCATE", "mmap": "MMAP", "msync": "MSYNC"}
SUMS = ["opens", "reads", "bytes_read", "writes", "bytes_written", "in_order", "small_reads", "small_writes"]
BRIEF = "small.data", "first.text", "second.text"  # closed at once
STREAMS = BRIEF[1:]  # and opened by libc
JOB = [gaspbpf.WORKLOADS / "io_job", "--rounds", "4"]


def observed(job, observe, tmp_path, *options):
    (tmp_path / "data").mkdir()
    running = job(JOB, env={"IO_FOLDER": str(tmp_path / "data")}).wait_ready()
    report = truth.window(running, observe, options=options)
    return running, report, running.truths()[0]


def with_small(row):
    """The row, and how many of its calls moved 100 bytes at most."""
    for kind in "read", "write":
        sizes = dict(row[f"{kind}_sizes"])
        row[f"small_{kind}s"] = sizes.get(100, 0)
        assert sum(sizes.values()) == row[f"{kind}s"]
    return row


def by_file(report, folder):
    """The rows of the job's own files, and the sum of those that have no name."""
    named, unknown = {}, collections.Counter()
    for row in map(with_small, report["files"]):
        if row["file"] is None:
            unknown.update({key: row[key] for key in SUMS})
        elif row["file"] == "(sockets)" or row["file"].startswith(f"{folder}/"):
            # Of a file that is opened again and again Linux was asked in time now and then; else it is what the
            # caller said.
            had = named.setdefault(row["file"], dict.fromkeys(SUMS, 0))
            assert not had["opens"] or row["file"].endswith(BRIEF)
            named[row["file"]] = {key: had[key] + row[key] for key in SUMS}
    return named, unknown


def test_calls_bytes_and_files_are_the_jobs(job, observe, tmp_path, rung):
    """Each call that the job's own source makes, and what it moved: -1 is nothing. A file that the job opens has its
    name; one that libc opens and closes at once has the right one or none."""
    running, report, told = observed(job, observe, tmp_path, "-m", "io")
    seen = collections.Counter()
    for row in report["events"]:
        for site in row["sites"]:
            if (site["file"] or "").endswith("io_job.c"):
                seen[row["name"]] += site["calls"]
    counted = truth.by_event([told["functions"]], lambda function: f"GASP_IO_{EVENTS[function]}")
    assert seen == {name: count["calls"] for name, count in counted.items()}
    named, unknown = by_file(report, tmp_path / "data")
    for path, count in told["files"].items():
        if path.endswith(STREAMS):
            has = named.get(path, dict.fromkeys(SUMS, 0))
            assert all(has[key] <= count[key] <= has[key] + unknown[key] for key in SUMS), path
        else:
            assert named[path] == count, path
    rows = gaspbpf.events(report)
    # Nothing is unknown of those that libc makes, either, nor of one that fails.
    assert not rows["GASP_IO_READ"]["calls_without_bytes"] and not rows["GASP_IO_WRITE"]["calls_without_bytes"]
    for name in "PREAD", "PREADV", "READV", "WRITEV", "PWRITE", "PWRITEV", "COPY":
        row = rows[f"GASP_IO_{name}"]
        assert row["bytes"] == counted[f"GASP_IO_{name}"]["bytes"] and not row["calls_without_bytes"]
    conformance.seen("glibc", *counted)
    truth.compare_with_alone(running, ["env", f"IO_FOLDER={tmp_path / 'data'}", *JOB])


def test_each_process_has_files_of_its_own(job, observe, tmp_path):
    """The same descriptors are other files in another process; JSON has them apart, the text together."""
    running, folders = [], [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        running.append(job(JOB, env={"IO_FOLDER": str(folder)}).wait_ready())
    watcher = observe("-p", ",".join(str(each.process.pid) for each in running), "-m", "io", "--json")
    for each in running:
        each.work()
    status, out, errors = watcher.stop()
    assert status == 0 and [each.end() for each in running] == [0, 0], errors
    rows = json.loads(out)["files"]
    for each, folder in zip(running, folders):
        told = each.truths()[0]["files"]
        for path in (str(folder / name) for name in ("long.data", "even.data", "odd.data", "rare.data")):
            [row] = [row for row in rows if row["file"] == path]
            assert row["pid"] == each.process.pid and {key: with_small(row)[key] for key in SUMS} == told[path]
    assert sorted(row["pid"] for row in rows if row["file"] == "(sockets)") == sorted(each.process.pid
                                                                                    for each in running)


def test_only_where_they_are_asked_for(job, observe, tmp_path):
    """By itself a job's report has no files, nor has one of other models."""
    for number, options in enumerate(((), ("-m", "c"))):
        folder = tmp_path / str(number)
        folder.mkdir()
        _, report, _ = observed(job, observe, folder, *options)
        assert not report["files"] and not [name for name in gaspbpf.events(report) if "GASP_IO_" in name]


def test_the_recording_says_the_same(job, observe, tmp_path):
    """Names and figures are those of the recording, too: in its report, in a table, and in its list of events."""
    (tmp_path / "data").mkdir()
    running = job(JOB, env={"IO_FOLDER": str(tmp_path / "data")}).wait_ready()
    recording = tmp_path / "x.gasp"
    watcher = observe("-p", running.process.pid, "-m", "+io", "-o", recording)
    running.work()
    status, out, errors = watcher.stop()
    assert status == 0 and running.end() == 0, errors
    report = json.loads(gaspbpf.run("report", "--json", recording).stdout)
    told = running.truths()[0]["files"]
    named, _ = by_file(report, tmp_path / "data")
    for path in told:
        if not path.endswith(STREAMS):
            assert named[path] == told[path], path
    text = gaspbpf.run("report", recording).stdout
    assert "Files  (" in text and "long.data" in text and "Files  (" in out
    assert [row for row in report["threads"] if row["group_ns"]["io"]]


def test_top_has_a_column_where_they_are_asked_for(job, tmp_path):
    running = job([gaspbpf.WORKLOADS / "io_job", "--seconds", "60"], env={"IO_FOLDER": str(tmp_path)}).wait_ready()
    (running.gate / "go").touch()
    for options, there in (("-m", "io"), True), (("-m", "c"), False):
        shown = gaspbpf.run("top", "--once", "--interval", "0.5", *options, "-p", running.process.pid)
        assert ("I/O" in shown.stdout.split()) == there, shown.stdout + shown.stderr
