# SPDX-License-Identifier: BSD-2-Clause
"""Programs that a compiler has instrumented: exact events with the places that it wrote down, and none of them
twice."""
import collections
import json
import re
import subprocess

import pytest

import conformance
import gaspbpf

USER = gaspbpf.TOP / "tests" / "workloads" / "user"
EVENT_OF = {"lock": "GASP_UPC_LOCK", "unlock": "GASP_UPC_UNLOCK", "barrier": "GASP_UPC_BARRIER",
            "memput": "GASP_UPC_MEMPUT",
            "alloc": "GASP_UPC_ALLOC", "exit": "GASP_UPC_COLLECTIVE_EXIT", "get": "GASP_UPC_GET", "put": "GASP_UPC_PUT"}
# Where the "compiler" says that they are; the rest of LOCK and MEMPUT was compiled without.
PLACES = {"GASP_UPC_LOCK": "prog.upc:10", "GASP_UPC_UNLOCK": "prog.upc:11", "GASP_UPC_BARRIER": "other.upc:20",
          "GASP_UPC_MEMPUT": "prog.upc:30",
          "GASP_UPC_ALLOC": "prog.upc:40", "GASP_UPC_GET": "prog.upc:50", "GASP_UPC_PUT": "prog.upc:60"}
ROUNDS = 15


def build(tmp_path, *options):
    program = tmp_path / "instrumented"
    subprocess.run(["cc", "-O1", "-g", *options, f"-I{USER.parent}", USER / "instrumented.c", USER.parent / "job.c",
                    "-lm", "-lpthread", "-o", program],
                   check=True, timeout=gaspbpf.PATIENCE)
    return program


def check_pointers(lines):
    """Pointers-to-shared come by address, and what they point to is read at the call."""
    ends = [line for line in lines if " END GASP_UPC_ALLOC" in line]
    assert len(ends) == ROUNDS
    for line in ends:
        size, pointer = re.search(r" nbytes=(\d+) newshrd_ptr=(\S+)", line).groups()
        assert pointer == f"thread=5,phase={64 + int(size)},addr=0x1234"


@pytest.mark.usefixtures("rung")
@pytest.mark.parametrize("berkeley", [0, 1], ids=["gupc", "berkeley"])
def test_the_compilers_events(job, observe, tmp_path, berkeley):
    """By pupc_event_startg and its like, which forward to gasp_event_notifyVA, and by gasp_event_notify: the same
    events, once each."""
    told = job([build(tmp_path, *(["-DBERKELEY"] if berkeley else [])), "--rounds", ROUNDS]).wait_ready()
    text = tmp_path / "run.events"
    watcher = observe("-p", told.pids()[0], "--json", "-v", "-o", text)
    told.work()
    assert told.end() == 0
    status, out, errors = watcher.finish()
    assert status == 0, errors
    seen = {name: row["calls"] for name, row in gaspbpf.events(json.loads(out)).items()}
    truth = told.truths()[0]["functions"]
    event_of = {**EVENT_OF, "barrier": "GASP_UPC_NOTIFY"} if berkeley else EVENT_OF
    # Berkeley's headers inline memput: of the part that was not instrumented nothing can be seen.
    inlined = {"memput": ROUNDS} if berkeley else {}
    assert seen == {event_of[name]: counted["calls"] - inlined.get(name, 0) for name, counted in truth.items()}
    rows = gaspbpf.events(json.loads(out))
    for name in ("memput", "get", "put", "alloc"):
        row, counted = rows[event_of[name]], truth[name]["bytes"] - 7 * inlined.get(name, 0)
        assert (row["bytes"], row["calls_without_bytes"]) == (counted, 0), name
    lines = text.read_text().splitlines()
    places = collections.Counter((m[1], m[2])
                                 for m in (re.search(r" START (\S+).* @ (\S+)", line) for line in lines) if m)
    for event, place in PLACES.items():
        event = event.replace("BARRIER", "NOTIFY") if berkeley else event
        assert places[event, place + ":3" if berkeley else place] == ROUNDS, event
    assert not [line for line in lines if " end=" in line]
    # The runtime's own functions below the announcements; the one that ends the thread comes after its announcement.
    assert f"{4 * ROUNDS if berkeley else 6 * ROUNDS + 1} calls are left out" in errors
    starts = [line for line in lines if f" START {event_of['barrier']}" in line]
    assert [int(re.search(r" named=1 expr=(\S+)", line)[1]) for line in starts] == list(range(ROUNDS))
    sizes = [int(re.search(r" n=(\d+)", line)[1]) for line in lines if " START GASP_UPC_MEMPUT" in line]
    assert sum(sizes) == told.truths()[0]["put"] - 7 * sum(inlined.values())
    check_pointers([line for line in lines if " @ prog.upc:40" in line])
    # As the runtime's function says, not as libgupc's twin does, which passes 1 for strict ones, too.
    assert berkeley \
        or [re.search(r" is_relaxed=(\d)", line)[1] for line in lines if "prog.upc:60" in line] == ["0"] * 2 * ROUNDS
    conformance.seen("gupc-instrumented" if not berkeley else "bupc-instrumented",
                     *(set(event_of.values()) - {EVENT_OF["exit"]}), "GASP_PUPC_EVENT_NOTIFY")
