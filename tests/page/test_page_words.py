# SPDX-License-Identifier: BSD-2-Clause
"""What the sections of the page say of a report: of two ranks that never ran, put into the page without the exporter.
"""
import base64
import csv
import gzip
import io
import json
import re
import shutil

import pytest

import gaspbpf
from browsing import look

pytestmark = pytest.mark.files
SHELL = gaspbpf.TOP / "build" / "page" / "page.html"
MS = 10**6
WORTH = ("others wait for it 4 times as much as for each of those who do the same; the waiting is no single "
         "accident, and is not for want of a processor")
GROUPS = ["wait", "lock", "data", "coll", "task", "alloc", "io", "other"]


def who(rank, **more):
    return {"pid": 10 + rank, "tid": 10 + rank, "rank": rank, **more}


def thread(rank, queued_ns, cost_ns=0):
    return who(rank, name="heat", unit="rank", calls=10, delivered=10, lost=0, summed=0, skipped=0,
               wall_ns=2000 * MS, cost_ns=cost_ns, observed_ns=2000 * MS, cpu_ns=1600 * MS, run_queue_ns=queued_ns,
               involuntary_switches=1, allowed_cpus=2, last_cpu=0, group_ns={"data": 500 * MS, "outside": 1500 * MS},
               estimated_group_ns={"data": 500 * MS, "outside": 1500 * MS})


def meeting(event, *last, caused=None):
    """How often each rank is the last, and how long the others wait for it: us, as many where it is not said."""
    of, caused = sum(last), caused or last
    return {"event": event, "meetings": of, "spread_ns": of * 1000, "widest_ns": 5000,
            "others_wait_ns": sum(caused) * 1000,
            "members": [who(rank, meetings=of, last=n, late_ns=n * 1000, waits_ns=(of - n) * 1000,
                            others_wait_ns=us * 1000, persistent=False)
                        for rank, (n, us) in enumerate(zip(last, caused))]}


def iterations():
    phase = {"phase": "iterations", "from_ns": 0, "to_ns": 2000 * MS, "iterations": 1246, "mean_ns": 2 * MS,
             "median_ns": 2 * MS, "group_ns": {"data": MS}, "load_balance": 1, "communication": 1, "longer": None}
    outliers = [{"number": 100 + 10 * n, "start_ns": n * 100 * MS, "end_ns": n * 100 * MS + lasted * MS,
                 "lasted_ns": lasted * MS, "median_ns": 2 * MS, "other_calls": False,
                 "longer": {"group": "data", "ns": (lasted - 2) * MS, "threads": [who(0), who(1)][:n + 1]}}
                for n, lasted in enumerate((86, 52, 5))]
    return {"kind": "meeting", "name": "GASP_MPI_ALLREDUCE", "place": "heat.c:68 in step", "by_job": True,
            "iterations": 1246, "mean_ns": 2 * MS, "min_ns": MS, "max_ns": 86 * MS, "variation": 1, "phases": [phase],
            "outliers": outliers, "threads": [who(rank, iterations=1246) for rank in (0, 1)]}


def finding(kind, text, **more):
    return {"kind": kind, "event": None, "severity_percent": 10, "culprits": [who(1)], "victims": [who(0)],
            "places": [], "gain_ns": 100 * MS, "gain_at_most_ns": 100 * MS, "weight_ns": 200 * MS, "instances": [],
            "confidence": {"how": "statistical", "test": None, "p": None, "gain": "simulated"},
            "evidence": None, "text": text, "seen_as": [], **more}


def small_messages():
    return [{"event": "GASP_MPI_SEND", "place": "heat.c:38 in exchange", "processes": 2, "messages": 3000,
             "bytes": 192000, "messages_that_would_do": 24, "without_waiting_ns": 126 * MS, "saves_ns": 28 * MS,
             "runs": 24, "time_ns": 200 * MS, "shortest_ns": 70, "rank": None, "to": None}]


def cause(rank, direct_ns, waits):
    after, before = {"event": "GASP_MPI_RECV", "place": "/d/heat.c:40:3"}, {"event": "GASP_MPI_ALLREDUCE",
                                                                           "place": "/d/heat.c:68:2"}
    return who(rank, does="outside", inside=None, call=None, after=after, before=before, direct_ns=direct_ns,
               passed_on_ns=0, times=1246, lasted_ns=900 * MS, waits=waits,
               waiting=[who(1 - rank, direct_ns=direct_ns)])


