// SPDX-License-Identifier: BSD-2-Clause
// Pages of jobs that never ran, for work on the page and for its tests: what user/export/page writes, without it.
//
//   node page/dev/sample.mjs -o FILE [--lanes N] [--calls N] [--left-out N] [--hostile] [--report R.json]
//                            [--page P.html]
//
// The job is a time-stepping program of 4 threads a rank. Three things are planted in it: call PLANTED of lane 1, which
// takes PLANTED_NS, a call that is open at the end, and one that was unwound. The same arguments give the same page.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url));
export const START = 1000000000000;
export const PLANTED_NS = 7654321;
export const GROUPS = ['wait', 'lock', 'data', 'coll', 'task', 'alloc', 'io', 'other'];
const EVENTS = [
  ['GASP_PHASES_TIME_STEP', 7, 'other'],
  ['GASP_PHASES_EXCHANGE_HALO', 7, 'other'],
  ['GASP_MPI_ISEND', 2, 'send'],
  ['GASP_MPI_IRECV', 2, 'recv'],
  ['GASP_MPI_WAITALL', 0, 'wait'],
  ['GASP_MPI_ALLREDUCE', 3, 'collective'],
  ['GASP_C_MUTEX_LOCK', 1, 'acquire'],
  ['GASP_C_MALLOC', 5, 'alloc'],
  ['GASP_C_WRITE', 6, 'write'],
  ['GASP_STARPU_TASK', 4, 'task'],
  ['GASP_MPI_BARRIER', 0, 'barrier'],
];
const event = (name) => EVENTS.findIndex(([one]) => one === `GASP_${name}`);

