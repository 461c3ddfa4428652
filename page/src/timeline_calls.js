// SPDX-License-Identifier: BSD-2-Clause
// Looking things up in the calls: columns of numbers, by lane sorted by start, a call before those inside of it.

/** The first index in [from, to) whose value is `least` or more. */
export function lowerBound(values, least, from, to) {
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (values[middle] < least) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Calls of a lane that begin in [from, to): their indices. */
export function begunIn(calls, lane, from, to) {
  const end = lane.first + lane.calls;
  const first = lowerBound(calls.start, from, lane.first, end);
  return [first, lowerBound(calls.start, to, first, end)];
}

/**
 * The calls that began before a time and had not returned then, innermost first. They nest: so they are the last one
 * that began before, or around that one.
 */
export function inProgress(calls, lane, time) {
  const found = [];
  let at = lowerBound(calls.start, time, lane.first, lane.first + lane.calls) - 1;
  for (; at >= lane.first; at = calls.parent[at]) if (calls.start[at] + calls.duration[at] > time) found.push(at);
  return found;
}

/**
 * Time in [from, to) by group, of a lane, added to sums: each call's own, without the calls inside. A call's time is
 * added to its group, and taken from that of the call around it.
 */
export function addSelfTimes(calls, groupOf, lane, from, to, sums) {
  const add = (i) => {
    const ns = Math.min(calls.start[i] + calls.duration[i], to) - Math.max(calls.start[i], from);
    if (!(ns > 0)) return;
    sums[groupOf[calls.event[i]]] += ns;
    if (calls.parent[i] >= 0) sums[groupOf[calls.event[calls.parent[i]]]] -= ns;
  };
  const [first, end] = begunIn(calls, lane, from, to);
  inProgress(calls, lane, from).forEach(add);
  for (let i = first; i < end; i++) add(i);
  return end - first;
}

/** The time of left-out calls in [from, to) of a lane, by group, added to sums. Returns how many there are, about. */
export function addLeftOut(bins, lane, length, from, to, sums) {
  if (!bins) return 0;
  const { bin, count, share } = bins.lanes[lane],
    groups = sums.length,
    width = length / bins.nbins;
  let calls = 0;
  for (let k = lowerBound(bin, Math.floor(from / width), 0, bin.length); k < bin.length && bin[k] * width < to; k++) {
    const ns = Math.min((bin[k] + 1) * width, to) - Math.max(bin[k] * width, from);
    if (!(ns > 0)) continue;
    calls += (count[k] * ns) / width;
    for (let g = 0; g < groups; g++) sums[g] += (share[k * groups + g] / 255) * ns;
  }
  return calls;
}

/** The index of what is left out of a lane at a time; -1: nothing. */
export function leftOutAt(bins, lane, length, time) {
  if (!bins) return -1;
  const { bin } = bins.lanes[lane],
    wanted = Math.floor((time / length) * bins.nbins);
  const k = lowerBound(bin, wanted, 0, bin.length);
  return bin[k] === wanted ? k : -1;
}

/** Time in a call without the calls inside of it that are in the file. */
export function ownTime(calls, lane, i) {
  let ns = calls.duration[i];
  for (let k = i + 1, end = lane.first + lane.calls; k < end && calls.level[k] > calls.level[i]; k++)
    if (calls.parent[k] === i) ns -= calls.duration[k];
  return Math.max(0, ns);
}

/**
 * The gap of a lane at a time: { lane, from, to, inside, before, after }, the last three calls, or -1. Of a call it is
 * what lies between the calls inside of it.
 */
export function gapAt({ facts, calls }, lane, time) {
  const of = facts.lanes[lane],
    end = of.first + of.calls;
  const [inside = -1] = inProgress(calls, of, time);
  const next = lowerBound(calls.start, time, of.first, end);
  const until = inside < 0 ? facts.length : calls.start[inside] + calls.duration[inside];
  let before = next > of.first ? next - 1 : -1;
  while (before >= 0 && before !== inside && calls.parent[before] !== inside) before = calls.parent[before];
  if (before === inside) before = -1;
  const after = next < end && calls.start[next] < until ? next : -1;
  return {
    lane,
    inside,
    before,
    after,
    from: before >= 0 ? calls.start[before] + calls.duration[before] : inside >= 0 ? calls.start[inside] : 0,
    to: after >= 0 ? calls.start[after] : until,
  };
}
