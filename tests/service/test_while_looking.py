# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf monitor: nobody waits until it has looked through a library, however large that is."""
import socket
import subprocess

import pytest

import gaspbpf
import monitored
import monitoring

# so much code that looking for branches in it takes many seconds; as much as is looked through at all
FUNCTIONS, BYTES = 128, 250_000


@pytest.fixture
def large(tmp_path):
    """A process that maps a large library of a runtime of its own."""
    functions = "".join(f".globl large_{i}\n.type large_{i}, @function\nlarge_{i}: endbr64\nmov %rdi, %rax\npush "
                        f"%rbx\n.fill {BYTES}, 1, 0x90\npop %rbx\nret\n.size large_{i}, . - large_{i}\n"
                        for i in range(FUNCTIONS))
    (tmp_path / "large.s").write_text(".text\n" + functions + '.section .note.GNU-stack,"",@progbits\n')
    library, program = tmp_path / "liblarge.so.1", tmp_path / monitoring.unique("large")
    gaspbpf.compile_c(tmp_path / "large.s", library, "-shared", "-nostdlib", "-Wl,-soname,liblarge.so.1")
    (tmp_path / "program.c").write_text("#include <unistd.h>\nint main(void) { for (;;) pause(); }\n")
    gaspbpf.compile_c(tmp_path / "program.c", program, "-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{tmp_path}")
    lines = "".join(f"CALL{i} function void large_{i}(long number)\n" for i in range(FUNCTIONS))
    (tmp_path / "large.model").write_text(f"model large\nlanguage LARGE\nnumbers 0x7200\nlibrary liblarge.so*\n{lines}")
    running = []

    def start():
        running.append(subprocess.Popen([str(program)]))
        return running[-1]

    start.options = ["--comm", program.name, "--lazy", "--model-file", tmp_path / "large.model", "-m", "large"]
    yield start
    for process in running:
        process.kill()
        process.wait()


def is_looking(url):
    """The file has been opened, and no process is known to have it yet."""
    samples = monitored.scrape_anew(url)
    return samples["gaspbpf_images"][0][1] > 0 \
        and not samples["gaspbpf_sites"][0][1] * samples["gaspbpf_processes"][0][1]


def ask(monitor, process):
    """What gaspbpf control sends, and the answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
        own.bind(b"")  # a name of its own that lies in no folder, as gaspbpf control has it
        own.settimeout(gaspbpf.PATIENCE)
        own.sendto(f"{process.pid} dump".encode(), f"/run/gaspbpf/{monitor.process.pid}.sock")
        return own.recv(1000)


def test_others_are_served_meanwhile(large, observe):
    """A scrape and a request by another process are answered before the library is done with; and SIGTERM ends it
    all."""
    monitor = observe("monitor", "-v", "--listen", "0", "--flight", "1s,8m", *large.options, ready="monitoring")
    url = monitored.url_of(monitor)
    process = large()
    gaspbpf.wait_for(lambda: is_looking(url), "a scrape while files are looked through")
    assert ask(monitor, process) == b"unknown"
    assert is_looking(url)
    status, _, errors = monitor.stop()
    assert status == 0, errors
    assert "probes put in" not in errors  # it has not waited for the end of that


def test_it_can_be_ended_before_it_has_begun(large, observe):
    """A process that runs already is looked through at the start; who then wants an end gets it."""
    large()
    monitor = observe("monitor", "-v", *large.options, ready="calibrated")
    status, _, errors = monitor.stop()
    assert status == 0, errors
    assert "probes put in" not in errors and "monitoring" not in errors
