// SPDX-License-Identifier: BSD-2-Clause
// The job's own iterations: how long each was, which are out of line, when they changed.
import uPlot from 'uplot';
import { axis, chart } from './charts.js';
import { bar } from './threads.js';
import { colourOf, groups, legendOf } from './groups.js';
import { count, part, percent, several, share, short, time } from './figures.js';
import { details, h, legend, link } from './make.js';
import { People } from './people.js';
import { table } from './tables.js';

const POINTS = 20000;

/** ns: from which length beyond the median on the report's finding counts an outlier. */
const COSTLY = 5e6;
const RIGHT = {
  program: 'each begins with a call',
  meeting: 'each up to the end of a call',
  message: 'each up to the end of a call',
};

/** The thread whose iterations are drawn one by one. */
const drawnOf = (of) => [...of.threads].sort((a, b) => b.iterations - a.iterations)[0];

/** When iterations began and ended on one thread, of the marker's calls; [] where these are not all there. */
function iterations(data, of) {
  const { calls, facts, report } = data;
  const event = facts.events.findIndex(({ name }) => name === of.name);
  const site = of.place ? facts.sites.indexOf(of.place) + 1 : 0;
  if (!calls || event < 0 || (of.place && !site)) return [];
  const thread = drawnOf(of);
  const lane = facts.lanes.find(
    (one) =>
      one.lane === 0 &&
      report.threads[one.thread]?.pid === thread?.pid &&
      report.threads[one.thread]?.tid === thread?.tid,
  );
  const marks = [];
  for (let i = lane?.first ?? 0; lane && i < lane.first + lane.calls; i++)
    if (calls.event[i] === event && (!site || calls.site[i] === site))
      marks.push(of.kind === 'program' ? calls.start[i] : calls.start[i] + calls.duration[i]);
  if (marks.length < 0.9 * thread.iterations || marks.length > 1.1 * thread.iterations + 3) return [];
  const all = marks
    .slice(1)
    .map((end, i) => ({ from: marks[i], to: end }))
    .filter(({ from, to }) => to > from);
  const step = Math.ceil(all.length / POINTS);
  return step > 1 ? all.filter((_, i) => i % step === 0) : all;
}

/**
 * What is drawn: { from, to (ns since the beginning), lasts, of (how many), least, most, number }, by time. Each
 * iteration where the report has it, or else the page its calls; else so many together as the report keeps.
 */
export function drawn(data, of) {
  const start = data.report.recording.start_ns;
  const steps = (of.steps ?? []).map((step, i, all) => ({
    from: Math.max(0, (step.iterations > 1 ? (all[i - 1]?.end_ns ?? 0) : step.end_ns - step.mean_ns) - start),
    to: step.end_ns - start,
    lasts: step.mean_ns,
    of: step.iterations,
    least: step.min_ns,
    most: step.max_ns,
    number: step.first + 1,
  }));
  if (steps.length && steps[0].of > 1) steps[0].from = Math.max(0, steps[0].to - steps[0].lasts * steps[0].of);
  if (steps.every(({ of: n }) => n === 1) && steps.length) return steps;
  const single = iterations(data, of).map(({ from, to }) => ({ from, to, lasts: to - from, of: 1 }));
  return single.length ? single : steps;
}

function stepWords(step) {
  const { from, lasts, of, least, most, number } = step;
  if (of === 1) return `at ${time(from)}: ${number ? `iteration ${number}` : 'an iteration'} of ${time(lasts)}`;
  return (
    `at ${time(from)}: iterations ${number} to ${number + of - 1}, ${time(lasts)} on average, ` +
    `${time(least)} to ${time(most)}`
  );
}

const COLUMNS = 6; // of what is drawn: x, most, least, lasts, median, outlier

