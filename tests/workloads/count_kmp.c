/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts calls of LLVM's OpenMP runtime (LD_PRELOAD=libcount_kmp.so). The list of names is made from the library when
 * this is built. Most calls that libomp makes to its own exported functions go by its table of other files' functions:
 * they come here, too. Those that the linker bound inside it go past this.
 */
#include "count.h"

const char *const count_library = "kmp";

#include "count_kmp_names.h"
