/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * delays.c - who causes the waiting, and by what.
 *
 * One waits for another because that one has done more, since both were in step, or has waited itself, for a third, who
 * has done more, and so on. All waiting time is divided among what was done at the end of these chains (past.h). It is
 * *direct* for those who waited for that thread, and *passed on* for those who waited for somebody who waited.
 *
 * Somebody is always last, and every wait has its cause; which are more than chance: delays_clear.c.
 */
#include "analysis/delays.h"
#include "analysis/printer.h"
#include "analysis/put.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/log.h"

#define ROWS_MOST 65536 /* what is done beyond that is unknown */
#define ROWS_SHOWN 6

static int begin(void **state, const struct definitions *d)
{
	struct delays *s = calloc(1, sizeof(*s));

	*state = s;
	if (!s)
		return -ENOMEM;
	s->d = d;
	s->same_site = report_same_sites(d);
	s->sites = (struct same_sites){ s->same_site, d->nsites };
	s->pasts = s->same_site ? pasts_new(d, &s->deeds) : NULL;
	return s->pasts ? 0 : -ENOMEM;
}

/* NULL: out of memory. */
static struct delay *delay_of(struct delays *s, uint32_t deed)
{
	struct delay **place;

	if (array_reach(&s->table, &s->room, (size_t)deed + 1, sizeof(struct delay *)))
		return NULL;
	place = &s->table[deed];
	if (!*place)
		*place = calloc(1, sizeof(**place));
	if (*place)
		(*place)->deed = s->deeds.all[deed];
	return *place;
}

/* What is beyond ROWS_MOST is unknown. NO_INDEX: out of memory. */
static uint32_t number_of(struct delays *s, const struct deed *deed)
{
	const struct deed beyond = deed_unknown(deed->thread);
	uint32_t number = deeds_number(&s->deeds, deed);

	return number == NO_INDEX || number < ROWS_MOST ? number : deeds_number(&s->deeds, &beyond);
}

static void suffer(struct suffered *who, uint64_t ns, bool passed_on)
{
	*(passed_on ? &who->passed_on : &who->direct) += ns;
}

/* Whoever waits, when, for this long in all of its wait. */
void delay_note_worst(struct delay *delay, const struct finding_instance *one)
{
	unsigned at = delay->nworst;

	while (at && delay->worst[at - 1].end - delay->worst[at - 1].start < one->end - one->start)
		at--;
	if (at == WORST)
		return;
	if (delay->nworst < WORST)
		delay->nworst++;
	memmove(&delay->worst[at + 1], &delay->worst[at], (delay->nworst - 1 - at) * sizeof(*one));
	delay->worst[at] = *one;
}

/* There are few such functions, mostly one. */
int delay_see(struct delay *delay, uint32_t probe, uint64_t ns)
{
	size_t i = 0;

	while (i < delay->nseen && delay->seen[i].probe != probe)
		i++;
	if (i == delay->nseen) {
		if (array_one_more(&delay->seen, &delay->seen_room, delay->nseen, sizeof(*delay->seen)))
			return -ENOMEM;
		delay->seen[delay->nseen++] = (struct finding_seen){ .probe = probe };
	}
	delay->seen[i].ns += ns;
	return 0;
}

struct suffered *delay_suffered_by(struct delay *delay, uint32_t thread)
{
	struct index_slot *slot = index_find(&delay->by_victim, thread);

	if (!slot)
		return NULL;
	if (slot->value == INDEX_FREE) {
		if (array_one_more(&delay->suffered, &delay->room, delay->nsuffered, sizeof(*delay->suffered)))
			return NULL;
		slot->value = delay->nsuffered;
		delay->suffered[delay->nsuffered++] = (struct suffered){ .in = { NO_INDEX, NO_INDEX } };
	}
	return &delay->suffered[slot->value];
}

