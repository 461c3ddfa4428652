/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/machine.h"

#include <unistd.h>

unsigned machine_cpus(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus > 0 ? (unsigned)cpus : 0;
}
