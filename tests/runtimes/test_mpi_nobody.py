# SPDX-License-Identifier: BSD-2-Clause
"""MPI_PROC_NULL: nothing goes there and nothing comes from there, whatever the count says. Persistent requests: what
they move is not known, and that is said. What really is moved is counted by the job."""
import json
import subprocess

import pytest

import gaspbpf
import truth

# Two ranks: 400 bytes go from rank 0 to rank 1 in each exchange, and in one send; all else is with nobody.
JOB = r"""
#include <mpi.h>
static char out[400], in[400];
#define TO_NOBODY out, 100, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD
int main(int argc, char **argv)
{
	int rank, up, down;
	long value = 0, old, compare = 0;
	MPI_Request r[2];
	MPI_Status s[2];
	MPI_Win w;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	up = rank ? MPI_PROC_NULL : 1;
	down = rank ? 0 : MPI_PROC_NULL;
	MPI_Send(TO_NOBODY);
	MPI_Ssend(TO_NOBODY);
	MPI_Rsend(TO_NOBODY);
	MPI_Recv(TO_NOBODY, MPI_STATUS_IGNORE);
	MPI_Recv(TO_NOBODY, s);
	MPI_Isend(TO_NOBODY, &r[0]);
	MPI_Irecv(TO_NOBODY, &r[1]);
	MPI_Waitall(2, r, s);
	if (rank)
		MPI_Recv(in, 100, MPI_INT, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	else
		MPI_Send(out, 100, MPI_INT, up, 0, MPI_COMM_WORLD);
	MPI_Sendrecv(out, 100, MPI_INT, up, 0, in, 100, MPI_INT, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv_replace(out, 100, MPI_INT, up, 0, down, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Send_init(TO_NOBODY, &r[0]);
	MPI_Recv_init(TO_NOBODY, &r[1]);
	MPI_Start(&r[0]);
	MPI_Wait(&r[0], s);
	MPI_Startall(2, r);
	MPI_Waitall(2, r, s);
	MPI_Request_free(&r[0]);
	MPI_Request_free(&r[1]);
	MPI_Win_create(in, sizeof(in), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
	MPI_Win_fence(0, w);
	MPI_Put(out, 100, MPI_INT, MPI_PROC_NULL, 0, 100, MPI_INT, w);
	MPI_Get(in, 100, MPI_INT, MPI_PROC_NULL, 0, 100, MPI_INT, w);
	MPI_Accumulate(out, 100, MPI_INT, MPI_PROC_NULL, 0, 100, MPI_INT, MPI_SUM, w);
	MPI_Get_accumulate(out, 100, MPI_INT, in, 100, MPI_INT, MPI_PROC_NULL, 0, 100, MPI_INT, MPI_SUM, w);
	MPI_Fetch_and_op(&value, &old, MPI_LONG, MPI_PROC_NULL, 0, MPI_SUM, w);
	MPI_Compare_and_swap(&value, &compare, &old, MPI_LONG, MPI_PROC_NULL, 0, w);
	MPI_Win_fence(0, w);
	MPI_Win_free(&w);
	MPI_Finalize();
	return 0;
}
"""
# event: calls, bytes sent, bytes received, bytes in all; of both ranks.
SEEN = {
    "SEND": (3, 400, None, 400), "SSEND": (2, 0, None, 0), "RSEND": (2, 0, None, 0), "RECV": (5, None, 400, 400),
    "ISEND": (2, 0, None, 0),
    "IRECV": (2, None, 0, 0), "SENDRECV": (2, 400, 400, 800), "SENDRECV_REPLACE": (2, 400, 400, 800),
    "PUT": (2, 0, None, 0), "GET": (2, None, 0, 0),
    "ACCUMULATE": (2, 0, None, 0), "GET_ACCUMULATE": (2, 0, 0, 0), "FETCH_AND_OP": (2, None, None, 0),
    "COMPARE_AND_SWAP": (2, None, None, 0),
}
FORTRAN = """
      program nobody
      include 'mpif.h'
      integer ierror, buffer(100), status(MPI_STATUS_SIZE)
      call MPI_Init(ierror)
      call MPI_Send(buffer, 100, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, ierror)
      call MPI_Recv(buffer, 100, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      call MPI_Sendrecv(buffer, 100, MPI_INTEGER, MPI_PROC_NULL, 0, buffer, 100, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &
                        MPI_STATUS_IGNORE, ierror)
      call MPI_Finalize(ierror)
      end program
"""


def observed(mpi, compiler, source, folder, *options, ranks=2):
    """The events of the job's run."""
    (folder / source[0]).write_text(source[1])
    subprocess.run([f"{compiler}.{mpi}", *options, "-o", folder / "job", folder / source[0]], check=True)
    result = gaspbpf.run("--json", "--", f"mpirun.{mpi}", "-n", ranks, folder / "job", env=truth.ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout[result.stdout.index("{"):])
    return {name.removeprefix("GASP_MPI_"): row for name, row in gaspbpf.events(report).items()}


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_nothing_is_moved_with_nobody(tmp_path, mpi):
    seen = observed(mpi, "mpicc", ("job.c", JOB), tmp_path, "-Wno-stringop-overflow")
    assert {name: (row["calls"], row["bytes_sent"], row["bytes_received"], row["bytes"]) for name, row in seen.items()
            if name in SEEN} == SEEN
    assert {name: row["calls_without_bytes"] for name, row in seen.items() if name in SEEN} == dict.fromkeys(SEEN, 0)


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_what_a_persistent_request_moves_is_not_known(tmp_path, mpi):
    seen = observed(mpi, "mpicc", ("job.c", JOB), tmp_path, "-Wno-stringop-overflow")
    for name in "START", "STARTALL":
        assert (seen[name]["calls"], seen[name]["bytes"], seen[name]["calls_without_bytes"]) == (2, None, 2)


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_from_fortran(tmp_path, mpi):
    seen = observed(mpi, "mpifort", ("job.f90", FORTRAN), tmp_path, "-w", "-fallow-argument-mismatch", ranks=1)
    assert {name: seen[name]["bytes"] for name in ("SEND", "RECV", "SENDRECV")} == {"SEND": 0, "RECV": 0, "SENDRECV": 0}
