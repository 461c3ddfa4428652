# SPDX-License-Identifier: BSD-2-Clause
"""oneTBB: what its templates call in the library, against a counting library and what the job itself knows."""
import json
import re

import conformance
import gaspbpf
import truth

PROGRAM = gaspbpf.WORKLOADS / "tbb_job"
JOB = [PROGRAM, "--rounds", "3"]
# By the names of tbb::detail::r1 in the symbols; what is left out has no line here.
NAMES = {"spawn": "SPAWN", "enqueue": "ENQUEUE", "submit": "SUBMIT", "execute_and_wait": "EXECUTE_AND_WAIT",
         "parallel_pipeline": "PARALLEL_PIPELINE", "cancel_group_execution": "CANCEL", "suspend": "SUSPEND",
         "resume": "RESUME", "finalize": "FINALIZE", "attach": "ARENA_ATTACH", "terminate": "ARENA_TERMINATE",
         "execute": "ARENA_EXECUTE", "isolate_within_arena": "ISOLATE", "wait_on_address": "WAIT_ON_ADDRESS",
         "notify_by_address": "NOTIFY", "notify_by_address_one": "NOTIFY", "notify_by_address_all": "NOTIFY",
         "wait_bounded_queue_monitor": "QUEUE_WAIT", "notify_bounded_queue_monitor": "QUEUE_NOTIFY",
         "acquire": "LOCK", "try_acquire": "TRYLOCK", "release": "UNLOCK", "cache_aligned_allocate": "ALLOCATE",
         "allocate_memory": "ALLOCATE", "cache_aligned_deallocate": "DEALLOCATE", "deallocate_memory": "DEALLOCATE"}
# By their first argument: wait(wait_context&, ...), wait(task_arena_base&), initialize(task_arena_base&).
BY_ARGUMENT = {"4waitERNS0_2d112wait_context": "WAIT", "4waitERNS0_2d115task_arena_base": "ARENA_WAIT",
               "10initializeERNS0_2d115task_arena_base": "ARENA_INITIALIZE"}


def event_of(symbol):
    """_ZN3tbb6detail2r15spawnE... -> GASP_TBB_SPAWN; None: left out."""
    rest = symbol.removeprefix("_ZN3tbb6detail2r1")
    for start, event in BY_ARGUMENT.items():
        if rest.startswith(start):
            return f"GASP_TBB_{event}"
    for name, event in NAMES.items():
        if rest.startswith(f"{len(name)}{name}E"):
            return f"GASP_TBB_{event}"
    return None


def observed(job, observe, tmp_path):
    running = job([*truth.counting("libcount_tbb.so", tmp_path), *JOB]).wait_ready()
    report = truth.window(running, observe)
    return running, report, truth.by_event(truth.windows(tmp_path, "tbb"), event_of)


def test_calls_are_those_of_a_counting_library(job, observe, tmp_path, rung):
    running, report, counted = observed(job, observe, tmp_path)
    # The library wakes its own threads past what can be preloaded.
    woken = counted.pop("GASP_TBB_NOTIFY")["calls"]
    [notify] = [row for row in report["events"] if row["name"] == "GASP_TBB_NOTIFY"]
    assert truth.with_inner(notify)["calls"] >= woken
    report["events"].remove(notify)
    assert truth.differences_in_calls(report, counted, "TBB", inner=True) == {}
    assert len(counted) > 18
    conformance.seen("onetbb-2021.8", *counted)
    assert {row["model"] for row in report["events"]} == {"tbb"}
    truth.compare_with_alone(running, JOB)


def test_locks_and_tasks_are_the_programs(job, observe, tmp_path):
    """Who releases says which mutex it was; a task that is handed on is an address, a payload is what was asked for."""
    running = job(JOB).wait_ready()
    recording = tmp_path / "x.gasp"
    watcher = observe("-p", running.process.pid, "-o", recording)
    running.work()
    assert watcher.stop()[0] == 0 and running.end() == 0
    gaspbpf.run("export", recording, "-o", tmp_path / "x.events")
    text = (tmp_path / "x.events").read_text()
    mutexes = {event: re.findall(rf"START GASP_TBB_{event} mutex=(\S+)", text)
               for event in ("LOCK", "TRYLOCK", "UNLOCK")}
    assert len(mutexes["LOCK"]) == 9 and len(mutexes["UNLOCK"]) == 12
    assert {*mutexes["LOCK"]} == {*mutexes["TRYLOCK"]} == {*mutexes["UNLOCK"]} and "unknown" not in mutexes["UNLOCK"]
    assert re.findall(r"END GASP_TBB_TRYLOCK .*result=(\d+)", text) == ["1"] * 3
    sizes = re.findall(r"START GASP_TBB_ALLOCATE size=(\d+)", text)
    assert sizes.count("800") == 3  # 100 long
    tasks = re.findall(r"START GASP_TBB_(?:SPAWN|ENQUEUE|SUBMIT) task=(\S+)", text)
    assert len(tasks) > 100 and not {"unknown", "0x0"} & {*tasks}


def test_what_the_job_did(job, observe):
    """What does not depend on how TBB splits it."""
    running = job(JOB).wait_ready()
    report = truth.window(running, observe)
    did = {name: count["calls"] for name, count in running.truths()[0]["functions"].items()}
    rows = {name: row["calls"] for name, row in gaspbpf.events(report).items()}
    for event, name in {"WAIT": "task_group::wait", "ARENA_INITIALIZE": "arena.initialize", "ISOLATE": "isolate",
                        "PARALLEL_PIPELINE": "pipeline", "LOCK": "lock", "TRYLOCK": "trylock",
                        "SUSPEND": "suspend"}.items():
        # A flow graph's wait_for_all() is a wait, too, and a task_group's destructor looks once more.
        assert rows[f"GASP_TBB_{event}"] >= did[name], event
        if event != "WAIT":
            assert rows[f"GASP_TBB_{event}"] == did[name], event
    assert rows["GASP_TBB_UNLOCK"] == did["lock"] + did["trylock"]
    assert rows["GASP_TBB_ENQUEUE"] == did["arena.enqueue"]
    # Each loop is one, and each pipeline has one inside.
    loops = gaspbpf.events(report)["GASP_TBB_EXECUTE_AND_WAIT"]
    assert truth.with_inner(loops)["calls"] == did["loop"] + did["pipeline"]
    # Who has the lock, or what the queue waits for, goes on when the other one sleeps.
    assert rows["GASP_TBB_WAIT_ON_ADDRESS"] == rows["GASP_TBB_QUEUE_WAIT"] == 3
    assert [each["event"] for each in report["not_observable"] if each["model"] == "tbb"] == ["GASP_TBB_TASK"]


def test_names_are_those_that_people_write():
    listed = json.loads(gaspbpf.run("list", "--json", PROGRAM).stdout)
    assert len([site for site in listed["found"] if site["model"] == "tbb"]) == 39
    text = gaspbpf.run("list", PROGRAM).stdout
    assert "tbb::detail::r1::spawn" in text and "unmodelled" not in text
