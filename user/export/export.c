/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export.c - which formats there are.
 */
#include "export/export.h"

#include <string.h>

#include "export/formats.h"

const struct exporter *const exporters[] = { &exporter_chrome, &exporter_events, NULL };

/* True where the path ends in one of the suffixes, with a name before it. */
static bool fits(const char *path, const char *suffixes)
{
	size_t length = strlen(path);

	while (*suffixes) {
		size_t tail = strcspn(suffixes, " ");

		if (length > tail && path[length - tail - 1] != '/' && !strncmp(path + length - tail, suffixes, tail))
			return true;
		suffixes += tail;
		suffixes += strspn(suffixes, " ");
	}
	return false;
}

const struct exporter *exporter_for(const char *path)
{
	for (size_t i = 0; exporters[i]; i++) {
		if (fits(path, exporters[i]->suffixes))
			return exporters[i];
	}
	return NULL;
}
