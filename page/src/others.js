// SPDX-License-Identifier: BSD-2-Clause
// Files, waiting for a CPU, and what was not seen.
import { bytes, count, part, several, share, time } from './figures.js';
import { details, h, link } from './make.js';
import { People } from './people.js';
import { table } from './tables.js';

/** From when on the report calls a thread starved, and from when on it is worth its name. */
const STARVED = 'a tenth of its time and half a second in all';
const LACKS = 0.03;

/** What it takes to be starved: a share of the time, and ns. */
const MUCH = 0.1,
  LEAST = 5e8;
const PREEMPTED = 'how often a CPU was taken from it though it could go on; a yield of its own counts as one';

const mostly = (file) => {
  const sizes = [...(file.read_sizes ?? []), ...(file.write_sizes ?? [])].sort((a, b) => b[1] - a[1]);
  return sizes.length && sizes[0][0] ? `<= ${bytes(sizes[0][0])}` : null;
};

export const files = {
  id: 'files',
  title: 'Files',
  needs: ({ report }) => Boolean(report.files?.length),
  render(section, { report }, app) {
    const people = new People(report);
    section.append(
      table(app, {
        name: 'files',
        caption:
          'Files (in order: reads and writes that go on where the last one ended; others: open, seek, ' +
          'sync, close and the like)',
        rows: report.files,
        sort: '-time_ns',
        columns: [
          { key: 'file', title: 'File', get: (f) => f.file ?? '(name not known)' },
          { key: 'pid', title: 'Process', text: (pid) => people.process(pid) },
          { key: 'opens', title: 'Opens', kind: 'count' },
          { key: 'reads', title: 'Reads', kind: 'count' },
          { key: 'bytes_read', title: 'Read', kind: 'bytes' },
          { key: 'writes', title: 'Writes', kind: 'count' },
          { key: 'bytes_written', title: 'Written', kind: 'bytes' },
          { key: 'mostly', title: 'Mostly', get: mostly },
          { key: 'in_order', title: 'In order', kind: 'count', text: (n, f) => part(n, f.reads + f.writes, 0) },
          { key: 'moving_ns', title: 'Time', kind: 'time', help: 'of reads and writes' },
          { key: 'time_ns', title: 'With others', kind: 'time' },
          { key: 'others', title: 'Others', kind: 'count' },
        ],
      }),
    );
  },
};

