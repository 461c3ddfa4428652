# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf stuck on a call that began before it looked: arguments on the stack are read as those in registers are."""
from sticking import by_rank, entered, mpi, until, waiting_in


def test_arguments_on_the_stack(job):
    run = mpi(job, "openmpi", "swap", 2)
    entered(run, range(2))
    seen = until(waiting_in("GASP_MPI_SENDRECV", range(2)), "-p", run.process.pid, "--no-probes")
    for rank, thread in by_rank(seen).items():
        arguments = thread["call"]["arguments"]
        assert thread["call"]["entered"] == "before"
        assert arguments["sendtag"] == {"value": 5, "likely": False}
        # From here on they are on the stack, which the function may have changed meanwhile.
        assert arguments["recvcount"] == {"value": 3, "likely": True}
        assert arguments["source"] == {"value": 1 - rank, "likely": True}
        assert arguments["recvtag"] == {"value": 77, "likely": True}
