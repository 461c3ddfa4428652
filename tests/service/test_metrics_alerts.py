# SPDX-License-Identifier: BSD-2-Clause
"""The example's alerts in a real Prometheus: those that should fire do, and no others. Their times are made shorter,
nothing else."""
import os
import re
import subprocess

import pytest

import gaspbpf
import monitored

# Poses as OpenSHMEM's. What its barrier takes is the caller's third word.
LIBRARY = r"""
#include <unistd.h>
__attribute__((noinline)) void shmem_barrier_all(useconds_t us) { if (us) usleep(us); __asm__ volatile(""); }
"""

# WAIT PAUSE [FILE]: barriers until it is killed, of WAIT us, with PAUSE us between. With FILE: three of them once that
# is there, and no more.
PROGRAM = r"""
#include <stdlib.h>
#include <unistd.h>
void shmem_barrier_all(useconds_t us);
int main(int argc, char **argv)
{
	while (argc > 3 && access(argv[3], F_OK))
		usleep(5000);
	for (long i = 0; argc == 3 || i < 3; i++) {
		shmem_barrier_all(atoi(argv[1]));
		usleep(atoi(argv[2]));
	}
	for (;;)
		pause();
}
"""

SHORTER = {"[5m]": "[10s]", "[10m]": "[30s]", "for: 2m": "for: 1s", "for: 5m": "for: 1s", "for: 10m": "for: 1s",
           "for: 15m": "for: 1s"}
JOB = "gaspbpf-test-4711"


@pytest.fixture(name="runtime")
def this_runtime(runtime):
    return runtime("alert", library=LIBRARY, program=PROGRAM)


def start(runtime, rank, *arguments):
    environment = {**os.environ, "OMPI_COMM_WORLD_RANK": str(rank), "SLURM_JOB_ID": JOB}
    runtime.running.append(subprocess.Popen([str(runtime.program), *map(str, arguments)], env=environment))
    return runtime.running[-1].pid


def shorter(rules):
    for long, short in SHORTER.items():
        assert long in rules
        rules = rules.replace(long, short)
    return rules


def test_alerts_fire_when_they_should(runtime, observe, tmp_path):
    """Of three ranks one works, one waits for the others all the time, one makes no call any more; then the monitor is
    killed."""
    go = tmp_path / "go"
    works, waits, silent = start(runtime, 0, 0, 20000), start(runtime, 1, 50000, 0), start(runtime, 2, 0, 0, go)
    watcher = observe("monitor", "-m", "shmem", "--lazy", "--listen", "0", "-p", f"{works},{waits},{silent}",
                      ready="monitoring")
    url = monitored.url_of(watcher)
    instance = re.search(r"//([^/]+)/", url)[1]
    go.touch()
    with monitored.prometheus(tmp_path / "prometheus") as prometheus:
        server = prometheus(url, change_rules=shorter)

        def firing():
            # a share of half an hour
            found = [labels for labels in monitored.alerts(server) if labels["alertname"] != "GaspbpfIsDear"]
            assert all(labels["instance"] == instance for labels in found)
            return {(labels["alertname"], labels["job"], labels.get("rank"), labels.get("pid")) for labels in found}
        expected = {("JobIsSilent", JOB, "2", str(silent)), ("RankWaits", JOB, "1", str(waits)),
                    ("JobIsUnbalanced", JOB, None, None)}
        gaspbpf.wait_for(lambda: expected <= firing(), "the alerts of a rank that waits and one that is silent")
        assert firing() == expected
        watcher.process.kill()
        watcher.process.wait()
        gaspbpf.wait_for(lambda: ("GaspbpfDown", "gaspbpf", None, None) in firing(),
                         "the alert of a monitor that is gone")
