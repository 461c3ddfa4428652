/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * items.c - the values of an event by its runtime's model (by the program's format: format.c).
 */
#include <stdio.h>

#include "capture/announced/announced_private.h"

unsigned item_words(const struct item *item)
{
	if (item->skipped)
		return 0;
	switch (item->kind) {
	case ITEM_WORD:
	case ITEM_REAL:
		return 1;
	case ITEM_TEXT:
		return ANNOUNCED_TEXT / 8;
	case ITEM_SHARED:
		return 2;
	default:
		return 0;
	}
}

void items_of_list(struct items *items, const struct event_list *list)
{
	*items = (struct items){ .count = 0 };
	for (size_t i = 0; i < list->count && items->count < ITEMS_MOST; i++) {
		const struct event_argument *a = &list->arguments[i];
		struct item *item = &items->item[items->count++];

		*item = (struct item){ .argument = a->kind, .type = a->type, .form = FORM_POINTER, .width = GB_U64 };
		snprintf(item->name, sizeof(item->name), "%s", a->name);
		if (a->kind == ARGUMENT_INT || a->kind == ARGUMENT_UINT) {
			item->form = a->kind == ARGUMENT_INT ? FORM_INT : FORM_UINT;
			item->width = gb_width_of(a->size, a->kind == ARGUMENT_INT);
		} else if (a->kind == ARGUMENT_TEXT) {
			item->kind = ITEM_TEXT;
			item->form = FORM_TEXT;
		} else if (a->kind == ARGUMENT_DOUBLE) {
			item->kind = ITEM_REAL;
			item->form = FORM_REAL;
		} else if (a->kind == ARGUMENT_SHARED) {
			item->kind = ITEM_SHARED;
			item->form = FORM_UINT;
		}
	}
	items->cut = items->count < list->count;
}
