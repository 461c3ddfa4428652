# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf top -- COMMAND: leaving the screen is not ending the command; and what becomes of top when its terminal goes
away."""
import os
import pathlib
import signal

import pytest

import gaspbpf
from gaspbpf import PROGRAM, WORKLOADS, wait_for
from terminal import children


@pytest.fixture
def started(terminal, tmp_path):
    """A command at its gate under top, in a terminal; and the command's pid."""
    gate = tmp_path / "gate"
    gate.mkdir()
    screen = terminal(f"{PROGRAM} top -i 200ms -m pthread -- {WORKLOADS}/late --rounds 3 --gate {gate} --truth "
                      f"{tmp_path}/truth")
    wait_for(lambda: (gate / "ready.0").exists() and (gate / "ready.0").read_text(), "the command to reach its gate")
    pid = int((gate / "ready.0").read_text())
    screen.wait("q quit", f"late {pid}")
    yield screen, pid, gate
    (gate / "go").touch()
    (gate / "end").touch()


def gone(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_q_asks_and_leaves_it_running(started, tmp_path):
    screen, pid, gate = started
    screen.keys("q")
    screen.wait(f"q again: leave {pid} running")
    screen.keys("x")
    screen.wait("q quit", gone=["q again"])
    screen.keys("q", "q")
    assert screen.status() == 0
    assert screen.is_restored()
    text = " ".join(screen.text().replace("\n", "").split())
    assert f"{pid} runs on" in text and f"kill {pid}" in text
    assert not gone(pid)
    (gate / "go").touch()
    (gate / "end").touch()
    wait_for(lambda: gone(pid), "the command to end by itself")
    assert (tmp_path / "truth").exists()


@pytest.mark.parametrize("keys, how", [(["q", "e"], signal.SIGTERM), (["C-c"], signal.SIGINT)])
def test_ended_with_the_screen(started, keys, how):
    """By wish, and by ^C, which the terminal sends to both."""
    screen, pid, gate = started
    screen.keys(*keys)
    assert screen.status() == 128 + how
    assert screen.is_restored()
    assert gone(pid)
    assert "runs on" not in screen.text()


def test_a_command_that_ends_while_it_is_asked(started):
    screen, pid, gate = started
    screen.keys("q")
    screen.wait("q again")
    (gate / "go").touch()
    (gate / "end").touch()
    assert screen.status() == 0
    assert screen.is_restored()


def top_of(screen):
    """The process that the shell has started, and the one that measures."""
    guard = wait_for(lambda: [pid for pid in children(screen.shell_pid()) if children(pid)], "two processes")[0]
    return guard, children(guard)[0]


@pytest.mark.parametrize("ignoring", [False, True])
def test_the_terminal_vanishes(job, terminal, ignoring):
    """A lost connection: SIGHUP comes, or, to who ignores it, the end of the file. No process remains, and the job has
    no probe more."""
    work = job([WORKLOADS / "late", "--rounds", 10]).wait_ready()
    screen = terminal(f"{PROGRAM} top -i 200ms -m pthread -p {work.pids()[0]}", ignoring="HUP" if ignoring else "")
    screen.wait("q quit", "late ")
    processes = top_of(screen)
    screen.tmux("kill-server")
    for pid in processes:
        wait_for(lambda: gone(pid), "top to end")
    work.work()
    assert not gaspbpf.breakpoints(work.pids()[0])
    assert work.end() == 0


@pytest.mark.parametrize("key, how", [("C-\\", signal.SIGQUIT)])
def test_quit_key(job, terminal, key, how):
    work = job([WORKLOADS / "late", "--rounds", 10]).wait_ready()
    screen = terminal(f"{PROGRAM} top -i 200ms -m pthread -p {work.pids()[0]}")
    screen.wait("q quit", "late ")
    guard, worker = top_of(screen)
    screen.keys(key)
    screen.status()
    wait_for(screen.is_restored, f"the terminal to be restored; the screen is {screen.text()}")
    wait_for(lambda: gone(worker), "the part that measures to end")
    assert not os.path.exists(f"/proc/{guard}")
    work.work()
    assert work.end() == 0


@pytest.mark.parametrize("term, locale",
                         [("xterm-mono", "C.UTF-8"), ("linux", "C"), ("screen", "C.UTF-8"), ("ansi", "C")])
def test_other_terminals(job, terminal, term, locale):
    """The figures are there, in plain characters, and the terminal is put back."""
    work = job([WORKLOADS / "late", "--rounds", 10]).wait_ready()
    screen = terminal(f"LC_ALL={locale} {PROGRAM} top -i 200ms -t -m pthread -p {work.pids()[0]}", term=term)
    screen.wait("gaspbpf top", "q quit")
    work.work()
    text = screen.wait("team-0", "team-3", "3 of 4 wait for team-2")
    assert text.isascii()
    screen.keys("q")
    assert screen.status() == 0
    assert screen.modes() == (screen.folder / "before").read_text()
    assert work.end() == 0
