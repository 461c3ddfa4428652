# SPDX-License-Identifier: BSD-2-Clause
"""Counters of a Chrome trace, of jobs that count themselves: how much memory they have, what they have sent and not yet
received."""
import json
import subprocess

import gaspbpf
from chrome_format import checked, counters

HEAP = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	static void *blocks[64];
	static size_t sizes[64];
	size_t live = 0, most = 0;
	unsigned at = 1;

	for (int i = 0; i < 3000; i++) {
		unsigned which = (at = at * 1103515245 + 12345) >> 16 & 63;

		if (blocks[which])
			live -= sizes[which];
		free(blocks[which]);
		sizes[which] = 1 + (at >> 8) % 5000;
		blocks[which] = malloc(sizes[which]);
		live += sizes[which];
		most = live > most ? live : most;
	}
	fprintf(stderr, "{\"live\": %zu, \"most\": %zu}\n", live, most);
	return 0;
}
"""
MESSAGES = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	static char data[3000];
	int rank, most = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int round = 0; round < 3; round++) {
		int sum = 0;

		for (int i = 1; i <= 3 + round && !rank; i++)
			MPI_Send(data, 500 * i, MPI_CHAR, 1, i, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD); /* so far nobody has received anything */
		for (int i = 1; i <= 3 + round; i++) {
			sum += 500 * i;
			if (rank)
				MPI_Recv(data, sizeof(data), MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
		most = sum > most ? sum : most;
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (!rank)
		fprintf(stderr, "{\"most\": %d}\n", most);
	return MPI_Finalize();
}
"""


def observed(tmp_path, compiler, source, *launcher):
    """(the job's own count, the trace's counters by name)."""
    program, recording, trace = tmp_path / "job", tmp_path / "run.gasp", tmp_path / "run.json"
    (tmp_path / "job.c").write_text(source)
    subprocess.run([compiler, "-O0", "-g", "-fno-builtin", "-o", program, tmp_path / "job.c"], check=True,
                   timeout=gaspbpf.PATIENCE)
    result = gaspbpf.run("-q", "-o", recording, "--", *launcher, program,
                         env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    assert result.returncode == 0, result.stderr
    own = json.loads([line for line in result.stderr.splitlines() if line.startswith("{")][-1])
    exported = gaspbpf.run("export", recording, "-o", trace, "--with", "all")
    assert exported.returncode == 0, exported.stderr
    found = {}
    for (_, name), points in counters(checked(trace.read_bytes())).items():
        found.setdefault(name, []).append([value for _, value in points])
    return own, found


def test_memory_in_use(tmp_path):
    """The largest of all, and what is left at the end."""
    own, found = observed(tmp_path, "gcc", HEAP)
    values, = found["memory in use (c)"]
    assert (max(values), values[-1]) == (own["most"], own["live"]) and len(values) > 100


def test_bytes_in_flight(tmp_path):
    """Only the rank that sends has any; each round has more than the one before, and nothing is left."""
    own, found = observed(tmp_path, "mpicc.openmpi", MESSAGES, "mpirun.openmpi", "--oversubscribe", "-n", "2")
    sizes, = found["bytes in flight"]
    numbers, = found["messages in flight"]
    assert (max(sizes), sizes[-1]) == (own["most"], 0) and (max(numbers), numbers[-1]) == (5, 0)
