/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rights.h - what needs no right is done without (docs/security-privileges.md).
 */
#ifndef GASPBPF_OBSERVE_RIGHTS_H
#define GASPBPF_OBSERVE_RIGHTS_H

#include "observe/control.h"
#include "probe/probe.h"
#include "util/text.h"

/* What is to work without rights, beside reading. */
struct rights_later {
	const struct text_list *written;
	const struct control *control;        /* NULL: there is none */
	bool sampling;                        /* sampler_open() */
	struct hold *hold;                    /* NULL: no command is held */
	const struct kept_process *processes; /* that were started, and are to be ended (util/keeper.h) */
	size_t nprocesses;
};

/*
 * Before the first target is looked at, and once all BPF programs are loaded: gives up every right, for good, and
 * others read for this process from then on. Files can then be made and removed in the folders of `written` (files and
 * folders) and of the control socket only: root's are so by another process (util/keeper.h), since it is a user that
 * nobody is then. False: rights are kept, as it would not work without them here.
 */
bool rights_give_up(struct kernel *kernel, const struct rights_later *later);
/* The same for who only looks: no probe is put in, no file written. Who has no rights keeps that. */
void rights_give_up_to_look(bool sampling);

#endif
