// SPDX-License-Identifier: BSD-2-Clause
// What is selected, as text: all that the picture shows of it is here, too.
import { element, fill, plain } from './dom.js';
import { several } from './figures.js';
import * as format from './format.js';
import { makeRoom } from './timeline_paint.js';
import { termsOf } from './timeline_terms.js';
import { queueAt, queuedIn, queueText } from './timeline_queues.js';
import { addLeftOut, addSelfTimes, inProgress, leftOutAt, lowerBound, ownTime } from './timeline_calls.js';
import { lateIn, waitText } from './timeline_waits.js';

const ENDS = [
  'returned',
  'was still in progress when the recording ended',
  'left by a jump or an exception, without returning',
  'ended with its thread or process',
  'its return was not observed',
];
const ARROWS_TOLD = 8;
const LONG = 70; // letters of arguments that have a line of the whole width

/** GASP_MPI_SEND, the call's event. */
export const eventOf = ({ facts, calls }, i) => plain(facts.events[calls.event[i]].name);
export const siteOf = ({ facts, calls }, i) => (calls.site[i] ? plain(facts.sites[calls.site[i] - 1]) : null);
export const wordsOf = ({ facts, calls }, i) => plain(facts.words[calls.word[i]] ?? '');

/** The lane that a call is in: its index. */
export function laneOf({ facts }, i) {
  let low = 0,
    high = facts.lanes.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (facts.lanes[middle].first + facts.lanes[middle].calls <= i) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** One sentence, for those who listen. */
export function sentence(data, i) {
  const { facts, calls } = data,
    lane = facts.lanes[laneOf(data, i)];
  const site = siteOf(data, i),
    words = wordsOf(data, i);
  return (
    `${eventOf(data, i)}, ${format.time(calls.duration[i])}, ${plain(lane.name)}, ` +
    `at ${format.moment(calls.start[i], 1000, facts.length)}` +
    `${site ? `, from ${site}` : ''}${words ? `, ${words}` : ''}${calls.end[i] ? `, ${ENDS[calls.end[i]]}` : ''}`
  );
}

/**
 * Arrows that end in a call, and those that begin in it: indices, the longest first. Those of calls inside of it are
 * not its own.
 */
export function arrowsOf({ arrows, calls, facts }, lane, i) {
  const into = [],
    from = [];
  if (!arrows) return { into, from };
  const begin = calls.start[i],
    end = begin + calls.duration[i];
  const own = (time) => [time - 0.5, time + 0.5].some((at) => inProgress(calls, facts.lanes[lane], at)[0] === i);
  const first = lowerBound(arrows.toTime, begin, 0, arrows.n);
  for (let k = first; k < arrows.n && arrows.toTime[k] <= end; k++)
    if (arrows.toLane[k] === lane && own(arrows.toTime[k])) into.push(k);
  for (let k = first; k < arrows.n && arrows.toTime[k] <= end + arrows.longest; k++)
    if (
      arrows.fromLane[k] === lane &&
      arrows.fromTime[k] >= begin &&
      arrows.fromTime[k] <= end &&
      own(arrows.fromTime[k])
    )
      from.push(k);
  const longest = (a, b) => arrows.toTime[b] - arrows.fromTime[b] - (arrows.toTime[a] - arrows.fromTime[a]);
  return { into: into.sort(longest), from: from.sort(longest) };
}

export const button = (text, click, label) =>
  element('button', { type: 'button', 'aria-label': label, on: { click } }, text);
export const row = (name, ...value) => element('div', {}, element('dt', {}, name), element('dd', {}, ...value));

/** In place of that command. */
export const NOT_KEPT =
  'no recording was kept: `-o run.gasp` beside `-o run.html` keeps one, and then parts of it can be exported';

/** The command that makes a page of a part of the run, with all calls of it; null: the recording is gone. */
export function partCommand({ facts }, from, to, lane = null) {
  if (facts.recording == null) return null;
  const rank = lane === null ? null : facts.lanes[lane].rank;
  const file = plain(facts.recording);
  const name = /^[\w.\/+-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`;
  return (
    `gaspbpf export ${name} --from ${format.option(Math.floor(Math.max(0, from)))} ` +
    `--to ${format.option(Math.ceil(Math.min(facts.length, to)))}${rank === null ? '' : ` --ranks ${rank}`} ` +
    '-o part.html'
  );
}

/** A command in lines: an option is not parted from its value, nor at its sign. */
export function tellCommand(code, text) {
  const words = text.split(/ (?=-)/).map((word) => element('span', { class: 'tl-word' }, word));
  return fill(
    code,
    words.flatMap((word, i) => (i ? [' ', word] : [word])),
  );
}

/** A command, and a button that copies it. */
export function copyable(text, app) {
  const code = tellCommand(element('code', {}), text);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      app.say('copied');
    } catch {
      getSelection().selectAllChildren(code);
      app.say('the command is selected: copy it');
    }
  };
  return { code, nodes: [code, ' ', button('copy', copy, 'copy the command')] };
}

/** Arrows as rows: what `text` says of each, and a button that goes to a time of a lane: [lane, time, in a gap]. */
export function arrowRows(list, text, place, app) {
  const one = (arrow) =>
    element(
      'li',
      {},
      text(arrow),
      ' ',
      button('go there', () => app.timeline.showAt(...place(arrow)), `go there: ${text(arrow)}`),
    );
  const rows = element('ul', { class: 'tl-arrows' }, list.slice(0, ARROWS_TOLD).map(one));
  if (list.length > ARROWS_TOLD) rows.append(element('li', {}, `and ${format.count(list.length - ARROWS_TOLD)} more`));
  return rows;
}

/** For whom a call waited: a click leads to what the late one did, in a call, or outside of them. */
function waitedFor(data, into, i, app) {
  const { arrows } = data;
  const place = (k) => {
    const gap = lateIn(data, k, i);
    return [arrows.fromLane[k], gap ? (gap.from + gap.to) / 2 : arrows.fromTime[k], Boolean(gap)];
  };
  return row(
    'Waited for',
    arrowRows(into, (k) => waitText(data, k, i), place, app),
  );
}

function waitedForBy(data, from, app) {
  const { arrows } = data;
  const place = (k) => [arrows.toLane[k], arrows.toTime[k] - 1];
  return row(
    'Waited for by',
    arrowRows(from, (k) => waitText(data, k), place, app),
  );
}

function argumentsRow(data, i) {
  const { calls, facts } = data;
  const none = facts.calls.without_words ? 'none seen, or not in this file' : 'none seen';
  return row('Arguments', calls.word[i] ? element('span', { class: 'mono' }, wordsOf(data, i)) : none);
}

export function showCall(panel, data, i, app) {
  const { calls, facts } = data,
    at = laneOf(data, i),
    lane = facts.lanes[at];
  const { into, from } = arrowsOf(data, at, i);
  const t = app.timeline;
  const own = ownTime(calls, lane, i);
  const length = facts.length;
  const sums = new Float64Array(facts.groups.length);
  const left = Math.round(addLeftOut(data.bins, at, length, calls.start[i], calls.start[i] + calls.duration[i], sums));
  const up = calls.parent[i];
  const queue = queueAt(data.queues, at, calls.start[i] + calls.duration[i] / 2);
  const words = argumentsRow(data, i),
    long = wordsOf(data, i).length > LONG;
  if (long) words.classList.add('wide');
  fill(
    panel,
    element(
      'header',
      {},
      element('h3', {}, eventOf(data, i)),
      element(
        'p',
        { class: 'tl-buttons' },
        button('As wide as fits', () => t.fit(i)),
        button('Before', () => t.step(-1), 'the call before in this lane'),
        button('Next', () => t.step(1), 'the next call in this lane'),
        button('Close', () => t.clear(), 'nothing selected'),
      ),
    ),
    element(
      'dl',
      {},
      row(
        'Took',
        format.time(calls.duration[i]),
        own !== calls.duration[i] ? `, ${format.time(own)} without the calls inside` : '',
      ),
      into.length ? waitedFor(data, into, i, app) : null,
      from.length ? waitedForBy(data, from, app) : null,
      long ? words : null,
      row('Began', `${format.moment(calls.start[i], 1, length)} into the recording`),
      row('Thread', plain(lane.name), lane.lost ? ` (${format.count(lane.lost)} calls of it are lost)` : ''),
      row('Process', plain(lane.process)),
      row('Line', siteOf(data, i) ?? 'not known'),
      long ? null : words,
      row('Ended', ENDS[calls.end[i]] ?? 'not known'),
      up >= 0
        ? row(
            'Inside',
            `${eventOf(data, up)}, ${format.time(calls.duration[up])} `,
            button('select', () => app.select(up), 'select the call around it'),
          )
        : null,
      left > 0
        ? row(
            'Meanwhile',
            `about ${several(left, 'call')} of this thread shorter than ` +
              `${format.time(facts.calls.shorter_than_ns)}, not in this file`,
          )
        : null,
      queue ? row('CPU', `the thread ${queueText(queue)}: some of the call's time may be that`) : null,
    ),
  );
}

