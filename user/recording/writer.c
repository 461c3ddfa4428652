/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * writer.c - writes a recording.
 *
 * What is to be written is put together in memory as whole chunks (`out`) and goes to the file with one write.
 * When that fails, the file is cut back to what it was before, so that it always ends with a whole chunk,
 * and what was noted as written on the way is taken back. From then on spans are only counted: a full disk must not
 * disturb the observation, and the report at its end is still right. At the end there may be room again, or
 * just enough, for the definitions that changed; the facts of the run (end, loss) fit in any case, over the last
 * RUN chunk, which is written with some bytes to spare for that.
 *
 * Definitions belong to the caller and change under way (a thread gets a name, a site is located). What is new
 * is seen by count and written before the spans that may use it; what changed is seen by a hash
 * of the encoded entry (ledger.c), when the caller asks for a flush and at the end.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording/chunk.h"
#include "recording/definitions.h"
#include "recording/ledger.h"
#include "recording/recording.h"
#include "recording/span_code.h"
#include "util/files.h"
#include "util/clock.h"
#include "util/log.h"

#define CUT_SIZE (1u << 20) /* bytes of encoded spans after which a chunk ends */
#define CUT_DEFINITIONS (1u << 18)
#define RUN_SPARE 200 /* bytes by which the facts of the run may grow */

/* Ends of one thread's spans. */
struct order {
	uint64_t before; /* the largest of all earlier chunks */
	uint64_t here;   /* and of chunk number `chunk` */
	uint32_t chunk;
};

struct recording_writer {
	int fd;
	char *name;
	const struct definitions *d;
	int error;      /* the first that writing met; from then on spans are dropped */
	uint64_t bytes; /* in the file, all of them whole chunks */
	uint64_t unwritten;

	struct packer *packer;
	struct buffer out; /* chunks to be written */
	struct buffer payload, entry;

	struct buffer spans, late; /* payloads of the current chunks, heads included */
	struct span_code code, late_code;
	uint32_t nspans, ngaps, nlate;
	uint32_t last_late;   /* position */
	uint32_t chunk;       /* number of the current chunk, from 1 */
	uint64_t watermark;   /* largest end of any span so far */
	struct order *orders; /* by thread */
	size_t norders;

	struct ledger ledger;
	uint64_t run_hash;
	uint64_t run_at; /* the last RUN chunk in the file */
	size_t run_size; /* of its payload; 0: none yet */
};

/* --- failing ----------------------------------------------------------- */

static const char *advice(int error)
{
	switch (-error) {
	case ENOSPC:
		return "free space there, or record to another disk";
	case EDQUOT:
		return "free space of your quota, or record elsewhere";
	case EFBIG:
		return "raise the limit (ulimit -f), or record for a shorter time";
	case ENOMEM:
		return "free some memory";
	default:
		return "check the disk, or record elsewhere";
	}
}

/* Says it once; from now on spans are dropped. */
static void fail(struct recording_writer *w, int error)
{
	if (w->error)
		return;
	w->error = error;
	log_error("%s: writing failed: %s: %s; what was recorded up to here is kept and observation goes on",
		  log_safe(w->name), strerror(-error), advice(error));
}

/* --- to the file ------------------------------------------------------- */

/* Writes `out`, all or nothing. 0 or -errno, not said. */
static int commit(struct recording_writer *w)
{
	int error = w->out.failed ? -ENOMEM : write_all(w->fd, w->out.data, w->out.size);

	if (error) {
		/* Where even this fails the reader stops at the torn chunk. */
		if (ftruncate(w->fd, (off_t)w->bytes) || lseek(w->fd, (off_t)w->bytes, SEEK_SET) < 0)
			log_debug("%s: could not be cut back: %s", log_safe(w->name), strerror(errno));
		ledger_take_back(&w->ledger);
	} else {
		w->bytes += w->out.size;
		ledger_settle(&w->ledger);
	}
	buffer_clear(&w->out);
	return error;
}

/* --- definitions ------------------------------------------------------- */

static void put_entry(struct buffer *payload, uint64_t index, const struct buffer *entry)
{
	buffer_put_varint(payload, index);
	buffer_put_varint(payload, entry->size);
	buffer_put(payload, entry->data, entry->size);
	payload->failed |= entry->failed;
}

static int append_payload(struct recording_writer *w, uint32_t type)
{
	int error;

	if (w->payload.failed)
		return -ENOMEM;
	if (!w->payload.size)
		return 0;
	error = chunk_append(w->packer, &w->out, type, w->payload.data, w->payload.size, true);
	buffer_clear(&w->payload);
	return error;
}

