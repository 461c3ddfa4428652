// SPDX-License-Identifier: BSD-2-Clause
// One table for all of them: sorted by any column, filtered, copied and saved as CSV, drawn a page at a time.
//
// A column: { key, title, kind, get(row), show(value, row), help, only: 'csv' }. kind says how it is written, and which
// unit it has: text (the default), time (ns), bytes, rate, count, percent (of 100), share (of 1), number. `get` is the
// value that sorts, and that the CSV has, under the name `key`; row[key] where it is not given. `only: 'csv'` is for
// what the CSV has besides. The figures and names of the CSV are those of the report (gaspbpf report --csv).
import * as figures from './figures.js';
import { h, newId, put } from './make.js';
import { plain } from './dom.js';

const PAGE = 20,
  LARGER = 200,
  HIGHEST = 34; // rem: as in views.css

const written = {
  time: figures.time,
  bytes: figures.bytes,
  rate: figures.rate,
  count: figures.count,
  percent: figures.percent,
  share: figures.share,
  number: (value) => (value == null ? '-' : String(value)),
  text: (value) => (value == null || value === '' ? '-' : String(value)),
};

const units = { time: 'time', bytes: 'bytes', rate: 'bytes per second', percent: '%', share: '%' };
const collator = new Intl.Collator('en', { numeric: true });

function compare(a, b) {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return collator.compare(String(a), String(b));
}

/** What is not known comes last, whichever way it is sorted. */
function sorted(rows, get, down) {
  const missing = (value) => value == null || value === '' || Number.isNaN(value);
  return rows
    .map((row, at) => [get(row), row, at])
    .sort(([a, , i], [b, , j]) => {
      if (missing(a) || missing(b)) return missing(a) - missing(b) || i - j;
      return (down ? compare(b, a) : compare(a, b)) || i - j;
    })
    .map(([, row]) => row);
}

/** A field as RFC 4180 has it; characters that are not seen as codes. */
function field(value) {
  if (value == null) return '';
  const text = typeof value === 'string' ? plain(value) : String(value);
  return /[",\r\n]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function toCsv(columns, rows) {
  const lines = [
    columns.map(({ key }) => field(key)),
    ...rows.map((row) => columns.map((column) => field(column.get(row)))),
  ];
  return lines.map((cells) => `${cells.join(',')}\r\n`).join('');
}

async function copy(text) {
  if (navigator.clipboard?.writeText) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      /* not allowed: the old way */
    }
  }
  const box = h('textarea', { class: 'unseen', 'aria-hidden': 'true', tabindex: '-1' });
  box.value = text;
  document.body.append(box);
  box.select();
  const done = document.execCommand('copy');
  box.remove();
  return done;
}

