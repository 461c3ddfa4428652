# SPDX-License-Identifier: BSD-2-Clause
"""HDF5's own calls against the job's account: one file of all processes, and one of each."""
import json

import conformance
import gaspbpf
import truth

PROGRAM = gaspbpf.WORKLOADS / "hdf5_job"
NAMES = {"DSET_EXTENT": "DSET_EXTENT", "AOPEN_BY_NAME": "AOPEN", "LCREATE_SOFT": "LCREATE", "LCREATE_HARD": "LCREATE"}


def event_of(function):
    """H5Dread -> GASP_H5_DREAD, H5Gcreate2 -> GASP_H5_GCREATE."""
    name = function.removeprefix("H5").rstrip("12").upper()
    return f"GASP_H5_{NAMES.get(name, name)}"


def team(job, tmp_path, rounds=4):
    line = ["mpirun.openmpi", "--oversubscribe", "-n", "2", PROGRAM, "--rounds", str(rounds)]
    return job(line, ranks=2, env={**truth.ENVIRONMENT, "HDF5_FOLDER": str(tmp_path)}).wait_ready()


def test_calls_lines_and_bytes_are_the_jobs(job, observe, tmp_path, rung):
    running = team(job, tmp_path)
    report = truth.window(running, observe)
    counted = truth.by_event(truth.functions(running), event_of)
    assert len(counted) > 25
    rows = [row for row in report["events"] if row["model"] == "hdf5"]
    assert {row["name"]: row["calls"] for row in rows} == {name: count["calls"] for name, count in counted.items()}
    assert not any(row["inner"]["calls"] for row in rows)
    assert {site["file"].rsplit("/")[-1] for row in rows for site in row["sites"]} == {"hdf5_job.c"}
    written, = (row for row in rows if row["name"] == "GASP_H5_DWRITE_CHUNK")
    assert written["bytes"] == counted["GASP_H5_DWRITE_CHUNK"]["bytes"] and not written["calls_without_bytes"]
    # What only the library knows is not 0.
    assert all(row["calls_without_bytes"] == row["calls"] for row in rows
               if row["name"] in ("GASP_H5_DREAD", "GASP_H5_DWRITE"))
    conformance.seen("libhdf5-1.10.8", *counted)
    # Its files are I/O, and MPI-IO's calls below are, too.
    assert "GASP_MPI_FILE_WRITE_AT_ALL" in gaspbpf.events(report)
    assert all(thread["group_ns"]["io"] > thread["group_ns"]["data"] for thread in report["threads"] if thread["calls"])


def test_names_and_results_are_the_programs(job, observe, tmp_path):
    running = team(job, tmp_path, 1)
    recording = tmp_path / "x.gasp"
    watcher = observe("-p", running.process.pid, "-m", "hdf5", "-o", recording)
    running.work()
    assert watcher.stop()[0] == 0 and running.end() == 0
    gaspbpf.run("export", recording, "-o", tmp_path / "x.json")
    calls = [call for call in json.loads((tmp_path / "x.json").read_text())["traceEvents"] if call["ph"] == "X"]

    def values(event, key):
        return [call["args"][key] for call in calls if call["name"] == f"GASP_H5_{event}"]

    own = {f"{tmp_path}/own.{rank}.h5" for rank in (0, 1)}
    assert {*values("FOPEN", "filename")} == own
    assert {*values("FCREATE", "filename")} == own | {f"{tmp_path}/together.h5"}
    assert {*values("DCREATE", "name")} == {"energy", "chunks"}
    assert sorted(values("DOPEN", "name")) == ["chunks", "chunks", "nothing of this name", "nothing of this name"]
    assert values("DOPEN", "result").count(-1) == 2
    assert {*values("DREAD", "dset_id")} <= {*values("DCREATE", "result"), *values("DOPEN", "result")}
    assert {*values("DWRITE_CHUNK", "data_size")} == {384}
    assert sorted(values("LEXISTS", "result")) == [0, 0, 1, 1]
