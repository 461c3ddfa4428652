// SPDX-License-Identifier: BSD-2-Clause
// The data of the page: what the exporter (user/export/page) has put into it, decoded into typed arrays.
//
// A block is an element <script type="application/x-gaspbpf" id="gaspbpf-NAME"> with a gzip stream in base64. `facts`
// and `report` come before the script, since the first screen is made of them; `calls`, `bins`, `arrows`, `path`,
// `series`, `tasks`, `task_calls` and `task_bins` come after it. Columns of numbers are LEB128 varints, differences
// where they are sorted.
import { pause, slices } from './dom.js';

export class Damaged extends Error {}

/** Bytes of a text in base64. */
function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The bytes of a block; null where the page has none of that name. Its text is let go of, since it is large. */
async function block(name) {
  const holder = document.getElementById(`gaspbpf-${name}`);
  if (!holder) return null;
  const text = holder.textContent.trim();
  holder.remove();
  try {
    return await inflate(fromBase64(text));
  } catch (error) {
    throw new Damaged(`this file is damaged: its ${name} cannot be unpacked (${error.message})`);
  }
}

async function json(name) {
  const bytes = await block(name);
  return bytes && JSON.parse(new TextDecoder().decode(bytes));
}

/** Reads a column, one after the other, from the bytes of a block. */
class Reader {
  constructor(bytes, what) {
    this.bytes = bytes;
    this.what = what;
    this.at = 0;
    this.end = bytes.length;
  }

  short() {
    throw new Damaged(`this file is damaged: its ${this.what} end too early`);
  }

  u8() {
    if (this.at >= this.end) this.short();
    return this.bytes[this.at++];
  }

  u32() {
    if (this.at + 4 > this.end) this.short();
    const { bytes, at } = this;
    this.at += 4;
    return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
  }

