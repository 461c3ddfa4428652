# SPDX-License-Identifier: BSD-2-Clause
"""Real launchers of ranks that reach their nodes by `ssh`, whatever that is there, with jobs whose ranks come to
barriers. What they start is known by REACHED in its environment."""
import os
import signal
import socket
import subprocess

import clusters
import gaspbpf

LAUNCHERS = {"openmpi": ["mpirun.openmpi", "--mca", "btl", "self,tcp", "-np", "4", "--host"],
             "mpich": ["mpiexec.mpich", "-launcher", "ssh", "-n", "4", "-hosts"]}


class Launches:
    def __init__(self, folder, environment, reached=None):
        self.folder, self.environment, self.started = folder, environment, []
        self.reached = reached or environment["REACHED"]

    def start(self, implementation, hosts, who, *options):
        """Four ranks, of which this one is late to each barrier. The launcher's PID, when they come there."""
        program = gaspbpf.WORKLOADS / "pathology" / f"mpi_{implementation}"
        output = self.folder / f"out{len(self.started)}"
        slots = f":{4 // len(hosts)}" if implementation == "openmpi" else ""
        listed = ",".join(host + slots for host in hosts)
        with open(output, "w") as file:
            self.started.append(subprocess.Popen(
                [LAUNCHERS[implementation][0], *options, *LAUNCHERS[implementation][1:], listed, program, "--pattern",
                 "0", "--who", str(who), "--us", "20000", "--rounds", "1000"],
                stdout=file, stderr=file, start_new_session=True,
                env={**os.environ, **gaspbpf.MPI_ENVIRONMENT, **self.environment}))
        gaspbpf.wait_for(lambda: output.read_text().count("ready") == 4, "ranks")
        return self.started[-1].pid

    def ranks_of(self, who):
        """{(rank, node, pid)} of the job whose late rank is this one, as their environment says."""
        found = set()
        for pid, line in clusters.processes(REACHED=self.reached).items():
            if not line.startswith(f"{gaspbpf.WORKLOADS}/pathology/mpi_") or f"--who {who} " not in line:
                continue
            with open(f"/proc/{pid}/environ") as file:
                variables = dict(item.split("=", 1) for item in file.read().split("\0") if "=" in item)
            rank = variables.get("OMPI_COMM_WORLD_RANK") or variables["PMI_RANK"]
            found.add((int(rank), variables.get("SLURMD_NODENAME", socket.gethostname()), pid))
        assert len(found) == 4
        return found

    def close(self):
        for launcher in self.started:
            os.killpg(launcher.pid, signal.SIGKILL)
            launcher.wait()
        for pid in clusters.processes(REACHED=self.reached):  # on the nodes
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def told(processes):
    """The same of what gaspbpf says."""
    return {(process["rank"], process["node"], process["pid"]) for process in processes}
