/* SPDX-License-Identifier: BSD-2-Clause */
/* Two plugins of the same size, made of this one file: the same function at the same place, called from different
 * lines. */
void calls_step(int number);
void plugin_work(int calls);

#ifdef PLUGIN_A
void plugin_work(int calls)
{
	for (int i = 0; i < calls; i++)
		calls_step(i); /* line 9 */
}
#else



void plugin_work(int calls)
{
	for (int i = 0; i < calls; i++)
		calls_step(i); /* line 18 */
}
#endif
