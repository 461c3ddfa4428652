// SPDX-License-Identifier: BSD-2-Clause
// What the timeline reckons and paints, without a browser: against the simplest way to do the same. `node numbers.mjs`
// ends with 0 if all is right; test_page_browser.py runs it.
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { Bytes, makeJob } from '../../page/dev/sample.mjs';
import { loadFirst, loadRest } from '../../page/src/data.js';
import * as figures from '../../page/src/figures.js';
import * as format from '../../page/src/format.js';
import { addLeftOut, addSelfTimes, gapAt, inProgress, ownTime } from '../../page/src/timeline_calls.js';
import { laneAt, layOut } from '../../page/src/timeline_layout.js';
import { drawRuler } from '../../page/src/timeline_overlay.js';
import { isFine, paintLane, paintOverview, rectangle, shift } from '../../page/src/timeline_paint.js';
import { cpuWords } from '../../page/src/timeline_gap.js';
import { partCommand, split } from '../../page/src/timeline_panel.js';
import { shortNames } from '../../page/src/timeline_picture.js';
import { addShares, levelFor, makePyramid, OVERVIEW_PARTS } from '../../page/src/timeline_pyramid.js';
import { queueLegend, queuesOf } from '../../page/src/timeline_queues.js';
import { find, parse } from '../../page/src/timeline_search.js';
import { lateIn, meanwhile, waitersOf, waitFrom, waitOf, waitText } from '../../page/src/timeline_waits.js';

async function load(job) {
  const text = (value) => Buffer.from(JSON.stringify(value));
  const blocks = {
    facts: text(job.facts),
    report: text(job.report),
    calls: job.calls,
    bins: job.bins,
    arrows: job.arrows,
    path: text(job.path),
  };
  globalThis.document = {
    getElementById(id) {
      const bytes = blocks[id.replace('gaspbpf-', '')];
      return bytes && { textContent: gzipSync(bytes).toString('base64'), remove() {} };
    },
  };
  return loadRest(await loadFirst());
}

const job = makeJob({ lanes: 4, calls: 20000, leftOut: 9000 });
const data = await load(job);
const { facts, calls, bins } = data,
  groups = facts.groups.length;
const groupOf = Uint8Array.from(facts.events, (event) => event.group);
const near = (a, b, by = 1e-6) =>
  assert.ok(Math.abs(a - b) <= by * Math.max(1, Math.abs(a), Math.abs(b)), `${a} is not ${b}`);
const end = (i) => calls.start[i] + calls.duration[i];
const all = (lane) => Array.from({ length: lane.calls }, (_, k) => lane.first + k);

// Numbers of any length come back as they were; calls nest.
assert.equal(calls.n, facts.calls.drawn);
assert.equal(calls.start[job.planted.index], job.planted.start);
assert.equal(calls.duration[job.planted.index], job.planted.duration);
for (let i = 0; i < calls.n; i++) {
  const up = calls.parent[i];
  assert.equal(up >= 0, calls.level[i] > 0);
  if (up >= 0)
    assert.ok(calls.start[up] <= calls.start[i] && end(i) <= end(up) && calls.level[up] === calls.level[i] - 1);
}

// Numbers of any length, up to what a number can be.
{
  const long = [0, 127, 128, 2 ** 28 - 1, 2 ** 28, 2 ** 32 + 5, 2 ** 45 + 3, 2 ** 53 - 1];
  const columns = Array.from({ length: 7 }, () => new Bytes()),
    bytes = new Bytes();
  for (const number of long) {
    columns[0].varint(0);
    columns[1].varint(number);
    for (const k of [2, 6]) columns[k].u8(0);
    for (const k of [3, 4, 5]) columns[k].varint(0);
  }
  columns.forEach((column) => bytes.column(column));
  const lanes = [{ ...job.facts.lanes[0], calls: long.length, first: 0 }],
    none = new Bytes();
  none.u32(0);
  none.varint(0);
  const some = { ...job, facts: { ...job.facts, lanes }, calls: bytes.done(), bins: none.done() };
  assert.deepEqual([...(await load(some)).calls.duration], long);
  for (const cut of [1, 20, 40])
    await assert.rejects(load({ ...some, calls: some.calls.subarray(0, some.calls.length - cut) }), /damaged/);
}

// Calls in progress, and whose time it is.
for (const lane of facts.lanes)
  for (let k = 0; k < 50; k++) {
    const time = (facts.length * k) / 50 + 0.5;
    const open = all(lane).filter((i) => calls.start[i] < time && end(i) > time);
    assert.deepEqual(inProgress(calls, lane, time), open.reverse());
  }
