# SPDX-License-Identifier: BSD-2-Clause
"""OpenSHMEM: every function of the library, one by one, with all that it was given, against what the job wrote down
itself."""
import collections
import json
import re
import subprocess

import conformance
import event_lines
import gaspbpf
import truth

RUNTIME = "openmpi-oshmem-4.1.4"

# Their bytes are neither sent nor received by the PE that calls.
WITHOUT_DIRECTION = ("BROADCAST", "COLLECT", "FCOLLECT", "ALLTOALL", "ALLTOALLS", "REDUCE", "ATOMIC", "MALLOC",
                     "CALLOC", "ALIGN")

# They tell or set something of the PE that calls, or belong to the library's own parts.
LEFT_OUT = re.compile(
    r"""p?shmem_(my_pe|n_pes|ptr|(pe|addr)_accessible|query_thread|info_get_\w+|udcflush\w*|(set|clear)_cache_\w+) |
    (p?_?)?(my_pe|num_pes) | shmem_(ds_reset|lock_init|lock_finalize)""", re.VERBOSE)


def library():
    return subprocess.run(["gcc", "-print-file-name=liboshmem.so"], capture_output=True, text=True,
                          check=True).stdout.strip()


def test_model_has_all_functions_of_the_library():
    """Functions at one place are one probe, so it is their places that must be known."""
    symbols = subprocess.run(["nm", "-D", "--defined-only", library()], capture_output=True, text=True,
                             check=True).stdout.splitlines()
    place = {name: address for address, kind, name in map(str.split, symbols) if kind in "TW"}
    wanted = {name for name in place
              if re.match(r"p?shmemx?_|p?sh(m?alloc|memalign|realloc|free)$|p?start_pes|globalexit", name)
              and not LEFT_OUT.fullmatch(name)}
    assert len(wanted) > 1700
    found = json.loads(gaspbpf.run("list", "--json", "-m", "shmem", library()).stdout)["found"]
    known = {place[row["symbol"]] for row in found}
    assert {name for name in wanted if place[name] not in known} == set()


def test_every_function_with_its_arguments(job, observe, tmp_path):
    log = tmp_path / "log"
    pair = job(["oshrun", "-n", "2", "-x", f"EVERY_LOG={log}", gaspbpf.WORKLOADS / "shmem_every"], ranks=2,
               env={**truth.ENVIRONMENT, "EVERY_LOG": str(log)}).wait_ready()
    report = truth.window(pair, observe, options=["-o", tmp_path / "run.events"])
    calls = [call for call in event_lines.calls(tmp_path / "run.events", "SHMEM") if not call.around]
    sent, received, moved = 0, 0, collections.Counter()
    for rank in range(2):
        own = [(line.split()[0], event_lines.arguments_of(line.partition(" ")[2]))
               for line in (tmp_path / f"log.{rank}").read_text().splitlines()]
        assert len(own) > 900
        of_this = [call for call in calls if call.rank == rank]
        assert [call.event for call in of_this] == [event for event, _ in own]
        seen = [(call.event, {name: call.arguments.get(name) for name in wrote})
                for call, (_, wrote) in zip(of_this, own)]
        assert [pair for pair in zip(seen, own) if pair[0] != pair[1]] == []
        sent += sum(int(a.get("nelems", 1)) * int(a["size"]) for event, a in own
                    if event in ("PUT", "PUT_NBI", "IPUT", "P"))
        received += sum(int(a.get("nelems", 1)) * int(a["size"]) for event, a in own
                        if event in ("GET", "GET_NBI", "IGET", "G"))
        for event, a in own:
            if event in WITHOUT_DIRECTION:
                moved[event] += int(a.get("nelems") or a.get("nreduce") or a.get("count") or 1) * int(a["size"])
        conformance.seen(RUNTIME, *{f"GASP_SHMEM_{event}" for event, _ in own})
    # A lock's own transfers are within its calls; there is one, and its calls are known.
    rows = gaspbpf.events(report)
    assert sum(rows[f"GASP_SHMEM_{event}"]["bytes_sent"] for event in ("PUT", "PUT_NBI", "IPUT", "P")) == sent
    assert sum(rows[f"GASP_SHMEM_{event}"]["bytes_received"] for event in ("GET", "GET_NBI", "IGET", "G")) == received
    assert {event: rows[f"GASP_SHMEM_{event}"]["bytes"] for event in WITHOUT_DIRECTION} == moved


def ends_with(tmp_path, *how):
    """Starts a PE that ends in this way; its events (type, event, arguments), and what it printed."""
    result = gaspbpf.run("-q", "-o", tmp_path / "run.events", "--", "oshrun", "-n", "1",
                         gaspbpf.WORKLOADS / "shmem_every", *how, env=truth.ENVIRONMENT)
    lines = [line[2:] for line in event_lines.lines(tmp_path / "run.events", "SHMEM")]
    assert [line[:2] for line in lines][:1] == [("START", "INIT")], result.stderr
    assert [line[:2] for line in lines].count(("END", "INIT")) == 1
    return lines, result.stdout


def test_an_end_that_takes_all_along(tmp_path):
    lines, _ = ends_with(tmp_path, "--global-exit", "7")
    assert [line[:2] for line in lines if line[1] == "GLOBAL_EXIT"] == [("ATOMIC", "GLOBAL_EXIT")]
    assert lines[-1][2] == {"status": "7"}
    conformance.seen(RUNTIME, "GASP_SHMEM_INIT", "GASP_SHMEM_GLOBAL_EXIT")


def test_finalize(tmp_path):
    """Debian's crashes: then its END is that of the process."""
    lines, printed = ends_with(tmp_path, "--finalize", "1")
    assert printed.count("finalizes") == 1
    assert [line[0] for line in lines if line[1] == "FINALIZE"] == ["START", "END"]
    conformance.seen(RUNTIME, "GASP_SHMEM_FINALIZE")
