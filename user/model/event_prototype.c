/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * event_prototype.c - the arguments of an event whose statement has no list: those of its function's prototype.
 *
 * The parameters in their order, by name; what the function hands out is known at END alone, and so is its result. An
 * argument is the value that has the parameter's name (docs/models.md, Annotations). Where C has no type for that
 * value, the parameter is left out: a path leads to it, or a struct is passed, or a datatype, of which the size is
 * recorded.
 *
 * Of an event's functions the first says it. A T has the longest of its integers; where it stands for other types, too,
 * only a pointer to it can be said.
 */
#include <string.h>

#include "model/reader.h"

#define PARAMETERS (PARAMETERS_MOST + 1) /* and the result */

/* What T stands for in all functions of a line. */
struct meant {
	const char *text; /* NULL: no one type */
	struct ctype type;
};

static const char *constant_of(const struct function *f, const char *name)
{
	for (size_t i = 0; i < f->nconstants; i++)
		if (!strcmp(f->constants[i].name, name))
			return f->constants[i].text;
	return NULL;
}

/* `f` is the first function of its line; those of the others follow. */
static struct meant t_of_line(const struct model *model, const struct function *f)
{
	const struct function *end = model->functions + model->nfunctions;
	const struct bound *first = f->parsed, *bound;
	struct meant meant = { constant_of(f, "T"), first->t };

	for (; f < end && (bound = f->parsed)->prototype == first->prototype; f++) {
		const char *text = constant_of(f, "T");

		if (!meant.text || !text || !strcmp(meant.text, text))
			continue;
		if (bound->t.kind != TYPE_INTEGER || meant.type.kind != TYPE_INTEGER || bound->t.pointers ||
		    meant.type.pointers || bound->t.negative != meant.type.negative)
			meant.text = NULL;
		else if (bound->t.size > meant.type.size)
			meant = (struct meant){ text, bound->t };
	}
	return meant;
}

/* The annotation whose value has the parameter's name; NULL: it is the parameter itself. *some: one of them has. */
static const struct annotation *namesake(const struct parameter *p, bool *some)
{
	const struct annotation *only = NULL, *itself = NULL;
	unsigned values = 0;

	for (unsigned i = 0; i < p->nannotations; i++) {
		const struct annotation *a = &p->annotations[i];

		if (a->fixed != FIXED_NOT)
			continue;
		values++;
		only = a;
		if (!a->located && !a->each && !p->out)
			itself = a;
	}
	*some = !values || itself || (values == 1 && !only->each);
	return itself ?: only;
}

/* How many pointers are followed to the value; -1: C has no type for it. */
static int stars_to(const struct parameter *p, const struct annotation *a)
{
	const struct path *path = a ? &a->path : NULL;

	if (a && a->meaning == MEANING_TYPE)
		return -1;
	if (!a || !a->located)
		return p->out && p->type.pointers ? 1 : 0;
	if (path->high || path->nsteps || path->field || path->decoder || path->kernel_decoder || path->bits_count ||
	    path->string_offset)
		return -1;
	return path->stars;
}

/* A handle: what layouts declare, as a number. False: it is more than a number, or a plain type of C. */
static bool handle_type(const struct reader *r, struct ctype *type, const char **text)
{
	const struct fact *fact = fact_type(r->parsed, NULL, type->name);
	bool negative = fact && fact->passed.form == FORM_INT;

	if (!fact || fact->passed.how != PASS_INTEGER || fact->passed.words != 1 || fact->passed.decoder)
		return false;
	*text = negative ? "int64_t" : "uint64_t";
	*type = (struct ctype){ .kind = TYPE_INTEGER, .size = 8, .negative = negative };
	return true;
}

/* "const T *" -> "const void *" or "const int *". */
static const char *with_t(struct arena *arena, const char *written, const char *t)
{
	char *text = arena_get(arena, strlen(written) + strlen(t) + 1), *out = text;

	for (const char *at = written; text && *at;) {
		size_t word = 0;

		while (is_word_character(at[word]))
			word++;
		if (word == 1 && *at == 'T') {
			out = stpcpy(out, t);
			at++;
		} else {
			for (word = word ? word : 1; word; word--)
				*out++ = *at++;
		}
	}
	return text;
}

