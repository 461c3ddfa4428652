/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * put.h - parts of the JSON report that several analyses write. All times ns; what is unknown is null. Private to
 * user/analysis.
 */
#ifndef GASPBPF_PUT_H
#define GASPBPF_PUT_H

#include "analysis/profile_data.h"
#include "util/json.h"

/* Each puts keys into the object that is open. */
void put_thread_ids(struct json *j, const struct report *r, uint32_t thread);
void put_event_name(struct json *j, const struct report *r, uint32_t event);
void put_tally(struct json *j, const struct tally *t);
/* Where a call site is, whole; NO_INDEX: null. */
void put_call_site(struct json *j, const char *key, const struct definitions *d, uint32_t site);

#endif
