// SPDX-License-Identifier: BSD-2-Clause
// The timeline: all lanes over the time of the run. Here are its elements, what is selected, and finding; how it is
// drawn stands in timeline_picture.js, how it is moved in timeline_moves.js.
import { element, fill, plain, slices } from './dom.js';
import * as format from './format.js';
import { keys, listen } from './keys.js';
import { gapAt, inProgress, lowerBound } from './timeline_calls.js';
import { depths, expectedHeight, laneAt, layOut } from './timeline_layout.js';
import { Moving } from './timeline_moves.js';
import { headOf } from './timeline_picture.js';
import { arrowsOf, hints, laneOf, sentence, showCall, showNone, showRange } from './timeline_panel.js';
import { addShares, levelFor, makePyramid } from './timeline_pyramid.js';
import { gapTitle, showGap } from './timeline_gap.js';
import { arrowKeys } from './timeline_key.js';
import { showLane } from './timeline_lane.js';
import { queueLegend, queuesOf } from './timeline_queues.js';
import { find } from './timeline_search.js';
import { termsOf } from './timeline_terms.js';

const BESIDE = 490; // CSS pixels: what the section has above and below the lanes; all of it fits into a window
const LANES_TOLD = 6; // with shares of their own in a selected time

const press = (text, label, act) =>
  element('button', { type: 'button', title: label, 'aria-label': label, on: { click: act } }, text);

export class Timeline extends Moving {
  constructor(section, data, app) {
    super();
    this.terms = termsOf(data.facts);
    Object.assign(this, {
      section,
      data,
      app,
      from: 0,
      to: data.facts.length,
      lane: 0,
      selected: -1,
      range: null,
      gap: null, // of gapAt()
      found: null,
    });
    this.queues = data.queues = queuesOf(data);
    this.shown = Uint8Array.from(data.facts.groups, () => 1);
    this.groupOf = Uint8Array.from(data.facts.events, (event) => event.group);
    this.marks = { arrows: true, path: false };
    this.compact = false;
    this.layout = layOut(data, null, false);
    this.build();
    this.colours();
    app.onTheme(() => {
      this.colours();
      this.paint();
    });
    new ResizeObserver(() => this.resize()).observe(this.box);
    addEventListener('beforeprint', () => this.forPaper(true));
    addEventListener('afterprint', () => this.forPaper(false));
    this.resize();
  }

  // --- elements

