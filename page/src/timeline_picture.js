// SPDX-License-Identifier: BSD-2-Clause
// The picture of the timeline: its colours and sizes, and what is drawn when.
//
// Lanes are painted into an array of pixels (timeline_paint.js) that is put onto a canvas as a whole, and writing and
// lines are drawn over it (timeline_overlay.js). Not WebGL: that needs a driver, which machines without a screen,
// remote desktops and virtual ones do not have (there it is emulated, or missing), it does not print, and its text
// would be a matter of its own. What is painted depends on the pixels in view: quick enough for any number of calls.
import { fill, plain } from './dom.js';
import * as format from './format.js';
import { HEAD, lanesBetween, layOut } from './timeline_layout.js';
import * as overlay from './timeline_overlay.js';
import { brightness, isFine, paintLane, paintOverview, pixel, rectangle, shift } from './timeline_paint.js';
import { termsOf } from './timeline_terms.js';
import { paintQueues } from './timeline_queues.js';
import { copyable, laneOf, NOT_KEPT, partCommand, tellCommand } from './timeline_panel.js';

export const NAMES = 190, // of a window that is wide enough
  RULER = 24,
  OVERVIEW = 44; // CSS pixels
const PAPER = 670; // CSS pixels: A4 between its margins
const FONT = '10.5px "DejaVu Sans Mono", ui-monospace, Menlo, Consolas, monospace';
const SMALL = '9px "DejaVu Sans Mono", ui-monospace, Menlo, Consolas, monospace';
const UI_FONT = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';

/** What all names of events begin with: GASP_; '' if they do not. */
export function headOf(names) {
  const head = /^[A-Z]+_/.exec(names[0] ?? '')?.[0] ?? '';
  return names.every((one) => one.startsWith(head)) ? head : '';
}

/** Event names are long, and begin alike: in bars they stand without that. */
export function shortNames(names) {
  const { length } = headOf(names);
  return names.map((name) => plain(name.slice(length)));
}

