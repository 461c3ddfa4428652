# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf is killed while the kernel puts its probes in, or takes them out: none stays in the job.

For a task that has been killed the kernel takes no breakpoint out: it says "failed to unregister, leaking uprobe"
(user/probe/apart.c). A job whose memory is always about to change makes that take long enough to be met.
"""
import os
import pathlib
import signal
import subprocess
import time

import pytest

import gaspbpf
import remains

TRIES = 3
BUSY = r"""
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES (64ul << 20)
#define POPULATE 23 /* MADV_POPULATE_WRITE */

/* Whoever wants to change the process's memory waits for this. */
static void *keep_busy(void *unused)
{
	char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(memory, BYTES, MADV_NOHUGEPAGE);
	for (;;) {
		madvise(memory, BYTES, POPULATE);
		madvise(memory, BYTES, MADV_DONTNEED);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, keep_busy, NULL);
	if (write(1, "!", 1) != 1)
		return 1;
	for (;;) {
		free(malloc(100));
		usleep(1000);
	}
}
"""


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    program = tmp_path_factory.mktemp("busy") / "busy"
    program.with_suffix(".c").write_text(BUSY)
    gaspbpf.compile_c(program.with_suffix(".c"), program, "-pthread")
    remains.copy_of("libc.so.6", program.parent)
    with subprocess.Popen([program], stdout=subprocess.PIPE,
                          env={**os.environ, "LD_LIBRARY_PATH": str(program.parent)}) as process:
        assert process.stdout.read(1) == b"!"
        yield process.pid
        process.kill()


def tasks(pid):
    """Its threads, and those of processes that it has made."""
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
        yield task
        for child in (task / "children").read_text().split():
            yield from tasks(int(child))


def waits_in(pid, function):
    """Is any of them in this function of the kernel, and about to change somebody's memory? That takes as long as that
    one's memory is busy."""
    try:
        return any(function in stack and "register_for_each_vma" in stack
                   for stack in ((task / "stack").read_text() for task in tasks(pid)))
    except OSError:
        return False  # it has just ended


@pytest.mark.parametrize("function", ["uprobe_register", "uprobe_unregister"],
                         ids=["while they come in", "while they go out"])
def test_no_breakpoint_stays(busy, function):
    places = remains.places(busy, "-m", "c,pthread")
    met = 0
    for number in range(TRIES):
        watcher = subprocess.Popen([gaspbpf.PROGRAM, "-p", str(busy), "-m", "c,pthread", "-d", "0.05", "-q"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env={**os.environ, "GASPBPF_OTHERS": "ignore"}, start_new_session=True)
        while watcher.poll() is None and not (waits_in(watcher.pid, function) and remains.patched(busy, places)):
            time.sleep(0.0005)
        watcher.kill()
        met += watcher.wait() == -signal.SIGKILL
        gaspbpf.wait_for(lambda: not remains.patched(busy, places), f"the job's text to be whole (kill {number})", 20)
    assert met, "it was never met in there"
