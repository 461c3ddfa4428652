/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * delays_find.c - the findings: who is late, by what, and what it would give if it were not.
 *
 * Of two that are late in the same steps each alone gives nothing, since the other one is still late. Where what such a
 * one gives beside all that is found is 1 % of the run, it is found, too, and that is told.
 */
#include "analysis/delays.h"
#include "analysis/gains.h"
#include "analysis/on_processor.h"
#include "analysis/printer.h"
#include "analysis/put.h"
#include "analysis/scheduling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORTH_SHARE 100 /* one in so many of all threads' time, and of the run */
#define CHIEF_SHARE 5   /* and one in so many of all that is waited */
#define FINDINGS_MOST 3
#define ALSO_NAMED 2 /* of the calls that a deed begins after, beside the first */

/* --- what it would give ---------------------------------------------------------- */

/* What the run would be shorter by, if the thread were as quick as the others there: simulated. */
static int find_gain(const struct delays *s, struct report *r, const struct delay *delay, uint64_t most,
		     struct finding *finding)
{
	struct relief relief = deed_relief(&delay->deed, delay->deed.thread, &s->sites);
	struct called *also = calloc(delay->nparts + 1, sizeof(*also));

	if (!also)
		return -ENOMEM;
	for (size_t i = 1; i < delay->nparts; i++)
		also[relief.nalso++] = delay->parts[i]->deed.after;
	relief.also_after = also;
	relief.most = most;
	report_find_gain(r, &relief, finding);
	free(also);
	return 0;
}

void delay_place(const struct delays *s, const struct delay *delay, enum place_in in, char *text, size_t room)
{
	struct called also[ALSO_NAMED];
	size_t count = 0;

	for (size_t i = 1; i < delay->nparts && count < ALSO_NAMED; i++)
		also[count++] = delay->parts[i]->deed.after;
	deed_place(s->d, &delay->deed, also, count, in, text, room);
}

/* --- findings ------------------------------------------------------------------ */

/* Where nobody else does the same, it is not known how quick it could be. */
static const char *condition(const struct others *others)
{
	if (!others->threads)
		return "did that take no time at all";
	if (others->only_alike)
		return "were it as quick as that";
	return others->threads == 1 ? "were it as quick there as the other one"
				    : "were it as quick there as the others";
}

/* "the others: 1.3 ms": how long it takes them; or what they do that is only alike. */
static const char *others_text(const struct others *others, char *text, size_t room)
{
	bool one = others->threads == 1;
	char mean[FORMAT_SIZE];

	format_time(mean, others->mean);
	if (others->only_alike)
		snprintf(text, room, "what %s instead: %s", one ? "the other one does" : "the others do", mean);
	else
		snprintf(text, room, "the other%s: %s", one ? " one" : "s", mean);
	return text;
}

/* "; 99 times of 100 at least 2 ms ...", where that is known of one who had none; else "". */
static const char *quickest_text(const struct delays *s, const struct report *r, const struct delay *delay, char *text,
				 size_t room)
{
	char says[QUICKEST_ROOM];
	struct delay_quickest quick;

	*text = '\0';
	if (scheduling_is_held_up(r, delay->deed.thread) && delay_is_never_as_quick(s, delay, &quick))
		snprintf(text, room, "; %s", delay_quickest_text(&quick, says, sizeof(says)));
	return text;
}

/* How long it takes each time, and the others; and whether it worked all that time. */
static void how_long(const struct delays *s, const struct report *r, const struct delay *delay,
		     const struct others *others, char *text, size_t room)
{
	const struct def_thread *thread = &s->d->threads[delay->deed.thread];
	char its[FORMAT_SIZE], theirs[40 + FORMAT_SIZE], running[ON_PROCESSOR_ROOM], quickest[QUICKEST_ROOM + 2];
	size_t at = 0;

	*text = '\0';
	if (others->threads && delay->times)
		at = snprintf(text, room, ", %s each time on average (%s%s),",
			      format_time(its, delay->lasted / delay->times),
			      others_text(others, theirs, sizeof(theirs)),
			      quickest_text(s, r, delay, quickest, sizeof(quickest)));
	if (delay->deed.doing == DOING_WORK && *on_processor(thread, delay->lasted, running, sizeof(running)))
		snprintf(text + at, room - at, "%s %s,", at ? "" : ",", running);
}

struct finding delay_finding(const struct delay *delay, const char *kind, const char *times)
{
	uint32_t site = delay->deed.doing == DOING_WORK ? delay->deed.before.site : delay->deed.call.site;

	return (struct finding){ .kind = kind,
				 .event = NO_INDEX,
				 .thread = NO_INDEX,
				 .site = site,
				 .has_site = site != NO_INDEX,
				 .weight = delay_all(delay),
				 .instances = delay->worst,
				 .ninstances = delay->nworst,
				 .victims = &delay->waiting,
				 .regularity = { .what = delay->times ? times : NULL,
						 .times = delay->times,
						 .of = delay->times,
						 .mean = delay_mean(delay),
						 .deviation = delay_deviation(delay) },
				 .seen = delay->seen,
				 .nseen = delay->nseen,
				 .section = "delays" };
}

