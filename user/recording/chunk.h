/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chunk.h - private to user/recording: the frame that everything in a .gasp file stands in.
 */
#ifndef GASPBPF_RECORDING_CHUNK_H
#define GASPBPF_RECORDING_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

#define RECORDING_MAGIC "GASPBPF\n"
#define RECORDING_VERSION 1
#define FILE_HEAD 16  /* bytes: magic, version, flags */
#define CHUNK_HEAD 24 /* bytes before the payload */
#define CHUNK_RAW_MOST (64u << 20)
#define CHUNK_ZSTD 1u   /* flag: the payload is one zstd frame */
#define CHUNK_SLACK 320 /* zero bytes after a payload in memory: the span decoder checks once a record */

/* A type as it stands in the file. */
#define FOURCC(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

#define CHUNK_RUN FOURCC('R', 'U', 'N', ' ')
#define CHUNK_PROCESSES FOURCC('P', 'R', 'O', 'C')
#define CHUNK_THREADS FOURCC('T', 'H', 'R', 'D')
#define CHUNK_IMAGES FOURCC('I', 'M', 'A', 'G')
#define CHUNK_PROBES FOURCC('P', 'R', 'O', 'B')
#define CHUNK_SITES FOURCC('S', 'I', 'T', 'E')
#define CHUNK_SUMS FOURCC('S', 'U', 'M', 'S')
#define CHUNK_STEPS FOURCC('S', 'T', 'E', 'P')
#define CHUNK_CONTROLS FOURCC('C', 'T', 'R', 'L')
#define CHUNK_UNSEEN FOURCC('U', 'N', 'S', 'N')
#define CHUNK_COMMS FOURCC('C', 'O', 'M', 'M')
#define CHUNK_TEXTS FOURCC('T', 'E', 'X', 'T')
#define CHUNK_WINDOWS FOURCC('W', 'N', 'D', 'W')
#define CHUNK_QUEUES FOURCC('Q', 'U', 'E', 'U')
#define CHUNK_CHAINS FOURCC('C', 'H', 'A', 'N')
#define CHUNK_NODES FOURCC('N', 'O', 'D', 'E')
#define CHUNK_LATE FOURCC('L', 'A', 'T', 'E')
#define CHUNK_SPANS FOURCC('S', 'P', 'A', 'N')

struct chunk {
	uint64_t at; /* offset of its head in the file */
	uint32_t type, flags;
	uint32_t stored, raw; /* bytes of the payload in the file, and decoded */
	uint32_t crc;
};

void put_u32(uint8_t *to, uint32_t value); /* little-endian */
void put_u64(uint8_t *to, uint64_t value);
uint32_t get_u32(const uint8_t *from);
uint64_t get_u64(const uint8_t *from);

/* zstd contexts are large and made once. */
struct packer;
struct packer *packer_new(void); /* NULL: out of memory */
void packer_free(struct packer *packer);

/* Appends a whole chunk to `out`. Small ones, and those that do not shrink, are stored as they are. 0 or -errno. */
int chunk_append(struct packer *packer, struct buffer *out, uint32_t type, const uint8_t *raw, size_t size, bool pack);

/* Both return NULL, or what is wrong with the chunk, in words. */
/* Reads the head at chunk->at of a file of this size. */
const char *chunk_read_head(int fd, uint64_t file_size, struct chunk *chunk);
/*
 * Reads and checks the payload. *raw points into `stored` or `decoded`, which are reused from
 * call to call; CHUNK_SLACK zero bytes follow it.
 */
const char *chunk_read_payload(struct packer *packer, int fd, const struct chunk *chunk, struct buffer *stored,
			       struct buffer *decoded, const uint8_t **raw);
/* The same of a chunk that lies in memory; it sets *chunk. */
const char *chunk_in_memory(struct packer *packer, const uint8_t *bytes, size_t size, struct chunk *chunk,
			    struct buffer *stored, struct buffer *decoded, const uint8_t **raw);

#endif
