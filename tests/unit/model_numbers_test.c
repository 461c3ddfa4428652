/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model_numbers_test.c - the numbers that events have for good: the file `numbers` beside a folder's models.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/models.h"

static char folder[64];

static int make_folder(void **state)
{
	strcpy(folder, "/tmp/gaspbpf-numbers-XXXXXX");
	return !mkdtemp(folder);
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "numbers", "x.model", "y.model" };
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	return rmdir(folder);
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void write_model(const char *lines)
{
	char text[4096];

	snprintf(text, sizeof(text), "model x\nlanguage X\nlibrary program\nnumbers 0x100\n%s\n", lines);
	write_file("x.model", text);
}

/* The numbers of a model's events, in the order of the model: "A 256, B 257". */
static const char *numbers_of(const struct model *model)
{
	static char text[1024];

	*text = 0;
	for (size_t i = 0; i < model->nevents; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s %u", i ? ", " : "",
			 model->events[i].own_name, model->events[i].number);
	return text;
}

static void folder_has(const char *expected)
{
	struct model_set *set;

	assert_int_equal(models_load_folder(&set, folder), 0);
	assert_string_equal(numbers_of(models_at(set, 0)), expected);
	models_free(set);
}

/* What is said while the folder is read, which fails. */
static void refused(const char *numbers, const char *expected)
{
	char said[4096], path[] = "/tmp/gaspbpf-said-XXXXXX", want[512];
	int file = mkstemp(path), old = dup(2);
	struct model_set *set = NULL;

	write_file("numbers", numbers);
	dup2(file, 2);
	int error = models_load_folder(&set, folder);

	fflush(stderr);
	dup2(old, 2);
	close(old);
	ssize_t length = pread(file, said, sizeof(said) - 1, 0);

	close(file);
	unlink(path);
	said[length > 0 ? length : 0] = 0;
	assert_int_not_equal(error, 0);
	assert_null(set);
	snprintf(want, sizeof(want), "%s/%s", folder, expected);
	if (!strstr(said, want))
		fail_msg("expected %s\nsaid %s", want, said);
}

static void an_event_keeps_its_number(void **state)
{
	write_model("event A both()\nevent B both()\nC put void c(int n)\n");
	folder_has("A 257, B 258, C 256"); /* those of functions first, where no file says otherwise */
	write_file("numbers", "# of X\nGASP_X_C 0x100\n\nGASP_X_A 257  # a comment\nGASP_X_B 258\n");
	folder_has("A 257, B 258, C 256");
	/* One more in the middle, a function before the first, and the order of the others changed. */
	write_model("E put void e(int n)\nevent B both()\nevent D both()\nevent A both()\nC put void c(int n)\n");
	folder_has("B 258, D 260, A 257, E 259, C 256");
}

static void a_number_has_one_owner_for_ever(void **state)
{
	/* GONE is no more; OTHER is of another model. */
	write_file("numbers", "GASP_X_A 0x100\nGASP_X_GONE 0x101\nGASP_Y_OTHER 0x103\n");
	write_model("number C 0x104\nevent A both()\nevent B both()\nevent C both()\nevent D both()\nevent E both()\n");
	folder_has("A 256, B 258, C 260, D 261, E 262");
}

static void a_users_own_model_has_its_own_numbers(void **state)
{
	static const char text[] = "model x\nlanguage X\nlibrary program\nevent B both()\nevent A both()\n";
	struct model_set *set;

	write_file("numbers", "GASP_X_A 0x100\n");
	write_model("event A both()\n");
	assert_int_equal(models_load_folder(&set, folder), 0);
	assert_int_equal(models_add_text(set, "own", text, strlen(text)), 0);
	assert_string_equal(numbers_of(models_find(set, "x")), "B 3221225472, A 3221225473");
	models_free(set);
}

static void mistakes_are_told(void **state)
{
	write_model("event A both()\n  number B 7\nevent B both()\n");
	refused("GASP_X_A\n", "numbers:1:9: expected a number (the event's number)");
	refused("\n  GASP_X_A x\n", "numbers:2:12: expected a number");
	refused("GASP_X_A 0x100000000\n", "numbers:1:10: the event's number must be a number from 0");
	refused("GASP_X_A -1\n", "numbers:1:10: the event's number must be");
	refused("0x10 GASP_X_A\n", "numbers:1:1: expected the name of an event");
	refused("GASP_X_A 1 2\n", "numbers:1:12: unexpected '2' after the number");
	refused("GASP_X_A 1\nGASP_X_A 2\n", "numbers:2:1: a second number for this event");
	refused("GASP_X_A 1\nGASP_Z 1\n", "numbers:2:1: GASP_X_A has this number");
	refused("GASP_X_B 8\n", "x.model:6:3: GASP_X_B has the number 0x8, by the file 'numbers'");
	refused("GASP_Y_OTHER 7\n", "x.model:6:3: GASP_Y_OTHER has this number, by the file 'numbers'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_event_keeps_its_number, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(a_number_has_one_owner_for_ever, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(a_users_own_model_has_its_own_numbers, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(mistakes_are_told, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
