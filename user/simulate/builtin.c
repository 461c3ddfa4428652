/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * builtin.c - simulators that are always there: the ideal network, no locks, and the job as it is (with another CPU).
 *
 * ideal is ITAC's ideal interconnect: no latency, unlimited bandwidth, no time in the library. What is left of the
 * runtime's time is waiting for somebody, that is, imbalance and order.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulate/parts.h"
#include "util/log.h"

const char *parameter_find(char **parameters, size_t count, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = count; i--;) /* the last one counts */
		if (!strncmp(parameters[i], name, length) && parameters[i][length] == '=')
			return parameters[i] + length + 1;
	return NULL;
}

bool parameters_known(const char *plugin, char **parameters, size_t count, const char *const *names)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strcspn(parameters[i], "=");
		const char *const *name = names;

		while (*name && (strlen(*name) != length || strncmp(*name, parameters[i], length)))
			name++;
		if (*name && parameters[i][length])
			continue;
		log_error("%s: no such parameter for %s: see 'gaspbpf simulate --help'", log_safe(parameters[i]),
			  plugin);
		return false;
	}
	return true;
}

/* --- ideal ------------------------------------------------------------------- */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void ideal_nothing(void *self, struct cpf_func_event *event)
{
	event->_endTime = event->_startTime;
}

static void ideal_send(void *self, struct cpf_func_event *event, struct cpf_p2p *message)
{
	event->_endTime = event->_startTime;
	message->_sendEndTime = message->_sendStartTime;
}

struct ideal {
	struct cpf_plugin plugin;
	const struct cpf_setup *setup;
};

static void ideal_setup(void *self, const struct cpf_setup *setup)
{
	((struct ideal *)self)->setup = setup;
}

/* A send that waits for its receiver only because a plug-in says so does not here. */
static void ideal_message(const struct ideal *ideal, struct cpf_p2p *message)
{
	if (message->_valid & CPF_RECV_END_SET)
		message->_recvEndTime = later(message->_recvStartTime, message->_sendStartTime);
	if (message->_valid & CPF_SEND_END_SET)
		message->_sendEndTime = cpf_is(ideal->setup, message->_sendFID, CPF_IS_SYNC_SEND)
						? later(message->_sendStartTime, message->_recvStartTime)
						: message->_sendStartTime;
}

static void ideal_p2p(void *self, struct cpf_p2p *message)
{
	ideal_message(self, message);
}

static void ideal_wait(void *self, struct cpf_p2p *const *messages, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ideal_message(self, messages[i]);
}

static void ideal_collop(void *self, struct cpf_coll_op *collop)
{
	const struct cpf_setup *setup = ((struct ideal *)self)->setup;
	bool from_root = cpf_isOneToAll(setup, collop->_collOpId), to_root = cpf_isAllToOne(setup, collop->_collOpId);
	uint64_t latest = 0;

	for (size_t i = 0; i < collop->_threads.count; i++)
		latest = later(latest, collop->_threads.items[i]->_startTime);
	for (size_t i = 0; i < collop->_threads.count; i++) {
		struct cpf_func_event *event = collop->_threads.items[i];
		uint64_t start = event->_startTime;

		if (from_root && collop->_rootIndex != CPF_NONE)
			event->_endTime = later(start, collop->_threads.items[collop->_rootIndex]->_startTime);
		else if (from_root || (to_root && collop->_rootIndex != CPF_NONE && collop->_rootIndex != i))
			event->_endTime = start;
		else
			event->_endTime = latest;
	}
}

static void ideal_one_sided(void *self, struct cpf_one_sided *transfer)
{
	transfer->_endTime = transfer->_startTime;
}

static void ideal_lock(void *self, struct cpf_lock *lock)
{
	lock->_endTime = lock->_previous == CPF_NONE ? lock->_startTime : later(lock->_startTime, lock->_releaseTime);
}

static void ideal_split(void *self, struct cpf_split_phase *wait)
{
	wait->_endTime = later(wait->_startTime, wait->_lastTime);
}

static struct cpf_plugin *new_plugin(size_t size)
{
	struct cpf_plugin *plugin = calloc(1, size);

	if (!plugin) {
		log_error("simulate: out of memory: free some memory and try again");
		return NULL;
	}
	plugin->version = CPF_VERSION;
	plugin->size = sizeof(*plugin);
	plugin->self = plugin;
	return plugin;
}

