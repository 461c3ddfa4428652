// SPDX-License-Identifier: BSD-2-Clause
// Who is waited for, what calls wait for, and how efficient the run is as a whole.
import { count, part, share, time } from './figures.js';
import { beware, details, h, link } from './make.js';
import { People } from './people.js';
import { table } from './tables.js';
import { valued } from './charts.js';
import { rowOf } from './where.js';

export const states = {
  late_sender: ['Late sender', 'a receive waits for the send to begin'],
  late_receiver: ['Late receiver', 'a send waits for the receive to begin'],
  wait_at_barrier: ['Wait at barrier', 'until the last one has come'],
  wait_at_nxn: [
    'Wait at N x N',
    'a collective operation in which all get something from all: until the last one has come',
  ],
  late_broadcast: ['Late broadcast', 'an operation from one to all: until that one has come'],
  early_reduce: ['Early reduce', 'an operation from all to one: until the last one has come'],
  wait_for_lock: ['Wait for a lock', 'until its holder begins to give it back'],
  wait_at_fence: ['Wait at fence', 'of one-sided transfers: until the last one has come'],
  late_post: ['Late post', 'an access waits for the memory to be opened'],
  early_wait: ['Early wait', "waits for the end of others' accesses, before these begin to complete"],
  late_complete: ['Late complete', 'of that: after the last access, the other could have completed'],
  wait_for_progress: ['Wait for progress', 'an access waits until the other one enters any call'],
  late_notify: ['Late notify', 'waits for an event, a variable, or the first half of a barrier'],
};

/** Which part of the time that is not the code's is worth a warning. */
const MUCH = 0.05;

const stateOf = (state) => states[state]?.[0] ?? state;

/** What makes a run less efficient that is no fault of the code: observing it, and too few CPUs. */
function lowering({ threads }) {
  const sum = (key) => threads.reduce((all, thread) => all + (thread[key] ?? 0), 0);
  const [wall, cost, observed, queued] = ['wall_ns', 'cost_ns', 'observed_ns', 'run_queue_ns'].map(sum);
  return [
    cost > MUCH * wall && `the probes took ${part(cost, wall)} of the threads' time`,
    queued > MUCH * observed && `for ${part(queued, observed)} of their time threads had no CPU`,
  ].filter(Boolean);
}

function efficiencies(of, report) {
  const lowered = lowering(report);
  const product = [
    ['load balance', of.load_balance],
    ['serialisation', of.serialisation],
    ['transfer', of.transfer],
  ]
    .filter(([, value]) => value != null)
    .sort(([, a], [, b]) => a - b);
  const rows = [
    ['Parallel efficiency', of.parallel, 'of the time of all threads that is useful: outside of the parallel runtime'],
    ['Load balance', of.load_balance, 'mean useful time, of that of the thread with most: below 100 % work is uneven'],
    ['Communication', of.communication, 'what the thread with most useful time has of the run'],
    ['Serialisation', of.serialisation, 'the same on an ideal network: below 100 % they wait for each other'],
    ['Transfer', of.transfer, 'what an ideal network would leave of the run: below 100 % data takes time'],
  ].filter(([, value]) => value != null);
  if (!rows.length) return null;
  return [
    h('h3', {}, 'Efficiency'),
    h(
      'p',
      { class: 'muted' },
      `Of ${count(of.threads)} threads, in ${time(of.time_ns)} of the run. The product of load balance, ` +
        'serialisation and transfer is the parallel efficiency' +
        (product.length > 1 ? `; the smallest of these three says where to look: here ${product[0][0]}.` : '.'),
    ),
    lowered.length
      ? h('p', { class: 'notice' }, `Beware: ${lowered.join(', and ')}. That lowers these figures.`)
      : null,
    valued(
      rows.map(([label, value, means]) => ({
        label,
        value,
        text: share(value),
        title: means,
        colour: 'var(--group-data)',
      })),
      { whole: 1, label: 'Efficiency' },
    ),
    h(
      'ul',
      { class: 'legend' },
      rows.map(([label, , means]) => h('li', {}, h('b', {}, label), `: ${means}`)),
    ),
  ];
}

/** Of a row the longest wait, where a finding is made of it: that has it. */
const longestOf = (cause, report) =>
  (report.findings ?? []).find((one) => one.kind === 'delay' && one.instances?.length && rowOf(one, report) === cause)
    ?.instances[0];

/** Who is late: a link to the longest wait, if that is known. */
function lateOne(app, people, report, who, cause) {
  const longest = longestOf(cause, report);
  const lasts = longest && time(longest.end_ns - longest.start_ns);
  return longest
    ? link(
        app,
        longest,
        who,
        `${who}: show the longest wait for it in the timeline, ${people.thread(longest)}, ${lasts}`,
      )
    : who;
}

