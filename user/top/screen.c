/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * screen.c - the live screen: what is drawn, and what keys do.
 *
 * Every line is cut to the screen's width, and what does not fit below is left out; so any size will do. Names were
 * made safe to print before they come here.
 */
#include <ctype.h>
#include <curses.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording/labels.h"
#include "top/top.h"
#include "util/format.h"
#include "util/log.h"

#define LOW 16 /* lines; a screen with fewer is for the rows */

enum mode { MODE_ROWS, MODE_EVENTS, MODE_HELP };

struct screen {
	struct top *top;
	SCREEN *terminal;
	enum mode mode;
	bool paused, typing; /* typing: a filter */
	bool leaving;        /* it is asked what is to become of the command */
	char typed[64];
	size_t selected, first;   /* rows: by place; first: of those drawn */
	uint32_t process, thread; /* of the selected row, so that it stays selected when the order changes */
	bool has_selected;
	struct top_row drilled; /* MODE_EVENTS */
	pid_t drilled_pid;      /* whose it is, and on which node: where nodes tell, numbers of processes change */
	uint32_t drilled_node;
	bool colour;
};

static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int signal)
{
	stop_asked = 1;
}

/*
 * ^Z is served between two drawings, and once however often it was asked for. (ncurses would stop in its signal
 * handler, and in a handler within that one where the signal comes twice.) A shell that still prints that we stopped,
 * or lets us go on in the background, has not given the terminal back.
 */
bool screen_stop(struct screen *s)
{
	pid_t front;

	if (!s || !stop_asked)
		return false;
	endwin();
	do {
		raise(SIGSTOP);
		front = tcgetpgrp(STDIN_FILENO);
	} while (front > 0 && front != getpgrp());
	stop_asked = 0;
	clearok(curscr, TRUE);
	return true;
}

struct screen *screen_open(struct top *top)
{
	struct sigaction stop = { .sa_handler = ask_to_stop }, before;
	struct screen *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->top = top;
	setlocale(LC_CTYPE, "");
	if (!sigaction(SIGTSTP, NULL, &before) && before.sa_handler != SIG_IGN)
		sigaction(SIGTSTP, &stop, NULL);
	s->terminal = newterm(NULL, stdout, stdin);
	if (!s->terminal) {
		log_error("the terminal cannot be used: set TERM to what it is, or use --once");
		free(s);
		return NULL;
	}
	set_term(s->terminal);
	set_escdelay(25);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	s->colour = has_colors() && !getenv("NO_COLOR") && start_color() == OK && use_default_colors() == OK;
	if (s->colour) {
		init_pair(1, COLOR_CYAN, -1);
		init_pair(2, COLOR_YELLOW, -1);
	}
	return s;
}

void screen_close(struct screen *s)
{
	if (!s)
		return;
	endwin();
	delscreen(s->terminal);
	free(s);
}

bool screen_paused(const struct screen *s)
{
	return s->paused;
}

/* --- drawing ----------------------------------------------------------------- */

/* One line, cut to the width. False: it is below the screen. */
static bool put_line(int y, const char *text)
{
	if (y >= LINES)
		return false;
	move(y, 0);
	clrtoeol();
	addnstr(text, COLS - (y == LINES - 1)); /* the last cell of the last line would scroll some terminals */
	return true;
}

static void put_lit(int y, const char *text, attr_t attributes)
{
	attron(attributes);
	put_line(y, text);
	for (int x = getcurx(stdscr); y == getcury(stdscr) && attributes & A_REVERSE && x < COLS - 1; x++)
		addch(' ');
	attroff(attributes);
}

static attr_t tint(const struct screen *s, int pair)
{
	return s->colour ? COLOR_PAIR(pair) : A_BOLD;
}

static void draw_title(struct screen *s)
{
	const struct top *top = s->top;
	char line[300], interval[FORMAT_SIZE];
	int used;

	used = snprintf(line, sizeof(line), "gaspbpf top  %s%s %s  by %s%s", s->paused ? "PAUSED  " : "",
			top->view.all ? "all of" : "last",
			format_time(interval, top->view.all ? top_since(top) : top_interval(top)),
			top_sort_name(top->view.sort), top->view.reverse ? " reversed" : "");
	if (*top->view.filter && used < (int)sizeof(line))
		used += snprintf(line + used, sizeof(line) - used, "  /%s", top->view.filter);
	if (used < (int)sizeof(line))
		snprintf(line + used, sizeof(line) - used, "  %zu process%s %zu thread%s", top->alive,
			 top->alive == 1 ? "" : "es", top_threads(top), top_threads(top) == 1 ? "" : "s");
	put_lit(0, line, A_BOLD);
}

