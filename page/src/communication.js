// SPDX-License-Identifier: BSD-2-Clause
// Messages and accesses between ranks: how much from whom to whom, in which sizes, and which habits cost time.
import { bytes, count, part, several, time } from './figures.js';
import { details, h } from './make.js';
import { heatmap } from './heatmap.js';
import { histogram } from './charts.js';
import { People } from './people.js';
import { table } from './tables.js';

const mean = (of) =>
  of.operations > (of.operations_without_bytes ?? 0)
    ? of.bytes / (of.operations - (of.operations_without_bytes ?? 0))
    : null;

function picture(app, people, of) {
  const ranks = [
    ...new Set([...of.ranks.map(({ rank }) => rank), ...of.pairs.flatMap(({ from, to }) => [from, to])]),
  ].sort((a, b) => a - b);
  return heatmap(app, {
    pairs: of.pairs,
    ranks,
    name: (rank) => people.rank(rank),
    label: 'Who sends how much to whom',
    measures: [
      { title: 'Bytes', of: (cell) => cell.bytes, text: bytes },
      { title: 'Operations', of: (cell) => cell.operations, text: count },
      { title: 'Mean size', of: (cell) => (cell.operations ? cell.bytes / cell.operations : 0), text: bytes },
      { title: 'Time in calls', of: (cell) => cell.time_ns, text: time },
    ],
    read: (from, to, cell) =>
      cell
        ? `from ${from} to ${to}: ${several(cell.operations, 'operation')}, ${bytes(cell.bytes)}, ` +
          `${bytes(cell.operations ? cell.bytes / cell.operations : 0)} each on average, ` +
          `${time(cell.time_ns)} in the calls`
        : `from ${from} to ${to}: nothing`,
  });
}

function pairs(app, people, of) {
  return table(app, {
    name: 'communication.pairs',
    caption: 'From rank to rank (from: who calls; to: whom the call names)',
    rows: of.pairs,
    sort: '-bytes',
    columns: [
      { key: 'from', title: 'From', get: (p) => p.from, text: (rank) => people.rank(rank) },
      { key: 'to', title: 'To', get: (p) => p.to, text: (rank) => people.rank(rank) },
      { key: 'operations', title: 'Operations', kind: 'count' },
      { key: 'bytes', title: 'Bytes', kind: 'bytes' },
      { key: 'mean_bytes', title: 'Mean size', kind: 'bytes' },
      { key: 'operations_without_bytes', title: 'Size not known', kind: 'count' },
      { key: 'time_ns', title: 'Time in calls', kind: 'time' },
      { key: 'share', title: 'Of all bytes', kind: 'bytes', get: (p) => p.bytes, text: (n) => part(n, of.all.bytes) },
    ],
  });
}

function byRank(app, people, of) {
  const flow = (key, title) => [
    { key: `${key}.operations`, title: `${title}: operations`, kind: 'count', get: (r) => r[key]?.operations },
    { key: `${key}.bytes`, title: 'bytes', kind: 'bytes', get: (r) => r[key]?.bytes },
  ];
  return table(app, {
    name: 'communication.ranks',
    caption: 'By rank (collectives and receives are no part of the picture above)',
    rows: of.ranks,
    sort: 'rank',
    columns: [
      { key: 'rank', title: 'Rank', text: (rank) => people.rank(rank) },
      { key: 'pid', only: 'csv' },
      ...flow('out', 'sends'),
      ...flow('in', 'is named'),
      { key: 'in_ns', title: 'time of these', kind: 'time' },
      ...flow('received', 'receives'),
      ...flow('collectives', 'collectives'),
      ...flow('to_unknown', 'to unknown'),
    ],
  });
}

