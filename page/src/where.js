// SPDX-License-Identifier: BSD-2-Clause
// Where a finding is. What is done outside of calls has two places: the call before, and the call behind it, which is
// not at fault itself. The finding names one of them; the part of the report that it comes from has both.
import { find, h } from './make.js';

const same = (who) => (one) => one.pid === who.pid && one.tid === who.tid;
const known = (call) => call?.place && call.place !== '?';

/** The row of the report's tables that a finding was made of; null where there is none. */
function rowOf(finding, report) {
  const [place] = finding.places ?? [];
  if (finding.kind === 'delay')
    return (report.delays?.causes ?? [])
      .filter(same(finding))
      .filter(({ call, after, before }) => [call, after, before].some((one) => one?.place === place))
      .sort((a, b) => b.direct_ns + b.passed_on_ns - a.direct_ns - a.passed_on_ns)[0];
  if (finding.kind === 'critical_path')
    return (report.critical_path?.parts ?? []).find(
      ({ gain_ns: gain, threads }) => gain != null && gain === finding.gain_ns && threads.some(same(finding)),
    );
  if (finding.kind === 'serial_code') {
    const row = (report.regions?.outside ?? [])
      .filter(({ pid, before }) => pid === finding.pid && before === place)
      .sort((a, b) => b.time_ns - a.time_ns)[0];
    return row && { after: { place: row.after }, before: { place: row.before } };
  }
  return null;
}

/** What stands behind "Where": [] where nothing is known. */
export function whereOf(finding, report, people) {
  const row = rowOf(finding, report);
  const named = (place) => h('b', { title: place }, people.place(place));
  let words = (finding.places ?? []).map((place) => [named(place), ' ']),
    places = finding.places ?? [];
  if (known(row?.call)) {
    words = ['in ', row.call.event, ' at ', named(row.call.place)];
    places = [row.call.place];
  } else if (row && (known(row.after) || known(row.before))) {
    const { after, before } = row;
    const once = after?.place === before?.place;
    words = once
      ? ['outside of calls, from one at ', named(before.place), ' to the next']
      : [
          'outside of calls',
          known(after) ? [', after ', named(after.place)] : null,
          known(before) ? [', before ', named(before.place)] : null,
        ];
    places = (once ? [before] : [after, before]).filter(known).map(({ place }) => place);
  }
  if (!places.length) return [];
  const links = places.map((place) => {
    const at = people.place(place).split(' ')[0];
    return [' ', find([people.place(place)], `calls at ${at}`, `calls at ${at}: look for them in the timeline`)];
  });
  return [words, links];
}
