// SPDX-License-Identifier: BSD-2-Clause
// Who waited for whom, by the arrows: how long the call that one ends in waited, and what the late one did meanwhile.
import { plain } from './dom.js';
import * as format from './format.js';
import { gapAt, inProgress } from './timeline_calls.js';

/** The innermost call of a lane that an arrow ends in; -1: it is not in this file. */
const endsIn = ({ arrows, calls, facts }, k) =>
  inProgress(calls, facts.lanes[arrows.toLane[k]], arrows.toTime[k] - 0.5)[0] ?? -1;

/**
 * How long the call that an arrow ends in waited for who it comes from, ns: { of: the call, ns }. From its begin until
 * that one came: sent, arrived or let go. null: the call is not in this file.
 */
export function waitOf(data, k, of = endsIn(data, k)) {
  if (of < 0) return null;
  const { start, duration } = data.calls;
  return { of, ns: Math.max(0, Math.min(data.arrows.fromTime[k], start[of] + duration[of]) - start[of]) };
}

/** What an arrow tells of a wait: `into` is the call that is told of if the arrow ends in it, else -1. */
export function waitText(data, k, into = -1) {
  const { arrows, calls, facts } = data;
  const kind = plain(arrows.kinds[arrows.kind[k]] ?? 'arrow');
  const lane = (at) => plain(facts.lanes[at]?.name);
  if (into >= 0) {
    const { ns } = waitOf(data, k, into),
      rest = calls.duration[into] - ns;
    if (ns === 0) return `did not wait for ${lane(arrows.fromLane[k])} (${kind}), who came before it began`;
    const text = `waited ${format.time(ns)} for ${lane(arrows.fromLane[k])} (${kind})`;
    return rest > ns ? `${text}: most of the call, ${format.time(rest)}, is not this wait` : text;
  }
  const wait = waitOf(data, k),
    who = lane(arrows.toLane[k]);
  if (wait?.ns === 0) return `${who} did not wait (${kind}): it came later`;
  return wait ? `${who} waited ${format.time(wait.ns)} (${kind})` : `${who} (${kind}; its call is not in this file)`;
}

const GAPS_MOST = 1000; // that are looked at, from the end of a wait backwards

/**
 * Where the late one was while a call waited for it, if that was in no call for half of the wait and more: the longest
 * of its gaps then. null: it was in calls, or nobody waited.
 */
export function lateIn(data, k, of = endsIn(data, k)) {
  const { arrows, calls } = data,
    at = arrows.fromTime[k];
  const wait = waitOf(data, k, of);
  if (!wait?.ns) return null;
  const begin = calls.start[of];
  let longest = null,
    most = 0,
    outside = 0;
  for (let n = 0, time = at - 0.5; n < GAPS_MOST && time > begin; n++) {
    const gap = gapAt(data, arrows.fromLane[k], time);
    if (n === 0 && (gap.after < 0 || Math.abs(gap.to - at) > 1)) return null; // it was late in a call
    const ns = Math.min(gap.to, at) - Math.max(gap.from, begin);
    outside += Math.max(0, ns);
    if (ns > most) [longest, most] = [gap, ns];
    if (gap.before < 0 && gap.inside < 0) break;
    time = calls.start[gap.before >= 0 ? gap.before : gap.inside] - 0.5;
  }
  return 2 * outside >= wait.ns ? longest : null;
}

/**
 * Who waited for a lane while it was in a gap: { k: the arrow, ns: how long of it, whole: the wait }, the longest first.
 * Who wants a lock waits for its holder: of such a wait only what is right before it is let go is known to be held.
 */
export function waitersOf(data, { lane, from, to }) {
  const { arrows, calls } = data,
    found = [];
  for (let k = 0; k < (arrows?.n ?? 0); k++) {
    if (arrows.fromLane[k] !== lane || arrows.fromTime[k] <= from) continue;
    if (Math.abs(arrows.fromTime[k] - to) > 1 && /lock/.test(arrows.kinds[arrows.kind[k]])) continue;
    const wait = waitOf(data, k);
    if (!wait?.ns) continue;
    const begin = calls.start[wait.of];
    const ns = Math.min(to, begin + wait.ns) - Math.max(from, begin);
    if (ns > 0) found.push({ k, ns, whole: wait.ns });
  }
  return found.sort((a, b) => b.ns - a.ns);
}

/** 85.77 of 89.68 ms; 85.77 ms, where it is all of it. */
export function ofWhole(ns, whole) {
  const [one, all] = [ns, whole].map(format.time);
  const [figure, unit] = one.split(' ');
  if (one === all) return one;
  return all.endsWith(` ${unit}`) ? `${figure} of ${all}` : `${one} of ${all}`;
}

/** Of one of waitersOf(): rank 1 waited 85.77 of 89.68 ms meanwhile (the root comes) */
export function meanwhile({ arrows, facts }, { k, ns, whole }) {
  const kind = plain(arrows.kinds[arrows.kind[k]] ?? 'arrow');
  return `${plain(facts.lanes[arrows.toLane[k]]?.name)} waited ${ofWhole(ns, whole)} (${kind})`;
}

/** How long the call that begins at a time of a lane waited for some lanes, the longest; null: it is not in this file. */
export function waitFrom(data, lane, begin, lanes) {
  const { arrows, calls, facts } = data;
  if (!arrows || !calls || !facts.lanes[lane]) return null;
  let most = null;
  for (let k = 0; k < arrows.n; k++) {
    if (arrows.toLane[k] !== lane || arrows.toTime[k] < begin || !lanes.includes(arrows.fromLane[k])) continue;
    const wait = waitOf(data, k);
    if (wait && Math.abs(calls.start[wait.of] - begin) <= 1) most = Math.max(most ?? 0, wait.ns);
  }
  return most;
}
