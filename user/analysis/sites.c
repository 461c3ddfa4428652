/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sites.c - call sites that are one.
 *
 * A recording has a call site for each process and address, and again whenever something has been mapped into the
 * process, since another file may lie there then (capture/sites.c). What a user means by it is the instruction: the
 * same place of the same file, whoever runs it. A text for people has no columns and no addresses where there are
 * lines; there all calls of one line are one row.
 */
#include "analysis/profile_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"

/* Where a call comes from, as far as it is to be told apart. */
struct spot {
	struct site_row row;
	const char *file, *function; /* of a line; NULL: not known, or not asked for */
	uint32_t line;
	uint32_t image;   /* the first definition of the same file; NO_INDEX: not known */
	uint32_t process; /* where it is not */
	uint64_t offset;
};

/* A file that is replaced by an equal one is defined twice. */
static uint32_t first_image(const struct definitions *d, uint32_t image)
{
	if (image >= d->nimages || !d->images[image].path || !d->images[image].build_id)
		return image;
	for (uint32_t i = 0; i < image; i++)
		if (same_text(d->images[i].path, d->images[image].path) &&
		    same_text(d->images[i].build_id, d->images[image].build_id))
			return i;
	return image;
}

static struct spot spot_of(const struct definitions *d, const struct site_row *row, bool by_line)
{
	const struct def_site *site = row->site < d->nsites ? &d->sites[row->site] : NULL;
	struct spot spot = { .row = *row, .image = NO_INDEX, .process = NO_INDEX, .offset = row->site };

	if (!site)
		return spot;
	spot.process = site->process;
	spot.offset = site->address;
	if (site->image < d->nimages) {
		spot.image = first_image(d, site->image);
		spot.process = NO_INDEX;
		spot.offset = site->offset;
	}
	if (site->file && (by_line || site->image >= d->nimages)) {
		spot.file = site->file;
		spot.function = site->function ?: "";
		spot.line = site->line;
		spot.process = spot.image = NO_INDEX;
		spot.offset = by_line ? 0 : site->column;
	}
	return spot;
}

#define COMPARE(a, b)   \
	if ((a) != (b)) \
	return (a) < (b) ? -1 : 1

static int by_spot(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;
	int order;

	COMPARE(x->row.event, y->row.event);
	COMPARE(!x->file, !y->file);
	if (x->file) {
		order = strcmp(x->file, y->file) ?: strcmp(x->function, y->function);
		if (order)
			return order;
		COMPARE(x->line, y->line);
	}
	COMPARE(x->image, y->image);
	COMPARE(x->process, y->process);
	COMPARE(x->offset, y->offset);
	return 0;
}

static int by_spot_and_site(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;
	int order = by_spot(a, b);

	if (order)
		return order;
	COMPARE(x->row.site, y->row.site);
	return 0;
}

int report_join_sites(struct report *r, bool by_line)
{
	struct spot *spots = calloc(r->nsites + 1, sizeof(*spots));
	size_t count = 0;

	if (!spots)
		return -ENOMEM;
	for (size_t i = 0; i < r->nsites; i++)
		spots[i] = spot_of(r->d, &r->sites[i], by_line);
	qsort(spots, r->nsites, sizeof(*spots), by_spot_and_site);
	for (size_t i = 0; i < r->nsites; i++) {
		if (!i || by_spot(&spots[i - 1], &spots[i])) {
			r->sites[count++] = spots[i].row;
			continue;
		}
		r->sites[count - 1].calls += spots[i].row.calls;
		r->sites[count - 1].total += spots[i].row.total;
	}
	r->nsites = count;
	free(spots);
	report_sort_sites(r);
	return 0;
}

static uint32_t *same_spots(const struct definitions *d, bool by_line)
{
	struct spot *spots = calloc(d->nsites + 1, sizeof(*spots));
	uint32_t *first = calloc(d->nsites + 1, sizeof(*first));

	for (size_t i = 0; spots && i < d->nsites; i++)
		spots[i] = spot_of(d, &(struct site_row){ .site = i }, by_line);
	if (spots && first) {
		qsort(spots, d->nsites, sizeof(*spots), by_spot_and_site);
		for (size_t i = 0; i < d->nsites; i++)
			first[spots[i].row.site] = i && !by_spot(&spots[i - 1], &spots[i])
							   ? first[spots[i - 1].row.site]
							   : spots[i].row.site;
	} else {
		free(first);
		first = NULL;
	}
	free(spots);
	return first;
}

uint32_t *report_same_sites(const struct definitions *d)
{
	return same_spots(d, false);
}

uint32_t *report_same_lines(const struct definitions *d)
{
	return same_spots(d, true);
}