  build() {
    const { facts } = this.data;
    this.search = element('input', {
      type: 'search',
      id: `${this.terms.id}-search`,
      class: 'tl-search',
      placeholder: `find: ${this.terms.find}`,
      'aria-label': this.terms.label,
      spellcheck: 'false',
      autocomplete: 'off',
    });
    this.matches = element('span', { class: 'tl-matches', role: 'status' });
    this.arrowSwitch = element('button', { type: 'button', 'aria-pressed': 'true', disabled: true }, 'Arrows');
    this.pathSwitch = element('button', { type: 'button', 'aria-pressed': 'false', disabled: true }, 'Critical path');
    this.compactSwitch = element('button', { type: 'button', 'aria-pressed': 'false' }, 'Narrow lanes');
    const bar = element(
      'div',
      { class: 'tl-bar' },
      element(
        'span',
        { class: 'tl-find' },
        this.search,
        press('‹', 'the one found before (,)', () => this.nextMatch(-1)),
        press('›', 'the next one found (.)', () => this.nextMatch(1)),
        this.matches,
      ),
      element(
        'span',
        {},
        press('−', 'zoom out (S)', () => this.zoom(1.5)),
        press('+', 'zoom in (W)', () => this.zoom(1 / 1.5)),
        press('All', 'All: the whole run (0)', () => this.all()),
      ),
      element('span', {}, ...(this.terms.id === 'tl' ? [this.arrowSwitch, this.pathSwitch] : []), this.compactSwitch),
    );
    const head = headOf(facts.events.map((event) => event.name));
    this.legend = element(
      'div',
      { class: 'tl-legend', role: 'group', 'aria-label': this.terms.legend },
      facts.groups.map((name, g) => {
        if (!this.groupOf.includes(g)) return null; // no event of it occurs
        const one = element(
          'button',
          { type: 'button', 'aria-pressed': 'true' },
          this.app.swatch(name),
          ` ${plain(name)}`,
        );
        one.addEventListener('click', () => {
          this.shown[g] ^= 1;
          one.setAttribute('aria-pressed', String(Boolean(this.shown[g])));
          this.overviewPicture = null;
          this.draw();
        });
        return one;
      }),
      element('span', { class: 'tl-key' }, this.app.swatch('outside'), ` ${this.terms.outside}`),
      facts.calls.left_out
        ? element(
            'span',
            { class: 'tl-key' },
            element('i', { class: 'swatch hatched' }),
            ' not in this file one by one',
          )
        : null,
      this.queues.any
        ? element(
            'span',
            { class: 'tl-key', title: 'One bar for each time that was looked at; when within it is not known' },
            element('i', { class: 'swatch starved' }),
            queueLegend(this.queues),
          )
        : null,
      head ? element('span', { class: 'tl-key' }, `bars are named without ${plain(head)}`) : null,
    );
    this.overview = element('canvas', {
      class: 'tl-overview',
      role: 'img',
      'aria-label': 'The whole run, the mean of all lanes',
    });
    this.ruler = element('canvas', { class: 'tl-ruler', 'aria-hidden': 'true' });
    this.names = element('canvas', { class: 'tl-names', 'aria-hidden': 'true' });
    this.canvas = element('canvas', { class: 'tl-canvas', 'aria-hidden': 'true' });
    this.stick = element('div', { class: 'tl-stick' }, this.names, this.canvas);
    this.space = element('div', { class: 'tl-space' });
    this.scroller = element(
      'div',
      {
        class: 'tl-scroll',
        tabindex: 0,
        role: 'application',
        'aria-roledescription': 'timeline',
        'aria-describedby': 'tl-help',
        'aria-label':
          `${format.count(facts.lanes.length)} lanes over ${format.time(facts.length)}: ` +
          `N goes to the next ${this.terms.one}, ` +
          'and it is told of below',
      },
      this.stick,
      this.space,
    );
    this.tip = element('div', { class: 'tl-tip', 'aria-hidden': 'true' });
    this.hint = element('p', { class: 'tl-hint', 'aria-hidden': 'true' }, 'Ctrl and the wheel zoom');
    this.veil = element('p', { class: 'tl-veil', role: 'status' }, `Loading the ${this.terms.many} …`);
    this.box = element(
      'div',
      { class: 'tl' },
      this.overview,
      this.ruler,
      this.scroller,
      this.veil,
      this.hint,
      this.tip,
    );
    this.panel = element(
      'div',
      { class: 'tl-panel', role: 'region', 'aria-label': this.terms.selected, tabindex: 0 },
      element(
        'p',
        { class: 'muted' },
        `Click a ${this.terms.one}, what is between two of them, or the name of a lane, or press N in the picture: ` +
          'here stands what it was. Shift and drag selects a time, and shows what it was for.',
      ),
    );
    this.note = element('p', { class: 'tl-note' });
    const help = element(
      'details',
      { class: 'tl-keys' },
      element('summary', {}, 'Keys and the mouse'),
      element(
        'dl',
        { id: 'tl-help' },
        [['/', 'find'], ...keys.map(([, shown, what]) => [shown, what])].map(([key, what]) =>
          element('div', {}, element('dt', {}, element('kbd', {}, key)), element('dd', {}, what)),
        ),
        element(
          'div',
          {},
          element('dt', {}, 'Wheel'),
          element('dd', {}, 'scrolls; with Ctrl: zooms; with Shift: earlier and later'),
        ),
        element(
          'div',
          {},
          element('dt', {}, 'Drag'),
          element('dd', {}, 'moves; with Shift: selects a time; on the strip above: goes there'),
        ),
        element('div', {}, element('dt', {}, 'Double click'), element('dd', {}, 'a call as wide as fits')),
      ),
    );
    this.section.append(bar, this.legend, this.box, this.note, this.panel);
    if (this.terms.id === 'tl') this.section.append(help); // the keys are the same in all
    const height = Math.min(expectedHeight(facts), Math.max(240, Math.min(720, innerHeight - BESIDE)));
    this.box.style.setProperty('--lanes-height', `${height}px`);
    this.listen();
  }

