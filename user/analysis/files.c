/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * files.c - what was read and written, by file: where the calls name descriptors, and it is known what these were.
 *
 * A descriptor is one opening of a file (definitions have an entry for each), and has a place in the file of its own:
 * so that is what is summed up first. The same file of the same process is a row of the JSON, of all processes one of
 * the text.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "recording/labels.h"
#include "util/json.h"
#include "util/log.h"

#define ROWS_SHOWN 20
#define SOCKETS "(sockets)"
#define PIPES "(pipes)"

/* Calls are told apart by what they moved, in the ranges that Darshan uses: up to so many bytes, and above. */
static const struct {
	uint64_t to;
	const char *name;
} sizes[] = {
	{ 100, "<= 100 B" },     { 1 << 10, "<= 1 KiB" },   { 10 << 10, "<= 10 KiB" }, { 100 << 10, "<= 100 KiB" },
	{ 1 << 20, "<= 1 MiB" }, { 4 << 20, "<= 4 MiB" },   { 10 << 20, "<= 10 MiB" }, { 100 << 20, "<= 100 MiB" },
	{ 1 << 30, "<= 1 GiB" }, { UINT64_MAX, "> 1 GiB" },
};

#define SIZES (sizeof(sizes) / sizeof(*sizes))

struct moved {
	uint64_t calls, bytes, unknown; /* unknown: calls of which the bytes are not known */
	uint64_t of_size[SIZES];        /* calls */
};

struct file_figures {
	struct moved read, written;
	uint64_t opens, others;
	uint64_t moving, time;     /* ns: in reads and writes; in all calls */
	uint64_t placed, in_order; /* reads and writes; those that go on where the one before has ended */
};

struct descriptor {
	struct {
		uint32_t process, text; /* indices; text NO_INDEX: what it is is not known */
	} key;
	struct file_figures is;
	int64_t place; /* where the last read or write has ended; -1: unknown */
	int64_t at;    /* where the next one without an offset begins; -1: unknown */
	bool begun;    /* something was read or written */
	bool sought;   /* the program has moved `at` since */
	UT_hash_handle hh;
};

struct file_row {
	uint32_t process;
	const char *path; /* NULL: not known */
	uint32_t processes;
	struct file_figures is;
};

struct files {
	const struct definitions *d;
	struct texts *texts;
	struct descriptor *descriptors;
	struct file_row *rows;  /* by process and path */
	struct file_row *paths; /* by path alone */
	size_t nrows, npaths;
};

/* --- summing up ---------------------------------------------------------- */

static struct descriptor *descriptor_of(struct files *f, uint32_t process, uint32_t text)
{
	struct descriptor *found, key = { .key = { process, text } };

	HASH_FIND(hh, f->descriptors, &key.key, sizeof(key.key), found);
	if (found)
		return found;
	found = calloc(1, sizeof(*found));
	if (!found)
		return NULL;
	found->key = key.key;
	found->place = found->at = -1;
	HASH_ADD(hh, f->descriptors, key, sizeof(found->key), found);
	if (!found->hh.tbl) {
		free(found);
		return NULL;
	}
	return found;
}

static void add_moved(struct moved *to, int64_t bytes)
{
	size_t size = 0;

	to->calls++;
	if (bytes < 0) {
		to->unknown++;
		return;
	}
	to->bytes += (uint64_t)bytes;
	while ((uint64_t)bytes > sizes[size].to)
		size++;
	to->of_size[size]++;
}

/* Does it go on where the one before has ended? Where a place is not known, one without an offset does, unless the
 * program has moved it. */
static void follow(struct descriptor *file, const struct accounted_call *call, int64_t bytes)
{
	int64_t from, to = -1;
	bool placed = call_number(call, MEANING_OFFSET, &from), known;

	if (!placed)
		from = file->at;
	known = placed || (from >= 0 && file->place >= 0);
	file->is.placed++;
	file->is.in_order += !file->begun || (known ? file->place == from : !file->sought);
	file->begun = true;
	if (from < 0 || bytes < 0 || __builtin_add_overflow(from, bytes, &to))
		to = -1;
	file->place = to;
	if (placed)
		return;
	file->at = to;
	file->sought = false;
}

