/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recording_damage_test.c - whatever happens to the file, reading it neither crashes nor hangs, and says where it
 * stops.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "recording/span_code.h"
#include "shared/recorded_job.h"
#include "util/files.h"

static void expect_refused(const void *bytes, size_t size, const char *words)
{
	struct capture_log log;
	struct recording *recording;
	const char *said;
	int fd = new_file();

	assert_int_equal(write_all(fd, bytes, size), 0);
	log = start_listening();
	assert_true(recording_open_fd(&recording, fd, "odd\x1b.gasp") < 0);
	said = heard(&log);
	if (lines(said) != 1 || !strstr(said, words) || !strstr(said, "odd\\x1b.gasp: "))
		fail_msg("said: %s", said);
	close(fd);
}

static void files_that_are_no_recordings(void **state)
{
	struct capture_log log;
	struct recording *recording;

	expect_refused("", 0, "empty");
	expect_refused("\177ELF and more that is no recording", 30, "not a gaspbpf recording");
	expect_refused("GASP", 4, "cut off");
	expect_refused("GASPBPF\n\2\0\0\0\0\0\0\0", 16, "recording format 2");
	log = start_listening();
	assert_int_equal(recording_open(&recording, "/nonexistent/x.gasp"), -ENOENT);
	assert_int_equal(recording_open(&recording, "/dev/zero"), -EINVAL);
	assert_int_equal(recording_open(&recording, "/tmp"), -EINVAL);
	assert_int_equal(lines(heard(&log)), 3);
}

/* --- damage ------------------------------------------------------------ */

static int count_span(void *context, const struct definitions *d, const struct span *span)
{
	size_t *count = context;

	assert_true(span->thread < d->nthreads && span->probe < d->nprobes && span->nwords <= GB_SLOTS);
	assert_true(span->site < d->nsites || span->site == NO_INDEX);
	assert_true(d->threads[span->thread].process < d->nprocesses);
	assert_true(span->end >= span->start && span->reason < GB_ENDS);
	++*count;
	return 0;
}

/* Of the spans of chunks; in `sum` their order counts. */
struct met {
	size_t spans, chunks;
	uint64_t sum;
};

static void meet(struct met *met, const struct recording_chunk *chunk)
{
	for (size_t i = 0; i < chunk->nspans; i++)
		met->sum = met->sum * 31 + (chunk->spans[i]->start ^ chunk->spans[i]->end ^ chunk->spans[i]->sequence);
	met->spans += chunk->nspans;
	met->chunks++;
}

static struct met read_chunks(struct recording *recording)
{
	struct recording_chunk chunk;
	struct met met = { 0 };

	for (size_t i = 0; i < recording_chunks(recording); i++)
		if (!recording_read_chunk(recording, i, &chunk))
			meet(&met, &chunk);
	return met;
}

/* A thread that reads ahead finds the same, and the same damage. */
static void read_ahead(int fd)
{
	struct recording_chunk chunk;
	struct recording *recording;
	struct read_ahead *ahead;
	struct met met = { 0 }, expected;

	if (recording_open_fd(&recording, fd, "damaged.gasp"))
		return;
	expected = read_chunks(recording);
	recording_close(recording);
	assert_int_equal(recording_open_fd(&recording, fd, "damaged.gasp"), 0);
	ahead = read_ahead_begin(recording);
	for (size_t i = 0; ahead && i < recording_chunks(recording); i++)
		if (!read_ahead_chunk(ahead, i, &chunk))
			meet(&met, &chunk);
	read_ahead_end(ahead);
	if (ahead) {
		assert_int_equal(met.sum, expected.sum);
		assert_int_equal(met.spans, expected.spans);
		assert_int_equal(met.chunks, recording_chunks(recording));
	}
	recording_close(recording);
}

