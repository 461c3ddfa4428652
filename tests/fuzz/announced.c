/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * announced.c - events that a program announces itself: names and formats, the table in its memory, STARTs and ENDs
 * with any values.
 *
 * The input is a table of entries, as libpupc keeps it, and then calls of its functions.
 */
#include "capture/announced/table.c" /* its readers are static; the library's copy is not linked then */

#include "shared/kernel.h"

#define CALLS 200

static void read_table(struct fuzz_session *f, struct input *in)
{
	struct pupc_table table = {
		.magic = PUPC_TABLE_MAGIC,
		.version = PUPC_TABLE_VERSION,
		.entry_size = sizeof(struct pupc_entry),
		.room = PUPC_TABLE_ROOM,
	};
	struct captured_process *p = session_calling_process(f->session, fuzz_own_process()->pid, CAPTURE_NOW);
	struct process *before = p->process;

	table.first = 0x60000000u + (uint32_t)input_number(in, 1);
	table.used = input_number(in, 1) % 8;
	table.on = (int32_t)input_number(in, 1) & 1;
	table.entries = (uint64_t)(uintptr_t)in->at;
	if (table.used * sizeof(struct pupc_entry) > input_left(in))
		table.used = input_left(in) / sizeof(struct pupc_entry);
	in->at += table.used * sizeof(struct pupc_entry);
	must(is_table(&table));
	p->process = fuzz_own_process();
	read_entries(f->session, p, &table);
	take_state(f->session, p, table.on);
	p->process = before;
}

static void read_texts(struct input *in)
{
	size_t size;
	const uint8_t *bytes = input_piece(in, input_number(in, 1), &size);
	char *text = input_text(bytes, size);
	struct items items;

	items_of_format(&items, text);
	must(items.count <= ITEMS_MOST);
	for (size_t i = 0; i < items.count; i++)
		item_words(&items.item[i]);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	struct fuzz_session f;
	struct gb_span span;
	size_t count = 0;

	read_texts(&in);
	fuzz_session_open(&f, NULL);
	read_table(&f, &in);
	for (unsigned i = 0; i < CALLS && input_left(&in); i++) {
		size_t bytes = fuzz_span(&in, &span);

		span.sequence = ++count; /* none is lost, so that all are told */
		if (count % 4)
			span.pid_tid = (uint64_t)fuzz_own_process()->pid << 32 | (uint32_t)fuzz_own_process()->pid;
		fuzz_ring_put(0, &span, bytes);
		if (count % 50 == 0)
			capture_drain(f.session);
	}
	capture_finish(f.session);
	fuzz_session_close(&f);
	return 0;
}