for (const [from, to] of [
  [0, facts.length],
  [facts.length * 0.3, facts.length * 0.31],
  [1234567.5, 1234999],
])
  for (const lane of facts.lanes) {
    const sums = new Float64Array(groups),
      expected = new Float64Array(groups);
    addSelfTimes(calls, groupOf, lane, from, to, sums);
    const cuts = [from, to, ...all(lane).flatMap((i) => [calls.start[i], end(i)])]
      .filter((time) => time >= from && time <= to)
      .sort((a, b) => a - b);
    for (let k = 0; k + 1 < cuts.length && cuts.length < 4000; k++) {
      const [inner] = inProgress(calls, lane, (cuts[k] + cuts[k + 1]) / 2);
      if (inner !== undefined) expected[groupOf[calls.event[inner]]] += cuts[k + 1] - cuts[k];
    }
    if (cuts.length < 4000) sums.forEach((ns, g) => near(ns, expected[g]));
  }
const parentOfSome = calls.parent.find((up) => up >= 0);
near(
  ownTime(calls, facts.lanes[0], parentOfSome),
  calls.duration[parentOfSome] -
    all(facts.lanes[0])
      .filter((i) => calls.parent[i] === parentOfSome)
      .reduce((sum, i) => sum + calls.duration[i], 0),
);

// What is between calls: from the last end before to the next begin, of calls with the same one around them.
for (const lane of facts.lanes)
  for (let k = 0; k < 200; k++) {
    const time = (facts.length * (k + 0.37)) / 200;
    const gap = gapAt(data, facts.lanes.indexOf(lane), time);
    const [around = -1] = inProgress(calls, lane, time);
    const like = all(lane).filter((i) => calls.parent[i] === around);
    const before = like.filter((i) => end(i) <= time).pop() ?? -1;
    const after = like.find((i) => calls.start[i] >= time) ?? -1;
    assert.deepEqual([gap.inside, gap.before, gap.after], [around, before, after]);
    assert.equal(gap.from, before >= 0 ? end(before) : around >= 0 ? calls.start[around] : 0);
    assert.equal(gap.to, after >= 0 ? calls.start[after] : around >= 0 ? end(around) : facts.length);
    assert.ok(gap.from <= time && time <= gap.to);
  }

// Whether a thread ran in a time: of an interval the mean, of all its time a bound; else it is not known.
{
  const at = { ...facts, lanes: [{ ...facts.lanes[0], thread: 0 }] };
  const words = (of, intervals, until, from, to) => {
    const some = { facts: at, report: { threads: [{ pid: 1, tid: 2, ...of }] } };
    const scheduling = { looked_until_ns: until, intervals: intervals.map((one) => ({ pid: 1, tid: 2, ...one })) };
    some.queues = queuesOf({ facts: at, report: { ...some.report, scheduling } });
    return cpuWords(some, 0, from, to);
  };
  const since = (ns) => facts.start_ns + ns;
  const interval = { from_ns: since(1e6), to_ns: since(2e6), run_queue_ns: 4e5 };
  assert.equal(words({}, [], null, 0, 1e6), null);
  const lacked = (how) => `could run, and had no CPU, for ${how} of it`;
  assert.equal(words({}, [interval], since(9e6), 15e5, 25e5), null, 'of half of it nothing is known');
  assert.equal(words({}, [interval], since(9e6), 12e5, 17e5), lacked('at most 400.0 us'));
  assert.equal(words({}, [interval], since(9e6), 11e5, 2e6), lacked('300.0 us to 400.0 us'));
  assert.equal(words({}, [interval], since(9e6), 11e5, 25e5), lacked('at least 300.0 us'));
  assert.equal(words({}, [interval], since(9e6), 12e5, 15e5), null, 'all or nothing of it');
  assert.equal(words({}, [interval], since(9e6), 3e6, 4e6), 'not without a CPU for a hundredth of the time and more');
  assert.equal(words({}, [interval], since(35e5), 3e6, 4e6), null);
  assert.equal(words({ cpu_ns: 9e6, observed_ns: 1e7 }, [], null, 0, 4e6), 'ran for at least 3.000 ms of it');
  assert.equal(words({ cpu_ns: 5e6, observed_ns: 1e7 }, [], null, 0, 4e6), null);
  assert.match(
    queueLegend(queuesOf({ facts: at, report: { scheduling: { intervals: [interval] } } })),
    /the mean of about 1 ms$/,
  );
}