/* Opens and reads in both ways; how many spans there were. */
static size_t read_whatever(int fd)
{
	struct recording *recording;
	size_t count = 0, late, i;
	struct met met;
	struct span_sink sink = { .span = count_span, .context = &count };
	struct span span;

	if (recording_open_fd(&recording, fd, "damaged.gasp"))
		return 0;
	recording_late(recording, &late);
	for (i = 0; i < late; i++) {
		recording_late_span(recording, i, &span);
		assert_true(span.thread < recording_definitions(recording)->nthreads);
	}
	assert_int_equal(recording_read(recording, &sink), 0);
	met = read_chunks(recording);
	/* Chunk by chunk the copies of late spans are checked too. */
	assert_true(met.spans <= count);
	recording_close(recording);
	return count;
}

static uint8_t *whole_file(int fd, size_t *size)
{
	struct stat status;
	uint8_t *bytes;

	assert_int_equal(fstat(fd, &status), 0);
	*size = (size_t)status.st_size;
	bytes = malloc(*size);
	assert_int_equal(pread(fd, bytes, *size, 0), *size);
	return bytes;
}

static void put_word(uint8_t *at, uint32_t word);
static void mend(uint8_t *bytes, size_t size);

/* A recording with one more chunk at its end: what is said when it is read, and how many sums there are. */
static const char *read_with(const char *type, const void *payload, size_t size, size_t *nsums)
{
	struct capture_log log;
	struct recording *recording;
	const char *said;
	uint8_t *bytes;
	struct job job;
	size_t before;
	int fd;

	run_job(&job, 100);
	fd = record_in_pieces(&job);
	bytes = whole_file(fd, &before);
	bytes = realloc(bytes, before + 24 + size);
	memset(bytes + before, 0, 24);
	memcpy(bytes + before, type, 4);
	put_word(bytes + before + 8, size);
	put_word(bytes + before + 12, size);
	memcpy(bytes + before + 24, payload, size);
	mend(bytes, before + 24 + size);
	assert_int_equal(pwrite(fd, bytes, before + 24 + size, 0), before + 24 + size);
	log = start_listening();
	assert_int_equal(recording_open_fd(&recording, fd, "odd.gasp"), 0);
	*nsums = recording_definitions(recording)->nsums;
	recording_close(recording);
	assert_int_equal(read_whatever(fd), job.nspans); /* and says it again */
	said = heard(&log);
	free(bytes);
	close(fd);
	job_free(&job);
	return said;
}

static void a_chunk_of_a_newer_writer_is_passed_over(void **state)
{
	size_t nsums;

	assert_string_equal(read_with("NEWS", "whatever", 8, &nsums), "");
	assert_int_equal(nsums, 3);
}

/* An entry is: index, length, fields; a field is: number, length, bytes. */
static void sums_that_cannot_be(void **state)
{
	static const struct {
		const char *payload;
		size_t size;
		const char *words;
	} cases[] = {
#define PAYLOAD(text) text, sizeof(text) - 1
		{ PAYLOAD("\3\6"
			  "\1\1\0"
			  "\2\1\0"),
		  "" },
		{ PAYLOAD("\3\11"
			  "\1\1\0"
			  "\2\1\0"
			  "\77\1\0"),
		  "" }, /* a field of a newer writer */
		{ PAYLOAD("\4\6"
			  "\1\1\0"
			  "\2\1\0"),
		  "a definition is missing" },
		{ PAYLOAD("\3\7"
			  "\1\1\0"
			  "\2\1\0"),
		  "a definition does not fit" },
		{ PAYLOAD("\3\3"
			  "\2\1\0"),
		  "no thread" },
		{ PAYLOAD("\3\3"
			  "\1\1\0"),
		  "no probe" },
		{ PAYLOAD("\3\6"
			  "\1\1\144"
			  "\2\1\0"),
		  "no thread" },
		{ PAYLOAD("\3\7"
			  "\1\1\0"
			  "\2\2\377\1"),
		  "no probe" },
		{ PAYLOAD("\3\22"
			  "\1\1\0"
			  "\2\1\0"
			  "\3\12\377\377\377\377\377\377\377\377\377\1"),
		  "more calls than there can be" },
		{ PAYLOAD("\3\12"
			  "\1\1\0"
			  "\2\1\0"
			  "\12\2\50\1"),
		  "too many columns" },
		{ PAYLOAD("\3\13"
			  "\1\1\0"
			  "\2\1\0"
			  "\12\3\47\1\1"),
		  "too many columns" },
		{ PAYLOAD("\3\12"
			  "\1\1\0"
			  "\2\1\0"
			  "\12\2\0\200"),
		  "a histogram is bad" },
		{ PAYLOAD("\3\10"
			  "\1\1\0"
			  "\2\1\0"
			  "\12\0"),
		  "a histogram is bad" },
	};
	size_t nsums;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *said = read_with("SUMS", cases[i].payload, cases[i].size, &nsums);

		if (*cases[i].words ? lines(said) != 2 || !strstr(said, cases[i].words) : *said)
			fail_msg("case %zu: said: %s", i, said);
		assert_int_equal(nsums, *cases[i].words ? 3 : 4);
	}
}

