/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_call.c - one call as an event of the Chrome trace, many millions of times.
 *
 * {"ph":"X","name":"GASP_C_MALLOC","cat":"c","pid":7,"tid":7,"ts":1.500,"dur":0.200,"args":{"size":64,"site":"a.c:9"}}
 *
 * Almost all of it is the same for all calls of one probe, of one track, or from one call site. So for each of these
 * the text is made once, with all escaping, and an event is: copy, number, copy, number. There is room for the whole
 * event before it begins, so nothing checks on the way; and a copy is made of whole pieces of 16 bytes, beyond the
 * text's end if need be, since the next one overwrites that and the length is then no matter for a
 * call of memcpy(). The general writer (util/json.h) took three times as long.
 *
 * Arguments: a value stands under its own name. Derived ones (bytes, sent, received, peer, site, end) come
 * last; a value that has one of these names, or the name of an earlier value, has "_" put behind it, for
 * an object with the same key twice is not good JSON. Where the value is what the derived argument
 * would say, it is enough. A name that was sent as its address (of a string, or of a function) is the text that was
 * read there.
 */
#include "export/chrome_call.h"
#include "recording/communicators.h"
#include "recording/labels.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/call.h"
#include "export/chrome_colours.h"
#include "meaning/value.h"
#include "util/digits.h"
#include "util/function_name.h"
#include "util/json.h"

#define PIECE 16         /* bytes that are copied at once; so many may be read and written behind a text */
#define DERIVED_MOST 512 /* bytes of all derived arguments but the caller, and of what stands between the texts */

static const char *const derived[] = { "bytes", "sent", "received", "peer", "site", "end" };

enum json_kind { JSON_INT, JSON_UINT, JSON_POINTER, JSON_BOOL, JSON_NAME, JSON_ODD };

struct json_argument {
	struct prepared_value value;
	uint32_t key, length; /* in the probe's texts: "size": */
	enum json_kind kind;
};

/* What the events of a probe are made from. */
struct probe_text {
	size_t most;         /* bytes of an event without its place and caller; 0: not worked out so far */
	struct buffer texts; /* the event's head, then the keys */
	uint32_t head;       /* bytes of it */
	uint32_t nvalues;    /* arguments that are values; behind them stand those that say the peer */
	uint32_t npeers;
	struct json_argument *arguments;
	struct payload_plan *payload; /* NULL: it has none */
};

/* "site":"a.c:9", */
struct caller_text {
	char *text; /* NULL: not made so far */
	size_t length;
};

struct chrome_calls {
	const struct definitions *d;
	bool colours;
	struct probe_text *probes;
	struct caller_text *callers; /* by call site */
	struct comm_index *comms;
	struct texts *texts;
};

/* --- what is written once --------------------------------------------------------- */

static void put(struct buffer *b, const char *text)
{
	buffer_put(b, text, strlen(text));
}

/* Bytes that may be read behind the last text. */
static void put_slack(struct buffer *b)
{
	static const char zeros[PIECE];

	buffer_put(b, zeros, sizeof(zeros));
}

static bool is_taken(char **keys, uint32_t count, const char *key)
{
	for (size_t i = 0; i < sizeof(derived) / sizeof(*derived); i++) {
		if (!strcmp(derived[i], key))
			return true;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (!strcmp(keys[i], key))
			return true;
	}
	return false;
}

static bool says_it_itself(const struct value *v, const char *key, enum meaning meaning)
{
	return v->meaning == meaning && v->side == SIDE_NONE && v->name && !strcmp(v->name, key);
}

/* A key that no other value has; "" for a value that a derived argument says as well, or that is not shown. NULL: out
 * of memory. */
static char *make_key(const struct def_probe *probe, char **keys, uint32_t index)
{
	const struct value *v = &probe->values[index];
	const char *name = v->name ?: "";
	size_t length = strlen(name);
	char *key = calloc(1, length + index + 8); /* every clash costs one '_' */

	if (!key || !value_is_shown(v) || says_it_itself(v, "bytes", MEANING_BYTES) ||
	    says_it_itself(v, "peer", MEANING_PEER))
		return key;
	strcpy(key, name);
	while (is_taken(keys, index, key) && length < strlen(name) + index + 6)
		strcpy(key + length++, "_");
	return key;
}