/* What stands out; of a low screen it takes a line only where there is something. */
static int put_news(struct screen *s, int y, const char *what, const char *news)
{
	char text[420];

	if (!*news && LINES < LOW)
		return y;
	snprintf(text, sizeof(text), "%s: %s", what, *news ? news : "-");
	put_lit(y, text, *news ? tint(s, 2) : 0);
	return y + 1;
}

/* Returns the first line below. */
static int draw_head(struct screen *s)
{
	char line[400];
	int y = 1;

	draw_title(s);
	put_line(y++, top_line_totals(s->top, line, sizeof(line)));
	if (LINES >= LOW)
		put_line(y++, s->top->cost);
	if (*top_line_nodes(s->top, line, sizeof(line)))
		y = put_news(s, y, "nodes", line);
	y = put_news(s, y, "last", top_line_last(s->top, line, sizeof(line)));
	if (!s->top->told)
		y = put_news(s, y, "lock", top_line_lock(s->top, line, sizeof(line)));
	if (*top_line_still(s->top, line, sizeof(line)))
		y = put_news(s, y, "hint", line);
	if (*top_line_unmodelled(s->top, false, line, sizeof(line)))
		y = put_news(s, y, TOP_UNMODELLED, line);
	return *top_line_unmodelled(s->top, true, line, sizeof(line)) ? put_news(s, y, TOP_INSIDE, line) : y;
}

static void append_cell(char *line, size_t room, const char *text, unsigned width, bool left)
{
	size_t used = strlen(line);

	snprintf(line + used, room - used, left ? "%s%-*.*s" : "%s%*.*s", used ? " " : "", (int)width, (int)width,
		 text);
}

static void draw_titles(int y, const struct top_column *columns, size_t count)
{
	char line[600] = "";

	for (size_t c = 0; c < count; c++)
		append_cell(line, sizeof(line), columns[c].title, columns[c].width,
			    columns[c].kind == TOP_NAME || columns[c].kind == TOP_IN);
	put_lit(y, line, A_REVERSE);
}

/* The selected row keeps its place in the list's order. */
static void find_selected(struct screen *s)
{
	for (size_t i = 0; s->has_selected && i < s->top->nrows; i++)
		if (s->top->rows[i].process == s->process && s->top->rows[i].thread == s->thread)
			s->selected = i;
	if (s->selected >= s->top->nrows)
		s->selected = s->top->nrows ? s->top->nrows - 1 : 0;
}

static void note_selected(struct screen *s)
{
	s->has_selected = s->selected < s->top->nrows;
	if (!s->has_selected)
		return;
	s->process = s->top->rows[s->selected].process;
	s->thread = s->top->rows[s->selected].thread;
}

static void draw_row(struct screen *s, int y, size_t index, const struct top_column *columns, size_t count)
{
	char line[600] = "", cell[300];

	for (size_t c = 0; c < count; c++)
		append_cell(line, sizeof(line), top_cell(s->top, &s->top->rows[index], &columns[c], cell, sizeof(cell)),
			    columns[c].width, columns[c].kind == TOP_NAME || columns[c].kind == TOP_IN);
	if (index == s->selected)
		put_lit(y, line, A_BOLD | A_UNDERLINE);
	else
		put_line(y, line);
}

/* There are more rows than fit: which ones these are, at the right end of the first line. */
static void draw_place(const struct screen *s, size_t room)
{
	size_t last = s->first + room < s->top->nrows ? s->first + room : s->top->nrows;
	char text[80];
	int length = snprintf(text, sizeof(text), "  rows %zu-%zu of %zu", s->first + 1, last, s->top->nrows);

	if (room && COLS > 2 * length)
		mvaddstr(0, COLS - length, text);
}

