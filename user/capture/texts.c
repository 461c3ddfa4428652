/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * texts.c - the names that calls carry as addresses, read from the job while it is there.
 *
 * The kernel side sends the address of a name: of a C string, or of a function. What stands there is read here, once
 * for each address and not at each call: a job has millions of tasks and a dozen kinds of them. A string in a mapped
 * file is what it is as long as the mapping is; it is read from the file, so it is known even where the process has
 * ended meanwhile. Any other memory may be used again for another name, so it is read once in each pass over the rings:
 * what is said of the calls of one pass (tens of milliseconds) is what the last of them would say. A text is an entry
 * of its own from the moment on where it changes.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/session.h"
#include "meaning/value.h"
#include "util/array.h"
#include "util/files.h"

#define TEXT_MOST 255
#define TEXTS_MOST (1u << 16) /* entries of one session; what is met after that stays an address */
#define PAGE 4096u

struct text_key {
	uint64_t address;
	uint32_t process; /* index in definitions */
	uint32_t is_string;
};

struct text_record {
	struct text_key key;
	uint32_t text;   /* index in definitions; NO_INDEX: not known yet */
	uint32_t layout; /* of the process, when it was read */
	bool steady;     /* it lies in a mapped file */
	uint64_t pass;   /* in which it was read */
	UT_hash_handle hh;
};

/* Up to the string's end, or the page's where the next one cannot be read; false: nothing is there. */
static bool read_memory(pid_t pid, uint64_t address, char text[TEXT_MOST + 1])
{
	size_t done = 0;

	while (done < TEXT_MOST) {
		size_t piece = PAGE - (address + done) % PAGE;
		ssize_t got = memory_read(pid, address + done, text + done,
					  piece < TEXT_MOST - done ? piece : TEXT_MOST - done);

		if (got <= 0)
			break;
		if (memchr(text + done, 0, got))
			return true;
		done += got;
	}
	text[done] = '\0';
	return done > 0;
}

static bool read_file(const struct image *image, uint64_t offset, char text[TEXT_MOST + 1])
{
	ssize_t got = pread(image->fd, text, TEXT_MOST, (off_t)offset);

	if (got <= 0)
		return false;
	text[got] = '\0';
	return true;
}

/* A name is text that can be read: what was freed and written over mostly is not. */
static bool is_name(const char *text)
{
	for (const char *c = text; *c; c++)
		if (iscntrl((unsigned char)*c))
			return false;
	return *text;
}

/* The function at an address; "file+0x12" where the file does not tell. */
static bool name_function(struct known_image *known, uint64_t offset, char text[TEXT_MOST + 1])
{
	const struct symbol *symbol = image_symbol_at(known->image, offset);

	if (symbol && symbol->name && symbol->offset == offset)
		return snprintf(text, TEXT_MOST, "%s", symbol->name) > 0;
	return snprintf(text, TEXT_MOST, "%s+0x%llx", path_base(known->image->path), (unsigned long long)offset) > 0;
}

static bool look_up(struct capture_session *s, struct captured_process *p, struct text_record *record,
		    char text[TEXT_MOST + 1])
{
	const struct mapping *mapping = p->process ? process_mapping_at(p->process, record->key.address) : NULL;
	struct known_image *known = mapping && mapping->inode ? session_image(s, p->process, mapping) : NULL;
	uint64_t offset = mapping ? record->key.address - mapping->start + mapping->offset : 0;

	record->steady = known && known->image;
	if (!record->key.is_string)
		return record->steady && name_function(known, offset, text);
	/* The process first: a file's data may be relocated, or written to. */
	return (!p->ended && read_memory(p->pid, record->key.address, text) && is_name(text)) ||
	       (record->steady && read_file(known->image, offset, text) && is_name(text));
}

/* True where another text holds from now on. */
static bool has_changed(const struct capture_session *s, const struct text_record *record, const char *text)
{
	const char *old = record->text == NO_INDEX ? NULL : s->d->texts[record->text].text;

	return record->text == NO_INDEX ? text != NULL : !old != !text || (old && strcmp(old, text));
}

