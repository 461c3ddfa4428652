# SPDX-License-Identifier: BSD-2-Clause
"""Measurement control: off means that nothing is measured until it is on, whoever says so."""
import json
import re
import shutil
import subprocess

import pytest

import conformance
import gaspbpf

USER = gaspbpf.TOP / "tests" / "workloads" / "user"
LIBRARY = gaspbpf.TOP / "build" / "libpupc"
EVENT_OF = {"work": "work", "cut": "cut", "malloc": "GASP_C_MALLOC", "free": "GASP_C_FREE"}


def build(tmp_path):
    program = tmp_path / "control_job"
    subprocess.run(["cc", "-O1", "-g", "-fno-builtin", f"-I{gaspbpf.TOP / 'include'}", f"-I{USER.parent}",
                    USER / "control_job.c", USER.parent / "job.c",
                    f"-L{LIBRARY}", "-lpupc", f"-Wl,-rpath,{LIBRARY}", "-lm", "-lpthread", "-o", program], check=True,
                   timeout=gaspbpf.PATIENCE)
    return program


def control(pid, word, **keywords):
    return gaspbpf.run("control", "-p", pid, word, **keywords)


@pytest.mark.guest_more
def test_the_programs_own_word(job, observe, tmp_path, rung):
    """What is done while it is off is in no figure; what was in progress then ends there; children are off like their
    parent."""
    switching = job([build(tmp_path)]).wait_ready()
    text = tmp_path / "run.events"
    watcher = observe("-p", switching.pids()[0], "-m", "pupc" if rung == "perf" else "+c", "--json", "-o", text, "-o",
                      tmp_path / "run.gasp")
    switching.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert switching.end() == 0
    report, truth = json.loads(out), switching.truths()[0]
    seen = gaspbpf.events(report)
    for function in ("work", "cut"):
        assert seen[EVENT_OF[function]]["calls"] == truth["functions"][function]["calls"], function
    lines = text.read_text().splitlines()
    mallocs = [line for line in lines if " START GASP_C_MALLOC" in line and "100" in line and "control_job.c" in line]
    # there each probe is slow to take out
    assert rung == "perf" or len(mallocs) == truth["functions"]["malloc"]["calls"]
    assert len([line for line in lines if re.search(r" END cut end=off ", line)]) == 1
    mine = [row for row in report["controls"] if row["pid"] == switching.pids()[0]]
    assert len(mine) == 1 and mine[0]["times"] == 2 and mine[0]["last"] == 0 and mine[0]["by"] == "pupc_control" \
        and mine[0]["off_ns"] > 0
    # Between the first "off" and the next "on" of a thread there is nothing.
    thread = [line for line in lines if f"pid:{switching.pids()[0]} control_job:{switching.pids()[0]} " in line]
    words = [line.split()[3] for line in thread]
    off = [i for i, word in enumerate(words) if word == "CONTROL" and " off " in thread[i]]
    assert len(off) == 2 and " CONTROL on " in thread[off[0] + 1]
    shown = gaspbpf.run("report", tmp_path / "run.gasp").stdout
    assert re.search(r"Measurement was off", shown) \
        and re.search(r"2 times; the last word: off, by pupc_control", shown)
    conformance.seen("libpupc", "GASP_PUPC_CONTROL")


