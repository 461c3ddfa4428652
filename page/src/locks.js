// SPDX-License-Identifier: BSD-2-Clause
// Locks: who waits for whom, at which lines, and what a lock costs.
import { part, several, share, time } from './figures.js';
import { details, h, svg } from './make.js';
import { People } from './people.js';
import { table } from './tables.js';
import { chooser } from './charts.js';

const SIDE = 12,
  ROW = 26;

/** Holders on the left, waiters on the right; a line as thick as the wait. */
function graph(people, lock) {
  const pairs = [...lock.pairs].sort((a, b) => b.wait_ns - a.wait_ns);
  if (!pairs.length) return h('p', { class: 'muted' }, 'Nobody was seen to wait for another one that held it.');
  const side = (key) => {
    const sums = new Map();
    for (const pair of pairs)
      sums.set(people.thread(pair[key]), (sums.get(people.thread(pair[key])) ?? 0) + pair.wait_ns);
    return [...sums].sort((a, b) => b[1] - a[1]).slice(0, SIDE);
  };
  const holders = side('holder'),
    waiters = side('waiter');
  const y = (list, name) => 34 + ROW * list.findIndex(([one]) => one === name);
  const most = pairs[0].wait_ns || 1;
  const lines = pairs.map((pair) => {
    const from = y(holders, people.thread(pair.holder)),
      to = y(waiters, people.thread(pair.waiter));
    if (from < 34 || to < 34) return null;
    return svg(
      'path',
      {
        d: `M 215 ${from} C 290 ${from} 310 ${to} 385 ${to}`,
        fill: 'none',
        stroke: 'var(--group-lock)',
        'stroke-width': Math.max(1, (12 * pair.wait_ns) / most),
        'stroke-opacity': 0.65,
      },
      svg(
        'title',
        {},
        `${people.thread(pair.waiter)} waited ${time(pair.wait_ns)} while ${people.thread(pair.holder)} ` +
          `held it, taken at ` +
          people.place(pair.taken_at),
      ),
    );
  });
  const height = 40 + ROW * Math.max(holders.length, waiters.length);
  const short = (name) => (name.length > 24 ? `${name.slice(0, 23)}…` : name);
  const words = (list, x, anchor) =>
    list.map(([name, ns]) =>
      svg(
        'text',
        { x, y: y(list, name) + 4, 'text-anchor': anchor },
        `${short(name)} ${time(ns)}`,
        svg('title', {}, name),
      ),
    );
  return h(
    'div',
    { class: 'chart' },
    svg(
      'svg',
      {
        class: 'graph',
        role: 'img',
        viewBox: `0 0 600 ${height}`,
        width: '100%',
        style: { 'max-width': '720px' },
        'aria-label': `Who holds and who waits: ${pairs
          .slice(0, 3)
          .map((pair) => `${people.thread(pair.waiter)} waited ${time(pair.wait_ns)} for ${people.thread(pair.holder)}`)
          .join('; ')}`,
      },
      svg('text', { x: 205, y: 14, 'text-anchor': 'end', 'font-weight': 'bold' }, 'held it (others waited)'),
      svg('text', { x: 395, y: 14, 'font-weight': 'bold' }, 'waited'),
      lines,
      words(holders, 205, 'end'),
      words(waiters, 395, 'start'),
    ),
  );
}

const columns = (people) => [
  { key: 'sites', title: 'Taken at', get: (lock) => people.place(lock.sites?.[0]?.site) },
  {
    key: 'lock',
    title: 'Lock',
    get: (lock) => lock.lock ?? null,
    text: (value, lock) => value ?? several(lock.locks, 'lock'),
  },
  { key: 'event', title: 'Event' },
  { key: 'acquired', title: 'Taken', kind: 'count' },
  { key: 'contended_share', title: 'Contended', kind: 'share', help: "another thread's hold ended within the call" },
  { key: 'contended', only: 'csv' },
  { key: 'wait_ns', title: 'Wait', kind: 'time', help: 'of the contended calls, of all threads' },
  { key: 'wait_max_ns', title: 'Longest', kind: 'time' },
  { key: 'hold_mean_ns', title: 'Held, mean', kind: 'time' },
  { key: 'hold_max_ns', title: 'Held, most', kind: 'time' },
  { key: 'handed_on_share', title: 'Handed on', kind: 'share', help: 'releases at which somebody waited already' },
  { key: 'serial_share', title: 'Serial', kind: 'share', help: 'of the time observed, somebody held it' },
  { key: 'failed', title: 'Failed', kind: 'count', help: 'calls that did not take it' },
];

