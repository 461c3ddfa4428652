/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.c - texts that a program points to and does not write to.
 */
#include <string.h>
#include <unistd.h>

#include "capture/announced/announced_private.h"

#define SHORT 64 /* bytes: a text near the end of a file may have no more behind it */

/* What nobody writes to is as it stands in the file, and the file stays when the process has gone. */
static bool read_constant(struct capture_session *s, struct process *process, const struct mapping *mapping,
			  uint64_t address, char *text, size_t size)
{
	struct known_image *known = session_image(s, process, mapping);

	if (known && known->image &&
	    pread(known->image->fd, text, size, address - mapping->start + mapping->offset) == (ssize_t)size)
		return true;
	return !process_read(process, address, text, size);
}

bool announced_constant_text(struct capture_session *s, struct captured_process *p, uint64_t address, char *text,
			     size_t room)
{
	/* What it mapped last may not have been seen any more, if it has ended: then what it mapped before. */
	struct process *process = !p ? NULL : p->process ?: p->before;
	const struct mapping *mapping = process ? process_mapping_at(process, address) : NULL;
	size_t size;

	if (!mapping || mapping->writable || !mapping->inode)
		return false;
	size = mapping->end - address < room ? mapping->end - address : room;
	if (!read_constant(s, process, mapping, address, text, size) &&
	    !read_constant(s, process, mapping, address, text, size = size < SHORT ? size : SHORT))
		return false;
	if (memchr(text, '\0', size))
		return true;
	if (size < room)
		return false;
	text[room - 1] = '\0';
	return true;
}
