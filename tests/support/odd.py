# SPDX-License-Identifier: BSD-2-Clause
"""The jobs of tests/workloads/odd: a model of their own functions."""
import pytest

MODEL = """
model    odd
language ODD
library  program
needs    climb thrower turn
CLIMB    function  long climb(long n)
LEAP     function  long leap(long n)
THROWER  function  long thrower(long n)
PASSER   function  long passer(long n)
TURN     function  long turn(int who, long n)
SIGNAL   function  long on_signal_stack(long n)
"""


@pytest.fixture
def own_functions(tmp_path):
    """The options for a model of the jobs' own functions, and for nothing else."""
    model = tmp_path / "odd.model"
    model.write_text(MODEL)
    return ["--model-file", model, "-m", "odd"]