function habits(app, people, of) {
  const who = (row) => (row.rank != null ? people.rank(row.rank) : several(row.processes, 'process'));
  return [
    of.small_messages?.length
      ? table(app, {
          name: 'communication.small_messages',
          caption: 'Small messages that could go together (at most 1 KiB, in succession, to the same rank)',
          rows: of.small_messages,
          sort: '-saves_ns',
          columns: [
            { key: 'event', title: 'Event' },
            { key: 'place', title: 'Place' },
            { key: 'who', title: 'Who', get: who },
            { key: 'messages', title: 'Messages', kind: 'count' },
            { key: 'messages_that_would_do', title: 'Would do', kind: 'count' },
            { key: 'bytes', title: 'Bytes', kind: 'bytes' },
            { key: 'time_ns', title: 'Time', kind: 'time' },
            { key: 'saves_ns', title: 'Saves', kind: 'time', help: 'at least' },
          ],
        })
      : null,
    of.no_overlap?.length
      ? table(app, {
          name: 'communication.no_overlap',
          caption: 'Waits for what was begun before, and what they overlap',
          rows: of.no_overlap,
          sort: '-wait_ns',
          columns: [
            { key: 'event', title: 'Event' },
            { key: 'place', title: 'Place' },
            { key: 'who', title: 'Who', get: who },
            { key: 'begun_by', title: 'Begun by' },
            { key: 'waits', title: 'Waits', kind: 'count' },
            { key: 'wait_ns', title: 'Time', kind: 'time' },
            { key: 'without_overlap', title: 'Overlap nothing', kind: 'count' },
            { key: 'hidden_at_most_ns', title: 'Could hide', kind: 'time', help: 'at most' },
          ],
        })
      : null,
  ];
}

/** How many operations there are sizes of, and whether collective ones are among them. */
function sizesOf(of) {
  const shown = of.sizes.reduce((sum, [, operations]) => sum + operations, 0);
  const apart = of.collectives?.operations;
  return (
    `${several(shown, 'operation')} by size; each bar is of twice the size of the one before.` +
    (apart && shown <= of.all.operations
      ? ` The ${several(apart, 'collective operation')} (${bytes(of.collectives.bytes)}) are not among them: they ` +
        'are counted apart, by rank.'
      : '')
  );
}

const notes = (of) =>
  [
    of.collectives?.operations &&
      `${several(of.collectives.operations, 'collective operation')} (${bytes(of.collectives.bytes)}) ` +
        `name nobody in particular`,
    of.pairs_not_kept_apart?.operations &&
      `${several(of.pairs_not_kept_apart.operations, 'operation')} are in no pair, as there are too many`,
    of.waits_for_unknown &&
      `${several(of.waits_for_unknown, 'wait')} for requests of which it is not known what they are`,
    of.calls_not_on_timeline &&
      `${several(of.calls_not_on_timeline, 'call')} that move something are not on the timeline`,
  ].filter(Boolean);

export const communication = {
  id: 'communication',
  title: 'Communication',
  needs: ({ report }) =>
    Boolean(
      report.communication?.ranks?.length &&
      (report.communication.all.operations || report.communication.sizes?.length),
    ),
  render(section, { report }, app) {
    const people = new People(report);
    const of = report.communication;
    const parts = [
      h(
        'p',
        { class: 'intro' },
        `${several(of.all.operations, 'operation')} between ranks, ${bytes(of.all.bytes)}, ${bytes(mean(of.all))} on ` +
          'average. A message counts where it is sent, an access of memory where it is made.',
      ),
      of.hot_target
        ? h(
            'p',
            {},
            h('b', {}, `Hot target: ${people.rank(of.hot_target.rank)}`),
            `, named by ${count(of.hot_target.operations)} operations of the others.`,
          )
        : null,
      of.pairs.length ? picture(app, people, of) : null,
      of.pairs.length ? pairs(app, people, of) : null,
      of.sizes?.length
        ? [
            h('h3', {}, 'Sizes of messages'),
            h('p', { class: 'muted' }, sizesOf(of)),
            histogram(app, {
              label: 'Sizes of messages',
              bins: of.sizes,
              from: bytes,
              of: 'size of one: from this on, up to twice as large',
              what: 'operations (logarithmic)',
              colour: 'group-data',
              text: (from, operations, all) =>
                `${bytes(from)} up to ${bytes(from ? from * 2 : 1)}: ${several(operations, 'operation')}, ` +
                `${bytes(all)} in all`,
            }),
          ]
        : null,
      habits(app, people, of),
      details('By rank', () => byRank(app, people, of)),
      notes(of).length ? h('p', { class: 'muted' }, `Besides: ${notes(of).join('; ')}.`) : null,
    ];
    section.append(...parts.flat(Infinity).filter(Boolean));
  },
};
