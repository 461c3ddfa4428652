// SPDX-License-Identifier: BSD-2-Clause
// Painting lanes into pixels: numbers in, 32-bit pixels out, no browser needed.
//
// A lane of which more calls are in view than pixels, is painted as shares: in each column of pixels, how much of its
// time was of which group, stacked, the wait at the bottom. Otherwise each call is a bar, inside calls below the one
// around them. Either way the work depends on how many pixels there are, not on how many calls.
import { begunIn, inProgress, lowerBound } from './timeline_calls.js';
import { addShares, levelFor } from './timeline_pyramid.js';

/** '#rrggbb' as a pixel (little endian: ABGR), `light` > 0 lighter, < 0 darker. */
export function pixel(colour, light = 0) {
  const parts = [1, 3, 5]
    .map((at) => parseInt(colour.slice(at, at + 2), 16))
    .map((part) => Math.round(light > 0 ? part + (255 - part) * light : part * (1 + light)));
  return ((255 << 24) | (parts[2] << 16) | (parts[1] << 8) | parts[0]) >>> 0;
}

/** How bright a colour is, 0..1: whether writing on it is black or white. */
export function brightness(colour) {
  const [r, g, b] = [1, 3, 5]
    .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Paints a rectangle, cut at the edges of what is to be painted. */
export function rectangle({ pixels, width, height, left, right }, x0, y0, x1, y1, colour) {
  x0 = Math.max(left, x0);
  x1 = Math.min(right, x1);
  y1 = Math.min(height, y1);
  if (x0 >= x1) return;
  for (let y = Math.max(0, y0); y < y1; y++) pixels.fill(colour, y * width + x0, y * width + x1);
}

/** The same with lines across it: what is left out. They move with the time. */
function hatched({ pixels, width, height, left, right, phase }, x0, y0, x1, y1, colour) {
  x0 = Math.max(left, x0);
  x1 = Math.min(right, x1);
  y1 = Math.min(height, y1);
  for (let y = Math.max(0, y0); y < y1; y++)
    for (let x = x0; x < x1; x++) if (((phase + x + y) & 3) < 2) pixels[y * width + x] = colour;
}

/**
 * Moves the whole picture by so many columns to the left (right, if negative): what is left to be painted are the
 * columns [left, right) that are returned.
 */
export function shift({ pixels, width, height }, by) {
  for (let y = 0; y < height; y++) {
    const row = y * width;
    if (by > 0) pixels.copyWithin(row, row + by, row + width);
    else pixels.copyWithin(row - by, row, row + width + by);
  }
  return by > 0 ? [width - by, width] : [0, -by];
}

/**
 * Is a lane painted call by call? Where there are no shares of it, always; else while there are no more calls in view
 * than fit in.
 */
export function isFine(scene, lane, at) {
  if (!scene.pyramid?.lanes[at]) return true;
  const [first, end] = begunIn(scene.calls, lane, scene.from, scene.from + scene.width * scene.step);
  return end - first <= scene.width;
}

/**
 * A scene: { pixels, width, height (of the picture), left, right (columns that are to be painted), phase (of hatching),
 *   from (ns, left edge), step (ns a pixel), calls, bins, pyramid, length (ns of the run), groupOf (of events),
 *   shown (by group: 1 or 0), groupColours, eventColours, edge (of calls that did not return): pixels }
 * place: { y, rows, rowHeight, strip, gap } in pixels; the strip below the rows is for what is left out.
 * fine: isFine() of it.
 */
export function paintLane(scene, lane, at, place, fine) {
  if (fine) {
    paintCalls(scene, lane, place);
    paintLeftOut(scene, at, place);
  } else {
    paintShares(scene, at, place);
  }
}

function paintCalls(scene, lane, place) {
  const { calls, from, step } = scene;
  const painted = new Int32Array(place.rows).fill(-1); // by row: up to which column something stands
  const begin = from + (scene.left - 1) * step;
  for (const i of inProgress(calls, lane, begin).reverse()) paintCall(scene, i, place, painted);
  const [first, end] = begunIn(calls, lane, begin, from + scene.right * step);
  const { start, duration } = calls;
  const many = end - first > 4 * scene.width;
  for (let i = first; i < end; i++) {
    paintCall(scene, i, place, painted);
    // Where calls are closer than pixels, and it and all that is in it fits in one: on to the next pixel, but for
    // those that began in this one and reach beyond it.
    if (many && duration[i] < step && i + 16 < end && start[i + 16] < start[i] + step) {
      const beyond = from + (Math.floor((start[i] - from) / step) + 1) * step;
      const next = lowerBound(start, beyond, i + 1, end);
      for (const k of inProgress(calls, lane, beyond).reverse()) if (k > i) paintCall(scene, k, place, painted);
      i = next - 1;
    }
  }
}

function paintCall(scene, i, place, painted) {
  const { calls, from, step, groupOf, shown } = scene;
  if (!shown[groupOf[calls.event[i]]]) return;
  const row = Math.min(calls.level[i], place.rows - 1);
  const x0 = Math.round((calls.start[i] - from) / step);
  let x1 = Math.round((calls.start[i] + calls.duration[i] - from) / step);
  if (x1 - x0 >= 5)
    x1--; // so that neighbours are seen as two
  else if (x1 <= x0) x1 = x0 + 1;
  if (x1 <= painted[row] && row < place.rows - 1) return;
  const y = place.y + row * place.rowHeight;
  const colour = scene.eventColours[calls.event[i]];
  rectangle(scene, x0, y, x1, y + place.rowHeight - place.gap, colour);
  if (calls.end[i] && x1 - x0 >= 8)
    hatched(scene, Math.max(x0, x1 - 10), y, x1, y + place.rowHeight - place.gap, scene.edge);
  painted[row] = x1;
}

/** A strip below the calls: as high as their share of the time. */
function paintLeftOut(scene, at, place) {
  if (!scene.bins || !place.strip) return;
  const { bin, event, share } = scene.bins.lanes[at],
    groups = scene.shown.length;
  const width = scene.length / scene.bins.nbins,
    { from, step } = scene;
  const first = lowerBound(bin, Math.floor((from + scene.left * step) / width), 0, bin.length);
  const bottom = place.y + place.rows * place.rowHeight + place.strip - place.gap;
  for (let k = first; k < bin.length && bin[k] * width < from + scene.right * step; k++) {
    const group = scene.groupOf[event[k]];
    if (!scene.shown[group]) continue;
    let sum = 0;
    for (let g = 0; g < groups; g++) sum += share[k * groups + g];
    const high = Math.max(2, Math.round(Math.min(1, sum / 255) * (place.strip - place.gap)));
    const x0 = Math.round((bin[k] * width - from) / step),
      x1 = Math.max(x0 + 1, Math.round(((bin[k] + 1) * width - from) / step));
    hatched(scene, x0, bottom - high, x1, bottom, scene.groupColours[group]);
  }
}

function paintShares(scene, at, place) {
  const { from, step, length, pyramid } = scene;
  const { drawn, left } = pyramid.lanes[at],
    groups = pyramid.groups;
  const high = place.rows * place.rowHeight + place.strip - place.gap;
  const shares = new Float64Array(groups),
    leftShares = new Float64Array(groups);
  const level = levelFor(drawn, pyramid.parts, length, step);
  // Columns stand at whole multiples of their width in the run, so that nothing flickers while it is moved.
  const column0 = Math.round(from / step);
  const end = Math.min(scene.right, Math.ceil(length / step - column0));
  for (let x = Math.max(scene.left, -column0); x < end; x++) {
    const begin = (column0 + x) * step,
      until = Math.min(length, begin + step);
    if (!(until > begin)) break;
    for (let g = 0; g < groups; g++) shares[g] = leftShares[g] = 0;
    addShares(drawn[level], groups, length, begin, until, shares);
    if (left) {
      addShares(left[level], groups, length, begin, until, leftShares);
      makeRoom(shares, leftShares);
    }
    stack(scene, x, place.y + high, high, shares, leftShares, left !== null);
  }
}

/** Left-out calls lie in drawn ones or beside them: what has no room beside them in `whole`, is taken from these. */
export function makeRoom(shares, leftShares, whole = 255) {
  let drawn = 0,
    left = 0;
  for (let g = 0; g < shares.length; g++) {
    drawn += shares[g];
    left += leftShares[g];
  }
  if (drawn + left <= whole || !drawn) return;
  const factor = Math.max(0, whole - left) / drawn;
  for (let g = 0; g < shares.length; g++) shares[g] *= factor;
}

function stack({ pixels, width, height, phase, shown, groupColours }, x, bottom, high, shares, leftShares, hasLeft) {
  let sum = 0,
    y = bottom;
  for (let g = 0; g < shares.length; g++) {
    if (!shown[g]) continue;
    for (let left = 0; left <= (hasLeft ? 1 : 0); left++) {
      const part = left ? leftShares[g] : shares[g];
      if (part <= 0) continue;
      sum += part;
      const top = Math.max(bottom - high, bottom - Math.max(1, Math.round((Math.min(255, sum) / 255) * high)));
      for (; y > top;) {
        y--;
        if (y >= 0 && y < height && !(left && ((phase + x + y) & 3) >= 2)) pixels[y * width + x] = groupColours[g];
      }
    }
  }
}

/** The whole run, the mean of all lanes. */
export function paintOverview({ pixels, width, height, shown, groupColours }, overview, groups) {
  const parts = overview.drawn.length / groups;
  const shares = new Float64Array(groups),
    leftShares = new Float64Array(groups);
  for (let x = 0; x < width; x++) {
    const from = (x / width) * parts,
      to = ((x + 1) / width) * parts;
    shares.fill(0);
    leftShares.fill(0);
    // By how far each part reaches into the column: else calls that are alike would be of different heights.
    for (let part = Math.floor(from); part < Math.min(parts, to); part++) {
      const weight = ((Math.min(part + 1, to) - Math.max(part, from)) / (to - from)) * 255;
      for (let g = 0; g < groups; g++) {
        shares[g] += overview.drawn[part * groups + g] * weight;
        leftShares[g] += overview.left[part * groups + g] * weight;
      }
    }
    makeRoom(shares, leftShares);
    stack({ pixels, width, height, phase: 0, shown, groupColours }, x, height, height, shares, leftShares, true);
  }
}
