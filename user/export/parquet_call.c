/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * parquet_call.c - a call as a row of a table.
 *
 * docs/sql.md has the columns. What is not known is not put, and so is NULL. Texts of threads, functions and places
 * are the same in millions of rows: each has a struct parquet_text of its own, by which the writer knows it again.
 */
#include "export/parquet_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "account/account.h"
#include "export/call.h"
#include "meaning/value.h"
#include "recording/communicators.h"
#include "util/function_name.h"

enum column {
	NODE,
	JOB,
	RANK,
	PID,
	PROCESS,
	TID,
	THREAD,
	MODEL,
	EVENT,
	FUNCTION,
	ROLE,
	ACTIVITY,
	INNER,
	START,
	START_NS,
	DURATION,
	TOTAL,
	SELF,
	DEPTH,
	STATUS,
	PEER,
	PEER_RANK,
	ROOT,
	TAG,
	COMM,
	COMM_ID,
	COMM_FIRST,
	BYTES,
	SENT,
	RECEIVED,
	LOCK,
	NAME,
	KIND,
	FILE_OF,
	LINE,
	CALLER,
	SITE,
	COLUMNS
};

const struct parquet_column call_columns[] = {
	[NODE] = { "node", PARQUET_TEXT, false },
	[JOB] = { "job", PARQUET_TEXT, false },
	[RANK] = { "rank", PARQUET_NUMBER, false },
	[PID] = { "pid", PARQUET_NUMBER, false },
	[PROCESS] = { "process", PARQUET_TEXT, false },
	[TID] = { "tid", PARQUET_NUMBER, false },
	[THREAD] = { "thread", PARQUET_TEXT, false },
	[MODEL] = { "model", PARQUET_TEXT, false },
	[EVENT] = { "event", PARQUET_TEXT, false },
	[FUNCTION] = { "function", PARQUET_TEXT, false },
	[ROLE] = { "role", PARQUET_TEXT, false },
	[ACTIVITY] = { "activity", PARQUET_TEXT, false },
	[INNER] = { "internal", PARQUET_TRUTH, false },
	[START] = { "start", PARQUET_TIME, true },
	[START_NS] = { "start_ns", PARQUET_NUMBER, true },
	[DURATION] = { "duration_ns", PARQUET_NUMBER, true },
	[TOTAL] = { "total_ns", PARQUET_NUMBER, true },
	[SELF] = { "self_ns", PARQUET_NUMBER, true },
	[DEPTH] = { "depth", PARQUET_NUMBER, false },
	[STATUS] = { "status", PARQUET_TEXT, false },
	[PEER] = { "peer", PARQUET_NUMBER, false },
	[PEER_RANK] = { "peer_rank", PARQUET_NUMBER, false },
	[ROOT] = { "root", PARQUET_NUMBER, false },
	[TAG] = { "tag", PARQUET_NUMBER, false },
	[COMM] = { "comm_name", PARQUET_TEXT, false },
	[COMM_ID] = { "comm_id", PARQUET_NUMBER, false },
	[COMM_FIRST] = { "comm_first", PARQUET_NUMBER, false },
	[BYTES] = { "bytes", PARQUET_NUMBER, false },
	[SENT] = { "sent", PARQUET_NUMBER, false },
	[RECEIVED] = { "received", PARQUET_NUMBER, false },
	[LOCK] = { "lock", PARQUET_TEXT, false },
	[NAME] = { "name", PARQUET_TEXT, false },
	[KIND] = { "kind", PARQUET_TEXT, false },
	[FILE_OF] = { "file", PARQUET_TEXT, false },
	[LINE] = { "line", PARQUET_NUMBER, false },
	[CALLER] = { "caller", PARQUET_TEXT, false },
	[SITE] = { "site", PARQUET_TEXT, false },
};
const unsigned ncall_columns = COLUMNS;

/* Which value of a call a column is of: the first that is known; one that is negative stands for any, and gives way
 * to another that tells which. */
#define CHOICES 4
struct choices {
	struct prepared_value values[CHOICES];
	unsigned count;
};

struct probe_row {
	bool ready;
	struct parquet_text model, event, function, role, activity;
	char function_name[FUNCTION_NAME_ROOM];
	struct choices peer, root, tag, comm_id;
	const struct value *lock, *name, *kind; /* NULL: none */
	struct choices window;
	bool names_comm;
	struct payload_plan *payload; /* NULL: it moves nothing */
};

struct thread_row {
	struct parquet_text thread, process, job, node;
};

