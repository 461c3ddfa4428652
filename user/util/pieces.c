/* pieces.c - pieces of another process's memory, in one system call. */
#include "util/pieces.h"

#include <sys/uio.h>

bool pieces_read(pid_t pid, const struct memory_piece *pieces, size_t count)
{
	struct iovec local[PIECES_MOST], remote[PIECES_MOST];
	ssize_t all = 0;

	if (count > PIECES_MOST)
		return false;
	for (size_t i = 0; i < count; i++) {
		local[i] = (struct iovec){ pieces[i].bytes, pieces[i].size };
		remote[i] = (struct iovec){ (void *)(uintptr_t)pieces[i].address, pieces[i].size };
		all += (ssize_t)pieces[i].size;
	}
	return process_vm_readv(pid, local, count, remote, count, 0) == all;
}
