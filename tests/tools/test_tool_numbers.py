# SPDX-License-Identifier: BSD-2-Clause
"""What tools compiled with other headers are told: each UPC event under the number that its header has, PUPC's
arguments in PUPC's order, columns."""
import re

import pytest

import gaspbpf
import statements
import toolkit
from composed import call, compose

# PUPC 1.1 tables 2 to 6, START's number; the arguments that tests/tools/pupc_log.c prints.
PUPC = {
    "NOTIFY": "01000000", "WAIT": "01000100", "BARRIER": "01000200", "FENCE": "01000300", "LOCK": "03000000",
    "UNLOCK": "03000100",
    "LOCK_ATTEMPT": "03000200", "ALL_LOCK_ALLOC": "03000400", "GLOBAL_LOCK_ALLOC": "03000500", "LOCK_FREE": "03000600",
    "MEMCPY": "03000700",
    "MEMGET": "03000800", "MEMPUT": "03000900", "MEMSET": "03000a00", "GET": "04000000", "PUT": "04000100",
}


def upc_symbols():
    """{event without GASP_UPC_: one of its symbols}, of the model's own lines."""
    found = {}
    for line in statements.of_model("upc"):
        match = re.match(r"([A-Z_]+) +\w+ .*?\b(?:\w+[ *]+)([a-z_]\w*)\(", line)
        if match and not line.startswith("event"):
            found.setdefault(match[1], match[2])
    return found


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    """A recording with one call of each of UPC's functions that a plain line of the model has; and its events, in
    order."""
    folder = tmp_path_factory.mktemp("every")
    events = []
    text = "process 1 0\n"
    for event, symbol in upc_symbols().items():
        if event in PUPC or event in ("GLOBAL_ALLOC", "ALL_ALLOC", "ALLOC", "FREE", "ALL_BROADCAST", "ALL_SCATTER",
                                      "ALL_GATHER", "ALL_GATHER_ALL",
                                      "ALL_EXCHANGE", "ALL_PERMUTE", "ALL_REDUCE", "ALL_PREFIX_REDUCE"):
            events.append(event)
            text += call(1, 100 * len(events), 100 * len(events) + 50, symbol)
    return compose(folder / "run.gasp", text), events


def replay(recording, tool, log, *options, **env):
    result = gaspbpf.run("replay", recording, "--tool", tool, *options, env={"TOOL_LOG": log, **env})
    assert result.returncode == 0, result.stderr
    return log.read_text().splitlines()


def test_numbers_of_berkeley_upc(every, tmp_path):
    """As the model of Berkeley's own runtime has them from its header (its `told` lines)."""
    recording, events = every
    told = dict(re.findall(r"^told +(\w+) +(\d+)", (gaspbpf.TOP / "models" / "bupc.model").read_text(), re.M))
    replay(recording, toolkit.build(tmp_path, "gasp_log.c"), tmp_path / "log", "--gasp-ids=bupc")
    tags = [call_.tag for call_ in toolkit.Log(tmp_path / "log").calls if call_.type == "START"]
    assert len(tags) == len(events) > 20
    compared = 0
    for event, tag in zip(events, tags):
        if event in told:
            assert tag == int(told[event]), event
            compared += 1
    assert compared > 15


def test_numbers_of_pupc(every, tmp_path):
    recording, events = every
    told = replay(recording, toolkit.build(tmp_path, "pupc_log.c"), tmp_path / "log")
    lines = [line.split(" ")[1] for line in told]
    assert " 0 2500 1 @" in told[-1] # status; 2,500,000 ticks in us; granularity in us
    assert lines[0] == "00000000" and lines[-1] == "00000100"
    starts, ends = lines[1:-1:2], lines[2:-1:2]
    assert len(starts) == len(ends) == len(events)
    for event, start, end in zip(events, starts, ends):
        assert int(end, 16) == int(start, 16) + 1, event
        if event in PUPC:
            assert start == PUPC[event], event
        else:
            assert int(start, 16) >= 0x60000000, event
    assert {event for event in events if event in PUPC} > {"MEMCPY", "MEMGET", "MEMPUT", "MEMSET", "LOCK",
                                                           "LOCK_ATTEMPT", "BARRIER"}


def test_arguments_of_pupc(tmp_path):
    """Tables 4 and 5: their order is not GASP's, strict and relaxed are numbers of their own, and a get's END has the
    flag, too."""
    result = gaspbpf.run("record", "-q", "-o", tmp_path / "run.gasp", "--", gaspbpf.WORKLOADS / "upc_job", "-n", "1",
                         "--rounds", "2")
    assert result.returncode == 0, result.stderr
    toolkit.types_file(tmp_path / "types", "upc")
    replay(tmp_path / "run.gasp", toolkit.build(tmp_path, "gasp_log.c"), tmp_path / "gasp",
           TOOL_TYPES=tmp_path / "types")
    number = {event["name"][len("GASP_UPC_"):]: event["number"] for event in toolkit.vocabulary("upc")
              if event["name"].startswith("GASP_UPC_")}
    wanted = []
    for event in toolkit.Log(tmp_path / "gasp").calls:
        arguments, end = [argument.removeprefix("*").replace("NULL", "0")
                          for argument in event.arguments], event.type == "END"
        if event.tag == number["MEMSET"]:
            wanted.append((0x03000A00 + end, arguments))
        elif event.tag == number["PUT"]:
            relaxed, dst, src, n = arguments
            wanted.append((0x04000100 + 2 * (relaxed != "0") + end, [dst, src, n, "''", "''"]))
        elif event.tag == number["GET"]:
            relaxed, dst, src, n = arguments
            wanted.append((0x04000000 + 2 * (relaxed != "0") + end, [dst, src, n, relaxed, "''", "''"] if end else []))
    told = []
    for line in replay(tmp_path / "run.gasp", toolkit.build(tmp_path, "pupc_log.c"), tmp_path / "pupc"):
        words = line.split(" @")[0].split(" ")
        if 0x03000A00 <= int(words[1], 16) <= 0x04000103:
            told.append((int(words[1], 16), words[4:]))
    assert told == wanted
    assert {tag & ~1 for tag, _ in told} == {0x03000A00, 0x04000000, 0x04000002, 0x04000100, 0x04000102}
