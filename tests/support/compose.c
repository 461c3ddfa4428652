/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * compose.c - a recording of what a test says, line by line: of jobs whose right answer can be worked out by hand.
 *
 *   compose FILE MODELS < TEXT
 *
 * process PID RANK: rank -1 is none; its first thread has the tid PID
 *
 * thread PID TID
 *
 * call TID START END SYMBOL [NAME=VALUE...]: times in ns from the beginning; calls of a thread in the order of their
 * ends. Further names: depth=N, how many calls are around it; end=under_way, it was so when the observation ended;
 * end=tail, by a tail call; site=FILE:LINE, where it was made; site=FILE:LINE@BASE: by the program, which is mapped at
 * this address; site=FILE:LINE,FUNCTION: in this function, which else is work; site=+FUNCTION: in it, without source.
 *
 * atomic TID TIME SYMBOL
 *
 * control PID TIME VALUE: measurement of the process is off (0) from then on, or on again
 *
 * lost TID COUNT [BEFORE]: so many calls of the thread are lost here; the next one that is not ends at this time
 *
 * sum TID SYMBOL LOST SUMMED SKIPPED [TIMED TOTAL MIN MAX [SIZED BYTES]]: calls of the thread that the kernel's sums
 * have
 *
 * only_sums: as gaspbpf monitor writes it: each thread stands for its process; after the processes
 *
 * launch PID TEXT: what tells the job of the process's rank
 *
 * others PID: it stands for all others
 *
 * out SYMBOL NS: for so long its probes were out
 *
 * comm PID HANDLE TIME ID RANK...: what the handle means to the process from then on, its members' ranks in the job
 *
 * price SYMBOL NS: of a call of it
 *
 * budget SHARE: --max-overhead, in 1/10000
 *
 * own NS: CPU time that gaspbpf itself took
 *
 * cost TID NS SYSTEM: what the probes took of it, and what it spent in the kernel; 0: that is not known
 *
 * scheduled TID OBSERVED RUN QUEUED CPUS CPU [PREEMPTED]: what the kernel tells of it (struct def_thread); QUEUED -1:
 * it does not
 *
 * queue TID FROM TO QUEUED RUN: in this interval it waited so long for a processor, and ran so long
 *
 * looked TIME: up to then it was looked for that
 *
 * quiet PID THREADS RUN: so many threads of the process made no observed call, and ran so long together
 *
 * window PID FROM TO AFTER [MODEL...]: in which calls of the process were not seen; of these models. AFTER may be
 * runtime:NAME: they are observed only where there is no parallel runtime, and this one was loaded
 *
 * floor NS: so much of each call is the probe's own time, by the calibration; before the calls
 *
 * end TIME: of the run
 *
 * ended PID TIME: the process, which else is there at the end
 *
 * exit PID STATUS: how it ended, as wait(2) gives it
 *
 * beside PID: it is no part of the job
 *
 * host NAME: of the run
 *
 * boot ID: of its machine
 *
 * cpus COUNT: processors that its machine has
 *
 * clock TIME AHEAD: at this time the machine's clock is ahead by so many ns, all in a straight line to the next of
 * these; level before the first and after the last. First of all lines
 *
 * realtime AHEAD: so many ns is its CLOCK_REALTIME ahead of that of the others
 *
 * command TEXT: the command line of gaspbpf itself
 *
 * runs PID TEXT: the command line of the process
 *
 * text PID ADDRESS TEXT: what stands behind an address of the process
 *
 * chain EVENT LINE LOOKS PLACES: where calls of the event at this line of the mapped program (site=FILE:LINE@BASE) came
 * from, by so many looks
 *
 * SYMBOL is one of the models, or work, other: functions of the program; where one function is several events,
 * EVENT:SYMBOL says which. A call's values have the names that the
 * recording gives them (`gaspbpf export -o x.events` shows them: dest, tag, comm.id, status.source, request ...); those
 * not named are unknown.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meaning/value.h"
#include "model/model.h"
#include "recording/communicators.h"
#include "recording/recording.h"

#define BEGIN 1000000000000ULL
#define MOST 1024

static const char program[] = "model program\nlanguage PROGRAM\nlibrary job\n"
			      "WORK function void work(long step)\nOTHER function void other(void)\n"
			      "model_end\n";