/* "const int *" -> "int": what the stars lead to, which is no pointer. */
static const char *pointee_text(struct arena *arena, const char *written)
{
	size_t length;

	if (!strncmp(written, "const ", 6))
		written += 6;
	length = strcspn(written, " *");
	for (const char *at = written + length; *at && *at != '*'; at++) /* "unsigned int *" */
		if (*at != ' ')
			length = at + 1 - written;
	return arena_copy(arena, written, length);
}

/* False: it cannot be said. */
static bool argument_of(struct reader *r, const struct parameter *p, const struct meant *t,
			struct event_argument *argument)
{
	struct arena *arena = &r->parsed->arena;
	struct ctype type = p->type;
	const char *text = p->written;
	bool some;
	int stars = stars_to(p, namesake(p, &some));

	if (!some || p->skip || !text || stars < 0 || stars > type.pointers)
		return false;
	if (type.kind == TYPE_T && !t->text && type.pointers == stars)
		return false;
	if (type.kind == TYPE_T) {
		text = with_t(arena, text, t->text ? t->text : "void");
		type = t->text ? t->type : (struct ctype){ .kind = TYPE_VOID };
		type.pointers += p->type.pointers;
	}
	type.pointers -= stars;
	if (!text || (stars && type.pointers) || (type.kind == TYPE_VOID && !type.pointers) ||
	    (type.kind == TYPE_INTEGER && !type.pointers && type.size > 8) || type.kind == TYPE_LONG_DOUBLE)
		return false;
	if (stars)
		text = pointee_text(arena, text);
	if (type.kind == TYPE_NAMED && !type.pointers && !handle_type(r, &type, &text))
		return false;
	if (type.kind == TYPE_NAMED && type.pointers && fact_known(r->parsed, type.name, NULL))
		text = !strncmp(text, "const ", 6) ? "const void *" : "void *";
	*argument = (struct event_argument){ .name = p->name, .type = text, .nfrom = 1 };
	argument->from = arena_get(arena, sizeof(*argument->from));
	if (!text || !argument->from)
		return false;
	argument->from->name = p->name;
	argument_set_kind(argument, &type);
	return true;
}

/* Those that are known at the call, or at the return: all. */
static void fill(struct reader *r, const struct prototype *p, const struct meant *t, bool at_return,
		 struct event_list *list)
{
	struct event_argument arguments[PARAMETERS];
	size_t count = 0;

	for (unsigned i = 0; i < p->nparameters && count < ARGUMENTS_MOST; i++)
		if (at_return || !p->parameters[i].out)
			count += argument_of(r, &p->parameters[i], t, &arguments[count]);
	if (at_return && p->records_result && count < ARGUMENTS_MOST)
		count += argument_of(r, &p->result, t, &arguments[count]);
	arguments_keep(&r->parsed->arena, arguments, count, list);
}

void arguments_of_prototypes(struct reader *r)
{
	for (size_t i = 0; i < r->model->nfunctions; i++) {
		const struct function *f = &r->model->functions[i];
		const struct prototype *p = ((const struct bound *)f->parsed)->prototype;
		struct model_event *event = f->of ? &r->model->events[f->of - r->model->events] : NULL;
		struct event_list *lists = event ? event->lists : NULL;

		if (!event || !event->by_prototype || p->bare || f->marks & MARK_CLOSES)
			continue;
		if (lists[f->marks & MARK_ATOMIC ? EVENT_ATOMIC : EVENT_START].stated)
			continue;
		struct meant t = t_of_line(r->model, f);

		if (f->marks & MARK_ATOMIC) {
			fill(r, p, &t, false, &lists[EVENT_ATOMIC]);
		} else {
			fill(r, p, &t, false, &lists[EVENT_START]);
			fill(r, p, &t, !(f->marks & MARK_OPENS), &lists[EVENT_END]);
		}
	}
}
