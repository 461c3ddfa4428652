/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * print.c - for people: what was found, and a table of the threads.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meaning/value.h"
#include "stuck/private.h"
#include "util/clock.h"
#include "util/format.h"
#include "util/log.h"
#include "util/table.h"

#define VALUE_TEXT 96
#define ARGUMENTS_TEXT 400

bool stuck_value(const struct stuck_call *call, const struct value *v, char *text, size_t room, bool *likely)
{
	struct value_reading r = value_read(v, call->words, call->nwords, call->unread, false);

	if (v->form == FORM_TEXT || v->at_return || !r.known)
		return false;
	*likely = !v->constant &&
		  (!(call->certain >> v->slot & 1) || (v->has_high && !(call->certain >> v->high_slot & 1)));
	if (r.none)
		snprintf(text, room, "none");
	else if (r.decoded && v->meaning != MEANING_PEER && v->meaning != MEANING_ROOT)
		snprintf(text, room, "thread=%" PRIu64 ",phase=%" PRIu64 ",addr=0x%" PRIx64, r.thread, r.phase,
			 r.address);
	else if (v->form == FORM_POINTER || v->form == FORM_STRING)
		snprintf(text, room, "0x%" PRIx64, (uint64_t)r.number);
	else if (v->form == FORM_UINT)
		snprintf(text, room, "%" PRIu64, (uint64_t)r.number);
	else
		snprintf(text, room, "%" PRId64, r.number);
	return true;
}

/* "source=1 tag=5~": what is only likely has a ~ behind it. Addresses of buffers tell nobody anything here. */
static void put_arguments(const struct stuck_call *call, char *text, size_t room)
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0; i < call->nvalues && used < room; i++) {
		const struct value *v = &call->values[i];
		char word[VALUE_TEXT];
		bool likely;

		if (v->constant || !value_is_shown(v) ||
		    (v->form == FORM_POINTER && v->meaning != MEANING_LOCK && v->meaning != MEANING_BARRIER) ||
		    v->meaning == MEANING_COMM || !stuck_value(call, v, word, sizeof(word), &likely))
			continue;
		used += snprintf(text + used, room - used, "%s%s=%s%s", used ? " " : "", v->name, word,
				 likely ? "~" : "");
	}
}

static void put_since(const struct stuck_call *call, char *text, size_t room)
{
	uint64_t now = clock_monotonic();
	char time[FORMAT_SIZE];

	if (call->seen)
		snprintf(text, room, "%s", format_time(time, now > call->start ? now - call->start : 0));
	else if (call->at_least)
		snprintf(text, room, "before, >= %s%s", format_time(time, call->at_least), call->likely ? "~" : "");
	else
		snprintf(text, room, "?");
}

static const char *state_text(char state)
{
	switch (state) {
	case 'R':
		return "runs";
	case 'D':
		return "waits for a device";
	case 'T':
		return "is stopped";
	case 't':
		return "is debugged";
	default:
		return "sleeps";
	}
}

static void add_row(struct stuck *stuck, struct table *table, size_t i)
{
	const struct stuck_thread *t = &stuck->threads[i];
	const struct party *party = &stuck->parties[i];
	const struct stuck_call *call = t->waits_in < t->ncalls ? &t->calls[t->waits_in] : NULL;
	char arguments[ARGUMENTS_TEXT] = "", since[64] = "";

	if (call) {
		put_arguments(call, arguments, sizeof(arguments));
		put_since(call, since, sizeof(since));
	}
	if (call && !*arguments && party->lock)
		snprintf(arguments, sizeof(arguments), "lock=0x%" PRIx64 "%s", party->lock, party->likely ? "~" : "");
	if (call && !*arguments && party->barrier)
		snprintf(arguments, sizeof(arguments), "barrier=0x%" PRIx64 "%s", party->barrier,
			 party->likely ? "~" : "");
	table_cell(table, "%s", t->label);
	table_cell(table, "%d", t->tid);
	table_cell(table, "%s", call ? call->function->event : party->uncaught ? "?" : "-");
	table_cell(table, "%s", *arguments ? arguments : "-");
	table_cell(table, "%s", !call || party->stopped ? state_text(t->state) : t->stuck ? since : "moves");
	table_cell(table, "%s", t->place ?: "-");
}

