// SPDX-License-Identifier: BSD-2-Clause
// The page of `gaspbpf watch`: what a job does now, told by the server once a second (server-sent events).
//
// A message is what `gaspbpf top --once --json` prints: figures of the interval since the message before, and since the
// start. The last minutes are kept here; the server keeps nothing.
import * as figures from './figures.js';
import { colourOf, groups, legendOf } from './groups.js';
import { h, legend, put } from './make.js';
import { plain } from './dom.js';
import { Strip } from './live_strip.js';
import { table } from './tables.js';
import { bar } from './threads.js';

const BARS = 64;

/** The groups of `top`, as the page has them. */
const groupOf = { compute: 'outside', barrier: 'wait', collective: 'coll' };

export function timesOf(of) {
  const times = {};
  for (const [name, ns] of Object.entries(of?.group_ns ?? {})) {
    const key = groupOf[name] ?? name;
    times[key] = (times[key] ?? 0) + ns;
  }
  return times;
}

const nameOf = ({ rank, unit, pid, name }) =>
  rank == null ? `${plain(name)} (pid ${pid})` : `${unit ?? 'rank'} ${rank}`;
const personOf = (one) =>
  one == null
    ? null
    : `${one.rank == null ? `pid ${one.pid}` : `rank ${one.rank}`} ${plain(one.name)} (tid ${one.tid})`;

/** Processes in order of ranks, those without one last. */
const inOrder = (processes) =>
  [...processes].sort((a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity) || a.pid - b.pid);

const partsOf = (times) => groups.map(({ key, label }) => ({ colour: colourOf(key), value: times[key] ?? 0, label }));

/** What an interval is of: the last one, or all since the start. */
class Since {
  constructor(redraw) {
    this.all = false;
    this.element = h(
      'p',
      { class: 'since', role: 'group', 'aria-label': 'Which time the figures are of' },
      this.button('last look', false, redraw),
      this.button('since the start', true, redraw),
    );
  }

  button(text, all, redraw) {
    const made = h(
      'button',
      {
        type: 'button',
        'aria-pressed': String(all === this.all),
        on: {
          click: () => {
            this.all = all;
            for (const one of this.element.children) one.setAttribute('aria-pressed', String(one === made));
            redraw();
          },
        },
      },
      text,
    );
    return made;
  }

  of(one) {
    return this.all ? one.all : one.interval;
  }
}

class Live {
  constructor(app) {
    this.app = app;
    this.since = new Since(() => this.draw());
    this.strip = new Strip(app);
    this.paused = false;
    this.message = null;
    this.status = h('p', { class: 'status', role: 'status' }, 'waiting for the first figures');
    this.pause = h('button', { type: 'button', 'aria-pressed': 'false', on: { click: () => this.hold() } }, 'pause');
    this.legend = h('div');
    this.bars = h('ul', { class: 'bars' });
    this.calls = h('div');
    this.others = h('div');
    this.tables = {};
  }

  hold() {
    this.paused = !this.paused;
    this.pause.setAttribute('aria-pressed', String(this.paused));
    if (!this.paused) this.draw();
  }

  build(main) {
    const section = (id, title, ...children) =>
      h(
        'section',
        { id, class: 'view', 'aria-labelledby': `${id}-title` },
        h('h2', { id: `${id}-title`, tabindex: -1 }, title),
        children,
      );
    put(
      main,
      section(
        'now',
        'Time per process',
        h('div', { class: 'live-switches' }, this.since.element, this.pause, this.status),
        this.legend,
        this.bars,
      ),
      section(
        'minutes',
        'The last minutes',
        h(
          'p',
          { class: 'intro' },
          'A row is a process, a column one look at it, newest ' +
            'at the right: what its threads did with the time, in the colours of above.',
        ),
        this.strip.element,
      ),
      section(
        'events',
        'Events',
        h(
          'p',
          { class: 'intro' },
          'Calls that ended, and the time in them without the observed ' + 'calls inside, of all threads together.',
        ),
        this.calls,
      ),
      section('others', 'Meetings and locks', this.others),
    );
    put(
      document.getElementById('contents'),
      [...main.querySelectorAll('section')].map((one) =>
        h('a', { href: `#${one.id}` }, one.querySelector('h2').textContent),
      ),
    );
  }

  take(message) {
    this.message = message;
    this.strip.add(
      message.interval_ns,
      inOrder(message.processes).map((process) => ({
        id: process.pid,
        name: nameOf(process),
        times: timesOf(process.interval),
      })),
    );
    if (!this.paused) this.draw();
  }

  say(text) {
    put(this.status, text);
  }

  draw() {
    if (!this.message) return;
    const { message } = this;
    const { loss } = message;
    const missing = loss.lost + loss.summed + loss.skipped;
    const name = message.processes[0]?.name;
    document.getElementById('job').textContent = plain(name ?? 'gaspbpf watch');
    document.getElementById('about-job').textContent = [
      message.ended ? 'has ended' : 'runs',
      `watched for ${figures.time(message.since_start_ns)}`,
      figures.several(message.processes.length, 'process'),
      figures.several(message.threads.length, 'thread'),
      `${figures.count(loss.delivered)} calls`,
      missing ? `${figures.count(missing)} of them not on the timeline` : 'none lost',
      `gaspbpf itself: ${figures.share(message.own_cpu)} of a CPU`,
      plain(message.cost),
    ]
      .filter(Boolean)
      .join(' · ');
    this.drawBars();
    this.strip.draw();
    this.drawEvents();
    this.drawOthers();
  }

