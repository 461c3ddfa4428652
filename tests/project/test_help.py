# SPDX-License-Identifier: BSD-2-Clause
"""What --help says: of every command, with examples, and so that it can be read on a terminal of 80 columns."""
import os
import re
import subprocess

import pytest

import gaspbpf

pytestmark = pytest.mark.files

COMMANDS = re.findall(r"^  (\w+)", gaspbpf.run("--help").stdout.split("Commands:")[1].split("Examples:")[0], re.M) \
    if gaspbpf.PROGRAM.exists() else []


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_that_are_whole_lines(command):
    result = gaspbpf.run(command, "--help")
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert result.stdout.startswith(f"Usage: gaspbpf {command}")
    start = next(number for number, line in enumerate(lines) if line in ("Examples:", "Example:"))
    assert lines[start + 1].startswith("  ")
    for before, line in zip(lines[start:], lines[start + 1:]):
        assert len(line) < 80
        assert not (before.startswith("  ") and line[:1].strip()), f"wrapped: {before!r} {line!r}"
        if line.startswith("  ") and "gaspbpf" in line:
            assert re.match(r"  (sudo )?(\w+=\S+ )?gaspbpf |      ", line), line


def test_commands_are_all_of_them():
    assert {"record", "top", "stuck", "monitor", "control", "report", "export", "list", "doctor"} <= set(COMMANDS)


@pytest.mark.parametrize("option, status", (("--help", 0), ("--quik", 2)))
def test_lint_says_what_it_can_do_and_does_nothing(tmp_path, option, status):
    for tool in "clang-format", "shellcheck", "make", "gcc":
        (tmp_path / tool).write_text(f"#!/bin/sh\ntouch {tmp_path / 'worked'}\n")
        (tmp_path / tool).chmod(0o755)
    result = subprocess.run([gaspbpf.TOP / "scripts" / "lint", option], capture_output=True, text=True,
                            timeout=gaspbpf.PATIENCE, env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    said, silent = (result.stderr, result.stdout) if status else (result.stdout, result.stderr)
    assert (result.returncode, silent) == (status, "")
    for known in "--quick", "--format", "--help":
        assert f"scripts/lint {known} " in said
    assert not (tmp_path / "worked").exists()
