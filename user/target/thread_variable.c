/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread_variable.c - an int variable of the program of which each thread has its own, read from the memory of a
 * thread.
 *
 * Such variables of a program lie just below the thread's control block (thread-local storage, variant II of the ABI).
 * Where that is only one of the thread's own registers says, which nobody can ask for without stopping it. But the
 * control block begins with its own address, and again 16 bytes on, since code takes it from there; and C libraries
 * have the thread's list of robust locks in it, a bit further on, whose address the kernel knows.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/image_private.h"
#include "target/reader.h"

#define BLOCK_MOST 2048 /* bytes from the control block's beginning to the list; glibc 2.36: 736 */
#define BLOCK_ALIGN 16
#define TLS_MOST (1ull << 30)
#define SELF_AGAIN 16 /* offset of the second one */

int64_t robust_list_here(pid_t tid)
{
	uint64_t list = 0, size = 0;

	return syscall(SYS_get_robust_list, tid, &list, &size) ? -errno : (int64_t)list;
}

/* The thread pointer; 0: not known. */
static uint64_t thread_pointer(const struct process *process, pid_t tid)
{
	int64_t found = reader_robust_list(tid);
	uint64_t list = found;

	if (found < BLOCK_MOST || list % 8)
		return 0;
	for (uint64_t at = list - list % BLOCK_ALIGN; at > list - BLOCK_MOST; at -= BLOCK_ALIGN) {
		uint64_t self[SELF_AGAIN / 8 + 1];

		if (process_read(process, at, self, sizeof(self)))
			return 0;
		if (self[0] == at && self[SELF_AGAIN / 8] == at)
			return at;
	}
	return 0;
}

/* How far below the thread pointer the program's variables begin; 0: it has none, or they make no sense. */
static uint64_t block_size(const struct image *image)
{
	struct elf_file elf;
	uint64_t size = 0;

	if (elf_file_read(&elf, image->fd))
		return 0;
	for (size_t i = 0; i < elf.nsegments; i++) {
		const Elf64_Phdr *segment = &elf.segments[i];
		uint64_t align = segment->p_align ?: 1;

		if (segment->p_type == PT_TLS && segment->p_memsz < TLS_MOST && align <= TLS_MOST &&
		    !(align & (align - 1)))
			size = (segment->p_memsz + align - 1) & ~(align - 1);
	}
	elf_file_free(&elf);
	return size;
}

int image_read_thread_int(const struct image *image, const struct process *process, pid_t tid, const char *name,
			  int *value)
{
	uint64_t address = 0, size = block_size(image), pointer;

	if (image_variable(image, name, &address) != -ENOTSUP || !image->is_program || address >= size)
		return -ENOENT;
	pointer = thread_pointer(process, tid);
	return pointer > size ? process_read(process, pointer - size + address, value, sizeof(*value)) : -ESRCH;
}