export const cpu = {
  id: 'cpu',
  title: 'Waiting for a CPU',
  needs: ({ report }) => Boolean(report.threads?.some(({ cpu_ns: ns }) => ns != null)),
  render(section, { report }, app) {
    const people = new People(report);
    const { starved = [], bound = [], intervals = [] } = report.scheduling ?? {};
    const isStarved = new Set(starved.map(({ pid, tid }) => `${pid}/${tid}`));
    const of = (key) => (t) => (t.observed_ns && t[key] != null ? Math.min(1, t[key] / t.observed_ns) : null);
    const lacked = of('run_queue_ns');
    const excused = ({ observed_ns: ns, run_queue_ns: queued, run_queue_lost_ns: lost }) =>
      queued >= MUCH * ns && queued >= LEAST && lost != null && lost < queued;
    const lacking = report.threads
      .filter((t) => lacked(t) >= LACKS && !isStarved.has(`${t.pid}/${t.tid}`))
      .sort((a, b) => lacked(b) - lacked(a));
    section.append(
      h(
        'p',
        { class: 'intro' },
        'A thread that could run and had no CPU is late for everything, and that is no fault of the code. ' +
          'The shares are of the time from its first observed call to its end.',
      ),
      h(
        'p',
        {},
        starved.length
          ? h('b', {}, `Without a CPU for ${STARVED}: ${people.some(starved, 6)}.`)
          : `No thread was without a CPU for ${STARVED}.`,
        lacking.length
          ? ` Had none for ${share(LACKS, 0)} of their time and more: ` +
              `${several(lacking.length, 'thread')}${starved.length ? ' besides' : ''}, the most ` +
              `${lacking
                .slice(0, 4)
                .map((t) => `${people.thread(t)} ${share(lacked(t))} (${time(t.run_queue_ns)})`)
                .join(', ')}.`
          : '',
        bound.length ? ` Bound to one CPU: ${people.some(bound, 6)}.` : '',
      ),
      table(app, {
        name: 'scheduling',
        caption: 'Threads and CPUs',
        rows: report.threads,
        sort: '-run_queue_ns',
        columns: [
          { key: 'name', title: 'Thread', get: (t) => people.thread(t) },
          { key: 'pid', only: 'csv' },
          { key: 'tid', only: 'csv' },
          { key: 'observed_ns', title: 'Observed', kind: 'time' },
          { key: 'cpu_ns', only: 'csv' },
          { key: 'run_queue_ns', only: 'csv' },
          { key: 'cpu', title: 'ran', kind: 'share', get: of('cpu_ns') },
          { key: 'queued', title: 'had no CPU', kind: 'share', get: of('run_queue_ns') },
          {
            key: 'asleep',
            title: 'slept',
            kind: 'share',
            get: (t) =>
              t.cpu_ns != null && t.observed_ns
                ? Math.max(0, 1 - (t.cpu_ns + (t.run_queue_ns ?? 0)) / t.observed_ns)
                : null,
            text: (value) => share(value),
          },
          { key: 'involuntary_switches', title: 'Preempted', kind: 'count', help: PREEMPTED },
          { key: 'allowed_cpus', title: 'May use', kind: 'count' },
          { key: 'last_cpu', title: 'Last on CPU', kind: 'number' },
          {
            key: 'starved',
            title: 'Starved',
            help: `had no CPU for ${STARVED}, but for what calls waited for others meanwhile`,
            get: (t) => (isStarved.has(`${t.pid}/${t.tid}`) ? 'yes' : excused(t) ? 'no: in waits' : 'no'),
          },
        ],
      }),
      h(
        'p',
        { class: 'muted' },
        `Starved: it had no CPU for ${STARVED}, without what it was queued while its calls waited for others: that ` +
          `costs it nothing (no: in waits). Preempted: ${PREEMPTED}.`,
      ),
      intervals.length
        ? details(`When it was (${intervals.length})`, () =>
            table(app, {
              name: 'scheduling.intervals',
              caption: 'Times in which a thread had no CPU for a hundredth and more',
              rows: intervals,
              sort: '-run_queue_ns',
              columns: [
                { key: 'who', title: 'Thread', get: (i) => people.thread(i) },
                {
                  key: 'from_ns',
                  title: 'From',
                  kind: 'time',
                  text: (ns) => time(people.since(ns)),
                  show: (ns, i) =>
                    link(
                      app,
                      { ...i, start_ns: i.from_ns, end_ns: i.to_ns },
                      time(people.since(ns)),
                      `Show ${people.thread(i)} at ${time(people.since(ns))} in the timeline`,
                    ),
                },
                { key: 'to_ns', title: 'Lasts', kind: 'time', text: (ns, i) => time(ns - i.from_ns) },
                { key: 'run_queue_ns', title: 'had no CPU', kind: 'time' },
                { key: 'cpu_ns', title: 'ran', kind: 'time' },
              ],
            }),
          )
        : '',
    );
  },
};

/** Which parts of a report have a section of their own, to say which are not there. */
const parts = [
  ['locks', 'locks', (r) => r.locks?.classes?.length],
  ['communication', 'communication between ranks', (r) => r.communication?.ranks?.length],
  ['meetings', 'meetings', (r) => r.meetings?.length],
  ['phases', 'iterations', (r) => r.phases?.length],
  ['regions', 'parallel regions', (r) => r.regions?.regions?.length],
  ['tasks', 'tasks', (r) => r.tasks?.runtimes?.length],
  ['memory', 'memory', (r) => r.memory?.heaps?.length],
  ['files', 'files', (r) => r.files?.length],
  ['critical_path', 'a critical path', (r) => r.critical_path?.parts?.length],
  ['delays', 'waiting for each other', (r) => r.delays?.causes?.length],
];

function losses(app, people, report) {
  const { loss = {}, threads } = report;
  const missing = loss.lost || loss.summed || loss.skipped;
  const wall = threads.reduce((sum, { wall_ns: ns }) => sum + ns, 0),
    cost = threads.reduce((sum, t) => sum + (t.cost_ns ?? 0), 0);
  return [
    h(
      'p',
      {},
      h('b', {}, `Lost: ${count(loss.lost ?? 0)} of ${several(loss.calls ?? 0, 'call')}`),
      ` from the timeline (${part(loss.lost, loss.calls, 2)}); summed up: ` +
        `${count(loss.summed ?? 0)}; only counted: ${count(loss.skipped ?? 0)}. The probes took ` +
        `${time(cost)}, ${part(cost, wall, 2)} of the threads' time.`,
    ),
    missing
      ? table(app, {
          name: 'missing',
          caption:
            'Calls that are not on the timeline (lost: no room; summed up and only counted: to keep the cost low)',
          rows: report.events.filter((e) => e.lost || e.summed || e.skipped),
          sort: '-lost',
          empty: 'Of which events is not known.',
          columns: [
            { key: 'name', title: 'Event' },
            { key: 'calls', title: 'Calls', kind: 'count' },
            { key: 'delivered', title: 'On the timeline', kind: 'count' },
            { key: 'lost', title: 'Lost', kind: 'count' },
            { key: 'summed', title: 'Summed up', kind: 'count' },
            { key: 'skipped', title: 'Only counted', kind: 'count' },
          ],
        })
      : null,
  ];
}

