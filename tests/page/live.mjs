// SPDX-License-Identifier: BSD-2-Clause
// The page of `gaspbpf watch` in a browser: prints what was seen as JSON; test_page_watch.py says what must be.
//
//   node live.mjs chrome|firefox URL
//
// A line on standard input is waited for before it waits for the end of the job.
import { once } from 'node:events';
import { launch } from '../../page/dev/browser.mjs';

const [, , which, url] = process.argv;
const seen = { requests: [], errors: [] };
const browser = await launch(which);
const page = await browser.newPage();
page.on('pageerror', (error) => seen.errors.push(String(error.message)));
page.on('request', (request) => {
  if (!request.url().startsWith('data:')) seen.requests.push(request.url());
});

const ready = (what) =>
  page.waitForFunction((to) => document.documentElement.dataset.ready === to, { timeout: 60000 }, what);
const rows = (name) =>
  page.$$eval(`[data-table="${name}"] tbody tr`, (all) =>
    all.map((row) => [...row.children].map((one) => one.textContent)),
  );
const text = (selector) => page.$eval(selector, (one) => one.textContent);
const look = async () => ({
  head: await text('#about-job'),
  bars: await text('#now .bars'),
  events: await rows('events'),
  meetings: await rows('meetings'),
  strip: await text('#minutes'),
});

await page.goto(url);
await ready('all');
seen.live = await look();
await page.$$eval('.since button', (buttons) => buttons[1].click());
console.log('ready');
await once(process.stdin, 'data');
await ready('ended');
seen.ended = await look();
seen.status = await text('.status');
seen.foreign = await page.evaluate(() =>
  fetch('http://127.0.0.1:1/').then(
    () => 'went',
    (error) => error.name,
  ),
);
console.log(JSON.stringify(seen));
await browser.close();
process.exit(0);
