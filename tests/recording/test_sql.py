# SPDX-License-Identifier: BSD-2-Clause
"""The statements of docs/sql.md, on runs whose answers are known: by DuckDB, where it can be had, and by SQLite, which
is told what the table has."""
import re
import sqlite3

import pytest

import ask_duckdb
import composed
import gaspbpf
from composed import call, compose
from parquet_file import Table

pytestmark = pytest.mark.files
DOCUMENT = gaspbpf.TOP / "docs" / "sql.md"
WORLD = 0x1000
LATER = 1_500_000_000


def statements():
    """{heading: the statement below it}"""
    found, heading = {}, None
    for part in re.split(r"^(?=##)|^(?=```sql\n)", DOCUMENT.read_text(), flags=re.MULTILINE):
        if part.startswith("```"):
            found[heading] = part.split("```")[1].removeprefix("sql\n")
        else:
            heading = part.splitlines()[0].strip("# ")
    return found


def ranks(count):
    members = " ".join(map(str, range(count)))
    return "".join(f"process {rank + 1} {rank}\n" for rank in range(count)) + "thread 1 11\n" + "".join(
        f"comm {rank + 1} {WORLD} 0 0 {members}\n" for rank in range(count))


def send(tid, start, end, dest, count, line):
    return call(tid, start, end, "MPI_Send", dest=dest, tag=0, comm=WORLD, count=count, datatype=1,
                site=f"job.c:{line}", **{"comm.id": 0})


def barrier(starts, end):
    return "".join(call(rank + 1, start, end, "MPI_Barrier", comm=WORLD, site="job.c:50",
                        **{"comm.id": 0, "comm.rank": rank}) for rank, start in enumerate(starts))


def lock(tid, start, end, line):
    return call(tid, start, end, "pthread_mutex_lock", mutex=0x40, site=f"job.c:{line}")


# Rank 2 is late twice, rank 0 once. The lock is had at line 70 when line 71 wants it, and the other way round.
RUN = (ranks(3) + send(1, 100, 110, 1, 500, 10) + send(1, 120, 140, 1, 2000, 11) + send(3, 200, 230, 0, 40, 10) +
       barrier([1000, 1200, 1900], 2000) + lock(11, 2000, 2010, 70) + lock(1, 2005, 2105, 71) +
       lock(11, 2110, 2150, 70) + lock(11, 2200, 2210, 70) + barrier([3000, 2500, 2900], 3100) +
       barrier([LATER + 100, LATER + 200, LATER + 500], LATER + 600))
BEFORE = ranks(3) + barrier([100, 100, 100], 150) + send(1, 200, 205, 1, 500, 10)

