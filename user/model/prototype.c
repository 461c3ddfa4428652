/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prototype.c - a C declaration with annotations.
 *
 * The name is found first: it is what stands before the first parenthesis outside
 * of braces. What is before it is the result's type, what follows are the parameters.
 * Along the way the declaration is written down again without annotations, with
 * marks where T and the symbol go, for each function that the line stands for.
 */
#include <stdio.h>
#include <string.h>

#include "model/parts.h"

/* The declaration as it is written down; too long is noticed at the end. */
struct writing {
	char text[MODEL_NAME_MOST];
	size_t length;
};

static void write_character(struct writing *w, char c)
{
	if (w->length < sizeof(w->text))
		w->text[w->length++] = c;
}

static void write_text(struct writing *w, const char *text)
{
	while (*text)
		write_character(w, *text++);
}

/* A piece of the source with its blanks joined and T marked. */
static void write_piece(struct writing *w, const char *at, const char *end)
{
	while (end > at && end[-1] == ' ')
		end--;
	while (at < end) {
		const char *word = at;

		while (at < end && is_word_character(*at))
			at++;
		if (at - word == 1 && *word == 'T') {
			write_character(w, '\1');
		} else if (at > word) {
			for (; word < at; word++)
				write_character(w, *word);
		} else if (*at == ' ') {
			while (at < end && *at == ' ')
				at++;
			write_character(w, ' ');
		} else {
			write_character(w, *at++);
		}
	}
}

static const char *find_character(const char *at, const char *end, char c)
{
	while (at < end && *at != c)
		at++;
	return at < end ? at : NULL;
}

/* The first outside of braces. */
static const char *find_parenthesis(const char *at, const char *end)
{
	int depth = 0;

	for (; at < end; at++) {
		depth += (*at == '{') - (*at == '}');
		if (*at == '(' && depth <= 0)
			return at;
	}
	return NULL;
}

static bool is_name_character(char c)
{
	return is_word_character(c) || c == '.';
}

/* Back over a name with groups in braces. */
static const char *name_start(const char *at, const char *end)
{
	while (end > at) {
		if (end[-1] == '}') {
			const char *open = end - 1;

			while (open > at && *open != '{')
				open--;
			if (*open != '{')
				return end;
			end = open;
		} else if (is_name_character(end[-1])) {
			end--;
		} else {
			return end;
		}
	}
	return end;
}

/* Over a balanced pair of parentheses whose first is the current token. */
static bool skip_parentheses(struct lexer *lexer)
{
	int depth = 0;

	do {
		depth += lexer_is_mark(lexer, '(') - lexer_is_mark(lexer, ')');
		if (lexer->token.kind == TOKEN_END) {
			source_error(lexer->source, lexer->token.at, "expected ')' instead of the end of the line");
			return false;
		}
		lexer_next(lexer);
	} while (depth);
	return true;
}

static bool name_take(struct lexer *lexer, struct arena *arena, struct parameter *parameter)
{
	if (lexer->token.kind != TOKEN_WORD)
		return true;
	parameter->name = arena_copy(arena, lexer->token.at, lexer->token.length);
	lexer_next(lexer);
	return parameter->name;
}

/* (*name)(...), with the current token the first parenthesis. */
static bool function_pointer(struct lexer *lexer, struct arena *arena, struct parameter *parameter)
{
	lexer_next(lexer);
	if (!lexer_take_mark(lexer, '*')) {
		source_error(lexer->source, lexer->token.at,
			     "expected '(*name)(...)', a function pointer, instead of %s", lexer_show(lexer));
		return false;
	}
	while (lexer_take_mark(lexer, '*') || lexer_take_word(lexer, "const"))
		;
	if (!name_take(lexer, arena, parameter))
		return false;
	if (!lexer_take_mark(lexer, ')') || !lexer_is_mark(lexer, '(')) {
		source_error(lexer->source, lexer->token.at, "expected '(*name)(...)', a function pointer");
		return false;
	}
	parameter->type = (struct ctype){ .kind = TYPE_VOID, .pointers = 1 };
	return skip_parentheses(lexer);
}

/* "int" -> "int *" */
static const char *array_text(struct arena *arena, const char *element)
{
	char *text = element ? arena_get(arena, strlen(element) + 3) : NULL;

	if (text)
		sprintf(text, "%s%s*", element, element[strlen(element) - 1] == '*' ? "" : " ");
	return text;
}

