/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * gains.h - what the run would be shorter by, where a finding is about something that a simulation can leave out.
 */
#ifndef GASPBPF_ANALYSIS_GAINS_H
#define GASPBPF_ANALYSIS_GAINS_H

#include "analysis/profile_data.h"
#include "simulate/relations.h"

/*
 * finding->gain, simulated. finding->has_gain stays false where there is no recording, where that is too large, where
 * it is not known where the calls are, or where the simulation fails; then the finding has to say of its own figure
 * that it is a bound.
 */
void report_find_gain(struct report *r, const struct relief *relief, struct finding *finding);

/* The finding has its gain by this relief, which may end: for what all of them would give together. */
void report_keep_relief(struct report *r, const struct relief *relief, struct finding *finding);
void report_forget_reliefs(struct report *r);

/*
 * What each of these findings, which have a gain and are not told yet, would give beside all that are told and all of
 * these: gains[], ns; 0: nothing, or it is not known.
 */
void report_find_gains_beside(struct report *r, const struct finding *findings, size_t count, uint64_t *gains);

/* What all findings with a simulated gain would give together (r->together): once they are in their order. */
void report_find_together(struct report *r);
/* The same in words: "1 and 3 together: the 24 s observed would be ... shorter"; "": not known. Into text. */
const char *report_together_text(const struct report *r, char *text, size_t room);
#define TOGETHER_ROOM 400

/* gains[]: what the run would be shorter by with each of the reliefs. False: it is not known. A simulation that fails
 * is no reason to have no report: the findings say that it failed (r->simulation_error). */
bool report_relieve(struct report *r, const struct relief *reliefs, size_t count, uint64_t *gains);

#define OBSERVED_ROOM 60

/* "the 24 s observed": what a gain is a part of. The run itself may be longer. Into text. */
const char *report_observed(const struct report *r, char *text, size_t room);

/* "; CONDITION, the 24 s observed would be 1.2 s (5.0 %) shorter"; without a gain what stands in `otherwise`. Into
 * text. */
const char *gain_text(const struct report *r, const struct finding *finding, const char *condition,
		      const char *otherwise, char *text, size_t room);

#endif
