# SPDX-License-Identifier: BSD-2-Clause
"""Calls whose arguments are lies: addresses of nothing, of the kernel, of a ring that leads to itself; numbers of the
size of the world; ranks that are none."""
import json

import pytest

import beside
import gaspbpf
import rights

NAMES = {"MPI_Send": 2, "MPI_Recv": 1, "MPI_Comm_split": 1, "MPI_Waitall": 1, "MPI_Allreduce": 1, "MPI_Alltoallv": 1,
         "MPI_Type_commit": 1, "MPI_Comm_set_name": 1}
LIBRARY = "#define LEFT_ALONE __attribute__((noinline))\n" + "".join(
    f'LEFT_ALONE long {name}(long a) {{ __asm__ volatile("nop # {name}"); return a + {number}; }}\n'
    for number, name in enumerate(["MPI_Init", *NAMES]))
# PROGRAM ROUNDS; each call in each round, one of them twice: with a communicator that nobody had before.
PROGRAM = r"""
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
typedef void *P;
long MPI_Init(P, P), MPI_Send(P, int, P, int, int, P), MPI_Recv(P, int, P, int, int, P, P), MPI_Comm_split(P, int, int, P), MPI_Waitall(int, P, P);
long MPI_Allreduce(P, P, int, P, P, P), MPI_Alltoallv(P, P, P, P, P, P, P, P, P), MPI_Type_commit(P), MPI_Comm_set_name(P, P);
int main(int argc, char **argv)
{
	char *ring = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	P none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	P wild[] = { 0, (P)1, (P)-1L, (P)0xffff800000000000, (P)0x7ffffffff000, (P)0x8000000000000000, none, ring, ring + 65533, (P)0xffffffffff600000 };
	long rounds = atol(argv[1]);

	for (int i = 0; i < 8192; i++)
		((P *)ring)[i] = ring;
	MPI_Init(0, 0);
	for (unsigned n = 0; !rounds || n < rounds; n++) {
		P a = wild[n % 10], b = wild[n / 10 % 10], c = wild[n / 100 % 10];
		int k = n * 2654435761u;

		MPI_Send(a, k, b, -k, n, c);
		MPI_Send(a, 0x7fffffff, b, 0x7fffffff, 0x7fffffff, (P)(uintptr_t)(n * 64ull + 4096));
		MPI_Recv(a, k, b, n, -n, c, b);
		MPI_Comm_split(a, n, k, b);
		MPI_Waitall(k, a, b);
		MPI_Allreduce(a, b, k, c, a, b);
		MPI_Alltoallv(a, b, c, a, b, c, a, b, c);
		MPI_Type_commit(a);
		MPI_Comm_set_name(a, b);
		if (!rounds)
			usleep(100);
	}
}
"""
ROUNDS = 20_000
WORLDS = {
    "negative": {"OMPI_COMM_WORLD_RANK": str(-1 << 63), "OMPI_COMM_WORLD_SIZE": str(1 << 63)},
    "large": {"OMPI_COMM_WORLD_RANK": str((1 << 31) - 1), "OMPI_COMM_WORLD_SIZE": "2147483647",
              "OMPI_COMM_WORLD_LOCAL_SIZE": "2147483647"},
    "long": {"PMIX_RANK": "7" * 120_000, "PMI_RANK": "\x1b[2J\n", **{f"PAD{n}": "x" * 120_000 for n in range(9)}},
}


@pytest.fixture(name="evil", params=WORLDS)
def lying(request):
    """The program, and its environment."""
    with rights.folder() as folder:
        library = folder / "libmpi.so.40"
        (folder / "mpi.c").write_text(LIBRARY)
        gaspbpf.compile_c(folder / "mpi.c", library, "-O1", "-shared", "-fPIC", f"-Wl,-soname,{library.name}")
        yield beside.build(folder, PROGRAM, beside.LIBRARY, library), {"PATH": "/usr/bin:/bin", **WORLDS[request.param]}


def test_a_recording(evil, tmp_path):
    program, environment = evil
    recording, trace = tmp_path / "run.gasp", tmp_path / "run.json"
    with_it = [f"{name}={value}" for name, value in environment.items()]
    result = gaspbpf.run("record", "-m", "mpi", "--ring-size", "256m", "-o", recording, "--", *beside.NOBODY, "env",
                         *with_it, program, ROUNDS)
    assert result.returncode == 0, result.stderr
    report = json.loads(gaspbpf.run("report", "--json", recording).stdout)
    calls = {name: row["calls"] for name, row in gaspbpf.events(report).items()}
    for name, times in NAMES.items():
        assert calls.get(f"GASP_{name.upper()}", times * ROUNDS) == times * ROUNDS, calls
    assert calls["GASP_MPI_SEND"] == 2 * ROUNDS
    assert gaspbpf.run("report", recording).returncode == 0
    assert gaspbpf.run("export", recording, "-o", trace).returncode == 0
    events = json.loads(trace.read_text())["traceEvents"]
    assert sum(event.get("name") == "GASP_MPI_SEND" for event in events) + report["loss"]["lost"] >= 2 * ROUNDS


def test_beside_a_monitor(evil, monitors, runtime, tmp_path):
    program, environment = evil
    m = beside.Monitor(monitors, runtime, tmp_path, "-m", "shmem,mpi")
    with beside.running(program, "0", env=environment) as process:
        m.wait_for_evil(process)
        m.an_honest_job_is_exact()
        for command in ["top", "--once", "-d", "200ms"], ["stuck", "-d", "50ms"]:
            result = gaspbpf.run(*command, "-m", "mpi", "-p", process.pid)
            assert result.returncode in (0, 1), result.stderr
        assert process.poll() is None
        m.ends_well()
