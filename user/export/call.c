/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call.c - a call in words: its values, its call site, how it ended.
 */
#include "export/call.h"
#include "util/digits.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sent_words call_words(const struct span *span)
{
	return (struct sent_words){
		span->words,
		span->nwords,
		span->unread,
		span->reason == GB_END_RETURN || span->reason == GB_END_TAIL,
	};
}

void real_text(char *text, size_t room, uint64_t word)
{
	double real;

	memcpy(&real, &word, sizeof(real));
	snprintf(text, room, "%.15g", real);
	if (isfinite(real) && strtod(text, NULL) != real)
		snprintf(text, room, "%.17g", real);
}

void call_value(const struct span *span, const struct value *v, struct shown_value *shown)
{
	struct sent_words sent = call_words(span);
	const char *text = value_text(v, sent.words, sent.nwords, sent.unread, sent.returned);
	struct value_reading reading = value_read(v, sent.words, sent.nwords, sent.unread, sent.returned);

	shown->number = reading.number;
	if (v->form == FORM_TEXT) {
		shown->kind = text ? VALUE_WORD : VALUE_UNKNOWN;
		snprintf(shown->word, VALUE_TEXT, "%s", text ? text : "");
	} else if (!reading.known) {
		shown->kind = VALUE_UNKNOWN;
	} else if (reading.none) {
		shown->kind = VALUE_WORD;
		strcpy(shown->word, "none");
	} else if (reading.decoded && v->meaning != MEANING_PEER && v->meaning != MEANING_ROOT) {
		shown->kind = VALUE_WORD;
		snprintf(shown->word, VALUE_TEXT, "thread=%" PRIu64 ",phase=%" PRIu64 ",addr=0x%" PRIx64,
			 reading.thread, reading.phase, reading.address);
	} else if (v->form == FORM_REAL) {
		shown->kind = VALUE_WORD;
		real_text(shown->word, VALUE_TEXT, (uint64_t)reading.number);
	} else if (v->form == FORM_POINTER) {
		shown->kind = VALUE_WORD;
		*digits_address(shown->word, (uint64_t)reading.number) = '\0';
	} else {
		shown->kind = v->form == FORM_BOOL ? VALUE_TRUTH : v->form == FORM_UINT ? VALUE_UNSIGNED : VALUE_SIGNED;
	}
}

const char *shown_text(struct shown_value *shown)
{
	switch (shown->kind) {
	case VALUE_UNKNOWN:
		return "unknown";
	case VALUE_TRUTH:
		return shown->number ? "true" : "false";
	case VALUE_SIGNED:
		snprintf(shown->word, VALUE_TEXT, "%" PRId64, shown->number);
		return shown->word;
	case VALUE_UNSIGNED:
		snprintf(shown->word, VALUE_TEXT, "%" PRIu64, (uint64_t)shown->number);
		return shown->word;
	default:
		return shown->word;
	}
}

const char *argument_text(const struct argument *a, char *text, size_t room)
{
	if (!a->known)
		return "unknown";
	if (a->text)
		return a->text;
	if (a->kind == ARGUMENT_SHARED && a->decoded)
		snprintf(text, room, "thread=%" PRIu64 ",phase=%" PRIu64 ",addr=0x%" PRIx64, a->thread, a->phase,
			 a->address);
	else if (a->kind == ARGUMENT_SHARED && a->high)
		snprintf(text, room, "0x%" PRIx64 ":0x%" PRIx64, a->high, a->word);
	else if (a->kind == ARGUMENT_POINTER || a->kind == ARGUMENT_TEXT || a->kind == ARGUMENT_SHARED)
		snprintf(text, room, "0x%" PRIx64, a->word);
	else if (a->kind == ARGUMENT_DOUBLE)
		real_text(text, room, a->word);
	else if (a->kind == ARGUMENT_INT)
		snprintf(text, room, "%" PRId64, (int64_t)a->word);
	else
		snprintf(text, room, "%" PRIu64, a->word);
	return text;
}

const char *call_end(const struct span *span)
{
	static const char *const names[] = {
		[GB_END_UNWOUND] = "unwound", [GB_END_EXIT] = "exit",     [GB_END_EXEC] = "exec",
		[GB_END_DEPTH] = "depth",     [GB_END_DETACH] = "detach", [GB_END_ATOMIC] = "atomic",
		[GB_END_TAIL] = "tail",       [GB_END_OFF] = "off",       [GB_END_ALONE] = "alone",
	};

	if (span->reason == GB_END_RETURN)
		return NULL;
	return span->reason < sizeof(names) / sizeof(*names) ? names[span->reason] : "unknown";
}

/* --- call sites ------------------------------------------------------------- */

bool site_texts_open(struct site_texts *sites, const struct definitions *d)
{
	sites->d = d;
	sites->texts = calloc(d->nsites + 1, sizeof(*sites->texts));
	return sites->texts;
}

void site_texts_close(struct site_texts *sites)
{
	for (size_t i = 0; sites->texts && i < sites->d->nsites; i++)
		free(sites->texts[i]);
	free(sites->texts);
	sites->texts = NULL;
}

const char *site_text(struct site_texts *sites, uint32_t site)
{
	if (site >= sites->d->nsites)
		return NULL;
	if (!sites->texts[site])
		sites->texts[site] = site_place(sites->d, site);
	return sites->texts[site];
}

void lane_text(struct who *who, unsigned lane, char *buffer, size_t size)
{
	char stack[32] = "";

	who->exact = true;
	if (lane)
		snprintf(stack, sizeof(stack), " stack %u", lane + 1);
	label_of_thread(who, buffer, size - sizeof(stack));
	strcat(buffer, stack);
}

void process_text(const struct definitions *d, uint32_t process, char *buffer, size_t size)
{
	const struct def_process *p = process < d->nprocesses ? &d->processes[process] : NULL;
	const char *command = p && p->command && *p->command ? p->command : p && p->name ? p->name : "?";
	struct who who = who_is_process(d, process);
	char label[LABEL_ROOM] = "";

	who.exact = true;
	if (who.rank >= 0)
		label_of_process(&who, label, sizeof(label));
	snprintf(buffer, size, "%s%s%s", label, *label ? ": " : "", command);
}

/* Lost calls are told in two ways, and of a recording that was cut not by both. */
int add_missing_calls(const struct definitions *d, uint64_t *by_thread)
{
	uint64_t *sums = calloc(d->nthreads + 1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < d->nsums; i++)
		sums[d->sums[i].thread] += d->sums[i].lost;
	for (size_t i = 0; i < d->nthreads; i++)
		by_thread[i] = by_thread[i] > sums[i] ? by_thread[i] : sums[i];
	for (size_t i = 0; i < d->nsums; i++)
		by_thread[d->sums[i].thread] += d->sums[i].summed + d->sums[i].skipped;
	free(sums);
	return 0;
}

const char *node_text(const struct definitions *d, const struct def_process *process)
{
	if (!process || !process->node || process->node > d->nnodes)
		return d->run.host;
	return d->nodes[process->node - 1].host;
}
