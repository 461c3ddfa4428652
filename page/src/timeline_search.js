// SPDX-License-Identifier: BSD-2-Clause
// The search box: words that must all be in a call's event, line, arguments, or the name of its lane or process; and
//   "two words"   as they stand    >1ms  <20us   as long as that    open   not returned    longest   longest first
// Words that follow each other and name a thread or process (rank 1, worker-2) ask for calls of it and no others.
import { slices } from './dom.js';

const UNITS = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, '': 1e9 };
const SORTED_MOST = 100000;

/** { words, least, most (ns), open, longest } of what was typed. */
export function parse(text) {
  const query = { words: [], least: 0, most: Infinity, open: false, longest: false };
  for (const [, quoted, plain] of text.matchAll(/"([^"]*)"?|(\S+)/g)) {
    const word = (quoted ?? plain).toLowerCase();
    const size = quoted === undefined && /^([<>])(\d+(?:\.\d+)?)(ns|us|µs|ms|s|)$/.exec(word);
    if (size) query[size[1] === '>' ? 'least' : 'most'] = Number(size[2]) * UNITS[size[3]];
    else if (quoted === undefined && word === 'longest') query.longest = true;
    else if (quoted === undefined && word === 'open') query.open = true;
    else if (word) query.words.push(word);
  }
  return query;
}

const flags = (texts, word) => Uint8Array.from(texts, (text) => (text.toLowerCase().includes(word) ? 1 : 0));

/** By lane: does its name or that of its process have these words, as a whole: rank 1, but not of rank 10? */
function named(names, words) {
  const text = words.join(' ');
  if (!/\d/.test(text) || !/[a-z]/.test(text)) return null;
  const whole = (name) => {
    for (let at = name.indexOf(text); at >= 0; at = name.indexOf(text, at + 1))
      if (!/[\w-]$/.test(name.slice(0, at)) && !/^[\w-]/.test(name.slice(at + text.length))) return true;
    return false;
  };
  const found = names.map(whole);
  return found.includes(true) ? found : null;
}

/** Words of a query as those that name lanes: { lanes: [true or false by lane] of each name, words: the others }. */
function namesIn(words, names) {
  const lanes = [],
    others = [];
  for (let from = 0; from < words.length;) {
    let to = words.length,
      found = null;
    for (; to > from && !found; to--) found = named(names, words.slice(from, to));
    if (found) lanes.push(found);
    else others.push(words[from]);
    from = found ? to + 1 : from + 1;
  }
  return { lanes, words: others };
}

/**
 * What a query finds: { indices: by lane and time, or the longest first, all: how many there are, longest }. Of very
 * many the longest are about SORTED_MOST. null: `stop()` told to give up.
 */
export async function find({ facts, calls }, text, stop = () => false) {
  const query = parse(text);
  const slice = slices(10);
  const names = facts.lanes.map((lane) => `${lane.process}\n${lane.name}`.toLowerCase());
  const { lanes: wanted, words } = namesIn(query.words, names);
  const tests = words.map((word) => ({
    word,
    event: flags(
      facts.events.map((one) => one.name),
      word,
    ),
    site: flags(facts.sites, word),
    args: flags(facts.words, word),
  }));
  const { start, duration, event, site, word, end: ended } = calls;
  let found = new Uint32Array(1024),
    n = 0;
  for (const [at, lane] of facts.lanes.entries()) {
    if (wanted.some((of) => !of[at])) continue;
    const left = tests.filter((test) => !names[at].includes(test.word));
    for (let i = lane.first, last = lane.first + lane.calls; i < last; i++) {
      if (i % 65536 === 0) {
        await slice();
        if (stop()) return null;
      }
      if (duration[i] < query.least || duration[i] > query.most || (query.open && ended[i] !== 1)) continue;
      let all = true;
      for (let k = 0; k < left.length && all; k++)
        all = left[k].event[event[i]] || (site[i] && left[k].site[site[i] - 1]) || left[k].args[word[i]];
      if (!all) continue;
      if (n === found.length) {
        const larger = new Uint32Array(n * 2);
        larger.set(found);
        found = larger;
      }
      found[n++] = i;
    }
  }
  found = found.subarray(0, n);
  if (query.longest) {
    if (n > SORTED_MOST) found = longestOf(found, duration, SORTED_MOST);
    found.sort((a, b) => duration[b] - duration[a] || start[a] - start[b]);
  }
  return { indices: found, all: n, longest: query.longest };
}

/** Those that are as long as the n-th longest, about: a sample tells how long that is. */
function longestOf(found, duration, n) {
  const sample = Float64Array.from(
    { length: 4096 },
    (_, i) => duration[found[Math.floor((i / 4096) * found.length)]],
  ).sort();
  const least = sample[Math.max(0, Math.floor(4096 * (1 - n / found.length)))];
  return found.filter((i) => duration[i] >= least);
}