def site(line, function):
    return {"file": "/d/heat.c", "line": line[0], "column": line[1], "function": function, "function_name": function,
            "calls": 10, "total_ns": MS}


def event(name, sites, **more):
    return {"name": name, "role": "x", "calls": 10, "delivered": 10, "lost": 0, "total_ns": MS, "self_ns": MS,
            "estimated_self_ns": MS, "sites": sites, "timed": 10, "histogram_ns": [], **more}


def events():
    return [event("GASP_MPI_RECV", [site((40, 3), "exchange")]), event("GASP_MPI_ALLREDUCE", [site((68, 2), "step")]),
            event("GASP_MPI_SEND", [site((38, 3), "exchange")]), event("GASP_C_MALLOC", [site((25, 16), "remember")])]


def by_thread():
    names = ["GASP_MPI_SEND"] + [f"GASP_MPI_EVENT_{n}" for n in range(14)]
    return [who(rank, name=name, calls=11 * n + rank, total_ns=MS, self_ns=MS - n, min_ns=1, mean_ns=1, max_ns=1)
            for n, name in enumerate(names) for rank in (0, 1)]


def findings():
    sure = {"how": "statistical", "p": 0.0027, "gain": "simulated"}
    return [finding("delay", "rank 1 computes while rank 0 waits for it", pid=11, tid=11, places=["/d/heat.c:68:2"],
                    confidence={**sure, "test": WORTH}),
            finding("small_messages", "3,000 small messages", event="GASP_MPI_SEND", places=["/d/heat.c:38:3"],
                    gain_ns=131 * MS, confidence={**sure, "test": "by the quickest calls of the same size"}),
            finding("leak", "blocks of heat.c:25 in remember pile up", pid=11, event="GASP_C_MALLOC", gain_ns=None,
                    gain_at_most_ns=None, severity_percent=None),
            finding("outlier_iterations", "2 of 1246 iterations are out of line", event="GASP_MPI_ALLREDUCE",
                    evidence={"what": "iterations", "times": 2, "of": 1246, "mean_ns": 2 * MS, "deviation_ns": MS,
                              "least_ns": MS, "most_ns": 86 * MS})]


def report():
    processes = [who(rank, name="heat", unit="rank") for rank in (0, 1)]
    return {"recording": {"start_ns": 0, "end_ns": 2000 * MS, "command": "heat", "finished": True},
            "loss": {"calls": 20, "delivered": 20, "lost": 0, "summed": 0, "skipped": 0}, "processes": processes,
            "threads": [thread(0, 330 * MS), thread(1, 10 * MS)], "events": events(), "by_thread": by_thread(),
            "findings": findings(),
            "meetings": [meeting("GASP_MPI_ALLREDUCE", 65, 1182), meeting("GASP_MPI_BCAST", 12, 8),
                         meeting("GASP_MPI_REDUCE", 125, 144, caused=(970, 30))],
            "phases": [iterations()],
            "delays": {"direct_ns": 586 * MS, "passed_on_ns": 0,
                       "causes": [cause(1, 536 * MS, 1182), cause(0, 50 * MS, 64)]},
            "communication": {"ranks": [who(0), who(1)], "small_messages": small_messages(), "pairs": [],
                              "all": {"operations": 3000, "bytes": 192000}, "sizes": [[64, 2999, 191936], [128, 1, 64]],
                              "collectives": {"operations": 2544, "bytes": 20152}},
            "memory": {"heaps": [], "sites": [who(1, heap="c", place="/d/heat.c:25:16", event="GASP_C_MALLOC",
                                                  leak="suspected", live_blocks=1000, live_bytes=4000000)]},
            "efficiency": {"threads": 2, "time_ns": 2000 * MS, "parallel": 0.5, "load_balance": 0.89,
                           "communication": 0.57, "serialisation": 0.92, "transfer": 0.61},
            "critical_path": {"length_ns": 2000 * MS, "changes": 3, "threads": [who(0, on_path_ns=2000 * MS)],
                              "parts": [{"does": "calls", "inside": None, "after": None, "before": None,
                                         "call": {"event": "GASP_MPI_FINALIZE", "place": "?"}, "gain_ns": None,
                                         "on_path_ns": 6 * MS, "imbalance_ns": 0, "gain_at_most_ns": 600000,
                                         "threads": [who(0, on_path_ns=6 * MS), who(1, on_path_ns=1000)]}]},
            "scheduling": {"starved": [], "bound": [], "intervals": []}}


