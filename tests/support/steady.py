# SPDX-License-Identifier: BSD-2-Clause
"""Runs pytest, and what failed once more, alone: a test that fails only beside others is told apart from one that
fails.

    python3 tests/support/steady.py [PYTEST'S ARGUMENTS]

What fails again fails the run. What passes then is *unsteady*: it is listed with the machine's load at both times, and
more than ALLOWED of them fail the run, too. The last line is like pytest's own closing line, of both runs together.

As a pytest plug-in (`-p steady`), which main() makes of it, this file notes what failed, and the load at that moment;
and how long the tests of each file took, which GASPBPF_LONGEST=update writes into tests/longest.list.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ALLOWED = 5  # unsteady tests
AT_MOST = 40  # tests that are run again; if more have failed, something else is wrong
LONGEST = pathlib.Path(__file__).resolve().parents[1] / "longest.list"
LONG = 10  # seconds
NOTES = "STEADY_NOTES"  # the environment variable that names the file for the notes
# as pytest orders them
KINDS = ("failed", "passed", "skipped", "deselected", "xfailed", "xpassed", "warnings", "error")
BAD = ("failed", "error")


class Notes:
    """The plug-in, in the process that prints; of pytest-xdist's others nothing is noted."""

    def __init__(self, path):
        self.path = path
        self.load_at = {}  # by node id, at the first failure
        self.seconds = collections.Counter()  # by file; without the wait for those that are alone

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            self.seconds[report.nodeid.partition("::")[0]] += report.duration
        if report.failed:
            self.load_at.setdefault(report.nodeid, os.getloadavg()[0])

    def pytest_collectreport(self, report):
        if report.failed:
            self.load_at.setdefault(report.nodeid, os.getloadavg()[0])

    def pytest_sessionfinish(self, session):
        stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
        counts = {kind: len(stats.get(kind, [])) for kind in KINDS}
        bad = {report.nodeid for kind in BAD for report in stats.get(kind, [])}
        # one whose fixture fails later is in both
        counts["passed"] = len({report.nodeid for report in stats.get("passed", [])} - bad)
        counts["failed"], counts["error"] = len(bad), 0
        self.path.write_text(json.dumps({
            "root": str(session.config.rootpath), "counts": counts,
            "seconds": self.seconds,
            "whole": not (session.shouldstop or session.shouldfail),
            "failures": [[node, load] for node, load in self.load_at.items() if node in bad]}))


def pytest_configure(config):
    if os.environ.get(NOTES) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Notes(pathlib.Path(os.environ[NOTES])), "steady-notes")


def run(folder, arguments, root=None):
    """One run of pytest: its exit status, and what was noted (None if it did not come so far)."""
    notes = pathlib.Path(folder) / "notes"
    notes.unlink(missing_ok=True)
    places = [str(pathlib.Path(__file__).resolve().parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), NOTES: str(notes)}
    status = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "steady", *arguments], env=environment,
                            cwd=root).returncode
    return status, json.loads(notes.read_text()) if notes.exists() else None


def again(folder, root, failures):
    """Runs each of these alone: those that pass as (test, load at its failure, load now), and those that do not."""
    unsteady, failed = [], [node for node, _ in failures[AT_MOST:]]
    for node, load in failures[:AT_MOST]:
        now = os.getloadavg()[0]
        print(f"\n== once more, alone: {node}", flush=True)
        status, notes = run(folder, [f"--rootdir={root}", node], root)
        if status == 0 and notes and notes["counts"]["passed"] and not notes["counts"]["skipped"]:
            unsteady.append((node, load, now))
        else:
            failed.append(node)
    return unsteady, failed


def closing_line(counts, bad, seconds):
    """As pytest's: so many have failed, the others of those that failed at first have passed."""
    told = {**counts, "failed": bad, "passed": counts["passed"] + counts["failed"] - bad}
    words = [f"{told[kind]} {kind}" for kind in KINDS if told[kind]]
    return f"{', '.join(words) or 'no tests ran'} in {seconds:.2f}s"


def write_longest(seconds):
    """The files that have run, in place of what the list said of them."""
    lines = LONGEST.read_text().splitlines()
    took = {name: float(number) for number, name in (line.split() for line in lines if not line.startswith("#"))}
    took.update(seconds)
    rows = sorted(((round(number), name) for name, number in took.items() if number >= LONG), reverse=True)
    LONGEST.write_text("".join(f"{line}\n" for line in [*(line for line in lines if line.startswith("#")),
                                                        *(f"{number} {name}" for number, name in rows)]))


def main(arguments):
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="steady-") as folder:
        status, notes = run(folder, arguments)
        if notes and os.environ.get("GASPBPF_LONGEST") == "update":
            write_longest(notes["seconds"])
        if status != 1 or not notes or not notes["whole"] or not notes["failures"]:
            return status  # nothing failed, or not everything ran: there is no more to be learnt
        unsteady, failed = again(folder, notes["root"], notes["failures"])
    print()
    for node in failed:
        print(f"FAILED {node} (twice)")
    for node, load, now in unsteady:
        print(f"UNSTEADY {node} (failed at a load of {load:.2f}, passed alone at {now:.2f})")
    too_many = len(unsteady) > ALLOWED
    if too_many:
        print(f"{len(unsteady)} tests are unsteady, more than {ALLOWED}: the run has failed")
    print(closing_line(notes["counts"], len(failed) + len(unsteady) * too_many, time.monotonic() - start))
    return 1 if failed or too_many else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(2)