// The last time on the ruler stands before its line where it would not fit behind it.
{
  const told = [];
  const context = { fillRect() {}, measureText: (text) => ({ width: text.length * 7 }) };
  context.fillText = (text, x) => told.push([text, x, x + text.length * 7]);
  drawRuler(context, { from: 0, step: 5e9 / 100, ratio: 1, width: 1010, length: 5.05e10 }, {}, 1010, 20);
  assert.ok(told.length > 3 && told.every(([, from, to]) => from >= 0 && to <= 1010), JSON.stringify(told));
  assert.equal(told[told.length - 1][0], '50 s');
}

// A column of the strip above has the parts by how far they reach into it: two thirds of the first one.
{
  const pixels = new Uint32Array(2 * 90);
  const scene = { pixels, width: 2, height: 90, shown: [1], groupColours: Uint32Array.of(7) };
  paintOverview(scene, { drawn: Float64Array.of(1, 0, 0), left: new Float64Array(3) }, 1);
  const high = [0, 1].map((x) => pixels.filter((colour, at) => at % 2 === x && colour === 7).length);
  assert.deepEqual(high, [60, 0]);
}

// Left-out calls: all of the run is the sum of its parts.
const whole = new Float64Array(groups),
  parts = new Float64Array(groups);
const count = addLeftOut(bins, 1, facts.length, 0, facts.length, whole);
let sum = 0;
for (let k = 0; k < 7; k++)
  sum += addLeftOut(bins, 1, facts.length, (facts.length * k) / 7, (facts.length * (k + 1)) / 7, parts);
near(count, sum);
near(
  count,
  bins.lanes[1].count.reduce((a, b) => a + b, 0),
);
whole.forEach((ns, g) => near(ns, parts[g]));

// A selected time is split once: left-out calls are in drawn ones, or beside them.
{
  const { sums, calls: n } = split(data, job.planted.start, job.planted.start + job.planted.duration);
  const ns = sums.reduce((a, b) => a + b, 0);
  assert.ok(n > 0 && ns > job.planted.duration && ns <= job.planted.duration * facts.lanes.length * 1.0001);
}

// Of each of some lanes the same as of all.
{
  const [from, to] = [facts.length * 0.4, facts.length * 0.5],
    { sums, own } = split(data, from, to, [0, 1, 2, 3]);
  assert.equal(own.length, 4);
  sums.forEach((ns, g) =>
    near(
      ns,
      own.reduce((total, of) => total + of[g], 0),
    ),
  );
}

// A wait is from the begin of its call until the other one comes: of 500 ns, of less than half of the call, or of none.
{
  const lanes = [0, 1].map((at) => ({ ...facts.lanes[at], name: `rank ${at}`, first: at, calls: 1 }));
  const two = {
    facts: { ...facts, lanes },
    calls: { start: [900, 400], duration: [40, 520], parent: [-1, -1] },
    arrows: { fromLane: [0, 0], fromTime: [900, 410], toLane: [1, 1], toTime: [900, 420] },
  };
  Object.assign(two.arrows, { kind: [0, 0], kinds: ['message'] });
  assert.deepEqual(waitOf(two, 0), { of: 1, ns: 500 });
  assert.equal(waitText(two, 0, 1), 'waited 500 ns for rank 0 (message)');
  assert.equal(waitText(two, 0), 'rank 1 waited 500 ns (message)');
  assert.match(waitText(two, 1, 1), /^waited 10 ns for rank 0 .*: most of the call, 510 ns, is not this wait$/);
  two.arrows.fromTime[1] = 390;
  assert.equal(waitText(two, 1, 1), 'did not wait for rank 0 (message), who came before it began');
  assert.equal(waitText(two, 1), 'rank 1 did not wait (message): it came later');
  // Meanwhile the late one was in no call from 0 to 900; a lock is let go of at 900, and held since nobody knows when.
  two.arrows.fromTime[1] = 410;
  two.arrows.n = 2;
  assert.deepEqual([lateIn(two, 0).from, lateIn(two, 0).to, lateIn(two, 1)], [0, 900, null]);
  const waiters = (gap) => waitersOf(two, { lane: 0, ...gap });
  assert.deepEqual(waiters({ from: 0, to: 900 })[0], { k: 0, ns: 500, whole: 500 });
  assert.equal(meanwhile(two, waiters({ from: 0, to: 650 })[0]), 'rank 1 waited 250 of 500 ns (message)');
  two.arrows.kinds = ['lock is handed over'];
  assert.deepEqual(waiters({ from: 0, to: 650 }), []);
  two.arrows.kinds = ['message'];
  assert.equal(waitFrom(two, 1, 400, [0]), 500);
  assert.equal(waitFrom(two, 1, 300, [0]), null);
  two.arrows.fromTime[1] = 390;
  two.arrows.toTime[0] = 950;
  assert.match(waitText(two, 0), /not in this file/);
}