const SUMMED_MOST = 400000;

/** Time by group of all lanes in a part of the run, and of some: { sums, own, calls, left (out, of them), about }. */
export function split(data, from, to, some = [], pyramidShares = null) {
  const { facts, calls, bins } = data,
    groups = facts.groups.length;
  const groupOf = facts.events.map((event) => event.group);
  const sums = new Float64Array(groups),
    own = some.map(() => new Float64Array(groups)),
    drawn = new Float64Array(groups),
    leftOut = new Float64Array(groups);
  let n = 0,
    left = 0;
  for (const lane of facts.lanes) {
    const end = lane.first + lane.calls,
      first = lowerBound(calls.start, from, lane.first, end);
    n += lowerBound(calls.start, to, first, end) - first + inProgress(calls, lane, from).length;
  }
  const about = n > SUMMED_MOST && pyramidShares;
  facts.lanes.forEach((lane, at) => {
    drawn.fill(0);
    leftOut.fill(0);
    left += addLeftOut(bins, at, facts.length, from, to, leftOut);
    if (!about || !pyramidShares(at, from, to, drawn)) addSelfTimes(calls, groupOf, lane, from, to, drawn);
    makeRoom(drawn, leftOut, to - from);
    for (let g = 0; g < groups; g++) {
      sums[g] += drawn[g] + leftOut[g];
      some.forEach((one, k) => {
        if (one === at) own[k][g] = drawn[g] + leftOut[g];
      });
    }
  });
  return { sums, own, calls: n, left: Math.round(left), about: Boolean(about) || left > 0 };
}

