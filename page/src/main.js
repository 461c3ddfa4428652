// SPDX-License-Identifier: BSD-2-Clause
// The page: the first screen from `facts` and `report` at once, the rest when it is loaded.
import 'uplot/dist/uPlot.min.css';
import './style.css';
import './timeline.css';
import './views.css';
import { loadFirst, loadRest } from './data.js';
import { element, pause, plain } from './dom.js';
import * as format from './format.js';
import { gistOf } from './gists.js';
import { startLive } from './live.js';
import { findingsOf, inOrder, Sections } from './sections.js';
import { views } from './views.js';

/**
 * What views have of each other:
 *   app.goto(lane, startNs, endNs)   shows that time in the timeline, and its lane; ns since the recording's start
 *   app.gotoInstance({ pid, tid, start_ns, end_ns })   the same with the report's own figures
 *   app.gotoLane(lane), app.gotoThread({ pid, tid })   shows a lane as a whole; the first one of a thread
 *   app.reveal(id), app.openAll()    opens a section, or all
 *   app.select(call)                 shows a call by its index, as a click on it does
 *   app.lane(pid, tid)               index of the (first) lane of a thread; -1
 *   app.say(text)                    tells it to those who listen (aria-live)
 *   app.theme(), app.onTheme(act)    'light' or 'dark'; act when it changes (canvases have to be drawn anew), until what
 *                                    onTheme() returns is called
 *   app.colour(name)                 of a group of facts.groups, 'outside', 'not_seen', or any --NAME of style.css
 *   app.swatch(name)                 a small square of that colour, to stand before its name
 *   app.format                       format.js: time, moment, count, bytes, percent, option
 *   app.loaded                       a promise: calls, bins, arrows and path are there (also where there are none);
 *   app.failed                       or this one, with the error, and the first never
 */
const app = { format };

app.say = (text) => { document.getElementById('live').textContent = text; };

const dark = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set();
app.theme = () => document.documentElement.dataset.theme ?? (dark.matches ? 'dark' : 'light');
app.onTheme = (act) => {
  listeners.add(act);
  return () => listeners.delete(act);
};
app.colour = (name) => {
  const style = getComputedStyle(document.documentElement);
  return (style.getPropertyValue(`--group-${name.replaceAll('_', '-')}`) || style.getPropertyValue(`--${name}`)).trim();
};

app.swatch = (name) => {
  const square = element('i', { class: 'swatch', 'aria-hidden': 'true' });
  square.style.background = `var(--group-${name.replaceAll('_', '-')}, var(--group-other))`;
  return square;
};

function themeChanged() {
  for (const act of listeners) act(app.theme());
}

function offerThemes() {
  const button = document.getElementById('theme');
  dark.addEventListener('change', themeChanged);
  button.addEventListener('click', () => {
    document.documentElement.dataset.theme = app.theme() === 'dark' ? 'light' : 'dark';
    app.say(`colours: ${app.theme()}`);
    themeChanged();
  });
  // Paper is white.
  let before;
  addEventListener('beforeprint', () => {
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = 'light';
    themeChanged();
  });
  addEventListener('afterprint', () => {
    if (before) document.documentElement.dataset.theme = before;
    else delete document.documentElement.dataset.theme;
    themeChanged();
  });
}

/** What the job is, how long it was watched, where. */
function head({ facts, report }) {
  const { recording, threads = [], processes } = report;
  const first = processes?.[0]?.command ?? facts.lanes[0]?.process ?? facts.recording ?? 'a job';
  const ranks = new Set(threads.filter((thread) => thread.rank != null).map((thread) => thread.rank)).size;
  const pids = new Set(threads.map((thread) => thread.pid)).size;
  document.title = `${plain(facts.recording ?? first)} – gaspbpf`;
  document.getElementById('job').textContent = plain(first);
  const parts = [
    `watched for ${format.time(facts.end_ns - facts.start_ns)}`,
    recording.host && `on ${plain(recording.host)}`,
    ranks > 1 ? `${format.count(ranks)} ranks` : null,
    `${format.count(pids)} ${pids === 1 ? 'process' : 'processes'}`,
    `${format.count(threads.length)} ${threads.length === 1 ? 'thread' : 'threads'}`,
    `${format.count(facts.calls.all)} calls`,
    recording.start_realtime_ns && `begun ${new Date(recording.start_realtime_ns / 1e6).toISOString().slice(0, 19)}Z`,
    recording.finished === false && 'the recording is cut',
  ];
  document.getElementById('about-job').textContent = parts.filter(Boolean).join(' · ');
}

async function render(view, section, data) {
  try {
    await view.render(section, data, app);
  } catch (error) {
    section.append(element('p', { class: 'notice' }, `This section could not be drawn: ${error.message}`));
    console.error(error);
  }
}

/** Sections that the data have something for, in order. Only the first ones count for the first screen. */
async function renderAll(data, sections) {
  const shown = inOrder(views, sections.found)
    .map((view) => [view, view.needs ? view.needs(data) : true])
    .filter(([, needed]) => needed)
    .map(([view, needed]) => [view, sections.add(view, plain(needed === true ? gistOf(view, data) : '')), needed]);
  sections.done();
  for (const [at, [view, section, needed]] of shown.entries()) {
    if (typeof needed === 'string') section.append(element('p', { class: 'absent' }, needed));
    else if (view.late) app.loaded.then(() => render(view, section, data));
    else await render(view, section, data);
    if (at > 1) await pause();
  }
}

/** What is there of the page stays. */
function complain(text) {
  document.getElementById('main').prepend(element('p', { class: 'notice', role: 'alert' }, text));
}

const parsed = () => new Promise((go) => {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', go, { once: true });
  else go();
});

async function start() {
  if (document.getElementById('gaspbpf-live')) {
    offerThemes();
    return startLive(app);
  }
  const data = await loadFirst();
  if (!data)
    return complain("This page has no recording in it: 'gaspbpf export run.gasp -o run.html' makes one that has.");
  const sections = new Sections(app, findingsOf(data.report));
  offerThemes(); // after the sections: on paper these are opened before charts are drawn anew
  const lanes = new Map();
  data.facts.lanes.forEach((lane, at) => {
    const thread = data.report.threads?.[lane.thread];
    if (thread && !lanes.has(`${thread.pid}/${thread.tid}`)) lanes.set(`${thread.pid}/${thread.tid}`, at);
  });
  app.lane = (pid, tid) => lanes.get(`${pid}/${tid}`) ?? -1;
  app.gotoInstance = ({ pid, tid, start_ns: from, end_ns: to }) =>
    app.goto(app.lane(pid, tid), from - data.facts.start_ns, to - data.facts.start_ns);
  app.gotoThread = ({ pid, tid }) => app.gotoLane(app.lane(pid, tid));
  app.goto = app.gotoLane = app.select = () => {};
  let loaded, failed;
  app.loaded = new Promise((go) => { loaded = go; });
  app.failed = new Promise((go) => { failed = go; });
  app.failed.then((error) => complain(error.message));
  head(data);
  const first = renderAll(data, sections);
  parsed().then(() => loadRest(data)).then(loaded, failed);
  await first;
  document.documentElement.dataset.ready = 'first';
  await app.loaded;
  document.documentElement.dataset.ready = 'all';
}

// For those who look at the page from a console, and for its tests.
window.gaspbpfPage = app;

start().catch((error) => { complain(error.message); console.error(error); });
