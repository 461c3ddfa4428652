# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that are none: an ssh that runs commands here, and a program in the place of gaspbpf on each node, which does
what the node's name says."""
import atexit
import functools
import os
import pathlib
import shutil
import tempfile

import composed
import gaspbpf
import monitoring

SECOND = 10**9
THREADS = monitoring.unique("thr")  # the program of jobs_on()

# As sshd has it: a shell reads the words, joined by blanks. "away" is nobody's name, "bare" has no gaspbpf;
# "alias-x" calls itself x.
SSH = """#!/bin/sh
while :; do
    case $1 in
    -l | -o) shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
if [ "$1" = away ]; then
    printf 'ssh: connect to host away port 22: Connection refused\\r\\n' >&2
    exit 255
fi
if [ "$1" = bare ]; then
    echo "sh: 1: /opt/gaspbpf: not found" >&2
    exit 127
fi
export SLURMD_NODENAME="${1#alias-}"
shift
exec sh -c "$*"
"""

# The same, and as with sshd nothing on the "node" descends from who has asked for it.
FAR_SSH = """#!/usr/bin/python3
import os, select, sys
words = sys.argv[1:]
while words[0].startswith("-"):
    del words[:2 if words[0] in ("-l", "-o") else 1]
os.environ["SLURMD_NODENAME"] = words[0]
told, tells = os.pipe()
if not os.fork():
    os.setsid()
    pid = os.fork()
    if pid:
        os.write(tells, str(pid).encode())
        os._exit(0)
    os.execvp("sh", ["sh", "-c", " ".join(words[1:])])
os.wait()
select.select([os.pidfd_open(int(os.read(told, 20)))], [], [])
"""

# mpiexec -n 1 -host NAME COMMAND: no shell reads it
MPIEXEC = """#!/bin/sh
export SLURMD_NODENAME="$4"
shift 4
exec "$@"
"""

PART = r"""#!/usr/bin/python3
import base64, json, os, pathlib, select, shutil, signal, sys, time, zlib
own, words = pathlib.Path(__file__).parent, sys.argv[1:]
folder, name = pathlib.Path(words[words.index("--part-of") + 1]), os.environ["SLURMD_NODENAME"]
(own / f"words.{name}").write_text(json.dumps(words))

def tell(state, at=None, status=0):
    at = at or time.time_ns() + {"ahead": 300, "behind": -300}.get(name, 0) * 10**9
    print("gaspbpf-part", name, state, at, 1, 7, 0, 0, status, flush=True)

os.set_blocking(0, False)
told = ""
collect = "--collect" in words

def orders():
    global told
    told = told + (os.read(0, 1000) if select.select([0], [], [], 0)[0] else b"").decode() if collect else \
        (folder / "orders").read_text()
    return {line.split()[0]: int(line.split()[1]) for line in told.splitlines(keepends=True) if line.endswith("\n")}

def send(recording):
    # as its name says: whole, or not
    cut = len(recording) - 20 if name.startswith("cuts") else len(recording)
    sent = bytearray(recording)
    sent[-50] ^= name.startswith("alters")
    for at in range(0, cut, 100):
        print("gaspbpf-bytes", name, base64.b64encode(sent[at:min(at + 100, cut)]).decode())
    if name.startswith("cuts"):
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    print("gaspbpf-whole", name, len(recording), zlib.crc32(recording))

def wait_for(what, meanwhile):
    while what not in orders() or time.time_ns() < orders()[what]:
        tell(meanwhile)
        time.sleep(0.02)

if name.startswith("refuses"):
    print(f"gaspbpf: {name}: observing needs root: run it with sudo", file=sys.stderr)
    tell("done", status=1)
    sys.exit(1)
if name.startswith("mute"):
    time.sleep(60)
if name.startswith("slow"):
    time.sleep(2)
tell("ready")
wait_for("begin", "ready")
if not collect:
    shutil.copy(own / f"{name}.gasp", folder / f"{name}.gasp")
tell("observing")
if name.startswith("killed"):
    os.kill(os.getpid(), signal.SIGKILL)
if name.startswith("hangs"):
    time.sleep(60)
if name.startswith("short"):
    time.sleep(0.2)
else:
    wait_for("end", "observing")
tell("ended")
if collect:
    send((own / f"{name}.gasp").read_bytes())
tell("done")
"""


class Nodes:
    """Of these names; a recording of each is there."""

    def __init__(self, folder, *names):
        self.folder, self.names = folder, names
        self.output = folder / "run.gasp"
        for name, text in (("ssh", SSH), ("mpiexec", MPIEXEC), ("part", PART)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        for number, name in enumerate(names):
            text = f"host {name}\nboot boot\nprocess 100 {number}\n"
            text += composed.call(100, 1000, 2000 + number, "MPI_Barrier", **{"comm.id": 0, "comm.rank": number})
            composed.compose(folder / f"{name}.gasp", text + f"end {SECOND}\n")
        # Users have not set what makes Python's programs tell at once.
        self.environment = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONUNBUFFERED": ""}

    def arguments(self, *options, more=("--comm", "x")):
        return ["job", "--hosts", ",".join(self.names), "--program", self.folder / "part", "-o", self.output, *options,
                "--", *more]

    def run(self, *options, more=("--comm", "x")):
        return gaspbpf.run(*self.arguments(*options, more=more), env=self.environment)


@functools.cache
def threads_program():
    """Called THREADS: what is chosen by that name is nobody else's."""
    folder = pathlib.Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return shutil.copy(gaspbpf.WORKLOADS / "threads", folder / THREADS)


def jobs_on(job, names):
    """One of threads on each node, each with other rounds."""
    jobs = {name: job([threads_program(), "--rounds", 3 + rounds], env={"SLURMD_NODENAME": name})
            for rounds, name in enumerate(names)}
    for each in jobs.values():
        each.wait_ready()
    return jobs


def threads_on(job, folder, names, ssh=SSH):
    """These, and an environment in which `ssh` is ours."""
    (folder / "ssh").write_text(ssh)
    (folder / "ssh").chmod(0o755)
    return jobs_on(job, names), {"PATH": f"{folder}:{os.environ['PATH']}", "GASPBPF_OTHERS": "ignore"}
