# SPDX-License-Identifier: BSD-2-Clause
"""scripts/widths, which names lines that are too wide; and of this project's own there are none."""
import subprocess

import pytest

import gaspbpf

pytestmark = pytest.mark.files
WIDTHS = gaspbpf.TOP / "scripts" / "widths"
LONG = "word " * 30
PROSE = f"""# Title

{LONG}
- {LONG}
  `{LONG}`

| {LONG} |

    {LONG}

```
{LONG}
```
"""
PYTHON = f"""def f():
    \"\"\"{LONG}\"\"\"
    # {LONG}
    a = "{LONG}"
    return a, \'\'\'
{LONG}\'\'\'
"""


def wide(*files):
    done = subprocess.run([WIDTHS, *files], capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    assert done.stderr == "" and done.returncode == bool(done.stdout)
    return [line.rpartition("/")[2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name, text, lines, columns", [("a.md", PROSE, [3, 4], 100), ("a.py", PYTHON, [2, 3, 4], 120)],
                         ids=["prose", "python"])
def test_lines_that_are_too_wide_are_named(tmp_path, name, text, lines, columns):
    (tmp_path / name).write_text(text)
    assert wide(tmp_path / name) == [f"{name}:{line}: beyond {columns} columns" for line in lines]


def test_no_line_here_is_too_wide():
    command = ["git", "-c", f"safe.directory={gaspbpf.TOP}", "ls-files"]
    listed = subprocess.run(command, cwd=gaspbpf.TOP, capture_output=True, text=True, check=True).stdout.split()
    files = [gaspbpf.TOP / name for name in listed if name.endswith((".md", ".py")) and (gaspbpf.TOP / name).exists()]
    assert len(files) > 150 and wide(*files) == []