static int note(void *context, uint32_t deed, uint64_t ns, bool passed_on)
{
	struct delays *s = context;
	struct delay *delay = delay_of(s, deed);
	struct suffered *suffered = delay ? delay_suffered_by(delay, s->waiting) : NULL;

	if (!suffered)
		return -ENOMEM;
	if (s->waiting != delay->deed.thread && !suffered_sum(suffered) && people_add(&delay->waiting, s->waiting))
		return -ENOMEM;
	suffer(suffered, ns, passed_on);
	if (!passed_on || suffered->in.probe == NO_INDEX)
		suffered->in = s->waits_in;
	suffer(&delay->all, ns, passed_on);
	suffer(&s->all, ns, passed_on);
	delay->blamed += (double)ns * ns;
	delay_note_worst(delay, &(struct finding_instance){ s->since, s->since + ns, s->waiting });
	if (delay->last != s->waits) {
		delay->last = s->waits;
		delay->waits++;
	}
	return delay_see(delay, s->waits_in.probe, ns);
}

/* It did that, until `end`, and waited before `start`. */
static int did(struct delays *s, const struct deed *deed, uint64_t start, uint64_t end)
{
	uint32_t number = number_of(s, deed);
	struct delay *delay = number == NO_INDEX ? NULL : delay_of(s, number);

	if (!delay)
		return -ENOMEM;
	delay->times++;
	delay->lasted += end - start;
	delay->squares += (double)(end - start) * (end - start);
	if (deed->doing == DOING_WORK && quickest_add(&delay->quickest, end - start))
		return -ENOMEM;
	return past_did(s->pasts, number, start, end);
}

static int work(void *state, const struct related_work *work)
{
	struct delays *s = state;
	struct deed deed = deed_of_work(&s->sites, work);

	return did(s, &deed, work->start, work->end);
}

/* Who waited for another one's notification, access or exposure, is in step with it then, as by a message. */
static bool is_told_by_one(enum wait_state state)
{
	return state == WAIT_LATE_POST || state == WAIT_EARLY_WAIT || state == WAIT_LATE_NOTIFY;
}

static int call(void *state, const struct related_call *call, const struct waited *waited)
{
	struct delays *s = state;
	struct deed deed = deed_of_call(&s->sites, call);
	int error = 0;

	if (waited) {
		s->waits++;
		s->waiting = call->thread;
		s->since = call->start;
		s->waits_in = deed.call;
		error = past_blame(s->pasts, call, waited, note, s);
		if (!error && is_told_by_one(waited->state))
			error = past_message(s->pasts, &waited->of, call);
	}
	return error ? error : did(s, &deed, waited ? waited->until : call->start, call->end);
}

static int message(void *state, const struct related_call *sends, const struct related_call *receives, uint64_t bytes)
{
	struct delays *s = state;

	return past_message(s->pasts, sends, receives);
}

static int meeting(void *state, const struct meeting *meeting)
{
	struct delays *s = state;

	return past_meeting(s->pasts, meeting);
}

static void related(void *state, const struct relations_counts *counts, const struct efficiencies *efficiencies)
{
	struct delays *s = state;

	s->counts = *counts;
}

int delays_by_time(const void *a, const void *b)
{
	const struct delay *x = *(struct delay *const *)a, *y = *(struct delay *const *)b;

	if (delay_all(x) != delay_all(y))
		return delay_all(x) > delay_all(y) ? -1 : 1;
	return memcmp(&x->deed, &y->deed, sizeof(x->deed));
}

/* ns that others waited for what is not known, since calls are lost. */
static uint64_t unknown(const struct delays *s)
{
	uint64_t all = 0;

	for (size_t i = 0; i < s->nsorted; i++)
		all += s->sorted[i]->deed.doing == DOING_UNKNOWN ? delay_all(s->sorted[i]) : 0;
	return all;
}

static int end(void *state, struct report *r)
{
	struct delays *s = state;

	pasts_free(s->pasts);
	s->pasts = NULL;
	s->sorted = calloc(s->room + 1, sizeof(*s->sorted));
	if (!s->sorted)
		return -ENOMEM;
	for (size_t i = 0; i < s->room; i++)
		if (s->table[i])
			workers_forget_idle(r, &s->table[i]->deed);
	for (size_t i = 0; i < s->room; i++)
		if (s->table[i] && delay_all(s->table[i]) && !thread_is_left_out(s->d, s->table[i]->deed.thread))
			s->sorted[s->nsorted++] = s->table[i];
	qsort(s->sorted, s->nsorted, sizeof(*s->sorted), delays_by_time);
	r->causes_known = s->counts.meetings && !s->counts.lossy && s->counts.incomplete <= s->counts.meetings / 10 &&
			  unknown(s) <= suffered_sum(&s->all) / 2;
	return delays_find_taken(s, r) ?: delays_find_uneven(s, r) ?: delays_join(s) ?: delays_find_late(s, r) ?: delays_find_turns(s, r);
}

