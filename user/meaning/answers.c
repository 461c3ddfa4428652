/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * answers.c - which of a call's values answer a question that analyses ask of calls.
 */
#include "meaning/answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How many requests a call is given: the values of the requests themselves may be only the first of them. */
static bool is_number(const struct value *v)
{
	return !v->at_return && v->name && (!strcmp(v->name, "count") || !strcmp(v->name, "incount"));
}

/* Whether value v answers what is wanted, and with which precedence: 0 not at all, 1 first, 2 then. */
static unsigned answers_it(const struct value *v, enum want want, enum role role)
{
	bool out = v->side == SIDE_SEND || (v->side == SIDE_NONE && role != ROLE_RECV && role != ROLE_WAIT &&
					    role != ROLE_TEST && role != ROLE_EXCHANGE);
	bool in = v->side == SIDE_RECV || (v->side == SIDE_NONE && !out);
	unsigned later = v->at_return ? 1 : 2; /* what a status says before what was asked for */

	switch (want) {
	case WANT_PEER_OUT:
		return v->meaning == MEANING_PEER && out ? later : 0;
	case WANT_PEER_IN:
		return v->meaning == MEANING_PEER && in ? later : 0;
	case WANT_TAG_OUT:
		return v->meaning == MEANING_TAG && (v->side == SIDE_NONE || out) ? later : 0;
	case WANT_TAG_IN:
		return v->meaning == MEANING_TAG && (v->side == SIDE_NONE || in) ? later : 0;
	case WANT_COMM:
		return v->meaning == MEANING_COMM ? (v->form == FORM_POINTER ? 2 : 1) : 0;
	case WANT_ROOT:
		return v->meaning == MEANING_ROOT;
	case WANT_REQUEST:
		return v->meaning == MEANING_REQUEST;
	case WANT_LOCK:
		return v->meaning == MEANING_LOCK;
	case WANT_OBJECT:
		return v->meaning == MEANING_BARRIER;
	case WANT_SELF:
		return v->meaning == MEANING_SELF;
	case WANT_DONE:
		return v->meaning == MEANING_DONE;
	case WANT_TASK:
		return v->meaning == MEANING_TASK;
	case WANT_WORKER:
		return v->meaning == MEANING_WORKER;
	case WANT_NUMBER:
		return is_number(v);
	case WANT_INDEX:
		return v->meaning == MEANING_INDEX;
	case WANT_OF:
		return v->meaning == MEANING_PTR;
	case WANT_ADDRESS:
		return v->form == FORM_POINTER && !v->at_return && v->meaning != MEANING_COMM;
	case WANT_COLOR:
		return v->meaning == MEANING_COLOR;
	case WANT_HANDLE:
		return v->meaning == MEANING_COMM && !v->at_return && !value_is_id(v);
	case WANT_ID:
		return v->meaning == MEANING_COMM && !v->at_return && value_is_id(v);
	case WANT_MADE:
		return v->meaning == MEANING_COMM && v->at_return && !value_is_id(v);
	case WANT_NEAR:
		return v->meaning == MEANING_NODE && role == ROLE_COMM;
	default:
		return 0;
	}
}

static int find_answers(struct answers *answers, enum want want, enum role role, const struct value *values,
			size_t nvalues)
{
	unsigned count = 0;

	for (size_t i = 0; i < nvalues; i++)
		count += !values[i].unobservable && answers_it(&values[i], want, role);
	if (!count)
		return 0;
	answers->values[want] = calloc(count, sizeof(*answers->values[want]));
	if (!answers->values[want])
		return -ENOMEM;
	for (unsigned precedence = 1; precedence <= 2; precedence++)
		for (size_t i = 0; i < nvalues; i++)
			if (!values[i].unobservable && answers_it(&values[i], want, role) == precedence)
				value_prepare(&answers->values[want][answers->count[want]++], &values[i]);
	return 0;
}

int answers_find(struct answers *answers, enum role role, const struct value *values, size_t nvalues)
{
	int error = 0;

	*answers = (struct answers){ 0 };
	for (enum want want = 0; want < WANTS && !error; want++)
		error = find_answers(answers, want, role, values, nvalues);
	return error;
}

void answers_free(struct answers *answers)
{
	for (enum want want = 0; want < WANTS; want++)
		free(answers->values[want]);
}

bool answer_number(const struct answers *answers, enum want want, const struct sent_words *sent, int64_t *number)
{
	for (unsigned i = 0; i < answers->count[want]; i++) {
		const struct prepared_value *v = &answers->values[want][i];

		if (v->plain ? prepared_read(v, sent, number) : prepared_number(v, sent, number))
			return true;
	}
	return false;
}
