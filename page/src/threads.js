// SPDX-License-Identifier: BSD-2-Clause
// Each thread's time by what it was for: a bar of groups each, and the figures.
import { colourOf, groups, legendOf } from './groups.js';
import { part, several, share, time } from './figures.js';
import { h, legend, link, put } from './make.js';
import { People } from './people.js';
import { strip } from './strip.js';
import { table } from './tables.js';

const BARS = 32,
  BRIEF = 12;

const timesOf = (thread) => thread.estimated_group_ns ?? thread.group_ns ?? {};

/** A bar of parts: [{ colour, value, label }] of a whole. */
export function bar(parts, whole, label) {
  return h(
    'div',
    { class: 'bar', role: 'img', 'aria-label': label },
    parts
      .filter(({ value }) => value > 0)
      .map((one) =>
        h('span', {
          title: `${one.label}: ${time(one.value)} (${part(one.value, whole)})`,
          style: { width: `${(100 * one.value) / whole}%`, background: one.colour },
        }),
      ),
  );
}

const partsOf = (times) => groups.map(({ key, label }) => ({ colour: colourOf(key), value: times[key] ?? 0, label }));

function spoken(times, whole) {
  return groups
    .filter(({ key }) => times[key] > 0)
    .map(({ key, label }) => `${label} ${part(times[key], whole, 0)}`)
    .join(', ');
}

const NARROW = 16; // letters of a name that fit beside the findings

/** rank 3 tid 17, where there is no room for more: names of threads are often alike. */
function shortName(people, thread) {
  const name = people.thread(thread);
  if (name.length <= NARROW) return name;
  return thread.rank == null ? `tid ${thread.tid}` : `${people.rank(thread.rank)} tid ${thread.tid}`;
}

const RAN = 'on a CPU',
  LACKED = 'could run, and had no CPU';

/** A thin bar below that of what it did: how much of its time it ran, and had no CPU. null: that is not known. */
function ranBar({ cpu_ns: ran, run_queue_ns: lacked, observed_ns: of }) {
  if (ran == null || !of) return null;
  const parts = [
    ['cpu', ran, RAN],
    ['lacked', lacked ?? 0, LACKED],
  ];
  return h(
    'div',
    {
      class: 'ran',
      'aria-hidden': 'true',
      title: parts.map(([, ns, text]) => `${text}: ${part(ns, of, 0)}`).join('; '),
    },
    parts.map(([name, ns]) => h('span', { class: name, style: { width: `${Math.min(100, (100 * ns) / of)}%` } })),
  );
}

const ranWords = ({ cpu_ns: ran, observed_ns: of }) => (ran != null && of ? `; ${RAN} ${part(ran, of, 0)}` : '');

/** What that thin bar means. */
const ranKey = (threads) =>
  threads.some((thread) => ranBar(thread))
    ? h(
        'p',
        { class: 'muted ran-key' },
        'The thin bar below: ',
        h('span', { class: 'ran swatch cpu' }),
        `${RAN}; `,
        h('span', { class: 'ran swatch lacked' }),
        `${LACKED}; else it slept.`,
      )
    : null;

/** A line: who, and the bar. */
function line(app, people, thread, longest, narrow = false) {
  const times = timesOf(thread);
  const name = people.thread(thread);
  const start = people.processes.get(thread.pid)?.start_ns ?? people.start;
  return h(
    'li',
    {},
    link(
      app,
      { ...thread, start_ns: start, end_ns: start + thread.wall_ns },
      narrow ? shortName(people, thread) : name,
      `Show ${name} in the timeline`,
      () => app.gotoThread(thread),
    ),
    h(
      'div',
      { class: 'track' },
      h(
        'div',
        { style: { width: `${(100 * thread.wall_ns) / (longest || 1)}%` } },
        bar(partsOf(times), thread.wall_ns || 1, `${name}: ${spoken(times, thread.wall_ns)}${ranWords(thread)}`),
        ranBar(thread),
      ),
    ),
  );
}

/** The same in short, for the first screen: all together, and the first ones. */
export function brief(app, people, threads) {
  const sum = sumOf(threads),
    wall = threads.reduce((ns, thread) => ns + thread.wall_ns, 0);
  const longest = threads.reduce((most, { wall_ns: ns }) => Math.max(most, ns), 0);
  return h(
    'div',
    { class: 'brief', role: 'group', 'aria-label': 'Time per thread, in short' },
    h('h3', {}, 'Time per thread'),
    h(
      'ul',
      { class: 'bars' },
      h(
        'li',
        {},
        h('b', {}, 'all together'),
        bar(partsOf(sum), wall || 1, `All threads together: ${spoken(sum, wall)}`),
      ),
      threads.slice(0, BRIEF).map((thread) => line(app, people, thread, longest, true)),
    ),
    legend(legendOf([sum]).map(({ colour, label }) => ({ colour, label }))),
    ranKey(threads),
    h(
      'p',
      {},
      h('a', { href: '#threads' }, threads.length > BRIEF ? `All ${threads.length} threads, and figures` : 'Figures'),
    ),
  );
}

