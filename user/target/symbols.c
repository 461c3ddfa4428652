/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbols.c - the functions of an image, by name and by file offset.
 *
 * A probe goes to a file offset, a symbol has an address: between them stands the executable PT_LOAD that holds
 * the address. Offset and address differ freely (lld and gold place segments one page further in memory than in
 * the file), and a symbol outside of all executable segments can have no probe, so it is left out.
 *
 * A table may have millions of entries, and may have been made to be slow: names are read in place from one copy
 * of the string table, their total length has a limit, and everything else is sorting.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "target/image_private.h"
#include "util/array.h"

#define SYMBOLS_MOST (16u << 20)  /* entries of one table */
#define STRINGS_MOST (1ull << 30) /* bytes of one string table */
#define NAME_LENGTH_MOST 4096u
#define NAMES_TOTAL_MOST (1ull << 30) /* bytes of all names, each counted as often as it is used */
#define CHUNK 65536u                  /* entries read at a time */
#define VERSION_HIDDEN 0x8000u        /* .gnu.version: not the default version */
#define SEARCH_BACK 256u              /* symbols looked at before an offset */
#define UNSIZED_MOST 65536u           /* bytes that a function without size is believed to have */

/* File offset of a code address; false: not in an executable segment. */
static bool offset_of_code(const struct image_private *priv, uint64_t address, uint64_t *offset)
{
	for (size_t i = 0; i < priv->ncode; i++) {
		const struct code_segment *code = &priv->code[i];

		if (address >= code->address && address - code->address < code->size) {
			*offset = code->offset + (address - code->address);
			return true;
		}
	}
	return false;
}

bool code_address_of(const struct image_private *priv, uint64_t offset, uint64_t *address)
{
	for (size_t i = 0; i < priv->ncode; i++) {
		const struct code_segment *code = &priv->code[i];

		if (offset >= code->offset && offset - code->offset < code->size) {
			*address = code->address + (offset - code->offset);
			return true;
		}
	}
	return false;
}

const struct code_segment *image_code(const struct image *image, size_t *count)
{
	*count = private_of(image)->ncode;
	return private_of(image)->code;
}

bool image_address_at(const struct image *image, uint64_t offset, uint64_t *address)
{
	size_t count;
	const struct code_segment *code = image_code(image, &count);

	for (size_t i = 0; i < count; i++) {
		if (offset < code[i].offset || offset - code[i].offset >= code[i].size)
			continue;
		*address = code[i].address + (offset - code[i].offset);
		return true;
	}
	return false;
}

bool image_offset_at(const struct image *image, uint64_t address, uint64_t *offset)
{
	size_t count;
	const struct code_segment *code = image_code(image, &count);

	for (size_t i = 0; i < count; i++) {
		if (address < code[i].address || address - code[i].address >= code[i].size)
			continue;
		*offset = code[i].offset + (address - code[i].address);
		return true;
	}
	return false;
}

/* --- reading ----------------------------------------------------------- */

/* One symbol table on its way into the image. */
struct table {
	struct image *image;
	const struct elf_file *elf;
	const Elf64_Shdr *section;
	bool dynamic;
	char *names;
	size_t names_size;
	uint16_t *versions; /* of .dynsym; NULL: none */
	size_t nversions;
	size_t room; /* of image->symbols */
	uint64_t name_bytes;
};

static int make_room(struct table *table)
{
	struct image *image = table->image;
	struct symbol *larger;
	size_t room;

	if (image->nsymbols < table->room)
		return 0;
	room = image->nsymbols + image->nsymbols / 2 + 256;
	if (!reading_keeps(image, ROOM_NAMES, (room - table->room) * sizeof(*larger)))
		return -E2BIG;
	larger = realloc(image->symbols, room * sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	image->symbols = larger;
	table->room = room;
	return 0;
}

/* "name@VERSION" is another version than the default, "name@@VERSION" the default. */
static bool is_other_version(const struct table *table, const char *name, size_t index)
{
	const char *at;

	if (table->dynamic)
		return index < table->nversions && (table->versions[index] & VERSION_HIDDEN);
	at = strchr(name, '@');
	return at && at != name && at[1] != '@';
}

/* Takes the name of what the file expects from others. 0 or -ENOMEM. */
static int take_import(struct table *table, const Elf64_Sym *entry)
{
	struct image_private *priv = private_of(table->image);
	const char *name;

	if (!table->dynamic || !entry->st_name || entry->st_name >= table->names_size)
		return 0;
	name = table->names + entry->st_name;
	if (strnlen(name, NAME_LENGTH_MOST + 1) > NAME_LENGTH_MOST)
		return 0;
	if (array_one_more(&priv->imports, &priv->imports_room, priv->nimports, sizeof(*priv->imports)))
		return -ENOMEM;
	priv->imports[priv->nimports++] = name;
	return 0;
}

/* Takes one entry where it is a function that can have a probe. 0, -E2BIG: enough, -ENOMEM. */
static int take_entry(struct table *table, const Elf64_Sym *entry, size_t index)
{
	unsigned type = ELF64_ST_TYPE(entry->st_info);
	struct symbol symbol = { 0 };
	size_t length;
	int error;

	if (entry->st_shndx == SHN_UNDEF)
		return take_import(table, entry);
	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || entry->st_name >= table->names_size ||
	    !offset_of_code(private_of(table->image), entry->st_value, &symbol.offset))
		return 0;
	symbol.name = table->names + entry->st_name;
	length = strnlen(symbol.name, NAME_LENGTH_MOST + 1);
	if (!length || length > NAME_LENGTH_MOST)
		return 0;
	table->name_bytes += length;
	if (table->name_bytes > NAMES_TOTAL_MOST)
		return -E2BIG;
	symbol.address = entry->st_value;
	symbol.size = entry->st_size;
	symbol.dynamic = table->dynamic;
	symbol.local = ELF64_ST_BIND(entry->st_info) == STB_LOCAL;
	symbol.ifunc = type == STT_GNU_IFUNC;
	symbol.other_version = is_other_version(table, symbol.name, index);
	error = make_room(table);
	if (!error)
		table->image->symbols[table->image->nsymbols++] = symbol;
	return error;
}

