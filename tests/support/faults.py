# SPDX-License-Identifier: BSD-2-Clause
"""Faults on purpose: gaspbpf with the n-th call of a kind failing (fail.c), and what must hold whatever fails.

A job runs on and on, checks its own work, and tells at its end whether all was right. A scenario is one way of starting
gaspbpf, on that job or on a recording. It runs once with its calls counted, and then with one of them failing.
"""
import ctypes
import dataclasses
import errno
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import time

import composed
import gaspbpf
import monitoring
import nodes
import remains

PR_CAPBSET_DROP = 24
FOLDER = gaspbpf.TOP / "tests" / "faults"
SEED = int(os.environ.get("FAULTS_SEED", 1))
KINDS = ("memory", "write", "mmap", "bpf", "perf", "fork", "thread", "open")  # in fail.c's order
ERRORS = {  # what each kind may fail with
    "memory": (errno.ENOMEM,), "write": (errno.ENOSPC, errno.EIO), "mmap": (errno.ENOMEM, errno.EPERM),
    "bpf": (errno.EPERM, errno.ENOMEM),
    "perf": (errno.EMFILE, errno.EPERM), "fork": (errno.EAGAIN,), "thread": (errno.EAGAIN,),
    "open": (errno.EMFILE, errno.EACCES),
}
SLOW = int(os.environ.get("PATIENCE", gaspbpf.PATIENCE))  # seconds; who takes longer hangs

# Its library poses as OpenSHMEM's, and is the job's own: no other process meets these probes.
JOB = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
void shmem_init(void); void shmem_finalize(void); void shmem_barrier_all(void);
void shmem_putmem(void *, const void *, size_t, int);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long both, mine[2];
static volatile long *progress; /* in a file, for who wants to know that it runs on */
static const char *end;
static void *work(void *number)
{
	long *done = &mine[(long)number], bad = 0;

	while (access(end, F_OK)) {
		size_t size = 1 + *done % 1000;
		unsigned char *from = malloc(size), *to = calloc(1, size);

		memset(from, (int)*done, size);
		shmem_putmem(to, from, size, 0);
		bad += memcmp(to, from, size) != 0;
		free(from);
		free(to);
		pthread_mutex_lock(&lock);
		both++;
		pthread_mutex_unlock(&lock);
		*progress += 1;
		if (++*done % 16 == 0) {
			shmem_barrier_all();
			usleep(2000);
		}
	}
	return (void *)bad;
}
int main(int argc, char **argv)
{
	pthread_t threads[2];
	void *bad[2];

	end = argv[1];
	int fd = open(argv[2], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*progress)))
		return 1;
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	shmem_init();
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], &bad[i]);
	shmem_finalize();
	puts(!bad[0] && !bad[1] && both == mine[0] + mine[1] ? "all was right" : "something was wrong");
	return 7;
}
"""


class Target:
    """The job. Its text without probes is known, so what has been left in it is seen."""

    def __init__(self, folder):
        self.runtime = monitoring.Runtime(pathlib.Path(folder) / "target", "fault", program=JOB)
        self.mark, self.done = self.runtime.folder / "end", self.runtime.folder / "progress"
        self.process = subprocess.Popen([self.runtime.program, self.mark, self.done], stdout=subprocess.PIPE, text=True)
        gaspbpf.wait_for(lambda: self.done.exists() and self.progress(), "the job to begin")
        self.pid = self.process.pid
        self.places = remains.places(self.pid) | remains.places(self.pid, "-m", "c,pthread")

    def progress(self):
        """How often it has gone round."""
        return int.from_bytes(self.done.read_bytes(), "little")

    def wrong(self):
        """What is wrong with it now: it has died, or has breakpoints in it. The kernel may take a moment to remove
        these."""
        if self.process.poll() is not None:
            return [f"the job ended with {self.process.returncode}"]
        try:
            gaspbpf.wait_for(lambda: not remains.patched(self.pid, self.places), "the job's text to be whole", 20)
        except AssertionError as error:
            return [str(error)]
        return []

    def end(self):
        """Lets it end; what it says, and how it ends."""
        self.mark.touch()
        out, _ = self.process.communicate(timeout=gaspbpf.PATIENCE)
        return out, self.process.returncode

    def kill(self):
        self.process.kill()
        self.process.wait()


@dataclasses.dataclass
class Result:
    status: int  # None: it hung, and was killed
    out: str
    errors: str
    calls: dict  # by kind
    faults: int  # how many were made
    written: int  # bytes, into files
    left: list  # processes that it left
    files: list  # temporary files that it left


@dataclasses.dataclass
class Scenario:
    name: str
    arguments: list
    target: Target = None
    exact: object = None  # of its output, what is the same each time; a function
    attaches: bool = False
    children: bool = False  # what it forks does the work
    unable: bool = False  # run by who may observe nothing
    recording: pathlib.Path = None  # what it writes
    output: pathlib.Path = None  # the file that must be the same each time where it ends with 0
    seen: object = pathlib.Path.read_bytes  # what of that must be the same
    answers: bool = False  # 1 is an answer, too
    ends_with: int = 0  # where nothing failed
    vain: int = 1       # where it has not the rights
    path: str = None    # of programs, before the others
    beside: pathlib.Path = None  # a folder that it makes, and leaves where it could not read all that is in it
    alone: str = None  # its output without faults
    alone_file: bytes = None


def processes():
    """Of all on the machine: (pid, name, state, parent, session). A name is what its user likes."""
    for pid in gaspbpf.pids():
        try:
            text = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
        except OSError:
            continue
        state, parent, _, session, *_ = text[text.rindex(")") + 2:].split()
        yield pid, text[text.index("(") + 1:text.rindex(")")], state, int(parent), int(session)


def processes_in(session):
    """Of a session, those that have not ended. A process leads its own with its pid."""
    return [f"{pid} {name}" for pid, name, state, _, of in processes() if of == session and state not in "ZX"]


def drop_capabilities():
    """In a child: the next program has none, root's or not."""
    prctl = ctypes.CDLL(None).prctl
    for capability in range(64):
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def make_room(scenario):
    """What an earlier run has left is gone."""
    for path in scenario.recording, scenario.output:
        if path:
            path.unlink(missing_ok=True)
    if scenario.beside:
        shutil.rmtree(scenario.beside, ignore_errors=True)


