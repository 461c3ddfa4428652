# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf top's screen, in a real terminal: what it shows, what keys do, and that the terminal is as before, however it
ends."""
import os
import re
import shutil
import signal

import pytest

from gaspbpf import PROGRAM, WORKLOADS, wait_for
from terminal import children

ROUNDS = 10


@pytest.fixture
def waiting(job):
    """A job at its gate; at the end of its work three of its threads wait for the fourth."""
    return job([WORKLOADS / "late", "--rounds", ROUNDS]).wait_ready()


def command(job, *options):
    return " ".join([str(PROGRAM), "top", "-i", "200ms", "-m", "pthread", "-p", str(job.pids()[0]), *map(str, options)])


def guard_of(terminal):
    """The process that the shell has started, and the one that measures."""
    guard = wait_for(lambda: [pid for pid in children(terminal.shell_pid()) if children(pid)], "two processes")[0]
    return guard, children(guard)[0]


def row_of(screen, name):
    return next(line for line in screen.split("\n") if line.startswith(name)).split()


SIZES = [(80, 24), (132, 50), (40, 10)]


@pytest.mark.parametrize("term, width, height", [("xterm", *size) for size in SIZES] + [("vt100", 80, 24)])
def test_figures_are_on_the_screen(waiting, terminal, term, width, height):
    screen = terminal(command(waiting, "-t"), width, height, term)
    screen.wait("gaspbpf top", "q quit")
    waiting.work()
    screen.keys("a")
    text = screen.wait("all of", "team-0", "team-3")
    lines = text.split("\n")
    assert lines[0].startswith("gaspbpf top") and lines[height - 1].startswith("q quit")
    assert all(len(line) <= width for line in lines)
    screen.keys("a")
    if width == 40:
        screen.wait("BARR", "100%")
    else:
        # Three wait all the time: what they do is wait, whenever one looks. The fourth does not.
        def steady():
            text = screen.text()
            rows = [row_of(text, f"team-{i}") for i in range(4)] if "team-3" in text and "all of" not in text else None
            return rows and [row[3] for row in rows] == ["100%", "100%", ".", "100%"] and rows[2][2] == "100%"
        wait_for(steady, "the screen to show who waits")
        screen.wait("3 of 4 wait for team-2", "GASP_PTHREAD_BA")
    # All calls that have ended, as the job counted them: 10 in each round and thread, a barrier among them.
    screen.keys("a")
    if width >= 80:
        screen.wait("CALLS ")
        for i in range(4):
            assert row_of(screen.wait("all of"), f"team-{i}")[11] == str(ROUNDS * 9)
        assert f"{4 * ROUNDS * 9} calls" in screen.text()
    if width >= 132:
        assert [row_of(screen.text(), f"team-{i}")[13] for i in range(4)] == ["0/10", "0/10", "10/10", "0/10"]
        assert "GASP_PTHREAD_BARRIER_WAIT" in " ".join(row_of(screen.text(), "team-0"))
    screen.keys("q")
    assert screen.status() == 0
    assert screen.is_restored()
    assert waiting.end() == 0


def test_keys(waiting, terminal):
    screen = terminal(command(waiting))
    screen.wait("gaspbpf top", "PROCESS ")
    waiting.work()
    screen.keys("t")
    screen.wait("THREAD ", "team-0", gone=["PROCESS "])
    # Sorted by where the time goes, the one that computes is first, and with r the last.
    screen.keys(">")
    wait_for(lambda: "by compute" in screen.text() and "team-2" in screen.lines()[6], "the order to change")
    screen.keys("r")
    wait_for(lambda: "reversed" in screen.text() and "team-2" in screen.lines()[9], "the order to turn")
    screen.keys("r")
    screen.keys("<")
    screen.wait("by name", gone=["reversed"])
    # Only what has this in its name.
    screen.keys("/")
    screen.keys("t", "e", "a", "m", "-", "2", "x", "BSpace", "Enter")
    screen.wait("/team-2", "team-2", gone=["team-0", "team-1", "team-3"])
    screen.keys("/")
    screen.keys(*["BSpace"] * 6, "Enter")
    screen.wait("team-0", "team-3")
    # The events of the second row.
    screen.keys("Down", "Enter")
    text = screen.wait("team-1", "EVENT", "GASP_PTHREAD_BARRIER_WAIT for", "GASP_PTHREAD_MUTEX_LOCK",
                       "late.c:73 in unlock")
    assert "THREAD " not in text
    screen.keys("a")
    wait_for(lambda: re.search(rf"GASP_PTHREAD_MUTEX_LOCK +\S+ +{4 * ROUNDS} ", screen.text()),
             "the count of the thread's locks")
    screen.keys("a", "Enter")
    screen.wait("THREAD ", gone=["EVENT"])
    screen.keys("h")
    screen.wait("came last to so many meetings")
    screen.keys("q")
    screen.wait("THREAD ")
    # While it is paused nothing moves; afterwards it does.
    screen.keys("p")
    before = screen.wait("PAUSED")
    screen.keys("h", "h")
    screen.wait("PAUSED", "THREAD ")
    assert screen.text() == before
    screen.keys("p")
    wait_for(lambda: "PAUSED" not in screen.text() and screen.text() != before, "it to go on")
    screen.keys("t")
    screen.wait("PROCESS ", gone=["THREAD "])
    screen.keys("+")
    screen.keys("x")  # means nothing
    screen.keys("q")
    assert screen.status() == 0
    assert waiting.end() == 0


def test_the_window_changes_its_size(waiting, terminal):
    screen = terminal(command(waiting, "-t"))
    screen.wait("q quit")
    waiting.work()
    for width, height in [(132, 40), (40, 10), (20, 3), (5, 2), (80, 24)]:
        screen.resize(width, height)
        wait_for(lambda: [line for line in screen.lines() if line.strip()][-1].startswith("q qu"),
                 f"the screen to fit {width}x{height}")
        assert all(len(line) <= width for line in screen.lines())
    screen.wait("team-3", "q quit")
    screen.keys("q")
    assert screen.status() == 0
    assert screen.is_restored()


ENDS = {
    "^C": lambda screen, job, guard, worker: screen.keys("C-c"),
    "the job's end": lambda screen, job, guard, worker: job.kill(),
    "SIGTERM": lambda screen, job, guard, worker: os.kill(guard, signal.SIGTERM),
    "SIGTERM of the part that measures": lambda screen, job, guard, worker: os.kill(worker, signal.SIGTERM),
    "SIGSEGV of the part that measures": lambda screen, job, guard, worker: os.kill(worker, signal.SIGSEGV),
    "SIGKILL of the part that measures": lambda screen, job, guard, worker: os.kill(worker, signal.SIGKILL),
    "SIGKILL of the guard": lambda screen, job, guard, worker: os.kill(guard, signal.SIGKILL),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_terminal_is_restored(waiting, terminal, end):
    screen = terminal(command(waiting))
    screen.wait("q quit", "late ")
    assert not screen.is_restored(), "there would be nothing to restore"
    guard, worker = guard_of(screen)
    ENDS[end](screen, waiting, guard, worker)
    status = screen.status()
    wait_for(screen.is_restored, f"the terminal to be restored; the screen is {screen.text()}")
    wait_for(lambda: not os.path.exists(f"/proc/{worker}"), "the part that measures to end")
    if end in ("SIGSEGV of the part that measures", "SIGKILL of the part that measures"):
        assert status == 1
        screen.wait("was ended by signal")
    elif end == "SIGKILL of the guard":
        assert status == 128 + signal.SIGKILL
    else:
        assert status == 0
    if end != "the job's end":
        waiting.work()
        assert waiting.end() == 0


def test_stopped_and_on_again(waiting, terminal):
    screen = terminal("", shell=True)
    screen.wait("$")
    screen.keys(command(waiting, "-t"), "Enter")
    screen.wait("q quit", "late ")
    screen.keys("C-z")
    screen.wait("Stopped", "$ ", gone=["q quit"])
    assert screen.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").split() == ["0", "1"]
    screen.keys("echo typed is seen", "Enter")
    wait_for(lambda: screen.text().count("typed is seen") == 2, "the shell to echo")
    waiting.work()
    screen.keys("fg", "Enter")
    screen.wait("q quit", "team-0", "team-3", gone=["Stopped"])
    screen.keys("q")
    screen.wait("typed is seen", gone=["q quit"])
    assert screen.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").split() == ["0", "1"]


def test_a_commands_output_is_shown_at_the_end(terminal, tmp_path):
    gate = tmp_path / "gate"
    gate.mkdir()
    screen = terminal(f"{PROGRAM} top -i 200ms -m pthread -t -- {WORKLOADS}/late --rounds 3 --gate {gate}")
    screen.wait("q quit")
    wait_for((gate / "ready.0").exists, "the command to reach its gate")
    assert "ready" not in screen.text()
    (gate / "go").touch()
    screen.wait("team-3")
    (gate / "end").touch()
    assert screen.status() == 0
    screen.wait("ready ", "has ended")
    assert screen.is_restored()


def test_names_do_nothing_to_the_terminal(job, terminal, tmp_path):
    """A process may be called whatever it likes."""
    evil = tmp_path / "a\x1b[2Jb\tc"
    shutil.copy(WORKLOADS / "late", evil)
    work = job([evil]).wait_ready()
    screen = terminal(command(work))
    screen.wait("gaspbpf top", "a\\x1b[2Jb\\x09c", "q quit")
    screen.keys("q")
    assert screen.status() == 0


@pytest.mark.parametrize("term", ["dumb", "no-such-terminal", "''"])
def test_a_terminal_that_cannot_is_told(waiting, terminal, term):
    screen = terminal(command(waiting), term=term)
    assert screen.status() == 2
    text = " ".join(screen.text().split())
    assert "TERM" in text and "--once" in text
    assert screen.is_restored()


def test_more_rows_than_fit(job, terminal):
    """Which ones these are is said; all can be reached; the one that is late is found by sorting."""
    many = job([WORKLOADS / "late", "--rounds", 2, "--threads", 64]).wait_ready()
    screen = terminal(command(many, "-t"))
    screen.wait("q quit")
    many.work()
    screen.wait("rows 1-17 of 64", "63 of 64 wait for team-2", "team-16", gone=["team-17"])
    screen.keys("NPage", "NPage", "NPage", "NPage")
    screen.wait("rows 48-64 of 64", "team-63", gone=["team-46"])
    screen.keys("a", *["<"] * 2)
    wait_for(lambda: "by late" in screen.text(), "the order to change")
    screen.keys(*["PPage"] * 4)
    wait_for(lambda: "rows 1-17" in screen.text() and "team-2" in screen.lines()[6], "the late one to be on top")
    screen.resize(80, 80)
    screen.wait("team-0", "team-63", gone=["rows "])
    screen.keys("q")
    assert screen.status() == 0
    assert many.end() == 0