/** Iterations as points, the median of each phase as a line, outliers as marks. */
function plot(app, data, people, of) {
  const start = data.report.recording.start_ns;
  const points = drawn(data, of);
  const outliers = (of.outliers ?? []).map((one) => ({
    from: one.start_ns - start,
    to: one.end_ns - start,
    lasts: one.lasted_ns,
    one,
  }));
  const parts = of.phases.filter(({ iterations: n }) => n);
  const medianAt = (ns) =>
    parts.find(({ from_ns: from, to_ns: to }) => ns >= from - start && ns <= to - start)?.median_ns ?? null;
  const xs = [
    ...points.map((point) => ({ x: point.from, point })),
    ...outliers.map((o) => ({ x: o.from, out: o })),
    ...parts.flatMap(({ from_ns: from, to_ns: to }) => [{ x: from - start }, { x: to - start - 1 }]),
  ].sort((a, b) => a.x - b.x);
  const rows = xs.map(({ x, out, point }) => [
    x / 1e9,
    point?.most ?? null,
    point?.least ?? null,
    point?.lasts ?? null,
    medianAt(x),
    out?.lasts ?? null,
  ]);
  const who = of.threads[0];
  const hidden = { stroke: app.colour('accent'), width: 0, spanGaps: true, points: { show: false } };
  return chart(app, {
    label:
      `How long iterations took, over time: ${several(of.iterations, 'iteration')}, ` +
      `${time(of.mean_ns)} on average, ${several(outliers.length, 'outlier')}`,
    height: 260,
    data: () => Array.from({ length: COLUMNS }, (_, column) => rows.map((row) => row[column])),
    read: (i) => {
      const { x, out, point } = xs[i];
      if (out)
        return (
          `outlier, iteration ${out.one.number + 1}, at ${time(x)}: ${time(out.lasts)} ` +
          `instead of ${time(out.one.median_ns)}`
        );
      return point ? stepWords(point) : `at ${time(x)}: median ${time(rows[i][4])}`;
    },
    go: (i) =>
      app.gotoInstance({
        pid: who.pid,
        tid: who.tid,
        start_ns: start + xs[i].x,
        end_ns: start + (xs[i].out?.to ?? xs[i].point?.to ?? xs[i].x + of.mean_ns),
      }),
    options: () => ({
      scales: { x: { time: false }, y: { range: (u, low, high) => [0, high * 1.05 || 1] } },
      axes: [
        axis(app, { values: (u, marks) => marks.map((s) => short(time(s * 1e9))) }),
        axis(app, { size: 80, values: (u, marks) => marks.map((ns) => short(time(ns))) }),
      ],
      bands: [{ series: [1, 2], fill: `${app.colour('accent')}40` }],
      series: [
        {},
        hidden,
        hidden,
        {
          stroke: app.colour('accent'),
          width: 0,
          paths: () => null,
          points: { show: true, size: 4, fill: app.colour('accent'), width: 0 },
        },
        {
          stroke: app.colour('muted'),
          width: 2,
          spanGaps: true,
          paths: uPlot.paths.stepped({ align: 1 }),
          points: { show: false },
        },
        {
          stroke: app.colour('bad'),
          width: 0,
          paths: () => null,
          points: { show: true, size: 9, fill: app.colour('bad'), stroke: app.colour('bad') },
        },
      ],
    }),
  });
}

const MORE = {
  compute: 'outside of observed calls',
  barrier: 'in barriers',
  wait: 'in calls that wait',
  lock: 'in calls of locks',
  data: 'in calls that move data',
  collective: 'in collective operations',
  task: 'in tasks',
  alloc: 'in calls that allocate and free',
  io: 'in calls of files',
  other: 'in other calls',
};

/** What grew most, and on whom: the figure is that of the thread with most of it. */
export function longer(people, of) {
  if (!of) return null;
  const many = of.threads.length > 1;
  return (
    `${people.some(of.threads, 2)} spent ${many ? 'up to ' : ''}${time(of.ns)} more${many ? ' each' : ''} ` +
    (MORE[of.group] ?? of.group)
  );
}

/** How many are out of line, and why the finding may count fewer of them. */
function outlierWords(report, of) {
  const all = of.outliers?.length ?? 0;
  const told = report.findings?.find(
    ({ kind, event, evidence }) => kind === 'outlier_iterations' && event === of.name && evidence?.of === of.iterations,
  )?.evidence.times;
  if (!all) return null;
  return h(
    'p',
    {},
    `${count(all)} of ${several(of.iterations, 'iteration')} ${all === 1 ? 'is' : 'are'} out of line: twice the ` +
      `median and more, and far from all others${of.by_job ? ', by the mean of all threads' : ''}.` +
      (told && told < all
        ? ` The finding has ${told === 1 ? 'that one' : `those ${count(told)}`} of them that took ` +
          `${time(COSTLY)} and more longer than the median.`
        : ''),
  );
}

function phaseTable(app, people, of) {
  const sum = (groupNs) => Object.values(groupNs ?? {}).reduce((a, b) => a + b, 0);
  return table(app, {
    name: 'phases.phases',
    caption: "Phases (From: since the beginning; shares: of the threads' time then)",
    rows: of.phases,
    columns: [
      { key: 'phase', title: 'Phase' },
      { key: 'from_ns', title: 'From', kind: 'time', text: (ns) => time(people.since(ns)) },
      { key: 'to_ns', title: 'Lasts', kind: 'time', text: (ns, p) => time(ns - p.from_ns) },
      { key: 'iterations', title: 'Iterations', kind: 'count' },
      { key: 'mean_ns', title: 'Mean', kind: 'time' },
      { key: 'median_ns', title: 'Median', kind: 'time' },
      {
        key: 'group_ns',
        title: 'Its time',
        get: (p) => sum(p.group_ns),
        kind: 'time',
        show: (all, p) =>
          h(
            'div',
            { style: { width: '9rem' } },
            bar(
              groups.map(({ key, label }) => ({ colour: colourOf(key), value: p.group_ns[key] ?? 0, label })),
              all || 1,
              groups
                .filter(({ key }) => p.group_ns[key])
                .map(({ key, label }) => `${label} ${part(p.group_ns[key], all, 0)}`)
                .join(', '),
            ),
          ),
      },
      { key: 'load_balance', title: 'Balance', kind: 'share' },
      { key: 'communication', title: 'Comm. eff.', kind: 'share' },
      { key: 'longer', title: 'Longer since', get: (p) => longer(people, p.longer) },
    ],
  });
}