static enum json_kind kind_of(const struct prepared_value *v)
{
	static const enum json_kind kinds[FORMS] = {
		[FORM_UINT] = JSON_UINT,
		[FORM_POINTER] = JSON_POINTER,
		[FORM_BOOL] = JSON_BOOL,
	};

	if (v->value->meaning == MEANING_NAME && (v->value->form == FORM_STRING || v->value->form == FORM_POINTER))
		return JSON_NAME;
	return v->plain && v->value->form < FORMS ? kinds[v->value->form] : JSON_ODD;
}

#define ESCAPED(bytes) (6 * (bytes) + 2) /* of a text as JSON: \u0000 */
#define NAME_MOST ESCAPED(255)           /* a longer one stays an address */

static size_t most_of(const struct json_argument *argument)
{
	if (argument->kind == JSON_NAME)
		return NAME_MOST;
	return argument->value.value->form == FORM_TEXT ? ESCAPED(VALUE_TEXT) : VALUE_TEXT;
}

static void add_argument(struct probe_text *text, const struct value *v, const char *key)
{
	struct json_argument *argument = &text->arguments[text->nvalues++];

	value_prepare(&argument->value, v);
	argument->kind = kind_of(&argument->value);
	argument->key = text->texts.size;
	json_quote(&text->texts, key);
	put(&text->texts, ":");
	argument->length = text->texts.size - argument->key;
	text->most += argument->length + DIGITS_ROOM + most_of(argument);
}

static int add_arguments(struct probe_text *text, const struct def_probe *probe, char **keys)
{
	for (uint32_t i = 0; i < probe->nvalues; i++) {
		keys[i] = make_key(probe, keys, i);
		if (!keys[i])
			return -ENOMEM;
		if (*keys[i])
			add_argument(text, &probe->values[i], keys[i]);
	}
	for (uint32_t i = 0; i < probe->nvalues; i++) {
		if (probe->values[i].meaning == MEANING_PEER)
			value_prepare(&text->arguments[text->nvalues + text->npeers++].value, &probe->values[i]);
	}
	return 0;
}

static bool tells_payload(const struct def_probe *probe)
{
	for (uint32_t i = 0; i < probe->nvalues; i++) {
		if (probe->values[i].meaning == MEANING_BYTES || probe->values[i].meaning == MEANING_COUNT)
			return true;
	}
	return false;
}

/* Its event; and the function, where each is a row of its own. */
static void put_name(struct buffer *texts, const struct def_probe *probe)
{
	char name[FUNCTION_NAME_ROOM], *both = NULL;

	if (probe->marks & MARK_EACH && asprintf(&both, "%s %s", probe->event ?: "?",
						 probe->symbol ? function_name_or(probe->symbol, name) : "?") < 0)
		both = NULL;
	json_quote(texts, both ?: probe->event ?: "?");
	free(both);
}

static int learn_probe(struct probe_text *text, const struct def_probe *probe, bool coloured)
{
	char **keys = calloc(probe->nvalues + 1, sizeof(*keys));
	int error = -ENOMEM;

	text->arguments = calloc(2 * (size_t)probe->nvalues + 1, sizeof(*text->arguments));
	if (!keys || !text->arguments)
		goto out;
	put(&text->texts, "{\"ph\":\"X\",\"name\":");
	put_name(&text->texts, probe);
	put(&text->texts, ",\"cat\":");
	json_quote(&text->texts, probe->model ? probe->model : "?");
	if (coloured) {
		put(&text->texts, ",\"cname\":");
		json_quote(&text->texts, chrome_colour(probe->role));
	}
	put(&text->texts, ",");
	text->head = text->texts.size;
	text->most = text->head + DERIVED_MOST;
	if (add_arguments(text, probe, keys))
		goto out;
	put_slack(&text->texts);
	if (tells_payload(probe)) {
		text->payload = payload_plan_new(probe->role, probe->values, probe->nvalues);
		if (!text->payload)
			goto out;
	}
	error = text->texts.failed ? -ENOMEM : 0;
out:
	for (uint32_t i = 0; keys && i < probe->nvalues; i++)
		free(keys[i]);
	free(keys);
	return error;
}

static int learn_caller(struct caller_text *caller, const struct definitions *d, uint32_t site)
{
	struct buffer text = { 0 };
	char *place = site_place(d, site);

	if (!place)
		return -ENOMEM;
	put(&text, "\"site\":");
	json_quote(&text, place);
	put(&text, ",");
	free(place);
	caller->length = text.size;
	put_slack(&text);
	if (text.failed) {
		buffer_free(&text);
		return -ENOMEM;
	}
	caller->text = (char *)text.data;
	return 0;
}

