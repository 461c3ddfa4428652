/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * teams.h - regions of several threads, and the shares that these have; only where sim.teller is there. Private to
 * user/simulate.
 */
#ifndef GASPBPF_SIMULATE_TEAMS_H
#define GASPBPF_SIMULATE_TEAMS_H

#include "simulate/parts.h"

int teams_open(struct sim *sim); /* after the first reading */
void teams_close(struct sim *sim);
/* The first reading: a call that is no operation. */
void teams_note(struct sim *sim, const struct span *span);
/* Whether the start of a call is to be fed as one of these: by its facts, the one or the other. */
bool teams_want(const struct sim *sim, const struct event *event);
/* 0 or -ENOMEM. */
int teams_feed_team(struct sim *sim, const struct span *span, struct team **team);
int teams_feed_share(struct sim *sim, const struct span *span, struct share **share);
/* A chunk has been fed: which share is of which region. */
void teams_settle(struct sim *sim);
/* The thread comes to its share. 0: it can go on, and may have been moved there; 1: it is woken later; or -errno. */
int teams_come(struct sim *sim, uint32_t thread, struct share *share);
/* The thread has come there, and its nest has the call. 0 or -errno. */
int teams_begin(struct sim *sim, uint32_t thread, struct team *team);
int teams_begin_share(struct sim *sim, uint32_t thread, struct share *share);
/* The innermost call of its nest ends at that time: as teams_come(). */
int teams_end(struct sim *sim, uint32_t thread, uint64_t time);
/* It has, and will leave the nest. 0 or -errno. */
int teams_left(struct sim *sim, uint32_t thread, uint64_t time);
/* It goes on without the others: to its share; NULL: from the end of its region. */
void teams_give_up(struct sim *sim, uint32_t thread, struct share *share);

#endif
