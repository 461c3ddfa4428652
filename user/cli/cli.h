/*
 * cli.h - one function a command, and what commands share.
 */
#ifndef GASPBPF_CLI_H
#define GASPBPF_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "model/model.h"

/* Each takes the command's own arguments, argv[0] being "gaspbpf COMMAND". Exit status: 0, 1 error, 2 usage. */
int command_record(int argc, char **argv);
int command_report(int argc, char **argv);
int command_export(int argc, char **argv);
int command_list(int argc, char **argv);
int command_doctor(int argc, char **argv);

/*
 * The models of $GASPBPF_MODELS, else of models/ beside the program, else of the installed folder; then the
 * given files. 0 or -errno, said.
 */
int cli_load_models(struct model_set **set, char *const *files, size_t nfiles);

/* -p and -m may repeat or be comma-separated: appends to a list. */
struct pid_list {
	int *pids;
	size_t count;
};
/* "17,4242". 0, -EINVAL (said) or -ENOMEM. */
int cli_parse_pids(struct pid_list *list, const char *text);

struct text_list {
	char **items;
	size_t count;
};
int cli_append(struct text_list *list, char *item);

/* Columns of the terminal on stdout, 0 when it is none; and whether colour is welcome there. */
unsigned cli_width(void);
bool cli_colour(void);

#endif
