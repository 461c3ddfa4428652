/* SPDX-License-Identifier: BSD-2-Clause */
/* How a job of OpenSHMEM ends, since Debian's shmem_finalize() crashes. */
#ifndef WORKLOADS_SHMEM_LEAVE_H
#define WORKLOADS_SHMEM_LEAVE_H

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

/* To the launcher a process that ends without this has failed. */
static void leave_in_order(void)
{
	void *library = dlopen("libpmix.so.2", RTLD_NOLOAD | RTLD_NOW);
	int (*finalize)(const void *info, size_t n) = library ? dlsym(library, "PMIx_Finalize") : NULL;

	fflush(stdout);
	if (finalize)
		finalize(NULL, 0);
	_exit(0);
}

#endif
