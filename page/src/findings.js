// SPDX-License-Identifier: BSD-2-Clause
// The first screen: what stands out, why, where, what it would give, and how sure that is.
import { bytes, count, part, percent, several, time } from './figures.js';
import { details, h, link, put } from './make.js';
import { kindTitle, lookedFor, nextOf, surety } from './kinds.js';
import { longer } from './phases.js';
import { People } from './people.js';
import { brief } from './threads.js';
import { titleOf } from './titles.js';
import { ofWhole, waitFrom } from './timeline_waits.js';
import { leaksOf, rowOf, whereOf } from './where.js';

const WATCHED = 'the watched time';

const SHOWN = 10,
  LINKS = 5,
  HOT = 10;

/** Kinds that are about the calls of their event. */
const OF_CALLS = new Set([
  'hot_event',
  'lock_contention',
  'lock_convoy',
  'failed_tries',
  'no_overlap',
  'critical_path',
]);

/** Kinds whose gain is what even shares of the time would give: no more than that can come of it. */
const BOUNDS = new Set(['uneven_region', 'short_regions', 'small_chunks', 'serial_code']);

/** Kinds whose time is not what could be saved. */
const GAINLESS = {
  hot_event: 'not told: this is where the time is, and not why',
  team_wait: 'not told: this is where the time is, and not why',
  starved: 'not told: with more CPUs the run would go otherwise, and that cannot be simulated',
  probe_cost: 'a run that nobody observes does not have it',
};

const fact = (name, ...what) => [h('dt', {}, name), h('dd', {}, what)];

/** ns that a thread, or an interval, lost by having no CPU; older reports do not tell it apart. */
const lostOf = ({ run_queue_lost_ns: lost, run_queue_ns: queued }) => lost ?? queued;

/** What the run would be shorter by. */
function gainOf(finding, run) {
  const { gain_ns: gain, gain_at_most_ns: most, confidence, kind } = finding;
  if (gain == null && GAINLESS[kind]) return [GAINLESS[kind]];
  if (gain != null && BOUNDS.has(kind))
    return [h('b', {}, `up to ${time(gain)} (${part(gain, run)} of ${WATCHED})`), ' shorter; a bound'];
  if (gain != null)
    return [
      h('b', {}, `${time(gain)} (${part(gain, run)} of ${WATCHED})`),
      kind === 'critical_path'
        ? ' shorter, if that took a tenth less; simulated'
        : ' shorter; simulated, under the condition that the text above names',
    ];
  if (most >= 0.95 * run) return ['not told: all that is known is that it is no more than the run'];
  if (confidence?.gain === 'bounded' && most)
    return [h('b', {}, `at most ${time(most)} (${part(most, run)} of ${WATCHED})`), '; a bound, not simulated'];
  return ['not known'];
}

function regular({ kind, evidence }) {
  const { what, times, of, mean_ns: mean, deviation_ns: deviation, least_ns: least, most_ns: most } = evidence ?? {};
  if (!what || !mean) return null; // 0: it was too short to be told
  // Its mean is that of all iterations, and not of the few that are out of line.
  const some = times < of ? `${count(times)} of ${count(of)}` : count(times);
  const number = `${kind === 'outlier_iterations' ? `all ${count(of)}` : some} ${what}`;
  return (
    `${number}: ${time(mean)} on average` +
    (deviation != null && of > 1 ? `, standard deviation ${time(deviation)}` : '') +
    (most != null ? `, from ${time(least)} to ${time(most)}` : '')
  );
}

/** Where the report has no instances of a finding, others of its parts may have the times. */
function timesOf(finding, report) {
  if (finding.instances?.length) return finding.instances.map((one) => ({ ...one, what: 'waits' }));
  const phases = report.phases?.[0];
  const somebody = phases?.threads?.[0];
  if (finding.kind === 'outlier_iterations' && somebody)
    return (phases.outliers ?? [])
      .map((one) => ({
        ...(one.longer?.threads?.[0] ?? somebody),
        start_ns: one.start_ns,
        end_ns: one.end_ns,
        what: `iteration ${one.number + 1}:`,
      }))
      .sort((a, b) => b.end_ns - b.start_ns - a.end_ns + a.start_ns);
  if (finding.kind === 'slowdown' && somebody)
    return phases.phases
      .filter(({ iterations }) => iterations)
      .map((one) => ({ ...somebody, start_ns: one.from_ns, end_ns: one.to_ns, what: `${one.phase}:` }));
  if (finding.kind === 'starved')
    return (report.scheduling?.intervals ?? [])
      .filter((one) => finding.victims.some(({ pid, tid }) => pid === one.pid && tid === one.tid))
      .sort((a, b) => lostOf(b) - lostOf(a))
      .map((one) => ({
        ...one,
        start_ns: one.from_ns,
        end_ns: one.to_ns,
        what: `had no CPU for ${time(lostOf(one))} of`,
      }));
  return [];
}

