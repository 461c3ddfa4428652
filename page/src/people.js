// SPDX-License-Identifier: BSD-2-Clause
// What people call a thread, a place in the source, a part of a run: as the text report does.
import { part, plural, some } from './figures.js';

/** 0-2, 5 */
function ranges(ranks, most) {
  const found = [];
  for (const rank of [...new Set(ranks)].sort((a, b) => a - b)) {
    const last = found[found.length - 1];
    if (last && rank === last[1] + 1) last[1] = rank;
    else found.push([rank, rank]);
  }
  return some(
    found.map(([from, to]) => (from === to ? `${from}` : to === from + 1 ? `${from}, ${to}` : `${from}-${to}`)),
    most,
  );
}

/** The threads of a report by pid and tid, and what they are called. */
export class People {
  constructor(report) {
    this.start = report.recording?.start_ns ?? 0;
    this.threads = new Map((report.threads ?? []).map((thread) => [`${thread.pid}/${thread.tid}`, thread]));
    this.processes = new Map((report.processes ?? []).map((process) => [process.pid, process]));
    this.units = new Map();
    for (const { rank, unit } of [...this.processes.values(), ...this.threads.values()])
      if (rank != null && !this.units.has(rank)) this.units.set(rank, unit ?? 'rank');
    this.places = new Map(
      (report.events ?? [])
        .flatMap((event) => event.sites ?? [])
        .filter(({ file }) => file)
        .map((site) => [`${site.file}:${site.line}${site.column ? `:${site.column}` : ''}`, siteLabel(site)]),
    );
  }

  /** mpi.c:74 in meet: of a place as it stands in the report */
  place(place) {
    return place ? (this.places.get(place) ?? shortPlace(place)) : '-';
  }

  call(call) {
    return call ? (call.place && call.place !== '?' ? `${call.event} at ${this.place(call.place)}` : call.event) : null;
  }

  /** What a part of the time was, of "who is waited for" and of the critical path: [what, where]. */
  deed(of) {
    const inside = of.inside ? `in ${of.inside}, ` : '';
    const after = of.after && [of.after, ...(of.also_after ?? [])].map((one) => this.call(one)).join(' or '),
      before = this.call(of.before);
    let where = '-';
    if (of.call) where = this.call(of.call);
    else if (after && after === before) where = `from one ${after} to the next`;
    else if (after || before)
      where = [after && `after ${after}`, before && `before ${before}`].filter(Boolean).join(', ');
    return [does[of.does] ?? of.does, inside + where];
  }

  /** rank 3 */
  rank(rank) {
    return `${this.units.get(rank) ?? 'rank'} ${rank}`;
  }

  process(pid) {
    const process = this.processes.get(pid);
    if (!process) return pid == null ? '-' : `pid ${pid}`;
    return process.rank != null ? this.rank(process.rank) : `${process.name ?? '?'} (pid ${pid})`;
  }

  /** rank 3; rank 3 worker (tid 17); worker (tid 17). who: anything with pid and tid */
  thread(who) {
    if (!who) return '-';
    const { pid, tid } = who;
    const known = this.threads.get(`${pid}/${tid}`);
    const rank = known?.rank ?? who.rank ?? this.processes.get(pid)?.rank;
    if (rank != null && (tid == null || tid === pid)) return this.rank(rank);
    const name = `${known?.name ?? '?'} (tid ${tid})`;
    return rank != null ? `${this.rank(rank)} ${name}` : name;
  }

  /** ranks 0-2, 5; or the threads by name */
  some(list, most = 4) {
    const ranks = (list ?? []).map(({ pid, tid, rank }) =>
      tid === pid || tid == null ? (this.processes.get(pid)?.rank ?? rank) : null,
    );
    if (ranks.length > 1 && ranks.every((rank) => rank != null))
      return `${plural(this.units.get(ranks[0]) ?? 'rank')} ${ranges(ranks, most)}`;
    return some(
      (list ?? []).map((who) => this.thread(who)),
      most,
    );
  }

  /** Who has most of it, where that is uneven: worker-2 (93 % of 4 threads'); that one alone, where it has all. */
  mostOf(list, key) {
    const all = list.reduce((sum, one) => sum + one[key], 0);
    const most = [...list].sort((a, b) => b[key] - a[key])[0];
    if (list.length > 1 && most[key] >= 0.995 * all) return this.thread(most);
    return list.length > 1 && most[key] >= (2 * all) / list.length
      ? `${this.thread(most)} (${part(most[key], all, 0)} of ${list.length} threads')`
      : this.some(list, 3);
  }

  /** ns since the beginning of the recording */
  since(ns) {
    return ns == null ? null : ns - this.start;
  }
}

/** mpi.c:74 in meet, of "/home/me/mpi.c:74:4" as well as of the short form. */
export function shortPlace(place) {
  if (!place) return '-';
  const [, path, line] = /^(.*?):(\d+)(?::\d+)?$/.exec(place) ?? [];
  return path ? `${path.split('/').pop()}:${line}` : place;
}

const clean = (site) => (site.file ? site.file.split('/').pop() : '');

/** Of a site of an event. */
export function siteLabel(site) {
  const name = site.function_name ?? site.function;
  if (site.file) return `${clean(site)}:${site.line}${name ? ` in ${name}` : ''}`;
  if (name) return `${name}+0x${(site.function_offset ?? 0).toString(16)}`;
  if (site.image) return `${site.image.split('/').pop()}+0x${(site.offset ?? 0).toString(16)}`;
  return site.address != null ? `0x${site.address.toString(16)}` : '?';
}

/** Of an event: with the function's name where one event stands for all of them. */
export const eventLabel = (event) =>
  (event.function_name ?? event.function) ? `${event.name} ${event.function_name ?? event.function}` : event.name;

const does = { outside: 'outside of calls', computes: 'computes', calls: 'is in', unknown: 'not known' };