static void draw_rows(struct screen *s, int y)
{
	struct top_column columns[TOP_COLUMNS];
	size_t count = top_columns(s->top, COLS, columns), room;

	draw_titles(y++, columns, count);
	room = LINES - 1 > y ? LINES - 1 - y : 0;
	find_selected(s);
	if (s->selected < s->first)
		s->first = s->selected;
	if (room && s->selected >= s->first + room)
		s->first = s->selected - room + 1;
	for (size_t i = 0; i < room && s->first + i < s->top->nrows; i++)
		draw_row(s, y++, s->first + i, columns, count);
	if (!s->top->nrows && room)
		put_line(y, *s->top->view.filter ? "nothing has this in its name: / changes the filter"
						 : "no process is observed");
	if (room < s->top->nrows)
		draw_place(s, room);
}

static bool is_drilled(const struct screen *s, const struct top_row *row)
{
	const struct def_process *p = &s->top->d->processes[row->process];

	if (!s->top->told)
		return row->process == s->drilled.process && row->thread == s->drilled.thread;
	return (pid_t)p->pid == s->drilled_pid && p->node == s->drilled_node;
}

/* What the drilled row is now; false: it is not there any more. */
static bool refresh_drilled(struct screen *s)
{
	for (size_t i = 0; i < s->top->nrows; i++) {
		if (is_drilled(s, &s->top->rows[i])) {
			s->drilled = s->top->rows[i];
			return true;
		}
	}
	return false;
}

/* The columns of the table of events that there is room, and reason, for. */
struct event_columns {
	unsigned name, site;
	bool longest, bytes;
};

static struct event_columns choose_event_columns(const struct live_event *events, size_t count)
{
	struct event_columns c = { .name = COLS >= 100  ? 36
					   : COLS >= 72 ? 26
							: 14,
				   .longest = COLS >= 100,
				   .site = 60 };

	for (size_t i = 0; i < count; i++)
		c.bytes |= events[i].moves;
	return c;
}

static void put_event_line(int y, const struct event_columns *c, const char *name, const struct top_event_cells *cells,
			   const char *site, attr_t attributes)
{
	char line[600] = "";

	append_cell(line, sizeof(line), name, c->name, true);
	append_cell(line, sizeof(line), cells->self, 5, false);
	append_cell(line, sizeof(line), cells->calls, 9, false);
	append_cell(line, sizeof(line), cells->mean, 9, false);
	if (c->longest)
		append_cell(line, sizeof(line), cells->longest, 9, false);
	if (c->bytes)
		append_cell(line, sizeof(line), cells->bytes, 9, false);
	append_cell(line, sizeof(line), site, c->site, true);
	put_lit(y, line, attributes);
}

static void draw_event_titles(const struct screen *s, int y, const struct event_columns *columns)
{
	struct top_event_cells titles = { .self = "SELF", .mean = "MEAN", .longest = "LONGEST" };

	strcpy(titles.calls, s->top->view.all ? "CALLS" : "CALLS/S");
	strcpy(titles.bytes, s->top->view.all ? "BYTES" : "B/S");
	put_event_line(y, columns, "EVENT", &titles, "CALLED FROM", A_REVERSE);
}

static void draw_event(struct screen *s, int y, const struct event_columns *columns, const struct live_event *event)
{
	struct top_event_cells cells;
	char site[LABEL_ROOM], name[LABEL_ROOM];

	top_event_text(s->top, &s->drilled, event, &cells);
	top_event_name(s->top, event->probe, name, sizeof(name));
	put_event_line(y, columns, name, &cells, top_site_name(s->top, event->site, site, sizeof(site)), 0);
}

static void label_drilled(const struct screen *s, char *text, size_t room)
{
	char label[LABEL_ROOM];

	if (s->drilled.thread != NO_INDEX)
		thread_label(s->top->d, s->drilled.thread, label, sizeof(label));
	else
		process_label(s->top->d, s->drilled.process, label, sizeof(label));
	if (s->top->told)
		snprintf(text, room, "%s on %s", label, process_node(s->top->d, s->drilled.process) ?: "?");
	else
		snprintf(text, room, "%s", label);
}

