// SPDX-License-Identifier: BSD-2-Clause
// What is between the calls of a lane, where nothing is drawn: from which call to which, and as far as the kernel's
// figures tell, whether the thread ran.
import { element, fill, plain } from './dom.js';
import { several } from './figures.js';
import * as format from './format.js';
import { addLeftOut } from './timeline_calls.js';
import { arrowRows, button, eventOf, row, siteOf } from './timeline_panel.js';
import { boundsIn } from './timeline_queues.js';
import { termsOf } from './timeline_terms.js';
import { meanwhile, waitersOf } from './timeline_waits.js';

/** What is known of the CPU that the thread had in a time, as a bound, in few words; null: nothing is. */
export function cpuWords(data, lane, from, to) {
  const { facts, queues, report } = data;
  const of = report?.threads?.[facts.lanes[lane].thread],
    ns = to - from;
  const { least, most, seen } = boundsIn(queues, lane, from, to);
  const looked = queues?.until != null && to <= queues.until;
  if (least >= 0.01 * ns)
    return seen < ns - 1
      ? `could run, and had no CPU, for at least ${format.time(least)} of it`
      : `could run, and had no CPU, for ${format.time(least)} to ${format.time(most)} of it`;
  if (most > 0 && most < 0.99 * ns && seen >= ns - 1)
    return `could run, and had no CPU, for at most ${format.time(most)} of it`;
  if (of?.cpu_ns != null && of.observed_ns) {
    const ran = ns - Math.max(0, of.observed_ns - of.cpu_ns);
    if (ran > 0) return `ran for at least ${format.time(ran)} of it`;
  }
  return looked && !most ? 'not without a CPU for a hundredth of the time and more' : null;
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
  const { facts, bins, arrows } = data,
    { one, many } = termsOf(facts),
    { lane: at, from, to, inside, before, after } = gap;
  const lane = facts.lanes[at],
    moment = (ns) => format.moment(ns, 1, facts.length);
  const left = Math.round(addLeftOut(bins, at, facts.length, from, to, new Float64Array(facts.groups.length)));
  const waiting = waitersOf(data, gap),
    cpu = cpuWords(data, at, from, to);
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
      waiting.length
        ? row(
            'Waited for by',
            arrowRows(
              waiting,
              (one) => meanwhile(data, one),
              ({ k }) => [arrows.toLane[k], arrows.toTime[k] - 1],
              app,
            ),
          )
        : null,
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
      cpu ? row('CPU', cpu) : null,
      left > 0
        ? row(
            'Meanwhile',
            `about ${several(left, one, many)} shorter than ${format.time(facts.calls.shorter_than_ns)}, ` +
              'not in this file',
          )
        : null,
    ),
  );
}
