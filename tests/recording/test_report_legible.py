# SPDX-License-Identifier: BSD-2-Clause
"""What a reader trips over: legends of columns that are not there, headings without rows, symptoms beside their
cause, shares of nobody knows what."""
import json

import pytest

import composed
import gaspbpf
from on_terminal import OnTerminal

pytestmark = pytest.mark.files
S = 10**9


def shown(recording, *arguments, width=200):
    result = gaspbpf.run("report", recording, *arguments, env={"COLUMNS": str(width)})
    assert result.returncode == 0, result.stderr
    return result.stdout


def told(recording):
    return json.loads(gaspbpf.run("report", recording, "--json").stdout)


def words(text):
    return " ".join(text.split())


def scheduled(tid, queued, run=5.0):
    return f"scheduled {tid} {10 * S} {int(run * S)} {int(queued * S)} 2 0\n"


def heading(text, title):
    """What stands in brackets behind the title."""
    return words(text[text.index(f"\n{title}") + len(title) + 1:]).split(")")[0]


@pytest.mark.parametrize("section, title, width, legends, beyond", [
    ("threads", "Threads", 60, ["queued: "], ["CPU: "]),
    ("threads", "Threads", 48, ["outside: "], ["CPU: ", "queued: "]),
    ("threads", "Threads", 200, ["CPU: ", "queued: ", "cost: ", "outside: "], []),
    ("delays", "Who is waited for", 62, ["passed on: "], ["share: "]),
    ("delays", "Who is waited for", 200, ["passed on: ", "share: of all that is waited"], []),
])
def test_a_column_that_is_left_out_has_no_legend(tmp_path, section, title, width, legends, beyond):
    recording = composed.compose(tmp_path / "run.gasp", composed.LATE_SENDER + scheduled(1, 0.1) + f"end {10 * S}\n")
    status, text = OnTerminal("report", recording, "--section", section, "--color=never", width=width).finish()
    assert status == 0, text
    said = heading(text.replace("\r", ""), title)
    assert all(legend in said for legend in legends), said
    assert not any(legend in said for legend in beyond), said


def test_no_heading_without_rows(tmp_path):
    """Nobody has waited: that is said, or what is not known of it."""
    together = composed.ranks(2, init=False) + "".join(
        composed.call(rank + 1, 100, 110, "MPI_Barrier", **{"comm.id": 0, "comm.rank": rank}) for rank in range(2))
    recording = composed.compose(tmp_path / "together.gasp", together)
    assert shown(recording, "--section", "wait_states").strip() == "Wait states: this recording has nothing of it."
    alone = composed.compose(tmp_path / "alone.gasp", composed.ranks(2, init=False) + composed.send(1, 100, 110, 1))
    text = shown(alone, "--section", "wait_states")
    assert "Wait states\nNot known for 1 sends and receives" in text and "Longest" not in text


@pytest.mark.parametrize("queued, noted, starved", [
    ((0.2, 0.1, 0.2), False, False), ((0.8, 0.1, 0.5), True, False), ((1.2, 0.1, 0.5), False, True)])
def test_a_cpu_is_lacking_now_and_then(tmp_path, queued, noted, starved):
    """Too little for a finding is told nevertheless, once."""
    ranks = composed.ranks(3) + "".join(scheduled(tid, ns) for tid, ns in enumerate(queued, 1))
    recording = composed.compose(tmp_path / "run.gasp", ranks + f"end {10 * S}\n")
    text = words(shown(recording, "--section", "threads"))
    note = "ranks 0, 2 could run and had no CPU, while not waiting for others anyway, for 6 % of their time " \
           "since their first calls (1.300 s in all; the most: rank 0, 8 %, 800.0 ms). That is a finding only from " \
           "10 % of the time of a thread on"
    assert (note in text) == noted and ("That is a finding only" in text) == noted
    assert any(finding["kind"] == "starved" for finding in told(recording)["findings"]) == starved


def of_a_team():
    """Thread 1 begins ten regions at omp.c:10; between its shares thread 2 waits for the next."""
    text = "process 1 -1\nthread 1 2\n"
    for at in range(0, 10_000, 1000):
        text += composed.call(2, at + 20, at + 600, "fn", depth=0, site="libgomp.c:99")
        text += composed.call(1, at + 10, at + 300, "fn", depth=1, site="libgomp.c:55")
        text += composed.call(1, at, at + 700, "GOMP_parallel", site="omp.c:10")
        text += "".join(composed.call(tid, at + start, at + 800, "GOMP_barrier")
                        for tid, start in ((1, 710), (2, 780)))
    return text


