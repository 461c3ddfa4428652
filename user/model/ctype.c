/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctype.c - C types: reading them, and how the ABI passes them.
 *
 * Only what decides where an argument travels matters here: integer register,
 * floating-point register or stack, and the width and sign of an integer. So a type is a
 * size, a kind, and a number of stars; what a pointer points to matters for
 * `*` paths and for the size of an element.
 */
#include <string.h>

#include "arch/arch.h"
#include "model/parts.h"

/* Names that mean a type on 64-bit Linux, besides C's own words. */
static const struct {
	const char *name;
	uint8_t size;
	bool negative;
} typedefs[] = {
	{ "size_t", 8, false },         { "ssize_t", 8, true },         { "ptrdiff_t", 8, true },
	{ "intptr_t", 8, true },        { "uintptr_t", 8, false },      { "off_t", 8, true },
	{ "int8_t", 1, true },          { "int16_t", 2, true },         { "int32_t", 4, true },
	{ "int64_t", 8, true },         { "uint8_t", 1, false },        { "uint16_t", 2, false },
	{ "uint32_t", 4, false },       { "uint64_t", 8, false },       { "intmax_t", 8, true },
	{ "uintmax_t", 8, false },      { "int_least8_t", 1, true },    { "int_least16_t", 2, true },
	{ "int_least32_t", 4, true },   { "int_least64_t", 8, true },   { "uint_least8_t", 1, false },
	{ "uint_least16_t", 2, false }, { "uint_least32_t", 4, false }, { "uint_least64_t", 8, false },
	{ "int_fast8_t", 1, true },     { "int_fast16_t", 8, true },    { "int_fast32_t", 8, true },
	{ "int_fast64_t", 8, true },    { "uint_fast8_t", 1, false },   { "uint_fast16_t", 8, false },
	{ "uint_fast32_t", 8, false },  { "uint_fast64_t", 8, false },  { "wchar_t", 4, true },
	{ "__int128", 16, true },       { "__int128_t", 16, true },     { "__uint128_t", 16, false },
};

static const struct {
	const char *word;
	uint8_t width, size;
	enum form form;
} widths[] = {
	{ "u8", GB_U8, 1, FORM_UINT },   { "s8", GB_S8, 1, FORM_INT },    { "u16", GB_U16, 2, FORM_UINT },
	{ "s16", GB_S16, 2, FORM_INT },  { "u32", GB_U32, 4, FORM_UINT }, { "s32", GB_S32, 4, FORM_INT },
	{ "u64", GB_U64, 8, FORM_UINT }, { "s64", GB_U64, 8, FORM_INT },  { "ptr", GB_U64, 8, FORM_POINTER },
};

bool width_from_word(const char *word, size_t length, uint8_t *width, enum form *form, uint8_t *size)
{
	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		if (strlen(widths[i].word) != length || memcmp(widths[i].word, word, length))
			continue;
		*width = widths[i].width;
		*form = widths[i].form;
		*size = widths[i].size;
		return true;
	}
	return false;
}

/* C's own type words, as they have been seen so far. */
struct words {
	unsigned longs;
	bool is_unsigned, is_signed, is_short, is_char, is_int, is_float, is_double, is_bool, is_complex, is_void,
		is_int128;
	bool any;
};

