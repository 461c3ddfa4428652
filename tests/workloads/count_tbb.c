/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts calls of TBB's library, as templates in the program make them (LD_PRELOAD=libcount_tbb.so). The list of names
 * is made from the library when this is built. Calls that libtbb makes to itself go past this.
 */
#include "count.h"

const char *const count_library = "tbb";

#include "count_tbb_names.h"
