# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of hostile processes share: nobody's programs, and a monitor that must count another user's job beside
them to the call."""
import contextlib
import os
import re
import signal
import subprocess

import gaspbpf
import monitored
import monitoring
import rights

NOBODY = ["setpriv", f"--reuid={rights.NOBODY}", f"--regid={rights.NOBODY}", "--clear-groups"]
LIBRARY = "void shmem_barrier_all(int n) { __asm__ volatile(\"\" : : \"r\"(n)); }\nvoid shmem_init(void) { }\n"
RESIDENT = 256 << 20  # bytes of a monitor beside any of these
BARRIERS, PUTS = 137, 59


def build(folder, program, library=LIBRARY, *options):
    """A program of a name of its own that uses a private library, which poses as OpenSHMEM's. Its path."""
    path = folder / monitoring.unique("evil")
    (folder / "library.c").write_text(library)
    (folder / "program.c").write_text(program)
    gaspbpf.compile_c(folder / "library.c", folder / "liboshmem.so.40", "-O1", "-shared", "-fPIC",
                      "-Wl,-soname,liboshmem.so.40")
    gaspbpf.compile_c(folder / "program.c", path, "-O1", "-pthread", "-Wl,--no-as-needed", *options,
                      folder / "liboshmem.so.40", f"-Wl,-rpath,{folder}")
    return path


@contextlib.contextmanager
def running(*command, **keywords):
    """As nobody, in a session of its own, of which nothing is left at the end."""
    process = subprocess.Popen([*NOBODY, *command], start_new_session=True, **keywords)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Monitor:
    """gaspbpf monitor over nobody's evil processes and an honest job, as JSON and over HTTP."""

    def __init__(self, monitors, runtime, folder, *arguments):
        self.honest, self.gate = runtime("honest"), monitoring.Gate(folder / "gate")
        self.monitor = monitors("--listen", "0", "--lazy", "--max-overhead", "none", "-m", "shmem", "--comm",
                                self.honest.name, "--comm", "evil*", *arguments)
        gaspbpf.wait_for(lambda: "/metrics\n" in self.monitor.errors(), "the address of the metrics")
        self.url = re.search(r"http://\S+/metrics", self.monitor.errors())[0]

    def figure(self, name):
        return monitored.scrape_anew(self.url)[f"gaspbpf_{name}"][0][1]

    def wait_for_evil(self, process):
        self.monitor.wait_for_processes([process.pid])

    def an_honest_job_is_exact(self):
        job = self.honest.start(BARRIERS, PUTS, self.gate)
        self.monitor.wait_for_processes([job.pid])
        self.gate.let_through(job)
        made = {"GASP_SHMEM_BARRIER_ALL": BARRIERS, "GASP_SHMEM_PUT": PUTS}

        def counted():
            return monitored.total(monitored.scrape_anew(self.url), "gaspbpf_process_calls_total", "event",
                                   pid=str(job.pid))
        gaspbpf.wait_for(lambda: counted() == made, "the honest job's calls")

    def ends_well(self):
        """Its memory was bounded, and it ends when it is told to; what it has said."""
        assert self.figure("resident_bytes") < RESIDENT
        self.monitor.stop()
        return self.monitor.errors()
