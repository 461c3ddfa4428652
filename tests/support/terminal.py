# SPDX-License-Identifier: BSD-2-Clause
"""A real terminal for tests: a pane of tmux, in a server of its own."""
import os
import pathlib
import shutil
import subprocess
import tempfile

from gaspbpf import PATIENCE, wait_for


class Terminal:
    """Runs a command line in a shell script, which notes its exit status and then stays, so that one sees what is left
    of the terminal."""

    def __init__(self, command, width=80, height=24, term="xterm", shell=False, ignoring=""):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="term", dir="/tmp"))  # the path of a socket must be short
        self.status_file = self.folder / "status"
        script = self.folder / "run"
        ignore = f"trap '' {ignoring}" if ignoring else ""
        script.write_text(f"trap : INT QUIT\n{ignore}\nstty -g >{self.folder}/before\nexport "
                          f"TERM={term}\n{command}\necho $? >{self.folder}/new\nmv {self.folder}/new "
                          f"{self.status_file}\nwhile :; do sleep 1; done\n")
        start = ["bash", "--norc", "-i"] if shell else ["sh", str(script)]
        self.tmux("new-session", "-d", "-x", width, "-y", height, *start,
                  env={**os.environ, "PS1": "$ ", "LC_ALL": "C.UTF-8"})
        self.tty = self.tmux("display-message", "-p", "#{pane_tty}").strip()

    def tmux(self, *arguments, **keywords):
        return subprocess.run(["tmux", "-S", str(self.folder / "s"), "-f", "/dev/null", *map(str, arguments)],
                              capture_output=True, text=True, timeout=PATIENCE, check=True, **keywords).stdout

    def text(self):
        return self.tmux("capture-pane", "-p")

    def lines(self):
        return self.text().split("\n")

    def wait(self, *texts, gone=()):
        """Waits until all texts are on the screen and the others are not; returns the screen."""
        def there():
            text = self.text()
            return text if all(each in text for each in texts) and not any(each in text for each in gone) else None
        try:
            return wait_for(there, f"the screen to show {texts}")
        except AssertionError:
            raise AssertionError(f"not on the screen: {texts}; it is:\n{self.text()}") from None

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def resize(self, width, height):
        self.tmux("resize-window", "-x", width, "-y", height)

    def status(self):
        """The command's exit status, when it has ended."""
        wait_for(self.status_file.exists, f"the command to end; the screen is:\n{self.text()}")
        return int(self.status_file.read_text())

    def shell_pid(self):
        return int(self.tmux("display-message", "-p", "#{pane_pid}"))

    def modes(self):
        return subprocess.run(["stty", "-g", "-F", self.tty], capture_output=True, text=True, check=True).stdout

    def is_restored(self):
        """The normal screen, a cursor, and all modes as before the command."""
        state = self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{keypad_cursor_flag}").split()
        return state == ["0", "1", "0"] and self.modes() == (self.folder / "before").read_text()

    def close(self):
        try:
            self.tmux("kill-server")
        except subprocess.CalledProcessError:
            pass
        shutil.rmtree(self.folder, ignore_errors=True)


def children(pid):
    try:
        return [int(each) for each in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []
