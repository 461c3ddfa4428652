/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processes.c - the processes of the job.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/printer.h"
#include "util/format.h"
#include "util/json.h"
#include "util/log.h"
#include "util/utf8.h"

#define PROCESSES_SHOWN 8
#define QUIET_PART 100   /* of the time observed: threads that ran less are not worth a line's room */
#define COMMAND_LEAST 20 /* columns: in less it would say nothing */

/* What has room of a process's line. */
#define LINE_ROOM (2 * LABEL_ROOM + 200)

static const char *command_of(const struct def_process *def)
{
	return def->command && *def->command ? def->command : def->name ?: "?";
}

/* Of all processes, by index. */
struct lines {
	const struct printer *p;
	uint32_t *threads; /* how many there are in the tables */
	bool *told;
};

/* Into text, "" where it is not known; which is returned. */
static const char *how_it_ended(const struct printer *p, const struct def_process *def, char *text, size_t room)
{
	*text = '\0';
	if (def->has_exit && (def->exit_code & 0x7f))
		snprintf(text, room, " (killed by signal %d)", def->exit_code & 0x7f);
	else if (def->has_exit)
		snprintf(text, room, " (exited with %d)", def->exit_code >> 8 & 0xff);
	else if (p->r->d->run.only_sums && def->end)
		snprintf(text, room, " (has ended)");
	return text;
}

/* length: of the command, bytes. Where the width is limited as much of it as fits; where next to nothing would, the
 * line goes on below. */
static void print_line(const struct printer *p, const char *head, const char *command, size_t length,
		       const char *behind)
{
	size_t taken = 2 + utf8_columns(head) + 2 + utf8_columns(behind), left;
	size_t room = p->style->width > taken ? p->style->width - taken : 0;
	char *whole = strndup(log_safe(command), length);
	const char *end = whole;

	if (!whole) {
		*p->error = *p->error ?: -ENOMEM;
		return;
	}
	left = room >= COMMAND_LEAST && utf8_columns(whole) > room ? room - 2 : SIZE_MAX;
	for (; *end && (left || (*end & 0xc0) == 0x80); end++)
		left -= (*end & 0xc0) != 0x80;
	printer_indented(p, "%s: %.*s%s%s", head, (int)(end - whole), whole, *end ? ".." : "", behind);
	free(whole);
}

/* --- processes without calls: those of one program are one line ----------------- */

static size_t program_length(const char *command)
{
	return strcspn(command, " ");
}

/* A process of which nothing is told but that it was there. */
static bool is_silent(const struct lines *lines, uint32_t index)
{
	const struct def_process *def = &lines->p->r->d->processes[index];

	return !def->left_out && !def->others && !lines->p->r->d->run.only_sums && !lines->threads[index];
}

/* Silent ones, both: of one program, on one node, and ended alike. */
static bool are_alike(const struct lines *lines, uint32_t first, uint32_t other)
{
	const struct def_process *a = &lines->p->r->d->processes[first], *b = &lines->p->r->d->processes[other];
	size_t length = program_length(command_of(a));

	return is_silent(lines, other) && a->has_exit == b->has_exit && a->exit_code == b->exit_code &&
	       a->node == b->node && program_length(command_of(b)) == length &&
	       !strncmp(command_of(a), command_of(b), length);
}

/* Words that the commands have alike, in bytes. */
static size_t words_alike(const char *a, const char *b, size_t length)
{
	size_t same = 0, end = program_length(a);

	for (; same < length && a[same] && a[same] == b[same]; same++)
		if (a[same] == ' ')
			end = same;
	return (a[same] == ' ' || !a[same]) && (b[same] == ' ' || !b[same]) ? same : end;
}

static void print_silent(struct lines *lines, uint32_t index)
{
	const struct printer *p = lines->p;
	const struct def_process *first = &p->r->d->processes[index];
	const char *command = command_of(first), *node = process_node(p->r->d, index);
	struct who who = who_is_process(p->r->d, index);
	size_t count = 0, length = strlen(command);
	char label[LABEL_ROOM], head[LINE_ROOM], ended[40], behind[50], ran[FORMAT_SIZE + 20] = "", time[FORMAT_SIZE];
	uint64_t quiet_run = 0;
	bool cut = false;

	for (uint32_t i = index; i < p->r->d->nprocesses; i++) {
		if (!are_alike(lines, index, i))
			continue;
		count++;
		lines->told[i] = true;
		quiet_run += p->r->d->processes[i].quiet_run;
		length = words_alike(command, command_of(&p->r->d->processes[i]), length);
		cut |= command_of(&p->r->d->processes[i])[length] != '\0';
	}
	if (quiet_run)
		snprintf(ran, sizeof(ran), " and ran %s%s", format_time(time, quiet_run), count > 1 ? " in all" : "");
	snprintf(behind, sizeof(behind), "%s%s", cut || command[length] ? " .." : "",
		 how_it_ended(p, first, ended, sizeof(ended)));
	label_with_pid(&who, label, sizeof(label));
	if (count == 1)
		snprintf(head, sizeof(head), "%s%s%s, which made no observed call%s", label, node ? " on " : "",
			 node ? log_safe(node) : "", ran);
	else
		snprintf(head, sizeof(head), "%zu processes%s%s (the first: %s) that made no observed call%s", count,
			 node ? " on " : "", node ? log_safe(node) : "", label, ran);
	print_line(p, head, command, length, behind);
}

