/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.c - the report: a walk over the table of analyses.
 *
 * The recording is read once for all of them together, by the profile, which says to whom a call's time belongs and
 * hands each call on to those that want calls of its role (profile.c). Only if one of them wants the events of all
 * threads in order, it is read again, by the timeline. What calls have to do with each other takes longest: another
 * thread reads the rest meanwhile, and a third one hands on what is found (handing_on.c).
 */
#include "analysis/report.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analyses.h"
#include "analysis/csv_columns.h"
#include "analysis/handing_on.h"
#include "analysis/only_sums.h"
#include "analysis/printer.h"
#include "util/csv.h"
#include "util/json.h"
#include "util/log.h"

#define SIMULATED 5000000 /* calls */

/* --- which --------------------------------------------------------------- */

struct reporter *reporter_of(const struct analysis *const *table)
{
	struct reporter *r = calloc(1, sizeof(*r));
	size_t count = 0;

	if (!r)
		return NULL;
	while (table[count])
		count++;
	r->profile = profile_new();
	r->all = calloc(count + 1, sizeof(*r->all));
	if (!r->profile || !r->all) {
		reporter_free(r);
		return NULL;
	}
	r->count = count;
	r->grouping = (struct grouping){ .by = { BY_EVENT }, .count = 1 };
	for (size_t i = 0; i < count; i++)
		r->all[i].is = table[i];
	return r;
}

struct reporter *reporter_new(void)
{
	return reporter_of(analyses);
}

void reporter_free(struct reporter *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		if (r->all[i].made && r->all[i].is->free)
			r->all[i].is->free(r->all[i].state);
	if (r->finished)
		report_free(&r->report);
	relations_free(r->relations);
	profile_free(r->profile);
	free(r->all);
	free(r->note);
	free(r);
}

static struct made_analysis *find(struct reporter *r, const char *name)
{
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->all[i].is->name, name))
			return &r->all[i];
	return NULL;
}

int reporter_ask(struct reporter *r, const char *name)
{
	struct made_analysis *one = find(r, name);

	if (!one)
		return -ENOENT;
	one->asked = true;
	return 0;
}

int reporter_choose(struct reporter *r, const char *name)
{
	struct made_analysis *one = find(r, name);

	if (!one || !one->is->print)
		return -ENOENT;
	one->asked = one->chosen = r->some = true;
	return 0;
}

int reporter_group(struct reporter *r, const char *names)
{
	int error = grouping_parse(&r->grouping, names);

	return error ? error : reporter_choose(r, "by");
}

const char *reporter_section(const struct reporter *r, size_t *at)
{
	while (*at < r->count) {
		const struct analysis *is = r->all[(*at)++].is;

		if (is->print)
			return is->name;
	}
	return NULL;
}

void reporter_subtract_floor(struct reporter *r)
{
	profile_subtract_floor(r->profile);
}

/* --- feeding ------------------------------------------------------------- */

static bool wants_relations(const struct made_analysis *one)
{
	return one->is->relations || one->is->related;
}

/* ordered: there is a recording, so that events can be had in one order. */
static bool is_possible(const struct made_analysis *one, const struct definitions *d, bool ordered)
{
	if (d->run.only_sums && needs_calls(one->is))
		return false;
	if (one->is->event || wants_relations(one))
		return ordered && (!wants_relations(one) || relations_possible(d)) &&
		       (!one->is->possible || one->is->possible(d));
	return true;
}

/* Only a section that was chosen is made, where that is expensive; those that make findings for theirs. */
static bool is_wanted(const struct reporter *r, const struct made_analysis *one)
{
	if (one->is->asked && !one->asked)
		return false;
	if (!r->some || one->chosen || one->asked || !(one->is->event || wants_relations(one)))
		return true;
	for (size_t i = 0; i < r->count; i++)
		if (r->all[i].chosen &&
		    (r->all[i].is == &analysis_findings || (one->is->serves && one->is->serves(r->all[i].is))))
			return true;
	return false;
}