def facts(**more):
    return {"format": 1, "gaspbpf": "0", "recording": "run.gasp", "start_ns": 0, "end_ns": 2000 * MS,
            "calls": {"all": 0, "drawn": 0, "left_out": 0, "shorter_than_ns": 0, "without_words": 0},
            "arrows": {"all": 0, "drawn": 0, "shorter_than_ns": 0}, "size_limit": 10**7, "arrow_kinds": ["message"],
            "groups": GROUPS, "events": [], "sites": [], "words": [""],
            "lanes": [{"thread": rank, "lane": 0, "name": f"heat (tid {10 + rank})", "process": "heat", "rank": rank,
                       "calls": 0, "first": 0, "all": 0, "lost": 0} for rank in (0, 1)], **more}


def block(name, content):
    packed = base64.b64encode(gzip.compress(content)).decode()
    return f'<script type="application/x-gaspbpf" id="gaspbpf-{name}">{packed}</script>'


def page_of(folder, of, about=None, calls=None):
    if not SHELL.exists() or not shutil.which("chromium"):
        pytest.skip("'make page', and Chromium")
    first = "\n".join([block("facts", json.dumps(about or facts()).encode()), block("report", json.dumps(of).encode())])
    text = SHELL.read_text().replace("<!--gaspbpf:first-->", first)
    page = folder / "page.html"
    page.write_text(text.replace("<!--gaspbpf:rest-->", block("calls", calls) if calls else ""))
    return page


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return look(page_of(tmp_path_factory.mktemp("words"), report()), "words", "csv", "filter", "bars")


def section(seen, name):
    return re.sub(r"\s+", " ", seen["words"][name])


def test_who_had_no_cpu_is_named_though_nobody_is_starved(seen):
    text = section(seen, "cpu")
    assert "No thread was without a CPU for a tenth of its time and half a second in all." in text
    assert "Had none for 3 % of their time and more: 1 thread, the most rank 0 16.5 % (330.0 ms)." in text


def test_who_is_mostly_last_does_not_take_turns(seen):
    text = section(seen, "meetings")
    assert "mostly rank 1 in 95 %" in text and "by turns; most often rank 0 in 60 %" in text
    assert "by turns; most often rank 1 in 54 %; 97 % of the waiting is for rank 0" in text
    assert "rank 0 in 60 %;" not in text, "it is waited for no more than it is late"
    assert re.search(r"rank 1 1,247 1,182 94.8 % .* mostly rank 0 1,247 65 5.2 % .* seldom", text)
    assert "persistently last" not in text, "no bar has that colour"
    assert "mostly: half as often again as its share and more" in text


def test_outliers_are_counted_as_in_the_finding(seen):
    text = section(seen, "phases")
    assert "3 of 1,246 iterations are out of line" in text and "those 2 of them that took 5.000 ms and more" in text
    assert "ranks 0, 1 spent up to 50.00 ms more each in calls that move data" in text
    assert "How regular all 1,246 iterations: 2.000 ms on average" in section(seen, "findings")
    assert "number 101: rank 0 spent 84.00 ms more in calls that move data" in section(seen, "findings")
    assert "how long it took on rank 0, by when" in text and "how long it took, of all threads together" in text
    rows = list(csv.DictReader(io.StringIO(seen["csv"]["phases.outliers"], newline="")))
    assert [row["iteration"] for row in rows] == ["101", "111", "121"]


def test_a_finding_says_what_is_late_how_sure_that_is_and_which_figure_is_what(seen):
    text = section(seen, "findings")
    assert "rank 1's own work, between heat.c:40 in exchange and heat.c:68 in step. The calls there are" in text
    assert "Reported when others wait for this thread at least 4 times as long as for each other thread" in text
    assert ("; here others waited 536.0 ms for it, in 1,182 waits, and 50.00 ms at most for any other that does the "
            "same.") in text
    assert "Reckoned by the quickest calls of the same size." in text
    assert "3,000 messages of 64 B in a row -> 24 of up to 64 KiB" in text
    assert "28.00 ms: the least that is saved in these calls alone, of 2 ranks together" in text
    assert "blocks from heat.c:25 in remember: 1,000 blocks of 4,000 B each on average, 3.81 MiB in all" in text
    assert "131.0 ms (6.5 % of the watched time)" in text and text.count("do not add up, is not known.") == 1


ADDED = "1 and 2 together: the 2.000 s observed would be 200.0 ms (10.0 %) shorter: what each gives adds up."