struct site_row {
	bool ready;
	struct parquet_text file, caller, site;
};

struct call_rows {
	const struct definitions *d;
	struct probe_row *probes;
	struct thread_row *threads;
	struct site_row *sites;
	struct parquet_text *comms; /* their names */
	struct parquet_text statuses[GB_ENDS + 1];
	struct site_texts places;
	struct comm_index *index;
	struct window_comms windows;
	struct texts *texts;
};

/* --- what is known once ------------------------------------------------------------ */

static void choose(struct choices *choices, const struct value *v)
{
	if (choices->count < CHOICES && !v->unobservable)
		value_prepare(&choices->values[choices->count++], v);
}

static void learn_value(struct probe_row *row, const struct value *v)
{
	switch (v->meaning) {
	case MEANING_PEER:
		choose(&row->peer, v);
		break;
	case MEANING_ROOT:
		choose(&row->root, v);
		break;
	case MEANING_TAG:
		choose(&row->tag, v);
		break;
	case MEANING_COMM:
		row->names_comm = true;
		if (v->form != FORM_POINTER) /* the same number on all ranks */
			choose(&row->comm_id, v);
		break;
	case MEANING_PTR:
		if (!row->window.count)
			choose(&row->window, v);
		break;
	case MEANING_LOCK:
		row->lock = row->lock ?: v;
		break;
	case MEANING_NAME:
		row->name = row->name ?: v;
		break;
	case MEANING_KIND:
		row->kind = row->kind ?: v;
		break;
	default:
		break;
	}
}

static int learn_probe(struct call_rows *rows, uint32_t index)
{
	const struct def_probe *probe = &rows->d->probes[index];
	struct probe_row *row = &rows->probes[index];

	row->model.text = probe->model;
	row->event.text = probe->event;
	row->role.text = role_name(probe->role);
	row->activity.text = group_name(group_of_role(probe->role));
	row->function.text = probe->symbol ? function_name_or(probe->symbol, row->function_name) : NULL;
	for (uint32_t i = 0; i < probe->nvalues; i++)
		learn_value(row, &probe->values[i]);
	if (probe_value(probe, MEANING_BYTES) >= 0 || probe_value(probe, MEANING_COUNT) >= 0) {
		row->payload = payload_plan_new(probe->role, probe->values, probe->nvalues);
		if (!row->payload)
			return -ENOMEM;
	}
	row->ready = true;
	return 0;
}

static int learn_site(struct call_rows *rows, uint32_t index)
{
	const struct def_site *site = &rows->d->sites[index];
	struct site_row *row = &rows->sites[index];

	row->file.text = site->file;
	row->caller.text = site->function;
	row->site.text = site_text(&rows->places, index);
	row->ready = row->site.text;
	return row->ready ? 0 : -ENOMEM;
}

static void learn_threads(struct call_rows *rows)
{
	for (uint32_t i = 0; i < rows->d->nthreads; i++) {
		const struct def_process *process = thread_process(rows->d, i);
		struct thread_row *row = &rows->threads[i];

		row->thread.text = rows->d->threads[i].name;
		row->process.text = process ? process->name : NULL;
		row->job.text = process ? process->job : NULL;
		row->node.text = node_text(rows->d, process);
	}
}

static void learn_statuses(struct call_rows *rows)
{
	for (unsigned i = 0; i <= GB_ENDS; i++) {
		const struct span span = { .reason = i };

		rows->statuses[i].text = call_end(&span) ?: "returned";
	}
}

struct call_rows *call_rows_new(const struct definitions *d)
{
	struct call_rows *rows = calloc(1, sizeof(*rows));

	if (!rows)
		return NULL;
	rows->d = d;
	rows->probes = calloc(d->nprobes + 1, sizeof(*rows->probes));
	rows->threads = calloc(d->nthreads + 1, sizeof(*rows->threads));
	rows->sites = calloc(d->nsites + 1, sizeof(*rows->sites));
	rows->comms = calloc(d->ncomms + 1, sizeof(*rows->comms));
	rows->index = comm_index_new(d);
	rows->texts = texts_new(d);
	if (!site_texts_open(&rows->places, d) || !rows->probes || !rows->threads || !rows->sites || !rows->comms ||
	    !rows->index || !rows->texts) {
		call_rows_free(rows);
		return NULL;
	}
	for (size_t i = 0; i < d->ncomms; i++)
		rows->comms[i].text = d->comms[i].name;
	learn_threads(rows);
	learn_statuses(rows);
	return rows;
}

