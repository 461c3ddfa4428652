/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * export.c - which formats there are.
 */
#include "export/export.h"

#include <string.h>

#include "export/formats.h"

const struct exporter *const exporters[] = {
	&exporter_chrome, &exporter_speedscope, &exporter_events, &exporter_otf2, &exporter_paje, &exporter_parquet,
	&exporter_ctf,    &exporter_folded,     &exporter_pprof,  &exporter_page, NULL,
};

/* The length of the longest of the suffixes in which the path ends, with a name before it. 0: none. */
static size_t fits(const char *path, const char *suffixes)
{
	size_t length = strlen(path), longest = 0;

	while (*suffixes) {
		size_t tail = strcspn(suffixes, " ");

		if (length > tail && tail > longest && path[length - tail - 1] != '/' &&
		    !strncmp(path + length - tail, suffixes, tail))
			longest = tail;
		suffixes += tail;
		suffixes += strspn(suffixes, " ");
	}
	return longest;
}

const struct exporter *exporter_for(const char *path)
{
	const struct exporter *best = NULL;
	size_t longest = 0;

	/* "run.speedscope.json" ends in ".json", too. */
	for (size_t i = 0; exporters[i]; i++) {
		size_t length = fits(path, exporters[i]->suffixes);

		if (length > longest) {
			longest = length;
			best = exporters[i];
		}
	}
	return best;
}
