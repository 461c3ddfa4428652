# SPDX-License-Identifier: BSD-2-Clause
"""Processes that live in a way that is made to be followed with trouble: a monitor serves on, and counts another user's
job to the call."""
import contextlib
import os
import subprocess

import pytest

import beside
import gaspbpf
import monitored
import rights

MOST = 60  # s, on a busy machine; the mappings took three times as long on an idle one

# One file mapped as often as a process may, each time from its beginning, so that no two of them become one.
MAPPINGS = r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
void shmem_barrier_all(int);
int main(int argc, char **argv)
{
	int fd = open(argv[1], O_RDONLY), count = 0;

	while (count < 65000 && mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED)
		count++;
	printf("%d\n", count);
	fflush(stdout);
	for (;;) {
		shmem_barrier_all(0);
		usleep(1000);
	}
}
"""
# It becomes itself, as fast as it can, by its path: by /proc/self/exe it would be called "exe", which none chooses.
EXEC = r"""
#include <unistd.h>
void shmem_barrier_all(int);
int main(int argc, char **argv)
{
	shmem_barrier_all(0);
	execv(argv[0], argv);
}
"""
# 200 processes at a time, of which each calls once and ends.
FORK = r"""
#include <sys/wait.h>
#include <unistd.h>
void shmem_barrier_all(int);
int main(void)
{
	for (int alive = 0;;) {
		if (!fork()) {
			shmem_barrier_all(0);
			_exit(0);
		}
		if (++alive >= 200) {
			wait(NULL);
			alive--;
		}
	}
}
"""
# Two libraries by turns, mapped and gone again.
LOADS = r"""
#include <dlfcn.h>
int main(int argc, char **argv)
{
	for (int i = 0;; i++) {
		void *library = dlopen(argv[1 + i % 2], RTLD_NOW | RTLD_LOCAL);
		void (*call)(int) = dlsym(library, "shmem_barrier_all");

		call(0);
		dlclose(library);
	}
}
"""
# It stops itself between its calls, and another process of its own lets it run on.
STOPS = r"""
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
void shmem_barrier_all(int);
int main(void)
{
	pid_t me = getpid();

	if (!fork())
		for (;;) {
			kill(me, SIGCONT);
			usleep(300);
		}
	for (;;) {
		shmem_barrier_all(0);
		raise(SIGSTOP);
	}
}
"""


def copy(folder, name):
    os.mkdir(folder / name)
    path = folder / name / "liboshmem.so.40"
    path.write_bytes((folder / "liboshmem.so.40").read_bytes())
    path.chmod(0o755)
    return path


@pytest.fixture(name="lives", params=["EXEC", "FORK", "LOADS", "STOPS", "MAPPINGS"])
def living(request):
    """Starts the process."""
    with rights.folder() as folder:
        program = beside.build(folder, globals()[request.param])
        arguments = {"LOADS": [copy(folder, "1"), copy(folder, "2")],
                     "MAPPINGS": [folder / "liboshmem.so.40"]}.get(request.param, [])

        @contextlib.contextmanager
        def start():
            with beside.running(program, *arguments, stdout=subprocess.DEVNULL) as process:
                gaspbpf.wait_for(lambda: os.readlink(f"/proc/{process.pid}/exe") == str(program), "the program to run")
                yield process
                assert process.poll() is None
        yield start


def test_beside_a_monitor(lives, monitors, runtime, tmp_path):
    m = beside.Monitor(monitors, runtime, tmp_path)
    with lives():
        gaspbpf.wait_for(lambda: m.figure("noticed_processes_total") > 0, "it to be noticed")
        m.an_honest_job_is_exact()
        m.an_honest_job_is_exact()
        m.ends_well()


def test_commands_end(lives, tmp_path):
    with lives() as process:
        for words in ["record", "-d", "300ms", "-o", tmp_path / "run.gasp"], ["stuck", "-d", "100ms"]:
            result = gaspbpf.run(*words, "-m", "shmem", "-p", process.pid, timeout=MOST)
            assert result.returncode in (0, 1), result.stderr


# 100 calls as root; the same as nobody, by a thread that has called before and by a new one.
CHANGES = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
void shmem_barrier_all(int);
static void *call(void *argument)
{
	for (int i = 0; i < 100; i++)
		shmem_barrier_all(0);
	return argument;
}
int main(void)
{
	pthread_t thread;

	getchar();
	call(NULL);
	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		return 1;
	call(NULL);
	pthread_create(&thread, NULL, call, NULL);
	pthread_join(thread, NULL);
	puts("done");
	fflush(stdout);
	pause();
}
"""


def test_who_becomes_another_user(monitors, runtime, tmp_path):
    """It stays one process, and all its calls are its own."""
    with rights.folder() as folder:
        program = beside.build(folder, CHANGES)
        m = beside.Monitor(monitors, runtime, tmp_path)
        process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            m.wait_for_evil(process)
            process.stdin.write(b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"done\n"
            gaspbpf.wait_for(lambda: monitored.total(monitored.scrape_anew(m.url), "gaspbpf_process_calls_total",
                                                     "event", pid=str(process.pid)) ==
                             {"GASP_SHMEM_BARRIER_ALL": 300}, "all its calls")
            m.an_honest_job_is_exact()
            m.ends_well()
        finally:
            process.kill()
            process.communicate()
