# SPDX-License-Identifier: BSD-2-Clause
"""Nodes with a real sshd each, on ports of loopback, with keys and a configuration of their own: nothing of this
machine's is used or changed. What they are called is in the place of Slurm's name of the node, and the host's."""
import contextlib
import os
import pathlib
import signal
import subprocess

import clusters
import gaspbpf

# Below /run sshd wants an empty folder, which only a system that starts it at boot has; and hosts have their own names.
START = 'mount -t tmpfs none /run && mkdir /run/sshd && hostname "$1" && exec /usr/sbin/sshd -D -f "$2" -E "$3"'

SSHD = """ListenAddress 127.0.0.1:{port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
AuthenticationMethods publickey
StrictModes no
UsePAM no
PidFile none
LogLevel VERBOSE
SetEnv SLURMD_NODENAME={name} GASPBPF_OTHERS=ignore TMPDIR={folder}/own REACHED={folder}
"""

SSH = """IdentityFile {folder}/user
IdentitiesOnly yes
UserKnownHostsFile {folder}/known
GlobalKnownHostsFile none
LogLevel ERROR
"""


class Hosts:
    def __init__(self, folder, *names):
        self.folder, self.names, self.started = pathlib.Path(folder), names, {}
        self.own = self.folder / "own"  # where nodes have what they do not share
        self.own.mkdir(parents=True)
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / key], check=True)
        public = " ".join((self.folder / "host.pub").read_text().split()[:2])
        port = clusters.free_ports(len(names))
        self.ports = {name: port + at for at, name in enumerate(names)}
        (self.folder / "known").write_text("".join(f"[127.0.0.1]:{port} {public}\n" for port in self.ports.values()))
        (self.folder / "config").write_text(
            "".join(f"Host {name}\nHostName 127.0.0.1\nPort {port}\n" for name, port in self.ports.items()) +
            "Host *\n" + SSH.format(folder=self.folder))
        bin_ = self.folder / "bin"
        bin_.mkdir()
        (bin_ / "ssh").write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {self.folder}/config "$@"\n')
        (bin_ / "ssh").chmod(0o755)
        self.environment = {"PATH": f"{bin_}:{os.environ['PATH']}", "GASPBPF_OTHERS": "ignore"}
        for name in names:
            self.start(name)

    def start(self, name):
        config, log = self.folder / f"{name}.sshd", self.folder / f"{name}.log"
        config.write_text(SSHD.format(folder=self.folder, name=name, port=self.ports[name]))
        self.started[name] = subprocess.Popen(
            ["unshare", "--mount", "--uts", "sh", "-c", START, "sh", name, config, log], stdin=subprocess.DEVNULL)
        gaspbpf.wait_for(lambda: log.exists() and "Server listening" in log.read_text(), f"{name}'s sshd")

    def end(self, name):
        """No connection comes through any more; those that are there stay."""
        self.started[name].kill()
        self.started[name].wait()

    def connections(self, name):
        """The processes of sshd that serve them."""
        pid = self.started[name].pid
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def processes(self, **variables):
        """All that was started there; with these variables."""
        return clusters.processes(REACHED=str(self.folder), **variables)

    @contextlib.contextmanager
    def without_key(self):
        """Nobody is let in."""
        key = self.folder / "user"
        key.rename(self.folder / "elsewhere")
        try:
            yield
        finally:
            (self.folder / "elsewhere").rename(key)

    def close(self):
        for name in self.names:
            self.end(name)
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
