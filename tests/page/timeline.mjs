// SPDX-License-Identifier: BSD-2-Clause
// The timeline in a browser, by clicks and keys: prints what was seen as JSON; test_page_browser.py says what must be.
//
//   node timeline.mjs chrome|firefox PAGE.html FOLDER      PAGE.html is build/page/page.html, pages are made in FOLDER
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch } from '../../page/dev/browser.mjs';
import { makeJob, pageOf } from '../../page/dev/sample.mjs';

const [, , which, shell, folder] = process.argv;
const text = readFileSync(shell, 'utf8');
const seen = { requests: [], errors: [], dialogs: 0 };
let watched = true; // not while a page is made to do what it may not

const put = (name, html) => {
  const path = join(folder, `${which}-${name}.html`);
  writeFileSync(path, html);
  return `file://${path}`;
};

async function open(browser, url, ready = 'timeline') {
  const page = await browser.newPage();
  await page.setViewport({ width: 1400, height: 1000 });
  page.on('dialog', (dialog) => {
    seen.dialogs++;
    dialog.dismiss().catch(() => {});
  });
  page.on('pageerror', (error) => {
    if (watched) seen.errors.push(String(error.message));
  });
  // Firefox shows its own icons on a page's behalf, from data in the program itself.
  page.on('request', (request) => {
    if (watched && request.url() !== url && !request.url().startsWith('data:')) seen.requests.push(request.url());
  });
  await page.goto(url);
  if (ready)
    await page.waitForFunction((key) => document.documentElement.dataset[key] !== undefined, { timeout: 60000 }, ready);
  return page;
}

const timeline = (page, act, ...args) =>
  page.evaluate(`(${act})(window.gaspbpfPage.timeline, ...${JSON.stringify(args)})`);
const until = (page, is, ...args) =>
  page.waitForFunction(`(${is})(window.gaspbpfPage.timeline, ...${JSON.stringify(args)})`, { timeout: 30000 });
const view = (page) => timeline(page, (t) => ({ from: t.from, to: t.to, selected: t.selected, lane: t.lane }));
const panel = (page) => page.$eval('.tl-panel', (one) => one.innerText);
const drawn = (page) =>
  page.evaluate(() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go))));

/** Where a time of a lane is in the window: its first row. */
const spot = (page, lane, time) =>
  timeline(
    page,
    (t, at, ns) => {
      const { left, top } = t.canvas.getBoundingClientRect(),
        place = t.layout.lanes[at];
      return {
        x: left + ((ns - t.from) / (t.to - t.from)) * t.width,
        y: top + place.y - t.scroller.scrollTop + place.rowHeight / 2,
      };
    },
    lane,
    time,
  );

/** The colour of the picture there, as [r, g, b]. */
const colourAt = (page, { x, y }) =>
  timeline(
    page,
    (t, left, top) => {
      const box = t.canvas.getBoundingClientRect();
      return [
        ...t.canvas.getContext('2d').getImageData((left - box.left) * t.ratio, (top - box.top) * t.ratio, 1, 1).data,
      ].slice(0, 3);
    },
    x,
    y,
  );

/** Other sections stand above it. */
const showTimeline = (page) => page.evaluate(() => document.querySelector('.tl').scrollIntoView({ block: 'center' }));