static int span(void *state, const struct accounted_call *call)
{
	struct files *f = state;
	uint32_t process = f->d->threads[call->span->thread].process;
	int64_t fd, bytes, offset;
	bool closes = call_number(call, MEANING_CLOSED, &fd);
	struct descriptor *file;
	bool opens = false;

	if (!closes && !call_number(call, MEANING_FD, &fd))
		return 0;
	for (uint32_t i = 0; i < f->d->probes[call->span->probe].nvalues && !opens; i++)
		opens = value_is_descriptor(&f->d->probes[call->span->probe].values[i]) &&
			f->d->probes[call->span->probe].values[i].at_return;
	if (fd < 0 || fd > INT32_MAX)
		return 0; /* no descriptor */
	file = descriptor_of(f, process,
			     texts_entry(f->texts, process, TEXT_OF_FILE + (uint64_t)fd,
					 opens ? call->span->end : call->span->start));
	if (!file)
		return -ENOMEM;
	file->is.time += call->self;
	bytes = call->payload.bytes;
	if (call->role == ROLE_READ || call->role == ROLE_WRITE) {
		add_moved(call->role == ROLE_READ ? &file->is.read : &file->is.written, bytes);
		follow(file, call, bytes);
		file->is.moving += call->self;
	} else if (opens) {
		file->is.opens++;
	} else {
		file->is.others++;
		if (call_number(call, MEANING_OFFSET, &offset) && offset >= 0) {
			file->at = offset;
			file->sought = true;
		}
	}
	return 0;
}

/* A name by the call that opened the file begins with this; else Linux has told it. */
static bool is_by(const char *path, const char *begin)
{
	return path && !strncmp(path, begin, strlen(begin));
}

