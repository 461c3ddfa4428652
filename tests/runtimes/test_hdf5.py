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
    # It has no word for them: they are called what the runtime calls them.
    assert {(process["unit"], process["rank"]) for process in report["processes"]} == {("rank", 0), ("rank", 1)}
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


LATER = """
#include <stdint.h>
#include <stddef.h>
#ifdef LIBRARY
#define GIVES(result) { return result; }
#else
#define GIVES(result) ;
#endif
int64_t H5Fopen(const char *name, unsigned flags) GIVES(1)
int64_t H5Fcreate_async(char *file, char *func, unsigned line, const char *name, unsigned flags) GIVES(70)
int64_t H5Fopen_async(char *file, char *func, unsigned line, const char *name, unsigned flags) GIVES(71)
int H5Fclose_async(char *file, char *func, unsigned line, int64_t id) GIVES(-1)
int H5Fflush_async(char *file, char *func, unsigned line, int64_t id) GIVES(2)
int64_t H5Dcreate_async(char *file, char *func, unsigned line, int64_t id, const char *name) GIVES(72)
int64_t H5Dopen_async(char *file, char *func, unsigned line, int64_t id, const char *name) GIVES(73)
int H5Dread_async(char *file, char *func, unsigned line, int64_t id, int64_t type) GIVES(3)
int H5Dwrite_async(char *file, char *func, unsigned line, int64_t id, int64_t type) GIVES(4)
int H5Dclose_async(char *file, char *func, unsigned line, int64_t id) GIVES(5)
int H5Dread_multi(size_t count, int64_t *id) GIVES(6)
int H5Dwrite_multi(size_t count, int64_t *id) GIVES(7)
#ifndef LIBRARY
int main(void)
{
	int64_t ids[3] = { 0 };

	H5Fcreate_async("a.c", "main", 1, "created.h5", 11);
	H5Fopen_async("a.c", "main", 2, "opened.h5", 12);
	H5Fflush_async("a.c", "main", 3, 101);
	H5Dcreate_async("a.c", "main", 4, 102, "new");
	H5Dopen_async("a.c", "main", 5, 103, "old");
	H5Dread_async("a.c", "main", 6, 104, 9);
	H5Dwrite_async("a.c", "main", 7, 105, 9);
	H5Dclose_async("a.c", "main", 8, 106);
	H5Fclose_async("a.c", "main", 9, 107);
	H5Dread_multi(3, ids);
	H5Dwrite_multi(2, ids);
	return 0;
}
#endif
"""


def make_job(folder, source):
    """LATER's library and program."""
    (folder / "later.c").write_text(LATER)
    gaspbpf.compile_c(folder / "later.c", folder / "libhdf5.so", "-O1", "-DLIBRARY", "-shared", "-fPIC",
                      "-Wl,-soname,libhdf5.so.310")
    (folder / "libhdf5.so.310").symlink_to("libhdf5.so")
    gaspbpf.compile_c(folder / source, folder / "job", "-O1", "-g", f"-L{folder}", f"-Wl,-rpath,{folder}",
                      "-Wl,--no-as-needed", "-lhdf5")


def test_calls_that_later_versions_have(tmp_path):
    """Debian's HDF5 has none of these: a library that stands in its place, with the arguments that their documents
    say. They come behind the caller's file, function and line."""
    make_job(tmp_path, "later.c")
    out = gaspbpf.run("-q", "-m", "hdf5", "-o", tmp_path / "x.gasp", "--", tmp_path / "job")
    assert out.returncode == 0, out.stderr
    gaspbpf.run("export", tmp_path / "x.gasp", "-o", tmp_path / "x.json")
    calls = [(call["name"].removeprefix("GASP_H5_"), {key: value for key, value in call["args"].items()
                                                      if key != "site" and not key.endswith("bytes")})
             for call in json.loads((tmp_path / "x.json").read_text())["traceEvents"] if call["ph"] == "X"]
    assert calls == [
        ("FCREATE", {"filename": "created.h5", "flags": 11, "result": 70}),
        ("FOPEN", {"filename": "opened.h5", "flags": 12, "result": 71}),
        ("FFLUSH", {"object_id": 101, "result": 2}),
        ("DCREATE", {"loc_id": 102, "name": "new", "result": 72}),
        ("DOPEN", {"loc_id": 103, "name": "old", "result": 73}),
        ("DREAD", {"dset_id": 104, "result": 3}),
        ("DWRITE", {"dset_id": 105, "result": 4}),
        ("DCLOSE", {"dset_id": 106, "result": 5}),
        ("FCLOSE", {"file_id": 107, "result": -1}),
        ("DREAD_MULTI", {"count": 3, "result": 6}),
        ("DWRITE_MULTI", {"count": 2, "result": 7})]
    report = json.loads(gaspbpf.run("report", "--json", tmp_path / "x.gasp").stdout)
    assert {row["name"] for row in report["events"] if row["calls_without_bytes"]} == {
        "GASP_H5_DREAD", "GASP_H5_DWRITE", "GASP_H5_DREAD_MULTI", "GASP_H5_DWRITE_MULTI"}


LAYER = """
model    layer
language LAYER
numbers  0x100
library  program
unit     image
rank     env PMI_RANK
rank     plus 1
event WORK  both()  "layer_work()"
WORK  function  void layer_work(void)
"""
LAYER_WORK = """__attribute__((noipa)) void layer_work(void) { }
int main(void)
{
	layer_work();"""


def test_the_layer_that_has_a_word_for_ranks_counts(tmp_path):
    """Whatever the numbers of its events are."""
    (tmp_path / "layer.model").write_text(LAYER)
    (tmp_path / "layer.c").write_text(LATER.replace("int main(void)\n{", LAYER_WORK))
    make_job(tmp_path, "layer.c")
    for models, unit, rank in ("layer,hdf5", "image", 4), ("hdf5", "rank", 3):
        out = gaspbpf.run("-q", "--model-file", tmp_path / "layer.model", "-m", models, "-o", tmp_path / "x.gasp", "--",
                          tmp_path / "job", env={"PMI_RANK": "3"})
        assert out.returncode == 0, out.stderr
        process, = json.loads(gaspbpf.run("report", "--json", tmp_path / "x.gasp").stdout)["processes"]
        assert (process["unit"], process["rank"]) == (unit, rank)
