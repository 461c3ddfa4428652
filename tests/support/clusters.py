# SPDX-License-Identifier: BSD-2-Clause
"""A Slurm of four nodes on this machine, by scripts/cluster, and what runs on its nodes."""
import os
import pathlib
import re
import shutil
import socket
import subprocess

import gaspbpf

SCRIPT = gaspbpf.TOP / "scripts" / "cluster"


def free_ports(count):
    """The first of so many ports in a row that nobody listens on."""
    for first in range(17100 + os.getpid() % 500 * 8, 30000, 8):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    raise AssertionError("no ports are free")


def processes(**variables):
    """pid: name, of the processes with these variables in their environment; those that have ended have none."""
    found = {}
    for pid in gaspbpf.pids():
        folder = pathlib.Path(f"/proc/{pid}")
        try:
            environment = dict(item.split("=", 1) for item in
                               (folder / "environ").read_bytes().decode(errors="replace").split("\0") if "=" in item)
            if all(environment.get(name) == value for name, value in variables.items()):
                words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
                found[pid] = " ".join(words)
        except OSError:
            continue
    return found


def leads_into(link, folder):
    try:
        return os.readlink(link).startswith(f"{folder}")
    except OSError:
        return False


def in_folder(folder):
    """Processes that have files of it open, or stand in it, even where it is gone."""
    found = []
    for pid in gaspbpf.pids():
        process = pathlib.Path(f"/proc/{pid}")
        try:
            links = [process / "cwd", *process.glob("fd/*")]
        except OSError:
            continue
        found += [pid for link in links if leads_into(link, folder)]
    return found


class Cluster:
    def __init__(self):
        self.folder = pathlib.Path(f"/tmp/gaspbpf-cluster.{os.getpid()}")
        self.environment = {"GASPBPF_CLUSTER": str(self.folder), "GASPBPF_CLUSTER_PORT": str(free_ports(8)),
                            "SLURM_CONF": str(self.folder / "slurm.conf"), "GASPBPF_OTHERS": "ignore"}
        self.script("start")

    def script(self, *words):
        done = subprocess.run([SCRIPT, *map(str, words)], capture_output=True, text=True, timeout=gaspbpf.PATIENCE,
                              env={**os.environ, **self.environment})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def job(self, *command):
        return self.script("job", *command).strip()

    def end_job(self, number):
        subprocess.run(["scancel", number], env={**os.environ, **self.environment}, check=True, timeout=60)

    def launcher(self, number):
        """The job's srun."""
        of_job = processes(SLURM_CONF=self.environment["SLURM_CONF"], SLURM_JOB_ID=number)
        return min(pid for pid, line in of_job.items() if line.startswith("srun "))

    def parts(self):
        """node: pid, of the gaspbpf on each node."""
        parts = {}
        for node in ("n1", "n2", "n3", "n4"):
            for pid, line in processes(SLURM_CONF=self.environment["SLURM_CONF"], SLURMD_NODENAME=node).items():
                if re.match(r"\S*gaspbpf record --part-of", line) and node not in parts:
                    parts[node] = pid
        return parts

    def stop(self):
        self.script("stop")
        assert not self.folder.exists()
        left = processes(SLURM_CONF=self.environment["SLURM_CONF"])
        assert left == {} and in_folder(self.folder) == []
        shutil.rmtree(self.folder, ignore_errors=True)
