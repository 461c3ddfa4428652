# SPDX-License-Identifier: BSD-2-Clause
"""Files that calls read and write, by their names: in recordings that say who told these."""
import json

import pytest

import composed
import gaspbpf

pytestmark = pytest.mark.files

OF_FILE = -1 << 63  # what a descriptor's text is of (recording.h), as a signed number


def rows(path, names):
    """Process 1 writes 10 bytes to each of these files, which it opens one after the other."""
    opened = dict(enumerate(names, 3))
    text = "".join(["process 1 -1\nthread 1 1\n", *(f"text 1 {OF_FILE + fd} {name}\n" for fd, name in opened.items()),
                    *(composed.call(1, 100 * fd, 100 * fd + 50, "write", fd=fd, count=10, result=10) for fd in opened)])
    recording = composed.compose(path, text)
    told = json.loads(gaspbpf.run("report", "--json", recording).stdout)["files"]
    return sorted((row["file"], row["named_by"], row["bytes_written"]) for row in told)


@pytest.mark.parametrize("names, expected", [
    (["/data/a", "given: /data/a"], [("/data/a", "linux", 20)]),
    (["given: /data/a", "/data/a", "given: /data/a"], [("/data/a", "linux", 30)]),
    (["given: /data/a", "given: /data/a"], [("/data/a", "call", 20)]),
    (["/data/a", "given: /data/b"], [("/data/a", "linux", 10), ("/data/b", "call", 10)]),
    (["/data/a", "relative: a"], [("/data/a", "linux", 10), ("a", "call, relative", 10)]),
    (["/data/a", "/data/a (deleted)"], [("/data/a", "linux", 10), ("/data/a (deleted)", "linux", 10)])])
def test_one_file_is_one_row_whoever_told_its_name(tmp_path, names, expected):
    assert rows(tmp_path / "run.gasp", names) == expected
