/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unseen_events.c - what a model says that cannot be seen of its runtime becomes a part of the recording.
 */
#include <errno.h>
#include <string.h>

#include "capture/session.h"

int session_define_unseen(struct capture_session *s, const struct model *model)
{
	for (size_t i = 0; i < s->d->nunseen; i++)
		if (!strcmp(s->d->unseen[i].model, model->name))
			return 0;
	for (size_t i = 0; i < model->nunseen; i++) {
		uint32_t index = definitions_add_unseen(s->d);

		if (index == NO_INDEX)
			return -ENOMEM;
		s->d->unseen[index] = (struct def_unseen){ .event = strdup(model->unseen[i].event),
							   .model = strdup(model->name),
							   .why = strdup(model->unseen[i].why),
							   .partly = model->unseen[i].partly };
		if (!s->d->unseen[index].event || !s->d->unseen[index].model || !s->d->unseen[index].why)
			return -ENOMEM;
	}
	return 0;
}
