/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * place.c - which line of the program stands for where a thread is.
 *
 * A call may be made by a library for the program, and of that the program's author wants to know his own line. So the
 * frames are followed outwards to the first one that has a line: of a source, or of a script that an interpreter runs
 * there; that a library lies in between is said. Of a library that a script calls the script's line is told. Without
 * any, the program's own code is named, and where there is none of that either, the caller itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stuck/private.h"
#include "util/files.h"
#include "util/function_name.h"
#include "util/log.h"

#define PLACE_NAME 80
#define CHAIN_MOST 1000 /* bytes of a chain to which something is added */

/* --- one frame ---------------------------------------------------------- */

char *stuck_place(const struct stack_frame *frame)
{
	struct source_location location;
	char *text = NULL;

	if (!frame->image)
		return NULL;
	if (image_locate(frame->image, frame->offset + frame->exact, &location))
		location = (struct source_location){ .line = 0 };
	if (location.file && location.line) {
		if (asprintf(&text, "%s:%u%s%.*s", log_safe(path_base(location.file)), location.line,
			     location.function ? " in " : "", PLACE_NAME,
			     location.function ? function_label(location.function, PLACE_NAME) : "") < 0)
			text = NULL;
	} else if (location.function) {
		if (asprintf(&text, "%.*s+0x%llx%s%s", PLACE_NAME, function_label(location.function, PLACE_NAME),
			     (unsigned long long)location.function_offset, frame->image->is_program ? "" : " in ",
			     frame->image->is_program ? "" : log_safe(path_base(frame->image->path))) < 0)
			text = NULL;
	}
	source_location_free(&location);
	/* No name is known: a stripped program. */
	if (!text && asprintf(&text, "%.*s+0x%llx", PLACE_NAME, log_safe(path_base(frame->image->path)),
			      (unsigned long long)frame->offset) < 0)
		text = NULL;
	return text;
}

/* --- scripts ------------------------------------------------------------ */

char *script_place(const struct script_frame *frame)
{
	char *text = NULL;
	char line[16] = "?";

	if (frame->line)
		snprintf(line, sizeof(line), "%u", frame->line);
	if (asprintf(&text, "%s:%s%s%.*s", log_safe(path_base(frame->file)), line, frame->function ? " in " : "",
		     PLACE_NAME, frame->function ? log_safe(frame->function) : "") < 0)
		return NULL;
	return text;
}

const struct script_frame *script_next(const struct stuck_thread *t, size_t frame, size_t *at)
{
	uint64_t start, end;

	if (!t->script || frame + 1 >= t->nframes)
		return NULL;
	start = t->frames[frame].registers.value[REGISTER_SP];
	end = t->frames[frame + 1].registers.value[REGISTER_SP];
	for (; *at < t->script->script.count; ++*at) {
		const struct script_frame *own = &t->script->script.frames[*at];

		if (own->mark >= start && own->mark < end)
			return &t->script->script.frames[(*at)++];
	}
	return NULL;
}

/* Was the thread in this call when its script was read? */
static bool stayed(const struct stuck *stuck, const struct stuck_thread *t, const struct stuck_call *call)
{
	return call->seen || would_be_told(stuck, t, call);
}

bool script_is_certain(const struct stuck *stuck, const struct stuck_thread *t, size_t frame)
{
	if (t->script && t->script->still)
		return true;
	for (size_t i = 0; i < t->ncalls; i++)
		if (t->calls[i].frame != NO_FRAME && t->calls[i].frame < frame && stayed(stuck, t, &t->calls[i]))
			return true;
	return false;
}

/* --- the program's line --------------------------------------------------- */

static bool has_line(const struct stack_frame *frame)
{
	struct source_location location;
	bool has;

	if (!frame->image || image_locate(frame->image, frame->offset + frame->exact, &location))
		return false;
	has = location.file && location.line;
	source_location_free(&location);
	return has;
}

/* Where every program begins tells nothing. */
static bool has_name(const struct stack_frame *frame)
{
	struct source_location location;
	bool has;

	if (!frame->image || image_locate(frame->image, frame->offset + frame->exact, &location))
		return false;
	has = location.function && strcmp(location.function, "main");
	source_location_free(&location);
	return has;
}

