# SPDX-License-Identifier: BSD-2-Clause
"""What the threads of an OpenMP team do where they are in no call: they wait between their shares of regions. By the
clocks of the job itself, which is built by GCC and by Clang, with its names and without."""
import itertools
import json
import subprocess

import pytest

import gaspbpf

ENVIRONMENT = {"OMP_WAIT_POLICY": "passive"}

# Each thread notes when its share of each region began and ended, and the first one when it came to each region and
# when it had left it: the shares, as a probe sees them, lie between the two, and their waiting the other way round.
SHARES = """
#include <omp.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
#define REGIONS 60
static unsigned long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ul + t.tv_nsec;
}
static unsigned long before[REGIONS], after[REGIONS], from[3][REGIONS], to[3][REGIONS];
static long tid[3];
static void list(const char *name, const unsigned long *values)
{
	printf("\\"%s\\": [", name);
	for (int i = 0; i < REGIONS; i++)
		printf("%s%lu", i ? ", " : "", values[i]);
	printf("], ");
}
int main(void)
{
	for (int i = 0; i < REGIONS; i++) {
		before[i] = now();
#pragma omp parallel num_threads(3)
		{
			int me = omp_get_thread_num();
			tid[me] = syscall(SYS_gettid);
			from[me][i] = now();
			usleep(1000 * (me + 1));
			to[me][i] = now();
		}
		after[i] = now();
		usleep(20000);
	}
	printf("{");
	list("before", before);
	list("after", after);
	for (int i = 0; i < 3; i++) {
		char name[20];
		snprintf(name, sizeof(name), "from%d", i);
		list(name, from[i]);
		snprintf(name, sizeof(name), "to%d", i);
		list(name, to[i]);
	}
	printf("\\"tids\\": [%ld, %ld, %ld]}\\n", tid[0], tid[1], tid[2]);
	return 0;
}
"""


def build(tmp_path, source, compiler, stripped=False):
    program = tmp_path / "job"
    (tmp_path / "job.c").write_text(source)
    subprocess.run([compiler, "-O1", "-fopenmp", "-o", program, tmp_path / "job.c"], check=True,
                   timeout=gaspbpf.PATIENCE)
    if stripped:
        subprocess.run(["strip", program], check=True)
    return program


def observed(tmp_path, program):
    """The job's own account and the report."""
    result = gaspbpf.run("-q", "--json", "-o", tmp_path / "run.gasp", "--", program, env=ENVIRONMENT)
    assert result.returncode == 0, result.stderr
    own, _, report = result.stdout.partition("\n")
    return json.loads(own), json.loads(report)


def calls_of(report, tid, event):
    return sum(row["calls"] for row in report["by_thread"] if (row["tid"], row["name"]) == (tid, event))


def apart(ends, starts):
    """ns between the end of each and the start of the next one."""
    return sum(start - end for end, start in zip(ends, starts[1:]))


@pytest.mark.parametrize("compiler, stripped", itertools.product(("gcc", "clang"), (False, True)))
def test_a_worker_waits_between_its_shares(tmp_path, compiler, stripped):
    own, report = observed(tmp_path, build(tmp_path, SHARES, compiler, stripped))
    threads = {thread["tid"]: thread for thread in report["threads"]}
    for number, tid in enumerate(own["tids"]):
        group, seen = threads[tid]["group_ns"], calls_of(report, tid, "GASP_OMP_IMPLICIT_TASK")
        # On libgomp those of the first regions are not seen: nothing was known of the function.
        assert (seen == 60) if compiler == "clang" else (0 < seen < 60), (number, seen)
        before, after = own["before"][-seen:], own["after"][-seen:]
        began, ended = own[f"from{number}"][-seen:], own[f"to{number}"][-seen:]
        shares = sum(ended) - sum(began)
        assert shares <= group["task"], number
        assert sum(group.values()) == threads[tid]["wall_ns"]
        if not number:
            assert group["outside"] >= apart(after, before) and group["not_seen"] == 0
            continue
        assert group["outside"] == 0
        assert group["task"] <= sum(after) - sum(before)
        assert apart(after, before) <= group["wait"] <= apart(ended, began), number
    # What is waited in regions and between them is told of: shares are uneven, and most time is outside of regions.
    found = {finding["kind"]: finding for finding in report["findings"]}
    assert {"uneven_region", "serial_code"} <= set(found) and "team_wait" not in found
    assert found["uneven_region"]["tid"] == own["tids"][2]
    waits, walls = (sum(values) for values in zip(*((thread["group_ns"]["wait"], thread["wall_ns"])
                                                    for thread in report["threads"])))
    told = found["uneven_region"]["weight_ns"] + found["serial_code"]["weight_ns"]
    assert abs(told - waits) <= 0.05 * walls
    # The one who begins the region waits in it for the others.
    master = threads[own["tids"][0]]["group_ns"]
    assert master["wait"] >= seen * 500_000 and master["task"] > 0


