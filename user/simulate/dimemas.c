/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dimemas.c - a simple machine model, after Dimemas: latency, bandwidth, buses, an eager threshold, another CPU.
 *
 * A message takes latency + bytes / bandwidth. Up to `eager` bytes the sender goes on at once; a longer one begins when
 * both are there, and the sender is held until it has arrived. Each message on its way takes one of `buses` buses for
 * bytes / bandwidth; one that finds none free waits for one. A message is given its bus when the simulation comes to
 * it; as that is not quite the order of time, each bus keeps its free times and a message takes the first that fits.
 *
 * Collective operations take ceil(log2(threads)) steps of a message each once all, or the root, have come: twice that
 * for reductions to all, and for an exchange of everybody with everybody the bytes of all others.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/parts.h"
#include "util/format.h"
#include "util/log.h"

#define BUSES_MOST 4096
#define BUSY_MOST 512 /* times that a bus keeps in mind; older ones are taken to be one */

struct busy {
	uint64_t from, to;
};

struct bus {
	struct busy times[BUSY_MOST]; /* in order */
	size_t count;
};

struct dimemas {
	struct cpf_plugin plugin;
	const struct cpf_setup *setup;
	uint64_t latency; /* ns */
	uint64_t eager;   /* bytes */
	double bandwidth; /* bytes a ns; 0: any */
	double cpu;
	struct bus *buses;
	size_t nbuses; /* 0: as many as are wanted */
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ns that so many bytes are on the wire. */
static uint64_t wire(const struct dimemas *m, uint64_t bytes)
{
	double ns = m->bandwidth > 0 ? (double)bytes / m->bandwidth : 0;

	return ns < 1e15 ? (uint64_t)llround(ns) : 1000000000000000;
}

/* --- buses ---------------------------------------------------------------------- */

/* The first time from `ready` on that the bus is free for so long; *at: before which of its times. */
static uint64_t first_free(const struct bus *bus, uint64_t ready, uint64_t length, size_t *at)
{
	size_t i = bus->count;

	/* From the end: most messages come nearly in order. */
	while (i && bus->times[i - 1].from >= ready)
		i--;
	if (i)
		ready = later(ready, bus->times[i - 1].to);
	for (; i < bus->count && bus->times[i].from < ready + length; i++)
		ready = later(ready, bus->times[i].to);
	*at = i;
	return ready;
}

static void occupy(struct bus *bus, size_t at, uint64_t from, uint64_t to)
{
	if (at && bus->times[at - 1].to == from) {
		bus->times[at - 1].to = to;
		return;
	}
	if (bus->count == BUSY_MOST) {
		bus->times[1].from = bus->times[0].from;
		memmove(&bus->times[0], &bus->times[1], (BUSY_MOST - 1) * sizeof(bus->times[0]));
		bus->count--;
		at = at ? at - 1 : 0;
	}
	memmove(&bus->times[at + 1], &bus->times[at], (bus->count - at) * sizeof(bus->times[0]));
	bus->times[at] = (struct busy){ from, to };
	bus->count++;
}

/* When the message is through that may begin at `ready`. */
static uint64_t transfer(struct dimemas *m, uint64_t ready, uint64_t bytes)
{
	uint64_t length = wire(m, bytes), best = UINT64_MAX;
	size_t at = 0, best_at = 0;
	struct bus *bus = NULL;

	for (size_t i = 0; i < m->nbuses && length && best > ready; i++) {
		uint64_t start = first_free(&m->buses[i], ready, length, &at);

		if (start < best) {
			best = start;
			best_at = at;
			bus = &m->buses[i];
		}
	}
	if (bus) {
		occupy(bus, best_at, best, best + length);
		ready = best;
	}
	return ready + m->latency + length;
}

/* --- messages --------------------------------------------------------------------- */

static bool is_eager(const struct dimemas *m, const struct cpf_p2p *message)
{
	return message->_messageSize <= m->eager && !cpf_is(m->setup, message->_sendFID, CPF_IS_SYNC_SEND);
}

static int dimemas_synchronous(void *self, const struct cpf_p2p *message)
{
	return !is_eager(self, message);
}

static void dimemas_send(void *self, struct cpf_func_event *event, struct cpf_p2p *message)
{
	event->_endTime = event->_startTime;
	message->_sendEndTime = message->_sendStartTime;
}

static void dimemas_message(struct dimemas *m, struct cpf_p2p *message)
{
	uint64_t posted = message->_valid & CPF_IRECV_START ? message->_iRecvStartTime : message->_recvStartTime;
	uint64_t ready = is_eager(m, message) ? message->_sendStartTime : later(message->_sendStartTime, posted);
	uint64_t through;

	/* Where only the sender's end is asked for, the receiver's wait will ask again: the bus is taken once. */
	through = message->_valid & CPF_RECV_END_SET ? transfer(m, ready, message->_messageSize)
						     : ready + m->latency + wire(m, message->_messageSize);
	if (message->_valid & CPF_RECV_END_SET)
		message->_recvEndTime = later(message->_recvStartTime, through);
	if (message->_valid & CPF_SEND_END_SET)
		message->_sendEndTime = is_eager(m, message) ? message->_sendStartTime : through;
}

static void dimemas_p2p(void *self, struct cpf_p2p *message)
{
	dimemas_message(self, message);
}

static void dimemas_wait(void *self, struct cpf_p2p *const *messages, size_t count)
{
	for (size_t i = 0; i < count; i++)
		dimemas_message(self, messages[i]);
}

/* --- groups ------------------------------------------------------------------------- */

static uint64_t group_time(const struct dimemas *m, uint32_t func, uint64_t threads, uint64_t bytes)
{
	uint64_t steps = threads > 1 ? 64 - __builtin_clzll(threads - 1) : 0;

	if (!steps)
		return 0;
	if (cpf_isAll(m->setup, func))
		return steps * m->latency;
	if (!cpf_isAllToAll(m->setup, func))
		return steps * (m->latency + wire(m, bytes));
	if (cpf_is(m->setup, func, CPF_IS_REDUCTION))
		return 2 * steps * (m->latency + wire(m, bytes));
	return steps * m->latency + wire(m, (threads - 1) * bytes);
}

static void dimemas_collop(void *self, struct cpf_coll_op *collop)
{
	struct dimemas *m = self;
	bool from_root = cpf_isOneToAll(m->setup, collop->_collOpId),
	     to_root = cpf_isAllToOne(m->setup, collop->_collOpId);
	uint64_t latest = 0, bytes = 0, time;

	for (size_t i = 0; i < collop->_threads.count; i++) {
		const struct cpf_func_event *event = collop->_threads.items[i];

		latest = later(latest, event->_startTime);
		bytes = later(bytes, later(event->_sizeSent, event->_sizeRecv));
	}
	time = group_time(m, collop->_collOpId, collop->_threads.count, bytes);
	for (size_t i = 0; i < collop->_threads.count; i++) {
		struct cpf_func_event *event = collop->_threads.items[i];

		if (from_root && collop->_rootIndex != CPF_NONE)
			event->_endTime = later(event->_startTime,
						collop->_threads.items[collop->_rootIndex]->_startTime +
							(i == collop->_rootIndex ? 0 : time));
		else if (to_root && collop->_rootIndex != CPF_NONE && i != collop->_rootIndex)
			event->_endTime = event->_startTime;
		else
			event->_endTime = latest + time;
	}
}

static void dimemas_split(void *self, struct cpf_split_phase *wait)
{
	wait->_endTime = later(wait->_startTime, wait->_lastTime + group_time(self, wait->_beginFunc,
									      wait->_threadCount, wait->_messageSize));
}

static void dimemas_one_sided(void *self, struct cpf_one_sided *t)
{
	struct dimemas *m = self;

	/* A put is over for its thread when it is sent; a get, and an atomic operation, go there and back. */
	if (t->_kind == CPF_FENCE)
		t->_endTime = t->_startTime;
	else if (t->_kind == CPF_PUT)
		t->_endTime = transfer(m, t->_startTime, t->_messageSize) - m->latency;
	else
		t->_endTime = transfer(m, t->_startTime, t->_messageSize) + m->latency;
}

/* --- one thread ------------------------------------------------------------------------ */

static void dimemas_setup(void *self, const struct cpf_setup *setup)
{
	((struct dimemas *)self)->setup = setup;
}

static void dimemas_local(void *self, struct cpf_func_event *event)
{
	event->_endTime = event->_startTime;
}

static uint64_t faster(const struct dimemas *m, uint64_t start, uint64_t end)
{
	return start + (uint64_t)llround((double)(end - start) / m->cpu);
}

static void dimemas_work(void *self, struct cpf_func_event *event)
{
	event->_endTime = faster(self, event->_startTime, event->_endTime);
}

static void dimemas_task(void *self, struct cpf_task *task)
{
	task->_endTime = faster(self, task->_startTime, task->_endTime);
}

/* --- parameters --------------------------------------------------------------------------- */

static bool wrong(const char *name, const char *value, const char *right)
{
	log_error("%s=%s: not understood: say %s", name, log_safe(value), right);
	return false;
}

static bool read_parameters(struct dimemas *m, char **parameters, size_t count)
{
	const char *text;
	uint64_t number;
	char *end;

	if ((text = parameter_find(parameters, count, "latency")) &&
	    (parse_time(text, &m->latency) || m->latency > 1000000000000))
		return wrong("latency", text, "latency=5us, for example");
	if ((text = parameter_find(parameters, count, "bandwidth"))) {
		if (parse_bytes(text, &number))
			return wrong("bandwidth", text, "how many bytes a second, bandwidth=10G for example; 0: any");
		m->bandwidth = (double)number / 1e9;
	}
	if ((text = parameter_find(parameters, count, "eager")) && parse_bytes(text, &m->eager))
		return wrong("eager", text, "up to how many bytes a send does not wait, eager=64k for example");
	if ((text = parameter_find(parameters, count, "buses"))) {
		m->nbuses = strtoul(text, &end, 10);
		if (end == text || *end || *text == '-' || m->nbuses > BUSES_MOST)
			return wrong(
				"buses", text,
				"how many messages may be on their way at a time, buses=4 for example; 0: any number");
	}
	if ((text = parameter_find(parameters, count, "cpu"))) {
		m->cpu = strtod(text, &end);
		if (end == text || *end || !(m->cpu >= 1e-6 && m->cpu <= 1e6))
			return wrong("cpu", text, "how many times as fast, cpu=2 for example");
	}
	return true;
}

static void dimemas_destroy(struct cpf_plugin *plugin)
{
	free(((struct dimemas *)plugin)->buses);
	free(plugin);
}

static struct cpf_plugin *dimemas_create(char **parameters, size_t count)
{
	static const char *const names[] = { "latency", "bandwidth", "eager", "buses", "cpu", NULL };
	struct dimemas *m;

