/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * controls.c - measurement that was switched off: for how long nothing is known of which process, and who said so.
 */
#include "analysis/analysis.h"
#include "analysis/printer.h"
#include "util/json.h"
#include "util/log.h"

struct control_sum {
	uint64_t off;                   /* ns, all together */
	size_t times;                   /* that it went off */
	const struct def_control *last; /* what was said last; NULL: nothing ever */
};

static struct control_sum sum_of(const struct report *r, uint32_t process)
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

static void print_controls(void *state, const struct printer *p)
{
	const struct definitions *d = p->r->d;
	char text[FORMAT_SIZE], label[LABEL_ROOM];
	bool any = false;

	for (uint32_t i = 0; d->ncontrols && i < d->nprocesses; i++) {
		struct control_sum sum = sum_of(p->r, i);

		if (!sum.times)
			continue;
		if (!any)
			printer_heading(p, "  (what was called then is in no figure)");
		any = true;
		fprintf(p->out, "  %s: for %s, %zu %s; the last word: %s, by %s\n",
			process_label(d, i, label, sizeof(label)), format_time(text, sum.off), sum.times,
			sum.times == 1 ? "time" : "times", sum.last->value ? "on" : "off",
			sum.last->who ? log_safe(sum.last->who) : "?");
	}
}

/* Measurement that was off: by process, in ns. */
static void put_controls(void *state, const struct report *r, struct json *j)
{
	json_array(j);
	for (uint32_t i = 0; r->d->ncontrols && i < r->d->nprocesses; i++) {
		struct control_sum sum = sum_of(r, i);

		if (!sum.last)
			continue;
		json_object(j);
		json_key_uint(j, "pid", r->d->processes[i].pid);
		if (r->d->processes[i].rank >= 0)
			json_key_int(j, "rank", r->d->processes[i].rank);
		json_key_uint(j, "off_ns", sum.off);
		json_key_uint(j, "times", sum.times);
		json_key_int(j, "last", sum.last->value);
		json_key_string(j, "by", sum.last->who);
		json_end_object(j);
	}
	json_end_array(j);
}

const struct analysis analysis_controls = {
	.name = "controls",
	.title = "Measurement was off",
	.print = print_controls,
	.json = put_controls,
};
