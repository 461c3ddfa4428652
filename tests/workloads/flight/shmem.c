/* SPDX-License-Identifier: BSD-2-Clause */
/* PEs put into each other's memory under a lock; then all but PE 0 wait at a barrier, which it reaches only when
 * GATE/late is there. */
#include <shmem.h>

#include "log.h"
#include "shmem_leave.h"

static long lock, place;

int main(int argc, char **argv)
{
	int me, other;

	flight_options(argc, argv);
	shmem_init();
	me = shmem_my_pe();
	other = (me + 1) % shmem_n_pes();
	log_open(me);
	gate_mark("ready", me);
	gate_wait("go");
	for (long i = 0; i < rounds; i++) {
		DO("GASP_SHMEM_LOCK", shmem_set_lock(&lock));
		DO("GASP_SHMEM_PUT", shmem_long_put(&place, &i, 1, other));
		DO("GASP_SHMEM_UNLOCK", shmem_clear_lock(&lock));
	}
	if (!me)
		gate_wait("late");
	DO("GASP_SHMEM_BARRIER_ALL", shmem_barrier_all());
	gate_mark("done", me);
	gate_wait("end");
	leave_in_order();
}