static void refresh(struct capture_session *s, struct captured_process *p, struct text_record *record, uint64_t time)
{
	char buffer[TEXT_MOST + 1];
	const char *text = look_up(s, p, record, buffer) ? buffer : NULL;
	struct def_text *def;
	uint32_t index;

	record->pass = s->pass.number;
	record->layout = p->layout;
	if (!has_changed(s, record, text) || s->texts.kept >= TEXTS_MOST)
		return;
	index = definitions_add_text(s->d);
	if (index == NO_INDEX)
		return;
	s->texts.kept++;
	def = &s->d->texts[index];
	def->process = record->key.process;
	def->address = record->key.address;
	def->time = record->text == NO_INDEX ? 0 : time;
	def->text = text ? strdup(text) : NULL;
	record->text = index;
}

static void note(struct capture_session *s, const struct captured_thread *t, uint64_t address, bool is_string,
		 uint64_t time)
{
	struct text_key key = { .address = address,
				.process = s->d->threads[t->index].process,
				.is_string = is_string };
	unsigned slot = (address >> 3 ^ address >> 12 ^ key.process * 31) & (TEXT_CACHE - 1);
	struct text_record *record = s->texts.recent[slot];
	struct captured_process *p;

	if (!record || memcmp(&record->key, &key, sizeof(key)))
		HASH_FIND(hh, s->texts.table, &key, sizeof(key), record);
	if (record && record->pass == s->pass.number)
		return;
	p = session_process(s, t->pid);
	if (!p)
		return;
	if (!record) {
		record = calloc(1, sizeof(*record));
		if (!record)
			return;
		record->key = key;
		record->text = NO_INDEX;
		HASH_ADD(hh, s->texts.table, key, sizeof(record->key), record);
		if (!record->hh.tbl) {
			free(record);
			return;
		}
	} else if (record->steady && record->layout == p->layout) {
		record->pass = s->pass.number;
		s->texts.recent[slot] = record;
		return;
	}
	s->texts.recent[slot] = record;
	refresh(s, p, record, time);
}

static bool is_named(const struct value *v)
{
	return v->meaning == MEANING_NAME && !v->constant && !v->unobservable;
}

unsigned session_carry(struct capture_session *s, uint32_t probe)
{
	const struct def_probe *def = &s->d->probes[probe];
	uint8_t *carry;

	if (array_reach(&s->texts.carry, &s->texts.carry_room, probe + 1, sizeof(*s->texts.carry)))
		return 0;
	carry = &s->texts.carry[probe];
	for (uint32_t i = 0; !(*carry & CARRY_KNOWN) && i < def->nvalues; i++)
		*carry |= (is_named(&def->values[i]) ? CARRY_NAMES : 0) |
			  (value_is_descriptor(&def->values[i]) ? CARRY_FILES : 0);
	return *carry |= CARRY_KNOWN;
}

void session_note_texts(struct capture_session *s, const struct captured_thread *t, const struct span *span)
{
	const struct def_probe *probe = &s->d->probes[span->probe];

	for (uint32_t i = 0; i < probe->nvalues; i++) {
		const struct value *v = &probe->values[i];
		struct value_reading reading;

		if (!is_named(v))
			continue;
		reading = value_read(v, span->words, span->nwords, span->unread, span->reason == GB_END_RETURN);
		if (!reading.known || !reading.number)
			continue;
		note(s, t, (uint64_t)reading.number, v->form == FORM_STRING, span->start);
		if (v->form != FORM_STRING)
			session_note_handed_on(s, span->site, (uint64_t)reading.number);
	}
}

void session_free_texts(struct capture_session *s)
{
	struct text_record *record, *next;

	HASH_ITER (hh, s->texts.table, record, next) {
		HASH_DEL(s->texts.table, record);
		free(record);
	}
	free(s->texts.carry);
}