async function byMouse(page, { planted, facts }) {
  await showTimeline(page);
  const middle = planted.start + planted.duration / 2;
  const at = await spot(page, planted.lane, middle);
  await page.mouse.move(at.x, at.y);
  await drawn(page);
  const out = { hover: await page.$eval('.tl-tip', (one) => one.innerText) };
  await page.mouse.click(at.x, at.y);
  Object.assign(out, {
    panel: await panel(page),
    selected: (await view(page)).selected,
    live: await page.$eval('#live', (one) => one.textContent),
  });
  await page.mouse.click(at.x, at.y, { count: 2 });
  out.fit = await view(page);
  await page.click('.tl-bar > span:nth-child(3) button:nth-child(1)'); // no arrows over what is looked at
  await page.evaluate(() => window.gaspbpfPage.timeline.clear());
  await drawn(page);
  const centre = await spot(page, planted.lane, middle),
    lock = facts.groups.indexOf('lock') + 1;
  const quiet = { x: centre.x + 40, y: centre.y + 5 }; // where no letters are
  out.shown = await colourAt(page, quiet);
  await page.click(`.tl-legend button:nth-child(${lock})`);
  await drawn(page);
  out.hidden = await colourAt(page, quiet);
  await page.click(`.tl-legend button:nth-child(${lock})`);
  // A part of it: all of that time is the lock's, in this lane.
  await page.keyboard.down('Shift');
  await page.mouse.move(centre.x - 100, centre.y);
  await page.mouse.down();
  await page.mouse.move(centre.x, centre.y, { steps: 3 });
  await page.mouse.move(centre.x + 100, centre.y, { steps: 3 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  out.range = await timeline(page, (t) => t.range);
  out.lanes = await page.$$eval('.tl-split thead th', (heads) => heads.slice(3).map((one) => one.textContent));
  out.split = await page.$$eval('.tl-split tbody tr', (rows) =>
    rows.map((row) => [...row.children].map((one) => one.textContent.trim())),
  );
  const before = await view(page);
  await page.mouse.move(centre.x, centre.y);
  await page.mouse.down();
  await page.mouse.move(centre.x + 60, centre.y, { steps: 4 });
  await page.mouse.up();
  const after = await view(page);
  out.dragged = ((before.from - after.from) / (after.to - after.from)) * (await timeline(page, (t) => t.width));
  // The wheel alone leaves the time as it is; with Ctrl it zooms around the pointer.
  await page.mouse.wheel({ deltaY: 60 });
  await until(page, (t) => t.told === 1); // who wanted to zoom is told how
  out.wheel = [after, await view(page)];
  await showTimeline(page);
  await page.keyboard.down('Control');
  await page.mouse.wheel({ deltaY: -120 });
  await until(page, (t, span) => t.to - t.from < span, after.to - after.from);
  await page.keyboard.up('Control');
  await until(page, (t) => t.command.code.textContent.includes(`--from ${Math.floor(t.from)}ns`));
  out.zoomed = await view(page);
  out.command = await page.$eval('.tl-note code', (one) => one.textContent);
  return out;
}

async function byKeys(page) {
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await page.evaluate(() => document.activeElement.blur());
  await press('/');
  const out = { slash: await page.evaluate(() => document.activeElement.id) };
  await page.keyboard.type('longest mutex');
  await press('Enter');
  await page.waitForFunction(() => / of /.test(document.querySelector('.tl-matches').textContent), {
    timeout: 20000,
  });
  out.matches = await page.$eval('.tl-matches', (one) => one.textContent);
  out.found = await view(page);
  out.focus = await page.evaluate(() => document.activeElement.className);
  await press('.');
  out.goesOn = await page.$eval('.tl-matches', (one) => one.textContent);
  await press(',');
  await press('p');
  out.before = await view(page);
  await press('n');
  out.again = await view(page);
  out.panel = await panel(page);
  await press('0', 'ArrowDown');
  out.below = await view(page);
  await press('Escape');
  out.empty = await page.evaluate(() => [
    document.querySelector('#tl-search').value,
    document.querySelector('.tl-matches').textContent,
  ]);
  await press('ArrowUp', '0', 'w', 'w', 'd');
  out.moved = await view(page);
  await press('Home');
  out.home = await view(page);
  await press('End', 'Enter', 'Enter');
  out.entered = await view(page);
  await press('Escape');
  out.cleared = await view(page);
  await page.$eval('#tl-search', (one) => {
    one.value = '';
  });
  await page.type('#tl-search', '"peer=3 bytes=64 tag=3" isend');
  await page.waitForFunction(() => /found|none/.test(document.querySelector('.tl-matches').textContent), {
    timeout: 20000,
  });
  out.words = await page.$eval('.tl-matches', (one) => one.textContent);
  await press('Enter');
  await page.$eval('#tl-search', (one) => {
    one.value = '';
  });
  await page.type('#tl-search', 'no-such-call');
  await press('Enter');
  await page.waitForFunction(() => /none/.test(document.querySelector('.tl-matches').textContent), { timeout: 20000 });
  out.none = [await panel(page), (await view(page)).selected, await page.evaluate(() => document.activeElement.id)];
  return out;
}

/** A call is selected, then a time, by links, then what stands in the middle of it. */
async function byLinks(page, { planted }) {
  const { lane, start, duration } = planted;
  const go = async (from, to) => {
    await timeline(page, (t, ...where) => t.goto(...where), lane, from, to);
    await drawn(page);
  };
  await go(start, start + duration);
  const out = { call: await view(page) };
  await go(start + duration + 1000.5, start + duration + 1e6);
  Object.assign(out, { range: await view(page), panel: await panel(page) });
  await page.keyboard.press('Enter');
  Object.assign(out, { entered: await view(page), after: await panel(page) });
  // As links of places do (make.js): the first one is shown at once.
  await page.$eval('#tl-search', (one) => {
    one.value = '"mutex" longest';
    one.dispatchEvent(new Event('find'));
  });
  await until(page, (t) => t.found?.at === 0);
  return Object.assign(out, { sought: await view(page) });
}

/** What is between calls, by a click; a lane, by its name; what was found, when something else is selected or typed. */
async function besideCalls(page, { planted, facts }) {
  const end = planted.start + planted.duration;
  await timeline(page, (t, at) => t.show(at - 2000, at + 3000), end);
  await timeline(page, (t, at) => t.scrollToLane(at), planted.lane);
  await showTimeline(page);
  await drawn(page);
  const at = await spot(page, planted.lane, end + 250);
  await page.mouse.click(at.x, at.y);
  const out = { gap: await panel(page), live: await page.$eval('#live', (one) => one.textContent) };
  out.between = await timeline(page, (t) => t.gap);
  await page.evaluate(() =>
    [...document.querySelectorAll('.tl-panel button')].find((one) => one.textContent === 'select').click(),
  );
  out.before = await view(page);
  await page.focus('.tl-scroll');
  await page.keyboard.press('g');
  out.byKey = await timeline(page, (t) => t.gap);
  const name = await spot(page, planted.lane + 1, end);
  const left = await page.$eval('.tl-names', (one) => one.getBoundingClientRect().left);
  await page.mouse.click(left + 60, name.y);
  Object.assign(out, {
    lane: await panel(page),
    heads: await page.$$eval('.tl-split thead th', (heads) => heads.map((one) => one.textContent)),
    name: facts.lanes[planted.lane + 1].name,
    gone: await timeline(page, (t) => t.gap),
  });
  await page.$eval('#threads .goto', (one) => one.click());
  await drawn(page);
  Object.assign(out, { thread: await panel(page), whole: await view(page), first: facts.lanes[0].name });
  // What was found, and how many, is of the text that stands there and of what is selected.
  const found = () => page.$eval('.tl-matches', (one) => one.textContent);
  await page.$eval('#tl-search', (one) => {
    one.value = '';
  });
  await page.type('#tl-search', 'mutex');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => / of /.test(document.querySelector('.tl-matches').textContent));
  out.found = [await found()];
  await page.focus('.tl-scroll');
  await page.keyboard.press('n');
  out.found.push(await found());
  await page.keyboard.press('.');
  out.found.push(await found());
  out.stale = await page.$eval('#tl-search', (one) => {
    one.value = 'mutexes';
    one.dispatchEvent(new Event('input'));
    return [document.querySelector('.tl-matches').textContent, window.gaspbpfPage.timeline.found];
  });
  await page.keyboard.press('Escape');
  return out;
}

/** Arguments that are longer than what stands below the timeline is high. */
async function longWords(browser) {
  const job = makeJob({ lanes: 2, calls: 500, leftOut: 100 });
  job.facts.words = job.facts.words.map((text, i) =>
    i ? `first=${i} ${'more=0123456789 '.repeat(400)}last=${i}` : '',
  );
  const page = await open(browser, put('long', pageOf(job, text)));
  await showTimeline(page);
  const below = () => page.$eval('.tl-keys', (one) => one.getBoundingClientRect().top);
  const top = await below();
  const words = await timeline(page, (t) => {
    const i = t.data.calls.word.findIndex((word) => word > 0);
    t.select(i, false);
    return t.data.facts.words[t.data.calls.word[i]];
  });
  const out = { moved: (await below()) - top, words, panel: await panel(page) };
  await page.focus('.tl-panel');
  await page.keyboard.press('End');
  await page.waitForFunction(() => {
    const one = document.querySelector('.tl-panel');
    return one.scrollTop > 0 && one.scrollTop + one.clientHeight >= one.scrollHeight - 2;
  });
  out.style = await page.$eval('.tl-panel', (one) => getComputedStyle(one).overflowY);
  await page.close();
  return out;
}

/** Names with markup in them, in all places that show any; then what the page may do at all. */
async function hostile(browser) {
  const job = makeJob({ lanes: 4, calls: 2000, leftOut: 3000, hostile: true });
  const page = await open(browser, put('hostile', pageOf(job, text)));
  await showTimeline(page);
  const { x, y } = await spot(page, 1, job.planted.start + job.planted.duration / 2);
  await page.mouse.move(x, y);
  await page.mouse.click(x, y);
  await page.type('#tl-search', '<img');
  await page.waitForFunction(() => /found|none/.test(document.querySelector('.tl-matches').textContent), {
    timeout: 20000,
  });
  await page.keyboard.press('Enter');
  await drawn(page);
  const matches = await page.$eval('.tl-matches', (one) => one.textContent);
  await page.$eval('#tl-search', (one) => {
    one.value = '';
  });
  await page.type('#tl-search', 'gnp.exe');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /gnp/.test(document.querySelector('.tl-panel').innerText), { timeout: 20000 });
  const out = await page.evaluate(() => ({
    images: document.querySelectorAll('img').length,
    scripts: document.querySelectorAll('script').length,
    title: document.title,
    panel: document.querySelector('.tl-panel').innerText,
    marks: /[\u202a-\u202e\u0000-\u0008]/.test(document.body.innerText),
  }));
  Object.assign(out, { matches, job: await page.$eval('#job', (one) => one.textContent) });
  watched = false;
  out.policy = await page.evaluate(async () => {
    const broken = [];
    document.addEventListener('securitypolicyviolation', (event) => broken.push(event.effectiveDirective));
    await fetch('https://localhost:9/').catch(() => {});
    const script = document.createElement('script');
    script.textContent = 'window.wasRun = true';
    document.body.append(script);
    const image = document.createElement('img');
    image.src = 'https://localhost:9/x.png';
    document.body.append(image);
    for (let k = 0; k < 100 && broken.length < 3; k++) await new Promise((go) => setTimeout(go, 50));
    return { broken: broken.sort(), ran: window.wasRun === true };
  });
  await page.close();
  watched = true;
  return out;
}

