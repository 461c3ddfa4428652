/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * findings_symptoms.c - what is seen of a cause is told below it, and not beside it.
 *
 * "GASP_MPI_WAITALL takes 40 % of the threads' time" is true, and no cause: it is what a late rank, a lock that many
 * want or a lack of processors looks like. It is a symptom where causes that were found make up for half of its time:
 *
 *   - others wait in its calls for somebody who is late: as long as was added up there, call by call (finding.seen);
 *   - the cause is about time in calls of the same event, as a lock's is: its weight; or in others that belong to these
 *     (finding.seen);
 *   - threads had no processor for four fifths of that time, and longer: it may be all of it, and no part is known.
 *
 * It becomes that of the cause that explains most of it.
 */
#include "analysis/findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/around.h"
#include "analysis/printer.h"

#define EXPLAINED 2 /* one in so many ns */
#define MAY_BE 4    /* so many fifths, where it may be all of it, and no part is known */

static bool is_one_of(const char *kind, const char *const *kinds)
{
	for (; *kinds; kinds++)
		if (!strcmp(kind, *kinds))
			return true;
	return false;
}

static bool may_be_symptom(const struct finding *f)
{
	static const char *const kinds[] = { "hot_event", "no_overlap", "team_wait", NULL };

	return is_one_of(f->kind, kinds);
}

/* Their weight is time in calls of their event. */
static bool is_of_its_event(const struct finding *f)
{
	static const char *const kinds[] = { "lock_contention", "lock_convoy",    "failed_tries",
					     "churn",           "small_messages", "uneven_region",
					     "short_regions",   "small_chunks",   NULL };

	return is_one_of(f->kind, kinds);
}

/* Is it seen in calls of this event: of its own, or of one around those of its own that take most? */
static bool is_seen_in(const struct report *r, const struct finding *symptom, uint32_t event)
{
	struct around around;

	if (event == symptom->event)
		return true;
	for (size_t i = 0; i < r->nsites; i++) /* by time */
		if (r->sites[i].event == symptom->event)
			return around_calls(r, symptom->event, r->sites[i].site, &around) && around.event == event;
	return false;
}

/* ns of the symptom. */
static uint64_t explains(const struct report *r, const struct finding *cause, const struct finding *symptom)
{
	uint64_t sum = 0;

	if (!strcmp(cause->kind, "starved") && !strcmp(symptom->kind, "no_overlap"))
		return 0; /* the code is so, with processors or without */
	if (!strcmp(cause->kind, "starved"))
		return cause->weight >= symptom->weight / 5 * MAY_BE ? cause->weight : 0;
	if (is_of_its_event(cause) && cause->event == symptom->event)
		return cause->weight;
	for (size_t i = 0; i < cause->nseen; i++)
		if (is_seen_in(r, symptom, profile_event(r->profile, r->d, cause->seen[i].probe)))
			sum += cause->seen[i].ns;
	return sum;
}

/* Which finding explains most of it; NO_INDEX: they all do not explain half of it. */
static uint32_t cause_of(const struct report *r, const struct finding *symptom)
{
	uint64_t all = 0, most = 0;
	uint32_t cause = NO_INDEX;

	for (size_t i = 0; i < r->nfindings; i++) {
		uint64_t ns = may_be_symptom(&r->findings[i]) ? 0 : explains(r, &r->findings[i], symptom);

		all += ns;
		if (ns > most) {
			most = ns;
			cause = i;
		}
	}
	return all >= symptom->weight / EXPLAINED ? cause : NO_INDEX;
}

bool findings_is_symptom(const struct report *r, const struct finding *finding)
{
	return may_be_symptom(finding) && cause_of(r, finding) != NO_INDEX;
}

int findings_fold(struct report *r)
{
	size_t room = r->nsymptoms + r->nfindings, kept = 0;
	struct finding *larger = realloc(r->symptoms, (room + 1) * sizeof(*larger));
	uint32_t *number = calloc(r->nfindings + 1, sizeof(*number)), *cause = calloc(room + 1, sizeof(*cause));
	int error = larger && number && cause ? 0 : -ENOMEM;

	r->symptoms = larger ?: r->symptoms;
	for (size_t i = 0; i < r->nfindings && !error; i++)
		cause[i] = may_be_symptom(&r->findings[i]) ? cause_of(r, &r->findings[i]) : NO_INDEX;
	for (size_t i = 0, count = r->nfindings; i < count && !error; i++) {
		struct finding finding = r->findings[i];

		if (cause[i] == NO_INDEX) {
			number[i] = kept;
			r->findings[kept++] = finding;
			continue;
		}
		finding.cause = cause[i];
		r->symptoms[r->nsymptoms++] = finding;
	}
	/* Causes are no symptoms, so each has its number. */
	for (size_t i = 0; i < r->nsymptoms && !error; i++)
		r->symptoms[i].cause = number[r->symptoms[i].cause];
	if (!error)
		r->nfindings = kept;
	free(number);
	free(cause);
	return error;
}

void findings_print_symptoms(const struct printer *p, size_t cause)
{
	for (size_t i = 0; i < p->r->nsymptoms; i++) {
		struct paragraph paragraph;

		if (p->r->symptoms[i].cause != cause)
			continue;
		paragraph = printer_item(p, "  ");
		paragraph_words(&paragraph, "%s: %s",
				strcmp(p->r->findings[cause].kind, "starved") ? "seen as" : "may be seen as",
				p->r->symptoms[i].text);
		paragraph_end(&paragraph);
	}
}
