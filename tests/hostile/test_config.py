# SPDX-License-Identifier: BSD-2-Clause
"""A file of options whose owner was asked is the file that is read, though its path may lead to another one a moment
later."""
import os
import subprocess
import sys
import tempfile

import gaspbpf
import rights

# Exchanges two names without a pause; neither is ever missing.
FLIP = """
import ctypes
libc = ctypes.CDLL(None)
while True:
    libc.renameat2(-100, b"config", -100, b"other", 2)
"""

# Whatever opens it comes late, so that it matters what was asked before that.
SLOW = r"""
#define AT_FDCWD -100
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int late(int folder, const char *path, int flags, int mode)
{
	if (strstr(path, "/config"))
		usleep(20000);
	return syscall(SYS_openat, folder, path, flags, mode);
}
int open(const char *path, int flags, int mode) { return late(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, int mode) { return late(folder, path, flags, mode); }
int open64(const char *path, int flags, int mode) { return late(AT_FDCWD, path, flags, mode); }
int openat64(int folder, const char *path, int flags, int mode) { return late(folder, path, flags, mode); }
"""


def test_the_path_leads_to_another_file_meanwhile(tmp_path):
    (tmp_path / "slow.c").write_text(SLOW)
    gaspbpf.compile_c(tmp_path / "slow.c", tmp_path / "slow.so", "-shared", "-fPIC", "-D_GNU_SOURCE")
    with tempfile.TemporaryDirectory() as folder:
        for name, owner in ("config", 0), ("other", rights.NOBODY):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(f"no-option-of-{owner}\n")
            os.chown(os.path.join(folder, name), owner, owner)
        flipping = subprocess.Popen([sys.executable, "-c", FLIP], cwd=folder)
        try:
            said = [gaspbpf.run("monitor", "--config", os.path.join(folder, "config"),
                                env={"LD_PRELOAD": str(tmp_path / "slow.so")}).stderr
                    for _ in range(60)]
        finally:
            flipping.kill()
            flipping.wait()
    theirs = sum("others may write" in errors for errors in said)
    ours = sum("no-option-of-0" in errors for errors in said)
    assert theirs and ours and theirs + ours == len(said), \
        [errors for errors in said if f"no-option-of-{rights.NOBODY}" in errors]