/* Appends chunks with the new entries of a kind to `out`, and with the changed ones if asked for. */
static int append_kind(struct recording_writer *w, unsigned k, bool changed)
{
	const struct kind *kind = &kinds[k];
	size_t i = changed ? 0 : ledger_count(&w->ledger, k), count = kind_count(kind, w->d);
	int error = 0;

	buffer_clear(&w->payload);
	for (; i < count && !error; i++) {
		const void *entry = kind_entry(kind, w->d, i);
		const char *wrong;
		uint64_t hash;

		buffer_clear(&w->entry);
		entry_encode(&w->entry, kind->fields, entry);
		hash = ledger_hash(w->entry.data, w->entry.size);
		if (ledger_has(&w->ledger, k, i, hash))
			continue;
		wrong = entry_check(kind, w->d, entry);
		if (wrong) {
			log_error("%s: %s: this is a mistake in gaspbpf: please report it", log_safe(w->name), wrong);
			return -EINVAL;
		}
		put_entry(&w->payload, i, &w->entry);
		error = ledger_note(&w->ledger, k, i, hash);
		if (!error && w->payload.size >= CUT_DEFINITIONS)
			error = append_payload(w, kind->type);
	}
	return error ? error : append_payload(w, kind->type);
}

static int append_definitions(struct recording_writer *w, bool changed)
{
	int error = 0;
	unsigned k;

	for (k = 0; k < KINDS && !error; k++)
		error = append_kind(w, k, changed);
	return error;
}

/* --- the facts of the run ---------------------------------------------- */

static void encode_run(struct recording_writer *w, bool finished)
{
	struct def_run run = w->d->run; /* shares the strings */
	struct def_loss loss = w->d->loss;

	run.finished = finished;
	if (finished && !run.end) {
		run.end = clock_monotonic();
		run.end_realtime = clock_realtime();
	}
	if (w->unwritten)
		loss.unwritten = w->unwritten;
	buffer_clear(&w->payload);
	buffer_clear(&w->entry);
	entry_encode(&w->entry, run_fields, &run);
	put_entry(&w->payload, 0, &w->entry);
	buffer_clear(&w->entry);
	entry_encode(&w->entry, loss_fields, &loss);
	put_entry(&w->payload, 1, &w->entry);
}

/* Fills the payload up to `size` with an entry that says nothing. False where that is not possible. */
static bool pad_run(struct buffer *payload, size_t size)
{
	size_t zeros = size - payload->size - 3;
	uint8_t *to;

	if (payload->failed || size < payload->size + 3 || zeros >= 1 << 14)
		return false;
	to = buffer_reserve(payload, size - payload->size);
	if (!to)
		return false;
	to[0] = 2;                       /* index */
	to[1] = (uint8_t)(zeros | 0x80); /* its length, in two bytes even where one would do */
	to[2] = (uint8_t)(zeros >> 7);
	memset(to + 3, 0, zeros);
	payload->size = size;
	return true;
}

/* Appends a RUN chunk to `out` if the facts changed; it begins there at *at, which is else left alone. */
static int append_run(struct recording_writer *w, bool finished, size_t *at)
{
	uint64_t hash;

	encode_run(w, finished);
	hash = ledger_hash(w->payload.data, w->payload.size);
	if (hash == w->run_hash)
		return 0;
	if (!pad_run(&w->payload, w->payload.size + RUN_SPARE))
		return -ENOMEM;
	w->run_hash = hash;
	*at = w->out.size;
	return chunk_append(w->packer, &w->out, CHUNK_RUN, w->payload.data, w->payload.size, false);
}

/* Where nothing can be appended any more: over the last RUN chunk. */
static void rewrite_run(struct recording_writer *w)
{
	encode_run(w, true);
	buffer_clear(&w->out);
	if (!w->run_size || !pad_run(&w->payload, w->run_size) ||
	    chunk_append(w->packer, &w->out, CHUNK_RUN, w->payload.data, w->payload.size, false))
		return;
	if (pwrite(w->fd, w->out.data, w->out.size, (off_t)w->run_at) != (ssize_t)w->out.size)
		log_debug("%s: the facts of the run could not be written again", log_safe(w->name));
}

/* --- spans ------------------------------------------------------------- */

