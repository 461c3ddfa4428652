/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctf.c - the Common Trace Format among the formats.
 */
#include "export/ctf/ctf.h"
#include "export/formats.h"

const struct exporter exporter_ctf = {
	.name = "ctf",
	.suffixes = ".ctf",
	.help = "CTF, for babeltrace2, Trace Compass",
	.is_archive = true,
	.is_earlier = ctf_is_earlier,
	.write = ctf_write,
};
