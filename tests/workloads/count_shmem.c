/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts OpenSHMEM calls, those that the library makes to itself included (LD_PRELOAD=libcount_shmem.so): allocation
 * calls barrier_all, barrier_all calls quiet, a lock fetches and adds. shmem_X and pshmem_X are one address in the
 * library and count as shmem_X. The list of names is made from the library when this is built.
 */
#include "count.h"

const char *const count_library = "shmem";

#include "count_shmem_names.h"