  drawBars() {
    const processes = inOrder(this.message.processes);
    const all = processes.map((one) => timesOf(this.since.of(one)));
    put(this.legend, legend(legendOf(all)));
    put(
      this.bars,
      processes.slice(0, BARS).map((process) => {
        const of = this.since.of(process);
        const times = timesOf(of);
        const spoken = groups
          .filter(({ key }) => times[key] > 0)
          .map(({ key, label }) => `${label} ${figures.part(times[key], of.observed_ns, 0)}`)
          .join(', ');
        return h(
          'li',
          {},
          h('span', {}, nameOf(process), process.ended ? ' (ended)' : null),
          h(
            'div',
            { class: 'track' },
            of && of.observed_ns
              ? bar(partsOf(times), of.observed_ns, `${nameOf(process)}: ${spoken}`)
              : h('span', { class: 'muted' }, 'no call of it was seen yet'),
          ),
        );
      }),
      processes.length > BARS ? h('li', { class: 'muted' }, `${BARS} of ${processes.length} processes`) : null,
    );
  }

  /** Makes a table once, and gives it new rows from then on: so sorting and filter stay. */
  show(parent, name, options) {
    const before = this.tables[name];
    if (before && before.all.length > 0 && options.rows.length > 0) return before.replace(options.rows);
    const made = table(this.app, { name, ...options });
    this.tables[name] = made.table;
    const old = parent.querySelector(`[data-table="${name}"]`);
    if (old) old.replaceWith(made);
    else parent.append(made);
  }

  drawEvents() {
    const events = new Map();
    const { processes, threads } = this.message;
    const ended = processes.flatMap((one) => [...one.ended_events, ...one.ended_inner_events]);
    for (const event of [...ended, ...threads.flatMap((one) => [...one.events, ...one.inner_events])]) {
      const of = this.since.of(event);
      const sum = events.get(event.event) ?? {
        event: event.event,
        calls: 0,
        self_ns: 0,
        full_ns: 0,
        longest_ns: 0,
        bytes: null,
      };
      sum.calls += of.calls;
      sum.self_ns += of.self_ns;
      sum.full_ns += of.full_ns;
      sum.longest_ns = Math.max(sum.longest_ns, of.longest_ns);
      if (of.bytes != null) sum.bytes = (sum.bytes ?? 0) + of.bytes;
      events.set(event.event, sum);
    }
    const rows = [...events.values()].filter(({ calls, self_ns: self }) => calls || self);
    this.show(this.calls, 'events', {
      caption: 'Events',
      sort: '-self_ns',
      rows,
      empty: 'No call in this time.',
      columns: [
        { key: 'event', title: 'Event' },
        { key: 'calls', title: 'Calls', kind: 'count' },
        { key: 'self_ns', title: 'Self', kind: 'time', help: 'in its calls, without the observed calls inside' },
        {
          key: 'mean_ns',
          title: 'Mean',
          kind: 'time',
          get: (e) => (e.calls ? e.full_ns / e.calls : null),
          help: 'of the calls that ended',
        },
        { key: 'longest_ns', title: 'Longest', kind: 'time', get: (e) => (e.calls ? e.longest_ns : null) },
        { key: 'bytes', title: 'Bytes', kind: 'bytes' },
      ],
    });
  }

  drawOthers() {
    const meetings = this.message.meetings.map((one) => ({ ...one, of: this.since.of(one) }));
    const locks = this.message.locks.map((one) => ({ ...one, of: this.since.of(one) }));
    this.show(this.others, 'meetings', {
      caption: 'Who comes last where all meet',
      rows: meetings,
      sort: '-late_ns',
      empty: 'No barrier or collective operation was seen whose members all came.',
      columns: [
        { key: 'event', title: 'Event' },
        { key: 'members', title: 'Members', kind: 'count' },
        { key: 'met', title: 'Met', kind: 'count', get: ({ of }) => of.met },
        { key: 'late_ns', title: 'Waited for the last', kind: 'time', get: ({ of }) => of.late_ns },
        { key: 'last', title: 'Last most often', get: ({ of }) => personOf(of.last) },
        { key: 'waiting', title: 'In it now', kind: 'count' },
        { key: 'awaited', title: 'Only this one is missing', get: ({ awaited }) => personOf(awaited) },
      ],
    });
    this.show(this.others, 'locks', {
      caption: 'Locks that are waited for',
      rows: locks,
      sort: '-wait_ns',
      empty: 'No lock was waited for.',
      columns: [
        { key: 'lock', title: 'Lock', get: ({ lock }) => `0x${lock.toString(16)}` },
        { key: 'event', title: 'Event' },
        { key: 'calls', title: 'Taken', kind: 'count', get: ({ of }) => of.calls },
        { key: 'wait_ns', title: 'Waited', kind: 'time', get: ({ of }) => of.wait_ns },
        { key: 'waiting', title: 'Wait now', kind: 'count' },
        { key: 'holder', title: 'Has it', get: ({ holder }) => personOf(holder) },
        { key: 'site', title: 'Taken at', get: ({ site }) => site },
      ],
    });
  }
}

/** The page listens from now on. The token is in its own address. */
export function startLive(app) {
  const live = new Live(app);
  live.build(document.getElementById('main'));
  const source = new EventSource(`events${location.search}`);
  let over = false;
  source.addEventListener('message', ({ data }) => {
    const message = JSON.parse(data);
    live.say(message.ended ? 'the job, or watching it, has ended: this is the last that was seen' : 'live');
    live.take(message);
    document.documentElement.dataset.ready = message.ended ? 'ended' : 'all';
    if (!message.ended) return;
    over = true;
    source.close();
  });
  source.addEventListener('error', () => {
    if (!over)
      live.say('gaspbpf does not answer: it has ended, or cannot be reached; what stands here was its last word');
  });
  app.onTheme(() => live.draw());
}
