# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf stuck on ranks that run scripts, and on calls that a library makes for the program: the program's own line.

What Python itself says of its threads' lines, from a thread of its own (faulthandler), is the truth.
"""
import os
import re
import subprocess

import pytest

import gaspbpf
from sticking import by_rank, finding, until, waiting_in
import truth

# The interpreter of this system, and whatever others are named: GASPBPF_PYTHONS=/opt/python3.13/bin/python3:...
PYTHONS = ["/usr/bin/python3", *filter(None, os.environ.get("GASPBPF_PYTHONS", "").split(":"))]

HEAD = """
import faulthandler, sys, threading
own = open(sys.argv[1] + "/lines." + sys.argv[2], "w")
faulthandler.dump_traceback_later(1, file=own)
"""

# One line more or less would show: what is called stands over several lines, in functions of all kinds.
SCRIPT = HEAD + """
import ctypes
mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
mpi.MPI_Init(None, None)
world = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world")))
rank = ctypes.c_int()
mpi.MPI_Comm_rank(world, ctypes.byref(rank))


def wait(a=1,
         b=2):
    c = a

    return [mpi.MPI_Barrier(
        world) for _ in (c,)]


class Größe:
    def tief(self, depth):
        if not depth:
            try:
                return wait()
            finally:
                pass
        return [next(self.erzeugt(depth - 1)) for _ in range(1)]

    def erzeugt(self, depth):
        yield sorted([1], key=lambda _:
                     self.tief(depth))


if rank.value:
    list(map(Größe().tief,
             [3]))
else:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
"""


def frames_of(text):
    """By thread, the innermost first: line and name of each frame."""
    threads = re.split(r"^(?:Current t|T)hread 0x\w+.*$", text, flags=re.MULTILINE)[1:]
    found = r'^  File ".*?", line (\d+) in (.*)$'
    return [[(int(line), name) for line, name in re.findall(found, thread, re.MULTILINE)]
            for thread in threads]


def scripts_of(thread):
    return [(frame["line"], frame["function"].split(".")[-1]) for native in thread["stack"]
            for frame in native["script"]]


def told(path):
    """What Python has said of the only thread that runs a script for long."""
    gaspbpf.wait_for(lambda: path.exists() and "<module>" in path.read_text(), "Python's own word")
    frames, = frames_of(path.read_text())
    return frames


def run_script(job, tmp_path, python, text):
    (tmp_path / "job.py").write_text(text)
    command = " ".join([python, str(tmp_path / "job.py"), str(tmp_path), "$OMPI_COMM_WORLD_RANK"])
    return job(["mpirun.openmpi", "-n", 2, "sh", "-c", f"exec {command}"], ranks=2, gate=False, env=truth.ENVIRONMENT)


@pytest.mark.parametrize("python", PYTHONS)
def test_lines_are_those_that_python_tells(job, tmp_path, python):
    """Of the rank that sleeps and of the one that polls in MPI: of that the probes know that it stayed there."""
    run = run_script(job, tmp_path, python, SCRIPT)
    expected = [told(tmp_path / f"lines.{rank}") for rank in range(2)]
    def caught(seen):
        return waiting_in("GASP_MPI_BARRIER", [1])(seen) and scripts_of(by_rank(seen)[1]) == expected[1] and \
            any(t["rank"] == 0 and scripts_of(t) for t in seen["threads"])
    seen = until(caught, "-p", run.process.pid)
    thread = by_rank(seen)[1]
    assert scripts_of(thread) == expected[1] and len(expected[1]) > 9
    line = SCRIPT.splitlines().index("    return [mpi.MPI_Barrier(") + 1
    assert thread["place"] == thread["call"]["called_from"] and thread["place"].startswith(f"job.py:{line} in wait")
    assert "~" not in thread["place"]
    inner = next(i for i, native in enumerate(thread["stack"]) if native["script"])
    assert not any(frame["likely"] for native in thread["stack"][inner:] for frame in native["script"])
    sleeping, = [t for t in seen["threads"] if t["rank"] == 0 and scripts_of(t)]
    assert scripts_of(sleeping) == expected[0] == [(len(SCRIPT.splitlines()), "<module>")]
    assert sleeping["place"] == f"job.py:{len(SCRIPT.splitlines())} in <module>"
    assert f"({thread['place']})" in finding(seen, "absent")["text"]
    unprobed = until(waiting_in("GASP_MPI_BARRIER", [1]), "-p", run.process.pid, "--no-probes")
    assert by_rank(unprobed)[1]["place"] == thread["place"] + "~"  # it has run meanwhile
    shown = gaspbpf.run("stuck", "--stack", "-p", run.process.pid)
    assert f"\n        job.py:{line} in wait\n" in shown.stdout or f"\n        job.py:{line} in wait.<" in shown.stdout


MPI4PY = HEAD + """
from mpi4py import MPI


