# SPDX-License-Identifier: BSD-2-Clause
"""Debian 12's own kernel: the tests marked `guest` once more, on Linux 6.1 in an emulated machine (scripts/kernel-6.1).

Most clusters run such a kernel, and it has only the last rung. One boot runs all of them, in about five minutes. A test
joins with one line, @pytest.mark.guest; those that show hardly more than another one have @pytest.mark.guest_more, and
are for the time before a release. With what they print:

    scripts/kernel-6.1 /usr/bin/python3 -m pytest -q tests -m "guest or guest_more" -k mpi
"""
import re
import subprocess

import pytest

import gaspbpf

SECONDS = 1500  # about five times what it takes on an idle machine of two CPUs


def files_of_guests():
    """To read all tests takes some seconds here, and some minutes there."""
    return [path.relative_to(gaspbpf.TOP) for path in sorted(gaspbpf.TOP.glob("tests/*/test_*.py"))
            if re.search(r"\bmark\.guest\b", path.read_text()) and path.name != "test_kernel_6_1.py"]


@pytest.mark.elsewhere
def test_the_guest_tests_on_kernel_6_1():
    command = [gaspbpf.TOP / "scripts" / "kernel-6.1", f"--time={SECONDS}",
               "/usr/bin/python3", "-m", "pytest", "-q", *files_of_guests(), "-m", "guest", "--durations=10"]
    status = subprocess.run(command).returncode  # what it prints is shown where it fails
    assert status == 0, "on kernel 6.1 not all is well: see what the guest printed"