function pairs(app, people, lock) {
  return table(app, {
    name: 'locks.pairs',
    caption: 'Who waited while whom held it',
    rows: lock.pairs,
    sort: '-wait_ns',
    empty: 'Nobody did.',
    columns: [
      { key: 'waiter', title: 'Who waits', get: (p) => people.thread(p.waiter) },
      { key: 'waits_at', title: 'At', get: (p) => people.place(p.waits_at) },
      { key: 'holder', title: 'Who holds it', get: (p) => people.thread(p.holder) },
      { key: 'taken_at', title: 'Taken at', get: (p) => people.place(p.taken_at) },
      { key: 'holds', title: 'Holds', kind: 'count' },
      { key: 'wait_ns', title: 'Wait', kind: 'time' },
      { key: 'wait_max_ns', title: 'Longest', kind: 'time' },
      { key: 'share', title: 'Of all', kind: 'time', get: (p) => p.wait_ns, text: (ns) => part(ns, lock.behind_ns) },
    ],
  });
}

function sites(app, people, lock) {
  return table(app, {
    name: 'locks.sites',
    caption: 'Lines that take it',
    rows: lock.sites ?? [],
    sort: '-wait_ns',
    columns: [
      { key: 'site', title: 'Line', get: (s) => people.place(s.site) },
      { key: 'acquired', title: 'Taken', kind: 'count' },
      { key: 'contended', title: 'Contended', kind: 'count' },
      { key: 'wait_ns', title: 'Waits here', kind: 'time' },
      { key: 'hold_ns', title: 'Held from here', kind: 'time' },
      { key: 'hold_max_ns', title: 'Longest hold', kind: 'time' },
      { key: 'blamed_ns', title: 'Others waited', kind: 'time', help: 'for holds that began here' },
      { key: 'failed', title: 'Failed', kind: 'count' },
    ],
  });
}

export const locks = {
  id: 'locks',
  title: 'Locks',
  needs: ({ report }) => Boolean(report.locks?.classes?.length),
  render(section, { report }, app) {
    const people = new People(report);
    const all = [...report.locks.classes].sort((a, b) => b.wait_ns - a.wait_ns);
    const name = (lock) =>
      `${people.place(lock.sites?.[0]?.site)} (${share(lock.contended_share, 0)} contended, ${time(lock.wait_ns)})`;
    section.append(
      h(
        'p',
        { class: 'intro' },
        'Locks that are taken at the same line are one row. A wait is the whole time of calls within which ' +
          "another thread's hold ended; serial is the part of the run in which one thread at most could " +
          'go on because of it.',
      ),
      table(app, {
        name: 'locks.classes',
        caption: 'Locks (wait: of all threads; serial: of the time observed)',
        rows: all,
        sort: '-wait_ns',
        columns: columns(people),
      }),
      ...chooser(
        'Lock',
        all.slice(0, 100).map((lock) => [name(lock), lock]),
        (lock) => [
          h('h3', {}, 'Who holds it, and who waits (thick: long)'),
          graph(people, lock),
          pairs(app, people, lock),
          details('Lines that take it', () => sites(app, people, lock)),
        ],
      ),
      report.locks.locks?.length
        ? details(`Each lock by itself (${report.locks.locks.length})`, () =>
            table(app, {
              name: 'locks.locks',
              caption: 'Locks that were contended, one by one',
              rows: report.locks.locks,
              sort: '-wait_ns',
              columns: columns(people),
            }),
          )
        : '',
    );
  },
};
