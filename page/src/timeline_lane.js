// SPDX-License-Identifier: BSD-2-Clause
// One lane, of a time or of all: what its time was for, beside that of all lanes.
import { element, fill, plain } from './dom.js';
import * as format from './format.js';
import { button, row, split, splitTable } from './timeline_panel.js';
import { termsOf } from './timeline_terms.js';

/** By the kernel's figures, of all of the thread's time. */
function cpuOf(of) {
  if (of?.cpu_ns == null || !of.observed_ns) return 'not known';
  const share = (ns) => format.percent(Math.min(1, ns / of.observed_ns));
  return (
    `ran for ${share(of.cpu_ns)} of its time since its first call` +
    (of.run_queue_ns == null ? '' : `; could run, and had no CPU, for ${share(of.run_queue_ns)}`)
  );
}

export function showLane(panel, data, at, [from, to], app, shares) {
  const { facts, report } = data,
    lane = facts.lanes[at],
    { many } = termsOf(facts);
  const all = lane.all ?? lane.calls;
  const found = split(data, from, to, [at], shares);
  fill(
    panel,
    element(
      'header',
      {},
      element('h3', {}, plain(lane.name)),
      element(
        'p',
        { class: 'tl-buttons' },
        button('Close', () => app.timeline.clear(), 'nothing selected'),
      ),
    ),
    element(
      'div',
      { class: 'tl-range' },
      splitTable(data, found, to - from, [at], app, true),
      element(
        'dl',
        {},
        row('Process', plain(lane.process)),
        row(
          'Time',
          from > 0 || to < facts.length
            ? `from ${format.moment(from, 1, facts.length)} to ${format.moment(to, 1, facts.length)}`
            : `the whole run, ${format.time(to - from)}`,
        ),
        row(
          termsOf(facts).id === 'tl' ? 'Calls' : 'Tasks',
          `${format.count(all)}${all > lane.calls ? `, ${format.count(lane.calls)} of them in this file` : ''}` +
            `${lane.lost ? `; ${format.count(lane.lost)} ${many} are lost` : ''}`,
        ),
        row('CPU', cpuOf(report?.threads?.[lane.thread])),
      ),
    ),
  );
}
