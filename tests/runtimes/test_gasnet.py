# SPDX-License-Identifier: BSD-2-Clause
"""GASNet-EX as Debian's unstable suite has it, on the smp and mpi conduits, against the job's own account.

Debian 12 has no GASNet. The package of unstable holds static libraries, which link here, too; it is fetched once. Where
it cannot be fetched, or is another release by now, these tests are left out and say so: nothing else depends on them.
"""
import collections
import json
import re

import pytest

import conformance
import debian
import gaspbpf
import truth

RELEASE = "2025.8."  # that models/gasnet.model was checked against
RANKS = 3
TESTS = ("gasnete_test", "gasnete_test_some", "gasnete_test_all", "gasnete_test_syncnbi_mask")
EVENTS = {
    "NB_PUT_INIT": "gex_RMA_PutBlocking gex_RMA_PutBlockingVal gex_RMA_PutNB gex_RMA_PutNBVal gex_RMA_PutNBI "
                   "gasnet_put gasnet_put_nb_bulk",
    "NB_GET_INIT": "gex_RMA_GetBlocking gex_RMA_GetBlockingVal gex_RMA_GetNB gex_RMA_GetNBI gasnet_get_bulk "
                   "gasnet_get_nbi_bulk",
    "NB_SET_INIT": "gasnet_memset_nb", "NB_TRYSYNC": " ".join(TESTS[:3]), "NBI_TRYSYNC": TESTS[3],
    "NBI_BEGIN": "gex_NBI_BeginAccessRegion", "NBI_END": "gex_NBI_EndAccessRegion",
    "PUT_INDEXED": "gex_VIS_IndexedPutBlocking", "GET_INDEXED": "gex_VIS_IndexedGetBlocking",
    "PUT_VECTOR": "gex_VIS_VectorPutBlocking", "GET_VECTOR": "gex_VIS_VectorGetBlocking",
    "PUT_STRIDED": "gex_VIS_StridedPutBlocking", "GET_STRIDED": "gex_VIS_StridedGetBlocking",
    "AM_REQUEST_SHORT": "gex_AM_RequestShort1", "AM_REQUEST_MEDIUM": "gex_AM_RequestMedium1",
    "AM_REQUEST_LONG": "gex_AM_RequestLong1", "AM_REPLY_SHORT": "gex_AM_ReplyShort1",
    "AM_REPLY_MEDIUM": "gex_AM_ReplyMedium1", "AM_PREPARE": "gex_AM_PrepareRequestMedium",
    "AM_COMMIT": "gex_AM_CommitRequestMedium1",
    "NOTIFY": "gasnet_barrier_notify gasnet_coll_barrier_notify",
    "WAIT": "gasnet_barrier_wait gasnet_coll_barrier_wait",
    "BARRIER_TRY": "gasnet_barrier_try", "BARRIER": "gasnet_barrier",
    "COLL_BARRIER": "gex_Coll_BarrierBlocking", "COLL_BARRIER_NB": "gex_Coll_BarrierNB",
    "COLL_BROADCAST": "gasnet_coll_broadcast", "COLL_BROADCAST_NB": "gex_Coll_BroadcastNB gasnet_coll_broadcast_nb",
    "COLL_REDUCE_TO_ONE_NB": "gex_Coll_ReduceToOneNB", "COLL_REDUCE_TO_ALL_NB": "gex_Coll_ReduceToAllNB",
    "COLL_SCATTER": "gasnet_coll_scatter", "COLL_GATHER": "gasnet_coll_gather",
    "COLL_GATHER_ALL": "gasnet_coll_gather_all", "COLL_EXCHANGE": "gasnet_coll_exchange",
    "TM_SPLIT": "gex_TM_Split", "TM_DESTROY": "gex_TM_Destroy",
}
EVENT_OF = {function: f"GASP_GASNET_{event}" for event, functions in EVENTS.items() for function in functions.split()}
# Where the runtime does these by itself, inside of others.
LOOPS = {"GASP_GASNET_NB_TRYSYNC", "GASP_GASNET_NBI_TRYSYNC"}
UNKNOWN_BYTES = {f"GASP_GASNET_{way}_{kind}" for way in ("PUT", "GET") for kind in ("VECTOR", "STRIDED")}
# The program does not call these at a place in its own order.
ELSEWHERE = LOOPS | {"GASP_GASNET_PROGRESS", "GASP_GASNET_AM_REPLY_SHORT", "GASP_GASNET_AM_REPLY_MEDIUM"}


@pytest.fixture(scope="module")
def library():
    found = debian.package_of("unstable", "libgasnet-dev")
    if not found:
        pytest.skip("libgasnet-dev of Debian's unstable suite cannot be fetched")
    root, version = found
    if not version.startswith(RELEASE):
        pytest.skip(f"unstable has libgasnet-dev {version} by now; the model was checked against {RELEASE}0")
    return root / "usr"


