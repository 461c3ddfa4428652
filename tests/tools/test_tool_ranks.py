# SPDX-License-Identifier: BSD-2-Clause
"""GASP tools as they are written for UPC programs, which expect one process for each thread and a runtime to ask, told
of a job that they were never in."""
import re

import pytest

import gaspbpf
import naming
import toolkit
import upc

GETS, PUTS = {"GASP_UPC_GET", "GASP_UPC_MEMGET"}, {"GASP_UPC_PUT", "GASP_UPC_MEMPUT"}


@pytest.fixture(scope="module")
def tool(tmp_path_factory):
    return toolkit.build(tmp_path_factory.mktemp("tool"), "split_tool.c", str(toolkit.EXAMPLES / "gasp_upcalls.c"))


def observed(folder, program, *options, env=None):
    """A job from its gate to its end, as its own log has it: what it wrote down of its calls."""
    ring = gaspbpf.Job(upc.command(program, 2), folder, ranks=3, env={"UPC_CALLS": "calls"})
    watcher = None
    try:
        watcher = gaspbpf.Observation("-m", "upc", "-p", ring.wait_ready().process.pid, *options, env=env)
        ring.work()
        assert ring.end() == 0, ring.output()
        status, _, errors = watcher.finish()
        assert status == 0, errors
        return upc.calls_made(folder)
    finally:
        ring.kill()
        if watcher and watcher.process.poll() is None:
            watcher.process.kill()


@pytest.fixture(scope="module", params=["upc_job", "upc_job_struct"])
def recorded(request, tmp_path_factory):
    """(recording, what the job wrote down): pointers-to-shared of 8 bytes, and of 16."""
    folder = tmp_path_factory.mktemp("run")
    return folder / "run.gasp", observed(folder, request.param, "-o", folder / "run.gasp")


def moved(calls):
    """{remote thread: (bytes put, bytes got)} of a thread's calls, those that take the pointer-to-shared apart among
    them."""
    sums = {}
    for _, function, arguments, _ in calls:
        event = naming.upc(function)
        if event not in GETS | PUTS:
            continue
        name = "src" if event in GETS else "dst"
        remote = arguments[f"{name}.thread"] if f"{name}.thread" in arguments else arguments[name].split(".")[0]
        put, got = sums.get(int(remote), (0, 0))
        n = int(arguments["n"])
        sums[int(remote)] = (put, got + n) if event in GETS else (put + n, got)
    return {remote: pair for remote, pair in sums.items() if any(pair)}


def profiles(folder):
    """What the tool wrote: {its node: (threads, {remote thread: (put, got)})}."""
    found = {}
    for path in folder.glob("profile.*"):
        text = path.read_text()
        found[int(path.suffix[1:])] = (int(re.match(r"threads (\d+)", text)[1]), {
            int(thread): (int(put), int(got))
            for thread, put, got in re.findall(r"^thread (\d+) put (\d+) got (\d+)$", text, re.M)})
    return found


def test_one_process_for_each_of_the_job(recorded, tool, tmp_path):
    """Each has its own number, knows how many there are, and is told whose memory each access was to."""
    recording, made = recorded
    result = gaspbpf.run("replay", recording, "--tool", tool, "--tool-threads=process",
                         env={"TOOL_FOLDER": str(tmp_path)})
    assert result.returncode == 0, result.stderr
    expected = {thread: (3, moved(calls)) for thread, calls in made.values()}
    assert set(expected) == {0, 1, 2} and all(bytes for _, bytes in expected.values())
    assert any("thread" in name for _, calls in made.values() for _, _, arguments, _ in calls for name in arguments), \
        "nothing was taken apart"
    assert profiles(tmp_path) == expected


def test_in_one_process_it_is_still_told_whose_memory(recorded, tool, tmp_path):
    recording, made = recorded
    result = gaspbpf.run("replay", recording, "--tool", tool, env={"TOOL_FOLDER": str(tmp_path)})
    assert result.returncode == 0, result.stderr
    ((threads, bytes),) = profiles(tmp_path).values()
    together = {}
    for _, calls in made.values():
        for remote, (put, got) in moved(calls).items():
            before = together.get(remote, (0, 0))
            together[remote] = (before[0] + put, before[1] + got)
    assert (threads, bytes) == (3, together)


def test_live(tool, tmp_path):
    """While the job runs."""
    made = observed(tmp_path, "upc_job", "--tool", tool, "--tool-threads=process", env={"TOOL_FOLDER": str(tmp_path)})
    assert profiles(tmp_path) == {thread: (3, moved(calls)) for thread, calls in made.values()}


def test_a_tool_that_dies_of_it_is_told_to_be_run_otherwise(recorded, tool, tmp_path):
    recording, _ = recorded
    environment = {"TOOL_FOLDER": str(tmp_path), "TOOL_ALONE": "1"}  # it cannot bear a second thread in its process
    for threads, hint in ((), "--tool-threads=each, or process"), (("--tool-threads=each",), "--tool-threads=process"):
        result = gaspbpf.run("replay", recording, "--tool", tool, *threads, env=environment)
        assert result.returncode == 1
        assert "crashed (Aborted) in gasp_init()" in result.stderr and f"wants {hint}\n" in result.stderr, result.stderr
    result = gaspbpf.run("replay", recording, "--tool", tool, "--tool-threads=process", env=environment)
    assert result.returncode == 0, result.stderr
    assert set(profiles(tmp_path)) == {0, 1, 2}


@pytest.mark.parametrize("trouble", ["crash", "exit"])
def test_one_of_its_processes_that_dies_is_told_of(recorded, tmp_path, trouble):
    recording, _ = recorded
    log = toolkit.build(tmp_path, "gasp_log.c")
    result = gaspbpf.run("replay", recording, "--tool", log, "--tool-threads=process",
                         env={"TOOL_LOG": str(tmp_path / "log"), "TOOL_DO": trouble, "TOOL_AT": "100"})
    assert result.returncode == 1
    assert ("crashed (Segmentation fault)" if trouble == "crash" else "ended its process (exit "
            "status 0)") in result.stderr, result.stderr
    assert "in its notify function, told of GASP_UPC_" in result.stderr
    assert "wants --tool-threads" not in result.stderr