static void draw_events(struct screen *s, int y)
{
	char line[3 * LABEL_ROOM + 40], who[2 * LABEL_ROOM], event[LABEL_ROOM], time[FORMAT_SIZE];
	bool there = refresh_drilled(s);
	struct live_event *events;
	struct event_columns columns;
	size_t count = 0;

	if (!there)
		s->drilled.figures = NULL; /* it was of a thread that is gone */
	events = there ? top_events(s->top, &s->drilled, &count) : NULL;
	columns = choose_event_columns(events, events ? count : 0);
	label_drilled(s, who, sizeof(who));
	if (!there)
		snprintf(line, sizeof(line), "%s: not there any more", who);
	else if (s->drilled.in.probe != NO_INDEX)
		snprintf(line, sizeof(line), "%s: in %s for %s", who,
			 top_event_name(s->top, s->drilled.in.probe, event, sizeof(event)),
			 format_time(time, top_now(s->top) > s->drilled.in.start ? top_now(s->top) - s->drilled.in.start
										 : 0));
	else
		snprintf(line, sizeof(line), "%s: %s", who,
			 s->drilled.figures ? "in no observed call" : "no call seen yet");
	put_lit(y++, line, tint(s, 1));
	draw_event_titles(s, y++, &columns);
	for (size_t i = 0; events && i < count && y < LINES - 1; i++)
		draw_event(s, y++, &columns, &events[i]);
	free(events);
}

static void draw_help(void)
{
	static const char *const lines[] = {
		"COMP  in no observed call              BARR  in barriers",
		"WAIT  waiting for others, fences       LOCK  acquiring and releasing locks",
		"DATA  get, put, send, receive          COLL  in collective operations",
		"TASK  tasks of the runtime             MEM   malloc, free",
		"ELSE  in other observed calls          LAST  came last to so many meetings",
		"late  so long all others waited in a barrier or collective for the last one",
		"~     in part an estimate: calls were lost, or only counted",
		"?     no call of it was seen yet       -     not known, or nothing of the kind",
		"",
		"up down   choose a row                 Enter its events; again: back",
		"< >       sort by another column       r     reverse the order",
		"/         show only names with ...     t     threads, or processes",
		"a         since the start, or now      p     pause, and go on",
		"+ -       look less or more often      h     this help",
		"q         quit",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && (int)i + 1 < LINES - 1; i++)
		put_line(i + 1, lines[i]);
}

static void draw_keys(const struct screen *s)
{
	char line[200];

	if (s->typing)
		snprintf(line, sizeof(line), "show only names with: %s_   (Enter: so be it, Esc: no)", s->typed);
	else if (s->leaving && s->top->command)
		snprintf(line, sizeof(line), "q again: leave %d running  e: end it (SIGTERM)  other keys: stay",
			 s->top->command);
	else if (s->mode == MODE_ROWS)
		snprintf(line, sizeof(line),
			 "q quit  h help  Enter events  <> sort  / filter  t threads  a all  p pause");
	else
		snprintf(line, sizeof(line), "q back  %s",
			 s->mode == MODE_HELP ? "h back" : "Enter back  a all  p pause  h help");
	put_lit(LINES - 1, line, A_REVERSE);
}

void screen_draw(struct screen *s)
{
	int y;

	erase();
	if (top_rows(s->top))
		return;
	if (s->mode == MODE_HELP) {
		draw_title(s);
		draw_help();
	} else {
		y = draw_head(s);
		if (s->mode == MODE_EVENTS)
			draw_events(s, y);
		else
			draw_rows(s, y);
	}
	draw_keys(s);
	refresh();
}

/* --- keys ---------------------------------------------------------------------- */

static void type_key(struct screen *s, int key)
{
	size_t used = strlen(s->typed);

	if (key == '\r' || key == '\n' || key == KEY_ENTER) {
		strcpy(s->top->view.filter, s->typed);
		s->typing = false;
	} else if (key == 27) {
		s->typing = false;
	} else if ((key == KEY_BACKSPACE || key == 127 || key == 8) && used) {
		s->typed[used - 1] = '\0';
	} else if (key >= ' ' && key < 127 && used + 1 < sizeof(s->typed)) {
		s->typed[used] = key;
		s->typed[used + 1] = '\0';
	}
}

static void move_selection(struct screen *s, long by)
{
	if (by < 0 && s->selected < (size_t)-by)
		s->selected = 0;
	else
		s->selected += by;
	if (s->selected >= s->top->nrows)
		s->selected = s->top->nrows ? s->top->nrows - 1 : 0;
	note_selected(s);
}

