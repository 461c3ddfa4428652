/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts calls of OpenMP's runtime, as the program makes them (LD_PRELOAD=libcount_gomp.so). The list of names is made
 * from the library when this is built. Calls that libgomp makes to itself go past this.
 */
#include "count.h"

const char *const count_library = "gomp";

#include "count_gomp_names.h"
