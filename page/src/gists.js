// SPDX-License-Identifier: BSD-2-Clause
// What is in each section, in one line: the figure that says whether it is worth to be opened.
import { bytes, count, part, percent, several, share, time } from './figures.js';
import { groups } from './groups.js';
import { People } from './people.js';

const most = (list, key) => [...(list ?? [])].sort((a, b) => (b[key] ?? 0) - (a[key] ?? 0))[0];
const sum = (list, get) => (list ?? []).reduce((all, one) => all + (get(one) ?? 0), 0);

const gists = {
  threads({ report }) {
    const wall = sum(report.threads, ({ wall_ns: ns }) => ns);
    const shares = groups
      .map(({ key, label }) => [
        label,
        sum(report.threads, ({ estimated_group_ns: about, group_ns: times }) => (about ?? times)?.[key]),
      ])
      .filter(([, ns]) => ns > 0)
      .sort((a, b) => b[1] - a[1])
      .slice(0, 3);
    const words = shares.map(([label, ns]) => `${label} ${part(ns, wall, 0)}`);
    return `${several(report.threads.length, 'thread')}: ${words.join(', ')}`;
  },
  timeline: ({ facts }) =>
    facts.calls.left_out
      ? `${count(facts.calls.drawn)} of ${several(facts.calls.all, 'call')}, ` +
        `those of ${time(facts.calls.shorter_than_ns)} and longer`
      : several(facts.calls.all, 'call'),
  waiting({ report }, people) {
    const all = (one) => one.direct_ns + (one.passed_on_ns ?? 0);
    const [cause] = [...(report.delays?.causes ?? [])].sort((a, b) => all(b) - all(a));
    const parallel = report.efficiency?.parallel;
    return [
      cause && `${people.thread(cause)} makes others wait the most: ${time(all(cause))}`,
      parallel != null && `parallel efficiency ${share(parallel)}`,
    ];
  },
  meetings({ report }) {
    const one = most(report.meetings, 'others_wait_ns');
    return [
      several(report.meetings.length, 'place'),
      `the others wait the most in ${one.event}: ${time(one.others_wait_ns)}`,
    ];
  },
  locks({ report }, people) {
    const one = most(report.locks.classes, 'wait_ns');
    return one.wait_ns
      ? `the most is waited for ${people.place(one.sites?.[0]?.site)}: ${time(one.wait_ns)}`
      : `${several(report.locks.classes.length, 'lock')}; nobody waits`;
  },
  regions: ({ report }) => several(report.regions.regions.length, 'region'),
  tasks({ report }) {
    const { runtimes } = report.tasks;
    const workers = runtimes.flatMap(({ workers: all, time_ns: ns }) =>
      (all ?? []).filter(({ runs_ns: runs }) => runs != null).map(({ runs_ns: runs }) => [runs, ns]),
    );
    return [
      several(
        sum(runtimes, ({ executed }) => executed),
        'task',
      ),
      workers.length &&
        `workers run tasks for ${part(
          sum(workers, ([runs]) => runs),
          sum(workers, ([, ns]) => ns),
          0,
        )} of the time`,
    ];
  },
  phases({ report }) {
    const [one] = report.phases;
    const out = one.outliers?.length;
    return [
      `${several(one.iterations, 'iteration')}, ${time(one.mean_ns)} on average`,
      out ? `${count(out)} out of line` : 'none out of line',
    ];
  },
  path({ report }, people) {
    const of = report.critical_path;
    const one = most(of.parts, 'on_path_ns');
    const who = one.threads?.length ? people.mostOf(one.threads, 'on_path_ns') : '';
    const [does, where] = people.deed(one);
    return `${part(one.on_path_ns, of.length_ns, 0)} of it: ${who} ${does}${where === '-' ? '' : `, ${where}`}`;
  },
  communication({ report }) {
    const { all } = report.communication;
    return `${several(all.operations, 'operation')}, ${bytes(all.bytes)}`;
  },
  events({ report }) {
    const one = most(report.events, 'self_ns');
    return `${several(report.events.length, 'event')}; the most time: ${one.name}`;
  },
  flame: () => 'which calls are inside of which',
  memory({ report }, people) {
    const one = most(report.memory.heaps, 'high_water_bytes');
    const who = one.rank != null ? people.rank(one.rank) : one.pid != null ? people.process(one.pid) : 'all ranks';
    const leaks = (report.memory.sites ?? []).filter(({ leak }) => leak === 'suspected').length;
    return [
      one.high_water_bytes != null && `at most ${bytes(one.high_water_bytes)} (${who}, ${one.heap})`,
      leaks ? `${several(leaks, 'line')} may leak` : null,
    ];
  },
  files({ report }) {
    const moved = sum(report.files, ({ bytes_read: read, bytes_written: written }) => (read ?? 0) + (written ?? 0));
    return `${several(report.files.length, 'file')}, ${bytes(moved)} read and written`;
  },
  cpu({ report }, people) {
    const lacking = (t) => (t.observed_ns && t.run_queue_ns != null ? t.run_queue_ns / t.observed_ns : 0);
    const one = [...report.threads].sort((a, b) => lacking(b) - lacking(a))[0];
    return lacking(one) >= 0.01
      ? `the most without one: ${people.thread(one)}, ${percent(100 * Math.min(1, lacking(one)))} of its time`
      : 'no thread lacked one for a hundredth of its time';
  },
  unseen({ report }) {
    const { calls = 0, delivered = 0 } = report.loss ?? {};
    const missing = calls - delivered;
    return [
      missing > 0 ? `${several(missing, 'call')} are not on the timeline` : 'no call was lost',
      report.not_observable?.length ? `${several(report.not_observable.length, 'event')} cannot be observed` : null,
    ];
  },
  about: ({ facts }) => `gaspbpf ${facts.gaspbpf}; licences`,
};

/** '' where there is none, or the report has not what it takes. */
export function gistOf(view, data) {
  try {
    const said = gists[view.id]?.(data, new People(data.report)) ?? '';
    return (Array.isArray(said) ? said : [said]).filter(Boolean).join('; ');
  } catch (error) {
    console.warn(error);
    return '';
  }
}