/** Lanes by their names, without the number of the thread where they are told apart without it. */
function headsOf({ facts }, some) {
  const names = some.map((at) => plain(facts.lanes[at].name)),
    short = names.map((name) => name.replace(/ \(tid \d+\)$/, ''));
  return new Set(short).size === names.length ? short : names;
}

/** The split as a table: of all lanes, and of some; or of one of them, and the share that all have. */
export function splitTable(data, { sums, own, about }, span, some, app, one = false) {
  const { facts } = data,
    all = span * facts.lanes.length;
  const head = one
    ? ['', ...headsOf(data, some), 'Share', 'Of all lanes']
    : ['', 'All lanes', 'Share', ...headsOf(data, some)];
  const cells = (ns, mine) =>
    one
      ? [format.time(mine[0]), format.percent(mine[0] / span), format.percent(ns / all)]
      : [format.time(ns), ...[ns / all, ...mine.map((of) => of / span)].map(format.percent)];
  const rows = facts.groups
    .map((name, g) => [name, name, sums[g], own.map((of) => of[g])])
    .filter(([, , ns]) => ns > 0)
    .sort((a, b) => b[2] - a[2]);
  const rest = (of, whole) => Math.max(0, whole - of.reduce((a, b) => a + b, 0));
  rows.push(['outside', termsOf(facts).outside, rest(sums, all), own.map((of) => rest(of, span))]);
  return element(
    'table',
    { class: 'tl-split' },
    element('caption', {}, `Time by what it was for${about ? ' (about)' : ''}`),
    element('thead', {}, element('tr', {}, ...head.map((text) => element('th', { scope: 'col' }, text)))),
    element(
      'tbody',
      {},
      rows.map(([group, name, ns, mine]) =>
        element(
          'tr',
          {},
          element('th', { scope: 'row' }, app.swatch(group), ` ${plain(name)}`),
          ...cells(ns, mine).map((text) => element('td', {}, text)),
        ),
      ),
    ),
  );
}