static void begin_chunk(struct recording_writer *w, uint64_t base)
{
	w->chunk++;
	w->nspans = w->ngaps = w->nlate = w->last_late = 0;
	span_code_reset(&w->code, base);
	span_code_reset(&w->late_code, base);
	buffer_clear(&w->spans);
	buffer_clear(&w->late);
	if (buffer_reserve(&w->spans, SPAN_HEAD))
		w->spans.size = SPAN_HEAD;
	if (buffer_reserve(&w->late, LATE_HEAD))
		w->late.size = LATE_HEAD;
}

/* Appends the current chunk of spans to `out`, its late spans before it. */
static int append_spans(struct recording_writer *w)
{
	int error;

	if (!w->nspans && !w->ngaps)
		return 0;
	if (w->spans.failed || w->late.failed)
		return -ENOMEM;
	if (w->nlate) {
		put_u32(w->late.data, w->nlate);
		put_u32(w->late.data + 4, 0);
		put_u64(w->late.data + 8, w->code.base);
		error = chunk_append(w->packer, &w->out, CHUNK_LATE, w->late.data, w->late.size, true);
		if (error)
			return error;
	}
	put_u32(w->spans.data, w->nspans);
	put_u32(w->spans.data + 4, w->ngaps);
	put_u64(w->spans.data + 8, w->code.base);
	put_u64(w->spans.data + 16, w->watermark);
	return chunk_append(w->packer, &w->out, CHUNK_SPANS, w->spans.data, w->spans.size, true);
}

/* Writes out the current chunk and what must stand before it; all definitions and facts that changed if asked for. */
static int cut(struct recording_writer *w, bool changed)
{
	uint64_t run_hash = w->run_hash, before = w->bytes;
	size_t run_at = SIZE_MAX;
	int error, result;

	if (w->error)
		return 0;
	error = append_definitions(w, changed);
	if (!error)
		error = append_spans(w);
	if (!error && changed)
		error = append_run(w, false, &run_at);
	if (error)
		w->out.failed = true; /* so that commit() takes all of it back */
	result = commit(w);
	if (!error)
		error = result;
	if (error) {
		w->run_hash = run_hash;
		w->unwritten += w->nspans;
		fail(w, error);
	} else if (run_at != SIZE_MAX) {
		w->run_at = before + run_at;
		w->run_size = w->payload.size; /* still the RUN chunk's */
	}
	w->nspans = w->ngaps = 0;
	return 0;
}

static int fit_orders(struct recording_writer *w, size_t threads)
{
	size_t room = 2 * threads;
	struct order *grown;

	if (threads <= w->norders)
		return 0;
	grown = realloc(w->orders, room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + w->norders, 0, (room - w->norders) * sizeof(*grown));
	w->orders = grown;
	w->norders = room;
	return 0;
}

/* Whether the thread had a span in an earlier chunk that ended after this one began; notes this one's end. */
static bool is_late(struct recording_writer *w, const struct span *span)
{
	struct order *order = &w->orders[span->thread];

	if (order->chunk != w->chunk) {
		if (order->here > order->before)
			order->before = order->here;
		order->here = 0;
		order->chunk = w->chunk;
	}
	if (span->end > order->here)
		order->here = span->end;
	return span->start < order->before;
}

static void add_late(struct recording_writer *w, const struct span *span)
{
	uint8_t *to;

	buffer_put_varint(&w->late, w->nspans - w->last_late); /* its position */
	to = buffer_reserve(&w->late, RECORD_MOST);
	if (!to)
		return;
	w->late.size = (size_t)(span_encode(&w->late_code, to, span) - w->late.data);
	w->last_late = w->nspans;
	w->nlate++;
}

/* Room for the span's thread and probe in all tables. */
static int prepare(struct recording_writer *w, size_t threads, size_t probes)
{
	if (threads <= w->norders && threads <= w->code.nthreads && threads <= w->late_code.nthreads &&
	    probes <= w->code.nprobes && probes <= w->late_code.nprobes)
		return 0;
	if (fit_orders(w, threads) || span_code_fit(&w->code, threads, probes) ||
	    span_code_fit(&w->late_code, threads, probes))
		return -ENOMEM;
	return 0;
}