const rowsOf = {
  not_observable: [
    'Not observable here',
    [
      { key: 'what', title: 'What', get: (u) => u.event ?? u.library ?? u.program },
      { key: 'of', title: 'Of', get: (u) => u.model ?? u.runtime },
      {
        key: 'partly',
        title: 'How far',
        text: (is) => (is ? 'in part: what is counted is a lower bound' : 'not at all'),
      },
      { key: 'why', title: 'Why' },
    ],
  ],
  blind_windows: [
    'Times in which calls were not seen (these are in no figure)',
    [
      { key: 'pid', title: 'Process' },
      { key: 'models', title: 'What', text: (v) => v?.trim() ?? 'whatever it called' },
      { key: 'from_ns', title: 'From', kind: 'time' },
      { key: 'to_ns', title: 'For', kind: 'time', text: (ns, w) => time(ns - w.from_ns) },
      { key: 'after', title: 'After' },
      { key: 'file', title: 'File' },
    ],
  ],
  withdrawn: [
    'Seen only until a parallel runtime was loaded',
    [
      { key: 'models', title: 'What' },
      { key: 'pid', title: 'Process' },
      { key: 'until_ns', title: 'Until', kind: 'time' },
      { key: 'runtime', title: 'Runtime' },
    ],
  ],
  controls: [
    'Measurement was off',
    [
      { key: 'pid', title: 'Process' },
      { key: 'off_ns', title: 'For', kind: 'time' },
      { key: 'times', title: 'Times', kind: 'count' },
      { key: 'by', title: 'By' },
    ],
  ],
  steps: [
    'Kept low: what was left out, to keep the cost down',
    [
      { key: 'time_ns', title: 'When', kind: 'time' },
      { key: 'symbol', title: 'Function' },
      { key: 'level', title: 'From then on' },
      { key: 'share', title: 'Probes took', kind: 'share' },
      { key: 'pid', title: 'Process' },
    ],
  ],
  left_out: [
    'Processes that were left out',
    [
      { key: 'name', title: 'Process' },
      { key: 'pid', title: 'pid', kind: 'number' },
      { key: 'command', title: 'Command' },
      { key: 'why', title: 'Why' },
    ],
  ],
  nodes: [
    'Machines',
    [
      { key: 'host', title: 'Host' },
      { key: 'kernel', title: 'Kernel' },
      { key: 'clock_known_by', title: 'Clock by' },
      { key: 'clock_unsure_ns', title: 'Unsure by', kind: 'time' },
      { key: 'cut', title: 'Cut', text: (is) => (is ? 'yes' : 'no') },
    ],
  ],
};

export const unseen = {
  id: 'unseen',
  title: 'What was not seen',
  needs: () => true,
  render(section, { report, facts }, app) {
    const people = new People(report);
    const absent = parts
      .filter(([, , there]) => !there(report))
      .map(([key, words]) => (report[key] === null ? `${words} (not looked at)` : words));
    const wordsFor = {
      pid: (pid) => people.process(pid),
      from_ns: (ns) => time(people.since(ns)),
      until_ns: (ns) => time(people.since(ns)),
      time_ns: (ns) => time(people.since(ns)),
    };
    const tables = Object.entries(rowsOf)
      .filter(([key]) => report[key]?.length)
      .map(([key, [caption, columns]]) =>
        table(app, {
          name: key,
          caption,
          rows: report[key],
          columns: columns.map((column) =>
            column.kind !== 'number' && wordsFor[column.key] && !column.text
              ? { ...column, text: wordsFor[column.key] }
              : column,
          ),
        }),
      );
    const { calls } = facts;
    const content = [
      losses(app, people, report),
      calls?.left_out
        ? h(
            'p',
            {},
            `${several(calls.left_out, 'call')} shorter than ${time(calls.shorter_than_ns)} are not drawn ` +
              `one by one in this file, to keep it small; all figures ` +
              'of tables have them.',
          )
        : null,
      absent.length ? h('p', {}, `Nothing was seen of: ${absent.join(', ')}.`) : null,
      tables,
      h(
        'p',
        { class: 'muted' },
        'Calls of libraries and runtimes that were not observed are in no figure. ',
        'What the machine did meanwhile is seen only as far as threads had no CPU.',
      ),
    ];
    section.append(...content.flat(Infinity).filter(Boolean));
  },
};
