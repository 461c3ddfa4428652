// SPDX-License-Identifier: BSD-2-Clause
// Moving about in the timeline, by pointer and wheel, or to what is asked for.
//
// The wheel scrolls, as everywhere; with Ctrl (or a pinch on a touchpad) it zooms, with Shift it moves in time. So the
// page never stops scrolling because the pointer has come over the timeline.
import { element, fill } from './dom.js';
import { begunIn, inProgress, lowerBound } from './timeline_calls.js';
import { laneAt } from './timeline_layout.js';
import { laneOf } from './timeline_panel.js';
import { OVERVIEW, Picture, RULER } from './timeline_picture.js';

const LEAST_VIEW = 20; // ns that the view can show at least
const NEAR = 4; // CSS pixels: how far a pointer may be beside a call

export class Moving extends Picture {
  show(from, to) {
    const { length } = this.data.facts;
    const span = Math.min(length, Math.max(LEAST_VIEW, to - from));
    const begin = Math.max(0, Math.min(length - span, from + (to - from - span) / 2));
    this.from = begin;
    this.to = begin + span;
    this.draw();
  }

  all() {
    this.show(0, this.data.facts.length);
  }
  pan(share) {
    const by = (this.to - this.from) * share;
    this.moveTo(this.from - by);
  }
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

  /** Its section is opened. */
  reveal() {
    this.app.reveal?.(this.section.closest('section')?.id);
  }

  /** A time of a lane, with some time around it; what is there is selected. */
  goto(lane, from, to) {
    if (!(lane >= 0) || !this.data.facts.lanes[lane]) return;
    const span = Math.max(LEAST_VIEW, to - from);
    this.show(from - span * 0.35, to + span * 0.35);
    this.scrollToLane(lane);
    this.reveal();
    (this.section.closest('section') ?? this.section).scrollIntoView({ block: 'start' });
    this.scroller.focus({ preventScroll: true });
    this.drop();
    const wanted = (this.wanted = {});
    this.app.loaded.then(() => {
      if (this.wanted !== wanted) return;
      const i = this.callAt(lane, from, to);
      if (i >= 0) this.select(i, false);
      else {
        this.selectRange(from, to);
        this.showRange();
      }
    });
  }

  /** A lane, and all of the run. */
  gotoLane(lane) {
    if (!(lane >= 0) || !this.data.facts.lanes[lane]) return;
    this.all();
    this.drop();
    this.scrollToLane(lane);
    this.reveal();
    (this.section.closest('section') ?? this.section).scrollIntoView({ block: 'start' });
    this.scroller.focus({ preventScroll: true });
    const wanted = (this.wanted = {});
    this.app.loaded.then(() => this.wanted === wanted && this.selectLane(lane));
  }

  /** The call that begins there, and is as long as that. */
  callAt(lane, from, to) {
    const { calls, facts } = this.data;
    const [first, end] = begunIn(calls, facts.lanes[lane], from, from + 1);
    for (let i = first; i < end; i++) if (Math.abs(calls.start[i] + calls.duration[i] - to) < 1) return i;
    return end > first ? first : -1;
  }

  /** Where an arrow begins or ends: the call there, or what is between calls. */
  showAt(lane, time, between = false) {
    const span = this.to - this.from;
    if (time < this.from || time > this.to) this.show(time - span / 2, time + span / 2);
    this.scrollToLane(lane);
    if (between) return this.selectGap(lane, time);
    const [i] = inProgress(this.data.calls, this.data.facts.lanes[lane], time + 0.5);
    if (i !== undefined) this.select(i, false);
  }

  fit(i) {
    const { start, duration } = this.data.calls;
    const around = Math.max(LEAST_VIEW, duration[i]) * 0.15;
    this.show(start[i] - around, start[i] + duration[i] + around);
    this.scrollToLane(laneOf(this.data, i));
  }

  // --- the pointer

  timeOf(x) {
    return this.from + (x / this.width) * (this.to - this.from);
  }

  /** What is under the pointer: { lane, time, i }; i is -1 where no call is. */
  pick({ offsetX, offsetY }) {
    const { calls, facts } = this.data,
      y = offsetY + this.scroller.scrollTop;
    const at = laneAt(this.layout, y),
      time = this.timeOf(offsetX);
    if (at < 0 || !calls) return { lane: at, time, i: -1 };
    const lane = facts.lanes[at],
      place = this.layout.lanes[at];
    const row = Math.floor((y - place.y) / place.rowHeight);
    const seen = (i) => this.shown[this.groupOf[calls.event[i]]];
    const open = inProgress(calls, lane, time + 1e-6).filter(seen);
    // In a picture of shares the row means nothing: the innermost one.
    const density =
      this.pyramid?.lanes[at] && begunIn(calls, lane, this.from, this.to).reduce((a, b) => b - a) > this.canvas.width;
    let i = density || this.compact ? open[0] : open.find((one) => Math.min(calls.level[one], place.rows - 1) === row);
    if (i === undefined) i = this.beside(lane, time, density ? -1 : row, place.rows, seen);
    return { lane: at, time, i: i ?? -1 };
  }