int recording_span(struct recording_writer *w, const struct span *span)
{
	uint8_t *to;

	if (!span_is_sound(w->d, span)) {
		log_error("%s: a span is malformed: this is a mistake in gaspbpf: please report it", log_safe(w->name));
		return -EINVAL;
	}
	if (!w->error && prepare(w, (size_t)span->thread + 1, (size_t)span->probe + 1))
		fail(w, -ENOMEM);
	if (w->error) {
		w->unwritten++;
		return 0;
	}
	if (!w->nspans && !w->ngaps)
		begin_chunk(w, span->start);
	to = buffer_reserve(&w->spans, RECORD_MOST);
	if (to) {
		if (is_late(w, span))
			add_late(w, span);
		w->spans.size = (size_t)(span_encode(&w->code, to, span) - w->spans.data);
	}
	w->nspans++;
	if (span->end > w->watermark)
		w->watermark = span->end;
	if (w->spans.failed || w->spans.size >= CUT_SIZE || w->nspans + w->ngaps == RECORDING_CHUNK_SPANS)
		return cut(w, false);
	return 0;
}

int recording_gap(struct recording_writer *w, const struct gap *gap)
{
	uint8_t *to;

	if (gap->thread >= w->d->nthreads)
		return -EINVAL;
	if (w->error)
		return 0;
	if (!w->nspans && !w->ngaps)
		begin_chunk(w, gap->after);
	to = buffer_reserve(&w->spans, RECORD_MOST);
	if (to)
		w->spans.size = (size_t)(gap_encode(&w->code, to, gap) - w->spans.data);
	w->ngaps++;
	if (w->spans.failed || w->spans.size >= CUT_SIZE || w->nspans + w->ngaps == RECORDING_CHUNK_SPANS)
		return cut(w, false);
	return 0;
}

/* --- beginning and end ------------------------------------------------- */

static void writer_free(struct recording_writer *w)
{
	ledger_free(&w->ledger);
	free(w->orders);
	span_code_free(&w->code);
	span_code_free(&w->late_code);
	buffer_free(&w->out);
	buffer_free(&w->payload);
	buffer_free(&w->entry);
	buffer_free(&w->spans);
	buffer_free(&w->late);
	packer_free(w->packer);
	free(w->name);
	free(w);
}

/* A limit on file sizes must give EFBIG, not end the program. */
static void ignore_size_signal(void)
{
	struct sigaction action;

	if (!sigaction(SIGXFSZ, NULL, &action) && action.sa_handler == SIG_DFL)
		signal(SIGXFSZ, SIG_IGN);
}

int recording_create(struct recording_writer **writer, int fd, const char *name, const struct definitions *d)
{
	struct recording_writer *w = calloc(1, sizeof(*w));
	uint8_t head[FILE_HEAD] = RECORDING_MAGIC;
	int error = -ENOMEM;

	if (w) {
		w->fd = fd;
		w->d = d;
		w->name = strdup(name);
		w->packer = packer_new();
	}
	if (!w || !w->name || !w->packer)
		goto failed;
	ignore_size_signal();
	put_u32(head + 8, RECORDING_VERSION);
	put_u32(head + 12, 0);
	buffer_put(&w->out, head, sizeof(head));
	cut(w, true);
	error = w->error;
	if (error)
		goto failed_said;
	*writer = w;
	return 0;
failed:
	log_error("%s: not recorded: out of memory: free some memory", log_safe(name));
failed_said:
	close(fd);
	if (w)
		writer_free(w);
	return error;
}

int recording_flush(struct recording_writer *w)
{
	return cut(w, true);
}

/* The last things: after a failure there may be room again, or enough for this. */
static void write_end(struct recording_writer *w)
{
	size_t run_at;
	int error = append_definitions(w, true), result;

	if (!error)
		error = append_run(w, true, &run_at);
	if (error)
		w->out.failed = true;
	result = commit(w);
	if (error || result) {
		fail(w, error ?: result);
		rewrite_run(w);
	}
}

int recording_finish(struct recording_writer *w)
{
	int error;

	cut(w, true);
	write_end(w);
	if (close(w->fd) && errno != EINTR)
		fail(w, -errno);
	error = w->error;
	writer_free(w);
	return error;
}

uint64_t recording_unwritten(const struct recording_writer *w)
{
	return w->unwritten;
}

uint64_t recording_bytes(const struct recording_writer *w)
{
	return w->bytes;
}

static int sink_span(void *context, const struct definitions *d, const struct span *span)
{
	return recording_span(context, span);
}

static int sink_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	return recording_gap(context, gap);
}

struct span_sink recording_sink(struct recording_writer *w)
{
	return (struct span_sink){ .span = sink_span, .gap = sink_gap, .context = w };
}
