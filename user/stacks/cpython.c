/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpython.c - the lines of a script that CPython runs (3.11 to 3.13), out of the interpreter's own structures.
 *
 * On the machine's stack an interpreter shows itself alone: one function that runs any script. What the script is in
 * stands in structures of its own, found from one variable: interpreters, their threads, and for each thread a chain of
 * frames, each with a code object and the instruction that it is at. A table in the code object tells the lines.
 *
 * Where the two belong together an address tells. Each call of the interpreter's function keeps a record in its own
 * frame on the machine's stack: until 3.12 it leads to the frames that this call runs, since then it is the last of
 * them. So a record's address says in which of the machine's frames it lies, which frames of the script that one runs,
 * and whose thread's they are; numbers of threads, which differ from one namespace to another, are not asked.
 *
 * Up to 3.12 the places of the fields are known by version; 3.13 tells them itself. Everything that is read is the
 * process's to write: chains are bounded, sizes are, and the first thing that makes no sense ends the chain. And the
 * process runs on meanwhile: whoever asks must know that the thread stayed in its call.
 */
#include <stdlib.h>
#include <string.h>

#include "stacks/look_private.h"
#include "util/array.h"
#include "util/files.h"

#define INTERPRETERS_MOST 16
#define THREADS_MOST 1024 /* of all interpreters of a process */
#define NAME_MOST 1024    /* characters */
#define TABLE_MOST (256u << 10)
#define OFFSET_MOST (1u << 20)

/* Offsets in bytes. */
struct layout {
	uint32_t version;                                              /* major << 8 | minor */
	uint32_t interpreters, interpreter_next, threads, thread_next; /* of the runtime, of an interpreter ... */
	uint32_t thread_record;                                        /* the innermost record; 3.13: the frame */
	uint32_t record_frame, record_previous;                        /* until 3.12 */
	uint32_t frame_code, frame_previous, frame_instruction, frame_owner;
	uint32_t frame_is_last; /* 3.11: the last that a record leads to */
	uint32_t code_file, code_function, code_table, code_line, code_bytes;
	uint32_t ascii, unicode; /* where the characters are in a text, and in one that has others than ASCII */
};

static const struct layout layouts[] = {
	{ .version = 0x30b,
	  .interpreters = 40,
	  .interpreter_next = 0,
	  .threads = 16,
	  .thread_next = 8,
	  .thread_record = 56,
	  .record_frame = 8,
	  .record_previous = 16,
	  .frame_code = 32,
	  .frame_previous = 48,
	  .frame_instruction = 56,
	  .frame_is_last = 68,
	  .frame_owner = 69,
	  .code_file = 112,
	  .code_function = 128,
	  .code_table = 136,
	  .code_line = 72,
	  .code_bytes = 184,
	  .ascii = 48,
	  .unicode = 72 },
	{ .version = 0x30c,
	  .interpreters = 40,
	  .interpreter_next = 0,
	  .threads = 72,
	  .thread_next = 8,
	  .thread_record = 56,
	  .record_frame = 0,
	  .record_previous = 8,
	  .frame_code = 0,
	  .frame_previous = 8,
	  .frame_instruction = 56,
	  .frame_owner = 70,
	  .code_file = 112,
	  .code_function = 128,
	  .code_table = 136,
	  .code_line = 68,
	  .code_bytes = 192,
	  .ascii = 40,
	  .unicode = 56 },
};

#define OWNED_BY_MACHINE_STACK 3
#define OBJECT_TYPE 8  /* of every object */
#define OBJECT_SIZE 16 /* of those with a variable size */
#define BYTES_AT 32    /* of bytes */
#define TEXT_LENGTH 16 /* of a text: characters */
#define TEXT_STATE 32  /* bits: 2 of no interest, 3 bytes a character, compact, ASCII */

struct script_thread {
	uint64_t record, frame;
	uint64_t mark; /* of the innermost frames */
};

struct script_reader {
	const struct process *process;
	struct layout layout;
	uint64_t code_type;
	struct script_thread threads[THREADS_MOST];
	size_t count;
};

/* --- words ---------------------------------------------------------------- */

static bool read_bytes(const struct script_reader *r, uint64_t address, void *bytes, size_t size)
{
	return address && !process_read(r->process, address, bytes, size);
}

static bool read_word(const struct script_reader *r, uint64_t address, uint32_t offset, uint64_t *word)
{
	return address && read_bytes(r, address + offset, word, sizeof(*word));
}

/* --- the interpreter ------------------------------------------------------ */