/* Whoever adds times of a recording must not go over the end of the numbers. */
static void times_that_cannot_be(void **state)
{
	static const struct {
		uint64_t start, end;
		enum record record;
	} cases[] = {
		{ 1, RECORDING_TIME_MOST, RECORD_SPAN },
		{ 1, RECORDING_TIME_MOST + 1, RECORD_BAD },
		{ UINT64_MAX - 1, UINT64_MAX, RECORD_BAD },
		{ 2, 1, RECORD_BAD },
	};
	const struct span_bounds bounds = { 1, 1, 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct span span = { .site = NO_INDEX, .start = cases[i].start, .end = cases[i].end };
		const struct gap gap = { .after = cases[i].start, .before = cases[i].end, .count = 1 };
		struct span_code code = { 0 };
		uint8_t bytes[2 * RECORD_MOST] = { 0 }, *end;
		const uint8_t *at = bytes;
		struct span read;
		struct gap read_gap;
		const char *wrong;

		assert_int_equal(span_code_fit(&code, 1, 1), 0);
		span_code_reset(&code, 0);
		end = span_encode(&code, bytes, &span);
		span_code_reset(&code, 0);
		assert_int_equal(record_decode(&code, &at, end, &bounds, &read, &read_gap, &wrong), cases[i].record);
		assert_true(cases[i].record != RECORD_BAD || strstr(wrong, "beyond all time"));
		memset(bytes, 0, sizeof(bytes));
		span_code_reset(&code, 0);
		end = gap_encode(&code, bytes, &gap);
		span_code_reset(&code, 0);
		at = bytes;
		if (gap.before > RECORDING_TIME_MOST)
			assert_int_equal(record_decode(&code, &at, end, &bounds, &read, &read_gap, &wrong), RECORD_BAD);
		span_code_free(&code);
	}
}

static void a_damaged_file_is_read_up_to_the_damage(void **state)
{
	struct capture_log log;
	const char *said;
	struct job job;
	uint8_t *bytes;
	size_t size, count;
	int fd;

	run_job(&job, 200000);
	fd = record(&job);
	bytes = whole_file(fd, &size);
	bytes[size / 2] ^= 4;
	assert_int_equal(pwrite(fd, bytes, size, 0), size);
	log = start_listening();
	count = read_whatever(fd);
	said = heard(&log);
	assert_true(count > 0 && count < job.nspans);
	assert_int_equal(lines(said), 1);
	assert_non_null(strstr(said, "damaged.gasp: damaged at byte "));
	assert_non_null(strstr(said, "a checksum does not match: what was read up to there is used"));
	read_ahead(fd);

	/* Cut in the middle of a chunk. */
	bytes[size / 2] ^= 4;
	assert_int_equal(pwrite(fd, bytes, size, 0), size);
	assert_int_equal(ftruncate(fd, (off_t)size / 2), 0);
	log = start_listening();
	count = read_whatever(fd);
	said = heard(&log);
	assert_true(count > 0 && count < job.nspans);
	assert_int_equal(lines(said), 1);
	assert_non_null(strstr(said, "the file ends inside a chunk"));
	free(bytes);
	close(fd);
	job_free(&job);
}

