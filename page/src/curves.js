// SPDX-License-Identifier: BSD-2-Clause
// Values that go up and down over the time of the run, as steps: of `series` in the data, where each point holds until
// the next one. A few at a time; which ones, the reader chooses.
import uPlot from 'uplot';
import { axis, chart, chooser } from './charts.js';
import { short, time } from './figures.js';
import { h, legend } from './make.js';

const COLOURS = ['group-data', 'group-wait', 'group-task', 'group-lock', 'group-coll', 'group-io'];
const DASHES = [undefined, [8, 4], [2, 3], [10, 3, 2, 3], [4, 4], [14, 4]];
const TOGETHER = COLOURS.length;

/** What a line is at a time: the last point that is not later; null: it has none. */
export function valueAt({ at, values }, ns) {
  let low = 0,
    high = at.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (at[middle] <= ns) low = middle + 1;
    else high = middle;
  }
  return low ? values[low - 1] : null;
}

/** One time axis for all lines: [times, values of each line, null where it has no point]. */
export function joined(lines, length) {
  const xs = [...new Set(lines.flatMap(({ at }) => [...at, length]))].sort((a, b) => a - b);
  const where = new Map(xs.map((x, i) => [x, i]));
  const ys = lines.map((line) => {
    const column = new Array(xs.length).fill(null);
    line.at.forEach((x, i) => {
      column[where.get(x)] = line.values[i];
    });
    if (line.at.length) column[xs.length - 1] = line.values[line.values.length - 1];
    return column;
  });
  return [xs, ys];
}

/** Marks of an axis of bytes. */
export const POWERS = Array.from({ length: 60 }, (_, i) => 2 ** i);

function picture(app, { lines, label, text, steps, length, go }) {
  const [xs, ys] = joined(lines, length);
  const marks = lines.map(({ mark }) => (mark == null ? -1 : xs.indexOf(mark)));
  return h(
    'div',
    {},
    chart(app, {
      label,
      height: 240,
      data: () => [xs.map((x) => x / 1e9), ...ys],
      read: (i) =>
        `at ${time(xs[i])}: ${lines
          .map((line, k) => [line, valueAt(line, xs[i]), marks[k] === i])
          .filter(([, value]) => value != null)
          .map(([line, value, most]) => `${line.name} ${text(value)}${most ? ' (its most)' : ''}`)
          .join('; ')}`,
      go: go && ((i) => go(xs[i])),
      options: () => ({
        scales: { x: { time: false, range: [0, length / 1e9] }, y: { range: (u, low, high) => [0, high * 1.05 || 1] } },
        axes: [
          axis(app, { values: (u, all) => all.map((s) => short(time(s * 1e9))) }),
          axis(app, { size: 80, values: (u, all) => all.map(text), ...(steps ? { incrs: steps } : {}) }),
        ],
        series: [
          {},
          ...lines.map((line, k) => ({
            stroke: app.colour(COLOURS[k]),
            width: 1.5,
            dash: DASHES[k],
            spanGaps: true,
            paths: uPlot.paths.stepped({ align: 1 }),
            points: {
              show: true,
              size: 8,
              fill: app.colour(COLOURS[k]),
              filter: () => (marks[k] >= 0 ? [marks[k]] : []),
            },
          })),
        ],
      }),
    }),
    legend(lines.map(({ name, means }, k) => ({ colour: `var(--${COLOURS[k]})`, label: name, means }))),
  );
}

/**
 * lines: [{ name, at (ns since the beginning), values, mark (the time of its most), means }], those that matter most
 * first; text(value), steps (of the marks of its axis), length (ns, of the run), go(ns): what a click does.
 */
export function curves(app, { lines, what, label, text, steps, length, go }) {
  const draw = (some) =>
    picture(app, {
      lines: some,
      label: `${label}: ${some.map(({ name }) => name).join(', ')}`,
      text,
      steps,
      length,
      go,
    });
  if (lines.length <= TOGETHER) return [draw(lines)];
  const choices = [];
  for (let i = 0; i < lines.length; i += TOGETHER) {
    const some = lines.slice(i, i + TOGETHER);
    const names = some.length > 1 ? `${some[0].name} to ${some[some.length - 1].name}` : some[0].name;
    choices.push([i ? names : `the ${TOGETHER} with the most: ${names}`, some]);
  }
  return chooser(what, choices, draw);
}
