# SPDX-License-Identifier: BSD-2-Clause
"""How probes go in: few links for many functions, nothing in processes that are not observed, one link for many
processes."""
import json
import pathlib
import re
import subprocess

import pytest

import gaspbpf
import placing
import remains
import truth

MULTI_RUNGS = ["session", "multi"]  # on `perf` each probe is a link of its own
RUNGS = [*MULTI_RUNGS, "perf"]
OPENSHMEM = "liboshmem.so.40"


def links_held(pid):
    """How many links of each type a process holds, those on tracepoints aside."""
    types = []
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").glob("*"):
        types += re.findall(r"^link_type:\s*(\S+)$", info.read_text(), re.MULTILINE)
    return {kind: types.count(kind) for kind in set(types) - {"raw_tracepoint", "tracing"}}


# --- many functions

def exported_functions(library):
    """The places of the functions that OpenSHMEM's library exports, as binutils see them."""
    out = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {int(address, 16) for address, kind, name in map(str.split, out.splitlines())
            if kind in "TW" and re.match(r"p?(shmem_|start_pes|my_pe|num_pes)", name)}


@pytest.mark.parametrize("rung", MULTI_RUNGS)
def test_hundreds_of_functions_are_one_link_for_a_kind(job, observe, tmp_path, rung):
    """All functions of OpenSHMEM's library, whether called or not: one link for calls and returns on `session`, one for
    each on `multi`; one more for those whose calls alone are of interest, one for the process's dynamic linker, and one
    for MPI_Pcontrol() in the library below."""
    library = remains.copy_of(OPENSHMEM, tmp_path)
    target = job([gaspbpf.WORKLOADS / "threads", "--rounds", 2], env={"LD_PRELOAD": str(library)}).wait_ready()
    pid = target.process.pid
    probed = remains.places(pid, "-m", "shmem")
    assert len(probed) >= 838
    assert len(probed) >= 0.95 * len(exported_functions(library))
    assert remains.changed_text(pid, library) == 0
    watcher = observe("-p", pid, "-m", "shmem", env={"GASPBPF_RUNG": rung})
    expected = {"session": [{"uprobe_multi": 4}],
                "multi": [{"uprobe_multi": 4, "uretprobe_multi": 1}, {"uprobe_multi": 5}]}
    assert links_held(watcher.process.pid) in expected[rung]
    assert remains.patched(pid, probed) == probed
    held = remains.held_by(watcher.process.pid)
    status, _, errors = watcher.stop()
    assert status == 0, errors
    remains.assert_gone(held)
    assert remains.changed_text(pid, library) == 0
    target.work()
    assert target.end() == 0


# --- bystanders

@pytest.mark.parametrize("rung", RUNGS)
def test_a_bystander_has_no_breakpoint_and_is_not_counted(job, observe, tmp_path, rung):
    """Two processes that map the same library and work at the same time; under process scope one of them is left
    alone."""
    library = remains.copy_of("libc.so.6", tmp_path)
    both = [job([gaspbpf.WORKLOADS / "threads", "--rounds", rounds],
                env={"LD_LIBRARY_PATH": str(tmp_path)}).wait_ready()
            for rounds in (40, 70)]
    watched, bystander = both
    watcher = observe("-p", watched.process.pid, "-m", "c", "--scope=process", "--json", env={"GASPBPF_RUNG": rung})
    assert remains.changed_text(watched.process.pid, library)
    assert remains.changed_text(bystander.process.pid, library) == 0
    (bystander.gate / "go").touch()
    watched.work()
    bystander.work()
    assert remains.changed_text(watched.process.pid, library)
    assert remains.changed_text(bystander.process.pid, library) == 0
    assert gaspbpf.breakpoints(watched.process.pid) and not gaspbpf.breakpoints(bystander.process.pid)
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert remains.changed_text(watched.process.pid, library) == 0
    assert [each.end() for each in both] == [0, 0]
    report = json.loads(out)
    assert {thread["pid"] for thread in report["threads"]} == {watched.process.pid}
    counted = truth.functions(watched)[0]
    assert gaspbpf.events(report)["GASP_C_MALLOC"]["calls"] == counted["malloc"]["calls"]
    assert gaspbpf.events(report)["GASP_C_FREE"]["calls"] == counted["free"]["calls"]


# --- many processes

