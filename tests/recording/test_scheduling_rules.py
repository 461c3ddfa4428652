# SPDX-License-Identifier: BSD-2-Clause
"""When the report says that a thread was starved, and of whom, on recordings that say what the kernel has told."""
import json
import re

import pytest

import composed
import gaspbpf

pytestmark = pytest.mark.files
S = 10**9


def scheduled(tid, observed, run, queued, cpus=2, cpu=0):
    return f"scheduled {tid} {int(observed * S)} {int(run * S)} {int(queued * S) if queued is not None else -1} " \
           f"{cpus} {cpu}\n"


def report(tmp_path, count, *lines):
    """Of a job of so many ranks, which has run for 10 s."""
    ranks = "".join(f"process {rank + 1} {rank}\n" for rank in range(count))
    calls = "".join(composed.call(rank + 1, 100, 200, "MPI_Barrier", **{"comm.id": 0}) for rank in range(count))
    recording = composed.compose(tmp_path / "run.gasp", ranks + calls + "".join(lines) + f"end {10 * S}\n")
    return json.loads(gaspbpf.run("report", recording, "--json").stdout), recording


def starved(seen):
    found = [finding for finding in seen["findings"] if finding["kind"] == "starved"]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize("observed, queued, told", [
    (5, 0.5, True),     # a tenth of its time, and half a second
    (5.1, 0.5, False),  # less than a tenth
    (2, 0.49, False),   # less than half a second
    (10, 4.1, True),
    (10, None, False),  # the kernel does not tell
    (0, 0, False),      # nothing is known
])
def test_what_is_worth_a_word(tmp_path, observed, queued, told):
    seen, _ = report(tmp_path, 2, scheduled(2, observed, 0, queued))
    assert (starved(seen) is not None) == told
    assert [t["tid"] for t in seen["scheduling"]["starved"]] == ([2] if told else [])
    if told:
        assert starved(seen)["percent"] == pytest.approx(100 * queued / observed)


def test_one_thread(tmp_path):
    seen, _ = report(tmp_path, 4, scheduled(4, 10, 5.5, 4.1))
    finding = starved(seen)
    assert finding["tid"] == 4
    assert finding["text"].startswith("rank 3 could run and had no CPU for 41 % of its time (4.100 s): more "
                                      "threads wanted to run than there are CPUs for them (it may use 2), or a quota "
                                      "held it up. ")


def test_several_threads_and_the_longest_wait(tmp_path):
    seen, _ = report(tmp_path, 4, scheduled(1, 10, 5, 2), scheduled(2, 4, 2, 1.9, 0), scheduled(3, 10, 5, 0.1))
    assert starved(seen)["text"].startswith("ranks 0, 1 could run and had no CPU for 28 % of their time (3.900 s in "
                                            "all; the most: rank 0, 20 %, 2.000 s): more ")
    assert [t["tid"] for t in seen["scheduling"]["starved"]] == [1, 2]


OTHERS = "others had the CPUs, or a quota held it up"
CROWDED = "more threads wanted to run than there are CPUs for them"


@pytest.mark.parametrize("ran, quiet, said", [
    ((1.2, 2.4), 0, f"{OTHERS}: of 2 that it may use, all that was observed had 0.36"),
    ((9, 6.5), 0, f"{CROWDED}: of 2 that it may use, all that was observed had 1.55"),
    ((1.2, 2.4), 12, f"{CROWDED}: of 2 that it may use, all that was observed had 1.56"),
    ((9, None), 0, f"{CROWDED} (it may use 2), or a quota held it up"),
])
def test_who_had_the_processors(tmp_path, ran, quiet, said):
    seen, _ = report(tmp_path, 2, *(scheduled(tid, 10, run, 1.5 - 0.1 * tid)
                                    for tid, run in enumerate(ran, 1) if run is not None),
                     f"quiet 1 3 {quiet * S}\n" if quiet else "")
    assert f"): {said}" in starved(seen)["text"]