static int take_entries(struct table *table)
{
	uint64_t count = table->section->sh_size / sizeof(Elf64_Sym);
	int error = 0;

	if (count > SYMBOLS_MOST)
		count = SYMBOLS_MOST;
	for (uint64_t first = 0; first < count && !error; first += CHUNK) {
		uint64_t some = count - first < CHUNK ? count - first : CHUNK;
		Elf64_Sym *entries = elf_bytes(table->elf, table->section->sh_offset + first * sizeof(*entries),
					       some * sizeof(*entries), UINT64_MAX);

		if (!entries)
			return -EIO;
		for (uint64_t i = 0; i < some && !error; i++)
			error = take_entry(table, &entries[i], first + i);
		free(entries);
		if (reading_pauses(some))
			error = error ?: -ECANCELED;
	}
	return error;
}

/* The version of each entry of .dynsym. */
static void read_versions(struct table *table)
{
	const Elf64_Shdr *section = elf_section_of_type(table->elf, SHT_GNU_versym);

	if (!table->dynamic || !section)
		return;
	table->versions = elf_section_bytes(table->elf, section, SYMBOLS_MOST * sizeof(uint16_t));
	if (table->versions)
		table->nversions = section->sh_size / sizeof(uint16_t);
}

/*
 * Cuts "@VERSION" off names. String tables share tails, so a name may lie inside another one; it
 * would be cut at the same place.
 */
static void cut_versions(struct image *image, size_t first)
{
	for (size_t i = first; i < image->nsymbols; i++) {
		char *name = (char *)image->symbols[i].name, *at = strchr(name, '@');

		if (at && at != name)
			*at = '\0';
	}
}

int symbols_add(struct image *image, const struct elf_file *elf, bool dynamic)
{
	struct image_private *priv = private_of(image);
	size_t first = image->nsymbols;
	struct table table = { .image = image, .elf = elf, .dynamic = dynamic, .room = image->nsymbols };
	const Elf64_Shdr *strings;
	int error;

	table.section = elf_section_of_type(elf, dynamic ? SHT_DYNSYM : SHT_SYMTAB);
	if (!table.section)
		return -ENOENT;
	if (!elf_section_filled(table.section) || table.section->sh_entsize != sizeof(Elf64_Sym) ||
	    table.section->sh_link >= elf->nsections || priv->nnames == NAME_TABLES)
		return -EINVAL;
	strings = &elf->sections[table.section->sh_link];
	if (strings->sh_size <= elf->size && !reading_keeps(image, ROOM_NAMES, strings->sh_size))
		return -E2BIG;
	table.names = elf_section_bytes(elf, strings, STRINGS_MOST);
	if (!table.names)
		return -EINVAL;
	table.names_size = strings->sh_size;
	priv->names[priv->nnames++] = table.names;
	read_versions(&table);
	error = take_entries(&table);
	free(table.versions);
	if (!dynamic)
		cut_versions(image, first);
	return error;
}

/* --- sorting ----------------------------------------------------------- */

