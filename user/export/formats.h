/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * formats.h - the exporters, one file each. Private to user/export.
 */
#ifndef GASPBPF_EXPORT_FORMATS_H
#define GASPBPF_EXPORT_FORMATS_H

#include "export/export.h"

extern const struct exporter exporter_chrome;     /* chrome.c */
extern const struct exporter exporter_speedscope; /* speedscope.c */
extern const struct exporter exporter_events;     /* events.c */
extern const struct exporter exporter_otf2;       /* otf2.c */
extern const struct exporter exporter_parquet;    /* parquet.c */
extern const struct exporter exporter_folded;     /* folded.c */
extern const struct exporter exporter_pprof;      /* pprof.c */
extern const struct exporter exporter_paje;       /* paje.c */
extern const struct exporter exporter_page;       /* page.c */
extern const struct exporter exporter_ctf;        /* ctf.c */

#endif
