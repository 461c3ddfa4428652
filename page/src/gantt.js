// SPDX-License-Identifier: BSD-2-Clause
// Tasks by worker over time: a timeline whose lanes are workers and whose bars are tasks, in the colours of their
// kinds. What a task's history was, stands below it.
import { element, fill, plain } from './dom.js';
import * as format from './format.js';
import { People } from './people.js';
import { Timeline } from './timeline.js';
import { leftOutAt } from './timeline_calls.js';
import { button, laneOf, row } from './timeline_panel.js';
import { queueAt, queueText } from './timeline_queues.js';

/** Can be told apart on light and dark; the last is of all kinds together that have little time. */
const COLOURS = [
  '#0072b2',
  '#d55e00',
  '#009e73',
  '#cc79a7',
  '#e69f00',
  '#56b4e9',
  '#c9b800',
  '#7b4bb3',
  '#a65628',
  '#4c8c2b',
  '#2f4b7c',
  '#8a929b',
];

const TERMS = {
  id: 'gantt',
  one: 'task',
  many: 'tasks',
  outside: 'in no task',
  none: 'No task',
  find: 'kind, line, worker, >1ms, longest',
  label: 'Find tasks by kind, the line that submits them, worker, or the longest',
  selected: 'What is selected of the tasks',
  legend: 'Kinds of tasks: shown or hidden',
};

const kindOf = ({ facts, calls }, i) => plain(facts.events[calls.event[i]].name);
const lineOf = ({ facts, calls }, i) => (calls.site[i] ? plain(facts.sites[calls.site[i] - 1]) : null);

/** How long before its begin it was submitted, and ready; null: that was not seen. */
export const historyOf = ({ calls }, i) => ({
  submitted: calls.submitted[i] ? calls.submitted[i] - 1 : null,
  ready: calls.ready[i] ? calls.ready[i] - 1 : null,
  by: calls.by[i] ? calls.by[i] - 1 : null,
});

/** In words: what it waited for before it began. */
export function historyWords(data, i) {
  const { submitted, ready } = historyOf(data, i);
  const words = [];
  if (submitted != null) words.push(`submitted ${format.time(submitted)} before`);
  if (ready != null) words.push(`ready ${format.time(ready)} before`);
  return words.join(', ') || 'what was before is not known';
}

/** Of all of its kind that are in the page or in sums: how many, and their mean. */
function likeIt({ facts, calls }, i) {
  const { tasks, time_ns: time } = facts.kinds[calls.event[i]];
  const mean = time / tasks;
  const times = mean > 0 ? calls.duration[i] / mean : null;
  return (
    `${format.count(tasks)} of this kind, ${format.time(mean)} on average` +
    (times ? `: this one took ${times.toFixed(times < 10 ? 2 : 0)} times that` : '')
  );
}

function rows(data, i, app, people) {
  const { facts, calls, report } = data;
  const lane = facts.lanes[laneOf(data, i)];
  const { submitted, ready, by } = historyOf(data, i);
  const length = facts.length,
    begin = calls.start[i];
  const moment = (ns) => format.moment(ns, 1, length);
  const queue = queueAt(data.queues, laneOf(data, i), begin + calls.duration[i] / 2);
  return [
    row('Took', format.time(calls.duration[i])),
    row('Like it', likeIt(data, i)),
    row('Worker', plain(lane.name)),
    row('Process', plain(lane.process)),
    row('Began', `${moment(begin)} into the recording`),
    row(
      'Submitted',
      submitted == null
        ? 'not seen'
        : `at ${moment(begin - submitted)}, ${format.time(submitted)} before it began` +
            (lineOf(data, i) ? `, at ${lineOf(data, i)}` : ''),
    ),
    submitted != null && ready != null
      ? row('Waited for others', `${format.time(Math.max(0, submitted - ready))}, for tasks before it`)
      : null,
    row(
      'Ready',
      ready == null
        ? 'not seen'
        : `at ${moment(begin - ready)}, ${format.time(ready)} before it began` +
            (by != null && report.threads[by] ? `, made so by ${plain(people.thread(report.threads[by]))}` : ''),
    ),
    queue ? row('CPU', `the thread ${queueText(queue)}: some of the task's time may be that`) : null,
    row('Ended', calls.end[i] ? 'not before the recording did' : 'returned'),
  ].filter(Boolean);
}

