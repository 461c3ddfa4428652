// SPDX-License-Identifier: BSD-2-Clause
// What a finding is called: what its kind is about, and who and where, so that two of a kind are told apart.
import { kindTitle } from './kinds.js';
import { aftersOf, either, rowOf } from './where.js';

/** heat.c:68 of "heat.c:68 in step" */
const line = (people, place) => people.place(place).split(' in ')[0];

function whereIn(finding, report, people) {
  const row = rowOf(finding, report) ?? {};
  const { before, call } = row,
    afters = aftersOf(row);
  if (before?.place && afters.length && !call && (afters.length > 1 || afters[0].place !== before.place))
    return `between ${either(afters.map(({ place }) => line(people, place))).join('')} and ${line(people, before.place)}`;
  return finding.places?.length
    ? finding.places
        .slice(0, 2)
        .map((place) => line(people, place))
        .join(', ')
    : null;
}

/** One thread makes the others wait: rank 3, heat.c:40; rank 3 is late, and others wait for it: between ... */
export function titleOf(finding, report, people) {
  const who = finding.culprits?.length ? finding.culprits : finding.kind === 'starved' ? finding.victims : [];
  const where = whereIn(finding, report, people);
  if (finding.kind === 'delay' && who?.length) {
    const late = who.length > 1 ? 'are late, and others wait for them' : 'is late, and others wait for it';
    return `${people.some(who, 3)} ${late}${where ? `: ${where}` : ''}`;
  }
  const words = [who?.length ? people.some(who, 3) : null, who?.length ? null : finding.event, where].filter(Boolean);
  return `${kindTitle(finding.kind)}${words.length ? `: ${words.join(', ')}` : ''}`;
}
