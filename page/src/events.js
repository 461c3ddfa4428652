// SPDX-License-Identifier: BSD-2-Clause
// Events, where they are called from, how long their calls take.
import { bytes, count, part, several, time } from './figures.js';
import { chooser, histogram } from './charts.js';
import { details, find, h } from './make.js';
import { eventLabel, People, siteLabel } from './people.js';
import { table } from './tables.js';

const missing = (e) => e.lost || e.summed || e.skipped;
const about = (e, text) => (missing(e) ? `~${text}` : text);

const columns = (wall) => [
  {
    key: 'name',
    title: 'Event',
    get: eventLabel,
    show: (label, e, text) => find([e.name], text, `${text}: look for its calls in the timeline`),
  },
  { key: 'model', only: 'csv' },
  { key: 'role', title: 'Role' },
  { key: 'calls', title: 'Calls', kind: 'count' },
  { key: 'delivered', only: 'csv' },
  {
    key: 'total_ns',
    title: 'Total',
    kind: 'time',
    help: 'from call to return; calls inside of the same event count once',
  },
  { key: 'self_ns', only: 'csv' },
  {
    key: 'estimated_self_ns',
    title: 'Self',
    kind: 'time',
    help: 'without the observed calls inside',
    text: (ns, e) => about(e, time(ns)),
  },
  {
    key: 'share',
    title: '% of all time',
    kind: 'time',
    help: "of the threads' time, all together",
    get: (e) => e.estimated_self_ns,
    text: (ns) => part(ns, wall),
  },
  { key: 'min_ns', title: 'Min', kind: 'time' },
  { key: 'mean_ns', title: 'Mean', kind: 'time' },
  { key: 'max_ns', title: 'Max', kind: 'time' },
  {
    key: 'bytes',
    title: 'Bytes',
    kind: 'bytes',
    text: (n, e) => (n == null ? '-' : bytes(n) + (e.calls_without_bytes ? '+' : '')),
  },
  { key: 'lost', title: 'Lost', kind: 'count' },
  { key: 'summed', only: 'csv' },
  { key: 'skipped', only: 'csv' },
  { key: 'unwound', only: 'csv' },
  { key: 'open', only: 'csv' },
];

function siteTable(app, events) {
  const rows = events.flatMap((event) => (event.sites ?? []).map((site) => ({ event, site, label: siteLabel(site) })));
  const all = rows.reduce((sum, { site }) => sum + (site.total_ns ?? 0), 0);
  return table(app, {
    name: 'sites',
    caption: 'Call sites: the lines that calls came from',
    rows,
    sort: '-total_ns',
    empty: 'No call sites are known.',
    columns: [
      {
        key: 'site',
        title: 'Line',
        get: (r) => r.label,
        show: (value, r) => find([value, r.event.name], value, `${value}: look for its calls in the timeline`),
      },
      { key: 'event', title: 'Event', get: (r) => eventLabel(r.event) },
      { key: 'calls', title: 'Calls', kind: 'count', get: (r) => r.site.calls },
      { key: 'total_ns', title: 'Total', kind: 'time', get: (r) => r.site.total_ns },
      { key: 'mean', title: 'Mean', kind: 'time', get: (r) => (r.site.calls ? r.site.total_ns / r.site.calls : null) },
      { key: 'share', title: 'Of all sites', kind: 'time', get: (r) => r.site.total_ns, text: (ns) => part(ns, all) },
      { key: 'file', only: 'csv', get: (r) => r.site.file },
      { key: 'line', only: 'csv', get: (r) => r.site.line },
      { key: 'function', only: 'csv', get: (r) => r.site.function },
    ],
  });
}

function callers(app, events) {
  const rows = events.flatMap((event) =>
    (event.sites ?? []).flatMap((site) => (site.callers ?? []).map((one) => ({ event, site, one }))),
  );
  return rows.length
    ? table(app, {
        name: 'callers',
        caption: 'Called from (looks: how often it was met there; as the time is)',
        rows,
        sort: '-looks',
        columns: [
          { key: 'places', title: 'By way of', get: (r) => r.one.places ?? '(not known)' },
          { key: 'site', title: 'Line', get: (r) => siteLabel(r.site) },
          { key: 'event', title: 'Event', get: (r) => eventLabel(r.event) },
          { key: 'looks', title: 'Looks', kind: 'count', get: (r) => r.one.looks },
        ],
      })
    : null;
}

function durations(app, event) {
  return histogram(app, {
    label: `How long calls of ${eventLabel(event)} took`,
    bins: event.histogram_ns,
    from: time,
    of: 'duration: from this on, up to twice as long',
    what: 'calls (logarithmic)',
    text: (from, calls) =>
      `${from ? `${time(from)} up to ${time(from * 2)}` : 'up to 2 ns'}: ${several(calls, 'call')}, ` +
      `${part(calls, event.timed)} of them`,
  });
}

export const events = {
  id: 'events',
  title: 'Events and call sites',
  needs: ({ report }) => Boolean(report.events?.length),
  render(section, { report }, app) {
    const people = new People(report);
    const wall = report.threads.reduce((sum, { wall_ns: ns }) => sum + ns, 0);
    const timed = report.events.filter(({ histogram_ns: bins }) => bins?.length);
    const parts = [
      h(
        'p',
        { class: 'intro' },
        'What was called, how often, and how long it took. Self is time without the observed calls ' +
          'inside, so that all ' +
          'rows together are the time in calls; ~ is estimated, as calls are missing on the timeline.',
      ),
      table(app, {
        name: 'events',
        caption: 'Events',
        rows: report.events,
        sort: '-estimated_self_ns',
        columns: columns(wall),
      }),
      siteTable(app, report.events),
      callers(app, report.events),
      timed.length
        ? [
            h('h3', {}, 'How long calls took (calls by duration; each bar is of twice the duration of the one before)'),
            ...chooser(
              'Event',
              timed.map((event) => [`${eventLabel(event)} (${several(event.timed, 'call')})`, event]),
              (event) => durations(app, event),
            ),
          ]
        : null,
      report.by_thread?.length
        ? details(`Events of each thread (${count(report.by_thread.length)})`, () =>
            table(app, {
              name: 'by_thread',
              caption: 'Events of each thread',
              rows: report.by_thread,
              sort: '-self_ns',
              columns: [
                { key: 'who', title: 'Thread', get: (e) => people.thread(e) },
                { key: 'pid', only: 'csv' },
                { key: 'tid', only: 'csv' },
                { key: 'name', title: 'Event', get: eventLabel },
                { key: 'calls', title: 'Calls', kind: 'count' },
                { key: 'total_ns', title: 'Total', kind: 'time' },
                { key: 'self_ns', title: 'Self', kind: 'time' },
                {
                  key: 'share',
                  title: 'Of the thread',
                  kind: 'time',
                  get: (e) => e.self_ns,
                  text: (ns, e) => part(ns, people.threads.get(`${e.pid}/${e.tid}`)?.wall_ns),
                },
                { key: 'min_ns', title: 'Min', kind: 'time' },
                { key: 'mean_ns', title: 'Mean', kind: 'time' },
                { key: 'max_ns', title: 'Max', kind: 'time' },
                { key: 'bytes', title: 'Bytes', kind: 'bytes' },
              ],
            }),
          )
        : null,
    ];
    section.append(...parts.flat(Infinity).filter(Boolean));
  },
};