function causes(app, people, report) {
  const { delays } = report;
  const all = (delays.direct_ns ?? 0) + (delays.passed_on_ns ?? 0);
  return table(app, {
    name: 'delays.causes',
    caption: 'Who is waited for, and what it does meanwhile (share: of all that is waited)',
    rows: delays.causes,
    sort: '-direct_ns',
    empty: 'Nobody was seen to wait for another one.',
    columns: [
      {
        key: 'who',
        title: 'Who',
        get: (c) => people.thread(c),
        show: (who, c) => lateOne(app, people, report, who, c),
      },
      { key: 'pid', only: 'csv' },
      { key: 'tid', only: 'csv' },
      { key: 'does', title: 'Does', get: (c) => people.deed(c)[0] },
      { key: 'where', title: 'Where', get: (c) => people.deed(c)[1] },
      { key: 'direct_ns', title: 'Direct', kind: 'time', help: 'others waited for this thread' },
      {
        key: 'passed_on_ns',
        title: 'Passed on',
        kind: 'time',
        help: 'others waited for somebody who waited for this one',
      },
      {
        key: 'share',
        title: 'Share',
        kind: 'share',
        help: 'of all that is waited',
        get: (c) => (all ? (c.direct_ns + c.passed_on_ns) / all : null),
      },
      { key: 'times', title: 'Times', kind: 'count' },
      { key: 'lasted_ns', title: 'Lasted', kind: 'time', help: 'how long it did that, in all' },
      { key: 'waiting', title: 'Who waits', get: (c) => people.some(c.waiting, 3) },
    ],
  });
}

function waits(app, people, report) {
  const { wait_states: of, threads } = report;
  const wall = threads.reduce((sum, { wall_ns: ns }) => sum + ns, 0);
  const used = [...new Set(of.states.map(({ state }) => state))].filter((state) => states[state]);
  return [
    table(app, {
      name: 'wait_states.states',
      caption: "What calls waited for (time before what they waited for had begun; % of all threads' time)",
      rows: of.states,
      sort: '-waited_ns',
      empty: 'No call was seen to wait for another one.',
      columns: [
        { key: 'state', title: 'State', text: (value) => stateOf(value) },
        { key: 'event', title: 'Event' },
        { key: 'waits', title: 'Waits', kind: 'count' },
        { key: 'waited_ns', title: 'Waited', kind: 'time' },
        {
          key: 'percent',
          title: '% of all time',
          kind: 'share',
          get: ({ waited_ns: ns }) => (wall ? ns / wall : null),
        },
        { key: 'longest_ns', title: 'Longest', kind: 'time' },
      ],
    }),
    used.length
      ? h(
          'ul',
          { class: 'legend' },
          used.map((state) => h('li', {}, h('b', {}, states[state][0]), `: ${states[state][1]}`)),
        )
      : null,
    of.pairs?.length
      ? details(`Who waited for whom (${of.pairs.length})`, () =>
          table(app, {
            name: 'wait_states.pairs',
            caption: 'Who waited for whom',
            rows: of.pairs,
            sort: '-waited_ns',
            columns: [
              { key: 'waiting', title: 'Who waits', get: (p) => people.thread(p.waiting) },
              { key: 'for', title: 'For whom', get: (p) => people.thread(p.for) },
              { key: 'waiting.pid', only: 'csv', get: (p) => p.waiting.pid },
              { key: 'waiting.tid', only: 'csv', get: (p) => p.waiting.tid },
              { key: 'for.pid', only: 'csv', get: (p) => p.for.pid },
              { key: 'for.tid', only: 'csv', get: (p) => p.for.tid },
              { key: 'state', title: 'State', text: (value) => stateOf(value) },
              { key: 'waits', title: 'Waits', kind: 'count' },
              { key: 'waited_ns', title: 'Waited', kind: 'time' },
              {
                key: 'share',
                title: 'Of all waiting',
                kind: 'time',
                get: (p) => p.waited_ns,
                text: (value) => part(value, of.waited_ns),
              },
            ],
          }),
        )
      : null,
    of.split_phase?.length
      ? table(app, {
          name: 'wait_states.split_phase',
          caption: 'Barriers in two halves',
          rows: of.split_phase,
          sort: '-waits_ns',
          columns: [
            { key: 'event', title: 'Event' },
            { key: 'place', title: 'Place' },
            { key: 'waits', title: 'Waits', kind: 'count' },
            { key: 'waits_ns', title: 'Time', kind: 'time' },
            { key: 'without_overlap', title: 'Nothing between', kind: 'count' },
            { key: 'hidden_at_most_ns', title: 'Could hide <=', kind: 'time' },
          ],
        })
      : null,
    of.unmatched || of.incomplete || of.untold
      ? h(
          'p',
          { class: 'muted' },
          [
            of.unmatched &&
              `${count(of.unmatched)} messages have no partner here (other nodes, or before the observation)`,
            of.incomplete && `${count(of.incomplete)} meetings are not complete`,
            of.untold && `${count(of.untold)} calls could not be put together`,
          ]
            .filter(Boolean)
            .join('; '),
          '.',
        )
      : null,
  ];
}

export const waiting = {
  id: 'waiting',
  title: 'Who waits for whom',
  needs: ({ report }) =>
    Boolean(report.delays?.causes?.length || report.wait_states?.states?.length || report.efficiency?.parallel != null),
  render(section, { report }, app) {
    const people = new People(report);
    const parts = [
      h(
        'p',
        { class: 'intro' },
        'A call that waits is not the cause: whoever it waits for is. The first table divides all waiting ' +
          'time among what the late ones did meanwhile.',
      ),
      beware(report, people),
      report.delays ? causes(app, people, report) : null,
      report.wait_states ? waits(app, people, report) : null,
      report.efficiency ? efficiencies(report.efficiency, report) : null,
    ];
    section.append(...parts.flat(Infinity).filter(Boolean));
  },
};