/* Files that it comes in: as a program, and as a library. */
static bool may_be_interpreter(const struct mapping *mapping)
{
	const char *base = mapping->path ? path_base(mapping->path) : "";

	return mapping->executable && mapping->inode &&
	       (!strncmp(base, "python3", 7) || !strncmp(base, "libpython3", 10));
}

static bool take_offset(const uint8_t *bytes, size_t at, uint32_t *offset)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof(word));
	*offset = word;
	return word < OFFSET_MOST;
}

/* 3.13 begins with a table of its own offsets. One whose objects begin otherwise (free-threaded) is not read. */
static bool layout_told(const struct script_reader *r, uint64_t runtime, struct layout *l)
{
	uint8_t bytes[584];
	uint64_t free_threaded;

	if (!read_bytes(r, runtime, bytes, sizeof(bytes)) || memcmp(bytes, "xdebugpy", 8))
		return false;
	memcpy(&free_threaded, bytes + 16, sizeof(free_threaded));
	return !free_threaded && take_offset(bytes, 40, &l->interpreters) &&
	       take_offset(bytes, 64, &l->interpreter_next) && take_offset(bytes, 72, &l->threads) &&
	       take_offset(bytes, 168, &l->thread_next) && take_offset(bytes, 184, &l->thread_record) &&
	       take_offset(bytes, 232, &l->frame_previous) && take_offset(bytes, 240, &l->frame_code) &&
	       take_offset(bytes, 248, &l->frame_instruction) && take_offset(bytes, 264, &l->frame_owner) &&
	       take_offset(bytes, 280, &l->code_file) && take_offset(bytes, 296, &l->code_function) &&
	       take_offset(bytes, 304, &l->code_table) && take_offset(bytes, 312, &l->code_line) &&
	       take_offset(bytes, 344, &l->code_bytes) && take_offset(bytes, 560, &l->ascii) &&
	       (l->unicode = l->ascii + 16);
}

static bool find_layout(struct script_reader *r, uint32_t version, uint64_t runtime)
{
	r->layout = (struct layout){ .version = version };
	if (version == 0x30d)
		return layout_told(r, runtime, &r->layout);
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].version == version) {
			r->layout = layouts[i];
			return true;
		}
	return false;
}

/* The file that has the interpreter's variables. */
static bool find_runtime(struct script_reader *r, struct stack_space *space, const struct process *process,
			 uint64_t *runtime)
{
	for (size_t i = 0; i < process->nmappings; i++) {
		const struct mapping *mapping = &process->mappings[i];
		uint64_t offset;
		int version;
		const struct image *image = may_be_interpreter(mapping) ? stack_image(space, mapping->start, &offset)
									: NULL;

		if (image && !image_variable_at(image, process, "_PyRuntime", runtime) &&
		    !image_variable_at(image, process, "PyCode_Type", &r->code_type) &&
		    !image_read_int(image, process, "Py_Version", &version))
			return find_layout(r, (uint32_t)version >> 16, *runtime);
	}
	return false;
}

/* --- threads -------------------------------------------------------------- */

static bool has_records(const struct layout *l)
{
	return l->version <= 0x30c;
}

/* Is it the frame that stands on the machine's stack for the call of the interpreter, and is none of a script? */
static bool is_mark(const struct script_reader *r, uint64_t frame)
{
	uint8_t owner;

	return r->layout.version > 0x30b && read_bytes(r, frame + r->layout.frame_owner, &owner, 1) &&
	       owner == OWNED_BY_MACHINE_STACK;
}

/* The mark of the innermost frames; 0: none. */
static uint64_t first_mark(const struct script_reader *r, const struct script_thread *t)
{
	uint64_t frame = t->frame;

	if (has_records(&r->layout))
		return t->record;
	for (unsigned i = 0; frame && i < STACK_FRAMES; i++) {
		if (is_mark(r, frame))
			return frame;
		if (!read_word(r, frame, r->layout.frame_previous, &frame))
			return 0;
	}
	return 0;
}

static void add_thread(struct script_reader *r, uint64_t thread)
{
	struct script_thread *t = &r->threads[r->count];

	*t = (struct script_thread){ 0 };
	if (!read_word(r, thread, r->layout.thread_record, &t->record))
		return;
	if (!has_records(&r->layout))
		t->frame = t->record;
	else if (!read_word(r, t->record, r->layout.record_frame, &t->frame))
		return;
	t->mark = first_mark(r, t);
	r->count += t->frame && t->mark;
}

