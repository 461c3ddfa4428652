# SPDX-License-Identifier: BSD-2-Clause
"""ARMCI, linked into the program: the calls of its own source against the job's account; below Global Arrays, too."""
import collections
import json

import pytest

import conformance
import gaspbpf
import truth

NAMES = {"GETS": "GET_STRIDED", "PUTS": "PUT_STRIDED", "ACCS": "ACC_STRIDED", "GETV": "GET_VECTOR",
         "PUTV": "PUT_VECTOR", "ACCV": "ACC_VECTOR", "NBGET": "NB_GET_INIT", "NBPUTS": "NB_PUT_INIT", "WAIT": "NB_SYNC",
         "TEST": "NB_TRYSYNC", "WAITPROC": "NB_SYNC_PROC", "WAITALL": "NB_SYNC_ALL", "ALLFENCE": "FENCE_ALL",
         "CREATE_MUTEXES": "MUTEXES_CREATE", "DESTROY_MUTEXES": "MUTEXES_DESTROY", "MSG_DGOP": "MSG_GOP",
         "MSG_IGOP": "MSG_GOP", "MSG_BRDCST": "MSG_BCAST", "MSG_BARRIER": "BARRIER"}


def event_of(function):
    """ARMCI_GetS -> GASP_ARMCI_GET_STRIDED, armci_msg_dgop -> GASP_ARMCI_MSG_GOP."""
    name = function.upper().removeprefix("ARMCI_")
    return f"GASP_ARMCI_{NAMES.get(name, name)}"


@pytest.mark.parametrize("rung", gaspbpf.RUNGS[:2], indirect=True)
def test_calls_and_bytes_are_the_jobs(job, observe, tmp_path, rung):
    line = ["mpirun.openmpi", "--oversubscribe", "-n", "2", gaspbpf.WORKLOADS / "armci_job", "--rounds", "3"]
    running = job(line, ranks=2, env=truth.ENVIRONMENT).wait_ready()
    recording = tmp_path / "x.gasp"
    report = truth.window(running, observe, options=["-o", recording])
    counted = truth.by_event(truth.functions(running), event_of)
    assert len(counted) > 25
    # The library calls its own functions, too: those of the program's source are the job's.
    sites = collections.Counter()
    for row in report["events"]:
        if row["model"] == "armci":
            for site in row["sites"]:
                if (site["file"] or "").endswith("armci_job.c"):
                    sites[row["name"]] += site["calls"]
    assert sites == {name: count["calls"] for name, count in counted.items()}
    gaspbpf.run("export", recording, "-o", tmp_path / "x.json")
    calls = [call for call in json.loads((tmp_path / "x.json").read_text())["traceEvents"] if call["ph"] == "X"]
    ranks = {thread["pid"]: thread["rank"] for thread in report["threads"]}
    for event, bytes_of_it in ("PUT", 64), ("GET", 128), ("ACC", 32):
        own = [(ranks[call["pid"]], call["args"]) for call in calls if call["name"] == f"GASP_ARMCI_{event}"
               and "armci_job.c" in call["args"]["site"]]
        assert len(own) == 6 and {args["bytes"] for _, args in own} == {bytes_of_it}
        assert all(args["proc"] == 1 - rank for rank, args in own)
    conformance.seen("armci-mpi-0.3.1", *counted)


def test_it_is_seen_below_global_arrays(job, observe):
    line = ["mpirun.openmpi", "--oversubscribe", "-n", "2", gaspbpf.WORKLOADS / "ga_job", "--rounds", "1"]
    report = truth.window(job(line, ranks=2, env=truth.ENVIRONMENT).wait_ready(), observe)
    seen = {row["model"] for row in report["events"] if row["calls"]}
    assert seen == {"ga", "armci", "mpi"}
