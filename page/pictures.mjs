// SPDX-License-Identifier: BSD-2-Clause
// The pictures of README, by scripts/pictures: node pictures.mjs FOLDER SPEEDSCOPE TARGET. FOLDER has report, run.html and
// run.json; SPEEDSCOPE is that program's own folder of pages.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import puppeteer from 'puppeteer-core';

const [folder, speedscope, target] = process.argv.slice(2).map((path) => resolve(path));
const COMMAND = '$ sudo gaspbpf -p $! -d 5s -o run.html';
const LINES = 22;

const escaped = (text) => text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** What the terminal shows, in a terminal's clothes. */
function terminal() {
  const lines = readFileSync(join(folder, 'report'), 'utf8').split('\n').slice(0, LINES);
  const body = lines
    .map((line) => (/^(Findings|[A-Z][\w ]+ {2}\()/.test(line) ? `<b>${escaped(line)}</b>` : escaped(line)))
    .join('\n');
  return `<!DOCTYPE html><meta charset="utf-8"><style>
    body { margin: 0; background: #14181d; color: #d8dde3; }
    pre { display: inline-block; margin: 0; padding: 18px 22px; font: 15px/1.35 "DejaVu Sans Mono", monospace; }
    i { color: #7bc47f; font-style: normal; } b { color: #f0b429; }
    </style><pre><i>${escaped(COMMAND)}</i>\n${body}\n</pre>`;
}

/** The folder's trace, loaded by speedscope as it starts. */
function trace() {
  const name = 'run.json',
    script = join(folder, 'run.js');
  const data = readFileSync(join(folder, name)).toString('base64');
  writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(name)}, ${JSON.stringify(data)})`);
  return `${pathToFileURL(join(speedscope, 'index.html'))}#localProfilePath=${encodeURIComponent(script)}`;
}

const pause = (ms) =>
  new Promise((go) => {
    setTimeout(go, ms);
  });

async function picture(browser, name, url, size, prepare) {
  const page = await browser.newPage();
  await page.setViewport({ ...size, deviceScaleFactor: 1.5 });
  await page.goto(url);
  const clip = await prepare(page);
  await page.screenshot({ path: join(target, name), ...(clip ? { clip } : {}) });
  await page.close();
}

const boxOf = (page, selector) =>
  page.$eval(selector, (element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return { x, y, width, height };
  });

if (!readdirSync(folder).includes('run.html')) throw new Error(`${folder}: there is no run.html`);
writeFileSync(join(folder, 'terminal.html'), terminal());
const browser = await puppeteer.launch({
  executablePath: '/usr/bin/chromium',
  headless: true,
  args: ['--no-sandbox', '--allow-file-access-from-files'],
});
await picture(
  browser,
  'finding.png',
  pathToFileURL(join(folder, 'terminal.html')).href,
  { width: 1200, height: 800 },
  (page) => boxOf(page, 'pre'),
);
await picture(
  browser,
  'page.png',
  pathToFileURL(join(folder, 'run.html')).href,
  { width: 1200, height: 1000 },
  async (page) => {
    await page.waitForSelector('html[data-ready="all"]');
    await page.$eval('.finding[data-kind="delay"] .goto', (link) => link.click());
    await pause(1500);
    await page.evaluate(() => scrollTo(0, document.getElementById('timeline').offsetTop - 70));
    await pause(500);
  },
);
await picture(browser, 'trace.png', trace(), { width: 1200, height: 240 }, () => pause(3000));
await browser.close();
