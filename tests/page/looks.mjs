// SPDX-License-Identifier: BSD-2-Clause
// Looks at a page as a reader does, in a browser, and prints what it has seen as JSON: tests/page/test_page_views.py
// says what that must be.
//
//   node looks.mjs chromium|firefox PAGE LOOK...
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'page', 'node_modules');
const require = createRequire(join(modules, 'x.js'));
const { default: puppeteer } = await import(require.resolve('puppeteer-core'));

const programs = { chromium: '/usr/bin/chromium', firefox: '/usr/bin/firefox-esr' };
const [browserName, file, ...wanted] = process.argv.slice(2);

/** All that is closed at first. */
const openAll = (page) =>
  page.evaluate(() => {
    window.gaspbpfPage.openAll?.();
    for (const part of document.querySelectorAll('details')) part.open = true;
    return new Promise((go) => setTimeout(go, 50));
  });

/** What was done so far has been painted. */
const drawn = (page) =>
  page.evaluate(() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go))));

async function axeIn(page, scheme) {
  await page.evaluate((theme) => {
    document.documentElement.dataset.theme = theme;
  }, scheme);
  await openAll(page);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map(({ target, failureSummary }) => `${target.join(' ')} (${failureSummary.replace(/\s+/g, ' ')})`)
          .join('; ')}`,
    );
  });
}

const looks = {
  /** Violations of accessibility, with all sections open. */
  async axe(page) {
    await page.evaluate(require('node:fs').readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
    return { light: await axeIn(page, 'light'), dark: await axeIn(page, 'dark') };
  },

  /** The table of events: sorted by a key press and by a click, filtered, as CSV. */
  async tables(page) {
    const cells = (column) =>
      page.$$eval(
        '[data-table="events"] tbody tr',
        (rows, i) => rows.map((row) => row.children[i].textContent),
        column,
      );
    const sorts = () =>
      page.$$eval('[data-table="events"] th[aria-sort]', (heads) =>
        heads.map((head) => [head.dataset.key, head.getAttribute('aria-sort')]),
      );
    const seen = { first: await sorts() };
    await page.focus('[data-table="events"] th[data-key="calls"] button');
    await page.keyboard.press('Enter');
    seen.down = [await sorts(), await cells(2)];
    await page.click('[data-table="events"] th[data-key="calls"] button');
    seen.up = [await sorts(), await cells(2)];
    seen.csv = await page.$eval('[data-table="events"]', (one) => one.table.csv());
    const all = await page.$$eval('[data-table]', (tables) =>
      tables.map((one) => [one.dataset.table, one.table.csv()]),
    );
    seen.tables = Object.fromEntries(all);
    await page.evaluate(() => {
      Object.defineProperty(navigator, 'clipboard', {
        value: {
          writeText: async (text) => {
            window.copied = text;
          },
        },
        configurable: true,
      });
    });
    await page.type('[data-table="threads"] input[type="search"]', 'rank 1');
    seen.filtered = await page.$$eval('[data-table="threads"] tbody tr', (rows) =>
      rows.map((row) => row.children[0].textContent),
    );
    await page.$eval('[data-table="threads"] .tools button[aria-label^="copy"]', (button) => button.click());
    seen.copied = await page.evaluate(() => new Promise((go) => setTimeout(() => go(window.copied), 50)));
    return seen;
  },

  /** What the first screen says, and what a click on the first instance shows. */
  async findings(page) {
    const seen = await page.evaluate(() => ({
      text: document.querySelector('#findings').innerText,
      kinds: [...document.querySelectorAll('.finding')].map((one) => one.dataset.kind),
      link: document.querySelector('.finding .goto:not(.find)')?.dataset.from,
      linkTo: document.querySelector('.finding .goto:not(.find)')?.dataset.to,
    }));
    if (!seen.link) return seen;
    await page.focus('.finding .goto:not(.find)');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.documentElement.dataset.timeline === 'ready');
    await new Promise((go) => setTimeout(go, 600));
    seen.view = await page.evaluate(() => {
      const { timeline } = window.gaspbpfPage;
      return {
        from: timeline.from,
        to: timeline.to,
        lane: timeline.lane,
        panel: document.querySelector('.tl-panel')?.innerText,
      };
    });
    await (await page.$$('.finding .find')).pop().click();
    await page
      .waitForFunction(() => /[1-9]/.test(document.querySelector('.tl-matches').textContent), { timeout: 20000 })
      .catch(() => null); // what was found is looked at below
    seen.found = await page.evaluate(() => [
      document.getElementById('tl-search').value,
      document.querySelector('.tl-matches').textContent,
    ]);
    return seen;
  },

  /** Names of elements that only the page itself makes, and whether anything of the data was run. */
  async hostile(page) {
    await openAll(page);
    return page.evaluate(() => ({
      run: Boolean(window.gaspbpfRun),
      scripts: document.scripts.length,
      made: document.querySelectorAll('img, iframe, object, embed, [onerror], [onclick], [onmouseover], [style*="url"]')
        .length,
      links: [...document.querySelectorAll('a[href]')]
        .map((a) => a.getAttribute('href'))
        .filter((to) => !to.startsWith('#')),
      text: document.body.innerText,
      title: document.title,
    }));
  },

  /** As wide as the window? Do sections that come later move those above? */
  async layout(page) {
    await page.setViewport({ width: 400, height: 900 });
    await openAll(page);
    const narrow = await page.evaluate(() => document.documentElement.scrollWidth);
    await page.setViewport({ width: 1300, height: 900 });
    await page.reload();
    await page.evaluate(() => {
      window.shifts = 0;
      new PerformanceObserver((list) =>
        list.getEntries().forEach((entry) => {
          window.shifts += entry.hadRecentInput ? 0 : entry.value;
        }),
      ).observe({ type: 'layout-shift', buffered: true });
    });
    await page.waitForFunction(() => document.documentElement.dataset.ready === 'all');
    await new Promise((go) => setTimeout(go, 300));
    return { narrow, shifts: await page.evaluate(() => window.shifts) };
  },

  /** What charts say when they are read by keys. */
  async keys(page) {
    const readBy = async (selector, ...keys) => {
      await page.focus(selector);
      for (const key of keys) await page.keyboard.press(key);
      return page.$eval(
        selector,
        (box) => (box.querySelector('.readout') ?? box.parentElement.querySelector('.readout')).textContent,
      );
    };
    return {
      heat: await readBy('#communication .heat', 'ArrowRight', 'ArrowRight'),
      sizes: await readBy('#communication .chart[role="group"]', 'Home', 'ArrowRight'),
      iterations: await readBy('#phases .chart[role="group"]', 'End'),
    };
  },

  /** The call inside of the longest one, by keys; and what the section says. */
  async flame(page) {
    const text = await page.$eval('#flame', (one) => one.innerText);
    if (!(await page.$('#flame .flame'))) return { text, rows: 0 };
    await page.focus('#flame .flame button[tabindex="0"]');
    await page.keyboard.press('ArrowDown');
    return {
      text,
      rows: await page.$$eval('#flame .flame button', (all) => new Set(all.map((one) => one.style.top)).size),
      name: await page.evaluate(() => document.activeElement.getAttribute('aria-label')),
    };
  },

  /** Events of each thread: what a filter of words of several cells leaves, and where its box ends. */
  async filter(page) {
    await openAll(page);
    const name = '[data-table="by_thread"]';
    const look = () =>
      page.$eval(name, (one) => {
        const scroll = one.querySelector('.scroll');
        const end = scroll.getBoundingClientRect().top + scroll.clientTop + scroll.clientHeight;
        return {
          widths: [...one.querySelectorAll('thead th')].map((head) => head.offsetWidth),
          rows: [...one.querySelectorAll('tbody tr')].map((row) => row.innerText.replace(/\s+/g, ' ')),
          cut: scroll.scrollHeight > scroll.clientHeight,
          edge: Math.min(
            ...[...one.querySelectorAll('tbody tr')].map((row) => Math.abs(row.getBoundingClientRect().bottom - end)),
          ),
        };
      });
    const seen = { before: await look() };
    await page.type(`${name} input[type="search"]`, 'rank 1 SEND');
    seen.after = await look();
    return seen;
  },

  /** Of the picture of sizes: how many bars there are that are 5 pixels high and more. */
  async bars(page) {
    await page.waitForSelector('#communication .chart canvas'); // it is drawn when its place has its size
    return page.$eval('#communication .chart canvas', (canvas) => {
      const { width, height } = canvas;
      const dots = canvas.getContext('2d').getImageData(0, 0, width, height).data;
      const name = getComputedStyle(document.documentElement).getPropertyValue('--group-data').trim();
      const colour = [1, 3, 5].map((at) => parseInt(name.slice(at, at + 2), 16));
      let bars = 0;
      for (let x = 0, before = false; x < width; x++) {
        let high = 0;
        for (let y = 0; y < height; y++)
          if (colour.every((value, i) => Math.abs(dots[4 * (y * width + x) + i] - value) < 9)) high++;
        if (high >= 5 && !before) bars++;
        before = high >= 5;
      }
      return bars;
    });
  },

  /** Each table as CSV. */
  async csv(page) {
    await openAll(page);
    const all = await page.$$eval('[data-table]', (them) => them.map((one) => [one.dataset.table, one.table.csv()]));
    return Object.fromEntries(all);
  },

  /** The text of each section, with all that is closed at first. */
  async words(page) {
    await openAll(page);
    return page.$$eval('section.view', (all) => Object.fromEntries(all.map((one) => [one.id, one.innerText])));
  },

  /** Which sections are open at first and by what they are opened; what is in the list of them; what is on paper. */
  async folds(page) {
    const open = () =>
      page.$$eval('section.view', (all) =>
        all.filter((one) => !one.querySelector('.body').hasAttribute('hidden')).map(({ id }) => id),
      );
    const frame = () => page.evaluate(() => new Promise((go) => setTimeout(go, 150)));
    const height = (id) => page.$eval(`#${id} .body`, (one) => one.getBoundingClientRect().height);
    const seen = {
      order: await page.$$eval('section.view', (all) => all.map(({ id }) => id)),
      contents: await page.$$eval('#contents a', (all) => all.map((one) => one.innerText.replace(/\s+/g, ' '))),
      gists: await page.$$eval('section.view', (all) =>
        Object.fromEntries(all.map((one) => [one.id, one.querySelector('.gist')?.innerText ?? null])),
      ),
      first: await open(),
      closed: await height('events'),
    };
    await page.focus('#events button.fold');
    await page.keyboard.press('Enter');
    seen.byKey = [await open(), await height('events')];
    seen.told = await page.$eval('#events button.fold', (one) => one.getAttribute('aria-expanded'));
    await page.keyboard.press(' ');
    seen.again = await open();
    await page.evaluate(() => document.querySelector('#contents a[href="#unseen"]').click());
    await frame();
    seen.byLink = await open();
    seen.marked = await page.$$eval('#contents [aria-current]', (all) => all.map((one) => one.getAttribute('href')));
    await page.evaluate(() => {
      location.hash = '#about';
    });
    await frame();
    seen.byHash = await open();
    const link = await page.$('.finding .goto:not(.find)');
    if (link) {
      await page.click('#timeline button.fold');
      seen.shut = await open();
      await page.keyboard.press('/');
      seen.bySlash = [await open(), await page.evaluate(() => document.activeElement.id)];
      await page.click('#timeline button.fold');
      await link.evaluate((one) => one.click());
      await page.waitForFunction(() => document.querySelector('#contents [aria-current]')?.hash === '#timeline');
      seen.byFinding = await open();
      seen.current = await page.$$eval('#contents [aria-current]', (all) => all.map((one) => one.getAttribute('href')));
    }
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    seen.onPaper = (await open()).length;
    seen.charts = await page.$$eval('.chart canvas', (all) => all.filter((one) => one.width > 100).length);
    await page.evaluate(() => dispatchEvent(new Event('afterprint')));
    seen.behind = await open();
    await page.click('#contents button.all');
    seen.all = [await open(), await page.$eval('#contents button.all', (one) => one.textContent)];
    await page.click('#contents button.all');
    seen.none = await open();
    return seen;
  },

  /** A task by the pointer: what it tells, what a click tells, and where it leads; the next one by a key. */
  async gantt(page) {
    await page.waitForFunction(() => window.gaspbpfPage.gantt?.pyramid);
    await page.$eval('#tasks .tl', (one) => one.scrollIntoView({ block: 'center' }));
    const at = await page.evaluate(() => {
      const t = window.gaspbpfPage.gantt;
      const { calls } = t.data;
      const longest = [...calls.duration.keys()].sort((a, b) => calls.duration[b] - calls.duration[a])[0];
      t.fit(longest);
      const { left, top } = t.canvas.getBoundingClientRect();
      const lane = t.data.facts.lanes.findIndex((one) => one.first + one.calls > longest);
      const place = t.layout.lanes[lane];
      return { x: left + t.width / 2, y: top + place.y - t.scroller.scrollTop + place.rowHeight / 2 };
    });
    await page.mouse.move(at.x, at.y);
    await drawn(page);
    const seen = { hover: await page.$eval('#tasks .tl-tip', (one) => one.innerText) };
    await page.mouse.click(at.x, at.y);
    const panel = () => page.$eval('#tasks .tl-panel', (one) => one.innerText.replace(/\s+/g, ' '));
    seen.panel = await panel();
    seen.live = await page.$eval('#live', (one) => one.textContent);
    await page.focus('#tasks .tl-scroll');
    await page.keyboard.press('n');
    seen.next = await panel();
    seen.lanes = await page.evaluate(() => window.gaspbpfPage.gantt.data.facts.lanes.map(({ name }) => name));
    await page.keyboard.press('p');
    await page.$$eval('#tasks .tl-buttons button', (all) =>
      all.find((one) => /timeline/.test(one.textContent)).click(),
    );
    await page.waitForFunction(() => /Took/.test(document.querySelector('#timeline .tl-panel').innerText));
    seen.timeline = await page.$eval('#timeline .tl-panel', (one) => one.innerText.replace(/\s+/g, ' '));
    seen.ready = await page.$eval('#tasks .chart[role="group"]', (one) => one.getAttribute('aria-label'));
    return seen;
  },

  /** Lanes without a CPU: what a pointer is told, what a selected time tells, the colour below the lane. */
  async queues(page) {
    await page.waitForFunction(() => document.documentElement.dataset.timeline === 'ready');
    await page.$eval('.tl', (one) => one.scrollIntoView({ block: 'center' }));
    const spot = (lane, share, below) =>
      page.evaluate(
        (at, part, down) => {
          const t = window.gaspbpfPage.timeline;
          const { left, top } = t.canvas.getBoundingClientRect();
          const place = t.layout.lanes[at];
          const y = place.y - t.scroller.scrollTop + (down ? place.rows * place.rowHeight + place.strip + 1 : 4);
          const dot = t.canvas.getContext('2d').getImageData(part * t.width * t.ratio, y * t.ratio, 1, 1).data;
          return { x: left + part * t.width, y: top + y, colour: [...dot].slice(0, 3) };
        },
        lane,
        share,
        below,
      );
    const hover = async (lane, share) => {
      const { x, y } = await spot(lane, share, false);
      await page.mouse.move(x, y);
      await drawn(page);
      return page.$eval('#timeline .tl-tip', (one) => one.innerText);
    };
    const seen = { there: await hover(2, 0.45), elsewhere: await hover(2, 0.15), other: await hover(3, 0.45) };
    await page.mouse.move(0, 0);
    await drawn(page);
    seen.colours = [(await spot(2, 0.45, true)).colour, (await spot(2, 0.15, true)).colour];
    seen.key = await page.$eval('.tl-legend', (one) => one.innerText);
    const from = await spot(2, 0.4, false),
      to = await spot(2, 0.5, false);
    await page.keyboard.down('Shift');
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 5 });
    await page.mouse.up();
    await page.keyboard.up('Shift');
    seen.range = await page.$eval('#timeline .tl-panel', (one) => one.innerText.replace(/\s+/g, ' '));
    return seen;
  },

  /** Widths of the parts of the thin bars of threads: on a CPU, and without one. What arrows mean. Who is waited for. */
  async bits(page) {
    await page.waitForFunction(() => document.documentElement.dataset.timeline === 'ready');
    const seen = await page.evaluate(() => ({
      ran: [...document.querySelectorAll('#threads .bars .ran')].map((one) =>
        [...one.children].map((part) => part.style.width),
      ),
      arrows: [...document.querySelectorAll('.tl-legend .tl-dash')].map((one) => one.parentElement.innerText.trim()),
      wide: [...document.querySelectorAll('[data-table="threads"] .scroll')].map(
        (one) => one.scrollWidth - one.clientWidth,
      ),
    }));
    await page.$eval('[data-table="delays.causes"] .goto', (one) => one.click());
    await page.waitForFunction(() => /Took/.test(document.querySelector('#timeline .tl-panel').innerText));
    seen.longest = await page.$eval('#timeline .tl-panel', (one) => one.innerText.replace(/\s+/g, ' '));
    return seen;
  },

  /** From the first link of a finding to what the late one did meanwhile, and back to who waited for it. */
  async waits(page) {
    await page.setViewport({ width: 900, height: 900 });
    await page.waitForFunction(() => document.documentElement.dataset.timeline === 'ready');
    const panel = () => page.$eval('#timeline .tl-panel', (one) => one.innerText.replace(/\s+/g, ' '));
    const lane = () => page.evaluate(() => window.gaspbpfPage.timeline.lane);
    const goThere = (k = 0) =>
      page.$$eval(
        '#timeline .tl-arrows button',
        (all, at) => {
          all[at].click();
        },
        k,
      );
    const link = await page.$('.finding .goto:not(.find)');
    const seen = { link: await link.evaluate((one) => one.textContent) };
    await link.evaluate((one) => one.click());
    await page.waitForFunction(() => /Took/.test(document.querySelector('#timeline .tl-panel').innerText));
    await drawn(page);
    seen.waiter = [await lane(), await panel()];
    seen.inView = await page.evaluate(() => {
      const of = document.querySelector('#timeline .tl-panel').getBoundingClientRect();
      const row = document.querySelector('#timeline .tl-arrows li').getBoundingClientRect();
      return row.bottom <= of.bottom;
    });
    await goThere();
    seen.late = [await lane(), await panel()];
    seen.gap = await page.evaluate(() => window.gaspbpfPage.timeline.gap);
    await goThere();
    seen.back = [await lane(), await panel()];
    return seen;
  },

  /** The first points of the picture of iterations. */
  async iterations(page) {
    await page.focus('#phases .chart[role="group"]');
    const seen = [];
    for (const key of ['Home', 'ArrowRight', 'ArrowRight', 'ArrowRight']) {
      await page.keyboard.press(key);
      seen.push(await page.$eval('#phases .readout', (one) => one.textContent));
    }
    return seen;
  },

  /** Curves of memory, point by point from its end, and which others can be chosen. */
  async curves(page) {
    await page.focus('#memory .chart[role="group"]');
    const seen = { read: [] };
    for (const key of ['End', 'ArrowLeft', 'Home', 'ArrowRight']) {
      await page.keyboard.press(key);
      seen.read.push(await page.$eval('#memory .readout', (one) => one.textContent));
    }
    seen.legend = await page.$eval('#memory ul.legend', (one) => one.innerText);
    seen.choices = await page.$$eval('#memory select option', (all) => all.map((one) => one.textContent));
    return seen;
  },

  sections: (page) => page.$$eval('section.view', (all) => all.map(({ id }) => id)),

  async pdf(page) {
    await page.pdf({ path: `${file}.pdf`, format: 'A4', printBackground: true });
    return { theme: await page.evaluate(() => document.documentElement.dataset.theme ?? null) };
  },
};

const browser = await puppeteer.launch({
  browser: browserName === 'chromium' ? 'chrome' : browserName,
  executablePath: programs[browserName],
  headless: true,
  args: browserName === 'chromium' ? ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] : [],
});
try {
  const seen = { errors: [], requests: [] };
  for (const name of wanted) {
    const page = await browser.newPage();
    page.on('pageerror', (error) => seen.errors.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && seen.errors.push(message.text()));
    page.on('dialog', (dialog) => {
      seen.errors.push('a dialog');
      dialog.dismiss();
    });
    page.on('request', (request) => !/^(file|blob|data):/.test(request.url()) && seen.requests.push(request.url()));
    await page.setViewport({ width: 1300, height: 1000 });
    await page.goto(`file://${file}`);
    await page.waitForFunction(() => document.documentElement.dataset.ready === 'all', { timeout: 60000 });
    if (!['findings', 'layout', 'folds', 'pdf'].includes(name)) await page.evaluate(() => window.gaspbpfPage.openAll());
    seen[name] = await looks[name](page);
    await page.close();
  }
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