/* --- all of them ---------------------------------------------------------------- */

/* Who makes no observed call is in no table. */
static bool tells_quiet(const struct printer *p, const struct def_process *def)
{
	return def->quiet_run > (def->end ?: p->r->d->run.end) / QUIET_PART - def->start / QUIET_PART;
}

static void print_process(struct lines *lines, uint32_t index)
{
	const struct printer *p = lines->p;
	const struct def_process *def = &p->r->d->processes[index];
	const char *node = process_node(p->r->d, index);
	struct who who = who_is_process(p->r->d, index);
	char label[LABEL_ROOM], count[40] = "", quiet[100] = "", time[FORMAT_SIZE], head[LINE_ROOM], behind[40];

	lines->told[index] = true;
	label_with_pid(&who, label, sizeof(label));
	if (def->others) {
		printer_indented(p,
				 "%s%s%s: those that ended too long ago, came too many at a time, or ended before a "
				 "look at them",
				 label, node ? " on " : "", node ? log_safe(node) : "");
		return;
	}
	if (!p->r->d->run.only_sums)
		snprintf(count, sizeof(count), ", %u thread%s", lines->threads[index], plural(lines->threads[index]));
	if (tells_quiet(p, def))
		snprintf(quiet, sizeof(quiet), ", and %u more that made no observed call and ran %s", def->quiet,
			 format_time(time, def->quiet_run));
	snprintf(head, sizeof(head), "%s%s%s%s%s", label, node ? " on " : "", node ? log_safe(node) : "", count, quiet);
	print_line(p, head, command_of(def), SIZE_MAX, how_it_ended(p, def, behind, sizeof(behind)));
}

static void print_all(struct lines *lines)
{
	const struct definitions *d = lines->p->r->d;
	size_t shown = 0, left = 0;

	for (size_t i = 0; i < lines->p->r->nthreads; i++)
		if (lines->p->r->threads[i].process < d->nprocesses)
			lines->threads[lines->p->r->threads[i].process]++;
	for (uint32_t i = 0; i < d->nprocesses && shown < PROCESSES_SHOWN; i++) {
		if (d->processes[i].left_out || lines->told[i])
			continue;
		shown++;
		if (is_silent(lines, i))
			print_silent(lines, i);
		else
			print_process(lines, i);
	}
	for (uint32_t i = 0; i < d->nprocesses; i++)
		left += !d->processes[i].left_out && !lines->told[i];
	if (left)
		fprintf(lines->p->out, "  ... and %zu more processes\n", left);
}

static void print_processes(void *state, const struct printer *p)
{
	struct lines lines = { .p = p,
			       .threads = calloc(p->r->d->nprocesses + 1, sizeof(*lines.threads)),
			       .told = calloc(p->r->d->nprocesses + 1, sizeof(*lines.told)) };

	if (lines.threads && lines.told)
		print_all(&lines);
	else
		*p->error = *p->error ?: -ENOMEM;
	free(lines.threads);
	free(lines.told);
}

static void put_processes(void *state, const struct report *r, struct json *j)
{
	json_array(j);
	for (size_t i = 0; i < r->d->nprocesses; i++) {
		const struct def_process *p = &r->d->processes[i];

		if (p->left_out)
			continue;
		json_object(j);
		json_key_uint(j, "pid", p->pid);
		json_key_string(j, "command", p->command);
		json_key_string(j, "name", p->name);
		json_key_int_known(j, "rank", p->rank, p->rank >= 0);
		json_key_string(j, "unit", p->rank >= 0 ? p->unit : NULL);
		json_key_int_known(j, "status", p->exit_code, p->has_exit);
		json_key_string(j, "job", p->job);
		json_key_string(j, "node", process_node(r->d, i));
		json_key_uint_known(j, "start_ns", p->start, p->start);
		json_key_uint_known(j, "end_ns", p->end, p->end);
		json_key_uint(j, "quiet_threads", p->quiet);
		json_key_uint(j, "quiet_run_ns", p->quiet_run);
		json_key_bool(j, "others", p->others);
		json_key_bool(j, "has_ended", p->end);
		json_end_object(j);
	}
	json_end_array(j);
}

const struct analysis analysis_processes = {
	.name = "processes",
	.print = print_processes,
	.json = put_processes,
};
