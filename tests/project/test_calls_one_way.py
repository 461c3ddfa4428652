# SPDX-License-Identifier: BSD-2-Clause
"""Files of a folder that call each other could not be understood one at a time: from what a file calls no way leads
back to it."""
import subprocess

import pytest

import gaspbpf

pytestmark = pytest.mark.files
ROOMS = ("capture",)


def symbols(source):
    """What the file's object defines for others, and what it wants of them."""
    compiled = gaspbpf.BUILD / source.relative_to(gaspbpf.TOP / "user").with_suffix(".o")
    listed = subprocess.run(["nm", "--extern-only", "--format=posix", compiled], capture_output=True, text=True,
                            check=True).stdout.splitlines()
    kinds = [line.split()[:2] for line in listed]
    return {name for name, kind in kinds if kind != "U"}, {name for name, kind in kinds if kind == "U"}


def called_by_file(room):
    found = {source: symbols(source) for source in (gaspbpf.TOP / "user" / room).glob("**/*.c")}
    owner = {name: source for source, (defined, _) in found.items() for name in defined}
    return {str(source): {str(owner[name]) for name in wanted if name in owner}
            for source, (_, wanted) in found.items()}


@pytest.mark.parametrize("room", ROOMS)
def test_files_call_each_other_one_way(room):
    left = called_by_file(room)
    assert len(left) > 20 and sum(map(len, left.values())) > 50
    while left:
        bottom = [name for name, called in left.items() if not called & left.keys()]
        assert bottom, f"these call each other, or those that do: {sorted(left)}"
        for name in bottom:
            del left[name]
