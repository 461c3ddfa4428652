# SPDX-License-Identifier: BSD-2-Clause
"""LLVM's OpenMP runtime: which event is which function, what it calls of its own, and a later version of it."""
import collections
import re

import pytest

import debian

# Names in which the event's does not stand; the first that matches counts.
EVENTS = [
    (r"__kmp_invoke_microtask", "IMPLICIT_TASK"),
    (r"__kmpc_fork_call\w*|GOMP_parallel(_reductions|_sections|_loop_\w+(?<!_start))?", "PARALLEL"),
    (r"__kmpc_fork_teams", "TEAMS"), (r"__kmpc_serialized_parallel", "SERIAL_START"),
    (r"__kmpc_end_serialized_parallel", "SERIAL_END"),
    (r"__kmpc_(dist_)?(for|team)_static_init_\w+", "LOOP_STATIC_START"), (r"__kmpc_for_static_fini", "LOOP_STATIC_END"),
    (r"__kmpc_(dist_)?dispatch_init_\w+|GOMP_loop_\w*start", "LOOP_START"),
    (r"__kmpc_dispatch_next_\w+|GOMP_loop_\w+_next", "LOOP_NEXT"),
    (r"__kmpc_dispatch_fini_\w+", "LOOP_ITERATION_END"), (r"__kmpc_ordered", "ORDERED_START"),
    (r"__kmpc_end_ordered", "ORDERED_END"),
    (r"__kmpc_doacross_init", "DOACROSS_START"), (r"__kmpc_doacross_fini", "DOACROSS_END"),
    (r"__kmpc_(master|masked)", "MASKED"), (r"__kmpc_end_(master|masked)", "MASKED_END"),
    (r"GOMP_single_start", "SINGLE"), (r"__kmpc_end_single", "SINGLE_END"),
    (r"__kmpc_(cancel_)?barrier", "BARRIER"),
    (r"__kmpc_reduce\w*", "REDUCE"), (r"__kmpc_end_reduce", "REDUCE_END"),
    (r"__kmpc_critical\w*|GOMP_critical_(name_)?start", "CRITICAL_START"),
    (r"__kmpc_end_critical|GOMP_critical_(name_)?end", "CRITICAL_END"),
    (r"(__kmpc|omp)_init_(nest_)?lock\w*", "LOCK_INIT"), (r"(__kmpc|omp)_destroy_(nest_)?lock", "LOCK_DESTROY"),
    (r"(__kmpc|omp)_set_(nest_)?lock", "LOCK"), (r"(__kmpc|omp)_unset_(nest_)?lock", "UNLOCK"),
    (r"(__kmpc|omp)_test_(nest_)?lock", "LOCK_ATTEMPT"),
    (r"__kmpc_atomic_fixed8_add", None),  # begins with a lock prefix: no probe can stand there, and `list` says so
    (r"__kmpc_atomic_\w+\d_?\w+", "ATOMIC"),
    (r"__kmpc_omp_task_alloc", "TASK_ALLOC"), (r"__kmpc_omp_task(_with_deps)?", "TASK"),
    (r"__kmpc_omp_task_begin_if0", "TASK_UNDEFERRED"),
    (r"__kmpc_omp_task_complete_if0", None),
    (r"__kmpc_omp_task(wait|yield)", lambda name: name.rpartition("_")[2].upper()),
    (r"__kmpc_omp_wait_deps", "TASKWAIT"), (r"__kmpc_taskgroup", "TASKGROUP_START"),
    (r"__kmpc_end_taskgroup|__kmpc_task_reduction_modifier_fini", "TASKGROUP_END"),
    (r"__kmpc_(task_reduction|taskred)_\w+", "TASK_REDUCTION"),
    (r"__kmpc_cancellationpoint", "CANCELLATION_POINT"),
    (r"__kmpc_end_reduce_nowait", "REDUCE_END_NOWAIT"),
    (r"(omp|__kmpc)_(global|bound|get|in|is|task_allow)\w*|omp_set_\w+", None),
]


def event_of(function):
    """__kmpc_dispatch_next_4u -> GASP_OMP_LOOP_NEXT; None for questions and settings."""
    for pattern, event in EVENTS:
        if re.fullmatch(pattern, function):
            name = event(function) if callable(event) else event
            break
    else:
        name = re.sub(r"^(__kmpc|GOMP|omp)_", "", function).upper()
    return name and f"GASP_OMP_{name}"


# Calls that libomp 14 makes to itself: for each call of the functions on the right one of the event on the left. Of the
# first ones the counting library has both, of the others only the one on the right: the linker bound the rest.
PASSED_ON = [
    (event, rf"__kmpc_{name}_(nest_)?lock") for event, name in (
        ("LOCK_INIT", "init"), ("LOCK_DESTROY", "destroy"), ("LOCK", "set"), ("UNLOCK", "unset"),
        ("LOCK_ATTEMPT", "test"))] + [("BARRIER", r"__kmpc_cancel_barrier")]
BOUND = [("CRITICAL_START", r"__kmpc_critical"),
         ("TASKGROUP_START", r"__kmpc_(task_reduction|taskred)_modifier_init")]


def inside(tables, rules):
    """What these rules say, by event."""
    calls = collections.Counter()
    for event, functions in rules:
        calls[f"GASP_OMP_{event}"] += sum(counts["calls"] for table in tables for name, counts in table.items()
                                          if re.fullmatch(functions, name))
    return +calls


def of_19(tmp_path):
    """The environment in which a program runs on libomp 19."""
    root = debian.package("libomp5-19")
    if not root:
        pytest.skip("the package libomp5-19 cannot be had here")
    (tmp_path / "libomp").mkdir()
    (tmp_path / "libomp" / "libomp.so.5").symlink_to(root / "usr/lib/llvm-19/lib/libomp.so.5")
    return {"LD_LIBRARY_PATH": str(tmp_path / "libomp")}