// The pyramid: at each level the shares are those of the calls, but for rounding.
const pyramid = await makePyramid(data);
for (const at of [0, 1]) {
  const sums = new Float64Array(groups);
  addSelfTimes(calls, groupOf, facts.lanes[at], 0, facts.length, sums);
  const { drawn } = pyramid.lanes[at],
    top = drawn[drawn.length - 1];
  assert.equal(top.length, groups);
  sums.forEach((ns, g) =>
    assert.ok(Math.abs(top[g] - (ns / facts.length) * 255) <= 12, `${facts.groups[g]}: ${top[g]}`),
  );
  const [from, to] = [job.planted.start + 1e6, job.planted.start + 2e6],
    shares = new Float64Array(groups);
  addShares(drawn[levelFor(drawn, pyramid.parts, facts.length, to - from)], groups, facts.length, from, to, shares);
  if (at === job.planted.lane) assert.equal(Math.round(shares[facts.groups.indexOf('lock')]), 255);
}
const means = new Float64Array(groups),
  exact = new Float64Array(groups);
for (let part = 0; part < OVERVIEW_PARTS; part++)
  for (let g = 0; g < groups; g++) means[g] += pyramid.overview.drawn[part * groups + g] / OVERVIEW_PARTS;
for (const lane of facts.lanes) addSelfTimes(calls, groupOf, lane, 0, facts.length, exact);
means.forEach((share, g) => near(share * facts.length * facts.lanes.length, exact[g], 1e-9));

// Painting: what is moved and painted at its edge, is what would be painted anew; and bars are where calls are.
const width = 500,
  height = 60,
  colours = Uint32Array.from(facts.groups, (_, g) => 0xff000000 + g + 1);
function sceneAt(column, step, pixels = new Uint32Array(width * height)) {
  return {
    pixels,
    width,
    height,
    left: 0,
    right: width,
    column,
    step,
    from: column * step,
    phase: (column % 4) + 4,
    calls,
    bins,
    pyramid,
    length: facts.length,
    groupOf,
    shown: new Uint8Array(groups).fill(1),
    groupColours: colours,
    eventColours: Uint32Array.from(facts.events, ({ group }) => colours[group]),
    edge: 0xffffffff,
  };
}
const place = { y: 2, rows: 3, rowHeight: 15, strip: 11, gap: 1 };
function paint(scene, at, fine) {
  rectangle(scene, 0, 0, width, height, 7);
  paintLane(scene, facts.lanes[at], at, place, fine);
}
for (const step of [40000, 5000, 700, 50])
  for (const by of [1, -1, 17, -130, 499]) {
    const column = Math.round(job.planted.start / step) - 300,
      fine = isFine(sceneAt(column, step), facts.lanes[1], 1);
    const moved = sceneAt(column, step),
      fresh = sceneAt(column + by, step);
    paint(moved, 1, fine);
    const scene = sceneAt(column + by, step, moved.pixels);
    [scene.left, scene.right] = shift(scene, by);
    paint(scene, 1, fine);
    paint(fresh, 1, fine);
    // Calls closer than pixels: which of them is seen may depend on where painting began, how many are not.
    const differ = fresh.pixels.reduce((n, pixel, i) => n + (pixel !== moved.pixels[i]), 0);
    assert.ok(
      differ <= (step >= 700 && fine ? width / 2 : 0),
      `${differ} pixels differ at ${step} ns a pixel, moved by ${by}`,
    );
  }
{
  const scene = sceneAt(Math.round(job.planted.start / 20000) - 50, 20000);
  paint(scene, 1, true);
  const x = Math.round((job.planted.start - scene.from) / scene.step),
    wide = Math.round(job.planted.duration / scene.step);
  const lock = colours[facts.groups.indexOf('lock')];
  for (const k of [1, wide >> 1, wide - 2]) assert.equal(scene.pixels[(place.y + 5) * width + x + k], lock);
  assert.notEqual(scene.pixels[(place.y + 5) * width + x - 2], lock);
  scene.shown[facts.groups.indexOf('lock')] = 0;
  paint(scene, 1, true);
  assert.equal(scene.pixels[(place.y + 5) * width + x + (wide >> 1)], 7);
}

