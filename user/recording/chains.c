/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * chains.c - in the file: where calls came from that a library made for the program.
 */
#include "recording/definitions.h"
#include "util/text.h"

#define CHAIN(n, t, member)                                      \
	{                                                        \
		n, FIELD_##t, offsetof(struct def_chain, member) \
	}

const struct field chain_fields[] = { CHAIN(1, STRING, event),  CHAIN(2, STRING, file), CHAIN(3, U64, offset),
				      CHAIN(4, STRING, places), CHAIN(5, U64, looks),   { 0, FIELD_END, 0 } };

const char *chain_check(const struct def_chain *chain)
{
	return chain->event && chain->file ? NULL : "a chain of callers is of no event, or of no file";
}

const struct def_chain *chain_of_site(const struct definitions *d, uint32_t site, const char *event, size_t *at)
{
	const struct def_site *s = site < d->nsites ? &d->sites[site] : NULL;
	const char *file = s && s->image < d->nimages ? d->images[s->image].path : NULL;

	while (file && *at < d->nchains) {
		const struct def_chain *chain = &d->chains[(*at)++];

		if (chain->offset == s->offset && same_text(chain->file, file) && same_text(chain->event, event))
			return chain;
	}
	return NULL;
}
