/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * choose.c - the processes of this machine that somebody asked for by job, user, name or cgroup.
 *
 * One look through /proc. Who it finds is told at once, with the owners where there are several: a job's number stands
 * in the environment, which each user writes as he likes, so somebody else's process in "the job" is to be seen.
 *
 * Names, jobs and paths are the processes' own words: they are escaped, and only a few of them are shown.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/choose.h"
#include "util/array.h"
#include "util/log.h"
#include "util/text.h"

#define SHOWN 5 /* names of each kind; who wants all of them asks ps */

/* Different texts, in the order in which they came, with how often each did. */
struct few {
	char *text[SHOWN];
	size_t times[SHOWN];
	size_t count;
	bool more;
};

struct search {
	const struct process_choice *choice;
	const char **rank_variables;
	struct pid_list *chosen;
	size_t room;
	size_t found, ranks;
	struct few owners;     /* of those that were found */
	struct few jobs, near; /* of all others: their jobs, and names that are like the one that was asked for */
};

bool choice_is_by_description(const struct process_choice *choice)
{
	return choice->all || choice->ncomms || choice->ncgroups || choice->nusers || choice->njobs ||
	       choice->nlaunchers;
}

/* --- what there is ------------------------------------------------------- */

static int few_add(struct few *few, const char *text)
{
	for (size_t i = 0; i < few->count; i++) {
		if (strcmp(few->text[i], text))
			continue;
		few->times[i]++;
		return 0;
	}
	if (few->count == SHOWN) {
		few->more = true;
		return 0;
	}
	few->text[few->count] = strdup(text);
	few->times[few->count] = 1;
	return few->text[few->count] ? few->count++, 0 : -ENOMEM;
}

static void few_free(struct few *few)
{
	for (size_t i = 0; i < few->count; i++)
		free(few->text[i]);
}

static void few_print(FILE *out, const struct few *few, bool counted)
{
	for (size_t i = 0; i < few->count; i++) {
		fprintf(out, "%s%s", i ? ", " : "", log_safe(few->text[i]));
		if (counted)
			fprintf(out, " (%zu)", few->times[i]);
	}
	fputs(few->more ? ", ..." : "", out);
}

/* Has it the letters of a pattern, in whatever case? */
static bool is_near(const char *name, const char *pattern)
{
	char letters[64];
	size_t n = 0;

	for (; *pattern && n + 1 < sizeof(letters); pattern++)
		if (*pattern != '*' && *pattern != '?')
			letters[n++] = *pattern;
	letters[n] = 0;
	return n && strcasestr(name, letters);
}

/* One that is not chosen may be what was meant. */
static int remember(struct search *s, const struct process *process, const struct about *about)
{
	bool near = false;
	int err = s->choice->njobs && *about->job ? few_add(&s->jobs, about->job) : 0;

	for (size_t i = 0; i < s->choice->ncomms && !near; i++)
		near = is_near(process->name, s->choice->comms[i]);
	return near && !err ? few_add(&s->near, process->name) : err;
}

/* --- the search ---------------------------------------------------------- */

static bool has_rank(const struct search *s, const struct process *process)
{
	for (size_t i = 0; s->rank_variables[i]; i++)
		if (process_getenv(process, s->rank_variables[i]))
			return true;
	return false;
}

static int add(struct search *s, pid_t pid)
{
	if (array_one_more(&s->chosen->pids, &s->room, s->chosen->count, sizeof(*s->chosen->pids)))
		return -ENOMEM;
	s->chosen->pids[s->chosen->count++] = pid;
	return 0;
}

static int judge(struct search *s, const struct process *process)
{
	struct about about;
	int err = about_read(&about, process);

	if (err)
		return err;
	if (!about_wanted(&about, process, s->choice, false)) {
		err = remember(s, process, &about);
	} else {
		s->found++;
		s->ranks += has_rank(s, process);
		err = few_add(&s->owners, about.user) ?: add(s, process->pid);
	}
	about_free(&about);
	return err;
}

/* gaspbpf, what has started it (sudo, a shell of the job), and its helpers. */
static bool is_own(pid_t pid)
{
	return pid == getpid() || process_descends(pid, getpid()) || process_descends(getpid(), pid);
}

static int look(struct search *s, pid_t pid)
{
	struct process *process;
	int err = is_own(pid) ? -ESRCH : process_open_quietly(&process, pid);

	if (err)
		return err == -ENOMEM ? err : 0; /* nothing to observe: gone, a kernel thread, somebody else's */
	err = judge(s, process);
	process_close(process);
	return err;
}

static int look_at_all(struct search *s)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int err = 0;

	if (!dir) {
		err = -errno;
		log_error("/proc: cannot be read: %s: look at its rights, and at the limits (ulimit -a)",
			  strerror(-err));
		return err;
	}
	while (!err && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			err = look(s, atoi(entry->d_name));
	closedir(dir);
	return err;
}

/* --- in words ------------------------------------------------------------ */

static void print_list(FILE *out, const char *option, char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s%s %s", ftell(out) ? ", " : "", option, log_safe(words[i]));
}

static char *describe(const struct process_choice *choice)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	print_list(out, "--slurm-job", choice->jobs, choice->njobs);
	print_list(out, "--launched-from", choice->launchers, choice->nlaunchers);
	print_list(out, "--comm", choice->comms, choice->ncomms);
	print_list(out, "--cgroup", choice->cgroups, choice->ncgroups);
	for (size_t i = 0; i < choice->nusers; i++)
		fprintf(out, "%s--user %u", ftell(out) ? ", " : "", choice->users[i]);
	fclose(out);
	return text;
}

static char *describe_near(const struct search *s)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (s->jobs.count) {
		fputs("; the jobs here are ", out);
		few_print(out, &s->jobs, false);
	} else if (s->choice->njobs) {
		fputs("; no process here tells of a job", out);
	}
	if (s->near.count) {
		fputs("; names like it are ", out);
		few_print(out, &s->near, false);
	}
	fclose(out);
	return text;
}

/* 0, or -ENOENT: there is none, said; or -ENOMEM. */
static int say(const struct search *s)
{
	char *asked = describe(s->choice), *near = describe_near(s);
	int err = asked && near ? 0 : -ENOMEM;

	if (!err && !s->found) {
		log_error("%s: no process here that is so%s: 'ps -eo pid,user,comm,cgroup' shows what there is", asked,
			  near);
		err = -ENOENT;
	} else if (!err && (!s->choice->brief || s->owners.count > 1)) {
		fprintf(stderr, "gaspbpf: %s: %zu process%s, %zu with a rank", asked, s->found,
			s->found == 1 ? "" : "es", s->ranks);
		if (s->owners.count > 1) {
			fputs("; of several users: ", stderr);
			few_print(stderr, &s->owners, true);
		}
		fputs("; what they start is observed, too, others that come later are not\n", stderr);
	}
	free(asked);
	free(near);
	return err;
}

int choose_processes(struct pid_list *chosen, const struct process_choice *choice, const struct model_set *models)
{
	struct search s = { .choice = choice, .chosen = chosen };
	int err = 0;

	*chosen = (struct pid_list){ 0 };
	for (size_t i = 0; !err && i < choice->npids; i++)
		err = add(&s, choice->pids[i]);
	if (err || !choice_is_by_description(choice))
		return err;
	s.rank_variables = plan_rank_variables(models);
	err = s.rank_variables ? look_at_all(&s) : -ENOMEM;
	if (!err)
		err = say(&s);
	free(s.rank_variables);
	few_free(&s.owners);
	few_free(&s.jobs);
	few_free(&s.near);
	return err;
}