@pytest.fixture(scope="module")
def program(library, tmp_path_factory):
    """Builds the job for a conduit."""
    jobs = gaspbpf.TOP / "tests" / "workloads"
    (headers,) = (library / "include").glob("*-linux-gnu")
    (libraries,) = (library / "lib").glob("*-linux-gnu")

    def build(conduit):
        path = tmp_path_factory.getbasetemp() / f"gasnet_job_{conduit}"
        if not path.exists():
            debian.output("mpicc.openmpi", "-g", "-O1", "-w", "-D_GNU_SOURCE=1", "-DGASNET_SEQ", "-I", headers, "-I",
                          headers / f"{conduit}-conduit", "-o", path, jobs / "gasnet_job.c", jobs / "job.c",
                          *[f"-Wl,--wrap={name}" for name in TESTS], f"-L{libraries}", f"-lgasnet-{conduit}-seq",
                          *(["-lammpi"] if conduit == "mpi" else []), "-lm")
        return path
    return build


def start(job, program, conduit, alone=True):
    """alone: no process maps another's memory; of the smp conduit all do."""
    env = {**truth.ENVIRONMENT, "GASNET_CALLS": "calls", "GASNET_QUIET": "1", "GASNET_HOST_DETECT": "hostname"}
    if conduit == "smp":
        return job([program(conduit)], ranks=RANKS, env={**env, "GASNET_PSHM_NODES": str(RANKS)}).wait_ready()
    line = ["mpirun.openmpi", "--oversubscribe", "-n", str(RANKS), program(conduit)]
    return job(line, ranks=RANKS, env={**env, **({"GASNET_SUPERNODE_MAXSIZE": "1"} if alone else {})}).wait_ready()


def seen_in(report):
    return {name: row for name, row in gaspbpf.events(report).items()
            if name.startswith("GASP_GASNET_") and name != "GASP_GASNET_PROGRESS" and row["calls"]}


def copied(running):
    """What were copies in the program itself, by function."""
    total = collections.Counter()
    for table in truth.functions(running):
        total.update({function: counts["calls"] for function, counts in table.items() if function.endswith(" copied")})
    return total


@pytest.mark.parametrize("conduit", ["smp", "mpi"])
def test_calls_and_bytes_are_the_jobs(job, observe, program, conduit):
    running = start(job, program, conduit)
    report = truth.window(running, observe, running.pids())
    counted = truth.by_event(truth.functions(running), EVENT_OF.get)
    seen = seen_in(report)
    assert set(seen) == set(counted) and len(seen) > 30
    for name, row in seen.items():
        inner = row["inner"]["calls"] if name in LOOPS else 0
        assert (name, row["calls"] + inner) == (name, counted[name]["calls"])
        if name in UNKNOWN_BYTES:
            assert (row["bytes"], row["calls_without_bytes"]) == (None, row["calls"])
        else:
            assert (name, row["bytes"] or 0, row["calls_without_bytes"]) == (name, counted[name]["bytes"], 0)
        if name not in LOOPS:  # inlined from the library's header
            assert sum(site["calls"] for site in row["sites"]
                       if re.search(r"(gasnet_job|job)\.c$|gasnet\w*\.h$", site["file"] or "")) == row["calls"]
    assert {thread["rank"] for thread in report["threads"] if thread["calls"]} == set(range(RANKS))
    transfers = {"GASP_GASNET_NB_PUT_INIT", "GASP_GASNET_NB_GET_INIT"}
    assert transfers & set(seen) == (transfers if conduit == "mpi" else set())
    assert sum(copied(running).values())  # these it does not see, and says so
    unseen = {row["event"]: row for row in report["not_observable"]}
    assert "inlined copies" in unseen["GASP_GASNET_NB_PUT_INIT"]["why"]
    conformance.seen(f"gasnet-ex-2025.8-{conduit}", *seen)


def test_neighbours_transfers_are_not_seen(job, observe, program):
    """Where processes of the mpi conduit share memory, too, no transfer is a call."""
    running = start(job, program, "mpi", alone=False)
    report = truth.window(running, observe, running.pids())
    assert not {"gex_RMA_PutNB", "gex_RMA_GetBlocking"} & {name for table in truth.functions(running) for name in table}
    assert copied(running)["gex_RMA_PutNB copied"] == 3 * RANKS * RANKS
    assert not {"GASP_GASNET_NB_PUT_INIT", "GASP_GASNET_NB_GET_INIT"} & set(seen_in(report))


