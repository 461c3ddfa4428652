/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * json.c - the same for programs: docs/stuck.md has the form.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "meaning/value.h"
#include "stuck/private.h"
#include "util/clock.h"
#include "util/function_name.h"

static void hex(struct json *j, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_key_string(j, key, text);
}

static void put_value(struct json *j, const struct stuck_call *call, const struct value *v)
{
	char text[96];
	bool likely;

	json_key(j, v->name);
	if (!stuck_value(call, v, text, sizeof(text), &likely)) {
		json_null(j);
		return;
	}
	json_object(j);
	json_key(j, "value");
	if (v->form == FORM_INT && strcmp(text, "none") && !strchr(text, '='))
		json_int(j, strtoll(text, NULL, 10));
	else if (v->form == FORM_UINT && strcmp(text, "none") && !strchr(text, '='))
		json_uint(j, strtoull(text, NULL, 10));
	else
		json_string(j, text);
	json_key_bool(j, "likely", likely);
	json_end_object(j);
}

static void put_call(struct json *j, const struct stuck *stuck, const struct stuck_thread *t,
		     const struct stuck_call *call)
{
	uint64_t now = clock_monotonic();
	char *place = call_place(stuck, t, call), name[FUNCTION_NAME_ROOM];

	json_object(j);
	json_key_string(j, "event", call->function->event);
	json_key_string(j, "function", call->function->symbol);
	if (function_name(call->function->symbol, NAME_WITH_ARGUMENTS, name))
		json_key_string(j, "function_name", name);
	json_key_string(j, "model", call->function->model->name);
	json_key_string(j, "role", role_name(call->function->role));
	json_key_string(j, "entered", call->seen ? "seen" : call->at_least ? "before" : NULL);
	json_key_uint_known(j, "since_ns", now > call->start ? now - call->start : 0, call->seen);
	json_key_uint_known(j, "at_least_ns", call->at_least, !call->seen && call->at_least);
	json_key_bool(j, "likely", call->likely);
	json_key_string(j, "called_from", place);
	json_key(j, "arguments");
	json_object(j);
	for (size_t i = 0; i < call->nvalues; i++)
		if (value_is_shown(&call->values[i]) && !call->values[i].at_return && !call->values[i].constant &&
		    call->values[i].form != FORM_TEXT)
			put_value(j, call, &call->values[i]);
	json_end_object(j);
	json_end_object(j);
	free(place);
}

static void put_waits_for(struct json *j, const struct party *p)
{
	json_key(j, "waits_for");
	if (!p->waits) {
		json_null(j);
		return;
	}
	json_object(j);
	if (p->lock)
		hex(j, "lock", p->lock);
	if (p->barrier)
		hex(j, "barrier", p->barrier);
	if (p->of) {
		json_key_uint(j, "come", p->come);
		json_key_uint(j, "of", p->of);
	}
	if (p->holder)
		json_key_int(j, p->joins ? "thread" : "holder", p->holder);
	if (p->rank_holds)
		json_key_int(j, "holder_rank", p->holder_rank);
	if (p->peer != WAITS_NOBODY)
		json_key_int(j, "peer", p->peer);
	json_key_bool(j, "likely", p->likely);
	json_end_object(j);
}

/* What the interpreter in this frame runs. */
static void put_script(struct json *j, const struct stuck *stuck, const struct stuck_thread *t, size_t frame)
{
	const struct script_frame *script;
	size_t at = 0;

	json_key(j, "script");
	json_array(j);
	while ((script = script_next(t, frame, &at))) {
		json_object(j);
		json_key_string(j, "file", script->file);
		json_key_uint_known(j, "line", script->line, script->line);
		json_key_string(j, "function", script->function);
		json_key_bool(j, "likely", !script_is_certain(stuck, t, frame));
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_frame(struct json *j, const struct stuck *stuck, const struct stuck_thread *t, size_t at)
{
	const struct stack_frame *frame = &t->frames[at];
	char *place = stuck_place(frame);

	json_object(j);
	hex(j, "address", frame->pc);
	json_key_string(j, "file", frame->image ? frame->image->path : NULL);
	json_key_string(j, "place", place);
	json_key_bool(j, "likely", frame->guessed);
	put_script(j, stuck, t, at);
	json_end_object(j);
	free(place);
}

static void put_thread(struct json *j, const struct stuck *stuck, size_t i)
{
	const struct stuck_thread *t = &stuck->threads[i];
	char state[2] = { t->state, '\0' };

	json_object(j);
	json_key_int(j, "pid", t->pid);
	json_key_int(j, "tid", t->tid);
	json_key_string(j, "name", t->name);
	json_key_string(j, "label", t->label);
	json_key_int_known(j, "rank", t->rank, t->rank >= 0);
	json_key_string(j, "state", state);
	json_key_bool(j, "helper", t->is_helper);
	json_key_bool(j, "stuck", t->stuck);
	json_key_uint_known(j, "not_run_ns", t->still, t->still);
	json_key_string(j, "place", t->place);
	json_key(j, "call");
	if (t->waits_in < t->ncalls)
		put_call(j, stuck, t, &t->calls[t->waits_in]);
	else
		json_null(j);
	json_key(j, "calls");
	json_array(j);
	for (size_t k = 0; k < t->ncalls; k++)
		put_call(j, stuck, t, &t->calls[k]);
	json_end_array(j);
	put_waits_for(j, &stuck->parties[i]);
	json_key(j, "stack");
	json_array(j);
	for (size_t k = 0; k < t->nframes; k++)
		put_frame(j, stuck, t, k);
	json_end_array(j);
	json_end_object(j);
}

static void put_who(struct json *j, const void *context, size_t party)
{
	const struct party *p = &((const struct stuck *)context)->parties[party];

	json_key_int_known(j, "tid", p->tid, p->tid);
	json_key_int_known(j, "rank", p->rank, p->rank >= 0);
}

int stuck_print_json(struct stuck *stuck, FILE *out)
{
	struct json *j = malloc(sizeof(*j));
	int err;

	if (!j)
		return -ENOMEM;
	json_init_file(j, out, true);
	json_object(j);
	json_key_uint(j, "watched_ns", stuck->watched);
	json_key_bool(j, "probed", stuck->probed);
	json_key_int_known(j, "ranks", stuck->ranks, stuck->ranks > 0);
	json_key(j, "findings");
	json_array(j);
	for (size_t i = 0; i < stuck->findings.count; i++)
		diagnosis_put(j, &stuck->findings.list[i], put_who, stuck);
	json_end_array(j);
	json_key(j, "threads");
	json_array(j);
	for (size_t i = 0; i < stuck->nthreads; i++)
		put_thread(j, stuck, i);
	json_end_array(j);
	json_end_object(j);
	err = json_finish(j);
	free(j);
	if (!err)
		fputc('\n', out);
	return err;
}