def test_a_share_of_a_region_is_called_by_nobodys_line(tmp_path):
    """A runtime calls it, always from the same place: the function has a name, the region has the line."""
    recording = composed.compose(tmp_path / "run.gasp", of_a_team())
    by_line = shown(recording, "--by", "line")
    assert "libgomp.c" not in by_line and "\nfn " in by_line and "\nomp.c:10" in by_line
    sites = shown(recording, "--section", "sites")
    assert "libgomp.c" not in sites and "omp.c:10" in sites


def test_a_worker_between_its_shares_does_not_compute(tmp_path):
    """It waits for the next region: nobody waits for what it does then."""
    recording = composed.compose(tmp_path / "run.gasp", of_a_team())
    parts = told(recording)["critical_path"]["parts"]
    idle = [part for part in parts if not part["inside"] and not part["call"]
            and any(thread["tid"] == 2 for thread in part["threads"])]
    assert idle and {part["does"] for part in idle} == {"unknown"}


@pytest.mark.parametrize("ran, queued, does", [
    (9.9, 0, "computes"), (5.5, 4.4, "computes"), (5, 0.4, "is outside of calls"), (None, 0, "is outside of calls")])
def test_who_may_have_slept_does_not_compute(tmp_path, ran, queued, does):
    """Rank 1 comes late by 0.8 s each time, in which it is in no call; the kernel tells how long it can have slept."""
    late = composed.ranks(2) + "".join(
        composed.call(tid, at + early, at + S, "MPI_Barrier", **{"comm.id": 0, "comm.rank": tid - 1})
        for at in range(0, 10 * S, S) for tid, early in ((1, S // 10), (2, S * 9 // 10)))
    kernel = scheduled(2, queued, ran) if ran is not None else ""
    recording = composed.compose(tmp_path / "run.gasp", late + kernel + f"end {10 * S}\n")
    delay, = [finding for finding in told(recording)["findings"] if finding["kind"] == "delay"]
    assert delay["text"].startswith(f"rank 1 {does} (")
    word = "computes" if does == "computes" else "outside"
    assert f"\nrank 1 {word} " in shown(recording, "--section", "delays")
    assert ("outside of calls" if word == "outside" else "computes") in delay["text"]


def late_and_slow(late, alone):
    """Rank 1 is late at each barrier by so many us; in MPI_Bcast each rank is for so many, and waits for nobody."""
    text, at = composed.ranks(2), 10**6
    for _ in range(10):
        for tid, early in (1, 0), (2, late * 1000):
            text += composed.call(tid, at + early + 1000, at + 1_000_000, "MPI_Barrier",
                                  **{"comm.id": 0, "comm.rank": tid - 1})
            text += composed.call(tid, at + 1_000_100, at + 1_000_100 + alone * 1000, "MPI_File_read_at", fh=7)
        at += 2_000_000
    return text


def test_a_symptom_stands_below_its_cause(tmp_path):
    """The barrier takes most of the time since rank 1 is late: one finding, the cause."""
    recording = composed.compose(tmp_path / "run.gasp", late_and_slow(900, 100))
    findings = told(recording)["findings"]
    assert [finding["kind"] for finding in findings] == ["delay"]
    seen, = findings[0]["seen_as"]
    assert seen["kind"] == "hot_event" and seen["event"] == "GASP_MPI_BARRIER" and not seen["seen_as"]
    text = words(shown(recording, "--section", "findings"))
    assert " seen as: GASP_MPI_BARRIER takes " in text and "2. " not in text
    assert "seen as: GASP_MPI_BARRIER takes " in words(shown(recording, "--explain", "1"))


def test_what_no_cause_explains_is_a_finding(tmp_path):
    """Beside the late rank both read a file for long: behind the symptom, the next event is looked at."""
    recording = composed.compose(tmp_path / "run.gasp", late_and_slow(900, 500))
    findings = told(recording)["findings"]
    assert [(finding["kind"], finding["event"]) for finding in findings if finding["kind"] == "hot_event"] == [
        ("hot_event", "GASP_MPI_FILE_READ_AT")]
    assert [finding["seen_as"][0]["event"] for finding in findings if finding["seen_as"]] == ["GASP_MPI_BARRIER"]


@pytest.mark.parametrize("seen", [True, False], ids=["who makes calls", "who makes none"])
def test_who_waits_for_his_own_threads(tmp_path, seen):
    """The first thread waits for the other one, which does the work: that is the program, and no trouble. Where nothing
    is known of the other one the wait is all there is, and it is said why."""
    text = composed.threads(2 if seen else 1) + composed.call(1, S, 9 * S, "pthread_join", thread=2)
    if seen:
        text += "".join(composed.call(2, at * S, at * S + 10, "pthread_mutex_trylock", mutex=16 * at)
                        for at in range(2, 9))
    recording = composed.compose(tmp_path / "run.gasp", text + f"end {10 * S}\n")
    hot = [finding for finding in told(recording)["findings"] if finding["kind"] == "hot_event"]
    assert len(hot) == (not seen)
    assert ("waits for makes no calls that were observed" in words(shown(recording))) == (not seen)


def test_threads_without_a_call(tmp_path):
    """They have a word where they ran for more than a hundredth of the time that their process was observed."""
    text = composed.ranks(3) + f"quiet 1 7 {S // 10 + 1}\nquiet 2 1 {2 * S}\nquiet 3 1 {S // 10}\nend {10 * S}\n"
    recording = composed.compose(tmp_path / "run.gasp", text)
    assert [(one["quiet_threads"], one["quiet_run_ns"]) for one in told(recording)["processes"]] == [
        (7, S // 10 + 1), (1, 2 * S), (1, S // 10)]
    lines = [line for line in shown(recording, "--section", "processes").splitlines() if line.startswith("  rank ")]
    assert [line.partition(", 1 thread")[2].partition(":")[0] for line in lines] == [
        ", and 7 more that made no observed call and ran 100.0 ms",
        ", and 1 more that made no observed call and ran 2.000 s", ""]


@pytest.mark.parametrize("more, said", [
    ("", True), (f"window 1 {S} {S} runtime:libgomp.so.1 c, pthread\n", True), (f"out MPI_Send {S}\n", False),
    ("sum 1 MPI_Send 0 0 3\n", False)], ids=["nothing", "withdrawn", "out", "only counted"])
def test_nothing_had_to_be_left_out(tmp_path, more, said):
    text = composed.ranks(2) + composed.call(1, 100, 200, "pthread_mutex_lock", mutex=1)
    text += composed.send(1, 210, 220, 1) + f"budget 200\n{more}end {10 * S}\n"
    kept = shown(composed.compose(tmp_path / "run.gasp", text)).split("\nKept low\n")[1].split("\n\n")[0]
    assert kept.startswith("  limit: probes take at most 2% of each thread's time")
    assert ("; nothing had to be left out" in kept) == said


@pytest.mark.parametrize("summed, said", [
    (0, "what they were is not known"), (9, "9 of them are in Calls and Total, timed in the kernel"),
    (3000, "all are in Calls and Total, timed in the kernel")])
def test_calls_that_were_lost(tmp_path, summed, said):
    """One line where nobody limits it; on a terminal it goes on below."""
    text = composed.ranks(2) + composed.send(1, 210, 220, 1)
    text += f"lost 1 {3000 - summed}\n" if summed < 3000 else ""
    text += f"sum 1 MPI_Send {summed} 0 0 {summed} {summed * 100} 100 100\n" if summed else ""
    recording = composed.compose(tmp_path / "run.gasp", text + f"end {10 * S}\n")
    lines = gaspbpf.run("report", recording).stdout.splitlines()
    line = next(line for line in lines if line.startswith("lost 3,000 of"))
    assert line.endswith(f" calls from the timeline (99.9 %); {said}")
    assert line in words(shown(recording, width=40)) and line not in shown(recording, width=40)


def test_few_of_many_calls_were_lost(tmp_path):
    """That is little, and not nothing."""
    text = composed.ranks(2) + "".join(composed.send(1, 100 * n, 100 * n + 50, 1) for n in range(10, 5010))
    recording = composed.compose(tmp_path / "run.gasp", text + f"lost 1 1\nend {10 * S}\n")
    assert "\nlost 1 of 5,003 calls from the timeline (0.0200 %); " in shown(recording)


@pytest.mark.parametrize("out", [False, True])
def test_what_was_withdrawn_was_not_kept_low(tmp_path, out):
    text = composed.ranks(2) + composed.call(1, 100, 200, "pthread_mutex_lock", mutex=1)
    text += composed.send(1, 210, 220, 1) + f"window 1 {S} {S} runtime:libgomp.so.1 c, pthread\n"
    text += f"out MPI_Send {S}\n" * out
    seen = shown(composed.compose(tmp_path / "run.gasp", text + f"end {10 * S}\n"))
    assert "c, pthread: seen only until" in words(seen)
    assert ("\nKept low\n  GASP_MPI_SEND was out for 1.000 s" in seen) == ("\nKept low" in seen) == out


@pytest.mark.parametrize("width, where", [
    (200, "after exchange_everything_with_all+0x10, before sum_up_what_has_come_from_all+0x10"),
    (120, "after exchange_e..ng_with_all+0x10, before sum_up_wh..ome_from_all+0x10"),
    (80, "after exchange_e..ng_with_all+0x10 "),
])
def test_addresses_are_what_is_kept_of_a_place(tmp_path, width, where):
    """Rank 1 is late, nearly always; after and before which call is told in whatever room there is."""
    text, at = composed.ranks(2), S
    for number in range(40):
        late = 1 + (number % 20 != 0)
        for tid in (1, 2):
            comes = at + (S // 10 if tid == late else 0)
            text += composed.call(tid, comes, at + S // 10 + 1000, "MPI_Barrier",
                                  **{"comm.id": 0, "comm.rank": tid - 1, "site": "+sum_up_what_has_come_from_all"})
            text += composed.call(tid, at + S // 10 + 2000, at + S // 10 + 3000, "MPI_Send",
                                  dest=2 - tid, site="+exchange_everything_with_all")
        at += S // 5
    recording = composed.compose(tmp_path / "run.gasp", text + f"end {10 * S}\n")
    row = next(line for line in shown(recording, "--section", "delays", width=width).splitlines()
               if line.startswith("rank 1"))
    assert where in row and len(row) <= width


def test_processes_of_one_program_without_a_call_are_one_line(tmp_path):
    text = composed.ranks(1) + "".join(f"process {pid} {pid % 2}\nruns {pid} {command}\nquiet {pid} 1 {S}\n"
                                       for pid, command in (
                                           (7, "pkg-config --exists this"), (8, "pkg-config --libs this"),
                                           (9, "pkg-configure"), (11, "pkg-config --exists this")))
    text += "process 20 0\nruns 20 sh -c true\n"
    recording = composed.compose(tmp_path / "run.gasp", text + f"end {10 * S}\n")
    assert shown(recording, "--section", "processes").splitlines()[-4:] == [
        "  rank 0 (pid 1), 1 thread: ./job",
        "  3 processes (the first: rank 1 (pid 7)) that made no observed call and ran 3.000 s in all: pkg-config ..",
        "  rank 1 (pid 9), which made no observed call and ran 1.000 s: pkg-configure",
        "  rank 0 (pid 20), which made no observed call: sh -c true"]


def silent(pid, command, status=None):
    return f"process {pid} -1\nruns {pid} {command}\n" + (f"exit {pid} {status}\n" if status is not None else "")


def processes(recording, *arguments, **more):
    return [line for line in shown(recording, "--section", "processes", *arguments, **more).splitlines()
            if line.startswith("  ")]


ALIKE = "  2 processes (the first: job (pid 7)) that made no observed call: "


@pytest.mark.parametrize("first, other, alike", [
    ("cc -O2 x", "cc -O2 xy", "cc -O2 .."), ("cc -O2 xy", "cc -O2 x", "cc -O2 .."),  # not half a word
    ("cc -O2 x y", "cc -O2 x", "cc -O2 x .."), ("cc", "cc -v", "cc .."), ("cc -v", "cc -v", "cc -v"),
    ("cc -O2 -c x.c", "cc -O2 -c y.c", "cc -O2 -c .."),
    ("cat x", "sed x", None), ("cat x", "cat2 x", None),
])
def test_what_commands_have_alike(tmp_path, first, other, alike):
    recording = composed.compose(tmp_path / "run.gasp", silent(7, first) + silent(8, other))
    assert processes(recording) == ([ALIKE + alike] if alike else [
        f"  job (pid {pid}), which made no observed call: {command}" for pid, command in ((7, first), (8, other))])


def test_what_three_commands_have_alike(tmp_path):
    text = "".join(silent(pid, command) for pid, command in ((7, "cc -c x.c"), (8, "cc -v x.c"), (9, "cc -c x.c")))
    line, = processes(composed.compose(tmp_path / "run.gasp", text))
    assert line.endswith("made no observed call: cc ..")


def test_processes_that_ended_alike_are_one_line(tmp_path):
    text = silent(7, "cc x", 0) + silent(8, "cc x", 1 << 8) + silent(9, "cc x") + silent(10, "cc y", 0)
    recording = composed.compose(tmp_path / "run.gasp", text + silent(11, "cc x", 9))
    assert processes(recording) == [ALIKE + "cc .. (exited with 0)"] + [
        f"  job (pid {pid}), which made no observed call: cc x{ended}"
        for pid, ended in ((8, " (exited with 1)"), (9, ""), (11, " (killed by signal 9)"))]


def test_who_made_calls_is_joined_with_nobody(tmp_path):
    """Nor who stands for others, or is no part of the job."""
    text = silent(7, "./job x") + composed.ranks(2) + "runs 1 ./job x\nruns 2 ./job x\n" + silent(8, "./job x")
    text += silent(20, "./job x") + silent(21, "./job x") + "beside 21\nprocess 200 -1\nothers 200\n"
    recording = composed.compose(tmp_path / "run.gasp", text)
    others = ["  job (pid 200): those that ended too long ago, came too many at a time, or ended before a look at them"]
    first = "  3 processes (the first: job (pid 7)) that made no observed call: ./job x"
    assert processes(recording) == [
        first, "  rank 0 (pid 1), 1 thread: ./job x", "  rank 1 (pid 2), 1 thread: ./job x"] + others


def test_of_only_sums_it_is_not_known_who_made_no_call(tmp_path):
    text = "process 7 0\nprocess 8 1\nonly_sums\n" + "runs 7 ./job\nruns 8 ./job\nlaunch 7 launcher 1\n"
    recording = composed.compose(tmp_path / "run.gasp", text + f"sum 7 MPI_Barrier 0 9 0 9 900 100 100\nend {S}\n")
    assert all(line.endswith(": ./job") and "no observed" not in line for line in processes(recording))


@pytest.mark.parametrize("programs, more", [(3, None), (70, "  ... and 140 more processes")])
def test_not_processes_but_their_lines_are_counted(tmp_path, programs, more):
    """Each program runs three times."""
    text = "".join(silent(1000 + number, f"program{number % programs} x") for number in range(3 * programs))
    lines = processes(composed.compose(tmp_path / "run.gasp", text))
    kept = [line for line in lines if line.startswith("  3 processes ")]
    assert lines == kept + ([f"  ... and {3 * (programs - len(kept))} more processes"] if more else [])
    assert len(kept) == programs if not more else 0 < len(kept) < programs


def test_processes_of_one_node_are_one_line(tmp_path):
    parts = [composed.compose(tmp_path / f"{node}.gasp", f"host n{node}\nboot {node}\n" + "".join(
        silent(pid, "cc x") for pid in pids) + f"end {S}\n") for node, pids in ((1, (7, 8)), (2, (7,)))]
    assert gaspbpf.run("merge", *parts, "-o", tmp_path / "all.gasp").returncode == 0
    assert processes(tmp_path / "all.gasp") == [
        "  2 processes on n1 (the first: job (pid 7)) that made no observed call: cc x",
        "  job (pid 7) on n2, which made no observed call: cc x"]


@pytest.mark.parametrize("width, command, lines", [
    (40, "./job --input /scratch/far/away", ["./job", "--input", "/scratch/far/away"]),  # 12 columns would say nothing
    (49, "ж" * 30, ["ж" * 19 + ".."]), (58, "ж" * 30, ["ж" * 30]), (57, "ж" * 30, ["ж" * 27 + ".."]),
])
def test_how_much_of_a_command_fits(tmp_path, width, command, lines):
    recording = composed.compose(tmp_path / "run.gasp", composed.ranks(1) + f"runs 1 {command}\n")
    said = processes(recording, width=width)
    assert words(" ".join(said)) == f"rank 0 (pid 1), 1 thread: {' '.join(lines)}" and max(map(len, said)) <= width


def test_how_it_ended_stands_behind_a_command_that_is_cut(tmp_path):
    recording = composed.compose(tmp_path / "run.gasp", composed.ranks(1) + f"runs 1 ./job {'x' * 90}\nexit 1 768\n")
    line, = processes(recording, width=70)
    assert line.startswith("  rank 0 (pid 1), 1 thread: ./job x") and line.endswith("x.. (exited with 3)")
    assert len(line) == 70


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_longer_than_the_terminal(tmp_path, width):
    text = composed.ranks(2) + "".join(composed.call(1, number * 100, number * 100 + 50, "MPI_Send", dest=1)
                                       .replace("\n", " end=tail\n") for number in range(1, 9))
    text += composed.send(2, 100, 110, 0) + "lost 1 4\nquiet 1 3 2000000000\n"
    text += "runs 1 ./job --input /scratch/somewhere/far/away/of/here\nprocess 7 1\nprocess 8 -1\nothers 8\n"
    text += f"out MPI_Send {S}\nbudget 200\n"
    recording = composed.compose(tmp_path / "run.gasp", text + f"end {10 * S}\n")
    long = [line for line in shown(recording, width=width).splitlines() if len(line) > width]
    assert not long


@pytest.mark.parametrize("queued, below", [(4, True), (1.5, False)])
def test_what_a_lack_of_processors_may_look_like(tmp_path, queued, below):
    text = composed.ranks(2) + "".join(composed.call(tid, S, 4 * S, "MPI_File_read_at", fh=7) + scheduled(tid, queued)
                                       for tid in (1, 2))
    recording = composed.compose(tmp_path / "run.gasp", text + f"end {10 * S}\n")
    assert [finding["kind"] for finding in told(recording)["findings"]] == ["starved"] + ["hot_event"] * (not below)
    assert ("may be seen as: GASP_MPI_FILE_READ_AT" in words(shown(recording))) == below


def test_a_long_command_fits_its_line(tmp_path):
    """Which rank it is counts; the pathnames of its options are for wide terminals."""
    command = "./job --input /scratch/somewhere/far/away/of/here"
    recording = composed.compose(tmp_path / "run.gasp", composed.LATE_SENDER + f"runs 1 {command}\n")
    assert f"  rank 0 (pid 1), 1 thread: {command}\n" in shown(recording)
    for width, ends in (100, command), (60, ".."):
        status, text = OnTerminal("report", recording, "--color=never", width=width).finish()
        line, = (line.rstrip("\r") for line in text.split("\n") if line.startswith("  rank 0 (pid 1)"))
        assert status == 0 and len(line) <= width and line.endswith(ends), line


def observed_dearly(tmp_path, cost, system, more=""):
    text = composed.ranks(3) + "".join(
        composed.send(rank, number * S, number * S + 1000, 0) for number in range(1, 8) for rank in (1, 2))
    text += f"price MPI_Send 2000\ncost 2 {int(cost * S)} {int(system * S)}\nend {10 * S}\n" + more
    recording = composed.compose(tmp_path / "run.gasp", text)
    return recording, [finding for finding in told(recording)["findings"] if finding["kind"] == "probe_cost"]


def test_what_observing_takes_is_a_finding(tmp_path):
    recording, (finding,) = observed_dearly(tmp_path, 1.5, 2)
    assert finding["victims"] and [who["rank"] for who in finding["victims"]] == [1]
    assert finding["gain_ns"] is None and finding["confidence"]["how"] == "estimated"
    assert ("gaspbpf's own probes take 15 % of the time of rank 1 (about 1.500 s), most of it at 14 calls of "
            "GASP_MPI_SEND: so much slower does it run") in finding["text"]
    assert "--max-overhead 2%" in finding["text"]
    assert "Nothing stands out" not in shown(recording)
    _, (limited,) = observed_dearly(tmp_path, 1.5, 2, "budget 200\n")
    assert "--max-overhead" not in limited["text"], "it had a limit"


@pytest.mark.parametrize("price, also", [(1000, True), (999, False)])
def test_where_most_of_it_is_taken(tmp_path, price, also):
    """The dearest event; and the next one where that takes half as much."""
    receives = "".join(composed.receive(3, at * S // 2, at * S // 2 + 1000, 1) for at in range(2, 16))
    _, (finding,) = observed_dearly(tmp_path, 1.5, 2, f"{receives}price MPI_Recv {price}\n")
    most = "most of it at 14 calls of GASP_MPI_SEND" + " and 14 calls of GASP_MPI_RECV" * also
    assert f"{most}: so much slower" in finding["text"]


@pytest.mark.parametrize("cost, system", [(0.9, 2), (1.5, 1)])
def test_little_cost_and_doubtful_cost_are_none(tmp_path, cost, system):
    """Of a thread that spent less than that in the kernel, the estimate is wrong."""
    _, found = observed_dearly(tmp_path, cost, system)
    assert not found


@pytest.mark.parametrize("cost, run, queued, system, said", [
    (1.5, 1.6, 8, 2, "take 15 % of the time of rank 1 and 94 % of the time in which it ran (about 1.500 s)"),
    (0.6, 2, 0, 2, "take 6 % of the time of rank 1 and 30 % of the time in which it ran (about 600.0 ms)"),
    (0.6, 3, 0, 2, ""),    # a fifth of the time in which it ran
    (0.2, 0.5, 0, 2, ""),  # it hardly runs
    (1.2, 5, 0, 1, "take 10 % of the time of rank 1 and 20 % of the time in which it ran (at most 1.000 s)"),
    (1.5, None, 0, 2, "take 15 % of the time of rank 1 (about 1.500 s)"),
    (1.5, 1, 8, 2, "take 15 % of the time of rank 1 and 100 % of the time in which it ran (about 1.500 s)"),
])
def test_what_observing_takes_of_the_time_in_which_a_thread_runs(tmp_path, cost, run, queued, system, said):
    kernel = scheduled(2, queued, run) if run else ""
    _, found = observed_dearly(tmp_path, cost, system, kernel)
    assert len(found) == bool(said)
    assert not said or said in found[0]["text"]


@pytest.mark.parametrize("known", [(2, 3), (2,), (3,)])
def test_what_observing_takes_of_several(tmp_path, known):
    """The share of the time in which they ran is told where that is known of each."""
    more = f"cost 3 {2 * S + S // 2} {2 * S}\n" + "".join(scheduled(tid, 0, 3) for tid in known)
    _, (finding,) = observed_dearly(tmp_path, 1.2, 1, more)
    ran = " and 50 % of the time in which they ran" if len(known) == 2 else ""
    assert (f"take 15 % of the time of ranks 1, 2{ran} (at most 3.000 s in all; the most: rank 2, 20 %), most of it at"
            ) in finding["text"]
    assert (finding["weight_ns"], finding["percent"]) == (3 * S, 20)


def test_so_little_is_not_measured(tmp_path):
    """Rank 1 runs for 0.5 s, of which probes took more than a tenth: the kernel counts by ticks."""
    text = composed.ranks(2) + "".join(composed.send(2, at, at + 1000, 0) for at in range(0, S // 2, S // 10))
    recording = composed.compose(tmp_path / "run.gasp", text + f"cost 2 {S * 6 // 100} {S}\nend {S // 2}\n")
    assert "probe_cost" not in [finding["kind"] for finding in told(recording)["findings"]]


def test_what_may_all_come_from_observing_is_told_after_that(tmp_path):
    """From 40 % of a thread's time on: before what is waited for; else behind it."""
    comes = {1: 1, 2: 2, 3: 400_000_000}
    late = "".join(composed.call(tid, at * S + comes[tid], at * S + 410_000_000 + tid, "MPI_Barrier",
                                 **{"comm.id": 0, "comm.rank": tid - 1}) for at in range(1, 9) for tid in (1, 2, 3))
    for cost, first in (3.9, "delay"), (4, "probe_cost"):
        recording = composed.compose(
            tmp_path / "run.gasp", composed.ranks(3) + late + f"cost 2 {int(cost * S)} {5 * S}\nend {10 * S}\n")
        findings = told(recording)["findings"]
        assert {"delay", "probe_cost"} <= {finding["kind"] for finding in findings}
        assert findings[0]["kind"] == first
        cost, = (finding for finding in findings if finding["kind"] == "probe_cost")
        assert ("so what else is found may come from that" in cost["text"]) == (first == "probe_cost")


@pytest.mark.parametrize("cost, said, share", [
    (1.2, "Probes took about 1.200 s of these threads' time, 12.0% of it and 24 % of the time in which it ran "
          "(estimated from the price of a call). These threads spent 2.000 s in the kernel in all (measured): the "
          "probes' time is a part of that", "12.0%"),
    (3, "Probes took at most 2.000 s of these threads' time, 20.0% of it and 40 % of the time in which it ran. By the "
        "price of a call it would be 3.000 s: that estimate is too high, as these threads spent 2.000 s in the kernel "
        "in all (measured)", "20.0%"),
    (0.01, "Probes took about 10.00 ms of these threads' time, 0.10% of it and 0.20 % of the time in which it ran (",
     "0.10%"),
])
def test_the_estimate_is_no_more_than_what_is_measured(tmp_path, cost, said, share):
    recording, _ = observed_dearly(tmp_path, cost, 2, scheduled(2, 0))
    text = shown(recording, "--section", "threads")
    assert said in words(text)
    assert [line.split()[-1] for line in text.splitlines() if line.startswith("rank 1 ")] == [share]
    assert told(recording)["threads"][1]["cost_ns"] == cost * S, "there it stands as it was estimated"


@pytest.mark.parametrize("cost, system, more, said", [
    (0.2, 0.09, "", "Probes took about 200.0 ms of these threads' time, 2.0% of it (estimated from the price of a "
                    "call). The kernel has measured only 90.00 ms in which"),
    (3, 2, f"cost 3 {S} {5 * S}\n",
     "Probes took at most 3.000 s of these threads' time, 15.0% of it. By the price of a call it would be 4.000 s: "
     "that estimate is too high, as some of these threads spent less "),
])
def test_the_estimate_and_what_the_kernel_measured(tmp_path, cost, system, more, said):
    """Of less than 0.1 s that says nothing; and it may be too little for one thread, and enough for all."""
    recording, _ = observed_dearly(tmp_path, cost, system, more)
    text = shown(recording, "--section", "threads")
    assert said in words(text) and "part of that" not in words(text) and "in the kernel in all" not in words(text)
    row, = (line for line in text.splitlines() if line.startswith("rank 1 "))
    assert row.split()[-1] == f"{10 * min(cost, 2):.1f}%"


def test_the_estimate_of_many_threads_is_no_more_than_what_is_measured(tmp_path):
    text = composed.ranks(20) + "".join(composed.send(tid, S, S + 1000, 0) + f"cost {tid} {3 * S} {2 * S}\n"
                                        for tid in range(1, 21))
    recording = composed.compose(tmp_path / "run.gasp", text + f"end {10 * S}\n")
    rows = shown(recording).split("\nThreads    Count")[1].splitlines()
    row, = (line for line in rows if line.startswith("ranks 0-19 "))
    assert row.split()[-1] == "20.0%"


PROBED = "Efficiency", "Phases", "Critical path"


@pytest.mark.parametrize("cost, said", [(1.5, True), (0.5, False)])
def test_sections_of_work_tell_what_probes_took_of_it(tmp_path, cost, said):
    text = composed.ranks(2) + "".join(
        composed.call(tid, at + early, at + S // 4, "MPI_Barrier", **{"comm.id": 0, "comm.rank": tid - 1})
        for at in range(S, 9 * S, S // 4) for tid, early in ((1, S // 8), (2, S // 5)))
    text += "".join(f"cost {tid} {int(cost * S)} {2 * S}\n" + scheduled(tid, 0) for tid in (1, 2))
    recording = composed.compose(tmp_path / "run.gasp", text + f"end {10 * S}\n")
    text = shown(recording)
    for title in PROBED:
        section = words(text.split(f"\n{title} ")[1].split("\n\n")[0])
        assert ("Beware: gaspbpf's own probes took 15 % of the time of ranks 0, 1 and 30 % of the time in which they "
                "ran; that is in these figures" in section) == said, title
    assert text.count("Beware") == said * len(PROBED)


@pytest.mark.parametrize("symbol, once", [("MPI_Init", True), ("MPI_Finalize", True), ("MPI_Barrier", False)])
def test_what_is_once_a_run_is_told_as_that(tmp_path, symbol, once):
    text = composed.ranks(2, init=False) + "".join(composed.call(tid, S, 5 * S, symbol) for tid in (1, 2))
    hot, = told(composed.compose(tmp_path / "run.gasp", text + f"end {10 * S}\n"))["findings"]
    assert hot["kind"] == "hot_event"
    assert ("; that is once a run, and a smaller part of a longer one" in hot["text"]) == once