static int begin(struct reporter *r, const struct definitions *d, bool ordered)
{
	r->d = d;
	for (size_t i = 0; i < r->count; i++) {
		struct made_analysis *one = &r->all[i];
		int error;

		if (!is_wanted(r, one) || !is_possible(one, d, ordered))
			continue;
		one->made = true;
		error = one->is->begin ? one->is->begin(&one->state, d) : 0;
		if (error)
			return error;
		if (one->is->watch && r->watch.level)
			one->is->watch(one->state, &r->watch);
	}
	profile_tell(r->profile, r->all, r->count);
	return 0;
}

int reporter_begin(struct reporter *r, const struct definitions *d)
{
	return begin(r, d, false);
}

struct span_sink reporter_sink(struct reporter *r)
{
	return profile_sink(r->profile);
}

/* Were there calls that it wants the events of? */
static bool has_calls(const struct reporter *r, const struct analysis *is)
{
	const struct profile *p = r->profile;

	for (size_t i = 0; i < p->nprobes; i++)
		if (p->probes[i].ready && is->roles & ROLE_BIT(r->d->probes[i].role) &&
		    (!is->worth || is->worth(r->d, i)))
			return true;
	return false;
}

/* Those that are told, picked out once: most calls are told several of them. */
struct listeners {
	const struct made_analysis *all[ANALYSES_MOST];
	size_t count;
};

static void listen(struct listeners *listeners, const struct made_analysis *one)
{
	if (listeners->count < ANALYSES_MOST)
		listeners->all[listeners->count++] = one;
}

static int tell_event(void *context, const struct definitions *d, const struct event *event)
{
	const struct listeners *listeners = context;
	uint64_t role = ROLE_BIT(d->probes[event->span->probe].role);
	int error = 0;

	for (size_t i = 0; i < listeners->count && !error; i++)
		if (listeners->all[i]->is->roles & role)
			error = listeners->all[i]->is->event(listeners->all[i]->state, d, event);
	return error;
}

static int tell_gap(void *context, const struct definitions *d, const struct gap *gap)
{
	const struct listeners *listeners = context;
	int error = 0;

	for (size_t i = 0; i < listeners->count && !error; i++)
		if (listeners->all[i]->is->gap)
			error = listeners->all[i]->is->gap(listeners->all[i]->state, d, gap);
	return error;
}

static int read_events(struct reporter *r, struct recording *recording)
{
	struct listeners listeners = { .count = 0 };
	struct timeline_ops ops = { .event = tell_event, .gap = tell_gap, .context = &listeners };

	for (size_t i = 0; i < r->count; i++) {
		if (!r->all[i].made || !r->all[i].is->event || !has_calls(r, r->all[i].is))
			continue;
		listen(&listeners, &r->all[i]);
		ops.roles |= r->all[i].is->roles;
	}
	return listeners.count ? timeline_read_merged(recording, &ops) : 0;
}

/* --- relations ------------------------------------------------------------ */

static bool any_wants_relations(const struct reporter *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->all[i].made && wants_relations(&r->all[i]))
			return true;
	return false;
}

static int read_relations(struct reporter *r, struct recording *recording)
{
	struct handing_on *told;
	struct relations_counts counts;
	struct efficiencies efficiencies;
	int error, error_of_told;

	r->relations = relations_new(recording);
	if (!any_wants_relations(r))
		return r->relations ? 0 : -ENOMEM;
	told = r->relations ? handing_on_begin(r->all, r->count) : NULL;
	if (!told)
		return -ENOMEM;
	error = relations_read(r->relations, handing_on_ops(told), &counts, &efficiencies);
	error_of_told = handing_on_end(told);
	error = error ?: error_of_told;
	for (size_t i = 0; i < r->count && !error; i++)
		if (r->all[i].made && r->all[i].is->related)
			r->all[i].is->related(r->all[i].state, &counts, &efficiencies);
	return error;
}