@pytest.mark.parametrize("cpus, said", [
    ((1, 1), "(each of them may use one CPU only), or a quota held them up"),
    ((1, 2), "(1 of them may use one CPU only), or a quota held them up"),
    ((1, None), "(it may use CPU 3 only), or a quota held it up"),
    ((0, None), "than there are CPUs for them, or a quota held it up"),  # not known
])
def test_each_is_bound_to_a_processor_of_its_own(tmp_path, cpus, said):
    seen, _ = report(tmp_path, 3, *(scheduled(tid, 10, 5, 3 - 0.1 * tid, count, 2 + tid)
                                    for tid, count in enumerate(cpus, 1) if count is not None))
    assert said in starved(seen)["text"]


@pytest.mark.parametrize("own, queued, cpus, said", [
    (2.8, 4, 2, True), (1.9, 4, 2, False), (2.8, 4, None, False), (2.8, 0.5, 2, True), (1.9, 0.5, 2, False)])
def test_what_gaspbpf_itself_used_of_the_processors(tmp_path, own, queued, cpus, said):
    """In the finding, and where it is too little for one in the sentence below the table."""
    seen, recording = report(tmp_path, 2, scheduled(1, 10, 5, queued), f"own {int(own * S)}\n",
                             f"cpus {cpus}\n" if cpus else "")
    text = starved(seen)["text"] if queued > 1 else gaspbpf.run("report", recording, "--section", "threads").stdout
    assert "had no CPU" in text
    assert ("; gaspbpf itself used 2.800 s of CPU time from its start on" in " ".join(text.split())) == said
    assert ("gaspbpf itself" in text) == said


@pytest.mark.parametrize("nodes", [1, 2])
def test_what_gaspbpf_itself_used_where_several_had_no_processor(tmp_path, nodes):
    """Of several nodes it is not known which had how much of it."""
    parts = [composed.compose(
        tmp_path / f"{number}.gasp", f"host n{number}\nboot {number}\ncpus 2\nown {28 * S // 10}\n" + "".join(
            f"process {rank + 1} {rank}\n" + composed.call(rank + 1, 100, 200, "MPI_Barrier", **{"comm.id": 0})
            + scheduled(rank + 1, 10, 5, 4) for rank in (2 * number, 2 * number + 1)) + f"end {10 * S}\n")
             for number in range(nodes)]
    if nodes > 1:
        assert gaspbpf.run("merge", *parts, "-o", tmp_path / "all.gasp").returncode == 0
    seen = json.loads(gaspbpf.run("report", tmp_path / "all.gasp" if nodes > 1 else parts[0], "--json").stdout)
    text = starved(seen)["text"]
    assert text.startswith(f"ranks 0-{2 * nodes - 1} " if nodes > 1 else "ranks 0, 1 ")
    assert ("; gaspbpf itself used 2.800 s of CPU time from its start on" in text) == (nodes == 1)
    assert ("gaspbpf itself" in text) == (nodes == 1)


MS = 10**6
ROUND = 50 * MS  # of which rank 1 works for all, and rank 0 for a fifth: then it waits


def waiting_job(tmp_path, *lines, rounds=100, first=0, missing=False):
    """From the first of its 100 rounds on rank 0 waits for rank 1; until then both come at once. Where calls are
    missing, it waits for messages of it: then these are not put together."""
    text = composed.ranks(2)
    for number in range(rounds):
        begins, ends = number * ROUND + 1000, (number + 1) * ROUND + 1000
        for tid in (1, 2):
            comes = begins + ROUND // 5 if tid == 1 and number >= first else ends - 100
            if missing:
                text += (composed.receive if tid == 1 else composed.send)(tid, comes, ends, 2 - tid)
                continue
            text += composed.call(tid, comes, ends, "MPI_Barrier", **{"comm.id": 0, "comm.rank": tid - 1})
    text += "".join(lines) + "sum 1 MPI_Recv 5 0 0\n" * missing + f"end {rounds * ROUND + 2000}\n"
    recording = composed.compose(tmp_path / "run.gasp", text)
    return json.loads(gaspbpf.run("report", recording, "--json").stdout), recording


