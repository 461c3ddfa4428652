/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * minidebug.c - .gnu_debugdata, the small symbol table that Fedora and others leave in stripped files.
 *
 * It is a whole ELF file, packed with xz, that holds only .symtab. libdw would unpack it too, but without a
 * limit, and xz packs zeros at 7000 to 1; so liblzma (which libdw needs anyway) does it here, up to a limit, which
 * is lower where it packs better than symbols can be packed: a second of work must not cost its maker 50 KB.
 */
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/image_private.h"
#include "util/files.h"

#define PACKED_MOST (64u << 20)
#define UNPACKED_MOST (256ull << 20)
#define UNPACKED_FREELY (16ull << 20) /* whatever its size */
#define RATIO 64u                     /* bytes that each one may become; symbols do not reach 10 */
#define DECODER_MEMORY (128ull << 20) /* xz -9 needs 65 MiB */
#define STEP 65536u
#define BYTES_PER_STEP 16u

/* Unpacks all of `packed` into fd. */
static int unpack(const uint8_t *packed, size_t size, int fd)
{
	static const lzma_stream start = LZMA_STREAM_INIT;
	lzma_stream stream = start;
	uint8_t *out = malloc(STEP);
	lzma_ret state = LZMA_OK;
	int error = 0;

	if (!out || lzma_stream_decoder(&stream, DECODER_MEMORY, 0) != LZMA_OK) {
		free(out);
		return -ENOMEM;
	}
	stream.next_in = packed;
	stream.avail_in = size;
	while (!error && state == LZMA_OK) {
		stream.next_out = out;
		stream.avail_out = STEP;
		state = lzma_code(&stream, LZMA_FINISH);
		if (stream.total_out > UNPACKED_MOST ||
		    (stream.total_out > UNPACKED_FREELY && stream.total_out / RATIO > size))
			error = -EFBIG;
		else
			error = reading_pauses(STEP / BYTES_PER_STEP) ? -ECANCELED
								      : write_all(fd, out, STEP - stream.avail_out);
	}
	if (!error && state != LZMA_STREAM_END)
		error = -EINVAL;
	lzma_end(&stream);
	free(out);
	return error;
}

int minidebug_open(const struct elf_file *elf)
{
	const Elf64_Shdr *section = elf_section(elf, ".gnu_debugdata");
	uint8_t *packed;
	int fd, error;

	if (!section)
		return -ENOENT;
	packed = elf_section_bytes(elf, section, PACKED_MOST);
	if (!packed)
		return -EINVAL;
	fd = memfd_create("gaspbpf-symbols", MFD_CLOEXEC);
	error = fd < 0 ? -errno : unpack(packed, section->sh_size, fd);
	free(packed);
	if (error && fd >= 0)
		close(fd);
	return error ? error : fd;
}
