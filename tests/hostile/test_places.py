# SPDX-License-Identifier: BSD-2-Clause
"""Processes whose files are not where they say: their own root, mounts and process numbers; all that they mapped is
another thing by now."""
import os
import pathlib
import shutil
import subprocess

import pytest

import beside
import gaspbpf
import rights

# Once it is loaded it puts other things where its files, and what is looked for beside them, were.
PROGRAM = r"""
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
void shmem_barrier_all(int);
static void replace(const char *path, const char *how)
{
	unlink(path);
	if (!strcmp(how, "fifo"))
		mkfifo(path, 0666);
	else if (!strcmp(how, "loop"))
		symlink(path, path);
	else if (!strcmp(how, "device"))
		symlink("/dev/zero", path);
	else if (!strcmp(how, "folder"))
		mkdir(path, 0777);
}
int main(int argc, char **argv)
{
	const char *how = argv[1];

	replace("/liboshmem.so.40", how);
	replace(argv[0], how);
	replace("/usr/lib/debug", how);
	replace("/lib/libc.so.6", how);
	replace("/etc/passwd", how);
	rmdir("/proc");
	replace("/proc", how);
	mkdir("/ready", 0777);
	for (;;) {
		shmem_barrier_all(0);
		usleep(1000);
	}
}
"""
LINKER = "/lib64/ld-linux-x86-64.so.2"


@pytest.fixture(name="evil", params=["fifo", "loop", "device", "folder"])
def boxed(request):
    """In namespaces of its own, as root there; its number outside."""
    with rights.folder() as folder:
        program = beside.build(folder, PROGRAM)
        root = folder / "root"
        for name in "lib", "lib64", "usr/lib", "etc", "proc", "dev":
            (root / name).mkdir(parents=True)
        shutil.copy(LINKER, root / "lib64")
        shutil.copy("/lib/x86_64-linux-gnu/libc.so.6", root / "lib")
        shutil.copy(folder / "liboshmem.so.40", root)
        shutil.copy(program, root)
        (root / "dev" / "zero").touch()
        subprocess.run(["chown", "-R", f"{rights.NOBODY}", root], check=True)
        box = beside.running("unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child",
                             "sh", "-c", f"mount --rbind {root} {root} && mount --bind /dev/zero {root}/dev/zero && "
                             f"LD_LIBRARY_PATH=/:/lib exec chroot {root} /{program.name} {request.param}")
        with box as outer:
            gaspbpf.wait_for(lambda: (root / "ready").exists() or outer.poll() is not None, "the program to run")
            assert outer.poll() is None
            yield int(pathlib.Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text())


def test_commands(evil):
    for words in ["record", "-d", "200ms"], ["stuck", "-d", "1ms"], ["list"]:
        result = gaspbpf.run(*words, "-m", "shmem", "-p", evil)
        assert result.returncode == 0, result.stderr
        assert words[0] == "stuck" or "GASP_SHMEM_BARRIER_ALL" in result.stdout, result
    assert os.path.exists(f"/proc/{evil}")


def test_beside_a_monitor(evil, monitors, runtime, tmp_path):
    m = beside.Monitor(monitors, runtime, tmp_path)
    m.monitor.wait_for_processes([evil])
    m.an_honest_job_is_exact()
    assert m.monitor.process_of(evil)["events"][0]["calls"]
    m.ends_well()
