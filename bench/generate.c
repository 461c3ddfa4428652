/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * generate.c - recordings of jobs that never ran, of any size, to see how the reading side grows.
 *
 *   generate MIX FILE SPANS [THREADS [PROBES [MODELS]]]     run from the top of the checkout, or name the folder of
 * models
 *
 *   mpi      ranks of 4 threads in a time-stepping program: two user functions around each other, and in them messages,
 *            waits, collectives, 7 to 12 words a call as the model captures them; one call around them all
 *   malloc   one process: blocks of a few sizes that live for a while, in lists under a lock
 *   one      the ranks of mpi, and nothing but MPI_Sendrecv: to see what the number of probes alone does
 *
 * Written by gaspbpf's own writer (user/recording), with the values that models/ say. Call sites, pointers, counts and
 * peers come from small sets, as they do in programs; times are random, and threads take turns as they do where each
 * has a CPU. PROBES beyond those of the mix are the same functions under further names, called in turn; fewer: the
 * calls are all of these. The same arguments give the same file.
 *
 * It prints what a reader must find: {"spans", "threads", "probes", "bytes" of the file, "seconds" it took, "events":
 * {name: calls}}.
 *
 * Built by `make build/bench/generate`.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/model.h"
#include "recording/recording.h"

#define THREADS_MOST 4096
#define SITES 24 /* places that call, a process */
#define LIVE 256 /* blocks of a thread that are in use */
#define BEGIN 1000000000000ULL

/* A function of a mix. usual: ns that a call takes, most often. */
struct kind {
	const char *model, *symbol;
	unsigned usual;
};

enum mpi { SOLVE, TIME_STEP, EXCHANGE_HALO, IRECV, ISEND, WAITALL, SENDRECV, ALLREDUCE, BARRIER };
static const struct kind mpi_kinds[] = {
	{ "phases", "solve", 0 },        { "phases", "time_step", 0 },     { "phases", "exchange_halo", 0 },
	{ "mpi", "MPI_Irecv", 400 },     { "mpi", "MPI_Isend", 600 },      { "mpi", "MPI_Waitall", 4000 },
	{ "mpi", "MPI_Sendrecv", 1500 }, { "mpi", "MPI_Allreduce", 9000 }, { "mpi", "MPI_Barrier", 6000 },
};

static const struct kind one_kinds[] = { { "mpi", "MPI_Sendrecv", 1500 } };

enum heap { MALLOC, FREE, CALLOC, LOCK, UNLOCK };
static const struct kind malloc_kinds[] = {
	{ "c", "malloc", 60 },
	{ "c", "free", 50 },
	{ "c", "calloc", 110 },
	{ "pthread", "pthread_mutex_lock", 40 },
	{ "pthread", "pthread_mutex_unlock", 40 },
};

static const char phases[] = "model phases\nlanguage PHASES\nlibrary job\n"
			     "SOLVE function void solve(void)\nTIME_STEP function void time_step(long step)\n"
			     "EXCHANGE_HALO function void exchange_halo(double *grid, int n)\n";

struct stream {         /* one thread */
	uint64_t clock; /* ns */
	uint64_t outer; /* when the call began that lasts to the end; 0: there is none */
	uint64_t calls, steps;
	uint32_t process;
	unsigned live;
	uint64_t blocks[LIVE];
};

struct mix {
	const char *name;
	const struct kind *kinds;
	unsigned nkinds, per_process;
	bool outer; /* a call of kind 0 lasts as long as each thread */
	void (*step)(struct stream *stream, uint32_t thread);
};

static struct definitions d;
static struct stream streams[THREADS_MOST];
static struct recording_writer *writer;
static const struct mix *mix;
static uint64_t left; /* spans still to be written */
static uint32_t threads, probes;
static uint64_t *calls_of; /* by probe */

static void *need(void *memory)
{
	if (!memory) {
		fprintf(stderr, "generate: out of memory\n");
		exit(1);
	}
	return memory;
}

static char *text(const char *format, ...)
{
	char *result = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&result, format, arguments) < 0)
		result = NULL;
	va_end(arguments);
	return need(result);
}

/* xorshift: the same numbers at every run */
static uint64_t below(uint64_t most)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % most;
}

/* Times scatter: most near the usual one, one in 64 up to 16 times that. */
static uint64_t around(unsigned usual)
{
	return usual / 2 + below(usual + 1) + (below(64) ? 0 : below(15 * usual + 1));
}

