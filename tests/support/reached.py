# SPDX-License-Identifier: BSD-2-Clause
"""A pytest plug-in (`-p reached`) of scripts/reached: what gaspbpf executes is noted for each file of tests by itself.

REACHED names the folder for that. The notes are kept up to date while a process runs, so that one which is killed, or
which has given up its rights, has them, too.
"""
import os
import pathlib

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    folder = pathlib.Path(os.environ["REACHED"]) / item.location[0].replace("/", "+")
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    os.environ["LLVM_PROFILE_FILE"] = f"{folder}/%c%m.profraw"