static bool qualifier(struct lexer *lexer)
{
	static const char *const words[] = {
		"const",  "volatile", "restrict", "__restrict", "__restrict__", "register",
		"extern", "static",   "inline",   "__const",    "__inline",     "_Noreturn"
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (lexer_take_word(lexer, words[i]))
			return true;
	return false;
}

static bool take_word(struct lexer *lexer, struct words *w)
{
	const struct {
		const char *word;
		bool *seen;
	} table[] = {
		{ "unsigned", &w->is_unsigned }, { "signed", &w->is_signed },   { "short", &w->is_short },
		{ "char", &w->is_char },         { "int", &w->is_int },         { "float", &w->is_float },
		{ "double", &w->is_double },     { "_Bool", &w->is_bool },      { "bool", &w->is_bool },
		{ "_Complex", &w->is_complex },  { "complex", &w->is_complex }, { "void", &w->is_void },
		{ "__int128", &w->is_int128 },
	};

	if (lexer_take_word(lexer, "long")) {
		w->longs++;
		return w->any = true;
	}
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (lexer_take_word(lexer, table[i].word))
			return w->any = *table[i].seen = true;
	return false;
}

static void scalar(const struct words *w, struct ctype *type)
{
	type->kind = TYPE_INTEGER;
	type->negative = !w->is_unsigned;
	if (w->is_void) {
		type->kind = TYPE_VOID;
	} else if (w->is_float || w->is_double || w->is_complex) {
		bool is_long = w->longs && !w->is_float;

		type->kind = is_long ? TYPE_LONG_DOUBLE : TYPE_FLOAT;
		type->size = (is_long ? 16 : w->is_float ? 4 : 8) * (w->is_complex ? 2 : 1);
	} else if (w->is_bool) {
		type->size = 1;
		type->negative = false;
		type->boolean = true;
	} else {
		type->size = w->is_char ? 1 : w->is_short ? 2 : w->is_int128 ? 16 : w->longs ? 8 : 4;
	}
}

static bool from_typedef(const char *word, size_t length, struct ctype *type)
{
	for (size_t i = 0; i < sizeof(typedefs) / sizeof(*typedefs); i++) {
		if (strlen(typedefs[i].name) != length || memcmp(typedefs[i].name, word, length))
			continue;
		type->kind = TYPE_INTEGER;
		type->size = typedefs[i].size;
		type->negative = typedefs[i].negative;
		return true;
	}
	if (length == 7 && !memcmp(word, "va_list", 7)) {
		type->kind = TYPE_VOID;
		type->pointers = 1;
		return true;
	}
	return false;
}

/* struct X, union X, enum X, a typedef, T, or a name that a layout may declare. */
static bool named(struct lexer *lexer, struct arena *arena, struct ctype *type)
{
	bool is_enum = lexer_is_word(lexer, "enum");
	bool tagged = is_enum || lexer_is_word(lexer, "struct") || lexer_is_word(lexer, "union");

	if (tagged) {
		lexer_next(lexer);
		if (lexer->token.kind != TOKEN_WORD) {
			source_error(lexer->source, lexer->token.at, "expected the name of the type instead of %s",
				     lexer_show(lexer));
			return false;
		}
	}
	if (lexer->token.kind != TOKEN_WORD) {
		source_error(lexer->source, lexer->token.at, "expected a C type instead of %s", lexer_show(lexer));
		return false;
	}
	if (is_enum) {
		type->kind = TYPE_INTEGER;
		type->size = 4;
		type->negative = true;
	} else if (!tagged && lexer_is_word(lexer, "T")) {
		type->kind = TYPE_T;
	} else if (tagged || !from_typedef(lexer->token.at, lexer->token.length, type)) {
		if (lexer->token.length > MODEL_NAME_MOST) {
			source_error(lexer->source, lexer->token.at, "the name is longer than %d bytes",
				     MODEL_NAME_MOST);
			return false;
		}
		type->kind = TYPE_NAMED;
		type->name = arena ? arena_copy(arena, lexer->token.at, lexer->token.length) : NULL;
		if (!type->name)
			return false;
	}
	lexer_next(lexer);
	return true;
}

bool ctype_read(struct lexer *lexer, struct arena *arena, struct ctype *type)
{
	struct words words = { 0 };
	bool have = false;

	memset(type, 0, sizeof(*type));
	for (;;) {
		if (qualifier(lexer))
			continue;
		if (!have && take_word(lexer, &words))
			continue;
		if (words.any || have)
			break;
		if (!named(lexer, arena, type))
			return false;
		have = true;
	}
	if (words.any)
		scalar(&words, type);
	while (lexer_is_mark(lexer, '*') || lexer_is_mark(lexer, '&')) {
		if (type->pointers++ == 16) {
			source_error(lexer->source, lexer->token.at, "more than 16 levels of pointers");
			return false;
		}
		lexer_next(lexer);
		while (qualifier(lexer))
			;
	}
	return true;
}

bool ctype_from_text(const char *text, size_t length, struct ctype *type)
{
	/* A source of its own that never says anything: it counts as hopeless from the start. */
	struct source quiet = {
		.name = "", .original = text, .clean = (char *)text, .length = length, .errors = MODEL_ERRORS_MOST
	};
	struct lexer lexer;

	lexer_start(&lexer, &quiet, text, text + length);
	return ctype_read(&lexer, NULL, type) && lexer.token.kind == TOKEN_END && type->kind != TYPE_T &&
	       (type->kind != TYPE_VOID || type->pointers);
}

static struct passed pass_integer(unsigned size, bool negative, bool boolean)
{
	struct passed p = { .how = PASS_INTEGER,
			    .words = size > 8 ? 2 : 1,
			    .aligned16 = size > 8,
			    .form = boolean    ? FORM_BOOL
				    : negative ? FORM_INT
					       : FORM_UINT };

	p.width = gb_width_of(size, negative);
	return p;
}

struct passed type_passed(const struct parsed_model *parsed, const char *soname, struct ctype type,
			  const struct ctype *t)
{
	if (type.kind == TYPE_T) {
		unsigned pointers = type.pointers;

		type = *t;
		type.pointers += pointers;
	}
	if (type.pointers)
		return (struct passed){ .how = PASS_INTEGER, .words = 1, .width = GB_U64, .form = FORM_POINTER };
	switch (type.kind) {
	case TYPE_INTEGER:
		return pass_integer(type.size, type.negative, type.boolean);
	case TYPE_FLOAT:
		return (struct passed){ .how = PASS_FLOAT, .words = type.size > 8 ? 2 : 1 };
	case TYPE_LONG_DOUBLE:
		return (struct passed){ .how = ARCH_LONG_DOUBLE == ARGUMENT_MEMORY ? PASS_MEMORY : PASS_FLOAT,
					.words = type.size / 8,
					.aligned16 = true };
	case TYPE_NAMED: {
		const struct fact *fact = fact_type(parsed, soname, type.name);

		if (fact)
			return fact->passed;
		return (struct passed){ .how = PASS_INTEGER, .words = 1, .width = GB_U64, .form = FORM_UINT };
	}
	default:
		return (struct passed){ .how = PASS_NOTHING };
	}
}

uint32_t type_size(const struct parsed_model *parsed, const char *soname, struct ctype type, const struct ctype *t)
{
	if (type.kind == TYPE_T) {
		unsigned pointers = type.pointers;

		type = *t;
		type.pointers += pointers;
	}
	if (type.pointers)
		return 8;
	if (type.kind == TYPE_NAMED) {
		const struct fact *fact = fact_type(parsed, soname, type.name);

		return fact ? fact->number : 0;
	}
	return type.kind == TYPE_VOID ? 0 : type.size;
}

const char *type_text(struct arena *arena, const char *at, const char *end)
{
	char *text = arena_get(arena, 2 * (end - at) + 1), *out = text;

	for (; text && at < end; at++) {
		bool star = *at == '*', after_star = out > text && out[-1] == '*';

		if (*at == ' ')
			continue;
		if (out > text && !after_star && (star || at[-1] == ' '))
			*out++ = ' ';
		*out++ = *at;
	}
	return text;
}
