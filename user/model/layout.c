/* SPDX-License-Identifier: BSD-2-Clause */
/* layout.c - facts that hold for one version of a library: how a handle is passed, and where its fields are. */
#include <string.h>

#include "model/parts.h"
#include "util/text.h"

#define STRUCT_MOST 65536

static struct fact *fact_add(struct source *source, struct parsed_model *parsed, struct layout *layout, const char *at)
{
	struct fact *more;

	if (parsed->nfacts >= MODEL_FACTS_MOST) {
		source_error(source, at, "a model has at most %d facts in layouts", MODEL_FACTS_MOST);
		return NULL;
	}
	/* Powers of two: grows when full. */
	if (!(layout->nfacts & (layout->nfacts - 1))) {
		more = arena_get(&parsed->arena, (layout->nfacts ? 2 * layout->nfacts : 1) * sizeof(*more));
		if (!more)
			return NULL;
		if (layout->nfacts)
			memcpy(more, layout->facts, layout->nfacts * sizeof(*more));
		layout->facts = more;
	}
	parsed->nfacts++;
	return &layout->facts[layout->nfacts++];
}

/* A struct by value: in one or two integer registers, or on the stack. */
static struct passed pass_struct(int64_t size)
{
	struct passed passed = { .how = size > 16 ? PASS_MEMORY : PASS_INTEGER,
				 .words = (size + 7) / 8,
				 .form = FORM_UINT };

	passed.width = gb_width_of(size, false);
	return passed;
}

/* ptr, u32 ..., struct N, nothing or unknown. */
static bool width_read(struct lexer *lexer, struct fact *fact)
{
	uint8_t size;

	if (lexer_take_word(lexer, "struct")) {
		if (!lexer_take_number(lexer, "the size of a struct", 1, STRUCT_MOST, &fact->number))
			return false;
		fact->passed = pass_struct(fact->number);
		return true;
	}
	if (lexer_take_word(lexer, "nothing") || lexer_is_word(lexer, "unknown")) {
		fact->passed = (struct passed){ .how = lexer_take_word(lexer, "unknown") ? PASS_UNKNOWN
											 : PASS_NOTHING };
		return true;
	}
	fact->passed = (struct passed){ .how = PASS_INTEGER, .words = 1 };
	if (lexer->token.kind != TOKEN_WORD ||
	    !width_from_word(lexer->token.at, lexer->token.length, &fact->passed.width, &fact->passed.form, &size)) {
		source_error(
			lexer->source, lexer->token.at,
			"expected ptr u8 s8 u16 s16 u32 s32 u64 s64, 'struct BYTES', nothing or unknown instead of %s",
			lexer_show(lexer));
		return false;
	}
	fact->number = size;
	lexer_next(lexer);
	return true;
}

/* [DECODER] */
static bool declaration_read(struct lexer *lexer, struct arena *arena, struct fact *fact)
{
	struct decoder_name decoder;
	const char *at;

	if (!width_read(lexer, fact))
		return false;
	at = lexer->token.at;
	if (!decoder_read(lexer, arena, &decoder))
		return false;
	fact->passed.decoder = decoder.text;
	if (!decoder.words ||
	    (!decoder.kernel && decoder.words == fact->passed.words && fact->number == 8 * decoder.words))
		return true;
	source_error(lexer->source, at, "this decoder is for %s: say how the type is passed accordingly",
		     decoder.kernel      ? "what a pointer points to"
		     : decoder.words > 1 ? "'struct 16'"
					 : "'u64'");
	return false;
}

static bool equal_read(struct lexer *lexer)
{
	if (lexer_take_mark(lexer, '='))
		return true;
	source_error(lexer->source, lexer->token.at, "expected '=' instead of %s", lexer_show(lexer));
	return false;
}

static bool fact_fill(struct lexer *lexer, struct arena *arena, struct fact *fact)
{
	if (lexer_take_word(lexer, "type"))
		return lexer_take_name(lexer, arena, "the name of a type", &fact->type) && equal_read(lexer) &&
		       declaration_read(lexer, arena, fact);
	if (!lexer_take_name(lexer, arena, "the name of a type", &fact->type))
		return false;
	if (!lexer_take_mark(lexer, '.')) {
		source_error(lexer->source, lexer->token.at, "expected TYPE.FIELD = PATH");
		return false;
	}
	if (!lexer_take_name(lexer, arena, "the name of a field", &fact->field) || !equal_read(lexer))
		return false;
	fact->null = !strcmp(fact->field, "null") || !strcmp(fact->field, "world") || !strcmp(fact->field, "self") ||
		     !strcmp(fact->field, "nobody") || !strcmp(fact->field, "entry");
	if (fact->null)
		return lexer_take_number(lexer, "a handle, a rank, or bytes", INT64_MIN, INT64_MAX, &fact->number);
	return path_read_fact(lexer, arena, &fact->path);
}

void fact_read(struct source *source, struct parsed_model *parsed, struct layout *layout, const char *at,
	       const char *end)
{
	struct fact fact = { .type = NULL }, *place;
	struct lexer lexer;

	lexer_start(&lexer, source, at, end);
	if (!fact_fill(&lexer, &parsed->arena, &fact))
		return;
	if (lexer.token.kind != TOKEN_END) {
		source_error(source, lexer.token.at, "unexpected %s at the end of a fact", lexer_show(&lexer));
		return;
	}
	place = fact_add(source, parsed, layout, at);
	if (place)
		*place = fact;
}

static const struct fact *find(const struct layout *layout, const char *type, const char *field)
{
	for (size_t i = 0; i < layout->nfacts; i++)
		if (same_text(layout->facts[i].type, type) && same_text(layout->facts[i].field, field))
			return &layout->facts[i];
	return NULL;
}

static bool matches(const struct layout *layout, const char *soname)
{
	/* A build of the program is the program, too. */
	bool built = soname && !strncmp(soname, PROGRAM_BUILD, strlen(PROGRAM_BUILD));

	for (const char **glob = layout->globs; glob && *glob; glob++)
		if (name_matches(*glob, soname ? soname : "program") || (built && name_matches(*glob, "program")))
			return true;
	return false;
}

const struct fact *fact_field(const struct parsed_model *parsed, const char *soname, const char *type,
			      const char *field)
{
	for (size_t i = 1; type && i < parsed->nlayouts; i++) {
		const struct fact *fact = matches(&parsed->layouts[i], soname) ? find(&parsed->layouts[i], type, field)
									       : NULL;

		if (fact)
			return fact;
	}
	return type ? find(&parsed->layouts[0], type, field) : NULL;
}

const struct fact *fact_type(const struct parsed_model *parsed, const char *soname, const char *type)
{
	const struct fact *fact = fact_field(parsed, soname, type, NULL);

	for (size_t i = 1; type && !fact && i < parsed->nlayouts; i++)
		fact = find(&parsed->layouts[i], type, NULL);
	return fact;
}

bool fact_known(const struct parsed_model *parsed, const char *type, const char *field)
{
	for (size_t i = 0; i < parsed->nlayouts; i++)
		if (find(&parsed->layouts[i], type, field))
			return true;
	return false;
}

bool fact_decodes(const struct parsed_model *parsed, const char *type)
{
	for (size_t i = 0; i < parsed->nlayouts; i++) {
		const struct fact *fact = find(&parsed->layouts[i], type, NULL);

		if (fact && fact->passed.decoder)
			return true;
	}
	return false;
}
