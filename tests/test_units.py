# SPDX-License-Identifier: BSD-2-Clause
"""The unit tests of the user side (tests/unit, cmocka), one test a program."""
import subprocess

import pytest

import gaspbpf

pytestmark = pytest.mark.files

PROGRAMS = sorted(source.stem for source in (gaspbpf.TOP / "tests" / "unit").glob("*.c"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_unit(program, tmp_path):
    path = gaspbpf.BUILD / "unit" / program
    assert path.exists(), f"{path} is not built: make unit"
    result = subprocess.run([path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=300,
                            cwd=gaspbpf.TOP, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": str(tmp_path)})
    assert result.returncode == 0, result.stdout
    assert "[  PASSED  ]" in result.stdout, result.stdout
