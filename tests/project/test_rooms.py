# SPDX-License-Identifier: BSD-2-Clause
"""The rooms of tests/: every test stands in one, what tests share in support/, and no test leans on another one."""
import ast
import re
import subprocess

import pytest

import gaspbpf

pytestmark = pytest.mark.files
TESTS = gaspbpf.TOP / "tests"
CONTRIBUTING = (gaspbpf.TOP / "CONTRIBUTING.md").read_text()


def modules():
    """The Python files of the tests, as git knows them."""
    command = ["git", "-c", f"safe.directory={gaspbpf.TOP}", "ls-files", "--cached", "--others", "--exclude-standard",
               "tests/*.py"]
    listed = subprocess.run(command, cwd=gaspbpf.TOP, capture_output=True, text=True, check=True).stdout.split()
    return [gaspbpf.TOP / name for name in listed if (gaspbpf.TOP / name).exists()]


def imported(module):
    """The names of the modules that it imports."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def is_test(module):
    return module.name.startswith("test_")


def test_every_test_stands_in_a_room():
    tests = [module for module in modules() if is_test(module)]
    assert len(tests) > 100
    assert [str(test) for test in tests if test.parent.parent != TESTS or test.parent.name == "support"] == []


def test_no_two_tests_have_one_name():
    """pytest imports them by their names, and tests/seen/ names them without their rooms."""
    names = [module.name for module in modules() if is_test(module)]
    assert sorted(names) == sorted(set(names))


def test_no_module_imports_a_test():
    wrong = [(str(module), name) for module in modules() for name in imported(module) if name.startswith("test_")]
    assert wrong == []


def test_helpers_stand_in_support():
    """Elsewhere are tests, fixtures of a room, and programs that are run by themselves."""
    others = [module for module in modules() if not is_test(module) and module.name != "conftest.py"
              and module.parent.name != "support"]
    assert [str(module) for module in others if not module.read_text().startswith("#!")] == []
    names = {module.stem for module in others}
    assert [(str(module), name) for module in modules() for name in imported(module) if name in names] == []


def test_every_room_is_told():
    """In CONTRIBUTING.md, each in a row of the table of rooms."""
    told = set(re.findall(r"^\| `(\w+)/` \|", CONTRIBUTING, re.MULTILINE))
    assert told == {folder.name for folder in TESTS.iterdir() if folder.is_dir() and folder.name != "__pycache__"}