/* Sockets and pipes have numbers, which mean nothing to anybody. */
static const char *path_shown(const char *path)
{
	static const char *const kinds[][2] = { { "socket:[", SOCKETS }, { "pipe:[", PIPES } };

	for (size_t i = 0; path && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (is_by(path, kinds[i][0]))
			return kinds[i][1];
	return path;
}

/* Has it places that one can go on from? */
static bool has_places(const struct file_row *row)
{
	const char *path = row->path;

	if (is_by(path, TEXT_GIVEN))
		path += strlen(TEXT_GIVEN);
	return row->is.placed && (!path || is_by(path, TEXT_RELATIVE) || (is_by(path, "/") && !is_by(path, "/dev/")));
}

/* The same whoever told it: Linux of one opening, the call of another. */
static const char *whole_name(const char *path)
{
	return is_by(path, TEXT_GIVEN) ? path + strlen(TEXT_GIVEN) : path;
}

static int by_path(const void *left, const void *right)
{
	const struct file_row *a = left, *b = right;

	if (!a->path != !b->path)
		return a->path ? -1 : 1;
	return a->path ? strcmp(whole_name(a->path), whole_name(b->path)) : 0;
}

static int by_path_and_process(const void *left, const void *right)
{
	const struct file_row *a = left, *b = right;
	int order = by_path(left, right);

	return order ? order : a->process < b->process ? -1 : a->process > b->process;
}

static int by_time(const void *left, const void *right)
{
	const struct file_row *a = left, *b = right;

	if (a->is.time != b->is.time)
		return a->is.time > b->is.time ? -1 : 1;
	return by_path_and_process(left, right);
}

static void add_figures(struct file_figures *to, const struct file_figures *from)
{
	uint64_t *sum = (uint64_t *)to;
	const uint64_t *more = (const uint64_t *)from;

	for (size_t i = 0; i < sizeof(*to) / sizeof(*sum); i++)
		sum[i] += more[i];
}

/* Sorts, and joins those that are the same; how many are left. */
static size_t join(struct file_row *rows, size_t count, int (*compare)(const void *left, const void *right))
{
	size_t kept = 0;

	if (count)
		qsort(rows, count, sizeof(*rows), compare);
	for (size_t i = 0; i < count; i++) {
		if (kept && !compare(&rows[kept - 1], &rows[i])) {
			add_figures(&rows[kept - 1].is, &rows[i].is);
			rows[kept - 1].processes++;
			if (is_by(rows[kept - 1].path, TEXT_GIVEN))
				rows[kept - 1].path = rows[i].path;
		} else {
			rows[kept++] = rows[i];
		}
	}
	if (kept)
		qsort(rows, kept, sizeof(*rows), by_time);
	return kept;
}

static int end(void *state, struct report *r)
{
	struct files *f = state;
	struct descriptor *file, *next;

	f->rows = calloc(HASH_COUNT(f->descriptors) + 1, sizeof(*f->rows));
	f->paths = calloc(HASH_COUNT(f->descriptors) + 1, sizeof(*f->paths));
	if (!f->rows || !f->paths)
		return -ENOMEM;
	HASH_ITER (hh, f->descriptors, file, next) {
		struct file_row *row = &f->rows[f->nrows];
		const char *path = file->key.text == NO_INDEX ? NULL : f->d->texts[file->key.text].text;

		if (f->d->processes[file->key.process].left_out)
			continue;
		*row = (struct file_row){ file->key.process, path_shown(path), 1, file->is };
		f->nrows++;
	}
	f->nrows = join(f->rows, f->nrows, by_path_and_process);
	for (size_t i = 0; i < f->nrows; i++) {
		f->paths[i] = f->rows[i];
		f->paths[i].processes = 1;
	}
	f->npaths = join(f->paths, f->nrows, by_path);
	return 0;
}

/* --- telling ------------------------------------------------------------- */

static void moved_cells(struct table *t, const struct moved *moved)
{
	char text[FORMAT_SIZE];

	table_cell(t, "%s", format_count(text, moved->calls));
	table_cell(t, "%s", printer_bytes(text, moved->bytes, moved->calls - moved->unknown, moved->unknown));
}

/* The range that most of the reads and writes are in. */
static const char *usual_size(const struct file_figures *is)
{
	uint64_t calls, most = 0;
	const char *name = "-";

	for (size_t i = 0; i < SIZES; i++) {
		calls = is->read.of_size[i] + is->written.of_size[i];
		if (calls > most) {
			most = calls;
			name = sizes[i].name;
		}
	}
	return name;
}

/* Is the name of any file the caller's? */
static bool by_call(const struct files *f)
{
	for (size_t i = 0; i < f->npaths; i++)
		if (is_by(f->paths[i].path, TEXT_GIVEN) || is_by(f->paths[i].path, TEXT_RELATIVE))
			return true;
	return false;
}

static void print(void *state, const struct printer *p)
{
	const struct files *f = state;
	const struct column columns[] = {
		{ .title = "File",
		  .left = true,
		  .shrinks = true,
		  .legend = by_call(f) ? "given, relative: as the program called it, not as Linux does" : NULL },
		{ .title = "Processes", .drop = 3 },
		{ .title = "Opens" },
		{ .title = "Reads" },
		{ .title = "Read" },
		{ .title = "Writes" },
		{ .title = "Written" },
		{ .title = "Mostly", .drop = 4, .legend = "mostly: the size of most reads and writes" },
		{ .title = "In order", .drop = 2, .legend = "in order: those that go on where the last one ended" },
		{ .title = "Time" },
		{ .title = "Others", .drop = 1 },
		{ .title = "Others' time", .legend = "others: open, lseek, fsync, close and the like" },
	};
	size_t shown = f->npaths;
	struct table t = { 0 };
	char text[FORMAT_SIZE];

	if (!f->npaths)
		return;
	if (p->style->top)
		shown = printer_rows(p, f->npaths);
	else if (shown > ROWS_SHOWN)
		shown = ROWS_SHOWN;
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < shown; i++) {
		const struct file_row *row = &f->paths[i];

		table_cell(&t, "%s", row->path ? log_safe(row->path) : "(name not known)");
		table_cell(&t, "%u", row->processes);
		table_cell(&t, "%s", format_count(text, row->is.opens));
		moved_cells(&t, &row->is.read);
		moved_cells(&t, &row->is.written);
		table_cell(&t, "%s", usual_size(&row->is));
		if (has_places(row))
			table_cell(&t, "%.0f%%", percent(row->is.in_order, row->is.placed));
		else
			table_cell(&t, "-");
		table_cell(&t, "%s", printer_time(p, text, row->is.moving));
		table_cell(&t, "%s", format_count(text, row->is.opens + row->is.others));
		table_cell(&t, "%s", printer_time(p, text, row->is.time - row->is.moving));
	}
	printer_titled_table(p, p->r->calls > p->r->delivered ? "of the calls on the timeline" : "", &t);
	printer_rest(p, shown, f->npaths, "files");
}