def of_two_late_ones(**more):
    """Two ranks are late before the same call, after another one each, and one of them lacks a CPU."""
    late = [finding("delay", f"rank {rank} is late", pid=10 + rank, tid=10 + rank, places=["/d/heat.c:68:2"],
                    culprits=[who(rank)], victims=[who(1 - rank)]) for rank in (1, 0)]
    unseen = {"calls_not_on_timeline": 5, "windows": 1, "cut": True}
    starved = finding("starved", "rank 0 had no CPU", victims=[who(0)], culprits=[], gain_ns=None,
                      gain_at_most_ns=100 * MS, percent=16.5, pid=10, tid=10,
                      confidence={"how": "measured", "test": "the kernel's own account: a tenth of the thread's time, "
                                  "and half a second", "p": None, "gain": "bounded", "not_seen": unseen})
    causes = [cause(1, 536 * MS, 1182),
              {**cause(0, 50 * MS, 64), "after": {"event": "GASP_MPI_SEND", "place": "/d/heat.c:38:3"},
               "also_after": [{"event": "GASP_C_MALLOC", "place": "/d/heat.c:25:16"}]}]
    one = {"load_balance": 0.9, "parallel": 0.5, "threads": 2, "time_ns": 2000 * MS}
    bound = finding("no_overlap", "waits overlap nothing", event="GASP_MPI_RECV", gain_ns=None,
                    confidence={"how": "bounded", "test": None, "p": None, "gain": "bounded"})
    return {**report(), "findings": [*late, starved, bound], "efficiency": one,
            "delays": {"direct_ns": 586 * MS, "passed_on_ns": 0, "causes": causes}, **more}


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    gains = {"findings": [1, 2], "sum_ns": 200 * MS, "together_ns": 200 * MS, "text": ADDED}
    folder = tmp_path_factory.mktemp("two")
    return look(page_of(folder, of_two_late_ones(gains=gains)), "words")


def test_titles_tell_who_and_where(two):
    text = section(two, "findings")
    assert "1. rank 1 is late, and others wait for it: between heat.c:40 and heat.c:68 " in text
    assert "2. rank 0 is late, and others wait for it: between heat.c:38 or heat.c:25 and heat.c:68 " in text
    assert "3. Threads could run, and had no CPU: rank 0 " in text


def test_all_calls_that_it_may_come_after_are_named(two):
    text = section(two, "findings")
    assert "rank 0's own work, between heat.c:38 in exchange or heat.c:25 in remember and heat.c:68 in step. " in text
    assert "rank 0's calls at heat.c:38 rank 0's calls at heat.c:25 rank 0's calls at heat.c:68" in text
    assert "after GASP_MPI_SEND at heat.c:38 in exchange or GASP_C_MALLOC at heat.c:25 in remember, before" in \
        section(two, "waiting")


def test_who_is_queued_in_waits_alone_is_not_starved_and_that_is_said(tmp_path):
    """Rank 0 lacks a CPU for 45 % of its time, rank 1 for 50 %, but for 2 % of it only when it had to do something."""
    ranks = [{**thread(0, 900 * MS), "run_queue_lost_ns": 900 * MS},
             {**thread(1, 1000 * MS), "run_queue_lost_ns": 40 * MS}]
    some = of_two_late_ones(threads=ranks, scheduling={"starved": [who(0)], "bound": [], "intervals": []})
    page = look(page_of(tmp_path, some), "words", "csv")
    rows = list(csv.DictReader(io.StringIO(page["csv"]["scheduling"], newline="")))
    assert {row["tid"]: row["starved"] for row in rows} == {"10": "yes", "11": "no: in waits"}
    text = section(page, "cpu")
    assert "Starved: it had no CPU for" in text and "a yield of its own counts as one" in text
    assert "Beware: rank 0 had no CPU for 45 % of its time; part of this is that." in section(page, "waiting")


def test_what_was_too_short_to_be_told_has_no_mean(tmp_path):
    chunks = finding("small_chunks", "a loop in too small pieces",
                     evidence={"what": "pieces", "times": 5800000, "of": 5800000, "mean_ns": 0, "deviation_ns": None,
                               "least_ns": None, "most_ns": None})
    text = section(look(page_of(tmp_path, of_two_late_ones(findings=[chunks])), "words"), "findings")
    assert "How much" in text and "0 ns" not in text and "How regular" not in text


def test_what_findings_give_together_is_what_was_simulated(two):
    """Of the third one it is only a bound, and nobody knows whether that is of the same time."""
    text = section(two, "findings")
    assert f"{ADDED} Whether the other gains are of the same time, so that they do not add up, is not known." in text


