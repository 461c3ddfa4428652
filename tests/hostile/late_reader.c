/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * late_reader.c - the process that reads targets' memory takes long to start, as where its program lies on a file
 * system far away.
 *
 * Takes libbz2's place, which libdw needs and no file of a test does.
 */
#include <string.h>
#include <unistd.h>

#define LATE 3 /* s */

__attribute__((constructor)) static void start(int count, char **arguments)
{
	if (count > 0 && !strcmp(arguments[0], "gaspbpf-reader"))
		sleep(LATE);
}

int BZ2_bzDecompressInit(void)
{
	return -1;
}
int BZ2_bzDecompress(void)
{
	return -1;
}
int BZ2_bzDecompressEnd(void)
{
	return -1;
}