function outlierTable(app, people, of) {
  if (!of.outliers?.length) return null;
  const somebody = of.threads[0];
  return table(app, {
    name: 'phases.outliers',
    caption: 'Iterations out of line (numbers count from 1; in the CSV as `iteration`; its `number`: from 0)',
    rows: of.outliers,
    sort: '-lasted_ns',
    columns: [
      { key: 'iteration', title: 'Number', kind: 'count', get: (o) => o.number + 1 },
      { key: 'number', only: 'csv' },
      {
        key: 'start_ns',
        title: 'At',
        kind: 'time',
        text: (ns) => time(people.since(ns)),
        show: (ns, o, text) =>
          link(
            app,
            { ...(o.longer?.threads?.[0] ?? somebody), start_ns: o.start_ns, end_ns: o.end_ns },
            time(people.since(ns)),
            `Show iteration ${o.number + 1} in the timeline`,
          ),
      },
      { key: 'lasted_ns', title: 'Took', kind: 'time' },
      { key: 'median_ns', title: 'Median', kind: 'time' },
      { key: 'longer', title: 'Longer by', get: (o) => longer(people, o.longer) },
    ],
  });
}

function one(app, data, people, of) {
  const place = h('div', { class: 'later' });
  const all = of.by_job ? ', of all threads together' : '';
  app.loaded.then(() => place.append(plot(app, data, people, of)));
  const each = of.steps?.length && of.steps.every(({ iterations: n }) => n === 1);
  const words =
    `how long it took${of.threads.length > 1 ? (each ? all : ` on ${people.thread(drawnOf(of))}`) : ''}, by when it ` +
    `began${each ? '' : '; of some together, where their calls are not in the page: the mean, shortest to longest'}`;
  return [
    h(
      'p',
      {},
      h('b', {}, `${several(of.iterations, 'iteration')}`),
      ` of ${of.by_job ? 'all threads together' : people.some(of.threads, 3)}, ` +
        `${RIGHT[of.kind] ?? ''} of ${of.name}${of.place ? ` at ${of.place}` : ''}: ${time(of.mean_ns)} ` +
        `on average, ${time(of.min_ns)} to ` +
        `${time(of.max_ns)}, varying by ${percent(100 * of.variation)} (standard deviation / mean).`,
    ),
    place,
    legend([
      {
        colour: 'var(--accent)',
        label: 'iteration',
        means: words,
      },
      { colour: 'var(--muted)', label: 'median', means: `of each phase${all}` },
      ...(of.outliers?.length
        ? [{ colour: 'var(--bad)', label: 'outlier', means: `how long it took${all}; a click shows it` }]
        : []),
    ]),
    outlierWords(data.report, of),
    outlierTable(app, people, of),
    legend(legendOf(of.phases.map(({ group_ns: times }) => times))),
    phaseTable(app, people, of),
  ].filter(Boolean);
}

export const phases = {
  id: 'phases',
  title: 'Iterations',
  needs: ({ report }) => Boolean(report.phases?.length),
  render(section, data, app) {
    const people = new People(data.report);
    const [first, ...others] = data.report.phases;
    section.append(
      h('p', { class: 'intro' }, 'The steps that the job computes in, found by the places that it comes back to.'),
      ...one(app, data, people, first),
      others.length
        ? details(`Iterations of other threads (${others.length})`, () =>
            table(app, {
              name: 'phases',
              caption: 'Iterations of each marker',
              rows: data.report.phases,
              sort: '-iterations',
              columns: [
                { key: 'name', title: 'Marker' },
                { key: 'place', title: 'Place' },
                { key: 'threads', title: 'Threads', get: (p) => people.some(p.threads, 3) },
                { key: 'iterations', title: 'Iterations', kind: 'count' },
                { key: 'mean_ns', title: 'Mean', kind: 'time' },
                { key: 'min_ns', title: 'Least', kind: 'time' },
                { key: 'max_ns', title: 'Most', kind: 'time' },
                { key: 'variation', title: 'Varying by', kind: 'number', text: (v) => share(v) },
                { key: 'outliers', title: 'Outliers', kind: 'count', get: (p) => p.outliers?.length },
              ],
            }),
          )
        : '',
    );
  },
};
