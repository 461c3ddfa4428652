# SPDX-License-Identifier: BSD-2-Clause
"""What the findings of the jobs in matrix_cases.py are: running them, judging each finding, and the page of it
(scripts/matrix).

Whether a thread was starved is not asked of gaspbpf: /proc tells it, read before and after the job's work.
"""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import textwrap
import time

import gaspbpf
import truth
from matrix_cases import ELSEWHERE, EXAMINED, FACTS, LAMMPS, all_cases, kinds

PAGE = gaspbpf.TOP / "docs" / "analyses" / "findings-matrix.md"
STARVED_SHARE, STARVED_NS = 0.10, 500_000_000  # docs/analyses/scheduling.md
BETWEEN = 0.7  # so far from these it is not clear
OUTLIER, SLOWER = 2, 1.1  # docs/analyses/phases.md
PATIENCE = 60  # s


# --- running ------------------------------------------------------------------------

def queued(pids):
    """How long each thread was ready to run, and did not: ns."""
    found = {}
    for pid in pids:
        try:
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                found[int(task.name)] = int((task / "schedstat").read_text().split()[1])
        except OSError:
            pass  # it has ended
    return found


def starved(before, after, window):
    """True, False, or None: it is not clear."""
    worst = max((after[tid] - before.get(tid, 0) for tid in after), default=0)
    limit = max(STARVED_NS, STARVED_SHARE * window)
    return False if worst < BETWEEN * limit else True if worst > limit / BETWEEN else None


def uneven(job):
    """What the job's own clocks say of its iterations: kinds of findings that are right."""
    members = [member for each in job.truths() for member in each.get("members", [each]) if "left" in member]
    if not members:
        return []
    times = [statistics.mean(member["left"][turn + 1] - member["left"][turn] for member in members)
             for turn in range(len(members[0]["left"]) - 1)]
    tenths = [statistics.median(times[start:start + 5]) for start in range(0, len(times) - 4, 5)]
    right = ["outlier_iterations"] if max(times) > 0.9 * OUTLIER * statistics.median(times) else []
    return right + (["slowdown"] if max(tenths) > SLOWER * min(tenths) else [])


def burn(cpu):
    return subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"], start_new_session=True)


def at_its_gate(case, folder, recording):
    """Runs it to its end: (job, was a thread starved, what gaspbpf said)."""
    job = gaspbpf.Job(case.command, folder, ranks=case.ranks, env={**truth.ENVIRONMENT, **case.env})
    watcher = burner = None
    try:
        job.wait_ready()
        pids = job.pids()
        for rank, cpu in case.binds.items():
            os.sched_setaffinity(pids[rank], {cpu})
        burner = burn(case.burner) if case.burner is not None else None
        if case.joins:
            (job.gate / "go").touch()
            time.sleep(case.joins)
        watcher = gaspbpf.Observation("-p", job.process.pid, "-o", recording, "--json", *case.options)
        before, began = queued(pids), time.monotonic_ns()
        job.work()
        after, window = queued(pids), time.monotonic_ns() - began
        status, _, errors = watcher.stop()
        assert status == 0, errors
        assert job.end() == 0, job.output()
        return job, starved(before, after, window)
    finally:
        job.kill()
        if burner:
            os.killpg(burner.pid, signal.SIGKILL)
            burner.wait()
        if watcher and watcher.process.poll() is None:
            watcher.process.kill()


def from_its_start(case, folder, recording):
    (folder / "in.lj").write_text(LAMMPS)
    done = subprocess.run([gaspbpf.PROGRAM, "-o", recording, "--", *map(str, case.command)], cwd=folder,
                          capture_output=True, text=True, errors="replace", timeout=PATIENCE,
                          env={**os.environ, **truth.ENVIRONMENT, **case.env})
    assert done.returncode == 0, done.stderr
    return None, None


