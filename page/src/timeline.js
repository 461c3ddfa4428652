// SPDX-License-Identifier: BSD-2-Clause
// The timeline: all lanes over the time of the run.
//
// Lanes are painted into an array of pixels (timeline_paint.js) that is put onto a canvas as a whole, and writing and lines
// are drawn over it (timeline_overlay.js). Not WebGL: that needs a driver, which machines without a screen, remote desktops
// and virtual ones do not have (there it is emulated, or missing), it does not print, and its text would be a matter of
// its own. What is painted depends on the pixels in view, so that this is quick enough for any number of calls.
//
// The wheel scrolls, as everywhere; with Ctrl (or a pinch on a touchpad) it zooms, with Shift it moves in time. So the
// page never stops scrolling because the pointer has come over the timeline.
import { element, fill, plain, slices } from './dom.js';
import * as format from './format.js';
import { keys, listen } from './keys.js';
import { begunIn, inProgress, lowerBound } from './timeline_calls.js';
import { depths, expectedHeight, HEAD, laneAt, lanesBetween, layOut } from './timeline_layout.js';
import * as overlay from './timeline_overlay.js';
import { brightness, isFine, paintLane, paintOverview, pixel, rectangle, shift } from './timeline_paint.js';
import { arrowsOf, copyable, hints, laneOf, partCommand, sentence, showCall, showRange } from './timeline_panel.js';
import { addShares, levelFor, makePyramid } from './timeline_pyramid.js';
import { find } from './timeline_search.js';

const NAMES = 190, RULER = 24, OVERVIEW = 44;
const PAPER = 670;              // CSS pixels: A4 between its margins
const BESIDE = 490;             // CSS pixels: what the section has above and below the lanes; all of it fits into a window
const LEAST_VIEW = 20;          // ns that the view can show at least
const NEAR = 4;                 // CSS pixels: how far a pointer may be beside a call
const FONT = '10.5px "DejaVu Sans Mono", ui-monospace, Menlo, Consolas, monospace';
const SMALL = '9px "DejaVu Sans Mono", ui-monospace, Menlo, Consolas, monospace';
const UI_FONT = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';

const press = (text, label, act) => element('button', { type: 'button', title: label, 'aria-label': label, on: { click: act } }, text);

/** Event names are long, and begin alike. */
export function shortNames(names) {
  const head = /^[A-Z]+_/.exec(names[0] ?? '')?.[0] ?? '';
  return names.map((name) => plain(head && names.every((one) => one.startsWith(head)) ? name.slice(head.length) : name));
}

class Timeline {
  constructor(section, data, app) {
    Object.assign(this, { section, data, app, from: 0, to: data.facts.length, lane: 0, selected: -1, range: null, found: null });
    this.shown = Uint8Array.from(data.facts.groups, () => 1);
    this.groupOf = Uint8Array.from(data.facts.events, (event) => event.group);
    this.marks = { arrows: true, path: false };
    this.compact = false;
    this.layout = layOut(data, null, false);
    this.build();
    this.colours();
    app.onTheme(() => { this.colours(); this.paint(); });
    new ResizeObserver(() => this.resize()).observe(this.box);
    addEventListener('beforeprint', () => this.forPaper(true));
    addEventListener('afterprint', () => this.forPaper(false));
    this.resize();
  }

  // --- elements

