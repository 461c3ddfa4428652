/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostid.c - gethostid() in place of the C library's, for OTF2's library, which takes it into the number of an archive.
 *
 * That of glibc asks the name server for the host's own name, which takes seconds on a node that reaches none, and
 * waits for ever for a lock of its own where memory was short. The linker exports this one (Makefile), so it is found
 * first.
 */
#include <unistd.h>

long gethostid(void)
{
	char name[256] = "";
	unsigned long hash = 14695981039346656037ul; /* FNV-1a */

	if (gethostname(name, sizeof(name) - 1))
		return 0;
	for (const char *at = name; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211ul;
	return (long)(hash & 0xffffffff);
}