static bool arrays(struct lexer *lexer, struct arena *arena, struct parameter *parameter)
{
	unsigned count = 0;

	while (lexer_is_mark(lexer, '[')) {
		while (!lexer_is_mark(lexer, ']')) {
			if (lexer->token.kind == TOKEN_END) {
				source_error(lexer->source, lexer->token.at,
					     "expected ']' instead of the end of the line");
				return false;
			}
			lexer_next(lexer);
		}
		lexer_next(lexer);
		count++;
	}
	/* An array of arrays is a pointer to something whose size is not kept. */
	if (count > 1) {
		parameter->type = (struct ctype){ .kind = TYPE_VOID, .pointers = 1 };
		parameter->written = NULL;
	} else if (count) {
		parameter->type.pointers++;
		parameter->written = array_text(arena, parameter->written);
	}
	return true;
}

static bool parameter_read(struct lexer *lexer, struct arena *arena, unsigned position, struct parameter *parameter,
			   struct writing *w)
{
	char unnamed[16];

	parameter->at = lexer->token.at;
	if (!ctype_read(lexer, arena, &parameter->type))
		return false;
	parameter->written = type_text(arena, parameter->at, lexer->token.at);
	if (lexer_is_mark(lexer, '(')) {
		parameter->written = "void *";
		if (!function_pointer(lexer, arena, parameter))
			return false;
	} else if (!name_take(lexer, arena, parameter) || !arrays(lexer, arena, parameter)) {
		return false;
	}
	write_piece(w, parameter->at, lexer->token.at);
	if (!parameter->name) {
		snprintf(unnamed, sizeof(unnamed), "arg%u", position);
		parameter->name = arena_copy(arena, unnamed, strlen(unnamed));
	}
	if (parameter->type.kind == TYPE_VOID && !parameter->type.pointers) {
		source_error(lexer->source, parameter->at, "a parameter cannot be void: is a '*' missing?");
		return false;
	}
	annotations_read(lexer, arena, parameter);
	return parameter->name;
}

/* Up to the parenthesis that closes them, which is taken. */
static bool parameters_read(struct lexer *lexer, struct arena *arena, struct prototype *p, struct writing *w)
{
	struct parameter parameters[PARAMETERS_MOST]; /* large: only what is used of it is cleared */
	unsigned count = 0;

	while (!lexer_is_mark(lexer, ')')) {
		struct lexer before = *lexer;

		if (lexer->token.kind == TOKEN_ELLIPSIS) {
			lexer_next(lexer);
			p->variadic = true;
			write_text(w, "...");
			break;
		}
		if (!count && lexer_take_word(lexer, "void")) {
			if (lexer_is_mark(lexer, ')')) {
				write_text(w, "void");
				break;
			}
			*lexer = before;
		}
		if (count == PARAMETERS_MOST) {
			source_error(lexer->source, lexer->token.at, "a function has at most %d parameters",
				     PARAMETERS_MOST);
			return false;
		}
		memset(&parameters[count], 0, sizeof(parameters[count]));
		if (!parameter_read(lexer, arena, count + 1, &parameters[count], w))
			return false;
		count++;
		if (!lexer_is_mark(lexer, ','))
			break;
		lexer_next(lexer);
		write_text(w, ", ");
		if (lexer_is_mark(lexer, ')')) {
			source_error(lexer->source, lexer->token.at, "expected a parameter instead of ')'");
			return false;
		}
	}
	if (!lexer_take_mark(lexer, ')')) {
		source_error(lexer->source, lexer->token.at, "expected ',' or ')' instead of %s", lexer_show(lexer));
		return false;
	}
	p->parameters = arena_get(arena, count * sizeof(*parameters));
	if (!p->parameters)
		return false;
	memcpy(p->parameters, parameters, count * sizeof(*parameters));
	p->nparameters = count;
	return true;
}