// A long call that begins in the same pixel as many short ones is a bar, in a picture of few calls and of many.
for (const short of [20, 3000]) {
  const n = short + 1,
    step = 10000,
    column = 3;
  const some = {
    n,
    start: Float64Array.from({ length: n }, (_, i) => column * step + i * 3),
    duration: Float64Array.from({ length: n }, (_, i) => (i === short ? 200 * step : 2)),
    event: new Uint16Array(n),
    end: new Uint8Array(n),
    level: new Uint8Array(n),
    parent: new Int32Array(n).fill(-1),
  };
  const scene = Object.assign(sceneAt(0, step), { calls: some, bins: null, pyramid: null });
  paintLane(scene, { first: 0, calls: n }, 0, { ...place, strip: 0 }, true);
  for (const x of [column + 2, column + 100, column + 190])
    assert.equal(scene.pixels[(place.y + 5) * width + x], scene.eventColours[0], `${short} short calls before it`);
}

// Where lanes are.
const layout = layOut(data, [3, 3, 3, 3], false);
layout.lanes.forEach((one, at) => assert.equal(laneAt(layout, one.y + one.height / 2), at));
assert.equal(laneAt(layout, layout.height + 10), -1);

// Searching.
assert.deepEqual(parse('"a b" >1.5ms open c'), {
  words: ['a b', 'c'],
  least: 1.5e6,
  most: Infinity,
  open: true,
  longest: false,
});
const found = async (text) => [...(await find(data, text)).indices];
assert.equal((await found('mutex')).length, job.counts.C_MUTEX_LOCK);
assert.deepEqual((await found('longest mutex')).slice(0, 1), [job.planted.index]);
assert.deepEqual(await found('>5ms lock worker-1'), [job.planted.index]);
assert.equal((await found('open')).length, 1);
const [wanted] = await found('"peer=5 bytes=256 tag=5"');
assert.equal(facts.words[calls.word[wanted]], 'peer=5 bytes=256 tag=5');
// Words that name a thread or process together: its calls and no others, even if others have a 1 somewhere.
{
  const { lanes } = facts;
  const laneOf = (i) => lanes.findIndex((lane) => i < lane.first + lane.calls);
  const of = async (text) => [...new Set((await found(text)).map(laneOf))];
  const named = lanes.map(({ name }) => name.replace(/ \(.*/, ''));
  assert.equal(new Set(named).size, 4);
  for (const [at, name] of named.entries()) {
    assert.deepEqual(await of(`${name} >0ns`), [at], name);
    assert.deepEqual(await of(`${name} 1`), [at], name);
  }
  const ten = { ...data, facts: { ...facts, lanes: lanes.map((lane, at) => ({ ...lane, name: `lane ${at * 10}` })) } };
  assert.equal((await find(ten, 'lane 10')).all, lanes[1].calls);
}
// All that there are are counted, even where only the longest of them are sorted.
{
  const n = 150000;
  const many = {
    facts: { ...facts, lanes: [{ ...facts.lanes[0], first: 0, calls: n }] },
    calls: { start: Float64Array.from(new Array(n).keys()), duration: Float64Array.from(new Array(n).keys()) },
  };
  for (const key of ['event', 'site', 'word', 'end']) many.calls[key] = new Uint8Array(n);
  const { all: counted, indices } = await find(many, 'longest');
  assert.equal(counted, n);
  assert.equal(indices[0], n - 1);
}
const durations = (await found('longest')).map((i) => calls.duration[i]);
assert.deepEqual(
  durations,
  [...durations].sort((a, b) => b - a),
);

// Figures, and the command for a part.
assert.equal(format.time(1234567), '1.235 ms');
assert.equal(format.time(999999), '1.000 ms');
assert.equal(format.moment(1500, 100, 2e3), '1.5 us');
for (const ns of [0, 1, 999, 1000, 23456, 952412, 3.4e9]) assert.equal(format.time(ns), figures.time(ns));
assert.deepEqual(shortNames(['GASP_A', 'GASP_B_C']), ['A', 'B_C']);
assert.deepEqual(shortNames(['GASP_A', 'work']), ['GASP_A', 'work']);
assert.equal(format.time(0), '0 ns');
assert.equal(format.moment(12345678901, 1000, 2e10), '12.345\u2009679 s');
assert.equal(format.moment(1500000, 1e5, 2e6), '1.5 ms');
assert.equal(format.option(1500000000), '1500ms');
assert.equal(format.option(1234567), '1234567ns');
assert.equal(
  partCommand(data, 1500.5, 2e6, 1),
  'gaspbpf export sample.gasp --from 1500ns --to 2ms --ranks 0 -o part.html',
);
assert.ok(
  partCommand({ facts: { ...facts, recording: "a'; rm -rf b.gasp" } }, 0, 1).includes("'a'\\''; rm -rf b.gasp'"),
);
assert.equal(partCommand({ facts: { ...facts, recording: null } }, 0, 1), null);
process.exit(0);
