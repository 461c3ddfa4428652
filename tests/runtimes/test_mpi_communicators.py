# SPDX-License-Identifier: BSD-2-Clause
"""Who is in a communicator of which a library shows nothing but a handle, that is another number in each process."""
import collections
import json
import subprocess

import pytest

import gaspbpf

SOURCE = r"""
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static void pause_for(int us) { nanosleep(&(struct timespec){ .tv_nsec = us * 1000L }, NULL); }
int main(int argc, char **argv)
{
	int rank, one = 1, sum;
	MPI_Comm half, all, node, again, unused[3];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < rank % 4; i++) /* so that handles differ */
		MPI_Comm_dup(MPI_COMM_SELF, &unused[i]);
	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
	MPI_Comm_dup(MPI_COMM_WORLD, &all);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
	MPI_Comm_split(all, rank % 2, rank, &again);
	if (argc > 1) {
		if (!rank) {
			fclose(fopen(argv[1], "w"));
			while (access(argv[2], F_OK))
				pause_for(1000);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
	for (int i = 0; i < (rank < 2 ? 30 : 20); i++) {
		pause_for(rank % 2 ? 2000 : 500);
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, half);
	}
	for (int i = 0; i < 25; i++) {
		pause_for(rank == 3 ? 2000 : 500);
		MPI_Barrier(all);
		MPI_Bcast(&one, 1, MPI_INT, 0, node);
	}
	MPI_Comm_free(&half); /* its handle is used again */
	MPI_Comm_split(MPI_COMM_WORLD, rank % 3 == 0, rank, &half);
	for (int i = 0; i < 12; i++) {
		pause_for(rank < 2 ? 2000 : 500);
		MPI_Allgather(&one, 1, MPI_INT, (int[4]){ 0 }, 1, MPI_INT, half);
		MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, again);
	}
	MPI_Finalize();
	return 0;
}
"""
# event: {members: times}
MADE = {
    "ALLREDUCE": {(0, 1): 30, (2, 3): 20},
    "BARRIER": {(0, 1, 2, 3): 25},
    "BCAST": {(0, 1, 2, 3): 25},
    "ALLGATHER": {(0, 3): 12, (1, 2): 12},
    "REDUCE": {(0, 2): 12, (1, 3): 12},
}


@pytest.fixture(name="program")
def build(tmp_path):
    (tmp_path / "comms.c").write_text(SOURCE)
    subprocess.run(["mpicc.mpich", "-O1", "-g", "-o", tmp_path / "comms", tmp_path / "comms.c"], check=True)
    return ["mpirun.mpich", "-n", "4", tmp_path / "comms"]


def meetings(report):
    """{event: {members: times}}, of those that each have several members."""
    rank_of = {process["pid"]: process["rank"] for process in report["processes"]}
    found = collections.defaultdict(dict)
    for row in report["meetings"]:
        members = tuple(sorted(rank_of[member["pid"]] for member in row["members"]))
        event = row["event"].removeprefix("GASP_MPI_")
        found[event][members] = found[event].get(members, 0) + row["meetings"]
    return found


def test_who_meets(program):
    result = gaspbpf.run("--json", "--", *program)
    assert result.returncode == 0, result.stderr
    found = meetings(json.loads(result.stdout[result.stdout.index("{\n"):]))
    for event, groups in MADE.items():
        assert found[event] == groups, event


def test_who_meets_in_a_job_that_is_joined_late(program, observe, tmp_path):
    """Nothing tells which handles mean the same: those who were in their calls at the same times each time. Nobody is
    told to have met whom he has not."""
    ready, go = tmp_path / "ready", tmp_path / "go"
    with subprocess.Popen([*program, ready, go]) as job:
        try:
            gaspbpf.wait_for(ready.exists, "the job to be ready")
            watcher = observe("-p", job.pid, "--json")
            go.touch()
            assert job.wait(timeout=gaspbpf.PATIENCE) == 0
            status, out, errors = watcher.finish()
        finally:
            job.kill()
    assert status == 0, errors
    found = meetings(json.loads(out))
    for event, groups in MADE.items():
        for members, times in found[event].items():
            assert times <= groups.get(members, 0), (event, members, times)
    assert found["BARRIER"] == MADE["BARRIER"], found