ANSWERS = {
    "Who is late in barriers?": [(2, 2, 1600 + 700), (0, 1, 600)],
    "Who sends how much to whom?": [(0, 1, 2, 2500), (2, 0, 1, 40)],
    "Which lines take the time?": [
        ("job.c", 50, "GASP_MPI_BARRIER", 9, 3800, 1000),
        ("job.c", 71, "GASP_PTHREAD_MUTEX_LOCK", 1, 100, 100),
        ("job.c", 70, "GASP_PTHREAD_MUTEX_LOCK", 3, 60, 40), ("job.c", 10, "GASP_MPI_SEND", 2, 40, 30),
        ("job.c", 11, "GASP_MPI_SEND", 1, 20, 20)],
    "How long do calls take, the usual and the unusual ones?": [
        ("GASP_MPI_BARRIER", 9, 400, 1000, 1000, 1000), ("GASP_MPI_SEND", 3, 20, 30, 30, 30),
        ("GASP_PTHREAD_MUTEX_LOCK", 4, 10, 100, 100, 100)],
    "What was the time for, second by second?": [
        (0, "barrier", 2800), (0, "data", 60), (0, "lock", 160), (1, "barrier", 1000)],
    "For whom do threads wait at locks?": [
        ("0x40", "job.c:70", "job.c:71", 1, 100), ("0x40", "job.c:71", "job.c:70", 1, 40)],
    "Where are many small messages sent?": [("job.c:10", "GASP_MPI_SEND", 2, 270.0, 40)],
    "Is the work even, and who is slow when?": [(0, 2, 300, 1100), (1, 2, 100, 400)],
    "What is different between two runs?": [
        ("GASP_MPI_BARRIER", 3, 9, 3800 - 150), ("GASP_PTHREAD_MUTEX_LOCK", None, 4, 160), ("GASP_MPI_SEND", 1, 3, 55)],
    "Which node is different from the others?": [
        ("n1", 3, 4, 150, None, 500), ("n2", 3, 16, 3800, None, 2540)],
    "Many nodes": [("n2", rank, "GASP_MPI_BARRIER", ns) for rank, ns in ((0, 500), (1, 400), (2, 100))],
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A folder with run.parquet, before.parquet, n1.parquet and n2.parquet, and what is in each."""
    folder, found = tmp_path_factory.mktemp("tables"), {}
    for name, text in (("run", RUN), ("before", BEFORE), ("n1", "host n1\n" + BEFORE), ("n2", "host n2\n" + RUN)):
        recording, path = compose(folder / f"{name}.gasp", text), folder / f"{name}.parquet"
        result = gaspbpf.run("export", recording, "-o", path)
        assert result.returncode == 0, result.stderr
        found[path.name] = Table(path)
    return folder, found


class QuantileDisc:
    """The least value that so large a part of all does not exceed."""

    def __init__(self):
        self.values, self.part = [], None

    def step(self, value, part):
        self.values += [] if value is None else [value]
        self.part = part

    def finalize(self):
        self.values.sort()
        count = len(self.values)
        return next((value for at, value in enumerate(self.values) if (at + 1) / count >= self.part), None)


@pytest.fixture(scope="module")
def sqlite(tables):
    base = sqlite3.connect(":memory:")
    base.create_aggregate("quantile_disc", 2, QuantileDisc)
    for name, table in tables[1].items():
        base.execute(f"CREATE TABLE '{name}' ({', '.join(table.columns)})")
        base.executemany(f"INSERT INTO '{name}' VALUES ({', '.join('?' * len(table.columns))})",
                         zip(*table.columns.values()))
    base.execute("CREATE VIEW 'n*.parquet' AS SELECT * FROM 'n1.parquet' UNION ALL SELECT * FROM 'n2.parquet'")
    return base


def test_each_statement_has_an_answer_here():
    found = statements()
    assert set(found) == {"The table", *ANSWERS}
    assert DOCUMENT.read_text().count("```sql\n") == len(found)


@pytest.mark.parametrize("question", ANSWERS)
def test_sqlite_answers(sqlite, question):
    statement = re.sub(r"read_parquet\(('[^']*')\)", r"\1", statements()[question])
    assert sqlite.execute(statement).fetchall() == ANSWERS[question]


def test_duckdb_answers(tables):
    folder, why = ask_duckdb.modules()
    if not folder:
        pytest.skip(why)
    found = statements()
    notes, *answers = ask_duckdb.ask(tables[0], found.pop("The table"), *found.values())
    assert dict(zip(found, answers)) == {question: ANSWERS[question] for question in found}
    assert dict(notes) == tables[1]["run.parquet"].notes


def test_columns_are_those_of_the_document(tables):
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", DOCUMENT.read_text().split("`status` is")[0], re.MULTILINE)
    assert [name for row in rows for name in re.findall(r"\w+", row)] == list(tables[1]["run.parquet"].columns)


def test_the_report_has_the_same_pairs(tables):
    """What is summed up by the table is what the report says of the recording."""
    result = gaspbpf.run("report", "--json", tables[0] / "run.gasp")
    report = composed.json.loads(result.stdout)
    assert sorted((pair["from"], pair["to"], pair["operations"], pair["bytes"])
                  for pair in report["communication"]["pairs"]) == ANSWERS["Who sends how much to whom?"]