/** Of a timeline: needs its elements (timeline.js), and `from`, `to`: what is in view, ns. */
export class Picture {
  colours() {
    const {
        app,
        data: { facts },
      } = this,
      of = app.colour;
    const groups = facts.groups.map((name, g) => app.groupColour?.(name, g) ?? (of(name) || of('other')));
    const seen = new Map();
    this.groupColours = Uint32Array.from(groups, (colour) => pixel(colour));
    this.eventColours = Uint32Array.from(facts.events, ({ group }) => {
      const n = seen.get(group) ?? 0; // events of one group differ a little
      seen.set(group, n + 1);
      return pixel(groups[group], [0, 0.22, -0.16, 0.36, -0.28][n % 5]);
    });
    const dark = app.theme() === 'dark';
    this.style = {
      font: FONT,
      small: SMALL,
      letter: this.style?.letter ?? 6.4,
      names: shortNames(facts.events.map((event) => event.name)),
      ink: groups.map((colour) => (brightness(colour) > 0.26 ? '#000000' : '#ffffff')),
      background: of('bg'),
      muted: of('muted'),
      line: of('line'),
      text: of('fg'),
      panel: of('panel'),
      select: of('select'),
      path: of('path'),
      starved: of('bad'),
      accent: of('accent'),
      arrow: dark ? '#ffffff' : '#000000',
    };
    this.pixels32 = {
      lane: pixel(of('outside')),
      bg: pixel(of('bg')),
      panel: pixel(of('panel')),
      line: pixel(of('line')),
      edge: pixel(of('bg')),
    };
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
    const side = this.box.clientWidth < 640 ? NAMES / 2 : NAMES;
    this.box.style.setProperty('--names-width', `${side}px`);
    const width = Math.max(100, this.box.clientWidth - side),
      height = this.scroller.clientHeight;
    if (!height) return; // not shown
    const inner = Math.max(100, this.scroller.clientWidth - side); // without the scroll bar
    if (this.ratio === ratio && this.width === inner && this.height === height && this.fullWidth === width) return;
    Object.assign(this, { ratio, side, width: inner, height, fullWidth: width });
    const size = (canvas, w, h) => {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
      canvas.style.width = `${w}px`;
      canvas.style.height = `${h}px`;
    };
    size(this.canvas, inner, height);
    size(this.names, side, height);
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

  draw() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      this.paint();
    });
  }

  scene() {
    const { data, ratio } = this;
    if (!this.image) {
      this.image = new ImageData(this.canvas.width, this.canvas.height);
      this.painted = null;
    }
    const { width, height } = this.image;
    const step = (this.to - this.from) / width,
      column = Math.round(this.from / step);
    return {
      pixels: new Uint32Array(this.image.data.buffer),
      width,
      height,
      left: 0,
      right: width,
      step,
      column,
      from: column * step,
      phase: (column % 4) + 4,
      facts: data.facts,
      calls: data.calls,
      bins: data.bins,
      pyramid: this.pyramid,
      length: data.facts.length,
      groupOf: this.groupOf,
      shown: this.shown,
      groupColours: this.groupColours,
      eventColours: this.eventColours,
      edge: this.pixels32.edge,
      ratio,
      layout: this.layout,
      top: this.scroller.scrollTop,
      canvasHeight: this.height,
    };
  }

  paint() {
    if (!this.width) return;
    const begun = performance.now();
    const scene = this.scene(),
      { layout, ratio } = this;
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
    const { lanes } = this.data.facts,
      { painted } = this;
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
    const { layout, ratio, pixels32 } = this,
      device = (css) => Math.round(css * ratio);
    const whole = end - first !== 1 || layout.lanes.length === 1;
    const x0 = Math.max(0, Math.round(-scene.from / scene.step));
    const x1 = Math.min(scene.width, Math.round((scene.length - scene.from) / scene.step));
    const top = (y) => device(y - scene.top),
      { times } = overlay.ticks(scene);
    if (whole) rectangle(scene, 0, 0, scene.width, scene.height, pixels32.bg);
    for (const { y } of whole ? layout.heads : [])
      if (y + HEAD > scene.top && y < scene.top + this.height)
        rectangle(scene, 0, top(y), scene.width, top(y + HEAD), pixels32.panel);
    for (let at = first; at < end; at++) {
      const { y, rows, rowHeight, strip } = layout.lanes[at];
      rectangle(scene, x0, top(y), x1, top(y + rows * rowHeight + strip - 1), pixels32.lane);
    }
    for (const time of times) {
      const x = Math.round((time - scene.from) / scene.step),
        place = layout.lanes[first];
      rectangle(
        scene,
        x,
        whole ? 0 : top(place.y),
        x + Math.max(1, Math.round(ratio / 2)),
        whole ? scene.height : top(place.y + place.height),
        pixels32.line,
      );
    }
    for (let at = first; scene.calls && at < end; at++) {
      const { y, rows, rowHeight, strip } = layout.lanes[at];
      paintLane(
        scene,
        this.data.facts.lanes[at],
        at,
        { y: top(y), rows, rowHeight: device(rowHeight), strip: device(strip), gap: Math.max(1, device(1)) },
        fine[at],
      );
    }
  }

  paintOver(context, scene, first, end) {
    const { data, style } = this,
      { calls, arrows, path } = data;
    context.font = FONT;
    context.textBaseline = 'middle';
    this.style.letter = this.letter ??= context.measureText('0123456789').width / 10;
    if (calls) {
      for (let at = first; at < end; at++) {
        overlay.writeNames(context, scene, data.facts.lanes[at], at, style);
        overlay.writeLeftOut(context, scene, at, style);
      }
    }
    if (this.queues?.any) paintQueues(context, scene, this.queues, first, end, style.starved);
    if (this.range) this.paintRange(context, scene);
    if (this.gap) overlay.outlineGap(context, scene, this.gap, style.select);
    this.arrowText = '';
    if (arrows && this.marks.arrows && calls) {
      const { indices, all, exact } = overlay.arrowsInView(scene, arrows, this.arrowOrder);
      for (const i of indices) overlay.drawArrow(context, scene, arrows, i, style.arrow, false);
      if (indices.length < all || !exact)
        this.arrowText = indices.length
          ? `the ${indices.length} longest arrows of ${exact ? format.count(all) : 'many more'}`
          : 'arrows stand too upright to be seen from here: zoom in, or select a call';
    }
    if (path && this.marks.path) overlay.drawPath(context, scene, path, style.path);
    if (this.selected >= 0) {
      const at = laneOf(data, this.selected);
      overlay.outline(context, scene, at, this.selected, style.select, 2);
      const { into, from } = this.selectedArrows;
      for (const i of [...into.slice(0, 20), ...from.slice(0, 20)])
        overlay.drawArrow(context, scene, arrows, i, style.select, true);
    }
    if (this.over >= 0 && this.over !== this.selected)
      overlay.outline(context, scene, laneOf(data, this.over), this.over, style.text, 1);
  }

  paintRange(context, scene) {
    const x = (time) => (time - scene.from) / scene.step / scene.ratio;
    const [left, right] = [x(this.range[0]), x(this.range[1])];
    if (right < 0 || left > this.width) return;
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
    const { lane, chosen, height, ratio } = this;
    const state = [scene.top, lane, chosen, this.app.theme(), height, ratio, this.layout.height].join(' ');
    if (this.namesDrawn === state) return;
    this.namesDrawn = state;
    const {
      style,
      data: { facts },
      layout,
      side,
    } = this;
    const context = this.names.getContext('2d', { alpha: false });
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = style.background;
    context.fillRect(0, 0, side, this.height);
    context.textBaseline = 'middle';
    context.font = UI_FONT;
    const write = (text, x, y, room) => {
      let shown = text;
      while (shown.length > 4 && context.measureText(shown).width > room)
        shown = `${shown.slice(0, Math.max(3, shown.length - 3)).trimEnd()}…`;
      context.fillText(shown, x, y);
    };
    for (const { y, text } of layout.heads) {
      if (y + HEAD < scene.top || y > scene.top + this.height) continue;
      context.fillStyle = style.panel;
      context.fillRect(0, y - scene.top, side, HEAD);
      context.fillStyle = style.muted;
      write(plain(text), 4, y - scene.top + HEAD / 2, side - 8);
    }
    if (layout.compact) context.font = SMALL;
    for (let at = first; at < end; at++) {
      const place = layout.lanes[at],
        lane = facts.lanes[at];
      if (at === this.lane) {
        const high = place.rows * place.rowHeight + place.strip;
        context.fillStyle = style.accent;
        context.fillRect(0, place.y - scene.top, 3, high);
        context.globalAlpha = 0.16;
        if (at === this.chosen) context.fillRect(3, place.y - scene.top, side - 3, high);
        context.globalAlpha = 1;
      }
      context.fillStyle = style.text;
      write(
        plain(lane.name) + (lane.lane ? ` +${lane.lane}` : ''),
        8,
        place.y - scene.top + Math.min(20, place.rows * place.rowHeight) / 2,
        side - 12,
      );
    }
  }

  paintOverview() {
    const { overview, ratio, style, pyramid } = this,
      { length, groups } = this.data.facts;
    const context = overview.getContext('2d', { alpha: false });
    if (!this.overviewPicture) {
      const picture = new ImageData(overview.width, overview.height);
      const pixels = new Uint32Array(picture.data.buffer);
      pixels.fill(this.pixels32.lane);
      if (pyramid)
        paintOverview(
          {
            pixels,
            width: picture.width,
            height: picture.height,
            shown: this.shown,
            groupColours: this.groupColours,
          },
          pyramid.overview,
          groups.length,
        );
      this.overviewPicture = picture;
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.putImageData(this.overviewPicture, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const left = (this.from / length) * this.width,
      right = Math.max(left + 2, (this.to / length) * this.width);
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
      const { facts } = this.data,
        { calls } = facts;
      const parts = [
        `${format.time(this.to - this.from)} in view, ` +
          `from ${format.moment(this.from, (this.to - this.from) / 1000, facts.length)}`,
      ];
      if (this.arrowText) parts.push(this.arrowText);
      if (calls.left_out)
        parts.push(
          `${format.count(calls.left_out)} ${termsOf(facts).many} shorter than ` +
            `${format.time(calls.shorter_than_ns)} are not in this ` +
            `file; ${facts.recording == null ? NOT_KEPT : `all ${termsOf(facts).many} of what is in view: `}`,
        );
      const command = (calls.left_out && partCommand(this.data, this.from, this.to)) || '';
      const text = parts.join(' · ');
      if (this.noted === text + command) return;
      this.noted = text + command;
      if (!this.command && command) this.command = copyable(command, this.app);
      if (command) tellCommand(this.command.code, command);
      fill(this.note, text, command ? this.command.nodes : null);
    }, 120);
  }
}
