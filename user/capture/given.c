/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * given.c - what a file is called by who opens it.
 *
 * Linux tells what a descriptor is while it is open (files.c). A file that is open for a moment is closed by then, and
 * all that is left is the path that the call was given: the kernel side copies it (GB_OP_PATH). It is what the caller
 * said, which may be a link's name, and is told as that.
 *
 * A path that does not begin with '/' is of some folder. The kernel side sends which one is the working directory at
 * the call. Where that still is the process's by the time of the look, Linux tells its name; in any other case the path
 * stays relative.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/session.h"
#include "meaning/value.h"

/* The path that a call was given; NULL: none. *folder: that it is in; 0: not known. */
static const char *path_of(const struct def_probe *probe, const struct span *span, uint64_t *folder)
{
	for (uint32_t i = 0; i < probe->nvalues; i++) {
		const struct value *v = &probe->values[i];
		unsigned last = v->slot + v->element;
		const char *path;

		if (v->meaning != MEANING_PATH)
			continue;
		path = value_text(v, span->words, span->nwords, span->unread, span->reason == GB_END_RETURN);
		*folder = path && last < span->nwords ? span->words[last] : 0;
		return path && *path ? path : NULL;
	}
	return NULL;
}

/* Where the process is now; once in a pass. Of one that has ended it is where it was last. */
static void look(const struct capture_session *s, const struct captured_process *p, struct known_folder *folder,
		 uint32_t process)
{
	char text[PATH_MAX];
	uint64_t id;

	if (folder->process != process)
		folder->id = 0;
	folder->process = process;
	folder->pass = s->pass.number;
	if (!p || !p->process || p->ended || process_folder(p->process, &id, text, sizeof(text)) < 0)
		return;
	free(folder->text);
	folder->text = strdup(text);
	folder->id = folder->text && *text == '/' ? id : 0;
}

/* The folder's name; NULL: it is not certain. */
static const char *folder_name(struct capture_session *s, const struct captured_thread *t, uint64_t id)
{
	uint32_t process = s->d->threads[t->index].process;
	struct known_folder *folder = &s->files.folders[process & (FOLDERS - 1)];

	if (!id)
		return NULL;
	if (folder->process != process || folder->pass != s->pass.number)
		look(s, session_process(s, t->pid), folder, process);
	return folder->id == id ? folder->text : NULL;
}

char *session_given_name(struct capture_session *s, const struct captured_thread *t, const struct span *span)
{
	uint64_t folder = 0;
	const char *path = path_of(&s->d->probes[span->probe], span, &folder), *in, *end;
	char *name = NULL;
	int length;

	if (!path)
		return NULL;
	end = strlen(path) == GB_PATH_TEXT * sizeof(span->words[0]) - 1 ? TEXT_CUT : "";
	in = *path == '/' ? "" : folder_name(s, t, folder);
	while (in && path[0] == '.' && path[1] == '/')
		path += strspn(path + 1, "/") + 1;
	if (!in)
		length = asprintf(&name, TEXT_RELATIVE "%s%s", path, end);
	else
		length = asprintf(&name, TEXT_GIVEN "%s%s%s%s", in, *in && in[1] ? "/" : "", path, end);
	return length < 0 ? NULL : name;
}

void session_free_folders(struct capture_session *s)
{
	for (size_t i = 0; i < FOLDERS; i++)
		free(s->files.folders[i].text);
}