# Waits for a number N, calls once() N times and twice() 2 N times, says so, and waits for its end.
RANK = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noipa)) int once(int n) { return n + 1; }
__attribute__((noipa)) int twice(int n) { return n - 1; }
int main(void)
{
	char line[32] = "";
	long n, sum = 0;

	if (read(0, line, sizeof(line) - 1) <= 0)
		return 1;
	n = atol(line);
	for (long i = 0; i < n; i++)
		sum += once(i) + twice(i) + twice(i + 1);
	snprintf(line, sizeof(line), "%ld\n", sum);
	if (write(1, line, 1) != 1)
		return 1;
	return read(0, line, 1);
}
"""
# Only the program's own functions: probes for everybody do not belong on the C library.
MODEL = """
model    rank
language RANK
library  rank
ONCE  function leaf int once(int n)
TWICE function leaf int twice(int n)
"""
RANKS = 64


@pytest.fixture
def ranks(tmp_path):
    """64 processes of one program, and one more that nobody observes."""
    (tmp_path / "rank.c").write_text(RANK)
    (tmp_path / "rank.model").write_text(MODEL)
    gaspbpf.compile_c(tmp_path / "rank.c", tmp_path / "rank", "-O2", "-g")
    started = [subprocess.Popen([tmp_path / "rank"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
               for _ in range(RANKS + 1)]
    yield started
    for each in started:
        each.kill()
        each.communicate()


@pytest.mark.alone
@pytest.mark.parametrize("rung", RUNGS)
def test_one_link_serves_64_processes(ranks, observe, tmp_path, rung):
    """Under file scope the links on observed functions do not grow in number with the processes, and each one's calls
    are its own. Besides, each process's dynamic linker has a link, where that is quick to remove."""
    *observed, bystander = ranks
    watcher = observe("-p", ",".join(str(each.pid) for each in observed), "--scope=file", "--json", "-m", "rank",
                      "--model-file", tmp_path / "rank.model", env={"GASPBPF_RUNG": rung})
    links = links_held(watcher.process.pid)
    assert remains.changed_text(bystander.pid, tmp_path / "rank"), "it runs over breakpoints, and is nobody's target"
    for i, each in enumerate(ranks):
        each.stdin.write(b"%d\n" % (10 + i))
        each.stdin.flush()
    for each in ranks:
        assert each.stdout.read(1)
    status, out, errors = watcher.stop()
    assert status == 0, errors
    report = json.loads(out)
    assert report["loss"]["lost"] == 0
    assert {(row["tid"], row["name"]): row["calls"] for row in report["by_thread"]} == {
        (each.pid, name): times * (10 + i) for i, each in enumerate(observed)
        for name, times in (("GASP_RANK_ONCE", 1), ("GASP_RANK_TWICE", 2))}
    assert sum(links.values()) == {"session": 1 + RANKS, "multi": 2 + RANKS, "perf": 4}[rung]
    for each in ranks:
        each.communicate(b"\n")
    assert {each.returncode for each in ranks} == {1}


@pytest.mark.parametrize("options, seen", [([], {"F0": 7}), (["--all-symbols"], {"F0": 7, "F1": 7})],
                         ids=["imported", "all"])
def test_on_perf_what_nobody_imports_is_to_be_asked_for(tmp_path, options, seen):
    """In a large library: of a hundred functions the program calls one, and that calls another one within."""
    names = [f"each_{number}" for number in range(100)]
    (tmp_path / "many.c").write_text("".join(
        f'__attribute__((noipa)) int {name}(int n) {{ return n + {number}; }}\n'
        for number, name in reversed(list(enumerate(names))) if number) +
        "__attribute__((noipa)) int each_0(int n) { return each_1(n) + 1; }\n")
    (tmp_path / "main.c").write_text("int each_0(int); int main(void) { int n = 0; for (int i = 0; i < 7; i++) n += "
                                     "each_0(i); return n != 7 + 7 + 21; }\n")
    gaspbpf.compile_c(tmp_path / "many.c", tmp_path / "libmany.so", "-O1", "-shared", "-fPIC", "-Wl,-Bsymbolic")
    gaspbpf.compile_c(tmp_path / "main.c", tmp_path / "main", f"-L{tmp_path}", "-Wl,--no-as-needed", "-lmany",
                      f"-Wl,-rpath,{tmp_path}")
    result = gaspbpf.run("--model-file", placing.write_model(tmp_path, "libmany.so", names), "-m", "every", "-q",
                         "--json", "--returns=none", *options, "--", tmp_path / "main", env={"GASPBPF_RUNG": "perf"})
    assert result.returncode == 0, result.stderr
    assert {name.removeprefix("GASP_EVERY_"): row["calls"] + row["inner"]["calls"] for name, row in
            gaspbpf.events(json.loads(result.stdout)).items()} == seen
