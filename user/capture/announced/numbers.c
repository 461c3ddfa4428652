/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * numbers.c - which event an announcement means by its number.
 *
 * Where a number is none that the program created, it may be that of an event of the runtime in the same file: then a
 * compiler put the announcement in.
 */
#include "capture/announced/announced_private.h"

struct announced_event *announced_event(struct capture_session *s, const struct captured_thread *t, uint32_t id,
					const struct site *site, uint32_t like)
{
	uint32_t process = s->d->threads[t->index].process;
	struct announced_event *e = announced_find(s, process, id, OF_PROGRAM);
	struct captured_process *p = e ? NULL : session_process(s, t->pid);
	const struct model_event *of;
	const struct model *model = NULL;

	if (e && e->probe != NO_INDEX)
		return e;
	if (!e) {
		struct announced_event *known = announced_find(s, process, id, OF_RUNTIME);

		if (known && (known->probe != NO_INDEX || known->unwanted))
			return known;
		announced_look_ahead(s);
		e = announced_find(s, process, id, OF_PROGRAM);
	}
	if (!e && p) {
		announced_read_table_again(s, p);
		e = announced_find(s, process, id, OF_PROGRAM);
	}
	if (!e && announced_is_full(s, process)) {
		e = announced_add_number(s, process, id);
		if (e && e->probe != NO_INDEX)
			return e;
	}
	if (!e) {
		of = announced_runtime_event(s, site, id, &model);
		if (of)
			return announced_define_runtime(s, process, id, of, model, site->image, like);
		e = announced_add_number(s, process, id);
	}
	if (e)
		e->probe = announced_define(s, e, like, NULL, "user");
	return e && e->probe != NO_INDEX ? e : NULL;
}