/* What is preferred among symbols of one name: exported, default version, global. */
static int compare_preference(const struct symbol *a, const struct symbol *b)
{
	if (a->dynamic != b->dynamic)
		return a->dynamic ? -1 : 1;
	if (a->other_version != b->other_version)
		return a->other_version ? 1 : -1;
	if (a->local != b->local)
		return a->local ? 1 : -1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int by_name(const void *left, const void *right, void *context)
{
	const struct symbol *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : compare_preference(a, b);
}

static int by_preference(const void *left, const void *right, void *context)
{
	return compare_preference(left, right);
}

/* Same offset side by side, the preferred one first. */
static int by_place(const void *left, const void *right, void *context)
{
	const struct symbol *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return compare_preference(a, b);
}

/* Of symbols of one name, keeps one for each offset: *left of them. 0 or -errno. */
static int unite_same(struct symbol *symbols, size_t count, size_t *left)
{
	size_t kept = 1;
	int error;

	*left = count;
	if (count < 2)
		return 0;
	error = reading_sorts(symbols, count, sizeof(*symbols), by_place, NULL);
	if (error)
		return error;
	for (size_t i = 1; i < count; i++) {
		if (symbols[i].offset != symbols[kept - 1].offset)
			symbols[kept++] = symbols[i];
		else if (!symbols[kept - 1].size)
			symbols[kept - 1].size = symbols[i].size;
	}
	*left = kept;
	return reading_sorts(symbols, kept, sizeof(*symbols), by_preference, NULL);
}

static int unite(struct image *image)
{
	struct symbol *symbols = image->symbols;
	size_t kept = 0;

	for (size_t first = 0, next; first < image->nsymbols; first = next) {
		size_t left;
		int error;

		for (next = first + 1; next < image->nsymbols; next++)
			if (strcmp(symbols[first].name, symbols[next].name))
				break;
		error = unite_same(&symbols[first], next - first, &left)
				?: reading_pauses(next - first) ? -ECANCELED
								: 0;
		if (error)
			return error;
		memmove(&symbols[kept], &symbols[first], left * sizeof(*symbols));
		kept += left;
	}
	image->nsymbols = kept;
	return 0;
}

/* Ascending by offset; at one offset the one that a person wants to read comes last. */
static int by_offset(const void *left, const void *right, void *context)
{
	const struct symbol *symbols = context;
	const struct symbol *a = &symbols[*(const uint32_t *)left], *b = &symbols[*(const uint32_t *)right];

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (!a->size != !b->size)
		return a->size ? 1 : -1;
	return -compare_preference(a, b);
}

static int by_text(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int by_import(const void *left, const void *right, void *context)
{
	return by_text(left, right);
}

int symbols_finish(struct image *image)
{
	struct image_private *priv = private_of(image);
	int error = reading_sorts(priv->imports, priv->nimports, sizeof(*priv->imports), by_import, NULL);

	if (!error)
		error = reading_sorts(image->symbols, image->nsymbols, sizeof(*image->symbols), by_name, NULL);
	if (!error)
		error = unite(image);
	if (error || !image->nsymbols)
		return error;
	priv->by_offset = calloc(image->nsymbols, sizeof(*priv->by_offset));
	if (!priv->by_offset)
		return -ENOMEM;
	for (size_t i = 0; i < image->nsymbols; i++)
		priv->by_offset[i] = (uint32_t)i;
	return reading_sorts(priv->by_offset, image->nsymbols, sizeof(*priv->by_offset), by_offset, image->symbols);
}

/* --- looking up -------------------------------------------------------- */

const struct symbol *image_symbol(const struct image *image, const char *name)
{
	size_t low = 0, high = image->nsymbols;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(image->symbols[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == image->nsymbols || strcmp(image->symbols[low].name, name))
		return NULL;
	return &image->symbols[low];
}

bool image_imports(const struct image *image, const char *name)
{
	const struct image_private *priv = private_of(image);

	return priv->nimports && bsearch(&name, priv->imports, priv->nimports, sizeof(*priv->imports), by_text);
}

bool image_imports_from(const struct image *image, const struct image *other)
{
	const struct image_private *priv = private_of(image);

	for (size_t i = 0; i < priv->nimports; i++) {
		const struct symbol *symbol = image_symbol(other, priv->imports[i]);

		if (symbol && symbol->dynamic)
			return true;
	}
	return false;
}

/* How many symbols start at or before an offset. */
static size_t count_up_to(const struct image *image, uint64_t offset)
{
	const uint32_t *order = private_of(image)->by_offset;
	size_t low = 0, high = image->nsymbols;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (image->symbols[order[middle]].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct symbol *image_symbol_at(const struct image *image, uint64_t offset)
{
	const struct image_private *priv = private_of(image);
	const struct symbol *unsized = NULL;
	uint64_t address;
	size_t next = count_up_to(image, offset);

	if (!code_address_of(priv, offset, &address))
		return NULL;
	/* One function may lie inside another (entries of hand-written code): the last one that holds the offset. */
	for (size_t i = 0; i < SEARCH_BACK && i < next; i++) {
		const struct symbol *symbol = &image->symbols[priv->by_offset[next - 1 - i]];

		if (offset - symbol->offset < symbol->size)
			return symbol;
		if (i == 0 && !symbol->size && offset - symbol->offset < UNSIZED_MOST)
			unsized = symbol;
	}
	return unsized;
}
