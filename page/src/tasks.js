// SPDX-License-Identifier: BSD-2-Clause
// Tasks: what each worker does, why it is idle, and what the run could be as short as.
import { count, part, several, time } from './figures.js';
import { details, h, legend, link } from './make.js';
import { gantt } from './gantt.js';
import { People } from './people.js';
import { table } from './tables.js';
import { valued } from './charts.js';
import { curves } from './curves.js';

const uses = [
  ['runs_ns', 'runs', 'var(--group-task)', 'in tasks'],
  ['data_ns', 'data', 'var(--group-data)', "waits for a task's data"],
  ['runtime_ns', 'runtime', 'var(--group-other)', 'what the runtime takes between two tasks'],
  ['idle_ready_ns', 'ready', 'var(--bad)', 'idle, though a task was ready'],
  ['idle_blocked_ns', 'blocked', 'var(--group-wait)', 'idle, as tasks wait for others'],
  ['idle_last_ns', 'last', 'var(--group-lock)', 'idle, as the program waits for the last tasks'],
  ['idle_unsubmitted_ns', 'none', 'var(--group-not-seen)', 'idle, as none is submitted'],
];

const parts = (worker) => uses.map(([key, label, colour]) => ({ value: worker[key] ?? 0, label, colour }));

/** A bar for each worker, from the first submission to the end of the last task. The name shows it in the timeline. */
function workers(app, people, of) {
  if (!of.workers?.length || of.workers[0].runs_ns == null) return null;
  return [
    h('h3', {}, `Workers, from the first submission to the end of the last task (${time(of.time_ns)})`),
    legend(uses.map(([, label, colour, means]) => ({ label, colour, means }))),
    valued(
      [...of.workers]
        .sort((a, b) => (a.worker ?? 0) - (b.worker ?? 0))
        .slice(0, 128)
        .map((w) => {
          const name = `worker ${w.worker ?? ''} ${people.thread(w)}`;
          return {
            label: name,
            head: link(
              app,
              { ...w, start_ns: of.from_ns, end_ns: of.from_ns + of.time_ns },
              name,
              `Show the tasks of ${name} in the timeline`,
            ),
            parts: parts(w),
            text: `${several(w.tasks, 'task')}, runs ${part(w.runs_ns, of.time_ns, 0)}`,
          };
        }),
      { whole: of.time_ns, label: 'What each worker does' },
    ),
    table(app, {
      name: 'tasks.workers',
      caption: 'Workers (% of the time from the first submission to the last task)',
      rows: of.workers,
      sort: 'worker',
      columns: [
        { key: 'worker', title: 'Worker', kind: 'number' },
        { key: 'who', title: 'Thread', get: (w) => people.thread(w) },
        { key: 'tasks', title: 'Tasks', kind: 'count' },
        ...uses.map(([key, label, , means]) => ({
          key,
          title: label,
          help: means,
          kind: 'time',
          text: (ns) => part(ns, of.time_ns),
        })),
      ],
    }),
  ];
}

function bounds(of) {
  const line = (label, ns, means) => (ns ? { label, value: ns, text: `${time(ns)}; ${means}` } : null);
  const rows = [
    line('the run', of.time_ns, 'first submission to last task'),
    line('area bound', of.area_bound_ns, 'all workers busy to the end'),
    line('longest chain', of.longest_chain_ns, `of ${count(of.longest_chain_tasks)} tasks, with any number of workers`),
  ].filter(Boolean);
  return rows.length > 1
    ? [h('h3', {}, 'What the run could be as short as'), valued(rows, { label: 'Bounds', colour: 'var(--group-task)' })]
    : null;
}

