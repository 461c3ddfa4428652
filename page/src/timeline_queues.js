// SPDX-License-Identifier: BSD-2-Clause
// Lack of a CPU on the lanes: the intervals in which a thread could run and waited in a run queue for a hundredth of
// the time and more, of the report's scheduling.intervals. Within one it is not known when.
import * as format from './format.js';
import { lowerBound } from './timeline_calls.js';

const HIGH = 4; // CSS pixels, in the gap below a lane

/** By lane: { from, to, queued } columns by time, null where the thread had none; all: whether anybody looked. */
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
  return { lanes, any: lanes.some(Boolean), until: until == null ? null : until - facts.start_ns };
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

/** About how long a lane had no CPU in a time: intervals count by how far they reach into it. */
export function queuedIn(queues, lane, from, to) {
  const of = queues?.lanes[lane];
  let ns = 0;
  for (let k = of ? after(of, from) : 0; of && k < of.from.length && of.from[k] < to; k++)
    ns += (Math.min(to, of.to[k]) - Math.max(from, of.from[k])) * shareOf(of, k);
  return ns;
}

export const queueText = ({ ns, of, share }) =>
  `had no CPU for ${format.time(ns)} of ${format.time(of)} here (${format.percent(share)})`;

/** A bar below the lane where it was so, the stronger the more of the time. */
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
      context.fillRect(left, bottom - high, Math.max(1, right - left), high);
    }
  }
  context.globalAlpha = 1;
}
