// SPDX-License-Identifier: BSD-2-Clause
// How quick the page is in a browser: node bench/page.mjs FILE.html [chrome|firefox]. Prints JSON:
//   first_paint_ms, first_ms (the first screen is there), loaded_ms (calls decoded), ready_ms (the timeline answers)
//   longest_block_ms: how long the page did not answer while it loaded
//   zooms: for the whole run and nearer ones, what a frame takes while panning: mean and the slowest of 60, and what of
//   it is the timeline's own (paint); and while zooming, when all is painted anew
//   moves: frames a second while it is moved by the browser's own input (keys, the wheel, the pointer), of MOVES ms
//   each: by what requestAnimationFrame tells; the slowest, and how many of a hundred took more than 20 ms
// A file of 10 M calls: node page/dev/sample.mjs --lanes 64 --calls 2500000 --left-out 7500000 -o FILE.html
import { resolve } from 'node:path';
import { launch } from '../page/dev/browser.mjs';

const MOVES = 2000;
const [, , file, which = 'chrome'] = process.argv;

/** Frames while `act` moves, one turn of it for each frame. */
async function frames(page, act) {
  await page.evaluate(() => {
    window.frames = { times: [], own: [] };
    const note = (now) => {
      window.frames.times.push(now);
      window.frames.own.push(window.gaspbpfPage.timeline.took ?? 0);
      window.frames.next = requestAnimationFrame(note);
    };
    window.frames.next = requestAnimationFrame(note);
  });
  for (const end = Date.now() + MOVES; Date.now() < end;) {
    await act();
    await page.evaluate(() => new Promise((go) => requestAnimationFrame(go)));
  }
  return page.evaluate(() => {
    cancelAnimationFrame(window.frames.next);
    const { times, own } = window.frames;
    const gaps = times.slice(1).map((time, i) => time - times[i]);
    return {
      frames_per_s: (1000 * gaps.length) / (times[times.length - 1] - times[0]),
      slowest_ms: Math.max(...gaps),
      late_percent: (100 * gaps.filter((gap) => gap > 20).length) / gaps.length,
      slowest_paint_ms: Math.max(...own),
    };
  });
}

/** As somebody does who looks at it: by the wheel, by keys, by dragging. */
async function moves(page) {
  const seen = {};
  await page.$eval('.tl', (one) => one.scrollIntoView({ block: 'center' }));
  const at = await page.$eval('.tl-canvas', (one) => {
    const { left, top, width } = one.getBoundingClientRect();
    return { x: left + width / 2, y: top + 60 };
  });
  const view = (from, to) =>
    page.evaluate(
      (a, b) => {
        const t = window.gaspbpfPage.timeline;
        t.show(a * t.data.facts.length, b * t.data.facts.length);
      },
      from,
      to,
    );
  let way = 1,
    turns = 0;
  const turn = (every) => {
    if (++turns % every === 0) way = -way;
  };
  const wheel = (key, by, every) => async () => {
    await page.keyboard.down(key);
    await page.mouse.wheel({ deltaY: by * way });
    await page.keyboard.up(key);
    turn(every);
  };
  const keys = (one, other, every) => async () => {
    await page.keyboard.press(way > 0 ? one : other);
    turn(every);
  };
  await page.mouse.move(at.x, at.y);
  await page.focus('.tl-scroll');
  for (const [name, from, to] of [
    ['tenth', 0.45, 0.55],
    ['thousandth', 0.4995, 0.5005],
  ]) {
    await view(from, to);
    seen[`wheel_${name}`] = await frames(page, wheel('Shift', 30, 60));
    await view(from, to);
    seen[`keys_${name}`] = await frames(page, keys('d', 'a', 6));
    await view(from, to);
    await page.mouse.down();
    let x = 0;
    seen[`drag_${name}`] = await frames(page, async () => {
      x += 8 * way;
      turn(50);
      await page.mouse.move(at.x + x, at.y);
    });
    await page.mouse.up();
    await page.mouse.move(at.x, at.y);
  }
  way = -1;
  turns = 0;
  await view(0, 1);
  seen.wheel_zoom = await frames(page, wheel('Control', 20, 60));
  await view(0, 1);
  seen.keys_zoom = await frames(page, keys('s', 'w', 20));
  return seen;
}

const browser = await launch(which);
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1600, height: 1000 });
  await page.evaluateOnNewDocument(() => {
    const seen = (window.seen = { first: 0, all: 0, ready: 0, block: 0 });
    let before = performance.now();
    const watch = () => {
      const now = performance.now(),
        root = document.documentElement?.dataset ?? {};
      seen.block = Math.max(seen.block, now - before);
      before = now;
      if (root.ready && !seen.first) seen.first = now;
      if (root.ready === 'all' && !seen.all) seen.all = now;
      if (root.timeline && !seen.ready) seen.ready = now;
      if (!seen.ready) setTimeout(watch, 1);
    };
    watch();
  });
  await page.goto(`file://${resolve(file)}`);
  await page.waitForFunction(() => window.seen?.ready > 0, { timeout: 120000 });
  const load = await page.evaluate(() => ({
    first_paint_ms: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null,
    first_ms: window.seen.first,
    loaded_ms: window.seen.all,
    ready_ms: window.seen.ready,
    longest_block_ms: window.seen.block,
  }));
  const zooms = [];
  for (const nearer of [1, 10, 100, 1000, 10000, 100000]) {
    zooms.push(
      await page.evaluate(async (by) => {
        const t = window.gaspbpfPage.timeline;
        t.show(t.data.facts.length * 0.3, t.data.facts.length * 0.3 + t.data.facts.length / by);
        if (by === 1) t.zoom(0.9);
        const frame = () => new Promise(requestAnimationFrame);
        await frame();
        await frame();
        const frames = [],
          own = [];
        for (let i = 0, before = performance.now(); i < 60; i++) {
          t.pan(i < 30 ? -0.01 : 0.01);
          await frame();
          const now = performance.now();
          frames.push(now - before);
          own.push(t.took);
          before = now;
        }
        const zoomed = [];
        for (let i = 0; i < 30; i++) {
          t.zoom(i < 15 ? 1 / 1.03 : 1.03);
          await frame();
          zoomed.push(t.took);
        }
        const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
        return {
          nearer: by,
          frame_ms: mean(frames),
          slowest_ms: Math.max(...frames),
          paint_ms: mean(own),
          slowest_paint_ms: Math.max(...own),
          zoom_paint_ms: mean(zoomed),
        };
      }, nearer),
    );
  }
  const moved = await moves(page);
  const rounded = (value) => (typeof value === 'number' ? Math.round(value * 10) / 10 : value);
  console.log(JSON.stringify({ browser: which, ...load, zooms, moves: moved }, (_, value) => rounded(value)));
} finally {
  await browser.close();
}
