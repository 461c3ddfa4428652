/*
 * rights.h - what needs no right is done without (docs/security-privileges.md).
 */
#ifndef GASPBPF_CLI_RIGHTS_H
#define GASPBPF_CLI_RIGHTS_H

#include "cli/cli.h"
#include "probe/probe.h"
#include "util/files.h"

/*
 * Before the first target is looked at, and once all BPF programs are loaded (kernel; NULL: none is needed): gives up every right, for good, and others read for
 * this process from then on. Files can then be made and changed in the folders of `written` (files and folders) and of the control socket only.
 * False: it would not work so here, and nothing was given up; not said.
 */
bool rights_give_up(struct kernel *kernel, const struct text_list *written, const struct caller *caller);
/* The same for who only looks: no probe is put in, no file written. Who has no rights keeps that. */
void rights_give_up_to_look(void);

#endif
