/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chrome_colours.h - the colours of a Chrome trace. Private to user/export.
 */
#ifndef GASPBPF_EXPORT_CHROME_COLOURS_H
#define GASPBPF_EXPORT_CHROME_COLOURS_H

#include "meaning/meaning.h"

/* The colour of calls of a role, by its name: those that wait are red to orange, those that move data blue. */
const char *chrome_colour(enum role role);

#endif
