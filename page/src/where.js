// SPDX-License-Identifier: BSD-2-Clause
// Where a finding is. What is done outside of calls has two places: the call before, and the call behind it, which is
// not at fault itself. The finding names one of them; the part of the report that it comes from has both.
import { bytes, count, several } from './figures.js';
import { find, h } from './make.js';

const BORDERS = 'The calls there are its borders, and not at fault.';

const same = (who) => (one) => one.pid === who.pid && one.tid === who.tid;
const known = (call) => call?.place && call.place !== '?';

/** The row of the report's tables that a finding was made of; null where there is none. */
export function rowOf(finding, report) {
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

/** The calls that it is done after: one, or any of some. */
export const aftersOf = ({ after, also_after: also }) => {
  const all = [after, ...(also ?? [])].filter(known);
  return all.filter(({ place }, i) => all.findIndex((one) => one.place === place) === i);
};

/** a, b or c */
export const either = (words) =>
  words.flatMap((word, i) => (i === 0 ? [word] : [i === words.length - 1 ? ' or ' : ', ', word]));

/** heat.c:68 and step, of "heat.c:68 in step" */
const split = (label) => /^(.*?)(?: in (.*))?$/.exec(label).slice(1);

/** What is done outside of calls: whose, in which function, and between which calls, that are only its borders. */
function ownWork(finding, row, people, named) {
  const { before } = row,
    afters = aftersOf(row);
  const [culprit] = finding.culprits ?? [];
  const whose = [
    culprit ? h('b', {}, `${people.thread(culprit)}'s own work`) : 'own work',
    row.inside ? [' in ', h('b', {}, row.inside)] : null,
  ];
  if (afters.length === 1 && afters[0].place === before?.place)
    return [whose, ', from one call at ', named(before.place), ' to the next'];
  const some = either(afters.map(({ place }) => named(place)));
  if (!afters.length || !known(before))
    return [whose, afters.length ? [', after ', some] : [', before ', named(before.place)]];
  const from = afters.map(({ place }) => split(people.place(place))),
    to = split(people.place(before.place));
  const same = to[1] && from.every(([, inside]) => inside === to[1]);
  if (!same) return [whose, ', between ', some, ' and ', named(before.place)];
  return [
    whose,
    row.inside !== to[1] ? [' in ', h('b', {}, to[1])] : null,
    ', between ',
    either(afters.map(({ place }, k) => h('b', { title: place }, from[k][0]))),
    ' and ',
    h('b', { title: before.place }, to[0]),
  ];
}

/** The lines whose blocks are not freed: the report names them in its sentence, and has them among its lines. */
export const leaksOf = (finding, report, people) =>
  (report.memory?.sites ?? []).filter(
    ({ pid, event, leak, place }) =>
      leak === 'suspected' &&
      pid === finding.pid &&
      event === finding.event &&
      place &&
      (finding.text.includes(people.place(place)) || finding.places?.includes(place)),
  );

function leakWhere(finding, report, people) {
  return leaksOf(finding, report, people)
    .slice(0, 4)
    .map((site) => {
      const label = people.place(site.place);
      const each = site.live_bytes / (site.live_blocks || 1);
      return h(
        'div',
        {},
        'blocks from ',
        h('b', { title: site.place }, label),
        `: ${several(site.live_blocks, 'block')} of ${count(each)} B each on average, ${bytes(site.live_bytes)} in all; `,
        find([label, site.event], 'see them allocated', `blocks from ${label}: look for their allocations`),
      );
    });
}

/** What stands behind "Where": [] where nothing is known. */
export function whereOf(finding, report, people) {
  if (finding.kind === 'leak') return leakWhere(finding, report, people);
  const row = rowOf(finding, report);
  const named = (place) => h('b', { title: place }, people.place(place));
  let words = (finding.places ?? []).map((place) => [named(place), ' ']),
    places = finding.places ?? [];
  if (known(row?.call)) {
    words = ['in ', row.call.event, ' at ', named(row.call.place)];
    places = [row.call.place];
  } else if (row && (known(row.after) || known(row.before))) {
    words = [ownWork(finding, row, people, named), '. ', h('span', { class: 'muted' }, BORDERS)];
    places = [...new Set([...aftersOf(row), row.before].filter(known).map(({ place }) => place))];
  }
  if (!places.length) return [];
  const whose = finding.culprits?.length === 1 ? people.thread(finding.culprits[0]) : null;
  const links = places.map((place) => {
    const at = people.place(place).split(' ')[0];
    const text = whose ? `${whose}'s calls at ${at}` : `calls at ${at}`;
    const words = [people.place(place), whose].filter(Boolean);
    return [' ', find(words, text, `${text}: look for them in the timeline`)];
  });
  return [words, links];
}