/* --- telling ------------------------------------------------------------------ */

/* The same by several threads is one row. */
struct cause {
	const struct deed *deed; /* of the one that is waited for most */
	const struct delay *delay;
	struct people who, waiting;
	struct suffered all;
	uint64_t most;   /* ns: of that one, */
	uint64_t lasted; /* and how long it did that */
};

static void causes_free(struct cause *causes, size_t count)
{
	for (size_t i = 0; causes && i < count; i++) {
		people_free(&causes[i].who);
		people_free(&causes[i].waiting);
	}
	free(causes);
}

static int causes_by_time(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	if (suffered_sum(&x->all) != suffered_sum(&y->all))
		return suffered_sum(&x->all) > suffered_sum(&y->all) ? -1 : 1;
	return memcmp(x->deed, y->deed, sizeof(*x->deed));
}

static int by_deed(const void *a, const void *b)
{
	const struct delay *x = *(struct delay *const *)a, *y = *(struct delay *const *)b;
	int order = deed_order(&x->deed, &y->deed);

	return order ? order : delays_by_time(a, b);
}

/* NULL: out of memory. */
static struct cause *find_causes(const struct delays *s, size_t *count)
{
	struct delay **delays = malloc((s->ntold + 1) * sizeof(*delays));
	struct cause *causes = calloc(s->ntold + 1, sizeof(*causes));
	size_t n = 0;
	int error = delays && causes ? 0 : -ENOMEM;

	if (!error) {
		memcpy(delays, s->told, s->ntold * sizeof(*delays));
		qsort(delays, s->ntold, sizeof(*delays), by_deed);
	}
	for (size_t i = 0; i < s->ntold && !error; i++) {
		const struct delay *delay = delays[i];

		if (!i || !deed_is_same(&delay->deed, causes[n - 1].deed))
			causes[n++] = (struct cause){
				.deed = &delay->deed, .delay = delay, .most = delay_all(delay), .lasted = delay->lasted
			};
		error = people_add(&causes[n - 1].who, delay->deed.thread)
				?: people_join(&causes[n - 1].waiting, &delay->waiting);
		causes[n - 1].all.direct += delay->all.direct;
		causes[n - 1].all.passed_on += delay->all.passed_on;
	}
	free(delays);
	*count = n;
	if (error) {
		causes_free(causes, n);
		return NULL;
	}
	qsort(causes, n, sizeof(*causes), causes_by_time);
	return causes;
}

static void print_causes(const struct delays *s, const struct printer *p, const struct cause *causes, size_t count)
{
	static const struct column columns[] = {
		{ .title = "Who", .left = true, .shrinks = true },
		{ .title = "Does",
		  .left = true,
		  .shrinks = true,
		  .legend = "outside: in no call, where it may compute or sleep" },
		{ .title = "Where", .left = true, .shrinks = true },
		{ .title = "Direct" },
		{ .title = "Passed on", .legend = "passed on: they wait for one who waits for it" },
		{ .title = "Share", .drop = 2, .legend = "share: of all that is waited" },
		{ .title = "Waiting", .left = true, .drop = 1 },
	};
	uint64_t all = suffered_sum(&s->all);
	size_t shown = p->whole ? printer_rows(p, count) : count < ROWS_SHOWN ? count : ROWS_SHOWN;
	char text[2 * LABEL_ROOM], time[FORMAT_SIZE];
	struct table t = { 0 };

	while (!p->whole && shown && suffered_sum(&causes[shown - 1].all) < all / 100)
		shown--;
	if (!shown)
		return;
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		table_column(&t, &columns[i]);
	for (size_t i = 0; i < shown; i++) {
		const struct cause *cause = &causes[i];

		people_label_with_most(s->d, &cause->who, cause->deed->thread,
				       percent(cause->most, suffered_sum(&cause->all)), text, sizeof(text));
		table_cell(&t, "%s", text);
		deed_word(s->d, cause->deed, cause->lasted, text, sizeof(text));
		table_cell(&t, "%s", text);
		delay_place(s, cause->delay, IN_TABLE, text, sizeof(text));
		table_cell(&t, "%s", text);
		table_cell(&t, "%s", printer_time(p, time, cause->all.direct));
		table_cell(&t, "%s", printer_time(p, time, cause->all.passed_on));
		table_cell(&t, "%.1f%%", percent(suffered_sum(&cause->all), all));
		table_cell(&t, "%s", people_label(s->d, &cause->waiting, text, sizeof(text)));
	}
	printer_titled_table(p, "what makes others wait for it", &t);
	printer_rest(p, shown, count, "causes");
}