  build() {
    const { facts } = this.data;
    this.search = element('input', { type: 'search', id: 'tl-search', placeholder: 'find: event, line, argument, >1ms, longest ( / )',
      'aria-label': 'Find calls by event, line, argument, thread, or the longest', spellcheck: 'false', autocomplete: 'off' });
    this.matches = element('span', { class: 'tl-matches', role: 'status' });
    this.arrowSwitch = element('button', { type: 'button', 'aria-pressed': 'true', disabled: true }, 'Arrows');
    this.pathSwitch = element('button', { type: 'button', 'aria-pressed': 'false', disabled: true }, 'Critical path');
    this.compactSwitch = element('button', { type: 'button', 'aria-pressed': 'false' }, 'Narrow lanes');
    const bar = element('div', { class: 'tl-bar' },
      element('span', { class: 'tl-find' }, this.search, press('‹', 'the one found before (,)', () => this.nextMatch(-1)),
        press('›', 'the next one found (.)', () => this.nextMatch(1)), this.matches),
      element('span', {}, press('−', 'zoom out (S)', () => this.zoom(1.5)), press('+', 'zoom in (W)', () => this.zoom(1 / 1.5)),
        press('All', 'All: the whole run (0)', () => this.all())),
      element('span', {}, this.arrowSwitch, this.pathSwitch, this.compactSwitch));
    const legend = element('div', { class: 'tl-legend', role: 'group', 'aria-label': 'What time was for: shown or hidden' },
      facts.groups.map((name, g) => {
        const one = element('button', { type: 'button', 'aria-pressed': 'true' }, this.app.swatch(name), ` ${name}`);
        one.addEventListener('click', () => {
          this.shown[g] ^= 1;
          one.setAttribute('aria-pressed', String(Boolean(this.shown[g])));
          this.overviewPicture = null;
          this.draw();
        });
        return one;
      }),
      element('span', { class: 'tl-key' }, this.app.swatch('outside'), ' in no observed call'),
      facts.calls.left_out ? element('span', { class: 'tl-key' }, element('i', { class: 'swatch hatched' }), ' not in this file one by one') : null);
    this.overview = element('canvas', { class: 'tl-overview', role: 'img', 'aria-label': 'The whole run, the mean of all lanes' });
    this.ruler = element('canvas', { class: 'tl-ruler', 'aria-hidden': 'true' });
    this.names = element('canvas', { class: 'tl-names', 'aria-hidden': 'true' });
    this.canvas = element('canvas', { class: 'tl-canvas', 'aria-hidden': 'true' });
    this.stick = element('div', { class: 'tl-stick' }, this.names, this.canvas);
    this.space = element('div', { class: 'tl-space' });
    this.scroller = element('div', {
      class: 'tl-scroll', tabindex: 0, role: 'application', 'aria-roledescription': 'timeline', 'aria-describedby': 'tl-help',
      'aria-label': `${format.count(facts.lanes.length)} lanes over ${format.time(facts.length)}: N goes to the next call, `
        + 'and it is told of below',
    }, this.stick, this.space);
    this.tip = element('div', { class: 'tl-tip', 'aria-hidden': 'true' });
    this.veil = element('p', { class: 'tl-veil', role: 'status' }, 'Loading the calls …');
    this.box = element('div', { class: 'tl' }, this.overview, this.ruler, this.scroller, this.veil, this.tip);
    this.panel = element('div', { class: 'tl-panel', role: 'region', 'aria-label': 'What is selected', tabindex: 0 },
      element('p', { class: 'muted' }, 'Click a call, or press N in the timeline: here stands what it was. '
        + 'Shift and drag selects a time, and shows what it was for.'));
    this.note = element('p', { class: 'tl-note' });
    const help = element('details', { class: 'tl-keys' }, element('summary', {}, 'Keys and the mouse'),
      element('dl', { id: 'tl-help' }, [['/', 'find'], ...keys.map(([, shown, what]) => [shown, what])].map(([key, what]) =>
        element('div', {}, element('dt', {}, element('kbd', {}, key)), element('dd', {}, what))),
      element('div', {}, element('dt', {}, 'Wheel'), element('dd', {}, 'scrolls; with Ctrl: zooms; with Shift: earlier and later')),
      element('div', {}, element('dt', {}, 'Drag'), element('dd', {}, 'moves; with Shift: selects a time; on the strip above: goes there')),
      element('div', {}, element('dt', {}, 'Double click'), element('dd', {}, 'a call as wide as fits'))));
    this.section.append(bar, legend, this.box, this.note, this.panel, help);
    const height = Math.min(expectedHeight(facts), Math.max(240, Math.min(720, innerHeight - BESIDE)));
    this.box.style.setProperty('--lanes-height', `${height}px`);
    this.listen();
  }

