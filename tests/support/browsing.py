# SPDX-License-Identifier: BSD-2-Clause
"""A page in a browser: what is seen there."""
import json
import subprocess

import gaspbpf

LOOKS = gaspbpf.TOP / "tests" / "page" / "looks.mjs"


def look(page, *looks, browser="chromium"):
    """What tests/page/looks.mjs sees; the page has asked nobody for anything, and made no error."""
    result = subprocess.run(["node", LOOKS, browser, page, *looks], capture_output=True, text=True,
                            timeout=gaspbpf.PATIENCE)
    assert result.returncode == 0, result.stderr
    seen = json.loads(result.stdout)
    assert seen["requests"] == [] and seen["errors"] == []
    return seen