static void find_threads(struct script_reader *r, uint64_t runtime)
{
	uint64_t interpreter, thread;
	size_t seen = 0;

	if (!read_word(r, runtime, r->layout.interpreters, &interpreter))
		return;
	for (size_t i = 0; interpreter && i < INTERPRETERS_MOST; i++) {
		if (!read_word(r, interpreter, r->layout.threads, &thread))
			return;
		while (thread && seen++ < THREADS_MOST) {
			add_thread(r, thread);
			if (!read_word(r, thread, r->layout.thread_next, &thread))
				return;
		}
		if (!read_word(r, interpreter, r->layout.interpreter_next, &interpreter))
			return;
	}
}

struct script_reader *script_reader_new(struct stack_space *space, const struct process *process)
{
	struct script_reader *r = calloc(1, sizeof(*r));
	uint64_t runtime;

	if (!r)
		return NULL;
	r->process = process;
	if (!find_runtime(r, space, process, &runtime)) {
		free(r);
		return NULL;
	}
	find_threads(r, runtime);
	return r;
}

void script_reader_free(struct script_reader *reader)
{
	free(reader);
}

/* --- code ----------------------------------------------------------------- */

/* A character in UTF-8. */
static size_t put_character(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = 0xc0 | c >> 6;
		to[1] = 0x80 | (c & 0x3f);
		return 2;
	}
	if (c < 0x10000) {
		to[0] = 0xe0 | c >> 12;
		to[1] = 0x80 | (c >> 6 & 0x3f);
		to[2] = 0x80 | (c & 0x3f);
		return 3;
	}
	to[0] = 0xf0 | (c >> 18 & 7);
	to[1] = 0x80 | (c >> 12 & 0x3f);
	to[2] = 0x80 | (c >> 6 & 0x3f);
	to[3] = 0x80 | (c & 0x3f);
	return 4;
}

/* A text that a field of the code object leads to, malloc'ed; NULL: not to be had. */
static char *read_text(const struct script_reader *r, uint64_t code, uint32_t field)
{
	uint64_t text, length;
	uint8_t *from = NULL;
	uint32_t state;
	unsigned width;
	bool is_ascii;
	char *to, *at;

	if (!read_word(r, code, field, &text) || !read_word(r, text, TEXT_LENGTH, &length) || length > NAME_MOST ||
	    !read_bytes(r, text + TEXT_STATE, &state, sizeof(state)))
		return NULL;
	width = state >> 2 & 7;
	is_ascii = state >> 6 & 1;
	if (!(state >> 5 & 1) || (width != 1 && width != 2 && width != 4))
		return NULL;
	from = malloc(length * width + 1);
	to = at = malloc(length * 4 + 1);
	if (from && to &&
	    read_bytes(r, text + (is_ascii ? r->layout.ascii : r->layout.unicode), from, length * width)) {
		for (size_t i = 0; i < length; i++) {
			uint32_t c = 0;

			memcpy(&c, from + i * width, width);
			at += put_character(at, c);
		}
		*at = '\0';
	} else {
		free(to);
		to = NULL;
	}
	free(from);
	return to;
}