static struct definitions d;
static struct model_set *models;
static struct recording_writer *writer;
static uint32_t sequences[MOST];
static uint64_t last_ends[MOST];
static uint8_t slots[MOST];
static uint32_t floor_ns;
static unsigned line_number;
static struct {
	uint64_t time;
	int64_t ahead;
} knots[MOST];
static size_t nknots;

static void fail(const char *what)
{
	fprintf(stderr, "compose: line %u: %s\n", line_number, what);
	exit(1);
}

/* The machine's clock at a time of the text. */
static uint64_t at(uint64_t time)
{
	size_t next = 0;
	double ahead;

	while (next < nknots && knots[next].time <= time)
		next++;
	if (!nknots)
		return BEGIN + time;
	if (next == 0 || next == nknots)
		return BEGIN + time + knots[next ? next - 1 : 0].ahead;
	ahead = knots[next].ahead - knots[next - 1].ahead;
	return BEGIN + time + knots[next - 1].ahead +
	       (int64_t)(ahead * (time - knots[next - 1].time) / (knots[next].time - knots[next - 1].time));
}

static void add_knot(uint64_t time, int64_t ahead)
{
	if (nknots == MOST)
		fail("too many of clock");
	knots[nknots].time = time;
	knots[nknots++].ahead = ahead;
}

static char *copy(const char *text)
{
	char *result = strdup(text);

	if (!result)
		fail("out of memory");
	return result;
}

static bool is_function(const struct function *function, const char *symbol)
{
	const char *colon = strchr(symbol, ':');
	size_t length = colon ? colon - symbol : 0, all = strlen(function->event);

	if (strcmp(function->symbol, colon ? colon + 1 : symbol))
		return false;
	return !colon || (all > length && !strncmp(function->event + all - length, symbol, length));
}

static const struct function *find_function(const char *symbol)
{
	for (size_t i = 0; i < models_count(models); i++) {
		const struct model *model = models_at(models, i);

		for (size_t j = 0; j < model->nfunctions; j++)
			if (is_function(&model->functions[j], symbol))
				return &model->functions[j];
	}
	fail("no model has this symbol");
	return NULL;
}

/* Where the layout of a model's structs is that of a version. */
static const char *soname_of(const char *model)
{
	return !strcmp(model, "mpi") ? "libmpi.so.40" : !strcmp(model, "starpu") ? "libstarpu-1.3.so.9" : "other";
}

static uint32_t probe_of(const char *symbol)
{
	const struct function *function;
	struct capture capture;
	uint32_t index;

	for (index = 0; index < d.nprobes; index++)
		if (!strcmp(d.probes[index].symbol, symbol))
			return index;
	function = find_function(symbol);
	index = definitions_add_probe(&d);
	if (index >= MOST || model_function_capture(function, soname_of(function->model->name), &capture))
		fail("too many functions");
	slots[index] = capture.program.slots;
	value_free(&capture.only);
	d.probes[index] = (struct def_probe){
		.event = copy(function->event),
		.number = function->number,
		.model = copy(function->model->name),
		.role = function->role,
		.marks = function->marks,
		.symbol = copy(symbol),
		.prototype = copy(function->prototype),
		.offset = 64 * index,
		.floor_ns = floor_ns,
		.values = capture.values,
		.nvalues = capture.nvalues,
	};
	return index;
}

static uint32_t process_of(uint32_t pid)
{
	for (uint32_t i = 0; i < d.nprocesses; i++)
		if (d.processes[i].pid == pid)
			return i;
	fail("no such process");
	return 0;
}

static uint32_t thread_of(uint32_t tid)
{
	for (uint32_t i = 0; i < d.nthreads; i++)
		if (d.threads[i].tid == tid)
			return i;
	fail("no such thread");
	return 0;
}

static void add_thread(uint32_t process, uint32_t tid)
{
	uint32_t index = definitions_add_thread(&d);

	if (index >= MOST)
		fail("too many threads");
	d.threads[index] = (struct def_thread){ .process = process, .tid = tid, .name = copy("job") };
}

static void add_process(uint32_t pid, long rank)
{
	uint32_t index = definitions_add_process(&d);

	if (index == NO_INDEX)
		fail("out of memory");
	d.processes[index] = (struct def_process){ .pid = pid,
						   .parent = 1,
						   .command = copy("./job"),
						   .name = copy("job"),
						   .rank = rank,
						   .unit = rank >= 0 ? copy("rank") : NULL,
						   .start = at(0) };
	add_thread(index, pid);
}

