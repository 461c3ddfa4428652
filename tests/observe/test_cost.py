# SPDX-License-Identifier: BSD-2-Clause
"""The stated cost is the cost that is paid: by one process and by many that have probes of their own, and each of these
is told what they cost one another."""
import json
import re
import subprocess

import pytest

import gaspbpf

pytestmark = pytest.mark.skipif("session" not in gaspbpf.RUNGS and "multi" not in gaspbpf.RUNGS,
                                reason="each probe of each process is a perf event there")

# Each process makes its calls when it is told to, and writes what the kernel says of its time in there: the truth of
# all costs.
LOCKS = """
    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/resource.h>
    #include <unistd.h>
    static long system_us(void)
    {
        struct rusage r;
        getrusage(RUSAGE_SELF, &r);
        return r.ru_stime.tv_sec * 1000000 + r.ru_stime.tv_usec;
    }
    int main(int argc, char **argv)
    {
        pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        long before, processes = atol(argv[1]), calls = atol(argv[2]);
        for (long i = 1; i < processes && fork() > 0; i++)
            ;
        char name[40];
        sprintf(name, "ready.%d", getpid());
        fclose(fopen(name, "w"));
        while (access("go", F_OK))
            usleep(20000);
        before = system_us();
        for (long i = 0; i < calls; i++) {
            pthread_mutex_lock(&lock);
            pthread_mutex_unlock(&lock);
        }
        sprintf(name, "truth.%d", getpid());
        FILE *truth = fopen(name, "w");
        fprintf(truth, "%ld", system_us() - before);
        fclose(truth);
        while (access("end", F_OK))
            usleep(20000);
        _exit(argc != 3); /* at its end the dynamic linker would take a lock, too */
    }
    """


def observe_locks(job, observe, folder, processes, calls):
    """The report, what the processes' own time in the kernel was (ns), and what gaspbpf said."""
    (folder / "locks.c").write_text(LOCKS)
    subprocess.run(["cc", "-O2", "-pthread", folder / "locks.c", "-o", folder / "locks"], check=True,
                   timeout=gaspbpf.PATIENCE)
    locks = job([folder / "locks", processes, calls], gate=False)
    gaspbpf.wait_for(lambda: len(list(locks.folder.glob("ready.*"))) == processes, "the processes to be there")
    pids = [path.suffix[1:] for path in locks.folder.glob("ready.*")]
    watcher = observe(*[word for pid in pids for word in ("-p", pid)], "-m", "pthread", "--scope=process",
                      "--all-processes", "--json", "-o", folder / "locks.gasp")
    (locks.folder / "go").touch()
    gaspbpf.wait_for(lambda: len([path for path in locks.folder.glob("truth.*") if path.read_text()]) == processes,
                     "the processes' calls to be made")
    truth = sum(int(path.read_text()) for path in locks.folder.glob("truth.*")) * 1000
    (locks.folder / "end").touch()
    status, out, errors = watcher.finish()
    assert status == 0, errors
    return json.loads(out), truth, errors


def cost_of_truth(job, observe, folder, processes, calls):
    """What is said that probes took, as a part of what the kernel says that they took."""
    folder.mkdir()
    report, truth, errors = observe_locks(job, observe, folder, processes, calls)
    events = gaspbpf.events(report)
    assert events["GASP_PTHREAD_MUTEX_LOCK"]["calls"] == events["GASP_PTHREAD_MUTEX_UNLOCK"]["calls"] \
        == processes * calls
    # The kernel's own figure, taken as the thread's first call began.
    kernel = sum(thread["kernel_ns"] for thread in report["threads"])
    assert 0.6 * truth < kernel < 1.5 * truth + 50e6 * processes
    cost = sum(thread["cost_ns"] for thread in report["threads"])
    said = re.findall(r"processes have probes of their own in .*: a probed call costs each of them (\S+) us, where it "
                      r"would be (\S+) us for one alone\.", errors)
    assert processes > 1 or not said
    for of_many, of_one in said:  # they pay the price of many
        assert cost / (2 * processes * calls) > (float(of_many) + float(of_one)) / 2 * 1000
    text = " ".join(gaspbpf.run("report", folder / "locks.gasp").stdout.split())
    assert re.search(r"Probes took about \S+ \S+ of these threads' time, \S+% of it( and \S+ % of the time in which "
                     r"(it|they) ran)? \(estimated .*?\)\. (These threads spent \S+ \S+ in the kernel in all "
                     r"\(measured\)|The kernel has measured only)|"
                     r"Probes took at most .*? By the price of a call it would be .*: that estimate is too high",
                     text), text[text.find("Probes took"):]
    return cost / truth


@pytest.mark.alone  # its truth is of time, though only as a ratio
def test_the_stated_cost_is_paid(job, observe, tmp_path):
    """Where traps vary from moment to moment, as on some virtual machines, so does the ratio; and where others want the
    processors, too, 40 processes pay for being switched to and fro. What must not be is that many processes are told
    the price of one: the links of 39 others are most of what a call costs there where a trap takes 1 us, and none of it
    is in the calibration of a process alone."""
    alone = cost_of_truth(job, observe, tmp_path / "one", 1, 200000)
    many = cost_of_truth(job, observe, tmp_path / "many", 40, 5000)
    assert 0.1 < alone < 5, alone
    assert 0.3 < many / alone < 3, (alone, many)


BUSY = """
    #include <pthread.h>
    #include <unistd.h>
    int main(void)
    {
        pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        for (;;) {
            pthread_mutex_lock(&lock);
            pthread_mutex_unlock(&lock);
        }
    }
    """


def test_what_slows_a_thread_down_is_said_at_once(job, observe, tmp_path):
    """While it still can be ended, and not where the user has set a limit."""
    (tmp_path / "busy.c").write_text(BUSY)
    gaspbpf.compile_c(tmp_path / "busy.c", tmp_path / "busy", "-O1", "-pthread")
    running = job([tmp_path / "busy"])
    watcher = observe("-p", running.process.pid, "-m", "pthread", "--scope=process", "--ring-size", "1m")
    gaspbpf.wait_for(lambda: watcher.has_said(b"of what thread"), "the word on what it costs")
    _, _, errors = watcher.stop()
    assert len(re.findall(rf"probes take (nearly all|\d+%) of what thread {running.process.pid} runs", errors)) == 1
    result = gaspbpf.run("-p", running.process.pid, "-m", "pthread", "--scope=process", "--max-overhead", "5%",
                         "-d", "4s")
    assert result.returncode == 0 and "of what thread" not in result.stderr
