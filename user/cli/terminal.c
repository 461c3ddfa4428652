/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * terminal.c - what standard output is, and what may be written to it: how wide, in colours, in which letters.
 */
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"

static bool is_terminal(void)
{
	return isatty(STDOUT_FILENO);
}

/* One that knows no escape sequences, or of which nothing is known. */
static bool is_dumb(void)
{
	const char *term = getenv("TERM");

	return !term || !*term || !strcmp(term, "dumb");
}

#define COLUMNS_MOST 10000

unsigned cli_width(void)
{
	const char *asked = getenv("COLUMNS");
	struct winsize size;
	unsigned long width;
	char *end;

	if (is_terminal() && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	/* A pipe, a file, or a terminal that does not know its size. */
	width = asked ? strtoul(asked, &end, 10) : 0;
	return asked && end != asked && !*end && width <= COLUMNS_MOST ? width : 0;
}

bool cli_colour(void)
{
	const char *no = getenv("NO_COLOR");

	return is_terminal() && !is_dumb() && !(no && *no);
}

/* The user's locale, and not that of the program, which stays "C". */
static bool is_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", NULL);
	bool utf8 = locale && !strcmp(nl_langinfo_l(CODESET, locale), "UTF-8");

	if (locale)
		freelocale(locale);
	return utf8;
}

int cli_parse_colours(const char *text, enum cli_colours *colours)
{
	static const struct {
		const char *name;
		enum cli_colours colours;
	} names[] = {
		{ "auto", COLOURS_AUTO },     { "tty", COLOURS_AUTO },   { "if-tty", COLOURS_AUTO },
		{ "always", COLOURS_ALWAYS }, { "yes", COLOURS_ALWAYS }, { "force", COLOURS_ALWAYS },
		{ "never", COLOURS_NEVER },   { "no", COLOURS_NEVER },   { "none", COLOURS_NEVER },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(text, names[i].name))
			continue;
		*colours = names[i].colours;
		return 0;
	}
	return -1;
}

void cli_style(struct report_style *style, enum cli_colours colours)
{
	bool pictures = is_terminal() || colours == COLOURS_ALWAYS;

	style->width = cli_width();
	style->colour = colours == COLOURS_ALWAYS || (colours == COLOURS_AUTO && cli_colour());
	style->bars = !pictures                                                ? BARS_NONE
		      : is_utf8() && !(is_dumb() && colours != COLOURS_ALWAYS) ? BARS_UNICODE
									       : BARS_ASCII;
}
