// SPDX-License-Identifier: BSD-2-Clause
// Many threads at once: a column for each, or for several that are next to each other, of what their time was for.
import { groups } from './groups.js';
import { h } from './make.js';
import { part, several } from './figures.js';

const HEIGHT = 160;

/** threads in order; times(thread): its group_ns; name(thread); go(thread): what a click or Enter does */
export function strip(app, { threads, times, name, go }) {
  const canvas = h('canvas', {
    role: 'img',
    'aria-label': `What the time of each of ${threads.length} threads was for`,
  });
  const words = h(
    'p',
    { class: 'readout', role: 'status' },
    'Point at a column, or move with the arrow keys; a click shows the thread in the timeline.',
  );
  const box = h(
    'div',
    {
      role: 'group',
      tabindex: '0',
      style: { height: `${HEIGHT}px` },
      'aria-label': `Time of ${threads.length} threads, a column each. Arrow keys read it column by column.`,
    },
    canvas,
  );
  let columns = 0,
    at = 0,
    width = 0;

  const membersOf = (column) =>
    threads.slice(
      Math.floor((column * threads.length) / columns),
      Math.max(
        Math.floor(((column + 1) * threads.length) / columns),
        Math.floor((column * threads.length) / columns) + 1,
      ),
    );

  function meanOf(members) {
    const sum = {};
    let wall = 0;
    for (const thread of members) {
      wall += thread.wall_ns;
      for (const [key, ns] of Object.entries(times(thread))) sum[key] = (sum[key] ?? 0) + ns;
    }
    return [sum, wall];
  }

  function draw() {
    width = box.clientWidth;
    if (!width) return;
    columns = Math.min(threads.length, Math.floor(width));
    const ratio = Math.min(2, window.devicePixelRatio || 1),
      pen = canvas.getContext('2d');
    canvas.width = width * ratio;
    canvas.height = HEIGHT * ratio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${HEIGHT}px`;
    pen.scale(ratio, ratio);
    for (let column = 0; column < columns; column++) {
      const [sum, wall] = meanOf(membersOf(column));
      const left = Math.floor((column * width) / columns),
        right = Math.floor(((column + 1) * width) / columns);
      let bottom = HEIGHT;
      for (const { key } of groups) {
        const high = wall ? (HEIGHT * (sum[key] ?? 0)) / wall : 0;
        pen.fillStyle = app.colour(key);
        pen.fillRect(left, bottom - high, right - left, high);
        bottom -= high;
      }
    }
  }

  function tell(column) {
    if (column < 0 || column >= columns) return;
    at = column;
    const members = membersOf(column),
      [sum, wall] = meanOf(members);
    const who =
      members.length > 1
        ? `${name(members[0])} to ${name(members[members.length - 1])} (${several(members.length, 'thread')})`
        : name(members[0]);
    words.textContent = `${who}: ${groups
      .filter(({ key }) => sum[key] > 0)
      .map(({ key, label }) => `${label} ${part(sum[key], wall)}`)
      .join(', ')}`;
  }

  canvas.addEventListener('pointermove', (event) => tell(Math.floor((event.offsetX * columns) / width)));
  canvas.addEventListener('click', () => go(membersOf(at)[0]));
  box.addEventListener('keydown', (event) => {
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: columns - 1 }[event.key];
    if (event.key === 'Enter') go(membersOf(at)[0]);
    if (to == null) return;
    event.preventDefault();
    tell(to);
  });
  new ResizeObserver(() => {
    if (box.clientWidth !== width) draw();
  }).observe(box);
  app.onTheme(draw);
  return h('div', { class: 'chart' }, box, words);
}
