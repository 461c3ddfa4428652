/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.h - what the files of gaspbpf list share.
 */
#ifndef GASPBPF_CLI_LIST_H
#define GASPBPF_CLI_LIST_H

#include "cli/cli.h"
#include "probe/probe.h"
#include "util/json.h"

/* "0x1d1c0 +4 emulated 350 ns INSTRUCTION", and why nothing cheaper where there is a reason. cost: of a call, ns; 0:
 * not measured. */
void list_print_place(const struct image *image, uint64_t start, const struct probe_place *place, unsigned cost);
/* Keys of the object that is open: probe_offset, class, expected_ns (where measured), instruction, why_here. */
void list_json_place(struct json *j, const struct image *image, const struct probe_place *place, unsigned cost);
/* Keys "symbol", and "name" where people call it something else. */
void list_json_symbol(struct json *j, const char *symbol);
/* Each function of the files, with where its probe would go. 0 or -errno, said. */
int list_every_function(const struct text_list *files, bool at_entry, bool json, const unsigned *cost_ns);

#endif