  listen() {
    listen(this, this.scroller, this.terms.id === 'tl' ? this.search : null);
    const toggle = (button, act) =>
      button.addEventListener('click', () => {
        const on = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', String(on));
        act(on);
        this.draw();
      });
    toggle(this.arrowSwitch, (on) => {
      this.marks.arrows = on;
    });
    toggle(this.pathSwitch, (on) => {
      this.marks.path = on;
    });
    toggle(this.compactSwitch, (on) => {
      this.compact = on;
      this.lay();
    });
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
      if (lane >= 0) this.selectLane(lane);
    });
    this.names.addEventListener('pointermove', (event) => {
      const lane = laneAt(this.layout, event.offsetY + this.scroller.scrollTop);
      const one = this.data.facts.lanes[lane];
      this.names.title = one
        ? `${plain(one.name)}\n${plain(one.process)}\n${format.count(one.all ?? one.calls)} ${this.terms.many}, ` +
          `${format.count(one.calls)} of them in this file` +
          `${one.lost ? `, ${format.count(one.lost)} lost` : ''}${this.lacked(lane)}`
        : '';
    });
    this.overview.addEventListener('pointerdown', (event) => this.grabOverview(event));
    this.overview.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    let typed;
    this.search.addEventListener('input', () => {
      clearTimeout(typed);
      this.run = null; // what was found is of another text
      this.found = null;
      this.tellMatches();
      typed = setTimeout(() => this.runSearch(), 150);
    });
    this.search.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') {
        event.preventDefault();
        clearTimeout(typed);
        if (this.found?.text === this.search.value) this.goOn(event.shiftKey ? -1 : 1);
        else this.runSearch().then(() => this.goOn(1));
      } else if (event.key === 'Escape') {
        event.preventDefault();
        clearTimeout(typed);
        this.forget();
        this.scroller.focus();
      }
    });
    // Who comes by a link wants to see what was looked for.
    this.search.addEventListener('find', async () => {
      clearTimeout(typed);
      this.reveal();
      await this.app.loaded.catch(() => {});
      await this.runSearch();
      this.goOn(1);
    });
  }

  /** Of all of the thread's time. */
  lacked(lane) {
    const of = this.data.report?.threads?.[this.data.facts.lanes[lane].thread];
    return of?.run_queue_ns != null && of.observed_ns
      ? `\nhad no CPU for ${format.percent(Math.min(1, of.run_queue_ns / of.observed_ns))} of its time`
      : '';
  }

  // --- selecting

  select(i, move = true) {
    const { calls } = this.data;
    if (!calls || !(i >= 0) || i >= calls.n) return;
    const lane = laneOf(this.data, i);
    this.drop();
    this.selected = i;
    this.selectedArrows = arrowsOf(this.data, lane, i);
    this.tellMatches();
    if (move) {
      const begin = calls.start[i],
        end = begin + calls.duration[i],
        span = this.to - this.from;
      if (end < this.from + span * 0.02 || begin > this.to - span * 0.02)
        this.show(begin + (end - begin) / 2 - span / 2, begin + (end - begin) / 2 + span / 2);
    }
    this.scrollToLane(lane);
    this.showCall(i);
    this.app.say(this.sentenceOf(i));
    this.draw();
  }

  sentenceOf(i) {
    return sentence(this.data, i);
  }

  hintsOf(lane, time, i) {
    return hints(this.data, lane, time, i);
  }

  showCall(i) {
    showCall(this.panel, this.data, i, this.app);
  }

  /** Nothing is selected any more: before something else is. */
  drop() {
    this.wanted = null;
    this.selected = -1;
    this.range = null;
    this.gap = null;
    this.chosen = -1; // the lane that is told of as a whole
  }

  clear() {
    this.drop();
    this.tellMatches();
    fill(this.panel, element('p', { class: 'muted' }, 'Nothing is selected.'));
    this.draw();
  }

  /** The lanes in view, if they are few, else the one that is gone from. */
  lanesTold() {
    const { scrollTop } = this.scroller;
    const seen = [...this.layout.lanes.keys()].filter((at) => {
      const { y, height } = this.layout.lanes[at];
      return y + height > scrollTop && y < scrollTop + this.height;
    });
    return seen.length > LANES_TOLD ? [this.lane] : seen;
  }

  /** A time is selected: whole ns. */
  selectRange(from, to) {
    this.drop();
    this.range = [Math.round(from), Math.round(to)];
  }

  /** What is between calls, at a time of a lane. */
  selectGap(lane, time) {
    this.drop();
    this.gap = gapAt(this.data, lane, time);
    this.tellMatches();
    this.scrollToLane(lane);
    showGap(this.panel, this.data, this.gap, this.app);
    this.app.say(`${gapTitle(this.data, this.gap)}, ${plain(this.data.facts.lanes[lane].name)}`);
    this.draw();
  }

  /** The one that comes after what is selected, or at half of the view. */
  nextGap() {
    const { calls } = this.data;
    if (!calls) return;
    const i = this.selected >= 0 && laneOf(this.data, this.selected) === this.lane ? this.selected : -1;
    this.selectGap(this.lane, i >= 0 ? calls.start[i] + calls.duration[i] : this.middle());
  }

  /** One lane: of the time that is selected, else of all. */
  selectLane(lane) {
    const { range } = this,
      { length } = this.data.facts;
    this.drop();
    this.range = range;
    this.chosen = lane;
    this.tellMatches();
    this.scrollToLane(lane);
    if (this.data.calls) showLane(this.panel, this.data, lane, range ?? [0, length], this.app, this.shares());
    this.app.say(plain(this.data.facts.lanes[lane].name));
    this.draw();
  }

  /** From the levels of detail, where a time has too many calls to be added up one by one. */
  shares() {
    const { facts } = this.data,
      p = this.pyramid;
    return (
      p &&
      ((at, from, to, sums) => {
        if (!p.lanes[at]) return false;
        const found = new Float64Array(sums.length);
        const { drawn } = p.lanes[at];
        addShares(
          drawn[levelFor(drawn, p.parts, facts.length, (to - from) / 256)],
          p.groups,
          facts.length,
          from,
          to,
          found,
        );
        for (let g = 0; g < sums.length; g++) sums[g] += (found[g] / 255) * (to - from);
        return true;
      })
    );
  }

  showRange() {
    this.tellMatches();
    showRange(this.panel, this.data, this.range, this.lanesTold(), this.app, this.shares());
    this.app.say(`${format.time(this.range[1] - this.range[0])} selected`);
  }

  /** The call at half of the view; the selected one fills it. */
  enter() {
    const { calls, facts } = this.data;
    if (!calls) return;
    const lane = facts.lanes[this.lane],
      [inside] = inProgress(calls, lane, this.middle());
    if (this.selected >= 0 && laneOf(this.data, this.selected) === this.lane) return this.fit(this.selected);
    this.select(inside ?? this.nearest(this.lane, this.middle()));
  }

  nearest(at, time) {
    const lane = this.data.facts.lanes[at],
      { start } = this.data.calls;
    if (!lane.calls) return -1;
    const i = lowerBound(start, time, lane.first, lane.first + lane.calls);
    return Math.min(i, lane.first + lane.calls - 1);
  }

  step(by) {
    const { calls, facts } = this.data;
    if (!calls) return;
    const lane = facts.lanes[this.lane];
    const here =
      this.selected >= 0 &&
      laneOf(this.data, this.selected) === this.lane &&
      calls.start[this.selected] >= this.from &&
      calls.start[this.selected] <= this.to;
    let i = here ? this.selected + by : this.nearest(this.lane, (this.from + this.to) / 2);
    const dropped = (k) => !this.shown[this.groupOf[calls.event[k]]];
    while (i >= lane.first && i < lane.first + lane.calls && dropped(i)) i += by;
    if (i < lane.first || i >= lane.first + lane.calls)
      return this.app.say(
        by > 0 ? `no later ${this.terms.one} in this lane` : `no earlier ${this.terms.one} in this lane`,
      );
    this.select(i);
  }

  up() {
    if (this.selected >= 0 && this.data.calls.parent[this.selected] >= 0)
      this.select(this.data.calls.parent[this.selected]);
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
    const run = (this.run = {});
    this.found = null;
    this.tellMatches();
    if (!text.trim() || !this.data.calls) return;
    this.matches.textContent = 'looking …';
    const found = await find(this.data, text, () => this.run !== run);
    if (!found) return;
    this.found = { ...found, text, at: -1 };
    if (!found.all) this.tellNone(text);
    this.tellMatches();
  }

  /** What was told of before is not what is looked for. */
  tellNone(text) {
    this.clear();
    showNone(this.panel, this.data, text);
  }

  /** To what was found; the keys go on from there. */
  goOn(by) {
    this.nextMatch(by);
    if (this.found?.indices.length) this.scroller.focus({ preventScroll: true });
  }

  /** Nothing is looked for any more. */
  forget() {
    this.search.value = '';
    this.run = null;
    this.found = null;
    this.tellMatches();
  }

  /** How many were found, and which of them is selected, if one of them is. */
  tellMatches() {
    if (!this.found) {
      this.matches.textContent = '';
      return;
    }
    const { all, at, longest, indices } = this.found,
      n = format.count(all);
    if (!all) this.matches.textContent = 'none in this file';
    else if (at >= 0 && indices[at] === this.selected)
      this.matches.textContent = `${format.count(at + 1)} of ${n}${longest ? ', longest first' : ''}`;
    else
      this.matches.textContent = longest
        ? `sorted by length, longest first: ${n} ${all === 1 ? this.terms.one : this.terms.many}`
        : `${n} found`;
  }

  nextMatch(by) {
    if (!this.found?.indices.length) return;
    const { indices } = this.found,
      n = indices.length;
    this.found.at = this.found.at < 0 ? (by > 0 ? 0 : n - 1) : (this.found.at + by + n) % n;
    const i = indices[this.found.at],
      { duration } = this.data.calls,
      span = this.to - this.from;
    // Near enough that it is seen.
    if (duration[i] < span / 200)
      this.show(this.data.calls.start[i] - duration[i] * 20, this.data.calls.start[i] + duration[i] * 21);
    else if (duration[i] > span) this.fit(i);
    this.select(i);
  }

  // --- loading

  async load() {
    const { data } = this;
    this.app.say('');
    if (!data.calls) {
      this.veil.textContent = `There are no ${this.terms.many} in this file.`;
      return;
    }
    this.deep = await depths(data, slices());
    this.lay();
    this.veil.textContent = 'Adding up …';
    this.arrowSwitch.disabled = !data.arrows?.n;
    this.pathSwitch.disabled = !data.path?.parts?.length;
    this.legend.append(...arrowKeys(data));
    if (data.arrows) {
      const { n, fromTime, toTime } = data.arrows;
      this.arrowOrder = Uint32Array.from({ length: n }, (_, i) => i).sort(
        (a, b) => toTime[b] - fromTime[b] - toTime[a] + fromTime[a],
      );
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
    const made = (app.timeline = new Timeline(section, data, app));
    app.goto = (lane, from, to) => made.goto(lane, from, to);
    app.gotoLane = (lane) => made.gotoLane(lane);
    app.select = (i) => made.select(i);
    const tell = (error) => {
      made.veil.textContent = `The calls cannot be drawn: ${error.message}`;
    };
    app.failed.then(tell);
    app.loaded
      .then(() => made.load())
      .then(() => {
        document.documentElement.dataset.timeline = 'ready';
      })
      .catch(tell);
  },
};