void call_rows_free(struct call_rows *rows)
{
	if (!rows)
		return;
	for (size_t i = 0; rows->probes && i < rows->d->nprobes; i++)
		payload_plan_free(rows->probes[i].payload);
	free(rows->probes);
	free(rows->threads);
	free(rows->sites);
	free(rows->comms);
	site_texts_close(&rows->places);
	comm_index_free(rows->index);
	window_comms_free(&rows->windows);
	texts_free(rows->texts);
	free(rows);
}

/* --- a call ----------------------------------------------------------------------- */

static bool chosen(const struct choices *choices, const struct sent_words *sent, int64_t *number)
{
	bool known = false;
	int64_t one;

	for (unsigned i = 0; i < choices->count && (!known || *number < 0); i++) {
		if (!prepared_number(&choices->values[i], sent, &one) || (known && one < 0))
			continue;
		*number = one;
		known = true;
	}
	return known;
}

static void put_who(struct call_rows *rows, struct parquet *file, uint32_t thread)
{
	const struct def_process *process = thread_process(rows->d, thread);
	struct thread_row *row = &rows->threads[thread];

	parquet_put_text(file, NODE, &row->node);
	parquet_put_text(file, JOB, &row->job);
	parquet_put_text(file, PROCESS, &row->process);
	parquet_put_text(file, THREAD, &row->thread);
	parquet_put_number(file, TID, rows->d->threads[thread].tid);
	if (process)
		parquet_put_number(file, PID, process->pid);
	if (process && process->rank >= 0)
		parquet_put_number(file, RANK, process->rank);
}

static void put_what(struct parquet *file, struct probe_row *row, const struct def_probe *probe)
{
	parquet_put_text(file, MODEL, &row->model);
	parquet_put_text(file, EVENT, &row->event);
	parquet_put_text(file, FUNCTION, &row->function);
	parquet_put_text(file, ROLE, &row->role);
	parquet_put_text(file, ACTIVITY, &row->activity);
	parquet_put_truth(file, INNER, probe->marks & MARK_INNER);
}

static void put_when(struct call_rows *rows, struct parquet *file, const struct span *span,
		     const struct call_time *time)
{
	const struct def_run *run = &rows->d->run;
	uint64_t since = span->start - run->start; /* in two's complement: a forged one may lie before */

	parquet_put_number(file, START_NS, (int64_t)since);
	if (run->start_realtime)
		parquet_put_number(file, START, (int64_t)(run->start_realtime + since));
	parquet_put_number(file, DEPTH, span->depth);
	parquet_put_text(file, STATUS, &rows->statuses[span->reason < GB_ENDS ? span->reason : GB_ENDS]);
	if (!time->known)
		return;
	parquet_put_number(file, DURATION, span->end > span->start ? (int64_t)(span->end - span->start) : 0);
	parquet_put_number(file, TOTAL, (int64_t)time->total);
	parquet_put_number(file, SELF, (int64_t)time->self);
}

/* Whose ranks an access names. False: nobody's, so they are the job's. */
static bool comm_of_window(const struct call_rows *rows, const struct probe_row *row, const struct span *span,
			   const struct sent_words *sent, const struct def_comm **comm)
{
	uint32_t index;
	int64_t handle;

	if (!chosen(&row->window, sent, &handle) ||
	    !window_comms_find(&rows->windows, rows->d->threads[span->thread].process, (uint64_t)handle, &index))
		return false;
	*comm = index == NO_INDEX ? NULL : &rows->d->comms[index];
	return true;
}

/* The rank in the job; -1: it is not known. As the report has it (user/analysis/communication.c). */
static int64_t rank_of_peer(const struct call_rows *rows, const struct probe_row *row, const struct span *span,
			    const struct sent_words *sent, const struct def_comm *comm, int64_t peer)
{
	if (peer < 0)
		return -1;
	if (row->names_comm || comm_of_window(rows, row, span, sent, &comm))
		return comm ? comm_world_rank(comm, peer) : -1;
	return peer;
}

/* A call that has made a window. */
static int note_window(struct call_rows *rows, const struct probe_row *row, const struct span *span,
		       const struct sent_words *sent)
{
	const struct def_comm *comm = comm_of_span(rows->index, span);
	int64_t handle;

	if (!row->names_comm || !chosen(&row->window, sent, &handle))
		return 0;
	return window_comms_note(&rows->windows, rows->d->threads[span->thread].process, (uint64_t)handle,
				 comm ? (uint32_t)(comm - rows->d->comms) : NO_INDEX);
}