  listen() {
    listen(this, this.scroller, this.search);
    const toggle = (button, act) => button.addEventListener('click', () => {
      const on = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', String(on));
      act(on);
      this.draw();
    });
    toggle(this.arrowSwitch, (on) => { this.marks.arrows = on; });
    toggle(this.pathSwitch, (on) => { this.marks.path = on; });
    toggle(this.compactSwitch, (on) => { this.compact = on; this.lay(); });
    this.scroller.addEventListener('scroll', () => this.draw(), { passive: true });
    this.scroller.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    this.scroller.addEventListener('focus', () => this.draw());
    this.scroller.addEventListener('blur', () => this.draw());
    this.canvas.addEventListener('pointerdown', (event) => this.grab(event));
    this.canvas.addEventListener('pointermove', (event) => this.hover(event));
    this.canvas.addEventListener('pointerleave', () => this.unhover());
    this.canvas.addEventListener('dblclick', (event) => {
      const { i } = this.pick(event);
      if (i >= 0) this.fit(i);
    });
    this.names.addEventListener('pointerdown', (event) => {
      const lane = laneAt(this.layout, event.offsetY + this.scroller.scrollTop);
      if (lane >= 0) { this.lane = lane; this.draw(); }
    });
    this.names.addEventListener('pointermove', (event) => {
      const lane = laneAt(this.layout, event.offsetY + this.scroller.scrollTop);
      const one = this.data.facts.lanes[lane];
      this.names.title = one ? `${plain(one.name)}\n${plain(one.process)}\n${format.count(one.all ?? one.calls)} calls, `
        + `${format.count(one.calls)} of them in this file`
        + `${one.lost ? `, ${format.count(one.lost)} lost` : ''}` : '';
    });
    this.overview.addEventListener('pointerdown', (event) => this.grabOverview(event));
    this.overview.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    let typed;
    this.search.addEventListener('input', () => { clearTimeout(typed); typed = setTimeout(() => this.runSearch(), 150); });
    this.search.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') {
        event.preventDefault();
        clearTimeout(typed);
        if (this.found?.text === this.search.value) this.nextMatch(event.shiftKey ? -1 : 1);
        else this.runSearch().then(() => this.nextMatch(1));
      } else if (event.key === 'Escape') this.scroller.focus();
    });
  }

  // --- sizes and colours

  colours() {
    const { app, data: { facts } } = this, of = app.colour;
    const groups = facts.groups.map((name) => of(name) || of('other'));
    const seen = new Map();
    this.groupColours = Uint32Array.from(groups, (colour) => pixel(colour));
    this.eventColours = Uint32Array.from(facts.events, ({ group }) => {
      const n = seen.get(group) ?? 0; // events of one group differ a little
      seen.set(group, n + 1);
      return pixel(groups[group], [0, 0.22, -0.16, 0.36, -0.28][n % 5]);
    });
    const dark = app.theme() === 'dark';
    this.style = {
      font: FONT, small: SMALL, letter: this.style?.letter ?? 6.4, names: shortNames(facts.events.map((event) => event.name)),
      ink: groups.map((colour) => brightness(colour) > 0.26 ? '#000000' : '#ffffff'), background: of('bg'), muted: of('muted'),
      line: of('line'), text: of('fg'), panel: of('panel'), select: of('select'), path: of('path'), accent: of('accent'),
      arrow: dark ? '#ffffff' : '#000000',
    };
    this.pixels32 = { lane: pixel(of('outside')), bg: pixel(of('bg')), panel: pixel(of('panel')), line: pixel(of('line')), edge: pixel(of('bg')) };
    this.overviewPicture = null;
  }

  /** On paper the picture is as wide as that, and fine enough. */
  forPaper(on) {
    this.box.style.width = on ? `${PAPER}px` : '';
    this.paper = on;
    this.resize();
  }

  resize() {
    const ratio = this.paper ? 2 : Math.min(3, devicePixelRatio || 1);
    const width = Math.max(100, this.box.clientWidth - NAMES), height = this.scroller.clientHeight;
    if (!height) return; // not shown
    const inner = Math.max(100, this.scroller.clientWidth - NAMES); // without the scroll bar
    if (this.ratio === ratio && this.width === inner && this.height === height && this.fullWidth === width) return;
    Object.assign(this, { ratio, width: inner, height, fullWidth: width });
    const size = (canvas, w, h) => {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
      canvas.style.width = `${w}px`;
      canvas.style.height = `${h}px`;
    };
    size(this.canvas, inner, height);
    size(this.names, NAMES, height);
    size(this.ruler, inner, RULER);
    size(this.overview, inner, OVERVIEW);
    this.image = null;
    this.overviewPicture = null;
    this.lay();
    this.paint(); // at once: a canvas that was resized is empty
  }

  lay() {
    this.layout = layOut(this.data, this.deep, this.compact, this.height);
    this.space.style.height = `${Math.max(0, this.layout.height - this.height)}px`;
    this.namesDrawn = null;
    this.draw();
  }

  // --- drawing

  draw() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => { this.asked = 0; this.paint(); });
  }

  scene() {
    const { data, ratio } = this;
    if (!this.image) {
      this.image = new ImageData(this.canvas.width, this.canvas.height);
      this.painted = null;
    }
    const { width, height } = this.image;
    const step = (this.to - this.from) / width, column = Math.round(this.from / step);
    return {
      pixels: new Uint32Array(this.image.data.buffer), width, height, left: 0, right: width, step, column, from: column * step,
      phase: column % 4 + 4, facts: data.facts, calls: data.calls, bins: data.bins, pyramid: this.pyramid, length: data.facts.length,
      groupOf: this.groupOf, shown: this.shown, groupColours: this.groupColours, eventColours: this.eventColours,
      edge: this.pixels32.edge, ratio, layout: this.layout, top: this.scroller.scrollTop, canvasHeight: this.height,
    };
  }

  paint() {
    if (!this.width) return;
    const begun = performance.now();
    const scene = this.scene(), { layout, ratio } = this;
    const [first, end] = lanesBetween(layout, scene.top, scene.top + this.height);
    this.paintLanes(scene, first, end);
    const context = this.canvas.getContext('2d', { alpha: false });
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.putImageData(this.image, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paintOver(context, scene, first, end);
    this.paintRuler(scene);
    this.paintNames(scene, first, end);
    this.paintOverview();
    this.noteView();
    this.took = performance.now() - begun;
  }

  /** Where only the time has moved, what is still in view is moved, and only the rest of it painted. */
  paintLanes(scene, first, end) {
    const { lanes } = this.data.facts, { painted } = this;
    const state = [scene.step, scene.top, this.layout, this.shown.join(), this.eventColours, this.pyramid, scene.calls];
    const fine = scene.calls ? lanes.map((lane, at) => at >= first && at < end && isFine(scene, lane, at)) : [];
    const by = painted ? scene.column - painted.column : 0;
    const same = painted && state.every((value, i) => value === painted.state[i]) && Math.abs(by) < scene.width;
    this.painted = { state, fine, column: scene.column };
    if (same && by) [scene.left, scene.right] = shift(scene, by);
    if (!same || by) this.paintPart(scene, first, end, fine);
    Object.assign(scene, { left: 0, right: scene.width });
    for (let at = first; same && at < end; at++)
      if (fine[at] !== painted.fine[at]) this.paintPart(scene, at, at + 1, fine);
  }

  /** Lanes from the ground up. */
  paintPart(scene, first, end, fine) {
    const { layout, ratio, pixels32 } = this, device = (css) => Math.round(css * ratio);
    const whole = end - first !== 1 || layout.lanes.length === 1;
    const x0 = Math.max(0, Math.round(-scene.from / scene.step));
    const x1 = Math.min(scene.width, Math.round((scene.length - scene.from) / scene.step));
    const top = (y) => device(y - scene.top), { times } = overlay.ticks(scene);
    if (whole) rectangle(scene, 0, 0, scene.width, scene.height, pixels32.bg);
    for (const { y } of whole ? layout.heads : [])
      if (y + HEAD > scene.top && y < scene.top + this.height) rectangle(scene, 0, top(y), scene.width, top(y + HEAD), pixels32.panel);
    for (let at = first; at < end; at++) {
      const { y, rows, rowHeight, strip } = layout.lanes[at];
      rectangle(scene, x0, top(y), x1, top(y + rows * rowHeight + strip - 1), pixels32.lane);
    }
    for (const time of times) {
      const x = Math.round((time - scene.from) / scene.step), place = layout.lanes[first];
      rectangle(scene, x, whole ? 0 : top(place.y), x + Math.max(1, Math.round(ratio / 2)),
        whole ? scene.height : top(place.y + place.height), pixels32.line);
    }
    for (let at = first; scene.calls && at < end; at++) {
      const { y, rows, rowHeight, strip } = layout.lanes[at];
      paintLane(scene, this.data.facts.lanes[at], at, { y: top(y), rows, rowHeight: device(rowHeight), strip: device(strip),
        gap: Math.max(1, device(1)) }, fine[at]);
    }
  }

  paintOver(context, scene, first, end) {
    const { data, style } = this, { calls, arrows, path } = data;
    context.font = FONT;
    context.textBaseline = 'middle';
    this.style.letter = this.letter ??= context.measureText('0123456789').width / 10;
    if (calls) {
      for (let at = first; at < end; at++) {
        overlay.writeNames(context, scene, data.facts.lanes[at], at, style);
        overlay.writeLeftOut(context, scene, at, style);
      }
    }
    if (this.range) this.paintRange(context, scene);
    this.arrowText = '';
    if (arrows && this.marks.arrows && calls) {
      const { indices, all, exact } = overlay.arrowsInView(scene, arrows, this.arrowOrder);
      for (const i of indices) overlay.drawArrow(context, scene, arrows, i, style.arrow, false);
      if (indices.length < all || !exact) this.arrowText = indices.length
        ? `the ${indices.length} longest arrows of ${exact ? format.count(all) : 'many more'}`
        : 'arrows stand too upright to be seen from here: zoom in, or select a call';
    }
    if (path && this.marks.path) overlay.drawPath(context, scene, path, style.path);
    if (this.selected >= 0) {
      const at = laneOf(data, this.selected);
      overlay.outline(context, scene, at, this.selected, style.select, 2);
      const { into, from } = this.selectedArrows;
      for (const i of [...into.slice(0, 20), ...from.slice(0, 20)]) overlay.drawArrow(context, scene, arrows, i, style.select, true);
    }
    if (this.over >= 0 && this.over !== this.selected) overlay.outline(context, scene, laneOf(data, this.over), this.over, style.text, 1);
  }

  paintRange(context, scene) {
    const x = (time) => (time - scene.from) / scene.step / scene.ratio;
    const [left, right] = [x(this.range[0]), x(this.range[1])];
    context.fillStyle = this.style.accent;
    context.globalAlpha = 0.16;
    context.fillRect(left, 0, right - left, this.height);
    context.globalAlpha = 1;
    context.fillRect(left - 1, 0, 1, this.height);
    context.fillRect(right, 0, 1, this.height);
    const text = format.time(this.range[1] - this.range[0]);
    const at = Math.max(4, Math.min(this.width - 80, (left + right) / 2 - text.length * 3.2));
    context.fillRect(at - 5, 3, text.length * 6.6 + 10, 17);
    context.fillStyle = this.style.background;
    context.fillText(text, at, 12);
  }

  paintRuler(scene) {
    const context = this.ruler.getContext('2d', { alpha: false });
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    overlay.drawRuler(context, scene, this.style, this.width, RULER);
  }

  /** Only when something of it has changed: it stays while the time is moved. */
  paintNames(scene, first, end) {
    const state = `${scene.top} ${this.lane} ${this.app.theme()} ${this.height} ${this.ratio} ${this.layout.height}`;
    if (this.namesDrawn === state) return;
    this.namesDrawn = state;
    const { style, data: { facts }, layout } = this;
    const context = this.names.getContext('2d', { alpha: false });
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = style.background;
    context.fillRect(0, 0, NAMES, this.height);
    context.textBaseline = 'middle';
    context.font = UI_FONT;
    const write = (text, x, y, room) => {
      let shown = text;
      while (shown.length > 4 && context.measureText(shown).width > room) shown = `${shown.slice(0, Math.max(3, shown.length - 3)).trimEnd()}…`;
      context.fillText(shown, x, y);
    };
    for (const { y, text } of layout.heads) {
      if (y + HEAD < scene.top || y > scene.top + this.height) continue;
      context.fillStyle = style.panel;
      context.fillRect(0, y - scene.top, NAMES, HEAD);
      context.fillStyle = style.muted;
      write(plain(text), 4, y - scene.top + HEAD / 2, NAMES - 8);
    }
    if (layout.compact) context.font = SMALL;
    for (let at = first; at < end; at++) {
      const place = layout.lanes[at], lane = facts.lanes[at];
      if (at === this.lane) {
        context.fillStyle = style.accent;
        context.fillRect(0, place.y - scene.top, 3, place.rows * place.rowHeight + place.strip);
      }
      context.fillStyle = style.text;
      write(plain(lane.name) + (lane.lane ? ` +${lane.lane}` : ''), 8, place.y - scene.top + Math.min(20, place.rows * place.rowHeight) / 2, NAMES - 12);
    }
  }

  paintOverview() {
    const { overview, ratio, style, pyramid } = this, { length, groups } = this.data.facts;
    const context = overview.getContext('2d', { alpha: false });
    if (!this.overviewPicture) {
      const picture = new ImageData(overview.width, overview.height);
      const pixels = new Uint32Array(picture.data.buffer);
      pixels.fill(this.pixels32.lane);
      if (pyramid) paintOverview({ pixels, width: picture.width, height: picture.height, shown: this.shown, groupColours: this.groupColours },
        pyramid.overview, groups.length);
      this.overviewPicture = picture;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.putImageData(this.overviewPicture, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const left = this.from / length * this.width, right = Math.max(left + 2, this.to / length * this.width);
    context.fillStyle = style.background;
    context.globalAlpha = 0.6;
    context.fillRect(0, 0, left, OVERVIEW);
    context.fillRect(right, 0, this.width - right, OVERVIEW);
    context.globalAlpha = 1;
    context.strokeStyle = style.text;
    context.lineWidth = 1.5;
    context.strokeRect(Math.max(0.75, left), 0.75, Math.min(this.width - 1.5, right - left), OVERVIEW - 1.5);
  }

  /** What the view shows, and what it does not have. Not while it moves: it would cost more than the picture. */
  noteView() {
    clearTimeout(this.noting);
    this.noting = setTimeout(() => {
      const { facts } = this.data, { calls } = facts;
      const parts = [`${format.time(this.to - this.from)} in view, from ${format.moment(this.from, (this.to - this.from) / 1000, facts.length)}`];
      if (this.arrowText) parts.push(this.arrowText);
      if (calls.left_out) parts.push(`${format.count(calls.left_out)} calls shorter than ${format.time(calls.shorter_than_ns)} are not in this file; `
        + 'all calls of what is in view: ');
      const text = parts.join(' · ');
      const command = calls.left_out ? partCommand(this.data, this.from, this.to) : '';
      if (this.noted === text + command) return;
      this.noted = text + command;
      if (!this.command && command) this.command = copyable(command, this.app);
      if (command) this.command.code.textContent = command;
      fill(this.note, text, command ? this.command.nodes : null);
    }, 120);
  }

  // --- moving

  show(from, to) {
    const { length } = this.data.facts;
    const span = Math.min(length, Math.max(LEAST_VIEW, to - from));
    const begin = Math.max(0, Math.min(length - span, from + (to - from - span) / 2));
    this.from = begin;
    this.to = begin + span;
    this.draw();
  }

  all() { this.show(0, this.data.facts.length); }
  pan(share) { const by = (this.to - this.from) * share; this.moveTo(this.from - by); }
  moveTo(from) {
    const span = this.to - this.from;
    const begin = Math.max(0, Math.min(this.data.facts.length - span, from));
    this.show(begin, begin + span);
  }

  /** Around a time, which stays where it is; the selected call, or the middle, if none is given. */
  zoom(factor, around = this.middle()) {
    const span = Math.max(LEAST_VIEW, Math.min(this.data.facts.length, (this.to - this.from) * factor));
    const share = (around - this.from) / (this.to - this.from);
    const from = Math.max(0, Math.min(this.data.facts.length - span, around - share * span));
    this.show(from, from + span);
  }

  middle() {
    if (this.selected >= 0) {
      const at = this.data.calls.start[this.selected] + this.data.calls.duration[this.selected] / 2;
      if (at >= this.from && at <= this.to) return at;
    }
    return (this.from + this.to) / 2;
  }

  scrollToLane(at) {
    this.lane = at;
    const place = this.layout.lanes[at];
    if (!place) return;
    const { scrollTop } = this.scroller;
    if (place.y < scrollTop || place.y + place.height > scrollTop + this.height)
      this.scroller.scrollTop = Math.max(0, place.y - (this.height - place.height) / 2);
    this.draw();
  }

  /** A time of a lane, with some time around it; what is there is selected. */
  goto(lane, from, to) {
    if (!(lane >= 0) || !this.data.facts.lanes[lane]) return;
    const span = Math.max(LEAST_VIEW, to - from);
    this.show(from - span * 0.35, to + span * 0.35);
    this.scrollToLane(lane);
    this.section.scrollIntoView({ block: 'start' });
    this.scroller.focus({ preventScroll: true });
    this.app.loaded.then(() => {
      const i = this.callAt(lane, from, to);
      if (i >= 0) this.select(i, false);
      else { this.range = [from, to]; this.showRange(); }
    });
  }

  /** The call that begins there, and is as long as that. */
  callAt(lane, from, to) {
    const { calls, facts } = this.data;
    const [first, end] = begunIn(calls, facts.lanes[lane], from, from + 1);
    for (let i = first; i < end; i++) if (Math.abs(calls.start[i] + calls.duration[i] - to) < 1) return i;
    return end > first ? first : -1;
  }

  /** Where an arrow begins or ends. */
  showAt(lane, time) {
    const span = this.to - this.from;
    if (time < this.from || time > this.to) this.show(time - span / 2, time + span / 2);
    this.scrollToLane(lane);
    const [i] = inProgress(this.data.calls, this.data.facts.lanes[lane], time + 0.5);
    if (i !== undefined) this.select(i, false);
  }

  fit(i) {
    const { start, duration } = this.data.calls;
    const around = Math.max(LEAST_VIEW, duration[i]) * 0.15;
    this.show(start[i] - around, start[i] + duration[i] + around);
    this.scrollToLane(laneOf(this.data, i));
  }

  // --- selecting

  select(i, move = true) {
    const { calls } = this.data;
    if (!calls || !(i >= 0) || i >= calls.n) return;
    const lane = laneOf(this.data, i);
    this.selected = i;
    this.range = null;
    this.selectedArrows = arrowsOf(this.data, lane, i);
    if (move) {
      const begin = calls.start[i], end = begin + calls.duration[i], span = this.to - this.from;
      if (end < this.from + span * 0.02 || begin > this.to - span * 0.02) this.show(begin + (end - begin) / 2 - span / 2, begin + (end - begin) / 2 + span / 2);
    }
    this.scrollToLane(lane);
    showCall(this.panel, this.data, i, this.app);
    this.app.say(sentence(this.data, i));
    this.draw();
  }

  clear() {
    this.selected = -1;
    this.range = null;
    fill(this.panel, element('p', { class: 'muted' }, 'Nothing is selected.'));
    this.draw();
  }

  showRange() {
    const { facts } = this.data, p = this.pyramid;
    const shares = p && ((at, from, to, sums) => {
      if (!p.lanes[at]) return false;
      const found = new Float64Array(sums.length);
      const { drawn } = p.lanes[at];
      addShares(drawn[levelFor(drawn, p.parts, facts.length, (to - from) / 256)], p.groups, facts.length, from, to, found);
      for (let g = 0; g < sums.length; g++) sums[g] += found[g] / 255 * (to - from);
      return true;
    });
    showRange(this.panel, this.data, this.range, this.app, shares);
    this.app.say(`${format.time(this.range[1] - this.range[0])} selected`);
  }

  /** The call at half of the view; the selected one fills it. */
  enter() {
    const { calls, facts } = this.data;
    if (!calls) return;
    const lane = facts.lanes[this.lane], [inside] = inProgress(calls, lane, this.middle());
    if (this.selected >= 0 && laneOf(this.data, this.selected) === this.lane) return this.fit(this.selected);
    this.select(inside ?? this.nearest(this.lane, this.middle()));
  }

  nearest(at, time) {
    const lane = this.data.facts.lanes[at], { start } = this.data.calls;
    if (!lane.calls) return -1;
    const i = lowerBound(start, time, lane.first, lane.first + lane.calls);
    return Math.min(i, lane.first + lane.calls - 1);
  }

  step(by) {
    const { calls, facts } = this.data;
    if (!calls) return;
    const lane = facts.lanes[this.lane];
    const here = this.selected >= 0 && laneOf(this.data, this.selected) === this.lane
      && calls.start[this.selected] >= this.from && calls.start[this.selected] <= this.to;
    let i = here ? this.selected + by : this.nearest(this.lane, (this.from + this.to) / 2);
    const dropped = (k) => !this.shown[this.groupOf[calls.event[k]]];
    while (i >= lane.first && i < lane.first + lane.calls && dropped(i)) i += by;
    if (i < lane.first || i >= lane.first + lane.calls) return this.app.say(by > 0 ? 'no later call in this lane' : 'no earlier call in this lane');
    this.select(i);
  }

  up() {
    if (this.selected >= 0 && this.data.calls.parent[this.selected] >= 0) this.select(this.data.calls.parent[this.selected]);
  }

  changeLane(by) {
    const at = Math.max(0, Math.min(this.data.facts.lanes.length - 1, this.lane + by));
    const time = this.middle();
    this.scrollToLane(at);
    const { calls, facts } = this.data;
    if (this.selected >= 0 && calls) {
      const [inside] = inProgress(calls, facts.lanes[at], time);
      if (inside !== undefined) return this.select(inside);
      this.clear();
    }
    this.app.say(plain(facts.lanes[at].name));
  }

  // --- finding

  async runSearch() {
    const text = this.search.value;
    const run = this.run = {};
    if (!text.trim() || !this.data.calls) { this.found = null; this.matches.textContent = ''; return; }
    this.matches.textContent = 'looking …';
    const found = await find(this.data, text, () => this.run !== run);
    if (!found) return;
    this.found = { ...found, text, at: -1 };
    this.tellMatches();
  }

  tellMatches() {
    const { indices, at } = this.found, n = indices.length;
    this.matches.textContent = n === 0 ? 'none in this file' : at < 0 ? `${format.count(n)} found` : `${format.count(at + 1)} of ${format.count(n)}`;
  }

  nextMatch(by) {
    if (!this.found?.indices.length) return;
    const { indices, longest } = this.found, n = indices.length;
    if (this.found.at < 0 && !longest && this.selected >= 0) { // go on from what is selected
      const at = lowerBound(indices, this.selected + (by > 0 ? 1 : 0), 0, n);
      this.found.at = (by > 0 ? at : at - 1 + n) % n;
    } else this.found.at = this.found.at < 0 ? (by > 0 ? 0 : n - 1) : (this.found.at + by + n) % n;
    this.tellMatches();
    const i = indices[this.found.at], { duration } = this.data.calls, span = this.to - this.from;
    // Near enough that it is seen.
    if (duration[i] < span / 200) this.show(this.data.calls.start[i] - duration[i] * 20, this.data.calls.start[i] + duration[i] * 21);
    else if (duration[i] > span) this.fit(i);
    this.select(i);
  }

  // --- pointer

  timeOf(x) { return this.from + x / this.width * (this.to - this.from); }

  /** What is under the pointer: { lane, time, i }; i is -1 where no call is. */
  pick({ offsetX, offsetY }) {
    const { calls, facts } = this.data, y = offsetY + this.scroller.scrollTop;
    const at = laneAt(this.layout, y), time = this.timeOf(offsetX);
    if (at < 0 || !calls) return { lane: at, time, i: -1 };
    const lane = facts.lanes[at], place = this.layout.lanes[at];
    const row = Math.floor((y - place.y) / place.rowHeight);
    const seen = (i) => this.shown[this.groupOf[calls.event[i]]];
    const open = inProgress(calls, lane, time + 1e-6).filter(seen);
    // In a picture of shares the row means nothing: the innermost one.
    const density = this.pyramid?.lanes[at] && begunIn(calls, lane, this.from, this.to).reduce((a, b) => b - a) > this.canvas.width;
    let i = density || this.compact ? open[0] : open.find((one) => Math.min(calls.level[one], place.rows - 1) === row);
    if (i === undefined) i = this.beside(lane, time, density ? -1 : row, place.rows, seen);
    return { lane: at, time, i: i ?? -1 };
  }

  /** The nearest call of a row that is not farther than a pointer misses by. */
  beside(lane, time, row, rows, seen) {
    const { start, duration, level } = this.data.calls, far = (this.to - this.from) / this.width * NEAR;
    const from = lowerBound(start, time - far, lane.first, lane.first + lane.calls);
    let best, least = far;
    for (let i = Math.max(lane.first, from - 64); i < lane.first + lane.calls && start[i] <= time + far && i < from + 512; i++) {
      const away = Math.max(start[i] - time, time - start[i] - duration[i], 0);
      if (away <= least && seen(i) && (row < 0 || Math.min(level[i], rows - 1) === row)) { best = i; least = away; }
    }
    return best;
  }

  hover(event) {
    if (this.held || event.pointerType === 'touch') return;
    const { lane, time, i } = this.pick(event);
    if (i !== this.over) { this.over = i; this.draw(); }
    if (lane < 0 || !this.data.calls) return this.unhover();
    fill(this.tip, hints(this.data, lane, time, i).map((line) => element('div', {}, line)));
    this.tip.classList.add('on');
    const { offsetWidth: wide, offsetHeight: high } = this.tip;
    const x = NAMES + event.offsetX, y = OVERVIEW + RULER + event.offsetY;
    this.tip.style.left = `${Math.max(0, Math.min(this.box.clientWidth - wide - 4, x + 14))}px`;
    this.tip.style.top = `${y + 18 + high > this.box.clientHeight ? y - high - 10 : y + 18}px`;
  }

  unhover() {
    this.tip.classList.remove('on');
    if (this.over >= 0) { this.over = -1; this.draw(); }
  }

  grab(event) {
    if (event.button !== 0) return;
    this.scroller.focus({ preventScroll: true });
    const begin = { x: event.offsetX, y: event.clientY, from: this.from, top: this.scroller.scrollTop, time: this.timeOf(event.offsetX) };
    this.held = { moved: false, ranging: event.shiftKey };
    this.unhover();
    this.canvas.setPointerCapture(event.pointerId);
    const move = (now) => {
      if (!this.held.moved && Math.hypot(now.offsetX - begin.x, now.clientY - begin.y) < 4) return;
      this.held.moved = true;
      if (this.held.ranging) {
        const other = Math.max(0, Math.min(this.data.facts.length, this.timeOf(now.offsetX)));
        this.range = [Math.min(begin.time, other), Math.max(begin.time, other)];
        this.selected = -1;
        this.draw();
      } else {
        this.moveTo(begin.from - (now.offsetX - begin.x) / this.width * (this.to - this.from));
        if (now.pointerType !== 'touch') this.scroller.scrollTop = begin.top - (now.clientY - begin.y);
      }
    };
    const end = (last) => {
      this.canvas.removeEventListener('pointermove', move);
      const { moved, ranging } = this.held;
      this.held = null;
      if (last.type === 'pointercancel') return;
      if (moved && ranging && this.data.calls) this.showRange();
      else if (!moved) {
        const { lane, i } = this.pick(last);
        if (lane >= 0) this.lane = lane;
        if (i >= 0) this.select(i, false);
        else this.clear();
      }
    };
    this.canvas.addEventListener('pointermove', move);
    this.canvas.addEventListener('pointerup', end, { once: true });
    this.canvas.addEventListener('pointercancel', end, { once: true });
  }

  grabOverview(event) {
    if (event.button !== 0) return;
    const { length } = this.data.facts, time = (x) => x / this.width * length;
    this.overview.setPointerCapture(event.pointerId);
    const span = this.to - this.from, at = time(event.offsetX);
    const inside = at >= this.from && at <= this.to && span < length * 0.98;
    const hold = inside ? at - this.from : span / 2;
    const select = event.shiftKey || span >= length * 0.98;
    const move = (now) => {
      if (select) { if (Math.abs(now.offsetX - event.offsetX) > 3) this.show(Math.min(at, time(now.offsetX)), Math.max(at, time(now.offsetX))); }
      else this.moveTo(time(now.offsetX) - hold);
    };
    move(event);
    this.overview.addEventListener('pointermove', move);
    const end = () => this.overview.removeEventListener('pointermove', move);
    this.overview.addEventListener('pointerup', end, { once: true });
    this.overview.addEventListener('pointercancel', end, { once: true });
  }

  wheel(event) {
    const pixels = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const { left } = this.canvas.getBoundingClientRect();
      this.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * pixels * (event.deltaMode ? 0.01 : 0.004)))), this.timeOf(event.clientX - left));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.moveTo(this.from + (event.deltaX || event.deltaY) * pixels / this.width * (this.to - this.from));
    }
  }

  // --- loading

  async load() {
    const { data } = this;
    this.app.say('');
    if (!data.calls) {
      this.veil.textContent = 'There are no calls in this file.';
      return;
    }
    this.deep = await depths(data, slices());
    this.lay();
    this.veil.textContent = 'Adding up …';
    this.arrowSwitch.disabled = !data.arrows?.n;
    this.pathSwitch.disabled = !data.path?.parts?.length;
    if (data.arrows) {
      const { n, fromTime, toTime } = data.arrows;
      this.arrowOrder = Uint32Array.from({ length: n }, (_, i) => i).sort((a, b) => toTime[b] - fromTime[b] - toTime[a] + fromTime[a]);
    }
    this.pyramid = await makePyramid(data);
    this.overviewPicture = null;
    this.veil.remove();
    this.draw();
  }
}

export const timeline = {
  id: 'timeline',
  title: 'Timeline',
  needs: ({ facts }) => facts.lanes.length > 0 || 'No thread made an observed call.',
  render(section, data, app) {
    const made = app.timeline = new Timeline(section, data, app);
    app.goto = (lane, from, to) => made.goto(lane, from, to);
    app.select = (i) => made.select(i);
    made.ready = app.loaded.then(() => made.load());
    made.ready.then(() => { document.documentElement.dataset.timeline = 'ready'; }, (error) => {
      made.veil.textContent = `The calls cannot be drawn: ${error.message}`;
    });
  },
};
