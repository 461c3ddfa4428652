// SPDX-License-Identifier: BSD-2-Clause
// Memory: who has how much, what grows, which lines it comes from.
import { curves, POWERS } from './curves.js';
import { bytes, rate, several, time } from './figures.js';
import { h } from './make.js';
import { People } from './people.js';
import { table } from './tables.js';

const leaks = { none: '-', suspected: 'leak?', unknown: 'not known' };

/** A line for each heap, the one with the most first. Before the first block there is none. */
function overTime(app, people, heaps, data) {
  const { facts, series } = data;
  const own = (series?.series ?? []).filter(({ what }) => what === 'memory');
  const name = (heap) =>
    heap.pid == null && heap.rank == null
      ? `all ranks, ${heap.heap}`
      : `${heap.rank != null ? people.rank(heap.rank) : people.process(heap.pid)}, ${heap.heap}`;
  const lines = [...heaps]
    .sort((a, b) => b.high_water_bytes - a.high_water_bytes)
    .map((heap) => {
      const found = own.find(({ pid, model }) => pid === heap.pid && model === heap.heap);
      return (
        found && {
          name: name(heap),
          at: [0, ...found.at_ns],
          values: [0, ...found.values],
          mark: heap.high_water_ns == null ? null : people.since(heap.high_water_ns),
          means:
            `at most ${heap.exact ? '' : '~'}${bytes(heap.high_water_bytes)}, ` +
            `at ${time(people.since(heap.high_water_ns))}`,
        }
      );
    })
    .filter(Boolean);
  if (!lines.length) return h('p', { class: 'muted' }, 'No block was seen to be allocated or freed.');
  return h(
    'div',
    {},
    h('h3', {}, 'Live bytes over time (a dot: the most)'),
    curves(app, {
      lines,
      what: 'Heaps',
      label: 'Live bytes over time',
      text: bytes,
      steps: POWERS,
      length: facts.length,
      go: (ns) => app.goto(app.timeline?.lane ?? 0, ns - facts.length / 100, ns + facts.length / 100),
    }),
    h(
      'p',
      { class: 'muted' },
      `Of each ${time(series.slot_ns)} the least, the most and the last are in the picture, as they were.` +
        (series.left_out ? ` ${several(series.left_out, 'change')} of further heaps are not in it.` : ''),
    ),
  );
}

export const memory = {
  id: 'memory',
  title: 'Memory',
  needs: ({ report }) => Boolean(report.memory?.heaps?.length),
  render(section, data, app) {
    const { report } = data;
    const people = new People(report);
    const { heaps, sites = [] } = report.memory;
    const exact = (n, heap) => `${heap.exact ? '' : '~'}${bytes(n)}`;
    const later = h('div', { class: 'later' });
    app.loaded.then(() => later.append(overTime(app, people, heaps, data)));
    section.append(
      h(
        'p',
        { class: 'intro' },
        'Blocks that were allocated while it was observed. What was there before is not known until it is freed.',
      ),
      later,
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
