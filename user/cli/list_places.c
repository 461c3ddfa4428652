/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list_places.c - gaspbpf list -v: where each probe is, and why there.
 */
#include <stdio.h>
#include <string.h>

#include "cli/list.h"
#include "util/files.h"
#include "util/function_name.h"
#include "util/log.h"

#define SYMBOL_COLUMNS 34 /* that a symbol has */

struct probe_place list_place(const struct site *site)
{
	return (struct probe_place){ .offset = site->probe_offset, .class = site->class, .why = site->why_here };
}

void list_print_place(const struct image *image, uint64_t start, const struct probe_place *place, unsigned cost_ns)
{
	char text[200], distance[32], cost[32] = "";

	snprintf(distance, sizeof(distance), "+%llu", (unsigned long long)(place->offset - start));
	if (!place_text(image, place, text, sizeof(text)))
		strcpy(text, "?");
	if (cost_ns)
		snprintf(cost, sizeof(cost), "%u ns", cost_ns);
	printf("0x%-8llx %-4s %-9s%-8s %-24s%s%s", (unsigned long long)start, distance,
	       place->refused ? "refused" : site_class_name(place->class), cost, text,
	       place->why ? "  stays there: " : "", place->why ?: "");
}

/* How its end is seen, and why so. */
static void print_returns(const struct listing *l, const struct site *site)
{
	const char *left_out = list_not_observed(l, site);

	if (left_out)
		printf("  not observed: %s", left_out);
	printf("  returns: %s", returns_name(site->returns));
	if (site->returns == RETURNS_SITES)
		printf(" (%zu)", site->nexits);
	printf(": %s", site->returns_why ?: "?");
	if (site->no_exits && site->returns == RETURNS_NONE)
		printf("; its ends cannot be probed: %s", site->no_exits);
}

/* Where that is not what people call it. */
static void print_symbol(const char *symbol)
{
	char name[FUNCTION_NAME_ROOM];

	if (function_name(symbol, NAME_ALONE, name))
		printf("  symbol: %s", log_safe(symbol));
}

void list_print_site(const struct listing *l, const struct site *site)
{
	struct probe_place place = list_place(site);

	for (size_t k = 0; k < site->nfunctions; k++) {
		printf("  %-34s %-*s %-22s ", site->function[k].event, SYMBOL_COLUMNS,
		       function_label(site->function->symbol, SYMBOL_COLUMNS), log_safe(path_base(site->image->path)));
		list_print_place(site->image, site->offset, &place, site_cost(site, l->cost_ns));
		print_returns(l, site);
		print_symbol(site->function->symbol);
		printf("%s%s%s\n", site->aliases ? "  = " : "", site->aliases ? log_safe(site->aliases) : "",
		       site->uncalled ? "  imported by nothing" : "");
	}
	if (site->signature)
		printf("    %s\n", log_safe(site->signature));
}

void list_print_files(const struct plan *plan)
{
	printf("files:\n");
	for (size_t i = 0; i < plan->nimages; i++)
		if (plan_has_sites(plan, NULL, plan->images[i]))
			printf("  %-22s build-id %-40s %s\n", log_safe(path_base(plan->images[i]->path)),
			       plan->images[i]->build_id ?: "none", log_safe(plan->images[i]->path));
}
