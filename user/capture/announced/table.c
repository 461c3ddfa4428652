/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table.c - what libpupc keeps in a process of the events that it announces, and of what was last said of measurement.
 *
 * The table (gaspbpf/pupc_table.h) is the process's own, so nothing in it is trusted: it is read in pieces of bounded
 * size, and what does not fit its head is not read.
 */
#include <stdlib.h>

#include "capture/announced/announced_private.h"
#include "gaspbpf/pupc_table.h"
#include "util/log.h"

#define SOME 64 /* entries read at a time */

/* Has the plan found a function in this image that creates events? */
static bool creates_events(const struct capture_session *s, const struct image *image)
{
	for (size_t i = 0; i < s->plan->nsites; i++)
		if (s->plan->sites[i].image == image && s->plan->sites[i].function->marks & MARK_CREATES)
			return true;
	return false;
}

static bool is_table(const struct pupc_table *table)
{
	return table->magic == PUPC_TABLE_MAGIC && table->version == PUPC_TABLE_VERSION &&
	       table->entry_size == sizeof(struct pupc_entry) && table->used <= table->room &&
	       table->room <= PUPC_TABLE_ROOM;
}

static void take_entry(struct capture_session *s, const struct captured_process *p, uint32_t id,
		       struct pupc_entry *entry)
{
	entry->name[sizeof(entry->name) - 1] = '\0';
	entry->format[sizeof(entry->format) - 1] = '\0';
	announced_name(s, p->index, p->pid, id, entry->name, *entry->format ? entry->format : NULL);
}

static void read_entries(struct capture_session *s, const struct captured_process *p, const struct pupc_table *table)
{
	struct pupc_entry *entries = calloc(SOME, sizeof(*entries));

	for (uint32_t at = 0; entries && at < table->used; at += SOME) {
		uint32_t count = table->used - at < SOME ? table->used - at : SOME;

		if (process_read(p->process, table->entries + at * sizeof(*entries), entries, count * sizeof(*entries)))
			break;
		for (uint32_t i = 0; i < count; i++)
			take_entry(s, p, table->first + at + i, &entries[i]);
	}
	free(entries);
}

/* What it said before anybody watched holds. It may say something else meanwhile: whoever reads this looks again once
 * the probes are in. */
static void take_state(struct capture_session *s, struct captured_process *p, int32_t on)
{
	struct gb_life life = { .kind = GB_LIFE_CONTROL, .pid = p->pid, .changing = NO_SITE, .exit_code = on };
	bool changed = false;

	if (!on == p->announced.told_off)
		return;
	p->announced.told_off = !on;
	if (!kernel_remember_control(s->kernel, p->pid, on, &life.time, &changed) && changed)
		session_take_control(s, &life);
}

void announced_read_table(struct capture_session *s, struct captured_process *p)
{
	for (size_t i = 0; p->process && i < p->process->nmappings; i++) {
		const struct mapping *mapping = &p->process->mappings[i];
		struct image *image = mapping->executable && mapping->inode
					      ? plan_image(s->plan, mapping->device, mapping->inode)
					      : NULL;
		struct pupc_table table;

		if (!image || !creates_events(s, image) ||
		    image_read_variable(image, p->process, PUPC_TABLE_SYMBOL, &table, sizeof(table)) != sizeof(table))
			continue;
		if (!is_table(&table)) {
			log_info("%u: its table of user events is none that this gaspbpf knows", p->pid);
			continue;
		}
		read_entries(s, p, &table);
		take_state(s, p, table.on);
	}
}

void announced_read_table_again(struct capture_session *s, struct captured_process *p)
{
	if (p->announced.table_pass == s->pass.number)
		return;
	p->announced.table_pass = s->pass.number;
	announced_read_table(s, p);
}
