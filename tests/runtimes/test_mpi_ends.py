# SPDX-License-Identifier: BSD-2-Clause
"""The first and the last call of an MPI job that gaspbpf starts itself."""
import pytest

import conformance
import gaspbpf
import truth

RUNTIMES = {"openmpi": "openmpi-4.1.4", "mpich": "mpich-4.0.2"}


@pytest.mark.parametrize("ranks, end", ((2, "finalize"), (1, "abort")))
@pytest.mark.parametrize("mpi", RUNTIMES)
def test_first_and_last_call(tmp_path, mpi, ranks, end):
    told, lines = tmp_path / "told", tmp_path / "ends.events"
    gaspbpf.run("-o", lines, "--", f"mpirun.{mpi}", "-n", ranks, gaspbpf.WORKLOADS / f"mpi_ends_{mpi}", end,
                env={**truth.ENVIRONMENT, "ENDS_TRUTH": str(told)})
    calls = [line.split() for line in told.read_text().splitlines()]
    pids = sorted({pid for pid, _ in calls})
    assert len(pids) == ranks
    text = [line.split(" ") for line in lines.read_text().splitlines()]
    for pid in pids:
        mine = [fields for fields in text if fields[2].endswith(f":{pid}") and fields[4].startswith("GASP_MPI_")]
        begun = [fields[4] for fields in mine if fields[3] in ("START", "ATOMIC")]
        assert begun == [f"GASP_{function}" for told_by, function in calls if told_by == pid]
        if end == "abort":
            assert "errorcode=7" in mine[-1] and mine[-1][3] == "ATOMIC"
        conformance.seen(RUNTIMES[mpi], *begun)
