/* SPDX-License-Identifier: BSD-2-Clause */
/* A CPF simulator with the faults that its parameter names, at its third piece of work. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpf.h"

static const struct cpf_setup *facts;

static int is_asked(const char *what)
{
	return facts->_commandLineParamCount && !strcmp(facts->_commandLineParams[0] + strlen("fault="), what);
}

static void setup(void *self, const struct cpf_setup *setup)
{
	facts = setup;
}

static void work(void *self, struct cpf_func_event *event)
{
	static int calls;

	if (++calls != 3)
		return;
	if (is_asked("crash"))
		*(volatile int *)8 = 1;
	if (is_asked("hang"))
		for (;;)
			pause();
	if (is_asked("exit"))
		exit(0);
	if (is_asked("early"))
		event->_endTime = event->_startTime - 1;
	if (is_asked("constant"))
		*(uint64_t *)&event->_startTime += 1;
}

static struct cpf_plugin plugin = {
	.version = CPF_VERSION, .size = sizeof(plugin), .setup = setup, .ProcessFunctionEvent = work,
};

struct cpf_plugin *cpf_create(void)
{
	return &plugin;
}

void cpf_destroy(struct cpf_plugin *p)
{
}