/* Numbers of 6 bits a byte, the lowest first. */
static uint32_t take_number(const uint8_t **at, const uint8_t *end)
{
	uint32_t value = 0;

	for (unsigned shift = 0; *at < end; shift += 6) {
		uint8_t byte = *(*at)++;

		if (shift < 32)
			value |= (uint32_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			break;
	}
	return value;
}

static int32_t take_signed(const uint8_t **at, const uint8_t *end)
{
	uint32_t value = take_number(at, end);

	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/*
 * An entry of the table: its first byte has the highest bit set, and tells for how many units of code it stands and
 * how the line is given: as a difference to the one before.
 */
uint32_t script_line(const uint8_t *table, size_t size, uint32_t first_line, uint64_t offset)
{
	const uint8_t *at = table, *end = table + size;
	uint32_t line = first_line;
	uint64_t code = 0;

	while (at < end) {
		uint8_t head = *at++, kind = head >> 3 & 15;

		if (!(head & 0x80))
			return 0;
		if (kind == 13 || kind == 14)
			line += (uint32_t)take_signed(&at, end);
		else if (kind >= 10 && kind <= 12)
			line += kind - 10;
		code += ((head & 7) + 1) * 2;
		if (offset < code)
			return kind == 15 || line > INT32_MAX ? 0 : line;
		while (at < end && !(*at & 0x80)) /* columns */
			at++;
	}
	return 0;
}

static uint32_t read_line(const struct script_reader *r, uint64_t code, uint64_t instruction)
{
	const struct layout *l = &r->layout;
	uint64_t table, size;
	int32_t first;
	uint8_t *bytes;
	uint32_t line = 0;

	if (!read_word(r, code, l->code_table, &table) || !read_word(r, table, OBJECT_SIZE, &size) ||
	    size > TABLE_MOST || !read_bytes(r, code + l->code_line, &first, sizeof(first)) || first < 0)
		return 0;
	if (instruction < code + l->code_bytes) /* it is about to begin */
		return first;
	bytes = malloc(size + 1);
	if (bytes && read_bytes(r, table + BYTES_AT, bytes, size))
		line = script_line(bytes, size, first, instruction - (code + l->code_bytes));
	free(bytes);
	return line;
}

/* --- frames --------------------------------------------------------------- */

static bool take_frame(const struct script_reader *r, uint64_t at, struct script_frame *frame)
{
	uint64_t code, type, instruction;

	*frame = (struct script_frame){ 0 };
	if (!read_word(r, at, r->layout.frame_code, &code) || !read_word(r, code, OBJECT_TYPE, &type) ||
	    type != r->code_type || !read_word(r, at, r->layout.frame_instruction, &instruction))
		return false;
	frame->line = read_line(r, code, instruction);
	frame->file = read_text(r, code, r->layout.code_file);
	frame->function = read_text(r, code, r->layout.code_function);
	if (frame->file)
		return true;
	free(frame->function);
	return false;
}

static bool on_stack(const struct thread_look *look, uint64_t address)
{
	return look->stack && address >= look->stack_at && address - look->stack_at < look->stack_size;
}

/* The frames of one call of the interpreter from `at` on got their mark; the rest has none yet. */
static void set_mark(struct script *script, size_t from, uint64_t mark)
{
	for (size_t i = from; i < script->count; i++)
		script->frames[i].mark = mark;
}

static bool add_frame(const struct script_reader *r, struct script *script, uint64_t at)
{
	if (script->count == STACK_FRAMES ||
	    array_one_more(&script->frames, &script->room, script->count, sizeof(script->frames[0])))
		return false;
	if (!take_frame(r, at, &script->frames[script->count]))
		return false;
	script->count++;
	return true;
}

/* Since 3.12: a single chain of frames, with the marks in it. */
static void take_chain(const struct script_reader *r, struct script *script, uint64_t frame)
{
	size_t from = 0;

	for (unsigned i = 0; frame && i < 2 * STACK_FRAMES; i++) {
		if (is_mark(r, frame)) {
			set_mark(script, from, frame);
			from = script->count;
		} else if (!add_frame(r, script, frame)) {
			break;
		}
		if (!read_word(r, frame, r->layout.frame_previous, &frame))
			break;
	}
	while (script->count > from) /* whose they are is not known */
		script_frame_free(&script->frames[--script->count]);
}

/* 3.11: a chain of records, each with frames of its own. */
static void take_records(const struct script_reader *r, struct script *script, uint64_t record)
{
	for (unsigned i = 0; record && i < STACK_FRAMES; i++) {
		size_t from = script->count;
		uint8_t is_last = 0;
		uint64_t frame;

		if (!read_word(r, record, r->layout.record_frame, &frame))
			return;
		while (frame && !is_last && add_frame(r, script, frame))
			if (!read_bytes(r, frame + r->layout.frame_is_last, &is_last, 1) ||
			    !read_word(r, frame, r->layout.frame_previous, &frame))
				break;
		set_mark(script, from, record);
		if (!frame || !read_word(r, record, r->layout.record_previous, &record))
			return;
	}
}

void script_take(const struct script_reader *r, const struct thread_look *look, struct script *script)
{
	const struct script_thread *found = NULL;

	*script = (struct script){ 0 };
	for (size_t i = 0; i < r->count; i++) {
		if (!on_stack(look, r->threads[i].mark))
			continue;
		if (found && found->record != r->threads[i].record)
			return; /* of two interpreters: which is the inner one is not known */
		found = &r->threads[i];
	}
	if (!found)
		return;
	if (r->layout.version == 0x30b)
		take_records(r, script, found->record);
	else
		take_chain(r, script, found->frame);
}

void script_frame_free(struct script_frame *frame)
{
	free(frame->file);
	free(frame->function);
}

void script_free(struct script *script)
{
	for (size_t i = 0; i < script->count; i++)
		script_frame_free(&script->frames[i]);
	free(script->frames);
	*script = (struct script){ 0 };
}