class Faults:
    """Starts gaspbpf with fail.c in it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.library, self.book, self.temporary = (self.folder / name for name in ("libfail.so", "book", "temporary"))
        self.temporary.mkdir(exist_ok=True)
        gaspbpf.compile_c(FOLDER / "fail.c", self.library, "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC")

    def environment(self, **variables):
        """FAIL_* by name: kind="write", at=3."""
        return {**os.environ, "LD_PRELOAD": str(self.library), "FAIL_BOOK": str(self.book),
                "TMPDIR": str(self.temporary),
                **{f"FAIL_{name.upper()}": str(value) for name, value in variables.items()}}

    def start(self, arguments, unable=False, within=None, path=None, **variables):
        """In a session of its own, so that what it leaves can be found. within: a control group's folder, from the
        beginning on."""
        def before():
            if within:
                (within / "cgroup.procs").write_text(str(os.getpid()))
            if unable:
                drop_capabilities()

        self.book.write_bytes(b"")
        environment = self.environment(**variables)
        if path:
            environment["PATH"] = f"{path}:{environment['PATH']}"
        return subprocess.Popen([str(gaspbpf.PROGRAM), *map(str, arguments)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                errors="replace", stdin=subprocess.DEVNULL, start_new_session=True,
                                preexec_fn=before, env=environment)

    def finish(self, process):
        try:
            out, errors = process.communicate(timeout=SLOW)
            status = process.returncode
        except subprocess.TimeoutExpired:
            status = None
            out, errors = "", f"hangs; {gaspbpf_stack(process.pid)}"
        left = processes_in(process.pid)
        if left and status is not None:  # what has been killed takes a moment to end
            time.sleep(1)
            left = processes_in(process.pid)
        gaspbpf.kill_group(process)
        numbers = struct.unpack(f"{len(KINDS) + 2}Q", self.book.read_bytes() or bytes(8 * (len(KINDS) + 2)))
        files = sorted(str(path.relative_to(self.temporary)) for path in self.temporary.iterdir())
        for path in files:
            (self.temporary / path).unlink()
        return Result(status, out, errors, dict(zip(KINDS, numbers)), *numbers[len(KINDS):], left, files)

    def run(self, scenario, **variables):
        make_room(scenario)
        if scenario.children:
            variables["children"] = 1
        return self.finish(self.start(scenario.arguments, scenario.unable, path=scenario.path, **variables))

    def count(self, scenario):
        """How many calls of each kind it makes when nothing fails; what it prints then is kept."""
        result = self.run(scenario)
        assert result.status == scenario.ends_with and not wrong(scenario, result), \
            f"{scenario.name}: {wrong(scenario, result)}\n{result.errors}"
        scenario.alone = result.out
        scenario.alone_file = scenario.seen(scenario.output) if scenario.output else None
        return result

    def ways(self, scenario, kind):
        """Of all calls of a kind, one for each way that leads to one: its first."""
        return self.look(scenario, kind)[0]

    def look(self, scenario, kind):
        """The same, and the result of that run, which counts all calls."""
        path = self.folder / "ways"
        path.unlink(missing_ok=True)
        result = self.run(scenario, kind=kind, ways=path)
        numbers = path.read_bytes() if path.exists() else b""
        first = {}
        for at, (way,) in enumerate(struct.iter_unpack("Q", numbers), 1):
            first.setdefault(way, at)
        return sorted(first.values()), result

    def kill_after(self, scenario, seconds):
        """What is wrong after a SIGKILL at that moment, or an end before it; and the result."""
        make_room(scenario)
        process = self.start(scenario.arguments, scenario.unable, path=scenario.path)
        time.sleep(seconds)
        held = remains.held_by(process.pid)
        process.kill()
        result = self.finish(process)
        found = [] if result.status in (-signal.SIGKILL, 0, scenario.ends_with) else [f"ended with {result.status}"]
        found += left_behind(scenario, result)
        try:
            remains.assert_gone(held)
        except AssertionError as error:
            found.append(str(error))
        return found, result

    def die(self, scenario, kind, at):
        """What is wrong when it is killed at this call, and the result; its trace tells where that was."""
        result = self.run(scenario, kind=kind, at=at, dies=1)
        found = [] if result.status == (-signal.SIGKILL if result.faults else scenario.ends_with) \
            else [f"ended with {result.status}"]
        return found + left_behind(scenario, result), result

    def fail(self, scenario, kind, at, error, **more):
        """What is wrong when this call fails, and the result."""
        result = self.run(scenario, kind=kind, at=at, errno=error, **more)
        found = wrong(scenario, result)
        if result.status == 1 and result.faults and not scenario.answers and not names(result.errors, error):
            found.append(f"does not name the cause, {os.strerror(error)}")
        return found, result


def gaspbpf_stack(pid):
    """Where a process that hangs waits, as far as the kernel tells."""
    try:
        return pathlib.Path(f"/proc/{pid}/stack").read_text().replace("\n", " ")
    except OSError:
        return "gone"


def said(errors):
    """The lines that gaspbpf itself has printed."""
    return re.findall(r"^(?:\r\x1b\[K)?gaspbpf: (.*)$", errors, re.MULTILINE)


def is_clear(errors):
    """Does a line say what failed, why, and what to do?"""
    return any(line.count(": ") >= 2 for line in said(errors))


def names(errors, error):
    """Do the messages tell what failed? Where memory is short, many calls fail, each with its own word for it."""
    words = {errno.ENOMEM: "memory", errno.EACCES: "not permitted"}
    return (os.strerror(error).lower() in errors.lower() or (error in words and words[error] in errors) or
            "cannot observe anything on this kernel" in errors)  # libbpf keeps the cause to itself


def readable(recording):
    """What is wrong with a recording that was cut by a fault: it can be reported, or that says clearly why not."""
    if not recording.exists() or not recording.stat().st_size:
        return []
    report = gaspbpf.run("report", recording)
    if report.returncode == 0 or (report.returncode == 1 and said(report.stderr)):
        return []
    return [f"report of the recording ends with {report.returncode}: {report.stderr}"]


def left_behind(scenario, result):
    """What remains that should not, in a few words."""
    found = [f"left a process: {each}" for each in result.left] + [f"left a file: {each}" for each in result.files]
    if scenario.target:
        found += scenario.target.wrong()
    if scenario.attaches and remains.orphans():
        try:
            remains.assert_no_orphans()
        except AssertionError as error:
            found.append(str(error))
    if scenario.recording and result.status is not None:
        found += readable(scenario.recording)
    return found


def wrong(scenario, result):
    """Each promise that was broken, in a few words."""
    found = []
    if result.status is None:
        found.append("hung")
    elif result.status not in (0, 1, scenario.ends_with, scenario.vain):
        found.append(f"ended by signal {signal.Signals(-result.status).name}" if result.status < 0
                     else f"ended with {result.status}")
    if result.status == 1 and not scenario.answers and not is_clear(result.errors):
        found.append("failed, and does not say clearly what, why, and what to do")
    if "mistake in gaspbpf" in result.errors:
        found.append("calls it a mistake of its own")
    if result.status == 0 and result.faults and not said(result.errors):
        if scenario.exact and scenario.exact(result.out) != scenario.exact(scenario.alone):
            found.append("printed something else, and did not say so")
        if scenario.output and (not scenario.output.exists() or scenario.seen(scenario.output) != scenario.alone_file):
            found.append("wrote something else, and did not say so")
    if result.status not in (0, None) and scenario.name.startswith("export") and scenario.output.exists():
        found.append("left a file that is not whole")
    return found + left_behind(scenario, result)


def short_job(target):
    """The job as a command: one that has been told to end before it begins, so all it does is to begin and end."""
    done = target.runtime.folder / "done"
    done.touch()
    return [target.runtime.program, done, target.runtime.folder / "short"]


def points(faults, scenario):
    """Every call that is worth letting fail: (kind, number, error). Of memory, and of files opened, one for each way
    that leads there."""
    calls = faults.count(scenario).calls
    for kind in KINDS:
        chosen = faults.ways(scenario, kind) if kind in ("memory", "open") else range(1, calls[kind] + 1)
        for at in chosen:
            yield kind, at, ERRORS[kind][at % len(ERRORS[kind])]


def some_points(faults, scenario, chance):
    """Of all those, a call for memory, and one of another kind, found by a single run."""
    ways, result = faults.look(scenario, "memory")
    scenario.alone = result.out
    others = [(kind, at) for kind, calls in result.calls.items() if kind != "memory" for at in range(1, calls + 1)]
    for kind, at in [("memory", chance.choice(ways))] + ([chance.choice(others)] if others else []):
        yield kind, at, ERRORS[kind][at % len(ERRORS[kind])]


def rooms(size, count, seed):
    """Numbers of bytes that are too few: nothing, one, all but one, and some by chance."""
    return sorted({0, 1, size - 1, *random.Random(seed).sample(range(size), min(count, size))})


def children(parent, name):
    """The pids of a process's children of this name."""
    return [pid for pid, its_name, _, its_parent, _ in processes() if its_name == name[:15] and its_parent == parent]


