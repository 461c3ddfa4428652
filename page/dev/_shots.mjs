import puppeteer from 'puppeteer-core';
const [file, out, scheme = 'light', width = '1300', ...ids] = process.argv.slice(2);
const browser = await puppeteer.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'], headless: true });
const page = await browser.newPage();
page.on('console', (m) => console.log('console:', m.text())); page.on('pageerror', (e) => console.log('error:', e.message));
await page.setViewport({ width: Number(width), height: 1000 });
await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
await page.goto(`file://${file}`);
await page.waitForFunction(() => document.documentElement.dataset.ready === 'all', { timeout: 20000 });
await new Promise((go) => setTimeout(go, 500));
if (out.endsWith('.pdf')) await page.pdf({ path: out, format: 'A4', printBackground: true });
else {
  await page.evaluate(() => { for (const d of document.querySelectorAll('details.more')) d.open = true; });
  await new Promise((go) => setTimeout(go, 300));
  for (const id of ids) {
    const one = await page.$(`#${id}`);
    if (one) await one.screenshot({ path: `${out}-${id}.png` }); else console.log('no', id);
  }
  console.log(await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth].join(' of ')));
}
await browser.close();
