# SPDX-License-Identifier: BSD-2-Clause
"""The MPI model is complete: whatever the headers of Open MPI and MPICH declare is an event, or stated not to be
one."""
import functools
import json
import re
import subprocess

import pytest

import gaspbpf

LIBRARIES = {"openmpi": "libmpi.so", "mpich": "libmpich.so"}


def stated():
    """The functions that docs/mpi.md names as no events."""
    text = (gaspbpf.TOP / "docs" / "mpi.md").read_text().split("## Functions that are no events")[1]
    return set(re.findall(r"\bMPI_\w+", "\n".join(line for line in text.splitlines() if line.startswith("    "))))


def declared(mpi):
    """What mpi.h declares, after the preprocessor; a cast and a typedef look like a call of an MPI_Aint."""
    header = subprocess.run([f"mpicc.{mpi}", "-E", "-P", "-x", "c", "-"], input="#include <mpi.h>\n",
                            capture_output=True, text=True, check=True, timeout=gaspbpf.PATIENCE).stdout
    return set(re.findall(r"\bMPI_[A-Z]\w*(?=\s*\()", header)) - {"MPI_Aint"}


@functools.cache
def observable(mpi):
    """What gaspbpf finds in the library itself: symbol -> event."""
    library = subprocess.run([f"mpicc.{mpi}", f"-print-file-name={LIBRARIES[mpi]}"], capture_output=True, text=True,
                             check=True, timeout=gaspbpf.PATIENCE).stdout.strip()
    found = json.loads(gaspbpf.run("list", "-m", "mpi", "--json", library).stdout)["found"]
    return {function["symbol"]: function["event"] for function in found}


@pytest.mark.parametrize("mpi", LIBRARIES)
def test_each_function_of_the_header_is_an_event_or_stated_not_to_be_one(mpi):
    names, events = declared(mpi), observable(mpi)
    assert len(names) > 400
    assert names - set(events) - stated() == set()
    assert set(events) & stated() == set()


@pytest.mark.parametrize("mpi", LIBRARIES)
def test_each_function_is_one_event_of_its_own_name(mpi):
    for symbol, event in observable(mpi).items():
        assert event == "GASP_" + re.sub(r"_c$", "", symbol).upper()