/* NAME=VALUE: the word that the value of this name is read from. */
static void set_value(struct span *span, const struct def_probe *probe, char *text)
{
	char *equals = strchr(text, '=');
	bool found = false;

	if (!equals)
		fail("a value is NAME=VALUE");
	*equals = 0;
	for (uint32_t i = 0; i < probe->nvalues; i++) {
		const struct value *v = &probe->values[i];

		if (strcmp(v->name, text) || v->constant || v->unobservable)
			continue;
		found = true;
		span->words[v->slot] = (uint64_t)strtoll(equals + 1, NULL, 0);
		span->unread &= ~(1u << v->slot);
		if (v->has_null && v->null_slot != v->slot && span->unread >> v->null_slot & 1) {
			span->words[v->null_slot] = 0x7ffe0000;
			span->unread &= ~(1u << v->null_slot);
		}
	}
	if (!found)
		fail(text);
}

static uint32_t program_image(void)
{
	if (!d.nimages) {
		uint32_t index = definitions_add_image(&d);

		if (index == NO_INDEX)
			fail("out of memory");
		d.images[index] = (struct def_image){ .path = copy("/home/user/job") };
	}
	return 0;
}

/* FILE:LINE of the process, or FILE:LINE@BASE. */
static void add_window(char *text)
{
	unsigned long pid, from, to;
	char after[100];
	uint32_t index;
	int read = 0;

	if (sscanf(text, "%lu %lu %lu %99s %n", &pid, &from, &to, after, &read) != 4)
		fail("window PID FROM TO AFTER");
	text += read;
	text[strcspn(text, "\n")] = '\0';
	index = definitions_add_window(&d);
	if (index == NO_INDEX)
		fail("out of memory");
	d.windows[index] = (struct def_window){ .process = process_of(pid),
						.from = at(from),
						.to = at(to),
						.after = copy(after),
						.models = *text ? copy(text) : NULL,
						.loader = NO_INDEX };
	if (!strncmp(after, "runtime:", 8)) {
		d.windows[index].runtime = copy(after + 8);
		d.windows[index].after = NULL;
	}
}

/* "+main": 0x10 bytes into this function, of which there is no source. */
static uint32_t site_without_source(uint32_t process, const char *function)
{
	uint32_t index = definitions_add_site(&d);

	if (index >= MOST)
		fail("too many sites");
	d.sites[index] = (struct def_site){ .process = process,
					    .address = 0x800000 + 16 * index,
					    .image = NO_INDEX,
					    .located = true,
					    .function = copy(function),
					    .function_offset = 16 };
	return index;
}

static uint32_t site_of(uint32_t process, char *place)
{
	char *colon = strchr(place, ':');
	char *at = colon ? strchr(colon, '@') : NULL;
	uint64_t base = at ? strtoull(at + 1, NULL, 0) : 0;
	const char *comma = colon ? strchr(colon, ',') : NULL;
	uint32_t line = colon ? strtoul(colon + 1, NULL, 10) : 0, index;
	uint64_t address = (at ? base : 0x400000) + 0x1000 + 16 * line;

	if (*place == '+')
		return site_without_source(process, place + 1);
	if (!line)
		fail("a site is FILE:LINE");
	*colon = 0;
	for (index = 0; index < d.nsites; index++)
		if (d.sites[index].process == process && d.sites[index].line == line &&
		    !strcmp(d.sites[index].file, place) && (!at || d.sites[index].address == address))
			return index;
	index = definitions_add_site(&d);
	if (index >= MOST)
		fail("too many sites");
	d.sites[index] = (struct def_site){ .process = process,
					    .address = address,
					    .offset = at ? 0x1000 + 16 * line : 0,
					    .image = at ? program_image() : NO_INDEX,
					    .located = true,
					    .file = copy(place),
					    .line = line,
					    .function = copy(comma ? comma + 1 : "work") };
	return index;
}

