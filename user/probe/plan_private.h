/*
 * plan_private.h - what the files that make a plan share.
 */
#ifndef GASPBPF_PLAN_PRIVATE_H
#define GASPBPF_PLAN_PRIVATE_H

#include "probe/probe.h"

/* Decides for each site whether its return may be observed; fills site.no_return. */
void plan_choose_returns(struct plan *plan);

#endif
