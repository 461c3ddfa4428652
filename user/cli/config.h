/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.h - options from a file: those of a command line, without the dashes.
 *
 *     # what to watch
 *     all
 *     listen       127.0.0.1:9464
 *     max-overhead = 1%
 */
#ifndef GASPBPF_CONFIG_H
#define GASPBPF_CONFIG_H

#include "cli/cli.h"

/*
 * The arguments of a command with those of its file put in front, so that the command line has the last word: argv[0],
 * the file's, argv[1...], NULL. The file is that of --config, else `usual` (NULL: none) if it exists. *path: which one
 * (malloc'ed; NULL: none). 0 or -errno, said.
 */
int config_arguments(int argc, char *const argv[], const struct argp *parser, const char *usual,
		     struct text_list *arguments, char **path);
void config_free(struct text_list *arguments);

/*
 * The options that two such lists have differently in what comes from their files, but for those in `but` (ended by
 * NULL): "lazy, models". The command line of argc arguments is in both. The caller frees; NULL: there are none, or no
 * memory.
 */
char *config_changes(const struct text_list *was, const struct text_list *now, int argc, const struct argp *parser,
		     const char *const *but);

#endif