def kill_quietly(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def places_in(listed):
    """Of `list --json`: what would be probed where, without what that costs, which is measured."""
    try:
        return sorted((row["event"], row["file"], row["probe_offset"]) for row in json.loads(listed)["found"])
    except ValueError:
        return listed


def make_recording(target, path):
    """A short recording of the job."""
    result = gaspbpf.run("-p", target.pid, "-m", "shmem,pthread", "-d", "0.2", "-q", "-o", path)
    assert result.returncode == 0, result.stderr


def report_of(recording):
    return gaspbpf.run("report", "--json", recording).stdout


def scenarios(target, folder):
    """By name."""
    folder = pathlib.Path(folder)
    recorded, live = folder / "recorded.gasp", folder / "live.gasp"
    make_recording(target, recorded)
    other = composed.compose(folder / "other.gasp", composed.LATE_SENDER)
    (folder / "nodes").mkdir()
    two = nodes.Nodes(folder / "nodes", "a1", "a2")
    of_two = {"output": two.output, "path": two.folder, "beside": two.output.with_name(two.output.name + ".nodes"),
              "exact": str, "recording": two.output, "seen": report_of}  # its chunks are packed where there is memory
    pid, lazy = ["-p", target.pid], ["-m", "shmem", "--lazy"]  # the job's library alone gets probes
    found = [
        Scenario("report", ["report", recorded], exact=str),
        Scenario("report-json", ["report", "--json", "--sites", "--histogram", recorded], exact=str),
        Scenario("report-by", ["report", "--by", "line,peer,lock,phase", "--csv", recorded], exact=str),
        Scenario("counters", ["report", "--counters", recorded], exact=str),
        Scenario("export-json", ["export", recorded, "-o", folder / "x.json"], output=folder / "x.json", exact=str),
        Scenario("export-gz", ["export", recorded, "-o", folder / "x.json.gz"], output=folder / "x.json.gz", exact=str),
        Scenario("export-speedscope", ["export", recorded, "-o", folder / "x.speedscope.json"],
                 output=folder / "x.speedscope.json", exact=str),
        Scenario("export-events", ["export", recorded, "-o", folder / "x.events"], output=folder / "x.events",
                 exact=str),
        Scenario("export-otf2", ["export", recorded, "-o", folder / "x.otf2"], output=folder / "x.def", exact=str,
                 children=True),
        Scenario("export-parquet", ["export", recorded, "-o", folder / "x.parquet"], output=folder / "x.parquet",
                 exact=str),
        Scenario("export-folded", ["export", recorded, "-o", folder / "x.folded"], output=folder / "x.folded",
                 exact=str),
        Scenario("export-pprof", ["export", recorded, "-o", folder / "x.pb.gz"], output=folder / "x.pb.gz", exact=str),
        Scenario("export-ctf", ["export", recorded, "-o", folder / "x.ctf"], output=folder / "x.ctf" / "stream_0",
                 exact=str, children=True),
        Scenario("export-paje", ["export", recorded, "-o", folder / "x.paje"], output=folder / "x.paje", exact=str),
        Scenario("export-html", ["export", recorded, "-o", folder / "x.html"], output=folder / "x.html", exact=str),
        Scenario("export-with", ["export", recorded, "-o", folder / "with.json", "--with", "all"],
                 output=folder / "with.json", exact=str),
        Scenario("merge", ["merge", other, recorded, "-o", folder / "x.gasp"], output=folder / "x.gasp", exact=str),
        Scenario("job", two.arguments("--by", "ssh", "-q", "-d", "100ms"), **of_two),
        Scenario("job-sent", two.arguments("--by", "ssh", "-q", "-d", "100ms", "--collect"), **of_two),
        Scenario("simulate", ["simulate", recorded, "--plugin", "ideal"], exact=str, children=True),
        Scenario("events", ["events", "shmem"], exact=str),
        Scenario("list-file", ["list", target.runtime.library, "-m", "shmem", "--json"], exact=places_in, unable=True),
        Scenario("list", ["list", *pid, "--json"], target, exact=places_in),
        Scenario("doctor", ["doctor", *pid], target, answers=True),
        Scenario("stuck", ["stuck", *pid, "-d", "0.1"], target, attaches=True),
        Scenario("record", [*pid, "-d", "0.2", "-o", live], target, attaches=True, recording=live),
        Scenario("record-trace", [*pid, "-d", "0.2", "-q", "-o", live.with_suffix(".json")], target, attaches=True),
        Scenario("record-libc", [*pid, "-d", "0.2", "-q", "-m", "c,pthread", "-o", live], target, attaches=True,
                 recording=live),
        Scenario("record-flight", [*pid, "-d", "0.3", "-q", "--flight", "5s,8m", "--trigger", "any>1us", "--dumps", "1",
                                   "-o", folder], target,
                 attaches=True, children=True),
        Scenario("command", ["-q", "-m", "shmem", "-o", live, "--", *short_job(target)], target, attaches=True,
                 recording=live, ends_with=7),
        Scenario("top", ["top", *pid, "--once", "-d", "0.2", "--json"], target, attaches=True),
        Scenario("watch", ["watch", *pid, "-d", "0.3", "-i", "0.2", "--listen", "0"], target, attaches=True),
        Scenario("monitor", ["monitor", *pid, *lazy, "-d", "0.3", "--interval", "0.1", "--json"], target,
                 attaches=True, vain=2),
        Scenario("monitor-listen", ["monitor", *pid, *lazy, "-d", "0.3", "--interval", "0.1", "--listen", "0"], target,
                 attaches=True, vain=2),
    ]
    return {each.name: each for each in found}