/* --- what is defined --------------------------------------------------- */

static const struct function *function_of(const struct model_set *set, const struct kind *kind)
{
	const struct model *model = models_find(set, kind->model);

	for (size_t i = 0; model && i < model->nfunctions; i++)
		if (!strcmp(model->functions[i].symbol, kind->symbol))
			return &model->functions[i];
	fprintf(stderr, "generate: %s: not in the models\n", kind->symbol);
	exit(1);
}

static const char *library_of(const struct kind *kind)
{
	return !strcmp(kind->model, "mpi") ? "libmpi.so.40" : !strcmp(kind->model, "phases") ? "job" : "libc.so.6";
}

/* nwords of a span is that of its probe, by index. */
static uint8_t *words_of;

static void define_probe(const struct model_set *set, uint32_t i)
{
	const struct kind *kind = &mix->kinds[i % mix->nkinds];
	const struct function *function = function_of(set, kind);
	unsigned copy = i / mix->nkinds;
	struct def_probe *probe;
	struct capture capture;

	if (definitions_add_probe(&d) != i || model_function_capture(function, library_of(kind), &capture))
		need(NULL);
	probe = &d.probes[i];
	probe->event = copy ? text("%s_%u", function->event, copy) : text("%s", function->event);
	probe->number = function->number + 0x100 * copy;
	probe->model = text("%s", kind->model);
	probe->role = function->role;
	probe->marks = function->marks;
	probe->symbol = copy ? text("%s_%u", function->symbol, copy) : text("%s", function->symbol);
	probe->prototype = text("%s", function->prototype);
	probe->image = !strcmp(kind->model, "phases");
	probe->offset = 0x4000 + 64 * i;
	probe->cost_ns = 400;
	probe->values = capture.values; /* ours from here; the program is not needed */
	probe->nvalues = capture.nvalues;
	words_of[i] = capture.program.slots;
}

static void define_process(uint32_t p)
{
	bool ranks = mix->per_process < THREADS_MOST;

	definitions_add_process(&d);
	d.processes[p] = (struct def_process){ .pid = 1000 + p,
					       .parent = 999,
					       .command = text("./job --steps 1000"),
					       .name = text("job"),
					       .rank = ranks ? (long)p : -1,
					       .unit = ranks ? text("rank") : NULL,
					       .start = BEGIN };
	for (unsigned i = 0; i < SITES; i++) {
		uint32_t site = definitions_add_site(&d);

		d.sites[site] = (struct def_site){
			.process = p,
			.address = 0x555555550000 + 0x10000 * p + 0x120 * i,
			.image = 1,
			.offset = 0x1000 + 0x120 * i,
			.located = true,
			.function = text("function_%u", i / 3),
			.function_offset = 0x20 + 0x40 * (i % 3),
			.file = text("/home/user/src/job.c"),
			.line = 40 + 7 * i,
			.column = 9,
		};
	}
}

static void define(const char *models)
{
	struct model_set *set;

	if (models_load_folder(&set, models) || models_add_text(set, "phases", phases, sizeof(phases) - 1))
		exit(1);
	d.run = (struct def_run){ .start = BEGIN,
				  .start_realtime = 1700000000000000000ULL,
				  .command = text("gaspbpf -p 1000 -o job.gasp"),
				  .host = text("host"),
				  .kernel = text("6.18"),
				  .version = text("bench"),
				  .rung = text("session"),
				  .cost_ns = { 270, 370, 2800 } };
	definitions_add_image(&d);
	definitions_add_image(&d);
	d.images[0] = (struct def_image){ .path = text("/usr/lib/%s", library_of(&mix->kinds[mix->nkinds - 1])),
					  .soname = text("%s", library_of(&mix->kinds[mix->nkinds - 1])) };
	d.images[1] = (struct def_image){ .path = text("/home/user/job") };
	words_of = need(calloc(probes, sizeof(*words_of)));
	calls_of = need(calloc(probes, sizeof(*calls_of)));
	for (uint32_t i = 0; i < probes; i++)
		define_probe(set, i);
	for (uint32_t i = 0; i < threads; i++) {
		streams[i].process = i / mix->per_process;
		streams[i].clock = BEGIN + 1000 + 37 * i;
		if (i % mix->per_process == 0)
			define_process(streams[i].process);
		definitions_add_thread(&d);
		d.threads[i] = (struct def_thread){ .process = streams[i].process,
						    .tid = 2000 + i,
						    .name = text("worker-%u", i % mix->per_process) };
	}
	models_free(set);
}

