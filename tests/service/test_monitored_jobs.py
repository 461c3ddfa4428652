# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf monitor and real MPI jobs: each rank's figures against its own, whatever the library, however many ranks."""
import subprocess

import pytest

import gaspbpf
import monitoring

pytestmark = pytest.mark.alone  # everybody's MPI library has probes

FUNCTIONS = {"MPI_Send": "SEND", "MPI_Recv": "RECV", "MPI_Isend": "ISEND", "MPI_Barrier": "BARRIER", "MPI_Wait": "WAIT",
             "MPI_Waitall": "WAITALL",
             "MPI_Bcast": "BCAST", "MPI_Allreduce": "ALLREDUCE", "MPI_Win_fence": "WIN_FENCE", "MPI_Put": "PUT",
             "MPI_Get": "GET", "MPI_Comm_dup": "COMM_DUP"}
NOTHING = {"calls": 0, "bytes": 0}


def meet_and_work(job, monitor):
    """The monitor knows all ranks before they work; what it says when they have."""
    monitor.wait_for_processes(job.pids())
    job.work()
    line = monitor.now()
    assert job.end() == 0, job.output()
    return line


def check_ranks(job, monitor, count, unsized=False):
    """Lets the job work; each rank has its number, its calls of each function, and the bytes that it sent. unsized: but
    those of derived types."""
    line = meet_and_work(job, monitor)
    processes = {process["rank"]: process for process in line["processes"]}
    assert {rank: process["pid"] for rank, process in processes.items()} == dict(enumerate(job.pids()))
    assert {process["size"] for process in line["processes"]} == {count}
    truths = {truth["rank"]: truth["functions"] for truth in job.truths()}
    assert sorted(truths) == list(range(count))
    compared = 0
    for rank, truth in truths.items():
        found = monitoring.events_of(processes[rank])
        for function, event in FUNCTIONS.items():
            if truth.get(function, NOTHING)["calls"]:
                assert found[f"GASP_MPI_{event}"]["calls"] == truth[function]["calls"], (rank, function)
                compared += 1
        for function in "MPI_Send", "MPI_Put":
            event = found[f"GASP_MPI_{FUNCTIONS[function]}"]
            unknown = truth.get("sends of a derived type", NOTHING) if unsized and function == "MPI_Send" else NOTHING
            assert event["sized"] == truth[function]["calls"] - unknown["calls"], (rank, function)
            assert event["bytes"] == truth[function]["sent"] - unknown["bytes"], (rank, function)
    assert compared > 8 * count
    totals = monitoring.events_of(line)
    assert totals["GASP_MPI_SEND"]["bytes"] == sum(monitoring.events_of(process)["GASP_MPI_SEND"]["bytes"]
                                                   for process in processes.values())
    assert totals["GASP_MPI_BARRIER"]["calls"] == sum(truth["MPI_Barrier"]["calls"] for truth in truths.values())


def test_mpich(job, monitors):
    """The size of a derived type is nowhere to be read in MPICH: such calls are not sized, which is not 0."""
    ranks = job(["mpirun.mpich", "-n", "2", gaspbpf.WORKLOADS / "mpi_job_mpich", "--rounds", "10"],
                ranks=2).wait_ready()
    monitor = monitors("-p", ranks.process.pid, "--lazy", "--max-overhead", "none", "-m", "mpi")
    check_ranks(ranks, monitor, 2, unsized=True)


# Each rank sends so many messages of its own size to the next one, and says what it did. mpi_job is for 16 ranks at
# most.
RING = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static int rank, size;
static void at_gate(const char *gate, const char *mark, const char *until)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%d", gate, mark, rank);
	f = fopen(path, "w");
	fprintf(f, "%d", getpid());
	fclose(f);
	snprintf(path, sizeof(path), "%s/%s", gate, until);
	while (access(path, F_OK))
		nanosleep(&pause, NULL);
}
int main(int argc, char **argv) /* --gate DIR --truth FILE */
{
	static char out[65536], in[65536];
	long sends = 0, bytes = 0, barriers = 0;
	char path[4096];
	FILE *f;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	at_gate(argv[2], "ready", "go");
	for (int i = 0; i < 3; i++) {
		MPI_Request request;

		MPI_Irecv(in, sizeof(in), MPI_CHAR, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &request);
		MPI_Send(out, rank * 10 + i + 1, MPI_CHAR, (rank + 1) % size, 7, MPI_COMM_WORLD);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		sends++;
		bytes += rank * 10 + i + 1;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	barriers++;
	snprintf(path, sizeof(path), "%s.%d", argv[4], rank);
	f = fopen(path, "w");
	fprintf(f, "{\"rank\": %d, \"sends\": %ld, \"bytes\": %ld, \"barriers\": %ld}", rank, sends, bytes, barriers);
	fclose(f);
	at_gate(argv[2], "done", "end");
	MPI_Finalize();
	return 0;
}
"""


def test_64_ranks_on_this_node(job, monitors, tmp_path):
    """Far more than there are processors; the monitor was there first, and meets them as they come."""
    (tmp_path / "ring.c").write_text(RING)
    program = tmp_path / monitoring.unique("ring")
    subprocess.run(["mpicc.openmpi", "-O1", "-o", program, tmp_path / "ring.c"], check=True, timeout=gaspbpf.PATIENCE)
    monitor = monitors("--comm", program.name, "--lazy", "--max-overhead", "none", "-m", "mpi")
    ranks = job(["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", "64", program], ranks=64,
                env=gaspbpf.MPI_ENVIRONMENT).wait_ready()
    processes = {process["rank"]: process for process in meet_and_work(ranks, monitor)["processes"]}
    truths = {truth["rank"]: truth for truth in ranks.truths()}
    assert sorted(processes) == sorted(truths) == list(range(64))
    for rank, truth in truths.items():
        found = monitoring.events_of(processes[rank])
        assert (processes[rank]["pid"], processes[rank]["size"]) == (ranks.pids()[rank], 64)
        assert (found["GASP_MPI_SEND"]["calls"], found["GASP_MPI_SEND"]["bytes"]) == (truth["sends"], truth["bytes"])
        assert found["GASP_MPI_BARRIER"]["calls"] == truth["barriers"]
