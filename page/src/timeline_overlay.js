// SPDX-License-Identifier: BSD-2-Clause
// What is drawn over the painted lanes: writing in bars, the selected call, arrows, the critical path, the ruler.
// `scene` is that of timeline_paint.js, with ratio (device pixels a CSS pixel), layout, top (scrolled, CSS pixels).
import { plain } from './dom.js';
import * as format from './format.js';
import { begunIn, inProgress, lowerBound } from './timeline_calls.js';
import { isFine } from './timeline_paint.js';
import { termsOf } from './timeline_terms.js';

const ARROWS_MOST = 120,
  ARROWS_FEW = 30,
  ARROW_LEAST = 4;
const WINDOW_MOST = 2000,
  PATH_MOST = 4000;
/** Of arrows, by their kinds. */
export const DASHES = [[], [5, 3], [2, 2], [8, 2, 2, 2]];
const xOf = (scene, time) => (time - scene.from) / scene.step / scene.ratio;

/** The row of a call: { y, height } in CSS pixels of the canvas. */
export function rowOf(scene, lane, level) {
  const place = scene.layout.lanes[lane];
  return {
    y: place.y - scene.top + Math.min(level, place.rows - 1) * place.rowHeight,
    height: place.rowHeight - 1,
  };
}

/** Where an arrow touches a lane: the middle of the innermost call that is there, else of the first row. */
function touch(scene, lane, time) {
  const [i] = inProgress(scene.calls, scene.facts.lanes[lane], time);
  const { y, height } = rowOf(scene, lane, i === undefined ? 0 : scene.calls.level[i]);
  return y + height / 2;
}

/** Names in bars that are wide enough for some letters. */
export function writeNames(context, scene, lane, at, style) {
  const { calls, facts } = scene,
    place = scene.layout.lanes[at];
  if (place.rowHeight < 14 || !isFine(scene, lane, at)) return;
  const [first, end] = begunIn(calls, lane, scene.from, scene.from + scene.width * scene.step);
  const least = style.letter * 4 * scene.step * scene.ratio;
  const write = (i) => {
    if (calls.duration[i] < least || !scene.shown[scene.groupOf[calls.event[i]]]) return;
    const left = Math.max(0, xOf(scene, calls.start[i])) + 3;
    const right = Math.min(scene.width / scene.ratio, xOf(scene, calls.start[i] + calls.duration[i])) - 3;
    const room = Math.floor((right - left) / style.letter);
    if (room < 3) return;
    let text = style.names[calls.event[i]];
    if (room > text.length + 6 && calls.word[i]) text += `  ${plain(facts.words[calls.word[i]])}`;
    const { y, height } = rowOf(scene, at, calls.level[i]);
    const over = calls.level[i] >= place.rows && calls.level[i] > place.rows - 1;
    if (over) return;
    context.fillStyle = style.ink[scene.groupOf[calls.event[i]]];
    context.fillText(text.length > room ? `${text.slice(0, room - 1)}…` : text, left, y + height / 2 + 0.5);
  };
  inProgress(calls, lane, scene.from).forEach(write);
  for (let i = first; i < end; i++) write(i);
}

/** "312 calls ..." where there is room for it. */
export function writeLeftOut(context, scene, at, style) {
  const place = scene.layout.lanes[at];
  if (!scene.bins || !place.strip) return;
  const { bin, count } = scene.bins.lanes[at],
    width = scene.length / scene.bins.nbins;
  if (width / scene.step / scene.ratio < 260) return;
  const y = place.y - scene.top + place.rows * place.rowHeight + (place.strip - 1) / 2;
  for (
    let k = lowerBound(bin, Math.floor(scene.from / width), 0, bin.length);
    k < bin.length && bin[k] * width < scene.from + scene.width * scene.step;
    k++
  ) {
    const text =
      `${format.count(count[k])} ${termsOf(scene.facts)[count[k] === 1 ? 'one' : 'many']} shorter than ` +
      `${format.time(scene.facts.calls.shorter_than_ns)} are not in this file`;
    const left = Math.max(4, xOf(scene, bin[k] * width) + 4);
    if (xOf(scene, (bin[k] + 1) * width) - left < text.length * 5) continue;
    context.font = style.small;
    const wide = context.measureText(text).width;
    context.fillStyle = style.background;
    context.fillRect(left - 2, y - 5, wide + 4, 10);
    context.fillStyle = style.muted;
    context.fillText(text, left, y + 0.5);
    context.font = style.font;
  }
}

/** Outlines a call. */
export function outline(context, scene, lane, i, colour, width) {
  const { y, height } = rowOf(scene, lane, scene.calls.level[i]);
  const x = xOf(scene, scene.calls.start[i]);
  const wide = Math.max(2, scene.calls.duration[i] / scene.step / scene.ratio);
  const left = Math.max(-4, x),
    right = Math.min(scene.width / scene.ratio + 4, x + wide);
  if (right < 0 || left > scene.width / scene.ratio) return;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.strokeRect(left - width / 2, y - width / 2, Math.max(2, right - left) + width, height + width);
  if (wide < 6) {
    // too narrow to be found by its outline alone
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(x + wide / 2, y - 2);
    context.lineTo(x + wide / 2 - 4, y - 9);
    context.lineTo(x + wide / 2 + 4, y - 9);
    context.fill();
  }
}

/** Outlines what is between calls, in the row in which they stand: in dashes, as there is nothing. */
export function outlineGap(context, scene, { lane, from, to, inside }, colour) {
  const level = inside < 0 ? 0 : Math.min(scene.calls.level[inside] + 1, scene.layout.lanes[lane].rows - 1);
  const { y, height } = rowOf(scene, lane, level);
  const left = Math.max(-4, xOf(scene, from)),
    right = Math.min(scene.width / scene.ratio + 4, xOf(scene, to));
  if (right < 0 || left > scene.width / scene.ratio) return;
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.setLineDash([4, 3]);
  context.strokeRect(left, y - 1, Math.max(2, right - left), height + 2);
  context.setLineDash([]);
}

