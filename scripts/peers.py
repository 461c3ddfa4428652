# SPDX-License-Identifier: BSD-2-Clause
"""The engine of scripts/suites and scripts/real: runs programs that others wrote bare and observed, and compares.

A *case* is a command; of some suites several run at a time. Bare it runs twice; only what ends and prints the same both
times is compared. Observed it runs

    start     each by `gaspbpf -- COMMAND`
    pid       each joined while it runs: `gaspbpf -p PID`
    session   all of them in one `gaspbpf -- ...`
    monitor   all of them while `gaspbpf monitor` counts

and must end and print as it did. What does not is run some more times, bare and observed: programs whose end hangs on
who comes first differ bare, too, and what is another once, and never again, is told apart from what gaspbpf does to it.
MPI's calls and bytes are counted by a library in front of MPI (tests/workloads/count_mpi.c), and compared with
gaspbpf's, in the modes that see a program from its first call.
"""
import collections
import concurrent.futures
import dataclasses
import datetime
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = TOP / "gaspbpf"
AGAIN = 3  # runs of each kind, of what has differed
OBSERVED_LONGER = 4  # times as long as bare may it take before it hangs: a busy machine starts slowly
MODES = ("start", "pid", "session", "monitor")
COUNTED = ("start", "session")  # from the first call
MPI_ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1",
                   "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


@dataclasses.dataclass
class Case:
    suite: str
    name: str
    command: list
    folder: str
    limit: int = 60  # seconds
    counter: str = ""  # the counting library
    files: tuple = ()  # that it writes, and that are results: compared as its output is
    ignore: str = ""  # a regular expression: lines of its output that tell times and the like


@dataclasses.dataclass
class Outcome:
    status: object
    output: list
    counts: dict = dataclasses.field(default_factory=dict)  # by function: calls and the rest


@dataclasses.dataclass
class Tally:
    """One line of the table."""
    programs: int = 0
    stable: int = 0
    same: int = 0
    different: list = dataclasses.field(default_factory=list)
    bare_too: list = dataclasses.field(default_factory=list)  # it differs in further bare runs as well
    once: list = dataclasses.field(default_factory=list)  # it did not differ in further observed runs
    joined: int = 0  # probes were in before its end
    calls: int = 0
    wrong: list = dataclasses.field(default_factory=list)  # counts


# --- one program ---------------------------------------------------------------

def plain_lines(case, text):
    """Output without what is another one in every run: addresses, process ids, times, who of several came first."""
    text = re.sub(r"\b\d\d:\d\d:\d\d\b", "T", text)
    text = re.sub(r"0x[0-9a-f]+|\b\d{4,}\b", "N", text)
    text = re.sub(r"\b\d+\.\d+ ?(m?s|sec\w*|us)\b", "T", text)
    return sorted(line.rstrip() for line in text.splitlines() if line.strip()
                  and not (case.ignore and re.search(case.ignore, line)))


libraries = threading.local()  # .folder: where the programs of this thread find a libc of their own


def environment(case, folder):
    env = {**os.environ, **MPI_ENVIRONMENT}
    if getattr(libraries, "folder", None):
        env["LD_LIBRARY_PATH"] = libraries.folder
    if case.counter and folder:
        env |= {"LD_PRELOAD": case.counter, "COUNT_FILE": str(pathlib.Path(folder) / "count")}
    return env


def command_of(case, folder):
    """Its command with the counting library in it; the launcher goes without."""
    if not (case.counter and folder):
        return case.command
    put = ["env", f"LD_PRELOAD={case.counter}", f"COUNT_FILE={pathlib.Path(folder) / 'count'}"]
    at = next((i for i, word in enumerate(case.command) if word == "@"), None)
    return case.command[:at] + put + case.command[at + 1:] if at is not None else put + case.command


def without_marks(command):
    return [str(word) for word in command if word != "@"]


