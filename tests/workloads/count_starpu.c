/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts StarPU's functions, internal ones included, and reports StarPU's own statistics
 * (LD_PRELOAD=libcount_starpu.so).
 *
 * Debian's libstarpu exports its internal functions and calls them through its dynamic symbols, so calls that StarPU
 * makes to itself are counted too. For programs that do not print them, StarPU's profiling is switched on, and when the
 * program shuts StarPU down the tasks that each worker executed and the bytes moved between memory nodes are kept for
 * the report: "workers":[{"id","name","type","executed"}], "transfers":[{"from","to","count","bytes"}]
 */
#include "count.h"

#include "starpu_statistics.h"

const char *const count_library = "starpu";

static char statistics[16384];

int starpu_initialize(struct starpu_conf *conf, int *argc, char ***argv);

int starpu_initialize(struct starpu_conf *conf, int *argc, char ***argv)
{
	int result;

	NEXT(starpu_initialize);
	TALLY(starpu_initialize, 0, 0, 0);
	result = next(conf, argc, argv);
	if (result == 0)
		starpu_profiling_status_set(STARPU_PROFILING_ENABLE);
	return result;
}

void starpu_shutdown(void)
{
	int at;

	NEXT(starpu_shutdown);
	TALLY(starpu_shutdown, 0, 0, 0);
	/* The last tasks must be accounted for before the workers are asked. */
	starpu_task_wait_for_all();
	at = starpu_workers_json(statistics, sizeof(statistics));
	starpu_transfers_json(statistics + at, sizeof(statistics) - at);
	next();
}

int count_more(char *text, size_t size)
{
	return snprintf(text, size, "%s", statistics);
}

#include "count_starpu_names.h"