function linkTo(app, people, instance, lasts = time(instance.end_ns - instance.start_ns)) {
  const who = people.thread(instance);
  const at = time(people.since(instance.start_ns));
  return link(
    app,
    instance,
    `${at}: ${who} ${instance.what} ${lasts}`,
    `Show in the timeline: at ${at}, ${who} ${instance.what} ${lasts}`,
  );
}

/** Once the calls are there: how long the call waited for those in all, where only a part of that is this finding's. */
function tellWhole(app, people, { culprits }, data, instance, item) {
  const { pid, tid, start_ns: start, end_ns: end } = instance;
  const late = (culprits ?? []).map((who) => app.lane(who.pid, who.tid));
  const whole = waitFrom(data, app.lane(pid, tid), start - data.facts.start_ns, late);
  if (whole > end - start && time(whole) !== time(end - start)) {
    const told = linkTo(app, people, instance, `${ofWhole(end - start, whole)} for this`);
    put(item.firstChild, told.textContent); // the button stays: it may have the focus
    item.firstChild.setAttribute('aria-label', told.getAttribute('aria-label'));
  }
}

/** The longest calls of the event, when the calls are there: for what has no instances. */
function longestCalls(finding, data, people) {
  const { calls, facts, report } = data;
  const event = facts.events.findIndex(({ name }) => name === finding.event);
  const sites = new Set(
    (finding.places ?? []).map((place) => facts.sites.indexOf(people.place(place)) + 1).filter(Boolean),
  );
  const found = [];
  if (event < 0 || !calls) return [];
  facts.lanes
    .filter(({ thread }) => report.threads[thread])
    .forEach((lane) => {
      for (let i = lane.first; i < lane.first + lane.calls; i++)
        if (
          calls.event[i] === event &&
          (!sites.size || sites.has(calls.site[i])) &&
          (found.length < 3 || calls.duration[i] > found[found.length - 1].lasts)
        ) {
          const { pid, tid } = report.threads[lane.thread];
          found.push({
            pid,
            tid,
            start_ns: calls.start[i] + facts.start_ns,
            lasts: calls.duration[i],
            end_ns: calls.start[i] + calls.duration[i] + facts.start_ns,
            what: 'for',
          });
          found.sort((a, b) => b.lasts - a.lasts).splice(3);
        }
    });
  return found;
}

/** Links to where it was worst. The list has its room before the calls are there. */
function evidenceOf(app, people, finding, data) {
  const times = timesOf(finding, data.report).slice(0, LINKS);
  if (times.length)
    return fact(
      'See it',
      h(
        'ul',
        { class: finding.instances?.length ? 'links parts' : 'links' },
        times.map((one) => {
          const item = h('li', {}, linkTo(app, people, one));
          if (finding.instances?.length) app.loaded.then(() => tellWhole(app, people, finding, data, one, item));
          return item;
        }),
      ),
    );
  if (!finding.event || !OF_CALLS.has(finding.kind)) return [];
  const list = h(
    'ul',
    { class: 'links waits' },
    h('li', { class: 'muted' }, 'its longest calls: when the calls are loaded'),
  );
  app.loaded.then(() => {
    const found = longestCalls(finding, data, people);
    put(
      list,
      found.length
        ? found.map((one) => h('li', {}, linkTo(app, people, one)))
        : h('li', { class: 'muted' }, 'its calls are too short to be in this file one by one'),
    );
  });
  return fact('Longest calls', list);
}

