/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool_page.c - the page by which a tool's process answers: whatever a tool has scribbled onto it.
 */
#include "tool/tool.c" /* its readers are static; the library's copy is not linked then */

#include "shared/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	struct definitions d = { 0 };
	struct host_status *page = malloc(sizeof(*page)); /* what reads beyond it is noticed */
	struct tool t = {
		.options = { .library = "tool.so" }, .process = { .page = page }, .trouble = TROUBLE_ENDED, .d = &d
	};
	char text[64];

	must(page);
	input_take(&in, page, sizeof(*page));
	t.process.status = (int)input_number(&in, 2);
	doing(&t, text, sizeof(text));
	host_text(page->kind, sizeof(page->kind), text, sizeof(text));
	went_well(&t);
	for (int i = TROUBLE_ENDED; i <= TROUBLE_MEMORY; i++) {
		t.said = false;
		t.trouble = i;
		say_trouble(&t);
	}
	free(page);
	return 0;
}
