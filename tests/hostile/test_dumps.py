# SPDX-License-Identifier: BSD-2-Clause
"""A user who asks for dumps of the flight recorder without end gets his share, and leaves the others theirs."""
import gaspbpf
import rights

NOBODY = ["setpriv", f"--reuid={rights.NOBODY}", f"--regid={rights.NOBODY}", "--clear-groups"]


def test_dumps_without_end(job, observe, tmp_path):
    running = job([*NOBODY, "/usr/bin/python3", "-c", "import time\nwhile True: time.sleep(0.05)"])
    gaspbpf.wait_for(lambda: b"while True" in open(f"/proc/{running.process.pid}/cmdline", "rb").read(),
                     "the program to run")
    watcher = observe("-p", running.process.pid, "-m", "c", "-o", tmp_path, "--flight", "1m,8m", "--dumps", "9",
                      "--dump-pause", "1h")
    asked = [rights.run("control", "-p", running.process.pid, "dump", rights="") for _ in range(20)]
    assert [status for status, _, _ in asked] == [0] + [1] * 19, asked
    assert all("you have just had one: the next in" in errors for _, _, errors in asked[1:])
    for _ in range(8):
        result = gaspbpf.run("control", "-p", running.process.pid, "dump")
        assert result.returncode == 0, result.stderr
    assert "as many dumps" in gaspbpf.run("control", "-p", running.process.pid, "dump").stderr
    running.process.kill()
    watcher.finish()
    assert len(list(tmp_path.glob("*.gasp"))) == 9
