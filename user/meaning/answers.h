/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * answers.h - which of a call's values answer a question that analyses ask of calls: part of user/meaning's door.
 *
 * Several may: what a status says at the return comes before what was asked for, and whichever is known is the answer.
 */
#ifndef GASPBPF_MEANING_ANSWERS_H
#define GASPBPF_MEANING_ANSWERS_H

#include "meaning/value.h"

enum want {
	WANT_PEER_OUT,
	WANT_PEER_IN,
	WANT_TAG_OUT,
	WANT_TAG_IN,
	WANT_COMM,
	WANT_ROOT,
	WANT_REQUEST,
	WANT_LOCK,
	WANT_OBJECT,
	WANT_SELF,
	WANT_DONE,
	WANT_TASK,
	WANT_WORKER,
	WANT_NUMBER /* of requests */,
	WANT_INDEX,
	WANT_OF,      /* a window of one-sided transfers, a variable that is waited for */
	WANT_ADDRESS, /* all addresses that a call is given, in their order */
	WANT_COLOR,
	WANT_HANDLE, /* the communicator that a call names, as it was given, */
	WANT_ID,     /* and what is the same in all processes */
	WANT_MADE,   /* the handle of the new communicator that it gives */
	WANT_NEAR,   /* that one is of processes of one node only */
	WANTS
};

/* Of one probe. Zero: none. */
struct answers {
	struct prepared_value *values[WANTS]; /* in the order in which they are asked */
	unsigned count[WANTS];
};

/* The values must live as long. 0 or -ENOMEM; answers_free() after either. */
int answers_find(struct answers *answers, enum role role, const struct value *values, size_t nvalues);
void answers_free(struct answers *answers);
/* The first that is known. False: none is. */
bool answer_number(const struct answers *answers, enum want want, const struct sent_words *sent, int64_t *number);

#endif