static void add_call(char *text, bool atomic)
{
	char *next, *tid = strtok_r(text, " \n", &next), *start = strtok_r(NULL, " \n", &next);
	char *end = atomic ? start : strtok_r(NULL, " \n", &next), *symbol = strtok_r(NULL, " \n", &next), *value;
	struct span span = { .site = NO_INDEX, .reason = atomic ? GB_END_ATOMIC : GB_END_RETURN };

	if (!tid || !start || !end || !symbol)
		fail("call TID START END SYMBOL");
	span.thread = thread_of(strtoul(tid, NULL, 10));
	span.start = at(strtoull(start, NULL, 10));
	span.end = at(strtoull(end, NULL, 10));
	span.probe = probe_of(symbol);
	span.sequence = ++sequences[span.thread];
	span.nwords = slots[span.probe];
	span.unread = (1u << span.nwords) - 1;
	while ((value = strtok_r(NULL, " \n", &next))) {
		if (!strncmp(value, "depth=", 6))
			span.depth = atoi(value + 6);
		else if (!strcmp(value, "end=tail"))
			span.reason = GB_END_TAIL;
		else if (!strcmp(value, "end=under_way"))
			span.reason = GB_END_DETACH;
		else if (!strncmp(value, "site=", 5))
			span.site = site_of(d.threads[span.thread].process, value + 5);
		else
			set_value(&span, &d.probes[span.probe], value);
	}
	if (span.end < last_ends[span.thread])
		fail("calls of a thread are to be in the order of their ends");
	last_ends[span.thread] = span.end;
	if (!writer)
		fail("processes come first");
	if (recording_span(writer, &span))
		exit(1);
	d.threads[span.thread].calls++;
	d.threads[span.thread].counted = true;
	d.loss.calls++;
	d.loss.delivered++;
	if (span.end > d.run.end)
		d.run.end = span.end;
}

static void add_control(uint32_t process, uint64_t time, int value)
{
	uint32_t index = definitions_add_control(&d);

	if (index == NO_INDEX)
		fail("out of memory");
	d.controls[index] = (struct def_control){
		.time = at(time), .process = process, .thread = NO_INDEX, .value = value, .who = copy("test")
	};
}

static void lose(uint32_t thread, unsigned long count, uint64_t before)
{
	struct gap gap = { .thread = thread,
			   .count = count,
			   .after = last_ends[thread] ? last_ends[thread] : at(0),
			   .before = before ? at(before) : 0 };

	if (recording_gap(writer, &gap))
		exit(1);
	sequences[thread] += count;
	d.threads[thread].calls += count;
	d.threads[thread].lost += count;
	d.threads[thread].counted = true;
	d.loss.calls += count;
	d.loss.lost += count;
}

static void add_sum(const char *text)
{
	unsigned long tid, lost, summed, skipped, timed = 0, total = 0, min = 0, max = 0, sized = 0, bytes = 0;
	char symbol[100];
	uint32_t probe, index;

	if (sscanf(text, "%lu %99s %lu %lu %lu %lu %lu %lu %lu %lu %lu", &tid, symbol, &lost, &summed, &skipped, &timed,
		   &total, &min, &max, &sized, &bytes) < 5)
		fail("sum TID SYMBOL LOST SUMMED SKIPPED [TIMED TOTAL MIN MAX [SIZED BYTES]]");
	probe = probe_of(symbol);
	index = definitions_add_sum(&d);
	if (index == NO_INDEX)
		fail("out of memory");
	d.sums[index] = (struct def_sum){
		.thread = thread_of(tid),
		.probe = probe,
		.lost = lost,
		.summed = summed,
		.skipped = skipped,
		.timed = timed,
		.total = total,
		.min = min,
		.max = max,
		.sized = sized,
		.bytes = bytes,
	};
	if (timed) /* all in the column of their mean */
		d.sums[index].bucket[63 - __builtin_clzll(total / timed | 1)] = timed;
	d.loss.calls += lost + summed + skipped;
	d.loss.lost += lost;
	d.loss.summed += summed;
	d.loss.skipped += skipped;
}

static void set_text(char **text, const char *line)
{
	free(*text);
	*text = strndup(line, strcspn(line, "\n"));
	if (!*text)
		fail("out of memory");
}

static void set_only_sums(void)
{
	d.run.only_sums = true;
	for (size_t i = 0; i < d.nthreads; i++)
		d.threads[i].all = true;
}

/* launch PID TEXT */
static void set_launch(const char *text)
{
	unsigned long pid;
	int read = 0;

	if (sscanf(text, "%lu %n", &pid, &read) != 1 || !read)
		fail("launch PID TEXT");
	set_text(&d.processes[process_of(pid)].job, text + read);
}