  /** Up to 2^53: shifts of 32 bits do for what is short, and almost all is. */
  varint() {
    const { bytes } = this;
    let byte = bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127,
      shift = 7;
    for (; shift < 28; shift += 7) {
      byte = bytes[this.at++];
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
    for (let factor = 2 ** 28; ; factor *= 128) {
      if (this.at >= this.end) this.short();
      byte = bytes[this.at++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  /** A reader of the next column, which stands behind its length. */
  column() {
    const length = this.u32();
    if (this.at + length > this.end) this.short();
    const column = new Reader(this.bytes.subarray(this.at, this.at + length), this.what);
    this.at += length;
    return column;
  }

  done() {
    if (this.at !== this.end) throw new Damaged(`this file is damaged: its ${this.what} are not as long as they say`);
  }
}

const SLICE = 1 << 16;

/** Fills an array from a column, `read(reader, i)` for each. */
async function fillColumn(array, reader, read, slice) {
  for (let i = 0; i < array.length;) {
    for (const end = Math.min(array.length, i + SLICE); i < end; i++) array[i] = read(reader, i);
    await slice();
  }
  reader.done();
  return array;
}

const varint = (reader) => reader.varint();
const u8 = (reader) => reader.u8();

/**
 * The calls: columns of the same length, by lane (facts.lanes[i].first and .calls). `parent` is the index of the call
 * around it, -1 for none: the calls that are in progress at a time are the last one that began before, and its parents.
 */
async function readCalls(bytes, facts, more = []) {
  const slice = slices();
  const blockReader = new Reader(bytes, 'calls');
  const n = facts.lanes.reduce((sum, lane) => sum + lane.calls, 0);
  const starts = blockReader.column();
  const start = new Float64Array(n);
  let at = 0;
  for (const lane of facts.lanes) {
    lane.first = at;
    for (let time = 0, end = at + lane.calls; at < end; at++) {
      start[at] = time += starts.varint();
      if (at % SLICE === 0) await slice();
    }
  }
  starts.done();
  const duration = await fillColumn(new Float64Array(n), blockReader.column(), varint, slice);
  const level = await fillColumn(new Uint8Array(n), blockReader.column(), u8, slice);
  const event = await fillColumn(new Uint16Array(n), blockReader.column(), varint, slice);
  const site = await fillColumn(new Uint32Array(n), blockReader.column(), varint, slice);
  const word = await fillColumn(new Uint16Array(n), blockReader.column(), varint, slice);
  const end = await fillColumn(new Uint8Array(n), blockReader.column(), u8, slice);
  const others = {};
  for (const name of more) others[name] = await fillColumn(new Float64Array(n), blockReader.column(), varint, slice);
  const parent = new Int32Array(n);
  for (const lane of facts.lanes) {
    const open = [];
    for (let i = lane.first, last = lane.first + lane.calls; i < last; i++) {
      const up = Math.min(level[i], open.length);
      parent[i] = up > 0 ? open[up - 1] : -1;
      open[up] = i;
      open.length = up + 1;
      if (i % SLICE === 0) await slice();
    }
  }
  return { n, start, duration, level, event, site, word, end, parent, ...others };
}

/**
 * What was left out: by lane, the bins that have something: `bin` (sorted), `count`, `event` of each, and `share`: by
 * group (index in facts.groups) a number 0..255 a bin.
 */
async function readBins(bytes, facts) {
  const slice = slices();
  const reader = new Reader(bytes, 'bins');
  const nbins = reader.u32();
  const groups = facts.groups.length;
  const lanes = [];
  for (let lane = 0; lane < facts.lanes.length; lane++) {
    const bin = [],
      count = [],
      event = [],
      share = [];
    for (let at = 0; ;) {
      at += reader.varint();
      if (at >= nbins) break;
      bin.push(at++);
      count.push(reader.varint());
      event.push(reader.varint());
      const from = share.length;
      for (let g = 0; g < groups; g++) share.push(0);
      for (let k = reader.u8(); k > 0; k--) {
        const group = reader.u8();
        if (group >= groups) throw new Damaged('this file is damaged: its bins name a group that is not there');
        share[from + group] = reader.u8();
      }
      if (bin.length % 1024 === 0) await slice();
    }
    lanes.push({
      bin: Uint32Array.from(bin),
      count: Float64Array.from(count),
      event: Uint16Array.from(event),
      share: Uint8Array.from(share),
    });
  }
  reader.done();
  return { nbins, lanes };
}

const KIND_GROUPS = 12; // the last of them is of all kinds that follow

/** Tasks by worker: { facts, calls, bins } as those of the timeline, where kinds are the events; null: none. */
async function readTasks() {
  const list = await json('tasks');
  if (!list) return null;
  const kinds = list.kinds.map(({ name }) => name ?? 'not known');
  const facts = {
    ...list,
    length: Math.max(1, list.end_ns - list.start_ns),
    calls: { ...list, left_out: list.all - list.drawn },
    groups: kinds.length > KIND_GROUPS ? [...kinds.slice(0, KIND_GROUPS - 1), 'other kinds'] : kinds,
    events: kinds.map((name, i) => ({ name, group: Math.min(i, KIND_GROUPS - 1) })),
    words: [''],
    lanes: list.lanes.map((lane) => ({ ...lane, lane: 0 })),
  };
  const calls = await readCalls(await block('task_calls'), facts, ['submitted', 'ready', 'by']);
  return { facts, calls, bins: await readBins(await block('task_bins'), facts) };
}

/** The arrows, sorted by `toTime`; `longest` is the longest of them (ns), for looking up what reaches into a window. */
async function readArrows(bytes, facts) {
  const slice = slices();
  const reader = new Reader(bytes, 'arrows');
  const n = reader.u32();
  const fromLane = await fillColumn(new Uint32Array(n), reader.column(), varint, slice);
  const fromTime = await fillColumn(new Float64Array(n), reader.column(), varint, slice);
  const toLane = await fillColumn(new Uint32Array(n), reader.column(), varint, slice);
  const toTime = await fillColumn(new Float64Array(n), reader.column(), varint, slice);
  const kind = await fillColumn(new Uint8Array(n), reader.column(), u8, slice);
  let longest = 0;
  for (let i = 0; i < n; i++) longest = Math.max(longest, toTime[i] - fromTime[i]);
  return { n, fromLane, fromTime, toLane, toTime, kind, kinds: facts.arrow_kinds ?? ['arrow'], longest };
}

/** What the first screen is made of. */
export async function loadFirst() {
  const [facts, report] = await Promise.all([json('facts'), json('report')]);
  if (!facts || !report) return null;
  if (facts.format !== 1) throw new Damaged(`this file has a format that its script does not know (${facts.format})`);
  facts.length = Math.max(1, facts.end_ns - facts.start_ns);
  return { facts, report, calls: null, bins: null, arrows: null, path: null, series: null, tasks: null };
}

/** The rest of it, into the same object. */
export async function loadRest(data) {
  const bytes = await block('calls');
  await pause();
  if (bytes) data.calls = await readCalls(bytes, data.facts);
  const bins = await block('bins');
  if (bins) data.bins = await readBins(bins, data.facts);
  const arrows = await block('arrows');
  if (arrows) data.arrows = await readArrows(arrows, data.facts);
  data.path = await json('path');
  data.series = await json('series');
  data.tasks = await readTasks();
  return data;
}
