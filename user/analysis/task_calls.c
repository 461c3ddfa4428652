/* SPDX-License-Identifier: BSD-2-Clause */
#include "analysis/task_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "meaning/value.h"
#include "util/array.h"

int task_calls_open(struct task_calls *calls, const struct definitions *d)
{
	*calls = (struct task_calls){ .d = d, .texts = texts_new(d) };
	return calls->texts ? 0 : -ENOMEM;
}

void task_calls_close(struct task_calls *calls)
{
	if (calls->texts)
		texts_free(calls->texts);
	free(calls->probes);
	*calls = (struct task_calls){ 0 };
}

bool task_model_has(const struct definitions *d, const char *model, enum role role)
{
	for (size_t i = 0; i < d->nprobes; i++)
		if (d->probes[i].role == role && !strcmp(d->probes[i].model, model))
			return true;
	return false;
}

/* A region that several threads have their shares of is no task. */
static bool is_step(const struct def_probe *probe)
{
	return probe->role == ROLE_READY || probe->role == ROLE_DONE ||
	       (probe->role == ROLE_TASK && !(probe->marks & (MARK_TEAM | MARK_SHARE)));
}

bool task_probe_tells(const struct definitions *d, uint32_t probe)
{
	const struct def_probe *is = &d->probes[probe];
	bool named = false, has_steps = false;

	if (is->role != ROLE_SUBMIT)
		return is_step(is);
	for (uint32_t i = 0; i < is->nvalues; i++)
		named |= is->values[i].meaning == MEANING_TASK || is->values[i].meaning == MEANING_KIND ||
			 is->values[i].meaning == MEANING_NAME;
	/* What a model without tasks submits is something else: a thread. */
	for (size_t i = 0; named && !has_steps && i < d->nprobes; i++)
		has_steps = is_step(&d->probes[i]) && !strcmp(d->probes[i].model, is->model);
	return has_steps;
}

static void look_at_value(struct task_call *call, const struct value *v, int16_t index)
{
	switch (v->meaning) {
	case MEANING_TASK:
		call->task = index;
		break;
	case MEANING_KIND:
		call->kind = index;
		break;
	case MEANING_INTERNAL:
		call->internal = index;
		call->sorts = !v->unobservable;
		break;
	case MEANING_WORKER:
		call->worker = index;
		break;
	case MEANING_ERROR:
		call->error = index;
		break;
	case MEANING_BYTES:
		call->bytes = index;
		break;
	case MEANING_NODE:
		if (call->nnodes < 2)
			call->nodes[call->nnodes++] = index;
		break;
	case MEANING_NAME:
		if (call->nnames < TASK_NAMES_MOST)
			call->names[call->nnames++] = index;
		break;
	default:
		break;
	}
}

static void look_at(struct task_call *call, const struct def_probe *probe)
{
	uint32_t count = probe->nvalues < INT16_MAX ? probe->nvalues : INT16_MAX;

	*call = (struct task_call){ .looked_at = true,
				    .task = -1,
				    .kind = -1,
				    .internal = -1,
				    .worker = -1,
				    .error = -1,
				    .bytes = -1,
				    .nodes = { -1, -1 } };
	for (uint32_t i = 0; i < count; i++)
		look_at_value(call, &probe->values[i], i);
}

const struct task_call *task_calls_of(struct task_calls *calls, uint32_t probe)
{
	if (array_reach(&calls->probes, &calls->nprobes, probe + (size_t)1, sizeof(*calls->probes)))
		return NULL;
	if (!calls->probes[probe].looked_at) {
		const struct def_probe *is = &calls->d->probes[probe];

		look_at(&calls->probes[probe], is);
		calls->probes[probe].tells = task_probe_tells(calls->d, probe);
		calls->probes[probe].has_done = task_model_has(calls->d, is->model, ROLE_DONE);
		calls->probes[probe].has_transfers = task_model_has(calls->d, is->model, ROLE_TRANSFER);
	}
	return &calls->probes[probe];
}

bool task_call_number(const struct definitions *d, const struct span *span, int value, int64_t *number)
{
	struct value_reading reading;

	if (value < 0)
		return false;
	reading = value_read(&d->probes[span->probe].values[value], span->words, span->nwords, span->unread,
			     span->reason == GB_END_RETURN);
	*number = reading.number;
	return reading.known && !reading.none;
}

const char *task_call_kind_name(const struct task_calls *calls, const struct task_call *call, const struct span *span,
				uint64_t *address)
{
	uint32_t process = calls->d->threads[span->thread].process;
	bool has_address = !address;

	for (unsigned i = call->nnames > 1; i < call->nnames; i++) {
		const char *text;
		int64_t at;

		if (!task_call_number(calls->d, span, call->names[i], &at) || !at)
			continue;
		if (!has_address)
			*address = (uint64_t)at;
		has_address = true;
		text = texts_find(calls->texts, process, (uint64_t)at, span->start);
		if (text)
			return text;
	}
	return NULL;
}