def calls_seen(path):
    """The program's own calls of a .events file in their order, by rank: [(event, START's values, END's values)]."""
    calls, around = collections.defaultdict(list), collections.defaultdict(list)
    for line in path.read_text().splitlines():
        words = line.split(" @ ")[0].split()
        label, tid, kind, event = words[1], words[2], words[3], words[4]
        if not event.startswith("GASP_GASNET_"):
            continue
        values = dict(word.split("=", 1) for word in words[5:])
        if kind == "END":
            around[tid].pop()["end"] = values
            continue
        call = {"event": event, "start": values, "end": None}
        # Its replies come from handlers, which run inside of anything.
        if not around[tid] and event not in ELSEWHERE:
            calls[int(label.removeprefix("node:"))].append(call)
        around[tid].append(call)
    return calls


def calls_made(running, rank):
    return [line.split() for line in (running.folder / f"calls.{rank}").read_text().splitlines()]


def compare_ids(seen):
    """A team's number is the same in all processes that are in it: that of the job is 0, and each round makes one of
    all, one of two and one of one."""
    ranks = collections.defaultdict(set)
    for rank, calls in seen.items():
        ids = {}
        for call in calls:
            if "team.id" in call["start"]:
                number = call["start"]["team.id"]
                assert ids.get(call["start"]["team"], "0") == number, call
                ranks[number].add(rank)
            if call["event"] == "GASP_GASNET_TM_SPLIT":
                ids[call["end"]["newtm"]] = call["end"]["newtm.id"]
    assert ranks.pop("0") == set(range(RANKS))
    assert sorted(map(len, ranks.values())) == [1, 1, 1, 2, 2, 2, 3, 3, 3]


@pytest.mark.parametrize("conduit", ["smp", "mpi"])
def test_arguments_are_the_programs(job, observe, program, tmp_path, conduit):
    """In order: to whom, how much, which event came of it; also by the ranks of a team that has others."""
    running = start(job, program, conduit)
    out, trace, made_teams = tmp_path / "run.events", tmp_path / "run.json", set()
    truth.window(running, observe, running.pids(), ["-o", out, "-o", trace])
    seen, teams, elsewhere = calls_seen(out), collections.defaultdict(set), 0
    assert set(seen) == set(range(RANKS))
    for rank, calls in seen.items():
        made = calls_made(running, rank)
        assert [call["event"] for call in calls] == [EVENT_OF[words[0]] for words in made]
        for call, (function, peer, jobrank, size, handle) in zip(calls, made):
            begin, end = call["start"], call["end"]
            told = f"rank {rank}: {function} {peer} {jobrank} {size} {handle}: {call}"
            teams[begin.get("team")].add((rank, call["event"]))
            if function == "gex_TM_Split":
                made_teams.add(end["newtm"])
            if peer != "-1":
                (who,) = {"node", "root"} & set(begin)
                assert begin[who] == peer, told
                if jobrank != "-1":  # not that of another team that lies there by now
                    assert begin.get(f"{who}.world", peer) == jobrank, told
                    elsewhere += jobrank != peer
            if "REDUCE" in call["event"]:
                assert int(begin["n"]) * int(begin["dtsize"]) == int(size), told
            elif "INDEXED" in call["event"]:
                assert int(begin["n"]) * int(begin["count"]) == int(size), told
            elif "n" in begin:
                assert begin["n"] == size, told
            if handle != "0":
                assert int(end["handle"], 16) == int(handle, 16), told
    # In each of 3 rounds 4 messages to a team's rank 0, which is the job's 2, and 2 broadcasts from there to 2.
    assert elsewhere == 3 * (4 + 2 * 2)
    wanted = collections.Counter((EVENT_OF[words[0]], words[1], words[2]) for rank in range(RANKS)
                                 for words in calls_made(running, rank) if words[0].startswith("gex_AM_Request"))
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if "_AM_REQUEST_" in event["name"]]
    assert wanted == collections.Counter((event["name"], str(event["args"]["peer"]), str(event["args"]["peer_world"]))
                                         for event in events)
    assert made_teams < set(teams) and None in teams
    compare_ids(seen)
    assert len(teams) > 3 * RANKS  # each process has its own address of a team


def test_what_stays_on_its_stack_has_a_return_probe(program):
    """By their role these could call anything, and then their last instructions would be probed: seven times dearer."""
    lines = [line.split() for line in gaspbpf.run("list", "-v", "-m", "gasnet", program("smp")).stdout.splitlines()]
    returns = {words[1]: words[words.index("returns:") + 1] for words in lines if "returns:" in words}
    stay = [name for name in returns if re.search(r"_Prepare|_progressfn$|_kick", name)]
    assert len(stay) > 6 and {returns[name] for name in stay} == {"trampoline:"}
