/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list_every.c - gaspbpf list --every-function: where a probe would go in each function of a file, whatever the models
 * say.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "cli/list.h"
#include "util/format.h"
#include "util/function_name.h"
#include "util/log.h"

/* Ascending by place; of names at one place the longest function first. */
static int by_offset(const void *left, const void *right)
{
	const struct symbol *a = *(const struct symbol *const *)left, *b = *(const struct symbol *const *)right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->size == b->size ? strcmp(a->name, b->name) : a->size > b->size ? -1 : 1;
}

/* One symbol for each function of the image. */
static const struct symbol **functions_of(const struct image *image, size_t *count)
{
	const struct symbol **symbols = calloc(image->nsymbols + 1, sizeof(*symbols));
	size_t n = 0, kept = 0;

	for (size_t i = 0; symbols && i < image->nsymbols; i++)
		if (!image->symbols[i].ifunc)
			symbols[n++] = &image->symbols[i];
	if (n)
		qsort(symbols, n, sizeof(*symbols), by_offset);
	for (size_t i = 0; i < n; i++)
		if (!kept || symbols[kept - 1]->offset != symbols[i]->offset)
			symbols[kept++] = symbols[i];
	*count = kept;
	return symbols;
}

/* The instructions by which its calls end; see exits.c. */
static void json_ends(struct json *j, const struct image *image, const struct symbol *symbol,
		      const struct probe_place *place)
{
	struct site_exit *exits;
	size_t count;
	const char *why = exits_find(image, symbol, place->offset, NULL, &exits, &count);

	json_key(j, "exits");
	json_array(j);
	for (size_t i = 0; i < count; i++) {
		json_object(j);
		json_key_uint(j, "offset", exits[i].offset);
		json_key_string(j, "kind",
				exits[i].how == GB_EXIT_RETURN ? "ret"
				: exits[i].how == GB_EXIT_JUMP ? "jump"
							       : "jump if");
		json_end_object(j);
	}
	json_end_array(j);
	json_key_string(j, "no_exits", why);
	free(exits);
}

static void print_ends(const struct image *image, const struct symbol *symbol, const struct probe_place *place)
{
	struct site_exit *exits;
	size_t count;
	const char *why = exits_find(image, symbol, place->offset, NULL, &exits, &count);

	if (why)
		printf("  its ends cannot be probed: %s", why);
	else
		printf("  ends in %zu place%s", count, count == 1 ? "" : "s");
	free(exits);
}

static void json_function(struct json *j, const struct image *image, const struct symbol *symbol,
			  const struct probe_place *place, const unsigned *cost_ns)
{
	json_object(j);
	list_json_symbol(j, symbol->name);
	json_key_uint(j, "address", symbol->address);
	json_key_uint(j, "offset", symbol->offset);
	json_key_uint(j, "size", symbol->size);
	list_json_place(j, image, place, cost_ns[place->class]);
	json_ends(j, image, symbol, place);
	json_end_object(j);
}

static void print_function(const struct image *image, const struct symbol *symbol, const struct probe_place *place,
			   const unsigned *cost_ns)
{
	printf("  %-40s ", function_label(symbol->name, FUNCTION_NAME_COLUMNS));
	list_print_place(image, symbol->offset, place, cost_ns[place->class]);
	print_ends(image, symbol, place);
	printf("\n");
}

static int show_file(const struct image *image, const struct place_options *options, const unsigned *cost_ns,
		     struct json *j)
{
	size_t count = 0;
	const struct symbol **symbols = functions_of(image, &count);
	struct place_wish *wishes = calloc(count + 1, sizeof(*wishes));
	struct probe_place *places = calloc(count + 1, sizeof(*places));
	int err = symbols && wishes && places ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < count; i++)
		wishes[i] = (struct place_wish){ .function = symbols[i], .registers = PLACE_ALL_REGISTERS };
	if (!err)
		err = place_probes(image, wishes, count, options, places);
	if (j) {
		json_object(j);
		json_key_string(j, "file", image->path);
		json_key(j, "functions");
		json_array(j);
	} else {
		printf("%s: %zu function%s\n", log_safe(image->path), count, plural(count));
	}
	for (size_t i = 0; !err && i < count; i++) {
		if (j)
			json_function(j, image, symbols[i], &places[i], cost_ns);
		else
			print_function(image, symbols[i], &places[i], cost_ns);
	}
	if (j) {
		json_end_array(j);
		json_end_object(j);
	}
	free(symbols);
	free(wishes);
	free(places);
	return err;
}

static int show_files(const struct text_list *files, const struct place_options *options, const unsigned *cost_ns,
		      struct json *j)
{
	int err = 0;

	for (size_t i = 0; !err && i < files->count; i++) {
		struct image *image;

		err = image_open_file(&image, files->items[i]);
		if (err) {
			if (err == -ENOEXEC)
				log_error("%s: not an " ARCH_TITLE " ELF program or library: name one",
					  log_safe(files->items[i]));
			break;
		}
		err = show_file(image, options, cost_ns, j);
		image_close(image);
	}
	return err;
}

int list_every_function(const struct text_list *files, bool at_entry, bool json, const unsigned *cost_ns)
{
	struct place_options options = { .at_entry = at_entry };
	struct json *j;
	int err;

	if (!json) {
		err = show_files(files, &options, cost_ns, NULL);
		return err;
	}
	j = malloc(sizeof(*j));
	if (!j)
		return -ENOMEM;
	json_init_file(j, stdout, true);
	json_object(j);
	json_key(j, "files");
	json_array(j);
	err = show_files(files, &options, cost_ns, j);
	json_end_array(j);
	json_end_object(j);
	if (json_finish(j) && !err)
		err = -EIO;
	free(j);
	return err;
}
