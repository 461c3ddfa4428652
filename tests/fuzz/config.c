/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.c - a file of options (--config), as the service reads it again at SIGHUP; and files of events (--profile-only
 * and its like).
 */
#include "cli/config.h"
#include "cli/observing.h"
#include "cli/service.h"
#include "model/selection.h"
#include "shared/fuzz.h"

static const struct argp_child children[] = {
	{ .argp = &choice_parser }, { .argp = &service_parser }, { .argp = &observing_parser }, { 0 }
};
static const struct argp_option own[] = { { .name = "all", .key = 1 },
					  { .name = "listen", .key = 2, .arg = "ADDRESS" },
					  { 0 } };
static const struct argp parser = { .options = own, .children = children };

static void read_options(const char *path)
{
	static const char *const but[] = { "listen", NULL };
	char *argv[] = { (char *)"gaspbpf monitor", (char *)"--config", (char *)path, NULL }, *changes;
	struct text_list first = { 0 }, again = { 0 };
	char *named, *named_again;

	if (!config_arguments(3, argv, &parser, NULL, &first, &named)) {
		must(!config_arguments(3, argv, &parser, NULL, &again, &named_again));
		changes = config_changes(&first, &again, 3, &parser, but);
		must(!changes);
		if (first.count > 4) { /* one of the file's options away */
			free(again.items[1]);
			memmove(again.items + 1, again.items + 2, (again.count - 2) * sizeof(*again.items));
			again.items[--again.count] = NULL;
			free(config_changes(&first, &again, 3, &parser, but));
		}
		config_free(&first);
		config_free(&again);
		free(named_again);
	}
	free(named);
}

static void read_events(const char *path)
{
	struct selection *selection = selection_new();

	must(selection);
	selection_only(selection, path);
	selection_partial(selection, path);
	selection_exclude(selection, path);
	selection_check(selection, fuzz_models());
	selection_has_event(selection, "GASP_UPC_MEMCPY");
	selection_free(selection);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, size);

	read_options(path);
	read_events(path);
	return 0;
}