ONCE = """
#include <stdio.h>
#include <unistd.h>
#include <sys/syscall.h>
static long tid[3];
static void meet(void)
{
	for (int i = 0; i < 3; i++) {
#pragma omp barrier
		usleep(20000);
	}
#pragma omp barrier
}
int main(void)
{
#pragma omp parallel num_threads(3)
	{
		extern int omp_get_thread_num(void);
		tid[omp_get_thread_num()] = syscall(SYS_gettid);
		usleep(50000);
		meet();
	}
#ifdef TWICE
	usleep(100000);
#pragma omp parallel num_threads(3)
	meet();
#endif
	printf("[%ld, %ld, %ld]\\n", tid[0], tid[1], tid[2]);
	return 0;
}
"""


@pytest.mark.parametrize("regions", (1, 2))
def test_what_was_not_seen_is_no_work(tmp_path, regions):
    """Regions whose functions come once: of these the shares are not seen. Within a single one a thread is in its share
    from its first call to its last; with two of them nothing is known of what it does between calls."""
    source = ("#define TWICE\n" if regions == 2 else "") + ONCE
    tids, report = observed(tmp_path, build(tmp_path, source, "gcc"))
    threads = {thread["tid"]: thread["group_ns"] for thread in report["threads"]}
    assert {row["name"] for row in report["events"]} == {"GASP_OMP_PARALLEL", "GASP_OMP_BARRIER"}
    for tid in tids[1:]:
        assert threads[tid]["not_seen"] >= 50_000_000
        if regions == 1:
            assert threads[tid]["outside"] >= 3 * 20_000_000
        else:
            assert threads[tid]["outside"] == 0 and threads[tid]["not_seen"] >= 200_000_000
    assert threads[tids[0]]["not_seen"] == 0
    assert "team_wait" not in {finding["kind"] for finding in report["findings"]}
    table = gaspbpf.run("report", tmp_path / "run.gasp").stdout
    assert " not seen " in table and "it was not seen which" in table


TASKS = r"""
static volatile double sink;
static void work(int n) { for (int i = 0; i < n * 1000; i++) sink += i; }
int main(void)
{
	for (int turn = 0; turn < 40; turn++) {
#pragma omp parallel num_threads(2)
#pragma omp single
		for (int i = 0; i < 20; i++) {
#pragma omp task
			work(400);
		}
	}
	return 0;
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_where_tasks_run_is_not_called_waiting(tmp_path, compiler):
    """All of the work is in tasks, which run at the region's end: nobody is said to wait there, or to be last."""
    (tmp_path / "tasks.c").write_text(TASKS)
    subprocess.run([compiler, "-O1", "-g", "-fopenmp", "-o", tmp_path / "tasks", tmp_path / "tasks.c"], check=True)
    result = gaspbpf.run("--json", "--", tmp_path / "tasks")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert not [each["text"] for each in report["findings"] if each["kind"] in ("team_wait", "uneven_region")]
    assert report["regions"]["with_tasks"] >= 30
    assert all(row["judged"] == 0 for row in report["regions"]["regions"])
