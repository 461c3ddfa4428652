// SPDX-License-Identifier: BSD-2-Clause
// Charts: uPlot in a box that has its height before anything is drawn, read by pointer and by keys, drawn anew where
// colours or width change; and bars of plain elements for lists of a few.
import uPlot from 'uplot';
import { count } from './figures.js';
import { h, put } from './make.js';
import { bar } from './threads.js';

const font = '12px system-ui, sans-serif';

/** An axis in the page's colours. */
export const axis = (app, more) => ({
  stroke: app.colour('muted'),
  font,
  ticks: { stroke: app.colour('line') },
  grid: { stroke: app.colour('line'), width: 1 },
  ...more,
});

/**
 * A chart: label (what it shows, spoken), height, data (uPlot's), options() (uPlot's, made anew for each drawing),
 * read(index): the sentence for a point. `go(index)`: what a click or Enter on it does.
 */
export function chart(app, { label, height = 240, data, options, read, go }) {
  const box = h('div', { role: 'img', 'aria-label': label, style: { height: `${height}px` } });
  const words = h('p', { class: 'readout', role: 'status' });
  const whole = h(
    'div',
    { class: 'chart', role: 'group', tabindex: '0', 'aria-label': `${label}. Arrow keys read it point by point.` },
    box,
    words,
  );
  let plot,
    at = -1;
  const tell = (index) => {
    at = index;
    words.textContent = index == null || index < 0 ? '' : read(index);
  };
  const draw = () => {
    const width = box.clientWidth;
    if (!width) return;
    plot?.destroy();
    plot = new uPlot(
      {
        width,
        height,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false } },
        ...options(),
        hooks: { setCursor: [(u) => u.cursor.idx != null && tell(u.cursor.idx)] },
      },
      data(),
      box,
    );
  };
  whole.addEventListener('keydown', (event) => {
    const last = data()[0].length - 1;
    const to = { ArrowRight: Math.min(last, at + 1), ArrowLeft: Math.max(0, at - 1), Home: 0, End: last }[event.key];
    if (event.key === 'Enter' && at >= 0) go?.(at);
    if (to == null) return;
    event.preventDefault();
    plot?.setCursor({ left: plot.valToPos(data()[0][to], 'x'), top: 0 });
    tell(to);
  });
  if (go) box.addEventListener('click', () => at >= 0 && go(at));
  let width = 0;
  const forget = app.onTheme(draw);
  const observer = new ResizeObserver(([{ contentRect }]) => {
    if (!box.isConnected) {
      // another one stands in its place (chooser())
      observer.disconnect();
      plot?.destroy();
      forget();
      return;
    }
    if (Math.round(contentRect.width) !== width) draw();
    width = Math.round(contentRect.width);
  });
  observer.observe(box);
  whole.redraw = draw;
  return whole;
}

/**
 * How many there are of each size: bins [[from, count, more]], doubling; of (sizes) and what (is counted): names of the
 * axes. Counts are on a logarithmic axis, so that single ones are seen beside many.
 */
export function histogram(app, { label, bins, from, text, of, what, colour = 'accent', height = 210 }) {
  const filled = [];
  for (const [start, number, ...more] of bins) {
    const before = filled[filled.length - 1];
    for (let gap = before ? Math.max(1, before[0] * 2) : start; before && gap < start; gap *= 2) filled.push([gap, 0]);
    filled.push([start, number, ...more]);
  }
  const most = filled.reduce((large, [, number]) => Math.max(large, number), 1);
  const decades = [];
  for (let decade = 1; decade <= most; decade *= 10) decades.push(decade);
  const bars = uPlot.paths.bars({ size: [0.9, 60] });
  return chart(app, {
    label,
    height,
    read: (i) => text(...filled[i]),
    data: () => [filled.map((_, i) => i), filled.map(([, number]) => number || null)],
    options: () => ({
      scales: {
        x: { time: false, range: [-0.6, filled.length - 0.4] },
        y: { distr: 3, log: 10, range: () => [0.5, most * 1.5] },
      },
      axes: [
        axis(app, {
          label: of,
          labelFont: font,
          labelSize: 20,
          values: (u, marks) => marks.map((i) => (Number.isInteger(i) && filled[i] ? from(filled[i][0]) : '')),
          grid: { show: false },
        }),
        axis(app, {
          label: what,
          labelFont: font,
          labelSize: 20,
          size: 76,
          splits: () => decades,
          filter: (u, marks) => marks,
          values: (u, marks) => marks.map(count),
        }),
      ],
      series: [{}, { paths: bars, fill: app.colour(colour), stroke: app.colour(colour), points: { show: false } }],
    }),
  });
}

/** A list of bars with their figures: [{ label, value, text, colour, title }] */
export function valued(rows, { whole, label, colour = 'var(--accent)' }) {
  const most = whole ?? rows.reduce((large, { value }) => Math.max(large, value), 0);
  return h(
    'ul',
    { class: 'bars valued', 'aria-label': label },
    rows.map((row) =>
      h(
        'li',
        { title: row.title },
        row.head ?? h('span', { title: row.label }, row.label),
        row.parts
          ? bar(row.parts, most || 1, `${row.label}: ${row.text}`)
          : bar(
              [{ colour: row.colour ?? colour, value: row.value, label: row.label }],
              most || 1,
              `${row.label}: ${row.text}`,
            ),
        h('span', { class: 'value' }, row.text),
      ),
    ),
  );
}

/** One of several: a choice that draws what is below it. choices: [[text, value]] */
export function chooser(label, choices, draw) {
  const place = h('div');
  const choice = h(
    'select',
    { 'aria-label': label },
    choices.map(([text], i) => h('option', { value: i }, text)),
  );
  const show = () => put(place, draw(choices[choice.value][1]));
  choice.addEventListener('change', show);
  show();
  return [h('p', { class: 'controls' }, h('label', {}, `${label} `, choice)), place];
}