/* -> [NAME] @annotations, and an optional semicolon. */
static bool tail_read(struct lexer *lexer, struct arena *arena, struct prototype *p)
{
	const char *at = lexer->token.at;

	if (lexer->token.kind == TOKEN_ARROW) {
		lexer_next(lexer);
		if (!name_take(lexer, arena, &p->result))
			return false;
		annotations_read(lexer, arena, &p->result);
		p->records_result = true;
		if (p->result.type.kind == TYPE_VOID && !p->result.type.pointers) {
			source_error(lexer->source, at, "the function returns nothing: remove the '->'");
			return false;
		}
	}
	lexer_take_mark(lexer, ';');
	if (lexer->token.kind == TOKEN_END)
		return true;
	source_error(lexer->source, lexer->token.at, "unexpected %s after the prototype", lexer_show(lexer));
	return false;
}

static bool result_read(struct source *source, struct arena *arena, const char *at, const char *end,
			struct prototype *p)
{
	struct lexer lexer;

	lexer_start(&lexer, source, at, end);
	p->result.at = at;
	p->result.name = "result";
	if (lexer.token.kind == TOKEN_END) {
		source_error(source, at, "expected the type of the result before the function's name");
		return false;
	}
	if (!ctype_read(&lexer, arena, &p->result.type))
		return false;
	p->result.written = type_text(arena, at, lexer.token.at);
	if (lexer.token.kind == TOKEN_END)
		return true;
	source_error(source, lexer.token.at, "unexpected %s in the type of the result", lexer_show(&lexer));
	return false;
}

static void bare_name(struct prototype *p, const char *at, const char *end)
{
	while (end > at && (end[-1] == ' ' || end[-1] == ';'))
		end--;
	p->bare = true;
	p->name_at = at;
	p->name_end = end;
}

/* The parameters that matter to the whole: T, and the one with @only. */
static bool find_special(struct source *source, struct arena *arena, const char *at, const char *end,
			 struct prototype *p)
{
	struct writing w = { .length = 0 };

	p->uses_t = p->result.type.kind == TYPE_T;
	for (unsigned i = 0; i < p->nparameters; i++) {
		p->uses_t |= p->parameters[i].type.kind == TYPE_T;
		for (unsigned k = 0; k < p->parameters[i].nannotations; k++)
			p->uses_t |= p->parameters[i].annotations[k].fixed == FIXED_T;
		if (!p->parameters[i].has_only)
			continue;
		if (p->only) {
			source_error(source, p->parameters[i].at, "a second @only: a function has one");
			return false;
		}
		p->only = &p->parameters[i];
	}
	if (p->result.has_only) {
		source_error(source, p->result.at, "@only stands on a parameter, not on the result");
		return false;
	}
	if (!p->only || !p->only->only_end)
		return true;
	write_piece(&w, at, p->only->only_at);
	write_piece(&w, p->only->only_end, end);
	p->signature = arena_copy(arena, w.text, w.length);
	return p->signature;
}

struct prototype *prototype_read(struct source *source, struct arena *arena, const char *at, const char *end)
{
	struct prototype *p = arena_get(arena, sizeof(*p));
	const char *open = find_parenthesis(at, end);
	struct writing w = { .length = 0 };
	struct lexer lexer;

	if (!p)
		return NULL;
	while (at < end && *at == ' ')
		at++;
	if (!open && find_character(at, end, '(')) {
		source_error(source, find_character(at, end, '{'), "a '}' is missing");
		return NULL;
	}
	if (!open) {
		bare_name(p, at, end);
		p->text = "\2";
		return p;
	}
	p->name_end = open;
	while (p->name_end > at && p->name_end[-1] == ' ')
		p->name_end--;
	p->name_at = name_start(at, p->name_end);
	if (p->name_at == p->name_end) {
		source_error(source, open, "expected the function's name before '('");
		return NULL;
	}
	if (!result_read(source, arena, at, p->name_at, p))
		return NULL;
	write_piece(&w, at, p->name_at);
	if (w.length && w.text[w.length - 1] != '*')
		write_character(&w, ' ');
	write_text(&w, "\2(");
	lexer_start(&lexer, source, open + 1, end);
	if (!parameters_read(&lexer, arena, p, &w) || !tail_read(&lexer, arena, p))
		return NULL;
	write_character(&w, ')');
	if (w.length == sizeof(w.text)) {
		source_error(source, at, "the prototype is longer than %d bytes", MODEL_NAME_MOST);
		return NULL;
	}
	if (!find_special(source, arena, at, end, p))
		return NULL;
	p->text = arena_copy(arena, w.text, w.length);
	return p->text ? p : NULL;
}
