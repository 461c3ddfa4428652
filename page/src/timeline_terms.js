// SPDX-License-Identifier: BSD-2-Clause
// What the bars of a timeline are called: of calls, or of tasks where lanes are workers (gantt.js).

const CALLS = {
  id: 'tl',
  one: 'call',
  many: 'calls',
  outside: 'in no observed call',
  none: 'No observed call',
  find: 'calls by event, line, rank 1, >1ms ( / )',
  label: 'Find calls by event, line, argument, thread, or the longest; what is between calls is not looked for',
  selected: 'What is selected',
  legend: 'What time was for: shown or hidden',
};

export const termsOf = (facts) => facts.terms ?? CALLS;