void chrome_place_set(struct chrome_place *place, uint64_t pid, uint64_t tid)
{
	place->length = (uint8_t)snprintf(place->text, sizeof(place->text),
					  "\"pid\":%llu,\"tid\":%llu,\"ts\":", (unsigned long long)pid,
					  (unsigned long long)tid);
}

struct chrome_calls *chrome_calls_new(const struct definitions *d, bool colours)
{
	struct chrome_calls *calls = calloc(1, sizeof(*calls));

	if (!calls)
		return NULL;
	calls->d = d;
	calls->colours = colours;
	calls->probes = calloc(d->nprobes + 1, sizeof(*calls->probes));
	calls->callers = calloc(d->nsites + 1, sizeof(*calls->callers));
	calls->comms = comm_index_new(d);
	calls->texts = texts_new(d);
	if (calls->probes && calls->callers && calls->comms && calls->texts)
		return calls;
	chrome_calls_free(calls);
	return NULL;
}

void chrome_calls_free(struct chrome_calls *calls)
{
	if (!calls)
		return;
	for (size_t i = 0; calls->probes && i < calls->d->nprobes; i++) {
		buffer_free(&calls->probes[i].texts);
		free(calls->probes[i].arguments);
		payload_plan_free(calls->probes[i].payload);
	}
	for (size_t i = 0; calls->callers && i < calls->d->nsites; i++)
		free(calls->callers[i].text);
	free(calls->probes);
	free(calls->callers);
	comm_index_free(calls->comms);
	texts_free(calls->texts);
	free(calls);
}

/* --- what is written for every call ------------------------------------------------- */

/* Both have PIECE bytes more than the text. */
static inline char *copy(char *to, const char *from, size_t length)
{
	char *end = to + length;

	do {
		memcpy(to, from, PIECE);
		to += PIECE;
		from += PIECE;
	} while (to < end);
	return end;
}

/* A text of the program itself. */
#define COPY(to, literal) ((char *)memcpy(to, literal, sizeof(literal) - 1) + sizeof(literal) - 1)

/* A text of the program that is observed: any bytes. NULL: it needs more than `most` bytes, or there is no memory. */
static char *put_passed_text(char *to, const char *text, size_t most)
{
	struct buffer quoted = { 0 };

	to = json_quote(&quoted, text) || quoted.size > most ? NULL : mempcpy(to, quoted.data, quoted.size);
	buffer_free(&quoted);
	return to;
}

/* A value that needs more than its word: known only in parts, constant, or of a layout of its own. */
static char *put_odd(char *to, const struct span *span, const struct value *v)
{
	struct shown_value shown;
	const char *text;
	bool quoted;

	call_value(span, v, &shown);
	if (shown.kind == VALUE_UNKNOWN)
		return COPY(to, "null");
	if (v->form == FORM_TEXT)
		return put_passed_text(to, shown.word, ESCAPED(VALUE_TEXT)) ?: COPY(to, "null");
	text = shown_text(&shown); /* digits, letters and the like: nothing to escape */
	quoted = shown.kind == VALUE_WORD &&
		 (v->form != FORM_REAL ||
		  !isdigit((unsigned char)text[*text == '-'])); /* "inf" is no number of JSON's */
	if (quoted)
		*to++ = '"';
	to = mempcpy(to, text, strlen(text));
	if (quoted)
		*to++ = '"';
	return to;
}

static inline char *put_plain(char *to, enum json_kind kind, int64_t number)
{
	switch (kind) {
	case JSON_UINT:
		return digits_uint(to, (uint64_t)number);
	case JSON_POINTER:
		*to++ = '"';
		to = digits_address(to, (uint64_t)number);
		*to++ = '"';
		return to;
	case JSON_BOOL:
		return number ? COPY(to, "true") : COPY(to, "false");
	default:
		return digits_int(to, number);
	}
}

/* What stands at its address; the address where that is not known. */
static char *put_name_at(struct chrome_calls *calls, char *to, const struct span *span, const struct value *v)
{
	struct shown_value shown;
	const char *name;
	char *end = NULL;

	call_value(span, v, &shown);
	if (shown.kind == VALUE_UNKNOWN || !shown.number)
		return COPY(to, "null");
	name = texts_find(calls->texts, calls->d->threads[span->thread].process, (uint64_t)shown.number, span->start);
	if (name)
		end = put_passed_text(to, name, NAME_MOST);
	return end ?: put_plain(to, JSON_POINTER, shown.number);
}