/* What the interpreter in this frame runs. */
static void print_script(const struct stuck *stuck, const struct stuck_thread *t, size_t frame, FILE *out)
{
	const struct script_frame *script;
	size_t at = 0;

	while ((script = script_next(t, frame, &at))) {
		char *place = script_place(script);

		fprintf(out, "        %s%s\n", script_is_certain(stuck, t, frame) ? "" : "~ ", place ?: "?");
		free(place);
	}
}

static void print_frames(const struct stuck *stuck, const struct stuck_thread *t, FILE *out)
{
	fprintf(out, "\n%s\n", t->label);
	for (size_t i = 0; i < t->nframes; i++) {
		const struct stack_frame *frame = &t->frames[i];
		char *place = stuck_place(frame);
		const char *file = frame->image ? log_safe(path_base(frame->image->path)) : "?";

		fprintf(out, "  #%-2zu %s%s", i, frame->guessed ? "~ " : "", place ?: "");
		if (!place)
			fprintf(out, "%s+0x%" PRIx64, file, frame->image ? frame->offset : frame->pc);
		fputc('\n', out);
		free(place);
		print_script(stuck, t, i, out);
	}
	if (!t->nframes)
		fputs("  not known\n", out);
}

static void print_head(const struct stuck *stuck, FILE *out, size_t helpers)
{
	size_t waiting = 0, moving = 0, ended = 0, uncaught = 0, all = stuck->nthreads - helpers;
	char time[FORMAT_SIZE];

	for (size_t i = 0; i < stuck->nthreads; i++) {
		const struct stuck_thread *t = &stuck->threads[i];

		waiting += t->stuck && !t->is_helper;
		moving += !t->stuck && !t->is_helper && t->waits_in < t->ncalls;
		uncaught += stuck->parties[i].uncaught && !t->is_helper;
	}
	fprintf(out, "%zu thread%s of %zu process%s, watched for %s: %zu wait%s, %zu move%s, %zu in no known call", all,
		all == 1 ? "" : "s", stuck->nprocesses, stuck->nprocesses == 1 ? "" : "es",
		format_time(time, stuck->watched), waiting, waiting == 1 ? "s" : "", moving, moving == 1 ? "s" : "",
		all - waiting - moving - uncaught);
	if (uncaught)
		fprintf(out, ", %zu not known", uncaught);
	fputc('\n', out);
	for (size_t i = 0; i < stuck->nprocesses; i++)
		ended += stuck->processes[i].ended;
	if (ended)
		fprintf(out, "%zu process%s ended meanwhile\n", ended, ended == 1 ? " has" : "es have");
}

int stuck_print(struct stuck *stuck, FILE *out, const struct stuck_style *style)
{
	static const struct column columns[] = {
		{ .title = "Who", .left = true, .shrinks = true },
		{ .title = "tid", .drop = 1 },
		{ .title = "In", .left = true },
		{ .title = "With", .left = true, .shrinks = true, .drop = 2 },
		{ .title = "Since", .left = true },
		{ .title = "Where", .left = true, .shrinks = true },
	};
	struct table table = { .ncolumns = 0 };
	size_t helpers = 0;
	int err;

	for (size_t i = 0; i < stuck->nthreads; i++)
		helpers += stuck->threads[i].is_helper;
	print_head(stuck, out, helpers);
	if (stuck->findings.count)
		fputs("\nFindings\n", out);
	for (size_t i = 0; i < stuck->findings.count; i++)
		fprintf(out, "- %s%s\n",
			stuck->findings.list[i].likely && stuck->findings.list[i].kind != FINDING_DEADLOCK ? "likely: "
													   : "",
			stuck->findings.list[i].text);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		table_column(&table, &columns[i]);
	for (size_t i = 0; i < stuck->nthreads; i++)
		if (style->all || !stuck->threads[i].is_helper)
			add_row(stuck, &table, i);
	fputs("\nThreads  (~: likely, not certain)\n", out);
	err = table_print(&table, out, style->width);
	table_free(&table);
	for (size_t i = 0; style->stacks && i < stuck->nthreads; i++)
		if (style->all || !stuck->threads[i].is_helper)
			print_frames(stuck, &stuck->threads[i], out);
	if (helpers && !style->all)
		fprintf(out, "\n%zu thread%s of the runtime's own %s not shown: --all\n", helpers,
			helpers == 1 ? "" : "s", helpers == 1 ? "is" : "are");
	return err;
}
