// SPDX-License-Identifier: BSD-2-Clause
// Parallel regions: how even the shares of their threads are, and what is outside of all of them.
import { part, percent, several, time } from './figures.js';
import { details, h } from './make.js';
import { People } from './people.js';
import { table } from './tables.js';
import { chooser, valued } from './charts.js';

const threadsOf = (region) =>
  region.processes?.flatMap((p) => p.threads.map((thread) => ({ ...thread, rank: p.rank, judged: p.judged }))) ?? [];

function regionTable(app, people, rows) {
  return table(app, {
    name: 'regions.regions',
    caption: 'Regions (imbalance: of the work, 1 - mean / most; wait at end: of all threads, for the last one)',
    rows,
    sort: '-time_ns',
    columns: [
      { key: 'site', title: 'Region', get: (r) => people.place(r.site) },
      { key: 'function', title: 'Its share' },
      { key: 'times', title: 'Times', kind: 'count' },
      { key: 'judged', title: 'Seen whole', kind: 'count' },
      { key: 'most_threads', title: 'Threads', kind: 'count' },
      { key: 'mean', title: 'Mean', kind: 'time', get: (r) => (r.times ? r.time_ns / r.times : null) },
      { key: 'time_ns', title: 'Time', kind: 'time' },
      { key: 'imbalance_percent', title: 'Imbalance', kind: 'percent' },
      { key: 'uneven_ns', title: 'Even shares give', kind: 'time', help: 'at most' },
      { key: 'waited_at_end_ns', title: 'Wait at end', kind: 'time' },
      { key: 'overhead_ns', title: 'Overhead', kind: 'time' },
      {
        key: 'last',
        title: 'Done last',
        get: (r) => {
          const last = threadsOf(r).filter(({ persistent }) => persistent);
          return last.length ? `${people.some(last, 2)} in ${part(last[0].last, last[0].judged, 0)}` : 'by turns';
        },
      },
    ],
  });
}

export const regions = {
  id: 'regions',
  title: 'Parallel regions',
  needs: ({ report }) => Boolean(report.regions?.regions?.length),
  render(section, { report }, app) {
    const people = new People(report);
    const { regions: all, beginners = [], outside = [] } = report.regions;
    const judged = all.filter((region) => threadsOf(region).length);
    const parts = [
      h(
        'p',
        { class: 'intro' },
        'Regions are known by the line that begins them. A share is what one thread does of it; whoever is done ' +
          'early waits at the end for the last one.',
      ),
      regionTable(app, people, all),
      judged.length
        ? [
            h('h3', {}, 'Work by thread'),
            ...chooser(
              'Region',
              judged.slice(0, 100).map((region) => [people.place(region.site), region]),
              (region) => {
                const list = threadsOf(region).sort((a, b) => b.work_ns - a.work_ns);
                return valued(
                  list
                    .slice(0, 48)
                    .map((t) => ({
                      label: people.thread(t),
                      value: t.work_ns,
                      colour: t.persistent ? 'var(--bad)' : 'var(--group-task)',
                      text:
                        `${time(t.work_ns)} in ${several(t.shares, 'share')}; last ${t.last} ` +
                        `times${t.persistent ? ' (always the same)' : ''}; waits at end ${time(t.waited_at_end_ns)}`,
                    })),
                  { label: 'Work by thread' },
                );
              },
            ),
          ]
        : null,
      beginners.length
        ? table(app, {
            name: 'regions.beginners',
            caption: 'Outside of all regions, by the thread that begins them (while the others are idle)',
            rows: beginners,
            sort: '-outside_ns',
            columns: [
              { key: 'who', title: 'Thread', get: (b) => people.thread(b) },
              { key: 'regions', title: 'Regions', kind: 'count' },
              { key: 'outside_ns', title: 'Outside', kind: 'time' },
              { key: 'from_first_to_last_ns', title: 'Of', kind: 'time', help: 'from its first region to its last' },
              {
                key: 'share',
                title: 'Share',
                kind: 'percent',
                get: (b) => (b.from_first_to_last_ns ? (100 * b.outside_ns) / b.from_first_to_last_ns : null),
                text: (v) => percent(v),
              },
              { key: 'outside_waits_ns', title: 'It waits', kind: 'time' },
              { key: 'others_idle_ns', title: 'Others idle', kind: 'time' },
            ],
          })
        : null,
      outside.length
        ? details('Where that is', () =>
            table(app, {
              name: 'regions.outside',
              caption: 'Outside of regions, by the regions before and after',
              rows: outside,
              sort: '-time_ns',
              columns: [
                { key: 'after', title: 'After', get: (o) => people.place(o.after) },
                { key: 'before', title: 'Before', get: (o) => people.place(o.before) },
                { key: 'pid', title: 'Process', text: (pid) => people.process(pid) },
                { key: 'times', title: 'Times', kind: 'count' },
                { key: 'time_ns', title: 'Time', kind: 'time' },
                { key: 'waits_ns', title: 'Waits', kind: 'time' },
                { key: 'longest_ns', title: 'Longest', kind: 'time' },
              ],
            }),
          )
        : null,
    ];
    section.append(...parts.flat(Infinity).filter(Boolean));
  },
};