static void print(void *state, const struct printer *p)
{
	const struct delays *s = state;
	size_t count = 0;
	struct cause *causes = find_causes(s, &count);

	if (causes)
		print_causes(s, p, causes, count);
	else
		*p->error = *p->error ?: -ENOMEM;
	causes_free(causes, count);
}

static void put_also_after(struct json *j, const struct delays *s, const struct delay *delay)
{
	json_key(j, "also_after");
	json_array(j);
	for (size_t i = 1; i < delay->nparts; i++)
		put_called(j, s->d, &delay->parts[i]->deed.after);
	json_end_array(j);
}

static void put(void *state, const struct report *r, struct json *j)
{
	const struct delays *s = state;

	json_object(j);
	json_key_uint(j, "direct_ns", s->all.direct);
	json_key_uint(j, "passed_on_ns", s->all.passed_on);
	json_key(j, "causes");
	json_array(j);
	for (size_t i = 0; i < s->ntold; i++) {
		const struct delay *delay = s->told[i];
		const struct deed *deed = &delay->deed;

		json_object(j);
		put_thread_ids(j, r, deed->thread);
		put_deed(j, s->d, deed);
		put_also_after(j, s, delay);
		json_key_uint(j, "direct_ns", delay->all.direct);
		json_key_uint(j, "passed_on_ns", delay->all.passed_on);
		json_key_uint(j, "times", delay->times);
		json_key_uint(j, "lasted_ns", delay->lasted);
		json_key_uint(j, "waits", delay->waits);
		json_key(j, "waiting");
		json_array(j);
		for (uint32_t t = 0; t < s->d->nthreads; t++) {
			const struct index_slot *slot = index_known(&delay->by_victim, t);

			if (!slot)
				continue;
			json_object(j);
			put_thread_ids(j, r, t);
			json_key_uint(j, "direct_ns", delay->suffered[slot->value].direct);
			json_key_uint(j, "passed_on_ns", delay->suffered[slot->value].passed_on);
			json_end_object(j);
		}
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

void delay_free(struct delay *delay)
{
	if (!delay)
		return;
	people_free(&delay->waiting);
	free(delay->by_victim.slots);
	free(delay->suffered);
	free(delay->seen);
	free(delay->parts);
	quickest_free(&delay->quickest);
	free(delay);
}

static void delays_free(void *state)
{
	struct delays *s = state;

	if (!s)
		return;
	for (size_t i = 0; i < s->ntold; i++)
		if (s->told[i]->parts)
			delay_free(s->told[i]);
	for (size_t i = 0; i < s->room; i++)
		delay_free(s->table[i]);
	free(s->told);
	for (size_t i = 0; i < s->ngroups; i++) {
		delay_free(s->groups[i].sum);
		people_free(&s->groups[i].who);
	}
	free(s->table);
	free(s->taken);
	free(s->taken_most);
	pasts_free(s->pasts);
	deeds_free(&s->deeds);
	free(s->same_site);
	free(s->sorted);
	free(s);
}

static const struct relations_ops relations = { .work = work, .call = call, .message = message, .meeting = meeting };

const struct analysis analysis_delays = {
	.name = "delays",
	.title = "Who is waited for",
	.of_calls = true,
	.of_waiting = true,
	.begin = begin,
	.relations = &relations,
	.related = related,
	.end = end,
	.print = print,
	.json = put,
	.free = delays_free,
};