static void free_plugin(struct cpf_plugin *plugin)
{
	free(plugin);
}

static struct cpf_plugin *ideal_create(char **parameters, size_t count)
{
	static const char *const none[] = { NULL };
	struct cpf_plugin *plugin;

	if (!parameters_known("ideal", parameters, count, none))
		return NULL;
	plugin = new_plugin(sizeof(struct ideal));
	if (!plugin)
		return NULL;
	plugin->setup = ideal_setup;
	plugin->ProcessMPIFunctionEvent = ideal_nothing;
	plugin->ProcessCollOp = ideal_collop;
	plugin->ProcessP2P = ideal_p2p;
	plugin->ProcessNonBlockingSend = ideal_send;
	plugin->ProcessP2PWaitAllSome = ideal_wait;
	plugin->ProcessOneSided = ideal_one_sided;
	plugin->ProcessLock = ideal_lock;
	plugin->ProcessSplitPhase = ideal_split;
	return plugin;
}

const struct builtin builtin_ideal = {
	.name = "ideal",
	.help = "no latency, any bandwidth, no time in the library",
	.create = ideal_create,
	.destroy = free_plugin,
};

/* --- nolock -------------------------------------------------------------------- */

static void no_lock(void *self, struct cpf_lock *lock)
{
	lock->_endTime = lock->_startTime;
}

static struct cpf_plugin *nolock_create(char **parameters, size_t count)
{
	static const char *const none[] = { NULL };
	struct cpf_plugin *plugin = parameters_known("nolock", parameters, count, none) ? new_plugin(sizeof(*plugin))
											: NULL;

	if (plugin)
		plugin->ProcessLock = no_lock;
	return plugin;
}

const struct builtin builtin_nolock = {
	.name = "nolock",
	.help = "locks take no time: nobody waits for one",
	.create = nolock_create,
	.destroy = free_plugin,
};

/* --- same ------------------------------------------------------------------------ */

struct same {
	struct cpf_plugin plugin;
	const struct cpf_setup *setup;
	double cpu;
	const char *only; /* function; NULL: all */
	uint32_t func;
};

static void same_setup(void *self, const struct cpf_setup *setup)
{
	struct same *same = self;

	for (uint32_t i = 0; same->only && i < setup->_numFunctions; i++)
		if (!strcmp(setup->_functions[i].name, same->only))
			same->func = i;
	if (same->only && same->func == CPF_NONE)
		log_warn("function=%s: no such function in the recording: nothing changes", log_safe(same->only));
}

static void same_work(void *self, struct cpf_func_event *event)
{
	const struct same *same = self;

	if (!same->only || event->_func == same->func)
		event->_endTime = event->_startTime +
				  (uint64_t)llround((double)(event->_endTime - event->_startTime) / same->cpu);
}

static void same_task(void *self, struct cpf_task *task)
{
	const struct same *same = self;

	if (!same->only || task->_func == same->func)
		task->_endTime = task->_startTime +
				 (uint64_t)llround((double)(task->_endTime - task->_startTime) / same->cpu);
}

/* A factor between a millionth and a million. */
static bool parse_factor(const char *text, double *factor)
{
	char *end;

	errno = 0;
	*factor = strtod(text, &end);
	return end != text && !*end && !errno && *factor >= 1e-6 && *factor <= 1e6;
}

static struct cpf_plugin *same_create(char **parameters, size_t count)
{
	static const char *const names[] = { "cpu", "function", NULL };
	const char *cpu = parameter_find(parameters, count, "cpu");
	struct same *same;
	double factor = 1;

	if (!parameters_known("same", parameters, count, names))
		return NULL;
	if (cpu && !parse_factor(cpu, &factor)) {
		log_error("cpu=%s: not a factor: say how many times as fast, cpu=2 for example", log_safe(cpu));
		return NULL;
	}
	same = (struct same *)new_plugin(sizeof(*same));
	if (!same)
		return NULL;
	same->cpu = factor;
	same->only = parameter_find(parameters, count, "function");
	same->func = CPF_NONE;
	if (factor != 1) {
		same->plugin.setup = same_setup;
		same->plugin.ProcessFunctionEvent = same_work;
		same->plugin.ProcessTask = same_task;
	}
	return &same->plugin;
}

const struct builtin builtin_same = {
	.name = "same",
	.help = "cpu=2: own work twice as fast; function=EVENT: that function's",
	.create = same_create,
	.destroy = free_plugin,
};