	if (!parameters_known("dimemas", parameters, count, names))
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	*m = (struct dimemas){
		.plugin = { .version = CPF_VERSION,
			    .size = sizeof(m->plugin),
			    .self = m,
			    .setup = dimemas_setup,
			    .ProcessMPIFunctionEvent = dimemas_local,
			    .ProcessCollOp = dimemas_collop,
			    .ProcessP2P = dimemas_p2p,
			    .ProcessNonBlockingSend = dimemas_send,
			    .ProcessP2PWaitAllSome = dimemas_wait,
			    .ProcessOneSided = dimemas_one_sided,
			    .ProcessSplitPhase = dimemas_split,
			    .SendIsSynchronous = dimemas_synchronous },
		.latency = 1000,
		.bandwidth = 10,
		.eager = 65536,
		.cpu = 1,
	};
	if (read_parameters(m, parameters, count)) {
		if (m->cpu != 1) {
			m->plugin.ProcessFunctionEvent = dimemas_work;
			m->plugin.ProcessTask = dimemas_task;
		}
		m->buses = calloc(m->nbuses + 1, sizeof(*m->buses));
		if (m->buses)
			return &m->plugin;
	}
	free(m);
	return NULL;
}

const struct builtin builtin_dimemas = {
	.name = "dimemas",
	.help = "latency=1us bandwidth=10G (bytes/s) eager=64k buses=0 (any) cpu=1",
	.create = dimemas_create,
	.destroy = dimemas_destroy,
};
