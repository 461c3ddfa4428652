/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * files.c - what the descriptors are that calls name, as Linux tells it while they are open.
 *
 * A look comes a moment after the call. By then the file may have been closed, and another one may have got its number.
 * So a name that was found holds from the call that opened the descriptor only if no call has closed it before the
 * look; a closing that shows this comes later, and takes the name back. What closes and opens in ways that are no calls
 * here (dup2, socket, a system call by the program itself) is met by looking again once in each pass over the rings
 * (tens of milliseconds).
 *
 * Where the look came too late, the file is called as the call that opened it was told to (given.c).
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include "capture/session.h"
#include "meaning/value.h"
#include "util/clock.h"
#include "util/log.h"

#define FILES_MOST (1u << 18)       /* names of one session; what is opened after that has none */
#define DESCRIPTORS_MOST (1u << 18) /* likewise of descriptors that are in use */

struct file_key {
	uint32_t process; /* index in definitions */
	int32_t fd;
};

struct open_file {
	struct file_key key;
	uint32_t text;   /* index in definitions; NO_INDEX: never known */
	uint64_t pass;   /* in which it was looked at; 0: it was closed since then */
	uint64_t opened; /* ns; 0: before it was met */
	uint64_t found;  /* ns; of the looks since then, the first that found this text; 0: none */
	char *given;     /* its name by the call that opened it, while `text` is Linux's word; NULL: there is none */
	bool by_call;    /* `text` is such a name: the look at `found` found nothing */
	struct {
		char *text;    /* what a later look found instead; NULL: there was none such */
		uint64_t time; /* ns; of the call that led to it */
		uint64_t pass;
	} other;
	UT_hash_handle hh;
};

static const char *text_of(const struct capture_session *s, const struct open_file *file)
{
	return file->text == NO_INDEX ? NULL : s->d->texts[file->text].text;
}

/* From this time on it is that; text, NULL: nobody knows, is taken over. */
static void define(struct capture_session *s, struct open_file *file, uint64_t time, char *text)
{
	struct def_text *def;
	uint32_t index;

	if (text && s->files.kept >= FILES_MOST) {
		if (s->files.kept++ == FILES_MOST)
			log_warn("more than %u files were opened: further ones have no names", FILES_MOST);
		free(text);
		text = NULL;
	}
	index = text || text_of(s, file) ? definitions_add_text(s->d) : NO_INDEX;
	if (index == NO_INDEX) {
		free(text);
		return;
	}
	s->files.kept += text != NULL;
	def = &s->d->texts[index];
	def->process = file->key.process;
	def->address = TEXT_OF_FILE + (uint32_t)file->key.fd;
	/* What nobody saw being opened has always been what it is. */
	def->time = file->text == NO_INDEX && !file->opened ? 0 : time;
	def->text = text;
	file->text = index;
}

static void forget_other(struct open_file *file)
{
	free(file->other.text);
	file->other.text = NULL;
}

static void forget_given(struct open_file *file)
{
	free(file->given);
	file->given = NULL;
}

/*
 * It was something else before. Mostly a call has closed it, which comes with this pass or the next one: then what was
 * found is none of this call's business. Only where none has come it is believed.
 */
static void expect(struct capture_session *s, struct open_file *file, uint64_t time, const char *text)
{
	if (!strcmp(text_of(s, file), text)) {
		forget_other(file);
	} else if (!file->other.text) {
		file->other.text = strdup(text);
		file->other.time = time;
		file->other.pass = s->pass.number;
	} else if (s->pass.number >= file->other.pass + 2) {
		forget_given(file); /* it was of the file before */
		define(s, file, file->other.time, *file->other.text ? file->other.text : NULL);
		if (!*file->other.text)
			free(file->other.text);
		file->other.text = NULL;
		file->found = clock_monotonic();
	}
}

/* opened: by this call, so it is another one, though it may have the same name. */
static void look(struct capture_session *s, const struct captured_process *p, struct open_file *file, uint64_t time,
		 bool opened)
{
	char text[PATH_MAX];

	if (!p->process || p->ended || process_descriptor(p->process, file->key.fd, text, sizeof(text)) < 0)
		text[0] = '\0';
	file->pass = s->pass.number;
	if (!opened && file->by_call && time <= file->found)
		return; /* it may still be that */
	if (!opened && file->found && text_of(s, file) && !file->by_call) {
		expect(s, file, time, text);
		return;
	}
	file->found = clock_monotonic();
	file->by_call = !*text && file->given;
	define(s, file, time, *text ? strdup(text) : file->given);
	if (file->by_call)
		file->given = NULL; /* definitions have it */
}

static struct open_file *find(struct capture_session *s, struct file_key key)
{
	struct open_file *file;

	HASH_FIND(hh, s->files.table, &key, sizeof(key), file);
	if (file)
		return file;
	file = s->files.known < DESCRIPTORS_MOST ? calloc(1, sizeof(*file)) : NULL;
	if (!file)
		return NULL;
	file->key = key;
	file->text = NO_INDEX;
	HASH_ADD(hh, s->files.table, key, sizeof(file->key), file);
	if (!file->hh.tbl) {
		free(file);
		return NULL;
	}
	s->files.known++;
	return file;
}

/* Where a call has closed it before it was looked at, that look found another one. */
static void close_file(struct capture_session *s, struct open_file *file, const struct span *span)
{
	if (file->found > span->start && text_of(s, file) && !file->by_call) {
		free(s->d->texts[file->text].text);
		s->d->texts[file->text].text = file->given;
		file->given = NULL;
	}
	file->found = file->pass = 0;
	forget_given(file);
	forget_other(file);
}

static void note(struct capture_session *s, const struct captured_thread *t, const struct value *v, int64_t fd,
		 const struct span *span)
{
	const struct captured_process *p = session_process(s, t->pid);
	struct open_file *file;

	if (!p || fd < 0 || fd > INT32_MAX)
		return; /* -1: it failed, or there is no file */
	file = find(s, (struct file_key){ s->d->threads[t->index].process, (int32_t)fd });
	if (!file)
		return;
	if (v->at_return) {
		close_file(s, file, span); /* whoever did it: else it would have another number */
		file->opened = span->end;
		file->given = session_given_name(s, t, span);
		look(s, p, file, span->end, true);
	} else if (v->meaning == MEANING_CLOSED) {
		close_file(s, file, span);
	} else if (file->pass != s->pass.number) {
		look(s, p, file, span->start, false);
	}
}

void session_note_files(struct capture_session *s, const struct captured_thread *t, const struct span *span)
{
	const struct def_probe *probe = &s->d->probes[span->probe];

	for (uint32_t i = 0; i < probe->nvalues; i++) {
		struct value_reading reading;

		if (!value_is_descriptor(&probe->values[i]))
			continue;
		reading = value_read(&probe->values[i], span->words, span->nwords, span->unread,
				     span->reason == GB_END_RETURN);
		if (reading.known)
			note(s, t, &probe->values[i], reading.number, span);
	}
}

void session_free_files(struct capture_session *s)
{
	struct open_file *file, *next;

	HASH_ITER (hh, s->files.table, file, next) {
		HASH_DEL(s->files.table, file);
		forget_given(file);
		forget_other(file);
		free(file);
	}
	session_free_folders(s);
}
