// SPDX-License-Identifier: BSD-2-Clause
// Lack of a CPU on the lanes: the intervals in which a thread could run and waited in a run queue for a hundredth of
// the time and more, of the report's scheduling.intervals. Within one it is not known when.
import { short } from './figures.js';
import * as format from './format.js';
import { lowerBound } from './timeline_calls.js';

const HIGH = 4; // CSS pixels, in the gap below a lane

/**
 * By lane: { from, to, queued } columns by time, null where the thread had none; until when anybody looked, null:
 * nobody did; width: how long most of the intervals are.
 */
export function queuesOf({ facts, report }) {
  const { intervals = [], looked_until_ns: until } = report?.scheduling ?? {};
  const byThread = new Map();
  for (const one of intervals) {
    const key = `${one.pid}/${one.tid}`;
    if (!byThread.has(key)) byThread.set(key, []);
    byThread.get(key).push(one);
  }
  const lanes = facts.lanes.map(({ thread, lane }) => {
    const of = report?.threads?.[thread];
    const found = lane ? null : byThread.get(`${of?.pid}/${of?.tid}`);
    if (!found) return null;
    found.sort((a, b) => a.from_ns - b.from_ns);
    const column = (value) => Float64Array.from(found, value);
    return {
      from: column((one) => one.from_ns - facts.start_ns),
      to: column((one) => one.to_ns - facts.start_ns),
      queued: column((one) => one.run_queue_ns),
    };
  });
  const widths = intervals.map((one) => one.to_ns - one.from_ns).sort((a, b) => a - b);
  return {
    lanes,
    any: lanes.some(Boolean),
    until: until == null ? null : until - facts.start_ns,
    width: widths[widths.length >> 1] ?? null,
  };
}

/** The first of them that ends behind a time. */
const after = (of, time) => lowerBound(of.to, time + 1e-6, 0, of.to.length);

const shareOf = (of, k) => Math.min(1, of.queued[k] / Math.max(1, of.to[k] - of.from[k]));

/** The one at a time: { ns, of (how long the interval is), share }; null: it had a CPU, or nobody looked. */
export function queueAt(queues, lane, time) {
  const of = queues?.lanes[lane];
  if (!of) return null;
  const k = after(of, time);
  if (!(of.from[k] <= time)) return null;
  return { ns: of.queued[k], of: of.to[k] - of.from[k], share: shareOf(of, k) };
}

/** Of a time of a lane: about how long it had no CPU, by how far intervals reach into it. */
export function queuedIn(queues, lane, from, to) {
  const of = queues?.lanes[lane];
  let queued = 0;
  for (let k = of ? after(of, from) : 0; of && k < of.from.length && of.from[k] < to; k++) {
    const ns = Math.min(to, of.to[k]) - Math.max(from, of.from[k]);
    queued += ns * shareOf(of, k);
  }
  return queued;
}

/**
 * How long a lane had no CPU in a time, at least and at most: what an interval has may all lie outside, or inside. seen:
 * how much of the time the intervals are of; of the rest only the first is known.
 */
export function boundsIn(queues, lane, from, to) {
  const of = queues?.lanes[lane];
  let least = 0,
    most = 0,
    seen = 0;
  for (let k = of ? after(of, from) : 0; of && k < of.from.length && of.from[k] < to; k++) {
    const whole = of.to[k] - of.from[k],
      ns = Math.min(to, of.to[k]) - Math.max(from, of.from[k]);
    const queued = Math.min(of.queued[k], whole);
    least += Math.max(0, queued - (whole - ns));
    most += Math.min(queued, ns);
    seen += ns;
  }
  return { least, most, seen };
}

export const queueText = ({ ns, of, share }) =>
  `had no CPU for ${format.time(ns)} of ${format.time(of)} around here (a mean: ${format.percent(share)})`;

/** What the bars mean, in the legend. */
export const queueLegend = ({ width }) =>
  ' below a lane: could run, and had no CPU; a bar is the mean of ' +
  `${width ? `about ${short(format.time(Number(width.toPrecision(2))))}` : 'a while'}`;

/** A bar below the lane for each interval in which it was so, the stronger the more of it. */
export function paintQueues(context, scene, queues, first, end, colour) {
  const to = scene.from + scene.width * scene.step;
  const xOf = (time) => (time - scene.from) / scene.step / scene.ratio;
  context.fillStyle = colour;
  for (let at = first; at < end; at++) {
    const of = queues.lanes[at],
      place = scene.layout.lanes[at];
    if (!of) continue;
    const high = scene.layout.compact ? 2 : HIGH;
    const bottom =
      place.y + place.rows * place.rowHeight + place.strip - 1 + (scene.layout.compact ? 1 : high) - scene.top;
    for (let k = after(of, scene.from); k < of.from.length && of.from[k] < to; k++) {
      const left = Math.max(0, xOf(of.from[k])),
        right = Math.min(scene.width / scene.ratio, xOf(of.to[k]));
      context.globalAlpha = 0.3 + 0.7 * shareOf(of, k);
      // Each stands apart from the next: it is a mean, and no course of what was.
      context.fillRect(left, bottom - high, Math.max(1, right - left - (right - left > 4 ? 1 : 0)), high);
    }
  }
  context.globalAlpha = 1;
}
