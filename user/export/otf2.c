/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * otf2.c - OTF2 among the formats, also in a build that does not have it.
 */
#include "export/formats.h"

#ifdef GASPBPF_OTF2
#include "export/otf2/otf2.h"
#endif

const struct exporter exporter_otf2 = {
	.name = "otf2",
	.suffixes = ".otf2",
	.help = "OTF2, for Vampir, Score-P's tools",
	.needs_spare = true,
	.is_archive = true,
#ifdef GASPBPF_OTF2
	.ready = otf2_ready,
	.write = otf2_write,
#else
	.missing = "built without libotf2; install libopen-trace-format2-dev and build again",
#endif
};