/* All but relations. */
static int read_calls(struct reporter *r, struct recording *recording)
{
	struct span_sink sink = reporter_sink(r);
	int error = recording_read(recording, &sink);

	return error ? error : read_events(r, recording); /* which calls there are is known by then */
}

/* Relations are read while another thread reads the rest: then no analysis may want both. */
static bool can_be_apart(const struct reporter *r)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct analysis *is = r->all[i].is;

		if (r->all[i].made && wants_relations(&r->all[i]) && (is->span || is->event || is->gap))
			return false;
	}
	return any_wants_relations(r);
}

struct apart {
	struct reporter *r;
	struct recording *recording;
	pthread_t thread;
	int error;
};

static void *read_apart(void *context)
{
	struct apart *apart = context;

	apart->error = read_calls(apart->r, apart->recording);
	return NULL;
}

/* False: there is no memory for it, or no thread. */
static bool begin_apart(struct apart *apart, struct reporter *r, struct recording *recording)
{
	*apart = (struct apart){ .r = r, .recording = recording_again(recording) };
	if (apart->recording && !pthread_create(&apart->thread, NULL, read_apart, apart))
		return true;
	recording_close(apart->recording);
	return false;
}

static int end_apart(struct apart *apart)
{
	pthread_join(apart->thread, NULL);
	recording_close(apart->recording);
	return apart->error;
}

int reporter_read(struct reporter *r, struct recording *recording)
{
	struct apart apart;
	int error, apart_error;

	r->recording = recording;
	error = begin(r, recording_definitions(recording), true);
	if (error)
		return error;
	if (can_be_apart(r) && begin_apart(&apart, r, recording)) {
		error = read_relations(r, recording);
		apart_error = end_apart(&apart);
		return apart_error ? apart_error : error;
	}
	error = read_calls(r, recording);
	return error ? error : read_relations(r, recording);
}

uint64_t reporter_calls(const struct reporter *r)
{
	return profile_calls(r->profile);
}

bool reporter_would_relate(const struct reporter *r)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct made_analysis *one = &r->all[i];

		if (is_wanted(r, one) && !one->made && is_possible(one, r->d, true) &&
		    (wants_relations(one) || has_calls(r, one->is)))
			return true;
	}
	return false;
}

bool report_wants_order(const struct definitions *d)
{
	for (size_t i = 0; analyses[i]; i++)
		if (analyses[i]->event && analyses[i]->possible && analyses[i]->possible(d))
			return true;
	return relations_possible(d);
}

/* They have seen a part only, which nobody is to take for the whole. */
static void forget_late(struct reporter *r)
{
	for (size_t i = 0; i < r->count; i++) {
		struct made_analysis *one = &r->all[i];

		if (!one->late)
			continue;
		if (one->made && one->is->free)
			one->is->free(one->state);
		one->state = NULL;
		one->made = false;
	}
	relations_free(r->relations);
	r->relations = NULL;
	r->recording = NULL;
}

int reporter_relate(struct reporter *r, struct recording *recording)
{
	const struct definitions *d = recording_definitions(recording);
	int error = 0;

	r->recording = recording;
	for (size_t i = 0; i < r->count && !error; i++) {
		struct made_analysis *one = &r->all[i];

		if (one->made || !is_wanted(r, one) || !is_possible(one, d, true))
			continue;
		one->made = one->late = true;
		error = one->is->begin ? one->is->begin(&one->state, d) : 0;
	}
	if (!error)
		error = read_relations(r, recording);
	if (!error)
		error = read_events(r, recording); /* faster where it has been read before */
	if (error == -ECANCELED)
		forget_late(r);
	return error;
}

int reporter_note(struct reporter *r, const char *text)
{
	free(r->note);
	r->note = strdup(text);
	return r->note ? 0 : -ENOMEM;
}

static int end_all(struct reporter *r, bool last)
{
	int error = 0;

	for (size_t i = 0; i < r->count && !error; i++)
		if (r->all[i].made && r->all[i].is->end && r->all[i].is->ends_last == last)
			error = r->all[i].is->end(r->all[i].state, &r->report);
	return error;
}