static void add_comm(char *text)
{
	char *next, *pid = strtok_r(text, " \n", &next), *handle = strtok_r(NULL, " \n", &next),
		    *time = strtok_r(NULL, " \n", &next);
	char *id = strtok_r(NULL, " \n", &next), *rank;
	int64_t ranks[MOST];
	size_t count = 0;
	uint32_t index;

	if (!pid || !handle || !time || !id)
		fail("comm PID HANDLE TIME ID RANK...");
	while ((rank = strtok_r(NULL, " \n", &next)) && count < MOST)
		ranks[count++] = strtol(rank, NULL, 10);
	index = definitions_add_comm(&d);
	if (index == NO_INDEX)
		fail("out of memory");
	d.comms[index] = (struct def_comm){ .process = process_of(strtoul(pid, NULL, 10)),
					    .handle = strtoull(handle, NULL, 0),
					    .since = at(strtoull(time, NULL, 10)),
					    .has_id = true,
					    .id = strtoul(id, NULL, 10) };
	if (comm_set_members(&d.comms[index], ranks, count))
		fail("out of memory");
}

static void add_text(const char *text)
{
	unsigned long pid;
	uint64_t address;
	int read = 0;
	uint32_t index;

	if (sscanf(text, "%lu %" SCNi64 " %n", &pid, (int64_t *)&address, &read) != 2)
		fail("text PID ADDRESS TEXT");
	index = definitions_add_text(&d);
	if (index == NO_INDEX)
		fail("out of memory");
	d.texts[index] = (struct def_text){ .process = process_of(pid), .address = address, .time = at(0) };
	d.texts[index].text = strndup(text + read, strcspn(text + read, "\n"));
}

static void add_chain(const char *text)
{
	unsigned long line, looks;
	char event[100];
	int read = 0;
	uint32_t index;

	if (sscanf(text, "%99s %lu %lu %n", event, &line, &looks, &read) != 3)
		fail("chain EVENT LINE LOOKS PLACES");
	index = definitions_add_chain(&d);
	if (index == NO_INDEX)
		fail("out of memory");
	d.chains[index] = (struct def_chain){ .event = copy(event),
					      .file = copy(d.images[program_image()].path),
					      .offset = 0x1000 + 16 * line,
					      .looks = looks,
					      .places = strndup(text + read, strcspn(text + read, "\n")) };
}

static void add_scheduled(const char *text)
{
	unsigned long tid, observed, run, cpus, cpu, preempted;
	struct def_thread *t;
	long queued;
	int read = sscanf(text, "%lu %lu %lu %ld %lu %lu %lu", &tid, &observed, &run, &queued, &cpus, &cpu, &preempted);

	if (read < 6)
		fail("scheduled TID OBSERVED RUN QUEUED CPUS CPU [PREEMPTED]");
	t = &d.threads[thread_of(tid)];
	t->observed = observed;
	t->run = run;
	t->queue_known = queued != -1;
	t->queued = t->queue_known ? queued : 0;
	t->preempted = read > 6 ? preempted : 10 * tid;
	t->cpus = cpus;
	t->cpu = cpu;
}

static void add_queue(const char *text)
{
	unsigned long tid, from, to, queued, run;
	uint32_t index;

	if (sscanf(text, "%lu %lu %lu %lu %lu", &tid, &from, &to, &queued, &run) != 5)
		fail("queue TID FROM TO QUEUED RUN");
	index = definitions_add_queue(&d);
	if (index == NO_INDEX)
		fail("out of memory");
	d.queues[index] = (struct def_queue){ thread_of(tid), at(from), at(to), queued, run };
}

static void set_quiet(uint32_t process, uint32_t threads, uint64_t run)
{
	d.processes[process].quiet = threads;
	d.processes[process].quiet_run = run;
}

static void set_cost(uint32_t thread, uint64_t cost, uint64_t system)
{
	d.threads[thread].cost = cost;
	d.threads[thread].system = system;
	d.threads[thread].counted = true;
}

static void set_exit(uint32_t process, int status)
{
	d.processes[process].has_exit = true;
	d.processes[process].exit_code = status;
}

