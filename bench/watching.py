# SPDX-License-Identifier: BSD-2-Clause
"""gaspbpf watch: what telling a browser costs, once a second."""
import re
import subprocess
import threading
import urllib.request

from costs import SITE_MODEL
from live import CROWD, RATES, THREADS, TURNS, crowd_pace, idle, own_cpu, top_row
from measure import GASPBPF, Job
from tables import Table


class Watch:
    """gaspbpf watch, with so many who read its stream."""

    def __init__(self, jobs, readers):
        command = [GASPBPF, "watch", "--listen", "0", "-p", ",".join(str(job.pid) for job in jobs), *SITE_MODEL]
        self.process = subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE)
        self.readers = readers
        self.bytes = 0

    def read(self, url):
        with urllib.request.urlopen(url) as stream:
            for line in stream:
                self.bytes += len(line)

    def __enter__(self):
        said = b""
        while not (address := re.search(rb"(http://\S+/)\?(token=\w+)\n", said)):
            line = self.process.stderr.readline()
            if not line:
                raise RuntimeError(said.decode(errors="replace"))
            said += line
        url = f"{address[1].decode()}events?{address[2].decode()}"
        self.threads = [threading.Thread(target=self.read, args=(url,)) for _ in range(self.readers)]
        self.threads.append(threading.Thread(target=self.process.stderr.read))
        for thread in self.threads:
            thread.start()
        return self

    def cpu(self):
        return own_cpu(self.process.pid)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        for thread in self.threads:
            thread.join()


def watch(options, progress):
    progress("watch")
    seconds = 3 if options.quick else 10
    table = Table("Watch: its own CPU", ["% CPU", "ns a call", "calls/s made"], "", "gaspbpf watch, a look each "
                  "second: user and system time. The calls are counted by the jobs. Without a reader it tells nobody.",
                  label=52)
    for _ in range(1 if options.quick else TURNS):
        watch_rows(table, seconds)
    return table


def watch_rows(table, seconds):
    with Job() as job, Watch([job], 1) as page:
        top_row(table, "1 process, idle, one reads", page, lambda: idle(seconds))
        top_row(table, f"1 process, {RATES[0]:,} calls/s, one reads", page,
                lambda: job.pace(THREADS, RATES[0], 1000 * seconds)[:2])
    jobs = [Job() for _ in range(CROWD)]
    try:
        for readers, who in ((0, "nobody reads"), (1, "one reads"), (8, "eight read")):
            with Watch(jobs, readers) as page:
                top_row(table, f"{CROWD} processes, idle, {who}", page, lambda: idle(seconds))
                top_row(table, f"{CROWD} processes, {RATES[0]:,} calls/s, {who}", page,
                        lambda: crowd_pace(jobs, RATES[0], 1000 * seconds))
    finally:
        for job in jobs:
            job.end()