int reporter_finish(struct reporter *r)
{
	int error = r->finished ? 0 : report_make(&r->report, r->profile, r->d);

	if (error || r->finished)
		return error;
	r->finished = true;
	r->report.recording = r->recording;
	r->report.relations = r->relations;
	r->report.note = r->note;
	r->report.grouping = &r->grouping;
	r->report.simulates = SIMULATED;
	error = end_all(r, false);
	return error ? error : end_all(r, true);
}

int reporter_figure(struct reporter *r, const char *name, double *value)
{
	int error = reporter_finish(r);

	for (size_t i = 0; i < r->count && !error; i++) {
		const struct made_analysis *one = &r->all[i];

		if (one->made && one->is->figure && one->is->figure(one->state, &r->report, name, value))
			return 0;
	}
	return error ? error : -ENODATA;
}

int reporter_explain(struct reporter *r, unsigned number, FILE *out, const struct report_style *style)
{
	int error = reporter_finish(r);
	bool said;
	struct printer p = {
		.r = &r->report, .style = style, .out = out, .error = &error, .said = &said, .bold = "", .plain = ""
	};

	if (error)
		return error;
	return findings_explain(&p, number);
}

/* --- text ---------------------------------------------------------------- */

static bool has_text(const struct reporter *r, const struct made_analysis *one)
{
	return one->made && one->is->print && (!r->some || one->chosen) && (r->report.nevents || !one->is->of_calls);
}

/* It cannot be made, though it is wanted. */
static bool lacks_calls(const struct reporter *r, const struct made_analysis *one)
{
	return r->d->run.only_sums && needs_calls(one->is) && (r->some ? one->chosen : one->asked || !one->is->asked);
}

/* In one paragraph: what is not there is not to look like nothing that happened. */
static void say_only_sums(const struct reporter *r, const struct printer *p)
{
	struct paragraph paragraph;
	size_t lacking = 0, said = 0;

	for (size_t i = 0; i < r->count; i++)
		lacking += r->all[i].is->title && lacks_calls(r, &r->all[i]);
	if (!lacking && r->some)
		return;
	fputc('\n', p->out);
	paragraph = printer_item(p, "");
	if (!r->some)
		paragraph_words(&paragraph,
				"This recording has only sums, by process and event, as gaspbpf monitor has counted: a "
				"process is all of its threads together, and Self is Total, whatever calls contain.");
	if (lacking)
		paragraph_words(
			&paragraph,
			"%s single calls, of which it has none ('sudo gaspbpf -p PID -o run.gasp' records them):",
			r->some ? "Not known, since it needs" : "Not known, since they need");
	for (size_t i = 0; i < r->count; i++)
		if (r->all[i].is->title && lacks_calls(r, &r->all[i]))
			paragraph_piece(&paragraph, r->all[i].is->name, ++said < lacking ? "," : ".");
	paragraph_end(&paragraph);
}

int reporter_print(struct reporter *r, FILE *out, const struct report_style *style)
{
	int error = reporter_finish(r);
	bool said;
	struct printer p = {
		.r = &r->report,
		.style = style,
		.out = out,
		.error = &error,
		.said = &said,
		.bold = style->colour ? "\033[1m" : "",
		.plain = style->colour ? "\033[0m" : "",
		.bar_paint = style->colour ? "\033[36m" : NULL,
	};

	if (error)
		return error;
	for (size_t i = 0; i < r->count; i++) {
		if (r->all[i].is == &analysis_findings && r->d->run.only_sums)
			say_only_sums(r, &p);
		p.title = r->all[i].is->title;
		p.warns = r->all[i].is->of_waiting;
		p.warns_of_probes = r->all[i].is->of_work;
		p.whole = r->all[i].chosen;
		said = !r->some || !r->all[i].chosen || !p.title || lacks_calls(r, &r->all[i]);
		if (has_text(r, &r->all[i]))
			r->all[i].is->print(r->all[i].state, &p);
		if (!said)
			fprintf(out, "\n%s: this recording has nothing of it.\n", p.title);
	}
	if (error)
		return error;
	errno = 0;
	return fflush(out) || ferror(out) ? (errno ? -errno : -EIO) : 0;
}