int main(int argc, char **argv)
{
	char line[4096], symbol[100];
	unsigned long end = 0;
	int fd = argc == 3 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;

	if (fd < 0 || models_load_folder(&models, argv[2]) ||
	    models_add_text(models, "program", program, strstr(program, "model_end") - program)) {
		fprintf(stderr, "usage: compose FILE MODELS < TEXT\n");
		return 2;
	}
	d.run = (struct def_run){ .start = BEGIN,
				  .start_realtime = 1700000000000000000ULL,
				  .command = copy("compose"),
				  .host = copy("host"),
				  .kernel = copy("6.18"),
				  .version = copy("test"),
				  .rung = copy("session") };
	definitions_add_image(&d);
	d.images[0] = (struct def_image){ .path = copy("/job") };
	if (recording_create(&writer, fd, argv[1], &d))
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		unsigned long a;
		long b, c;
		int length = 0;

		line_number++;
		if (sscanf(line, "process %lu %ld", &a, &b) == 2)
			add_process(a, b);
		else if (sscanf(line, "thread %lu %ld", &a, &b) == 2)
			add_thread(process_of(a), b);
		else if (sscanf(line, "floor %lu", &a) == 1)
			floor_ns = a;
		else if (sscanf(line, "end %lu", &a) == 1)
			d.run.end = at(end = a);
		else if (sscanf(line, "ended %lu %ld", &a, &b) == 2)
			d.processes[process_of(a)].end = at(b);
		else if (sscanf(line, "exit %lu %ld", &a, &b) == 2)
			set_exit(process_of(a), b);
		else if (sscanf(line, "beside %lu", &a) == 1)
			d.processes[process_of(a)].left_out = copy(LEFT_OUT_BESIDE);
		else if (!strncmp(line, "host ", 5))
			set_text(&d.run.host, line + 5);
		else if (sscanf(line, "cpus %lu", &a) == 1)
			d.run.cpus = a;
		else if (!strncmp(line, "boot ", 5))
			set_text(&d.run.boot, line + 5);
		else if (sscanf(line, "clock %lu %ld", &a, &b) == 2)
			add_knot(a, b);
		else if (sscanf(line, "realtime %ld", &b) == 1)
			d.run.start_realtime += b;
		else if (!strncmp(line, "command ", 8))
			set_text(&d.run.command, line + 8);
		else if (sscanf(line, "control %lu %ld %ld", &a, &b, &c) == 3)
			add_control(process_of(a), b, c);
		else if (sscanf(line, "lost %lu %ld %ld", &a, &b, &c) == 3)
			lose(thread_of(a), b, c);
		else if (sscanf(line, "lost %lu %ld", &a, &b) == 2)
			lose(thread_of(a), b, 0);
		else if (!strncmp(line, "scheduled ", 10))
			add_scheduled(line + 10);
		else if (sscanf(line, "budget %lu", &a) == 1)
			d.run.budget = a;
		else if (sscanf(line, "own %lu", &a) == 1)
			d.run.own_cpu = a;
		else if (sscanf(line, "price %99s %lu", symbol, &a) == 2)
			d.probes[probe_of(symbol)].cost_ns = a;
		else if (sscanf(line, "cost %lu %ld %ld", &a, &b, &c) == 3)
			set_cost(thread_of(a), b, c);
		else if (!strncmp(line, "queue ", 6))
			add_queue(line + 6);
		else if (sscanf(line, "looked %lu", &a) == 1)
			d.run.queues_until = at(a);
		else if (sscanf(line, "quiet %lu %ld %ld", &a, &b, &c) == 3)
			set_quiet(process_of(a), b, c);
		else if (!strncmp(line, "chain ", 6))
			add_chain(line + 6);
		else if (!strncmp(line, "text ", 5))
			add_text(line + 5);
		else if (!strncmp(line, "only_sums", 9))
			set_only_sums();
		else if (!strncmp(line, "launch ", 7))
			set_launch(line + 7);
		else if (sscanf(line, "runs %lu %n", &a, &length) == 1)
			set_text(&d.processes[process_of(a)].command, line + length);
		else if (sscanf(line, "others %lu", &a) == 1)
			d.processes[process_of(a)].others = true;
		else if (sscanf(line, "out %99s %lu", symbol, &a) == 2)
			d.probes[probe_of(symbol)].out_ns = a;
		else if (!strncmp(line, "sum ", 4))
			add_sum(line + 4);
		else if (!strncmp(line, "window ", 7))
			add_window(line + 7);
		else if (!strncmp(line, "comm ", 5))
			add_comm(line + 5);
		else if (!strncmp(line, "call ", 5) || !strncmp(line, "atomic ", 7))
			add_call(strchr(line, ' ') + 1, line[0] == 'a');
		else if (line[0] != '\n' && line[0] != '#')
			fail("not a line that it knows: see the top of compose.c");
	}
	d.run.start = at(0);
	d.run.end_realtime = d.run.start_realtime + end;
	d.run.finished = true;
	return recording_finish(writer) != 0;
}
