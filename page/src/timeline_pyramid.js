// SPDX-License-Identifier: BSD-2-Clause
// Levels of detail. Of a lane with many calls: the run in 2^k equal parts, how much of each part is of which group,
// then the same of half as many parts, and so on up to one. It is made once, in slices, so that the page stays
// responsive.
// The time between calls belongs to no group. Left-out calls are kept apart, since they are drawn otherwise.
import { slices } from './dom.js';

/** A lane with fewer calls is drawn call by call at any zoom. */
const FEW = 2000;
/** Parts of all lanes together at the finest level, and of one lane. */
const PARTS = 1 << 20,
  PARTS_MOST = 1 << 16,
  PARTS_LEAST = 256;
export const OVERVIEW_PARTS = 2048;

/** Adds a time [from, to) to parts of `width` ns: to group g, and takes it from group `less` unless that is -1. */
function spread(sums, groups, width, parts, from, to, g, less) {
  let part = Math.max(0, Math.floor(from / width));
  for (let begin = from; begin < to && part < parts; part++) {
    const end = Math.min(to, (part + 1) * width);
    sums[part * groups + g] += end - begin;
    if (less >= 0) sums[part * groups + less] -= end - begin;
    begin = end;
  }
}

/** Shares 0..255 of times in parts of `width` ns. What is there at all is at least 1. */
function sharesOf(sums, width) {
  const shares = new Uint8Array(sums.length);
  for (let i = 0; i < sums.length; i++)
    if (sums[i] > 0) shares[i] = Math.max(1, Math.min(255, Math.round((sums[i] / width) * 255)));
  return shares;
}

/** The level above: the mean of two and two. */
function halved(shares, groups) {
  const parts = shares.length / groups / 2;
  const above = new Uint8Array(parts * groups);
  for (let part = 0; part < parts; part++)
    for (let g = 0; g < groups; g++)
      above[part * groups + g] = (shares[2 * part * groups + g] + shares[(2 * part + 1) * groups + g] + 1) >> 1;
  return above;
}

function levelsOf(finest, groups) {
  const levels = [finest];
  for (let shares = finest; shares.length > groups; levels.push(shares)) shares = halved(shares, groups);
  return levels;
}

/**
 * { parts, groups, lanes: [{ drawn: levels, left: levels | null } | null], overview: { drawn, left } }
 * levels[0] is the finest, of `parts` parts; the overview is the mean of all lanes, in OVERVIEW_PARTS.
 */
export async function makePyramid({ facts, calls, bins }) {
  const slice = slices(8);
  const groups = facts.groups.length,
    { length, lanes } = facts;
  const groupOf = Uint8Array.from(facts.events, (event) => event.group);
  let parts = PARTS_MOST;
  while (parts > PARTS_LEAST && parts * lanes.length > PARTS) parts /= 2;
  const width = length / parts;
  const overview = {
    drawn: new Float64Array(OVERVIEW_PARTS * groups),
    left: new Float64Array(OVERVIEW_PARTS * groups),
  };
  const overviewWidth = length / OVERVIEW_PARTS;
  const sums = new Float64Array(parts * groups);
  const made = [];
  for (const [at, lane] of lanes.entries()) {
    const many = lane.calls > FEW || (bins && bins.lanes[at].bin.length > 0);
    sums.fill(0);
    for (let i = lane.first, end = lane.first + lane.calls; i < end; i++) {
      const from = calls.start[i],
        to = from + calls.duration[i],
        up = calls.parent[i];
      const g = groupOf[calls.event[i]],
        less = up < 0 ? -1 : groupOf[calls.event[up]];
      if (g !== less) {
        if (many) spread(sums, groups, width, parts, from, to, g, less);
        spread(overview.drawn, groups, overviewWidth, OVERVIEW_PARTS, from, to, g, less);
      }
      if (i % 4096 === 0) await slice();
    }
    const drawn = many ? levelsOf(sharesOf(sums, width), groups) : null;
    await slice();
    let left = null;
    if (bins && bins.lanes[at].bin.length > 0) {
      const { bin, share } = bins.lanes[at],
        binWidth = length / bins.nbins;
      sums.fill(0);
      for (let k = 0; k < bin.length; k++)
        for (let g = 0; g < groups; g++) {
          const part = share[k * groups + g] / 255;
          if (!part) continue;
          spreadShare(sums, groups, width, parts, bin[k] * binWidth, (bin[k] + 1) * binWidth, g, part);
          spreadShare(
            overview.left,
            groups,
            overviewWidth,
            OVERVIEW_PARTS,
            bin[k] * binWidth,
            (bin[k] + 1) * binWidth,
            g,
            part,
          );
        }
      left = levelsOf(sharesOf(sums, width), groups);
      await slice();
    }
    made.push(many ? { drawn, left } : null);
  }
  const all = overviewWidth * lanes.length;
  return {
    parts,
    groups,
    lanes: made,
    overview: { drawn: overview.drawn.map((ns) => ns / all), left: overview.left.map((ns) => ns / all) },
  };
}

function spreadShare(sums, groups, width, parts, from, to, g, share) {
  let part = Math.max(0, Math.floor(from / width));
  for (let begin = from; begin < to && part < parts; part++) {
    const end = Math.min(to, (part + 1) * width);
    sums[part * groups + g] += (end - begin) * share;
    begin = end;
  }
}

/** The level whose parts are just not wider than a time. */
export function levelFor(levels, parts, length, ns) {
  let level = 0;
  for (let count = parts / 2; level + 1 < levels.length && length / count <= ns; count /= 2) level++;
  return level;
}

/** Adds the mean shares (0..255) of [from, to) to `shares` (by group). Parts count by how far they reach into it. */
export function addShares(values, groups, length, from, to, shares) {
  const count = values.length / groups,
    width = length / count,
    span = to - from;
  const last = Math.min(count - 1, Math.ceil(to / width) - 1);
  for (let part = Math.max(0, Math.floor(from / width)); part <= last; part++) {
    const weight = (Math.min(to, (part + 1) * width) - Math.max(from, part * width)) / span;
    if (weight <= 0) continue;
    for (let g = 0, at = part * groups; g < groups; g++, at++) shares[g] += values[at] * weight;
  }
}