/** Who had no CPU in that time: the three with the most. */
function lacking(data, from, to) {
  const found = data.facts.lanes
    .map((lane, at) => [plain(lane.name), queuedIn(data.queues, at, from, to)])
    .filter(([, ns]) => ns >= (to - from) / 100)
    .sort((a, b) => b[1] - a[1]);
  if (!found.length) return null;
  const words = found.slice(0, 3).map(([name, ns]) => `${name} about ${format.time(ns)}`);
  const more = found.length > 3 ? ` and ${format.count(found.length - 3)} more lanes` : '';
  return element('p', {}, `Could run, and had no CPU: ${words.join(', ')}${more}.`);
}

/** some: the lanes whose shares are told. */
export function showRange(panel, data, [from, to], some, app, pyramidShares) {
  const { length } = data.facts;
  const found = split(data, from, to, some, pyramidShares);
  const command = partCommand(data, from, to);
  const text =
    `from ${format.moment(from, 1, length)} to ${format.moment(to, 1, length)}; ` +
    `${format.count(found.calls)} ${termsOf(data.facts).many}` +
    `${found.left ? ` and about ${several(found.left, 'shorter one')} not in this file` : ''}`;
  fill(
    panel,
    element(
      'header',
      {},
      element('h3', {}, `${format.time(to - from)} selected`),
      element(
        'p',
        { class: 'tl-buttons' },
        button('As wide as fits', () => app.timeline.show(from, to)),
        button('Close', () => app.timeline.clear(), 'nothing selected'),
      ),
    ),
    element(
      'div',
      { class: 'tl-range' },
      splitTable(data, found, to - from, some, app),
      element(
        'div',
        {},
        element('p', {}, text),
        lacking(data, from, to),
        element(
          'p',
          {},
          ...(command ? [`All ${termsOf(data.facts).many} of it: `, ...copyable(command, app).nodes] : [NOT_KEPT]),
        ),
      ),
    ),
  );
}

/** Where nothing was found. */
export function showNone(panel, data, text) {
  const { one, many } = termsOf(data.facts);
  fill(
    panel,
    element('p', {}, `No ${one} in this file is like that: ${plain(text)}`),
    element(
      'p',
      { class: 'muted' },
      `Only ${many} are looked for, and not what is between them: a click on that tells of it.`,
    ),
  );
}

/** What the pointer is over: lines of text. */
export function hints(data, lane, time, i) {
  const { facts, calls, bins } = data,
    lines = [];
  if (i >= 0) {
    lines.push(`${eventOf(data, i)}  ${format.time(calls.duration[i])}`);
    const site = siteOf(data, i),
      words = wordsOf(data, i);
    if (words) lines.push(words);
    if (site) lines.push(site);
    if (calls.end[i]) lines.push(ENDS[calls.end[i]]);
  }
  const k = leftOutAt(bins, lane, facts.length, time);
  if (k >= 0) {
    const { count, event } = bins.lanes[lane];
    lines.push(
      `${format.count(count[k])} calls shorter than ${format.time(facts.calls.shorter_than_ns)} here are not in this ` +
        'file, ' +
        `mostly ${plain(facts.events[event[k]]?.name)}`,
    );
  }
  if (!lines.length) lines.push('in no observed call');
  const queue = queueAt(data.queues, lane, time);
  if (queue) lines.push(queueText(queue));
  lines.push(`${plain(facts.lanes[lane].name)}, ${format.moment(time, Math.max(1, facts.length / 1e6), facts.length)}`);
  return lines;
}
