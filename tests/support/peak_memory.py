# SPDX-License-Identifier: BSD-2-Clause
"""How much memory a gaspbpf takes."""
import subprocess
import sys

import gaspbpf


def most_memory(*arguments):
    """KiB of a gaspbpf that succeeds. The kernel counts what the process had before its exec, too: so a small one
    starts it."""
    small = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    result = subprocess.run([sys.executable, "-c", small, gaspbpf.PROGRAM, *arguments], check=True, capture_output=True,
                            timeout=gaspbpf.PATIENCE)
    return int(result.stdout.split()[-1])
