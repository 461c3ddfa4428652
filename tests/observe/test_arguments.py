# SPDX-License-Identifier: BSD-2-Clause
"""START and END events carry the arguments that GASP's tables give each of them."""
import json
import re

import pytest

import conformance
import gaspbpf

# Each call writes what it did on its own: the truth.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
static void *volatile kept;
int main(int argc, char **argv)
{
	FILE *truth = fopen(argv[1], "w");
	static char room[65536];
	void *more;
	setvbuf(truth, room, _IOFBF, sizeof(room));
	fprintf(truth, "\n");
	for (unsigned long i = 0; i < 20; i++) {
		kept = malloc(1000 + i);
		fprintf(truth, "MALLOC nbytes=%lu|MALLOC nbytes=%lu returnptr=%p\n", 1000 + i, 1000 + i, kept);
		more = realloc(kept, 90000 + i);
		fprintf(truth, "REALLOC ptr=%p size=%lu|REALLOC ptr=%p size=%lu returnptr=%p\n", kept, 90000 + i, kept, 90000 + i, more);
		kept = more;
		free(kept);
		fprintf(truth, "FREE ptr=%p|FREE ptr=%p\n", more, more);
		kept = more = calloc(10 + i, 30);
		fprintf(truth, "CALLOC nmemb=%lu size=30|CALLOC nmemb=%lu size=30 returnptr=%p\n", 10 + i, 10 + i, more);
		free(more);
		more = NULL;
		int error = posix_memalign(&more, 64, 2000 + i);
		fprintf(truth, "POSIX_MEMALIGN alignment=64 size=%lu|POSIX_MEMALIGN alignment=64 size=%lu returnptr=%p error=%d\n", 2000 + i,
			2000 + i, more, error);
		free(more);
		kept = more = aligned_alloc(128, 1280);
		fprintf(truth, "ALIGNED_ALLOC alignment=128 size=1280|ALIGNED_ALLOC alignment=128 size=1280 returnptr=%p\n", more);
		free(more);
		kept = more = valloc(3000 + i);
		fprintf(truth, "VALLOC size=%lu|VALLOC size=%lu returnptr=%p\n", 3000 + i, 3000 + i, more);
		free(more);
	}
	return fclose(truth) != 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arguments")
    (folder / "calls.c").write_text(PROGRAM)
    gaspbpf.compile_c(folder / "calls.c", folder / "calls", "-O0", "-w", "-D_GNU_SOURCE")
    return folder / "calls"


def test_allocation_has_the_specs_arguments(program, tmp_path, rung):
    """GASP 1.4 table 2: nbytes at START, nbytes and returnptr at END, and so on, in this order and nothing else."""
    result = gaspbpf.run("record", "-m", "c", "-o", tmp_path / "run.gasp", "-o", tmp_path / "run.events", "--", program,
                         tmp_path / "truth")
    assert result.returncode == 0, result.stderr
    pairs = [line.split("|") for line in (tmp_path / "truth").read_text().splitlines() if line]
    assert len(pairs) == 20 * 7
    lines = (tmp_path / "run.events").read_text().splitlines()
    events = [re.sub(r" @ .*", "", line).split(" ", 3)[3] for line in lines if " GASP_C_" in line]
    at = 0
    for start, end in pairs:
        at = events.index(f"START GASP_C_{start}", at)  # in the order of the calls
        assert events[at + 1] == f"END GASP_C_{end}"
    conformance.seen("glibc", "GASP_C_MALLOC", "GASP_C_REALLOC", "GASP_C_FREE", "GASP_C_CALLOC",
                     "GASP_C_POSIX_MEMALIGN", "GASP_C_ALIGNED_ALLOC", "GASP_C_VALLOC")
    # The recording explains itself: no model is needed to read it.
    (tmp_path / "none").mkdir()
    again = gaspbpf.run("export", tmp_path / "run.gasp", "-o", tmp_path / "again.events",
                        env={"GASPBPF_MODELS": tmp_path / "none"})
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.events").read_text().splitlines() == lines


# What each function was called with and gave, written down by the program itself.
PTHREADS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
static FILE *truth;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t sem;
static pthread_mutex_t hold = PTHREAD_MUTEX_INITIALIZER;
static int go;
#define TOLD(event, name, object) fprintf(truth, #event " " #name "=%p|" #event " " #name "=%p\n", (void *)(object), (void *)(object))
#define GAVE(event, name, object, result) \
	fprintf(truth, #event " " #name "=%p|" #event " " #name "=%p result=%d\n", (void *)(object), (void *)(object), result)
static void *quick(void *argument) { return argument; }
static void *slow(void *argument) { pthread_mutex_lock(&hold); pthread_mutex_unlock(&hold); return argument; }
static void *signaller(void *argument)
{
	pthread_mutex_lock(&m);
	go = 1;
	pthread_cond_signal(&c);
	pthread_mutex_unlock(&m);
	return argument;
}
int main(int argc, char **argv)
{
	static char room[1 << 16];
	struct timespec past = { 1, 0 }, future;
	pthread_t thread;
	void *value;
	int result;
	truth = fopen(argv[1], "w");
	setvbuf(truth, room, _IOFBF, sizeof(room));
	pthread_spin_init(&spin, 0);
	pthread_barrier_init(&barrier, NULL, 1);
	sem_init(&sem, 0, 1);

	pthread_mutex_lock(&m);                      TOLD(MUTEX_LOCK, mutex, &m);
	result = pthread_mutex_trylock(&m);          GAVE(MUTEX_TRYLOCK, mutex, &m, result);
	result = pthread_mutex_timedlock(&m, &past); GAVE(MUTEX_TIMEDLOCK, mutex, &m, result);
	pthread_mutex_unlock(&m);                    TOLD(MUTEX_UNLOCK, mutex, &m);
	pthread_spin_lock(&spin);
	result = pthread_spin_trylock(&spin);        GAVE(SPIN_TRYLOCK, spin, &spin, result);
	pthread_spin_unlock(&spin);                  TOLD(SPIN_UNLOCK, spin, &spin);
	pthread_rwlock_rdlock(&rw);                  TOLD(RWLOCK_RDLOCK, rwlock, &rw);
	result = pthread_rwlock_trywrlock(&rw);      GAVE(RWLOCK_TRYWRLOCK, rwlock, &rw, result);
	result = pthread_rwlock_timedwrlock(&rw, &past); GAVE(RWLOCK_TIMEDWRLOCK, rwlock, &rw, result);
	pthread_rwlock_unlock(&rw);                  TOLD(RWLOCK_UNLOCK, rwlock, &rw);
	pthread_rwlock_wrlock(&rw);                  TOLD(RWLOCK_WRLOCK, rwlock, &rw);
	result = pthread_rwlock_tryrdlock(&rw);      GAVE(RWLOCK_TRYRDLOCK, rwlock, &rw, result);
	pthread_rwlock_unlock(&rw);                  TOLD(RWLOCK_UNLOCK, rwlock, &rw);
	result = pthread_rwlock_timedrdlock(&rw, &past); GAVE(RWLOCK_TIMEDRDLOCK, rwlock, &rw, result);
	pthread_barrier_wait(&barrier);              TOLD(BARRIER_WAIT, barrier, &barrier);
	sem_wait(&sem);                              TOLD(SEM_WAIT, sem, &sem);
	result = sem_trywait(&sem);                  GAVE(SEM_TRYWAIT, sem, &sem, result);
	result = sem_timedwait(&sem, &past);         GAVE(SEM_TIMEDWAIT, sem, &sem, result);
	sem_post(&sem);                              TOLD(SEM_POST, sem, &sem);
	pthread_cond_signal(&c);                     TOLD(COND_SIGNAL, cond, &c);
	pthread_cond_broadcast(&c);                  TOLD(COND_BROADCAST, cond, &c);
	pthread_mutex_lock(&m);
	result = pthread_cond_timedwait(&c, &m, &past);
	fprintf(truth, "COND_TIMEDWAIT cond=%p mutex=%p|COND_TIMEDWAIT cond=%p mutex=%p result=%d\n", (void *)&c, (void *)&m, (void *)&c, (void *)&m, result);
	result = pthread_create(&thread, NULL, signaller, NULL);
	while (!go) {
		pthread_cond_wait(&c, &m);
		fprintf(truth, "COND_WAIT cond=%p mutex=%p|COND_WAIT cond=%p mutex=%p\n", (void *)&c, (void *)&m, (void *)&c, (void *)&m);
	}
	pthread_mutex_unlock(&m);
	pthread_join(thread, NULL);
	fprintf(truth, "JOIN thread=%lu retval=0x0|JOIN thread=%lu retval=0x0\n", thread, thread);
	result = pthread_create(&thread, NULL, quick, &sem);
	fprintf(truth, "CREATE attr=0x0 start=%p argument=%p|CREATE attr=0x0 start=%p argument=%p thread=%lu result=%d\n", (void *)quick, (void *)&sem,
		(void *)quick, (void *)&sem, thread, result);
	clock_gettime(CLOCK_REALTIME, &future);
	future.tv_sec += 1000;
	result = pthread_timedjoin_np(thread, &value, &future);
	fprintf(truth, "TIMEDJOIN thread=%lu retval=%p|TIMEDJOIN thread=%lu retval=%p result=%d\n", thread, (void *)&value, thread, (void *)&value, result);
	pthread_mutex_lock(&hold);
	pthread_create(&thread, NULL, slow, NULL);
	result = pthread_tryjoin_np(thread, NULL);
	fprintf(truth, "TRYJOIN thread=%lu retval=0x0|TRYJOIN thread=%lu retval=0x0 result=%d\n", thread, thread, result);
	pthread_mutex_unlock(&hold);
	pthread_join(thread, NULL);
	return fclose(truth) != 0;
}
"""


def test_every_event_of_pthreads_has_its_arguments(tmp_path):
    """All of the model but for what glibc implements in the same code (see models/pthread.model)."""
    (tmp_path / "calls.c").write_text(PTHREADS)
    gaspbpf.compile_c(tmp_path / "calls.c", tmp_path / "calls", "-O0", "-pthread")
    result = gaspbpf.run("record", "-m", "pthread", "-o", tmp_path / "run.events", "--", tmp_path / "calls",
                         tmp_path / "truth")
    assert result.returncode == 0, result.stderr
    pairs = [line.split("|") for line in (tmp_path / "truth").read_text().splitlines() if line]
    lines = (tmp_path / "run.events").read_text().splitlines()
    # the first thread has the number of the process
    main = [line for line in lines if re.search(r" pid:(\d+) \S+:\1 ", line)]
    events = [re.sub(r" @ .*", "", line).split(" ", 3)[3] for line in main]
    seen, at = set(), 0
    for start, end in pairs:
        at = events.index(f"START GASP_PTHREAD_{start}", at)  # in the order of the calls
        ends = [event for event in events[at:] if event.startswith(f"END GASP_PTHREAD_{start.split()[0]} ")]
        # the next of its name: none of these calls contains another of the same
        assert ends[0] == f"END GASP_PTHREAD_{end}"
        seen.add("GASP_PTHREAD_" + start.split()[0])
    known = {event["name"] for event in json.loads(gaspbpf.run("events", "pthread", "--json").stdout)["events"]}
    # begins with a lock prefix, which cannot carry a probe: models/seen/none.list
    assert seen == known - {"GASP_PTHREAD_SPIN_LOCK"}
    conformance.seen("glibc", *sorted(seen))
