/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vain.c - calls that ask whether something has come (MPI_Test, MPI_Iprobe), and it has not.
 *
 * Whoever asks again and again until it has come waits, in many short calls instead of one long one. For whom, the wait
 * states tell where that is known (simulate/polls.c); the finding that such calls take much of the time says how many
 * of them found nothing.
 */
#include "analysis/analyses.h"
#include "analysis/vain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/format.h"

#define MOST_OF 2 /* worth a word from one in so many calls on */

struct vain {
	struct asked {
		uint64_t known, vain; /* calls of which it is known; those of them that found nothing */
	} * of;                       /* by event */
	size_t room;
};

static int begin(void **state, const struct definitions *d)
{
	*state = calloc(1, sizeof(struct vain));
	return *state ? 0 : -ENOMEM;
}

static int span(void *state, const struct accounted_call *call)
{
	struct vain *s = state;
	int64_t done;

	if (call->inner || !call_number(call, MEANING_DONE, &done))
		return 0;
	if (array_reach(&s->of, &s->room, (size_t)call->event + 1, sizeof(*s->of)))
		return -ENOMEM;
	s->of[call->event].known++;
	s->of[call->event].vain += !done;
	return 0;
}

static int end(void *state, struct report *r)
{
	r->vain = state;
	return 0;
}

const char *vain_text(const struct report *r, uint32_t event, char *text, size_t room)
{
	const struct asked *asked = r->vain && event < r->vain->room ? &r->vain->of[event] : NULL;
	char vain[FORMAT_SIZE], known[FORMAT_SIZE];

	*text = '\0';
	if (asked && asked->vain && asked->vain * MOST_OF >= asked->known)
		snprintf(text, room,
			 "; %s of %s calls found nothing: that is waiting, by asking again and again (busy waiting)",
			 format_count(vain, asked->vain), format_count(known, asked->known));
	return text;
}

static bool serves(const struct analysis *is)
{
	return is == &analysis_findings;
}

static void forget(void *state)
{
	struct vain *s = state;

	free(s->of);
	free(s);
}

const struct analysis analysis_vain = {
	.name = "vain",
	.serves = serves,
	.roles = ROLE_BIT(ROLE_TEST),
	.begin = begin,
	.span = span,
	.end = end,
	.free = forget,
};
