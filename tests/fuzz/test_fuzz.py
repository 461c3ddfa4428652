# SPDX-License-Identifier: BSD-2-Clause
"""The fuzz targets (tests/fuzz, docs/fuzzing.md), for a few seconds each: all seeds, and some inputs made of them, the
same ones every time.

This shows that the targets are built, reach what they are for, and that what was found once stays mended. To look for
more: make fuzz. With GASPBPF_FUZZ_SECONDS=60 in the environment each runs for so long instead, with other inputs every
time.
"""
import os
import subprocess

import pytest

import fuzzing
import gaspbpf

RUNS = 400  # at least all seeds
SECONDS = int(os.environ.get("GASPBPF_FUZZ_SECONDS", 0))
EDGES = 60  # a target that reaches less has lost its way
PATIENCE = ["-timeout=600"]  # one input; this machine may be busy


@pytest.fixture(scope="module")
def seeds():
    for target in fuzzing.TARGETS:
        assert (fuzzing.FUZZ / target).exists(), f"build/fuzz/{target} is not built: make fuzz-programs"
    subprocess.run([gaspbpf.TOP / "tests" / "fuzz" / "seeds.py"], check=True, timeout=600)
    return fuzzing.FUZZ / "seeds"


@pytest.mark.parametrize("target", fuzzing.TARGETS)
def test_target(target, seeds, tmp_path):
    assert any((seeds / target).iterdir()), "it has nothing to begin with"
    how = {"seconds": SECONDS} if SECONDS else {"runs": RUNS, "seed": 1}
    one, = fuzzing.fuzz([target], folder=tmp_path, limits=PATIENCE, **how)
    assert not one.new, f"{one.new}\n{one.said()[-6000:]}"
    assert one.inputs >= len(list((seeds / target).iterdir()))
    assert one.edges >= EDGES, one.said()[-6000:]


def test_each_target_is_described():
    text = (gaspbpf.TOP / "docs" / "fuzzing.md").read_text()
    assert [target for target in fuzzing.TARGETS if f"| `{target}` |" not in text] == []
