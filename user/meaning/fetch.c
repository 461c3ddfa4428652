/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fetch.c - runs capture programs where no probe does. What a step does is in gaspbpf/read_words.h, which the
 * kernel side has, too; here is how memory is read.
 */
#include <string.h>

#include "meaning/fetch.h"

struct gb_memory {
	const struct fetch_memory *of;
};

#include "gaspbpf/read_words.h"

static long gb_memory_read(struct gb_memory *m, void *to, gb_u32 size, gb_u64 address)
{
	if (!size || m->of->read(m->of->context, address, to, size))
		return 0;
	memset(to, 0, size);
	return -1;
}

static int gb_memory_word(struct gb_memory *m, gb_u64 address, gb_u32 width, gb_u64 *word)
{
	uint64_t raw = 0;
	long err = gb_memory_read(m, &raw, gb_bytes_of(width), address);

	*word = gb_word_extend(raw, width);
	return (int)err;
}

/* Page by page: behind the text's end there may be nothing. */
static long gb_memory_text(struct gb_memory *m, void *to, gb_u32 size, gb_u64 address)
{
	char *text = to;

	for (gb_u32 done = 0, some; done < size; done += some) {
		gb_u64 in_page = GB_PAGE - (address + done) % GB_PAGE;
		char *end;

		some = size - done < in_page ? size - done : (gb_u32)in_page;
		if (gb_memory_read(m, text + done, some, address + done)) {
			memset(text, 0, size);
			return -1;
		}
		end = memchr(text + done, '\0', some);
		if (end) {
			memset(end, 0, text + size - end);
			return end - text;
		}
	}
	text[size - 1] = '\0';
	return size;
}

static int gb_memory_gfc_bytes(struct gb_memory *m, gb_u64 descriptor, gb_u64 *bytes)
{
	return gb_gfc_bytes(m, descriptor, bytes);
}

/* Of another process, where it is by now says nothing of the call. */
static gb_u64 gb_memory_folder(struct gb_memory *m)
{
	return 0;
}

static const struct gb_texts *gb_memory_texts(struct gb_memory *m, const struct gb_event_place *place)
{
	return m->of->texts ? m->of->texts(m->of->context, place) : NULL;
}

void fetch_words(struct fetched_call *call, const struct gb_probe *program, bool at_return,
		 const struct fetch_memory *memory)
{
	struct gb_memory here = { memory };
	const struct gb_call view = { .span = &call->span,
				      .sp = &call->sp,
				      .result = &call->result,
				      .result2 = &call->result2,
				      .memory = &here };
	unsigned first = gb_first_step(program, at_return), count = gb_count_steps(program, at_return);

	for (unsigned i = 0; i < count && i < GB_OPS; i++)
		gb_run_step(&view, &program->ops[(first + i) & (GB_OPS - 1)]);
}
