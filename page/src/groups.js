// SPDX-License-Identifier: BSD-2-Clause
// What a thread's time is for, in the order of stacked bars. The keys are those of group_ns in the report, and of the
// colours in style.css, which the timeline has, too.

export const groups = [
  { key: 'wait', label: 'wait', means: 'waits for others: at barriers, for messages and requests' },
  { key: 'lock', label: 'lock', means: 'takes locks, waits for them, gives them back' },
  { key: 'data', label: 'data', means: "sends, receives, or accesses another one's memory" },
  {
    key: 'coll',
    label: 'coll',
    means: 'collective operations, which all take part in; waiting for the others is in it',
  },
  { key: 'task', label: 'task', means: 'runs tasks, or its share of a parallel region: work' },
  { key: 'alloc', label: 'alloc', means: 'allocates and frees memory' },
  { key: 'io', label: 'io', means: 'opens, reads and writes files' },
  {
    key: 'other',
    label: 'other',
    means: "other observed calls, and the program's own functions, if these are observed",
  },
  {
    key: 'outside',
    label: 'outside',
    means: "in no observed call: mostly the program's own work, but it may sleep there, too",
  },
  { key: 'not_seen', label: 'not seen', means: 'what it did then is not known: work, or waiting' },
];

export const colourOf = (key) => `var(--group-${key.replaceAll('_', '-')})`;

/** Of the groups that the times have anything of. */
export const legendOf = (times) =>
  groups
    .filter(({ key }) => times.some((of) => of?.[key] > 0))
    .map(({ key, label, means }) => ({ colour: colourOf(key), label, means }));