def reduce(data):
    op = MPI.Op.Create(
        combine)
    MPI.COMM_WORLD.Allreduce(data, bytearray(8), op)


def combine(a, b, datatype):
    hold()


def hold():
    MPI.COMM_SELF.recv()


reduce(bytearray(8))
"""


def test_a_script_within_a_call_of_a_script(job, tmp_path):
    """MPI calls back into the script, which waits in MPI again: each of the two calls has its own line."""
    run = run_script(job, tmp_path, "/usr/bin/python3", MPI4PY)
    expected = told(tmp_path / "lines.0")
    seen = until(lambda seen: all(t["call"] for t in by_rank(seen).values()) and len(by_rank(seen)) == 2, "-p",
                 run.process.pid)
    line = {name: number + 1 for name, number in
            [(name, MPI4PY.splitlines().index(name)) for name in MPI4PY.splitlines() if name.strip()]}
    held = [t for t in by_rank(seen).values() if scripts_of(t) == expected]
    assert held and [name for _, name in expected] == ["hold", "combine", "reduce", "<module>"]
    for thread in held:
        places = [call["called_from"] for call in thread["calls"] if call["model"] == "mpi"]
        assert places[0] == f"job.py:{line['    MPI.COMM_WORLD.Allreduce(data, bytearray(8), op)']} in reduce"
        assert places[-1] == f"job.py:{line['    MPI.COMM_SELF.recv()']} in hold"


PROGRAM = """
#include <stdlib.h>
#include <unistd.h>

void shared_wait(int how);

static __attribute__((noinline)) void first(void)
{
	shared_wait(0); /* first */
	__asm__ volatile("");
}

static __attribute__((noinline)) void second(void)
{
	shared_wait(1); /* second */
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	if (argc > 1)
		second();
	else
		first();
	return 0;
}
"""

LIBRARY = """
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void deep(int how)
{
	volatile char room[5000];

	room[how] = 1;
	pthread_mutex_lock(&lock);
	room[0] = 2;
}

void shared_wait(int how)
{
	volatile char room[100];

	room[how] = 1;
	pthread_mutex_lock(&lock);
	deep(how);
	room[0] = 2;
}
"""


def test_a_library_without_lines_is_seen_through(tmp_path):
    """Two lines of the program lead to one call in a stripped library: each job's is its own."""
    (tmp_path / "job.c").write_text(PROGRAM)
    (tmp_path / "shared.c").write_text(LIBRARY)
    gaspbpf.compile_c(tmp_path / "shared.c", tmp_path / "libshared.so", "-O2", "-fomit-frame-pointer", "-shared",
                      "-fPIC", "-s")
    gaspbpf.compile_c(tmp_path / "job.c", tmp_path / "job", "-O2", "-g", "-fomit-frame-pointer", "-pthread",
                      "-Wl,--no-as-needed", str(tmp_path / "libshared.so"))
    places = {}
    for name, arguments in ("first", []), ("second", ["x"]):
        with subprocess.Popen([tmp_path / "job", *arguments]) as process:
            try:
                seen = until(lambda seen: seen["threads"] and seen["threads"][0]["stuck"], "-p", process.pid, "-m",
                             "pthread")
                places[name] = seen["threads"][0]["place"], seen["threads"][0]["call"]["called_from"]
            finally:
                process.kill()
    for name, place in places.items():
        line = next(i + 1 for i, text in enumerate(PROGRAM.splitlines()) if f"/* {name} */" in text)
        assert place == (f"job.c:{line} in {name}, through libshared.so",) * 2
