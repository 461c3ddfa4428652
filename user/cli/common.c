/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "util/log.h"
#include "util/privileges.h"

/* A folder below that of the program, such as models/ of a build tree. The caller frees. */
static char *beside_program(const char *name)
{
	char path[PATH_MAX], *slash, *folder;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return NULL;
	path[n] = 0;
	slash = strrchr(path, '/');
	if (!slash || asprintf(&folder, "%.*s/%s", (int)(slash - path), path, name) < 0)
		return NULL;
	return folder;
}

char *cli_models_folder(void)
{
	static const char *const places[] = {
		"models", "../share/gaspbpf/models"
	}; /* in a build tree; where it was installed, or moved to */
	const char *told = getenv("GASPBPF_MODELS");

	if (told && *told)
		return strdup(told);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char *beside = beside_program(places[i]);

		if (!beside && errno == ENOMEM)
			return NULL;
		if (beside && !access(beside, R_OK))
			return beside;
		free(beside);
	}
	return strdup(GASPBPF_DATA "/models");
}

static int load_folder(struct model_set **set)
{
	char *folder = cli_models_folder();
	int err = folder ? models_load_folder(set, folder) : -ENOMEM;

	free(folder);
	return err;
}

/* "void my_phase(int step)" -> "MY_PHASE": the last name before the parenthesis, as an event is written. */
static void print_event(FILE *out, const char *prototype)
{
	const char *end = prototype + strcspn(prototype, "("), *start;

	while (end > prototype && isspace((unsigned char)end[-1]))
		end--;
	for (start = end; start > prototype && (isalnum((unsigned char)start[-1]) || strchr("_$.", start[-1])); start--)
		;
	for (; start < end; start++)
		fputc(isalnum((unsigned char)*start) ? toupper((unsigned char)*start) : '_', out);
}

/* The functions of -e as the text of a model: they may be in the program or in any library that is mapped. */
static int add_functions(struct model_set *set, const struct text_list *functions)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int err;

	if (!out)
		return -errno;
	fputs("model " USER_MODEL "\nlanguage USER\nnumbers 0xC0000000\nlibrary program *\njoin alone\n", out);
	for (size_t i = 0; i < functions->count; i++) {
		print_event(out, functions->items[i]);
		fprintf(out, " user %.*s\n", (int)strcspn(functions->items[i], "\n"), functions->items[i]);
	}
	err = fclose(out) ? -errno : models_add_text(set, "-e", text, size);
	free(text);
	return err;
}

/* What -e names takes part, whatever -m says. */
static int wish_for_functions(struct choice *choice)
{
	char *wish;

	if (asprintf(&wish, "%s%s+" USER_MODEL, choice->models ?: "", choice->models ? "," : "") < 0)
		return -ENOMEM;
	free(choice->models);
	choice->models = wish;
	return 0;
}

int cli_load_models(struct model_set **set, struct choice *choice)
{
	int err = load_folder(set);

	if (err)
		return err;
	for (size_t i = 0; !err && i < choice->model_files.count; i++)
		err = models_add_file(*set, choice->model_files.items[i]);
	if (!err && choice->functions.count)
		err = add_functions(*set, &choice->functions);
	if (!err && choice->functions.count)
		err = wish_for_functions(choice);
	if (err) {
		models_free(*set);
		*set = NULL;
	}
	return err;
}

