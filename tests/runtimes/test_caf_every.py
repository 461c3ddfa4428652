# SPDX-License-Identifier: BSD-2-Clause
"""Coarray Fortran: every function of the coarray library, with what the program itself says that it was given."""
import collections
import json
import re
import subprocess

import pytest

import conformance
import event_lines
import gaspbpf
import truth

RUNTIME = "opencoarrays-2.10.1"

# They ask the image that calls, and nobody else.
LEFT_OUT = {"this_image", "num_images", "team_number", "get_communicator", "is_contiguous", "random_init"}


def test_model_has_all_functions_of_the_library():
    library = subprocess.run(["gcc", "-print-file-name=libcaf_openmpi.so"], capture_output=True, text=True,
                             check=True).stdout.strip()
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                             check=True).stdout.split()
    exported = {name for name in symbols if name.startswith("_gfortran_caf_")}
    assert len(exported) == 46
    found = json.loads(gaspbpf.run("list", "--json", "-m", "caf", library).stdout)["found"]
    assert exported - {row["symbol"] for row in found} == {f"_gfortran_caf_{name}" for name in LEFT_OUT}


@pytest.mark.parametrize("program, runtime", [("caf_every", RUNTIME), ("caf_every_inside", f"{RUNTIME}-inside")])
def test_every_function_with_its_arguments(job, observe, tmp_path, program, runtime):
    log = tmp_path / "log"
    pair = job(["cafrun", "-np", "2", gaspbpf.WORKLOADS / program], ranks=2,
               env={**truth.ENVIRONMENT, "EVERY_LOG": str(log)}).wait_ready()
    report = truth.window(pair, observe, options=["-o", tmp_path / "run.events"])
    calls = [call for call in event_lines.calls(tmp_path / "run.events", "CAF") if not call.around]
    bytes_of = collections.Counter()
    for image in (1, 2):
        own = [(line.split()[0], event_lines.arguments_of(line.partition(" ")[2]))
               for line in (tmp_path / f"log.{image - 1}").read_text().splitlines()]
        assert len(own) > 60
        of_this = [call for call in calls if call.rank == image]
        assert [call.event for call in of_this] == [event for event, _ in own]
        # The program does not know all: tokens and offsets are the compiler's.
        seen = [(call.event, {name: call.arguments.get(name) for name in wrote})
                for call, (_, wrote) in zip(of_this, own)]
        assert [pair for pair in zip(seen, own) if pair[0] != pair[1]] == []
        bytes_of.update({event: 0 for event, _ in own})
        for event, arguments in own:
            bytes_of[event] += int(arguments.get("nbytes", "0").replace("unknown", "0"))
        conformance.seen(runtime, *{f"GASP_CAF_{event}" for event, _ in own})
    rows = gaspbpf.events(report)
    assert rows["GASP_CAF_GET"]["bytes_received"] == bytes_of["GET"]
    assert rows["GASP_CAF_PUT"]["bytes_sent"] == bytes_of["PUT"]


@pytest.mark.parametrize("how, event, arguments", [
    ("end", "FINALIZE", {}), ("stop", "STOP", {"code": "3"}), ("stop_text", "STOP", {"length": "11"}),
    ("error", "ERROR_STOP", {"code": "4"}), ("error_text", "ERROR_STOP", {"length": "14"}), ("fail", "FAIL_IMAGE", {})])
def test_the_way_in_and_out(tmp_path, how, event, arguments):
    result = gaspbpf.run("-q", "-o", tmp_path / "run.events", "--", "cafrun", "-np", "2",
                         gaspbpf.WORKLOADS / "caf_every",
                         env={**truth.ENVIRONMENT, "EVERY_LOG": str(tmp_path / "log"), "EVERY_END": how})
    path = tmp_path / "run.events"
    # Coarrays are registered before the program begins, and that makes the runtime begin by itself; the program's own
    # call comes then.
    began = [line[3] for line in event_lines.lines(path, "CAF") if line[2:4] == ("START", "INIT")]
    assert len(began) == 4, result.stderr
    ends = [(kind, given) for _, _, kind, name, given in event_lines.lines(path, "CAF") if name == event
            and kind != "END"]
    # The first image that stops with an error may take the other one along.
    assert len(ends) == 2 or (ends and event in ("ERROR_STOP", "FAIL_IMAGE")), result.stderr
    for kind, given in ends:
        assert kind == ("START" if event == "FINALIZE" else "ATOMIC")
        assert {name: given.get(name) for name in arguments} == arguments
    conformance.seen(RUNTIME, "GASP_CAF_INIT", f"GASP_CAF_{event}")