/* --- JSON ---------------------------------------------------------------- */

static void put_key(const struct reporter *r, const struct made_analysis *one, struct json *j)
{
	bool lacks = lacks_calls(r, one);

	if ((!one->made && !lacks) || !one->is->json || (r->some && !one->chosen))
		return;
	json_key(j, one->is->name);
	if (lacks) {
		json_null(j);
		return;
	}
	one->is->json(one->state, &r->report, j);
}

static bool comes_first(const struct analysis *analysis)
{
	size_t i = 0;

	while (analyses_first_in_json[i] && analyses_first_in_json[i] != analysis)
		i++;
	return analyses_first_in_json[i];
}

static void put_keys(const struct reporter *r, struct json *j)
{
	for (size_t k = 0; analyses_first_in_json[k]; k++)
		for (size_t i = 0; i < r->count; i++)
			if (r->all[i].is == analyses_first_in_json[k])
				put_key(r, &r->all[i], j);
	for (size_t i = 0; i < r->count; i++)
		if (!comes_first(r->all[i].is))
			put_key(r, &r->all[i], j);
}

int reporter_print_json(struct reporter *r, FILE *out)
{
	struct json *j = malloc(sizeof(*j));
	int error = j ? reporter_finish(r) : -ENOMEM;

	if (error) {
		free(j);
		return error;
	}
	json_init_file(j, out, true);
	json_object(j);
	put_keys(r, j);
	json_end_object(j);
	error = json_finish_file(j, out);
	free(j);
	return error;
}

/* --- CSV ----------------------------------------------------------------- */

/* What the one that was chosen puts into the JSON; NULL: nothing. */
static const struct made_analysis *chosen_json(const struct reporter *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->all[i].chosen && r->all[i].made && r->all[i].is->json)
			return &r->all[i];
	return NULL;
}

static const char *chosen_name(const struct reporter *r)
{
	size_t i = 0;

	while (i + 1 < r->count && !r->all[i].chosen)
		i++;
	return r->all[i].is->name;
}

/* The JSON of the one that was chosen; to be freed. 0 or -errno. */
static int json_text(const struct reporter *r, const struct made_analysis *one, char **text)
{
	struct json *j = malloc(sizeof(*j));
	size_t size = 0;
	FILE *to = j ? open_memstream(text, &size) : NULL;
	int error = to ? 0 : -ENOMEM;

	if (to) {
		json_init_file(j, to, false);
		one->is->json(one->state, &r->report, j);
		error = json_finish_file(j, to);
		if ((fclose(to) || !*text) && !error) /* glibc tells of no memory by NULL alone */
			error = -ENOMEM;
	}
	free(j);
	return error;
}

/* A table that has the same columns where this recording has nothing of it. Into full: its name. */
static bool is_known_table(const struct reporter *r, const char *table, char *full, size_t room)
{
	snprintf(full, room, "%s%s%s", chosen_name(r), table ? "." : "", table ?: "");
	return *csv_columns(full);
}

int reporter_print_csv(struct reporter *r, const char *table, FILE *out)
{
	int error = reporter_finish(r);
	const struct made_analysis *one = error ? NULL : chosen_json(r);
	char *text = NULL, full[100];

	if (error)
		return error;
	if (!one && is_known_table(r, table, full, sizeof(full)))
		return csv_print("[]", full, NULL, csv_columns, out);
	if (!one) {
		log_error("--csv: the section %s has no table of its own, or there was nothing to make it of: take "
			  "--section events, threads or another one, or --by",
			  chosen_name(r));
		return -EINVAL;
	}
	error = json_text(r, one, &text);
	if (!error)
		error = csv_print(text, one->is->name, table, csv_columns, out);
	free(text);
	return error;
}