function sumOf(threads) {
  const sum = {};
  for (const thread of threads)
    for (const [key, value] of Object.entries(timesOf(thread))) sum[key] = (sum[key] ?? 0) + value;
  return sum;
}

/** Of many threads the bars are drawn a page at a time; which ones, the reader says. */
function bars(app, people, threads) {
  const list = h('ul', { class: 'bars' });
  const longest = threads.reduce((most, { wall_ns: wall }) => Math.max(most, wall), 0);
  const orders = [
    ['in order of ranks', null],
    ...groups
      .filter(({ key }) => threads.some((t) => timesOf(t)[key] > 0))
      .map(({ key, label }) => [`most ${label} first`, key]),
  ];
  const choice = h(
    'select',
    { 'aria-label': 'Order of the threads' },
    orders.map(([text], i) => h('option', { value: i }, text)),
  );
  const rest = h('p', { class: 'muted' });
  const draw = () => {
    const key = orders[choice.value][1];
    const share = (thread) => (timesOf(thread)[key] ?? 0) / (thread.wall_ns || 1);
    const order = key ? [...threads].sort((a, b) => share(b) - share(a)) : threads;
    put(
      list,
      order.slice(0, BARS).map((thread) => line(app, people, thread, longest)),
    );
    put(rest, order.length > BARS ? `${BARS} of ${several(order.length, 'thread')}; the table has all.` : null);
  };
  choice.addEventListener('change', draw);
  draw();
  return [threads.length > 2 ? h('p', {}, h('label', {}, 'Threads ', choice)) : null, list, rest];
}

function columns(people, threads) {
  const some = (key) => threads.some((thread) => timesOf(thread)[key] > 0);
  return [
    { key: 'name', title: 'Thread', get: (t) => people.thread(t) },
    { key: 'pid', only: 'csv' },
    { key: 'tid', only: 'csv' },
    { key: 'rank', only: 'csv' },
    { key: 'calls', title: 'Calls', kind: 'count' },
    { key: 'wall_ns', title: 'Observed', kind: 'time', help: 'how long it was observed: the shares are of this' },
    ...groups.flatMap(({ key, label, means }) => [
      { key: `group_ns.${key}`, only: 'csv', get: (t) => t.group_ns?.[key] },
      {
        key: `estimated_group_ns.${key}`,
        title: label,
        kind: 'time',
        get: (t) => timesOf(t)[key],
        only: some(key) ? null : 'csv',
        help: `${means}; % of the thread's own time`,
        text: (value, t) => `${t.group_ns?.[key] !== value ? '~' : ''}${part(value, t.wall_ns)}`,
      },
    ]),
    {
      key: 'cost_ns',
      title: 'Probes',
      kind: 'time',
      help: 'what observing took of it',
      text: (v, t) => part(v, t.wall_ns, 2),
    },
    { key: 'lost', title: 'Lost', kind: 'count', help: 'calls that are not on the timeline' },
    { key: 'observed_ns', only: 'csv' },
    {
      key: 'cpu_ns',
      title: 'CPU',
      kind: 'time',
      help: 'it ran, of the time from its first call on',
      text: (v, t) => share(v != null && t.observed_ns ? Math.min(1, v / t.observed_ns) : null),
    },
    {
      key: 'run_queue_ns',
      title: 'no CPU',
      kind: 'time',
      help: 'it could run, and had no CPU (queued), of that time',
      text: (v, t) => share(v != null && t.observed_ns ? Math.min(1, v / t.observed_ns) : null),
    },
  ];
}

export const threads = {
  id: 'threads',
  title: 'Time per thread',
  needs: ({ report }) => report.threads?.length > 0,
  render(section, { report }, app) {
    const people = new People(report);
    const all = report.threads;
    const sum = sumOf(all),
      wall = all.reduce((ns, thread) => ns + thread.wall_ns, 0);
    section.append(
      h(
        'p',
        { class: 'intro' },
        'What each thread did with its time. A bar is one thread, as long as it was observed.',
      ),
      legend(legendOf(all.map(timesOf))),
      ranKey(all) ?? '',
      h(
        'ul',
        { class: 'bars all' },
        h(
          'li',
          {},
          h('b', {}, 'all together'),
          h('div', { class: 'track' }, bar(partsOf(sum), wall || 1, `All threads together: ${spoken(sum, wall)}`)),
        ),
      ),
      ...[
        all.length > BARS
          ? strip(app, {
              threads: all,
              times: timesOf,
              name: (thread) => people.thread(thread),
              go: (thread) => app.gotoThread(thread),
            })
          : null,
      ].filter(Boolean),
      h('div', {}, bars(app, people, all)),
      table(app, {
        name: 'threads',
        caption: "Time per thread (shares: of the thread's own time; ~: estimated, as calls are missing)",
        columns: columns(people, all),
        rows: all,
      }),
    );
  },
};
