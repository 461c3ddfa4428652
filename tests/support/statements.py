# SPDX-License-Identifier: BSD-2-Clause
"""The statements of a model that comes with gaspbpf, for tests that look up in its text what they need: one line
each."""
import re

import gaspbpf


def of_model(name):
    """As docs/models.md says: a statement goes on behind a backslash, and in an indented line where a parenthesis or
    brace is open or the line begins with a mark."""
    found = []
    for line in (gaspbpf.TOP / "models" / f"{name}.model").read_text(encoding="utf-8").replace("\\\n",
                                                                                               " ").splitlines():
        code = re.sub(r'#.*|"[^"]*"', "", found[-1]) if found else ""
        is_open = len(re.findall(r"[({]", code)) > len(re.findall(r"[)}]", code))
        if line[:1] in (" ", "\t") and (is_open or re.match(r"\s+[^\w\s#$]", line)):
            in_braces = code.count("{") > code.count("}")  # no blanks there
            found[-1] += ("" if in_braces else " ") + line.strip()
        else:
            found.append(line)
    return found