def run(case, folder):
    """One run: ({"found": kinds, "starved", "lost", "unsaid": words that are wanted}, {kind: [texts]})."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    recording = folder / "run.gasp"
    job, hungry = (at_its_gate if case.gate else from_its_start)(case, folder, recording)
    result = gaspbpf.run("report", "--json", recording)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    found = collections.defaultdict(list)
    for finding in report["findings"]:
        for one in finding, *finding["seen_as"]:
            found[one["kind"]].append(one["text"])
    wanted = [kind for group in case.wanted for kind in (group if isinstance(group, tuple) else (group,))]
    texts = [text for kind in wanted for text in found.get(kind, [])]
    unsaid = [words for words in (case.says(job) if case.says else [])
              if not any(all(word in text for word in words) for text in texts)]
    return {"found": sorted(found), "starved": hungry, "uneven": uneven(job) if job else [],
            "lost": report["loss"]["lost"], "unsaid": unsaid}, found


# --- judging ------------------------------------------------------------------------

def label(group):
    return " or ".join(group) if isinstance(group, tuple) else group


def judge(case, runs):
    """{"found", "missed", "may", "false": {what: runs}}"""
    judged = {name: collections.Counter() for name in ("found", "missed", "may", "false")}
    for one in runs:
        there, expected = set(one["found"]), set()
        for group in case.wanted:
            several = set(group) if isinstance(group, tuple) else {group}
            expected |= several
            judged["found" if there & several and not one["unsaid"] else "missed"][label(group)] += 1
        if case.loses and not one["lost"]:
            judged["missed"]["loss"] += 1
        if one["starved"] and "starved" not in there | expected:
            judged["missed"]["starved"] += 1
        for kind in there - expected:
            looked_at = EXAMINED.get(case.name, {}).get(kind, "false")
            right = kind in case.may or not looked_at.startswith("false") or kind in FACTS or kind in one["uneven"] or (
                kind == "starved" and one["starved"] is not False)
            judged["may" if right else "false"][kind] += 1
    return judged


# --- the page -----------------------------------------------------------------------

def cell(counter, of):
    return ", ".join(f"{kind} {count}/{of}" for kind, count in sorted(counter.items())) or "-"


def by_finding(judged, counts):
    rows = []
    for kind in sorted(kinds()):
        wanted = found = missed = may = false = others = 0
        for case in all_cases():
            runs, tally = counts.get(case.name, 0), judged.get(case.name)
            if not runs:
                continue
            named = [label(group) for group in case.wanted if kind == group or
                     (isinstance(group, tuple) and kind in group)]
            wanted += runs * bool(named)
            found += sum(tally["found"][one] for one in named)
            missed += sum(tally["missed"][one] for one in named) + (0 if named else tally["missed"][kind])
            may += tally["may"][kind]
            false += tally["false"][kind]
            others += 0 if named else runs
        where = f" ({ELSEWHERE[kind]})" if kind in ELSEWHERE else ""
        rows.append(f"| {kind}{where} | {wanted} | {found} | {missed} | {may} | {false} of {others} |")
    return rows


def markdown(results):
    """results: {case's name: [runs]}"""
    cases = {case.name: case for case in all_cases()}
    counts = {name: len(results.get(name, [])) for name in cases}
    judged = {name: judge(case, results[name]) for name, case in cases.items() if counts[name]}
    out = [HEAD]
    out += ["## By finding\n", "| finding | wanted in runs | found | missed | right besides | false |",
            "|---|--:|--:|--:|--:|--:|", *by_finding(judged, counts)]
    for title, chosen in (("Jobs with something wrong", lambda case: case.planted and case.wrong),
                          ("Their healed twins", lambda case: case.planted and not case.wrong),
                          ("Jobs in which nobody has planted anything", lambda case: not case.planted)):
        sick = title.startswith("Jobs with")
        columns = ["job", "runs", *["what is wrong", "found"] * sick, "missed", "right besides", "false"]
        out += [f"\n## {title}\n", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
        for name, case in cases.items():
            if not chosen(case):
                continue
            tally = judged.get(name, {})
            cells = [name, str(counts[name]), *[case.wrong, cell(tally.get("found", {}), counts[name])] * sick]
            cells += [cell(tally.get(what, {}), counts[name]) for what in ("missed", "may", "false")]
            out.append(f"| {' | '.join(cells)} |")
    return "\n".join([*out, "", *explained(cases, judged)]) + "\n"


def explained(cases, judged):
    out = ["## Examined by hand\n", "Why a finding is right besides, and what there is to say of others.\n"]
    for kind, text in sorted(FACTS.items()):
        out.append(f"- `{kind}` {text}.")
    out.append("- `starved` is right where Linux says of one of the job's threads that it was ready to run and did not "
               "for half a second and a tenth of the time; this is read beside gaspbpf (/proc/PID/task/TID/schedstat).")
    out.append("- `outlier_iterations` and `slowdown` are right where the job's own clocks say the same of its rounds: "
               "other programs were running, too.")
    for name, case in cases.items():
        reasons = {**case.may, **EXAMINED.get(name, {})}
        tally = judged.get(name, {})
        there = set().union(*tally.values()) if tally else set()
        for kind, text in reasons.items():
            if kind in there:
                out.append(f"- {name}, `{kind}`: {text}.")
    return [wrapped(line) for line in out]


def wrapped(line):
    return textwrap.fill(line, 98, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) \
        if line.startswith("- ") else line


HEAD = """<!-- SPDX-License-Identifier: BSD-2-Clause -->
# Findings against jobs

Each job has something wrong with it, planted by its options, and a twin in which it is healed; the
jobs measure by themselves what they planted (tests/workloads/pathology). *Found* is a finding of
the kind that is wanted, which names the culprit and the line of its call; *missed* is a run without
it. *Right besides*: another finding that follows from what is wrong, or is true for a reason below.
*False* is any other: on a healed twin, all of them. `delay 3/3`: in 3 of 3 runs.

Generated by `sudo scripts/matrix` (tests/support/matrix_cases.py has the jobs) on 2 processors, on
which other programs were running: do not edit. What was examined by hand stands at its end.
"""


def read_page_jobs():
    """Names of jobs, and of findings, on the page."""
    rows = re.findall(r"^\| ([^|]+?) \|", PAGE.read_text(), re.M)
    return {re.sub(r" \(tests/.*", "", row) for row in rows}
