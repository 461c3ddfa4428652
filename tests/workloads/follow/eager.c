/* SPDX-License-Identifier: BSD-2-Clause */
/* libeager.so: a plugin that calls the runtime as soon as it is loaded, in a constructor, as an extension module does
 * at its import. */
void calls_step(int number);
void plugin_work(int calls);

__attribute__((constructor)) static void early(void)
{
	calls_step(-1);
}

void plugin_work(int calls)
{
	for (int i = 0; i < calls; i++)
		calls_step(i);
}
