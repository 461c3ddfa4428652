/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vain.h - calls that ask whether something has come, and it has not. Private to user/analysis.
 */
#ifndef GASPBPF_VAIN_H
#define GASPBPF_VAIN_H

#include <stddef.h>
#include <stdint.h>

struct report;

/* "; 340 of 350 calls found nothing: ...": of the event, where that is most of them; else "". Into text, which is
 * returned.
 */
const char *vain_text(const struct report *r, uint32_t event, char *text, size_t room);

#endif
