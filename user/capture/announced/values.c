/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * values.c - what an announcement carries: where it stands in the record, and what of it the kernel must follow.
 *
 * Values: what an event carries is known from its format, or from its runtime's model. Integers and pointers come in
 * registers and on the stack, as the kernel sent them; text is read by the kernel at the call, once it knows which
 * value is one (struct gb_texts); before that only text in memory that nobody writes to is known. Floating point
 * numbers are in registers that no probe can see; of these libpupc stores the first ones where a probe can.
 */
#include <string.h>

#include "capture/announced/announced_private.h"

#define NO_WORD 255

/* Where the next argument of each kind is, as the ABI has it. */
struct walk {
	const struct telling *telling;
	const struct gb_span *raw;
	unsigned integers, reals, stack;
	unsigned texts; /* met so far */
};

static struct walk walk_new(const struct telling *telling, const struct gb_span *raw)
{
	struct walk w = { .telling = telling, .raw = raw, .integers = telling->rest };

	if (telling->list)
		w.integers = raw && LIST_USED < raw->values && !(raw->unread >> LIST_USED & 1)
				     ? (uint32_t)raw->value[LIST_USED] / 8
				     : GB_REGISTERS;
	return w;
}

static unsigned stack_word(const struct walk *w, unsigned at)
{
	if (w->telling->list)
		return at < LIST_END - LIST_WORDS ? LIST_WORDS + at : NO_WORD;
	return at < w->telling->nstack ? GB_REGISTERS + at : NO_WORD;
}

/* The slot of the item in the record; NO_WORD: nobody can see it. */
static unsigned walk_next(struct walk *w, const struct item *item)
{
	if (item->kind == ITEM_REAL) {
		unsigned at = w->reals++;

		if (at >= 8)
			return stack_word(w, w->stack++);
		return w->telling->reals && at < TELLING_REALS ? w->telling->reals + at : NO_WORD;
	}
	if (item->kind == ITEM_LONG_REAL) {
		w->stack = (w->stack + 1) / 2 * 2 + 2;
		return NO_WORD;
	}
	if (w->integers >= GB_REGISTERS)
		return stack_word(w, w->stack++);
	if (!w->telling->list)
		return w->integers++;
	w->integers++;
	return w->integers >= 2 ? LIST_REGISTERS + w->integers - 2 : NO_WORD;
}

#define TEXT_SLOT(i) (GB_SLOTS - (GB_TEXTS - (i)) * GB_TEXTS_WORDS)
#define FIRST_TEXT TEXT_SLOT(0)

void announced_tell_kernel(struct capture_session *s, struct announced_event *e, pid_t pid,
			   const struct telling *telling)
{
	struct gb_texts texts = { .slots = GB_REGISTERS, .text = { GB_NO_TEXT, GB_NO_TEXT } };

	if (telling->list || (e->told && e->rest == telling->rest))
		return;
	e->told = true;
	e->rest = telling->rest;
	for (int end = 0; end < 2; end++) {
		struct walk w = walk_new(telling, NULL);

		for (size_t i = 0, n = 0; i < e->items[end].count; i++) {
			const struct item *item = &e->items[end].item[i];
			unsigned slot = walk_next(&w, item);

			if (item->kind == ITEM_REAL)
				texts.slots = FIRST_TEXT; /* by a function that has stored them */
			if (slot == NO_WORD)
				continue;
			if (slot >= texts.slots)
				texts.slots = slot + 1;
			if ((item->kind != ITEM_TEXT && item->kind != ITEM_SHARED) || n == GB_TEXTS)
				continue;
			texts.raw |= (item->kind == ITEM_SHARED) << n;
			texts.text[n++] = slot;
		}
	}
	if (texts.text[0] != GB_NO_TEXT)
		texts.slots = GB_SLOTS;
	kernel_know_event(s->kernel, pid, e->key.id, &texts);
}

/* What lies behind a pointer, as the kernel read it, or, of a text, as it certainly still is. Into words, zeroed. */
static bool take_pointed(struct capture_session *s, const struct captured_thread *t, const struct gb_span *raw,
			 const struct item *item, unsigned slot, unsigned nth, uint64_t *words)
{
	if (raw->values == GB_SLOTS && nth < GB_TEXTS && slot < FIRST_TEXT && announced_was_read(raw, TEXT_SLOT(nth))) {
		memcpy(words, &raw->value[TEXT_SLOT(nth)], item_words(item) * sizeof(*words));
		return true;
	}
	return item->kind == ITEM_TEXT && announced_was_read(raw, slot) &&
	       announced_constant_text(s, session_process(s, t->pid), raw->value[slot], (char *)words, ANNOUNCED_TEXT);
}

void announced_take_values(struct capture_session *s, const struct captured_thread *t, struct open_event *o,
			   const struct telling *telling, const struct gb_span *raw, bool at_end)
{
	const struct items *items = &o->event->items[at_end];
	struct walk w = walk_new(telling, raw);
	unsigned to = 0, nth = 0;

	for (size_t i = 0; at_end && i < o->event->items[0].count; i++) {
		unsigned words = item_words(&o->event->items[0].item[i]);

		to += to + words <= GB_SLOTS ? words : 0;
	}
	for (size_t i = 0; i < items->count; i++) {
		const struct item *item = &items->item[i];
		unsigned slot = walk_next(&w, item), words = item_words(item);
		bool pointed = item->kind == ITEM_TEXT || item->kind == ITEM_SHARED;

		if (!words || to + words > GB_SLOTS) {
			nth += pointed;
			continue;
		}
		memset(&o->words[to], 0, words * sizeof(o->words[0]));
		if (slot == NO_WORD || !announced_was_read(raw, slot) ||
		    (pointed && !take_pointed(s, t, raw, item, slot, nth, &o->words[to])))
			o->unread |= 1u << to;
		else if (!pointed)
			o->words[to] = o->fixed && !strcmp(o->fixed, item->name) ? (uint64_t)o->fixed_number
										 : raw->value[slot];
		nth += pointed;
		to += words;
	}
	o->nwords = to;
}
