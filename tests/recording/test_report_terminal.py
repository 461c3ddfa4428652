# SPDX-License-Identifier: BSD-2-Clause
"""The report on a terminal: as wide as that is, in colours, with bars; how far the reading is, and ^C meanwhile."""
import os
import re
import signal

import pytest

import composed
import gaspbpf
from on_terminal import OnTerminal

pytestmark = pytest.mark.files

S = 10**9
ESCAPES = re.compile(r"\x1b\[[0-9;]*[mK]|\r")

# Each reading of the file takes its time; the n-th takes for ever, and that is said.
SLOW = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static ssize_t slow(const char *name, int fd, void *to, size_t size, off_t at)
{
	static int calls;
	ssize_t (*real)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, name);

	if (++calls >= atoi(getenv("STOP_AT"))) {
		if (write(2, "stopped", 7) == 7)
			pause();
	}
	if (calls > 15) /* the file has been opened */
		usleep(atoi(getenv("SLOW_US")));
	return real(fd, to, size, at);
}
ssize_t pread(int fd, void *to, size_t size, off_t at) { return slow("pread", fd, to, size, at); }
ssize_t pread64(int fd, void *to, size_t size, off_t at) { return slow("pread64", fd, to, size, at); }
"""


def shown(*arguments, **keywords):
    """What is on the terminal at the end."""
    status, text = OnTerminal("report", *arguments, **keywords).finish()
    assert status == 0, text
    return text


def scheduled(tid, queued):
    return f"scheduled {tid} {13 * S // 10} {S // 10} {queued} 2 0\n"


def many_things():
    """A job that all parts of the report have something to say of."""
    ms, text, at = 10**6, composed.ranks(4), 10**8
    for number in range(30):
        for tid in range(1, 5):
            late = 20 * ms if tid == 3 else ms * tid
            place = {"site": "a_rather_long_name_of_a_source_file.c:123"}
            text += composed.call(tid, at, at + late, "pthread_mutex_lock", mutex=0x5000, **place)
            text += composed.send(tid, at + late, at + late + ms, tid % 4, number, 1000, comm=0, **place)
            text += composed.call(tid, at + late + ms, at + 30 * ms, "MPI_Barrier", **place,
                                  **{"comm.id": 0, "comm.rank": tid - 1})
            text += composed.call(tid, at + 30 * ms, at + 31 * ms, "malloc", nbytes=1000, **place)
        at += 40 * ms
    return text + "".join(scheduled(tid, 6 * S // 10) for tid in range(1, 5)) + f"lost 1 5\nend {13 * S // 10}\n"


@pytest.fixture(scope="module", name="recording")
def made_recording(tmp_path_factory):
    return composed.compose(tmp_path_factory.mktemp("terminal") / "run.gasp", many_things())


@pytest.mark.parametrize("arguments", [[], ["--sites"], ["--histogram"], ["--explain", "1"], ["--by", "line"],
                                       ["--by", "rank,event,line,lock"], ["--by", "peer,event"], ["every section"]],
                         ids=lambda arguments: " ".join(arguments) or "report")
def test_nothing_wraps(recording, arguments):
    if arguments == ["every section"]:
        names = gaspbpf.run("report", "--section", "list").stdout.split()
        arguments = [word for name in names for word in ("--section", name)]
    for line in ESCAPES.sub("", shown(*arguments, recording)).split("\n"):
        assert len(line) <= 80, line


def test_more_room_is_used_and_a_pipe_has_its_own_width(recording):
    wide = ESCAPES.sub("", shown("--by", "line", recording, width=200))
    assert max(map(len, wide.split("\n"))) > 80 and "Self by rank" in wide
    piped = gaspbpf.run("report", recording).stdout
    for environment in {"COLUMNS": "?"}, {"TERM": "dumb", "LC_ALL": "C"}, {"NO_COLOR": "1", "LC_ALL": "C.UTF-8"}:
        assert gaspbpf.run("report", recording, env=environment).stdout == piped
    assert "\x1b" not in piped and piped.isascii()


def test_a_pipe_is_as_wide_as_columns_says(recording):
    for columns in 80, 120:
        lines = gaspbpf.run("report", recording, env={"COLUMNS": str(columns)}).stdout.split("\n")
        assert columns - 15 < max(map(len, lines)) <= columns


BOLD = "\x1b[1m"
@pytest.mark.parametrize("environment, arguments, colour, bar", [
    ({}, [], True, "\u2588"),
    ({"NO_COLOR": "1"}, [], False, "\u2588"),
    ({"NO_COLOR": ""}, [], True, "\u2588"),
    ({"NO_COLOR": "1"}, ["--color=always"], True, "\u2588"),
    ({"TERM": "dumb"}, [], False, "#"),
    ({"TERM": None}, [], False, "#"),
    ({"LC_ALL": "C"}, [], True, "#"),
    ({}, ["--color=never"], False, "\u2588"),
    ({}, ["--colour=auto"], True, "\u2588"),
    ({}, ["--color"], True, "\u2588"),
])
def test_colours_and_bars(recording, environment, arguments, colour, bar):
    text = shown(*arguments, "--section", "events", recording, width=120, **environment)
    assert ("\x1b[" in text) == colour
    assert {"\u2588": "\u2588" in text, "#": "#" in text} == {"\u2588": bar == "\u2588", "#": bar == "#"}


def test_colours_in_a_pipe(recording):
    always = gaspbpf.run("report", "--color=always", recording, env={"LC_ALL": "C.UTF-8", "TERM": "dumb"}).stdout
    assert BOLD in always and "\u2588" in always
    assert ESCAPES.sub("", always) != always
    wrong = gaspbpf.run("report", "--color=sometimes", recording)
    assert wrong.returncode and "use auto, always or never" in wrong.stderr


def test_bars_are_as_long_as_the_share(recording):
    rows = [line for line in shown("--by", "event", "--color=never", recording, width=120).split("\r\n") if "%" in line]
    for row in rows[2:]:
        share = float(re.search(r"([\d.]+)%", row)[1])
        full, rest = row.count("\u2588"), re.search("[\u2589-\u258f]", row)
        eighths = 8 * full + (0x2590 - ord(rest[0]) if rest else 0)
        assert abs(eighths - share * 80 / 100) <= 0.6, row


@pytest.fixture(scope="module", name="slow")
def made_slow(tmp_path_factory):
    library = tmp_path_factory.mktemp("slow") / "libslow.so"
    source = library.with_suffix(".c")
    source.write_text(SLOW)
    gaspbpf.compile_c(source, library, "-shared", "-fPIC")
    return {"LD_PRELOAD": str(library), "ASAN_OPTIONS": "verify_asan_link_order=0"}


PROGRESS = re.compile(r"reading( \(pass \d\))?: \d+ % of [\d.]+ [KMG]?i?B")


def test_how_far_the_reading_is(recording, slow, tmp_path):
    with open(tmp_path / "report", "wb") as output:
        status, said = OnTerminal("report", recording, output=output, STOP_AT="1000000", SLOW_US="200000",
                                  **slow).finish()
    assert status == 0 and PROGRESS.search(said) and said.endswith("\r\x1b[K"), "and it is gone at the end"
    alone = gaspbpf.run("report", recording)
    assert (tmp_path / "report").read_text() == alone.stdout and not PROGRESS.search(alone.stderr)


def test_quiet(recording, slow, tmp_path):
    with open(tmp_path / "report", "wb") as output:
        status, said = OnTerminal("report", "-q", recording, output=output, STOP_AT="1000000", SLOW_US="200000",
                                  **slow).finish()
    assert (status, said) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_at_once(recording, slow, tmp_path, number):
    """In the midst of a reading that never ends."""
    with open(tmp_path / "report", "wb") as output:
        reading = OnTerminal("report", recording, output=output, STOP_AT="14", SLOW_US="0", **slow)
        reading.read(b"stopped")
        if number == signal.SIGINT:
            os.write(reading.terminal, b"\x03")
        else:
            reading.process.send_signal(number)
        status, said = reading.finish()
    assert status == -number
    assert said.endswith("gaspbpf: report: interrupted while reading: nothing was printed\r\n")
    assert (tmp_path / "report").read_bytes() == b""


def test_of_a_place_the_line_is_kept(tmp_path):
    """Wherever it stands in what is too long: at the end of a long path, before a long name."""
    text, at = composed.ranks(2), 10**8
    names = ["a_name_of_a_source_file_that_fills_a_row_of_a_terminal_by_itself.c:1234567", "b.c:7654321"]
    for number in range(60):
        for tid, late in (1, 10**6), (2, 2 * 10**7):
            text += composed.call(tid, at + late, at + 25 * 10**6, "MPI_Barrier", site=names[number % 2],
                                  **{"comm.id": 0, "comm.rank": tid - 1})
        at += 5 * 10**7
    file = composed.compose(tmp_path / "run.gasp", text)
    lines = [line for line in ESCAPES.sub("", shown(file, width=60)).splitlines() if "rank 1 outside" in line]
    rows = [line for line in lines if ".." in line]
    assert rows and all("1234567" in line or "7654321" in line for line in rows), lines


def test_a_percentile_that_is_a_limit_says_so(tmp_path):
    """Of five calls the longest is no median, though the same power of two has all."""
    text = composed.ranks(1)
    for number, ms in enumerate((150, 151, 152, 153, 160)):
        text += composed.call(1, (1 + number) * S, (1 + number) * S + ms * 10**6, "MPI_Barrier",
                              **{"comm.id": 0, "comm.rank": 0})
    row, = (line.split() for line in gaspbpf.run("report", "--histogram", "--section", "histogram",
                                                 composed.compose(tmp_path / "run.gasp", text)).stdout.splitlines()
            if line.startswith("GASP_MPI_BARRIER"))
    assert row[1:13] == ["150.0", "ms", "<=160.0", "ms", "160.0", "ms", "160.0", "ms", "160.0", "ms", "160.0", "ms"]