static void put_comm(struct call_rows *rows, struct parquet *file, const struct probe_row *row,
		     const struct def_comm *comm, const struct sent_words *sent)
{
	int64_t id;

	if (comm)
		parquet_put_text(file, COMM, &rows->comms[comm - rows->d->comms]);
	if (comm && comm->has_id)
		parquet_put_number(file, COMM_ID, comm->id);
	else if (chosen(&row->comm_id, sent, &id))
		parquet_put_number(file, COMM_ID, id);
	if (comm && comm_world_rank(comm, 0) >= 0)
		parquet_put_number(file, COMM_FIRST, comm_world_rank(comm, 0));
}

static void put_whom(struct call_rows *rows, struct parquet *file, const struct probe_row *row, const struct span *span,
		     const struct sent_words *sent)
{
	const struct def_comm *comm = row->names_comm ? comm_of_span(rows->index, span) : NULL;
	int64_t number, rank;

	if (row->names_comm)
		put_comm(rows, file, row, comm, sent);
	if (chosen(&row->peer, sent, &number)) {
		parquet_put_number(file, PEER, number);
		rank = rank_of_peer(rows, row, span, sent, comm, number);
		if (rank >= 0)
			parquet_put_number(file, PEER_RANK, rank);
	}
	if (chosen(&row->root, sent, &number))
		parquet_put_number(file, ROOT, number);
	if (chosen(&row->tag, sent, &number))
		parquet_put_number(file, TAG, number);
}

static void put_payload(struct parquet *file, const struct payload_plan *plan, const struct sent_words *sent)
{
	struct payload payload = payload_read(plan, sent);

	if (payload.bytes >= 0)
		parquet_put_number(file, BYTES, payload.bytes);
	if (payload.sent >= 0)
		parquet_put_number(file, SENT, payload.sent);
	if (payload.received >= 0)
		parquet_put_number(file, RECEIVED, payload.received);
}

/* As a word; what stands behind it, where that is an address that has been read. */
static void put_word(struct call_rows *rows, struct parquet *file, enum column column, const struct span *span,
		     const struct value *v)
{
	struct shown_value shown;
	struct parquet_text word = { 0 };

	call_value(span, v, &shown);
	if (shown.kind == VALUE_UNKNOWN)
		return;
	if (v->form == FORM_STRING || (v->form == FORM_POINTER && column != LOCK))
		word.text = texts_find(rows->texts, rows->d->threads[span->thread].process, (uint64_t)shown.number,
				       span->start);
	if (!word.text &&
	    (v->form == FORM_STRING || ((v->form == FORM_POINTER || v->form == FORM_TEXT) && shown.kind != VALUE_WORD)))
		return;
	word.text = word.text ?: shown_text(&shown);
	parquet_put_text(file, column, &word);
}

static void put_place(struct call_rows *rows, struct parquet *file, uint32_t site)
{
	struct site_row *row = &rows->sites[site];

	parquet_put_text(file, FILE_OF, &row->file);
	parquet_put_text(file, CALLER, &row->caller);
	parquet_put_text(file, SITE, &row->site);
	if (rows->d->sites[site].line)
		parquet_put_number(file, LINE, rows->d->sites[site].line);
}

int call_row_put(struct call_rows *rows, struct parquet *file, const struct span *span, const struct call_time *time)
{
	struct probe_row *row = &rows->probes[span->probe];
	const struct sent_words sent = call_words(span);
	bool placed = span->site < rows->d->nsites;

	if ((!row->ready && learn_probe(rows, span->probe)) ||
	    (placed && !rows->sites[span->site].ready && learn_site(rows, span->site)))
		return -ENOMEM;
	put_who(rows, file, span->thread);
	put_what(file, row, &rows->d->probes[span->probe]);
	put_when(rows, file, span, time);
	put_whom(rows, file, row, span, &sent);
	if (row->payload)
		put_payload(file, row->payload, &sent);
	if (row->lock)
		put_word(rows, file, LOCK, span, row->lock);
	if (row->name)
		put_word(rows, file, NAME, span, row->name);
	if (row->kind)
		put_word(rows, file, KIND, span, row->kind);
	if (placed)
		put_place(rows, file, span->site);
	return rows->d->probes[span->probe].role == ROLE_WINDOW ? note_window(rows, row, span, &sent) : 0;
}
