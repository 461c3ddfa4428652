// SPDX-License-Identifier: BSD-2-Clause
// The critical path: what the run is as long as.
import { part, several, time } from './figures.js';
import { beware, h } from './make.js';
import { People } from './people.js';
import { table } from './tables.js';
import { valued } from './charts.js';

const LESS = 'what the run is shorter by if this takes a tenth less, each time and on all threads, by simulation';
const OTHER = 'where that is much below "at most", another path is nearly as long';
const MOST = 'a tenth of what it has on the path: no more than that can come of it';

export const path = {
  id: 'path',
  title: 'Critical path',
  needs: ({ report }) => Boolean(report.critical_path?.parts?.length),
  render(section, { report }, app) {
    const people = new People(report);
    const of = report.critical_path;
    const rows = of.parts.map((one) => ({ ...one, text: people.deed(one) }));
    section.append(
      h(
        'p',
        { class: 'intro' },
        `What the run is as long as: the chain of work and calls, from thread to thread, of which each ` +
          `waited for the one ` +
          `before. ${time(of.length_ns)} long, changing threads ${several(of.changes, 'time')}. Only what ` +
          `is on it makes the run shorter.`,
      ),
      ...beware(report, people),
      h('h3', {}, 'Whose it is (of the path)'),
      valued(
        [...of.threads]
          .sort((a, b) => b.on_path_ns - a.on_path_ns)
          .slice(0, 16)
          .map((t) => ({
            label: people.thread(t),
            value: t.on_path_ns,
            text: `${time(t.on_path_ns)}, ${part(t.on_path_ns, of.length_ns)}`,
          })),
        { whole: of.length_ns, label: 'Threads on the critical path', colour: 'var(--path)' },
      ),
      table(app, {
        name: 'critical_path.parts',
        caption: 'Its parts (share: of the path; uneven: what of it is beyond an even share)',
        rows,
        sort: '-on_path_ns',
        columns: [
          { key: 'threads', title: 'Who', get: (p) => people.mostOf(p.threads, 'on_path_ns') },
          { key: 'does', title: 'Does', get: (p) => p.text[0] },
          { key: 'where', title: 'Where', get: (p) => p.text[1] },
          { key: 'on_path_ns', title: 'On the path', kind: 'time' },
          {
            key: 'share',
            title: 'Share',
            kind: 'time',
            get: (p) => p.on_path_ns,
            text: (ns) => part(ns, of.length_ns),
          },
          { key: 'imbalance_ns', title: 'Uneven', kind: 'time' },
          {
            key: 'gain_ns',
            title: '10 % less gives',
            kind: 'time',
            help: `${LESS}; ${OTHER}`,
          },
          { key: 'gain_at_most_ns', title: 'at most', kind: 'time', help: MOST },
        ],
      }),
      h(
        'ul',
        { class: 'legend' },
        h('li', {}, h('b', {}, '10 % less gives'), `: ${LESS} (-: not simulated); ${OTHER}`),
        h('li', {}, h('b', {}, 'at most'), `: ${MOST}`),
      ),
      ...[
        of.unknown_ns ? h('p', { class: 'muted' }, `Not known what was done: ${time(of.unknown_ns)} of it.`) : null,
      ].filter(Boolean),
    );
  },
};