/** The arrows in view, the longest first, at most ARROWS_MOST of them; and how many there are, or at least. */
export function arrowsInView(scene, arrows, order) {
  const to = scene.from + scene.width * scene.step,
    found = [];
  const { layout, top, canvasHeight } = scene;
  const seen = (lane) => {
    const place = layout.lanes[lane];
    return place && place.y + place.height > top && place.y < top + canvasHeight;
  };
  const inView = (i) =>
    arrows.toTime[i] >= scene.from && arrows.fromTime[i] <= to && (seen(arrows.fromLane[i]) || seen(arrows.toLane[i]));
  const first = lowerBound(arrows.toTime, scene.from, 0, arrows.n);
  const end = lowerBound(arrows.toTime, to + arrows.longest + 1, first, arrows.n);
  const length = (i) => arrows.toTime[i] - arrows.fromTime[i];
  // One that stands upright says little, and many of them hide the picture.
  const flat = (i) => length(i) >= scene.step * scene.ratio * ARROW_LEAST;
  const best = (indices) => (indices.length <= ARROWS_FEW ? indices : indices.filter(flat)).slice(0, ARROWS_MOST);
  if (end - first <= WINDOW_MOST) {
    for (let i = first; i < end; i++) if (inView(i)) found.push(i);
    found.sort((a, b) => length(b) - length(a));
    return { indices: best(found), all: found.length, exact: true };
  }
  // Too many to be sorted for each picture: as they are, from the longest on, until there are enough, or upright ones.
  const enough = (i) => found.length > ARROWS_MOST || (found.length > ARROWS_FEW && !flat(i));
  let k = 0;
  for (; k < order.length && !enough(order[k]); k++) if (inView(order[k])) found.push(order[k]);
  return { indices: best(found), all: found.length, exact: k === order.length };
}

export function drawArrow(context, scene, arrows, i, colour, strong) {
  const x0 = xOf(scene, arrows.fromTime[i]),
    x1 = xOf(scene, arrows.toTime[i]);
  const y0 = touch(scene, arrows.fromLane[i], arrows.fromTime[i] + 0.5),
    y1 = touch(scene, arrows.toLane[i], arrows.toTime[i] - 0.5);
  context.strokeStyle = context.fillStyle = colour;
  context.globalAlpha = strong ? 1 : 0.75;
  context.lineWidth = strong ? 2 : 1;
  context.setLineDash(DASHES[arrows.kind[i] % DASHES.length]);
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
  context.setLineDash([]);
  const angle = Math.atan2(y1 - y0, x1 - x0),
    size = strong ? 8 : 6;
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - size * Math.cos(angle - 0.4), y1 - size * Math.sin(angle - 0.4));
  context.lineTo(x1 - size * Math.cos(angle + 0.4), y1 - size * Math.sin(angle + 0.4));
  context.fill();
  context.globalAlpha = 1;
}

/** The critical path: a band on the lane it is in, and a line to the next. */
export function drawPath(context, scene, path, colour) {
  const { parts } = path,
    width = scene.width / scene.ratio;
  let low = 0,
    high = parts.length;
  while (low < high) {
    const m = (low + high) >>> 1;
    if (parts[m][2] < scene.from) low = m + 1;
    else high = m;
  }
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.5;
  let before = null,
    lastX = -10;
  context.beginPath();
  for (let k = low, n = 0; k < parts.length && n < PATH_MOST; k++) {
    const [lane, start, end] = parts[k];
    const x0 = xOf(scene, start),
      x1 = xOf(scene, end);
    if (x0 > width) break;
    if (!scene.layout.lanes[lane]) continue;
    const place = scene.layout.lanes[lane],
      y = place.y - scene.top - 2;
    context.fillRect(Math.max(0, x0), y, Math.max(1, Math.min(width, x1) - Math.max(0, x0)), 3);
    if (before !== null && before !== y && x0 - lastX >= 0.5) {
      context.moveTo(x0, before + 1.5);
      context.lineTo(x0, y + 1.5);
      lastX = x0;
      n++;
    }
    before = y;
  }
  context.stroke();
}

/** Steps of 1, 2 or 5 times a power of ten that are `least` or more. */
export function tickStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= least);
}

/** Times at which the ruler and the lanes have lines. */
export function ticks(scene) {
  const step = tickStep(scene.step * scene.ratio * 130),
    found = [];
  const to = Math.min(scene.length, scene.from + scene.width * scene.step);
  for (let at = Math.ceil(Math.max(0, scene.from) / step) * step; at <= to; at += step) found.push(at);
  return { step, times: found };
}

export function drawRuler(context, scene, style, width, height) {
  context.fillStyle = style.background;
  context.fillRect(0, 0, width, height);
  context.font = style.font;
  context.textBaseline = 'middle';
  const { step, times } = ticks(scene);
  for (const time of times) {
    const x = Math.round(xOf(scene, time)) + 0.5;
    context.fillStyle = style.line;
    context.fillRect(x - 0.5, height - 7, 1, 7);
    context.fillStyle = style.muted;
    const text = format.moment(time, step, scene.length),
      wide = context.measureText(text).width;
    context.fillText(text, x + 4 + wide > width ? x - 4 - wide : x + 4, height / 2); // the last one must have room
  }
  context.fillStyle = style.line;
  context.fillRect(0, height - 1, width, 1);
}
