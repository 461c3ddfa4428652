# SPDX-License-Identifier: BSD-2-Clause
"""Berkeley's, Cray's and IBM's UPC, and GASNet: the stand-in runtime of tests/workloads/upc under their names."""
import json
import re
import subprocess

import conformance
import gaspbpf
import pytest
import upc

NAMES = {
    "bupc": {"upcri_do_exit": "COLLECTIVE_EXIT", "upcr_global_exit": "NONCOLLECTIVE_EXIT", "_upcr_waitsync": "NB_SYNC",
             "_upcr_trysync": "NB_TRYSYNC"},
    "crayupc": {"upc_sync_nb": "NB_SYNC", "upc_sync_nbi": "NB_SYNC", "upc_test_nb": "NB_TRYSYNC",
                "upc_test_nbi": "NB_TRYSYNC"},
    "xlupc": {"__xlupc_waitsync": "NB_SYNC", "__xlupc_waitsynci": "NB_SYNC", "__xlupc_trysync": "NB_TRYSYNC",
              "__xlupc_barrier": "BARRIER"},
}
TRANSFERS = {"memget": "NB_GET_INIT", "memput": "NB_PUT_INIT", "memset": "NB_SET_INIT", "memcpy": "NB_COPY_INIT"}


def gasnet_event(function):
    transfer = re.match(r"gasnete_(get|put|memset)(_nbi?)?(_bulk)?$", function)
    if not transfer:
        return {"gasnete_wait_syncnb": "GASP_GASNET_NB_SYNC", "gasnete_try_syncnb": "GASP_GASNET_NB_TRYSYNC"}[function]
    what = {"get": "GET", "put": "PUT", "memset": "SET"}[transfer[1]]
    return f"GASP_GASNET_NB_{what}_INIT" if transfer[2] else f"GASP_GASNET_{what}"


def event_of(model):
    """Which event a function is; None: the model does not know it."""
    prefix = "_upcr_" if model == "bupc" else "upc_"

    def event(function):
        if function in NAMES[model]:
            return f"GASP_UPC_{NAMES[model][function]}"
        if function.startswith("gasnete_"):
            return gasnet_event(function)
        begun = re.match(r"(?:_upcr_|upc_|__xlupc_)(mem\w{3})_(?:nbi?|asynci?)$", function)
        if begun:
            return f"GASP_UPC_{TRANSFERS[begun[1]]}" if model != "bupc" or function.startswith(prefix) else None
        if not function.startswith(prefix):
            return None
        name = re.sub(r"reduce[A-Z]+$", "reduce", function.removeprefix(prefix)).upper()
        return "GASP_UPC_" + {"ALL_FREE": "FREE", "ALL_LOCK_FREE": "LOCK_FREE"}.get(name, name)
    return event


def command(program, *more):
    return [gaspbpf.WORKLOADS / program, "-n", "3", "--rounds", "2", *more]


@pytest.mark.parametrize("program, runtime", [("upc_job_berkeley", "bupc-process-packed"),
                                              ("upc_job_berkeley_struct", "bupc-pthreads-struct")])
def test_berkeleys_calls_and_those_of_gasnet_below(job, observe, program, runtime):
    """Pointers by the configuration that is a text in the program, likewise whether GASNet's functions take a team."""
    ring, status, events, out = upc.whole_life(job, observe, command(program))
    assert status == 0, ring.output()
    seen, _ = upc.calls_seen(events)
    made = upc.calls_made(ring.folder)
    assert set(seen) == set(made) and len(made) == 3
    for tid, (_, calls) in made.items():
        assert upc.differences(seen[tid], calls, event_of("bupc")) is None
        last = seen[tid][-1]
        assert (last.event, last.start, last.reason) == ("GASP_UPC_COLLECTIVE_EXIT", {"status": "0"}, "exit")
    names = {call.event for calls in seen.values() for call in calls}
    assert {"GASP_UPC_NOTIFY", "GASP_UPC_TRY_WAIT", "GASP_GASNET_GET", "GASP_GASNET_NB_PUT_INIT"} <= names
    conformance.seen(runtime, *names)
    unseen = {row["event"]: row for row in json.loads(out)["not_observable"]}
    assert not unseen["GASP_UPC_GET"]["partly"] and "gasnet" in unseen["GASP_UPC_GET"]["why"]


@pytest.mark.parametrize("program, model, build",
                         [("upc_job_cray", "crayupc", "struct"), ("upc_job_xl", "xlupc", "packed")])
def test_crays_and_ibms_calls(job, observe, program, model, build):
    """Told how pointers-to-shared are passed, everything is known; untold, what cannot be is unknown and nothing is
    wrong."""
    for told in (True, False) if model == "crayupc" else (True,):
        ring, status, events, _ = upc.whole_life(job, observe, command(program),
                                                 *(["--build", f"{model}={build}"] if told else []))
        assert status == 0, ring.output()
        seen, _ = upc.calls_seen(events, bare=("GASP_UPC_BARRIER",))
        made = upc.calls_made(ring.folder)
        assert set(seen) == set(made) and len(made) == 3
        for tid, (_, calls) in made.items():
            # What IBM's barrier is given has no known meaning.
            calls = [(depth, function, {} if function == "__xlupc_barrier" else arguments, results)
                     for depth, function, arguments, results in calls]
            assert upc.differences(seen[tid], calls, event_of(model), whole=told) is None
        copies = [call for calls in seen.values() for call in calls if call.event == "GASP_UPC_MEMPUT"]
        assert copies and all((call.start["n"] == "unknown") != told for call in copies)
    conformance.seen(f"{model}-{build}", *{call.event for calls in seen.values() for call in calls})


def test_each_program_is_of_one_family_and_build(tmp_path):
    """None of the families is taken for another; how it was built is recognised where the program tells."""
    programs = {
        "upc_job": {"upc": "packed"}, "upc_job_pthreads": {"upc": "packed"}, "upc_job_struct": {"upc": "struct"},
        "upc_job_pthreads_struct": {"upc": "struct"}, "upc_job_last": {"upc": "packed-last"},
        "stripped": {"upc": "unknown"},
        "upc_job_berkeley": {"bupc": "packed", "gasnet": "gasnet-1"},
        "upc_job_berkeley_struct": {"bupc": "struct", "gasnet": "gasnet-ex"},
        "upc_job_cray": {"crayupc": "unknown"}, "upc_job_xl": {"xlupc": "unknown"},
    }
    subprocess.run(["objcopy", "--strip-debug", gaspbpf.WORKLOADS / "upc_job_struct", tmp_path / "stripped"],
                   check=True)
    files = [tmp_path / name if name == "stripped" else gaspbpf.WORKLOADS / name for name in programs]
    listed = json.loads(gaspbpf.run("list", "--json", "--build", "xlupc=packed", *files).stdout)
    for name, models in programs.items():
        assert {row["model"] for row in listed["found"] if row["file"].endswith(f"/{name}")} == set(models)
        rows = [row for row in listed["builds"] if row["file"].endswith(f"/{name}")]
        assert {row["model"]: row["build"] for row in rows} == {model: build if model != "xlupc" else "packed"
                                                                for model, build in models.items()}
        assert all(row["told"] == (row["model"] == "xlupc") for row in rows)
        assert all(row["recognised"] == (row["build"] not in ("default", "unknown")) for row in rows if not row["told"])