function symptoms(finding) {
  if (!finding.seen_as?.length) return null;
  const unsure = finding.kind === 'starved'; // when threads had no CPU, in which calls, is not known
  return h(
    'div',
    { class: 'symptoms' },
    h('h4', {}, unsure ? 'May be seen as' : 'Seen as'),
    h(
      'ul',
      {},
      finding.seen_as.map((one) => h('li', {}, one.text)),
    ),
    h(
      'p',
      { class: 'muted' },
      unsure
        ? 'Threads had no CPU for about as long: that may be why, and other causes that are found may be, too.'
        : 'Much of the same time, seen where it is spent; the cause is above.',
    ),
  );
}

/** How many of them say what they would give, in a figure. */
const gains = (findings, run) => findings.filter((finding) => gainOf(finding, run)[0] instanceof Node).length;

const IN_ALL = 40; // percent: the report then tells of it before all else

/** What the probes may have to do with it. */
function ofProbes({ kind }, report) {
  const cost = report.findings.find((one) => one.kind === 'probe_cost');
  return cost?.percent >= IN_ALL && kind !== 'probe_cost'
    ? `; probes took ${percent(cost.percent)} of a thread's time: some or all of this may be theirs`
    : '';
}

/** What was measured here, beside what a finding of the kind takes. */
function measured(finding, report, people) {
  const { kind, evidence, severity_percent: severity, weight_ns: weight } = finding;
  if (kind === 'delay') {
    const row = rowOf(finding, report);
    if (!row) return null;
    const key = (one) => JSON.stringify([one.does, one.call, one.after, one.before, one.inside]);
    const waited = (one) => one.direct_ns + one.passed_on_ns;
    const others = report.delays.causes.filter((one) => one !== row && key(one) === key(row)).map(waited);
    return (
      `others waited ${time(waited(row))} for it` +
      (row.waits ? `, in ${several(row.waits, 'wait')}` : '') +
      (others.length ? `, and ${time(Math.max(...others))} at most for any other that does the same` : '')
    );
  }
  if (kind === 'outlier_iterations' && evidence?.most_ns) {
    const of = phasesOf(report, finding);
    const worst = of?.outliers?.[0];
    return worst ? `the longest took ${(worst.lasted_ns / worst.median_ns).toFixed(1)} times the median` : null;
  }
  if (kind === 'probe_cost') return `${percent(finding.percent)}, and ${time(weight)} in all`;
  if (kind === 'starved') {
    const all = report.threads.filter((t) => finding.victims.some(({ pid, tid }) => pid === t.pid && tid === t.tid));
    const most = [...all].sort((a, b) => lostOf(b) - lostOf(a))[0];
    return most ? `up to ${time(lostOf(most))}, ${part(lostOf(most), most.observed_ns)} of the time` : null;
  }
  if (kind === 'leak') {
    const blocks = leaksOf(finding, report, people).reduce((sum, { live_blocks: n }) => sum + n, 0);
    return blocks ? several(blocks, 'block') : null;
  }
  const shares = /threads' time/.test(finding.confidence?.test ?? '');
  return shares && severity != null ? percent(severity) : null;
}

function reported(finding, report, people) {
  const rule = surety(finding)[1];
  const here = rule && measured(finding, report, people);
  return rule ? h('div', { class: 'muted test' }, `${rule}${here ? `; here ${here}` : ''}.`) : null;
}

const phasesOf = (report, finding) =>
  report.phases?.find(({ name, iterations }) => name === finding.event && iterations === finding.evidence?.of);

/** The figures of a finding about small messages, which are not of the same: what each of them is. */
function smallMessages(finding, report, people) {
  const of = report.communication?.small_messages?.find(
    ({ event, place }) => event === finding.event && people.place(finding.places?.[0]) === people.place(place),
  );
  if (!of) return [];
  const ranks = of.processes > 1 ? `, of ${count(of.processes)} ranks together` : '';
  return [
    fact(
      'How many',
      `${several(of.messages, of.brings_back ? 'operation' : 'message')} of ` +
        `${bytes(of.bytes / (of.messages || 1))} in a row` +
        (of.brings_back ? '' : ` -> ${count(of.messages_that_would_do)} of up to 64 KiB`),
    ),
    fact(
      'Its figures',
      [
        of.without_waiting_ns != null && `${time(of.without_waiting_ns)}: time in sends that did not wait${ranks}`,
        of.saves_ns != null && `${time(of.saves_ns)}: the least that is saved in these calls alone${ranks}`,
        finding.gain_ns != null &&
          `${time(finding.gain_ns)}: the whole run, by simulation, where the waits that follow are shorter, too`,
      ]
        .filter(Boolean)
        .map((text) => h('div', {}, text)),
    ),
  ];
}

