# SPDX-License-Identifier: BSD-2-Clause
"""report --csv: the first line of a table is the same, whatever the recording has of it."""
import csv
import io
import json
import re

import pytest

import composed
import gaspbpf

pytestmark = pytest.mark.files
S = 10**9
SOURCE = (gaspbpf.TOP / "user" / "analysis" / "csv_columns.c").read_text()
TABLES = re.findall(r'\t{ "([a-z_.]+)",', SOURCE)

NOTHING = "process 1 0\n"
TEAM = "process 1 -1\nthread 1 2\n" + "".join(
    composed.call(2, at + 20, at + 600, "fn", depth=0) + composed.call(1, at + 10, at + 300, "fn", depth=1)
    + composed.call(1, at, at + 700, "GOMP_parallel", site="omp.c:10") for at in range(0, 10_000, 1000))
STARVED = composed.LATE_SENDER + f"scheduled 1 {10 * S} {5 * S} {4 * S} 2 0\nend {10 * S}\n"
UNEVEN = composed.ranks(2) + composed.call(1, 100, 8000, "MPI_File_read_at", fh=1, site="a.c:7") + "end 10000\n"
LOCKS = "process 1 -1\nthread 1 2\n" + "".join(
    composed.call(tid, at, at + 100, "pthread_mutex_lock", mutex=64)
    + composed.call(tid, at + 900, at + 910, "pthread_mutex_unlock", mutex=64)
    for at in range(0, 9000, 1000) for tid in (1, 2))


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    texts = {"nothing": NOTHING, "late": composed.LATE_SENDER, "team": TEAM, "starved": STARVED, "uneven": UNEVEN,
             "locks": LOCKS}
    return [composed.compose(folder / f"{name}.gasp", text) for name, text in texts.items()]


def columns(row, before=""):
    """Those that the JSON's row has."""
    for key, value in row.items():
        if isinstance(value, dict):
            yield from columns(value, f"{before}{key}.")
        elif value is not None and (not isinstance(value, list) or value and not isinstance(value[0], (list, dict))):
            yield before + key


def rows_of(told, table):
    for key in table.split("."):
        told = told.get(key, {})
    return told or []


@pytest.mark.parametrize("table", TABLES)
def test_the_columns_are_always_the_same(recordings, table):
    headers, seen = set(), set()
    for recording in recordings:
        out = gaspbpf.run("report", "--csv", "--section", table, recording).stdout
        headers.add(out.split("\n")[0])
        rows = rows_of(json.loads(gaspbpf.run("report", "--json", recording).stdout), table)
        assert len(list(csv.reader(io.StringIO(out), strict=True))) == len(rows) + 1
        seen.update(*map(columns, rows))
    header, = headers
    assert seen <= set(header.strip().split(","))
