// SPDX-License-Identifier: BSD-2-Clause
// Memory: who has how much, what grows, which lines it comes from.
import { axis, chart } from './charts.js';
import { bytes, rate, several, short, time } from './figures.js';
import { h, legend } from './make.js';
import { People } from './people.js';
import { table } from './tables.js';

const colours = ['group-data', 'group-wait', 'group-task', 'group-lock', 'group-coll', 'group-io'];
const leaks = { none: '-', suspected: 'leak?', unknown: 'not known' };

/** What is known of a heap over time: its begin, the end of its first fifth, its high water and its end. */
function pointsOf(heap, start, end) {
  const all = [
    [start, 0],
    [heap.steady_from_ns, heap.steady_live_bytes],
    [heap.high_water_ns, heap.high_water_bytes],
    [end, heap.live_bytes],
  ];
  return all.filter(([at, value]) => at != null && value != null && at >= start).sort((a, b) => a[0] - b[0]);
}

function overTime(app, people, heaps, { start_ns: start, end_ns: end }) {
  const drawn = [...heaps].sort((a, b) => b.high_water_bytes - a.high_water_bytes).slice(0, colours.length);
  const lines = drawn.map((heap) => pointsOf(heap, start, end));
  const xs = [...new Set(lines.flatMap((line) => line.map(([at]) => at)))].sort((a, b) => a - b);
  const ys = lines.map((line) => xs.map((x) => line.find(([at]) => at === x)?.[1] ?? null));
  const name = (heap) => `${heap.rank != null ? people.rank(heap.rank) : people.process(heap.pid)}, ${heap.heap}`;
  return [
    h(
      'h3',
      {},
      'Live bytes over time (only the marked points are known: after the first fifth, at the most, at the end)',
    ),
    chart(app, {
      label: `Live bytes over time of ${several(drawn.length, 'heap')}`,
      height: 220,
      data: () => [xs.map((x) => (x - start) / 1e9), ...ys],
      read: (i) =>
        `at ${time(xs[i] - start)}: ${drawn
          .map((heap, k) => (ys[k][i] != null ? `${name(heap)} ${bytes(ys[k][i])}` : null))
          .filter(Boolean)
          .join('; ')}`,
      options: () => ({
        scales: { x: { time: false }, y: { range: (u, low, high) => [0, high * 1.05 || 1] } },
        axes: [
          axis(app, { values: (u, marks) => marks.map((s) => short(time(s * 1e9))) }),
          axis(app, { size: 80, values: (u, marks) => marks.map(bytes) }),
        ],
        series: [
          {},
          ...drawn.map((heap, k) => ({
            stroke: app.colour(colours[k]),
            width: 1.5,
            dash: [5, 4],
            spanGaps: true,
            points: { show: true, size: 7, fill: app.colour(colours[k]) },
          })),
        ],
      }),
    }),
    legend(drawn.map((heap, k) => ({ colour: `var(--${colours[k]})`, label: name(heap) }))),
  ];
}

export const memory = {
  id: 'memory',
  title: 'Memory',
  needs: ({ report }) => Boolean(report.memory?.heaps?.length),
  render(section, { report }, app) {
    const people = new People(report);
    const { heaps, sites = [] } = report.memory;
    const exact = (n, heap) => `${heap.exact ? '' : '~'}${bytes(n)}`;
    section.append(
      h(
        'p',
        { class: 'intro' },
        'Blocks that were allocated while it was observed. What was there before is not known until it is freed.',
      ),
      ...overTime(app, people, heaps, report.recording),
      table(app, {
        name: 'memory.heaps',
        caption: 'Heaps (high water: the most that was alive; growth: where it is steady)',
        rows: heaps,
        sort: '-high_water_bytes',
        columns: [
          {
            key: 'who',
            title: 'Who',
            get: (heap) => (heap.rank != null ? people.rank(heap.rank) : people.process(heap.pid)),
          },
          { key: 'pid', only: 'csv' },
          { key: 'rank', only: 'csv' },
          { key: 'heap', title: 'Heap' },
          { key: 'live_bytes', title: 'Live at end', kind: 'bytes', text: exact },
          { key: 'live_blocks', title: 'in blocks', kind: 'count' },
          { key: 'high_water_bytes', title: 'High water', kind: 'bytes', text: exact },
          { key: 'high_water_ns', title: 'At', kind: 'time', text: (ns) => time(people.since(ns)) },
          {
            key: 'trend_bytes_per_s',
            title: 'Growth',
            kind: 'rate',
            text: (value, heap) => (heap.grows ? rate(value) : '-'),
          },
          { key: 'blocks', title: 'Blocks', kind: 'count' },
          { key: 'bytes', title: 'Bytes, all', kind: 'bytes' },
          { key: 'freed', title: 'Freed', kind: 'count' },
          { key: 'freed_from_before', title: 'Freed from before', kind: 'count' },
        ],
      }),
      table(app, {
        name: 'memory.sites',
        caption: 'Lines that allocate',
        rows: sites,
        sort: '-live_bytes',
        empty: 'No lines are known.',
        columns: [
          { key: 'place', title: 'Line', get: (s) => people.place(s.place) },
          { key: 'who', title: 'Who', get: (s) => (s.rank != null ? people.rank(s.rank) : people.process(s.pid)) },
          { key: 'event', title: 'Event' },
          { key: 'blocks', title: 'Blocks', kind: 'count' },
          { key: 'bytes', title: 'Bytes', kind: 'bytes' },
          { key: 'live_blocks', title: 'Live blocks', kind: 'count' },
          { key: 'live_bytes', title: 'Live bytes', kind: 'bytes' },
          { key: 'live_bytes_per_s', title: 'Growth', kind: 'rate' },
          { key: 'leak', title: 'Leak', text: (value) => leaks[value] ?? value },
          { key: 'oldest_ns', title: 'Oldest', kind: 'time', help: 'age of what is alive' },
          { key: 'short_lived_blocks', title: 'Short-lived', kind: 'count' },
          { key: 'short_lived_ns', title: 'Their time', kind: 'time' },
        ],
      }),
    );
  },
};
