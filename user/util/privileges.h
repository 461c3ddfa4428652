/*
 * privileges.h - giving them up, before code runs that is not gaspbpf's.
 */
#ifndef GASPBPF_PRIVILEGES_H
#define GASPBPF_PRIVILEGES_H

#include "util/files.h"

/*
 * From here on this process is the caller, for good: without any capability, and no exec brings one back. Root that called as root keeps its
 * user number and has nothing for being user 0 any more. False: errno says why, and the process must not go on.
 */
bool give_up_privileges(const struct caller *caller);

#endif
