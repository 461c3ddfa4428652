/*
 * call.c - a call in words: its values, its call site, how it ended.
 */
#include "export/call.h"
#include "util/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct value_reading read_value(const struct span *span, const struct value *v)
{
	return value_read(v, span->words, span->nwords, span->unread, span->reason == GB_END_RETURN || span->reason == GB_END_TAIL);
}

static void put_address(char *text, uint64_t number)
{
	unsigned length = number ? (67 - __builtin_clzll(number)) / 4 : 1;

	*text++ = '0';
	*text++ = 'x';
	text[length] = '\0';
	for (; length; number >>= 4)
		text[--length] = "0123456789abcdef"[number & 15];
}

void call_value(const struct span *span, const struct value *v, struct shown_value *shown)
{
	struct value_reading reading = read_value(span, v);

	shown->number = reading.number;
	if (!reading.known) {
		shown->kind = VALUE_UNKNOWN;
	} else if (reading.none) {
		shown->kind = VALUE_WORD;
		strcpy(shown->word, "none");
	} else if (reading.decoded && v->meaning != MEANING_PEER && v->meaning != MEANING_ROOT) {
		shown->kind = VALUE_WORD;
		snprintf(shown->word, VALUE_TEXT, "thread=%" PRIu64 ",phase=%" PRIu64 ",addr=0x%" PRIx64, reading.thread,
			 reading.phase, reading.address);
	} else if (v->form == FORM_POINTER) {
		shown->kind = VALUE_WORD;
		put_address(shown->word, reading.number);
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

bool call_number(const struct span *span, const struct def_probe *probe, enum meaning meaning, int64_t *number)
{
	for (uint32_t i = 0; i < probe->nvalues; i++) {
		if (probe->values[i].meaning != meaning)
			continue;
		struct value_reading reading = read_value(span, &probe->values[i]);

		if (reading.known && !reading.none) {
			*number = reading.number;
			return true;
		}
	}
	return false;
}

struct payload call_payload(const struct span *span, const struct def_probe *probe)
{
	return value_payload(probe->role, probe->values, probe->nvalues, span->words, span->nwords, span->unread,
			     span->reason == GB_END_RETURN || span->reason == GB_END_TAIL);
}

const char *call_end(const struct span *span)
{
	static const char *const names[] = {
		[GB_END_UNWOUND] = "unwound", [GB_END_EXIT] = "exit", [GB_END_EXEC] = "exec", [GB_END_DEPTH] = "depth",
		[GB_END_DETACH] = "detach", [GB_END_ATOMIC] = "atomic", [GB_END_TAIL] = "tail",
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

static char *make_site_text(const struct definitions *d, const struct def_site *s)
{
	char *text;
	int length;

	if (s->file && s->column)
		length = asprintf(&text, "%s:%u:%u", s->file, s->line, s->column);
	else if (s->file)
		length = asprintf(&text, "%s:%u", s->file, s->line);
	else if (s->function)
		length = asprintf(&text, "%s+0x%" PRIx64, s->function, s->function_offset);
	else if (s->image < d->nimages && d->images[s->image].path)
		length = asprintf(&text, "%s+0x%" PRIx64, path_base(d->images[s->image].path), s->offset);
	else
		length = asprintf(&text, "0x%" PRIx64, s->address);
	return length < 0 ? NULL : text;
}

const char *site_text(struct site_texts *sites, uint32_t site)
{
	if (site >= sites->d->nsites)
		return NULL;
	if (!sites->texts[site])
		sites->texts[site] = make_site_text(sites->d, &sites->d->sites[site]);
	return sites->texts[site];
}

void process_text(const struct definitions *d, uint32_t process, char *buffer, size_t size)
{
	const struct def_process *p = process < d->nprocesses ? &d->processes[process] : NULL;
	const char *command = p && p->command && *p->command ? p->command : p && p->name ? p->name : "?";

	if (p && p->rank >= 0)
		snprintf(buffer, size, "%s %ld: %s", p->unit ? p->unit : "rank", p->rank, command);
	else
		snprintf(buffer, size, "%s", command);
}