def queue(tid, begins, ends, queued, run):
    return f"queue {tid} {int(begins * S)} {int(ends * S)} {int(queued * S)} {int(run * S)}\n"


@pytest.mark.parametrize("run, queued, lost", [
    (3, 2, 0),      # busy waiting: it asks, yields, and asks again
    (0.5, 4.5, 0.5),  # and in half of its work it had no CPU: it cannot have waited for others for more than 4 s
    (0.5, 1, 0.5),  # where it sleeps in its waits, it is not queued there
])
def test_who_only_asks_again_and_again_loses_nothing(tmp_path, run, queued, lost):
    """Rank 0 waits 4 of 5 s for rank 1, and is queued meanwhile."""
    seen, recording = waiting_job(tmp_path, scheduled(1, 5, run, queued), scheduled(2, 5, 5, 0))
    thread, _ = seen["threads"]
    assert thread["run_queue_ns"] == queued * S
    assert thread["run_queue_lost_ns"] == pytest.approx(lost * S, abs=MS)
    assert (starved(seen) is not None) == (lost >= 0.5)
    assert any(finding["kind"] == "delay" and finding["tid"] == 2 for finding in seen["findings"])
    text = " ".join(gaspbpf.run("report", recording, "--section", "threads").stdout.split())
    assert ("rank 0 could run and had no CPU for 40 % of its time" in text and "that is no finding" in text) == (
        not lost)
    alone = json.loads(gaspbpf.run("report", recording, "--section", "scheduling", "--json").stdout)
    assert alone["scheduling"] == seen["scheduling"]


def test_what_is_not_counted_is_said(tmp_path):
    seen, _ = waiting_job(tmp_path, scheduled(1, 5, 0.4, 4.6), scheduled(2, 5, 4, 1))
    assert [t["tid"] for t in seen["scheduling"]["starved"]] == [2, 1]
    assert starved(seen)["text"].startswith(
        "ranks 0, 1 could run and had no CPU for 16 % of their time (1.600 s in all; the most: rank 1, 20 %, 1.000 s; "
        "not counted: 4.000 s in calls that waited for others meanwhile): ")


def test_a_wait_excuses_nothing_that_was_at_another_time(tmp_path):
    """It worked in the first 2 s, and had a CPU for half of them; then it waits, for longer."""
    seen, _ = waiting_job(tmp_path, scheduled(1, 5, 2.5, 2.5), scheduled(2, 5, 5, 0), queue(1, 0, 1, 0.5, 0.5),
                          queue(1, 1, 2, 0.5, 0.5), queue(1, 2, 3, 0.5, 0.5), queue(1, 3, 4, 0.5, 0.5),
                          queue(1, 4, 5, 0.5, 0.5), first=40)
    assert seen["threads"][0]["run_queue_lost_ns"] == pytest.approx(S, abs=MS)
    assert starved(seen)["tid"] == 1


def test_where_calls_are_missing_calls_that_may_wait_are_taken_for_waits(tmp_path):
    seen, _ = waiting_job(tmp_path, scheduled(1, 5, 3, 2), scheduled(2, 5, 4, 1), missing=True)
    assert seen["threads"][0]["run_queue_lost_ns"] < 0.1 * S
    assert [t["tid"] for t in seen["scheduling"]["starved"]] == [2]


def test_threads_that_are_bound_to_one_processor(tmp_path):
    seen, _ = report(tmp_path, 3, scheduled(1, 10, 5, 5, 1, 7), scheduled(2, 10, 5, 4.9, 1, 7), scheduled(3, 10, 9, 0))
    assert ": rank 0 and rank 1 are both bound to CPU 7. " in starved(seen)["text"]
    assert seen["scheduling"]["bound"] == [{"cpu": 7, "threads": [{"pid": 1, "tid": 1}, {"pid": 2, "tid": 2}]}]