TOGGLES = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <pupc.h>
#include <stdio.h>
#include <unistd.h>
#include "job.h"
static struct job job;
static struct counts counts;
static volatile int over;
/* Each time gaspbpf looks into the program's memory, where it finds the last word, too. */
static void *load(void *argument)
{
    while (!over) {
        dlclose(dlopen("libresolv.so.2", RTLD_NOW));
    }
    return argument;
}
int main(int argc, char **argv)
{
    static const struct job_option more[] = { { 0 } };
    pthread_t loader;
    unsigned work;

    job.name = "toggles";
    job.rank = -1;
    job_options(&job, argc, argv, more);
    work = pupc_create_event("work", 0);
    job_begin(&job);
    pthread_create(&loader, 0, load, 0);
    for (int i = 0; i < 20000; i++) {
        pupc_control(0);
        usleep(10);
        pupc_control(1);
        usleep(10);
        pupc_event_atomic(work);
        count_call(&counts, "work", 0);
    }
    over = 1;
    pthread_join(loader, 0);
    job_finish(&job);
    return job_truth(&job, 1, 0, &counts, 0, 0);
}
"""


def test_what_was_found_in_memory_is_older_than_what_was_heard(job, observe, tmp_path):
    """A program that switches all the time, and is looked at all the time."""
    source = tmp_path / "toggles.c"
    source.write_text(TOGGLES)
    subprocess.run(["cc", "-O1", "-g", f"-I{gaspbpf.TOP / 'include'}", f"-I{USER.parent}", source,
                    USER.parent / "job.c", f"-L{LIBRARY}", "-lpupc",
                    f"-Wl,-rpath,{LIBRARY}", "-lm", "-lpthread", "-o", tmp_path / "toggles"], check=True,
                   timeout=gaspbpf.PATIENCE)
    switching = job([tmp_path / "toggles"]).wait_ready()
    watcher = observe("-p", switching.pids()[0], "-m", "pupc", "--json")
    switching.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert switching.end() == 0
    report = json.loads(out)
    assert gaspbpf.events(report)["work"]["calls"] == switching.truths()[0]["functions"]["work"]["calls"]
    assert not [each for each in report["controls"] if each["by"] == "before it was observed"]


def test_off_before_anybody_watched(job, observe, tmp_path):
    """libpupc remembers the last word: who comes late heeds it."""
    source = tmp_path / "early.c"
    source.write_text("""
        #include <pupc.h>
        #include <stdio.h>
        #include <unistd.h>
        static void wait_for(const char *name) { while (access(name, F_OK)) usleep(10000); }
        int main(void)
        {
            unsigned event = pupc_create_event("event", 0);
            pupc_control(0);
            fclose(fopen("ready", "w"));
            wait_for("go");
            for (int i = 0; i < 7; i++) pupc_event_atomic(event);
            pupc_control(5);
            for (int i = 0; i < 4; i++) pupc_event_atomic(event);
            return pupc_control(1) != 5;
        }
        """)
    subprocess.run(["cc", f"-I{gaspbpf.TOP / 'include'}", source, LIBRARY / "libpupc.a", "-o", tmp_path / "early"],
                   check=True, timeout=gaspbpf.PATIENCE)
    early = job([tmp_path / "early"], gate=False)
    gaspbpf.wait_for(lambda: (early.folder / "ready").exists(), "the job to be ready")
    watcher = observe("-p", early.process.pid, "-m", "pupc", "--json")
    (early.folder / "go").touch()
    status, out, errors = watcher.finish()
    assert status == 0, errors
    assert early.process.wait(timeout=gaspbpf.PATIENCE) == 0
    report = json.loads(out)
    assert gaspbpf.events(report)["event"]["calls"] == 4
    assert [(row["times"], row["last"], row["by"]) for row in report["controls"]] == [(1, 1, "pupc_control")]


@pytest.mark.parametrize("choice", [["-m", "c"], ["--profile-only", "{names}"]], ids=["models", "events"])
def test_whatever_was_chosen(observe, tmp_path, choice):
    """Off means that nothing is measured, also where only other models, or only some events, were asked for; user
    events stay."""
    (tmp_path / "names").write_text("GASP_C_MALLOC\n")
    (tmp_path / "job.c").write_text("""
        #include <pupc.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <time.h>
        #include <unistd.h>
        static long long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
        int main(void)
        {
            unsigned event = pupc_create_event("event", 0), pair = pupc_create_event("pair", 0);
            long long outer = 0, inner = 0;
            puts("ready"); fflush(stdout); getchar();
            for (int i = 0; i < 60; i++) {
                if (i == 20) {
                    outer = now();
                    pupc_control(0);
                    inner = now();
                    usleep(20000);
                } else if (i == 50) {
                    inner = now() - inner;
                    pupc_control(1);
                    outer = now() - outer;
                }
                pupc_event_start(pair);
                free(malloc(7000 + i));
                pupc_event_end(pair);
                pupc_event_atomic(event);
            }
            printf("done %lld %lld\\n", inner, outer); fflush(stdout); getchar();
            return 0;
        }
        """)
    subprocess.run(["cc", "-fno-builtin", f"-I{gaspbpf.TOP / 'include'}", tmp_path / "job.c", LIBRARY / "libpupc.a",
                    "-o", tmp_path / "job"], check=True,
                   timeout=gaspbpf.PATIENCE)
    with subprocess.Popen([tmp_path / "job"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
        try:
            assert job.stdout.readline() == "ready\n"
            watcher = observe("-p", job.pid, *[word.format(names=tmp_path / "names") for word in choice], "--json",
                              "-o", tmp_path / "run.events")
            job.stdin.write("\n")
            job.stdin.flush()
            inner, outer = map(int, job.stdout.readline().removeprefix("done ").split())
            status, out, errors = watcher.stop()
            assert status == 0, errors
        finally:
            job.kill()
    sizes = [int(size)
             for size in re.findall(r" START GASP_C_MALLOC nbytes=(7\d\d\d) ", (tmp_path / "run.events").read_text())]
    assert sizes == [7000 + i for i in range(60) if not 20 <= i < 50]
    report = json.loads(out)
    assert [(row["times"], row["last"], row["by"]) for row in report["controls"]] == [(1, 1, "pupc_control")]
    # As long as the job says, by a clock inside and one outside of the two calls.
    assert inner <= report["controls"][0]["off_ns"] <= outer
    user = gaspbpf.events(report)
    assert [user[name]["calls"] for name in ("event", "pair") if name in user] == ([] if choice[0] == "-m"
                                                                                   else [30, 30])
    assert " end=off" not in (tmp_path / "run.events").read_text()


def test_from_outside(job, observe, tmp_path):
    """'gaspbpf control': off, nothing is seen; again, as before; on, all is. A recording is brought up to date while it
    is made."""
    recording = tmp_path / "run.gasp"
    program = build(tmp_path)
    silent = job([program, "--outside", "1"]).wait_ready()
    loud = job([program, "--outside", "1"]).wait_ready()
    watcher = observe("-p", f"{silent.pids()[0]},{loud.pids()[0]}", "-m", "pupc", "--json", "-o", recording)
    for pid in (silent.pids()[0], loud.pids()[0]):
        first = control(pid, "off")
        assert first.returncode == 0 and "measurement is off: 1 process\n" in first.stdout
    assert "as before" in control(silent.pids()[0], "off").stdout
    assert control(loud.pids()[0], "on").returncode == 0
    silent.work()
    loud.work()
    assert control(loud.pids()[0], "dump").returncode == 0
    assert gaspbpf.run("report", recording, "--json").returncode == 0
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert silent.end() == 0 and loud.end() == 0
    report = json.loads(out)
    told = {row["pid"]: row for row in report["controls"]}
    assert told[silent.pids()[0]]["last"] == 0 and told[loud.pids()[0]]["last"] == 1
    assert all(row["by"] == "gaspbpf control" for row in told.values())
    assert {row["pid"] for row in report["threads"]
            if row["delivered"]} & {silent.pids()[0], loud.pids()[0]} == {loud.pids()[0]}
    truth = loud.truths()[0]["functions"]["work"]["calls"]
    assert gaspbpf.events(report)["work"]["calls"] == truth


def test_who_may(job, observe, tmp_path):
    """Its owner and root; and nobody observes a process that is not observed."""
    waiting = job([build(tmp_path), "--outside", "1"]).wait_ready()
    pid = waiting.pids()[0]
    nobody = control(pid, "off")
    assert nobody.returncode == 1 and "no running gaspbpf observes it" in nobody.stderr
    watcher = observe("-p", pid, "-m", "pupc", "--json")
    program = tmp_path / "gaspbpf"
    shutil.copy(gaspbpf.PROGRAM, program)
    for path in (tmp_path, *list(tmp_path.parents)[:-2]):
        path.chmod(path.stat().st_mode | 0o011)
    other = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "control", "-p",
                            str(pid), "off"],
                           capture_output=True, text=True, timeout=gaspbpf.PATIENCE)
    assert other.returncode == 1 and "belongs to somebody else" in other.stderr
    assert gaspbpf.run("control", "-p", pid).returncode == 2 \
        and gaspbpf.run("control", "-p", "x", "off").returncode == 2
    waiting.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert waiting.end() == 0
    assert not json.loads(out)["controls"]


def test_mpi_pcontrol(job, observe, tmp_path):
    """MPI_Pcontrol: one rank is off for a while; the others are measured all the time."""
    source = tmp_path / "ranks.c"
    source.write_text("""
        #include <mpi.h>
        #include "job.h"
        int main(int argc, char **argv)
        {
            static struct job job = { .name = "pcontrol" };
            struct counts counts = { 0 };
            int on = 1;
            MPI_Init(&argc, &argv);
            MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
            job_options(&job, argc, argv, 0);
            job_begin(&job);
            for (int i = 0; i < 30; i++) {
                if (job.rank == 1 && (i == 10 || i == 20)) {
                    on = i == 20;
                    MPI_Pcontrol(on ? 2 : 0);
                }
                MPI_Barrier(MPI_COMM_WORLD);
                if (on)
                    count_call(&counts, "MPI_Barrier", 0);
            }
            job_finish(&job);
            job_truth(&job, 30, 0, &counts, 0, 0);
            MPI_Finalize();
            return 0;
        }
        """)
    program = tmp_path / "ranks"
    subprocess.run(["mpicc.openmpi", f"-I{USER.parent}", source, USER.parent / "job.c", "-lm", "-lpthread", "-o",
                    program], check=True,
                   timeout=gaspbpf.PATIENCE)
    ranks = job(["mpirun.openmpi", "-n", "2", program], ranks=2, env=gaspbpf.MPI_ENVIRONMENT).wait_ready()
    watcher = observe("-p", ",".join(map(str, ranks.pids())), "-m", "mpi", "--json")
    ranks.work()
    status, out, errors = watcher.stop()
    assert status == 0, errors
    assert ranks.end() == 0
    report = json.loads(out)
    truth = sum(one["functions"]["MPI_Barrier"]["calls"] for one in ranks.truths())
    assert truth == 50
    assert gaspbpf.events(report)["GASP_MPI_BARRIER"]["calls"] == truth
    assert gaspbpf.events(report)["GASP_MPI_PCONTROL"]["calls"] == 2
    assert [(row["rank"], row["times"], row["last"]) for row in report["controls"]] == [(1, 1, 2)]
    assert report["controls"][0]["by"].endswith("MPI_Pcontrol")
    conformance.seen("openmpi-4.1.4", "GASP_MPI_PCONTROL")