int cli_append(struct text_list *list, char *item)
{
	char **grown = realloc(list->items, (list->count + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	list->items = grown;
	list->items[list->count++] = item;
	return 0;
}

void cli_take_recording(const char **recording, const char *argument, struct argp_state *state)
{
	if (*recording)
		argp_error(state, "one recording at a time: what is '%s'?", argument);
	*recording = argument;
}

void cli_need_recording(const char *recording, struct argp_state *state)
{
	if (!recording)
		argp_error(state, "which recording? give the file that 'gaspbpf -o FILE.gasp' wrote");
}

/* What pgrep prints stands on lines, what pidof prints has blanks. */
#define BLANKS " \t\n"

/* Past what may stand behind a number: blanks, and a comma among them, if another number follows. */
static const char *past_separator(const char *text)
{
	const char *comma = text + strspn(text, BLANKS), *next;

	if (*comma != ',')
		return comma;
	next = comma + 1 + strspn(comma + 1, BLANKS);
	return isdigit((unsigned char)*next) ? next : comma;
}

/* "17,4242": appends to the list. 0, -EINVAL (said) or -ENOMEM. */
static int parse_pids(struct pid_list *list, const char *text)
{
	const char *all = text;

	text += strspn(text, BLANKS);
	if (!*text) {
		log_error("-p %s: no process id: is there no such process?", log_safe(all));
		return -EINVAL;
	}
	while (*text) {
		char *end;
		long pid;
		int *grown;

		errno = 0;
		pid = strtol(text, &end, 10);
		if (end == text || errno || pid < 1 || pid > INT_MAX || (*end && !strchr("," BLANKS, *end))) {
			log_error(
				"-p %s: not a process id: give numbers, as in -p 4242, -p 17,18 or -p \"$(pgrep job)\"",
				log_safe(all));
			return -EINVAL;
		}
		grown = realloc(list->pids, (list->count + 1) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->pids = grown;
		list->pids[list->count++] = pid;
		text = past_separator(end);
	}
	return 0;
}

int cli_prepare_plan(struct plan *plan, const struct choice *choice)
{
	int err;

	plan->placing.at_entry = choice->at_entry;
	plan->returns = choice->returns;
	plan->selection = choice->selection;
	err = plan_set_builds(plan, choice->builds.items, choice->builds.count);
	for (size_t i = 0; !err && i < choice->asked.count; i++)
		err = plan_ask(plan, choice->asked.items[i]);
	return err;
}

int cli_new_plan(struct plan **plan, const struct model_set *models, const struct choice *choice)
{
	int err = plan_new(plan, models, choice->models);

	if (err)
		return err;
	(*plan)->leave_near = choice->leave_near;
	(*plan)->says_builds = true;
	if (choice->selection)
		selection_check(choice->selection, models);
	err = cli_prepare_plan(*plan, choice);
	if (err) {
		plan_free(*plan);
		*plan = NULL;
	}
	return err;
}

static int parse_returns(enum returns_wish *wish, const char *text)
{
	if (!strcmp(text, "auto")) {
		*wish = RETURNS_AUTO;
		return 0;
	}
	for (int kind = 0; kind < RETURNS_KINDS; kind++) {
		if (!strcmp(text, returns_name(kind))) {
			*wish = RETURNS_ALL_TRAMPOLINE + kind;
			return 0;
		}
	}
	return -EINVAL;
}

enum { OPTION_MODEL_FILE = 256, OPTION_PLACEMENT, OPTION_RETURNS, OPTION_BUILD };

static const struct argp_option choice_options[] = {
	{ "pid", 'p', "PID[,PID...]", 0,
	  "These processes, with commas, blanks or lines between, as in -p \"$(pgrep job)\"; a launcher's PID means "
	  "all its ranks, a shell's or a wrapper's what it has started",
	  1 },
	{ "models", 'm', "MODEL[,MODEL...]", 0, "Only these models; with + before the names: these besides the default",
	  2 },
	{ "model-file", OPTION_MODEL_FILE, "FILE", 0, "Read one more model", 2 },
	{ "build", OPTION_BUILD, "MODEL=BUILD", 0,
	  "How the runtime in the program was built, such as upc=struct, where that cannot be told "
	  "from the program; may repeat ('gaspbpf list --known' names the builds)",
	  2 },
	{ "function", 'e', "PROTOTYPE", 0,
	  "Observe this function of the program or a library, too, such as 'void my_phase(int step)'; "
	  "a bare name will do; may repeat",
	  2 },
	{ "placement", OPTION_PLACEMENT, "fast|entry", 0,
	  "Put probes on the first instruction that is cheap to observe, where that "
	  "is safe (the default), or always on a function's first instruction",
	  2 },
	{ "returns", OPTION_RETURNS, "auto|trampoline|sites|none", 0,
	  "How the end of a call is seen: by a return probe, which costs least but "
	  "breaks jobs in which exceptions, cancellation or changes of stack pass through the function; by probes on "
	  "the function's own last "
	  "instructions; or not at all (auto: the first of these that cannot harm this job)",
	  2 },
	{ "verbose", 'v', NULL, 0, "Say more; -vv: the kernel's own words, too", 9 },
	{ 0 }
};

error_t cli_refuse(int err)
{
	if (err && err != -ENOMEM)
		exit(2);
	return -err;
}

static error_t parse_choice(int key, char *argument, struct argp_state *state)
{
	struct choice *choice = state->input;
	char *joined;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = choice;
		return 0;
	case 'p':
		return cli_refuse(parse_pids(&choice->pids, argument));
	case 'm':
		if (asprintf(&joined, "%s%s%s", choice->models ?: "", choice->models ? "," : "", argument) < 0)
			return ENOMEM;
		free(choice->models);
		choice->models = joined;
		return 0;
	case OPTION_MODEL_FILE:
		return -cli_append(&choice->model_files, argument);
	case OPTION_BUILD:
		return -cli_append(&choice->builds, argument);
	case 'e':
		return -cli_append(&choice->functions, argument);
	case OPTION_PLACEMENT:
		choice->at_entry = !strcmp(argument, "entry");
		if (!choice->at_entry && strcmp(argument, "fast"))
			argp_error(state, "--placement=%s: use fast or entry", log_safe(argument));
		return 0;
	case OPTION_RETURNS:
		if (parse_returns(&choice->returns, argument))
			argp_error(state, "--returns=%s: use auto, trampoline, sites or none", log_safe(argument));
		return 0;
	case 'v':
		log_set_level(log_get_level() + 1);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child choice_children[] = { { &selection_parser, 0, NULL, 0 }, { 0 } };
const struct argp choice_parser = { choice_options, parse_choice, NULL, NULL, choice_children, NULL, NULL };

bool choice_has_processes(const struct choice *choice)
{
	return choice->pids.count || !chooser_is_empty(&choice->who);
}

void cli_need_processes(const struct choice *choice, char **command, struct argp_state *state)
{
	bool processes = choice_has_processes(choice);

	if (!processes && !command)
		argp_error(state,
			   "nothing to observe: give -p PID, --slurm-job ID, --user, --comm, --cgroup, or -- COMMAND");
	if (processes && command && strspn(*command, "0123456789") == strlen(*command))
		argp_error(state, "%s: a COMMAND, or one more process? Quote process ids: -p \"$(pgrep job)\"",
			   log_safe(*command));
	if (processes && command)
		argp_error(state, "give -p PID or a COMMAND, not both");
}

void choice_free(struct choice *choice)
{
	chooser_free(&choice->who);
	free(choice->pids.pids);
	free(choice->model_files.items);
	free(choice->builds.items);
	free(choice->functions.items);
	free(choice->asked.items);
	selection_free(choice->selection);
	free(choice->models);
}

char *cli_help_with(int key, const char *text, void (*print)(FILE *out))
{
	char *all = NULL;
	size_t size;
	FILE *out;

	if (key != ARGP_KEY_HELP_POST_DOC || !text)
		return (char *)text;
	out = open_memstream(&all, &size);
	if (!out)
		return (char *)text;
	fputs(text, out);
	print(out);
	fclose(out);
	return all ? all : (char *)text;
}

void cli_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	if (!argp_parse(argp, argc, argv, 0, NULL, input))
		return;
	log_error("the command line cannot be read: out of memory: free some memory and try again");
	exit(1);
}

/* What was printed may still wait in memory, and may have found no room before; then the cause is met once more. */
static int flush_output(void)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	if (!errno && write(STDOUT_FILENO, "\n", 1) >= 0)
		return -EIO;
	return -errno;
}

int cli_status(const char *command, int err)
{
	int lost = flush_output();

	if (log_has_failed() || err == -ECANCELED) /* the user's wish, or a child's, which has said why */
		return err || lost ? 1 : 0;
	if (lost && lost != -EPIPE) /* 'gaspbpf events | head' is no mistake */
		log_error("standard output: %s: what was printed is not whole: make room there, or print to another "
			  "place",
			  strerror(-lost));
	else if (err == -ENOMEM)
		log_error("%s: out of memory: free some memory and try again", command);
	else if (err && err != -EPIPE)
		log_error("%s: cannot go on: %s: try again, and with -vv to learn more", command, strerror(-err));
	return err || lost ? 1 : 0;
}

int cli_block_signals(int more)
{
	struct sigaction hangup;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (more)
		sigaddset(&set, more);
	if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP); /* else under nohup, which means to stay */
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int cli_need_rights(void)
{
	if (may_observe())
		return 0;
	log_error("observing needs root, or three capabilities: run it with sudo ('gaspbpf doctor' tells which rights "
		  "are missing)");
	return -EPERM;
}
