# SPDX-License-Identifier: BSD-2-Clause
"""Every MPI function: each call of a job that makes them all, in order, with its arguments, its payload and its
line."""
import collections
import json
import re

import pytest

import conformance
import gaspbpf
import truth

# Dynamic processes reach each other over TCP, never over Open MPI's shared memory.
ENVIRONMENT = {**truth.ENVIRONMENT, "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_btl_tcp_if_include": "lo"}
RUNTIMES = {"openmpi": "openmpi-4.1.4", "mpich": "mpich-4.0.2", "large": "mpich-4.0.2"}
SITE = re.compile(r" @ (?:.*/)?(mpi_every\w*\.[ch]:\d+)(?::\d+)?$")
# Which way the bytes of a call go, by the standard; those of others, files' too, have no direction.
SENT = re.compile(
    r"I?[BSR]?SEND|I?SENDRECV(_REPLACE)?|R?PUT|R?(GET_)?ACCUMULATE|I?(NEIGHBOR_)?(ALL)?GATHERV?")
RECEIVED = re.compile(r"I?M?RECV|I?SENDRECV(_REPLACE)?|R?GET(_ACCUMULATE)?|I?SCATTERV?")
# MPICH does not show who is in a communicator that the program makes, nor the caller's rank in any.
UNKNOWN_ON_MPICH = re.compile(r"[a-z]+\.world|\w*comm\w*_rank")


class Call:
    """One call: where it stands, which event it is, what is said of it."""

    def __init__(self, place, event, arguments):
        self.place, self.event, self.arguments = place, event, arguments

    def __repr__(self):
        return f"{self.place} {self.event}"


def told(rank):
    """The job's own list."""
    calls = []
    for line in rank["calls"]:
        place, function, *arguments = line.split()
        calls.append(Call(place, f"GASP_{function.upper()}", dict(each.split("=", 1) for each in arguments)))
    return calls


def seen(lines, pid, types):
    """The job's own calls of one process among gaspbpf's lines: what libraries call inside has other lines."""
    calls = []
    for line in lines:
        fields, site = line.split(" "), SITE.search(line)
        if not site or not fields[2].endswith(f":{pid}") or fields[3] not in types \
                or not fields[4].startswith("GASP_MPI_"):
            continue
        calls.append(Call(site[1], fields[4], dict(each.split("=", 1) for each in fields[5:] if "=" in each)))
    return calls


def payloads(trace, pid):
    """The same with the bytes and the peer that the trace has of each."""
    calls = []
    for event in trace["traceEvents"]:
        site = SITE.search(f" @ {event.get('args', {}).get('site')}")
        if event.get("tid") == pid and site and event["name"].startswith("GASP_MPI_"):
            calls.append((event["ts"], site[1], event["args"].get("bytes"), event["args"].get("peer")))
    return [call[1:] for call in sorted(calls, key=lambda call: call[0])]


def differences(expected, found, mpi):
    """Arguments that are not as the job says."""
    wrong = []
    for want, got in zip(expected, found):
        for name, value in want.arguments.items():
            if name == "payload":
                continue
            if mpi != "openmpi" and UNKNOWN_ON_MPICH.fullmatch(name) and got.arguments.get(name) in (None, "unknown"):
                continue
            if got.arguments.get(name) != value:
                wrong.append(f"{want} {name}: {got.arguments.get(name)} instead of {value}")
    return wrong


def directions(rows, payloads_of):
    """Events whose bytes the report has in another direction than the standard; or has at all, where no call tells
    them."""
    wrong = []
    for event, told_of_it in payloads_of.items():
        row, name, known = rows[event], event.removeprefix("GASP_MPI_"), told_of_it != {"?"}
        want = (known, known and bool(SENT.fullmatch(name)), known and bool(RECEIVED.fullmatch(name)))
        got = tuple(row[key] is not None for key in ("bytes", "bytes_sent", "bytes_received"))
        if got != want:
            wrong.append(f"{event}: {got} instead of {want}")
    return wrong


@pytest.mark.parametrize("mpi", RUNTIMES)
def test_every_call_with_what_it_says(job, observe, tmp_path, mpi):
    launcher = "mpirun.openmpi" if mpi == "openmpi" else "mpirun.mpich"
    pair = job([launcher, "-n", "2", gaspbpf.WORKLOADS / f"mpi_every_{mpi}"], ranks=2, env=ENVIRONMENT).wait_ready()
    recording = tmp_path / "every.gasp"
    truth.window(pair, observe, pair.pids(), ["-o", recording])
    payloads_of = collections.defaultdict(set)
    lines, trace = tmp_path / "every.events", tmp_path / "every.json"
    for output in lines, trace:
        assert gaspbpf.run("export", recording, "-o", output).returncode == 0
    text, events = lines.read_text().splitlines(), set()
    spans = json.loads(trace.read_text())
    for rank in pair.truths():
        expected = told(rank)
        starts, ends = seen(text, rank["pid"], ("START", "ATOMIC")), seen(text, rank["pid"], ("END", "ATOMIC"))
        assert [repr(call) for call in starts] == [repr(call) for call in expected]
        assert [repr(call) for call in ends] == [repr(call) for call in expected]
        assert differences(expected, ends, mpi) == []
        bytes_of = payloads(spans, rank["pid"])
        assert [place for place, *_ in bytes_of] == [call.place for call in expected]
        for call, (_, bytes_, peer) in zip(expected, bytes_of):
            if "payload" in call.arguments:
                assert str("?" if bytes_ is None else bytes_) == call.arguments["payload"], call
                payloads_of[call.event].add(call.arguments["payload"])
            for name in {"dest", "target_rank"} & set(call.arguments):
                assert str(peer) == call.arguments[name], call
        events |= {call.event for call in expected}
    rows = {row["name"]: row for row in json.loads(gaspbpf.run("report", "--json", recording).stdout)["events"]}
    assert directions(rows, payloads_of) == []
    # What a receive without a status may be less than.
    text = gaspbpf.run("report", "--top", "1000", recording).stdout
    marked = {line.split()[0].removeprefix("GASP_MPI_") for line in text.splitlines() if re.search(r"B\*( |$)", line)}
    assert "IRECV" in marked and not {"RECV", "MRECV", "SENDRECV"} & marked
    assert len(events) > 170
    for event in sorted(events):
        conformance.seen(RUNTIMES[mpi], event)
