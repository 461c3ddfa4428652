/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * processes.c - the processes of the job.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"
#include "util/format.h"
#include "util/json.h"
#include "util/log.h"
#include "util/utf8.h"

#define PROCESSES_SHOWN 8
#define QUIET_PART 100   /* of the time observed: threads that ran less are not worth a line's room */
#define COMMAND_LEAST 20 /* columns: in less it would say nothing */

/* On a terminal, what fits into the line; columns: of it that are taken. */
static void print_command(const struct printer *p, const char *command, size_t columns)
{
	size_t room = p->style->width > columns ? p->style->width - columns : 0;

	const char *end = command;

	if (room < COMMAND_LEAST || utf8_columns(command) <= room) {
		fputs(command, p->out);
		return;
	}
	for (size_t left = room - 2; left || (*end & 0xc0) == 0x80; end++)
		left -= (*end & 0xc0) != 0x80;
	fprintf(p->out, "%.*s..", (int)(end - command), command);
}

/* Who makes no observed call is in no table. */
static size_t print_quiet(const struct printer *p, const struct def_process *def)
{
	char time[FORMAT_SIZE];

	return fprintf(p->out, ", and %u more that made no observed call and ran %s", def->quiet,
		       format_time(time, def->quiet_run));
}

static void print_process(const struct printer *p, uint32_t index)
{
	const struct def_process *def = &p->r->d->processes[index];
	const char *command = def->command && *def->command ? def->command : def->name;
	unsigned threads = 0;
	struct who who = who_is_process(p->r->d, index);
	char label[LABEL_ROOM];
	size_t columns;

	for (size_t i = 0; i < p->r->nthreads; i++)
		threads += p->r->threads[i].process == index;
	columns = fprintf(p->out, "  %s", label_with_pid(&who, label, sizeof(label)));
	if (process_node(p->r->d, index))
		columns += fprintf(p->out, " on %s", log_safe(process_node(p->r->d, index)));
	if (def->others) {
		fputs(": those that ended too long ago, came too many at a time, or ended before a look at them\n",
		      p->out);
		return;
	}
	if (!p->r->d->run.only_sums)
		columns += fprintf(p->out, ", %u %s", threads, threads == 1 ? "thread" : "threads");
	if (def->quiet_run > (def->end ?: p->r->d->run.end) / QUIET_PART - def->start / QUIET_PART)
		columns += print_quiet(p, def);
	fputs(": ", p->out);
	print_command(p, command ? log_safe(command) : "?", columns + 2);
	if (def->has_exit && (def->exit_code & 0x7f))
		fprintf(p->out, " (killed by signal %d)", def->exit_code & 0x7f);
	else if (def->has_exit)
		fprintf(p->out, " (exited with %d)", def->exit_code >> 8 & 0xff);
	else if (p->r->d->run.only_sums && def->end)
		fputs(" (has ended)", p->out);
	fputc('\n', p->out);
}

static void print_processes(void *state, const struct printer *p)
{
	size_t count = 0;

	for (size_t i = 0; i < p->r->d->nprocesses; i++)
		if (!p->r->d->processes[i].left_out && count++ < PROCESSES_SHOWN)
			print_process(p, i);
	if (count > PROCESSES_SHOWN)
		fprintf(p->out, "  ... and %zu more processes\n", count - PROCESSES_SHOWN);
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
