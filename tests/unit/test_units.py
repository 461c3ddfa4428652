# SPDX-License-Identifier: BSD-2-Clause
"""The unit tests of the user side (tests/unit, cmocka), one test a program."""
import os
import subprocess

import pytest

import gaspbpf

pytestmark = pytest.mark.files

PROGRAMS = sorted(source.stem for source in (gaspbpf.TOP / "tests" / "unit").glob("*.c"))
# Not with sanitizers:
ELSEWHERE = {
    "call_filter_test": "the sanitizers make system calls of their own",
    "pass_test": "what it plays is never freed; the fuzz target records does that, with sanitizers, too",
    "recording_damage_test": "takes minutes; the fuzz targets recording and report do that, with sanitizers, too",
    "model_mistakes_test": "takes a minute; the fuzz target model does that, with sanitizers, too",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_unit(program, tmp_path):
    if program in ELSEWHERE and gaspbpf.BUILD.name == "san":
        pytest.skip(ELSEWHERE[program])
    path = gaspbpf.BUILD / "unit" / program
    assert path.exists(), f"{path} is not built: make unit"
    result = subprocess.run([path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                            timeout=max(300, gaspbpf.PATIENCE),
                            cwd=gaspbpf.TOP, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": str(tmp_path),
                                                  "GASPBPF_MODELS": str(gaspbpf.TOP / "models"),
                                 **{name: os.environ[name] for name in ("ASAN_OPTIONS",) if name in os.environ}})
    assert result.returncode == 0, result.stdout
    assert "[  PASSED  ]" in result.stdout, result.stdout