/** What the longest of the iterations have more of than the others. */
function grew(people, report, finding) {
  const of = phasesOf(report, finding);
  return (of?.outliers ?? [])
    .slice(0, 3)
    .map((one) => h('div', {}, `number ${one.number + 1}: ${longer(people, one.longer) ?? 'not known'}`));
}

function card(app, people, finding, number, data) {
  const { report } = data;
  const { recording } = report;
  const run = recording.end_ns - recording.start_ns;
  const where = whereOf(finding, data.report, people);
  return h(
    'li',
    { class: 'finding', 'data-kind': finding.kind },
    h('h3', {}, `${number}. ${titleOf(finding, report, people)}`),
    h('p', { class: 'sentence' }, finding.text),
    h(
      'dl',
      { class: 'facts' },
      finding.culprits?.length ? fact('Who', h('b', {}, people.some(finding.culprits, 6))) : null,
      where.length ? fact('Where', where) : null,
      finding.victims?.length ? fact('Whom it hits', people.some(finding.victims, 6)) : null,
      finding.severity_percent != null
        ? fact(
            'How much',
            `${time(finding.weight_ns)}: ${percent(finding.severity_percent)} of the ` + "threads' time, all together",
          )
        : null,
      fact('It would give', gainOf(finding, run)),
      fact('How sure', surety(finding)[0] + ofProbes(finding, report), reported(finding, report, people)),
      finding.kind === 'small_messages' ? smallMessages(finding, report, people) : null,
      finding.kind === 'outlier_iterations' ? fact('What grew', grew(people, report, finding)) : null,
      regular(finding) ? fact('How regular', regular(finding)) : null,
      evidenceOf(app, people, finding, data),
      nextOf(finding.kind) ? fact('What next', nextOf(finding.kind, where.length > 0)) : null,
    ),
    symptoms(finding),
  );
}

/** What all of them would give, as it was simulated; of gains that are bounds nobody knows whether they overlap. */
function together({ gains: all }, n) {
  if (n < 2) return null;
  const others =
    n > (all?.findings.length ?? 0)
      ? `Whether the ${all ? 'other ' : ''}gains are of the same time, so that they do not add up, is not known.`
      : null;
  return h('p', { class: 'together' }, [all && `${all.text.replace(/\.?$/, '.')}`, others].filter(Boolean).join(' '));
}

/** Those without a figure, of one kind, are one card. */
function inCards(findings) {
  const cards = [];
  findings.forEach((finding, i) => {
    const last = cards[cards.length - 1];
    if (last && finding.kind === 'unreturned' && last[0].kind === finding.kind) last.push(finding);
    else cards.push(Object.assign([finding], { number: i + 1 }));
  });
  return cards;
}

function shortCard(findings) {
  return h(
    'li',
    { class: 'finding', 'data-kind': findings[0].kind },
    h(
      'h3',
      {},
      `${findings.number}${findings.length > 1 ? `–${findings.number + findings.length - 1}` : ''}. ` +
        `${kindTitle(findings[0].kind)}`,
    ),
    findings.map(({ text }) => h('p', { class: 'sentence' }, text)),
    h('p', { class: 'muted' }, nextOf(findings[0].kind)),
  );
}

