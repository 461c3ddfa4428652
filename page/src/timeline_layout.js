// SPDX-License-Identifier: BSD-2-Clause
// Where lanes stand: in the order of facts.lanes, below the name of their process. CSS pixels, from the top of all.
import { lowerBound } from './timeline_calls.js';

export const HEAD = 20; // the line with the name of a process
const ROW = 15,
  ROW_MOST = 34,
  PAD = 5,
  STRIP = 11;
const ROWS_MOST = 4; // deeper calls are painted over the fourth
const COMPACT = 12;

/** How deep the calls of each lane are. */
export async function depths({ facts, calls }, slice) {
  const found = new Uint8Array(facts.lanes.length);
  for (const [at, lane] of facts.lanes.entries()) {
    let deepest = 0;
    for (let i = lane.first, end = lane.first + lane.calls; i < end; i++)
      if (calls.level[i] > deepest) deepest = calls.level[i];
    found[at] = deepest + 1;
    await slice();
  }
  return found;
}

/** How high rows may be so that all lanes fill `room`, where there are few. */
function rowHeight(facts, deep, room) {
  const rows = facts.lanes.reduce((sum, _, at) => sum + Math.min(ROWS_MOST, deep?.[at] ?? 2), 0);
  const heads = new Set(facts.lanes.map((lane) => lane.process)).size;
  return Math.max(
    ROW,
    Math.min(ROW_MOST, Math.floor((room - heads * HEAD - facts.lanes.length * (PAD + STRIP)) / rows)),
  );
}

/** { heads: [{ y, text }], lanes: [{ y, rows, rowHeight, strip, height }], ys, height } */
export function layOut({ facts, bins }, deep, compact, room = 0) {
  const heads = [],
    lanes = [],
    high = rowHeight(facts, deep, room);
  const several = facts.lanes.some((lane) => lane.process !== facts.lanes[0].process);
  let y = 0,
    process = null;
  for (const [at, lane] of facts.lanes.entries()) {
    if (several && !compact && lane.process !== process) {
      heads.push({ y, text: lane.process });
      process = lane.process;
      y += HEAD;
    }
    const place = compact
      ? { rows: 1, rowHeight: COMPACT, strip: 0 }
      : {
          rows: Math.min(ROWS_MOST, deep?.[at] ?? 2),
          rowHeight: high,
          strip: bins?.lanes[at].bin.length ? STRIP : 0,
        };
    place.y = y + (compact ? 0 : PAD / 2);
    place.height = place.rows * place.rowHeight + place.strip + (compact ? 1 : PAD);
    lanes.push(place);
    y += place.height;
  }
  return { heads, lanes, ys: Float64Array.from(lanes, (place) => place.y), height: y, compact };
}

/** How high the picture of a recording will be at most, before its calls are known. */
export const expectedHeight = (facts) => facts.lanes.length * (ROW * 2 + PAD + STRIP) + HEAD;

/** The lane at a height; -1. */
export function laneAt(layout, y) {
  const at = lowerBound(layout.ys, y + 0.001, 0, layout.ys.length) - 1;
  return at >= 0 && y < layout.lanes[at].y + layout.lanes[at].height ? at : -1;
}

/** The first and the last+1 of the lanes between two heights. */
export function lanesBetween(layout, top, bottom) {
  const first = Math.max(0, lowerBound(layout.ys, top, 0, layout.ys.length) - 1);
  return [first, lowerBound(layout.ys, bottom, first, layout.ys.length)];
}
