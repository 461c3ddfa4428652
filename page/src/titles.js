// SPDX-License-Identifier: BSD-2-Clause
// What a finding is called: what its kind is about, and who and where, so that two of a kind are told apart.
import { kindTitle } from './kinds.js';
import { rowOf } from './where.js';

/** heat.c:68 of "heat.c:68 in step" */
const line = (people, place) => people.place(place).split(' in ')[0];

function whereIn(finding, report, people) {
  const { after, before, call } = rowOf(finding, report) ?? {};
  if (after?.place && before?.place && after.place !== before.place && !call)
    return `between ${line(people, after.place)} and ${line(people, before.place)}`;
  return finding.places?.length
    ? finding.places
        .slice(0, 2)
        .map((place) => line(people, place))
        .join(', ')
    : null;
}

/** One thread makes the others wait: rank 3, heat.c:40 */
export function titleOf(finding, report, people) {
  const who = finding.culprits?.length ? finding.culprits : finding.kind === 'starved' ? finding.victims : [];
  const words = [
    who?.length ? people.some(who, 3) : null,
    who?.length ? null : finding.event,
    whereIn(finding, report, people),
  ].filter(Boolean);
  return `${kindTitle(finding.kind)}${words.length ? `: ${words.join(', ')}` : ''}`;
}