/** What is said where nothing was found, and what that is worth. */
function nothing(report, all) {
  const there = lookedFor.filter(([, key]) => report[key] !== null).map(([words]) => words);
  const not = lookedFor.filter(([, key]) => report[key] === null).map(([words]) => words);
  const lossy = report.wait_states?.lossy_processes;
  if (!report.loss?.calls) return [h('p', { class: 'sentence' }, 'No call was observed.')];
  return [
    h(
      'p',
      { class: 'sentence' },
      h('b', {}, `Nothing stands out${all.length ? ' in what was observed' : ''}`),
      `: no event (tasks aside) takes ${HOT} % of the threads' time, and no thread was found that the others wait for.`,
    ),
    h('p', {}, 'Looked for: ', there.join('; '), '.'),
    lossy
      ? h('p', {}, `Of ${several(lossy, 'process', 'processes')} calls are missing: for whom these wait is not known.`)
      : null,
    not.length
      ? h('p', {}, 'Not looked for, as this recording does not have what it takes: ', not.join('; '), '.')
      : null,
    h(
      'p',
      { class: 'muted' },
      'That is so for the time that was observed, and for what was observed: ',
      h('a', { href: '#unseen' }, 'what was not seen'),
      '.',
    ),
  ];
}

/** What a reader must know before he trusts the figures. */
function cautions(report) {
  const { loss = {}, threads = [], recording } = report;
  const wall = threads.reduce((sum, thread) => sum + thread.wall_ns, 0);
  const cost = threads.reduce((sum, thread) => sum + (thread.cost_ns ?? 0), 0);
  const missing = (loss.calls ?? 0) - (loss.delivered ?? 0);
  const lines = [];
  if (loss.lost)
    lines.push(
      `${count(loss.lost)} of ${several(loss.calls, 'call')} were lost from the timeline ` +
        `(${part(loss.lost, loss.calls)}); sums have them as far as the kernel counted them.`,
    );
  if (missing > loss.lost)
    lines.push(`${several(missing - loss.lost, 'call')} were summed up or only counted, to keep the cost low.`);
  if (wall && cost > wall / 20)
    lines.push(`Observing took ${part(cost, wall)} of the threads' time: short calls look longer than they are.`);
  if (recording.finished === false) lines.push('The recording is cut: its end is missing.');
  if (recording.only_sums) lines.push('This recording has only sums, and no single calls.');
  if (report.blind_windows?.length)
    lines.push(`${several(report.blind_windows.length, 'time')} a process was not seen for a while.`);
  if (report.not_observable?.length)
    lines.push(`${several(report.not_observable.length, 'event')} cannot be observed here, or only in part.`);
  if (report.withdrawn?.length) lines.push('Some functions were not observed to the end.');
  if (report.controls?.length) lines.push('Measurement was switched off for a while.');
  return [
    h(
      'p',
      { class: 'cost' },
      loss.lost || missing ? null : `No call was lost (${several(loss.calls ?? 0, 'call')}). `,
      wall ? `The probes took about ${part(cost, wall, 2)} of the threads' time. ` : null,
      h('a', { href: '#unseen' }, 'What was not seen'),
      '.',
    ),
    lines.length
      ? h(
          'ul',
          { class: 'notice cautions' },
          lines.map((text) => h('li', {}, text)),
        )
      : null,
  ];
}

export const findings = {
  id: 'findings',
  title: 'Findings',
  needs: () => true,
  render(section, data, app) {
    const { report } = data;
    const people = new People(report);
    const all = report.findings ?? [];
    const causes = all.filter(({ kind }) => kind !== 'unmodelled'),
      rest = all.filter(({ kind }) => kind === 'unmodelled');
    const cards = inCards(causes).map((list) =>
      list[0].kind === 'unreturned' ? shortCard(list) : card(app, people, list[0], list.number, data),
    );
    const parts = [
      cautions(report),
      causes.length
        ? h(
            'p',
            { class: 'intro' },
            'What stands out: causes first, and among them what could give most. A click on a ' +
              'time shows it in the timeline.',
          )
        : null,
      causes.length ? h('ol', { class: 'findings' }, cards.slice(0, SHOWN)) : nothing(report, all),
      cards.length > SHOWN
        ? details(`${several(cards.length - SHOWN, 'more finding')}`, () =>
            h('ol', { class: 'findings' }, cards.slice(SHOWN)),
          )
        : null,
      together(report, gains(causes, report.recording.end_ns - report.recording.start_ns)),
      rest.map((finding) => h('p', { class: 'notice' }, finding.text)),
    ];
    section.append(
      h(
        'div',
        { class: 'first' },
        h('div', {}, parts),
        report.threads?.length ? brief(app, people, report.threads) : null,
      ),
    );
  },
};
