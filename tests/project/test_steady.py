# SPDX-License-Identifier: BSD-2-Clause
"""A run of tests that can be relied on: what failed runs once more, alone (tests/support/steady.py). Its own runs are
of invented tests."""
import re
import subprocess
import sys

import pytest

import gaspbpf

pytestmark = pytest.mark.files

GOOD = """
def test_good():
    pass
"""
FLAKY = """
import pathlib
import pytest
HERE = pathlib.Path(__file__).parent

@pytest.mark.parametrize("which", range({count}))
def test_flaky(which):
    mark = HERE / f"been_{{which}}"
    been = mark.exists()
    mark.touch()
    assert been
"""
BAD = """
def test_bad():
    assert False
"""
BROKEN_FIXTURE = """
import pathlib
import pytest

@pytest.fixture
def room():
    yield
    mark = pathlib.Path(__file__).parent / "room"
    been = mark.exists()
    mark.touch()
    assert been

def test_in_a_room(room):
    pass
"""
SKIPPED_LATER = """
import pathlib
import pytest

def test_comes_once():
    mark = pathlib.Path(__file__).parent / "once"
    if mark.exists():
        pytest.skip("not again")
    mark.touch()
    assert False
"""


@pytest.fixture
def check(tmp_path):
    """Runs invented tests: the exit status, all lines, and the last closing line of pytest's kind, as a CI looks for
    it."""
    def run(*options, **files):
        for name, text in files.items():
            (tmp_path / f"test_{name}.py").write_text(text)
        done = subprocess.run([sys.executable, gaspbpf.TOP / "tests" / "support" / "steady.py", "-p",
                               "no:cacheprovider", *options, tmp_path],
                              capture_output=True, text=True, timeout=gaspbpf.PATIENCE, cwd=tmp_path)
        lines = done.stdout.splitlines()
        closing = [line for line in lines if re.search(r"\d+ (passed|failed|skipped|error).* in [\d.]+s", line)]
        return done.returncode, lines, re.sub(r" in [\d.]+s.*", "", closing[-1]) if closing else None
    return run


def told(lines, word):
    return sorted(line.split()[1].split("::")[1] for line in lines if line.startswith(word) and line.endswith(")"))


def test_all_pass(check):
    status, lines, closing = check(good=GOOD)
    assert (status, closing) == (0, "1 passed")
    assert not [line for line in lines if line.startswith("==")]


@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["one by one", "two at a time"])
def test_what_passes_alone_is_unsteady(check, options):
    status, lines, closing = check(*options, good=GOOD, flaky=FLAKY.format(count=2))
    assert (status, closing) == (0, "3 passed"), lines
    assert told(lines, "UNSTEADY") == ["test_flaky[0]", "test_flaky[1]"]
    assert told(lines, "FAILED") == []
    assert all(re.search(r"failed at a load of \d+\.\d\d, passed alone at \d+\.\d\d", line) for line in lines
               if line.startswith("UNSTEADY"))


@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["one by one", "two at a time"])
def test_what_fails_again_fails_the_run(check, options):
    status, lines, closing = check(*options, good=GOOD, flaky=FLAKY.format(count=1), bad=BAD)
    assert (status, closing) == (1, "1 failed, 2 passed"), lines
    assert (told(lines, "UNSTEADY"), told(lines, "FAILED")) == (["test_flaky[0]"], ["test_bad"])


@pytest.mark.parametrize("count, status, closing", [(5, 0, "6 passed"), (6, 1, "6 failed, 1 passed")])
def test_more_than_five_unsteady_ones_fail_the_run(check, count, status, closing):
    seen_status, lines, seen_closing = check(good=GOOD, flaky=FLAKY.format(count=count))
    assert (seen_status, seen_closing) == (status, closing), lines
    assert len(told(lines, "UNSTEADY")) == count


def test_a_fixture_that_fails_is_looked_at_again_too(check):
    """pytest tells it apart from its test, which has passed."""
    status, lines, closing = check(good=GOOD, room=BROKEN_FIXTURE)
    assert status == 0, lines
    assert told(lines, "UNSTEADY") == ["test_in_a_room"]
    assert closing == "2 passed"


def test_a_test_that_is_left_out_the_second_time_has_not_passed(check):
    status, lines, closing = check(good=GOOD, once=SKIPPED_LATER)
    assert (status, closing) == (1, "1 failed, 1 passed"), lines


def test_a_file_that_cannot_be_read_fails_the_run(check):
    status, lines, _ = check(good=GOOD, wrong="import nothing_of_this_name\n")
    assert status != 0, lines
    assert not told(lines, "UNSTEADY")


def test_arguments_go_to_pytest(check):
    assert check("-k", "good", good=GOOD, bad=BAD)[0::2] == (0, "1 passed, 1 deselected")
    assert check("-k", "nothing", good=GOOD, bad=BAD)[0] == 5  # pytest: no test was collected
    assert check("--no-such-option", good=GOOD)[0] == 4


def test_a_run_that_stops_early_is_not_made_good(check):
    """With -x the rest has not run: nothing can be said of it."""
    status, lines, closing = check("-x", flaky=FLAKY.format(count=3), good=GOOD)
    assert status != 0, lines
    assert "failed" in closing
