// SPDX-License-Identifier: BSD-2-Clause
// The last minutes of a job that is watched: a row for each process, a column for each look.
import { colourOf, groups } from './groups.js';
import { h } from './make.js';

const LOOKS = 600; // that are kept
const ROW = 18,
  GAP = 2; // CSS pixels
const NAMES = 120; // CSS pixels for names
const ROWS = 256; // that are drawn

export class Strip {
  constructor(app) {
    this.app = app;
    this.rows = new Map(); // by process: { name, looks: [times by group or null] }
    this.looks = 0;
    this.lasted = [];
    this.canvas = h('canvas', {
      class: 'strip',
      role: 'img',
      'aria-label': 'The last minutes: the tables have the figures',
    });
    this.scale = h('p', { class: 'muted' });
    this.element = h('div', {}, this.canvas, this.scale);
  }

  /** One look: who was there, and what each did since the one before. */
  add(lasted, people) {
    this.lasted.push(lasted);
    this.looks++;
    for (const { id, name, times } of people) {
      const row = this.rows.get(id) ?? { name, looks: [], from: this.looks };
      row.name = name;
      while (row.looks.length < this.looks - row.from) row.looks.push(null);
      row.looks.push(times);
      this.rows.set(id, row);
    }
    if (this.lasted.length > LOOKS) this.lasted.shift();
    for (const [id, row] of this.rows) {
      while (row.from <= this.looks - LOOKS && row.looks.length > 0) {
        row.looks.shift();
        row.from++;
      }
      if (row.looks.length === 0) this.rows.delete(id);
    }
  }

  draw() {
    const rows = [...this.rows.values()].slice(0, ROWS);
    const ratio = globalThis.devicePixelRatio || 1;
    const width = this.element.clientWidth || 600,
      height = Math.max(1, rows.length) * (ROW + GAP);
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.setProperty('width', `${width}px`);
    this.canvas.style.setProperty('height', `${height}px`);
    const pen = this.canvas.getContext('2d');
    pen.scale(ratio, ratio);
    const colours = groups.map(({ key }) => [key, this.app.colour(key)]);
    const shown = Math.min(LOOKS, Math.max(60, this.lasted.length));
    const step = (width - NAMES) / shown;
    pen.font = '12px system-ui, sans-serif';
    pen.textBaseline = 'middle';
    rows.forEach((row, at) => {
      const top = at * (ROW + GAP);
      pen.fillStyle = this.app.colour('fg');
      pen.fillText(row.name, 0, top + ROW / 2, NAMES - 8);
      row.looks.forEach((times, i) => {
        const column = row.from + i - 1 - (this.looks - shown);
        if (times && column >= 0) this.column(pen, times, colours, NAMES + column * step, top, step);
      });
    });
    const seconds = this.lasted.reduce((sum, ns) => sum + ns, 0) / 1e9;
    this.scale.textContent =
      `${Math.round(seconds)} s, a column for each look (${this.lasted.length})` +
      (this.rows.size > ROWS ? `; ${ROWS} of ${this.rows.size} processes` : '');
  }

  /** Shares of a look, one on the other. */
  column(pen, times, colours, left, top, width) {
    const whole = Object.values(times).reduce((sum, ns) => sum + ns, 0);
    let from = 0;
    for (const [key, colour] of colours) {
      if (!(times[key] > 0)) continue;
      const part = (times[key] / whole) * ROW;
      pen.fillStyle = colour;
      pen.fillRect(left, top + from, width + 0.5, part);
      from += part;
    }
  }
}