  /** The nearest call of a row that is not farther than a pointer misses by. */
  beside(lane, time, row, rows, seen) {
    const { start, duration, level } = this.data.calls,
      far = ((this.to - this.from) / this.width) * NEAR;
    const from = lowerBound(start, time - far, lane.first, lane.first + lane.calls);
    let best,
      least = far;
    for (
      let i = Math.max(lane.first, from - 64);
      i < lane.first + lane.calls && start[i] <= time + far && i < from + 512;
      i++
    ) {
      const away = Math.max(start[i] - time, time - start[i] - duration[i], 0);
      if (away <= least && seen(i) && (row < 0 || Math.min(level[i], rows - 1) === row)) {
        best = i;
        least = away;
      }
    }
    return best;
  }

  hover(event) {
    if (this.held || event.pointerType === 'touch') return;
    const { lane, time, i } = this.pick(event);
    if (i !== this.over) {
      this.over = i;
      this.draw();
    }
    if (lane < 0 || !this.data.calls) return this.unhover();
    fill(
      this.tip,
      this.hintsOf(lane, time, i).map((line) => element('div', {}, line)),
    );
    this.tip.classList.add('on');
    const { offsetWidth: wide, offsetHeight: high } = this.tip;
    const x = this.side + event.offsetX,
      y = OVERVIEW + RULER + event.offsetY;
    this.tip.style.left = `${Math.max(0, Math.min(this.box.clientWidth - wide - 4, x + 14))}px`;
    this.tip.style.top = `${y + 18 + high > this.box.clientHeight ? y - high - 10 : y + 18}px`;
  }

  unhover() {
    this.tip.classList.remove('on');
    if (this.over >= 0) {
      this.over = -1;
      this.draw();
    }
  }

  grab(event) {
    if (event.button !== 0) return;
    this.scroller.focus({ preventScroll: true });
    const begin = {
      x: event.offsetX,
      y: event.clientY,
      from: this.from,
      top: this.scroller.scrollTop,
      time: this.timeOf(event.offsetX),
    };
    this.held = { moved: false, ranging: event.shiftKey };
    if (event.shiftKey) this.lane = Math.max(0, laneAt(this.layout, event.offsetY + this.scroller.scrollTop));
    this.unhover();
    this.canvas.setPointerCapture(event.pointerId);
    const move = (now) => {
      if (!this.held.moved && Math.hypot(now.offsetX - begin.x, now.clientY - begin.y) < 4) return;
      this.held.moved = true;
      if (this.held.ranging) {
        const other = Math.max(0, Math.min(this.data.facts.length, this.timeOf(now.offsetX)));
        this.selectRange(Math.min(begin.time, other), Math.max(begin.time, other));
        this.draw();
      } else {
        this.moveTo(begin.from - ((now.offsetX - begin.x) / this.width) * (this.to - this.from));
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
        const { lane, time, i } = this.pick(last);
        if (lane >= 0) this.lane = lane;
        if (i >= 0) this.select(i, false);
        else if (lane >= 0 && this.data.calls && time >= 0 && time < this.data.facts.length) this.selectGap(lane, time);
        else this.clear();
      }
    };
    this.canvas.addEventListener('pointermove', move);
    this.canvas.addEventListener('pointerup', end, { once: true });
    this.canvas.addEventListener('pointercancel', end, { once: true });
  }

  grabOverview(event) {
    if (event.button !== 0) return;
    const { length } = this.data.facts,
      time = (x) => (x / this.width) * length;
    this.overview.setPointerCapture(event.pointerId);
    const span = this.to - this.from,
      at = time(event.offsetX);
    const inside = at >= this.from && at <= this.to && span < length * 0.98;
    const hold = inside ? at - this.from : span / 2;
    const select = event.shiftKey || span >= length * 0.98;
    const move = (now) => {
      if (select) {
        if (Math.abs(now.offsetX - event.offsetX) > 3)
          this.show(Math.min(at, time(now.offsetX)), Math.max(at, time(now.offsetX)));
      } else this.moveTo(time(now.offsetX) - hold);
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
      this.zoom(
        Math.exp(Math.max(-1, Math.min(1, event.deltaY * pixels * (event.deltaMode ? 0.01 : 0.004)))),
        this.timeOf(event.clientX - left),
      );
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.moveTo(this.from + (((event.deltaX || event.deltaY) * pixels) / this.width) * (this.to - this.from));
    } else this.tellOfWheel();
  }

  /** Who wanted to zoom is told how, for a moment, and not forever. */
  tellOfWheel() {
    this.told ??= 0;
    if (this.told >= 3 || this.hint.classList.contains('on')) return;
    this.told++;
    this.hint.classList.add('on');
    setTimeout(() => this.hint.classList.remove('on'), 1500);
  }
}
