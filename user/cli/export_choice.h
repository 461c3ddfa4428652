/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export_choice.h - which part of a recording is exported. Private to user/cli.
 */
#ifndef GASPBPF_CLI_EXPORT_CHOICE_H
#define GASPBPF_CLI_EXPORT_CHOICE_H

#include <argp.h>

#include "recording/recording.h"

/* Zero: all of it. What it points to is the command line's. */
struct export_choice {
	const char *from, *to, *over, *ranks;
};

/* --from, --to, --spans-over, --ranks: a child of a command's argp, whose input is the choice. */
extern const struct argp export_choice_parser;

/* Before anything is read. 0 or -errno, said. */
int export_choose(const struct export_choice *choice, struct recording *recording, const char *name);
/* How much was left out, to standard error: a reading more. Nothing where all was asked for. */
void export_say_choice(const struct export_choice *choice, struct recording *recording);

#endif
