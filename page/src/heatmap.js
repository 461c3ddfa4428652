// SPDX-License-Identifier: BSD-2-Clause
// Who sends how much to whom: a square for each pair of ranks, read by pointer and by keys.
import { h } from './make.js';

const SIDE = 620,
  LEAST = 1,
  MOST = 34,
  BLOCKS = 1024,
  LABEL = 48;

/** Pairs by block of ranks: where there are more ranks than squares, a square is several. */
function grid(pairs, ranks, valueOf) {
  const size = Math.max(1, Math.ceil(ranks.length / BLOCKS));
  const index = new Map(ranks.map((rank, i) => [rank, Math.floor(i / size)]));
  const n = Math.ceil(ranks.length / size);
  const cells = new Map();
  for (const pair of pairs) {
    const key = index.get(pair.from) * n + index.get(pair.to);
    const cell = cells.get(key) ?? { operations: 0, bytes: 0, time_ns: 0 };
    for (const name of Object.keys(cell)) cell[name] += pair[name] ?? 0;
    cells.set(key, cell);
  }
  for (const cell of cells.values()) cell.value = valueOf(cell);
  return { n, size, cells };
}

/**
 * app, pairs: [{ from, to, operations, bytes, time_ns }], ranks: all of them in order,
 * measures: [{ title, of(cell), text(value) }], name(rank), read(from, to, cell): the sentence of a square
 */
export function heatmap(app, { pairs, ranks, measures, name, read, label }) {
  let measure = measures[0],
    view,
    at = null,
    picture,
    cell = 0;
  const canvas = h('canvas', { role: 'img', 'aria-label': label });
  const words = h('p', { class: 'readout', role: 'status' }, 'Point at a square, or move with the arrow keys.');
  const scale = h('p', { class: 'muted' });
  const box = h(
    'div',
    { class: 'heat', tabindex: '0', role: 'group', 'aria-label': `${label}. Arrow keys move from square to square.` },
    canvas,
  );
  const buttons = measures.map((one) =>
    h(
      'button',
      {
        type: 'button',
        'aria-pressed': String(one === measure),
        on: {
          click: () => {
            measure = one;
            draw();
          },
        },
      },
      one.title,
    ),
  );

  const rankOf = (block) => {
    const first = ranks[block * view.size],
      last = ranks[Math.min(ranks.length, (block + 1) * view.size) - 1];
    return first === last ? name(first) : `${name(first)} to ${last}`;
  };

  function draw() {
    view = grid(pairs, ranks, measure.of);
    cell = Math.max(LEAST, Math.min(MOST, Math.floor(SIDE / view.n)));
    const side = view.n * cell,
      ratio = Math.min(2, window.devicePixelRatio || 1);
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.textContent === measure.title));
    canvas.width = (side + LABEL) * ratio;
    canvas.height = (side + LABEL) * ratio;
    canvas.style.width = canvas.style.height = `${side + LABEL}px`;
    picture = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height });
    const draws = picture.getContext('2d');
    draws.scale(ratio, ratio);
    const values = [...view.cells.values()].map(({ value }) => value).filter((value) => value > 0);
    const least = Math.log(values.reduce((a, b) => Math.min(a, b), Infinity));
    const most = Math.log(values.reduce((a, b) => Math.max(a, b), 0));
    draws.fillStyle = app.colour('panel');
    draws.fillRect(LABEL, LABEL, side, side);
    draws.fillStyle = app.colour('accent');
    const pale = cell < 4 ? 0.4 : 0.12;
    for (const [key, { value }] of view.cells) {
      if (!(value > 0)) continue;
      draws.globalAlpha = pale + (1 - pale) * (most > least ? (Math.log(value) - least) / (most - least) : 1);
      const gap = cell > 5 ? 1 : 0;
      draws.fillRect(LABEL + (key % view.n) * cell, LABEL + Math.floor(key / view.n) * cell, cell - gap, cell - gap);
    }
    draws.globalAlpha = 1;
    axes(draws);
    show();
    scale.textContent = values.length
      ? `Pale to full: ${measure.text(Math.exp(least))} to ${measure.text(Math.exp(most))} (each step the same ` +
        'factor); empty: nothing. From: left; to: top.'
      : 'Nothing was sent between ranks that are known.';
  }

  function axes(draws) {
    draws.fillStyle = app.colour('muted');
    draws.font = '11px system-ui, sans-serif';
    draws.textBaseline = 'middle';
    const step = Math.max(1, Math.ceil(28 / cell));
    for (let i = 0; i < view.n; i += step) {
      draws.textAlign = 'right';
      draws.fillText(ranks[i * view.size], LABEL - 6, LABEL + (i + 0.5) * cell);
      draws.textAlign = 'center';
      draws.fillText(ranks[i * view.size], LABEL + (i + 0.5) * cell, LABEL - 9);
    }
    draws.textAlign = 'left';
    draws.fillText('from ↓   to →', 2, 10);
  }

  /** The picture, and a frame around the square that is read. */
  function show() {
    const draws = canvas.getContext('2d');
    draws.setTransform(1, 0, 0, 1, 0, 0);
    draws.clearRect(0, 0, canvas.width, canvas.height);
    draws.drawImage(picture, 0, 0);
    if (!at) return;
    draws.scale(canvas.width / (view.n * cell + LABEL), canvas.height / (view.n * cell + LABEL));
    draws.strokeStyle = app.colour('select');
    draws.lineWidth = 2;
    draws.strokeRect(LABEL + at[1] * cell, LABEL + at[0] * cell, Math.max(3, cell - 1), Math.max(3, cell - 1));
  }

  function move(row, column) {
    if (row < 0 || column < 0 || row >= view.n || column >= view.n) return;
    at = [row, column];
    show();
    words.textContent = read(rankOf(row), rankOf(column), view.cells.get(row * view.n + column));
  }

  canvas.addEventListener('pointermove', (event) => {
    const column = Math.floor((event.offsetX - LABEL) / cell),
      row = Math.floor((event.offsetY - LABEL) / cell);
    if (!at || row !== at[0] || column !== at[1]) move(row, column);
  });
  box.addEventListener('keydown', (event) => {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!by) return;
    event.preventDefault();
    if (at) move(at[0] + by[0], at[1] + by[1]);
    else move(0, 0);
  });
  draw();
  app.onTheme(draw);
  const whole = h(
    'div',
    { class: 'chart' },
    h('p', { class: 'controls', role: 'group', 'aria-label': 'What the squares show' }, buttons),
    scale,
    box,
    words,
  );
  whole.redraw = draw;
  return whole;
}
