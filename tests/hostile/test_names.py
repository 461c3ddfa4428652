# SPDX-License-Identifier: BSD-2-Clause
"""What a process, its threads and its files are called: whatever it is, what gaspbpf writes can be read, by people, by
their terminals and by programs."""
import json
import os
import re

import pytest

import beside
import gaspbpf
import monitored
import rights

# Two threads of names that the arguments give, of which each goes on calling.
PROGRAM = r"""
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
void shmem_barrier_all(int);
static void *call(void *name)
{
	prctl(PR_SET_NAME, name);
	for (;;) {
		shmem_barrier_all(0);
		usleep(1000);
	}
}
int main(int argc, char **argv)
{
	pthread_t thread;

	pthread_create(&thread, NULL, call, argv[1]);
	call(argv[2]);
}
"""
# Escape sequences, ends of lines, what ends a text or a label in JSON, OpenMetrics or HTML, invalid UTF-8, C1, what
# turns the direction of writing.
NAMES = {
    "escapes": b"\x1b[2J\x1b]0;x\x07\r\b",
    "lines": b"a\nb 1\n# EOF\n",
    "quotes": b'a"} 1\\',
    "markup": b"</script><b>",
    "utf8": b"\xff\xc3\xe2\x80",
    "c1": b"\xc2\x9b2J\x9b2J",
}
FOLDERS = {
    "escapes": b"\x1b[31m\x07",
    "lines": b"a\n7f00-7f01 r-xp 00000000 00:00 1 /etc",
    "quotes": b'a"},{"x":"\\" (deleted)',
    "markup": b"<script>alert(1)<",
    "utf8": b"\xff\xc3\xe2\x80",
    "c1": b"\xc2\x9b2J",
}
# As a terminal would obey them; a newline ends a line of gaspbpf's own.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")
CONTROL_BUT_TABS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@pytest.fixture(name="evil", params=NAMES)
def named(request):
    with rights.folder() as folder:
        built = beside.build(folder, PROGRAM)
        place = os.path.join(os.fsencode(folder), FOLDERS[request.param])
        os.makedirs(place)
        program = os.path.join(place, b"evil" + NAMES[request.param].replace(b"/", b""))
        os.link(built, program)
        with beside.running(program, NAMES[request.param], b"evil" + NAMES[request.param][:11]) as process:
            gaspbpf.wait_for(lambda: os.readlink(f"/proc/{process.pid}/exe".encode()) == program, "the program to run")
            gaspbpf.wait_for(lambda: len(os.listdir(f"/proc/{process.pid}/task")) == 2, "its thread")
            yield process


def is_text(data, control=CONTROL):
    """For people: no byte of it is a command to their terminal."""
    text = data.decode() if isinstance(data, bytes) else data
    assert not control.search(text), (control.search(text), text)
    return text


def test_commands(evil, tmp_path):
    def text_of(command, *options):
        result = gaspbpf.run(command, "-m", "shmem", "-p", evil.pid, *options)
        assert result.returncode in (0, 1), result.stderr
        is_text(result.stderr)
        return is_text(result.stdout)

    recording = tmp_path / "run.gasp"
    text_of("record", "-v", "-d", "200ms", "-o", recording)
    text_of("list", "-v")
    text_of("top", "--once", "-t", "-d", "200ms")
    text_of("stuck", "-d", "1ms")
    json.loads(text_of("top", "--once", "--json", "-d", "100ms"))
    json.loads(text_of("stuck", "--json", "-d", "1ms"))
    is_text(gaspbpf.run("report", "--sites", recording).stdout)
    json.loads(is_text(gaspbpf.run("report", "--json", recording).stdout))
    trace, lines = tmp_path / "run.json", tmp_path / "run.events"
    assert gaspbpf.run("export", recording, "-o", trace, "-o", lines).returncode == 0
    events = json.loads(is_text(trace.read_bytes()))["traceEvents"]
    assert sum(event.get("name") == "GASP_SHMEM_BARRIER_ALL" for event in events) > 10
    is_text(lines.read_bytes(), CONTROL_BUT_TABS)


def test_a_monitor(evil, monitors, runtime, tmp_path):
    m = beside.Monitor(monitors, runtime, tmp_path)
    m.wait_for_evil(evil)
    m.an_honest_job_is_exact()
    names = {labels["comm"] for labels, _ in monitored.scrape_anew(m.url)["gaspbpf_process_calls_total"]
             if labels.get("pid") == str(evil.pid)}
    assert len(names) == 1 and names.pop().startswith("evil")
    is_text(m.ends_well())