/** Numbers that look random and are the same each time (mulberry32). */
function dice(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Bytes that grow. */
export class Bytes {
  constructor() {
    this.bytes = new Uint8Array(1 << 16);
    this.length = 0;
  }
  u8(value) {
    if (this.length === this.bytes.length) {
      const larger = new Uint8Array(this.length * 2);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes[this.length++] = value;
  }
  u32(value) {
    for (let i = 0; i < 4; i++) this.u8((value >>> (8 * i)) & 255);
  }
  varint(value) {
    for (; value >= 128; value = Math.floor(value / 128)) this.u8((value % 128) + 128);
    this.u8(value);
  }
  column(column) {
    this.u32(column.length);
    for (let i = 0; i < column.length; i++) this.u8(column.bytes[i]);
  }
  done() {
    return this.bytes.subarray(0, this.length);
  }
}

export function blockOf(name, bytes) {
  const text = gzipSync(bytes, { level: 6 }).toString('base64');
  return `<script type="application/x-gaspbpf" id="gaspbpf-${name}">${text}</script>\n`;
}

const EVIL = [
  '</script><script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '"\' onmouseover=alert(1) x="',
  '\u202Egnp.exe\u202C',
  'javascript:alert(1)',
  '&lt;b&gt;',
  '\uFFFD\u0000\u0007',
  '__proto__',
];

/** facts, report, the blocks' bytes; where the planted call is, and how many calls there are by event. */
export function makeJob({ lanes = 16, calls = 20000, leftOut = 60000, hostile = false, report = null } = {}) {
  const random = dice(lanes * 7919 + calls);
  const evil = (text, at) => (hostile ? `${EVIL[at % EVIL.length]} ${text}` : text);
  const each = Math.floor(calls / lanes);
  const columns = ['start', 'duration', 'level', 'event', 'site', 'word', 'end'].map(() => new Bytes());
  const [start, duration, level, which, site, word, ended] = columns;
  const facts = {
    format: 1,
    gaspbpf: '1.0-sample',
    recording: evil('sample.gasp', 0),
    start_ns: START,
    end_ns: 0,
    calls: { all: calls + leftOut, drawn: 0, left_out: leftOut, shorter_than_ns: leftOut ? 900 : 0 },
    arrows: { all: 0, drawn: 0, shorter_than_ns: 0 },
    arrow_kinds: ['message', 'lock', 'last to come'].map(evil),
    size_limit: 20000000,
    groups: GROUPS,
    events: EVENTS.map(([name, group, role], at) => ({ name: evil(name, at), group, role })),
    sites: ['job.c:61 in exchange', 'job.c:83 in step', 'solver.c:190 in smooth'].map(evil),
    words: ['', ...Array.from({ length: 400 }, (_, i) => evil(`peer=${i % 16} bytes=${8 << (i % 12)} tag=${i}`, i))],
    lanes: [],
  };
  const arrows = [],
    counts = {};
  let drawn = 0,
    end = 0,
    plantedCall = null;
  for (let lane = 0; lane < lanes; lane++) {
    let at = 0,
      before = 0,
      n = 0,
      open = 0;
    const call = (begin, ns, depth, name, more = {}) => {
      start.varint(begin - before);
      before = begin;
      duration.varint(ns);
      level.u8(depth);
      which.varint(event(name));
      site.varint(more.site ?? 1 + Math.floor(random() * 3));
      word.varint(more.word ?? Math.floor(random() * 401));
      ended.u8(more.end ?? 0);
      counts[name] = (counts[name] ?? 0) + 1;
      n++;
    };
    const rank = Math.floor(lane / 4),
      thread = lane % 4;
    while (n + 7 <= each) {
      const parts = ['ISEND', 'IRECV', 'WAITALL', 'ALLREDUCE'].map((name) => [
        name,
        Math.floor(
          (name === 'WAITALL' ? 4000 + (lane % 5) * 3000 : name === 'ALLREDUCE' ? 9000 : 1200) * (0.5 + random()),
        ),
        Math.floor(500 + random() * 3000),
      ]);
      const planted = lane === 1 && !open && n > each / 2;
      if (planted) open = 1;
      const halo = parts.reduce((sum, [, ns, gap]) => sum + ns + gap, 500);
      const work = Math.floor((20000 + thread * 4000) * (0.7 + random() * 0.6));
      const step = halo + work + 1000;
      call(at, step, 0, 'PHASES_TIME_STEP', { word: 0 });
      call(at + work, halo, 1, 'PHASES_EXCHANGE_HALO', { word: 0, end: planted ? 2 : 0 });
      let inner = at + work + 200;
      for (const [name, ns, gap] of parts) {
        call(inner, ns, 2, `MPI_${name}`);
        if (name === 'WAITALL' && arrows.length < 20000 && random() < 0.2)
          arrows.push([(lane + 4) % lanes, inner + Math.floor(ns * 0.2), lane, inner + ns, Math.floor(random() * 3)]);
        inner += ns + gap;
      }
      at += step + Math.floor(random() * 2000);
      if (planted) {
        plantedCall = { lane, index: drawn + n, start: at, duration: PLANTED_NS };
        call(at, PLANTED_NS, 0, 'C_MUTEX_LOCK', { site: 3, word: 7 });
        at += PLANTED_NS + 500;
      } else if (random() < 0.2) {
        call(at, 2500, 0, ['C_MALLOC', 'C_WRITE', 'STARPU_TASK', 'C_MUTEX_LOCK'][Math.floor(random() * 4)]);
        at += 3000;
      }
    }
    if (lane === 0) call(at, 50000, 0, 'MPI_BARRIER', { end: 1 });
    facts.lanes.push({
      thread: lane,
      lane: 0,
      name: evil(`rank ${rank} ${thread ? `worker-${thread}` : 'main'} (tid ${2000 + lane})`, lane),
      process: evil(`rank ${rank}: ./job 10`, rank),
      rank,
      calls: n,
      first: drawn,
      lost: lane === 2 ? 3 : 0,
    });
    drawn += n;
    end = Math.max(end, at + 50000);
  }
  facts.end_ns = START + end;
  facts.calls.drawn = drawn;
  facts.calls.all = drawn + leftOut;
  facts.arrows.all = facts.arrows.drawn = arrows.length;
  const block = new Bytes();
  for (const column of columns) block.column(column);
  return {
    facts,
    report: report ?? reportOf(facts),
    calls: block.done(),
    bins: binsOf(facts, leftOut, random),
    arrows: arrowsOf(arrows),
    path: pathOf(facts),
    planted: plantedCall,
    counts,
  };
}

function binsOf(facts, leftOut, random) {
  const bytes = new Bytes(),
    nbins = 256,
    lanes = facts.lanes.length;
  bytes.u32(nbins);
  for (let lane = 0; lane < lanes; lane++) {
    let skip = 0;
    for (let bin = 0; bin < nbins; bin++) {
      if (!leftOut || random() < 0.4) {
        skip++;
        continue;
      }
      bytes.varint(skip);
      skip = 0;
      bytes.varint(Math.ceil(leftOut / lanes / nbins / 0.6));
      bytes.varint(event('C_MALLOC'));
      bytes.u8(2);
      bytes.u8(5);
      bytes.u8(1 + Math.floor(random() * 40));
      bytes.u8(2);
      bytes.u8(1 + Math.floor(random() * 20));
    }
    bytes.varint(skip);
  }
  return bytes.done();
}

function arrowsOf(arrows) {
  arrows.sort((a, b) => a[3] - b[3]);
  const bytes = new Bytes();
  bytes.u32(arrows.length);
  for (let k = 0; k < 5; k++) {
    const column = new Bytes();
    for (const arrow of arrows) k === 4 ? column.u8(arrow[k]) : column.varint(arrow[k]);
    bytes.column(column);
  }
  return bytes.done();
}

function pathOf(facts) {
  const parts = [],
    n = 40,
    length = facts.end_ns - facts.start_ns;
  for (let i = 0; i < n; i++)
    parts.push([(i * 3) % facts.lanes.length, Math.floor((length * i) / n), Math.floor((length * (i + 1)) / n)]);
  return { parts };
}

function reportOf(facts) {
  const wall = facts.end_ns - facts.start_ns;
  const group_ns = Object.fromEntries(
    [...GROUPS, 'outside', 'not_seen'].map((name, i) => [name, Math.floor((wall * (i + 1)) / 60)]),
  );
  return {
    recording: {
      start_ns: START,
      end_ns: facts.end_ns,
      start_realtime_ns: 1.7e18,
      command: 'gaspbpf -p 1',
      host: 'node1',
      finished: true,
    },
    threads: facts.lanes.map((lane, at) => ({
      pid: 1000 + lane.rank,
      tid: 2000 + at,
      name: lane.name,
      rank: lane.rank,
      unit: 'rank',
      calls: lane.calls,
      wall_ns: wall,
      group_ns,
    })),
    findings: [],
    events: [],
  };
}

/** The page with a job in it. */
export function pageOf(job, page) {
  const text = (value) => Buffer.from(JSON.stringify(value));
  const first = blockOf('facts', text(job.facts)) + blockOf('report', text(job.report));
  const rest =
    blockOf('calls', job.calls) +
    blockOf('bins', job.bins) +
    blockOf('arrows', job.arrows) +
    blockOf('path', text(job.path));
  return page.replace('<!--gaspbpf:first-->\n', () => first).replace('<!--gaspbpf:rest-->\n', () => rest);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const options = { page: join(here, '..', '..', 'build', 'page', 'page.html') };
  for (let i = 2; i < process.argv.length; i++) {
    const name = process.argv[i].replace(/^-+/, '');
    options[name] = name === 'hostile' ? true : process.argv[++i];
  }
  const job = makeJob({
    lanes: Number(options.lanes ?? 16),
    calls: Number(options.calls ?? 20000),
    leftOut: Number(options['left-out'] ?? 60000),
    hostile: options.hostile,
    report: options.report ? JSON.parse(readFileSync(options.report, 'utf8')) : null,
  });
  writeFileSync(options.o, pageOf(job, readFileSync(options.page, 'utf8')));
}
