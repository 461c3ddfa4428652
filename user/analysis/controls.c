/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * controls.c - measurement that was switched off: for how long nothing is known of which process, and who said so.
 */
#include "analysis/printer.h"
#include "util/log.h"

struct control_sum controls_sum(const struct report *r, uint32_t process)
{
	const struct def_process *p = &r->d->processes[process];
	uint64_t end = p->end && p->end < r->end ? p->end : r->end, since = 0;
	struct control_sum sum = { .last = NULL };

	for (size_t i = 0; i < r->d->ncontrols; i++) {
		const struct def_control *c = &r->d->controls[i];

		if (c->process != process)
			continue;
		sum.last = c;
		if (!c->value && !since) {
			since = c->time;
			sum.times++;
		} else if (c->value && since) {
			sum.off += c->time > since ? c->time - since : 0;
			since = 0;
		}
	}
	if (since && end > since)
		sum.off += end - since;
	return sum;
}

void print_controls(const struct printer *p)
{
	const struct definitions *d = p->r->d;
	char text[FORMAT_SIZE], label[LABEL_ROOM];
	bool any = false;

	for (uint32_t i = 0; d->ncontrols && i < d->nprocesses; i++) {
		struct control_sum sum = controls_sum(p->r, i);

		if (!sum.times)
			continue;
		if (!any)
			printer_heading(p, "Measurement was off", "  (what was called then is in no figure)");
		any = true;
		fprintf(p->out, "  %s: for %s, %zu %s; the last word: %s, by %s\n",
			process_label(d, i, label, sizeof(label)), format_time(text, sum.off), sum.times,
			sum.times == 1 ? "time" : "times", sum.last->value ? "on" : "off",
			sum.last->who ? log_safe(sum.last->who) : "?");
	}
}