/* --- what happens ------------------------------------------------------ */

/* A word of a call: what it is about decides how it varies. Registers that no value stands for hold addresses. */
static uint64_t word(const struct stream *stream, const struct def_probe *probe, unsigned slot, uint64_t subject)
{
	static const uint16_t counts[] = { 1, 64, 512, 1024 };

	for (size_t i = 0; i < probe->nvalues; i++) {
		const struct value *value = &probe->values[i];

		/* One without a name looks at another one's word: nothing goes to a peer that is nobody. */
		if (value->slot != slot || value->constant || value->unobservable || !*value->name)
			continue;
		switch (value->meaning) {
		case MEANING_BYTES:
		case MEANING_COUNT:
			return counts[(subject ^ subject >> 5) & 3];
		case MEANING_TYPE:
		case MEANING_SIZE:
			return 8;
		case MEANING_PEER:
		case MEANING_ROOT:
			return stream->process ^ (subject & 1);
		case MEANING_TAG:
			return 3 + (subject & 1);
		case MEANING_PTR:
			return subject;
		case MEANING_REQUEST:
			return 0x555555900000 + 0x140 * (subject & 15);
		case MEANING_LOCK:
			return 0x555555602040 + 0x40 * (subject & 7);
		case MEANING_ERROR:
			return 0;
		default:
			return probe->model[0] == 'p' ? stream->steps : 0x7ffff7d00000 + 0x200ULL * slot;
		}
	}
	return 0x7ffe00001000 + 0x100000ULL * stream->process + 0x80 * slot;
}

static void finish(struct stream *stream, uint32_t thread, unsigned kind, uint64_t start, uint16_t depth,
		   uint64_t subject)
{
	uint32_t families = (probes + mix->nkinds - 1) / mix->nkinds;
	uint32_t index = (uint32_t)((kind + mix->nkinds * (stream->steps % families)) % probes);
	struct span span = {
		.start = start,
		.end = stream->clock,
		.thread = thread,
		.probe = index,
		.site = stream->process * SITES + (kind * 3 + (subject ^ subject >> 4) % 3) % SITES,
		.sequence = (uint32_t)++stream->calls,
		.depth = depth,
		.nwords = words_of[index],
	};

	for (unsigned i = 0; i < span.nwords; i++)
		span.words[i] = word(stream, &d.probes[index], i, subject);
	calls_of[index]++;
	left--;
	if (recording_span(writer, &span))
		exit(1);
}

/* A call with nothing observed in it, and what the program does before it: `pause` ns, about. */
static void call(struct stream *stream, uint32_t thread, unsigned kind, uint16_t depth, unsigned pause,
		 uint64_t subject)
{
	uint64_t start = stream->clock += around(pause);

	stream->clock += around(mix->kinds[kind].usual);
	if (left)
		finish(stream, thread, kind, start, depth, subject);
}

static void enclose(struct stream *stream, uint32_t thread, unsigned kind, uint16_t depth, uint64_t start)
{
	stream->clock += 80 + below(40);
	if (left)
		finish(stream, thread, kind, start, depth, 0);
}

static void mpi_step(struct stream *stream, uint32_t thread)
{
	uint64_t began = stream->clock += around(500), exchange;
	uint64_t shape = stream->steps / 50; /* what is sent changes now and then */

	exchange = stream->clock += around(8000);
	for (unsigned i = 0; i < 4; i++)
		call(stream, thread, i < 2 ? IRECV : ISEND, 3, 150, 2 * shape + i % 2);
	call(stream, thread, WAITALL, 3, 100, 0);
	enclose(stream, thread, EXCHANGE_HALO, 2, exchange);
	call(stream, thread, SENDRECV, 2, 300, shape);
	call(stream, thread, ALLREDUCE, 2, 3000, 0);
	if (stream->steps % 8 == 0)
		call(stream, thread, BARRIER, 2, 200, 0);
	enclose(stream, thread, TIME_STEP, 1, began);
}