@pytest.mark.parametrize("kinds, said", [
    (("delay", "delay", "no_overlap"), True), (("delay", "delay", "starved"), False), (("delay", "starved"), False)])
def test_gains_that_are_not_told_are_not_said_to_overlap(tmp_path, kinds, said):
    """What a CPU would give is no figure, and two that were simulated together have theirs."""
    gains = {"findings": [1, 2], "sum_ns": 200 * MS, "together_ns": 200 * MS, "text": ADDED}
    one, other, starved, bound = of_two_late_ones()["findings"]
    told = [{"delay": (one, other)[at > 0], "starved": starved, "no_overlap": bound}[kind]
            for at, kind in enumerate(kinds)]
    some = of_two_late_ones(findings=told, gains=gains if kinds.count("delay") > 1 else None)
    text = section(look(page_of(tmp_path, some), "words"), "findings")
    assert ("is not known." in text.split("What next")[-1]) == said and (ADDED in text) == (kinds.count("delay") > 1)


@pytest.mark.parametrize("percent", [39, 40])
def test_what_may_come_from_the_probes_says_so(tmp_path, percent):
    late, *_ = of_two_late_ones()["findings"]
    cost = finding("probe_cost", "gaspbpf's own probes take much", gain_ns=None, percent=percent)
    text = section(look(page_of(tmp_path, of_two_late_ones(findings=[cost, late], gains=None)), "words"), "findings")
    assert text.count("of a thread's time: some or all of this may be theirs") == (percent == 40)


def test_how_sure_a_lack_of_processors_is(two):
    """It rests on what the kernel says, and on no call."""
    text = section(two, "findings").split("3. Threads could run")[1].split("4. Waits")[0]
    assert "How sure measured by the kernel: how long each thread waited in a CPU's run queue; no call was " in text
    assert "needed for it Reported when a thread had no CPU" in text
    assert "each call was seen" not in text and "not on the timeline" not in text


def test_threads_are_told_apart_where_there_is_no_room_for_their_names(tmp_path):
    """Beside the findings, where names that begin alike would be cut."""
    workers = [{**thread(0, 0), "tid": tid, "name": "a-long-name-of-workers"} for tid in (77, 78)]
    some = of_two_late_ones(threads=[*report()["threads"], *workers])
    text = section(look(page_of(tmp_path, some, calls=None), "words"), "findings")
    assert "rank 0 tid 77" in text and "rank 0 tid 78" in text and "a-long-name" not in text


def test_nothing_found_where_calls_are_missing_says_so(tmp_path):
    waits = {"states": [], "pairs": [], "waited_ns": 0, "lossy_processes": 1}
    some = {**report(), "findings": [], "wait_states": waits}
    text = section(look(page_of(tmp_path, some), "words"), "findings")
    assert "Nothing stands out" in text
    assert "Of 1 process calls are missing: for whom these wait is not known." in text


def test_the_sentence_of_efficiency_ends(two):
    text = section(two, "waiting")
    assert "is the parallel efficiency. " in text and "is the parallel efficiency;" not in text


def test_a_filter_takes_words_of_several_cells_and_leaves_widths(seen):
    before, after = seen["filter"]["before"], seen["filter"]["after"]
    assert [row.split(" ")[:3] for row in after["rows"]] == [["rank", "1", "GASP_MPI_SEND"]]
    assert after["widths"] == before["widths"]


def test_a_table_is_not_cut_within_a_row(seen):
    before = seen["filter"]["before"]
    assert before["cut"] and before["edge"] < 1.5


def test_sizes_say_of_how_many_operations_they_are(seen):
    text = section(seen, "communication")
    assert "3,000 operations by size" in text
    assert "The 2,544 collective operations (19.7 KiB) are not among them: they are counted apart, by rank." in text


def test_a_single_one_is_seen_beside_thousands(seen):
    assert seen["bars"] == 2, "a bar of 2,999 operations, and one of a single one"


def test_efficiency_says_which_one_is_to_be_looked_at_and_what_lowers_all(seen):
    text = section(seen, "waiting")
    assert "the smallest of these three says where to look: here transfer." in text
    assert "Beware: for 8.5 % of their time threads had no CPU. That lowers these figures." in text


def test_columns_of_the_critical_path_are_explained_and_who_has_all_of_it_is_one(seen):
    text = section(seen, "path")
    assert "what the run is shorter by if this takes a tenth less" in text and "at most: a tenth of what it has" in text
    assert re.search(r"at most rank 0 is in GASP_MPI_FINALIZE", text) and "2 threads" not in text