class Gantt extends Timeline {
  sentenceOf(i) {
    const { facts, calls } = this.data;
    return (
      `${kindOf(this.data, i)}, ${format.time(calls.duration[i])}, ${plain(facts.lanes[laneOf(this.data, i)].name)}, ` +
      `at ${format.moment(calls.start[i], 1000, facts.length)}, ${historyWords(this.data, i)}`
    );
  }

  hintsOf(lane, time, i) {
    const { facts, bins } = this.data,
      lines = [];
    if (i >= 0) {
      lines.push(`${kindOf(this.data, i)}  ${format.time(this.data.calls.duration[i])}`);
      lines.push(historyWords(this.data, i));
      if (lineOf(this.data, i)) lines.push(`submitted at ${lineOf(this.data, i)}`);
    }
    const k = leftOutAt(bins, lane, facts.length, time);
    if (k >= 0)
      lines.push(
        `${format.count(bins.lanes[lane].count[k])} tasks shorter than ${format.time(facts.calls.shorter_than_ns)} ` +
          `here are not in this file, mostly ${plain(facts.events[bins.lanes[lane].event[k]]?.name)}`,
      );
    if (!lines.length) lines.push(TERMS.outside);
    const queue = queueAt(this.data.queues, lane, time);
    if (queue) lines.push(queueText(queue));
    lines.push(plain(facts.lanes[lane].name));
    return lines;
  }

  showCall(i) {
    const { data, app } = this,
      { calls, facts } = data;
    const lane = facts.lanes[laneOf(data, i)];
    const inThreads = () =>
      app.gotoInstance({
        ...data.report.threads[lane.thread],
        start_ns: facts.start_ns + calls.start[i],
        end_ns: facts.start_ns + calls.start[i] + calls.duration[i],
      });
    fill(
      this.panel,
      element(
        'header',
        {},
        element('h3', {}, kindOf(data, i)),
        element(
          'p',
          { class: 'tl-buttons' },
          button('As wide as fits', () => this.fit(i)),
          lane.thread == null ? null : button('In the timeline', inThreads, 'this time of the thread in the timeline'),
          button('Before', () => this.step(-1), 'the task before on this worker'),
          button('Next', () => this.step(1), 'the next task on this worker'),
          button('Close', () => this.clear(), 'nothing selected'),
        ),
      ),
      element('dl', {}, rows(data, i, app, new People(data.report))),
    );
  }
}

/** The tasks of the page as a timeline's data; lanes are named by their workers. */
function timelineOf(data) {
  const { facts, calls, bins } = data.tasks;
  const several = new Set(facts.lanes.map(({ process }) => process)).size > 1;
  return {
    report: data.report,
    calls,
    bins,
    arrows: null,
    path: null,
    facts: {
      ...facts,
      recording: data.facts.recording,
      terms: TERMS,
      lanes: facts.lanes.map((lane) => ({
        ...lane,
        name: lane.worker == null ? lane.name : `worker ${lane.worker}${several ? '' : ` (${lane.name})`}`,
      })),
    },
  };
}

/** Into a section; app.gantt is it. */
export function gantt(section, data, app) {
  const own = Object.create(app);
  const { groups } = data.tasks.facts;
  own.groupColour = (name, g) => COLOURS[g];
  own.swatch = (name) => {
    const at = groups.indexOf(name);
    if (at < 0) return app.swatch(name);
    const square = element('i', { class: 'swatch', 'aria-hidden': 'true' });
    square.style.background = COLOURS[at];
    return square;
  };
  const made = (own.timeline = app.gantt = new Gantt(section, timelineOf(data), own));
  return made.load();
}