function kinds(app, of) {
  const mean = (key) => ({
    key: `${key}.sum_ns`,
    kind: 'time',
    get: (k) => (k[key]?.tasks ? k[key].sum_ns / k[key].tasks : null),
  });
  return table(app, {
    name: 'tasks.kinds',
    caption: 'Kinds of tasks (waiting: on average)',
    rows: of.kinds,
    sort: '-runs_ns',
    columns: [
      { key: 'name', title: 'Kind', get: (k) => k.name ?? k.kind ?? k.event },
      { key: 'event', only: 'csv' },
      { key: 'submitted', title: 'Submitted', kind: 'count' },
      { key: 'executed', title: 'Ran', kind: 'count' },
      { key: 'runs_ns', title: 'Time', kind: 'time' },
      { key: 'mean', title: 'Mean', kind: 'time', get: (k) => (k.executed ? k.runs_ns / k.executed : null) },
      { ...mean('submit_to_ready'), title: 'Until ready', help: 'waits for other tasks' },
      { ...mean('ready_to_start'), title: 'Ready until start', help: 'waits for a worker and for data' },
      { key: 'submitted_at', title: 'Submitted at' },
    ],
  });
}

function perWorker(app, people, of) {
  return table(app, {
    name: 'tasks.by_worker_and_kind',
    caption: 'Tasks by worker and kind',
    rows: of.by_worker_and_kind,
    sort: '-mean_ns',
    columns: [
      { key: 'worker', title: 'Worker', kind: 'number' },
      { key: 'who', title: 'Thread', get: (w) => people.thread(w) },
      { key: 'name', title: 'Kind', get: (k) => k.name ?? k.kind ?? k.event },
      { key: 'tasks', title: 'Tasks', kind: 'count' },
      { key: 'mean_ns', title: 'Mean', kind: 'time' },
      { key: 'deviation_ns', title: 'Deviation', kind: 'time' },
      { key: 'min_ns', title: 'Least', kind: 'time' },
      { key: 'max_ns', title: 'Most', kind: 'time' },
    ],
  });
}

const LEVELS = { tasks_ready: 'ready', tasks_not_ready: 'not ready: they wait for others' };

/** How many tasks are ready, and how many wait for others, over the time of the run. */
function waiting(app, people, { facts, series }) {
  const found = (series?.series ?? []).filter(({ what }) => LEVELS[what]);
  if (!found.length) return [];
  const ofSome = new Set(found.map(({ pid, model }) => `${pid}/${model}`)).size > 1;
  return [
    h('h3', {}, 'Tasks that wait, over time'),
    ...curves(app, {
      lines: found.map((one) => ({
        name: (ofSome ? `${people.process(one.pid)}, ` : '') + LEVELS[one.what],
        at: [0, ...one.at_ns],
        values: [0, ...one.values],
      })),
      what: 'Processes',
      label: 'Tasks that wait, over time',
      text: count,
      length: facts.length,
      go: (ns) => app.goto(app.timeline?.lane ?? 0, ns - facts.length / 100, ns + facts.length / 100),
    }),
  ];
}

export const tasks = {
  id: 'tasks',
  title: 'Tasks and workers',
  needs: ({ report }) =>
    Boolean(report.tasks?.runtimes?.some(({ executed, workers: list }) => executed || list?.length)),
  render(section, data, app) {
    const { report } = data;
    const people = new People(report);
    const picture = h('div', {}),
      ready = h('div', {});
    section.append(picture, ready);
    app.loaded.then(() => {
      if (data.tasks) {
        picture.append(h('h3', {}, 'Tasks by worker, in the colours of their kinds'));
        gantt(picture, data, app);
      }
      ready.append(...waiting(app, people, data));
    });
    for (const of of report.tasks.runtimes) {
      const content = [
        h(
          'p',
          { class: 'intro' },
          `${people.process(of.pid)}: ${several(of.executed, 'task')} in ${time(of.time_ns)} (model ${of.model}).` +
            (of.missing_calls
              ? ` ${several(of.missing_calls, 'call')} of tasks are missing, so reasons for idling are not told.`
              : ''),
        ),
        workers(app, people, of),
        bounds(of),
        of.kinds?.length ? kinds(app, of) : null,
        of.by_worker_and_kind?.length ? details('By worker and kind', () => perWorker(app, people, of)) : null,
      ];
      section.append(...content.flat(Infinity).filter(Boolean));
    }
  },
};