static uint32_t word_at(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* CRC-32 as in zlib, bit by bit: the test must not borrow the code it tests. */
static uint32_t crc_of(uint32_t crc, const uint8_t *at, size_t size)
{
	unsigned bit;

	crc = ~crc;
	while (size--) {
		crc ^= *at++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

/* Recomputes the checksums, so that damage gets past them: a file made on purpose. */
static void mend(uint8_t *bytes, size_t size)
{
	size_t at = 16;

	while (size - at >= 24) {
		uint32_t stored = word_at(bytes + at + 8), crc, i;

		if (stored > size - at - 24)
			return;
		crc = crc_of(crc_of(0, bytes + at, 16), bytes + at + 24, stored);
		for (i = 0; i < 4; i++)
			bytes[at + 16 + i] = (uint8_t)(crc >> (8 * i));
		at += 24 + stored;
	}
}

static void put_word(uint8_t *at, uint32_t word)
{
	unsigned i;

	for (i = 0; i < 4; i++)
		at[i] = (uint8_t)(word >> (8 * i));
}

/* The same file with nothing compressed, so that damage reaches what the chunks hold. */
static uint8_t *unpack(const uint8_t *bytes, size_t *size)
{
	uint8_t *out = malloc(16 * *size + 1024);
	size_t at = 16, to = 16;

	memcpy(out, bytes, 16);
	while (at < *size) {
		uint32_t stored = word_at(bytes + at + 8), raw = word_at(bytes + at + 12);

		assert_true(to + 24 + raw < 16 * *size);
		memcpy(out + to, bytes + at, 24);
		put_word(out + to + 8, raw);
		if (word_at(bytes + at + 4))
			assert_int_equal(ZSTD_decompress(out + to + 24, raw, bytes + at + 24, stored), raw);
		else
			memcpy(out + to + 24, bytes + at + 24, raw);
		put_word(out + to + 4, 0);
		at += 24 + stored;
		to += 24 + raw;
	}
	*size = to;
	mend(out, to);
	return out;
}

static void damage_and_read(const uint8_t *bytes, size_t size, size_t rounds, bool mended)
{
	uint8_t *copy = malloc(size);
	int fd = new_file();
	size_t i;

	for (i = 0; i < size; i += size / 200 + 1) { /* cut at many places */
		assert_int_equal(ftruncate(fd, (off_t)i), 0);
		assert_int_equal(pwrite(fd, bytes, i, 0), i);
		read_whatever(fd);
		read_ahead(fd);
	}
	for (i = 0; i < rounds; i++) {
		unsigned flips = 1 + (unsigned)below(4);

		memcpy(copy, bytes, size);
		while (flips--)
			copy[below(size)] = (uint8_t)(below(2) ? random_number() : 0xff);
		if (mended)
			mend(copy, size);
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, copy, size, 0), size);
		read_whatever(fd);
		read_ahead(fd);
	}
	free(copy);
	close(fd);
}

static void no_damage_harms(void **state)
{
	size_t size, flat_size, rounds = getenv("FUZZ_ROUNDS") ? strtoul(getenv("FUZZ_ROUNDS"), NULL, 10) : 1000;
	struct capture_log log = start_listening();
	uint8_t *bytes, *flat;
	struct rusage before, after;
	struct job job;
	int fd;

	run_job(&job, 300);
	fd = record_in_pieces(&job);
	bytes = whole_file(fd, &size);
	flat_size = size;
	flat = unpack(bytes, &flat_size);
	assert_int_equal(read_whatever(fd), job.nspans);
	getrusage(RUSAGE_SELF, &before);
	damage_and_read(bytes, size, rounds, false);
	damage_and_read(bytes, size, rounds, true);
	damage_and_read(flat, flat_size, 3 * rounds, true);
	getrusage(RUSAGE_SELF, &after);
	heard(&log);
	assert_true(after.ru_maxrss - before.ru_maxrss < 100 * 1024); /* KiB */
	free(bytes);
	free(flat);
	close(fd);
	job_free(&job);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_are_no_recordings),
		cmocka_unit_test(a_chunk_of_a_newer_writer_is_passed_over),
		cmocka_unit_test(sums_that_cannot_be),
		cmocka_unit_test(times_that_cannot_be),
		cmocka_unit_test(a_damaged_file_is_read_up_to_the_damage),
		cmocka_unit_test(no_damage_harms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
