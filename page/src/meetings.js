// SPDX-License-Identifier: BSD-2-Clause
// Barriers and collective operations: who comes late, and how much.
import { part, several, time } from './figures.js';
import { beware, find, h } from './make.js';
import { People, siteLabel } from './people.js';
import { table } from './tables.js';
import { chooser, valued } from './charts.js';

const BARS = 32;

const names = (people, group) => `${group.event}, ${several(group.members.length, 'member')}`;

/** The lines that such meetings are called from. */
function places(report, group) {
  const sites = report.events.find(({ name }) => name === group.event)?.sites ?? [];
  return sites.length
    ? h(
        'p',
        {},
        `${group.event} is called at `,
        sites
          .slice(0, 8)
          .map((site, i) => [
            i ? ', ' : '',
            find(
              [siteLabel(site), group.event],
              siteLabel(site),
              `${siteLabel(site)}: look for its calls in the timeline`,
            ),
          ]),
        sites.length > 8 ? ` and ${sites.length - 8} more lines` : '',
        '.',
      )
    : null;
}

/** The members, latest first: how long after the first one they come, on average. */
function arrivals(people, group) {
  const late = [...group.members].sort((a, b) => b.late_ns / (b.meetings || 1) - a.late_ns / (a.meetings || 1));
  return [
    h(
      'p',
      { class: 'muted' },
      `Bars: how long after the first one each comes, on average of ${several(group.meetings, 'meeting')}. ` +
        'Who always comes late makes the others wait; where all take turns, the work changes from one to the other.',
    ),
    valued(
      late
        .slice(0, BARS)
        .map((m) => ({
          label: people.thread(m),
          value: m.late_ns / (m.meetings || 1),
          colour: m.persistent ? 'var(--bad)' : 'var(--group-coll)',
          text:
            `${time(m.late_ns / (m.meetings || 1))}; last in ` +
            `${part(m.last, m.meetings, 0)}${m.persistent ? ' (always the same)' : ''}`,
        })),
      { label: `Who comes late to ${group.event}` },
    ),
    late.length > BARS
      ? h('p', { class: 'muted' }, `${BARS} of ${several(late.length, 'member')}; the table has all.`)
      : null,
    h(
      'ul',
      { class: 'legend' },
      h(
        'li',
        {},
        h('span', { class: 'swatch', style: { background: 'var(--bad)' } }),
        h('b', {}, 'always the same'),
        ': it is last more often than by chance (1 in 1,000)',
      ),
    ),
  ];
}

export const meetings = {
  id: 'meetings',
  title: 'Meetings',
  needs: ({ report }) => Boolean(report.meetings?.length),
  render(section, { report }, app) {
    const people = new People(report);
    const all = [...report.meetings].sort((a, b) => b.others_wait_ns - a.others_wait_ns);
    const last = (group) => {
      const late = group.members.filter(({ persistent }) => persistent);
      return late.length ? `${people.some(late, 2)} in ${part(late[0].last, group.meetings, 0)}` : 'by turns';
    };
    section.append(
      h(
        'p',
        { class: 'intro' },
        'Barriers and collective operations, put together from the calls of all members: how far apart they ' +
          'come, and what that costs the others.',
      ),
      ...beware(report, people),
      table(app, {
        name: 'meetings',
        caption:
          'Meetings (spread: from the first that comes to the last, on average; others wait: all of them, ' +
          'until the last comes)',
        rows: all,
        sort: '-others_wait_ns',
        columns: [
          { key: 'event', title: 'Event' },
          { key: 'members', title: 'Members', kind: 'count', get: (g) => g.members.length },
          { key: 'meetings', title: 'Meetings', kind: 'count' },
          {
            key: 'spread_ns',
            title: 'Spread',
            kind: 'time',
            help: 'the mean; the CSV has the sum',
            text: (ns, g) => time(ns / (g.meetings || 1)),
          },
          { key: 'widest_ns', title: 'Widest', kind: 'time' },
          { key: 'others_wait_ns', title: 'Others wait', kind: 'time' },
          { key: 'last', title: 'Last comes', get: last },
        ],
      }),
      h('h3', {}, 'Who comes when'),
      ...chooser(
        'Meeting',
        all.slice(0, 200).map((group) => [names(people, group), group]),
        (group) => [
          places(report, group),
          arrivals(people, group),
          table(app, {
            name: 'meeting.members',
            caption: `Members of ${names(people, group)}`,
            rows: group.members,
            sort: '-late_ns',
            columns: [
              { key: 'who', title: 'Who', get: (m) => people.thread(m) },
              { key: 'pid', only: 'csv' },
              { key: 'tid', only: 'csv' },
              { key: 'meetings', title: 'Meetings', kind: 'count' },
              { key: 'last', title: 'Times last', kind: 'count' },
              {
                key: 'late_ns',
                title: 'Late, mean',
                kind: 'time',
                help: 'after the first one; the CSV has the sum',
                text: (ns, m) => time(ns / (m.meetings || 1)),
              },
              { key: 'waits_ns', title: 'Waits', kind: 'time', help: 'it waited for others, in all' },
              { key: 'others_wait_ns', title: 'Others wait for it', kind: 'time' },
              { key: 'persistent', title: 'Always the last', text: (is) => (is ? 'yes' : 'no') },
            ],
          }),
        ],
      ),
    );
  },
};