static void malloc_step(struct stream *stream, uint32_t thread)
{
	unsigned at = (unsigned)below(LIVE);

	if (at < stream->live) {
		call(stream, thread, FREE, 0, 250, stream->blocks[at]);
		stream->blocks[at] = stream->blocks[--stream->live];
	} else {
		uint64_t block = 0x7f0000000000 + ((uint64_t)thread << 26) + 0x50 * below(4 * LIVE);

		call(stream, thread, below(8) ? MALLOC : CALLOC, 0, 250, block);
		stream->blocks[stream->live++] = block;
	}
	call(stream, thread, LOCK, 0, 90, at);
	call(stream, thread, UNLOCK, 0, 60, at);
}

static void one_step(struct stream *stream, uint32_t thread)
{
	call(stream, thread, 0, 0, 300, stream->steps / 50);
}

static const struct mix mixes[] = {
	{ "mpi", mpi_kinds, sizeof(mpi_kinds) / sizeof(mpi_kinds[0]), 4, true, mpi_step },
	{ "malloc", malloc_kinds, sizeof(malloc_kinds) / sizeof(malloc_kinds[0]), THREADS_MOST, false, malloc_step },
	{ "one", one_kinds, sizeof(one_kinds) / sizeof(one_kinds[0]), 4, false, one_step },
};

static const struct mix *find_mix(const char *name)
{
	for (size_t i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++)
		if (!strcmp(name, mixes[i].name))
			return &mixes[i];
	return NULL;
}

/* Threads take turns; every so often the slow ones are waited for, as at a barrier. */
static void run(uint64_t spans)
{
	bool outer = mix->outer && probes >= mix->nkinds && spans >= 4 * (uint64_t)threads;
	uint64_t latest = BEGIN;

	left = outer ? spans - threads : spans;
	for (uint32_t i = 0; i < threads && outer; i++)
		streams[i].outer = streams[i].clock;
	for (uint64_t turn = 0; left; turn++) {
		for (uint32_t i = 0; i < threads && left; i++) {
			mix->step(&streams[i], i);
			streams[i].steps++;
			latest = streams[i].clock > latest ? streams[i].clock : latest;
		}
		for (uint32_t i = 0; i < threads && turn % 16 == 15; i++)
			streams[i].clock = latest + below(2000);
	}
	left = outer ? threads : 0;
	for (uint32_t i = 0; i < threads && outer; i++)
		enclose(&streams[i], i, SOLVE, 0, streams[i].outer);
	for (uint32_t i = 0; i < threads; i++) {
		d.threads[i].calls = streams[i].calls;
		d.threads[i].counted = true;
		latest = streams[i].clock > latest ? streams[i].clock : latest;
	}
	d.loss = (struct def_loss){ .calls = spans, .delivered = spans };
	d.run.end = latest + 1000;
	d.run.end_realtime = d.run.start_realtime + d.run.end - d.run.start;
	d.run.finished = true;
}

static void say(const char *path, uint64_t spans, double seconds)
{
	FILE *f = fopen(path, "re");
	long bytes = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
	const char *comma = "";

	printf("{\"spans\": %lu, \"threads\": %u, \"probes\": %u, \"bytes\": %ld, \"seconds\": %.3f, \"events\": {",
	       spans, threads, probes, bytes, seconds);
	for (uint32_t i = 0; i < probes; i++)
		if (calls_of[i]) {
			printf("%s\"%s\": %lu", comma, d.probes[i].event, calls_of[i]);
			comma = ", ";
		}
	printf("}}\n");
	fclose(f);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t spans = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	double started;
	int fd;

	mix = argc > 1 ? find_mix(argv[1]) : NULL;
	threads = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 8;
	probes = argc > 5 ? (uint32_t)strtoul(argv[5], NULL, 10) : mix ? mix->nkinds : 0;
	if (!mix || !spans || !threads || threads > THREADS_MOST || !probes || probes > GB_PROBES) {
		fprintf(stderr, "usage: generate mpi|malloc|one FILE SPANS [THREADS [PROBES [MODELS]]]\n");
		return 2;
	}
	define(argc > 6 ? argv[6] : "models");
	fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0) {
		fprintf(stderr, "generate: %s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	started = now();
	if (recording_create(&writer, fd, argv[2], &d))
		return 1;
	run(spans);
	if (recording_finish(writer))
		return 1;
	say(argv[2], spans, now() - started);
	definitions_free(&d);
	free(words_of);
	free(calls_of);
	return 0;
}