static inline char *put_argument(struct chrome_calls *calls, char *to, const struct probe_text *text,
				 const struct json_argument *argument, const struct span *span,
				 const struct sent_words *sent)
{
	int64_t number;

	to = copy(to, (const char *)text->texts.data + argument->key, argument->length);
	if (argument->kind == JSON_NAME)
		to = put_name_at(calls, to, span, argument->value.value);
	else if (argument->kind == JSON_ODD)
		to = put_odd(to, span, argument->value.value);
	else if (prepared_read(&argument->value, sent, &number))
		to = put_plain(to, argument->kind, number);
	else
		to = COPY(to, "null");
	*to++ = ',';
	return to;
}

static char *put_payload(char *to, const struct payload_plan *plan, const struct sent_words *sent)
{
	struct payload payload = payload_read(plan, sent);

	to = COPY(to, "\"bytes\":");
	to = payload.bytes < 0 ? COPY(to, "null") : digits_int(to, payload.bytes);
	if (payload.sent >= 0 && payload.received >= 0) {
		to = digits_int(COPY(to, ",\"sent\":"), payload.sent);
		to = digits_int(COPY(to, ",\"received\":"), payload.received);
	}
	*to++ = ',';
	return to;
}

/* The first value that says it. */
static char *put_peer(char *to, const struct json_argument *peers, uint32_t npeers, const struct sent_words *sent,
		      const struct def_comm *comm)
{
	int64_t peer = 0, number, world;
	bool known = false;

	/* A negative one is a wildcard, in whose place the status may say who it was. */
	for (uint32_t i = 0; i < npeers && (!known || peer < 0); i++) {
		if (!prepared_number(&peers[i].value, sent, &number) || (known && number < 0))
			continue;
		peer = number;
		known = true;
	}
	to = COPY(to, "\"peer\":");
	if (!known)
		return COPY(to, "null,");
	to = digits_int(to, peer);
	*to++ = ',';
	world = comm ? comm_world_rank(comm, peer) : -1;
	if (world < 0)
		return to;
	to = digits_int(COPY(to, "\"peer_world\":"), world);
	*to++ = ',';
	return to;
}

static char *put_arguments(struct chrome_calls *calls, char *to, const struct probe_text *text,
			   const struct caller_text *caller, const struct span *span)
{
	const struct sent_words sent = call_words(span);
	const char *end = call_end(span);

	for (uint32_t i = 0; i < text->nvalues; i++)
		to = put_argument(calls, to, text, &text->arguments[i], span, &sent);
	if (text->payload)
		to = put_payload(to, text->payload, &sent);
	if (text->npeers)
		to = put_peer(to, text->arguments + text->nvalues, text->npeers, &sent,
			      comm_of_span(calls->comms, span));
	if (caller)
		to = copy(to, caller->text, caller->length);
	if (end) {
		to = COPY(to, "\"end\":\"");
		to = mempcpy(to, end, strlen(end));
		to = COPY(to, "\",");
	}
	return to[-1] == ',' ? to - 1 : to;
}

int chrome_call_put(struct chrome_calls *calls, struct buffer *buffer, const struct span *span,
		    const struct chrome_place *place, uint64_t start, uint64_t end)
{
	struct probe_text *text = &calls->probes[span->probe];
	struct caller_text *caller = span->site < calls->d->nsites ? &calls->callers[span->site] : NULL;
	int error = 0;
	char *to;

	if (!text->most)
		error = learn_probe(text, &calls->d->probes[span->probe], calls->colours);
	if (!error && caller && !caller->text)
		error = learn_caller(caller, calls->d, span->site);
	if (error)
		return error;
	to = (char *)buffer_reserve(buffer, text->most + sizeof(*place) + (caller ? caller->length : 0) + PIECE);
	if (!to)
		return -ENOMEM;
	to = copy(to, (const char *)text->texts.data, text->head);
	to = copy(to, place->text, place->length);
	to = COPY(digits_micros(to, start), ",\"dur\":");
	to = COPY(digits_micros(to, end - start), ",\"args\":{");
	to = put_arguments(calls, to, text, caller, span);
	to = COPY(to, "}}");
	buffer->size = (size_t)(to - (char *)buffer->data);
	return 0;
}
