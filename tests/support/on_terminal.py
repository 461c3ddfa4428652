# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf on a terminal that is as wide as a test likes."""
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time

import gaspbpf


class OnTerminal:
    """gaspbpf on a terminal of its own. What is said there comes with its escapes."""

    def __init__(self, *arguments, width=80, output=None, **environment):
        self.terminal, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, width, 0, 0))
        settings = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment}
        self.process = subprocess.Popen([gaspbpf.PROGRAM, *map(str, arguments)], stdin=theirs, stdout=output or theirs,
                                        stderr=theirs, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                        env={key: value for key, value in settings.items() if value is not None})
        os.close(theirs)
        self.said = b""

    def read(self, until=None):
        """All that is said, or up to what is waited for."""
        end = time.monotonic() + gaspbpf.PATIENCE
        while time.monotonic() < end and not (until and until in self.said):
            if not select.select([self.terminal], [], [], 1)[0]:
                continue
            try:
                more = os.read(self.terminal, 65536)
            except OSError:  # the last who had it open has ended
                break
            if not more:
                break
            self.said += more
        return self.said.decode(errors="replace")

    def finish(self):
        text = self.read()
        status = self.process.wait(gaspbpf.PATIENCE)
        os.close(self.terminal)
        return status, text
