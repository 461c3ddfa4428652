# SPDX-License-Identifier: BSD-2-Clause
"""A process of many threads that call once each: what it maps is not read again for each of them."""
import os
import subprocess

import gaspbpf
import monitoring

PROGRAM = r"""
#include <pthread.h>
#include <unistd.h>
void shmem_barrier_all(int);
static void *call(void *none) { shmem_barrier_all(0); return none; }
int main(void)
{
	pthread_t threads[300];
	char go;

	if (read(0, &go, 1) != 1)
		return 1;
	for (int i = 0; i < 300; i++)
		pthread_create(&threads[i], NULL, call, NULL);
	for (int i = 0; i < 300; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
"""
LIBRARY = "void shmem_barrier_all(int n) { __asm__ volatile(\"\" : : \"r\"(n)); }\nvoid shmem_init(void) { }\n"

# One byte for each time that mappings are asked for, by this process or by the one that reads for it.
COUNT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
static int to;
__attribute__((constructor)) static void begin(void) /* later it may open no file */
{
	to = syscall(SYS_openat, AT_FDCWD, getenv("COUNTED"), O_WRONLY | O_APPEND | O_CLOEXEC, 0);
}
static void count(void)
{
	if (write(to, "x", 1) != 1)
		abort();
}
static int counted(int folder, const char *path, int flags, int mode)
{
	if (!strcmp(path, "maps"))
		count();
	return syscall(SYS_openat, folder, path, flags, mode);
}
int openat(int folder, const char *path, int flags, ...) { return counted(folder, path, flags, 0); }
int openat64(int folder, const char *path, int flags, ...) { return counted(folder, path, flags, 0); }
ssize_t sendmsg(int to, const struct msghdr *m, int flags)
{
	if (m->msg_iovlen == 1 && memmem(m->msg_iov->iov_base, m->msg_iov->iov_len, "maps", 5))
		count();
	return ((ssize_t (*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg"))(to, m, flags);
}
"""


def test_threads_that_call_once(tmp_path, observe):
    library, program, counted = tmp_path / "liboshmem.so.40", tmp_path / monitoring.unique("many"), tmp_path / "counted"
    for name, text in ("library.c", LIBRARY), ("program.c", PROGRAM), ("count.c", COUNT):
        (tmp_path / name).write_text(text)
    gaspbpf.compile_c(tmp_path / "library.c", library, "-shared", "-fPIC", f"-Wl,-soname,{library.name}")
    gaspbpf.compile_c(tmp_path / "program.c", program, "-O1", "-pthread", "-Wl,--no-as-needed", library,
                      f"-Wl,-rpath,{tmp_path}")
    gaspbpf.compile_c(tmp_path / "count.c", tmp_path / "count.so", "-shared", "-fPIC")
    counted.write_bytes(b"")
    process = subprocess.Popen([program], stdin=subprocess.PIPE)
    gaspbpf.wait_for(lambda: os.readlink(f"/proc/{process.pid}/exe") == str(program), "the program to run")
    counting = {"LD_PRELOAD": str(tmp_path / "count.so"), "COUNTED": str(counted)}
    watcher = observe("-m", "shmem", "-p", process.pid, "-o", tmp_path / "run.gasp", env=counting)
    before = counted.stat().st_size
    process.communicate(b"x")
    _, _, errors = watcher.finish()
    assert "300" in gaspbpf.run("report", tmp_path / "run.gasp").stdout, errors
    assert before and counted.stat().st_size - before < 60
