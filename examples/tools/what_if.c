/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * what_if.c - a CPF simulator: one function of the program some times as fast, on a network of this latency and
 * bandwidth.
 *
 *   cc -shared -fPIC -I include -o what_if.so examples/tools/what_if.c
 *   gaspbpf simulate run.gasp --plugin ./what_if.so function=GASP_USER_SOLVE times=2 latency=1500 gbs=12 -o after.gasp
 *   (latency in ns, gbs in GB/s, which are bytes a ns)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpf.h"

struct what_if {
	struct cpf_plugin plugin;
	const struct cpf_setup *setup;
	const char *function;   /* NULL: all of the program's own work */
	uint32_t id;
	double times, latency, gbs;
	unsigned long messages, collectives;
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t on_the_way(const struct what_if *w, uint64_t bytes)
{
	return (uint64_t)(w->latency + (double)bytes / w->gbs);
}

/* What follows "name=" in the parameters. */
static const char *parameter(const struct cpf_setup *setup, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < setup->_commandLineParamCount; i++)
		if (!strncmp(setup->_commandLineParams[i], name, length) && setup->_commandLineParams[i][length] == '=')
			return setup->_commandLineParams[i] + length + 1;
	return NULL;
}

static double number(const struct cpf_setup *setup, const char *name, double otherwise)
{
	const char *text = parameter(setup, name);

	return text && atof(text) > 0 ? atof(text) : otherwise;
}

static void setup(void *self, const struct cpf_setup *setup)
{
	struct what_if *w = self;

	w->setup = setup;
	w->times = number(setup, "times", 1);
	w->latency = number(setup, "latency", 1000);
	w->gbs = number(setup, "gbs", 10);
	w->function = parameter(setup, "function");
	w->id = CPF_NONE;
	for (uint32_t i = 0; w->function && i < setup->_numFunctions; i++)
		if (!strcmp(setup->_functions[i].name, w->function))
			w->id = i;
}

/* The program's own work: the function that it is in, or the program as such. */
static void work(void *self, struct cpf_func_event *event)
{
	struct what_if *w = self;

	if (!w->function || event->_func == w->id)
		event->_endTime = event->_startTime +
				  (uint64_t)((double)(event->_endTime - event->_startTime) / w->times);
}

static void local(void *self, struct cpf_func_event *event)
{
	event->_endTime = event->_startTime;
}

static void nonblocking_send(void *self, struct cpf_func_event *event, struct cpf_p2p *message)
{
	event->_endTime = event->_startTime;
	message->_sendEndTime = message->_sendStartTime;
}

static void message(void *self, struct cpf_p2p *m)
{
	struct what_if *w = self;
	uint64_t there = m->_sendStartTime;

	if (cpf_isSyncSendP2P(w->setup, m->_sendFID)) /* begins when both are there */
		there = later(there, m->_valid & CPF_IRECV_START ? m->_iRecvStartTime : m->_recvStartTime);
	there += on_the_way(w, m->_messageSize);
	if (m->_valid & CPF_SEND_END_SET)
		m->_sendEndTime = there;
	if (m->_valid & CPF_RECV_END_SET) {
		m->_recvEndTime = later(m->_recvStartTime, there);
		w->messages++;
	}
}

static void messages(void *self, struct cpf_p2p *const *all, size_t count)
{
	for (size_t i = 0; i < count; i++)
		message(self, all[i]);
}

/* All go on when the last has come and everybody's data has been everywhere. */
static void collective(void *self, struct cpf_coll_op *op)
{
	struct what_if *w = self;
	uint64_t last = 0, bytes = 0;

	for (size_t i = 0; i < op->_threads.count; i++) {
		last = later(last, op->_threads.items[i]->_startTime);
		bytes = later(bytes, op->_threads.items[i]->_sizeSent);
	}
	for (size_t i = 0; i < op->_threads.count; i++)
		op->_threads.items[i]->_endTime = last + (op->_threads.count > 1 ? on_the_way(w, bytes) : 0);
	w->collectives++;
}

static void finalize(void *self)
{
	struct what_if *w = self;

	printf("what_if: %lu messages, %lu collective operations\n", w->messages, w->collectives);
}

struct cpf_plugin *cpf_create(void)
{
	struct what_if *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->plugin = (struct cpf_plugin){
		.version = CPF_VERSION,
		.size = sizeof(w->plugin),
		.self = w,
		.setup = setup,
		.Finalize = finalize,
		.ProcessFunctionEvent = work,
		.ProcessMPIFunctionEvent = local,
		.ProcessCollOp = collective,
		.ProcessP2P = message,
		.ProcessNonBlockingSend = nonblocking_send,
		.ProcessP2PWaitAllSome = messages,
	};
	return &w->plugin;
}

void cpf_destroy(struct cpf_plugin *plugin)
{
	free(plugin->self);
}