/** Made without a recording that is kept: nothing can be exported from it. */
async function notKept(browser) {
  const job = makeJob({ lanes: 2, calls: 500, leftOut: 100 });
  job.facts.recording = null;
  job.facts.groups = [...job.facts.groups, 'never']; // no event of it
  const page = await open(browser, put('gone', pageOf(job, text)));
  await timeline(page, (t) => t.goto(0, 1000, 5000.5));
  await page.waitForFunction(() => /in view/.test(document.querySelector('.tl-note').textContent));
  const out = {
    title: await page.title(),
    note: await page.$eval('.tl-note', (one) => one.textContent),
    panel: await panel(page),
    legend: await page.$eval('.tl-legend', (one) => one.innerText),
    text: await page.evaluate(() => document.body.innerText),
  };
  await page.close();
  return out;
}

async function spoilt(browser) {
  const job = makeJob({ lanes: 2, calls: 500, leftOut: 0 });
  const cut = await open(
    browser,
    put('cut', pageOf({ ...job, calls: job.calls.subarray(0, job.calls.length >> 1) }, text)),
    'ready',
  );
  await cut.waitForSelector('[role="alert"]', { timeout: 20000 });
  const out = {
    cut: await cut.$eval('[role="alert"]', (one) => one.textContent),
    job: await cut.$eval('#job', (one) => one.textContent),
  };
  await cut.close();
  const empty = await open(browser, put('empty', text), null);
  await empty.waitForSelector('[role="alert"]', { timeout: 20000 });
  out.empty = await empty.$eval('[role="alert"]', (one) => one.textContent);
  await empty.close();
  return out;
}

const browser = await launch(which);
try {
  const job = makeJob({ lanes: 8, calls: 12000, leftOut: 20000 });
  const { planted, counts, facts } = job;
  Object.assign(seen, { planted, counts, length: facts.end_ns - facts.start_ns, words: facts.words[7] });
  const page = await open(browser, put('job', pageOf(job, text)));
  const wide = () =>
    timeline(page, (t) => [t.canvas.getBoundingClientRect().right - t.box.getBoundingClientRect().left, t.app.theme()]);
  seen.paper = [await wide()];
  for (const event of ['beforeprint', 'afterprint']) {
    await page.evaluate((name) => window.dispatchEvent(new Event(name)), event);
    seen.paper.push(await wide());
  }
  seen.mouse = await byMouse(page, job);
  seen.keys = await byKeys(page, job);
  seen.links = await byLinks(page, job);
  seen.beside = await besideCalls(page, job);
  await page.close();
  seen.long = await longWords(browser);
  seen.hostile = await hostile(browser);
  seen.gone = await notKept(browser);
  seen.spoilt = await spoilt(browser);
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
