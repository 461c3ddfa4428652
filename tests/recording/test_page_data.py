# SPDX-License-Identifier: BSD-2-Clause
"""The data of a page (`export -o run.html`, docs/page.md), read without a browser: what is drawn, what is in bins,
arrows, the report; and how large it is. Composed times are ns."""
import collections
import json
import os
import random
import re
import signal
import subprocess
import time

import pytest

import composed
import gaspbpf
from composed import call, ranks, receive, send
from page import Page

files = pytest.mark.files  # the others need a recording of bench/generate
SPANS = 60_000
LINE = re.compile(r"(\d+)\.(\d{9}) \S+ \S*:(\d+) (START|END|ATOMIC) (\S+)((?: [\w.]+=\S*)*)(?: @ (\S+))?$")


@pytest.fixture(scope="module", autouse=True)
def built_with_a_page():
    if "any browser (not in this build)" in " ".join(gaspbpf.run("export", "--help").stdout.split()):
        pytest.skip("this build has no page: make page, then make")


def exported(recording, *options, said=""):
    to = recording.with_suffix(".html")
    result = gaspbpf.run("export", recording, "-o", to, *options)
    assert result.returncode == 0 and re.fullmatch(said, result.stderr), result.stderr
    return Page(to)


NONE = r"gaspbpf: .*: the report takes it\n"
SOME = r"gaspbpf: .*: [\d,]+ of [\d,]+ calls are drawn, those that took .* or longer; more with --html-size\n"


def listed(recording):
    """By thread, as .events says: {start, duration, level, event, words, site}, in the order of their starts."""
    to = recording.with_suffix(".events")
    assert gaspbpf.run("export", recording, "-o", to).returncode == 0
    threads, open_calls = collections.defaultdict(list), collections.defaultdict(list)
    for seconds, ns, tid, kind, event, words, site in map(lambda line: LINE.match(line).groups(),
                                                          to.read_text().splitlines()):
        at, calls, stack = int(seconds) * 10**9 + int(ns), threads[int(tid)], open_calls[int(tid)]
        if kind != "END":
            calls.append({"start": at, "duration": 0, "level": len(stack), "event": event, "words": words,
                          "site": site})
        if kind == "START":
            stack.append(calls[-1])
        if kind == "END":
            ended = stack.pop()
            assert ended["event"] == event
            ended["duration"], ended["words"] = at - ended["start"], words
    return threads


def tid_of(lane):
    """The name says it, or it is the main thread of its rank, which compose gives a tid by its rank."""
    numbered = re.search(r"\(tid (\d+)\)", lane["name"])
    return int(numbered[1]) if numbered else lane["rank"] + 1


def words_shown(text):
    return " ".join(word for word in text.split() if not word.endswith("=unknown") and "=0x" not in word)


def line_shown(site):
    """"/a/job.c:61:8" is shown as "job.c:61 in exchange"."""
    return site and re.sub(r"^(?:.*/)?([^/]+?:\d+)(:\d+)?$", r"\1", site)


def check_calls(page, threads):
    """Each call of the threshold and longer is drawn as the list of events has it; no other one is."""
    threshold, without = page.facts["calls"]["shorter_than_ns"], 0
    assert sorted(tid_of(lane) for lane in page.facts["lanes"]) == sorted(threads)
    for lane, calls in zip(page.facts["lanes"], page.calls()):
        everything = threads[tid_of(lane)]
        expected = [one for one in everything if one["duration"] >= threshold]
        assert (lane["all"], len(calls)) == (len(everything), len(expected))
        for drawn, one in zip(calls, expected):
            assert (drawn["start"], drawn["duration"], drawn["level"], drawn["event"]["name"].split(" (")[0]) == \
                (one["start"], one["duration"], one["level"], one["event"])
            assert (drawn["site"] or "").split(" in ")[0] == (line_shown(one["site"]) or "")
            without += drawn["words"] != words_shown(one["words"])
            assert drawn["words"] in ("", words_shown(one["words"]))
    assert without == page.facts["calls"]["without_words"]
    total = sum(len(calls) for calls in threads.values())
    counts = page.facts["calls"]
    assert counts["all"] == total and counts["left_out"] == total - counts["drawn"]