static void drill(struct screen *s)
{
	if (s->mode == MODE_EVENTS) {
		s->mode = MODE_ROWS;
	} else if (s->selected < s->top->nrows) {
		s->drilled = s->top->rows[s->selected];
		s->drilled_pid = s->top->d->processes[s->drilled.process].pid;
		s->drilled_node = s->top->d->processes[s->drilled.process].node;
		s->mode = MODE_EVENTS;
		note_selected(s);
	}
}

/* Back to where one was; true: there is nothing behind. */
static bool go_back(struct screen *s)
{
	if (s->mode == MODE_ROWS)
		return true;
	s->mode = MODE_ROWS;
	return false;
}

/* What was started for this may be worth hours: it is neither ended nor left behind without a word. */
static enum screen_wish leave(struct screen *s)
{
	if (!s->top->command)
		return SCREEN_QUIT;
	s->leaving = true;
	return SCREEN_REDRAW;
}

static enum screen_wish answer(struct screen *s, int key)
{
	if (key == KEY_RESIZE)
		return SCREEN_REDRAW;
	s->leaving = false;
	return key == 'q' || !s->top->command ? SCREEN_QUIT : key == 'e' ? SCREEN_END_COMMAND : SCREEN_REDRAW;
}

static enum screen_wish press(struct screen *s, int key)
{
	struct top_view *view = &s->top->view;
	int page = LINES > 8 ? LINES - 8 : 1;

	switch (key) {
	case 'q':
		return go_back(s) ? leave(s) : SCREEN_REDRAW;
	case 27:
	case KEY_LEFT:
		go_back(s);
		break;
	case KEY_UP:
	case 'k':
		move_selection(s, -1);
		break;
	case KEY_DOWN:
	case 'j':
		move_selection(s, 1);
		break;
	case KEY_PPAGE:
		move_selection(s, -page);
		break;
	case KEY_NPAGE:
		move_selection(s, page);
		break;
	case '\r':
	case '\n':
	case KEY_ENTER:
	case KEY_RIGHT:
		drill(s);
		break;
	case '>':
		view->sort = (view->sort + 1) % TOP_SORTS;
		break;
	case '<':
		view->sort = (view->sort + TOP_SORTS - 1) % TOP_SORTS;
		break;
	case 'r':
		view->reverse = !view->reverse;
		break;
	case 't':
		view->threads = !view->threads;
		s->mode = MODE_ROWS;
		s->has_selected = false;
		s->selected = s->first = 0;
		break;
	case 'a':
		view->all = !view->all;
		break;
	case 'p':
	case ' ':
		s->paused = !s->paused;
		break;
	case '+':
		return SCREEN_SLOWER;
	case '-':
		return SCREEN_FASTER;
	case 'h':
	case '?':
		s->mode = s->mode == MODE_HELP ? MODE_ROWS : MODE_HELP;
		break;
	case '/':
		s->typing = true;
		strcpy(s->typed, view->filter);
		s->mode = MODE_ROWS;
		break;
	case KEY_RESIZE:
		break;
	case 12:
		clearok(stdscr, TRUE);
		break; /* ^L */
	default:
		return SCREEN_NOTHING;
	}
	return SCREEN_REDRAW;
}

/* Nobody will ever press a key again. SIGHUP says so, too, but not to who ignores it. */
static bool terminal_is_gone(void)
{
	struct pollfd keys = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&keys, 1, 0) > 0 && keys.revents & (POLLHUP | POLLERR | POLLNVAL);
}

enum screen_wish screen_keys(struct screen *s)
{
	enum screen_wish wish = SCREEN_NOTHING, one;
	int key;

	if (terminal_is_gone())
		return SCREEN_QUIT;

	while ((key = getch()) != ERR) {
		if (s->typing && key != KEY_RESIZE) {
			type_key(s, key);
			one = SCREEN_REDRAW;
		} else if (s->leaving) {
			one = answer(s, key);
		} else {
			one = press(s, key);
		}
		if (one == SCREEN_QUIT || one == SCREEN_END_COMMAND)
			return one;
		if (one != SCREEN_NOTHING)
			wish = wish == SCREEN_FASTER || wish == SCREEN_SLOWER ? wish : one;
	}
	return wish;
}