/* ", of which 20 ms by waiting for others who wait for it" */
static const char *passed_text(const struct delay *delay, char *text, size_t room)
{
	char time[FORMAT_SIZE];

	*text = '\0';
	if (delay->all.passed_on)
		snprintf(text, room, ", of which %s by waiting for others who wait for it",
			 format_time(time, delay->all.passed_on));
	return text;
}

/* One that may be told. */
struct late {
	const struct delay *delay;
	struct others others;
	struct finding finding;
	uint64_t beside; /* ns: what it gives where all others are mended, too; 0: it is not hidden by others */
};

static bool is_worth_it(const struct report *r, uint64_t ns)
{
	return ns >= (r->end - r->start) / WORTH_SHARE;
}

/* "; were it as quick there as the others, the 24 s observed would be ... shorter" */
static const char *gives_text(const struct report *r, const struct late *late, char *text, size_t room)
{
	char time[FORMAT_SIZE];
	size_t at;

	gain_text(r, &late->finding, condition(&late->others), "", text, room);
	at = strlen(text);
	if (late->beside)
		snprintf(text + at, room - at,
			 ", since others are as late; where that is mended, too, this gives %s (%.1f %%)",
			 format_time(time, late->beside), percent(late->beside, r->end - r->start));
	return text;
}

static int tell(struct delays *s, struct report *r, const struct late *late)
{
	const struct delay *delay = late->delay;
	char who[LABEL_ROOM], what[LABEL_ROOM], where[2 * LABEL_ROOM], victims[LABEL_ROOM], time[FORMAT_SIZE],
		gives[300], lasts[200 + QUICKEST_ROOM + ON_PROCESSOR_ROOM], passed[100];

	deed_text(s->d, &delay->deed, delay->lasted, what, sizeof(what));
	delay_place(s, delay, IN_SENTENCE, where, sizeof(where));
	how_long(s, r, delay, &late->others, lasts, sizeof(lasts));
	return report_add_finding(r, &late->finding,
				  "%s %s (%s)%s while %s wait%s for it: %s in all%s, %.1f %% of all threads' time%s",
				  thread_label_on_node(s->d, delay->deed.thread, who, sizeof(who)), what, where, lasts,
				  people_label(s->d, &delay->waiting, victims, sizeof(victims)),
				  people_count(&delay->waiting) == 1 ? "s" : "", format_time(time, delay_all(delay)),
				  passed_text(delay, passed, sizeof(passed)), percent(delay_all(delay), r->wall),
				  gives_text(r, late, gives, sizeof(gives)));
}

/* Is it late by more than chance, and by its own fault? Then late->finding has what is to be told of it. */
static bool may_be_told(const struct delays *s, const struct delay *delay, struct late *late)
{
	if (delay->in_group || !people_count(&delay->waiting))
		return false; /* or it waits for itself: for those who wait for it */
	*late = (struct late){ .delay = delay,
			       .others = delay_others_of_all(s, delay),
			       .finding = delay_finding(delay, "delay", "times that it does this") };
	late->finding.thread = delay->deed.thread;
	if (delay->deed.doing == DOING_UNKNOWN)
		return false;
	late->finding.test = delay_is_clear(s, delay, &late->others);
	return late->finding.test && !delay_is_taken(s, delay, &late->others);
}

/* Those that give nothing by themselves. */
static int tell_hidden(struct delays *s, struct report *r, struct late *hidden, size_t count)
{
	struct finding findings[FINDINGS_MOST];
	uint64_t gains[FINDINGS_MOST] = { 0 };
	int error = 0;

	for (size_t i = 0; i < count; i++)
		findings[i] = hidden[i].finding;
	report_find_gains_beside(r, findings, count, gains);
	for (size_t i = 0; i < count && !error; i++) {
		hidden[i].beside = gains[i];
		if (is_worth_it(r, gains[i]))
			error = tell(s, r, &hidden[i]);
	}
	return error;
}

int delays_find_late(struct delays *s, struct report *r)
{
	struct late hidden[FINDINGS_MOST], late;
	size_t found = 0, nhidden = 0;
	int error = 0;

	for (size_t i = 0; i < s->ntold && found < FINDINGS_MOST && !error; i++) {
		const struct delay *delay = s->told[i];

		if (delay_all(delay) < suffered_sum(&s->all) / CHIEF_SHARE || delay_all(delay) < r->wall / WORTH_SHARE)
			break;
		if (!may_be_told(s, delay, &late))
			continue;
		error = find_gain(s, r, delay, late.others.mean, &late.finding);
		if (error)
			break;
		if (!late.finding.has_gain || is_worth_it(r, late.finding.gain)) {
			found++;
			error = tell(s, r, &late);
		} else if (nhidden < FINDINGS_MOST) {
			hidden[nhidden++] = late;
		}
	}
	return error ?: tell_hidden(s, r, hidden, nhidden);
}