def read_counts(folder):
    total = collections.defaultdict(collections.Counter)
    for path in pathlib.Path(folder).glob("count.mpi*"):
        try:
            table = json.loads(path.read_text())["whole"]
        except (ValueError, KeyError):
            continue  # it was killed while it wrote
        for function, counts in table.items():
            total[function].update(counts)
    return {function: dict(counts) for function, counts in total.items()}


def end_all(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def finish(case, process, out, observed):
    try:
        status = process.wait(timeout=case.limit * (OBSERVED_LONGER if observed else 1))
    except subprocess.TimeoutExpired:
        status = "hangs"
    end_all(process)
    process.wait()
    out.seek(0)
    return status, out.read().decode(errors="replace")


def run(case, before=(), count=False, joined=None):
    """Runs one case: its outcome, and what stands behind its output (gaspbpf's report)."""
    with tempfile.TemporaryDirectory(prefix="peers-") as folder, tempfile.TemporaryFile() as out:
        for name in case.files:
            (pathlib.Path(case.folder) / name).unlink(missing_ok=True)
        command = without_marks([*before, *(command_of(case, folder) if count else case.command)])
        process = subprocess.Popen(command, cwd=case.folder, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.DEVNULL, start_new_session=True, env=environment(case, None))
        watcher = joined(process.pid) if joined else None
        status, text = finish(case, process, out, before or joined or count)
        if watcher:
            stop(watcher)
        text, _, _ = text.partition("Observed for ") if before else (text, "", "")
        if before and isinstance(status, int) and status > 128:
            status = 128 - status
        for name in case.files:
            path = pathlib.Path(case.folder) / name
            text += f"\n{name}:\n" + (path.read_text(errors="replace") if path.exists() else "is not there")
        return Outcome(status, plain_lines(case, text), read_counts(folder))


def bare_status(status):
    """A shell's way to tell a signal, as gaspbpf's and launchers' is."""
    return 128 - status if isinstance(status, int) and status > 128 else status


def stop(watcher):
    if watcher.poll() is None:
        watcher.send_signal(signal.SIGINT)
    try:
        watcher.wait(timeout=120)
    except subprocess.TimeoutExpired:
        watcher.kill()
        watcher.wait()


def stable(case):
    """What it does bare, or None if that is not the same twice. Output that differs is not compared; the end has to be
    the same."""
    one = run(case)
    if one.status == "hangs":
        return None
    two = run(case, count=bool(case.counter))
    if case.counter and (bare_status(one.status) != bare_status(two.status) or one.output != two.output):
        counted, two = two, run(case)  # the counting library must not be what makes the difference
    else:
        counted = two
    if bare_status(one.status) != bare_status(two.status):
        return None
    bare = Outcome(bare_status(one.status), one.output if one.output == two.output else None)
    if case.counter and bare.status:
        case.counter = ""  # what is killed writes no counts
    elif differs(bare, counted):
        print(f"{case.suite}: {case.name} does not bear the counting library: its calls are not compared", flush=True)
        case.counter = ""
    return bare


def differs(bare, seen):
    if bare_status(seen.status) != bare.status:
        return f"ended with {bare_status(seen.status)} for {bare.status}"
    if bare.output is not None and seen.output != bare.output:
        extra = sorted(set(seen.output) ^ set(bare.output))
        return "output: " + (extra[0][:120] if extra else "lines more or less often")
    return None


# --- gaspbpf's counts ------------------------------------------------------------

def events(recording):
    done = subprocess.run([str(PROGRAM), "report", str(recording), "--json"], capture_output=True, text=True)
    if done.returncode:
        return None
    return {row["name"]: row for row in json.loads(done.stdout)["events"]}


def compare_counts(tally, where, counted, recording):
    """Calls of each function that the library has counted; bytes where both have them."""
    seen = events(recording)
    if seen is None:
        tally.wrong.append(f"{where}: no report")
        return
    for function, counts in sorted(counted.items()):
        if not function.startswith("MPI_"):
            continue
        row = seen.get(f"GASP_{function.upper()}", {"calls": 0, "bytes": None})
        # the library in front of MPI meets some of MPI's own calls, too
        inner = row.get("inner", {"calls": 0})["calls"]
        tally.calls += counts["calls"]
        if not row["calls"] <= counts["calls"] <= row["calls"] + inner:
            tally.wrong.append(f"{where}: {function}: {row['calls']} calls{f' (and {inner} inner)' if inner else ''} "
                               f"for {counts['calls']}")
        elif not inner and row["bytes"] is not None and counts["bytes"] \
                and row["bytes"] not in (counts["bytes"], counts["sent"] + counts["received"]) \
                and not row.get("calls_without_bytes"):
            tally.wrong.append(f"{where}: {function}: {row['bytes']} bytes for {counts['bytes']}")


# --- modes ---------------------------------------------------------------------------

# So many of a suite at a time: those that mostly sleep. Ranks of MPI turn in circles while they wait, and want the
# machine for themselves.
AT_A_TIME = {"posix": 6, "glibc": 3}


def own_libc(copies):
    """Those that run at a time each have a copy of libc: two observers of one file know of each other, and have other
    return probes than one alone."""
    with open("/proc/self/maps") as maps:
        libc = next(line.split()[-1] for line in maps if line.rstrip().endswith("/libc.so.6"))
    libraries.folder = tempfile.mkdtemp(dir=copies)
    shutil.copy(libc, libraries.folder)


def each(cases, doing, what):
    """what(case) of each, in their order; how far it is stands on the terminal."""
    suite = cases[0][0].suite if cases and isinstance(cases[0], tuple) else cases[0].suite if cases else ""
    at_a_time = AT_A_TIME.get(suite, 1)
    with tempfile.TemporaryDirectory(prefix="peers-libc-") as copies, \
            concurrent.futures.ThreadPoolExecutor(at_a_time, initializer=own_libc if at_a_time > 1 else None,
                                                  initargs=(copies,) * (at_a_time > 1)) as pool:
        for i, result in enumerate(pool.map(what, cases)):
            if sys.stderr.isatty():
                print(f"\r{doing}: {i + 1} of {len(cases)} ", end="\n" if i + 1 == len(cases) else "", file=sys.stderr,
                      flush=True)
            yield result


def note(tally, case, bare, seen, again):
    """How it ended beside bare. What differs is tried again: again() runs it in the same mode once more."""
    what = differs(bare, seen)
    if not what:
        tally.same += 1
    elif any(differs(bare, run(case)) for _ in range(AGAIN)):
        tally.bare_too.append(f"{case.name}: {what}; it differs bare, too")
    elif any(differs(bare, again()) for _ in range(AGAIN)):
        tally.different.append(f"{case.name}: {what}")
    else:
        tally.once.append(f"{case.name}: {what}; in {AGAIN} more runs, observed in the same way, as bare")


def mode_start(cases, options, tally):
    def start(case, recording):
        return run(case, [PROGRAM, "-q", *options, "-o", recording, "--"], count=True)

    def try_one(pair):
        case, bare = pair
        with tempfile.TemporaryDirectory(prefix="peers-") as folder:
            recording = pathlib.Path(folder) / "run.gasp"
            seen = start(case, recording)
            if seen.counts:
                compare_counts(tally, case.name, seen.counts, recording)
            note(tally, case, bare, seen, lambda: start(case, recording))
    collections.deque(each(cases, "start", try_one), 0)


def mode_pid(cases, options, tally):
    def run_joined(case):
        """Its outcome, and whether a call of it was observed: what ends at once is over before anybody has joined
        it."""
        with tempfile.TemporaryFile() as report:
            seen = run(case,
                       joined=lambda pid: subprocess.Popen([str(PROGRAM), "-q", *map(str, options), "--json", "-p",
                                                            str(pid)], stdout=report,
                                                           stderr=subprocess.DEVNULL))
            report.seek(0)
            return seen, saw_calls(report.read())

    for (case, bare), (seen, joined) in zip(cases, each(cases, "pid", lambda pair: run_joined(pair[0]))):
        tally.joined += joined
        note(tally, case, bare, seen, lambda case=case: run_joined(case)[0])


def saw_calls(report):
    try:
        return any(row["calls"] for row in json.loads(report)["events"])
    except (ValueError, KeyError):
        return False


def mode_session(cases, options, tally):
    """Those whose calls are not counted have a session of their own: in one total they could not be told apart."""
    for counted in (True, False):
        one_session([pair for pair in cases if bool(pair[0].counter) == counted], options, tally)


def run_session(cases, options, recording, folder):
    """This program runs itself under gaspbpf (main, below): it runs the cases and writes down their outcomes. Fewer of
    them: the session has ended before."""
    (folder / "cases").write_text(json.dumps([dataclasses.asdict(case) for case in cases], default=str))
    (folder / "outcomes").unlink(missing_ok=True)
    subprocess.run([str(PROGRAM), "-q", *map(str, options), "-o", str(recording), "--", sys.executable,
                    str(pathlib.Path(__file__)),
                    str(folder / "cases"), str(folder / "outcomes")], stdout=subprocess.DEVNULL,
                   stderr=None if sys.stderr.isatty() else subprocess.DEVNULL)
    written = json.loads((folder / "outcomes").read_text()) if (folder / "outcomes").exists() else []
    return [Outcome(**outcome) for outcome in written]


def one_session(cases, options, tally):
    if not cases:
        return
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        folder = pathlib.Path(folder)
        recording = folder / "run.gasp"
        outcomes = run_session([case for case, _ in cases], options, recording, folder)
        total = collections.defaultdict(collections.Counter)
        for outcome in outcomes:
            for function, counts in outcome.counts.items():
                total[function].update(counts)
        if total:
            compare_counts(tally, "all of it", total, recording)

        def again(case):
            return (run_session([case], options, recording, folder) or [Outcome("did not run", [])])[0]
        for (case, bare), seen in zip(cases, outcomes):
            note(tally, case, bare, seen, lambda case=case: again(case))
        for case, _ in cases[len(outcomes):]:
            tally.different.append(f"{case.name}: did not run: the session ended before")


def under_monitor(cases, options, tally):
    """The outcomes of all cases while a monitor counts."""
    watcher = subprocess.Popen([str(PROGRAM), "monitor", "--all", *map(str, options)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    time.sleep(8)  # it starts
    try:
        return list(each(cases, "monitor", run))
    finally:
        if watcher.poll() is not None:
            tally.different.append(f"monitor itself: ended with {watcher.returncode}")
        stop(watcher)


def mode_monitor(cases, options, tally):
    for (case, bare), seen in zip(cases, under_monitor([case for case, _ in cases], options, tally)):
        note(tally, case, bare, seen, lambda case=case: under_monitor([case], options, tally)[0])


def inside(cases_file, outcomes_file):
    """What mode_session() starts under gaspbpf."""
    outcomes = []
    cases = [Case(**fields) for fields in json.loads(pathlib.Path(cases_file).read_text())]
    for outcome in each(cases, "session", lambda case: run(case, count=True)):
        outcomes.append(dataclasses.asdict(outcome))
        pathlib.Path(outcomes_file).write_text(json.dumps(outcomes))


# --- all of it ---------------------------------------------------------------------

def sample(cases, n, seed):
    """So many of them, by chance, the same for the same seed; all if n is 0."""
    return sorted(random.Random(seed).sample(cases, n), key=lambda case: case.name) if 0 < n < len(cases) else cases


def all_known(cases, kept):
    """[(case, what it does bare or None)]. What was found is kept in that folder, if one is named, for the next
    time."""
    file = kept / f"bare-{cases[0].suite}.json" if kept and cases else None
    table = json.loads(file.read_text()) if file and file.exists() else {}
    known = []
    for case, bare in zip(cases, each(cases, "bare", lambda case: None if case.name in table else stable(case))):
        if case.name not in table:
            table[case.name] = [dataclasses.asdict(bare) if bare else None, case.counter]
            if file:
                file.write_text(json.dumps(table))
        bare, case.counter = table[case.name]
        known.append((case, Outcome(**bare) if bare else None))
    return known


def try_all(suites, modes, options, kept=None):
    """{(suite, mode): Tally} for {suite: cases}. Options are gaspbpf's, by suite."""
    table = {}
    for suite, cases in suites.items():
        begun = time.monotonic()
        counted = any(case.counter for case in cases)
        known = all_known(cases, kept)
        good = [(case, bare) for case, bare in known if bare]
        for case, bare in known:
            if not bare:
                print(f"{suite}: {case.name} is not the same twice, bare: left out", flush=True)
        print(f"{suite}: {len(cases)} programs, {len(good)} of them stable ({time.monotonic() - begun:.0f} s)",
              flush=True)
        for mode in modes:
            if mode == "monitor" and not counted:
                continue  # it looks at parallel runtimes
            tally = table[suite, mode] = Tally(len(cases), len(good))
            begun = time.monotonic()
            {"start": mode_start, "pid": mode_pid, "session": mode_session,
             "monitor": mode_monitor}[mode](good, options.get(suite, []), tally)
            print(f"{suite}: {mode}: {tally.same} the same, {len(tally.bare_too)} differ bare, too, {len(tally.once)} "
                  f"once, {len(tally.different)} different ({time.monotonic() - begun:.0f} s)", flush=True)
            for line in tally_lines(tally):
                print(f"    {line}", flush=True)
    return table


def tally_lines(tally):
    joined = [f"calls were observed of {tally.joined} programs; the others were over before they were joined, or make "
              "no such calls"] if tally.joined else []
    return [*joined, *tally.different, *tally.once, *tally.bare_too, *tally.wrong]


def markdown(table):
    lines = ["| suite | programs | comparable | observed | as bare | differ bare, too | differed once | differ "
             "observed only | MPI calls compared | functions with another count |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for (suite, mode), tally in table.items():
        counted = f"{tally.calls:,}" if tally.calls else "-"
        lines.append(f"| {suite} | {tally.programs} | {tally.stable} | `{mode}` | {tally.same} | {len(tally.bare_too)} "
                     f"| {len(tally.once)} | {len(tally.different)} | {counted} | "
                     f"{len(tally.wrong) if tally.calls else '-'} |")
    for (suite, mode), tally in table.items():
        lines += [f"- {suite}, `{mode}`: {line}" for line in tally_lines(tally)]
    return "\n".join([*lines[:2 + len(table)], "", *lines[2 + len(table):]]) + "\n"


def write(table, name, how):
    """Puts the table into docs/trust.md, between the marks of this script."""
    page = TOP / "docs" / "trust.md"
    text = page.read_text()
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    commit = subprocess.run(["git", "-C", TOP, "describe", "--always", "--dirty"], capture_output=True,
                            text=True).stdout.strip()
    page.write_text(f"{head}{begin}\nRun on {now}, commit {commit}, Linux {os.uname().release}: "
                    f"`{how}`\n\n{markdown(table)}{end}{tail}")


def conclude(table, name, options):
    print("\n" + markdown(table))
    if options.write:
        write(table, name, " ".join([f"scripts/{name}", *[word for word in sys.argv[1:] if word != "--write"]]))
    return 1 if any(tally.different or tally.wrong for tally in table.values()) else 0


if __name__ == "__main__":
    inside(*sys.argv[1:3])
