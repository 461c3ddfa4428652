/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ledger.h - private to user/recording: which definitions stand in the file, and as what.
 *
 * Entries are noted as they are put together, before they are written. If writing fails, all that was noted since the
 * last success is taken back.
 */
#ifndef GASPBPF_RECORDING_LEDGER_H
#define GASPBPF_RECORDING_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recording/definitions.h"

/* All zero at first. */
struct ledger {
	struct {
		uint64_t *hashes; /* of each entry as it was written last */
		size_t count, room;
		size_t before; /* count at the last successful write */
	} written[KINDS];
	struct replaced *replaced; /* hashes that were replaced since the last successful write */
	size_t nreplaced, replaced_room;
};

uint64_t ledger_hash(const uint8_t *bytes, size_t size);
/* How many entries of the kind are noted. */
size_t ledger_count(const struct ledger *ledger, unsigned kind);
/* Does entry `index` stand there with this hash? */
bool ledger_has(const struct ledger *ledger, unsigned kind, size_t index, uint64_t hash);
/* Entry `index`, a known one or the next one, is being written with this hash. 0 or -ENOMEM. */
int ledger_note(struct ledger *ledger, unsigned kind, size_t index, uint64_t hash);
/* What was noted is written. */
void ledger_settle(struct ledger *ledger);
/* What was noted since the last ledger_settle() is not. */
void ledger_take_back(struct ledger *ledger);
void ledger_free(struct ledger *ledger);

#endif