def test_many_that_are_bound_and_several_processors(tmp_path):
    lines = [scheduled(tid, 10, 2, 8, 1, 3) for tid in range(1, 6)] + \
            [scheduled(tid, 10, 5, 5, 1, 2) for tid in (6, 7)] + [scheduled(tid, 10, 5, 5, 1, 9) for tid in (8, 9)]
    seen, _ = report(tmp_path, 9, *lines)
    assert ": rank 0, rank 1, rank 2 and 2 others are all bound to CPU 3, and so it is on 2 other CPUs. " \
        in starved(seen)["text"]
    assert [group["cpu"] for group in seen["scheduling"]["bound"]] == [3, 2, 9]


def test_who_is_in_nobodys_way_is_not_named(tmp_path):
    """Bound to the same processor, and asleep; or to another one; or to several, of which it was on this one last."""
    seen, _ = report(tmp_path, 4, scheduled(1, 10, 5, 5, 1, 7), scheduled(2, 10, 0.5, 0.1, 1, 7),
                     scheduled(3, 10, 9, 0, 1, 6), scheduled(4, 10, 9, 0, 2, 7))
    assert "(it may use CPU 7 only)" in starved(seen)["text"]
    assert not seen["scheduling"]["bound"]


def test_the_tables(tmp_path):
    _, recording = report(tmp_path, 3, scheduled(1, 10, 5.5, 4), scheduled(2, 10, 2.5, None, 0),
                          scheduled(3, 0.04, 0.01, 0))

    def rows(*arguments, columns="200"):
        out = gaspbpf.run("report", recording, *arguments, env={"COLUMNS": columns}).stdout
        return {words[1]: words for line in out.splitlines() if (words := line.split())[:1] == ["rank"]}, out

    # The columns before the cost.
    table, _ = rows("--section", "threads")
    assert [table[rank][-3:-1] for rank in "012"] == [["55.0%", "40.0%"], ["25.0%", "-"], ["-", "-"]]
    # By default those that were starved, whole everybody of whom something is known.
    table, out = rows("--section", "scheduling")
    assert table["0"][-8:] == ["10.00", "s", "55.0%", "40.0%", "5.0%", "10", "2", "CPUs"]
    assert table["1"][-6:] == ["s", "25.0%", "-", "-", "20", "-"]
    assert set(table) == {"0", "1"}
    out = gaspbpf.run("report", recording).stdout
    section = out.split("\nWaiting for a CPU")[1].split("\n\n")[0]
    assert "rank 0" in section and "rank 1" not in section


def test_older_recordings(tmp_path):
    """Nothing is known: no column, no section, no 0."""
    seen, recording = report(tmp_path, 2)
    for thread in seen["threads"]:
        for key in "observed_ns", "cpu_ns", "run_queue_ns", "involuntary_switches", "allowed_cpus", "last_cpu":
            assert thread[key] is None
    out = gaspbpf.run("report", recording, "--section", "threads", "--section", "scheduling").stdout
    assert "queued" not in out and "Waiting for a CPU: this recording has nothing of it." in out


def test_figures_that_cannot_be(tmp_path):
    """A recording is somebody's file: more waiting than time."""
    seen, _ = report(tmp_path, 2, f"scheduled 1 {5 * S} {2**63} {2**62} 1 4294967295\n",
                     f"scheduled 2 {2**64 - 1} {2**64 - 1} 0 4294967295 0\n")
    assert starved(seen)["percent"] == 100
    for section in "threads", "scheduling":
        out = gaspbpf.run("report", tmp_path / "run.gasp", "--section", section)
        shares = [float(share) for share in re.findall(r"([0-9.]+)%", out.stdout)]
        assert out.returncode == 0 and shares and max(shares) <= 100
