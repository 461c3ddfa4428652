/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * labels.c - what people call a process, a thread, a place in the source.
 */
#include "recording/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/files.h"
#include "util/function_name.h"
#include "util/log.h"

struct who who_is_process(const struct definitions *d, uint32_t process)
{
	const struct def_process *p = process < d->nprocesses ? &d->processes[process] : NULL;

	if (!p)
		return (struct who){ .rank = -1 };
	return (struct who){ .unit = p->unit,
			     .rank = p->rank,
			     .name = p->name,
			     .pid = p->pid,
			     .job = p->job,
			     .numbered = d->run.only_sums && !p->job };
}

struct who who_is_thread(const struct definitions *d, uint32_t thread)
{
	const struct def_thread *t = thread < d->nthreads ? &d->threads[thread] : NULL;
	struct who who = who_is_process(d, t ? t->process : NO_INDEX);

	who.name = t ? t->name : NULL;
	who.tid = t && !t->all ? t->tid : 0; /* else it is the process as a whole */
	return who;
}

static const char *written(const struct who *who, const char *text)
{
	return who->exact ? text : log_safe(text);
}

static int put_rank(const struct who *who, char *text, size_t room)
{
	int length = snprintf(text, room, "%s %ld", who->unit ? written(who, who->unit) : "rank", who->rank);

	if (length < 0 || (size_t)length >= room)
		return length;
	if (who->job)
		length += snprintf(text + length, room - length, " (%s)", written(who, who->job));
	else if (who->numbered)
		length += snprintf(text + length, room - length, " (pid %u)", who->pid);
	return length;
}

static const char *name_of(const struct who *who)
{
	return who->name ? written(who, who->name) : "?";
}

/* The number goes on whatever of the name has room beside it. */
static void put_number(char *text, size_t room, const char *kind, uint32_t number)
{
	char numbered[32];
	size_t length = snprintf(numbered, sizeof(numbered), " (%s %u)", kind, number), used = strlen(text);

	if (length >= room)
		return;
	if (used + length >= room)
		used = room - 1 - length;
	snprintf(text + used, room - used, "%s", numbered);
}

char *label_with_pid(const struct who *who, char *text, size_t room)
{
	if (who->rank >= 0)
		put_rank(who, text, room);
	else
		snprintf(text, room, "%s", name_of(who));
	if (who->pid && !(who->rank >= 0 && who->numbered && !who->job))
		put_number(text, room, "pid", who->pid);
	return text;
}

char *label_of_process(const struct who *who, char *text, size_t room)
{
	if (who->rank < 0)
		return label_with_pid(who, text, room);
	put_rank(who, text, room);
	return text;
}

/* The main thread of a rank is that rank to everybody. */
static bool stands_for_rank(const struct who *who)
{
	return who->rank >= 0 && (!who->tid || who->tid == who->pid);
}

char *label_without_tid(const struct who *who, char *text, size_t room)
{
	size_t used = 0;

	if (who->rank >= 0)
		used = put_rank(who, text, room);
	if (!stands_for_rank(who) && used < room)
		snprintf(text + used, room - used, "%s%s", used ? " " : "", name_of(who));
	return text;
}

char *label_of_thread(const struct who *who, char *text, size_t room)
{
	label_without_tid(who, text, room);
	if (!stands_for_rank(who) && who->tid)
		put_number(text, room, "tid", who->tid);
	else if (who->rank < 0 && !who->tid && who->pid)
		put_number(text, room, "pid", who->pid);
	return text;
}

char *process_label(const struct definitions *d, uint32_t process, char *text, size_t room)
{
	struct who who = who_is_process(d, process);

	return label_of_process(&who, text, room);
}

char *thread_label(const struct definitions *d, uint32_t thread, char *text, size_t room)
{
	struct who who = who_is_thread(d, thread);

	return label_of_thread(&who, text, room);
}

const char *process_node(const struct definitions *d, uint32_t process)
{
	uint32_t node = process < d->nprocesses ? d->processes[process].node : 0;

	return node && node <= d->nnodes && d->nnodes > 1 ? d->nodes[node - 1].host : NULL;
}

char *thread_label_on_node(const struct definitions *d, uint32_t thread, char *text, size_t room)
{
	const char *node = thread < d->nthreads ? process_node(d, d->threads[thread].process) : NULL;
	size_t used;

	thread_label(d, thread, text, room);
	used = strlen(text);
	if (node)
		snprintf(text + used, room - used, " on %s", log_safe(node));
	return text;
}

char *event_label(const struct def_probe *probe, bool inner, char *text, size_t room)
{
	const char *function = probe->marks & MARK_EACH ? probe->symbol : NULL;

	snprintf(text, room, "%s%s%s%s", probe->event ? log_safe(probe->event) : "?", function ? " " : "",
		 function ? function_label(function, FUNCTION_NAME_COLUMNS) : "", inner ? " (inner)" : "");
	return text;
}

/* Of a library's file name, how much people need: "libpetsc_real.so" of "libpetsc_real.so.3.18.5". Bytes. */
static int stem_length(const char *name)
{
	const char *suffix = strstr(name, ".so.");

	return suffix && suffix > name ? (int)(suffix + 3 - name) : (int)strlen(name);
}

static void put_in_library(const char *path, uint64_t offset, char *text, size_t room)
{
	const char *name = log_safe(path_base(path));

	snprintf(text, room, "%.*s+0x%" PRIx64, stem_length(name), name, offset);
}

char *site_label(const struct definitions *d, uint32_t site, char *text, size_t room)
{
	const struct def_site *s = site < d->nsites ? &d->sites[site] : NULL;

	if (!s)
		snprintf(text, room, "?");
	else if (s->file && s->function)
		snprintf(text, room, "%s:%u in %s", log_safe(path_base(s->file)), s->line,
			 function_label(s->function, FUNCTION_NAME_COLUMNS));
	else if (s->file)
		snprintf(text, room, "%s:%u", log_safe(path_base(s->file)), s->line);
	else if (s->function)
		snprintf(text, room, "%s+0x%" PRIx64, function_label(s->function, FUNCTION_NAME_COLUMNS),
			 s->function_offset);
	else if (s->image < d->nimages && d->images[s->image].path)
		put_in_library(d->images[s->image].path, s->offset, text, room);
	else
		snprintf(text, room, "0x%" PRIx64, s->address);
	return text;
}

char *site_place(const struct definitions *d, uint32_t site)
{
	const struct def_site *s = &d->sites[site];
	char name[FUNCTION_NAME_ROOM], *text;
	int length;

	if (s->file && s->column)
		length = asprintf(&text, "%s:%u:%u", s->file, s->line, s->column);
	else if (s->file)
		length = asprintf(&text, "%s:%u", s->file, s->line);
	else if (s->function)
		length = asprintf(&text, "%s+0x%" PRIx64, function_name_or(s->function, name), s->function_offset);
	else if (s->image < d->nimages && d->images[s->image].path)
		length = asprintf(&text, "%s+0x%" PRIx64, path_base(d->images[s->image].path), s->offset);
	else
		length = asprintf(&text, "0x%" PRIx64, s->address);
	return length < 0 ? NULL : text;
}
