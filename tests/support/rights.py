# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf as another user than root, with the capabilities that service/gaspbpf.service gives and no more."""
import contextlib
import os
import pathlib
import re
import subprocess
import tempfile

import gaspbpf

UNIT = gaspbpf.TOP / "service" / "gaspbpf.service"
NOBODY = 65534
CAP_DAC_READ_SEARCH, CAP_SETGID, CAP_SETUID, CAP_SYS_PTRACE = 2, 6, 7, 19
CAP_PERFMON, CAP_BPF, CAP_CHECKPOINT_RESTORE = 38, 39, 40
THREE = {CAP_SYS_PTRACE, CAP_PERFMON, CAP_BPF}
TO_READ = {CAP_SETGID, CAP_SETUID, CAP_DAC_READ_SEARCH, CAP_CHECKPOINT_RESTORE}


def of_the_unit():
    """As setpriv wants them: '+bpf,+perfmon,+sys_ptrace'."""
    return re.search(r"(?m)^AmbientCapabilities=(.*)",
                     UNIT.read_text())[1].lower().replace("cap_", "+").replace(" ", ",")


def words(descriptor, arguments, rights=None):
    """The command line by which nobody runs gaspbpf, which is open as a descriptor: the way to the checkout may be
    closed to others."""
    rights = of_the_unit() if rights is None else rights
    given = "-all" + (rights and "," + rights)
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs",
            f"--inh-caps={given}", f"--ambient-caps={given}",
            f"--bounding-set={given}", f"/proc/self/fd/{descriptor}", *map(str, arguments)]


@contextlib.contextmanager
def folder():
    """One of nobody's. Not in tmp_path: the way to that is for root alone, or becomes so when another pytest starts."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        os.chown(name, NOBODY, NOBODY)
        yield pathlib.Path(name)


@contextlib.contextmanager
def started(*arguments, before=(), env=None, rights=None, **keywords):
    """gaspbpf in the background; before: words in front of its command line. Ended at the end, if it runs."""
    with open(gaspbpf.PROGRAM, "rb") as program:
        process = subprocess.Popen([*before, *words(program.fileno(), arguments, rights)],
                                   pass_fds=[program.fileno()], text=True,
                                   env={**os.environ, "GASPBPF_MODELS": str(gaspbpf.TOP / "models"), **(env or {})},
                                   **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **keywords})
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def run(*arguments, **keywords):
    """gaspbpf to its end: (exit status, stdout, stderr)."""
    with started(*arguments, **keywords) as process:
        out, errors = process.communicate(timeout=gaspbpf.PATIENCE)
        return process.returncode, out, errors


def capabilities(pid):
    """The sets of a process by name, each a set of bits."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {name: {bit for bit in range(64) if int(value, 16) >> bit & 1}
            for name, value in re.findall(r"Cap(\w+):\s+(\w+)", status)}


def helpers(pid):
    """By name, the processes below one: it starts what starts readers, and that starts them."""
    below = {}
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        below.setdefault(pathlib.Path(f"/proc/{child}/comm").read_text(errors="replace").strip(), []).append(int(child))
        for name, pids in helpers(child).items():
            below.setdefault(name, []).extend(pids)
    return below