/* The text with what qualifies it; takes it. */
static char *qualified(char *text, const char *library, bool likely)
{
	char *whole = NULL;

	if (!text || (!library && !likely))
		return text;
	if (asprintf(&whole, "%s%s%s%s", text, likely ? "~" : "", library ? ", through " : "",
		     library ? log_safe(library) : "") < 0)
		whole = NULL;
	free(text);
	return whole;
}

/* The file that the frame lies in, where it is a library. */
static const char *library_of(const struct stack_frame *frame)
{
	return frame->image && !frame->image->is_program ? path_base(frame->image->path) : NULL;
}

/* The innermost function of the script that runs at this frame or further out; t->nframes: none does. */
static size_t script_outwards(const struct stuck_thread *t, size_t at, const struct script_frame **script)
{
	*script = NULL;
	for (; at < t->nframes; at++) {
		size_t from = 0;

		*script = script_next(t, at, &from);
		if (*script)
			break;
	}
	return at;
}

/* Is the program's own line here? Not of what runs a script, nor of a library that a script has called. */
static bool is_own_line(const struct stuck_thread *t, size_t at, size_t interpreter)
{
	const struct stack_frame *frame = &t->frames[at];

	if (interpreter < t->nframes &&
	    (!frame->image || !frame->image->is_program || frame->image == t->frames[interpreter].image))
		return false;
	return has_line(frame);
}

/* From this frame on outwards. Beyond code of the program only its own lines count: no library has called that. */
static char *place_outwards(const struct stuck *stuck, const struct stuck_thread *t, size_t at)
{
	const char *library = library_of(&t->frames[at]);
	const struct script_frame *script;
	size_t interpreter = script_outwards(t, at, &script), own = t->nframes;

	for (size_t i = at; i < t->nframes && i <= interpreter; i++) {
		bool in_library = !t->frames[i].image || library_of(&t->frames[i]);

		if ((!in_library || own == t->nframes) && is_own_line(t, i, interpreter))
			return qualified(stuck_place(&t->frames[i]), i == at ? NULL : library, t->frames[i].guessed);
		if (!in_library && own == t->nframes)
			own = i;
	}
	if (interpreter < t->nframes)
		return qualified(script_place(script), NULL,
				 !script_is_certain(stuck, t, interpreter) || t->frames[interpreter].guessed);
	if (own == at || own == t->nframes)
		return stuck_place(&t->frames[at]);
	return qualified(stuck_place(&t->frames[own]), library, t->frames[own].guessed);
}

/* Does the file only pass calls on to the model's functions? Then who called it is asked for. */
static bool is_wrapper(const struct model *model, const struct image *image)
{
	return image && model_wraps_in_file(model, image->soname, path_base(image->path));
}

/* One more place behind those before it; takes it. False: that was not to be. */
static bool add_place(char **chain, char *place)
{
	char *longer = NULL;

	if (!place)
		return false;
	if (!*chain) {
		*chain = place;
		return true;
	}
	if (strlen(*chain) > CHAIN_MOST || asprintf(&longer, "%s < %s", *chain, place) < 0)
		longer = NULL;
	free(place);
	if (!longer)
		return false;
	free(*chain);
	*chain = longer;
	return true;
}

/* The functions of the script that this frame runs. False: no more are wanted, or to be had. */
static bool add_scripts(const struct stuck_thread *t, size_t frame, unsigned *left, char **chain)
{
	const struct script_frame *script;
	size_t from = 0;

	while (*left && (script = script_next(t, frame, &from))) {
		if (!add_place(chain, script_place(script)))
			return false;
		--*left;
	}
	return *left;
}

/* Where a program is entered: the outermost frame, behind that of the library that has called main(). */
static bool is_start(const struct stuck_thread *t, size_t at)
{
	return at && at + 1 == t->nframes && !library_of(&t->frames[at]) && library_of(&t->frames[at - 1]);
}

/* What of the frames that led to a call is told. */
enum told {
	LINES,     /* where they have one */
	OWN_NAMES, /* there is none: the program's functions with a name */
	NAMES,     /* nor one of those: all functions with a name, or else where the program is */
};

/* From the frame `at` on, as far as the frames are certain. What has called the program does not count. */
static enum told choose_told(const struct stuck_thread *t, size_t at, bool in_program)
{
	enum told told = NAMES;