def check_bins(page, threads):
    """How many calls of each bin are not drawn, and whose the time of those is that are inside no other such call."""
    threshold = page.facts["calls"]["shorter_than_ns"]
    length = page.facts["end_ns"] - page.facts["start_ns"]
    group_of = {event["name"]: page.facts["groups"][event["group"]] for event in page.facts["events"]}
    nbins, lanes = page.bins()
    assert nbins & (nbins - 1) == 0 and nbins * len(lanes) <= 1 << 18
    begins = [-(-length * i // nbins) for i in range(nbins + 1)]
    for lane, bins in zip(page.facts["lanes"], lanes):
        counts, times, events, until = collections.Counter(), {}, {}, 0
        for one in threads[tid_of(lane)]:
            if one["duration"] >= threshold:
                continue
            number = min(one["start"] * nbins // length, nbins - 1)
            counts[number] += 1
            at, end = one["start"], one["start"] + one["duration"]
            if at < until:
                continue
            until = end
            while at < end:
                upto = min(end, begins[number + 1]) if number + 1 < nbins else end
                group = group_of[one["event"]]
                times.setdefault(number, collections.Counter())[group] += upto - at
                events.setdefault(number, collections.Counter())[one["event"]] += upto - at
                at, number = upto, number + 1
        assert set(bins) == set(counts) | set(times)
        for number, (count, event, shares) in bins.items():
            width = begins[number + 1] - begins[number]
            assert count == counts[number]
            if number in events:
                assert events[number][event] == max(events[number].values())
            expected = times.get(number, {})
            assert set(shares) == set(expected)
            assert all(share >= 1 and abs(share - min(expected[group] * 255 / width, 255)) <= 1
                       for group, share in shares.items())
    assert sum(count for bins in lanes for count, _, _ in bins.values()) == page.facts["calls"]["left_out"]


def limit_between(recording, share):
    """A limit on the size with which about that share of the calls is drawn."""
    full, none = exported(recording), exported(recording, "--html-size", "1", said=NONE)
    assert full.facts["calls"]["left_out"] == 0 and none.facts["calls"]["drawn"] == 0
    return int(len(none.bytes) + share * (len(full.bytes) - len(none.bytes)))


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "run.gasp"
    subprocess.run([gaspbpf.TOP / "build" / "bench" / "generate", "mpi", path, str(SPANS), "8"], check=True,
                   capture_output=True, timeout=gaspbpf.PATIENCE)
    return path


@pytest.fixture(scope="module")
def threads(generated):
    return listed(generated)


def test_all_is_drawn_where_it_fits(generated, threads):
    page = exported(generated)
    assert page.facts["calls"]["all"] == SPANS and page.facts["calls"]["shorter_than_ns"] == 0
    check_calls(page, threads)
    check_bins(page, threads)
    assert all(not bins for bins in page.bins()[1])


@pytest.mark.parametrize("share", [0.1, 0.6])
def test_short_calls_are_in_bins(generated, threads, share):
    """The page has the size that was asked for, and uses most of it."""
    limit = limit_between(generated, share)
    page = exported(generated, "--html-size", str(limit), said=SOME)
    assert 0.7 * limit < len(page.bytes) <= limit and page.facts["size_limit"] == limit
    assert 0 < page.facts["calls"]["drawn"] < SPANS
    check_calls(page, threads)
    check_bins(page, threads)


# --- composed ----------------------------------------------------------------

def nested(rng, tid, start, end, depth, found):
    """Calls inside each other, in the order of their ends."""
    at = start
    while at < end:
        begin = at + rng.randrange(40)
        stop = min(begin + rng.choice((1, 5, 20, 100, 700, 3000)), end)
        if begin >= stop:
            break
        if depth < 4 and rng.random() < 0.7:
            nested(rng, tid, begin + 1, stop - 1, depth + 1, found)
        symbol = rng.choice(("MPI_Barrier", "work", "other", "malloc", "pthread_mutex_lock"))
        found.append(f"call {tid} {begin} {stop} {symbol} depth={depth}"
                     + (f" site=job.c:{rng.randrange(9) + 1}" if rng.random() < 0.5 else "") + "\n")
        at = stop + rng.randrange(3)


def random_text(seed):
    rng, text = random.Random(seed), ranks(3, init=False)
    for tid in (1, 2, 3):
        found = []
        nested(rng, tid, rng.randrange(100), 200_000, 0, found)
        text += "".join(found)
    return text + "end 300000\n"


@files
@pytest.mark.parametrize("seed", range(3))
def test_calls_inside_calls(tmp_path, seed):
    """Also where a short call has shorter ones inside, and lies in several bins."""
    recording = composed.compose(tmp_path / "run.gasp", random_text(seed))
    threads = listed(recording)
    check_calls(exported(recording), threads)
    none = exported(recording, "--html-size", "1", said=NONE)
    assert none.facts["calls"]["drawn"] == 0
    check_bins(none, threads)
    some = exported(recording, "--html-size", str(limit_between(recording, 0.5)), said=SOME)
    assert 0 < some.facts["calls"]["drawn"] < some.facts["calls"]["all"]
    check_calls(some, threads)
    check_bins(some, threads)


@files
def test_all_of_one_length(tmp_path):
    """Where some of them are too many, none is drawn, and the threshold says so."""
    text = ranks(1, init=False) + "".join(call(1, at, at + 70, "MPI_Barrier", **{"comm.id": at}) for at in
                                          range(0, 200_000, 100))
    recording = composed.compose(tmp_path / "run.gasp", text)
    page = exported(recording, "--html-size", str(limit_between(recording, 0.5)), said=SOME)
    assert page.facts["calls"]["drawn"] == 0 and 70 < page.facts["calls"]["shorter_than_ns"] <= 72
    check_bins(page, listed(recording))


@files
def test_how_calls_end(tmp_path):
    text = ranks(1, init=False) + call(1, 10, 20, "MPI_Barrier", **{"comm.id": 0}) + "atomic 1 25 work\n" + \
        "call 1 30 90 work end=under_way\nend 100\n"
    calls, = exported(composed.compose(tmp_path / "run.gasp", text)).calls()
    assert [(one["start"], one["duration"], one["end"]) for one in calls] == [(10, 10, 0), (25, 0, 0), (30, 60, 1)]


@files
def test_a_thread_on_several_lanes(tmp_path):
    """Calls that overlap: each lane nests, and no arrow leads to one of them."""
    text = ranks(2, init=False) + send(1, 20, 30, 1, 7) + send(1, 100, 110, 1) + receive(2, 40, 90, 0, 7) + \
        receive(2, 50, 130, 0)
    page = exported(composed.compose(tmp_path / "run.gasp", text))
    assert [(lane["name"], lane["thread"], lane["lane"], lane["calls"]) for lane in page.facts["lanes"]] == \
        [("rank 0", 0, 0, 2), ("rank 1", 1, 0, 1), ("rank 1 stack 2", 1, 1, 1)]
    assert [[one["start"] for one in calls] for calls in page.calls()] == [[20, 100], [40], [50]]
    assert page.arrows() == [] and page.facts["arrows"]["all"] == 0


@files
def test_lanes_stand_in_order(tmp_path):
    """By rank, then the main thread, then by tid; and what is lost is told of each."""
    text = "process 7 1\nprocess 9 0\nthread 9 5\nthread 9 12\nthread 7 8\n" + "".join(
        call(tid, 10, 20, "MPI_Barrier") for tid in (12, 8, 9, 5, 7)) + "lost 8 3\n" + call(8, 30, 40, "MPI_Barrier")
    page = exported(composed.compose(tmp_path / "run.gasp", text))
    lanes = page.facts["lanes"]
    assert [lane["rank"] for lane in lanes] == [0, 0, 0, 1, 1]
    report = json.loads(page.blocks["report"])
    assert [report["threads"][lane["thread"]]["tid"] for lane in lanes] == [9, 5, 12, 7, 8]
    assert [lane["lost"] for lane in lanes] == [0, 0, 0, 0, 3]


# --- arrows --------------------------------------------------------------------

def arrows_of_chrome(recording, *options):
    trace = recording.with_suffix(".json")
    assert gaspbpf.run("export", recording, "-o", trace, "--arrows", *options).returncode == 0
    ends = {}
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event["ph"] in "sf":
            ends[event["id"], event["ph"]] = event["name"], event["tid"], round(event["ts"] * 1000)
    return sorted((ends[number, "s"][0], ends[number, "s"][1:], ends[number, "f"][1:])
                  for number in {number for number, _ in ends})


def arrows_of(page):
    tids = [tid_of(lane) for lane in page.facts["lanes"]]
    found = page.arrows()
    assert [to for _, _, (_, to) in found] == sorted(to for _, _, (_, to) in found)
    return sorted((kind, (tids[a], start), (tids[b], end)) for kind, (a, start), (b, end) in found)


def barrier(tid, start, end):
    return call(tid, start, end, "MPI_Barrier", **{"comm.id": 0, "comm.rank": tid - 1})


def test_arrows_are_those_of_the_chrome_trace(tmp_path, generated):
    text = ranks(3) + send(1, 100, 110, 1) + receive(2, 50, 130, 0) + barrier(1, 200, 500) + barrier(2, 400, 500) + \
        barrier(3, 300, 500) + send(2, 600, 610, 2) + receive(3, 700, 710, 1)
    recording = composed.compose(tmp_path / "run.gasp", text)
    assert len(arrows_of(exported(recording))) == 4
    for one, options in (recording, []), (recording, ["--ranks", "0-1"]), (generated, []):
        page = exported(one, *options, said=".*\n|")
        assert arrows_of(page) == arrows_of_chrome(one, *options)
        assert page.facts["arrows"] == {"all": len(page.arrows()), "drawn": len(page.arrows()), "shorter_than_ns": 0}


@files
def test_the_longest_waits_have_arrows(tmp_path):
    """A small page has fewer of them: one for each 160 bytes that it may have."""
    waits = random.Random(1).sample(range(1, 9000), 400)
    text = ranks(2, init=False) + "".join(
        send(1, 10_000 * i + wait, 10_000 * i + wait + 10, 1) + receive(2, 10_000 * i, 10_000 * i + wait + 20, 0)
        for i, wait in enumerate(waits, 1))
    recording = composed.compose(tmp_path / "run.gasp", text)
    page = exported(recording, "--html-size", str(160 * 100), said=".*\n|")
    assert page.facts["arrows"]["all"] == 400 and page.facts["arrows"]["drawn"] == 100
    starts = sorted(waits, reverse=True)[:100]
    assert sorted(start % 10_000 for _, (_, start), _ in page.arrows()) == sorted(starts)
    assert page.facts["arrows"]["shorter_than_ns"] == sorted(waits, reverse=True)[100] + 1


@files
def test_nobody_waits(tmp_path):
    """Then no arrows are looked for, and the page says that, not that there are none."""
    page = exported(composed.compose(tmp_path / "run.gasp", "process 1 -1\n" + call(1, 10, 20, "malloc")))
    assert page.facts["arrows"] is None and page.arrows() is None


# --- the critical path -----------------------------------------------------------

def path_of(page):
    return [(lane, start, end) for lane, start, end in json.loads(page.blocks["path"])["parts"]]


@files
def test_the_critical_path(tmp_path):
    """Where the last one waited, it is that of the one that it waited for."""
    text = ranks(3) + barrier(1, 200, 510) + barrier(2, 500, 510) + barrier(3, 300, 510) + \
        send(3, 700, 710, 0) + receive(1, 600, 720, 2)
    page = exported(composed.compose(tmp_path / "run.gasp", text))
    assert path_of(page) == [(1, 0, 500), (2, 500, 700), (0, 700, 720)]


def check_path(page):
    """It has no holes, and each thread's part of it is what the report says."""
    report, parts = json.loads(page.blocks["report"])["critical_path"], path_of(page)
    assert all(end == start for (_, _, end), (_, start, _) in zip(parts, parts[1:]))
    assert parts[-1][2] - parts[0][1] == report["length_ns"] and len(parts) - 1 <= report["changes"]
    times = collections.Counter()
    for lane, start, end in parts:
        times[page.facts["lanes"][lane]["thread"]] += end - start
    threads = json.loads(page.blocks["report"])["threads"]
    places = {(thread["pid"], thread["tid"]): place for place, thread in enumerate(threads)}
    assert report["unknown_ns"] == 0
    assert {place: time for place, time in times.items() if time} == \
        {places[one["pid"], one["tid"]]: one["on_path_ns"] for one in report["threads"] if one["on_path_ns"]}


def test_the_path_is_that_of_the_report(generated):
    check_path(exported(generated))


# --- the report, and what is chosen ----------------------------------------------

@files
@pytest.mark.parametrize("options", [[], ["--ranks", "0"], ["--from", "0.0000002"], ["--spans-over", "50ns"]])
def test_the_report_is_that_of_the_recording(tmp_path, options):
    """Of all of it, also where a part of the calls is chosen; and lanes are numbered by it."""
    recording = composed.compose(tmp_path / "run.gasp", composed.LATE_SENDER)
    page = exported(recording, *options, said=".*\n|")
    assert page.blocks["report"].decode() == gaspbpf.run("report", "--json", recording).stdout
    report = json.loads(page.blocks["report"])
    for lane in page.facts["lanes"]:
        assert report["threads"][lane["thread"]]["rank"] == lane["rank"]
    assert [page.facts[name] for name in ("start_ns", "end_ns")] == \
        [report["recording"][name] for name in ("start_ns", "end_ns")]


@files
def test_a_part(tmp_path):
    recording = composed.compose(tmp_path / "run.gasp", composed.LATE_SENDER)
    page = exported(recording, "--ranks", "1", "--from", "0.00000004", said="gaspbpf: 2 of 6 calls are in it\n")
    assert [lane["name"] for lane in page.facts["lanes"]] == ["rank 1"]
    assert [one["start"] for one in page.calls()[0]] == [50, 280]
    assert page.facts["calls"]["all"] == 2


def test_of_a_recording_that_nobody_keeps(tmp_path):
    """What made it has no name then; beside a recording that is kept it has that one's."""
    for kept in False, True:
        outputs = [word for name in ("run.html", *["run.gasp"] * kept) for word in ("-o", tmp_path / name)]
        done = gaspbpf.run("-q", *outputs, "--", "true", timeout=gaspbpf.PATIENCE)
        assert done.returncode == 0, done.stderr
        assert Page(tmp_path / "run.html").facts["recording"] == ("run.gasp" if kept else None)


# --- hostile names -----------------------------------------------------------------

HOSTILE = "</script><script>alert(1)</script><!--\u202e\"'&amp;\x07\\"


@files
def test_hostile_names(tmp_path):
    """They stand nowhere in the file but in base64, and what is in there is good JSON that has them whole."""
    text = f"process 1 0\nruns 1 ./job {HOSTILE}\nhost {HOSTILE}\ncommand {HOSTILE}\n" \
        f"call 1 10 20 work site=<b>.c:7,<i>{'x' * 300}\n" + call(1, 30, 40, "MPI_Barrier")
    recording, broken = composed.compose(tmp_path / "run.gasp", text), tmp_path / "<img src=x>.gasp"
    subprocess.run([composed.COMPOSE, broken, gaspbpf.TOP / "models"], check=True,
                   input=text.encode().replace("\u202e".encode(), b"\xff\xfe\x80"))
    for one in recording, broken:
        page = exported(one)
        assert page.shell == shell_of(tmp_path)  # and all else is base64 in its elements
        json.loads(page.blocks["report"])
        assert page.facts["recording"] == one.name
        assert any("<b>.c:7" in site for site in page.facts["sites"])
        assert "</script><script>alert(1)" in page.facts["lanes"][0]["process"]


def shell_of(folder):
    """What is the same in all pages."""
    recording = composed.compose(folder / "plain.gasp", "process 1 0\n" + call(1, 30, 40, "MPI_Barrier"))
    return exported(recording).shell


# --- what goes wrong ----------------------------------------------------------------

@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(generated, tmp_path, number):
    """It ends by the signal, says so, and leaves nothing."""
    to = tmp_path / "x.html"
    process = subprocess.Popen([gaspbpf.PROGRAM, "export", generated, "-o", to, "-o", to, "-o", to, "-o", to],
                               stderr=subprocess.PIPE, text=True)
    gaspbpf.wait_for(lambda: to.exists() or process.poll() is not None, "the file to be made", 20)
    time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=gaspbpf.PATIENCE)
    assert (process.returncode, said) == (-number, f"gaspbpf: {to}: interrupted: nothing was written\n")
    assert not to.exists()


@files
def test_a_wrong_size(tmp_path):
    recording = composed.compose(tmp_path / "run.gasp", composed.LATE_SENDER)
    for size in "0", "much", "-1":
        result = gaspbpf.run("export", recording, "-o", tmp_path / "x.html", "--html-size", size)
        assert result.returncode == 2 and "no size" in result.stderr and not os.path.exists(tmp_path / "x.html")
