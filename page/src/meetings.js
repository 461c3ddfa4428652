// SPDX-License-Identifier: BSD-2-Clause
// Barriers and collective operations: who comes late, and how much.
import { part, several, time } from './figures.js';
import { beware, find, h, legend } from './make.js';
import { People, siteLabel } from './people.js';
import { table } from './tables.js';
import { chooser, valued } from './charts.js';

const BARS = 32;

const PERSISTENTLY = 'more often than by chance (1 in 1,000), and at least twice as often as its share';

const HABITS =
  `persistently: ${PERSISTENTLY} (of two members that is each time); mostly: half as often again as its share and ` +
  'more; seldom: half of its share and less; a share: what each has if all take turns';

/** What part of the meetings a member is last in, of the part that each would be in if all took turns. */
const often = (group, m) => (m.last * group.members.length) / (m.meetings || 1);

/** How a member's being last is called: the report's "persistent", and what is short of it. */
function habit(group, m) {
  if (m.persistent) return m.last === m.meetings ? 'always' : 'persistently';
  return often(group, m) >= 1.5 ? 'mostly' : often(group, m) <= 0.5 ? 'seldom' : 'in turn';
}

const MUCH = 0.75; // of all that is waited

/** For whom nearly all is waited, though another one is last more often. */
function awaited(people, group) {
  const [most] = [...group.members].sort((a, b) => b.others_wait_ns - a.others_wait_ns);
  return most && most.others_wait_ns > MUCH * group.others_wait_ns
    ? `; ${part(most.others_wait_ns, group.others_wait_ns, 0)} of the waiting is for ${people.thread(most)}`
    : '';
}

/** Who comes last, and in what part of the meetings. */
function lastOf(people, group) {
  const late = group.members.filter(({ persistent }) => persistent);
  const sum = late.reduce((all, { last }) => all + last, 0);
  if (late.length) return `${people.some(late, 2)} in ${part(sum, group.meetings, 0)}`;
  const [most] = [...group.members].sort((a, b) => b.last - a.last);
  if (!most) return null;
  const named = `${people.thread(most)} in ${part(most.last, most.meetings, 0)}`;
  if (habit(group, most) === 'mostly') return `mostly ${named}`;
  return `by turns; most often ${named}${awaited(people, group)}`;
}

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
            `${part(m.last, m.meetings, 0)}${m.persistent ? ' (persistently)' : ''}`,
        })),
      { label: `Who comes late to ${group.event}` },
    ),
    late.length > BARS
      ? h('p', { class: 'muted' }, `${BARS} of ${several(late.length, 'member')}; the table has all.`)
      : null,
    late.slice(0, BARS).some(({ persistent }) => persistent)
      ? legend([{ colour: 'var(--bad)', label: 'persistently last', means: PERSISTENTLY }])
      : null,
  ];
}

export const meetings = {
  id: 'meetings',
  title: 'Meetings',
  needs: ({ report }) => Boolean(report.meetings?.length),
  render(section, { report }, app) {
    const people = new People(report);
    const all = [...report.meetings].sort((a, b) => b.others_wait_ns - a.others_wait_ns);
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
          {
            key: 'last',
            title: 'Last comes',
            get: (g) => lastOf(people, g),
            help: `without more words: persistently, that is ${PERSISTENTLY}`,
          },
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
              { key: 'last_share', title: 'Last in', kind: 'share', get: (m) => m.last / (m.meetings || 1) },
              {
                key: 'late_ns',
                title: 'Late, mean',
                kind: 'time',
                help: 'after the first one; the CSV has the sum',
                text: (ns, m) => time(ns / (m.meetings || 1)),
              },
              { key: 'waits_ns', title: 'Waits', kind: 'time', help: 'it waited for others, in all' },
              { key: 'others_wait_ns', title: 'Others wait for it', kind: 'time' },
              { key: 'persistent', title: 'Comes last', text: (is, m) => habit(group, m), help: HABITS },
            ],
          }),
          h('p', { class: 'muted' }, `Comes last: ${HABITS}.`),
        ],
      ),
    );
  },
};