	for (size_t i = at; i < t->nframes && !t->frames[i].guessed; i++) {
		bool in_library = !t->frames[i].image || library_of(&t->frames[i]);

		if (in_library && in_program)
			continue;
		if (has_line(&t->frames[i]))
			return LINES;
		if (!in_library && has_name(&t->frames[i]) && !is_start(t, i))
			told = OWN_NAMES;
		in_program |= !in_library;
	}
	return told;
}

static bool is_told(const struct stack_frame *frame, enum told told)
{
	if (told == LINES)
		return has_line(frame);
	return has_name(frame) && (told == NAMES || !library_of(frame));
}

/* From the frame `at` on. The function of `direct` is told with the call itself, if it has no line. */
static char *chain_outwards(const struct stuck *stuck, const struct stuck_thread *t, size_t at, size_t direct,
			    unsigned left)
{
	const struct script_frame *script;
	size_t interpreter = script_outwards(t, at, &script);
	bool in_program = !library_of(&t->frames[direct]);
	enum told told = choose_told(t, at, in_program);
	char *chain = NULL;

	for (size_t i = at; i < t->nframes && left && !t->frames[i].guessed; i++) {
		if (interpreter < t->nframes) {
			if (!script_is_certain(stuck, t, i) || !add_scripts(t, i, &left, &chain))
				break;
			continue;
		}
		if (!t->frames[i].image || (library_of(&t->frames[i]) && in_program) ||
		    (i == direct && told != LINES) || is_start(t, i))
			continue;
		in_program |= !library_of(&t->frames[i]);
		if (!is_told(&t->frames[i], told) && (told != NAMES || !in_program || chain))
			continue;
		if (!add_place(&chain, stuck_place(&t->frames[i])))
			break;
		left--;
	}
	return chain;
}

char *stuck_chain(const struct stuck *stuck, const struct stuck_thread *t, const struct stuck_call *call, unsigned most,
		  const struct stack_frame **direct)
{
	size_t at = call->frame;
	char *chain;

	*direct = NULL;
	if (at == NO_FRAME || ++at >= t->nframes || !t->frames[at].image || t->frames[at].guessed)
		return NULL;
	if (!library_of(&t->frames[at]) && has_line(&t->frames[at]))
		return NULL;
	*direct = &t->frames[at];
	chain = chain_outwards(stuck, t, library_of(*direct) ? at : at + 1, at, most);
	if (!chain && !library_of(*direct))
		*direct = NULL;
	return chain;
}

char *call_place(const struct stuck *stuck, const struct stuck_thread *t, const struct stuck_call *call)
{
	struct stack_frame caller = { .pc = call->caller };
	size_t at = call->frame;

	if (at != NO_FRAME && ++at < t->nframes && t->frames[at].image) {
		while (at + 1 < t->nframes && t->frames[at + 1].image &&
		       is_wrapper(call->function->model, t->frames[at].image))
			at++;
		return place_outwards(stuck, t, at);
	}
	if (!call->caller || !stuck->processes[t->process].space)
		return NULL;
	caller.image = stack_image(stuck->processes[t->process].space, call->caller, &caller.offset);
	return stuck_place(&caller);
}

/* The innermost code of the program, or line of the script; t->nframes: there is none. */
static size_t innermost_own(const struct stuck_thread *t, const struct script_frame **script)
{
	size_t interpreter = script_outwards(t, 0, script);

	for (size_t i = 0; i < t->nframes && i < interpreter; i++) {
		const struct image *image = t->frames[i].image;

		if (image && image->is_program &&
		    (interpreter == t->nframes || image != t->frames[interpreter].image)) {
			*script = NULL;
			return i;
		}
	}
	return interpreter;
}

void find_place(const struct stuck *stuck, struct stuck_thread *t)
{
	const struct script_frame *script = NULL;
	size_t own;

	if (t->waits_in < t->ncalls) {
		t->place = call_place(stuck, t, &t->calls[t->waits_in]);
		return;
	}
	own = innermost_own(t, &script);
	if (script)
		t->place = qualified(script_place(script), NULL, !script_is_certain(stuck, t, own));
	else if (own < t->nframes)
		t->place = stuck_place(&t->frames[own]);
	for (size_t i = 0; i < t->nframes && !t->place; i++)
		t->place = stuck_place(&t->frames[i]);
}