function save(text, name) {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  h('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

class Table {
  constructor(app, { name, caption, columns, rows, sort, empty, page = PAGE }) {
    this.app = app;
    this.name = name;
    this.page = page;
    this.larger = false;
    this.at = 0;
    this.all = this.rows = rows;
    this.columns = columns.map((column) => ({ kind: 'text', get: (row) => row[column.key], ...column }));
    this.shown = this.columns.filter(({ only }) => only !== 'csv');
    [this.by, this.down] = sort
      ? [this.columns.find(({ key }) => key === sort.replace(/^-/, '')), sort.startsWith('-')]
      : [];
    this.empty = empty;
    this.words = new Map();
    this.element = h('div', { class: 'table', 'data-table': name });
    this.build(caption);
    this.sort();
  }

  build(caption) {
    const id = newId('table');
    this.body = h('tbody');
    this.heads = this.shown.map((column) => this.head(column));
    this.count = h('span', { class: 'rows', id: `${id}-rows` });
    const scroll = h(
      'div',
      { class: 'scroll', tabindex: '0', role: 'region', 'aria-labelledby': id },
      h('table', { 'aria-labelledby': id }, h('thead', {}, h('tr', {}, this.heads)), this.body),
    );
    this.scroll = scroll;
    if (this.all.length === 0) {
      put(
        this.element,
        h('p', { class: 'caption' }, caption),
        h('p', { class: 'muted' }, this.empty ?? 'Nothing of this kind.'),
      );
      return;
    }
    put(this.element, h('p', { class: 'caption', id }, caption), scroll, this.tools(caption));
    new ResizeObserver(() => this.trim()).observe(scroll.firstChild);
  }

  head(column) {
    const numeric = column.kind !== 'text';
    const head = h(
      'th',
      { scope: 'col', class: numeric ? 'figure' : null, 'data-key': column.key },
      h(
        'button',
        { type: 'button', title: column.help, on: { click: () => this.sortBy(column) } },
        column.title,
        h('span', { class: 'direction', 'aria-hidden': 'true' }),
      ),
    );
    head.column = column;
    return head;
  }

  tools(caption) {
    const said = (text) => this.app.say(text);
    const button = (text, act, label) => h('button', { type: 'button', 'aria-label': label, on: { click: act } }, text);
    const tools = h('div', { class: 'tools' });
    if (this.all.length > 5) {
      this.box = h('input', {
        type: 'search',
        placeholder: 'Filter',
        'aria-label': `Filter: ${caption}`,
        size: 14,
        on: { input: () => this.filter(this.box.value) },
      });
      tools.append(this.box);
    }
    this.before = button('‹', () => this.turn(-1), `Rows before: ${caption}`);
    this.after = button('›', () => this.turn(1), `Rows after: ${caption}`);
    this.more = button('more rows', () => {
      this.larger = !this.larger;
      this.at = 0;
      this.draw();
    });
    if (this.all.length > this.page) tools.append(this.before, this.after, this.more);
    tools.append(
      this.count,
      button(
        'copy as CSV',
        async () =>
          said(
            (await copy(this.csv()))
              ? `copied ${figures.several(this.rows.length, 'row')}`
              : 'this browser does not let a page copy; save it',
          ),
        `copy as CSV: ${caption}`,
      ),
      button('save CSV', () => save(this.csv(), `${this.name}.csv`), `save CSV: ${caption}`),
    );
    return tools;
  }

  csv() {
    return toCsv(this.columns, this.rows);
  }

  sortBy(column) {
    this.down = this.by === column ? !this.down : column.kind !== 'text';
    this.by = column;
    this.at = 0;
    this.sort();
    this.app.say(`sorted by ${column.title}, ${this.down ? 'largest first' : 'smallest first'}`);
  }

  sort() {
    for (const head of this.heads) {
      const sorts = head.column === this.by;
      if (sorts) head.setAttribute('aria-sort', this.down ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
      head.querySelector('.direction').textContent = sorts ? (this.down ? ' ▼' : ' ▲') : '';
    }
    if (this.by) this.rows = sorted(this.rows, this.by.get, this.down);
    this.draw();
  }

  text(row) {
    if (!this.words.has(row))
      this.words.set(
        row,
        this.shown
          .map((column) => `${this.cell(column, row, true)}`)
          .join('\n')
          .toLowerCase(),
      );
    return this.words.get(row);
  }

  /**
   * In how few pieces the words stand in a row, each piece in one cell: "rank 1 send" in two where one cell has
   * "rank 1" and another one "send"; Infinity where one of them is nowhere.
   */
  pieces(row, words) {
    const text = this.text(row);
    let pieces = 0;
    for (let at = 0, to; at < words.length; at = to, pieces++) {
      for (to = at; to < words.length && text.includes(words.slice(at, to + 1).join(' ')); ) to++;
      if (to === at) return Infinity;
    }
    return pieces;
  }

  /** All words must be in a row; where some rows have them more closely together than others, these alone are left. */
  filter(text) {
    const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const pieces = this.all.map((row) => this.pieces(row, words));
    const least = pieces.reduce((a, b) => Math.min(a, b), Infinity);
    this.rows = this.all.filter((_, i) => pieces[i] === least && least < Infinity);
    this.keepWidths(words.length > 0);
    this.at = 0;
    this.sort();
  }

  /** Columns are as wide as before, while a filter leaves fewer rows. */
  keepWidths(keep) {
    if (keep === Boolean(this.kept)) return;
    const widths = keep ? this.heads.map((head) => head.offsetWidth) : [];
    this.kept = keep;
    this.heads.forEach((head, i) => {
      if (widths[i]) head.style.setProperty('min-width', `${widths[i]}px`);
      else head.style.removeProperty('min-width');
    });
  }

  /** A box that does not have all rows ends below one of them, and not in the middle. */
  trim() {
    const { scroll } = this;
    const most = HIGHEST * parseFloat(getComputedStyle(document.documentElement).fontSize);
    const frame = scroll.offsetHeight - scroll.clientHeight;
    const ends = [...this.body.children].map((row) => row.offsetTop + row.offsetHeight);
    const cut = ends[ends.length - 1] + frame > most;
    const last = ends.filter((end) => end + frame <= most).pop();
    scroll.style.setProperty('max-height', `${cut && last ? last + frame : most}px`);
  }

  /** Other rows in the same table: order, filter and page stay. */
  replace(rows) {
    const { at } = this;
    this.all = this.rows = rows;
    this.words = new Map();
    this.filter(this.box?.value ?? '');
    if (at < this.rows.length) this.at = at;
    this.draw();
  }

  turn(by) {
    const step = this.larger ? LARGER : this.page;
    this.at = Math.min(Math.max(0, this.at + by * step), Math.max(0, this.rows.length - 1));
    this.draw();
  }

  /** A cell's text, or what it shows beside it. */
  cell(column, row, textOnly) {
    const value = column.get(row);
    const text = column.text ? column.text(value, row) : written[column.kind](value);
    return !textOnly && column.show ? column.show(value, row, text) : text;
  }

  draw() {
    if (this.all.length === 0) return;
    const step = this.larger ? LARGER : this.page;
    const end = Math.min(this.rows.length, this.at + step);
    const lines = this.rows.slice(this.at, end).map((row) =>
      h(
        'tr',
        {},
        this.shown.map((column, i) =>
          h(
            i === 0 ? 'th' : 'td',
            { scope: i === 0 ? 'row' : null, class: column.kind !== 'text' ? 'figure' : column.class },
            this.cell(column, row),
          ),
        ),
      ),
    );
    put(this.body, lines);
    put(
      this.count,
      this.rows.length === 0
        ? `none of ${figures.several(this.all.length, 'row')}`
        : end - this.at === this.all.length
          ? figures.several(this.all.length, 'row')
          : `${figures.count(this.at + 1)}–${figures.count(end)} of ${figures.count(this.rows.length)}` +
            (this.rows.length < this.all.length ? ` (of ${figures.several(this.all.length, 'row')})` : ' rows'),
    );
    this.before.disabled = this.at === 0;
    this.after.disabled = end >= this.rows.length;
    this.more.textContent = this.larger ? 'fewer rows' : 'more rows';
  }
}

/** The element of a table. options: name (of the file), caption, columns, rows, sort ('-key': largest first), empty */
export function table(app, options) {
  const made = new Table(app, options);
  made.element.table = made;
  return made.element;
}

export const unitOf = (kind) => units[kind] ?? '';
