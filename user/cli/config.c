/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.c - options from a file.
 *
 * Each line becomes an argument of the command line, whose parser has the say. That an option exists, and has its
 * value, is looked up here: a missing value would be taken from the next line.
 */
#include "cli/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/files.h"
#include "util/log.h"

#define FILE_MOST 65536 /* bytes */

/* Whoever can write what a privileged process obeys has its privileges. 0 or -errno, said. */
static int check_owner(const char *path, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode)) {
		log_error("%s: not a file: give --config a file of options", log_safe(path));
		return -EINVAL;
	}
	if ((st.st_uid && st.st_uid != geteuid()) || st.st_mode & (S_IWGRP | S_IWOTH)) {
		log_error("%s: others may write to it: it tells a privileged program what to do: chown root and chmod "
			  "go-w it",
			  log_safe(path));
		return -EPERM;
	}
	return 0;
}

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (isspace((unsigned char)*text))
		text++;
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = 0;
	return text;
}

/* Takes over the argument. */
static int append(struct text_list *arguments, char *argument)
{
	if (!argument || cli_append(arguments, argument)) {
		free(argument);
		return -ENOMEM;
	}
	return 0;
}

static const struct argp_option *find_option(const struct argp *parser, const char *name, size_t length)
{
	const struct argp_option *option = parser->options, *found = NULL;

	for (; option && (option->name || option->key || option->doc || option->group); option++)
		if (option->name && strlen(option->name) == length && !memcmp(option->name, name, length))
			return option;
	for (const struct argp_child *child = parser->children; !found && child && child->argp; child++)
		found = find_option(child->argp, name, length);
	return found;
}

/* "max-overhead = 1%", "max-overhead 1%" or "all", without blanks around. */
static int add_line(const char *path, unsigned number, char *line, const struct argp *parser,
		    struct text_list *arguments)
{
	const struct argp_option *option;
	size_t name = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789-");
	char *value = line + name, *argument;
	int length;

	option = *value && !isspace((unsigned char)*value) && *value != '=' ? NULL : find_option(parser, line, name);
	if (!option) {
		log_error("%s:%u: %s: not an option: use the long options' names without dashes, such as 'listen "
			  "127.0.0.1:9464'",
			  log_safe(path), number, log_safe(line));
		return -EINVAL;
	}
	value = trim(value);
	if (*value == '=')
		value = trim(value + 1);
	if (name == 6 && !strncmp(line, "config", name)) {
		log_error("%s:%u: a file of options cannot name another one: put the options here", log_safe(path),
			  number);
		return -EINVAL;
	}
	if (!*value == (option->arg && !(option->flags & OPTION_ARG_OPTIONAL))) {
		log_error("%s:%u: %s: %s", log_safe(path), number, option->name,
			  option->arg ? "needs a value: put it behind the name" : "has no value: leave it out");
		return -EINVAL;
	}
	length = *value ? asprintf(&argument, "--%.*s=%s", (int)name, line, value)
			: asprintf(&argument, "--%.*s", (int)name, line);
	return append(arguments, length < 0 ? NULL : argument);
}

/*
 * Appends "--all", "--listen=127.0.0.1:9464", ... to the arguments, each malloc'ed: options that the parser knows, by
 * their whole names. What a privileged process reads must not be writable by others. 0 or -errno, said.
 */
static int read_file(const char *path, const struct argp *parser, struct text_list *arguments)
{
	char *text = NULL, *line, *next;
	unsigned number = 0;
	size_t size;
	int fd = file_open_to_read(path), err = fd < 0 ? fd : check_owner(path, fd);

	/* The file whose owner was asked is the one that is read: by its path it might be another one by then. */
	if (!err)
		text = read_open_file(fd, FILE_MOST, &size);
	if (!err && !text)
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err) {
		if (err != -EINVAL && err != -EPERM)
			log_error("%s: %s: give --config a file of options", log_safe(path), strerror(-err));
		return err;
	}
	if (strlen(text) != size) {
		log_error("%s: has a NUL byte: give --config a file of options", log_safe(path));
		err = -EINVAL;
	}
	for (line = text; !err && line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		number++;
		line = trim(line);
		if (*line && *line != '#')
			err = add_line(path, number, line, parser, arguments);
	}
	free(text);
	return err;
}

/* What --config says on a command line; NULL: nothing. */
static const char *named(int argc, char *const argv[])
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strncmp(argv[i], "--config=", 9))
			return argv[i] + 9;
		if (!strcmp(argv[i], "--config") && i + 1 < argc)
			return argv[i + 1];
	}
	return NULL;
}

int config_arguments(int argc, char *const argv[], const struct argp *parser, const char *usual,
		     struct text_list *arguments, char **path)
{
	const char *file = named(argc, argv);
	bool must = file != NULL;
	int err = append(arguments, strdup(argv[0]));

	*path = NULL;
	if (!file)
		file = usual;
	if (!err && file && (must || !access(file, F_OK))) {
		*path = strdup(file);
		err = *path ? read_file(file, parser, arguments) : -ENOMEM;
	}
	for (int i = 1; !err && i < argc; i++)
		err = append(arguments, strdup(argv[i]));
	if (!err)
		err = cli_append(arguments, NULL);
	if (err)
		config_free(arguments);
	else
		arguments->count--; /* the NULL behind them */
	return err;
}

/* --- what has changed ------------------------------------------------------- */

/* The next "--name" or "--name=value" of a file's part, from *at on: what is behind the name. NULL: none. */
static const char *next_of(const struct text_list *arguments, size_t end, size_t *at, const char *name)
{
	size_t length = strlen(name);

	while (*at < end) {
		const char *argument = arguments->items[(*at)++] + 2;

		if (!strncmp(argument, name, length) && (!argument[length] || argument[length] == '='))
			return argument + length;
	}
	return NULL;
}

static bool differs(const struct text_list *was, const struct text_list *now, int argc, const char *name)
{
	size_t at = 1, at_now = 1; /* behind argv[0] */
	const char *value, *value_now;

	do {
		value = next_of(was, was->count - (argc - 1), &at, name);
		value_now = next_of(now, now->count - (argc - 1), &at_now, name);
		if (!value || !value_now)
			return value != value_now;
	} while (!strcmp(value, value_now));
	return true;
}

static bool is_one_of(const char *const *names, const char *name)
{
	while (*names && strcmp(*names, name))
		names++;
	return *names;
}

static void print_changes(FILE *out, const struct text_list *was, const struct text_list *now, int argc,
			  const struct argp *parser, const char *const *but)
{
	const struct argp_option *option = parser->options;

	for (; option && (option->name || option->key || option->doc || option->group); option++)
		if (option->name && !is_one_of(but, option->name) && differs(was, now, argc, option->name))
			fprintf(out, "%s%s", ftell(out) > 0 ? ", " : "", option->name);
	for (const struct argp_child *child = parser->children; child && child->argp; child++)
		print_changes(out, was, now, argc, child->argp, but);
}

char *config_changes(const struct text_list *was, const struct text_list *now, int argc, const struct argp *parser,
		     const char *const *but)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	print_changes(out, was, now, argc, parser, but);
	if (!fclose(out) && *text)
		return text;
	free(text);
	return NULL;
}

void config_free(struct text_list *arguments)
{
	for (size_t i = 0; i < arguments->count; i++)
		free(arguments->items[i]);
	free(arguments->items);
	*arguments = (struct text_list){ 0 };
}
