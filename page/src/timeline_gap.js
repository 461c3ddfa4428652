// SPDX-License-Identifier: BSD-2-Clause
// What is between the calls of a lane, where nothing is drawn: from which call to which, and as far as the kernel's
// figures tell, whether the thread ran.
import { element, fill, plain } from './dom.js';
import * as format from './format.js';
import { addLeftOut, inProgress, lowerBound } from './timeline_calls.js';
import { button, eventOf, row, siteOf } from './timeline_panel.js';
import { spentIn } from './timeline_queues.js';
import { termsOf } from './timeline_terms.js';

/**
 * The gap of a lane at a time: { lane, from, to, inside, before, after }, the last three calls, or -1. Of a call it is
 * what lies between the calls inside of it.
 */
export function gapAt({ facts, calls }, lane, time) {
  const of = facts.lanes[lane],
    end = of.first + of.calls;
  const [inside = -1] = inProgress(calls, of, time);
  const next = lowerBound(calls.start, time, of.first, end);
  const until = inside < 0 ? facts.length : calls.start[inside] + calls.duration[inside];
  let before = next > of.first ? next - 1 : -1;
  while (before >= 0 && before !== inside && calls.parent[before] !== inside) before = calls.parent[before];
  if (before === inside) before = -1;
  const after = next < end && calls.start[next] < until ? next : -1;
  return {
    lane,
    inside,
    before,
    after,
    from: before >= 0 ? calls.start[before] + calls.duration[before] : inside >= 0 ? calls.start[inside] : 0,
    to: after >= 0 ? calls.start[after] : until,
  };
}

/** What is known of the CPU that the thread had in a time, in sentences. */
export function cpuWords(data, lane, from, to) {
  const { facts, queues, report } = data;
  const of = report?.threads?.[facts.lanes[lane].thread],
    ns = to - from,
    words = [];
  const { queued, seen } = spentIn(queues, lane, from, to);
  if (queued > 0)
    words.push(
      `could run and had no CPU for about ${format.time(queued)} of ${seen < 0.99 * ns ? format.time(seen) : 'it'} ` +
        '(a mean: when is not known)',
    );
  else if (queues?.until != null && to <= queues.until)
    words.push('not without a CPU for a hundredth of the time and more');
  if (of?.cpu_ns != null && of.observed_ns) {
    const least = ns - Math.max(0, of.observed_ns - of.cpu_ns);
    words.push(
      least > 0
        ? `ran for at least ${format.time(least)} of it, as it was without a CPU for no more than the rest in all`
        : `of all its time the thread ran for ${format.percent(Math.min(1, of.cpu_ns / of.observed_ns))}: ` +
            'how much of that was here is not known',
    );
  }
  return words.length ? words.join('; ') : 'not known';
}

function neighbour(data, i, app, none) {
  const site = siteOf(data, i);
  return i < 0
    ? none
    : [
        `${eventOf(data, i)}, ${format.time(data.calls.duration[i])}${site ? `, from ${site}` : ''} `,
        button('select', () => app.timeline.select(i), `select ${eventOf(data, i)}`),
      ];
}

/** What it is called: No observed call for 3.000 ms. */
export function gapTitle(data, { from, to, inside }) {
  const lasts = format.time(to - from);
  return inside < 0 ? `${termsOf(data.facts).none} for ${lasts}` : `${eventOf(data, inside)} itself, for ${lasts}`;
}

export function showGap(panel, data, gap, app) {
  const { facts, bins } = data,
    { one, many } = termsOf(facts),
    { lane: at, from, to, inside, before, after } = gap;
  const lane = facts.lanes[at],
    moment = (ns) => format.moment(ns, 1, facts.length);
  const left = Math.round(addLeftOut(bins, at, facts.length, from, to, new Float64Array(facts.groups.length)));
  const none = (word) => `no ${one} of this lane is in the file ${word} it`;
  fill(
    panel,
    element(
      'header',
      {},
      element('h3', {}, gapTitle(data, gap)),
      element(
        'p',
        { class: 'tl-buttons' },
        button('As wide as fits', () => app.timeline.show(from - (to - from) * 0.15, to + (to - from) * 0.15)),
        button('Close', () => app.timeline.clear(), 'nothing selected'),
      ),
    ),
    element(
      'dl',
      {},
      row('From, to', `${moment(from)} to ${moment(to)} into the recording`),
      inside < 0 && one === 'call' ? row('What', "the program's own code, or functions that are not observed") : null,
      row(
        'Thread',
        plain(lane.name),
        lane.lost ? ` (${format.count(lane.lost)} calls of it are lost: where, is not known)` : '',
      ),
      row('Process', plain(lane.process)),
      row('Before', neighbour(data, before, app, inside < 0 ? none('before') : 'the begin of the call around it')),
      row('After', neighbour(data, after, app, inside < 0 ? none('after') : 'the end of the call around it')),
      inside < 0 ? null : row('Inside', neighbour(data, inside, app)),
      row('CPU', cpuWords(data, at, from, to)),
      left > 0
        ? row(
            'Meanwhile',
            `about ${format.count(left)} ${many} shorter than ${format.time(facts.calls.shorter_than_ns)}, ` +
              'not in this file',
          )
        : null,
    ),
  );
}