static void put_moved(struct json *j, const char *calls, const char *bytes, const char *unknown,
		      const struct moved *moved)
{
	json_key_uint(j, calls, moved->calls);
	json_key_uint(j, bytes, moved->bytes);
	json_key_uint(j, unknown, moved->unknown);
}

/* [[to, calls], ...]: of up to so many bytes each, and more than the range before has; null: no end. */
static void put_sizes(struct json *j, const char *key, const struct moved *moved)
{
	json_key(j, key);
	json_array(j);
	for (size_t i = 0; i < SIZES; i++) {
		if (!moved->of_size[i])
			continue;
		json_array(j);
		if (sizes[i].to == UINT64_MAX)
			json_null(j);
		else
			json_uint(j, sizes[i].to);
		json_uint(j, moved->of_size[i]);
		json_end_array(j);
	}
	json_end_array(j);
}

/* The name, and who told it. */
static void put_name(struct json *j, const char *path)
{
	static const char *const by_call[][2] = { { TEXT_GIVEN, "call" }, { TEXT_RELATIVE, "call, relative" } };
	const char *by = path ? "linux" : NULL;

	for (size_t i = 0; i < sizeof(by_call) / sizeof(*by_call); i++) {
		if (!is_by(path, by_call[i][0]))
			continue;
		path += strlen(by_call[i][0]);
		by = by_call[i][1];
		break;
	}
	json_key_string(j, "file", path);
	json_key_string(j, "named_by", by);
}

static void put(void *state, const struct report *r, struct json *j)
{
	const struct files *f = state;

	json_array(j);
	for (size_t i = 0; i < f->nrows; i++) {
		const struct file_row *row = &f->rows[i];

		json_object(j);
		put_name(j, row->path);
		json_key_uint(j, "pid", r->d->processes[row->process].pid);
		if (r->d->processes[row->process].rank >= 0)
			json_key_int(j, "rank", r->d->processes[row->process].rank);
		json_key_uint(j, "opens", row->is.opens);
		put_moved(j, "reads", "bytes_read", "reads_of_unknown_bytes", &row->is.read);
		put_moved(j, "writes", "bytes_written", "writes_of_unknown_bytes", &row->is.written);
		put_sizes(j, "read_sizes", &row->is.read);
		put_sizes(j, "write_sizes", &row->is.written);
		json_key_uint(j, "in_order", row->is.in_order);
		json_key_uint(j, "others", row->is.others);
		json_key_uint(j, "moving_ns", row->is.moving);
		json_key_uint(j, "time_ns", row->is.time);
		json_end_object(j);
	}
	json_end_array(j);
}

static int begin(void **state, const struct definitions *d)
{
	struct files *f = calloc(1, sizeof(*f));

	*state = f;
	if (!f)
		return -ENOMEM;
	f->d = d;
	f->texts = texts_new(d);
	return f->texts ? 0 : -ENOMEM;
}

static void files_free(void *state)
{
	struct files *f = state;
	struct descriptor *file, *next;

	if (!f)
		return;
	HASH_ITER (hh, f->descriptors, file, next) {
		HASH_DEL(f->descriptors, file);
		free(file);
	}
	texts_free(f->texts);
	free(f->rows);
	free(f->paths);
	free(f);
}

const struct analysis analysis_files = {
	.name = "files",
	.title = "Files",
	.of_calls = true,
	.roles = ROLE_BIT(ROLE_READ) | ROLE_BIT(ROLE_WRITE) | ROLE_BIT(ROLE_IO),
	.begin = begin,
	.span = span,
	.end = end,
	.print = print,
	.json = put,
	.free = files_free,
};
